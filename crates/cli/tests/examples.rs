//! Tests of the examples in the help that need only a scenario.

#![cfg(unix)]

mod common;

use common::{Workplace, shell, text};

/// Subcommands, run in this order in one folder, because a report needs the results of the run.
const RUN: [&str; 19] = [
    "demo",
    "run",
    "check",
    "explain",
    "report",
    "export",
    "schema",
    "completions",
    "man",
    "new",
    "solve",
    "failures",
    "sweep",
    "profile list",
    "profile show",
    "profile compare",
    "latency",
    "ipb predict",
    "mark",
];

#[test]
fn examples_of_help_run() {
    let place = Workplace::new();
    for name in ["topology.toml", "abilene.toml"] {
        let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        std::fs::copy(format!("{scenarios}/{name}"), place.path(name)).unwrap();
    }
    std::fs::write(
        place.path("packets.csv"),
        "time_s,bytes\n0.1,1500\n0.2,1500\n",
    )
    .unwrap();
    let mut tried = 0;
    for command in RUN {
        let help = place
            .netflow(command.split(' ').chain(["-h"]))
            .output()
            .unwrap();
        let help = text(&help.stdout);
        let examples = help.split("Examples:").nth(1).unwrap_or_default();
        let lines = examples.lines().map(str::trim);
        for line in lines.filter(|line| line.starts_with("netflow ")) {
            let output = shell(line, &place.path(".")).output().unwrap();
            assert!(output.status.success(), "{line}: {}", text(&output.stderr));
            tried += 1;
        }
    }
    assert!(tried > RUN.len(), "{tried}");
}
