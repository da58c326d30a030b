//! A small network and helpers for directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use netflow_results::Format;
use netflow_scenario::{CompiledScenario, Problems, from_str};
use netflow_sweep::{Axis, Error, Sweep, SweepRequest};

const SCENARIO: &str = r#"
simulation = { duration = "5 s" }
link = [
    { from = "A", to = "B", bandwidth = "4 Mbit/s", delay = "10 ms", buffer = "20 pkt" },
    { from = "B", to = "C", bandwidth = "4 Mbit/s", delay = "10 ms", buffer = "20 pkt" },
    { from = "A", to = "C", bandwidth = "2 Mbit/s", delay = "50 ms", buffer = "20 pkt", duplex = false },
    { from = "C", to = "A", bandwidth = "2 Mbit/s", delay = "50 ms", buffer = "20 pkt", duplex = false },
]
connection = [
    { name = "c1", from = "A", to = "C", source = { constant = "1 Mbit/s" } },
    { name = "c2", from = "B", to = "C", source = { profile = "ns-reno" } },
]
"#;

pub fn load(settings: &[String]) -> Result<CompiledScenario, Problems> {
    from_str("lab.toml", SCENARIO, Path::new("."), settings)
}

pub fn axes(options: &[&str]) -> Vec<Axis> {
    options
        .iter()
        .map(|option| Axis::parse(option).unwrap())
        .collect()
}

/// 4 × 3 × 5 = 60 cases in CSV.
pub fn request() -> SweepRequest {
    SweepRequest {
        axes: axes(&[
            "connection.c1.source.constant=0.5..3.5 Mbit/s/4",
            "link.*.buffer=10 pkt,20 pkt,50 ms",
        ]),
        each_link_fails: true,
        format: Format::Csv,
        ..SweepRequest::default()
    }
}

pub fn sweep(request: SweepRequest) -> Sweep {
    Sweep::new(request, &load, &|| false).unwrap_or_else(|error| panic!("{}", error_text(&error)))
}

/// Returns every file below a directory, by path.
pub fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let inner = files(&entry.path()).into_iter();
            all.extend(inner.map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            all.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    all
}

/// Returns the text of an error.
pub fn error_text(error: &Error) -> String {
    match error {
        Error::Scenario(problems) => problems.iter().map(|it| it.message.clone()).collect(),
        error => error.to_string(),
    }
}
