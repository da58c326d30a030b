//! Scenarios in `scenarios/`, which must be free of problems and as described.

use std::path::Path;

use netflow_problems::shipped_scenarios;
use netflow_scenario::{CompiledScenario, load};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

fn good(path: &Path) -> CompiledScenario {
    load(path, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn shipped_scenarios_are_valid() {
    let found = shipped_scenarios();
    assert!(found.len() >= 8, "{found:?}");
    for path in found {
        let prepared = good(&path);
        assert!(prepared.warnings.is_empty(), "{}", prepared.warnings[0]);
    }
}

#[test]
fn hundred_node_scenario_is_complete() {
    let prepared = good(&Path::new(FOLDER).join("hundred-nodes/topology.toml"));
    let network = &prepared.network;
    assert_eq!(
        (
            network.node_count(),
            network.link_count(),
            network.connection_count()
        ),
        (100, 240, 180)
    );
    let first = network
        .connection_by_name("c1")
        .expect("the first connection");
    let names = |links: Vec<_>| {
        links
            .into_iter()
            .map(|link| network.link_name(link).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(network.path(first)),
        ["H67->R16", "R16->R19", "R19->R14", "R14->R27", "R27->H41"]
    );
    assert_eq!(
        names(network.return_path(first)),
        ["H41->R27", "R27->R25", "R25->R13", "R13->R16", "R16->H67"]
    );
}

#[test]
fn red_scenario_can_be_set_to_drop_tail() {
    let option = "link.R->S.queue=drop-tail".to_owned();
    let prepared = load(&Path::new(FOLDER).join("red.toml"), &[option]).expect("a scenario");
    let network = &prepared.network;
    let link = network.link_by_name("R->S").expect("the bottleneck");
    assert_eq!(
        network.link_spec(link).queue,
        netflow_simulation::DropPolicy::DropTail
    );
}
