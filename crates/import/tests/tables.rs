//! Tests of CSV tables of links and nodes, and of directions in other formats.

use netflow_document::{Problem, Problems};
use netflow_import::scenario::{Defaults, Origin, write};
use netflow_import::{Format, Reading, Topology, from_text};

fn import(text: &str) -> Topology {
    named("links.csv", text)
}

fn named(name: &str, text: &str) -> Topology {
    from_text(name, text, &Reading::default()).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Reads two files, given as names and texts, as one network.
fn import_two(files: [(&str, &str); 2]) -> Result<Topology, Problems> {
    let folder = tempfile::tempdir().unwrap();
    let files = files.map(|(name, text)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    });
    netflow_import::read(&[&files[0], &files[1]], &Reading::default())
}

fn refused(text: &str) -> Problem {
    let problems = from_text("links.csv", text, &Reading::default()).expect_err(text);
    problems.into_vec().remove(0)
}

fn assumed(topology: &Topology) -> Vec<String> {
    let list = topology.assumptions.iter();
    list.map(|it| it.summary(topology)).collect()
}

/// Returns the number of `[[link]]` tables of the scenario, and the number of unidirectional ones.
fn links(topology: &Topology) -> (usize, usize) {
    let text = write(topology, &Defaults::default(), &Origin::default()).text;
    let count = |what: &str| text.matches(what).count();
    (count("[[link]]"), count("duplex    = false"))
}

/// Regression: each row became two links, with twice the capacity.
#[test]
fn opposite_rows_are_one_link() {
    let both = "from,to,capacity_gbps,delay_ms\nA,B,10,1\nB,A,10,1\nB,C,1,2\nC,B,1,2\n";
    let topology = import(both);
    assert_eq!(links(&topology), (2, 0));
    let text = &assumed(&topology)[0];
    assert!(
        text.contains("every link is listed in both directions"),
        "{text}"
    );
    let once = import("from,to,capacity_gbps,delay_ms\nA,B,10,1\nB,C,1,2\n");
    assert_eq!(links(&once), (2, 0));
    // Directions may differ.
    let uneven = import("from,to,capacity_gbps,delay_ms\nA,B,10,1\nB,A,2,1\n");
    assert_eq!(links(&uneven), (1, 0));
    // The table states it explicitly.
    let said = import("from,to,capacity_gbps,directed\nA,B,10,no\nB,A,10,no\n");
    assert_eq!(links(&said), (2, 0));
    // Two bidirectional links between the same nodes.
    let twice = import("from,to,capacity_gbps,name\nA,B,10,x\nA,B,10,y\nB,A,10,x\nB,A,10,y\n");
    assert_eq!(links(&twice), (2, 0));
}

/// Parallel links are numbered, and share traffic if they are equal.
#[test]
fn parallel_links_are_circuits() {
    let written = |table: &str| {
        let written = write(&import(table), &Defaults::default(), &Origin::default());
        let options = Vec::new();
        let read = netflow_scenario::from_str("a.toml", &written.text, "".as_ref(), &options);
        let network = read.unwrap_or_else(|problems| panic!("{problems}")).network;
        let names: Vec<String> = network
            .links()
            .map(|id| network.link_name(id).to_owned())
            .collect();
        let assumed: Vec<String> = written
            .assumptions
            .iter()
            .map(|it| it.full_text(&written.topology))
            .collect();
        (
            names,
            written.text.contains("ecmp     = true"),
            assumed.join("\n"),
        )
    };
    let (names, shares, assumed) =
        written("from,to,capacity_gbps,name\nA,B,10,x\nA,B,10,y\nB,A,10,z\n");
    assert_eq!(
        names,
        ["A->B", "B->A", "A->B#2", "B->A#2", "B->A#3", "A->B#3"]
    );
    assert!(shares && assumed.contains("share traffic"), "{assumed}");
    let (names, shares, assumed) = written("from,to,capacity_gbps\nA,B,10\nA,B,1\n");
    assert_eq!(names, ["A->B", "B->A", "A->B#2", "B->A#2"]);
    assert!(!shares && assumed.contains("the fastest"), "{assumed}");
    // Equal bandwidth but different length: costs by delay differ.
    let (_, shares, assumed) =
        written("from,to,capacity_gbps,delay\nA,B,10,5\nB,A,10,7\nB,C,10,3\n");
    assert!(!shares && assumed.contains("or length"), "{assumed}");
    // Unidirectional links, some of which are parallel.
    let (names, ..) = written(
        "from,to,capacity_gbps,directed\nA,B,10,yes\nB,A,1,yes\nB,A,2,yes\nA,C,1,no\nA,B,3,no\n",
    );
    assert_eq!(
        names,
        ["A->B", "B->A", "B->A#2", "A->C", "C->A", "A->B#3", "B->A#3"]
    );
    assert!(!written("from,to,capacity_gbps\nA,B,10\nB,C,1\n").1);
}

