//! Sweeps as a whole: the same files whoever does the work, cases as if each were alone, and refusals.

mod alone;
mod common;
mod overhead;
mod refused;
mod same;
