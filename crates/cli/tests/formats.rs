//! Tests that `--format` is the same in every command, and that its output is valid.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::{Workplace, text};
use netflow::results::Results;
use serde_json::Value;

/// Commands that print an answer.
const REPORTING: [&str; 15] = [
    "run",
    "check",
    "explain",
    "latency",
    "mark",
    "compare",
    "trace summary",
    "trace links",
    "trace connections",
    "trace burstiness",
    "profile list",
    "profile show",
    "profile fit",
    "profile compare",
    "ipb predict",
];

/// Commands with an answer that need a network.
const NAMESPACE_COMMANDS: [&str; 4] = ["ipb serve", "ipb run", "link", "testbed"];

#[test]
fn reporting_commands_have_equal_formats() {
    let place = Workplace::new();
    let networks = NAMESPACE_COMMANDS
        .iter()
        .filter(|command| cfg!(target_os = "linux") || command.starts_with("ipb"));
    for command in REPORTING.iter().chain(networks) {
        let help = text(&place.expect(&format!("{command} -h"), 0).stdout);
        let help: Vec<&str> = help.split_whitespace().collect();
        let help = help.join(" ");
        assert!(
            help.contains(
                "--format <FORMAT> Output format: text tables, JSON or CSV \
                 [default: text] [possible values: text, json, csv]"
            ),
            "{command}: {help}"
        );
    }
}

/// Parses the tables of an answer: column names and rows.
fn tables(bytes: &[u8]) -> Vec<(Vec<String>, Vec<Vec<String>>)> {
    let text = text(bytes);
    let tables = text.split("\n\n").map(|table| {
        let table = match table.strip_prefix("# ") {
            Some(named) => named.split_once('\n').map_or("", |(_, rows)| rows),
            None => table,
        };
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let fields = |record: &csv::StringRecord| -> Vec<String> {
            record.iter().map(str::to_owned).collect()
        };
        let header = fields(reader.headers().expect("a header"));
        let rows = reader.records().map(|row| fields(&row.expect("a row")));
        (header, rows.collect())
    });
    tables.collect()
}

/// Flattens all fields of a value except lists.
fn flatten(name: &str, value: &Value, all: &mut BTreeMap<String, String>) {
    let text = match value {
        Value::Array(_) => return,
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&format!("{name}{dot}{field}"), value, all);
            }
            return;
        }
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    all.insert(name.to_owned(), text);
}

#[test]
fn csv_has_the_values_of_json() {
    let place = Workplace::new();
    let out = |arguments: &str| place.expect(arguments, 0).stdout;
    let summary: Value = serde_json::from_slice(&out("run dumbbell.toml --format json")).unwrap();
    let csv = out("run dumbbell.toml --format csv");
    assert!(text(&csv).starts_with("# links\nlink,") && text(&csv).contains("\n\n# connections\n"));
    let [links, connections] = &tables(&csv)[..] else {
        panic!("{}", text(&csv))
    };
    for ((header, rows), name) in [(links, "links"), (connections, "connections")] {
        let objects = summary[name].as_array().unwrap();
        assert_eq!(rows.len(), objects.len());
        let mut columns = BTreeSet::new();
        for (row, object) in rows.iter().zip(objects) {
            let mut said = BTreeMap::new();
            flatten("", object, &mut said);
            for (column, cell) in header.iter().zip(row) {
                let said = said.get(column).map_or("", String::as_str);
                assert_eq!(said, cell, "{name}: {column}");
            }
            columns.extend(said.into_keys());
        }
        assert!(columns.iter().eq(&BTreeSet::from_iter(header.clone())));
    }
    let one = |arguments: &str| tables(&out(arguments)).remove(0);
    let (header, rows) = one("explain dumbbell.toml first --format csv");
    assert_eq!((header[0].as_str(), rows.len()), ("link", 4));
    let (header, rows) = one("profile show nt --loss 1%,5% --rtt 60ms,1s --format csv");
    assert_eq!(
        header,
        ["loss", "rtt_s", "throughput_pps", "outside", "rests_on"]
    );
    assert_eq!(rows.len(), 4);
    let (header, rows) = one("profile compare nt bsd --loss 1%,5% --rtt 60ms --format csv");
    assert_eq!((header[2].as_str(), rows.len()), ("ratio", 2));
    let (header, _) = one("profile list --format csv");
    assert!(header.contains(&"rtt_max_s".to_owned()), "{header:?}");
    let (header, rows) = one("ipb predict --delay 10ms --http 1/s --users 3 --format csv");
    assert_eq!(header[..3], ["users", "wait", "count"]);
    assert!(!rows.is_empty());
    fs::write(place.path("wrong.toml"), "links = 1\n").unwrap();
    let (header, rows) = tables(&place.expect("check wrong.toml --format csv", 2).stdout).remove(0);
    assert_eq!(
        header,
        ["severity", "message", "file", "line", "column", "help"]
    );
    assert_eq!(rows[0][2..5], ["wrong.toml", "1", "1"]);
}

