//! What tests need that a machine may not have, and one way to say that it is missing.
//!
//! A test that cannot be tried calls [`skip`] and returns. The reason goes to the standard error,
//! past the output that the test harness keeps to itself; with `NETFLOW_SKIPS=FILE` it is added to
//! that file as well, so that whoever ran many tests knows what was not tried. With
//! `NETFLOW_NEEDS=ns2,chromium,namespaces` what is named there has to be to be had: skipping for
//! want of it fails.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::Location;

/// The variable with the file that skips are added to.
const SKIPS: &str = "NETFLOW_SKIPS";
/// The variable that names what has to be there.
const NEEDS: &str = "NETFLOW_NEEDS";

/// What a test may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The simulator ns-2, as the command `ns`.
    Ns2,
    /// The simulator ns-3, as headers and libraries, and the compiler `g++`.
    Ns3,
    /// The browser, as the command `chromium`.
    Chromium,
    /// What makes the guide a book, as the command `mdbook`.
    Mdbook,
    /// Network namespaces and TUN devices, and what the kernel between them has to know.
    Namespaces,
    /// Some other command, file or right of the system.
    System,
    /// A machine that has time for the test.
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

    /// As `NETFLOW_NEEDS` names it.
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

/// Says that a test, or a part of it, is not tried, and why.
///
/// # Panics
/// If `NETFLOW_NEEDS` names what is missing, or something that nothing needs, or if the file of
/// `NETFLOW_SKIPS` cannot be written: a skip that nobody hears of would count as a pass.
#[track_caller]
pub fn skip(need: Need, why: &str) {
    let needed = std::env::var(NEEDS).unwrap_or_default();
    let file = std::env::var_os(SKIPS);
    if let Err(fault) = told(need, why, Location::caller(), &needed, file.as_deref()) {
        panic!("{fault}");
    }
}

fn told(
    need: Need,
    why: &str,
    place: &Location<'_>,
    needed: &str,
    file: Option<&std::ffi::OsStr>,
) -> Result<(), String> {
    // One line, whatever the reason is made of.
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("SKIPPED ({}): {why} [{}]\n", need.name(), place.file());
    if is_needed(need, needed)? {
        return Err(format!("{NEEDS} has {}, but: {why}", need.name()));
    }
    // Not eprintln!, which the harness would keep to itself.
    io::stderr().write_all(line.as_bytes()).ok();
    if let Some(path) = file {
        // One write of one line: tests of many processes may do so at once.
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|error| format!("{SKIPS}: {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Whether this is among what is needed; an error if something unheard of is.
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

    fn tell(need: Need, needed: &str, file: Option<&std::ffi::OsStr>) -> Result<(), String> {
        told(need, "it is\nnot here", Location::caller(), needed, file)
    }

    #[test]
    fn what_is_needed_and_missing_fails() {
        assert!(tell(Need::Ns2, "", None).is_ok());
        assert!(tell(Need::Ns2, "chromium, namespaces", None).is_ok());
        let fault = tell(Need::Ns2, "chromium,ns2", None).unwrap_err();
        assert_eq!(fault, "NETFLOW_NEEDS has ns2, but: it is not here");
    }

    /// A need that is misspelt would never fail.
    #[test]
    fn a_misspelt_need_fails() {
        let fault = tell(Need::Ns2, "chromum", None).unwrap_err();
        assert!(
            fault.contains("no `chromum`; there are ns2, ns3, chromium, mdbook, namespaces"),
            "{fault}"
        );
    }

    #[test]
    fn skips_are_added_to_the_file() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("skips");
        tell(Need::Ns2, "", Some(file.as_os_str())).unwrap();
        tell(Need::Quiet, "", Some(file.as_os_str())).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].starts_with("SKIPPED (ns2): it is not here ["),
            "{text}"
        );
        assert!(tell(Need::Ns2, "", Some(place.path().as_os_str())).is_err());
    }

    /// In a process of its own, as a test is skipped: the harness does not keep what is said.
    #[test]
    fn a_skip_is_heard_past_the_harness() {
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
