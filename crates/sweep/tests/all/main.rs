//! Tests of whole sweeps: identical files for any division of the work, cases as if evaluated alone, and
//! rejected requests.

mod alone;
mod common;
mod overhead;
mod refused;
mod same;
