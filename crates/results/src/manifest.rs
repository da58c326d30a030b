//! `manifest.json`: the scenario, the options and the outcome of a run.

use netflow_network::Options;
use serde::{Deserialize, Serialize};

use crate::{EventSummary, Format};

/// Enough to repeat a run, and to know whether it came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `netflow`.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The scenario's file, as it was named.
    pub scenario: String,
    /// Digest of the scenario and of every file it includes.
    pub digest: String,
    /// Every file that was read.
    pub sources: Vec<String>,
    /// The copy of the scenario beside the results, relative to them, with those of what it includes
    /// around it; absent where it was no file, or was changed while it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Settings changed on the command line, as `KEY=VALUE`.
    pub overrides: Vec<String>,
    /// Whether the scenario may read files that are not below its folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_outside: bool,
    /// What everything random hangs on.
    pub seed: u64,
    /// Runs with this seed and those that follow it, all of which the results are the mean of.
    #[serde(default = "one")]
    pub seeds: u32,
    /// Duration, model, step and the rest of what the engine was told.
    pub options: Options,
    /// Length of a recording interval in seconds, as it was asked for; rows of fluids end with steps.
    pub every_s: f64,
    /// From when on the run is summarized, and until when, in seconds.
    #[serde(default)]
    pub from_s: f64,
    /// The end of the run, if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
    /// Format of the series.
    pub format: Format,
    /// The series that were written.
    pub files: Vec<String>,
    /// What happened to links, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventSummary>,
    /// Steps taken; of packets, how many arrived at links.
    pub steps: u64,
    /// Threads that could be used.
    pub threads: usize,
    /// Seconds that the run took by the clock, reading and writing included.
    pub wall_time_s: f64,
    /// Whether the run came to its end.
    pub complete: bool,
    /// Where and why it did not; the two keys are absent from a complete run.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
}

/// Where and why a run stopped early. The files hold what was computed until then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Simulated time in seconds.
    pub stopped_at_s: f64,
    /// Why, in words.
    pub reason: String,
}

fn one() -> u32 {
    1
}

impl Manifest {
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
