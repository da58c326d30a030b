//! Tests of output files with names given by the user, and of existing files.
#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

/// Commands that write files, and the names of these files.
const WRITERS: &[(&str, &[&str])] = &[
    ("netflow demo", &["home-gateway.toml"]),
    ("netflow report r -o page.html", &["page.html"]),
    (
        "netflow report r --figure links -o a.svg --data",
        &["a.svg", "a.csv"],
    ),
    #[cfg(feature = "pdf")]
    ("netflow report r --figure map -o b.pdf", &["b.pdf"]),
    #[cfg(feature = "pdf")]
    ("netflow report r --figure links -o c.png", &["c.png"]),
    (
        "netflow failures s.toml -o failures.html",
        &["failures.html"],
    ),
    ("netflow export s.toml --to ns2 -o s.tcl", &["s.tcl"]),
    ("netflow export s.toml --to ns3 -o s.cc", &["s.cc"]),
    (
        "netflow export s.toml --to graphml -o s.graphml",
        &["s.graphml"],
    ),
    (
        "netflow profile fit samples.csv -o p.toml --residuals residuals.csv",
        &["p.toml", "residuals.csv"],
    ),
    (
        "netflow ipb predict --delay 25ms --users 20 --svg waits.svg",
        &["waits.svg"],
    ),
    ("netflow man -o man", &["man/netflow-run.1"]),
];

fn run_to_success(command: &str, place: &Path) -> Output {
    common::shell(command, place).output().unwrap()
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::copy(
        root.join("scenarios/topology.toml"),
        place.path().join("s.toml"),
    )
    .unwrap();
    let trace = root.join("tests/reference/ns2/traces/reno_p02_rtt100.tr.gz");
    let made = run_to_success(
        &format!(
            "netflow run s.toml -o r -q && netflow trace samples {} > samples.csv",
            trace.display()
        ),
        place.path(),
    );
    assert!(made.status.success(), "{made:?}");
    place
}

/// Regression: a table of measurements was overwritten by the data of a figure of the same name.
#[test]
fn only_own_files_are_replaced() {
    let place = place();
    for (command, files) in WRITERS {
        for _ in 0..2 {
            let output = run_to_success(command, place.path());
            assert!(output.status.success(), "{command}: {output:?}");
        }
        for file in *files {
            let path = place.path().join(file);
            let own = fs::read(&path).unwrap();
            assert!(!own.is_empty(), "{command} wrote nothing");
            fs::write(&path, "somebody's\n").unwrap();
            let refused = run_to_success(command, place.path());
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(3), "{command}: {said}");
            assert!(
                said.contains(&format!("cannot write {file}: it already exists")),
                "{command}: {said}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's\n");
            fs::write(&path, own).unwrap();
        }
    }
}

/// Regression: `netflow run -o .` next to a scenario replaced the table of links that it includes.
#[test]
fn results_replace_only_results() {
    let place = place();
    let run = "netflow run s.toml -q -o";
    let refused = |command: &str, words: &str| {
        let refused = run_to_success(command, place.path());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            matches!(refused.status.code(), Some(2 | 3)) && said.contains(words),
            "{command}: {said}"
        );
    };
    assert!(
        run_to_success(&format!("{run} r"), place.path())
            .status
            .success()
    );
    fs::create_dir_all(place.path().join("mine/scenario")).unwrap();
    fs::write(place.path().join("mine/links.csv"), "from,to\n").unwrap();
    refused(
        &format!("{run} mine"),
        "cannot write mine/links.csv: it already exists",
    );
    fs::remove_file(place.path().join("mine/links.csv")).unwrap();
    fs::write(place.path().join("mine/scenario/s.toml"), "# another\n").unwrap();
    refused(
        &format!("{run} mine"),
        "cannot write mine/scenario/s.toml: it already exists",
    );
    assert!(!place.path().join("mine/manifest.json").exists());

    let sweep = "netflow sweep s.toml --vary 'link.N5->N7.delay=1ms,2ms' --format csv -q -o";
    assert!(
        run_to_success(&format!("{sweep} sw"), place.path())
            .status
            .success()
    );
    refused(&format!("{run} sw"), "sw contains a sweep (sweep.json)");
    refused(
        &format!("{sweep} r"),
        "r contains results of a run (manifest.json)",
    );
    assert!(!place.path().join("r/sweep.json").exists() && !place.path().join("r/chunks").exists());
}

#[test]
fn profile_does_not_replace_table() {
    let place = place();
    let refused = run_to_success("netflow profile fit samples.csv -o x.csv", place.path());
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(
        said,
        "error: a profile cannot be written as `.csv`\n  help: end the name with .toml\n"
    );
}
