//! TCP Prague and CUBIC in one link, compared with published measurements of Linux:
//!
//! ```sh
//! cargo run --release -p study-l4s   # writes README.md
//! ```

mod rate_step;
mod shares;

use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::path::Path;

use netflow::scenario;
use netflow::simulation::{Interval, Recorder, Simulation};
use netflow_problems::fill_page;
use rayon::prelude::*;

use crate::shares::{Published, tables};

/// Number of runs of each case.
const SEEDS: u32 = 3;

struct NoRecorder;

impl Recorder for NoRecorder {
    type Error = Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Returns the source of a connection with this TCP of the measurements.
fn source(tcp: &str) -> String {
    let (congestion, ecn) = match tcp {
        "prague" => return "{ tcp = \"prague-2020.toml\" }".to_owned(),
        "cubic-ecn" => ("cubic", true),
        "reno-ecn" => ("reno", true),
        other => (other.trim_end_matches("-noecn"), false),
    };
    format!("{{ tcp = \"linux-6\", congestion = \"{congestion}\", ecn = {ecn} }}")
}

/// Returns the simulation of a scenario.
fn simulation(text: &str) -> Result<Simulation, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prepared = scenario::from_str("l4s.toml", text, directory, &[])
        .map_err(|problems| format!("{text}\n{problems}"))?;
    Simulation::new(prepared.network, prepared.options).map_err(|e| e.to_string())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = directory.join("README.md");
    let mut filled = fs::read_to_string(&page)?;
    for (name, published) in [
        ("l4s", Published::RttFairness),
        ("rfc3168", Published::Rfc3168Aqms),
    ] {
        let cases = published.cases(directory)?;
        let runs: Result<Vec<Vec<f64>>, String> = (cases.par_iter())
            .map(|case| (1..=SEEDS).map(|seed| case.run(published, seed)).collect())
            .collect();
        let table = tables(&cases, &runs?);
        print!("{table}");
        filled = fill_page(&filled, name, &table)?;
    }
    let table = rate_step::table()?;
    print!("{table}");
    filled = fill_page(&filled, "rate-step", &table)?;
    fs::write(page, filled)?;
    Ok(())
}
