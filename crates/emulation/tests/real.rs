//! Real sockets over an emulated network, compared with queueing theory and the library's queues. Every
//! test is skipped if namespaces or TUN devices are unavailable.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::Path;

use netflow_emulation::{Emulation, Error, Settings};
use netflow_needs::{Need, skip};
use netflow_problems::m_d_1_k;
use netflow_queues::{Buffer, DropTail};
use netflow_scenario::{CompiledScenario, load};
use netflow_testbed::Capture;
use netflow_testbed::network::NetworkReport;
use pcap_file::pcap::PcapReader;

fn scenario(text: &str) -> CompiledScenario {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("scenario.toml");
    std::fs::write(&path, text).unwrap();
    load(&path, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn shipped(name: &str, settings: &[&str]) -> CompiledScenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
    load(&path.join(name), &settings).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the report; `None`, with a message, if the test must be skipped.
fn run(scenario: &CompiledScenario, settings: &Settings) -> Option<NetworkReport> {
    let report = Emulation::new(scenario, settings).and_then(|it| it.run(&|| false));
    match report {
        Ok(report) => match report.unreliable_reason() {
            None => Some(report),
            Some(doubt) => {
                skip(Need::Quiet, &format!("inconclusive: {doubt}"));
                None
            }
        },
        Err(Error::Testbed(error @ netflow_testbed::Error::Unavailable { .. })) => {
            skip(Need::Namespaces, &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Poisson datagrams from a real socket cross three links. Loss and queue length at the bottleneck match
/// M/D/1/K, and so does the mean sojourn time.
#[test]
fn poisson_datagrams_match_m_d_1_k() {
    let text = r#"
        [simulation]
        duration = "15 s"
        [[link]]
        from = "a"
        to = "r1"
        bandwidth = "1 Gbit/s"
        [[link]]
        from = "r1"
        to = "r2"
        bandwidth = "8 Mbit/s"
        delay = "3 ms"
        buffer = "8 pkt"
        [[link]]
        from = "r2"
        to = "b"
        bandwidth = "1 Gbit/s"
        [[connection]]
        name = "noise"
        from = "a"
        to = "b"
        packet-size = "1000 B"
        source = { poisson = "900 pkt/s" }
    "#;
    let scenario = scenario(text);
    let Some(report) = run(&scenario, &Settings::default()) else {
        return;
    };
    let narrow = scenario.network.link_by_name("r1->r2").unwrap().index();
    let (loss, queue) = m_d_1_k(0.9, 8);
    // Means over intervals of 1 s, and their standard errors.
    let snapshots: Vec<_> = report.snapshots.iter().skip(1).step_by(2).collect();
    let parts: Vec<_> = snapshots.iter().zip(snapshots.iter().skip(1)).collect();
    let each = |of: &dyn Fn(usize) -> f64| {
        let values: Vec<f64> = (0..parts.len()).map(of).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, (squares / (n * (n - 1.0))).sqrt())
    };
    let link = |i: usize| (parts[i].0.links[narrow], parts[i].1.links[narrow]);
    let lost = each(&|i| {
        let (then, now) = link(i);
        (now.lost_pkts - then.lost_pkts) as f64 / (now.arrived_pkts - then.arrived_pkts) as f64
    });
    let queued = each(&|i| link(i).1.queue_pkt_s - link(i).0.queue_pkt_s);
    for (what, (mean, error), wanted) in [("loss", lost, loss), ("queue", queued, queue)] {
        assert!(
            (mean - wanted).abs() < 4.0 * error,
            "{what}: {mean} ± {error}, M/D/1/K has {wanted}"
        );
    }
    // Delays of the path: propagation, transmission and queueing.
    let pair = report.pairs[0];
    assert_eq!(pair.sent_pkts, report.entered_pkts);
    let delay = report.delays[0].unwrap();
    assert!(
        delay.p50_s > 0.004 && delay.p99_s < 0.003 + 0.008 + 0.0005,
        "{delay:?}"
    );
}

/// A capture of the arrivals at the bottleneck, replayed through the library's queue, drops the same
/// number of packets.
#[test]
fn replayed_capture_has_the_same_losses() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("narrow.pcap");
    let scenario = shipped(
        "four-transfers-unlimited.toml",
        &["simulation.duration=8 s"],
    );
    let network = &scenario.network;
    let narrow = network.link_by_name("N5->N7").unwrap();
    let capture = Capture {
        path: file.clone(),
        end: netflow_testbed::End::A,
        snap_bytes: 65_535,
    };
    let settings = Settings {
        captures: vec![(narrow, capture)],
        ..Settings::default()
    };
    let Some(report) = run(&scenario, &settings) else {
        return;
    };
    assert_eq!(report.captures.missing_pkts, 0);
    let mut reader = PcapReader::new(File::open(file).unwrap()).unwrap();
    let mut queue = DropTail::default();
    let room = Buffer::Packets(network.buffer_pkts(narrow) as usize);
    let (mut arrived, mut lost) = (0, 0);
    let mut first = None;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let since = packet.timestamp - *first.get_or_insert(packet.timestamp);
        let service_ns = 8 * u64::from(packet.orig_len) * 1000 / 8;
        let now_ns = since.as_nanos() as u64;
        arrived += 1;
        lost += u64::from(
            queue
                .arrive(now_ns, service_ns, packet.orig_len, room)
                .is_none(),
        );
    }
    let counts = report.links[narrow.index()];
    assert!(counts.lost_pkts > 50, "{counts:?}");
    assert_eq!((arrived, lost), (counts.arrived_pkts, counts.lost_pkts));
}

/// A finite transfer finishes, a stopped transfer sends nothing more, and a transfer over a link that
/// fails is rerouted.
#[test]
fn transfers_finish_and_reroute_around_failures() {
    let text = r#"
        [simulation]
        duration = "6 s"
        packet-size = "1000 B"
        [[link]]
        from = "a"
        to = "b"
        bandwidth = "10 Mbit/s"
        delay = "5 ms"
        buffer = "50 pkt"
        [[link]]
        from = "a"
        to = "c"
        bandwidth = "10 Mbit/s"
        delay = "10 ms"
        buffer = "50 pkt"
        [[link]]
        from = "c"
        to = "b"
        bandwidth = "10 Mbit/s"
        delay = "10 ms"
        buffer = "50 pkt"
        [[event]]
        at = "3 s"
        link = "a->b"
        down = true
        [[connection]]
        name = "sized"
        from = "a"
        to = "b"
        size = "1000 pkt"
        source = { tcp = "linux-6" }
        [[connection]]
        name = "stopped"
        from = "a"
        to = "b"
        start = "0.5 s"
        stop = "1.5 s"
        source = { tcp = "linux-6" }
        [[connection]]
        name = "long"
        from = "a"
        to = "b"
        source = { tcp = "linux-6", congestion = "reno" }
    "#;
    let scenario = scenario(text);
    let Some(report) = run(&scenario, &Settings::default()) else {
        return;
    };
    let read = |i: usize| report.pairs[i].read_bytes;
    assert_eq!(read(0), 1000 * 948);
    let at = |i: usize, time_s: f64| {
        let mark = report
            .snapshots
            .iter()
            .find(|mark| mark.time_s >= time_s)
            .unwrap();
        mark.pairs[i]
    };
    assert!(at(1, 1.5).read_bytes > 100_000, "{:?}", report.pairs[1]);
    assert_eq!(at(1, 2.0).sent_pkts, report.pairs[1].sent_pkts);
    // From 3 s on, traffic takes the path over c at nearly 1.25 MB/s.
    let around = scenario.network.link_by_name("c->b").unwrap().index();
    assert!(
        report.links[around].sent_pkts > 2000,
        "{:?}",
        report.links[around]
    );
    assert!(read(2) - at(2, 4.0).read_bytes > 1_500_000);
    assert_eq!(report.unrouted_pkts, 0);
}

/// In an unloaded network, a transfer with a window of 20 packets sends 20 packets per round trip with
/// any congestion control. The largest possible socket window suffices for 400.
#[test]
fn receive_windows_are_respected() {
    let mut text = "[simulation]\nduration = \"8 s\"\npacket-size = \"1000 B\"\n".to_owned();
    for (window, congestion) in [(20, "reno"), (100, "cubic"), (400, "cubic")] {
        text += &format!(
            "[[link]]\nfrom = \"a{window}\"\nto = \"b{window}\"\nbandwidth = \"1 Gbit/s\"\ndelay = \"50 ms\"\n\
             buffer = \"1000 pkt\"\n\
             [[connection]]\nname = \"c{window}\"\nfrom = \"a{window}\"\nto = \"b{window}\"\n\
             max-window = \"{window} pkt\"\n\
             source = {{ tcp = \"linux-6\", congestion = \"{congestion}\" }}\n"
        );
    }
    let Some(report) = run(&scenario(&text), &Settings::default()) else {
        return;
    };
    // The measurement begins in the fourth second.
    let (then, now) = (&report.snapshots[7], &report.snapshots[15]);
    for (i, window) in [20.0, 100.0, 400.0].into_iter().enumerate() {
        let read_bytes = now.pairs[i].read_bytes - then.pairs[i].read_bytes;
        let pps = read_bytes as f64 / 948.0 / (now.time_s - then.time_s);
        // Windows arrive in bursts: the position of the snapshots changes the count of 40 windows by one.
        assert!(
            (pps / (10.0 * window) - 1.0).abs() < 0.02 + 1.0 / 40.0,
            "{window}: {pps} packets/s"
        );
    }
}

/// A link delay that is changed during the run determines the round trips from then on, with 20 packets
/// each.
#[test]
fn configured_delays_match_measured_rtts() {
    let text = r#"
        [simulation]
        duration = "6 s"
        packet-size = "1000 B"
        [[link]]
        from = "a"
        to = "b"
        bandwidth = "1 Gbit/s"
        delay = "10 ms"
        buffer = "1000 pkt"
        [[connection]]
        name = "c"
        from = "a"
        to = "b"
        max-window = "20 pkt"
        source = { tcp = "linux-6", congestion = "reno" }
        [[event]]
        at = "2 s"
        link = "a<->b"
        set = { delay = "50 ms" }
        [[event]]
        at = "4 s"
        link = "a->b"
        set = { delay = "20 ms" }
    "#;
    let Some(report) = run(&scenario(text), &Settings::default()) else {
        return;
    };
    // Snapshots are half a second apart. Losses inferred from reordering are recovered within one
    // interval. One round trip more or less is 7 % of the middle interval.
    for (from, to, rtt_s) in [(0, 3, 0.02), (4, 7, 0.1), (8, 11, 0.07)] {
        let (then, now) = (&report.snapshots[from], &report.snapshots[to]);
        let read_bytes = now.pairs[0].read_bytes - then.pairs[0].read_bytes;
        let pps = read_bytes as f64 / 948.0 / (now.time_s - then.time_s);
        assert!(
            (pps * rtt_s / 20.0 - 1.0).abs() < 0.08,
            "{pps} packets/s with {rtt_s} s"
        );
    }
}
