//! Fit of the long-run surface to conditions.

use super::bins::{Bins, bins};
use super::hull::Hull;
use super::slice::{Slice, SlicePoint, slice};
use super::steady_parts::{Condition, ConditionStatus};
use super::trend::{Point, Trend, median};
use super::{CellOrigin, FitCell, FitError, ProfileLabel};
use crate::{Grid, GridRow, GridSpec};

pub(super) struct SurfaceFit {
    pub(super) cells: Vec<FitCell>,
    pub(super) slices: Vec<Slice>,
    pub(super) grid: Grid,
    pub(super) interpolation_error: Option<f64>,
    pub(super) dropped_cells: usize,
}

/// Smallest widths of a row and of a column (in logarithms). The loss of a condition is itself an
/// estimate, so rows are six of its standard errors wide, within limits.
const MIN_LOSS_WIDTH: f64 = 0.04;
const MAX_LOSS_WIDTH: f64 = 0.7;
const MIN_RTT_WIDTH: f64 = 0.05;

/// Maximum number of grid points per condition; rows and columns are widened until it holds.
const POINTS_PER_CONDITION: usize = 3;

/// Error of ln F if there are too few data to estimate it.
pub(super) const UNKNOWN_ERROR: f64 = 0.3;

/// Number of neighbours with which a condition is compared, and the smallest number required.
const NEIGHBOURS: usize = 8;
const MIN_NEIGHBOURS: usize = 4;

/// Residuals beyond 4 σ are outliers, unless they are below 5 %.
const OUTLIER_SIGMAS: f64 = 4.0;
const MIN_OUTLIER_DIFFERENCE: f64 = 0.05;

pub(super) fn fit(
    conditions: &mut [Condition],
    names: &ProfileLabel<'_>,
) -> Result<SurfaceFit, FitError> {
    let is_used = |condition: &Condition| condition.status == ConditionStatus::Used;
    if !conditions.iter().any(is_used) {
        let samples = conditions.iter().map(|condition| condition.samples.len());
        return Err(FitError::NoLosses {
            samples: samples.sum(),
        });
    }
    let (mut trend, mut points) = trend(conditions);
    if mark_outliers(conditions, &trend, &points) {
        (trend, points) = self::trend(conditions);
    }
    let used: Vec<&Condition> = conditions
        .iter()
        .filter(|condition| condition.status == ConditionStatus::Used)
        .collect();
    let table = BinnedConditions::new(&used, &points, &trend);
    let interpolation_error = table.interpolation_error();
    let (rows, columns) = table.without_missing_cells();

    let mut cells = Vec::new();
    let mut slices = Vec::new();
    let mut grid_rows = Vec::new();
    for &row in &rows {
        let mut line = Vec::new();
        let mut rates = Vec::new();
        for &column in &columns {
            let at = [table.losses[row], table.rtts[column]];
            let node = table.grid_value(row, column, interpolation_error);
            let cell = FitCell {
                loss: round_to_six_digits(libm::exp(at[0])),
                rtt_s: round_to_six_digits(libm::exp(at[1])),
                throughput_pps: round_to_six_digits(libm::exp(node.value)),
                relative_error: node.error,
                samples: node.samples,
                origin: node.origin,
            };
            rates.push(cell.throughput_pps);
            if cell.origin == CellOrigin::Measured {
                line.push(SlicePoint {
                    rtt_s: cell.rtt_s,
                    throughput_pps: cell.throughput_pps,
                    weight: node
                        .error
                        .unwrap_or(UNKNOWN_ERROR)
                        .max(MIN_OUTLIER_DIFFERENCE)
                        .powi(-2),
                });
            }
            cells.push(cell);
        }
        slices.extend(slice(
            round_to_six_digits(libm::exp(table.losses[row])),
            &line,
        ));
        grid_rows.push(GridRow {
            loss: round_to_six_digits(libm::exp(table.losses[row])),
            throughput_pps: rates,
            extrapolated: Vec::new(),
        });
    }
    let rtts_s: Vec<f64> = columns
        .iter()
        .map(|&column| round_to_six_digits(libm::exp(table.rtts[column])))
        .collect();
    if let Some(lossless) = lossless_row(conditions, &rtts_s) {
        let lossless_cells = lossless.iter().zip(&rtts_s);
        cells.splice(
            0..0,
            lossless_cells.map(|(&(throughput_pps, samples), &rtt_s)| FitCell {
                loss: 0.0,
                rtt_s,
                throughput_pps,
                relative_error: None,
                samples,
                origin: CellOrigin::Measured,
            }),
        );
        let throughput_pps = lossless.iter().map(|&(rate, _)| rate).collect();
        grid_rows.insert(
            0,
            GridRow {
                loss: 0.0,
                throughput_pps,
                extrapolated: Vec::new(),
            },
        );
    }
    let dropped_cells = table.dropped_count(&rows, &columns);
    let grid = Grid::new(GridSpec {
        name: names.name.to_owned(),
        description: names.description.to_owned(),
        window_pkts: None,
        sawtooth_amplitude: 1.0,
        rtts_s,
        rows: grid_rows,
    })?;
    Ok(SurfaceFit {
        cells,
        slices,
        grid,
        interpolation_error,
        dropped_cells,
    })
}

