//! Demands: their representation in the network.

use std::collections::BTreeMap;

use netflow_network::{Acks, Application, ConnectionSpec, Source};
use netflow_scenario::{CompiledScenario, from_str};
use netflow_simulation::{Run, Simulation};
use netflow_workload::{Distribution, ResponseEvent};

const START: &str = "[simulation]\nduration = \"60 s\"\npacket-size = \"1500 B\"\n";
const LINKS: &str = r#"
[[link]]
from = "A"
to = "B"
bandwidth = "100 Mbit/s"

[[link]]
from = "B"
to = "C"
bandwidth = "50 Mbit/s"
"#;

fn good(parts: &[&str], options: &[&str]) -> CompiledScenario {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let prepared = from_str("test.toml", &parts.concat(), "".as_ref(), &options);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    assert!(prepared.warnings.is_empty(), "{}", prepared.warnings[0]);
    prepared
}

fn spec<'a>(prepared: &'a CompiledScenario, name: &str) -> &'a ConnectionSpec {
    let network = &prepared.network;
    let id = network.connection_by_name(name);
    network.connection_spec(id.unwrap_or_else(|| panic!("no {name}")))
}

/// Returns the rate of a fixed-rate source with its count, in bit/s on the wire.
fn own_bps(spec: &ConnectionSpec) -> f64 {
    let pps = match (&spec.source, spec.application) {
        (Source::Constant { rate_pps } | Source::Poisson { rate_pps }, _) => *rate_pps,
        (Source::Users(traffic), _) => traffic.mean_pps,
        (_, Application::Poisson { rate_pps }) => rate_pps,
        _ => panic!("{spec:?}"),
    };
    f64::from(spec.count) * pps * 8.0 * spec.packet_size_bytes
}

#[test]
fn a_demand_is_found_by_the_only_prefix_of_its_name() {
    let demand = |name: &str| {
        format!("[[demand]]\nname = \"{name}\"\nfrom = \"A\"\nto = \"C\"\nrate = \"2 Mbit/s\"\n")
    };
    let (one, other) = (demand("A->C/constant"), demand("A->C/video"));
    let scenario = good(&[START, LINKS, &one], &[]);
    let found = scenario.connections_by_name("A->C");
    assert!(found.is_some());
    assert_eq!(found, scenario.connections_by_name("A->C/constant"));
    assert_eq!(scenario.connections_by_name("A->"), None);
    let both = good(&[START, LINKS, &one, &other], &[]);
    assert_eq!(both.connections_by_name("A->C"), None);
}

fn assert_close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}");
}

const DEMANDS: &str = r#"
[[demand]]
from = "A"
to = "C"
rate = "20 Mbit/s"

[[demand]]
from = "A"
to = "C"
kind = "voice"
users = 100

[[demand]]
from = "C"
to = "A"
kind = "constant"
rate = "2 Mbit/s"

[[demand]]
from = "C"
to = "A"
kind = "poisson"
rate = "100 pkt/s"
users = 3

[[demand]]
name = "backup"
from = "B"
to = "C"
rate = "6 Mbit/s"
flows = 4

[[demand]]
from = "B"
to = "C"
kind = "video"
users = 10
"#;

/// Rate of ten viewers: every 4 s a chunk of 2.5 Mbit/s, in packets with 1460 B of data and 40 B of
/// headers.
const VIEWERS_BPS: f64 = 10.0 * 8.0 * (1.25e6 + 857.0 * 40.0) / 4.0;

#[test]
fn every_demand_kind_sends_its_rate() {
    for (scale, options) in [(1.0, vec![]), (2.5, vec!["simulation.demand-scale=2.5"])] {
        let prepared = good(&[START, LINKS, DEMANDS], &options);
        assert_eq!(prepared.network.connection_count(), 6);
        let of = |name: &str| spec(&prepared, name).clone();
        assert_close(own_bps(&of("A->C")), 20e6 * scale);
        assert!(matches!(of("A->C").source, Source::Poisson { .. }));
        assert_eq!(of("A->C").acks, Acks::EveryPacket);
        assert_close(own_bps(&of("A->C/voice")), 100.0 * 80e3 * scale);
        assert_eq!(of("A->C/voice").count, (100.0 * scale) as u32);
        assert_eq!(of("A->C/voice").packet_size_bytes, 200.0);
        assert_close(own_bps(&of("C->A/constant")), 2e6 * scale);
        assert_close(own_bps(&of("C->A/poisson")), 300.0 * 12e3 * scale);
        assert_close(own_bps(&of("backup")), 6e6 * scale);
        assert_close(own_bps(&of("B->C/video")), VIEWERS_BPS * scale);
        assert_eq!(of("B->C/video").acks, Acks::EveryPacket);
        assert_eq!(of("backup").count, 4);
        assert!(matches!(of("backup").source, Source::Profile(_)));
        let [note] = prepared.demands.as_slice() else {
            panic!("{:?}", prepared.demands);
        };
        assert_eq!(note.name, "A->C");
        assert_eq!(note.transfers.initial_window_pkts(), 10.0);
        assert_eq!(
            note.transfers.size(),
            &Distribution::Exponential {
                mean: 1e6,
                most: 20e6
            }
        );
    }
}

