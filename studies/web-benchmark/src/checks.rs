//! Criteria of the measurements and of their predictions.

use netflow_testbed::Outcome;

use crate::cell::{Cell, Impairment};
use crate::row::{LATE_S, Row, Rows};

/// Criterion with its result.
#[derive(Clone, Debug)]
pub struct Check {
    /// Description of the criterion.
    pub what: String,
    /// Outcome.
    pub outcome: Outcome,
    /// Results in numbers.
    pub detail: String,
}

/// Tolerance of loss-free medians, which are multiples of the round-trip time, in seconds.
const RTT_TOLERANCE_S: f64 = 2e-3;
/// Tolerances of predictions, by statistic.
pub const LIMITS: [(&str, f64); 3] = [("median", 0.05), ("mean", 0.15), ("p95", 0.25)];

fn check(what: String, holds: bool, detail: String) -> Check {
    let outcome = if holds {
        Outcome::Passed
    } else {
        Outcome::Failed(detail.clone())
    };
    Check {
        what,
        outcome,
        detail,
    }
}

/// Returns a description of an experiment.
pub fn name(cell: &Cell, wait: &str) -> String {
    format!("{} ms, {}: {wait}", cell.oneway_ms, cell.impairment.name())
}

/// Checks measurements: response times without loss are multiples of the round-trip time; loss
/// increases the upper percentiles, but not the median. `luck` is the tolerance in standard errors
/// for means over few users.
pub fn measured(cells: &[Cell], rows: &Rows, luck: f64) -> Vec<Check> {
    let mut checks = Vec::new();
    for cell in cells {
        for wait in ["file", "page"] {
            let (Some(row), Some(free)) = (rows.of(cell, wait), rows.unimpaired(cell, wait)) else {
                continue;
            };
            let rtt_s = 2.0 * cell.oneway_s();
            let trips = (row.median_s / rtt_s).round().max(1.0);
            let off_s = row.median_s - trips * rtt_s;
            let name = name(cell, wait);
            if cell.impairment == Impairment::None {
                checks.push(check(
                    format!("{name}: the median is whole round trips"),
                    off_s.abs() <= RTT_TOLERANCE_S,
                    format!("{trips} and {:.2} ms", 1e3 * off_s),
                ));
                let shares = [row.by_1_rtt, row.by_2_rtt, row.by_3_rtt];
                checks.push(check(
                    format!("{name}: the distribution has steps at round trips"),
                    has_steps(row, rtt_s),
                    format!(
                        "{:.1} % in one, {:.1} % in two, {:.1} % in three; 90 % {:.2} ms after a whole one",
                        100.0 * shares[0],
                        100.0 * shares[1],
                        100.0 * shares[2],
                        1e3 * after_a_trip_s(row.p90_s, rtt_s),
                    ),
                ));
                continue;
            }
            let moved_s = row.median_s - free.median_s;
            checks.push(check(
                format!("{name}: loss leaves the median"),
                moved_s.abs() <= RTT_TOLERANCE_S,
                format!("moved by {:.2} ms", 1e3 * moved_s),
            ));
            checks.push(check(
                format!("{name}: loss moves the 95th percentile and the mean"),
                row.p95_s > free.p95_s && row.mean_s > free.mean_s,
                format!(
                    "95 % within {:.1} instead of {:.1} ms, mean {:.1} instead of {:.1} ms",
                    1e3 * row.p95_s,
                    1e3 * free.p95_s,
                    1e3 * row.mean_s,
                    1e3 * free.mean_s
                ),
            ));
        }
    }
    checks.extend(["file", "page"].map(|wait| shortest_suffers_most(cells, rows, wait, luck)));
    checks
}

/// Returns the time after the last multiple of the round-trip time, in seconds.
fn after_a_trip_s(time_s: f64, rtt_s: f64) -> f64 {
    // Tolerance for clocks of different threads.
    const EARLY_S: f64 = 1e-4;
    let trips = ((time_s + EARLY_S) / rtt_s).floor();
    time_s - trips * rtt_s
}

/// Returns whether the distribution has steps at one, two and three round trips.
///
/// Each step must end soon after its round trip, because a smooth distribution can have its 90th
/// percentile anywhere. That cannot be decided if the round-trip time is close to the processing
/// time of hosts and link.
fn has_steps(row: &Row, rtt_s: f64) -> bool {
    let shares = [row.by_1_rtt, row.by_2_rtt, row.by_3_rtt];
    let each = shares.is_sorted_by(|low, high| high - low >= 0.01) && shares[0] >= 0.1;
    each && (rtt_s < 4.0 * LATE_S || after_a_trip_s(row.p90_s, rtt_s) <= LATE_S)
}

