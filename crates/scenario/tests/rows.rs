//! Invariance of results under the order of rows.

use netflow_scenario::from_str;
use netflow_simulation::Run;
use netflow_simulation::{Network, Simulation};

const SETTINGS: &str = r#"
[simulation]
duration = "10 s"
packet-size = "1000 B"
"#;

const CONNECTIONS: &str = r#"
[[connection]]
name = "tcp"
from = "A"
to = "C"
count = 3
SOURCE

[[connection]]
name = "back"
from = "C"
to = "A"
start = "1 s"
source = { poisson = "600 kbit/s" }
"#;

fn link(from: &str, to: &str, more: &str) -> String {
    let bandwidth = if [from, to].contains(&"A") { 8 } else { 4 };
    format!(
        "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nbandwidth = \"{bandwidth} Mbit/s\"\n\
         delay = \"10 ms\"\nbuffer = \"30 pkt\"\n{more}\n"
    )
}

/// Returns the results of every link and connection, by name.
fn results(links: &[String], source: &str) -> Vec<String> {
    let connections = CONNECTIONS.replace("SOURCE", source);
    let text = format!("{SETTINGS}{}{connections}", links.concat());
    let scenario = from_str("test.toml", &text, "".as_ref(), &[]);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let mut simulation = Simulation::new(scenario.network, scenario.options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    let network: &Network = simulation.network();
    let links = network.links();
    let links = links.map(|id| {
        let totals = simulation.link_totals(id);
        format!("{} {totals:?}", network.link_name(id))
    });
    let connections = network.connections().map(|id| {
        let totals = simulation.connection_totals(id);
        format!("{} {totals:?}", network.connection_name(id))
    });
    let mut all: Vec<String> = links.chain(connections).collect();
    all.sort();
    all
}

#[test]
fn duplex_link_equals_two_simplex_links() {
    for source in [
        "source = { profile = \"ns-reno\" }",
        "source = { ns2-tcp = \"reno\" }",
    ] {
        let duplex = [link("A", "B", ""), link("B", "C", "")];
        let one_way = "duplex = false";
        let each = [
            link("C", "B", one_way),
            link("A", "B", one_way),
            link("B", "C", one_way),
            link("B", "A", one_way),
        ];
        assert_eq!(results(&duplex, source), results(&each, source), "{source}");
    }
}
