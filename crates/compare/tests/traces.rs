//! Handwritten traces compared with handwritten results.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use netflow_compare::{
    Comparison, ConnectionInterval, Ensemble, Error, LinkInterval, NetflowRun, ReferenceSystem,
    Run, from_trace, from_traces, write_ensemble,
};
use netflow_results::Topology;
use tempfile::TempDir;

/// Returns results for A and B with 8 Mbit/s in each direction. `a` sends 500 packets of 1000 bytes per
/// second from A to B. In ten intervals of a second, A->B has a queue of `queue_pkts` packets.
fn netflow_run(queue_pkts: [f64; 10]) -> NetflowRun {
    let there = queue_pkts.map(|queue_pkts| LinkInterval {
        arrived_pkts: 500.0,
        queue_pkts,
        utilization: 0.5,
        ..LinkInterval::default()
    });
    let connection = ConnectionInterval {
        sent_pkts: 500.0,
        delivered_pkts: 500.0,
    };
    let run = Run {
        times_s: (1..=10).map(f64::from).collect(),
        links: vec![
            ("A->B".to_owned(), there.to_vec()),
            ("B->A".to_owned(), vec![LinkInterval::default(); 10]),
        ],
        connections: vec![("a".to_owned(), vec![connection; 10])],
        ..Run::default()
    };
    let queue_pkts = queue_pkts.iter().sum::<f64>() / 10.0;
    let link = |name: &str, queue_pkts: f64, offered: f64, utilization: f64| {
        serde_json::json!({
            "link": name, "mean_queue_pkts": queue_pkts, "max_queue_pkts": queue_pkts,
            "loss_probability": 0.0, "utilization": utilization, "offered_pkts": offered, "lost_pkts": 0.0
        })
    };
    let none = serde_json::json!({
        "offered_pkts": 0, "delivered_pkts": 0, "lost_pkts": 0, "queued_pkts": 0, "in_flight_pkts": 0
    });
    let summary = serde_json::json!({
        "duration_s": 10, "model": "fluid", "seeds": 1, "totals": none, "acks": none, "warnings": [],
        "links": [link("A->B", queue_pkts, 5000.0, 0.5), link("B->A", 0.0, 0.0, 0.0)],
        "connections": [{
            "connection": "a", "mean_send_pps": 500, "mean_goodput_pps": 500, "delivered_pkts": 5000, "lost_pkts": 0,
            "mean_rtt_s": 0, "loss_probability": 0, "extrapolated_fraction": 0
        }]
    });
    NetflowRun {
        run,
        summary: serde_json::from_value(summary).unwrap(),
        network: Some(network()),
        took_s: None,
    }
}

fn network() -> Topology {
    let link = |from: &str, to: &str| {
        serde_json::json!({
            "link": format!("{from}->{to}"), "from": from, "to": to, "bandwidth_bps": 8e6, "delay_s": 0.01,
            "buffer_pkts": 100
        })
    };
    let network = serde_json::json!({
        "nodes": [{"node": "A"}, {"node": "B"}],
        "links": [link("A", "B"), link("B", "A")],
        "connections": [{
            "connection": "a", "from": "A", "to": "B", "source": "constant", "count": 1, "packet_size_bytes": 1000,
            "path": [0], "return_path": [1]
        }]
    });
    serde_json::from_value(network).unwrap()
}

const NAMES: &str = "# netflow node 0 A\n# netflow node 1 B\n";

/// Returns a trace until `until_ms` with a packet of 1000 bytes every 2 ms, a service time of 1 ms and a
/// delay of 10 ms.
fn cbr(until_ms: u32, flow: u32) -> String {
    let mut events: Vec<(u32, String)> = Vec::new();
    for id in 0..until_ms / 2 {
        let mut event = |what: char, at_ms: u32| {
            let time_s = f64::from(at_ms) * 1e-3;
            let line = format!("{what} {time_s} 0 1 cbr 1000 ------- {flow} 0.0 1.0 {id} {id}\n");
            events.push((at_ms, line));
        };
        event('+', 2 * id);
        event('-', 2 * id);
        event('r', 2 * id + 11);
    }
    events.retain(|(at_ms, _)| *at_ms < until_ms);
    events.sort_by_key(|(at_ms, _)| *at_ms);
    events
        .into_iter()
        .fold(NAMES.to_owned(), |text, it| text + &it.1)
}

