//! Completion of grids with cells that were not measured.

use super::surface::round_to_six_digits;
use crate::GridRow;
use crate::extrapolation::Extrapolation;

/// Fills cells that were not measured (NaN) along their round-trip time. Between two measured
/// losses it interpolates linearly in the logarithms. Beyond them it uses the power of the loss
/// common to all round-trip times measured nearby.
///
/// It marks these cells in the rows, and returns their rows and columns in order. Columns without
/// any measurement are left as they are.
pub fn fill_missing_cells(rows: &mut [GridRow], columns: usize) -> Vec<(usize, usize)> {
    let measured: Vec<Vec<f64>> = rows.iter().map(|row| row.throughput_pps.clone()).collect();
    let mut filled = Vec::new();
    let losses: Vec<f64> = rows.iter().map(|row| row.loss).collect();
    let is_there = |row: usize, column: usize| !measured[row][column].is_nan();
    for (row, column) in (0..rows.len()).flat_map(|i| (0..columns).map(move |j| (i, j))) {
        if is_there(row, column) {
            continue;
        }
        let below = (0..row).rev().find(|&i| is_there(i, column));
        let above = (row + 1..losses.len()).find(|&i| is_there(i, column));
        let throughput_pps = match (below, above) {
            (Some(low), Some(high)) => {
                let t =
                    libm::log(losses[row] / losses[low]) / libm::log(losses[high] / losses[low]);
                let ends = [measured[low][column], measured[high][column]];
                ends[0] * libm::pow(ends[1] / ends[0], t)
            }
            (None, None) => continue, // every round-trip time was measured at some loss
            (Some(edge), None) | (None, Some(edge)) => {
                // Rows from the edge inwards, and the round-trip times that all of them have.
                let span: Vec<usize> = match above {
                    Some(_) => (edge..losses.len()).take(3).collect(),
                    None => (edge.saturating_sub(2)..=edge).collect(),
                };
                let shared: Vec<usize> = (0..columns)
                    .filter(|&j| span.iter().all(|&i| is_there(i, j)))
                    .collect();
                let near: Vec<(f64, Vec<f64>)> = span
                    .iter()
                    .map(|&i| {
                        let rates = shared.iter().map(|&j| libm::log(measured[i][j]));
                        (losses[i], rates.collect())
                    })
                    .collect();
                let law = Extrapolation::fit_exponents(&near, true);
                let (_, more) = law.clamp_with_correction(law.log_loss(losses[row]));
                measured[edge][column] * libm::exp(more)
            }
        };
        rows[row].throughput_pps[column] = round_to_six_digits(throughput_pps);
        let extended = &mut rows[row].extrapolated;
        extended.insert(extended.partition_point(|&it| it < column), column);
        filled.push((row, column));
    }
    filled
}
