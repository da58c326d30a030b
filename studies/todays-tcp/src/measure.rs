//! Measurement of experiments, as many in parallel as the machine can run on time.

use std::error::Error;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use netflow_testbed::Outcome;

use crate::cell::Cell;
use crate::row::{self, Row};

/// Packets per second of all links together that two processors handle on time.
pub const BUDGET_PPS: f64 = 26_000.0;

/// Maximum number of attempts of an inconclusive run.
const MAX_TRIES: u32 = 3;

/// Number of runs of each experiment.
pub const REPETITIONS: u32 = 3;

/// Measures the experiments that a file lacks, and appends each result immediately, so that an
/// interrupted measurement can continue. Reports experiments that could not be measured.
///
/// # Errors
/// If the file cannot be read.
pub fn measure(
    cells: &[Cell],
    repetitions: u32,
    budget_pps: f64,
    path: &Path,
) -> Result<Outcome, Box<dyn Error>> {
    let known = row::read(path)?;
    let is_known = |cell: &Cell, repetition: u32| {
        let mut of_cell = known.iter().filter(|row| row.cell == *cell);
        of_cell.any(|row| row.found.repetition == repetition)
    };
    let runs = (0..repetitions).flat_map(|repetition| cells.iter().map(move |it| (it, repetition)));
    let runs: Vec<(&Cell, u32)> = runs
        .filter(|(cell, repetition)| !is_known(cell, *repetition))
        .collect();
    let (room, file) = (CapacityLimiter::new(budget_pps), Mutex::new(()));
    let worst = thread::scope(|scope| {
        let running: Vec<_> = runs
            .iter()
            .map(|&(cell, repetition)| {
                let (room, file) = (&room, &file);
                let pass = room.acquire(cell.max_pps());
                scope.spawn(move || {
                    let row = measure_until_conclusive(cell, repetition);
                    drop(pass);
                    record_result(cell, repetition, row, path, file)
                })
            })
            .collect();
        let outcomes = running.into_iter().map(|thread| {
            let died = |_| Outcome::Failed("a measurement died".to_owned());
            thread.join().unwrap_or_else(died)
        });
        outcomes.fold(Outcome::Passed, worse)
    });
    row::write(path, cells, row::read(path)?)?;
    Ok(worst)
}

/// Returns the more severe outcome.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Passed => 0,
        Outcome::Inconclusive(_) => 1,
        Outcome::Skipped(_) => 2,
        Outcome::Failed(_) => 3,
    };
    if rank(&other) > rank(&one) {
        other
    } else {
        one
    }
}

fn record_result(
    cell: &Cell,
    repetition: u32,
    row: Result<Row, Outcome>,
    path: &Path,
    file: &Mutex<()>,
) -> Outcome {
    let named = format!(
        "{} at {} ms, {} pkt, {} Mbit/s, {repetition}",
        cell.name(),
        cell.rtt_ms,
        cell.buffer_pkts,
        cell.link_mbps
    );
    let outcome = match row {
        Ok(row) => {
            let _one_at_a_time = file.lock().unwrap_or_else(PoisonError::into_inner);
            match row::append(path, &row) {
                Ok(()) => Outcome::Passed,
                Err(error) => Outcome::Failed(error.to_string()),
            }
        }
        Err(outcome) => outcome,
    };
    eprintln!("{named}: {outcome}");
    outcome
}

fn measure_until_conclusive(cell: &Cell, repetition: u32) -> Result<Row, Outcome> {
    let mut tries = 1;
    loop {
        match measure_once(cell, repetition) {
            Err(Outcome::Inconclusive(_)) if tries < MAX_TRIES => tries += 1,
            other => return other,
        }
    }
}

#[cfg(target_os = "linux")]
fn measure_once(cell: &Cell, repetition: u32) -> Result<Row, Outcome> {
    crate::senders::run(cell, repetition)
}

#[cfg(not(target_os = "linux"))]
fn measure_once(_: &Cell, _: u32) -> Result<Row, Outcome> {
    Err(Outcome::Skipped(
        "network namespaces are Linux's".to_owned(),
    ))
}

/// Capacity of the machine in packets per second of all links (a weighted semaphore).
struct CapacityLimiter {
    budget_pps: f64,
    available_pps: Mutex<f64>,
    changed: Condvar,
}

/// Reserved part of the capacity.
struct Reservation<'a> {
    limiter: &'a CapacityLimiter,
    pps: f64,
}

impl CapacityLimiter {
    fn new(budget_pps: f64) -> CapacityLimiter {
        CapacityLimiter {
            budget_pps,
            available_pps: Mutex::new(budget_pps),
            changed: Condvar::new(),
        }
    }

    /// Blocks until the capacity is available.
    fn acquire(&self, pps: f64) -> Reservation<'_> {
        let pps = pps.min(self.budget_pps);
        // No code panics while it holds the lock.
        let mut left_pps = self
            .available_pps
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while *left_pps < pps {
            let woken = self.changed.wait(left_pps);
            left_pps = woken.unwrap_or_else(PoisonError::into_inner);
        }
        *left_pps -= pps;
        Reservation { limiter: self, pps }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let left_pps = self.limiter.available_pps.lock();
        *left_pps.unwrap_or_else(PoisonError::into_inner) += self.pps;
        self.limiter.changed.notify_all();
    }
}
