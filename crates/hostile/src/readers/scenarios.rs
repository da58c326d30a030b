//! Scenario files and their tables.

use std::path::Path;

use netflow_scenario::{CompiledScenario, Problems};

use super::{folder, write};

pub(super) const DICTIONARY: &[&str] = &[
    "[simulation]\n",
    "[[link]]\n",
    "[[connection]]\n",
    "[[node]]\n",
    "[[workload]]\n",
    "[[event]]\n",
    "[include]\n",
    "duration",
    "bandwidth",
    "delay",
    "buffer",
    "count",
    "source",
    "profile",
    "\"ns-reno\"",
    "window",
    "\"newreno\"",
    "queue",
    "discipline",
    "\"red\"",
    "path",
    "acks = true",
    "model = \"fluid\"",
    "\"1 ms\"",
    "\"1e9 s\"",
    "\"8 Mbit/s\"",
    "\"0 s\"",
    "\"1 pkt\"",
    "step",
    "pareto",
    "exponential",
    "=",
    ".",
    "{",
    "}",
    "[",
    "]",
    "\"A\"",
];

pub(super) const TABLE_DICTIONARY: &[&str] = &[
    "from",
    "to",
    "bandwidth",
    "delay",
    "buffer",
    "queue.discipline",
    "queue.min",
    "queue.max",
    "red",
    "name",
    "profile",
    "ns-reno",
    "constant",
    "path",
    "count",
    "A > B",
    "8 Mbit/s",
    "20 ms",
    "100 pkt",
    "\"",
    "\"\"",
    ",",
    ",,",
    "\n",
    "\r\n",
    "# ",
];

/// Reads any text as a scenario. Errors must have positions inside the text. A valid scenario must
/// read back unchanged after it is written.
///
/// # Panics
/// On an error in netflow.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // The folder does not exist, so that no file of this machine becomes part of the input.
    let folder = Path::new("/nonexistent");
    if let Err(problems) = netflow_scenario::from_str("hostile.toml", text, folder, &[]) {
        assert!(problems.iter().count() > 0);
        for problem in &problems {
            let span = problem.span.as_ref();
            let inside = span.is_none_or(|span| span.start <= span.end && span.end <= text.len());
            assert!(inside, "{problem}");
        }
    }
    if let Ok(scenario) = netflow_scenario::parse("hostile.toml", text) {
        let written = scenario.to_toml().expect("a text");
        let again = netflow_scenario::parse("again.toml", &written).expect("what was written");
        assert!(again == scenario, "{written}");
    }
}

/// Reads any bytes as a file with workloads.
///
/// # Panics
/// On an error in netflow.
pub fn workloads(bytes: &[u8]) {
    let folder = folder();
    write(&folder, "workloads.toml", bytes);
    match netflow_scenario::workloads(&folder.join("workloads.toml")) {
        Ok(found) => assert!(found.iter().all(|workload| workload.interarrival_s > 0.0)),
        Err(problems) => assert!(problems.iter().count() > 0),
    }
}

/// Reads any bytes as a scenario's table of links.
///
/// # Panics
/// On an error in netflow.
pub fn links_table(bytes: &[u8]) {
    let connections = b"name,from,to,profile\nc1,A,B,ns-reno\n";
    let _ = with_tables(bytes, connections);
}

/// Reads any bytes as a scenario's table of connections.
///
/// # Panics
/// On an error in netflow.
pub fn connections_table(bytes: &[u8]) {
    let links =
        b"from,to,bandwidth,delay,buffer\nA,B,8 Mbit/s,20 ms,100 pkt\nB,C,4 Mbit/s,1 ms,9 pkt\n\
        B,A,8 Mbit/s,20 ms,100 pkt\nC,B,4 Mbit/s,1 ms,9 pkt\n";
    let _ = with_tables(links, bytes);
}

fn with_tables(links: &[u8], connections: &[u8]) -> Result<CompiledScenario, Problems> {
    const SCENARIO: &[u8] =
        b"[simulation]\nduration = \"10 s\"\n[include]\nlinks = \"links.csv\"\n\
        connections = \"connections.csv\"\n";
    let folder = folder();
    write(&folder, "links.csv", links);
    write(&folder, "connections.csv", connections);
    write(&folder, "scenario.toml", SCENARIO);
    let prepared = netflow_scenario::load(&folder.join("scenario.toml"), &[]);
    if let Err(problems) = &prepared {
        assert!(problems.iter().count() > 0);
    }
    prepared
}
