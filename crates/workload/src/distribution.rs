//! Probability distributions of sizes, times and counts.

use crate::{
    error::{Error, ensure},
    normal,
    random_streams::Random,
};

/// Distribution of a positive number: bytes, seconds or a count.
///
/// Every distribution has a largest value, which replaces larger ones, so that all values are bounded.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Constant value.
    Constant(f64),
    /// Exponential distribution.
    Exponential {
        /// Mean before the cut.
        mean: f64,
        /// Largest value.
        most: f64,
    },
    /// Pareto distribution: P(X > x) = (least / x)^shape.
    Pareto {
        /// Shape parameter; a smaller value gives a heavier tail.
        shape: f64,
        /// Smallest value.
        least: f64,
        /// Largest value.
        most: f64,
    },
    /// Log-normal distribution.
    LogNormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Largest value.
        most: f64,
    },
    /// Empirical distribution: `(value, cumulative share)`, both ascending, with a last share of 1. Values
    /// are uniform between two rows; a first share above 0 is the probability of the first value.
    Table(Vec<(f64, f64)>),
}

/// Largest allowed parameter.
const MAX_VALUE: f64 = 1e12;

impl Distribution {
    /// Checks every parameter; `what` names the distribution in the error.
    ///
    /// # Errors
    /// The first number out of its range.
    pub fn check(&self, what: &'static str) -> Result<(), Error> {
        let positive = |value: f64| {
            let allowed = "above 0 and at most 1e12";
            ensure(value > 0.0 && value <= MAX_VALUE, what, value, allowed)
        };
        match *self {
            Self::Constant(value) => {
                let allowed = "0 to 1e12";
                ensure((0.0..=MAX_VALUE).contains(&value), what, value, allowed)
            }
            Self::Exponential { mean, most } => {
                positive(mean)?;
                positive(most)
            }
            Self::Pareto { shape, least, most } => {
                positive(least)?;
                positive(most)?;
                let allowed = "above 0 and at most 100 for a shape";
                ensure(shape > 0.0 && shape <= 100.0, what, shape, allowed)?;
                ensure(most >= least, what, most, "at least the smallest value")
            }
            Self::LogNormal {
                median,
                sigma,
                most,
            } => {
                positive(median)?;
                positive(most)?;
                let allowed = "above 0 and at most 10 for a sigma";
                ensure(sigma > 0.0 && sigma <= 10.0, what, sigma, allowed)
            }
            Self::Table(ref rows) => check_table(rows, what),
        }
    }

