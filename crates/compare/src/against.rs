//! A scenario, evaluated and run by ns-2.

use std::fs;
use std::path::Path;

use netflow_results::Results;
use netflow_scenario::Prepared;
use netflow_scenario::export::{self, Ns2Options, Ns2Trace};
use tempfile::TempDir;

use crate::comparison::{Conditions, Times};
use crate::ensemble::Gathering;
use crate::ns2::{self, Ns2, NsRun, Order, run_all};
use crate::side::evaluate;
use crate::{Comparison, Ensemble, Error, Side};

/// The largest seed of ns-2; the smallest is 1.
const MOST_SEED: u64 = 2_147_483_646;

/// How a scenario is compared.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Runs of ns-2: with the scenario's seed and those after it.
    pub seeds: u32,
    /// Runs at the same time.
    pub jobs: usize,
    /// How ns-2 runs, and the length of the intervals on both sides; its `trace` is not asked.
    pub ns: Ns2Options,
    /// Whether one more run shows how long ns-2 takes when it writes a trace (to `/dev/null`):
    /// five to ten times as long, as a rule.
    pub trace_run: bool,
    /// What was changed about the scenario when it was loaded, for netflow's manifest.
    pub overrides: Vec<String>,
}

/// Who wants to know, and to stop it.
pub struct Watch<'a> {
    /// Called after every run of ns-2, from any thread.
    pub done: &'a (dyn Fn(&NsRun) + Sync),
    /// Asked often; once it is true, everything stops.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Evaluates a scenario into the results directory `results`, runs it by ns-2, and compares.
///
/// The runs of ns-2 are in a temporary directory that is gone afterwards.
///
/// # Errors
/// Whatever fails, or [`Error::Stopped`].
pub fn against_ns2(
    scenario: &Prepared,
    setup: &Setup,
    ns: &Ns2,
    results: &Path,
    watch: &Watch<'_>,
) -> Result<(Comparison, Ensemble), Error> {
    if setup.seeds == 0 {
        return Err(Error::NoSeeds);
    }
    let place = TempDir::with_prefix("netflow-compare-").map_err(|source| Error::File {
        action: "make a directory in",
        path: std::env::temp_dir(),
        source,
    })?;
    let seeds: Vec<u64> = (0..u64::from(setup.seeds)).map(|n| seed(scenario.seed, n)).collect();
    let script = script(scenario, setup, Ns2Trace::None, &place.path().join("plain.tcl"))?;
    // netflow first and alone: nothing else then runs in this process.
    let (jitter_s, every_s) = (setup.ns.start_jitter_s, setup.ns.every_s);
    let cost = evaluate(scenario, &setup.overrides, jitter_s, every_s, results, watch.stop)?;
    let runs = ...
}
