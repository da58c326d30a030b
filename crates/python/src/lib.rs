//! The extension module `netflow_evaluator._native`: what the Python package has of the library.
//!
//! Each file has one subject, named as in the library. Work of some length is done on a thread of its own
//! ([`work`]), without Python's lock; tables leave as Arrow streams ([`table`]).

mod convert;
mod errors;
mod failures;
mod import;
mod latency;
mod mark;
mod profile;
mod results;
mod scenario;
mod simulation;
mod steady;
mod sweep;
mod table;
mod trace;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The extension module.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::errors::{EvaluationError, InternalError, Interrupted, ScenarioError};
    #[pymodule_export]
    use crate::failures::Failures;
    #[pymodule_export]
    use crate::import::import_topology;
    #[pymodule_export]
    use crate::latency::latency;
    #[pymodule_export]
    use crate::mark::mark;
    #[pymodule_export]
    use crate::profile::{Profile, profile, profile_from_toml, profiles};
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::scenario::{Scenario, load};
    #[pymodule_export]
    use crate::simulation::Simulation;
    #[pymodule_export]
    use crate::steady::{Headroom, Sensitivities, SteadyState};
    #[pymodule_export]
    use crate::sweep::Sweep;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::trace::{Trace, fit_profile, trace};
    #[pymodule_export]
    use crate::work::panic_for_a_test;
    #[pymodule_export]
    use crate::{command, version};
}

/// The version of the library.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The command `netflow` with these arguments; returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| netflow_cli::main_with(arguments))
}
