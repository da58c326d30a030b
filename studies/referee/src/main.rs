//! Fluid model, packet model, ns-2 and ns-3 compared with Linux on six networks:
//!
//! ```sh
//! cargo run --release -p study-referee             # writes its README.md; 25 minutes
//! cargo run --release -p study-referee -- --quick  # one network for 8 s, to the standard output
//! ```

mod errors;

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use errors::{Errors, MeanResults};
use netflow_compare::{Delay, Linux, NetflowRun, Ns2, Ns3, Run, Runner, Settings};
use netflow_problems::fill_page;
use netflow_scenario::export::Ns2Tcp;
use netflow_scenario::{CompiledScenario, load};

/// Network: name, scenario, congestion control of all transfers, and duration.
struct Network {
    name: &'static str,
    path: &'static str,
    congestion: &'static str,
    settings: &'static [&'static str],
}

const NETWORKS: [Network; 6] = [
    Network {
        name: "topology",
        path: "scenarios/topology.toml",
        congestion: "reno",
        settings: &["simulation.duration=40 s", "connection.c4.stop=35 s"],
    },
    Network {
        name: "four-transfers-unlimited",
        path: "scenarios/four-transfers-unlimited.toml",
        congestion: "cubic",
        settings: &["simulation.duration=40 s", "connection.c4.stop=35 s"],
    },
    Network {
        name: "home-gateway",
        path: "scenarios/home-gateway.toml",
        congestion: "cubic",
        settings: &["simulation.duration=40 s", "connection.upload.start=10 s"],
    },
    Network {
        name: "satellite",
        path: "scenarios/satellite.toml",
        congestion: "cubic",
        settings: &["simulation.duration=60 s"],
    },
    Network {
        name: "parking lot",
        path: "studies/referee/parking-lot.toml",
        congestion: "cubic",
        settings: &[],
    },
    Network {
        name: "backbone",
        path: "studies/referee/backbone.toml",
        congestion: "cubic",
        settings: &[],
    },
];

/// Compared systems, in the order of the page.
const SYSTEMS: [&str; 4] = ["fluid", "packets", "ns-2", "ns-3"];

#[derive(Parser)]
struct Arguments {
    /// One network and one run of each, and no page.
    #[arg(long)]
    quick: bool,
    /// Runs of everybody.
    #[arg(long, default_value = "6")]
    seeds: u32,
}

