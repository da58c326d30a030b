//! Steady states, from outside. One binary: it builds in a fraction of the time of one for each file.

mod events;
mod failures;
mod headroom;
mod known;
mod networks;
mod refusals;
mod runs;
mod slopes;
