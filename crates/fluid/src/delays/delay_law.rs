//! Delay distribution of packets at one time: a fixed delay plus a Beta-distributed waiting time.

use netflow_units::math::{exp, ln, ln_1p};

/// Fixed delay, and the moments of a waiting time between 0 and a maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayLaw {
    /// Propagation and transmission, in seconds.
    pub fixed_s: f64,
    /// Mean waiting time in seconds. The mean, the variance and the third central moment are additive over
    /// queues.
    pub mean_s: f64,
    /// Variance, in s².
    pub variance: f64,
    /// Third central moment, in s³.
    pub third: f64,
    /// Maximum waiting time in seconds: all buffers full.
    pub max_s: f64,
}

/// Multiple of the maximum waiting time that counts as an unlimited range.
const UNLIMITED_RANGE_FACTOR: f64 = 1000.0;
/// Minimum range relative to the two-point distribution with the same mean and variance.
const MIN_RANGE_FACTOR: f64 = 1.001;
/// Relative step of finite differences.
pub const RELATIVE_STEP: f64 = 2e-3;

impl DelayLaw {
    /// Returns bounds outside which fewer than 1 in 10⁸ waiting times between 0 and `end_s` lie. They are
    /// Chernoff bounds of Gamma distributions with the variance of the waiting time: one with its mean, and one
    /// with the mean time to the end. Beta distributions have shorter tails.
    fn span_s(&self, end_s: f64) -> (f64, f64) {
        let variance = self.variance.max(0.0);
        let beyond_s = |mean_s: f64| 6.1 * variance.sqrt() + 18.5 * variance / mean_s;
        let least_s = self.mean_s - beyond_s(end_s - self.mean_s);
        (least_s.max(0.0), self.mean_s + beyond_s(self.mean_s))
    }

    /// Returns the end e of the Beta distribution from 0 to e with these moments m, v, t, and its derivatives
    /// with respect to them. Let s be the sum of its parameters. Then s + 1 = m(e − m)/v and t = 2v(e −
    /// 2m)/(s + 2), so e(2 − tm/v²) = 4m + t/v − tm²/v². The Gamma distribution, which has no end, has t =
    /// 2v²/m.
    fn end_s(&self) -> (f64, [f64; 3]) {
        let (m, v, t) = (self.mean_s, self.variance, self.third);
        let below = 2.0 - t * m / (v * v);
        let above = 4.0 * m + t / v * (1.0 - m * m / v);
        let (end_s, least_s) = (above / below, MIN_RANGE_FACTOR * (m + v / m));
        let endless_s = UNLIMITED_RANGE_FACTOR * self.max_s;
        if below > 0.0 && end_s < endless_s {
            if end_s > least_s {
                let by_m = 4.0 - 2.0 * t * m / (v * v) + end_s * t / (v * v);
                let by_v = (2.0 * t * m * (m - end_s) / v - t) / (v * v);
                let by_t = (1.0 + m * (end_s - m) / v) / v;
                return (end_s, [by_m / below, by_v / below, by_t / below]);
            }
            if least_s < endless_s {
                let by_m = MIN_RANGE_FACTOR * (1.0 - v / (m * m));
                return (least_s, [by_m, MIN_RANGE_FACTOR / m, 0.0]);
            }
        }
        (endless_s, [0.0; 3])
    }
}

/// Distribution of the delays of a [`DelayLaw`]. Waiting times follow the Beta distribution with its moments. It
/// is uniform for a queue at load 1, Gamma for light queues with large buffers, and mirrored in overload.
#[derive(Clone, Copy, Debug)]
pub struct DelayDistribution {
    law: DelayLaw,
    /// Bounds outside which almost no waiting times lie, in seconds.
    span_s: (f64, f64),
    waiting: WaitingTime,
}

#[derive(Clone, Copy, Debug)]
enum WaitingTime {
    /// Constant: always the mean.
    Constant,
    Beta {
        beta: Beta,
        /// ln of the Beta function of its parameters.
        ln_beta: f64,
    },
}

/// Beta distribution with parameters `a` and `b`, on times from 0 to `end_s`.
#[derive(Clone, Copy, Debug)]
struct Beta {
    a: f64,
    b: f64,
    end_s: f64,
}

/// Derivatives of a delay that many packets have exactly. Its derivative with respect to the fixed delay is
/// 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AtomDerivatives {
    /// Fraction of the packets that have this delay.
    pub fraction: f64,
    /// With respect to mean, variance and third moment.
    pub moments: [f64; 3],
    /// With respect to the maximum waiting time.
    pub by_max: f64,
}

