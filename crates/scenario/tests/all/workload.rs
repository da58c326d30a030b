//! Workloads: settings and their values in the network.

use std::io::Write;

use netflow_scenario::{CompiledScenario, from_str, parse, workloads};
use netflow_simulation::{Source, TcpVariant, WorkloadSpec};
use netflow_tcpmodel::CongestionControl;
use netflow_workload::{Application, Distribution, Http, Telnet};

const NETWORK: &str = r#"
[simulation]
duration = "60 s"
model = "packet"
packet-size = "1500 B"

[[link]]
from = "A"
to = "C"
bandwidth = "8 Mbit/s"

[[link]]
from = "B"
to = "C"
bandwidth = "8 Mbit/s"
"#;

const USERS: &str = r#"
[[workload]]
name = "web"
application = "http"
interarrival = "500 ms"
clients = ["A", "B"]
servers = "C"
start = "10 s"
stop = "50 s"
source = { ns2-tcp = "newreno", initial-window = "10 pkt", send-jitter = "2 ms", delayed-ack = true }
packet-size = "1000 B"
request-size = { table = [["200 B", 0], ["300 B", 0.7], ["1 KB", 1]] }
reply-size = { pareto = { shape = 1.2, min = "1 KB", max = "1 MB" } }
files-per-page = { exponential = { mean = 3, max = 30 } }
think-time = { log-normal = { median = "15 s", sigma = 1.3, max = "15 min" } }
pages-per-visit = { constant = 2.5 }

[[workload]]
name = "terminals"
application = "telnet"
interarrival = "2 s"
clients = "A"
servers = "C"
keystroke-gap = { constant = "200 ms" }
echo-size = { constant = "1 B" }
"#;

fn good(text: &str) -> CompiledScenario {
    let prepared = from_str("test.toml", text, "".as_ref(), &[]);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    assert!(prepared.warnings.is_empty(), "{}", prepared.warnings[0]);
    prepared
}

fn http() -> Http {
    Http {
        request_bytes: Distribution::Table(vec![(200.0, 0.0), (300.0, 0.7), (1000.0, 1.0)]),
        reply_bytes: Distribution::Pareto {
            shape: 1.2,
            least: 1e3,
            most: 1e6,
        },
        files: Distribution::Exponential {
            mean: 3.0,
            most: 30.0,
        },
        think_s: Distribution::LogNormal {
            median: 15.0,
            sigma: 1.3,
            most: 900.0,
        },
        pages: Distribution::Constant(2.5),
    }
}

fn telnet() -> Telnet {
    Telnet {
        gap_s: Distribution::Constant(0.2),
        echo_bytes: Distribution::Constant(1.0),
        ..Telnet::default()
    }
}

#[test]
fn settings_apply_to_network() {
    let network = good(&[NETWORK, USERS].concat()).network;
    let all: Vec<&WorkloadSpec> = network.workloads().collect();
    let [web, terminals] = all[..] else {
        panic!("{} workloads", all.len())
    };
    assert_eq!(web.application, Application::Http(http()));
    assert_eq!(
        (web.users_per_s, web.start_s, web.stop_s),
        (2.0, 10.0, Some(50.0))
    );
    assert_eq!(web.packet_size_bytes, 1000.0);
    assert_eq!(web.source.unwrap().variant, TcpVariant::NewReno);
    assert_eq!(web.source.unwrap().initial_window_pkts, 10.0);
    assert_eq!(web.source.unwrap().send_jitter_s, Some(2e-3));
    assert!(web.delayed_ack);
    assert_eq!((web.clients.len(), web.servers.len()), (2, 1));

    assert_eq!(terminals.application, Application::Telnet(telnet()));
    assert_eq!(terminals.packet_size_bytes, 1500.0);
    assert_eq!(terminals.source.unwrap().variant, TcpVariant::Reno);
    assert_eq!(terminals.source.unwrap().send_jitter_s, None);
    assert_eq!(terminals.stack.name, "linux-6");

    let names: Vec<&str> = network
        .connections()
        .map(|id| network.connection_name(id))
        .collect();
    let expected = [
        "web/A-C/requests",
        "web/A-C/replies",
        "web/B-C/requests",
        "web/B-C/replies",
        "terminals/requests",
        "terminals/replies",
    ];
    assert_eq!(names, expected);
    let all_users = network
        .connections()
        .all(|id| matches!(network.connection_spec(id).source, Source::Users(_)));
    assert!(all_users);
}

