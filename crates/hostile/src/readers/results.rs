//! Results directories, file by file.

use std::fs;

use netflow_results::Results;

use super::{folder, write};

pub(super) const DICTIONARY: &[&str] = &[
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
    "interval_s",
    "format_version",
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

/// Reads any bytes as `summary.json`.
///
/// # Panics
/// On an error in netflow.
pub fn summary(bytes: &[u8]) {
    read(&[("summary.json", bytes)]);
}

/// Reads any bytes as `manifest.json`.
///
/// # Panics
/// On an error in netflow.
pub fn manifest(bytes: &[u8]) {
    read(&[("manifest.json", bytes)]);
}

/// Reads any bytes as `network.json`.
///
/// # Panics
/// On an error in netflow.
pub fn network(bytes: &[u8]) {
    read(&[("network.json", bytes)]);
}

/// Reads any bytes as each of the series.
///
/// # Panics
/// On an error in netflow.
pub fn series(bytes: &[u8]) {
    read(&[
        ("links.csv", bytes),
        ("connections.csv", bytes),
        ("classes.csv", bytes),
        ("waits.csv", bytes),
    ]);
}

/// Reads any bytes as each of the series in JSON lines.
///
/// # Panics
/// On an error in netflow.
pub fn series_jsonl(bytes: &[u8]) {
    read(&[
        ("links.jsonl", bytes),
        ("connections.jsonl", bytes),
        ("classes.jsonl", bytes),
        ("waits.jsonl", bytes),
    ]);
}

/// Reads a directory in which all files except `hostile` are valid.
fn read(hostile: &[(&str, &[u8])]) {
    let folder = folder();
    let good = [
        ("summary.json", SUMMARY),
        ("manifest.json", MANIFEST),
        ("network.json", NETWORK),
    ];
    let series = [("links.csv", LINKS), ("connections.csv", CONNECTIONS)];
    // If a series exists in two formats, only one of them is read.
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
