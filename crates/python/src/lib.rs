//! Extension module `netflow_evaluator._native`, the part of the Python package that wraps the
//! library.
//!
//! Each file has one subject, named as in the library. Long operations run on a separate thread
//! without Python's lock ([`work`]). Tables are exported as Arrow streams ([`table`]).

mod announced_values;
mod availability;
mod background_task;
mod convert;
mod diffserv_mark;
mod errors;
mod failures;
mod import;
mod latency;
mod names;
mod planning;
mod profile;
mod results;
mod scenario;
mod scenario_source;
mod simulation;
mod steady;
mod sweep;
mod table;
mod trace;
mod unit;

use std::ffi::OsString;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// Allocator of Rust code; see Cargo.toml.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The extension module.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::{
        availability::Availability,
        background_task::panic_for_a_test,
        command,
        diffserv_mark::mark,
        errors::{EvaluationError, InternalError, Interrupted, ScenarioError},
        failures::Failures,
        import::import_topology,
        latency::latency,
        planning::{HeadroomUnderFailures, Plan, Weights},
        profile::{Profile, profile, profile_from_toml, profiles},
        results::Results,
        scenario::{Scenario, load},
        simulation::Simulation,
        steady::{Headroom, Sensitivities, SteadyState},
        sweep::Sweep,
        table::Table,
        trace::{Trace, fit_profile, trace},
        unit::unit,
        version,
    };
}

/// Returns the version of the library.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Runs the command `netflow` with these arguments and returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| netflow_cli::main_with(arguments))
}
