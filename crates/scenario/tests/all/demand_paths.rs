//! Classes and paths of demands, compared with networks in which connections have them explicitly.

use netflow_network::{ConnectionId, ConnectionSpec, LinkId, Network, NodeId, Source};
use netflow_scenario::{CompiledScenario, for_steady_state, from_str};

/// Two paths of equal cost from A to D, with queues for classes on both.
const LINKS: &str = r#"
link = [
    { from = "A", to = "B", bandwidth = "10 Mbit/s", metric = 1, queue = "priority", class = [{ name = "first" }, { name = "bulk" }] },
    { from = "B", to = "D", bandwidth = "20 Mbit/s", metric = 1, queue = "priority", class = [{ name = "first" }] },
    { from = "A", to = "C", bandwidth = "10 Mbit/s", metric = 1, queue = "wfq", class = [{ name = "first" }, { name = "bulk", weight = 3 }] },
    { from = "C", to = "D", bandwidth = "10 Mbit/s", metric = 1 },
]
"#;

const KINDS: [&str; 7] = [
    "kind = 'constant', rate = '1 Mbit/s'",
    "kind = 'poisson', rate = '1 Mbit/s'",
    "kind = 'voice', users = 9",
    "kind = 'video', users = 1",
    "kind = 'tcp', rate = '1 Mbit/s'",
    "rate = '1 Mbit/s', size = { constant = '20 KB' }",
    "rate = '1 Mbit/s', flows = 9",
];

/// Returns whether a kind of demand has acknowledgements.
fn is_answered(kind: &str) -> bool {
    !["'constant'", "'poisson'", "'voice'"]
        .iter()
        .any(|it| kind.contains(it))
}