impl DelayDistribution {
    /// Creates the distribution of a law.
    pub fn new(law: DelayLaw) -> DelayDistribution {
        let end_s = law.end_s().0;
        let waiting = match Beta::from_moments(end_s, law.mean_s, law.variance) {
            Some(beta) => WaitingTime::Beta {
                beta,
                ln_beta: ln_beta(beta.a, beta.b),
            },
            None => WaitingTime::Constant,
        };
        DelayDistribution {
            law,
            span_s: law.span_s(end_s),
            waiting,
        }
    }

    /// Returns the law of the distribution.
    pub fn law(&self) -> &DelayLaw {
        &self.law
    }

    /// Returns the maximum delay, in seconds.
    pub fn max_delay_s(&self) -> f64 {
        self.law.fixed_s + self.law.max_s
    }

    /// Returns the cumulative distribution function at `time_s`, with an accuracy of about `error`.
    pub fn cdf(&self, time_s: f64, error: f64) -> f64 {
        let waiting_s = time_s - self.law.fixed_s;
        match self.waiting {
            WaitingTime::Constant => f64::from(u8::from(waiting_s >= self.law.mean_s)),
            WaitingTime::Beta { .. } if waiting_s <= self.span_s.0 => 0.0,
            WaitingTime::Beta { .. } if waiting_s >= self.span_s.1 => 1.0,
            WaitingTime::Beta { beta, .. } if waiting_s >= beta.end_s.min(self.law.max_s) => 1.0,
            WaitingTime::Beta { beta, ln_beta } => {
                beta.cdf_with_ln_beta(ln_beta, waiting_s / beta.end_s, error)
            }
        }
    }

    /// Returns the probability density at a time, in 1/s, without atoms.
    pub fn density(&self, time_s: f64) -> f64 {
        let waiting_s = time_s - self.law.fixed_s;
        match self.waiting {
            WaitingTime::Beta { beta, ln_beta }
                if waiting_s > 0.0 && waiting_s < beta.end_s.min(self.law.max_s) =>
            {
                let x = waiting_s / beta.end_s;
                let ln = (beta.a - 1.0) * ln(x) + (beta.b - 1.0) * ln_1p(-x) - ln_beta;
                exp(ln) / beta.end_s
            }
            _ => 0.0,
        }
    }

    /// Returns the derivatives of the cumulative distribution function with respect to mean, variance and
    /// third moment. The derivative with respect to the fixed delay is minus the [density](Self::density).
    pub fn slopes(&self, time_s: f64) -> [f64; 3] {
        let WaitingTime::Beta { beta, .. } = self.waiting else {
            return [0.0; 3];
        };
        let density = self.density(time_s);
        if density == 0.0 {
            return [0.0; 3];
        }
        let DelayLaw {
            mean_s, variance, ..
        } = self.law;
        let Beta { a, b, end_s } = beta;
        let x = (time_s - self.law.fixed_s) / end_s;
        // The derivatives with respect to a and b have no closed form.
        let spread = (a * b / (a + b + 1.0)).sqrt();
        let step = |of: f64, other: f64| RELATIVE_STEP * (spread * (of / other).max(1.0)).min(of);
        let [by_a] = finite_differences(step(a, b), |h| [Beta { a: a + h, ..beta }.exact_cdf(x)]);
        let [by_b] = finite_differences(step(b, a), |h| [Beta { b: b + h, ..beta }.exact_cdf(x)]);
        let (mean, sum) = (mean_s / end_s, a + b);
        // Total derivatives: with a fixed end, plus those through the end.
        let by_end = self.law.end_s().1;
        let sum_by = [
            (end_s - 2.0 * mean_s) / variance,
            -(sum + 1.0) / variance,
            0.0,
        ];
        let mean_by = [1.0 / end_s, 0.0, 0.0];
        std::array::from_fn(|i| {
            let by_sum = sum_by[i] + mean_s / variance * by_end[i];
            let by_mean = mean_by[i] - mean / end_s * by_end[i];
            by_a * (mean * by_sum + sum * by_mean) + by_b * ((1.0 - mean) * by_sum - sum * by_mean)
                - density * x * by_end[i]
        })
    }

    /// Returns the derivatives of an atom of the distribution at this delay (relative tolerance `error`), if
    /// there is one. Atoms occur if all packets wait equally long, do not wait, or find the buffers full.
    pub fn atom_at(&self, time_s: f64, error: f64) -> Option<AtomDerivatives> {
        let DelayLaw {
            fixed_s,
            mean_s,
            max_s: most_s,
            ..
        } = self.law;
        let is_at = |waiting_s: f64| ((fixed_s + waiting_s) / time_s - 1.0).abs() < error;
        let [before, after] =
            [1.0 - 2.0 * error, 1.0 + 2.0 * error].map(|aside| self.cdf(time_s * aside, error));
        let atom = |moments, by_max| AtomDerivatives {
            fraction: after - before,
            moments,
            by_max,
        };
        let WaitingTime::Beta { beta, .. } = self.waiting else {
            return is_at(mean_s).then(|| atom([1.0, 0.0, 0.0], 0.0));
        };
        if after - before < error.sqrt() {
            None
        } else if is_at(0.0) {
            Some(atom([0.0; 3], 0.0))
        } else if !is_at(beta.end_s.min(most_s)) {
            None
        } else if beta.end_s < most_s {
            Some(atom(self.law.end_s().1, 0.0))
        } else {
            Some(atom([0.0; 3], 1.0))
        }
    }
}

