//! Tests of the console blocks in the README, `docs` and `cmd/*.md`: commands with their expected output.
//!
//! A shell runs each line `$ command` in a directory with the `scenarios` of the repository. The expected
//! standard output follows, then the standard error. `? 2` after the command is the exit code, with
//! default 0. In a line, `[..]` matches any characters; a line `...` matches any lines. `cargo run -- `
//! is replaced by the built command, and `cargo test` is skipped because it runs this test.
//!
//! A block that begins with ```` ```console ns ```` needs ns-2, and is skipped without it. A block that
//! begins with ```` ```console testbed ```` is skipped if namespaces or TUN devices are not available.
//!
//! `NETFLOW_BLESS=1` writes the actual output into the files; review the difference.
#![cfg(unix)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::shell;
use netflow_needs::{Need, skip};

#[test]
fn readme_examples_match_output() {
    check(&root().join("README.md"));
}

#[test]
fn guide_examples_match_output() {
    let mut pages = pages_below(&root().join("docs"));
    pages.sort();
    for page in pages {
        if fs::read_to_string(&page).unwrap().contains("\n```console") {
            check(&page);
        }
    }
}

#[test]
fn command_output_is_unchanged() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        check(&file);
    }
}

/// Returns the Markdown files in a folder and its subfolders.
fn pages_below(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages.extend(pages_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages
}

fn has_ns() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("ns").is_file())
}

fn missing_testbed() -> Option<&'static str> {
    let output = Command::new(env!("CARGO_BIN_EXE_netflow"))
        .args(["testbed", "--", "true"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    eprintln!("{}", said.trim());
    (said.contains("not available here") || said.contains("unrecognized subcommand"))
        .then_some("there are no testbeds here")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A command with its expected exit code and output.
struct Step {
    command: String,
    code: i32,
    expected: Vec<String>,
}

fn check(file: &Path) {
    let place = tempfile::tempdir().unwrap();
    for folder in [
        "scenarios",
        "tests/reference/ns2/traces",
        "tests/reference/linux",
        "tests/reference/topologies",
    ] {
        copy(&root().join(folder), &place.path().join(folder));
    }
    let text = fs::read_to_string(file).unwrap();
    let mut blessed = String::new();
    let mut wrong = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        blessed += &format!("{line}\n");
        let missing = match line.trim() {
            "```console" => None,
            "```console ns" => (!has_ns()).then_some((Need::Ns2, "ns is not installed")),
            "```console testbed" => missing_testbed().map(|why| (Need::Namespaces, why)),
            _ => continue,
        };
        let mut block = Vec::new();
        while let Some(line) = lines.next_if(|line| line.trim() != "```") {
            block.push(line.to_owned());
        }
        if let Some((need, why)) = missing {
            skip(need, &format!("{why}: {}", block.join("; ")));
            block
                .iter()
                .for_each(|line| blessed += &format!("{line}\n"));
            continue;
        }
        let mut between = "";
        for step in steps(&block) {
            let (code, actual) = run(&step.command, place.path());
            let right = code == step.code && matches(&step.expected, &actual);
            if !right {
                let (expected, actual) = (step.expected.join("\n"), actual.join("\n"));
                wrong += &format!(
                    "\n$ {}\n? {code}\n{actual}\n--- instead of ? {}\n{expected}\n",
                    step.command, step.code
                );
            }
            let output = if right {
                step.expected
            } else {
                actual.iter().map(|line| elide(line)).collect()
            };
            blessed += &format!("{between}$ {}\n", step.command);
            between = if output.is_empty() { "" } else { "\n" };
            if code != 0 {
                blessed += &format!("? {code}\n");
            }
            output
                .iter()
                .for_each(|line| blessed += &format!("{line}\n"));
        }
    }
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        fs::write(file, blessed).unwrap();
    } else {
        assert!(wrong.is_empty(), "{}: {wrong}", file.display());
    }
}

fn steps(block: &[String]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                code: 0,
                expected: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            match line.strip_prefix("? ").and_then(|code| code.parse().ok()) {
                Some(code) if step.expected.is_empty() => step.code = code,
                _ => step.expected.push(line.clone()),
            }
        }
    }
    // Blank lines between commands are for readability.
    for step in &mut steps {
        while step.expected.last().is_some_and(String::is_empty) {
            step.expected.pop();
        }
    }
    steps
}

fn run(command: &str, place: &Path) -> (i32, Vec<String>) {
    if command.starts_with("cargo test") {
        return (0, Vec::new());
    }
    let (command, place) = match command.strip_prefix("cargo run --release -p netflow --example ") {
        Some(example) => (
            // Built like the tests, so that nothing is built twice.
            format!(
                "cargo build --quiet --workspace --example {example} 2> /dev/null && \
                 ${{CARGO_TARGET_DIR:-target}}/debug/examples/{example}"
            ),
            root(),
        ),
        None => (
            command.replace("cargo run -- ", "netflow "),
            place.to_owned(),
        ),
    };
    let output = shell(&command, &place).output().unwrap();
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said += &String::from_utf8_lossy(&output.stderr);
    let mut lines: Vec<String> = said
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    (output.status.code().unwrap_or(-1), lines)
}

fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((any, rest)) if any == "..." => {
            (0..=actual.len()).any(|from| matches(rest, &actual[from..]))
        }
        Some((line, rest)) => {
            actual
                .first()
                .is_some_and(|first| line_matches(line, first))
                && matches(rest, &actual[1..])
        }
    }
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let parts: Vec<&str> = pattern.trim_end().split("[..]").collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return pattern.trim_end() == line;
    };
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// Replaces durations, which differ between runs.
fn elide(line: &str) -> String {
    if line.starts_with("run time: netflow ") {
        return "run time: netflow [..], one run of ns-2 [..]".to_owned();
    }
    let cut = line.rsplit_once(", in ");
    let is_heading = line.starts_with("Fluid model: ") || line.starts_with("Packet model: ");
    let Some((before, after)) = cut.filter(|_| is_heading) else {
        return line.to_owned();
    };
    let after = after
        .split_once(';')
        .map_or(String::new(), |(_, after)| format!(";{after}"));
    format!("{before}, in [..]{after}")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn patterns_match_expected_lines() {
    assert!(
        line_matches("a [..] c", "a b c")
            && line_matches("[..]", "")
            && line_matches("in [..]; x", "in 5 ms; x")
    );
    assert!(
        !line_matches("a [..] c", "a c")
            && !line_matches("a", "ab")
            && !line_matches("ab[..]ba", "aba")
    );
    let lines = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a|...|d"), &lines("a|b|c|d")) && matches(&lines("..."), &[]));
    assert!(!matches(&lines("a|..."), &lines("b|a")));
}
