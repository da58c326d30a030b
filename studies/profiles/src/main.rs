//! Method of Popescu & Shankar (profiles, M/M/1/K queues) compared with ns-2 on several networks:
//!
//! ```sh
//! cargo run --release -p study-profiles              # writes studies/profiles/README.md
//! cargo run --release -p study-profiles -- --quick   # two networks, two seeds, to the standard output
//! ```

mod page;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use netflow::compare::{Comparison, Ensemble, NetflowRun, Ns2, ReferenceSystem, Runner, Settings};

/// Network of the study.
struct Network {
    name: &'static str,
    path: &'static str,
    seeds: u32,
}

const NETWORKS: [Network; 4] = [
    Network {
        name: "topology",
        path: "scenarios/topology.toml",
        seeds: 30,
    },
    Network {
        name: "four-transfers-unlimited",
        path: "scenarios/four-transfers-unlimited.toml",
        seeds: 30,
    },
    Network {
        name: "medium",
        path: "studies/profiles/medium.toml",
        seeds: 6,
    },
    Network {
        name: "hundred-nodes",
        path: "scenarios/hundred-nodes/topology.toml",
        seeds: 6,
    },
];

/// Maximum random send delay, which prevents phase effects, in seconds.
const OVERHEAD_S: f64 = 1e-3;

/// Results of one network.
pub struct NetworkComparison {
    name: &'static str,
    path: &'static str,
    plain: Comparison,
    jittered: Comparison,
    netflow_s: f64,
    ns_s: f64,
    ns_traced_s: f64,
}

fn main() -> ExitCode {
    match study() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn study() -> Result<(), Box<dyn Error>> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let ns = match Ns2::find() {
        Ok(ns) => ns,
        Err(error) if quick => {
            println!("SKIPPED: {error}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let networks = if quick { &NETWORKS[..2] } else { &NETWORKS[..] };
    let mut found = Vec::new();
    for network in networks {
        eprintln!("{}", network.path);
        found.push(compare(&ns, network, quick)?);
    }
    let page = page::page(&found);
    if quick {
        println!("{page}");
        return Ok(());
    }
    fs::write(root().join("studies/profiles/README.md"), page)?;
    Ok(())
}

fn compare(ns: &Ns2, network: &Network, quick: bool) -> Result<NetworkComparison, Box<dyn Error>> {
    let scenario = netflow::scenario::load(&root().join(network.path), &[])?;
    let plain = Settings {
        seeds: if quick { 2 } else { network.seeds },
        ..Settings::default()
    };
    let jittered = Settings {
        overhead_s: OVERHEAD_S,
        ..plain.clone()
    };
    let side = NetflowRun::evaluate(&scenario, &plain)?;
    // The first evaluation also loads profiles and warms caches; the fastest of three counts.
    let mut netflow_s = side.took_s.unwrap_or(f64::INFINITY);
    for _ in 0..2 {
        let again = NetflowRun::evaluate(&scenario, &plain)?;
        netflow_s = netflow_s.min(again.took_s.unwrap_or(f64::INFINITY));
    }
    let told = |done| eprintln!("  run {done} of {}", plain.seeds);
    let runs = ns.run_seeds(&scenario, &plain, &told, &|| false)?;
    let cpu: Vec<f64> = runs.iter().filter_map(|run| run.cost_s).collect();
    let ns_s = cpu.iter().copied().fold(f64::INFINITY, f64::min);
    let ns_traced_s = ns
        .time_with_trace(&scenario, &plain, &|| false)?
        .unwrap_or(f64::NAN);
    let with_jitter = ns.run_seeds(&scenario, &jittered, &told, &|| false)?;
    Ok(NetworkComparison {
        name: network.name,
        path: network.path,
        plain: Comparison::new(&side, &Ensemble::of(ReferenceSystem::Ns2, &runs)),
        jittered: Comparison::new(&side, &Ensemble::of(ReferenceSystem::Ns2, &with_jitter)),
        netflow_s,
        ns_s,
        ns_traced_s,
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
