//! Profile files, and files of TCP stacks.

use netflow_profile::{from_toml, to_toml};
use netflow_tcpmodel::Stack;

pub(super) const DICTIONARY: &[&str] = &[
    "format = 1",
    "kind",
    "\"grid\"",
    "\"power-law\"",
    "\"mathis\"",
    "\"pftk-full\"",
    "name",
    "rows",
    "rtt",
    "loss",
    "throughput",
    "extended",
    "\"pkt/ms\"",
    "window",
    "timeout",
    "like",
    "recovery",
    "\"newreno\"",
    "initial-rto",
    "[",
    "]",
    "{",
    "}",
    "\"100 ms\"",
    "\"64 pkt\"",
];

/// Reads any text as a profile file. A valid profile must have a rate for any loss and round-trip
/// time, and must read back unchanged after it is written.
///
/// # Panics
/// On an error in netflow.
pub fn profile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let read = match from_toml(text) {
        Ok(profile) => profile,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for loss in [0.0, 1e-9, 0.01, 0.1, 0.5, 1.0] {
        for rtt_s in [1e-6, 0.1, 10.0] {
            let pps = read.throughput(loss, rtt_s);
            assert!(pps >= 0.0, "{pps} at a loss of {loss} and {rtt_s} s");
        }
    }
    if let Some(written) = to_toml(&*read) {
        let again = from_toml(&written).expect("what was written");
        assert_eq!(to_toml(&*again).as_ref(), Some(&written));
    }
}

/// Reads any text as the file of a TCP stack.
///
/// # Panics
/// On an error in netflow.
pub fn stack(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(problems) = Stack::from_toml(text) {
        assert!(!problems.to_string().is_empty());
        let inside = |at: &std::ops::Range<usize>| at.start <= at.end && at.end <= text.len();
        for problem in &problems {
            assert!(problem.span.as_ref().is_none_or(inside), "{problem}");
        }
    }
}