#[test]
fn empty_tables_have_columns() {
    let place = Workplace::new();
    let out = |arguments: &str| text(&place.expect(arguments, 0).stdout);
    assert_eq!(
        out("check dumbbell.toml --format csv"),
        "severity,message,file,line,column,help\n"
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let capture = root.join("tests/reference/linux/reno_0.1_60_0.pcap.gz");
    let capture = capture.display();
    let burstiness = format!("trace burstiness {capture} --format csv");
    let all = out(&burstiness);
    let (header, rows) = all.split_once('\n').unwrap();
    assert_eq!(rows.lines().count(), 1);
    let none = out(&format!("{burstiness} --from 1h"));
    assert_eq!(none, format!("{header}\n"));
    // Captures have no queues.
    let summary = out(&format!("trace summary {capture} --format csv"));
    let tables = "# links\nlink,enqueued,dropped\n\n# tcp_senders\nconnection,";
    assert!(summary.starts_with(tables), "{summary}");
}

#[test]
fn json_is_an_alias() {
    let place = Workplace::new();
    let out = |arguments: &str| place.expect(arguments, 0).stdout;
    assert!(out("run dumbbell.toml --json") == out("run dumbbell.toml --format json"));
    place.expect("run dumbbell.toml --json --quiet", 2);
    place.expect("run dumbbell.toml --format json --quiet", 2);
    place.expect("run dumbbell.toml --json --format csv", 2);
}

/// For compatibility, `--format` is the format of series if it cannot be that of an answer.
#[test]
fn series_have_separate_formats() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -q -o new --series jsonl", 0);
    let old = place.expect("run dumbbell.toml -o old --format jsonl", 0);
    assert!(
        text(&old.stdout).contains(" delivered [Mbit/s] "),
        "a table all the same"
    );
    for file in ["links.jsonl", "connections.jsonl", "summary.json"] {
        let read = |directory: &str| fs::read(place.path(directory).join(file)).unwrap();
        assert!(read("new") == read("old"), "{file}");
    }
    let json = place.expect("run dumbbell.toml -o json --format jsonl --json", 0);
    let alone = place.expect("run dumbbell.toml --json", 0);
    assert!(json.stdout == alone.stdout && place.path("json/links.jsonl").exists());
    // Scripts may state the default explicitly.
    let quiet = place.expect("run dumbbell.toml -q -o quiet --format csv", 0);
    assert_eq!(text(&quiet.stdout), "");
    let both = place.expect("run dumbbell.toml -o both --series jsonl --format csv", 0);
    assert!(text(&both.stdout).starts_with("# links\n"));
    assert!(place.path("both/links.jsonl").exists() && place.path("quiet/links.csv").exists());
    let results = |name: &str| Results::open(place.path(name)).unwrap();
    assert_eq!(
        results("quiet").links().unwrap(),
        results("both").links().unwrap()
    );
    for wrong in [
        "run dumbbell.toml --format jsonl",
        "run dumbbell.toml --series jsonl",
        "run dumbbell.toml -o out --series jsonl --format jsonl",
    ] {
        let said = text(&place.expect(wrong, 2).stderr);
        assert!(said.contains("--output"), "{wrong}: {said}");
    }
}

/// The command that a run prints for packet-level results is valid in a shell.
#[test]
fn printed_packet_command_is_valid() {
    const LINE: &str = " For packet-level results (about ";
    let place = Workplace::new();
    let printed = |options: &str| {
        let line = format!("netflow run dumbbell.toml {options}");
        let output = common::shell(&line, &place.path("")).output().unwrap();
        let out = text(&output.stdout);
        let found = out.lines().find(|line| line.starts_with(LINE));
        found.map(|line| line.split_once("): ").unwrap().1.to_owned())
    };
    let command = printed("--set 'connection.*.count=2'").unwrap();
    assert!(
        command.contains("--set 'connection.*.count=2'"),
        "{command}"
    );
    let output = common::shell(&command, &place.path("")).output().unwrap();
    let out = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        out.starts_with("Packet model: ") && !out.contains(LINE),
        "{out}"
    );
    assert_eq!(printed("--no-notes"), None);
}