impl Beta {
    /// Creates the distribution with this mean and variance; `None` if the variance is almost zero or too
    /// large for the range.
    fn from_moments(end_s: f64, mean_s: f64, variance: f64) -> Option<Beta> {
        let part = mean_s / end_s;
        // Sum of both parameters.
        let size = part * (1.0 - part) * (end_s * end_s / variance) - 1.0;
        let is_one = size > 0.0 && size < 1e9 && part > 0.0 && part < 1.0;
        is_one.then_some(Beta {
            a: part * size,
            b: (1.0 - part) * size,
            end_s,
        })
    }

    /// Returns the cumulative distribution function at `x` to full precision.
    fn exact_cdf(&self, x: f64) -> f64 {
        self.cdf_with_ln_beta(ln_beta(self.a, self.b), x, 1e-15)
    }

    /// Returns the regularized incomplete Beta function for 0 < x < 1. It uses the continued fraction on the
    /// side where that converges fast, to a relative accuracy of `error`.
    fn cdf_with_ln_beta(&self, ln_beta: f64, x: f64, error: f64) -> f64 {
        let Beta { a, b, .. } = *self;
        let front = exp(a * ln(x) + b * ln_1p(-x) - ln_beta);
        if x < (a + 1.0) / (a + b + 2.0) {
            front * beta_fraction(a, b, x, error) / a
        } else {
            1.0 - front * beta_fraction(b, a, 1.0 - x, error) / b
        }
    }
}

fn ln_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

/// Returns f'(0) of several functions by finite differences of fourth order.
pub fn finite_differences<const N: usize>(h: f64, f: impl Fn(f64) -> [f64; N]) -> [f64; N] {
    let [more, less, far_more, far_less] = [h, -h, 2.0 * h, -2.0 * h].map(f);
    std::array::from_fn(|i| (8.0 * (more[i] - less[i]) - (far_more[i] - far_less[i])) / (12.0 * h))
}

/// Evaluates the continued fraction by Lentz's method, in about √(a + b) terms.
fn beta_fraction(a: f64, b: f64, x: f64, error: f64) -> f64 {
    let some = |term: f64| if term.abs() < 1e-300 { 1e-300 } else { term };
    let mut c = 1.0;
    let mut d = 1.0 / some(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..=100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut by = 1.0;
        for term in [even, odd] {
            d = 1.0 / some(1.0 + term * d);
            c = some(1.0 + term / c);
            by = c * d;
            fraction *= by;
        }
        if (by - 1.0).abs() < error {
            break;
        }
    }
    fraction
}

/// Tolerances of a quantile.
#[derive(Clone, Copy, Debug)]
pub struct Tolerances {
    /// Relative tolerance of the delay.
    pub time: f64,
    /// Absolute tolerance of the cumulative probability.
    pub part: f64,
}

