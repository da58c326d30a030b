//! Counters of the script, compared with ns-2's trace and with computed values.

use std::collections::BTreeMap;

use netflow_scenario::export::{Ns2Options, Ns2Tcp, Ns2Trace};

use super::ns2::{compile_scenario, lines, node_numbers, run, sums, traced};

/// Two paths from A to D, one through B and one through C.
const TWO_PATHS: &str = r#"
[simulation]
duration = "10.3 s"
packet-size = "1000 B"

[[link]]
from = "A"
to = "B"
bandwidth = "8 Mbit/s"
delay = "10 ms"

[[link]]
from = "B"
to = "D"
bandwidth = "2 Mbit/s"
delay = "10 ms"
buffer = "20 pkt"

[[link]]
from = "A"
to = "C"
bandwidth = "8 Mbit/s"
delay = "15 ms"

[[link]]
from = "C"
to = "D"
bandwidth = "8 Mbit/s"
delay = "15 ms"
queue = { discipline = "red", min = "5 pkt", max = "15 pkt" }
"#;

fn two_paths(connections: &str) -> String {
    format!("{TWO_PATHS}{connections}")
}

/// Connections that share a node and a destination and take different paths; acknowledgements on
/// another return path.
fn parted() -> String {
    two_paths(
        r#"
[[connection]]
name = "through-b"
from = "A"
to = "D"
source = { profile = "ns-reno" }
path = ["A", "B", "D"]
return-path = ["D", "C", "A"]
count = 3

[[connection]]
name = "through-c"
from = "A"
to = "D"
source = { profile = "ns-sack" }
path = ["A", "C", "D"]
stop = "5 s"

[[connection]]
name = "udp"
from = "A"
to = "D"
source = { poisson = "100 pkt/s" }
packet-size = "500 B"
path = ["A", "C", "D"]
"#,
    )
}

#[test]
fn counts_match_trace() {
    let Some(run) = run(&compile_scenario(&parted()), &traced(), 7) else {
        return;
    };
    let names = node_numbers(&run.trace);
    let mut counted: BTreeMap<String, [f64; 4]> = BTreeMap::new();
    let mut inside: BTreeMap<String, (f64, f64, f64)> = BTreeMap::new(); // waiting, since, integral
    for line in lines(&run.trace) {
        let link = format!("{}->{}", names[line.link.0], names[line.link.1]);
        let counts = counted.entry(link.clone()).or_default();
        let (waiting, since, integral) = inside.entry(link).or_default();
        *integral += *waiting * (line.time_s - *since);
        *since = line.time_s;
        match line.event {
            "+" => (counts[0], *waiting) = (counts[0] + 1.0, *waiting + 1.0),
            "d" => (counts[1], *waiting) = (counts[1] + 1.0, *waiting - 1.0),
            "-" => {
                counts[2] += 1.0;
                counts[3] += line.bytes;
                *waiting -= 1.0;
            }
            _ => {}
        }
    }
    let sums = sums(&run.links);
    assert_eq!(sums.len(), 8);
    assert!(sums["B->D"][1] > 0.0, "something is lost");
    for (link, sum) in &sums {
        assert_eq!(
            sum[..4],
            counted.get(link).copied().unwrap_or_default(),
            "{link}"
        );
    }
    // The mean number waiting, over intervals of 0.5 s and one of 0.3 s; times in the trace have 6
    // digits.
    let mut integral = 0.0;
    let mut ends = Vec::new();
    for line in run.links.lines().filter(|line| line.contains(",B->D,")) {
        let fields: Vec<f64> = line
            .split(',')
            .filter_map(|field| field.parse().ok())
            .collect();
        integral += fields[5] * (fields[0] - ends.last().copied().unwrap_or(0.0));
        ends.push(fields[0]);
    }
    assert_eq!((ends.len(), ends[20]), (21, 10.3));
    let (waiting, since, exact) = inside["B->D"];
    let exact = exact + waiting * (10.3 - since);
    assert!((integral / exact - 1.0).abs() < 1e-3, "{integral} {exact}");
}

#[test]
fn connections_use_their_own_paths() {
    let Some(run) = run(&compile_scenario(&parted()), &traced(), 7) else {
        return;
    };
    let names = node_numbers(&run.trace);
    let mut seen: BTreeMap<(&str, String, &str), u32> = BTreeMap::new();
    for line in lines(&run.trace).filter(|line| line.event == "r") {
        let link = format!("{}->{}", names[line.link.0], names[line.link.1]);
        *seen.entry((line.flow, link, line.kind)).or_default() += 1;
    }
    let ways: Vec<String> = seen
        .keys()
        .map(|(flow, link, kind)| format!("{flow} {link} {kind}"))
        .collect();
    assert_eq!(
        ways,
        [
            "1 A->B tcp",
            "1 B->D tcp",
            "1 C->A ack",
            "1 D->C ack",
            "2 A->C tcp",
            "2 C->A ack",
            "2 C->D tcp",
            "2 D->C ack",
            "3 A->C exp",
            "3 C->D exp"
        ]
    );
    // Packets sent and received, from the first and the last link of each connection.
    let sums = sums(&run.connections);
    let at = |flow, link: &str, kind| f64::from(seen[&(flow, link.to_owned(), kind)]);
    assert_eq!(sums["udp"][1], at("3", "C->D", "exp"));
    let in_flight = sums["through-b"][0] - at("1", "A->B", "tcp");
    assert!((0.0..100.0).contains(&in_flight), "{in_flight}");
}

