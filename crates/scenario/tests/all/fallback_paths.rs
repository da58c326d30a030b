//! Explicit paths with other paths after failures, and with shares.

use netflow_network::{LinkId, Network, Rerouter, Source};
use netflow_scenario::{CompiledScenario, from_str};

/// Three ways from A to D. The shortest one leads over S.
const LINKS: &str = "
simulation = { duration = '10 s' }
link = [
    { from = 'A', to = 'B', bandwidth = '10 Mbit/s', metric = 2 },
    { from = 'B', to = 'D', bandwidth = '10 Mbit/s', metric = 2 },
    { from = 'A', to = 'C', bandwidth = '10 Mbit/s', metric = 3 },
    { from = 'C', to = 'D', bandwidth = '10 Mbit/s', metric = 3 },
    { from = 'A', to = 'S', bandwidth = '10 Mbit/s', metric = 1 },
    { from = 'S', to = 'D', bandwidth = '10 Mbit/s', metric = 1 },
]
";
const EVENTS: &str = "
event = [
    { at = '1 s', link = 'B<->D', down = true },
    { at = '2 s', link = 'A<->C', down = true },
    { at = '3 s', link = 'A<->S', down = true },
    { at = '4 s', link = 'A<->C', up = true },
    { at = '5 s', link = 'B<->D', up = true },
]
";
const KINDS: [&str; 4] = [
    "kind = 'constant', rate = '3 Mbit/s'",
    "kind = 'voice', users = 30",
    "kind = 'tcp', rate = '3 Mbit/s'",
    "rate = '3 Mbit/s', flows = 10",
];

fn load(traffic: &str, options: &[&str]) -> Result<CompiledScenario, String> {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let text = format!("{LINKS}{traffic}\n");
    from_str("test.toml", &text, "".as_ref(), &options).map_err(|problems| problems.to_string())
}

/// Returns networks with demands and connections with these paths, in both models, with and without ECMP.
fn networks(paths: &str, events: &str) -> Vec<Network> {
    let mut traffic = vec![format!(
        "connection = [{{ name = 'd', from = 'A', to = 'D', count = 10, source = {{ constant = '300 kbit/s' }}, {paths} }}]"
    )];
    traffic.extend(
        KINDS.map(|kind| {
            format!("demand = [{{ name = 'd', from = 'A', to = 'D', {kind}, {paths} }}]")
        }),
    );
    let mut all = Vec::new();
    for options in [
        ["simulation.model=fluid", "simulation.ecmp=false"],
        ["simulation.model=fluid", "simulation.ecmp=true"],
        ["simulation.model=packet", "simulation.ecmp=false"],
        ["simulation.model=packet", "simulation.ecmp=weighted"],
    ] {
        for traffic in &traffic {
            let read = load(&format!("{traffic}\n{events}"), &options)
                .unwrap_or_else(|problems| panic!("{problems}"));
            all.push(read.network);
        }
    }
    all
}

/// Returns the middle nodes of the paths of all connections from A to D, and of the return paths of the others.
fn middles(network: &Network, at_s: f64) -> Vec<String> {
    let middle = |id| {
        let spec = network.connection_spec(id);
        let is_request = matches!(&spec.source, Source::Users(it) if !it.replies);
        let path = if is_request {
            network.return_path_at(id, at_s)
        } else {
            network.path_at(id, at_s)
        };
        let node = network.link_spec(path[0]).to;
        network.node_name(node).to_owned()
    };
    let mut all: Vec<String> = network.connections().map(middle).collect();
    all.dedup();
    all
}

#[test]
fn first_working_path_is_used() {
    for network in networks("paths = [['A', 'B', 'D'], ['A', 'C', 'D']]", EVENTS) {
        let at = |at_s| middles(&network, at_s).join(" ");
        let all = [0.5, 1.5, 2.5, 4.5, 5.5].map(at);
        // At 2.5 s none works: packets are lost on the first one.
        assert_eq!(all, ["B", "C", "B", "C", "B"]);
    }
}