/// Users have a stack with its settings, as connections do, in the packet and the fluid model.
#[test]
fn users_use_configured_stack() {
    let users = "[[workload]]\nname = \"w\"\napplication = \"http\"\ninterarrival = \"1 s\"\nclients = \"A\"\nservers = \"C\"\n";
    let source =
        "source = { tcp = \"linux-6\", congestion = \"bbr\", initial-window = \"20 pkt\" }\n";
    for model in ["packet", "fluid"] {
        let network = NETWORK.replace("model = \"packet\"", &format!("model = \"{model}\""));
        let network = good(&[&network, users, source].concat()).network;
        let workload = network.workloads().next().unwrap();
        assert_eq!(workload.source, None);
        assert_eq!(workload.stack.congestion, CongestionControl::Bbr);
        assert_eq!(workload.stack.initial_window_pkts, 20);
    }
    let both = [NETWORK, users, source, "stack = \"legacy\"\n"].concat();
    let prepared = from_str("test.toml", &both, "".as_ref(), &[]).unwrap();
    let said = prepared.warnings[0].to_string();
    assert!(said.contains("`stack` has no effect"), "{said}");
    let wrong = [NETWORK, users, "source = { tcp = \"linux-7\" }\n"].concat();
    let said = from_str("test.toml", &wrong, "".as_ref(), &[])
        .unwrap_err()
        .to_string();
    assert!(said.contains("unknown stack `linux-7`"), "{said}");
}

#[test]
fn defaults_match_workload_crate() {
    let text = [
        NETWORK,
        "[[workload]]\nname = \"w\"\napplication = \"http\"\ninterarrival = \"1 s\"\nclients = \"A\"\nservers = \"C\"\n",
    ];
    let network = good(&text.concat()).network;
    let application = network.workloads().next().map(|w| w.application.clone());
    assert_eq!(application, Some(Application::Http(Http::default())));
}

#[test]
fn written_workload_reads_back() {
    let scenario = parse("test.toml", &[NETWORK, USERS].concat()).unwrap();
    let text = scenario.to_toml().unwrap();
    assert_eq!(parse("again.toml", &text).unwrap(), scenario, "{text}");
}

#[test]
fn options_change_workloads() {
    let options = [
        "workload.web.interarrival=1 s".to_owned(),
        "workload.terminals.keystroke-gap.constant=1 s".to_owned(),
    ];
    let text = [NETWORK, USERS].concat();
    let prepared = from_str("test.toml", &text, "".as_ref(), &options);
    let network = prepared
        .unwrap_or_else(|problems| panic!("{problems}"))
        .network;
    let mut all = network.workloads();
    assert_eq!(all.next().map(|w| w.users_per_s), Some(1.0));
    let Some(Application::Telnet(telnet)) = all.next().map(|w| w.application.clone()) else {
        panic!("no terminals")
    };
    assert_eq!(telnet.gap_s, Distribution::Constant(1.0));
}

/// A whole scenario, or only its workload tables, without locations.
#[test]
fn workloads_are_readable_without_network() {
    let only: Vec<&str> = USERS
        .lines()
        .filter(|line| !line.starts_with("clients") && !line.starts_with("servers"))
        .collect();
    for text in [[NETWORK, USERS].concat(), only.join("\n")] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let found = workloads(file.path()).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].name.as_str(), found[0].interarrival_s),
            ("web", 0.5)
        );
        assert_eq!(found[0].application, Application::Http(http()));
        assert_eq!(found[1].application, Application::Telnet(telnet()));
    }
}

#[test]
fn file_without_workloads_is_rejected() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(NETWORK.as_bytes()).unwrap();
    let problems = workloads(file.path()).unwrap_err().into_vec();
    assert_eq!(problems[0].message, "the file has no workloads");
}

#[test]
fn settings_of_other_model_cause_warning() {
    let text = [NETWORK, USERS]
        .concat()
        .replace("model = \"packet\"\n", "");
    let prepared = from_str("test.toml", &text, "".as_ref(), &[]);
    let warnings = prepared
        .unwrap_or_else(|problems| panic!("{problems}"))
        .warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].message.starts_with("`source` has no effect"));
}
