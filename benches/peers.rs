//! Accuracy and cost of other simulators on `scenarios/hundred-nodes`: `cargo bench --bench peers
//! [-- --quick]`.
//!
//! Compares the goodputs of its 180 TCP transfers with ns-2, and the user CPU time: netflow with
//! packets and with profiles, SimGrid (default network model, LV08), ns-3, and ns-2 with another
//! seed, which shows the random variation. Requires `cargo build --release`, `ns`, and for SimGrid
//! and ns-3 a C++ compiler and their headers; missing programs are skipped with a message.
//! `--quick` skips ns-2 (and so the errors) and ns-3.

#[path = "common/processes.rs"]
mod processes;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netflow::prelude::*;
use processes::{program, user_s};

/// Delivered packets by connection.
type Delivered = BTreeMap<String, f64>;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes --bench; without it, this is the smoke test of `cargo test --benches`.
    let quick = args.iter().any(|a| a == "--quick") || !args.iter().any(|a| a == "--bench");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(netflow) = program(root) else { return };
    let place = tempfile::tempdir().expect("a place for results");
    let peers = Peers {
        netflow,
        scenario: root.join("scenarios/hundred-nodes/topology.toml"),
        place: place.path().to_owned(),
    };
    println!(
        "scenarios/hundred-nodes, 100 s: user CPU, and each connection's goodput beside ns-2's"
    );
    let reference = if quick {
        println!("  ns 2: left out (--quick)");
        None
    } else {
        peers.ns2(1)
    };
    if let Some((cost_s, delivered)) = &reference {
        print_row("ns 2", *cost_s, delivered, None);
    }
    let delivered = reference.as_ref().map(|(_, delivered)| delivered);
    let each: [(&str, Option<(f64, Delivered)>); 5] = [
        ("netflow, packets", peers.netflow(true)),
        ("netflow, profiles", peers.netflow(false)),
        ("SimGrid, LV08", peers.simgrid(root)),
        ("ns 3", if quick { None } else { peers.ns3() }),
        (
            "ns 2, another seed",
            if quick { None } else { peers.ns2(2) },
        ),
    ];
    for (name, run) in each {
        if let Some((cost_s, its)) = run {
            print_row(name, cost_s, &its, delivered);
        }
    }
}

/// Prints one row: the cost, and the error of goodputs.
fn print_row(name: &str, cost_s: f64, delivered: &Delivered, reference: Option<&Delivered>) {
    print!("  {name:<20} {:>9.1} ms", 1e3 * cost_s);
    if let Some(reference) = reference {
        let error = |(name, pkts): (&String, &f64)| {
            let is = delivered.get(name).copied().unwrap_or(0.0);
            (*pkts > 0.0).then(|| (is / pkts - 1.0).abs())
        };
        let mut errors: Vec<f64> = reference.iter().filter_map(error).collect();
        errors.sort_by(f64::total_cmp);
        let at = |part: f64| 100.0 * errors[(part * (errors.len() - 1) as f64) as usize];
        let total = |all: &Delivered| all.values().sum::<f64>();
        print!(
            "   off by {:.1} % (median), {:.0} % (90th percentile); in total {:+.1} %",
            at(0.5),
            at(0.9),
            100.0 * (total(delivered) / total(reference) - 1.0)
        );
    }
    println!();
}

struct Peers {
    netflow: PathBuf,
    scenario: PathBuf,
    place: PathBuf,
}

const WINDOWS: [&str; 2] = ["--set", "include.connections=windows.csv"];

impl Peers {
    fn netflow(&self, packets: bool) -> Option<(f64, Delivered)> {
        let results = self.place.join("results");
        let cost_s = user_s(3, || {
            let mut c = Command::new(&self.netflow);
            c.arg("run").arg(&self.scenario);
            if packets {
                c.args(WINDOWS).args(["--set", "simulation.model=packet"]);
            }
            c.args(["--quiet", "--threads", "1", "-o"]).arg(&results);
            c
        })?;
        let text = std::fs::read_to_string(results.join("summary.json")).ok()?;
        let summary: serde_json::Value = serde_json::from_str(&text).ok()?;
        let each = summary["connections"].as_array()?.iter();
        let delivered = each.filter_map(|it| {
            let pkts = it["delivered_pkts"].as_f64()?;
            Some((it["connection"].as_str()?.to_owned(), pkts))
        });
        Some((cost_s, delivered.collect()))
    }

    fn ns2(&self, seed: u32) -> Option<(f64, Delivered)> {
        let script = self.exported("ns2", "script.tcl")?;
        let cost_s = user_s(1, || {
            let mut c = Command::new("ns");
            c.arg(&script).arg(seed.to_string()).arg(&self.place);
            c
        });
        let Some(cost_s) = cost_s else {
            println!("  ns 2: SKIPPED, `ns` is not installed (apt-get install ns2)");
            return None;
        };
        Some((cost_s, self.delivered("ns-connections.csv")?))
    }

