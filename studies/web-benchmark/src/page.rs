//! Results page: measured and predicted values, and those of the papers.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use netflow_report::distribution_figure;
use netflow_tcpmodel::rto::ExactMoments;
use netflow_tcpmodel::short::{Exponent, Short};
use netflow_tcpmodel::{Stack, Transfer};
use netflow_testbed::Outcome;
use netflow_workload::{ResponseTimes, TimeSample};

use crate::cell::{BIT_ERROR_RATE, Cell, Impairment, ONEWAY_MS, Users, legacy, short, web};
use crate::checks::{self, Check};
use crate::predict::predict;
use crate::row::{Row, Rows};

/// Number of predictions of experiments with loss, each with other losses.
const TIMES: u64 = 20;
/// Number of predictions of \[Short\]'s transfers, which are few.
const FETCH_TIMES: u64 = 200;
/// Number of points of a curve.
const POINTS: usize = 400;

/// \[IPB\]'s mean file times in ms: loss-free, at each of [`ONEWAY_MS`].
const PAPER_MEAN_MS: [f64; 4] = [16.0, 53.0, 535.0, 928.0];
/// \[IPB\]'s ratio of file times with and without bit errors at 1 ms.
const PAPER_RATIO_AT_1_MS: f64 = 7.0;

/// Measurements and predictions.
pub struct Study {
    cells: Vec<Cell>,
    rows: Rows,
    predictions: Rows,
    service_s: f64,
}

impl Study {
    /// Reads the measurements, and predicts them.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub fn read(directory: &Path) -> Result<Study, Box<dyn Error>> {
        let rows = Rows::read(&directory.join("measured.csv"))?;
        let service = fs::read_to_string(directory.join("service.csv"))?;
        let service_s = service.lines().nth(1).unwrap_or_default().parse()?;
        let cells = [web(200, 5), legacy(100, 3), short(400)].concat();
        let predictions = predict_rows(&cells, &rows, service_s)?;
        Ok(Study {
            cells,
            rows,
            predictions,
            service_s,
        })
    }

    /// Returns the experiments with current TCP.
    fn web(&self) -> Vec<Cell> {
        let cells = self.cells.iter().copied();
        cells.filter(|cell| cell.stack == "linux-6").collect()
    }

    /// Returns the results of all criteria.
    pub fn checks(&self) -> Vec<Check> {
        let web = self.web();
        let mut checks = checks::measured(&web, &self.rows, 0.0);
        checks.extend(checks::predicted(&web, &self.rows, &self.predictions, 0.0));
        checks
    }
}

/// Predicts experiments from the median time of their handshakes.
///
/// # Errors
/// If that time is not valid for a path.
pub fn predict_rows(cells: &[Cell], rows: &Rows, service_s: f64) -> Result<Rows, Box<dyn Error>> {
    let mut predictions = Rows::default();
    for cell in cells {
        let Some(connect) = rows.of(cell, "connect") else {
            continue;
        };
        let waits = predict(cell, connect.median_s, service_s, times(cell))?;
        predictions.0.extend(Row::of(cell, &waits));
    }
    Ok(predictions)
}

fn times(cell: &Cell) -> u64 {
    match (cell.impairment, cell.what) {
        (Impairment::None, _) => 1,
        (_, Users::Web) => TIMES,
        (_, Users::Fetch(_)) => FETCH_TIMES,
    }
}

/// Draws the distributions of page times, measured and predicted.
///
/// # Errors
/// If a file cannot be written.
pub fn draw(
    directory: &Path,
    measured: &[(Cell, ResponseTimes)],
    service_s: f64,
) -> Result<(), Box<dyn Error>> {
    for (file, harmed) in [("loss-free.svg", false), ("lossy.svg", true)] {
        let mut curves = Vec::new();
        for (cell, waits) in measured {
            if (cell.impairment != Impairment::None) != harmed {
                continue;
            }
            let connect_s = TimeSample::new(waits.connect_s.clone()).quantile(0.5);
            let predicted = predict(cell, connect_s, service_s, times(cell))?;
            for (who, waits) in [("measured", waits), ("predicted", &predicted)] {
                let times = TimeSample::new(waits.page_s.clone());
                curves.push((format!("{} ms, {who}", cell.oneway_ms), times.cdf(POINTS)));
            }
        }
        fs::write(directory.join(file), distribution_figure(&curves)?)?;
    }
    Ok(())
}

