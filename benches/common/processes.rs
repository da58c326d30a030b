//! CPU time of child processes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a time of `/proc/self/stat` in seconds, by the number of its field (proc(5)).
fn stat_s(field: usize) -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Fields from the third on follow the name in parentheses. Times are in 1/100 s.
    let after = stat.rsplit(')').next()?;
    Some(
        after
            .split_whitespace()
            .nth(field - 3)?
            .parse::<f64>()
            .ok()?
            / 100.0,
    )
}

/// Returns the user CPU seconds of all children so far.
fn children_s() -> Option<f64> {
    stat_s(16)
}

/// Returns the user CPU seconds of this process so far.
#[allow(dead_code, reason = "not all benches use it")]
pub fn own_s() -> Option<f64> {
    stat_s(14)
}

/// Returns the mean user CPU seconds of `times` executions of a command; `None` if it fails.
pub fn user_s(times: u32, mut command: impl FnMut() -> Command) -> Option<f64> {
    let before = children_s()?;
    for _ in 0..times {
        let output = command().output().ok()?;
        if !output.status.success() {
            return None;
        }
    }
    Some((children_s()? - before) / f64::from(times))
}

/// Returns the path of the program, if it is built.
pub fn program(root: &Path) -> Option<PathBuf> {
    let netflow = root.join("target/release/netflow");
    if !netflow.exists() {
        println!(
            "  skipped: {} is not built (cargo build --release)",
            netflow.display()
        );
        return None;
    }
    Some(netflow)
}
