//! Traffic that is split among equal-cost paths.

use netflow_network::{Application, ConnectionId, Model, Network, Source};
use netflow_scenario::{CompiledScenario, from_str};

/// Two paths of two links from A to D.
const SQUARE: &str = r#"
simulation = { duration = "10 s", packet-size = "1500 B", ecmp = true }
link = [
    { from = "A", to = "B", bandwidth = "10 Mbit/s", metric = 1 },
    { from = "B", to = "D", bandwidth = "10 Mbit/s", metric = 1 },
    { from = "A", to = "C", bandwidth = "10 Mbit/s", metric = 1 },
    { from = "C", to = "D", bandwidth = "10 Mbit/s", metric = 1 },
]
"#;

fn load(traffic: &str, options: &[&str]) -> Result<CompiledScenario, String> {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let text = format!("{SQUARE}{traffic}");
    from_str("test.toml", &text, "".as_ref(), &options).map_err(|problems| problems.to_string())
}

fn good(traffic: &str, options: &[&str]) -> CompiledScenario {
    load(traffic, options).unwrap_or_else(|problems| panic!("{problems}"))
}

fn id(network: &Network, name: &str) -> ConnectionId {
    let id = network.connection_by_name(name);
    id.unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the middle nodes of a connection's forward and return path.
fn middle_nodes(network: &Network, name: &str) -> [String; 2] {
    let id = id(network, name);
    [network.path(id), network.return_path(id)]
        .map(|path| network.node_name(network.link_spec(path[0]).to).to_owned())
}

#[test]
fn demand_is_split_over_equal_paths() {
    for kind in ["constant", "poisson", "tcp"] {
        let traffic = format!(
            "demand = [{{ name = 'd', from = 'A', to = 'D', rate = '12 Mbit/s', kind = '{kind}' }}]"
        );
        let network = good(&traffic, &[]).network;
        let ways = [middle_nodes(&network, "d/1"), middle_nodes(&network, "d/2")];
        assert_ne!(ways[0], ways[1]);
        for (part, way) in ["d/1", "d/2"].iter().zip(&ways) {
            assert_eq!(way[0], way[1], "{kind}");
            let spec = network.connection_spec(id(&network, part));
            let (Source::Constant { rate_pps } | Source::Poisson { rate_pps }) = spec.source else {
                panic!("{spec:?}");
            };
            let bps = rate_pps * 8.0 * spec.packet_size_bytes;
            assert!((bps - 6e6).abs() < 1e-3, "{kind}: {bps}");
        }
        assert!(network.connection_by_name("d").is_none());
    }
}

#[test]
fn packet_model_transfers_are_split_equally() {
    let traffic = "demand = [{ name = 'd', from = 'A', to = 'D', rate = '4 Mbit/s' }]";
    let prepared = good(traffic, &["simulation.model=packet"]);
    assert!(matches!(prepared.options.model, Model::Packets(_)));
    let network = &prepared.network;
    for part in ["d/1", "d/2"] {
        let [replies, requests] =
            ["replies", "requests"].map(|way| middle_nodes(network, &format!("{part}/{way}")));
        assert_eq!([&replies[0], &replies[1]], [&requests[1], &requests[0]]);
    }
    let mean = |part: &str| {
        let spec = network.connection_spec(id(network, &format!("{part}/replies")));
        match &spec.source {
            Source::Users(traffic) => traffic.mean_pps,
            other => panic!("{other:?}"),
        }
    };
    assert!((mean("d/1") / mean("d/2") - 1.0).abs() < 1e-9);
    assert_ne!(
        middle_nodes(network, "d/1/replies"),
        middle_nodes(network, "d/2/replies")
    );
}

#[test]
fn connection_flow_uses_one_path() {
    let traffic = "connection = [{ name = 'c', from = 'A', to = 'D', source = { profile = 'ns-reno' }, count = 40 }]";
    let network = good(traffic, &[]).network;
    let counts = ["c/1", "c/2"].map(|part| network.connection_spec(id(&network, part)).count);
    assert_eq!(counts[0] + counts[1], 40);
    assert!(counts[0].abs_diff(20) < 15, "{counts:?}");
    assert_ne!(middle_nodes(&network, "c/1"), middle_nodes(&network, "c/2"));
    // One flow is not split, and neither is a connection with a given path.
    let one = good(&traffic.replace("40", "1"), &[]).network;
    assert_eq!(one.connection_spec(id(&one, "c")).count, 1);
    let given = traffic.replace("count", "path = ['A', 'C', 'D'], count");
    let given = good(&given, &[]).network;
    assert_eq!(given.connection_spec(id(&given, "c")).count, 40);
}

#[test]
fn split_preserves_flow_count_and_rate() {
    let traffic = "demand = [{ name = 'd', from = 'A', to = 'D', rate = '12 Mbit/s', flows = 10 }]";
    let network = good(traffic, &[]).network;
    let of = |part: &str| {
        let spec = network.connection_spec(id(&network, part));
        match spec.application {
            Application::Poisson { rate_pps } => (spec.count, rate_pps * 12e3),
            other => panic!("{other:?}"),
        }
    };
    let (one, two) = (of("d/1"), of("d/2"));
    assert_eq!(one.0 + two.0, 10);
    assert!((one.1 - 1.2e6).abs() < 1e-3 && (two.1 - 1.2e6).abs() < 1e-3);
}

#[test]
fn without_ecmp_one_path_is_used() {
    let traffic =
        "demand = [{ name = 'd', from = 'A', to = 'D', rate = '9 Mbit/s', kind = 'constant' }]";
    let network = good(traffic, &["simulation.ecmp=false"]).network;
    assert_eq!(network.connection_spec(id(&network, "d")).flow, None);
}

#[test]
fn failed_traffic_uses_remaining_paths() {
    let traffic = "
        demand = [{ name = 'd', from = 'A', to = 'D', rate = '4 Mbit/s', kind = 'constant' }]
        event = [{ at = '1 s', link = 'A->B', down = true }]";
    let network = good(traffic, &[]).network;
    for part in ["d/1", "d/2"] {
        let path = network.path_at(id(&network, part), 2.0);
        assert_eq!(network.link_name(path[0]), "A->C");
    }
}

#[test]
fn unsplit_workload_users_cause_warning() {
    let traffic = "workload = [{ name = 'w', application = 'http', clients = 'A', servers = 'D', interarrival = '1 s' }]";
    let prepared = good(traffic, &[]);
    let warning = prepared.warnings[0].to_string();
    assert!(
        warning.contains("all users of `w` between two nodes take one of 2 equal-cost paths"),
        "{warning}"
    );
}

#[test]
fn part_name_conflicts_are_reported() {
    let traffic = "
        connection = [{ name = 'd/2', from = 'A', to = 'B', source = { constant = '1 Mbit/s' } }]
        demand = [{ name = 'd', from = 'A', to = 'D', rate = '4 Mbit/s' }]";
    let problems = load(traffic, &[]).expect_err("two of the same name");
    assert!(
        problems.contains("connection `d/2` already exists, but a part of `d`"),
        "{problems}"
    );
}

/// Failures cause warnings of traffic that moves as a whole: parts in runs, flows in all models,
/// users of workloads.
#[test]
fn unsplit_rerouting_causes_warning() {
    let of = |traffic: &str, is_solved| {
        let event = "event = [{ at = '5 s', link = 'A->B', down = true }]";
        let told = good(&format!("{traffic}\n{event}"), &[]).model_warnings(is_solved, 10.0);
        let moved = |it: &&String| it.contains("its load is overestimated");
        assert!(
            !good(traffic, &[])
                .model_warnings(is_solved, 10.0)
                .iter()
                .any(|it| moved(&it))
        );
        told.iter()
            .filter(moved)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    };
    let demand = "demand = [{ name = 'd', from = 'A', to = 'D', rate = '5 Mbit/s' }]";
    assert_eq!(of(demand, true), "");
    assert!(of(demand, false).starts_with("parts of demands"));
    let flows =
        "demand = [{ name = 'd', from = 'A', to = 'D', rate = '5 Mbit/s', kind = 'voice' }]";
    assert!(of(flows, true).starts_with("flows on the same path"));
    let users = "workload = [{ name = 'w', application = 'http', clients = 'A', servers = 'D', interarrival = '1 s' }]";
    for is_solved in [false, true] {
        let told = of(users, is_solved);
        assert!(
            told.starts_with("users of workloads that a failure interrupts"),
            "{told}"
        );
        assert!(!told.contains('\n'));
    }
}

/// Rates, flow counts and paths by capacity, in both models.
#[test]
fn weighted_ecmp_divides_by_capacity() {
    let options = ["simulation.ecmp=weighted", "link.A->B.bandwidth=30 Mbit/s"];
    for model in ["fluid", "packet"] {
        let model = format!("simulation.model={model}");
        let options = [&options[..], &[&model]].concat();
        let traffic = "demand = [{ name = 'd', from = 'A', to = 'D', rate = '12 Mbit/s', kind = 'constant' }]";
        // The link behind B limits its path to 10 Mbit/s, until it is wider.
        for (wider, over_b) in [(false, 0.5), (true, 0.75)] {
            let mut options = options.clone();
            if wider {
                options.push("link.B->D.bandwidth=30 Mbit/s");
            }
            let network = good(traffic, &options).network;
            let of_part = |part: &str| {
                let spec = network.connection_spec(id(&network, part));
                let mbps = 8e-6 * spec.packet_size_bytes * spec.source.own_pps().unwrap();
                (middle_nodes(&network, part)[0].clone(), mbps)
            };
            let parts = [of_part("d/1"), of_part("d/2")];
            let share = parts.iter().find(|it| it.0 == "B").unwrap().1 / 12.0;
            assert!((share - over_b).abs() < 1e-8, "{parts:?}");
        }
    }
    let flows = "connection = [{ name = 'c', from = 'A', to = 'D', source = { profile = 'ns-reno' }, count = 4000 }]";
    let network = good(
        flows,
        &[options[0], options[1], "link.B->D.bandwidth=30 Mbit/s"],
    )
    .network;
    let over_b = ["c/1", "c/2"].map(|part| {
        let count = network.connection_spec(id(&network, part)).count;
        if middle_nodes(&network, part)[0] == "B" {
            count
        } else {
            0
        }
    });
    // Binomial: 3000 with a standard deviation of 27.
    assert!((over_b[0] + over_b[1]).abs_diff(3000) < 110, "{over_b:?}");
}

#[test]
fn unknown_ecmp_is_rejected() {
    let said = load("", &["simulation.ecmp=capacity"]).err().unwrap();
    assert!(
        said.contains("`simulation.ecmp`") || said.contains("`ecmp`"),
        "{said}"
    );
}