/// Fits the trend to the used conditions, and returns it with them as points. The errors depend on
/// the trend's slope and the trend on the errors, so it fits twice.
fn trend(conditions: &[Condition]) -> (Trend, Vec<Point>) {
    let used = || {
        conditions
            .iter()
            .filter(|c| c.status == ConditionStatus::Used)
    };
    let points = |slope: &dyn Fn([f64; 2]) -> f64| -> Vec<Point> {
        used()
            .map(|condition| {
                let at = [libm::log(condition.loss()), libm::log(condition.rtt_s)];
                let error = condition.standard_error(slope(at));
                Point {
                    at,
                    value: libm::log(condition.throughput_pps()),
                    error: error.unwrap_or(UNKNOWN_ERROR),
                }
            })
            .collect()
    };
    // The first iteration uses the square-root law.
    let first = Trend::new(&points(&|_| -0.5));
    let points = points(&|at| first.loss_slope(at));
    (Trend::new(&points), points)
}

/// Marks outliers, and returns whether there were any.
fn mark_outliers(conditions: &mut [Condition], trend: &Trend, points: &[Point]) -> bool {
    let residuals: Vec<f64> = points
        .iter()
        .map(|point| point.value - trend.value(point.at))
        .collect();
    let out: Vec<bool> = (0..points.len())
        .map(|i| {
            let others = (0..points.len()).filter(|&j| j != i);
            let near = nearest(points[i].at, others.map(|j| (points[j].at, residuals[j])));
            let near: Vec<f64> = near.into_iter().take(NEIGHBOURS).map(|(_, r)| r).collect();
            let middle = median(&near);
            let deviations: Vec<f64> = near.iter().map(|r| (r - middle).abs()).collect();
            let scatter = 1.4826 * median(&deviations);
            let error = libm::hypot(points[i].error, scatter).max(MIN_OUTLIER_DIFFERENCE);
            near.len() >= MIN_NEIGHBOURS && (residuals[i] - middle).abs() > OUTLIER_SIGMAS * error
        })
        .collect();
    let used = conditions
        .iter_mut()
        .filter(|c| c.status == ConditionStatus::Used);
    for (condition, &out) in used.zip(&out) {
        if out {
            condition.status = ConditionStatus::Outlier;
        }
    }
    out.contains(&true)
}

/// Returns (squared distance, value) of the points, nearest first.
fn nearest(at: [f64; 2], points: impl Iterator<Item = ([f64; 2], f64)>) -> Vec<(f64, f64)> {
    let mut near: Vec<(f64, f64)> = points
        .map(|(point, value)| {
            let square = (point[0] - at[0]).powi(2) + (point[1] - at[1]).powi(2);
            (square, value)
        })
        .collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    near
}

/// Conditions sorted into rows and columns.
struct BinnedConditions<'a> {
    /// ln loss of the rows, ln rtt of the columns.
    losses: Vec<f64>,
    rtts: Vec<f64>,
    /// Values by row, then column; `None` without measurement.
    measured: Vec<Option<GridValue>>,
    trend: &'a Trend,
    hull: Hull,
}

/// ln F at a grid point.
#[derive(Clone, Copy)]
struct GridValue {
    value: f64,
    error: Option<f64>,
    samples: usize,
    origin: CellOrigin,
}

