//! Extrapolation of CUBIC to losses below those measured, by a law instead of a power of the loss.
//!
//! One power of the loss for all round-trip times fits Reno, but CUBIC has two regions (RFC 9438).
//! At short round-trip times its window is that of Reno, W ∝ p^(−1/2), independent of the
//! round-trip time (section 4.3). At long ones W ∝ (rtt/p)^(3/4) (equation 6). The lower the loss,
//! the shorter the round-trip times at which the second applies: from 51 ms at 1e-4, and from 11 ms
//! at 1e-6.

use netflow_units::math::{exp, ln};

use super::surface::round_to_six_digits;
use crate::GridRow;

/// Coefficients of both mean windows for random losses; a test simulates them. For periodic losses
/// they are 1.22 and 1.054 (RFC 9438).
const RENO_COEFFICIENT: f64 = 1.28;
const CUBIC_COEFFICIENT: f64 = 1.2;
/// Exponent of the smooth maximum of both windows: if they are equal, the mean window is 10 % larger.
const SHARPNESS: f64 = 7.0;

/// Mantissas of the losses in a decade.
const LOSS_MANTISSAS: [f64; 3] = [5.0, 2.0, 1.0];
/// Decades in which rows are added; profiles do not distinguish lower losses.
const LOSS_DECADES: std::ops::RangeInclusive<i32> = -8..=-1;

/// Returns the mean congestion window of a CUBIC sender in packets, for random losses of this
/// probability that cause no timeouts (RFC 9438 with C = 0.4 and β = 0.7).
pub fn cubic_window_pkts(loss: f64, rtt_s: f64) -> f64 {
    let reno = ln(RENO_COEFFICIENT) - 0.5 * ln(loss);
    let cubic = ln(CUBIC_COEFFICIENT) + 0.75 * (ln(rtt_s) - ln(loss));
    let (larger, smaller) = (reno.max(cubic), reno.min(cubic));
    exp(larger + ln(1.0 + exp(SHARPNESS * (smaller - larger))) / SHARPNESS)
}

/// Adds rows at low losses down to 1e-8 to a measured grid of CUBIC, using [`cubic_window_pkts`].
/// At each round-trip time it also fills cells below the lowest measured loss (NaN). All of them
/// are marked as extended.
///
/// The ratio of the lowest measured rate to the law is kept at the edge. It approaches 1 in
/// proportion to √loss, that is, to the inverse of the window, because whole packets and recovery
/// reduce a large window by a smaller share.
pub fn extend_cubic(rows: &mut Vec<GridRow>, rtts_s: &[f64]) {
    let lowest = rows.first().map_or(0.0, |row| row.loss);
    let losses = LOSS_DECADES.flat_map(|decade| {
        let steps = LOSS_MANTISSAS.iter().rev();
        steps.filter_map(move |step| format!("{step}e{decade}").parse::<f64>().ok())
    });
    let added: Vec<GridRow> = losses
        .take_while(|loss| loss * 1.5 < lowest)
        .map(|loss| GridRow {
            loss,
            throughput_pps: vec![f64::NAN; rtts_s.len()],
            extrapolated: Vec::new(),
        })
        .collect();
    rows.splice(0..0, added);
    for (column, &rtt_s) in rtts_s.iter().enumerate() {
        let rate = |row: &GridRow| row.throughput_pps.get(column).copied().unwrap_or(f64::NAN);
        let Some(edge) = rows.iter().position(|row| !rate(row).is_nan()) else {
            continue;
        };
        let law_pps = |loss: f64| cubic_window_pkts(loss, rtt_s) / rtt_s;
        let edge_loss = rows[edge].loss;
        let off = ln(rate(&rows[edge]) / law_pps(edge_loss));
        for row in &mut rows[..edge] {
            let pps = law_pps(row.loss) * exp(off * (row.loss / edge_loss).sqrt());
            if let Some(cell) = row.throughput_pps.get_mut(column) {
                *cell = round_to_six_digits(pps);
                row.extrapolated.push(column);
            }
        }
    }
}
