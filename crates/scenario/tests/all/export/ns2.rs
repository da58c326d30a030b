//! Runner of ns-2 scripts, and parser of their output.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use netflow_needs::{Need, skip};
use netflow_scenario::CompiledScenario;
use netflow_scenario::export::{
    NS2_CONNECTIONS_FILE, NS2_LINKS_FILE, NS2_TRACE_FILE, Ns2Options, Ns2Trace, ns2,
};

pub fn compile_scenario(text: &str) -> CompiledScenario {
    netflow_scenario::from_str("lab.toml", text, ".".as_ref(), &[])
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns options for a trace of all links.
pub fn traced() -> Ns2Options {
    Ns2Options {
        trace: Ns2Trace::All,
        ..Ns2Options::default()
    }
}

/// Output of a run.
pub struct Run {
    pub place: tempfile::TempDir,
    pub links: String,
    pub connections: String,
    pub trace: String,
}

/// Runs the scenario in ns; returns `None` with a message if ns is not installed.
pub fn run(scenario: &CompiledScenario, options: &Ns2Options, seed: u64) -> Option<Run> {
    let script = ns2(scenario, options).unwrap_or_else(|error| panic!("{error}"));
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("script.tcl"), script).unwrap();
    let output = Command::new("ns")
        .args(["script.tcl", &seed.to_string(), "results"])
        .current_dir(place.path())
        // Names must not depend on the locale.
        .env("LC_ALL", "C")
        .output();
    let Ok(output) = output else {
        skip(Need::Ns2, "ns is not installed");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let read = |name: &str| {
        let path = place.path().join("results").join(name);
        fs::read_to_string(path)
    };
    Some(Run {
        links: read(NS2_LINKS_FILE).unwrap(),
        connections: read(NS2_CONNECTIONS_FILE).unwrap(),
        trace: match options.trace {
            Ns2Trace::None => String::new(),
            _ => read(NS2_TRACE_FILE).unwrap(),
        },
        place,
    })
}

/// Returns the sums over time of a file's counters by name, its second column (names without
/// quotes).
pub fn sums(csv: &str) -> BTreeMap<String, Vec<f64>> {
    let mut sums: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let values = fields[2..]
            .iter()
            .map(|field| field.parse::<f64>().unwrap());
        let sum = sums
            .entry(fields[1].to_owned())
            .or_insert_with(|| vec![0.0; fields.len() - 2]);
        sum.iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// Line of a trace: event, time, both ends of the link, packet type, bytes, flow.
pub struct Line<'a> {
    pub event: &'a str,
    pub time_s: f64,
    pub link: (&'a str, &'a str),
    pub kind: &'a str,
    pub bytes: f64,
    pub flow: &'a str,
}

pub fn lines(trace: &str) -> impl Iterator<Item = Line<'_>> {
    let packets = trace.lines().filter(|line| !line.starts_with('#'));
    packets.map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        Line {
            event: fields[0],
            time_s: fields[1].parse().unwrap(),
            link: (fields[2], fields[3]),
            kind: fields[4],
            bytes: fields[5].parse().unwrap(),
            flow: fields[7],
        }
    })
}

/// Returns the numbers of nodes in the trace.
pub fn node_numbers(trace: &str) -> BTreeMap<String, String> {
    let comments = trace
        .lines()
        .map_while(|line| line.strip_prefix("# netflow node "));
    comments
        .map(|rest| {
            let (number, name) = rest.split_once(' ').unwrap();
            (number.to_owned(), name.to_owned())
        })
        .collect()
}

pub fn is_written(place: &Path, name: &str) -> bool {
    place.join(name).exists() || place.join("results").join(name).exists()
}
