//! Optional requirements of tests, and the report of a test that is skipped without them.
//!
//! A test that cannot run calls [`skip`] and returns. The reason is written to the standard error,
//! past the output capture of the test harness. With `NETFLOW_SKIPS=FILE` it is also appended to
//! that file. Needs listed in `NETFLOW_NEEDS=ns2,chromium,namespaces` are mandatory: a skip because
//! of one of them fails.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::Location;

/// Environment variable with the file that skips are appended to.
const SKIPS: &str = "NETFLOW_SKIPS";
/// Environment variable with the mandatory needs.
const NEEDS: &str = "NETFLOW_NEEDS";

/// Requirement of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The simulator ns-2, as the command `ns`.
    Ns2,
    /// The simulator ns-3, as headers and libraries, and the compiler `g++`.
    Ns3,
    /// The browser, as the command `chromium`.
    Chromium,
    /// The book generator of the guide, as the command `mdbook`.
    Mdbook,
    /// Network namespaces, TUN devices and the kernel features between them.
    Namespaces,
    /// Some other command, file or permission of the system.
    System,
    /// A machine without other load, for tests of timing.
    Quiet,
}

impl Need {
    const ALL: [Need; 7] = [
        Need::Ns2,
        Need::Ns3,
        Need::Chromium,
        Need::Mdbook,
        Need::Namespaces,
        Need::System,
        Need::Quiet,
    ];

    /// Returns the name used in `NETFLOW_NEEDS`.
    pub fn name(self) -> &'static str {
        match self {
            Need::Ns2 => "ns2",
            Need::Ns3 => "ns3",
            Need::Chromium => "chromium",
            Need::Mdbook => "mdbook",
            Need::Namespaces => "namespaces",
            Need::System => "system",
            Need::Quiet => "quiet",
        }
    }
}

/// Reports that a test, or a part of it, is skipped, and why.
///
/// # Panics
/// If `NETFLOW_NEEDS` lists the missing need or an unknown one, or if the file of `NETFLOW_SKIPS`
/// cannot be written: an unreported skip would count as a pass.
#[track_caller]
pub fn skip(need: Need, why: &str) {
    let needed = std::env::var(NEEDS).unwrap_or_default();
    let file = std::env::var_os(SKIPS);
    if let Err(fault) = report_skip(need, why, Location::caller(), &needed, file.as_deref()) {
        panic!("{fault}");
    }
}

fn report_skip(
    need: Need,
    why: &str,
    place: &Location<'_>,
    needed: &str,
    file: Option<&std::ffi::OsStr>,
) -> Result<(), String> {
    // A single line, whatever the reason contains.
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("SKIPPED ({}): {why} [{}]\n", need.name(), place.file());
    if is_needed(need, needed)? {
        return Err(format!("{NEEDS} has {}, but: {why}", need.name()));
    }
    // Not eprintln!, which the harness captures.
    io::stderr().write_all(line.as_bytes()).ok();
    if let Some(path) = file {
        // One write per line, because several test processes may append at the same time.
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|error| format!("{SKIPS}: {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Returns whether `need` is mandatory, or an error if an unknown need is listed.
fn is_needed(need: Need, needed: &str) -> Result<bool, String> {
    let names = || needed.split(',').map(str::trim).filter(|it| !it.is_empty());
    let known = Need::ALL.map(Need::name);
    match names().find(|name| !known.contains(name)) {
        Some(stranger) => Err(format!(
            "{NEEDS}: there is no `{stranger}`; there are {}",
            known.join(", ")
        )),
        None => Ok(names().any(|name| name == need.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_report(need: Need, needed: &str, file: Option<&std::ffi::OsStr>) -> Result<(), String> {
        report_skip(need, "it is\nnot here", Location::caller(), needed, file)
    }

    #[test]
    fn missing_required_need_fails() {
        assert!(try_report(Need::Ns2, "", None).is_ok());
        assert!(try_report(Need::Ns2, "chromium, namespaces", None).is_ok());
        let fault = try_report(Need::Ns2, "chromium,ns2", None).unwrap_err();
        assert_eq!(fault, "NETFLOW_NEEDS has ns2, but: it is not here");
    }

    /// A misspelt need must fail, because it would never match.
    #[test]
    fn unknown_need_fails() {
        let fault = try_report(Need::Ns2, "chromum", None).unwrap_err();
        assert!(
            fault.contains("no `chromum`; there are ns2, ns3, chromium, mdbook, namespaces"),
            "{fault}"
        );
    }

    #[test]
    fn skips_are_added_to_the_file() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("skips");
        try_report(Need::Ns2, "", Some(file.as_os_str())).unwrap();
        try_report(Need::Quiet, "", Some(file.as_os_str())).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].starts_with("SKIPPED (ns2): it is not here ["),
            "{text}"
        );
        assert!(try_report(Need::Ns2, "", Some(place.path().as_os_str())).is_err());
    }

    /// Runs the skipped test in a separate process, because the harness captures output within this
    /// one.
    #[test]
    fn skip_is_printed_despite_captured_output() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::skipping", "--ignored"])
            .env_remove(NEEDS)
            .env_remove(SKIPS)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("SKIPPED (quiet): only to be heard"), "{said}");
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::skipping", "--ignored"])
            .env(NEEDS, "quiet")
            .output()
            .unwrap();
        assert!(!output.status.success());
    }

    #[test]
    #[ignore = "run by a_skip_is_heard_past_the_harness"]
    fn skipping() {
        skip(Need::Quiet, "only to be heard");
    }
}
