//! Results for the tests of reports.
#![allow(dead_code)]

use netflow_simulation::Run;
use std::fs;
use std::path::{Path, PathBuf};

use netflow_results::{Format, Manifest, Results, Summary, Writer};
use netflow_simulation::{Options, Simulation};

/// Three transfers over a bottleneck of 1 Mbit/s with names that contain HTML and script. Names of nodes in a
/// scenario cannot contain `>`, so [`run_text`] replaces `SCRIPT` in the files.
pub const HOSTILE: &str = r#"
[simulation]
duration = "10 s"

[[node]]
name = "S"
label = "<b>sink</b>"
x = 4
y = 0

[[link]]
from = "SCRIPT"
to = "R"
bandwidth = "10 Mbit/s"
delay = "5 ms"
buffer = "100 pkt"

[[link]]
from = "B"
to = "R"
bandwidth = "10 Mbit/s"
delay = "10 ms"
buffer = "100 pkt"

[[link]]
from = "R"
to = "S"
bandwidth = "1 Mbit/s"
delay = "30 ms"
buffer = "25 pkt"

[[connection]]
name = "</script><img src=x onerror=alert(2)>"
from = "SCRIPT"
to = "S"
source = { profile = "ns-reno" }

[[connection]]
name = "{{scripts}}&amp;\u2028'\""
from = "B"
to = "S"
source = { profile = "ns-reno" }
start = "5 s"

[[connection]]
name = "plain"
from = "B"
to = "S"
source = { profile = "ns-reno" }
"#;

/// Runs a scenario into the directory `name` below `place`.
pub fn run(place: &Path, scenario: &Path, name: &str, every_s: f64) -> PathBuf {
    let scenario = netflow_scenario::load(scenario, &[]).unwrap();
    let directory = place.join(name);
    let network = scenario.network.clone();
    let mut writer = Writer::create(&directory, &network, Format::Csv, false).unwrap();
    for note in &scenario.node_annotations {
        let (label, position) = (note.label.clone(), note.position);
        writer
            .topology()
            .set_node_details(note.node, label, position);
    }
    let options: Options = scenario.options;
    let mut simulation = Simulation::new(network, options).unwrap();
    simulation.run(every_s, &mut writer, || false).unwrap();
    let users = [simulation.experiences(&|| false).unwrap()];
    writer.waits(&users).unwrap();
    let mut summary = Summary::of(&simulation, vec!["<i>careful</i>".to_owned()]);
    let manifest = Manifest {
        program: "netflow".to_owned(),
        version: "0".to_owned(),
        format_version: Manifest::FORMAT_VERSION,
        scenario: format!("{name}.toml"),
        digest: scenario.digest.clone(),
        sources: Vec::new(),
        scenario_copy: None,
        overrides: Vec::new(),
        allow_outside: false,
        seed: scenario.seed,
        seeds: 1,
        options,
        interval_s: every_s,
        from_s: 0.0,
        to_s: None,
        format: Format::Csv,
        files: writer.files(),
        events: summary.events.clone(),
        steps: simulation.steps(),
        threads: 1,
        wall_time_s: 0.0,
        complete: true,
        stop: None,
    };

    summary.add_users(simulation.network(), &users);
    writer.finish(&summary, &manifest).unwrap();
    assert!(Results::open(&directory).is_ok());
    directory
}

/// Runs a scenario given as text.
pub fn run_text(place: &Path, scenario: &str, name: &str, every_s: f64) -> PathBuf {
    let file = place.join(format!("{name}.toml"));
    fs::write(&file, scenario).unwrap();
    let directory = run(place, &file, name, every_s);
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("SCRIPT", "<script>alert(1)</script>")).unwrap();
    }
    directory
}

/// Returns the path of a scenario of the repository.
pub fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(name)
}