/// Returns the quantile of a mixture of distributions, at least `low`; the weights add up to 1. The method is
/// false position in a bracket (Illinois). Every third step is a bisection, because the distribution may have
/// jumps.
pub fn quantile_of(
    parts: &[(f64, DelayDistribution)],
    quantile: f64,
    mut low: f64,
    exactness: Tolerances,
) -> f64 {
    let over = |time_s: f64| {
        let within = parts
            .iter()
            .map(|(weight, it)| weight * it.cdf(time_s, exactness.part));
        within.sum::<f64>() - quantile
    };
    let longest_s = parts.iter().map(|(_, it)| it.max_delay_s());
    let mut high = longest_s.fold(0.0, f64::max);
    let (mut f_low, mut f_high) = (over(low), 1.0 - quantile);
    if f_low >= 0.0 {
        return low;
    }
    let mut last = 0;
    for round in 0..200 {
        if high - low <= exactness.time * low.max(1e-12) {
            break;
        }
        let guess = low + (high - low) * (f_low / (f_low - f_high));
        let time_s = match round % 3 {
            2 => 0.5 * (low + high),
            _ => guess.clamp(low, high),
        };
        let f = over(time_s);
        let side = if f >= 0.0 { 1 } else { -1 };
        if f >= 0.0 {
            (high, f_high) = (time_s, f);
            f_low *= if last == side { 0.5 } else { 1.0 };
        } else {
            (low, f_low) = (time_s, f);
            f_high *= if last == side { 0.5 } else { 1.0 };
        }
        last = side;
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use statrs::function::beta::beta_reg;

    use super::*;

    /// Agrees with another implementation, near the mean and far from it.
    #[test]
    fn beta_cdf_matches_statrs() {
        for (a, b) in [
            (0.5, 0.5),
            (1.0, 3.0),
            (2.5, 400.0),
            (80.0, 7e4),
            (900.0, 20.0),
        ] {
            let mean = a / (a + b);
            for x in [0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 8.0].map(|times| times * mean) {
                if x < 1.0 {
                    let beta = Beta { a, b, end_s: 1.0 };
                    let is = beta.cdf_with_ln_beta(ln_beta(a, b), x, 1e-10);
                    let should = beta_reg(a, b, x);
                    assert!((is - should).abs() < 1e-9, "{a} {b} {x}: {is} {should}");
                }
            }
        }
    }

    /// Derivatives agree with finite differences for laws with a finite range, one close to two points, and
    /// one without an end.
    #[test]
    fn cdf_derivatives_match_finite_differences() {
        let law = |mean_s, variance, third| DelayLaw {
            fixed_s: 0.1,
            mean_s,
            variance,
            third,
            max_s: 1.0,
        };
        let laws = [
            law(0.3, 0.02, 1e-3),
            law(0.5, 0.08, 0.0),
            law(0.2, 0.16, 0.16 * 0.6),
            law(0.01, 2e-4, 1e-5),
            law(0.9, 0.002, -1e-4),
        ];
        for law in laws {
            let by = DelayDistribution::new(law).slopes(0.1 + law.mean_s);
            type Moment = fn(&mut DelayLaw) -> &mut f64;
            let changes: [(f64, Moment); 3] = [
                (law.mean_s, |law| &mut law.mean_s),
                (law.variance, |law| &mut law.variance),
                (law.variance.powf(1.5), |law| &mut law.third),
            ];
            for ((scale, of), is) in changes.into_iter().zip(by) {
                let [should] = finite_differences(1e-4 * scale, |h| {
                    let mut aside = law;
                    *of(&mut aside) += h;
                    [DelayDistribution::new(aside).cdf(0.1 + law.mean_s, 1e-15)]
                });
                let error = (is - should).abs() * scale / (1e-3 + (should * scale).abs());
                assert!(error < 1e-5, "{law:?}: {is} {should}");
            }
        }
    }

    /// A queue that is almost always full has a long tail of short waiting times.
    #[test]
    fn long_tail_of_short_waits_is_included() {
        let law = DelayLaw {
            mean_s: 21.1e-3,
            variance: 8.09e-7,
            third: -1.46e-9,
            max_s: 25e-3,
            ..DelayLaw::default()
        };
        let at = DelayDistribution::new(law);
        let WaitingTime::Beta { beta, .. } = at.waiting else {
            panic!("{law:?} is a Beta distribution");
        };
        for time_s in [12e-3, 14e-3, 16e-3] {
            let should = beta.exact_cdf(time_s / beta.end_s);
            assert!(should > 1e-6, "{time_s} {should}");
            assert_eq!(at.cdf(time_s, 1e-15), should);
        }
    }

    /// The Beta distribution of a law has the moments of that law, and its density is the derivative of the
    /// cumulative distribution function.
    #[test]
    fn distribution_has_the_moments_of_its_law() {
        for (a, b) in [(0.5, 0.5), (1.0, 3.0), (2.5, 40.0), (900.0, 20.0)] {
            let (end_s, sum) = (0.3, a + b);
            let (mean, rest) = (a / sum, b / sum);
            let variance = mean * rest / (sum + 1.0);
            let third = 2.0 * variance * (b - a) / (sum * (sum + 2.0));
            let law = DelayLaw {
                fixed_s: 0.1,
                mean_s: end_s * mean,
                variance: end_s.powi(2) * variance,
                third: end_s.powi(3) * third,
                max_s: end_s,
            };
            let WaitingTime::Beta { beta, .. } = DelayDistribution::new(law).waiting else {
                panic!("{law:?} is a Beta distribution");
            };
            for (is, should) in [(beta.a, a), (beta.b, b), (beta.end_s, end_s)] {
                assert!((is / should - 1.0).abs() < 1e-9, "{beta:?} {a} {b}");
            }
            let at = DelayDistribution::new(law);
            for time_s in [0.11, 0.2, 0.37] {
                let h = 1e-6;
                let slope = (at.cdf(time_s + h, 1e-15) - at.cdf(time_s - h, 1e-15)) / (2.0 * h);
                let density = at.density(time_s);
                assert!(
                    (slope - density).abs() < 1e-6 * (1.0 + density),
                    "{a} {b} {time_s}: {slope} {density}"
                );
            }
        }
    }
}
