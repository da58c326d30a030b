//! Changes of delays, in a real ns-2.

use netflow_simulation::{Model, Options, Run as _, Simulation};

use super::ns2::{compile_scenario, lines, node_numbers, run, traced};

const SCENARIO: &str = r#"
[simulation]
duration = "6 s"
packet-size = "1000 B"
model = "packet"

[[link]]
from = "A"
to = "B"
bandwidth = "8 Mbit/s"
delay = "10 ms"
buffer = "100 pkt"

[[connection]]
name = "c"
from = "A"
to = "B"
source = { constant = "700 pkt/s" }

[[event]]
at = "2.0005 s"
link = "A->B"
set = { delay = "60 ms" }

[[event]]
at = "4.0005 s"
link = "A->B"
set = { delay = "20 ms" }
"#;

/// Each packet has the delay at the start of its transmission, in ns-2 too; the number of
/// overtaking packets is the same.
#[test]
fn ns2_applies_delay_events() {
    let scenario = compile_scenario(SCENARIO);
    let Some(run) = run(&scenario, &traced(), 1) else {
        return;
    };
    let names = node_numbers(&run.trace);
    let name = |number: &str| names.get(number).map(String::as_str);
    let (mut begun, mut received) = (Vec::new(), Vec::new());
    for line in lines(&run.trace).filter(|line| name(line.link.0) == Some("A")) {
        match line.event {
            "-" => begun.push(line.time_s),
            "r" => received.push(line.time_s),
            _ => {}
        }
    }
    let delay_s = |begun_s: f64| match begun_s {
        s if s < 2.0005 => 0.01,
        s if s < 4.0005 => 0.06,
        _ => 0.02,
    };
    let arrives_s = |&begun_s: &f64| begun_s + 0.001 + delay_s(begun_s);
    let mut wanted: Vec<f64> = begun.iter().map(arrives_s).filter(|&s| s < 6.0).collect();
    wanted.sort_by(f64::total_cmp);
    assert!(wanted.len() > 4000 && wanted.len().abs_diff(received.len()) <= 1);
    for (wanted, received) in wanted.iter().zip(&received) {
        assert!((wanted - received).abs() < 2e-5, "{received} for {wanted}");
    }
    let options = Options {
        model: Model::PACKETS,
        ..scenario.options
    };
    let mut ours = Simulation::new(scenario.network.clone(), options).unwrap();
    while !ours.is_done() {
        ours.step().unwrap();
    }
    let id = ours.network().connections().next().unwrap();
    let arrived = ours.connection_totals(id).delivered_pkts;
    assert!(
        (arrived - received.len() as f64).abs() <= 1.0,
        "{arrived} {}",
        received.len()
    );
}