    /// Returns the quantile at `u` in [0, 1].
    pub fn quantile(&self, u: f64) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Exponential { mean, most } => (-mean * libm::log1p(-u)).min(most),
            Self::Pareto { shape, least, most } => {
                (least * libm::pow(1.0 - u, -1.0 / shape)).min(most)
            }
            Self::LogNormal {
                median,
                sigma,
                most,
            } => {
                let z = normal::quantile(u);
                (median * libm::exp(sigma * z)).min(most)
            }
            Self::Table(ref rows) => quantile_of_table(rows, u),
        }
    }

    /// Returns the cumulative probability P(X ≤ x).
    pub fn cdf(&self, x: f64) -> f64 {
        match *self {
            Self::Constant(value) => f64::from(x >= value),
            Self::Exponential { most, .. }
            | Self::Pareto { most, .. }
            | Self::LogNormal { most, .. }
                if x >= most =>
            {
                1.0
            }
            Self::Exponential { mean, .. } => -libm::expm1(-x.max(0.0) / mean),
            Self::Pareto { shape, least, .. } => 1.0 - libm::pow(least / x.max(least), shape),
            Self::LogNormal { median, sigma, .. } if x > 0.0 => {
                normal::cdf(libm::log(x / median) / sigma)
            }
            Self::LogNormal { .. } => 0.0,
            Self::Table(ref rows) => cdf_of_table(rows, x),
        }
    }

    /// Returns the mean, with larger values replaced by the largest value.
    pub fn mean(&self) -> f64 {
        self.moment(1)
    }

    /// Returns the mean square, with larger values replaced by the largest value.
    pub fn mean_square(&self) -> f64 {
        self.moment(2)
    }

    /// Returns the mean (`power` 1) or the mean square (`power` 2).
    fn moment(&self, power: i32) -> f64 {
        let n = f64::from(power);
        match *self {
            Self::Constant(value) => value.powi(power),
            // ∫ n xⁿ⁻¹ P(X > x) dx up to the cut.
            Self::Exponential { mean, most } => {
                let cut = most / mean;
                let beyond = match power {
                    1 => 0.0,
                    _ => cut * libm::exp(-cut),
                };
                n * mean.powi(power) * (-libm::expm1(-cut) - beyond)
            }
            Self::Pareto { shape, least, most } => {
                let ratio = most / least;
                let beyond_least = if (shape - n).abs() < 1e-9 {
                    libm::log(ratio)
                } else {
                    (libm::pow(ratio, n - shape) - 1.0) / (n - shape)
                };
                least.powi(power) * (1.0 + n * beyond_least)
            }
            Self::LogNormal {
                median,
                sigma,
                most,
            } => {
                let z = libm::log(most / median) / sigma;
                let most = most.powi(power);
                let all = median.powi(power) * libm::exp(0.5 * n * n * sigma * sigma);
                let below = all * normal::cdf(z - n * sigma);
                below.min(most) + most * (1.0 - normal::cdf(z))
            }
            Self::Table(ref rows) => moment_of_table(rows, power),
        }
    }

    /// Returns the distribution of the number multiplied by `by`.
    pub fn scaled(&self, by: f64) -> Distribution {
        match *self {
            Self::Constant(value) => Self::Constant(by * value),
            Self::Exponential { mean, most } => Self::Exponential {
                mean: by * mean,
                most: by * most,
            },
            Self::Pareto { shape, least, most } => Self::Pareto {
                shape,
                least: by * least,
                most: by * most,
            },
            Self::LogNormal {
                median,
                sigma,
                most,
            } => Self::LogNormal {
                median: by * median,
                sigma,
                most: by * most,
            },
            Self::Table(ref rows) => Self::Table(
                rows.iter()
                    .map(|&(value, share)| (by * value, share))
                    .collect(),
            ),
        }
    }

    /// Returns the largest value.
    pub(crate) fn largest(&self) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Exponential { most, .. }
            | Self::Pareto { most, .. }
            | Self::LogNormal { most, .. } => most,
            Self::Table(ref rows) => rows.last().map_or(0.0, |&(value, _)| value),
        }
    }

    /// Returns the mean number of packets, at least 1, for a size in bytes with `payload_bytes` per packet.
    pub fn mean_packets(&self, payload_bytes: f64) -> f64 {
        let most = (self.largest() / payload_bytes).ceil();
        if most > 1e5 {
            // With this many packets, the last one is half full on average.
            return (self.mean() / payload_bytes + 0.5).max(1.0);
        }
        // Σ P(more than k packets).
        let beyond = (1..most as u32).map(|k| 1.0 - self.cdf(f64::from(k) * payload_bytes));
        1.0 + beyond.sum::<f64>()
    }

    /// Returns the mean of values rounded up to whole numbers from 1, as drawn by
    /// [`draw_count`](Self::draw_count). It sums one term per number, so use it for small numbers only.
    pub(crate) fn mean_count(&self, max_count: u32) -> f64 {
        // Terms beyond the largest value are 0.
        let most = max_count.min(self.largest().ceil().max(1.0) as u32);
        1.0 + (1..most).map(|n| 1.0 - self.cdf(f64::from(n))).sum::<f64>()
    }

    /// Draws a value.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        self.quantile(random.uniform())
    }

    /// Draws a value and rounds it up to a whole number from 1 to `most`.
    pub(crate) fn draw_count(&self, random: &mut Random, max_count: u32) -> u32 {
        // The cast saturates.
        (self.draw(random).ceil() as u32).clamp(1, max_count)
    }
}

