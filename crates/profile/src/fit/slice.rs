//! Least-squares lines through loss slices in the log-log plane: A(loss) and B(loss).

use crate::{PowerLaw, PowerLawRow, PowerLawSpec, ProfileError};

/// F = B·rtt^(−A) at one loss (\[Prof\] eq. 2, rtt in ms, F in packets/ms).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Loss probability.
    pub loss: f64,
    /// Exponent A.
    pub a: f64,
    /// Factor B.
    pub b: f64,
    /// Number of cells on the line.
    pub cells: usize,
    /// Coefficient of determination of ln F; `None` for two cells, through which a line always
    /// fits.
    pub r_squared: Option<f64>,
}

/// Point of a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlicePoint {
    pub(super) rtt_s: f64,
    pub(super) throughput_pps: f64,
    pub(super) weight: f64,
}

/// Computes the weighted least-squares line; `None` with fewer than two round-trip times.
pub(super) fn slice(loss: f64, points: &[SlicePoint]) -> Option<Slice> {
    let total: f64 = points.iter().map(|point| point.weight).sum();
    let logs: Vec<(f64, f64, f64)> = points
        .iter()
        .map(|point| {
            let (rtt_ms, rate_per_ms) = (1e3 * point.rtt_s, 1e-3 * point.throughput_pps);
            (libm::log(rtt_ms), libm::log(rate_per_ms), point.weight)
        })
        .collect();
    let x = logs.iter().map(|(x, _, w)| w * x).sum::<f64>() / total;
    let y = logs.iter().map(|(_, y, w)| w * y).sum::<f64>() / total;
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        logs.iter().map(|&(lx, ly, w)| w * f(lx - x, ly - y)).sum()
    };
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    // Round-trip times that are equal up to rounding do not define a line.
    let spread = xx.is_finite() && xx > 1e-12 * total;
    if !spread {
        return None;
    }
    let a = -xy / xx;
    Some(Slice {
        loss,
        a,
        b: libm::exp(y + a * x),
        cells: points.len(),
        r_squared: (points.len() > 2).then(|| {
            if yy > 0.0 {
                (xy * xy / (xx * yy)).min(1.0)
            } else {
                1.0
            }
        }),
    })
}

/// Builds the power law of these slices; `None` if there are none.
pub(super) fn power_law(
    name: &str,
    description: &str,
    slices: &[Slice],
    rtt_min_s: f64,
    rtt_max_s: f64,
) -> Result<Option<PowerLaw>, ProfileError> {
    if slices.is_empty() {
        return Ok(None);
    }
    let row = |slice: &Slice| PowerLawRow {
        loss: slice.loss,
        a: slice.a,
        b: slice.b,
    };
    PowerLaw::new(PowerLawSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        rows: slices.iter().map(row).collect(),
        loss_rtt_exponent: 0.0,
        rtt_min_s,
        rtt_max_s,
    })
    .map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F = 6·rtt^(−1.02) exactly, in packets/ms and ms.
    #[test]
    fn fit_recovers_a_power_law() {
        let points: Vec<SlicePoint> = [60.0, 100.0, 700.0]
            .iter()
            .map(|&rtt_ms: &f64| SlicePoint {
                rtt_s: 1e-3 * rtt_ms,
                throughput_pps: 6e3 * rtt_ms.powf(-1.02),
                weight: rtt_ms,
            })
            .collect();
        let found = slice(0.02, &points).unwrap();
        assert!(
            (found.a - 1.02).abs() < 1e-12 && (found.b - 6.0).abs() < 1e-10,
            "{found:?}"
        );
        assert!((found.r_squared.unwrap() - 1.0).abs() < 1e-12);
        assert!(slice(0.02, &points[..1]).is_none());
    }

    /// A line through two points always fits, so R² has no meaning.
    #[test]
    fn two_cells_have_no_r_squared() {
        let points = [(0.06, 100.0), (0.1, 90.0)].map(|(rtt_s, throughput_pps)| SlicePoint {
            rtt_s,
            throughput_pps,
            weight: 1.0,
        });
        let found = slice(0.02, &points).unwrap();
        assert_eq!((found.cells, found.r_squared), (2, None));
    }
}
