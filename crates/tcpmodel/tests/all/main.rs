//! Short transfers, from outside. One binary: it builds in a fraction of the time of one for each file.

mod latency;
mod reference;
mod rounds;
mod rto;
mod stack;
mod steady;
mod windows;