fn check_table(rows: &[(f64, f64)], what: &'static str) -> Result<(), Error> {
    let mut before = (0.0, 0.0);
    for &(value, share) in rows {
        let allowed = "0 to 1e12, at least the value of the previous row";
        ensure(
            value >= before.0 && value <= MAX_VALUE,
            what,
            value,
            allowed,
        )?;
        let allowed = "a share from 0 to 1, at least the share of the previous row";
        ensure(share >= before.1 && share <= 1.0, what, share, allowed)?;
        before = (value, share);
    }
    ensure(before.1 == 1.0, what, before.1, "a last share of 1")
}

/// Returns the linear pieces of a table: from `(value, share)` to `(value, share)`.
fn segments(rows: &[(f64, f64)]) -> impl Iterator<Item = ((f64, f64), (f64, f64))> + '_ {
    let first = rows.first().map(|&(value, _)| (value, 0.0));
    let starts = first.into_iter().chain(rows.iter().copied());
    starts.zip(rows.iter().copied())
}

fn quantile_of_table(rows: &[(f64, f64)], u: f64) -> f64 {
    let last = rows.last().map_or(0.0, |&(value, _)| value);
    segments(rows)
        .find(|&(_, (_, share))| u < share)
        .map_or(last, |((value, share), (next, up_to))| {
            value + (next - value) * (u - share) / (up_to - share)
        })
}

fn cdf_of_table(rows: &[(f64, f64)], x: f64) -> f64 {
    let mut below = 0.0;
    for ((value, share), (next, up_to)) in segments(rows) {
        if x >= next {
            below = up_to;
        } else if x > value {
            return share + (up_to - share) * (x - value) / (next - value);
        }
    }
    below
}

