//! Fits to designed experiments, whose settings are known.

use super::missing_cells::fill_missing_cells;
use super::sample::Sample;
use super::slice::{self, SlicePoint};
use super::steady_parts::{Condition, condition};
use super::surface::{UNKNOWN_ERROR, round_to_six_digits};
use super::{CellOrigin, Fit, FitCell, FitError, Method, ProfileLabel, startup};
use crate::{Grid, GridRow, GridSpec};

/// Measurements at one setting.
#[derive(Debug, Clone)]
pub struct ExperimentCell {
    /// Loss probability that was set.
    pub loss: f64,
    /// Round-trip time that was set, in seconds.
    pub rtt_s: f64,
    /// Samples of every transfer at this setting.
    pub transfers: Vec<Vec<Sample>>,
}

/// Fits a profile to an experiment on a grid of settings.
///
/// It works as [`Method::LongRun`], but loss and round-trip time of a cell are its settings, so
/// that random variation of the losses does not move it. The start-up of every transfer is left
/// out. Missing settings are extrapolated from the others at their round-trip time, as a profile is
/// beyond its domain, and marked in the grid.
///
/// # Errors
/// A setting has no samples.
pub fn fit_grid_experiment(
    cells: &[ExperimentCell],
    names: &ProfileLabel<'_>,
) -> Result<Fit, FitError> {
    let mut losses: Vec<f64> = cells.iter().map(|cell| cell.loss).collect();
    let mut rtts_s: Vec<f64> = cells.iter().map(|cell| cell.rtt_s).collect();
    for values in [&mut losses, &mut rtts_s] {
        values.sort_by(f64::total_cmp);
        values.dedup();
    }
    let mut fit = Fit {
        method: Method::LongRun,
        grid: None,
        power_law: None,
        cells: Vec::new(),
        slices: Vec::new(),
        conditions: Vec::new(),
        interpolation_error: None,
        dropped_cells: 0,
    };
    let mut rows = Vec::new();
    for &loss in &losses {
        let (mut points, mut throughput_pps) = (Vec::new(), Vec::new());
        for &rtt_s in &rtts_s {
            if !cells
                .iter()
                .any(|cell| cell.loss == loss && cell.rtt_s == rtt_s)
            {
                throughput_pps.push(f64::NAN);
                continue;
            }
            let there = cells
                .iter()
                .filter(|cell| cell.loss == loss && cell.rtt_s == rtt_s)
                .flat_map(|cell| &cell.transfers);
            let Some(condition) = condition_after_startup(fit.cells.len(), there) else {
                return Err(FitError::NoSamplesAt { loss, rtt_s });
            };
            let cell = FitCell {
                loss,
                rtt_s,
                throughput_pps: round_to_six_digits(condition.throughput_pps()),
                // The loss is known, so that only the rate has an error.
                relative_error: condition.standard_error(0.0),
                samples: condition.samples.len(),
                origin: CellOrigin::Measured,
            };
            points.push(SlicePoint {
                rtt_s,
                throughput_pps: cell.throughput_pps,
                weight: cell
                    .relative_error
                    .unwrap_or(UNKNOWN_ERROR)
                    .max(MIN_RELATIVE_ERROR)
                    .powi(-2),
            });
            throughput_pps.push(cell.throughput_pps);
            fit.cells.push(cell);
            fit.conditions.push(condition);
        }
        fit.slices.extend(slice::slice(loss, &points));
        rows.push(GridRow {
            loss,
            throughput_pps,
            extrapolated: Vec::new(),
        });
    }
    for (row, column) in fill_missing_cells(&mut rows, rtts_s.len()) {
        let cell = FitCell {
            loss: rows[row].loss,
            rtt_s: rtts_s[column],
            throughput_pps: rows[row].throughput_pps[column],
            relative_error: None,
            samples: 0,
            origin: CellOrigin::Filled,
        };
        fit.cells.insert(row * rtts_s.len() + column, cell);
    }
    if let (Some(&least_s), Some(&most_s)) = (rtts_s.first(), rtts_s.last()) {
        let (name, description) = (names.name, names.description);
        fit.power_law = slice::power_law(name, description, &fit.slices, least_s, most_s)?;
    }
    fit.grid = Some(Grid::new(GridSpec {
        name: names.name.to_owned(),
        description: names.description.to_owned(),
        window_pkts: None,
        sawtooth_amplitude: 1.0,
        rtts_s,
        rows,
    })?);
    Ok(fit)
}

/// Smallest relative error in the weights of cells.
const MIN_RELATIVE_ERROR: f64 = 0.05;

/// Sums up the samples after the start-up of each transfer; `None` if there are none.
fn condition_after_startup<'a>(
    place: usize,
    transfers: impl Iterator<Item = &'a Vec<Sample>>,
) -> Option<Condition> {
    let settled = transfers.flat_map(|samples| samples.iter().skip(startup(samples)).copied());
    condition(place, 0, &settled.collect::<Vec<Sample>>())
}