#[test]
fn buffer_size_is_exact() {
    // A burst of 30 packets of 1000 B, one per microsecond, on a link that needs 8 ms for one.
    let burst = |buffer: &str, queue: &str| {
        format!(
            "[simulation]\nduration = \"5 s\"\npacket-size = \"1000 B\"\n[[link]]\nfrom = \"A\"\nto = \"B\"\n\
             bandwidth = \"1 Mbit/s\"\nbuffer = \"{buffer}\"\n{queue}\n\
             [[connection]]\nname = \"burst\"\nfrom = \"A\"\nto = \"B\"\n\
             source = {{ constant = \"1000000 pkt/s\" }}\nsize = \"30 KB\"\n"
        )
    };
    let lazy = "queue = { discipline = \"red\", min = \"1000 pkt\", max = \"2000 pkt\" }";
    for (buffer, queue, room) in [
        ("10 pkt", "", 10.0),
        ("2 pkt", "", 2.0),
        ("10 KB", "", 10.0),
        ("10.9 KB", "", 10.0),
        ("10 pkt", lazy, 10.0),
        ("2 pkt", lazy, 2.0),
    ] {
        let Some(run) = run(
            &compile_scenario(&burst(buffer, queue)),
            &Ns2Options::default(),
            1,
        ) else {
            return;
        };
        let counts = &sums(&run.links)["A->B"];
        assert_eq!(counts[..3], [30.0, 30.0 - room, room], "{buffer} {queue}");
        assert_eq!(sums(&run.connections)["burst"], [30.0, room, 0.0, 0.0]);
    }
}

#[test]
fn transfers_end_after_delivered_size() {
    for tcp in Ns2Tcp::ALL {
        let text = two_paths(
            "[[connection]]\nname = \"file\"\nfrom = \"A\"\nto = \"D\"\nsize = \"200.5 KB\"\n\
             start = \"0.2 s\"\nsource = { profile = \"ns-reno\" }\npath = [\"A\", \"B\", \"D\"]\n",
        );
        let options = Ns2Options {
            tcp: Some(tcp),
            ..traced()
        };
        let Some(run) = run(&compile_scenario(&text), &options, 1) else {
            return;
        };
        let counts = &sums(&run.connections)["file"];
        assert_eq!(counts[1], 201.0, "{tcp}");
        let sizes: Vec<f64> = lines(&run.trace)
            .filter(|line| line.kind == "tcp")
            .map(|line| line.bytes)
            .collect();
        // The SYN has 40 B; Vegas has none.
        assert!(
            sizes.iter().all(|&bytes| bytes == 1000.0 || bytes == 40.0),
            "{tcp}"
        );
    }
}

#[test]
fn start_and_stop_times_are_exported() {
    let Some(run) = run(&compile_scenario(&parted()), &traced(), 3) else {
        return;
    };
    let mut last_new = 0.0_f64;
    for line in lines(&run.trace).filter(|line| line.flow == "2" && line.kind == "tcp") {
        if line.event == "+" {
            last_new = last_new.max(line.time_s);
        }
    }
    // Packets lost earlier may be retransmitted later.
    assert!((4.9..6.5).contains(&last_new), "{last_new}");
}

#[test]
fn application_limits_its_tcp() {
    let text = two_paths(
        "[[connection]]\nname = \"client\"\nfrom = \"A\"\nto = \"D\"\ncount = 20\n\
         source = { profile = \"ns-reno\" }\napplication = { poisson = \"5 pkt/s\" }\n\
         path = [\"A\", \"C\", \"D\"]\n",
    );
    let Some(run) = run(&compile_scenario(&text), &Ns2Options::default(), 1) else {
        return;
    };
    // 20 × 5 × 10.3 s = 1030 ± 32.
    let acked = sums(&run.connections)["client"][1];
    assert!(
        (1030.0 - 4.0 * 32.0..1030.0 + 4.0 * 32.0).contains(&acked),
        "{acked}"
    );
}

#[test]
fn acks_without_traffic_use_no_bandwidth() {
    let text = two_paths(
        "[[connection]]\nname = \"quiet\"\nfrom = \"A\"\nto = \"D\"\nacks = false\n\
         source = { profile = \"ns-reno\" }\nmax-window = \"10 pkt\"\npath = [\"A\", \"C\", \"D\"]\n",
    );
    let Some(run) = run(&compile_scenario(&text), &traced(), 1) else {
        return;
    };
    assert!(lines(&run.trace).all(|line| line.kind == "tcp"));
    // Ten packets per round-trip time of 2 × (15 + 15) ms, two transmissions of 1 ms and two of
    // 0.04 ms: 161.1 packets/s from the fifth second on.
    let late = |line: &&str| {
        line.split(',')
            .next()
            .is_some_and(|t| t.parse().unwrap_or(0.0) > 5.0)
    };
    let rows: Vec<&str> = run.connections.lines().skip(1).filter(late).collect();
    let acked: f64 = rows
        .iter()
        .map(|row| row.split(',').nth(3).unwrap().parse::<f64>().unwrap())
        .sum();
    assert!((acked / 5.3 - 161.1).abs() < 2.0, "{acked}");
}

