//! Fit by the paper's method, \[Prof\] §2.1–2.3.

use std::collections::BTreeMap;

use super::slice::{Slice, SlicePoint, power_law, slice};
use super::{CellOrigin, FitCell, FitError, FlowSamples, ProfileLabel};
use crate::PowerLaw;

/// Cell sizes of the paper: loss, and round-trip time in seconds.
const CELL_LOSS: f64 = 0.01;
const CELL_RTT_S: f64 = 0.01;

/// Sums over a cell.
#[derive(Default)]
struct CellSums {
    samples: usize,
    loss: f64,
    rtt_s: f64,
    throughput_pps: f64,
    squares: f64,
}

pub(super) struct PaperFit {
    pub(super) cells: Vec<FitCell>,
    pub(super) slices: Vec<Slice>,
    pub(super) power_law: PowerLaw,
}

/// Fits unweighted lines to the loss slices of arithmetic means over cells of 0.01 × 10 ms of all
/// samples.
pub(super) fn fit(flows: &[FlowSamples], names: &ProfileLabel<'_>) -> Result<PaperFit, FitError> {
    let mut sums: BTreeMap<(i64, i64), CellSums> = BTreeMap::new();
    for sample in flows.iter().flat_map(|flow| &flow.samples) {
        let rate = sample.throughput_pps();
        if !rate.is_finite() || sample.rtt_s <= 0.0 {
            continue; // all packets of the burst left at once
        }
        // With k = 100 every loss is the middle of a cell.
        let loss_cell = (sample.resent_fraction() / CELL_LOSS).round() as i64;
        let rtt_cell = (sample.rtt_s / CELL_RTT_S).floor() as i64;
        let cell = sums.entry((loss_cell, rtt_cell)).or_default();
        cell.samples += 1;
        cell.loss += sample.resent_fraction();
        cell.rtt_s += sample.rtt_s;
        cell.throughput_pps += rate;
        cell.squares += rate * rate;
    }
    let mut cells = Vec::new();
    let mut by_loss: BTreeMap<i64, Vec<SlicePoint>> = BTreeMap::new();
    let (mut rtt_min_s, mut rtt_max_s) = (f64::INFINITY, 0.0_f64);
    for (&(loss_cell, _), cell) in &sums {
        let count = cell.samples as f64;
        let mean = cell.throughput_pps / count;
        let variance = (cell.squares / count - mean * mean).max(0.0) * count / (count - 1.0);
        let rtt_s = cell.rtt_s / count;
        (rtt_min_s, rtt_max_s) = (rtt_min_s.min(rtt_s), rtt_max_s.max(rtt_s));
        cells.push(FitCell {
            loss: cell.loss / count,
            rtt_s,
            throughput_pps: mean,
            relative_error: (cell.samples > 1).then(|| (variance / count).sqrt() / mean),
            samples: cell.samples,
            origin: CellOrigin::Measured,
        });
        by_loss.entry(loss_cell).or_default().push(SlicePoint {
            rtt_s,
            throughput_pps: mean,
            weight: 1.0,
        });
    }
    let slices: Vec<Slice> = by_loss
        .iter()
        .filter_map(|(&loss_cell, points)| slice(loss_cell as f64 * CELL_LOSS, points))
        .collect();
    let power_law = power_law(names.name, names.description, &slices, rtt_min_s, rtt_max_s)?
        .ok_or(FitError::NoSlice { cells: cells.len() })?;
    Ok(PaperFit {
        cells,
        slices,
        power_law,
    })
}