/// Checks the slowdown of mean response times by loss, by delay: shorter paths are affected more.
fn shortest_suffers_most(cells: &[Cell], rows: &Rows, wait: &str, luck: f64) -> Check {
    let mut ratios: Vec<(u32, f64, f64)> = cells
        .iter()
        .filter(|cell| cell.impairment != Impairment::None)
        .filter_map(|cell| {
            let (row, free) = (rows.of(cell, wait)?, rows.unimpaired(cell, wait)?);
            Some((
                cell.oneway_ms,
                row.mean_s / free.mean_s,
                row.error_s / free.mean_s,
            ))
        })
        .collect();
    ratios.sort_unstable_by_key(|ratio| ratio.0);
    let largest = ratios.iter().map(|ratio| ratio.1).fold(0.0, f64::max);
    let told: Vec<String> = ratios
        .iter()
        .map(|(ms, ratio, _)| format!("×{ratio:.2} at {ms} ms"))
        .collect();
    let first = ratios.first();
    check(
        format!("{wait}: loss costs proportionally most over the shortest delay"),
        first.is_some_and(|(_, ratio, error)| ratio + luck * error >= largest),
        told.join(", "),
    )
}

/// Checks predictions of medians, means and 95th percentiles.
///
/// With `luck`, for few measurements, the given number of standard errors of the mean is added to
/// the tolerance. With loss, the 95th percentile may then be anywhere near the range from the 90th
/// to the 99th.
pub fn predicted(cells: &[Cell], rows: &Rows, predictions: &Rows, luck: f64) -> Vec<Check> {
    let mut checks = Vec::new();
    for cell in cells {
        for wait in ["file", "page"] {
            let (Some(row), Some(model)) = (rows.of(cell, wait), predictions.of(cell, wait)) else {
                continue;
            };
            let lucky = luck > 0.0 && cell.impairment != Impairment::None;
            let error_s = luck * row.error_s;
            let (p90_s, p99_s) = if lucky {
                (row.p90_s, row.p99_s)
            } else {
                (row.p95_s, row.p95_s)
            };
            let numbers = [
                (row.median_s, model.median_s, row.median_s..=row.median_s),
                (
                    row.mean_s,
                    model.mean_s,
                    row.mean_s - error_s..=row.mean_s + error_s,
                ),
                (row.p95_s, model.p95_s, p90_s..=p99_s),
            ];
            for ((what, limit), (found_s, model_s, luck_s)) in LIMITS.into_iter().zip(numbers) {
                let off = model_s / found_s - 1.0;
                let near = (1.0 - limit) * luck_s.start()..=(1.0 + limit) * luck_s.end();
                checks.push(check(
                    format!(
                        "{}: {what} predicted within {} %",
                        name(cell, wait),
                        100.0 * limit
                    ),
                    near.contains(&model_s),
                    format!(
                        "{:.2} ms measured, {:.2} ms predicted, {:+.1} %",
                        1e3 * found_s,
                        1e3 * model_s,
                        100.0 * off
                    ),
                ));
            }
        }
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Response times uniform from one to three round trips of 20 ms: the fractions within one, two
    /// and three round trips increase as with steps, and the median is at two.
    #[test]
    fn a_spread_out_distribution_has_no_steps() {
        let rtt_s = 0.02;
        let at = |q: f64| rtt_s * (1.0 + 2.0 * q);
        let within = |trips: f64| ((trips * rtt_s + LATE_S) / rtt_s - 1.0).clamp(0.0, 2.0) / 2.0;
        let spread_out = Row {
            stack: "linux-6".to_owned(),
            what: "web".to_owned(),
            oneway_ms: 10,
            harm: "none".to_owned(),
            wait: "page".to_owned(),
            count: 1000,
            mean_s: at(0.5),
            error_s: 1e-4,
            min_s: at(0.0),
            median_s: at(0.5),
            p90_s: at(0.9),
            p95_s: at(0.95),
            p99_s: at(0.99),
            by_1_rtt: within(1.0),
            by_2_rtt: within(2.0),
            by_3_rtt: within(3.0),
        };
        assert!(spread_out.by_1_rtt >= 0.1, "it has to pass the rest");
        assert!(!has_steps(&spread_out, rtt_s));
        let steps = Row {
            p90_s: 3.0 * rtt_s + 1.5e-3,
            ..spread_out
        };
        assert!(has_steps(&steps, rtt_s));
    }
}