fn moment_of_table(rows: &[(f64, f64)], power: i32) -> f64 {
    segments(rows)
        .map(|((value, share), (next, up_to))| {
            let mean = match power {
                1 => 0.5 * (value + next),
                _ => (value * value + value * next + next * next) / 3.0,
            };
            mean * (up_to - share)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_streams::Purpose;
    use proptest::prelude::*;

    /// Uniform from 0 to 3000 B: one third each needs one, two and three packets of 1000 B.
    #[test]
    fn bytes_fill_packets() {
        let even = Distribution::Table(vec![(0.0, 0.0), (3000.0, 1.0)]);
        assert!((even.mean_packets(1000.0) - 2.0).abs() < 1e-12);
        assert_eq!(Distribution::Constant(1000.0).mean_packets(1000.0), 1.0);
        assert_eq!(Distribution::Constant(1001.0).mean_packets(1000.0), 2.0);
        assert_eq!(Distribution::Constant(0.0).mean_packets(1000.0), 1.0);
    }

    fn any() -> impl Strategy<Value = Distribution> {
        prop_oneof![
            (0.0..1e6).prop_map(Distribution::Constant),
            (1e-3..1e3, 1e-2..1e6)
                .prop_map(|(mean, most)| Distribution::Exponential { mean, most }),
            (0.5..3.0, 1e-2..1e3, 1.0..1e4).prop_map(|(shape, least, times): (f64, f64, f64)| {
                Distribution::Pareto {
                    shape,
                    least,
                    most: least * times,
                }
            }),
            (1e-2..1e3, 0.1..2.0, 1e-1..1e5).prop_map(|(median, sigma, most)| {
                Distribution::LogNormal {
                    median,
                    sigma,
                    most,
                }
            }),
            prop::collection::vec((0.0..100.0, 0.01..1.0), 1..8).prop_map(|steps| {
                let all: f64 = steps.iter().map(|step| step.1).sum();
                let (mut value, mut share) = (0.0_f64, 0.0_f64);
                let mut rows: Vec<(f64, f64)> = steps
                    .iter()
                    .map(|step| {
                        value += step.0;
                        share += step.1 / all;
                        (value, share.min(1.0))
                    })
                    .collect();
                rows.last_mut().unwrap().1 = 1.0;
                Distribution::Table(rows)
            }),
        ]
    }

    proptest! {
        /// The mean is the integral of the quantiles, and the mean square that of their squares. The error of
        /// 100 000 midpoints of a bounded monotone function is at most its last piece.
        #[test]
        fn the_mean_is_the_integral_of_quantiles(distribution in any()) {
            prop_assert_eq!(distribution.check("x"), Ok(()));
            let n = 100_000;
            let at = |i: i32| distribution.quantile((f64::from(i) + 0.5) / f64::from(n));
            let [least, most] = [0.0, 1.0].map(|u| distribution.quantile(u));
            for (power, mean) in [(1, distribution.mean()), (2, distribution.mean_square())] {
                let sum: f64 = (0..n).map(|i| at(i).powi(power)).sum();
                let range = most.powi(power) - least.powi(power);
                let off = (sum / f64::from(n) - mean).abs();
                prop_assert!(off <= 1.01 * range / f64::from(n) + 1e-7 * mean, "{power}: {off}");
            }
        }

        #[test]
        fn quantiles_increase_and_cdf_inverts_them(
            distribution in any(), u in 0.0..1.0, v in 0.0..1.0,
        ) {
            let (low, high) = if u < v { (u, v) } else { (v, u) };
            let (x, y) = (distribution.quantile(low), distribution.quantile(high));
            prop_assert!(x <= y && x.is_finite() && x >= 0.0);
            // A value with positive probability, such as the cut, has a larger cumulative probability.
            prop_assert!(distribution.cdf(x) >= low - 1e-9);
            prop_assert!((0.0..=1.0).contains(&distribution.cdf(x)));
        }
    }

    /// The median of a Pareto distribution is k 2^(1/α): 1750 bytes for (941, 1.117).
    #[test]
    fn pareto_median() {
        let replies = Distribution::Pareto {
            shape: 1.117,
            least: 941.0,
            most: 2e6,
        };
        approx::assert_relative_eq!(
            replies.quantile(0.5),
            941.0 * (2_f64.ln() / 1.117).exp(),
            max_relative = 1e-12
        );
    }

    /// A table with a first share has the first value with that probability: 1 with probability 0.5,
    /// otherwise uniform in 1 to 3, rounded up to 2 or 3. The mean is 0.5 · 1 + 0.25 · 2 + 0.25 · 3.
    #[test]
    fn counts_of_a_table() {
        let table = Distribution::Table(vec![(1.0, 0.5), (3.0, 1.0)]);
        assert_eq!(table.mean_count(10), 1.75);
        let mut random = Random::new(1, Purpose::Arrivals);
        let n = 100_000;
        let sum: u32 = (0..n).map(|_| table.draw_count(&mut random, 10)).sum();
        // Five standard errors of √(0.6875 / n).
        assert!(
            (f64::from(sum) / f64::from(n) - 1.75).abs() < 5.0 * (0.6875 / f64::from(n)).sqrt()
        );
    }

    #[test]
    fn errors_name_the_invalid_number() {
        let error = |distribution: Distribution| distribution.check("reply").unwrap_err();
        let table = |rows: &[(f64, f64)]| error(Distribution::Table(rows.to_vec())).to_string();
        assert_eq!(
            table(&[(2.0, 0.5), (1.0, 1.0)]),
            "reply is 1, allowed is 0 to 1e12, at least the value of the previous row"
        );
        assert_eq!(
            table(&[(2.0, 0.5)]),
            "reply is 0.5, allowed is a last share of 1"
        );
        assert_eq!(table(&[]), "reply is 0, allowed is a last share of 1");
        let nan = Distribution::Pareto {
            shape: f64::NAN,
            least: 1.0,
            most: 2.0,
        };
        assert!(error(nan).value.is_nan());
    }
}
