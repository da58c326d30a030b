//! Results directories, file by file.

use std::fs;

use netflow_results::Results;

use super::{folder, write};

pub(super) const WORDS: &[&str] = &[
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "time_s",
    "link",
    "connection",
    "class",
    "NaN",
    "inf",
    "duration_s",
    "every_s",
    "seed",
    "format",
    "\"csv\"",
    "\"jsonl\"",
    ",",
    ":",
    "\"",
    "\n",
];

const SUMMARY: &[u8] = include_bytes!("../../corpus/summary/small.json");
const MANIFEST: &[u8] = include_bytes!("../../corpus/manifest/small.json");
const NETWORK: &[u8] = include_bytes!("../../corpus/network/small.json");
const LINKS: &[u8] = include_bytes!("../../corpus/series/links.csv");
const CONNECTIONS: &[u8] = include_bytes!("../../corpus/series/connections.csv");

/// Any bytes as `summary.json`.
///
/// # Panics
/// Where netflow is wrong.
pub fn summary(bytes: &[u8]) {
    read(&[("summary.json", bytes)]);
}

/// Any bytes as `manifest.json`.
///
/// # Panics
/// Where netflow is wrong.
pub fn manifest(bytes: &[u8]) {
    read(&[("manifest.json", bytes)]);
}

/// Any bytes as `network.json`.
///
/// # Panics
/// Where netflow is wrong.
pub fn network(bytes: &[u8]) {
    read(&[("network.json", bytes)]);
}

/// Any bytes as each of the series.
///
/// # Panics
/// Where netflow is wrong.
pub fn series(bytes: &[u8]) {
    read(&[
        ("links.csv", bytes),
        ("connections.csv", bytes),
        ("classes.csv", bytes),
        ("waits.csv", bytes),
    ]);
}

/// Any bytes as each of the series in JSON lines.
///
/// # Panics
/// Where netflow is wrong.
pub fn series_jsonl(bytes: &[u8]) {
    read(&[
        ("links.jsonl", bytes),
        ("connections.jsonl", bytes),
        ("classes.jsonl", bytes),
        ("waits.jsonl", bytes),
    ]);
}

/// Reads a directory in which all files are good but these.
fn read(hostile: &[(&str, &[u8])]) {
    let folder = folder();
    let good = [
        ("summary.json", SUMMARY),
        ("manifest.json", MANIFEST),
        ("network.json", NETWORK),
    ];
    let series = [("links.csv", LINKS), ("connections.csv", CONNECTIONS)];
    // Of a series that is there in two formats only one is read.
    let lines = hostile.iter().any(|(name, _)| name.ends_with(".jsonl"));
    let series = series.iter().filter(|_| !lines);
    for (name, bytes) in good.iter().chain(series).chain(hostile) {
        write(&folder, name, bytes);
    }
    if let Ok(results) = Results::open(&folder) {
        let _ = (results.links(), results.connections(), results.topology());
        let _ = (results.classes(), results.waits());
        results.manifest.end_s();
        results.manifest.to_json();
    }
    for (name, _) in hostile {
        fs::remove_file(folder.join(name)).expect("the file that was written");
    }
}