#[test]
fn shortest_path_is_last() {
    for network in networks(
        "paths = [['A', 'B', 'D'], ['A', 'C', 'D'], 'shortest']",
        EVENTS,
    ) {
        let at = |at_s| middles(&network, at_s).join(" ");
        assert_eq!([0.5, 1.5, 2.5, 4.5, 5.5].map(at), ["B", "C", "S", "C", "B"]);
        let id = network.connections().next().unwrap();
        assert_eq!(network.unrouted_intervals(id, 0.0, 10.0), [(3.0, 4.0)]);
    }
}

#[test]
fn shares_divide_traffic_and_move_to_other_paths() {
    let paths = "paths = [{ nodes = ['A', 'B', 'D'], share = 0.7 }, { nodes = ['A', 'C', 'D'], share = 0.3 }]";
    let pairs = networks(paths, EVENTS).into_iter().zip(networks(paths, ""));
    for (network, intact) in pairs {
        let id = |name: &str| {
            let names = [name.to_owned(), format!("{name}/replies")];
            names
                .iter()
                .find_map(|name| network.connection_by_name(name))
                .unwrap()
        };
        let parts = [id("d/1"), id("d/2")];
        let rate = |id| {
            let spec = network.connection_spec(id);
            let each = spec.source.own_pps().unwrap_or(spec.application.mean_pps());
            f64::from(spec.count) * if each.is_finite() { each } else { 1.0 }
        };
        let [first, second] = parts.map(rate);
        assert!(
            (first / (first + second) - 0.7).abs() < 1e-9,
            "{first} {second}"
        );
        assert_eq!(middles(&network, 0.5), ["B", "C"]);
        assert_eq!(middles(&network, 1.5), ["C"]);
        // A failure analysis finds the same path as events.
        let failed: Vec<LinkId> = intact
            .links()
            .filter(|&it| ["B->D", "D->B"].contains(&intact.link_name(it)))
            .collect();
        let routes = Rerouter::new(&intact, 0.0).reroute_around(&failed);
        for it in &routes.reroutes {
            let way = &it.paths[0];
            let names = way
                .data
                .iter()
                .chain(&way.back)
                .map(|&link| intact.link_name(intact.links().nth(link as usize).unwrap()));
            assert!(names.into_iter().all(|name| name.contains('C')));
        }
        assert!(!routes.reroutes.is_empty());
    }
}

#[test]
fn wrong_paths_are_rejected() {
    let one = "source = { constant = '1 Mbit/s' }";
    for (keys, message) in [
        ("paths = 'A > B > D'", "`paths` must be an array of paths"),
        ("paths = []", "`paths` has no path"),
        (
            "paths = ['shortest']",
            "`\"shortest\"` must be the last of several paths",
        ),
        (
            "paths = [['A', 'B', 'D'], 'longest']",
            "`paths` must be an array of nodes, a table, or \"shortest\"",
        ),
        (
            "paths = [['A', 'B']]",
            "`paths` ends at `B`, but must end at `D`",
        ),
        (
            "paths = [['A', 'B', 'D'], ['A', 'D']]",
            "`paths` uses link `A->D`, which does not exist",
        ),
        (
            "paths = [['A', 'B', 'D']], path = ['A', 'B', 'D']",
            "`path` and `paths` exclude each other",
        ),
        (
            "paths = [{ nodes = ['A', 'B', 'D'], share = 0.7 }, ['A', 'C', 'D']]",
            "paths with and without a `share`",
        ),
        (
            "count = 9, paths = [{ nodes = ['A', 'B', 'D'], share = 0.7 }, { nodes = ['A', 'C', 'D'], share = 0.2 }]",
            "the shares of `paths` sum to 0.89",
        ),
        (
            "paths = [{ nodes = ['A', 'B', 'D'], share = 0.7 }, { nodes = ['A', 'C', 'D'], share = 0.3 }]",
            "the shares of `paths` cannot be had with 1 flows: a path has none",
        ),
    ] {
        let traffic =
            format!("connection = [{{ name = 'd', from = 'A', to = 'D', {one}, {keys} }}]");
        let said = load(&traffic, &[])
            .err()
            .unwrap_or_else(|| panic!("{keys} is accepted"));
        assert!(said.contains(message), "{keys}: {said}");
    }
}
