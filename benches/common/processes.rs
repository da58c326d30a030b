//! CPU time of child processes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the user CPU seconds of all children so far.
fn children_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Fields from the third on follow the name in parentheses; cutime is the 16th, in 1/100 s.
    let after = stat.rsplit(')').next()?;
    Some(after.split_whitespace().nth(13)?.parse::<f64>().ok()? / 100.0)
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
