//! Traffic matrices estimated from link loads, compared with known matrices: Abilene, GÉANT and Germany50 of SNDlib. Loads
//! come from the steady-state solver.

use std::path::Path;

use netflow::import::scenario::{Defaults, Origin, write};
use netflow::import::{Demand, Reading, Topology, read};
use netflow::network::PathChoice;
use netflow::scenario::CompiledScenario;
use netflow::steady::{
    DemandEstimate, DemandOptions, FailureOptions, Fit, Measurements, SteadyOptions,
    estimate_demands, failures, solve,
};

/// Reads a network with its known demands.
fn known(name: &str) -> Topology {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/topologies");
    let path = Path::new(folder).join(name);
    read(&[&path], &Reading::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the scenario of a topology, with enough bandwidth for all demands.
fn scenario(topology: &Topology, ecmp: bool) -> CompiledScenario {
    let choices = Defaults {
        bandwidth_bps: topology.demands.iter().map(|it| it.rate_bps).sum(),
        ecmp: Some(ecmp),
        ..Defaults::default()
    };
    let origin = Origin {
        files: Vec::new(),
        command: String::new(),
        demands: None,
    };
    let text = write(topology, &choices, &origin).text;
    let compiled = netflow::scenario::from_str("known.toml", &text, "".as_ref(), &[]);
    compiled.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Loads by the known demands, and all totals of nodes.
fn measurements(scenario: &CompiledScenario) -> Measurements {
    let network = &scenario.network;
    let options = SteadyOptions {
        starts: 0,
        ..SteadyOptions::default()
    };
    let steady = solve(network, f64::INFINITY, &options).unwrap();
    let mut totals = vec![(0.0, 0.0); network.node_count()];
    for id in network.connections() {
        let spec = network.connection_spec(id);
        let bps = 8.0 * spec.packet_size_bytes * steady.connection(id).rate_pps;
        totals[spec.from.index()].0 += bps;
        totals[spec.to.index()].1 += bps;
    }
    let of = |pick: fn(&(f64, f64)) -> f64| network.nodes().zip(totals.iter().map(pick)).collect();
    Measurements {
        loads: network
            .links()
            .map(|link| (link, steady.link(link).load_bps))
            .collect(),
        entering: of(|it| it.0),
        leaving: of(|it| it.1),
    }
}

fn estimate(scenario: &CompiledScenario, measured: &Measurements) -> DemandEstimate {
    let options = DemandOptions {
        at_s: f64::INFINITY,
        choice: if scenario.ecmp {
            PathChoice::EqualShares
        } else {
            PathChoice::Preferred
        },
        packet_size_bytes: scenario.packet_size.get(),
    };
    let found = estimate_demands(&scenario.network, measured, &options, &|| false);
    found.unwrap().unwrap()
}

/// Returns the topology with the estimated demands.
fn with_estimate(
    topology: &Topology,
    scenario: &CompiledScenario,
    found: &DemandEstimate,
) -> Topology {
    let network = &scenario.network;
    let index = |name: &str| {
        topology
            .nodes
            .iter()
            .position(|it| it.name == name)
            .unwrap()
    };
    let demand = |it: &netflow::steady::EstimatedDemand| {
        let (from, to) = (network.node_name(it.from), network.node_name(it.to));
        Demand::new(index(from), index(to), it.rate_bps)
    };
    // A scenario has no rates below 1 bit/s.
    let demands = found.demands.iter().filter(|it| it.rate_bps >= 1.0);
    Topology {
        demands: demands.map(demand).collect(),
        ..topology.clone()
    }
}

/// Returns Σ |estimated − known| / Σ known over all demands.
fn volume_error(known: &Topology, estimated: &Topology) -> f64 {
    let nodes = known.nodes.len();
    let matrix = |topology: &Topology| {
        let mut matrix = vec![0.0; nodes * nodes];
        for it in &topology.demands {
            matrix[it.from * nodes + it.to] += it.rate_bps;
        }
        matrix
    };
    let (known, estimated) = (matrix(known), matrix(estimated));
    let errors = known.iter().zip(&estimated).map(|(a, b)| (a - b).abs());
    errors.sum::<f64>() / known.iter().sum::<f64>()
}

/// Returns for each link the highest load under any failure of a link; `None` if no failure raises it.
fn worst_loads(scenario: &CompiledScenario) -> Vec<Option<f64>> {
    let options = FailureOptions {
        links: true,
        nodes: false,
        groups: false,
        ..FailureOptions::default()
    };
    let found = failures(&scenario.network, f64::INFINITY, &options, &|| false);
    let links = found.unwrap().unwrap().links.into_iter();
    links.map(|it| it.worst_case.map(|_| it.load_bps)).collect()
}

/// Returns the median and the 90th percentile.
fn quantiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| values[(part * (values.len() - 1) as f64) as usize];
    (at(0.5), at(0.9))
}

/// Errors of one estimate.
struct Errors {
    /// Largest relative error of a load.
    loads: f64,
    volume: f64,
    /// Median and 90th percentile of the relative error of worst-case loads, for links on which failures raise the load to
    /// more than 5 % of the largest.
    worst_loads: (f64, f64),
}

fn errors(topology: &Topology, scenario: &CompiledScenario, measured: &Measurements) -> Errors {
    let found = estimate(scenario, measured);
    let estimated = with_estimate(topology, scenario, &found);
    let loads = found.links.iter().filter_map(Fit::error);
    let (before, after) = (
        worst_loads(scenario),
        worst_loads(&self::scenario(&estimated, scenario.ecmp)),
    );
    let largest = before.iter().flatten().copied().fold(0.0, f64::max);
    let pairs = before.iter().zip(&after).filter_map(|(a, b)| a.zip(*b));
    let pairs = pairs.filter(|(before, _)| *before > 0.05 * largest);
    Errors {
        loads: loads.fold(0.0, f64::max),
        volume: volume_error(topology, &estimated),
        worst_loads: quantiles(pairs.map(|(a, b)| (b / a - 1.0).abs()).collect()),
    }
}

/// Loads are reproduced. The errors of single demands are large, but those of loads after failures are small.
#[test]
fn known_matrices_are_estimated() {
    // Bounds of the volume error with and without totals, and of the 90th percentile of worst-case loads.
    let cases = [
        ("abilene.json", [0.36, 0.57], [0.025, 0.045]),
        ("geant.json", [0.49, 0.65], [0.08, 0.14]),
        ("germany50.json", [0.70, 0.89], [0.19, 0.37]),
    ];
    for (file, volume, worst) in cases {
        let topology = known(file);
        let scenario = scenario(&topology, false);
        let all = measurements(&scenario);
        let loads_only = Measurements {
            loads: all.loads.clone(),
            ..Measurements::default()
        };
        let known = [("with totals", &all), ("loads only", &loads_only)];
        for (i, (name, measured)) in known.into_iter().enumerate() {
            let found = errors(&topology, &scenario, measured);
            println!(
                "{file}, {name}: loads {:.1e}, volume {:.3}, worst-case loads: median {:.4}, 90th percentile {:.4}",
                found.loads, found.volume, found.worst_loads.0, found.worst_loads.1
            );
            assert!(found.loads < 1e-4, "{file}, {name}: {}", found.loads);
            assert!(found.volume < volume[i], "{file}, {name}: {}", found.volume);
            assert!(
                found.worst_loads.1 < worst[i],
                "{file}, {name}: {:?}",
                found.worst_loads
            );
        }
    }
}

/// Shares of equal-cost paths are those of the solver: otherwise the loads would contradict each other.
#[test]
fn loads_over_equal_paths_are_reproduced() {
    let mut topology = known("germany50.json");
    for link in &mut topology.links {
        link.metric = Some(1.0);
    }
    let scenario = scenario(&topology, true);
    assert!(!scenario.split.is_empty());
    let all = measurements(&scenario);
    let found = estimate(&scenario, &all);
    let largest = found
        .links
        .iter()
        .filter_map(Fit::error)
        .fold(0.0, f64::max);
    assert!(largest < 1e-4, "{largest}");
    // 60 links and most totals are missing.
    let partial = Measurements {
        loads: all.loads.iter().copied().skip(60).collect(),
        entering: all.entering.iter().copied().take(10).collect(),
        leaving: Vec::new(),
    };
    let found = estimate(&scenario, &partial);
    let largest = found
        .links
        .iter()
        .filter_map(Fit::error)
        .fold(0.0, f64::max);
    assert!(largest < 1e-4, "{largest}");
    assert_eq!(
        found
            .links
            .iter()
            .filter(|it| it.measured_bps.is_none())
            .count(),
        60
    );
}

/// Random errors of 5 % in all measurements increase the errors of demands only a little.
#[test]
fn errors_of_measurements_are_not_amplified() {
    let topology = known("geant.json");
    let scenario = scenario(&topology, false);
    let mut measured = measurements(&scenario);
    let exact = volume_error(
        &topology,
        &with_estimate(&topology, &scenario, &estimate(&scenario, &measured)),
    );
    let mut state = 1_u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        1.0 + 0.1 * ((state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5)
    };
    measured.loads.iter_mut().for_each(|it| it.1 *= noise());
    measured.entering.iter_mut().for_each(|it| it.1 *= noise());
    measured.leaving.iter_mut().for_each(|it| it.1 *= noise());
    let found = estimate(&scenario, &measured);
    let noisy = volume_error(&topology, &with_estimate(&topology, &scenario, &found));
    let largest = found
        .links
        .iter()
        .filter_map(Fit::error)
        .fold(0.0, f64::max);
    println!(
        "volume error {exact:.3}, with errors of 5 % {noisy:.3}, largest error of a load {largest:.3}"
    );
    assert!(noisy < exact + 0.05, "{noisy} {exact}");
    assert!(largest < 0.1, "{largest}");
}