#[test]
fn partly_bidirectional_links_are_reported() {
    let some = import("from,to,capacity_gbps\nA,B,10\nB,A,1\nB,C,10\n");
    let told = assumed(&some);
    let told: Vec<&String> = told
        .iter()
        .filter(|it| it.contains("a second link"))
        .collect();
    assert!(
        matches!(told[..], [one] if one.ends_with("B--A (line 3)")),
        "{told:?}"
    );
}

#[test]
fn undirected_formats_are_read_equally() {
    let json = |directed: &str| {
        let edges = r#"[{"source": "A", "target": "B"}, {"source": "B", "target": "A"}]"#;
        let nodes = r#"[{"id": "A"}, {"id": "B"}]"#;
        named(
            "a.json",
            &format!(r#"{{{directed} "nodes": {nodes}, "edges": {edges}}}"#),
        )
    };
    assert_eq!(links(&json("")), (1, 0));
    assert_eq!(links(&json(r#""directed": true,"#)), (1, 0));
    assert_eq!(links(&json(r#""directed": false,"#)), (2, 0));
    let graphml = |default: &str| {
        let edges = r#"<edge source="A" target="B"/><edge source="B" target="A"/>"#;
        let nodes = r#"<node id="A"/><node id="B"/>"#;
        let text = format!("<graphml><graph {default}>{nodes}{edges}</graph></graphml>");
        named("a.graphml", &text)
    };
    assert_eq!(links(&graphml("")), (1, 0));
    assert_eq!(links(&graphml(r#"edgedefault="directed""#)), (1, 0));
    assert_eq!(links(&graphml(r#"edgedefault="undirected""#)), (2, 0));
    let gml = |directed: &str| {
        let edges = "edge [ source 0 target 1 ] edge [ source 1 target 0 ]";
        let text = format!("graph [ {directed} node [ id 0 ] node [ id 1 ] {edges} ]");
        named("a.gml", &text)
    };
    assert_eq!(links(&gml("")), (1, 0));
    assert_eq!(links(&gml("directed 1")), (1, 0));
    assert_eq!(links(&gml("directed 0")), (2, 0));
}

#[test]
fn column_rates_match_scenario_rates() {
    let of = |text: &str| {
        let column = import(&format!("from,to,bandwidth\nA,B,{text}\n"));
        let label = import(&format!("from,to,label\nA,B,{text}\n"));
        [column, label].map(|it| (it.links[0].bandwidth_bps, assumed(&it).join("; ")))
    };
    for (text, bps, bytes) in [
        ("10 GB/s", 80e9, true),
        ("10 MB/s", 80e6, true),
        ("10 kB/s", 80e3, true),
        ("10 GBps", 80e9, true),
        ("10 Gb/s", 10e9, false),
        ("10 Gbit/s", 10e9, false),
        ("10 Gbps", 10e9, false),
        ("10 GBPS", 10e9, false),
    ] {
        let [(column, of_column), (label, of_label)] = of(text);
        assert_eq!(column, Some(bps), "{text}");
        assert_eq!(
            of_column.contains("read as bytes"),
            bytes,
            "{text}: {of_column}"
        );
        // Bytes in the label of a map mean bits, with a remark.
        assert_eq!(label, Some(if bytes { bps / 8.0 } else { bps }), "{text}");
        assert_eq!(
            of_label.contains("read as bits"),
            bytes,
            "{text}: {of_label}"
        );
        let scenario = text.parse::<netflow_units::BitsPerSecond>();
        assert!(scenario.is_err() || scenario == Ok(netflow_units::BitsPerSecond(bps)));
    }
    let column = import("from,to,capacity_GBps\nA,B,10\n");
    assert_eq!(column.links[0].bandwidth_bps, Some(80e9));
    assert!(assumed(&column).join("; ").contains("read as bytes"));
    let column = import("from,to,capacity_gbps\nA,B,10\n");
    assert_eq!(column.links[0].bandwidth_bps, Some(10e9));
    let script = named("a.tcl", "$ns duplex-link $a $b 1MB 5ms DropTail\n");
    assert_eq!(script.links[0].bandwidth_bps, Some(8e6));
    assert!(assumed(&script).join("; ").contains("read as bytes"));
}

#[test]
fn length_determines_delay() {
    for head in ["km", "length", "distance_km", "dist"] {
        let read = import(&format!("from,to,{head}\nA,B,1000\nB,C,1000 km\n"));
        assert_eq!(read.links[0].length_km, Some(1000.0), "{head}");
        assert_eq!(read.links[1].length_km, Some(1000.0), "{head}");
        let text = write(&read, &Defaults::default(), &Origin::default()).text;
        // 1000 km of fibre at two thirds of the speed of light.
        assert!(text.contains("delay     = \"5.003 ms\""), "{text}");
    }
    let unknown = import("from,to,colour\nA,B,red\n");
    let told = assumed(&unknown).join("; ");
    assert!(told.contains("ignoring unknown column `colour`"), "{told}");
}

#[test]
fn decimal_comma_is_reported() {
    for (column, value) in [("capacity_gbps", "1,5"), ("km", "1,5"), ("rate", "2,5")] {
        let wrong = refused(&format!("from;to;{column};metric\nA;B;{value};1\n"));
        let help = wrong.help.unwrap_or_default();
        let point = value.replace(',', ".");
        assert!(
            help.contains(&format!("write \"{point}\"")),
            "{column}: {help}"
        );
    }
}

#[test]
fn decimal_comma_in_csv_is_reported() {
    let wrong = refused("from,to,capacity_gbps\nA,B,1,5\n");
    let help = wrong.help.unwrap_or_default();
    assert!(help.contains("use a point as the decimal mark"), "{help}");
    assert_eq!(refused("from,to,capacity_gbps\nA,B\n").help, None);
}

/// Regression: a repeated row of a matrix was an additional demand, without a warning.
#[test]
fn matrix_oddities_are_reported() {
    let links = "from,to,bandwidth\nA,B,1 Gbit/s\n";
    let read = |matrix| import_two([("links.csv", links), ("matrix.csv", matrix)]);
    let rows = "from,to,rate\nA,B,1 Mbit/s\nB,A,1 Mbit/s\nA,B,1 Mbit/s\n";
    let topology = read(rows).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(topology.demands.len(), 3);
    let told = assumed(&topology).join("; ");
    assert_eq!(told.matches("several demands between").count(), 1, "{told}");
}

#[test]
fn node_table_determines_link_delays() {
    let read = |nodes, links| import_two([("nodes.csv", nodes), ("links.csv", links)]);
    let links_csv = "from,to,capacity_gbps\nber,muc,10\nmuc,vie,10\n";
    let nodes = "id,name,lat,lon,population,owner\nber,Berlin,52.52,13.40,3700000,x\nmuc,München,48.14,11.58,1500000,y\n";
    let topology = read(nodes, links_csv).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(topology.format, Some(Format::EdgeList));
    let names: Vec<&str> = topology.nodes.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["ber", "muc", "vie"]);
    assert_eq!(topology.nodes[1].label.as_deref(), Some("München"));
    assert_eq!(topology.nodes[0].population, Some(3.7e6));
    let text = write(&topology, &Defaults::default(), &Origin::default()).text;
    assert!(text.contains("# 503.8 km"), "{text}");
    let told = assumed(&topology).join("; ");
    assert!(told.contains("`owner` of the node table"), "{told}");
    assert!(told.contains("1 nodes of links"), "{told}");
    for (nodes, links, message) in [
        ("id,lat,lon\nx,1,2\n", links_csv, "no link refers to a node"),
        ("id,lat,lon\nber,1,2\nber,1,2\n", links_csv, "exists twice"),
        (
            "id,lat,lon\nber,91,2\n",
            links_csv,
            "has invalid coordinates",
        ),
        ("id,lat,lon\nber,north,2\n", links_csv, "not a number"),
        (
            "id,lat,lon\nber,1,2\n",
            "id,lat,lon\nber,1,2\n",
            "second node table",
        ),
        (
            "id,lat,lon\nber,1,2\n",
            "graph [ node [ id 0 ] ]",
            "a node table needs a CSV",
        ),
    ] {
        let problems = read(nodes, links).expect_err(message).into_vec();
        assert!(problems[0].message.contains(message), "{:?}", problems[0]);
    }
    let alone = refused("id,lat,lon\nber,1,2\n");
    assert_eq!(alone.message, "the files have nodes, but no links");
}

/// Regression: demands in bit/s were read as Mbit/s if links were in bit/s.
#[test]
fn large_unitless_rates_are_bits_per_second() {
    for (bandwidth, rate, bps) in [
        (1e9, 5e6, [1e9, 5e6]),
        (1000.0, 5.0, [1e9, 5e6]),
        // Links and demands share one unit.
        (1e9, 50.0, [1e9, 50.0]),
        (1000.0, 5e6, [1000.0, 5e6]),
        (1e6, 1e6, [1e12, 1e12]),
    ] {
        let links = format!("from,to,bandwidth\nA,B,{bandwidth}\n");
        let demands = format!("from,to,rate\nA,B,{rate}\n");
        let found = import_two([("links.csv", &links), ("demands.csv", &demands)]).unwrap();
        let bandwidth_bps = found.links[0].bandwidth_bps.unwrap();
        let is = [bandwidth_bps, found.demands[0].rate_bps];
        assert_eq!(is, bps, "{bandwidth} {rate}");
    }
}

/// The unit in the name of a demand column is applied or the table is rejected. Regression: `rate_tbps`
/// was read as Mbit/s.
#[test]
fn demand_column_units_are_known_or_rejected() {
    let links = "from,to,capacity_gbps\nA,B,10\n";
    let read = |column: &str, cell: &str| {
        let demands = format!("from,to,{column}\nA,B,{cell}\n");
        import_two([("links.csv", links), ("demands.csv", &demands)])
    };
    for (column, cell, bps) in [
        ("rate_tbps", "0.002", 2e9),
        ("rate_gbps", "2", 2e9),
        ("Demand_Mbit", "2000", 2e9),
        ("demand_mean_mbps", "2000", 2e9),
        ("traffic_value", "2000", 2e9),
        ("demand_peak_mbps", "2000", 2e9),
        ("traffic_2020_gbps", "2", 2e9),
        ("rate_Mbit/s", "2000", 2e9),
        ("rate_GBps", "0.25", 2e9),
        ("rate_GBps_mean", "0.25", 2e9),
        ("rate_Bps", "250000000", 2e9),
        ("rate_MB/s", "250", 2e9),
        ("traffic_peak_2020", "2000", 2e9),
        ("rate_MB", "2 Gbit/s", 2e9),
        ("rate", "2000", 2e9),
    ] {
        let found = read(column, cell).unwrap();
        let rate_bps = found.demands[0].rate_bps;
        assert!((rate_bps / bps - 1.0).abs() < 1e-12, "{column}: {rate_bps}");
        // Bytes are often a mistake, so they are reported.
        let is_of_bytes = ["Bps", "B/s"].iter().any(|unit| column.contains(unit));
        let told = assumed(&found).join("; ");
        assert_eq!(told.contains("bytes"), is_of_bytes, "{column}: {told}");
    }
    for column in [
        "rate_gb",
        "rate_MB",
        "rate_pps",
        "rate_erlang",
        "demand_volume_tb",
    ] {
        let problems = read(column, "2").expect_err(column).into_vec();
        assert!(
            problems[0].message.contains("has no known unit of rates"),
            "{:?}",
            problems[0]
        );
    }
    let problems = read("rate_kbps_mbps", "2").unwrap_err().into_vec();
    assert!(
        problems[0].message.contains("contains two units of rates"),
        "{:?}",
        problems[0]
    );
}

/// One attribute takes precedence, regardless of the order, and contradicting ones are reported.
#[test]
fn contradicting_attributes_are_reported() {
    for text in [
        "from,to,bandwidth,capacity,metric,weight,delay,latency\nA,B,100 Mbit/s,3,1,9,5 ms,9 ms\n",
        "from,to,latency,delay,weight,metric,capacity,bandwidth\nA,B,9 ms,5 ms,9,1,3,100 Mbit/s\n",
    ] {
        let topology = import(text);
        let link = &topology.links[0];
        assert_eq!(link.bandwidth_bps, Some(100e6));
        assert_eq!((link.metric, link.delay_s), (Some(1.0), Some(5e-3)));
        let told = assumed(&topology).join("\n");
        for both in [
            "`capacity` contradicts `bandwidth`: `bandwidth` is used",
            "`weight` contradicts `metric`: `metric` is used",
            "`latency` contradicts `delay`: `delay` is used",
        ] {
            assert!(told.contains(both), "{told}");
        }
    }
    for (text, bps) in [
        ("from,to,bandwidth,capacity\nA,B,3 Mbit/s,3 Mbit/s\n", 3e6),
        // Units may differ, and a bandwidth of 0 means unknown.
        ("from,to,bandwidth,capacity\nA,B,1000,1 Gbit/s\n", 1e9),
        ("from,to,bandwidth,capacity\nA,B,0,100 Mbit/s\n", 100e6),
    ] {
        let topology = import(text);
        assert_eq!(topology.links[0].bandwidth_bps, Some(bps), "{text}");
        let told = assumed(&topology).join("\n");
        assert!(!told.contains("contradicts"), "{told}");
    }
    let topology = import("from,to,bandwidth,LinkSpeedRaw\nA,B,100 Mbit/s,3000000\n");
    assert_eq!(topology.links[0].bandwidth_bps, Some(3e6));
    let told = assumed(&topology).join("\n");
    assert!(
        told.contains("`bandwidth` contradicts `LinkSpeedRaw`"),
        "{told}"
    );
    // Two of three attributes agree.
    let topology = import("from,to,cap,capacity,bandwidth\nA,B,100,3,100 Mbit/s\n");
    let told = assumed(&topology).join("\n");
    assert!(
        told.contains("`capacity` contradicts `bandwidth`"),
        "{told}"
    );
    assert!(!told.contains("`cap` says"), "{told}");
    let units = [
        "delay_ms,delay_us\nA,B,5,9\n",
        "delay_us,delay_ms\nA,B,9,5\n",
    ];
    let delays = units.map(|it| import(&format!("from,to,{it}")).links[0].delay_s);
    assert_eq!(delays, [Some(5e-3); 2]);
}
