//! Managed queues with current TCP, in netflow's packet model, ns-3 and Linux:
//!
//! ```sh
//! cargo run --release -p study-managed-queues                    # runs what ns3.csv lacks, all of netflow again, writes the page
//! cargo run --release -p study-managed-queues -- --linux         # before: runs what linux.csv lacks, and nothing else
//! cargo run --release -p study-managed-queues -- --set test      # one set, to the standard output
//! ```

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use netflow_compare::{Ns3, Runner};
use netflow_scenario::CompiledScenario;
use rayon::prelude::*;
use study_managed_queues::ablation;
use study_managed_queues::cell::{Cell, Set, cells};
use study_managed_queues::page::{both, page, summary, table};
use study_managed_queues::row::{self, ABLATIONS, LINUX, NETFLOW, NS3, Row, System};
use study_managed_queues::run::{SEEDS, netflow, run_reference, settings};
use study_managed_queues::verdict::Measure;

/// Number of runs of Linux, and of modified ns-3.
const FEW: u32 = 3;

/// Managed queues among today's TCP: netflow's packets beside ns-3 and Linux
#[derive(Parser)]
struct Arguments {
    /// Only this set, and no page
    #[arg(long)]
    set: Option<Set>,
    /// Write the scenarios to this directory instead of running them
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Run what of the grid linux.csv lacks and this kernel has with Linux, and nothing else
    #[arg(long, conflicts_with_all = ["set", "write"])]
    linux: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sets = arguments.set.map_or(Set::ALL.to_vec(), |set| vec![set]);
    let of_sets: Vec<Cell> = sets.iter().flat_map(|&set| cells(set)).collect();
    if let Some(directory) = arguments.write {
        fs::create_dir_all(&directory)?;
        for cell in &of_sets {
            let name = cell.name().replace(' ', "-");
            fs::write(directory.join(format!("{name}.toml")), cell.text(&[]))?;
        }
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    if arguments.linux {
        return with_linux(&directory.join(LINUX));
    }
    let mut rows = with_ns3(&of_sets, SEEDS, &directory.join(NS3), &|program| program)?;
    rows.retain(|row| of_sets.iter().any(|cell| cell.name() == row.cell));
    let modelled = model(&of_sets)?;
    rows.extend(modelled.iter().cloned());
    for set in sets {
        let all = both(&rows, set);
        print!(
            "{}\n{}\n",
            table(&all, &Measure::ALL),
            summary(&all, &Measure::ALL)
        );
    }
    if arguments.set.is_none() {
        let mut changed = of_sets;
        changed.retain(ablation::applies);
        let place = directory.join(ABLATIONS);
        with_ns3(&changed, FEW, &place, &ablation::change)?;
        row::write(&directory.join(NETFLOW), &modelled)?;
        fs::write(directory.join("README.md"), page(directory)?)?;
    }
    Ok(())
}

/// Runs every experiment in netflow.
fn model(cells: &[Cell]) -> Result<Vec<Row>, Box<dyn Error>> {
    let runs: Vec<(&Cell, u32)> = cells
        .iter()
        .flat_map(|cell| (0..SEEDS).map(move |seed| (cell, seed)))
        .collect();
    let rows: Result<Vec<Row>, _> = runs
        .into_par_iter()
        .map(|(cell, seed)| netflow(cell, seed))
        .collect();
    rows.map_err(|error| error as Box<dyn Error>)
}

/// Runs the experiments that the file lacks in ns-3, and appends each result immediately.
fn with_ns3(
    cells: &[Cell],
    seeds: u32,
    path: &Path,
    change: &dyn Fn(String) -> String,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = row::read(path)?;
    let missing = missing(cells, seeds, System::Ns3, &rows)?;
    if !missing.is_empty() {
        let simulator = Ns3::find()?;
        let all: Vec<&CompiledScenario> = missing.iter().map(|(_, scenario)| scenario).collect();
        eprintln!("compiling {} networks", all.len());
        simulator.compile(&all, &settings(), change, &|| false)?;
        measure(&simulator, System::Ns3, &missing, seeds, &mut rows, path)?;
    }
    Ok(rows)
}

/// Runs the experiments of the grid that the file lacks in Linux, if the kernel has their
/// congestion control.
#[cfg(target_os = "linux")]
fn with_linux(path: &Path) -> Result<(), Box<dyn Error>> {
    const KNOWN: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let known = fs::read_to_string(KNOWN)?;
    netflow_testbed::become_root()?;
    let mut own = cells(Set::Grid);
    own.retain(|cell| known.split_whitespace().any(|name| name == cell.stack));
    let mut rows = row::read(path)?;
    let missing = missing(&own, FEW, System::Linux, &rows)?;
    let linux = netflow_compare::Linux;
    measure(&linux, System::Linux, &missing, FEW, &mut rows, path)
}

/// Returns the experiments with missing runs, and their scenarios.
fn missing(
    cells: &[Cell],
    seeds: u32,
    who: System,
    rows: &[Row],
) -> Result<Vec<(Cell, CompiledScenario)>, String> {
    let is_known = |cell: &Cell, seed| rows.iter().any(|row| row.is(cell, who, seed));
    cells
        .iter()
        .filter(|cell| (0..seeds).any(|seed| !is_known(cell, seed)))
        .map(|cell| Ok((cell.clone(), cell.prepared(&[])?)))
        .collect()
}

/// Runs the missing experiments.
fn measure(
    runner: &dyn Runner,
    who: System,
    cells: &[(Cell, CompiledScenario)],
    seeds: u32,
    rows: &mut Vec<Row>,
    path: &Path,
) -> Result<(), Box<dyn Error>> {
    for (i, (cell, scenario)) in cells.iter().enumerate() {
        eprintln!("{} of {}: {}", i + 1, cells.len(), cell.description());
        for seed in 0..seeds {
            if !rows.iter().any(|row| row.is(cell, who, seed)) {
                let run = run_reference(runner, who, cell, scenario, seed);
                rows.extend(run.map_err(|error| error as Box<dyn Error>)?);
                row::write(path, rows)?;
            }
        }
    }
    Ok(())
}
