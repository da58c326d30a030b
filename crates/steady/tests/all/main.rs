//! Integration tests of the steady-state solver, in one binary, which builds much faster than one
//! per file.

mod events;
mod failures;
mod headroom;
mod known;
mod networks;
mod refusals;
mod runs;
mod slopes;
