//! Tables of measured loads and totals: values, and problems with their lines.

use netflow_import::measurements::{link_loads_from_text, node_totals_from_text};
use netflow_network::{LinkSpec, Network, NetworkBuilder};

/// Two nodes with a link in both directions, and two parallel links to a third node; 1 Gbit/s each.
fn network() -> Network {
    let mut builder = NetworkBuilder::new();
    let [a, b, c] = ["A", "B", "C"].map(|name| builder.node(name));
    for (from, to, circuit) in [(a, b, None), (b, a, None), (b, c, None), (b, c, Some("2"))] {
        builder.link(LinkSpec {
            circuit: circuit.map(Into::into),
            ..LinkSpec::new(from, to, 1e9)
        });
    }
    builder.build().unwrap()
}

fn loads(text: &str) -> Result<Vec<(String, f64)>, String> {
    let network = network();
    let name = |(link, bps)| (network.link_name(link).to_owned(), bps);
    match link_loads_from_text(text, &network) {
        Ok(loads) => Ok(loads.into_iter().map(name).collect()),
        Err(problems) => Err(problems.to_string()),
    }
}

#[track_caller]
fn assert_loads(text: &str, expected: &[(&str, f64)]) {
    let expected = expected
        .iter()
        .map(|(link, bps)| ((*link).to_owned(), *bps));
    assert_eq!(loads(text), Ok(expected.collect()));
}

#[track_caller]
fn assert_problem(text: &str, expected: &str) {
    assert_eq!(loads(text), Err(expected.to_owned()));
}

#[test]
fn loads_have_several_forms() {
    let both = [("A->B", 120e6), ("B->C#2", 0.0)];
    assert_loads("link,load\nA->B,120 Mbps\nB->C#2,0 bit/s\n", &both);
    assert_loads("# of today\nload_bps,link\n1.2e8,A->B\n0,B->C#2\n", &both);
    assert_loads("from,to,load\nA,B,15 MB/s\n", &both[..1]);
    assert_loads("from,to,bytes,seconds\nA,B,4.5e9,300\n", &both[..1]);
    // A table may mix forms.
    assert_loads(
        "link,from,to,load,load_bps\nA->B,,,,120e6\n,B,A,1 kbit/s,\n",
        &[("A->B", 120e6), ("B->A", 1e3)],
    );
}

#[test]
fn counters_give_mean_loads() {
    // 15 MB in a second, in any order of rows, and a wrap of 64 bits.
    assert_loads(
        "link,time_s,octets\nA->B,1700000300,4500000000\nA->B,1700000000,0\n",
        &[("A->B", 120e6)],
    );
    assert_loads(
        "link,time_s,octets\nA->B,0,18446744073709551615\nA->B,1,14999999\nA->B,3,44999999\n",
        &[("A->B", 120e6)],
    );
    assert_problem(
        "link,time_s,octets\nA->B,0,4294967295\nA->B,300,5\n",
        "line 3, column 1: error: the counter of link A->B decreased: it was reset, or has 32 bits\n  help: use a \
         64-bit counter, such as ifHCOutOctets, and leave out readings before a restart",
    );
    assert_problem(
        "link,time_s,octets\nA->B,0,5\n",
        "line 2, column 1: error: link A->B has only one reading of its counter\n  help: write its `octets` at two times",
    );
    assert_problem(
        "link,time_s,octets\nA->B,0,5\nA->B,0,6\n",
        "line 3, column 1: error: link A->B has two readings at 0 s\n  help: leave out one of them",
    );
    assert_problem(
        "link,time_s,octets\nA->B,0,-5\n",
        "line 2, column 8: error: `octets` is not a counter: -5\n  help: write a whole number from 0 to \
         18446744073709551615",
    );
}

