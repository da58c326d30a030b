//! Tests of several files that form one network: names of nodes, units, directions and demands.

use netflow_document::Problems;
use netflow_import::scenario::{Defaults, Origin, WrittenScenario, write};
use netflow_import::{Reading, Topology, read};
use netflow_network::Source;
use netflow_scenario::file::DemandKind;

/// Reads files, given as names and texts, as one network.
fn joined(files: &[(&str, &str)]) -> Result<Topology, Problems> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = files
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let paths: Vec<_> = paths.iter().map(AsRef::as_ref).collect();
    read(&paths, &Reading::default())
}

/// Reads valid files.
fn network(files: &[(&str, &str)]) -> Topology {
    joined(files).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the problems of invalid files.
fn join_error(files: &[(&str, &str)]) -> String {
    joined(files).expect_err("they are wrong").to_string()
}

fn written(topology: &Topology) -> WrittenScenario {
    write(topology, &Defaults::default(), &Origin::default())
}

/// Returns the label and bandwidth of the first link of the first demand: the link at its sender.
fn first_link(topology: &Topology) -> (String, f64) {
    let from = topology.demands[0].from;
    let link = topology.links.iter().find(|link| link.from == from);
    let link = link.expect("the sender has a link");
    let label = topology.nodes[from].label.clone();
    let name = label.unwrap_or_else(|| topology.nodes[from].name.clone());
    (name, link.bandwidth_bps.unwrap())
}

/// Regression: `POP 1` and `POP-1` have the same legal name. A demand was assigned to the wrong one.
#[test]
fn similar_names_do_not_merge_nodes() {
    let there = "from,to,capacity_gbps,delay_ms\nPOP-1,core,10,1\nPOP 1,core,1,1\n";
    let back = "from,to,capacity_gbps,delay_ms\nPOP 1,core,1,1\nPOP-1,core,10,1\n";
    for links in [there, back] {
        for (name, bps) in [("POP 1", 1e9), ("POP-1", 10e9)] {
            let demands = format!("from,to,rate_mbps\n{name},core,800\n");
            let topology = network(&[("links.csv", links), ("demands.csv", &demands)]);
            assert_eq!(first_link(&topology), (name.to_owned(), bps), "{links}");
            let text = written(&topology).text;
            assert!(
                text.contains("name  = \"POP-1-2\"\nlabel = \"POP 1\""),
                "{text}"
            );
            assert!(text.contains("node `POP 1` is named `POP-1-2`"), "{text}");
        }
    }
    let links = "from,to,capacity_gbps\nSao Paulo,core,1\nSão-Paulo,core,1\n";
    for name in ["Sao Paulo", "São-Paulo"] {
        let demands = format!("from,to,rate_mbps\n{name},core,800\n");
        let topology = network(&[("links.csv", links), ("demands.csv", &demands)]);
        assert_eq!(first_link(&topology).0, name);
    }
    // A name similar to that of a node is not accepted.
    for name in ["Sao-Paulo-2", "São Paulo"] {
        let demands = format!("from,to,rate_mbps\n{name},core,800\n");
        let said = join_error(&[("links.csv", links), ("demands.csv", &demands)]);
        assert!(said.contains("unknown node"), "{said}");
    }
    let text = written(&network(&[("links.csv", links)])).text;
    assert!(text.contains("label = \"Sao Paulo\""), "{text}");
}

/// `0` is the identifier of one node and the name of another, so no demand can refer to it.
#[test]
fn identifier_equal_to_another_nodes_name_is_rejected() {
    let nodes =
        r#""nodes": [{"id": 0, "name": "1"}, {"id": 1, "name": "0"}, {"id": 2, "name": "x"}]"#;
    let links = r#""links": [{"source": 0, "target": 2, "bandwidth": "10 Gbit/s"}, {"source": 1, "target": 2, "bandwidth": "1 Gbit/s"}]"#;
    let json = format!(r#"{{"directed": false, "multigraph": false, {nodes}, {links}}}"#);
    let said = join_error(&[("g.json", &json), ("d.csv", "from,to,rate_mbps\n0,x,800\n")]);
    assert!(said.contains("`0` is the name of several nodes"), "{said}");
    assert!(
        said.contains("the nodes are `1` and `0` in the scenario"),
        "{said}"
    );
    // Identifier and name of a node are both accepted.
    for name in ["2", "x"] {
        let demands = format!("from,to,rate_mbps\n{name},{name},8\n");
        network(&[("g.json", &json), ("d.csv", &demands)]);
    }
}

/// Returns the directions of a scenario's links with their utilization by demands.
fn loads(text: &str) -> Vec<(String, f64)> {
    let prepared = netflow_scenario::from_str("a.toml", text, "/nonexistent".as_ref(), &[]);
    let network = prepared
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
        .network;
    let mut loads = vec![0.0; network.link_count()];
    for id in network.connections() {
        let spec = network.connection_spec(id);
        for link in network.path_at(id, 0.0) {
            let (Source::Constant { rate_pps } | Source::Poisson { rate_pps }) = spec.source else {
                continue;
            };
            loads[link.index()] += 8.0 * f64::from(spec.count) * spec.packet_size_bytes * rate_pps;
        }
    }
    let links = network.links().zip(loads);
    let links = links.map(|(id, bps)| {
        let name = network.link_name(id).to_owned();
        (name, bps / network.link_spec(id).bandwidth_bps)
    });
    links.collect()
}

fn assumed(written: &WrittenScenario) -> String {
    let all = written.assumptions.iter();
    let all: Vec<String> = all.map(|it| it.full_text(&written.topology)).collect();
    all.join("\n")
}

fn load_of(text: &str, link: &str) -> f64 {
    let found = loads(text).into_iter().find(|(name, _)| name == link);
    found.unwrap_or_else(|| panic!("no {link}:\n{text}")).1
}

fn is_close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

/// A cable of 980 km between nodes at a distance of 504 km.
#[test]
fn stated_length_is_fibre_length() {
    let nodes = "id,lat,lon\nber,52.52,13.40\nmuc,48.14,11.58\n";
    let read = |km: &str| {
        let links = format!("from,to,capacity_gbps,km\nber,muc,10,{km}\n");
        written(&network(&[("nodes.csv", nodes), ("links.csv", &links)]))
    };
    let (stated, text) = (read("980"), "delay from the length in the file");
    assert!(
        stated.text.contains("delay     = \"4.903 ms\"  # 980 km"),
        "{}",
        stated.text
    );
    assert!(assumed(&stated).contains(text));
    // The distance of the ends, which topohub states, is not the length of a fibre.
    let straight = read("503.9");
    assert!(
        straight
            .text
            .contains("delay     = \"3.781 ms\"  # 503.8 km"),
        "{}",
        straight.text
    );
    assert!(!assumed(&straight).contains(text));
    assert!(assumed(&read("400")).contains("is less than the distance of the ends"));
}

#[test]
fn links_and_demands_share_rate_unit() {
    let links = "from,to,capacity,delay_ms\nA,B,7000000,5\n";
    let demands = "from,to,rate\nA,B,950000\nB,A,400000\n";
    let read = written(&network(&[("links.csv", links), ("demands.csv", demands)]));
    assert!(is_close(load_of(&read.text, "A->B"), 0.95 / 7.0));
    assert!(!assumed(&read).contains("--unit"), "{}", assumed(&read));
    for demands in ["from,to,rate_gbps\nA,B,1\n", "from,to,rate\nA,B,50\n"] {
        let read = written(&network(&[("links.csv", links), ("demands.csv", demands)]));
        assert!(assumed(&read).contains("--unit"), "{}", assumed(&read));
    }
    let files = [("links.csv", links), ("d.csv", "from,to,rate\nA,B,0.5\n")];
    assert!(
        join_error(&files).contains("--unit"),
        "{}",
        join_error(&files)
    );
    // The unit of a format also applies to tables read together with it.
    let graph = "NODES 2\na 0 0\nb 1 1\nEDGES 2\ne0 0 1 1 1000000 5\ne1 1 0 1 1000000 5\n";
    let read = network(&[("a.graph", graph), ("d.csv", "from,to,rate\na,b,200000\n")]);
    assert_eq!(read.demands[0].rate_bps, 200e6);
}

#[test]
fn one_way_links_carry_one_way_demands() {
    let links = "from,to,capacity_gbps,delay_ms,directed\nA,B,10,1,yes\nB,C,10,1,yes\n";
    let demands = "from,to,rate_mbps\nA,C,4000\nC,A,1\n";
    let topology = network(&[("links.csv", links), ("demands.csv", demands)]);
    let read = written(&topology);
    assert_eq!(
        loads(&read.text),
        [("A->B".to_owned(), 0.4), ("B->C".to_owned(), 0.4)]
    );
    let none = "demands without a path from sender to receiver: ignored: C->A";
    assert!(assumed(&read).contains(none), "{}", assumed(&read));
    // TCP needs a return path for acknowledgements.
    let choices = Defaults {
        kind: DemandKind::Tcp,
        ..Defaults::default()
    };
    let read = write(&topology, &choices, &Origin::default());
    assert!(read.topology.demands.is_empty());
    assert!(
        assumed(&read).contains("without a return path"),
        "{}",
        assumed(&read)
    );
}

#[test]
fn measured_matrix_adds_no_acks() {
    let links = "from,to,capacity_gbps,delay_ms\nA,B,10,5\n";
    let demands = "from,to,rate_mbps\nA,B,8000\nB,A,1000\n";
    let topology = network(&[("links.csv", links), ("demands.csv", demands)]);
    let read = written(&topology);
    assert!(is_close(load_of(&read.text, "B->A"), 0.1));
    assert!(assumed(&read).contains("demands are of kind `constant` (--kind)"));
    let choices = Defaults {
        kind: DemandKind::Tcp,
        ..Defaults::default()
    };
    let read = write(&topology, &choices, &Origin::default());
    assert!(!read.text.contains("kind = "), "{}", read.text);
    assert!(assumed(&read).contains("acknowledgements add load"));
}

#[test]
fn usual_demand_column_names_are_read() {
    let links = "from,to,capacity_gbps\nA,B,10\n";
    for demands in [
        "Source,Destination,bps\nA,B,100000000\n",
        "from,to,mbps\nA,B,100\n",
        "from,to,volume\nA,B,100\n",
        "from,to,Gbps\nA,B,0.1\n",
        "origin,destination,demand\nA,B,100\n",
        "from,to,Traffic [Mbit/s],comment\nA,B,100,x\n",
        "from_node,to_node,rate\nA,B,100M\n",
        "node,A,B\nA,0,100\nB,,0\n",
        "sep=;\nfrom;to;rate_mbps\nA;B;100\n",
        "\u{feff}sep=;\r\nfrom;to;rate_mbps\r\nA;B;100\r\n",
    ] {
        let read = network(&[("links.csv", links), ("demands.csv", demands)]);
        let rates: Vec<_> = read
            .demands
            .iter()
            .map(|it| (it.from, it.to, it.rate_bps))
            .collect();
        assert_eq!(rates, [(0, 1, 100e6)], "{demands}");
    }
    for links in [
        "A End,Z End,Speed\nA,B,10G\n",
        ":START_ID,:END_ID(Node),gbps:float,km\nA,B,10,7\n",
        "from_node;to_node;Speed (Gbps)\nA;B;10\n",
        "Node A,Node Z,capacity [Gbit/s]\nA,B,10\n",
    ] {
        let read = network(&[("links.csv", links)]);
        assert_eq!(read.links[0].bandwidth_bps, Some(10e9), "{links}");
    }
    // Errors have the line number of the original file.
    let said = join_error(&[("links.csv", "sep=;\nfrom;to;metric\nA;B;-1\n")]);
    assert!(said.contains("links.csv:3:1"), "{said}");
}

#[test]
fn a_square_matrix_is_read() {
    let links = "from,to,capacity_gbps\nA,B,10\nB,to,10\n";
    let matrix = "mbps,to,A,B\nA,3,0,2\nB,0,1e3,7\nto,,-,4\n";
    let read = network(&[("links.csv", links), ("matrix.csv", matrix)]);
    let rates: Vec<_> = read
        .demands
        .iter()
        .map(|it| (it.from, it.to, it.rate_bps))
        .collect();
    assert_eq!(rates, [(0, 2, 3e6), (0, 1, 2e6), (1, 0, 1e9), (2, 1, 4e6)]);
    // The corner of the matrix may state the unit.
    let matrix = "Gbps,A,B\nA,0,2\nB,1,0\n";
    let read_gbps = network(&[("links.csv", links), ("matrix.csv", matrix)]);
    assert_eq!(read_gbps.demands[0].rate_bps, 2e9);
    let text = assumed(&written(&read));
    assert!(
        text.contains("rows of the demand matrix are read as senders"),
        "{text}"
    );
}

#[test]
fn a_misspelt_column_of_a_matrix_is_located_in_the_header() {
    let links = "from,to,capacity_gbps\nParis,Lyon,10\nLyon,Nice,10\nNice,Metz,10\n";
    let rows = "Paris,0,1,1,1\nLyon,1,0,1,1\nNice,1,1,0,1\nMetz,1,1,1,0\n";
    let matrix = format!("mbps,Paris,Lyonn,Nice,Metz\n{rows}");
    let said = join_error(&[("links.csv", links), ("matrix.csv", &matrix)]);
    assert!(
        said.contains("matrix.csv:1:12: error: unknown node `Lyonn`"),
        "{said}"
    );
}

/// Regression: an example connection was written although the matrix is zero.
#[test]
fn a_matrix_of_zeros_stays_zero() {
    let links = "from,to,capacity_gbps\nA,B,10\n";
    for matrix in ["node,A,B\nA,0,0\nB,0,0\n", "from,to,rate\nA,B,0\nB,A,0\n"] {
        let read = written(&network(&[("links.csv", links), ("matrix.csv", matrix)]));
        assert!(!read.text.contains("[[connection]]"), "{}", read.text);
        assert!(
            assumed(&read).contains("demands are 0, and all others are ignored"),
            "{}",
            assumed(&read)
        );
    }
}

#[test]
fn repeated_rows_are_one_link() {
    let demands = ("demands.csv", "from,to,rate_mbps\nParis,Lyon,12000\n");
    for (again, word) in [
        ("Paris,Lyon,10,4", "is equal to an earlier row"),
        ("Lyon,Paris,10,4", "its ends exchanged"),
    ] {
        let links =
            format!("from,to,capacity_gbps,delay_ms\nParis,Lyon,10,4\n{again}\nLyon,Nice,10,3\n");
        let read = written(&network(&[("links.csv", &links), demands]));
        assert_eq!(loads(&read.text).len(), 4, "{}", read.text);
        assert!(is_close(load_of(&read.text, "Paris->Lyon"), 1.2), "{again}");
        assert!(!read.text.contains("ecmp     ="), "{}", read.text);
        let text = assumed(&read);
        assert!(text.contains(word) && text.contains("(line 3)"), "{text}");
    }
    let named = "from,to,capacity_gbps,name\nParis,Lyon,10,x\nParis,Lyon,10,y\nLyon,Nice,10,z\n";
    assert_eq!(network(&[("links.csv", named)]).links.len(), 3);
}

#[test]
fn risk_groups_paths_and_classes_are_kept() {
    let links = "from,to,capacity_gbps,delay_ms,srlg\nA,B,10,1,duct1\nB,C,10,1,duct1; bridge\nA,C,10,1,duct2\n";
    let demands = "from,to,rate_mbps,path,class,kind\nA,C,1000,A > B > C,EF,voice\nA,C,500,,,\nA,C,500,A->C,,\n";
    let read = written(&network(&[("links.csv", links), ("demands.csv", demands)]));
    let prepared = netflow_scenario::from_str("a.toml", &read.text, "/nonexistent".as_ref(), &[]);
    let of = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    let groups: Vec<(String, usize)> = of
        .network
        .risk_groups()
        .map(|(name, links)| (name.to_owned(), links.len()))
        .collect();
    assert_eq!(
        groups,
        [
            ("bridge".to_owned(), 2),
            ("duct1".to_owned(), 4),
            ("duct2".to_owned(), 2)
        ]
    );
    let names: Vec<&str> = of
        .network
        .connections()
        .map(|id| of.network.connection_name(id))
        .collect();
    assert_eq!(names, ["A->C:EF", "A->C/constant", "A->C/constant+2"]);
    assert!(
        is_close(load_of(&read.text, "A->B"), 0.1) && is_close(load_of(&read.text, "A->C"), 0.1)
    );
    // Shared-risk groups are kept in the network of a scenario.
    let again = Topology::of(&of);
    assert_eq!(again.links[1].srlg, ["bridge", "duct1"]);
    for (path, text) in [
        ("A > C > B", "does not run from"),
        ("B > C", "does not run from"),
        ("A > D > C", "unknown node `D`"),
    ] {
        let demands = format!("from,to,rate_mbps,path\nA,C,1,{path}\n");
        let said = join_error(&[("links.csv", links), ("demands.csv", &demands)]);
        assert!(said.contains(text), "{said}");
    }
    let short = "from,to\nA,B\nB,C\n";
    let said = join_error(&[
        ("links.csv", short),
        ("d.csv", "from,to,rate,path\nA,C,1,A > C\n"),
    ]);
    assert!(
        said.contains("the path has no link from `A` to `C`"),
        "{said}"
    );
}

#[test]
fn links_out_of_service_are_omitted() {
    let links =
        "from,to,capacity_gbps,status\nA,B,10,up\nB,C,10,Active\nA,C,10,down\nC,D,10,Planned\n";
    let read = network(&[("links.csv", links)]);
    assert_eq!(read.links.len(), 3);
    let text = assumed(&written(&read));
    assert!(
        text.contains("the status \"down\" is out of service: ignored: A--C (line 4)"),
        "{text}"
    );
    assert!(
        text.contains("a link with the status \"Planned\"") && !text.contains("\"up\""),
        "{text}"
    );
    let json = r#"{"nodes": [{"id": "A"}, {"id": "B"}, {"id": "C"}], "edges": [
        {"source": "A", "target": "B", "up": false}, {"source": "B", "target": "C", "oper_status": "UP"}]}"#;
    assert_eq!(network(&[("a.json", json)]).links.len(), 1);
}