#[test]
fn bandwidth_changes_and_failures_are_exported() {
    let text = two_paths(
        r#"
[[connection]]
name = "udp"
from = "A"
to = "D"
source = { constant = "200 pkt/s" }

[[connection]]
name = "pinned"
from = "A"
to = "D"
source = { constant = "10 pkt/s" }
path = ["A", "B", "D"]

[[event]]
at = "2 s"
link = "B->D"
set = { bandwidth = "8 Mbit/s" }

[[event]]
at = "4 s"
link = "A->B"
down = true

[[event]]
at = "6 s"
link = "A->B"
up = true
"#,
    );
    let Some(run) = run(&compile_scenario(&text), &traced(), 1) else {
        return;
    };
    let names = node_numbers(&run.trace);
    let carried = |link: &str, flow: &str, from_s: f64, to_s: f64| {
        lines(&run.trace)
            .filter(|line| line.event == "-" && line.flow == flow)
            .filter(|line| (from_s..to_s).contains(&line.time_s))
            .filter(|line| format!("{}->{}", names[line.link.0], names[line.link.1]) == link)
            .count()
    };
    // The path through B is shorter, until it fails.
    assert_eq!(carried("A->C", "1", 0.0, 3.99), 0);
    // 200 packets/s; packets near the change may take either path.
    assert!((396..=399).contains(&carried("A->C", "1", 4.0, 5.99)));
    assert_eq!(carried("A->B", "1", 4.001, 5.99), 0);
    assert_eq!(carried("A->C", "1", 6.01, 10.3), 0);
    // A given path is not rerouted; its packets are lost meanwhile.
    assert_eq!(carried("A->B", "2", 4.001, 5.999), 0);
    let pinned = &sums(&run.connections)["pinned"];
    assert!((pinned[0] - pinned[1] - 20.0).abs() <= 2.0, "{pinned:?}");
    // Every 100 ms both connections send a burst, and packets arrive 1 ms apart. At 2 Mbit/s a
    // packet takes 4 ms and the next arrives after 5 ms. Four packets wait, for 3, 3, 2 and 1 ms:
    // 90 ms per second. At 8 Mbit/s none waits.
    let waiting = |end: &str| -> f64 {
        let row = run
            .links
            .lines()
            .find(|line| line.starts_with(&format!("{end},B->D,")));
        row.unwrap().rsplit(',').next().unwrap().parse().unwrap()
    };
    let (slow, fast) = (waiting("1.5"), waiting("3.5"));
    assert!((slow - 0.09).abs() < 0.002, "{slow}");
    assert!(fast < 1e-6, "{fast}");
}

#[test]
fn results_depend_only_on_seed() {
    let jittered = Ns2Options {
        start_jitter_s: 0.5,
        max_send_jitter_s: 1e-3,
        ..Ns2Options::default()
    };
    let run = |seed| Some(run(&compile_scenario(&parted()), &jittered, seed)?.connections);
    let Some(first) = run(1) else {
        return;
    };
    assert_eq!(Some(&first), run(1).as_ref());
    assert_ne!(Some(&first), run(2).as_ref());
}

#[test]
fn only_named_links_are_traced() {
    let options = Ns2Options {
        trace: Ns2Trace::Links(vec!["B->D".to_owned()]),
        ..Ns2Options::default()
    };
    let Some(run) = run(&compile_scenario(&parted()), &options, 1) else {
        return;
    };
    let number = |name: &str| {
        let network = compile_scenario(&parted()).network;
        let mut nodes = network.nodes();
        nodes
            .position(|id| network.node_name(id) == name)
            .unwrap()
            .to_string()
    };
    let (b, d) = (number("B"), number("D"));
    assert!(lines(&run.trace).count() > 100);
    assert!(lines(&run.trace).all(|line| line.link == (&*b, &*d)));
}

/// ns-2 packets have a time-to-live of 32.
#[test]
fn long_paths_are_supported() {
    let mut text = String::from("[simulation]\nduration = \"5 s\"\npacket-size = \"1000 B\"\n");
    for node in 0..45 {
        text += &format!(
            "[[link]]\nfrom = \"n{node}\"\nto = \"n{}\"\nbandwidth = \"8 Mbit/s\"\ndelay = \"1 ms\"\n",
            node + 1
        );
    }
    text += "[[connection]]\nname = \"far\"\nfrom = \"n0\"\nto = \"n45\"\nsize = \"50 KB\"\n\
             source = { profile = \"ns-reno\" }\n";
    let Some(run) = run(&compile_scenario(&text), &Ns2Options::default(), 1) else {
        return;
    };
    assert_eq!(sums(&run.connections)["far"][1], 50.0);
}
