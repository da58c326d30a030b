//! Round-trip tests: reading written files yields the original network.

use netflow_import::{
    Link, Node, Position, Reading, Reverse, Topology, demands, from_text, graphml, great_circle_km,
    scenario,
};
use netflow_scenario::file::DemandKind;
use netflow_units::{BufferSize, Packets, Size};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    // A valid label: one line, without spaces at its ends and without double spaces.
    prop_oneof!["[A-Za-z0-9äß<>&\"'.-]{1,9}", "[A-Z][a-z]{0,5} [A-Z&<]"]
}

fn node() -> impl Strategy<Value = (Option<String>, Option<Position>, Option<f64>)> {
    let degrees =
        (-180.0..=180.0, -90.0..=90.0).prop_map(|(longitude, latitude)| Position::Degrees {
            longitude,
            latitude,
        });
    let plane = (-1e6..1e6, -1e6..1e6).prop_map(|(x, y)| Position::Plane { x, y });
    let position = prop::option::of(prop_oneof![degrees, plane]);
    (
        prop::option::of(text()),
        position,
        prop::option::of(0.0..1e8),
    )
}

fn reverse() -> impl Strategy<Value = Reverse> {
    let said = (
        prop::option::of(1.0..1e14),
        1e-9..3600.0,
        prop::option::of(0.0..4e4),
        prop::option::of(0.0..1e5),
        prop::option::of(1.0..1e6),
    );
    said.prop_map(
        |(bandwidth_bps, delay_s, length_km, metric, pkts)| Reverse {
            bandwidth_bps,
            delay_s: Some(delay_s),
            length_km,
            metric,
            buffer: pkts.map(|pkts| BufferSize::Size(Size::Packets(Packets(pkts)))),
        },
    )
}

fn link(nodes: usize) -> impl Strategy<Value = Link> {
    let ends = (0..nodes, 1..nodes).prop_map(move |(from, step)| (from, (from + step) % nodes));
    let said = (
        prop::option::of(text()),
        any::<bool>(),
        prop::option::of(1.0..1e14),
        prop::option::of(1e-9..3600.0),
        prop::option::of(0.0..4e4),
        prop::option::of(0.0..1e5),
        prop::option::of(1.0..1e6),
        prop::collection::vec("[a-z]{1,4}-[1-9]", 0..3),
        prop::option::of(reverse()),
    );
    (ends, said).prop_map(
        |(
            (from, to),
            (name, directed, bandwidth_bps, delay_s, km, metric, pkts, srlg, reverse),
        )| Link {
            name,
            from,
            to,
            directed,
            bandwidth_bps,
            bandwidth_remark: None,
            delay_s,
            length_km: km,
            metric,
            buffer: pkts.map(|pkts| BufferSize::Size(Size::Packets(Packets(pkts)))),
            srlg,
            settings: Default::default(),
            reverse: reverse.filter(|_| !directed),
        },
    )
}

/// Generates an arbitrary multigraph.
fn topology() -> impl Strategy<Value = Topology> {
    (2..8_usize).prop_flat_map(|count| {
        let nodes = prop::collection::vec(node(), count);
        let links = prop::collection::vec(link(count), 1..20);
        (nodes, links).prop_map(|(nodes, links)| {
            let nodes = nodes.into_iter().enumerate();
            let nodes = nodes.map(|(place, (label, position, population))| Node {
                name: format!("N{place}"),
                label: label
                    .filter(|label| !matches!(label.as_str(), "None" | "null" | "NaN" | "nan"))
                    .filter(|label| *label != format!("N{place}")),
                position,
                population,
            });
            Topology {
                format: None,
                name: Some("a & b".to_owned()),
                origin: Vec::new(),
                nodes: nodes.collect(),
                links,
                demands: Vec::new(),
                zero_demands: 0,
                assumptions: Vec::new(),
            }
        })
    })
}

/// Writes the network as a scenario and reads it back.
fn through_scenario(topology: &Topology) -> Topology {
    let written = scenario::write(topology, &Default::default(), &Default::default());
    let text = &written.text;
    let prepared = netflow_scenario::from_str("written.toml", text, "/nonexistent".as_ref(), &[]);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    Topology::of(&prepared)
}

/// Returns the directions of links by the names of their ends, sorted. A bidirectional link counts twice.
fn describe_directions(topology: &Topology) -> Vec<String> {
    let mut ways = Vec::new();
    for link in &topology.links {
        let name = |node: usize| &topology.nodes[node].name;
        let both = [(link.from, link.to), (link.to, link.from)];
        for (from, to) in both.into_iter().take(if link.directed { 1 } else { 2 }) {
            let reverse = link.reverse.as_ref().filter(|_| from != link.from);
            let bandwidth = reverse
                .and_then(|it| it.bandwidth_bps)
                .or(link.bandwidth_bps);
            let delay = reverse.and_then(|it| it.delay_s).or(link.delay_s);
            ways.push(format!(
                "{} {} {bandwidth:?} {delay:?}",
                name(from),
                name(to)
            ));
        }
    }
    ways.sort();
    ways
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn graphml_round_trips(before in topology()) {
        let text = graphml::write(&before);
        let mut after = from_text("written.graphml", &text, &Reading::default()).unwrap();
        prop_assert_eq!(&after.assumptions, &Vec::new());
        after.format = None;
        prop_assert_eq!(after, before);
    }

    /// A scenario contains every link, for any number of parallel links.
    #[test]
    fn scenario_keeps_every_link(before in topology()) {
        let mut before = before;
        for link in &mut before.links {
            link.bandwidth_bps.get_or_insert(1e9);
            link.delay_s.get_or_insert(0.005);
            // Scenarios do not contain lengths.
            link.length_km = None;
        }
        // A ring makes every node reachable.
        let count = before.nodes.len();
        for from in 0..count {
            let link = Link { from, to: (from + 1) % count, directed: false, reverse: None, ..before.links[0].clone() };
            before.links.push(link);
        }
        let after = through_scenario(&before);
        prop_assert_eq!(describe_directions(&after), describe_directions(&before));
        let text = graphml::write(&after);
        let again = from_text("written.graphml", &text, &Reading::default()).unwrap();
        prop_assert_eq!(describe_directions(&again), describe_directions(&after));
    }
}

