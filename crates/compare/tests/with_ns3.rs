//! Scenarios run with ns-3, compared with queueing theory and arithmetic. Without ns-3 or a compiler, the
//! tests are skipped.

use netflow_compare::{Error, Ns3, Run, Runner, Settings};
use netflow_needs::{Need, skip};
use netflow_problems::m_d_1_k;
use netflow_scenario::{CompiledScenario, load};

fn scenario(text: &str) -> CompiledScenario {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("scenario.toml");
    std::fs::write(&path, text).unwrap();
    load(&path, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the runs, or `None` after printing the reason.
fn run(scenario: &CompiledScenario, seeds: u32) -> Option<Vec<Run>> {
    let ns3 = match Ns3::find() {
        Ok(ns3) => ns3,
        Err(error) => {
            skip(Need::Ns3, &error.to_string());
            return None;
        }
    };
    let settings = Settings {
        seeds,
        start_jitter_s: 0.0,
        ..Settings::default()
    };
    let runs = ns3.run_seeds(scenario, &settings, &|_| {}, &|| false);
    Some(runs.unwrap_or_else(|error| panic!("{error}")))
}

/// Poisson packets of 998 B have a service time of 1 ms with the 2 B of PPP: loss and queue of M/D/1/K. A
/// transfer with a window of 20 packets in an empty network sends 20 per round trip. Packets of 962 B have a
/// service time of 1 ms with 38 B of overhead, and of 2 ms at half the bandwidth.
#[test]
fn queues_and_windows_match_theory() {
    let text = r#"
        [simulation]
        duration = "40 s"
        [[link]]
        from = "a"
        to = "r"
        bandwidth = "1 Gbit/s"
        buffer = "1000 pkt"
        [[link]]
        from = "r"
        to = "b"
        bandwidth = "8 Mbit/s"
        delay = "3 ms"
        buffer = "8 pkt"
        [[link]]
        from = "c"
        to = "d"
        bandwidth = "1 Gbit/s"
        delay = "50 ms"
        buffer = "100 pkt"
        [[connection]]
        name = "noise, \"so called\""
        from = "a"
        to = "b"
        packet-size = "998 B"
        source = { poisson = "900 pkt/s" }
        [[connection]]
        name = "window"
        from = "c"
        to = "d"
        packet-size = "1500 B"
        max-window = "20 pkt"
        source = { tcp = "linux-6", congestion = "reno" }
        [[link]]
        from = "e"
        to = "f"
        bandwidth = "8 Mbit/s"
        delay = "3 ms"
        buffer = "10 pkt"
        overhead = "38 B"
        [[event]]
        at = "20 s"
        link = "e->f"
        set = { bandwidth = "4 Mbit/s", delay = "2 ms" }
        [[connection]]
        name = "calls"
        from = "e"
        to = "f"
        packet-size = "962 B"
        source = { constant = "400 pkt/s" }
    "#;
    let scenario = scenario(text);
    let Some(runs) = run(&scenario, 6) else {
        return;
    };
    let narrow = scenario.network.link_by_name("r->b").unwrap().index();
    let (loss, queue) = m_d_1_k(0.9, 8);
    let each = |of: &dyn Fn(&Run) -> f64| {
        let values: Vec<f64> = runs.iter().map(of).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, (squares / (n * (n - 1.0))).sqrt())
    };
    let lost = each(&|run| {
        let intervals = &run.links[narrow].1;
        let lost: f64 = intervals.iter().map(|it| it.lost_pkts).sum();
        lost / intervals.iter().map(|it| it.arrived_pkts).sum::<f64>()
    });
    let queued = each(&|run| {
        let intervals = &run.links[narrow].1;
        intervals.iter().map(|it| it.queue_pkts).sum::<f64>() / intervals.len() as f64
    });
    for (what, (mean, error), wanted) in [("loss", lost, loss), ("queue", queued, queue)] {
        assert!(
            (mean - wanted).abs() < 4.0 * error,
            "{what}: {mean} ± {error}, M/D/1/K has {wanted}"
        );
    }
    // From 10 s on, 20 packets in each 100 ms plus the service times in both directions.
    for run in &runs {
        let intervals = &run.connections[1].1[20..];
        let delivered: f64 = intervals.iter().map(|it| it.delivered_pkts).sum();
        let pps = delivered / (0.5 * intervals.len() as f64);
        assert!((pps / 200.0 - 1.0).abs() < 0.01, "{pps} packets/s");
        assert_eq!(run.delays.len(), 3);
        assert!(
            (run.delays[1].1.p50_s - 0.0500).abs() < 2e-4,
            "{:?}",
            run.delays[1]
        );
        let (_, calls) = &run.links[scenario.network.link_by_name("e->f").unwrap().index()];
        for (range, utilization) in [(2..40, 0.4), (41..79, 0.8)] {
            for it in &calls[range] {
                assert!((it.utilization - utilization).abs() < 0.005, "{it:?}");
                assert_eq!(it.lost_pkts, 0.0);
            }
        }
        let delay = run.delays[2].1;
        assert!((delay.p50_s - 0.004).abs() < 1e-4, "{delay:?}");
        assert!((delay.p95_s - 0.004).abs() < 1e-4, "{delay:?}");
    }
}

/// Every queue that can be exported compiles, runs and queues packets; RED and PIE drop some before their
/// buffers are full.
#[test]
fn all_queues_run() {
    let mut text = "[simulation]\nduration = \"10 s\"\npacket-size = \"1500 B\"\n".to_owned();
    for (queue, losses) in [
        ("\"drop-tail\"", "loss = 0.001"),
        (
            "{ discipline = \"red\", min = \"5 pkt\", max = \"15 pkt\" }",
            "",
        ),
        ("\"codel\"", "loss = { ber = 1e-8 }"),
        ("\"fq-codel\"", ""),
        ("\"pie\"", ""),
    ] {
        let name = queue.len();
        text += &format!(
            "[[link]]\nfrom = \"a{name}\"\nto = \"b{name}\"\nbandwidth = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
             buffer = \"60 pkt\"\nqueue = {queue}\n{losses}\n\
             [[connection]]\nname = \"c{name}\"\nfrom = \"a{name}\"\nto = \"b{name}\"\ncount = 3\n\
             source = {{ tcp = \"linux-6\" }}\n"
        );
    }
    let scenario = scenario(&text);
    let Some(runs) = run(&scenario, 1) else {
        return;
    };
    let network = &scenario.network;
    for id in network.connections() {
        let link = network.path(id)[0];
        let intervals = &runs[0].links[link.index()].1[4..];
        let n = intervals.len() as f64;
        let queue = intervals.iter().map(|it| it.queue_pkts).sum::<f64>() / n;
        let busy = intervals.iter().map(|it| it.utilization).sum::<f64>() / n;
        let lost: f64 = runs[0].links[link.index()]
            .1
            .iter()
            .map(|it| it.lost_pkts)
            .sum();
        let what = format!(
            "{}: queue {queue}, busy {busy}, lost {lost}",
            network.link_name(link)
        );
        assert!(
            (1.0..60.0).contains(&queue) && busy > 0.7 && busy <= 1.0 + 1e-9,
            "{what}"
        );
        assert!(lost > 0.0, "{what}");
    }
}

/// One transfer without ECN and one with, each alone at a queue of each kind that marks. Only the latter has
/// marked packets, and it loses none. The quantum of FQ-CoDel is one packet, not the size of a device batch.
#[test]
fn marks_are_counted_and_scheduler_rounds_are_short() {
    let mut text = "[simulation]\nduration = \"10 s\"\npacket-size = \"1500 B\"\n".to_owned();
    for queue in ["codel", "fq-codel", "pie", "red"] {
        for ecn in [false, true] {
            let more = match queue {
                "red" => {
                    ", min = \"5 pkt\", max = \"15 pkt\", weight = 0.02, max-p = 0.05, gentle = true"
                }
                _ => "",
            };
            text += &format!(
                "[[link]]\nfrom = \"a-{queue}-{ecn}\"\nto = \"b-{queue}-{ecn}\"\nbandwidth = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
                 buffer = \"200 pkt\"\nqueue = {{ discipline = \"{queue}\", ecn = true{more} }}\n\
                 [[connection]]\nname = \"{queue}-{ecn}\"\nfrom = \"a-{queue}-{ecn}\"\nto = \"b-{queue}-{ecn}\"\n\
                 source = {{ tcp = \"linux-6\", congestion = \"reno\", ecn = {ecn} }}\n"
            );
        }
    }
    let scenario = scenario(&text);
    assert!(
        netflow_scenario::export::ns3(&scenario, &netflow_scenario::export::Ns3Options::default())
            .unwrap()
            .contains("{\"Flows\", \"1024\"}}, 1514}")
    );
    let Some(runs) = run(&scenario, 1) else {
        return;
    };
    let network = &scenario.network;
    for id in network.connections() {
        let name = network.connection_name(id);
        let intervals = &runs[0].links[network.path(id)[0].index()].1;
        // Slow start may fill RED up to the point where all packets are dropped.
        let intervals = &intervals[6..];
        let marked: f64 = intervals.iter().filter_map(|it| it.marked_pkts).sum();
        let lost: f64 = intervals.iter().map(|it| it.lost_pkts).sum();
        let wanted = (name.ends_with("true"), name.ends_with("false"));
        assert_eq!(
            (marked > 0.0, lost > 0.0),
            wanted,
            "{name}: {marked} {lost}"
        );
    }
}

/// CAKE without a shaper against COBALT and FQ-COBALT of ns-3, with a load of 120 % that does not react to drops. Queue
/// and losses follow the control law of CoDel alone, since the buffer is never full. The queue is 6 % shorter.
#[test]
fn cake_matches_cobalt_of_ns3() {
    let mut text =
        "[simulation]\nduration = \"60 s\"\npacket-size = \"998 B\"\nmodel = \"packet\"\n"
            .to_owned();
    for isolation in ["flowblind", "flows"] {
        text += &format!(
            "[[link]]\nfrom = \"a-{isolation}\"\nto = \"b-{isolation}\"\nbandwidth = \"8 Mbit/s\"\noverhead = \"2 B\"\n\
             buffer = \"100000 pkt\"\n\
             queue = {{ discipline = \"cake\", tins = \"besteffort\", isolation = \"{isolation}\" }}\n"
        );
        for (name, rate) in [("much", 1000), ("little", 200)] {
            text += &format!(
                "[[connection]]\nname = \"{name}-{isolation}\"\nfrom = \"a-{isolation}\"\nto = \"b-{isolation}\"\n\
                 source = {{ constant = \"{rate} pkt/s\" }}\n"
            );
        }
    }
    let scenario = scenario(&text);
    let Some(runs) = run(&scenario, 1) else {
        return;
    };
    let settings = Settings {
        seeds: 1,
        start_jitter_s: 0.0,
        ..Settings::default()
    };
    let ours = netflow_compare::NetflowRun::evaluate(&scenario, &settings).unwrap();
    let network = &scenario.network;
    for id in network.connections() {
        let (name, link) = (network.connection_name(id), network.path(id)[0].index());
        let of = |run: &Run| {
            let links = &run.links[link].1;
            let n = links.len() as f64;
            let flow = &run.connections[id.index()].1;
            [
                links.iter().map(|it| it.queue_pkts).sum::<f64>() / n,
                links.iter().map(|it| it.lost_pkts).sum::<f64>(),
                flow.iter().map(|it| it.delivered_pkts).sum::<f64>(),
            ]
        };
        let (ours, theirs) = (of(&ours.run), of(&runs[0]));
        println!("{name}: netflow {ours:?}, ns-3 {theirs:?} (queue, lost, delivered)");
        // In a shared queue, phases of arrivals decide whose packets are dropped.
        let delivered_bound = if name.ends_with("flows") { 0.005 } else { 0.1 };
        for (i, bound) in [0.08, 0.005, delivered_bound].into_iter().enumerate() {
            let error = (ours[i] / theirs[i] - 1.0).abs();
            assert!(error < bound, "{name}: {ours:?} {theirs:?}");
        }
    }
}

#[test]
fn ecn_threshold_without_ecn_is_rejected_for_ns3() {
    let text = "[simulation]\nduration = \"1 s\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nbandwidth = \"10 Mbit/s\"\n\
                queue = { discipline = \"codel\", ce-threshold = \"1 ms\" }\n\
                [[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsource = { tcp = \"linux-6\" }\n";
    let error = Ns3::check_export(&scenario(text), &Settings::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("link a->b: ns-3 needs `ecn = true` for `ce-threshold`"),
        "{error}"
    );
}

#[test]
fn unsupported_scenarios_are_rejected_without_ns3() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/");
    for (name, wanted) in [
        ("web.toml", "workload browsers: users"),
        ("diffserv.toml", "aggregate F1: conditioners"),
        ("link-failure.toml", "failures of links"),
        ("wifi-loss.toml", "burst losses"),
        ("abilene.toml", "finite transfers"),
    ] {
        let scenario = load(format!("{path}{name}").as_ref(), &[]).unwrap();
        let error = Ns3::check_export(&scenario, &Settings::default()).unwrap_err();
        assert!(matches!(error, Error::ExportNs3(_)));
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

/// Overhead that ns-3 cannot imitate is rejected with the reason.
#[test]
fn unsupported_overhead_is_rejected_for_ns3() {
    for (link, wanted) in [
        (
            "overhead = { bytes = \"10 B\", cells = \"atm\" }",
            "use plain bytes",
        ),
        (
            "overhead = { bytes = \"10 B\", minimum = \"84 B\" }",
            "use plain bytes",
        ),
        (
            "overhead = \"38 B\"\nbuffer = \"20 KB\"",
            "only a buffer in packets",
        ),
        (
            "overhead = \"38 B\"\nbuffer = \"100 ms\"",
            "only a buffer in packets",
        ),
        (
            "overhead = \"38 B\"\nqueue = \"fq-codel\"",
            "FQ-CoDel with `overhead`",
        ),
        (
            "overhead = \"38 B\"\nbuffer = \"20 pkt\"\nloss = { ber = 1e-6 }",
            "bit errors with `overhead`",
        ),
    ] {
        let text = format!(
            "[simulation]\nduration = \"1 s\"\npacket-size = \"1500 B\"\n\
             [[link]]\nfrom = \"a\"\nto = \"b\"\nbandwidth = \"8 Mbit/s\"\n{link}\n\
             [[connection]]\nfrom = \"a\"\nto = \"b\"\nsource = {{ constant = \"10 pkt/s\" }}\n"
        );
        let error = Ns3::check_export(&scenario(&text), &Settings::default()).unwrap_err();
        assert!(error.to_string().contains(wanted), "{link}: {error}");
    }
}

/// A transfer with a window of 20 packets sends 20 per round trip while its links change their delays.
#[test]
#[ignore = "half a minute: it compiles one more program"]
fn windows_track_delay_changes() {
    let text = r#"
        [simulation]
        duration = "20 s"
        [[link]]
        from = "a"
        to = "b"
        bandwidth = "1 Gbit/s"
        delay = "50 ms"
        buffer = "100 pkt"
        [[connection]]
        name = "window"
        from = "a"
        to = "b"
        packet-size = "1500 B"
        max-window = "20 pkt"
        source = { tcp = "linux-6", congestion = "reno" }
        [[event]]
        at = "10 s"
        link = "a<->b"
        set = { delay = "80 ms" }
    "#;
    let Some(runs) = run(&scenario(text), 1) else {
        return;
    };
    let intervals = &runs[0].connections[0].1;
    // Intervals of half a second: from 5 to 10 s, and from 15 s on.
    for (from, to, rtt_s) in [(10, 20, 0.1), (30, 40, 0.16)] {
        let delivered: f64 = intervals[from..to].iter().map(|it| it.delivered_pkts).sum();
        let pps = delivered / 5.0;
        assert!(
            (pps * rtt_s / 20.0 - 1.0).abs() < 0.04,
            "{pps} packets/s with {rtt_s} s"
        );
    }
}
