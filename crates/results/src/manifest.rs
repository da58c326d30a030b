//! `manifest.json`: the scenario, the options and the outcome of a run.

use netflow_network::Options;
use serde::{Deserialize, Serialize};

use crate::{EventSummary, Format};

/// Scenario, options and outcome of a run, sufficient to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `netflow`.
    pub program: String,
    /// Version of netflow.
    pub version: String,
    /// Version of the format of these files. Version 1, from netflow 0.1, had other names and lacks this key.
    #[serde(default = "one")]
    pub format_version: u32,
    /// Path of the scenario file, as given.
    pub scenario: String,
    /// Digest of the scenario and of every file it includes.
    pub digest: String,
    /// Paths of all files that were read.
    pub sources: Vec<String>,
    /// Path of the copy of the scenario, relative to the results directory; copies of included files have the same
    /// relative paths. Absent if the scenario is not a file, or changed during the run.
    #[serde(default, alias = "kept", skip_serializing_if = "Option::is_none")]
    pub scenario_copy: Option<String>,
    /// Settings from the command line, as `KEY=VALUE`.
    pub overrides: Vec<String>,
    /// True if the scenario may read files outside its directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_outside: bool,
    /// Random seed.
    pub seed: u64,
    /// Number of runs with consecutive seeds from `seed` on; results are means over these runs.
    #[serde(default = "one")]
    pub seeds: u32,
    /// Options of the engine: duration, model, step and others.
    pub options: Options,
    /// Requested length of a recording interval in seconds. In the fluid model, rows end with time steps.
    #[serde(alias = "every_s")]
    pub interval_s: f64,
    /// Start of the summarized time in seconds.
    #[serde(default)]
    pub from_s: f64,
    /// End of the summarized time in seconds. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
    /// Format of the series.
    pub format: Format,
    /// Files of the series.
    pub files: Vec<String>,
    /// Events of links, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventSummary>,
    /// Number of time steps; in the packet model, number of packet arrivals at links.
    pub steps: u64,
    /// Number of available threads.
    pub threads: usize,
    /// Run time in seconds of wall-clock time, reading and writing included.
    pub wall_time_s: f64,
    /// True if the run reached its end.
    pub complete: bool,
    /// Time and reason of an early stop; absent from a complete run.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
}

/// Time and reason of an early stop. The files contain the results until that time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Simulated time in seconds.
    pub stopped_at_s: f64,
    /// Reason, in words.
    pub reason: String,
}

fn one() -> u32 {
    1
}

impl Manifest {
    /// Version of the format that this version of netflow writes.
    pub const FORMAT_VERSION: u32 = 2;

    /// Its file in a results directory.
    pub const FILE: &str = "manifest.json";

    /// Returns the simulated time at the end of the run, in seconds.
    pub fn end_s(&self) -> f64 {
        let stopped_s = self.stop.as_ref().map(|stop| stop.stopped_at_s);
        stopped_s.unwrap_or(self.options.duration_s)
    }

    /// Returns the content of `manifest.json`.
    pub fn to_json(&self) -> String {
        // Cannot fail: keys are strings, and numbers that are not finite become null.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