/// Results of a network.
struct NetworkResults {
    name: &'static str,
    congestion: &'static str,
    /// Errors of one Linux run relative to the mean of all; its duration; reasons why runs do not
    /// count.
    linux_spread: Errors,
    linux_s: f64,
    unreliable_reasons: Vec<String>,
    /// By [`SYSTEMS`]: errors and cost in seconds, or the reason why there are none.
    system_errors: Vec<Result<(Errors, f64), String>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    if let Err(error) = netflow_testbed::become_root() {
        println!("SKIPPED: {error}");
        return Ok(());
    }
    let seeds = if arguments.quick { 1 } else { arguments.seeds };
    let networks = if arguments.quick {
        &NETWORKS[4..5]
    } else {
        &NETWORKS[..]
    };
    let mut found = Vec::new();
    for network in networks {
        eprintln!("{}", network.name);
        match evaluate_network(network, seeds, arguments.quick) {
            Ok(it) => found.push(it),
            Err(error) if error.to_string().contains("not available here") => {
                println!("SKIPPED: {error}");
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    let table = page(&found);
    print!("{table}");
    if !arguments.quick {
        let path = root().join("studies/referee/README.md");
        let text = fs::read_to_string(&path)?;
        fs::write(path, fill_page(&text, "referee", &table)?)?;
    }
    Ok(())
}

fn evaluate_network(
    network: &Network,
    seeds: u32,
    quick: bool,
) -> Result<NetworkResults, Box<dyn Error>> {
    let fluid = scenario(network, "fluid", quick)?;
    let packets = scenario(network, "packets", quick)?;
    let settings = Settings {
        seeds,
        tcp: Some(match network.congestion {
            "reno" => Ns2Tcp::Sack,
            _ => Ns2Tcp::Cubic,
        }),
        ..Settings::default()
    };
    let one_at_a_time = Settings {
        jobs: 1,
        ..settings.clone()
    };
    let runs = Linux.run_seeds(&packets, &one_at_a_time, &|_| {}, &|| false)?;
    let truth = MeanResults::of(&runs);
    let each: Vec<Errors> = runs
        .iter()
        .map(|run| Errors::of(&MeanResults::of(std::slice::from_ref(run)), &truth))
        .collect();
    let beside = |said: Result<Vec<Run>, netflow_compare::Error>| {
        let said = MeanResults::of(&said.map_err(|error| error.to_string())?);
        Ok((Errors::of(&said, &truth), said.cost_s))
    };
    let run = |runner: Result<&dyn Runner, netflow_compare::Error>, scenario: &CompiledScenario| {
        runner?.run_seeds(scenario, &settings, &|_| {}, &|| false)
    };
    let ns2 = Ns2::find();
    let ns3 = Ns3::find();
    Ok(NetworkResults {
        name: network.name,
        congestion: network.congestion,
        linux_spread: worst(&each),
        linux_s: truth.cost_s,
        unreliable_reasons: runs.iter().filter_map(|run| run.doubt.clone()).collect(),
        system_errors: vec![
            beside(run_netflow(&fluid, &settings)),
            beside(run_netflow(&packets, &settings)),
            beside(match ns2 {
                Ok(ns2) => run(Ok(&ns2), &fluid),
                Err(error) => Err(error),
            }),
            beside(match ns3 {
                Ok(ns3) => run(Ok(&ns3), &packets),
                Err(error) => Err(error),
            }),
        ],
    })
}

/// Returns the network with the sources of an engine: profiles for the fluid model and ns-2 (which
/// takes its TCP from `--tcp`), Linux's stack for the packet model.
fn scenario(
    network: &Network,
    engine: &str,
    quick: bool,
) -> Result<CompiledScenario, Box<dyn Error>> {
    let path = root().join(network.path);
    let mut settings: Vec<String> = network.settings.iter().map(|&it| it.to_owned()).collect();
    settings.push(format!("simulation.model={engine}"));
    settings.push("simulation.acks=true".to_owned());
    if quick {
        settings.push("simulation.duration=8 s".to_owned());
    }
    let plain = load(
        &path,
        &network
            .settings
            .iter()
            .map(|&it| it.to_owned())
            .collect::<Vec<_>>(),
    )
    .map_err(|problems| problems.to_string())?;
    for id in plain.network.connections() {
        let spec = plain.network.connection_spec(id);
        if spec.source.is_answered() {
            let congestion = network.congestion;
            let source = match engine {
                "fluid" => format!("{{ profile = \"linux-{congestion}\" }}"),
                _ => format!("{{ tcp = \"linux-6\", congestion = \"{congestion}\" }}"),
            };
            settings.push(format!("connection.{}.source={source}", spec.name));
        }
    }
    Ok(load(&path, &settings).map_err(|problems| problems.to_string())?)
}

fn run_netflow(
    scenario: &CompiledScenario,
    settings: &Settings,
) -> Result<Vec<Run>, netflow_compare::Error> {
    let side = NetflowRun::evaluate(scenario, settings)?;
    let mut run = side.run;
    for connection in &side.summary.connections {
        if let (Some(p50_s), Some(p95_s)) = (connection.delay_p50_s, connection.delay_p95_s) {
            let delay = Delay { p50_s, p95_s };
            run.delays.push((connection.connection.clone(), delay));
        }
    }
    run.cost_s = side.took_s;
    Ok(vec![run])
}

/// Returns the maximum of each error.
fn worst(all: &[Errors]) -> Errors {
    let most = |of: &dyn Fn(&Errors) -> f64| all.iter().map(of).fold(0.0, f64::max);
    Errors {
        queues: most(&|it| it.queues),
        goodput: most(&|it| it.goodput),
        lost: Some(1.0 + most(&|it| (it.lost.unwrap_or(1.0) - 1.0).abs())),
        delay: Some(most(&|it| it.delay.unwrap_or(0.0))),
    }
}

fn page(found: &[NetworkResults]) -> String {
    let mut text =
        "| network | TCP | system | queues | goodput | lost | delay p95 | time per run |\n\
                    |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let percent = |value: f64| format!("{:.1} %", 100.0 * value);
    let known = |value: Option<f64>| value.map_or("–".to_owned(), percent);
    let seconds = |value: f64| match value {
        value if value < 1.0 => format!("{:.0} ms", 1e3 * value),
        value => format!("{value:.1} s"),
    };
    for it in found {
        for (sayer, said) in SYSTEMS.iter().zip(&it.system_errors) {
            // Writing to a string cannot fail.
            let _ = match said {
                Ok((errors, cost_s)) => writeln!(
                    text,
                    "| {} | {} | {sayer} | {} | {} | {} | {} | {} |",
                    it.name,
                    it.congestion,
                    percent(errors.queues),
                    percent(errors.goodput),
                    errors
                        .lost
                        .map_or("–".to_owned(), |lost| format!("{lost:.2}")),
                    known(errors.delay),
                    seconds(*cost_s)
                ),
                Err(why) => writeln!(
                    text,
                    "| {} | {} | {sayer}: {why} | | | | | |",
                    it.name, it.congestion
                ),
            };
        }
        let _ = writeln!(
            text,
            "| {} | {} | one run of Linux, at most | {} | {} | {} | {} | {} |",
            it.name,
            it.congestion,
            percent(it.linux_spread.queues),
            percent(it.linux_spread.goodput),
            it.linux_spread
                .lost
                .map_or("–".to_owned(), |lost| format!("1 ± {:.2}", lost - 1.0)),
            known(it.linux_spread.delay),
            seconds(it.linux_s)
        );
        for doubt in &it.unreliable_reasons {
            let _ = writeln!(
                text,
                "| {} | {} | inconclusive: {doubt} | | | | | |",
                it.name, it.congestion
            );
        }
    }
    text
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
