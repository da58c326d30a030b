//! Reference page of all keys: it equals the generated one, and its examples are valid.
//!
//! `NETFLOW_BLESS=1 cargo test -p netflow-scenario --test all reference` rewrites it.

use netflow_document::{Key, Table};
use netflow_scenario::file::Scenario;

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/scenario-file.md"
);

#[test]
fn reference_page_is_up_to_date() {
    let made = netflow_scenario::reference();
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        std::fs::write(FILE, &made).expect("a written page");
    }
    let kept = std::fs::read_to_string(FILE).expect("scenario-file.md");
    assert!(
        made == kept,
        "docs/reference/scenario-file.md is out of date: run this test with NETFLOW_BLESS=1"
    );
}

/// Returns the required keys except one.
fn required(keys: &[Key], but: &str) -> String {
    keys.iter()
        .filter(|key| key.required && key.name != but)
        .map(|key| format!("{} = {}\n", key.name, key.example))
        .collect()
}

#[test]
fn reference_examples_are_valid() {
    let mut tried = 0;
    for element in Scenario::KEYS {
        let keys = element.tables.concat();
        for key in &keys {
            if key.name == "class" && key.many {
                continue;
            }
            assert!(!key.example.is_empty(), "{}.{}", element.name, key.name);
            assert!(!key.doc.is_empty(), "{}.{}", element.name, key.name);
            // An event has one change of one element; other tables need their required keys.
            let mut lines = required(&keys, key.name);
            lines += &format!("{} = {}\n", key.name, key.example);
            lines = with_application_of(key.name, &lines);
            let is_one_of = |names: &[&str]| names.contains(&key.name);
            if element.name == "event" && !is_one_of(&["set", "down", "up"]) {
                lines += "down = true\n";
            }
            if element.name == "event" && !is_one_of(&["link", "node", "srlg"]) {
                lines += "link = \"A->B\"\n";
            }
            if element.name == "demand" && key.name != "rate" {
                lines += "rate = \"1 Mbit/s\"\n";
            }
            lines += match key.name {
                "mtbf" => "mttr = \"12 h\"\n",
                "mttr" => "mtbf = \"200 d\"\n",
                "name" if element.name == "srlg" => "unavailability = \"0.1 %\"\n",
                _ => "",
            };
            try_one(element, &lines, &format!("{}.{}", element.name, key.name));
            tried += 1;
            // Each alternative of a value with several types.
            let kinds = key.tables.first().copied().unwrap_or_default();
            if kinds.iter().any(|kind| kind.required) || key.is_cell {
                continue;
            }
            for kind in kinds {
                let mut lines = required(&keys, key.name);
                let example = kind.example;
                if example.is_empty() {
                    continue;
                }
                lines += &format!("{} = {{ {} = {example} }}\n", key.name, kind.name);
                lines = with_application_of(key.name, &lines);
                if element.name == "demand" {
                    lines += "rate = \"1 Mbit/s\"\n";
                }
                if element.name == "event" {
                    lines += "link = \"A->B\"\n";
                }
                let what = format!("{}.{}.{}", element.name, key.name, kind.name);
                try_one(element, &lines, &what);
                tried += 1;
            }
        }
    }
    assert!(tried > 80, "only {tried} examples");
}

/// Returns a workload with the application that has this key.
fn with_application_of(key: &str, lines: &str) -> String {
    let application = match key {
        key if key.starts_with("keystroke") || key == "echo-size" => "\"telnet\"",
        "bitrate" | "chunk" | "ahead" | "video-length" => "\"video\"",
        _ => return lines.to_owned(),
    };
    lines.replace("\"http\"", application)
}

fn try_one(element: &Key, lines: &str, what: &str) {
    let simulation = "[simulation]\nduration = \"60 s\"\n";
    let text = match (element.name, element.many) {
        ("simulation", _) => format!("[simulation]\n{lines}"),
        (name, false) => format!("{simulation}[{name}]\n{lines}"),
        (name, true) => format!("{simulation}[[{name}]]\n{lines}"),
    };
    if let Err(problems) = netflow_scenario::parse("example.toml", &text) {
        panic!("{what}: {problems}\n{text}");
    }
}