/// In the packet model a transfer demand consists of transfers from sender to receiver, with the
/// same mean.
#[test]
fn packet_model_uses_transfers() {
    let prepared = good(&[START, LINKS, DEMANDS], &["simulation.model=packet"]);
    let data = spec(&prepared, "A->C/replies");
    assert_close(own_bps(data), 20e6);
    let name = |node| prepared.network.node_name(node);
    assert_eq!((name(data.from), name(data.to)), ("A", "C"));
    let workload = prepared.network.workloads().next().expect("transfers");
    assert!(workload.source.is_none());
    assert_eq!(workload.stack.name, "linux-6");
    assert!(matches!(spec(&prepared, "backup").source, Source::Tcp(_)));
    assert!(prepared.demands.is_empty());
    assert_close(own_bps(spec(&prepared, "B->C/video/replies")), VIEWERS_BPS);
    let video = prepared.network.workloads().nth(1).expect("viewers");
    // Videos of two minutes: arrivals equal departures.
    assert_close(video.users_per_s, 10.0 / 120.0);
    assert_close(
        own_bps(spec(
            &good(
                &[START, LINKS, DEMANDS],
                &["demand.B->C/video.rate=3 Mbit/s"],
            ),
            "B->C/video",
        )),
        30e6,
    );
}

/// The response time of a transfer is that of its file, and of a page with one file.
#[test]
fn transfer_equals_single_file_page() {
    let settings = [
        "simulation.model=packet",
        "demand.A->C.size={ constant = '50 KB' }",
    ];
    let prepared = good(&[START, LINKS, DEMANDS], &settings);
    let mut simulation =
        Simulation::new(prepared.network, prepared.options).expect("what a model knows");
    while !simulation.is_done() {
        simulation.step().expect("a step");
    }
    let all = simulation.experiences(&|| false).expect("waits");
    let waits = |kind: ResponseEvent| -> Vec<(u64, f64)> {
        let waits = all[0].waits.iter().filter(|wait| wait.kind == kind);
        waits.map(|wait| (wait.user, wait.wait_s)).collect()
    };
    assert!(waits(ResponseEvent::File).len() > 1000);
    assert_eq!(waits(ResponseEvent::File), waits(ResponseEvent::Page));
}

fn gravity(text: &str) -> BTreeMap<String, f64> {
    let people = r#"
[[node]]
name = "A"
population = 3000

[[node]]
name = "C"
population = 1000
"#;
    let nobody = "\n[[node]]\nname = \"B\"\npopulation = 0\n";
    let prepared = good(&[START, LINKS, people, nobody, "\n[include]\n", text], &[]);
    let network = &prepared.network;
    let all = network.connections();
    all.map(|id| {
        let rate_bps = own_bps(network.connection_spec(id));
        (network.connection_name(id).to_owned(), rate_bps)
    })
    .collect()
}

/// Nodes without a population are reported once for all.
#[test]
fn gravity_reports_nodes_without_population() {
    let warnings = |nodes: &str| {
        let gravity = "\n[include]\ngravity = { total = \"8 Mbit/s\" }\n";
        let text = [START, LINKS, nodes, gravity].concat();
        let read = from_str("test.toml", &text, "".as_ref(), &[]).unwrap();
        let warnings = read.warnings.into_iter().map(|it| it.message);
        warnings.collect::<Vec<_>>()
    };
    let node =
        |name: &str, people: u32| format!("\n[[node]]\nname = \"{name}\"\npopulation = {people}\n");
    let two = node("A", 30) + &node("C", 10);
    assert_eq!(
        warnings(&two),
        ["no `population`, so no demands by `gravity`: B"]
    );
    assert_eq!(warnings(&(two + &node("B", 0))), [""; 0]);
}

#[test]
fn gravity_is_proportional_to_both_weights() {
    // Two nodes: equal demand in both directions.
    let people = gravity("gravity = { total = \"8 Mbit/s\" }\n");
    assert_eq!(people.len(), 2);
    assert_close(people["A->C"], 4e6);
    assert_close(people["C->A"], 4e6);
    let uniform =
        gravity("gravity = { total = \"6 Mbit/s\", weight = \"uniform\", kind = \"constant\" }\n");
    assert_eq!(uniform.len(), 6);
    uniform.values().for_each(|&bps| assert_close(bps, 1e6));
    // Links from A, B and C have 100, 150 and 50 Mbit/s in total.
    let bandwidth = gravity("gravity = { total = \"22 Mbit/s\", weight = \"bandwidth\" }\n");
    assert_close(bandwidth.values().sum(), 22e6);
    assert_close(bandwidth["A->B"], 6e6);
    assert_close(bandwidth["A->C"], 2e6);
    assert_close(bandwidth["B->C"], 3e6);
}

#[test]
fn settings_change_demands() {
    let prepared = good(
        &[START, LINKS, DEMANDS],
        &[
            "demand.A->C.rate=30 Mbit/s",
            "demand.*.start=5 s",
            "demand.backup.flows=7",
        ],
    );
    assert_close(own_bps(spec(&prepared, "A->C")), 30e6);
    assert_eq!(spec(&prepared, "backup").count, 7);
    let network = &prepared.network;
    for id in network.connections() {
        assert_eq!(network.connection_spec(id).start_s, 5.0);
    }
}