#[test]
fn paths_of_equal_metric_share_traffic() {
    let links = "from,to,capacity_gbps,delay_ms,metric\nA,B,10,2,10\nB,D,10,2,10\nA,C,10,2,10\nC,D,10,2,10\n";
    let demands = "from,to,rate_mbps\nA,D,12000\n";
    let topology = network(&[("links.csv", links), ("demands.csv", demands)]);
    let read = written(&topology);
    assert!(read.text.contains("ecmp     = true"), "{}", read.text);
    assert!(assumed(&read).contains("traffic is divided among paths of equal metric"));
    for link in ["A->B", "B->D", "A->C", "C->D"] {
        assert!(is_close(load_of(&read.text, link), 0.6), "{link}");
    }
    let choices = Defaults {
        ecmp: Some(false),
        ..Defaults::default()
    };
    let read = write(&topology, &choices, &Origin::default());
    assert!(read.text.contains("ecmp     = false"), "{}", read.text);
    let text = assumed(&read);
    assert!(
        text.contains("1 of 1 demands uses one of several shortest paths: use --ecmp"),
        "{text}"
    );
    assert!(is_close(load_of(&read.text, "A->B"), 1.2));
    // Without metrics, equal delays are coincidental.
    let links = links.replace(",metric", ",note").replace(",10\n", ",x\n");
    let topology = network(&[("links.csv", &links), ("demands.csv", demands)]);
    assert!(!written(&topology).text.contains("ecmp     ="));
    let choices = Defaults {
        ecmp: Some(true),
        ..Defaults::default()
    };
    let read = write(&topology, &choices, &Origin::default());
    assert!(is_close(load_of(&read.text, "A->B"), 0.6));
}

