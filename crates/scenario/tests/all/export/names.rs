//! Names with special characters of Tcl, CSV or traces, which must be plain data.

use netflow_scenario::CompiledScenario;
use netflow_simulation::{
    Acks, Application, ConnectionSpec, LinkSpec, Network, NetworkBuilder, Source,
};

use super::ns2::{compile_scenario, is_written, node_numbers, run, traced};

const SPECIAL_NAMES: [&str; 10] = [
    "[exec touch pwned]",
    "$env(HOME);exec touch pwned",
    "a\"b#c",
    "{",
    "}",
    "\\",
    "line\nbreak\rreturn",
    "Zürich, 東京 🦀",
    "-x (y) %d",
    "#",
];

/// Returns a chain of nodes and connections with these names. It is built directly, because
/// scenario files reject control characters.
fn network() -> Network {
    let mut builder = NetworkBuilder::new();
    let nodes = SPECIAL_NAMES.map(|name| builder.node(name));
    for ends in nodes.windows(2) {
        builder.link(LinkSpec {
            delay_s: 1e-3,
            ..LinkSpec::new(ends[0], ends[1], 8e6)
        });
    }
    for name in SPECIAL_NAMES {
        builder.connection(ConnectionSpec {
            name: name.to_owned(),
            from: nodes[0],
            to: nodes[SPECIAL_NAMES.len() - 1],
            source: Source::Constant { rate_pps: 10.0 },
            application: Application::Bulk,
            start_s: 0.01,
            stop_s: None,
            size_pkts: None,
            count: 1,
            max_window_pkts: None,
            packet_size_bytes: 100.0,
            path: None,
            return_path: None,
            flow: None,
            ecmp_share: None,
            transfers: None,
            acks: Acks::None,
        });
    }
    builder.build().unwrap()
}

#[test]
fn special_characters_in_names_are_preserved() {
    let harmless = "[simulation]\nduration = \"1 s\"\n[[link]]\nfrom = \"A\"\nto = \"B\"\n\
                    bandwidth = \"1 Mbit/s\"\n[[connection]]\nfrom = \"A\"\nto = \"B\"\n\
                    source = { constant = \"1 pkt/s\" }\n";
    let scenario = CompiledScenario {
        network: network(),
        ..compile_scenario(harmless)
    };
    let Some(run) = run(&scenario, &traced(), 1) else {
        return;
    };
    assert!(!is_written(run.place.path(), "pwned"));
    let quoted = |name: &str| {
        if name.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            name.to_owned()
        }
    };
    for pair in SPECIAL_NAMES.windows(2) {
        let link = quoted(&format!("{}->{}", pair[0], pair[1]));
        assert!(run.links.contains(&format!("\n1,{link},")), "{link}");
    }
    for name in SPECIAL_NAMES {
        // At 0.51, 0.61 … 0.91 s.
        let row = format!("\n1,{},5,5,0,0\n", quoted(name));
        assert!(run.connections.contains(&row), "{row}\n{}", run.connections);
    }
    let numbers = node_numbers(&run.trace);
    for (number, name) in SPECIAL_NAMES.iter().enumerate() {
        let escaped = name
            .replace('\\', "\\\\")
            .replace('\n', "\\n")
            .replace('\r', "\\r");
        assert_eq!(numbers[&number.to_string()], escaped);
    }
}