fn ms(time_s: f64) -> String {
    let time_ms = 1e3 * time_s;
    match time_ms {
        _ if time_ms < 100.0 => format!("{time_ms:.2}"),
        _ if time_ms < 1000.0 => format!("{time_ms:.1}"),
        _ => format!("{time_ms:.0}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

/// Returns the page.
pub fn page(study: &Study) -> String {
    let mut text = include_str!("head.md").to_owned();
    text.push_str("\n## Current TCP\n\n");
    text.push_str(include_str!("today.md"));
    for harm in [Impairment::None, Impairment::Loss(0.01)] {
        text.push_str(&web_table(study, "linux-6", harm));
    }
    text.push_str("\n### Criteria\n\n");
    text.push_str(&check_table(&study.checks()));
    text.push_str("\n## TCP of 1998\n\n");
    text.push_str(include_str!("legacy.md"));
    text.push_str(&paper_table(study));
    for harm in [Impairment::None, Impairment::BitErrors(BIT_ERROR_RATE)] {
        text.push_str(&web_table(study, "legacy", harm));
    }
    text.push_str("\n## Short transfers\n\n");
    text.push_str(include_str!("short.md"));
    text.push_str(&short_table(study));
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\nServer and client needed {} ms for a file over loopback. This time is part of every prediction.\n",
        ms(study.service_s)
    );
    text
}

/// Returns the table of files and pages of a stack: measured, predicted and error.
fn web_table(study: &Study, stack: &str, harm: Impairment) -> String {
    let mut text = format!(
        "\n{}, {}, times in ms:\n\n\
         | one-way delay | of | count | mean | predicted | error | median | predicted | error | p95 | predicted | error | \
         p99 | predicted | error |\n|---|---|---|{}\n",
        stack,
        match harm {
            Impairment::None => "loss-free".to_owned(),
            harm => format!("{} in each direction", harm.name()),
        },
        "---|".repeat(12)
    );
    let cells = study.cells.iter();
    let cells = cells.filter(|cell| cell.stack == stack && cell.what == Users::Web);
    for cell in cells.filter(|cell| cell.impairment == harm) {
        for wait in ["file", "page"] {
            let (row, model) = (study.rows.of(cell, wait), study.predictions.of(cell, wait));
            let (Some(row), Some(model)) = (row, model) else {
                continue;
            };
            let _ = write!(text, "| {} ms | {wait} | {} |", cell.oneway_ms, row.count);
            let numbers: [fn(&Row) -> f64; 4] = [
                |row| row.mean_s,
                |row| row.median_s,
                |row| row.p95_s,
                |row| row.p99_s,
            ];
            for number in numbers {
                let (found_s, model_s) = (number(row), number(model));
                let off = percent(model_s / found_s - 1.0);
                let _ = write!(text, " {} | {} | {off} |", ms(found_s), ms(model_s));
            }
            text.push('\n');
        }
    }
    text
}

fn check_table(checks: &[Check]) -> String {
    let mut text = "| criterion | outcome | values |\n|---|---|---|\n".to_owned();
    for check in checks {
        let outcome = match check.outcome {
            Outcome::Passed => "passed",
            _ => "**failed**",
        };
        let _ = writeln!(text, "| {} | {outcome} | {} |", check.what, check.detail);
    }
    text
}

/// Returns the table of mean file times compared with the paper's.
fn paper_table(study: &Study) -> String {
    let mut text = "\n| one-way delay | \\[IPB\\]: mean of a file [ms] | legacy, measured | predicted | linux-6, measured | \
                    medians: legacy | linux-6 |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    let cell = |stack, oneway_ms, harm| {
        let mut cells = study.cells.iter();
        cells.find(|cell| {
            cell.stack == stack
                && cell.what == Users::Web
                && cell.oneway_ms == oneway_ms
                && cell.impairment == harm
        })
    };
    let file = |rows: &Rows, stack, oneway_ms, harm| {
        cell(stack, oneway_ms, harm).and_then(|cell| rows.of(cell, "file").cloned())
    };
    for (oneway_ms, paper_ms) in ONEWAY_MS.into_iter().zip(PAPER_MEAN_MS) {
        let (Some(old), Some(model), Some(new)) = (
            file(&study.rows, "legacy", oneway_ms, Impairment::None),
            file(&study.predictions, "legacy", oneway_ms, Impairment::None),
            file(&study.rows, "linux-6", oneway_ms, Impairment::None),
        ) else {
            continue;
        };
        let _ = writeln!(
            text,
            "| {oneway_ms} ms | {paper_ms} | {} | {} | {} | {} | {} |",
            ms(old.mean_s),
            ms(model.mean_s),
            ms(new.mean_s),
            ms(old.median_s),
            ms(new.median_s)
        );
    }
    let ratio = |rows: &Rows, oneway_ms| {
        let errors = file(
            rows,
            "legacy",
            oneway_ms,
            Impairment::BitErrors(BIT_ERROR_RATE),
        )?;
        Some(errors.mean_s / file(rows, "legacy", oneway_ms, Impairment::None)?.mean_s)
    };
    text.push_str("\n| one-way delay | mean with bit errors over mean without: \\[IPB\\] | legacy, measured | predicted |\n|---|---|---|---|\n");
    for oneway_ms in ONEWAY_MS {
        let (Some(found), Some(model)) = (
            ratio(&study.rows, oneway_ms),
            ratio(&study.predictions, oneway_ms),
        ) else {
            continue;
        };
        let paper = match oneway_ms {
            1 => format!("{PAPER_RATIO_AT_1_MS:.1}"),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "| {oneway_ms} ms | {paper} | {found:.2} | {model:.2} |"
        );
    }
    text
}

/// Returns the table of \[Short\]'s transfers compared with the models.
fn short_table(study: &Study) -> String {
    let mut text = "\n| packets | one-way delay | loss in each direction | transfers | mean, measured | ± | simulated | error | \\[Short\\] | error | median, measured | simulated |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for cell in &study.cells {
        let Users::Fetch(bytes) = cell.what else {
            continue;
        };
        let waits = |rows: &Rows| {
            Some((
                rows.of(cell, "connect")?.clone(),
                rows.of(cell, "file")?.clone(),
            ))
        };
        let (Some((connect, file)), Some((model_connect, model_file))) =
            (waits(&study.rows), waits(&study.predictions))
        else {
            continue;
        };
        let mean_s = connect.mean_s + file.mean_s;
        let model_s = model_connect.mean_s + model_file.mean_s;
        let short_s = short_model_s(cell, bytes).unwrap_or(f64::NAN);
        let loss = match cell.impairment {
            Impairment::Loss(loss) => loss,
            _ => 0.0,
        };
        let _ = writeln!(
            text,
            "| {} | {} ms | {:.0} % | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            bytes / 512,
            cell.oneway_ms,
            100.0 * loss,
            file.count,
            ms(mean_s),
            ms(connect.error_s.hypot(file.error_s)),
            ms(model_s),
            percent(model_s / mean_s - 1.0),
            ms(short_s),
            percent(short_s / mean_s - 1.0),
            ms(connect.median_s + file.median_s),
            ms(model_connect.median_s + model_file.median_s)
        );
    }
    text
}

/// Returns \[Short\]'s mean for a transfer of `bytes` over an experiment's path, in seconds.
fn short_model_s(cell: &Cell, bytes: u32) -> Option<f64> {
    let stack = Stack::builtin("linux-2.0.34")?;
    let transfer = Transfer {
        packets: u64::from(bytes / 512),
        loss: match cell.impairment {
            Impairment::Loss(loss) => loss,
            _ => 0.0,
        },
        delay_s: cell.oneway_s(),
    };
    let short = Short::new(&stack, &transfer, Exponent::Printed).ok()?;
    Some(short.latency(&ExactMoments).ok()?.mean_s)
}