fn load(text: &str) -> CompiledScenario {
    let prepared = from_str("test.toml", text, "".as_ref(), &[]);
    prepared.unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn scenario(model: &str, ecmp: bool, kind: &str, keys: &str) -> String {
    format!(
        "simulation = {{ duration = '10 s', model = '{model}', ecmp = {ecmp} }}\n{LINKS}
        demand = [{{ name = 'd', from = 'A', to = 'D', {kind}{keys} }}]"
    )
}

fn id(network: &Network, name: &str) -> ConnectionId {
    let id = network.connection_by_name(name);
    id.unwrap_or_else(|| panic!("no {name}"))
}

fn node(network: &Network, name: &str) -> NodeId {
    let id = network.nodes().find(|&id| network.node_name(id) == name);
    id.unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the names of the queues of links and of their classes.
fn queues(network: &Network, way: Vec<LinkId>) -> Vec<String> {
    let names = way.iter().map(|&link| network.link_name(link).to_owned());
    names.collect()
}

/// Returns all queues, and all connections with the queues on their paths, however these were
/// given.
fn describe_network(network: &Network) -> Vec<String> {
    let links = network.links().map(|id| {
        let room = (network.buffer_pkts(id), network.packet_buffer(id));
        let spec = network.link_spec(id);
        format!("{} {spec:?} {room:?}", network.link_name(id))
    });
    let connections = network.connections().map(|id| {
        let ways = [network.path(id), network.return_path(id)];
        let ways = ways.map(|way| queues(network, way));
        let spec = network.connection_spec(id).clone();
        let users = match &spec.source {
            Source::Users(traffic) => {
                let mut users = (*traffic.workload).clone();
                (users.path, users.return_path, users.class) = (None, None, None);
                format!("{:?} {} {users:?}", traffic.replies, traffic.mean_pps)
            }
            _ => String::new(),
        };
        let source = if users.is_empty() {
            spec.source.clone()
        } else {
            Source::Constant { rate_pps: 1.0 }
        };
        let spec = ConnectionSpec {
            path: None,
            return_path: None,
            source,
            ..spec
        };
        format!("{spec:?} {users} {ways:?}")
    });
    links.chain(connections).collect()
}

#[test]
fn demand_class_applies_to_its_connections() {
    for model in ["fluid", "packet"] {
        for (kind, ecmp) in KINDS.iter().flat_map(|kind| [(kind, false), (kind, true)]) {
            for class in ["first", "bulk"] {
                let keys = format!(", class = '{class}'");
                let given = load(&scenario(model, ecmp, kind, &keys));
                assert!(given.warnings.is_empty(), "{}", given.warnings[0]);
                let plain = load(&scenario(model, ecmp, kind, "")).network;
                let mut builder = plain.to_builder();
                for id in plain.connections() {
                    builder.classify(id, class);
                }
                let by_hand = builder.build().expect("a network");
                assert_eq!(
                    describe_network(&given.network),
                    describe_network(&by_hand),
                    "{kind}"
                );
                assert_ne!(
                    describe_network(&given.network),
                    describe_network(&plain),
                    "{kind}"
                );
                let has_users = model == "packet" && is_answered(kind) && !kind.contains("flows");
                let parts = plain.connection_count() / if has_users { 2 } else { 1 };
                assert_eq!(parts, if ecmp { 2 } else { 1 }, "{kind}");
            }
        }
    }
}

/// Requests take the reverse path.
#[test]
fn demand_path_applies_to_its_connections() {
    const PATHS: [(Option<&str>, Option<&str>); 3] = [
        (Some("ACD"), None),
        (Some("ACD"), Some("DBA")),
        (None, Some("DCA")),
    ];
    let listed = |nodes: &str| -> Vec<String> { nodes.chars().map(|c| c.to_string()).collect() };
    for model in ["fluid", "packet"] {
        for (kind, ecmp) in KINDS.iter().flat_map(|kind| [(kind, false), (kind, true)]) {
            for (path, back) in PATHS {
                let mut keys = String::new();
                for (key, nodes) in [("path", path), ("return-path", back)] {
                    if let Some(nodes) = nodes {
                        keys += &format!(", {key} = {:?}", listed(nodes));
                    }
                }
                let given = load(&scenario(model, ecmp, kind, &keys));
                // A return path without traffic causes the only warning.
                let of_nothing = usize::from(back.is_some() && !is_answered(kind));
                assert_eq!(given.warnings.len(), of_nothing, "{kind}{keys}");
                for warning in &given.warnings {
                    let message =
                        "`return-path` has no effect: this source receives no acknowledgements";
                    assert_eq!(warning.message, message);
                }
                // A demand with a path is not split.
                let plain = scenario(model, ecmp && path.is_none(), kind, "");
                let plain = load(&plain).network;
                let mut builder = plain.to_builder();
                builder.each_connection(|spec| {
                    let nodes = |names: &str| -> Vec<NodeId> {
                        let names = listed(names);
                        names.iter().map(|name| node(&plain, name)).collect()
                    };
                    let turned = |names: &str| -> String { names.chars().rev().collect() };
                    if let Source::Users(traffic) = &mut spec.source {
                        let mut traffic_by_hand = (**traffic).clone();
                        let mut users = (*traffic.workload).clone();
                        (users.path, users.return_path) = (None, None);
                        traffic_by_hand.workload = users.into();
                        *traffic = traffic_by_hand.into();
                    }
                    if spec.name.ends_with("/requests") {
                        let there = back.map(str::to_owned);
                        let there = there.or(path.map(turned)).expect("one of them");
                        let replies = spec.name.replace("/requests", "/replies");
                        let replies = plain.path(id(&plain, &replies));
                        let shortest: Vec<NodeId> = std::iter::once(spec.to)
                            .chain(replies.iter().map(|&link| plain.link_spec(link).to))
                            .collect();
                        spec.path = Some(nodes(&there));
                        spec.return_path = Some(path.map_or(shortest, nodes));
                    } else {
                        spec.path = path.map(nodes);
                        spec.return_path = back.map(nodes);
                    }
                });
                let by_hand = builder.build().expect("a network");
                assert_eq!(
                    describe_network(&given.network),
                    describe_network(&by_hand),
                    "{model} {kind}{keys}"
                );
            }
        }
    }
}

/// A path that is not given is the default one, also while links are down.
#[test]
fn requests_use_reversed_reply_paths() {
    // The paths of both directions between B and D differ, and D has no link to C.
    const LINKS: &str = r#"
simulation = { duration = "10 s", model = "packet" }
link = [
    { from = "A", to = "B", bandwidth = "10 Mbit/s", metric = 1 },
    { from = "B", to = "D", bandwidth = "10 Mbit/s", metric = 1 },
    { from = "B", to = "D", circuit = "2", bandwidth = "9 Mbit/s", metric = 1 },
    { from = "A", to = "C", bandwidth = "10 Mbit/s", metric = 2 },
    { from = "C", to = "D", bandwidth = "10 Mbit/s", metric = 2, duplex = false },
]
event = [
    { at = "1 s", link = "B->D", down = true },
    { at = "2 s", link = "D->B", down = true },
    { at = "3 s", link = "B->D", up = true },
    { at = "4 s", link = "A->B", down = true },
]
"#;
    const PATHS: [(&str, [&str; 2]); 4] = [
        ("path = ['A', 'B', 'D']", ["A->B B->D", "D->B B->A"]),
        ("path = ['A', 'C', 'D']", ["A->C C->D", "D->B B->A"]),
        (
            "path = ['A', 'C', 'D'], return-path = ['D', 'B', 'A']",
            ["A->C C->D", "D->B B->A"],
        ),
        ("return-path = ['D', 'B', 'A']", ["A->B B->D", "D->B B->A"]),
    ];
    for (keys, first) in PATHS {
        let demand =
            format!("demand = [{{ name = 'd', from = 'A', to = 'D', rate = '1 Mbit/s', {keys} }}]");
        let network = load(&[LINKS, &demand].concat()).network;
        let [replies, requests] = ["d/replies", "d/requests"].map(|name| id(&network, name));
        let ways = [network.path(replies), network.return_path(replies)];
        let ways = ways.map(|way| queues(&network, way).join(" "));
        assert_eq!(ways, first, "{keys}");
        let mut all = Vec::new();
        for at_s in [0.5, 1.5, 2.5, 3.5, 4.5] {
            let there = network.path_at(replies, at_s);
            let back = network.return_path_at(replies, at_s);
            assert_eq!(network.return_path_at(requests, at_s), there, "{keys}");
            assert_eq!(network.path_at(requests, at_s), back, "{keys}");
            all.push((there, back));
        }
        all.dedup();
        assert!(all.len() > 1, "{keys}");
    }
}

#[test]
fn tables_support_classes_and_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = "name,from,to,rate,path,return-path,class\n\
                d,A,D,1 Mbit/s,A > C > D,D > B > A,first\n\
                e,A,D,1 Mbit/s,,,\n";
    std::fs::write(folder.path().join("matrix.csv"), rows).expect("room");
    let start = format!("simulation = {{ duration = '10 s' }}\n{LINKS}");
    let text = format!("{start}include = {{ demands = 'matrix.csv' }}");
    let read = |options: &[&str]| {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let prepared = from_str("test.toml", &text, folder.path(), &options);
        prepared.unwrap_or_else(|problems| panic!("{problems}"))
    };
    let network = read(&[]).network;
    let ways = |network: &Network, name: &str| {
        let id = id(network, name);
        let ways = [network.path(id), network.return_path(id)];
        ways.map(|way| queues(network, way).join(" "))
    };
    let of_d = ["A->C/first C->D", "D->B/first B->A/first"];
    assert_eq!(ways(&network, "d"), of_d);
    assert_eq!(ways(&network, "e"), ["A->B B->D", "D->B B->A"]);
    let network = read(&["demand.*.class=bulk", "demand.d.path=A>C>D"]).network;
    assert_eq!(ways(&network, "d"), ["A->C/bulk C->D", "D->B B->A/bulk"]);
    assert_eq!(ways(&network, "e"), ["A->B/bulk B->D", "D->B B->A/bulk"]);
}

/// The steady state of a packet-model scenario equals that of its fluid version, if that is
/// supported. Its transfer demands were represented there by users, with only their mean.
#[test]
fn steady_state_has_equal_demands_in_both_models() {
    let steady = |model: &str| {
        let text = scenario(model, false, "rate = '1 Mbit/s'", "");
        for_steady_state(load(&text), |settings| {
            from_str("test.toml", &text, "".as_ref(), settings)
        })
    };
    let (packets, fluid) = (steady("packet"), steady("fluid"));
    assert_eq!(packets.demands.len(), 1);
    let sends = |it: &CompiledScenario| -> Vec<String> {
        let ids = it.network.connections();
        ids.map(|id| format!("{:?}", it.network.connection_spec(id)))
            .collect()
    };
    assert_eq!(sends(&packets), sends(&fluid));
    assert_ne!(packets.options.model, fluid.options.model);
    let text = scenario("packet", false, "rate = '1 Mbit/s'", "").replace("demand = [", "connection = [{ name = 'c', from = 'A', to = 'D', source = { ns2-tcp = 'reno' } }]\ndemand = [");
    let kept = for_steady_state(load(&text), |settings| {
        from_str("test.toml", &text, "".as_ref(), settings)
    });
    assert_eq!(sends(&kept), sends(&load(&text)));
}
