//! TCP of this machine's kernel through the queues of an emulated network, compared with the packet model. Without
//! namespaces, or on a busy machine, the test is skipped.
#![cfg(target_os = "linux")]

use netflow_compare::{Error, Linux, NetflowRun, Run, Runner, Settings};
use netflow_needs::{Need, skip};
use netflow_scenario::load;

/// CAKE behind a modem with three uploads of one host, one of another, and a call; and DualPI2 with CUBIC and Reno.
const SCENARIO: &str = r#"
simulation = { duration = "15 s", packet-size = "1500 B", model = "packet" }
link = [
    { from = "laptop", to = "gateway", bandwidth = "300 Mbit/s" },
    { from = "phone", to = "gateway", bandwidth = "300 Mbit/s", delay = "2 ms" },
    { from = "gateway", to = "server", bandwidth = "10 Mbit/s", delay = "15 ms", overhead = { bytes = "30 B", cells = "ptm" }, queue = { discipline = "cake", bandwidth = "9.5 Mbit/s", isolation = "dual-srchost", tins = "besteffort" }, reverse = { queue = "drop-tail" } },
    { from = "sender", to = "ISP", bandwidth = "300 Mbit/s", delay = "9 ms" },
    { from = "ISP", to = "home", bandwidth = "20 Mbit/s", delay = "1 ms", buffer = "1000 pkt", queue = "dualpi2" },
]
connection = [
    { name = "backup", from = "laptop", to = "server", count = 3, source = { tcp = "linux-6" } },
    { name = "video", from = "phone", to = "server", source = { tcp = "linux-6" } },
    { name = "call", from = "phone", to = "server", packet-size = "200 B", source = { constant = "50 pkt/s" } },
    { name = "cubic", from = "sender", to = "home", count = 3, source = { tcp = "linux-6" } },
    { name = "reno", from = "sender", to = "home", source = { tcp = "linux-6", congestion = "reno", ecn = true } },
]
"#;

#[test]
fn tcp_through_cake_and_dualpi2_matches_the_packet_model() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("scenario.toml");
    std::fs::write(&path, SCENARIO).unwrap();
    let scenario = load(&path, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let settings = Settings {
        seeds: 1,
        start_jitter_s: 0.0,
        ..Settings::default()
    };
    let linux = match Linux.run_one(&scenario, &settings, 0, &|| false) {
        Ok(run) => run,
        Err(Error::Emulation(netflow_emulation::Error::Testbed(
            error @ netflow_testbed::Error::Unavailable { .. },
        ))) => return skip(Need::Namespaces, &error.to_string()),
        Err(error) => panic!("{error}"),
    };
    if let Some(doubt) = linux.doubt {
        return skip(Need::Quiet, &format!("inconclusive: {doubt}"));
    }
    let ours = NetflowRun::evaluate(&scenario, &settings).unwrap().run;
    let delivered = |run: &Run, i: usize| -> f64 {
        let intervals = run.connections[i].1.iter();
        intervals.map(|it| it.delivered_pkts).sum()
    };
    // Transfers take turns in one queue: single ones vary, their sum does not.
    for (members, bound) in [(0..2, 0.12), (2..3, 0.02), (3..5, 0.3)] {
        let mut sums = [0.0; 2];
        for i in members {
            let (name, _) = &ours.connections[i];
            let pkts = [&ours, &linux].map(|run| delivered(run, i));
            println!("{name}: netflow {}, Linux {} pkt", pkts[0], pkts[1]);
            assert!((pkts[0] / pkts[1] - 1.0).abs() < bound, "{name}: {pkts:?}");
            sums = [sums[0] + pkts[0], sums[1] + pkts[1]];
        }
        assert!((sums[0] / sums[1] - 1.0).abs() < 0.02, "{sums:?}");
    }
    for name in ["gateway->server", "ISP->home"] {
        let link = scenario.network.link_by_name(name).unwrap().index();
        let queue = |run: &Run| -> f64 {
            let intervals = &run.links[link].1;
            intervals.iter().map(|it| it.queue_pkts).sum::<f64>() / intervals.len() as f64
        };
        let (ours, theirs) = (queue(&ours), queue(&linux));
        println!("{name}: netflow {ours:.2}, Linux {theirs:.2} pkt in the queue");
        assert!((ours / theirs - 1.0).abs() < 0.3, "{name}: {ours} {theirs}");
    }
}
