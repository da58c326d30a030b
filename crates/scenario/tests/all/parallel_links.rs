//! Several links between the same two nodes.

use netflow_network::{Change, Network};
use netflow_scenario::export::{self, Ns2Options, Ns3Options};
use netflow_scenario::{CompiledScenario, from_str};

/// Three links between A and B, and one from B to C.
const LINKS: &str = r#"
simulation = { duration = "10 s" }
link = [
    { from = "A", to = "B", bandwidth = "10 Mbit/s" },
    { from = "A", to = "B", circuit = "2", bandwidth = "10 Mbit/s" },
    { from = "B", to = "A", circuit = "north", bandwidth = "5 Mbit/s", duplex = false },
    { from = "B", to = "C", bandwidth = "10 Mbit/s" },
]
"#;
const CONNECTION: &str = r#"
[[connection]]
name = "c"
from = "A"
to = "C"
source = { constant = "1 Mbit/s" }
"#;

fn read(more: &str, options: &[&str]) -> Result<CompiledScenario, String> {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let text = [LINKS, CONNECTION, more].concat();
    from_str("test.toml", &text, "".as_ref(), &options).map_err(|problems| problems.to_string())
}

fn network(more: &str, options: &[&str]) -> Network {
    let read = read(more, options).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(read.warnings.is_empty(), "{}", read.warnings[0]);
    read.network
}

/// Returns name and bandwidth of every link.
fn mbps(network: &Network) -> Vec<(&str, f64)> {
    let link = |id| {
        let spec = network.link_spec(id);
        (network.link_name(id), spec.bandwidth_bps / 1e6)
    };
    network.links().map(link).collect()
}

#[test]
fn parallel_link_names_include_circuit() {
    let network = network("", &[]);
    assert_eq!(
        mbps(&network),
        [
            ("A->B", 10.0),
            ("B->A", 10.0),
            ("A->B#2", 10.0),
            ("B->A#2", 10.0),
            ("B->A#north", 5.0),
            ("B->C", 10.0),
            ("C->B", 10.0),
        ]
    );
    let id = |name: &str| network.link_by_name(name).unwrap();
    assert_eq!(network.opposite_direction(id("A->B#2")), Some(id("B->A#2")));
    assert_eq!(network.opposite_direction(id("B->A#north")), None);
}

#[test]
fn options_set_circuits_by_name() {
    for (option, changed) in [
        ("link.A->B.bandwidth=1 Mbit/s", &["A->B", "B->A"][..]),
        ("link.A->B#2.bandwidth=1 Mbit/s", &["A->B#2", "B->A#2"]),
        ("link.B->A#2.bandwidth=1 Mbit/s", &["B->A#2"]),
        ("link.A<->B#2.bandwidth=1 Mbit/s", &["A->B#2", "B->A#2"]),
        ("link.B->A#north.bandwidth=1 Mbit/s", &["B->A#north"]),
        (
            "link.*#*.bandwidth=1 Mbit/s",
            &["A->B#2", "B->A#2", "B->A#north"],
        ),
    ] {
        let network = network("", &[option]);
        let is = mbps(&network).into_iter().filter(|(_, mbps)| *mbps == 1.0);
        let is: Vec<&str> = is.map(|(name, _)| name).collect();
        assert_eq!(is, changed, "{option}");
    }
    let error = read("", &["link.A->B#3.bandwidth=1 Mbit/s"]).unwrap_err();
    assert!(error.contains("A->B#2"), "{error}");
}

/// Returns an event at 2 s.
fn fails(what: &str) -> String {
    format!("[[event]]\nat = \"2 s\"\n{what}\ndown = true\n")
}