impl<'a> BinnedConditions<'a> {
    fn new(used: &[&Condition], points: &[Point], trend: &'a Trend) -> BinnedConditions<'a> {
        let (rows, columns) = axes(used, points);
        let weights: Vec<f64> = used.iter().map(|condition| condition.pkts).collect();
        let losses = means(points.iter().map(|point| point.at[0]), &rows, &weights);
        let rtts = means(points.iter().map(|point| point.at[1]), &columns, &weights);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); rows.count * columns.count];
        for i in 0..used.len() {
            members[rows.bin_of[i] * columns.count + columns.bin_of[i]].push(i);
        }
        let place = |at: usize| [losses[at / columns.count], rtts[at % columns.count]];
        let measured: Vec<Option<GridValue>> = members
            .iter()
            .enumerate()
            .map(|(at, members)| measured_value(members, used, points, trend, place(at)))
            .collect();
        let places = measured.iter().enumerate();
        let places: Vec<[f64; 2]> = places
            .filter(|(_, node)| node.is_some())
            .map(|(at, _)| place(at))
            .collect();
        BinnedConditions {
            hull: Hull::new(&places),
            losses,
            rtts,
            measured,
            trend,
        }
    }

    fn at(&self, row: usize, column: usize) -> Option<GridValue> {
        self.measured[row * self.rtts.len() + column]
    }

    fn coordinates(&self, row: usize, column: usize) -> [f64; 2] {
        [self.losses[row], self.rtts[column]]
    }

    /// Iterates over places and residuals of the measured points except one.
    fn residuals(&self, but: usize) -> impl Iterator<Item = ([f64; 2], f64)> {
        self.measured
            .iter()
            .enumerate()
            .filter_map(move |(at, node)| {
                let place = self.coordinates(at / self.rtts.len(), at % self.rtts.len());
                let residual = (*node)?.value - self.trend.value(place);
                (at != but).then_some((place, residual))
            })
    }

    /// Returns the trend, corrected by the residuals of the four nearest measured points (except
    /// one).
    fn interpolated(&self, place: [f64; 2], but: usize) -> f64 {
        let near = nearest(place, self.residuals(but));
        let (mut sum, mut weights) = (0.0, 0.0);
        for (square, residual) in near.into_iter().take(4) {
            let weight = 1.0 / (square + 1e-6);
            sum += weight * residual;
            weights += weight;
        }
        self.trend.value(place) + if weights > 0.0 { sum / weights } else { 0.0 }
    }

    /// Returns the r.m.s. error of ln F when each measured point in turn is left out and filled.
    /// Only points with neighbours on all sides count, because holes inside the hull have them.
    fn interpolation_error(&self) -> Option<f64> {
        let columns = self.rtts.len();
        let mut squares = Vec::new();
        for (row, column) in (1..self.losses.len().saturating_sub(1))
            .flat_map(|row| (1..columns.saturating_sub(1)).map(move |column| (row, column)))
        {
            if let Some(node) = self.at(row, column) {
                let place = self.coordinates(row, column);
                let filled = self.interpolated(place, row * columns + column);
                squares.push((filled - node.value).powi(2));
            }
        }
        let count = squares.len() as f64;
        (!squares.is_empty()).then(|| (squares.iter().sum::<f64>() / count).sqrt())
    }

    /// Returns a grid point inside the hull.
    fn grid_value(&self, row: usize, column: usize, interpolation_error: Option<f64>) -> GridValue {
        let place = self.coordinates(row, column);
        self.at(row, column).unwrap_or_else(|| GridValue {
            value: self.interpolated(place, usize::MAX),
            error: interpolation_error,
            samples: 0,
            origin: CellOrigin::Filled,
        })
    }

    /// Returns the rows and columns of a grid without points outside the hull. It drops one after
    /// the other, those with the largest fraction of such points first.
    fn without_missing_cells(&self) -> (Vec<usize>, Vec<usize>) {
        let mut rows: Vec<usize> = (0..self.losses.len()).collect();
        let mut columns: Vec<usize> = (0..self.rtts.len()).collect();
        let missing = |row: usize, column: usize| {
            self.at(row, column).is_none() && !self.hull.contains(self.coordinates(row, column))
        };
        loop {
            let row_share = |&row: &usize| {
                let count = columns
                    .iter()
                    .filter(|&&column| missing(row, column))
                    .count();
                count as f64 / columns.len() as f64
            };
            let column_share = |&column: &usize| {
                let count = rows.iter().filter(|&&row| missing(row, column)).count();
                count as f64 / rows.len() as f64
            };
            let worst = |shares: Vec<f64>| {
                let shares = shares.into_iter().enumerate();
                shares
                    .max_by(|a, b| a.1.total_cmp(&b.1))
                    .unwrap_or((0, 0.0))
            };
            let (row, of_row) = worst(rows.iter().map(row_share).collect());
            let (column, of_column) = worst(columns.iter().map(column_share).collect());
            if of_row == 0.0 && of_column == 0.0 {
                return (rows, columns);
            }
            if of_row >= of_column {
                rows.remove(row);
            } else {
                columns.remove(column);
            }
        }
    }

    /// Returns the number of measured points that are not in the grid.
    fn dropped_count(&self, rows: &[usize], columns: &[usize]) -> usize {
        let all = self.measured.iter().flatten().count();
        let kept = rows
            .iter()
            .flat_map(|&row| columns.iter().map(move |&column| (row, column)))
            .filter(|&(row, column)| self.at(row, column).is_some());
        all - kept.count()
    }
}

