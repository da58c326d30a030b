//! Internet Protocol Benchmark over an emulated link, measured and predicted:
//!
//! ```sh
//! cargo run --release -p study-web-benchmark              # all of it, a quarter of an hour
//! cargo run --release -p study-web-benchmark -- --quick   # what must hold, two minutes
//! cargo run --release -p study-web-benchmark -- --page    # the page again, from measured.csv
//! ```

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use netflow_testbed::Outcome;
use netflow_workload::ResponseTimes;
use study_web_benchmark::cell::{Cell, legacy, short, web};
use study_web_benchmark::checks::{self, Check};
use study_web_benchmark::measure::{MeasureError, measure, service_s};
use study_web_benchmark::page::{self, Study};
use study_web_benchmark::row::{Row, Rows};

/// The Internet Protocol Benchmark over an emulated link, real and predicted
#[derive(Parser)]
struct Arguments {
    /// Measure a little, say what holds, write nothing; two minutes
    #[arg(long, conflicts_with = "page")]
    quick: bool,
    /// Measure nothing, write the page again
    #[arg(long)]
    page: bool,
    /// Where there are no namespaces or TUN devices, fail instead of skipping
    #[arg(long)]
    need: bool,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    if arguments.quick {
        let outcome = quick();
        let outcome = if arguments.need {
            outcome.skip_as_failure()
        } else {
            outcome
        };
        println!("web benchmark: {outcome}");
        return Ok(match outcome {
            Outcome::Failed(_) => ExitCode::FAILURE,
            _ => ExitCode::SUCCESS,
        });
    }
    if !arguments.page {
        match measure_all() {
            Ok(()) => {}
            Err(error) => return Err(format!("{error:?}").into()),
        }
    }
    let study = Study::read(&directory())?;
    for check in study.checks() {
        if !matches!(check.outcome, Outcome::Passed) {
            println!("{}: {}", check.what, check.outcome);
        }
    }
    fs::write(directory().join("README.md"), page::page(&study))?;
    Ok(ExitCode::SUCCESS)
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Number of users of a quick run.
const QUICK_USERS: u64 = 100;
/// Tolerance in standard errors of their means.
const MAX_STANDARD_ERRORS: f64 = 3.0;

fn quick() -> Outcome {
    let cells = web(QUICK_USERS, 1);
    let measured = service_s().and_then(|service_s| Ok((service_s, measure_cells(&cells)?.rows)));
    let (service_s, rows) = match measured {
        Ok(measured) => measured,
        Err(MeasureError::Unavailable(why)) => return Outcome::Skipped(why),
        Err(MeasureError::Inconclusive(why)) => return Outcome::Inconclusive(why),
        Err(MeasureError::Failed(why)) => return Outcome::Failed(why),
    };
    let predictions = match page::predict_rows(&cells, &rows, service_s) {
        Ok(predictions) => predictions,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let mut checks = checks::measured(&cells, &rows, MAX_STANDARD_ERRORS);
    checks.extend(checks::predicted(
        &cells,
        &rows,
        &predictions,
        MAX_STANDARD_ERRORS,
    ));
    print_checks(&checks)
}

fn print_checks(checks: &[Check]) -> Outcome {
    let mut failed = 0;
    for check in checks {
        match &check.outcome {
            Outcome::Passed => println!("{}: passed: {}", check.what, check.detail),
            other => {
                failed += 1;
                println!("{}: {other}", check.what);
            }
        }
    }
    match failed {
        0 => Outcome::Passed,
        _ => Outcome::Failed(format!("{failed} of {} checks", checks.len())),
    }
}

/// Results of experiments.
struct Measurement {
    rows: Rows,
    waits: Vec<(Cell, ResponseTimes)>,
}

/// Measures experiments, seed by seed.
fn measure_cells(cells: &[Cell]) -> Result<Measurement, MeasureError> {
    let mut all: Vec<(Cell, ResponseTimes)> = cells
        .iter()
        .map(|cell| (*cell, ResponseTimes::default()))
        .collect();
    let seeds = cells.iter().map(|cell| cell.seeds).max().unwrap_or(0);
    for seed in 1..=seeds {
        eprintln!("seed {seed} of {seeds}");
        for ((_, waits), measured) in all.iter_mut().zip(measure(cells, seed)) {
            waits.extend(measured?);
        }
    }
    let rows = all.iter().flat_map(|(cell, waits)| Row::of(cell, waits));
    Ok(Measurement {
        rows: Rows(rows.collect()),
        waits: all,
    })
}

/// Measures everything, and writes it next to the page.
fn measure_all() -> Result<(), MeasureError> {
    let failed = |error: Box<dyn Error>| MeasureError::Failed(error.to_string());
    let service_s = service_s()?;
    let service = format!("service_s\n{service_s:.6}\n");
    fs::write(directory().join("service.csv"), service).map_err(|error| failed(error.into()))?;
    let web = measure_cells(&web(200, 5))?;
    page::draw(&directory(), &web.waits, service_s).map_err(failed)?;
    let mut rows = web.rows;
    for cells in [legacy(100, 3), short(400)] {
        rows.0.extend(measure_cells(&cells)?.rows.0);
    }
    rows.write(&directory().join("measured.csv"))
        .map_err(failed)
}
