//! Tests of the examples in the help that need only a scenario.

#![cfg(unix)]

mod common;

use common::{Workplace, shell, text};

/// Subcommands, run in this order in one folder, because a report needs the results of the run.
const RUN: [&str; 20] = [
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
    "availability",
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
        let is_check = line.starts_with("netflow check");
        assert!(!is_check || !said.contains("warning"), "{line}: {said}");
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

/// Tables of all shipped scenarios fit in 120 columns.
#[test]
fn tables_of_scenarios_fit_the_terminal() {
    const MAX_WIDTH: usize = 120;
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "toml") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 20, "{files:?}");
    let place = Workplace::new();
    let mut tables = 0;
    let mut wide = Vec::new();
    for file in files {
        let file = file.to_str().unwrap();
        let scenario = netflow::scenario::load(std::path::Path::new(file), &[]).unwrap();
        let connections = scenario.network.connections();
        let name = |id| scenario.network.connection_name(id).to_owned();
        let mut lines: Vec<Vec<String>> = [
            "run FILE",
            "solve FILE",
            "failures FILE",
            "failures FILE --affected 3",
        ]
        .map(|line| {
            line.split(' ')
                .map(|word| word.replace("FILE", file))
                .collect()
        })
        .into();
        for connection in connections.take(3).map(name) {
            lines.push(vec!["explain".to_owned(), file.to_owned(), connection]);
        }
        for line in lines {
            let output = place.netflow(&line).output().unwrap();
            // Rows have columns at a distance of two spaces; notes are sentences.
            let printed = text(&output.stdout);
            let rows = printed.lines().filter(|row| row.trim().contains("  "));
            for row in rows {
                tables += 1;
                if row.chars().count() > MAX_WIDTH {
                    wide.push(format!("{}\n{row}", line.join(" ")));
                }
            }
        }
    }
    assert!(tables > 1000, "{tables}");
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}
