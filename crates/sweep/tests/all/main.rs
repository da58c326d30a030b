//! Tests of whole sweeps: identical files for any division of the work, cases as if evaluated alone, and
//! rejected requests.

mod common;
mod determinism;
mod errors;
mod overhead;
mod single_case;