fn axes(used: &[&Condition], points: &[Point]) -> (Bins, Bins) {
    let losses: Vec<f64> = points.iter().map(|point| point.at[0]).collect();
    let rtts: Vec<f64> = points.iter().map(|point| point.at[1]).collect();
    let mut factor = 1.0;
    loop {
        let loss_width = |condition: &&Condition| {
            let error = 1.0 / condition.lost_pkts.sqrt();
            factor * (6.0 * error).clamp(MIN_LOSS_WIDTH, MAX_LOSS_WIDTH)
        };
        let widths: Vec<f64> = used.iter().map(loss_width).collect();
        let rows = bins(&losses, &widths);
        let columns = bins(&rtts, &vec![factor * MIN_RTT_WIDTH; rtts.len()]);
        if rows.count * columns.count <= POINTS_PER_CONDITION * used.len() {
            return (rows, columns);
        }
        factor *= 1.3;
    }
}

/// Returns the weighted mean of the values in each bin.
fn means(values: impl Iterator<Item = f64>, bins: &Bins, weights: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); bins.count];
    for ((value, &bin), &weight) in values.zip(&bins.bin_of).zip(weights) {
        sums[bin].0 += weight * value;
        sums[bin].1 += weight;
    }
    sums.into_iter().map(|(sum, weight)| sum / weight).collect()
}

/// Averages the conditions of a cell as all packets over all time, each moved along the trend to
/// the grid point.
fn measured_value(
    members: &[usize],
    used: &[&Condition],
    points: &[Point],
    trend: &Trend,
    place: [f64; 2],
) -> Option<GridValue> {
    let moved = |i: &usize| points[*i].value + trend.value(place) - trend.value(points[*i].at);
    let pkts: f64 = members.iter().map(|&i| used[i].pkts).sum();
    let times: Vec<f64> = members
        .iter()
        .map(|i| used[*i].pkts * libm::exp(-moved(i)))
        .collect();
    let time: f64 = times.iter().sum();
    if members.is_empty() {
        return None;
    }
    let value = libm::log(pkts / time);
    let shares = || times.iter().map(|t| t / time);
    let own: f64 = members
        .iter()
        .zip(shares())
        .map(|(&i, share)| (share * points[i].error).powi(2))
        .sum();
    // Differences between conditions include errors beyond their own.
    let count = members.len() as f64;
    let apart: f64 = members
        .iter()
        .zip(shares())
        .map(|(i, share)| (share * (moved(i) - value)).powi(2))
        .sum();
    let apart = if members.len() > 2 {
        apart * count / (count - 1.0)
    } else {
        0.0
    };
    let known = members.iter().any(|&i| points[i].error < UNKNOWN_ERROR);
    Some(GridValue {
        value,
        error: known.then(|| own.max(apart).sqrt()),
        samples: members.iter().map(|&i| used[i].samples.len()).sum(),
        origin: CellOrigin::Measured,
    })
}

/// Returns throughput without loss and the number of samples at every round-trip time, if all were
/// measured within a column's width. Rates are moved as 1/rtt, because the window is the limit.
fn lossless_row(conditions: &[Condition], rtts_s: &[f64]) -> Option<Vec<(f64, usize)>> {
    let at = |&rtt_s: &f64| {
        let (mut pkts, mut windows, mut samples) = (0.0, 0.0, 0);
        for condition in conditions {
            let near = libm::log(condition.rtt_s / rtt_s).abs() <= MIN_RTT_WIDTH;
            if condition.status == ConditionStatus::Lossless && near {
                pkts += condition.pkts;
                windows += condition.duration_s / condition.rtt_s;
                samples += condition.samples.len();
            }
        }
        (samples > 0).then(|| (round_to_six_digits(pkts / windows / rtt_s), samples))
    };
    rtts_s.iter().map(at).collect()
}

/// Rounds to six digits, more than the accuracy of any value, because people read profile files.
pub(super) fn round_to_six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