    fn ns3(&self) -> Option<(f64, Delivered)> {
        let source = self.exported("ns3", "scenario.cc")?;
        // The file contains its compiler command.
        let text = std::fs::read_to_string(&source).ok()?;
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("//   "));
        let compile = lines.find(|line| line.starts_with("g++"))?;
        self.compile(
            "ns 3",
            "libns3-dev",
            &compile.replace("FILE", "scenario.cc"),
        )?;
        let cost_s = user_s(1, || {
            let mut c = Command::new(self.place.join("scenario"));
            c.arg("1").arg(&self.place);
            c
        });
        if cost_s.is_none() {
            println!("  ns 3: FAILED");
        }
        Some((cost_s?, self.delivered("ns3-connections.csv")?))
    }

    /// Exports the scenario with congestion windows for another program.
    fn exported(&self, to: &str, name: &str) -> Option<PathBuf> {
        let file = self.place.join(name);
        let mut export = Command::new(&self.netflow);
        export.arg("export").arg(&self.scenario).args(WINDOWS);
        export.args(["--to", to, "-o"]).arg(&file);
        export.output().ok()?.status.success().then_some(file)
    }

    /// Runs a compiler in the directory of results; on failure, prints the package to install.
    fn compile(&self, name: &str, package: &str, command: &str) -> Option<()> {
        let compiled = Command::new("sh")
            .args(["-c", command])
            .current_dir(&self.place)
            .stderr(Stdio::null())
            .status();
        let is_compiled = compiled.is_ok_and(|status| status.success());
        if !is_compiled {
            println!(
                "  {name}: SKIPPED, g++ or its headers are not installed (apt-get install g++ {package})"
            );
        }
        is_compiled.then_some(())
    }

    /// Returns the delivered packets in a simulator's table.
    fn delivered(&self, table: &str) -> Option<Delivered> {
        let mut table = csv::Reader::from_path(self.place.join(table)).ok()?;
        let mut delivered = Delivered::new();
        for row in table.records().flatten() {
            *delivered.entry(row[1].to_owned()).or_default() += row[3].parse::<f64>().ok()?;
        }
        Some(delivered)
    }

    fn simgrid(&self, root: &Path) -> Option<(f64, Delivered)> {
        let binary = self.place.join("simgrid");
        let source = root.join("benches/simgrid/main.cpp");
        let compile = format!(
            "g++ -O2 -std=c++17 -o simgrid '{}' -lsimgrid",
            source.display()
        );
        self.compile("SimGrid", "libsimgrid-dev", &compile)?;
        let sets = [WINDOWS[1].to_owned()];
        let scenario = netflow::scenario::load(&self.scenario, &sets).expect("the scenario");
        let input = self.place.join("simgrid.txt");
        let (text, packet_bytes) = told(&scenario.network, scenario.options.duration_s);
        std::fs::write(&input, text).expect("a file");
        let run = || {
            let mut c = Command::new(&binary);
            c.stdin(std::fs::File::open(&input).expect("that file"));
            c
        };
        let cost_s = user_s(3, run)?;
        let output = String::from_utf8(run().output().ok()?.stdout).ok()?;
        let each = output.lines().filter_map(|line| {
            let (name, bytes) = line.split_once(' ')?;
            Some((name.to_owned(), bytes.parse::<f64>().ok()? / packet_bytes))
        });
        Some((cost_s, each.collect()))
    }
}

/// Returns the network in the format of `benches/simgrid/main.cpp`, and the packet size in bytes.
fn told(network: &Network, duration_s: f64) -> (String, f64) {
    let mut text = String::new();
    for id in network.links() {
        let link = network.link_spec(id);
        let rate = link.bandwidth_bps / 8.0;
        writeln!(text, "link {} {rate} {}", id.index(), link.delay_s).expect("memory");
    }
    let mut packet_bytes = 0.0;
    for id in network.connections() {
        let spec = network.connection_spec(id);
        packet_bytes = spec.packet_size_bytes;
        let window = spec.max_window_pkts.unwrap_or(1e4) * packet_bytes;
        let way = |links: &[LinkId]| {
            let each: Vec<String> = links.iter().map(|l| l.index().to_string()).collect();
            each.join(",")
        };
        let (there, back) = (way(&network.path(id)), way(&network.return_path(id)));
        let stop_s = spec.stop_s.unwrap_or(duration_s).min(duration_s);
        let name = &spec.name;
        writeln!(
            text,
            "flow {name} {} {stop_s} {window} {there} {back}",
            spec.start_s
        )
        .expect("memory");
    }
    (text, packet_bytes)
}