#[test]
fn wrong_rows_are_reported_with_their_line() {
    assert_problem(
        "link,load\nA->B,1 Mbit/s\nA->X,1 Mbit/s\n",
        "line 3, column 1: error: unknown link `A->X`\n  help: did you mean `A->B`? links: A->B, B->A, B->C, B->C#2",
    );
    assert_problem(
        "from,to,load\nB,C,1 Mbit/s\n",
        "line 2, column 1: error: 2 links from B to C\n  help: name one of them in the column `link`: B->C, B->C#2",
    );
    assert_problem(
        "link,load\nA->B,1 Mbit/s\nA->B,2 Mbit/s\n",
        "line 3, column 1: error: link A->B was measured in an earlier row\n  help: leave out one of the rows",
    );
    assert_problem(
        "link,load\n",
        "line 1, column 1: error: the table has no loads\n  help: write a row for each measured load",
    );
    let message = |text: &str| loads(text).unwrap_err();
    assert!(
        message("").contains("the table is empty"),
        "{}",
        message("")
    );
    for (cell, expected) in [
        ("-1 Mbit/s", "bit/s"),
        ("5 pkt/s", "0 bit/s to 100000 Gbit/s"),
        ("120", "Mbit/s"),
        ("nan Mbit/s", "load"),
    ] {
        let text = format!("link,load\nA->B,{cell}\n");
        let found = message(&text);
        assert!(
            found.starts_with("line 2, column 6: error: ") && found.contains(expected),
            "{found}"
        );
    }
    for number in ["-1", "nan", "inf", "1e999"] {
        let found = message(&format!("link,load_bps\nA->B,{number}\n"));
        assert!(found.starts_with("line 2, column 6: error: "), "{found}");
    }
    for row in ["A->B,A,B,1 Mbit/s", ",A,,1 Mbit/s", ",,,1 Mbit/s"] {
        let found = message(&format!("link,from,to,load\n{row}\n"));
        let expected = "line 2, column 1: error: this row must name a link, or both of its nodes\n";
        assert!(found.starts_with(expected), "{found}");
    }
    for (header, cells) in [
        ("load,load_bps", "1 Mbit/s,5"),
        ("load,load_bps", ","),
        ("bytes,seconds", "5,"),
        ("time_s,octets", ",5"),
    ] {
        let found = message(&format!("link,{header}\nA->B,{cells}\n"));
        let expected = "line 2, column 1: error: this row must have one load\n";
        assert!(found.starts_with(expected), "{found}");
    }
    let found = message("link,bytes,seconds\nA->B,1e300,1e-300\n");
    let expected = "line 2, column 1: error: the load of link A->B is inf bit/s\n";
    assert!(found.starts_with(expected), "{found}");
    let found = message("link,bytes,seconds\nA->B,5,0\n");
    assert!(found.contains("above 0"), "{found}");
}

#[test]
fn totals_are_read_by_node() {
    let network = network();
    let totals = |text: &str| {
        let found = node_totals_from_text(text, &network);
        found.map_err(|problems| problems.to_string())
    };
    let nodes: Vec<_> = network.nodes().collect();
    let found = totals("node,in,out_bps\nB,2 Gbit/s,3e9\nA,,0\n").unwrap();
    assert_eq!(found.entering, [(nodes[1], 2e9)]);
    assert_eq!(found.leaving, [(nodes[1], 3e9), (nodes[0], 0.0)]);
    let error = |text: &str| totals(text).unwrap_err();
    assert_eq!(
        error("node,in\nA,1 bit/s\nA,1 bit/s\n"),
        "line 3, column 1: error: node A was measured in an earlier row\n  help: leave out one of the rows"
    );
    assert_eq!(
        error("node,in\nD,1 bit/s\n"),
        "line 2, column 1: error: unknown node `D`\n  help: nodes: A, B, C"
    );
    assert_eq!(
        error("node,in,in_bps\nA,1 bit/s,1\n"),
        "line 2, column 1: error: `in` and `in_bps` are the same\n  help: leave out one of them"
    );
    assert_eq!(
        error("node,in\nA,\n"),
        "line 2, column 1: error: this row has no total\n  help: fill `in` or `out`, for example with `2 Gbit/s`"
    );
}
