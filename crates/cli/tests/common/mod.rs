//! Support functions of the tests of the whole command.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use netflow::results::Manifest;

/// Scenario: two routers and a bottleneck of 1 Mbit/s that two transfers share.
pub const DUMBBELL: &str = r#"
[simulation]
duration = "20 s"

[[link]]
from = "A"
to = "R"
bandwidth = "10 Mbit/s"
delay = "5 ms"
buffer = "100 pkt"

[[link]]
from = "B"
to = "R"
bandwidth = "10 Mbit/s"
delay = "10 ms"
buffer = "100 pkt"

[[link]]
from = "R"
to = "S"
bandwidth = "1 Mbit/s"
delay = "30 ms"
buffer = "25 pkt"

[[connection]]
name = "first"
from = "A"
to = "S"
source = { profile = "ns-reno" }

[[connection]]
name = "second"
from = "B"
to = "S"
source = { profile = "ns-reno" }
start = "5 s"
"#;

/// Files of a results directory without optional ones.
pub const RESULTS: [&str; 6] = [
    "connections.csv",
    "links.csv",
    "manifest.json",
    "network.json",
    "scenario",
    "summary.json",
];

/// A temporary directory of a test, with a scenario in it.
pub struct Workplace {
    directory: tempfile::TempDir,
}

impl Workplace {
    pub fn new() -> Workplace {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("dumbbell.toml"), DUMBBELL).expect("room for a scenario");
        Workplace { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the command, to be run in this directory.
    pub fn netflow<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netflow"));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the command with arguments separated by spaces.
    pub fn run(&self, arguments: &str) -> Output {
        self.netflow(arguments.split_whitespace())
            .output()
            .expect("netflow starts")
    }

    /// Runs the command and checks its exit code.
    pub fn expect(&self, arguments: &str, code: i32) -> Output {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(
            output.status.code(),
            Some(code),
            "netflow {arguments}\n{out}\n{err}"
        );
        output
    }
}

/// Returns a shell that runs a line in this directory. `netflow` in the line is the built command.
#[cfg(unix)]
pub fn shell(line: &str, directory: &Path) -> Command {
    let netflow = Path::new(env!("CARGO_BIN_EXE_netflow"));
    let folders = netflow.parent().map(Path::to_owned).into_iter();
    let known = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&known)));
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env("PATH", path.expect("folders without colons"))
        .env_remove("RUST_LOG")
        .current_dir(directory)
        .stdin(Stdio::null());
    command
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the paths and contents of all files below a directory, in order. The manifest is left out
/// because it contains the runtime.
pub fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with(Manifest::FILE) {
                let name = path.strip_prefix(directory).expect("it is below");
                files.push((name.to_owned(), fs::read(&path).expect("a file")));
            }
        }
    }
    files.sort();
    files
}

/// Returns the names of the files in a directory, in order.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> = entries
        .map(|entry| text(entry.expect("an entry").file_name().as_encoded_bytes()))
        .collect();
    names.sort();
    names
}