#[test]
fn utf16_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("links.csv");
    for mark in ["\u{feff}", ""] {
        let text = format!("{mark}from,to\nA,B\n");
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(&path, bytes).unwrap();
        let said = read(&[&path], &Reading::default()).unwrap_err().to_string();
        assert!(said.contains("the file is UTF-16, not UTF-8"), "{said}");
    }
}

/// Regression: a cable with different directions was two links, which failed independently.
#[test]
fn opposite_directions_are_one_link() {
    let links = "from,to,capacity_gbps,delay_ms,metric\nA,B,10,5,10\nB,A,10,5,20\nB,C,10,5,10\nC,B,10,5,10\nA,C,1,5,50\nC,A,1,5,50\n";
    let read = written(&network(&[("links.csv", links)]));
    assert_eq!(read.topology.links.len(), 3);
    assert!(
        read.text
            .contains("metric    = 10\nreverse   = { metric = 20 }\n"),
        "{}",
        read.text
    );
    let text = assumed(&read);
    assert!(
        text.contains(
            "two different directions are read as one link with `reverse`: they fail together: A--B (line 2)"
        ),
        "{text}"
    );
    let prepared = netflow_scenario::from_str("a.toml", &read.text, "/nonexistent".as_ref(), &[]);
    let network_of = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(network_of.network.physical_links().count(), 3);
    // The result is the same via the network of the scenario and via GraphML.
    let again = Topology::of(&network_of);
    assert_eq!(
        again.links[0].reverse.as_ref().and_then(|it| it.metric),
        Some(20.0)
    );
    let graphml = netflow_import::graphml::write(&again);
    assert_eq!(network(&[("a.graphml", &graphml)]).links, again.links);
    let two = r#"{"directed": true, "multigraph": false, "nodes": [{"id": "A"}, {"id": "B"}],
        "links": [{"source": "A", "target": "B", "capacity": 200.0}, {"source": "B", "target": "A", "capacity": 300.0}]}"#;
    let read = written(&network(&[("two.json", two)]));
    assert!(
        read.text
            .contains("reverse   = { bandwidth = \"300 Mbit/s\" }"),
        "{}",
        read.text
    );
    // Properties missing in one direction are those of the other.
    let half = "from,to,capacity_gbps,metric\nA,B,10,5\nB,A,,7\n";
    let link = network(&[("links.csv", half)]).links.remove(0);
    let reverse = link.reverse.expect("its metric is another");
    assert_eq!((reverse.bandwidth_bps, reverse.metric), (None, Some(7.0)));
    // Links of equal name are paired, if names exist.
    let named = "from,to,gbps,name,metric\nA,B,10,x,1\nA,B,10,y,2\nB,A,10,y,3\nB,A,10,x,4\n";
    let links = network(&[("links.csv", named)]).links;
    let metrics: Vec<_> = links
        .iter()
        .map(|it| it.reverse.as_ref().and_then(|it| it.metric))
        .collect();
    assert_eq!(metrics, [Some(4.0), Some(3.0)]);
    // Columns can state both directions in one row.
    let columns = "from,to,capacity_gbps,reverse_capacity_gbps,reverse_km\nA,B,10,1,200\n";
    let read = network(&[("links.csv", columns)]);
    assert_eq!(
        read.links[0]
            .reverse
            .as_ref()
            .and_then(|it| it.bandwidth_bps),
        Some(1e9)
    );
    assert!(
        read.assumptions
            .iter()
            .all(|it| !it.text.contains("ignoring unknown"))
    );
    for one_way in [
        "from,to,directed,reverse_metric\nA,B,yes,10\n",
        "from,to,metric,reverse_metric\nA,B,1,10\nB,A,10,1\n",
    ] {
        let said = join_error(&[("links.csv", one_way)]);
        let text = "attributes of its reverse direction";
        assert!(said.contains(text), "{said}");
    }
}
