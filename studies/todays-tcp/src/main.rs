//! Current congestion controls, measured and modelled:
//!
//! ```sh
//! cargo run --release -p study-todays-tcp               # models every cell again and writes the page, minutes
//! cargo run --release -p study-todays-tcp -- --measure  # measures first what measured.csv lacks, hours if all
//! cargo run --release -p study-todays-tcp -- --quick    # measures one cell for six seconds, writes nothing
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use clap::Parser;
use netflow_testbed::Outcome;
use study_todays_tcp::cell::{Cell, cells};
use study_todays_tcp::measure::{BUDGET_PPS, REPETITIONS, measure};
use study_todays_tcp::model::model;
use study_todays_tcp::page::{Study, page};
use study_todays_tcp::row;

/// Reno, CUBIC and BBR of a real Linux over an emulated link, and netflow's
#[derive(Parser)]
struct Arguments {
    /// Measure what measured.csv lacks before anything else
    #[arg(long, conflicts_with = "quick")]
    measure: bool,
    /// So many repetitions of each cell, with --measure
    #[arg(long, value_name = "N", default_value_t = REPETITIONS)]
    repetitions: u32,
    /// Packets per second of all links together that this machine carries, with --measure
    #[arg(long, value_name = "N", default_value_t = BUDGET_PPS)]
    budget: f64,
    /// Measure one cell for six seconds, say what came of it, write nothing
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    match study(&Arguments::parse()) {
        Ok(Outcome::Failed(_)) => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn study(arguments: &Arguments) -> Result<Outcome, Box<dyn Error>> {
    #[cfg(target_os = "linux")]
    if arguments.measure || arguments.quick {
        netflow_testbed::become_root()?;
    }
    if arguments.quick {
        return quick();
    }
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (cells, measured) = (cells(), directory.join("measured.csv"));
    if arguments.measure {
        let outcome = measure(&cells, arguments.repetitions, arguments.budget, &measured)?;
        println!("measured: {outcome}");
    }
    let modelled = model(&cells).map_err(|error| error.to_string())?;
    row::write(&directory.join("modelled.csv"), &cells, modelled)?;
    let study = Study::read(&directory)?;
    fs::write(directory.join("README.md"), page(&study))?;
    Ok(Outcome::Passed)
}

fn quick() -> Result<Outcome, Box<dyn Error>> {
    let cell = Cell {
        seconds: 6,
        ..cells().swap_remove(0)
    };
    let path = env::temp_dir().join(format!("todays-tcp-{}.csv", std::process::id()));
    let outcome = measure(std::slice::from_ref(&cell), 1, BUDGET_PPS, &path)?;
    for row in row::read(&path)? {
        println!("{row:?}");
    }
    // The file exists only if something was measured.
    let _ = fs::remove_file(&path);
    println!("today's TCP: {outcome}");
    Ok(outcome)
}