#[test]
fn events_apply_to_one_circuit() {
    for (name, happens) in [
        ("A->B", &["A->B"][..]),
        ("A<->B", &["A->B", "B->A"]),
        ("A->B#2", &["A->B#2"]),
        ("A<->B#2", &["A->B#2", "B->A#2"]),
        ("B->A#north", &["B->A#north"]),
    ] {
        let network = network(&fails(&format!("link = \"{name}\"")), &[]);
        let events = network.events();
        let down = events.filter(|event| event.change == Change::Down);
        let down: Vec<&str> = down.map(|event| network.link_name(event.link)).collect();
        assert_eq!(down, happens);
    }
    assert_eq!(network(&fails("node = \"A\""), &[]).events().count(), 5);
    for (name, said) in [
        ("A->B#3", "unknown link `A->B#3`"),
        ("A->B#north", "only the other direction exists"),
        ("A->D#2", "unknown node `D`"),
    ] {
        let error = read(&fails(&format!("link = \"{name}\"")), &[]);
        let error = error.err().unwrap_or_default();
        assert!(error.contains(said), "{error}");
    }
}

/// Another link replaces a failed one, also for paths given by nodes.
#[test]
fn traffic_uses_remaining_circuits() {
    let given = "[[connection]]\nname = \"given\"\nfrom = \"A\"\nto = \"C\"\n\
                 path = [\"A\", \"B\", \"C\"]\nsource = { constant = \"1 Mbit/s\" }\n";
    let network = network(&[given, &fails("link = \"A<->B\"")].concat(), &[]);
    for name in ["c", "given"] {
        let id = network.connection_by_name(name).unwrap();
        let over = |at_s| network.link_name(network.path_at(id, at_s)[0]);
        assert_eq!([over(1.0), over(3.0)], ["A->B", "A->B#2"]);
    }
}

#[test]
fn equal_cost_links_share_a_demand() {
    let demand = "[[demand]]\nfrom = \"A\"\nto = \"C\"\nkind = \"poisson\"\nrate = \"4 Mbit/s\"\n";
    let network = network(demand, &["simulation.ecmp=true"]);
    let over = |name: &str| {
        let id = network.connection_by_name(name).unwrap();
        let spec = network.connection_spec(id);
        let bps = 8.0 * spec.packet_size_bytes * spec.source.own_pps().unwrap_or(0.0);
        (network.link_name(network.path(id)[0]), bps)
    };
    assert_eq!(
        [over("A->C/poisson/1"), over("A->C/poisson/2")],
        [("A->B", 2e6), ("A->B#2", 2e6)]
    );
}

/// A path with more alternatives than a number has bits.
#[test]
fn too_many_paths_cause_warning() {
    let warnings = |hops: u32| {
        let link = |i: u32, circuit: &str| {
            let (from, to) = (i, i + 1);
            format!(
                "[[link]]\nfrom = \"N{from}\"\nto = \"N{to}\"\nbandwidth = \"1 Gbit/s\"\n{circuit}"
            )
        };
        let links = (0..hops).map(|i| link(i, "") + &link(i, "circuit = \"2\"\n"));
        let demand = |to: u32| {
            format!(
                "[[demand]]\nfrom = \"N0\"\nto = \"N{to}\"\nkind = \"poisson\"\nrate = \"4 Mbit/s\"\n"
            )
        };
        let simulation = "simulation = { duration = \"10 s\", ecmp = true }\n".to_owned();
        let text = simulation + &links.collect::<String>() + &demand(hops) + &demand(hops - 1);
        let read = from_str("test.toml", &text, "".as_ref(), &[]).unwrap();
        let warnings = read.warnings.into_iter().map(|it| it.message);
        (
            read.network.connection_count(),
            warnings.collect::<Vec<_>>(),
        )
    };
    // Two paths load the links of a demand equally.
    assert_eq!(warnings(30), (4, Vec::new()));
    let (parts, warned) = warnings(80);
    assert_eq!((parts, warned.len()), (128, 1));
    assert!(
        warned[0].contains("`N0->N80/poisson` has too many equal-cost paths"),
        "{warned:?}"
    );
}

/// ns-2 and ns-3 identify links by their ends.
#[test]
fn circuits_are_not_exported() {
    let scenario = read("", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let to_ns2 = export::ns2(&scenario, &Ns2Options::default()).unwrap_err();
    let to_ns3 = export::ns3(&scenario, &Ns3Options::default()).unwrap_err();
    for said in [to_ns2.to_string(), to_ns3.to_string()] {
        assert!(
            said.contains("link A->B#2: links with a `circuit`"),
            "{said}"
        );
    }
}
