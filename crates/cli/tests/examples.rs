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

/// The scenario of `llms.txt` has neither errors nor warnings, and the commands there run with it.
#[test]
fn examples_of_llms_txt_run() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../llms.txt");
    let page = std::fs::read_to_string(page).unwrap();
    let block = |kind: &str| {
        let start = page.split_once(&format!("```{kind}\n"));
        let block = start.and_then(|(_, rest)| rest.split_once("```"));
        block.unwrap_or_else(|| panic!("no block of {kind}")).0
    };
    let place = Workplace::new();
    std::fs::write(place.path("scenario.toml"), block("toml")).unwrap();
    for line in block("sh").lines() {
        let output = shell(line, &place.path(".")).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        assert!(!said.contains("warning"), "{line}: {said}");
    }
}

/// Scenarios that commands write refer to the schema next to them, which all scenarios of a folder share.
#[test]
fn written_scenarios_refer_to_their_schema() {
    let place = Workplace::new();
    let network = "from,to,bandwidth,delay\nA,B,10 Mbit/s,5 ms\n";
    std::fs::write(place.path("network.csv"), network).unwrap();
    for (line, file) in [
        ("netflow demo", "home-gateway.toml"),
        ("netflow new star -o star.toml", "star.toml"),
        (
            "netflow import network.csv -o imported.toml",
            "imported.toml",
        ),
    ] {
        let output = shell(line, &place.path(".")).output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        let written = std::fs::read_to_string(place.path(file)).unwrap();
        let first = written.lines().next().unwrap();
        let name = first.strip_prefix("#:schema ").unwrap();
        let schema = std::fs::read_to_string(place.path(name)).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        assert!(schema["properties"]["link"].is_object(), "{line}");
        let check = place.netflow(["check", file]).output().unwrap();
        assert!(check.status.success(), "{file}: {}", text(&check.stderr));
    }
    // A file that netflow has not written remains, and the scenario does not refer to it.
    std::fs::write(place.path("netflow.schema.json"), "{}").unwrap();
    let line = "netflow new star -o other.toml";
    assert!(shell(line, &place.path(".")).status().unwrap().success());
    let written = std::fs::read_to_string(place.path("other.toml")).unwrap();
    assert!(!written.starts_with("#:schema"), "{written}");
    let kept = std::fs::read_to_string(place.path("netflow.schema.json"));
    assert_eq!(kept.unwrap(), "{}");
}