fn write_trace(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tr");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn compare_trace(text: &str, side: NetflowRun) -> Comparison {
    let (_folder, path) = write_trace(text);
    let (side, runs) = from_traces(&[path], side).unwrap();
    Comparison::new(&side, &Ensemble::of(ReferenceSystem::Ns2, &runs))
}

fn trace_error(text: &str, side: &NetflowRun) -> String {
    let (_folder, path) = write_trace(text);
    match from_trace(&path, side) {
        Err(Error::Mismatch { what, help }) => format!("{what}; {help}"),
        other => panic!("{other:?}"),
    }
}

/// There is a pause between any two packets, so the trace does not determine the service time.
#[test]
fn results_provide_the_bandwidth() {
    let comparison = compare_trace(&cbr(10_000, 1), netflow_run([0.5; 10]));
    let link = &comparison.links[0];
    assert!((link.utilization.referee.mean - 0.5).abs() < 1e-3);
    assert!((link.queue_pkts.referee.mean - 0.5).abs() < 1e-3);
    assert!(link.trajectory_error.unwrap() < 1e-2);
    assert!(comparison.untold.is_empty(), "{:?}", comparison.untold);

    // From 5 s on, the bandwidth is half of that.
    let mut slower = netflow_run([0.5; 10]);
    let event = serde_json::json!({"at_s": 5.0, "link": "A->B", "change": "bandwidth", "bandwidth_bps": 4e6});
    slower.summary.events = vec![serde_json::from_value(event).unwrap()];
    let link = &compare_trace(&cbr(10_000, 1), slower).links[0];
    assert!(
        (link.utilization.referee.mean - 0.75).abs() < 1e-3,
        "{link:?}"
    );
}

#[test]
fn unavailable_quantities_are_not_zero() {
    let unknown = || NetflowRun {
        network: None,
        ..netflow_run([0.5; 10])
    };
    let comparison = compare_trace(&cbr(10_000, 1), unknown());
    let link = &comparison.links[0];
    assert!(link.utilization.referee.mean.is_nan() && link.queue_pkts.referee.mean.is_nan());
    assert_eq!(
        (link.queue_pkts.relative_error(), link.trajectory_error),
        (None, None)
    );
    assert_eq!(link.offered_pkts.referee.mean, 5000.0);
    // The known queue is first, and only it counts.
    assert_eq!(comparison.busiest(1)[0].link, "B->A");
    assert_eq!(comparison.totals.queue_error, 0.0);
    assert!(
        comparison.untold[0].contains("bandwidth of 1 link (A->B)"),
        "{:?}",
        comparison.untold
    );
    let json = serde_json::to_value(&comparison).unwrap();
    assert!(json["links"][0]["utilization"]["referee"]["mean"].is_null());

    let (folder, path) = write_trace(&cbr(10_000, 1));
    let (_, runs) = from_traces(&[path], unknown()).unwrap();
    write_ensemble(&Ensemble::of(ReferenceSystem::Ns2, &runs), folder.path()).unwrap();
    let links = fs::read_to_string(folder.path().join("ns2-links.csv")).unwrap();
    assert_eq!(links.lines().nth(1).unwrap(), "1,A->B,,,,,500,,0");
}