#[test]
fn shipped_networks_keep_every_link() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/reference/topologies"
    );
    let cases = [
        ("Abilene.graphml", 11, 14),
        ("Geant2012.graphml", 40, 61),
        ("Kdl.graphml", 754, 899),
        ("germany50.json", 50, 88),
    ];
    for (file, nodes, links) in cases {
        let path = std::path::Path::new(folder).join(file);
        let read = netflow_import::read(&[&path], &Reading::default()).unwrap();
        assert_eq!(
            (read.nodes.len(), read.links.len()),
            (nodes, links),
            "{file}"
        );
        let after = through_scenario(&read);
        assert_eq!(
            (after.nodes.len(), after.links.len()),
            (nodes, links),
            "{file}"
        );
    }
}

/// topohub computes lengths with its own formula. It uses an earth radius of 6372.8 km instead of
/// 6371.0088 km, and two decimals.
#[test]
fn distances_match_topohub() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/reference/topologies/germany50.json"
    );
    let read = netflow_import::read(&[file.as_ref()], &Reading::default()).unwrap();
    for link in &read.links {
        let position = |node: usize| read.nodes[node].position.unwrap();
        let km = great_circle_km(position(link.from), position(link.to)).unwrap();
        let theirs = link.length_km.unwrap();
        let km = km * 6372.8 / 6371.0088;
        assert!(
            (km - theirs).abs() < 0.0051,
            "{}: {km} and {theirs}",
            read.link_name(link)
        );
    }
}

#[test]
fn demand_table_round_trips() {
    let csv = "from,to\nA,B\nB,C\n";
    let mut before = from_text("a.csv", csv, &Reading::default()).unwrap();
    let demand = netflow_import::Demand::new;
    before.demands = vec![demand(0, 2, 1.5e6), demand(2, 1, 1e9 / 3.0)];
    before.demands[0].kind = Some(DemandKind::Poisson);
    before.demands[1].path = Some(vec![2, 1]);
    let folder = tempfile::tempdir().unwrap();
    let (links, table) = (
        folder.path().join("links.csv"),
        folder.path().join("demands.csv"),
    );
    std::fs::write(&links, csv).unwrap();
    std::fs::write(&table, demands::write(&before)).unwrap();
    let after = netflow_import::read(&[&links, &table], &Reading::default()).unwrap();
    assert_eq!(after.demands, before.demands);
}

/// Regression: the written scenario was invalid.
#[test]
fn long_names_are_cut_negative_bandwidths_rejected() {
    let long = "x".repeat(2000);
    let csv = format!("from,to\n{long}a,{long}b\n{long}b,C\n");
    let read = from_text("a.csv", &csv, &Reading::default()).unwrap();
    assert_eq!(through_scenario(&read).links.len(), 2);
    let csv = "from,to,LinkSpeedRaw\nA,B,-1e9\n";
    let problems = from_text("a.csv", csv, &Reading::default()).unwrap_err();
    assert_eq!(
        problems.into_vec()[0].message,
        "bandwidth out of range: -1 Gbit/s"
    );
}

/// Populations are kept, also those of nodes without other attributes and those of 0.
#[test]
fn populations_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (links, nodes) = (
        folder.path().join("links.csv"),
        folder.path().join("nodes.csv"),
    );
    std::fs::write(&links, "from,to\nA,B\nB,C\n").unwrap();
    std::fs::write(&nodes, "id,population\nA,100\nB,200\nC,0\n").unwrap();
    let before = netflow_import::read(&[&nodes, &links], &Reading::default()).unwrap();
    let people =
        |it: &Topology| -> Vec<_> { it.nodes.iter().map(|node| node.population).collect() };
    assert_eq!(people(&before), [Some(100.0), Some(200.0), Some(0.0)]);
    assert_eq!(people(&through_scenario(&before)), people(&before));
}

/// A single directed link has no return path, so no example connection is possible, which is reported.
#[test]
fn missing_return_paths_are_reported() {
    let json = r#"{"directed": true, "nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]}"#;
    let read = from_text("a.json", json, &Reading::default()).unwrap();
    let written = scenario::write(&read, &Default::default(), &Default::default());
    assert!(!written.text.contains("[[connection]]"));
    assert!(
        written.text.contains("no two nodes reach each other"),
        "{}",
        written.text
    );
}