/// A trace with packets on B->A only, of an unknown connection.
#[test]
fn quantities_missing_from_a_trace_are_not_compared() {
    let mut text = NAMES.to_owned();
    for what in ['+', '-', 'r'] {
        writeln!(text, "{what} 9.5 1 0 ack 40 ------- 1 1.0 0.0 0 0").unwrap();
    }
    let mut back = netflow_run([0.5; 10]);
    back.run.links[1].1.fill(LinkInterval {
        arrived_pkts: 500.0,
        ..LinkInterval::default()
    });
    let comparison = compare_trace(&text, back);
    let links: Vec<&str> = comparison.links.iter().map(|it| it.link.as_str()).collect();
    assert_eq!((links, comparison.connections.len()), (vec!["B->A"], 0));
    let totals = &comparison.totals;
    assert!(totals.goodput_error.is_nan() && totals.median_goodput_error.is_nan());
    assert!(totals.goodput_ratio.is_nan());
    let [links, connections] = &comparison.untold[..] else {
        panic!("{:?}", comparison.untold)
    };
    assert!(
        links.ends_with("does not contain 1 link (A->B): not compared"),
        "{links}"
    );
    assert!(
        connections.ends_with("does not contain 1 connection (a): not compared"),
        "{connections}"
    );
}

/// The comparison ends at 3 s, where the shorter trace ends; its waiting packets do not wait until 10 s.
#[test]
fn truncated_trace_is_compared_up_to_its_end() {
    let results = || netflow_run([1.0, 1.0, 4.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]);
    let mut early = cbr(3500, 1);
    writeln!(early, "+ 3.5 0 1 cbr 1000 ------- 1 0.0 1.0 9999 9999").unwrap();
    let (folder, path) = write_trace(&early);
    let later = folder.path().join("later.tr");
    fs::write(&later, cbr(10_000, 1)).unwrap();
    let (side, runs) = from_traces(&[later, path], results()).unwrap();
    let ensemble = Ensemble::of(ReferenceSystem::Ns2, &runs);
    let comparison = Comparison::new(&side, &ensemble);
    assert_eq!(comparison.duration_s, 3.0);
    let link = &comparison.links[0];
    assert_eq!(link.queue_pkts.netflow, 2.0);
    assert!(
        (link.queue_pkts.referee.mean - 0.5).abs() < 1e-3,
        "{link:?}"
    );
    assert_eq!(
        (link.offered_pkts.netflow, link.offered_pkts.referee.mean),
        (1500.0, 1500.0)
    );
    let goodput = &comparison.connections[0].goodput_pps;
    assert_eq!(goodput.netflow, 500.0);
    assert!((goodput.referee.mean - 500.0).abs() < 3.0, "{goodput:?}");
    assert!(
        comparison.untold[0]
            .ends_with("t.tr ends at 3.5 s and the results end at 10 s: compared until 3 s"),
        "{:?}",
        comparison.untold
    );
    assert!(trace_error(&cbr(900, 1), &results()).contains("in the first interval of the results"));

    // A trace may end early if no packet arrives later in the results either.
    let mut ends = results();
    ends.run.links[0].1[4..].fill(LinkInterval::default());
    let comparison = compare_trace(&cbr(3500, 1), ends);
    assert_eq!((comparison.duration_s, comparison.untold.len()), (10.0, 0));
}

/// Traces of other scripts may number their flows from 0.
#[test]
fn flow_ids_are_connection_numbers() {
    let back = cbr(10_000, 1).replace(" 0 1 cbr", " 1 0 cbr");
    let error = trace_error(&back.replace("0.0 1.0", "1.0 0.0"), &netflow_run([0.5; 10]));
    assert!(
        error.contains(
            "has flow 1 from B to A; connection `a` goes from A to B; a flow id is the index"
        ),
        "{error}"
    );
    let comparison = compare_trace(&cbr(10_000, 0), netflow_run([0.5; 10]));
    assert!(comparison.connections.is_empty());
    assert!(
        comparison.untold[1].contains("does not belong to a connection"),
        "{:?}",
        comparison.untold
    );
}

#[test]
fn unequal_intervals_are_rejected() {
    let mut uneven = netflow_run([0.5; 10]);
    uneven.run.times_s[4] = 5.25;
    let error = trace_error(&cbr(10_000, 1), &uneven);
    assert!(
        error.contains("differ in length: 1 s and 1.25 s"),
        "{error}"
    );
}
