//! Times that follow a law which changes: what was met with at each moment, mixed.

use netflow_network::Percentiles;
use netflow_network::readout::mean;
use serde::{Deserialize, Serialize};
use statrs::function::beta::ln_beta;

/// How long packets of one moment take: a fixed time, and waiting times between 0 and the longest there
/// can be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Law {
    pub fixed_s: f64,
    /// Mean, variance and third central moment of the waiting time, which add up over queues.
    pub mean_s: f64,
    pub variance: f64,
    pub third: f64,
    pub most_s: f64,
}

/// Laws by their means, weighted by the packets that met them. Those whose means lie within some
/// percent are put together, so that memory is bounded; three moments of all stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mixture {
    /// In order of their keys.
    cells: Vec<Cell>,
}

/// Weighted sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cell {
    key: i32,
    pkts: f64,
    fixed: f64,
    mean: f64,
    /// Of the means of the waiting times' squares and cubes.
    square: f64,
    cube: f64,
    most: f64,
}

/// Bytes of laws that are put together.
pub(super) const CELL_BYTES: usize = std::mem::size_of::<Cell>();
/// Steps in which the means of laws differ that are told apart: the fourth part of a factor 2.
const PARTS: f64 = 4.0;
/// Means below this part of the fixed time are alike.
const LITTLE: f64 = 1.0 / 256.0;
/// Such a part of all packets is rounding.
const ROUNDING: f64 = 1e-12;

impl Mixture {
    pub fn add(&mut self, pkts: f64, law: Law) {
        let least_s = (law.fixed_s * LITTLE).max(1e-12);
        let key = match law.mean_s > least_s {
            true => (law.mean_s.log2() * PARTS).floor() as i32,
            false => i32::MIN,
        };
        self.put(Cell {
            key,
            pkts,
            fixed: pkts * law.fixed_s,
            mean: pkts * law.mean_s,
            square: pkts * (law.variance + law.mean_s * law.mean_s),
            cube: pkts * (law.third + law.mean_s * (3.0 * law.variance + law.mean_s * law.mean_s)),
            most: pkts * law.most_s,
        });
    }

    fn put(&mut self, new: Cell) {
        match self.cells.binary_search_by_key(&new.key, |cell| cell.key) {
            Ok(at) => self.cells[at].add(&new, 1.0),
            Err(at) => self.cells.insert(at, new),
        }
    }

    /// Adds what another holds.
    pub fn merge(&mut self, other: &Mixture) {
        for &cell in &other.cells {
            self.put(cell);
        }
    }

    /// What was added since this was `before`.
    pub fn since(&self, before: &Mixture) -> Mixture {
        let mut since = self.clone();
        for cell in &before.cells {
            // All that was counted before is counted here, too.
            if let Ok(at) = since.cells.binary_search_by_key(&cell.key, |c| c.key) {
                since.cells[at].add(cell, -1.0);
            }
        }
        let all = self.pkts();
        since.cells.retain(|cell| cell.pkts > ROUNDING * all);
        since
    }

    fn pkts(&self) -> f64 {
        self.cells.iter().map(|cell| cell.pkts).sum()
    }

    /// Where the parts 0.5, 0.95, 0.99 and 0.999 of all packets took no longer; `None` of none.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let all = self.pkts();
        let parts: Vec<Part> = self.cells.iter().map(|cell| cell.part(all)).collect();
        (all > 0.0).then(|| {
            let shortest_s = parts.iter().map(|it| it.fixed_s).fold(f64::MAX, f64::min);
            // Each is looked for from the one before on.
            let p50_s = quantile_of(&parts, 0.5, shortest_s);
            let p95_s = quantile_of(&parts, 0.95, p50_s);
            let p99_s = quantile_of(&parts, 0.99, p95_s);
            let p999_s = quantile_of(&parts, 0.999, p99_s);
            Percentiles {
                p50_s,
                p95_s,
                p99_s,
                p999_s,
            }
        })
    }
}

impl Cell {
    fn add(&mut self, other: &Cell, times: f64) {
        self.pkts += times * other.pkts;
        self.fixed += times * other.fixed;
        self.mean += times * other.mean;
        self.square += times * other.square;
        self.cube += times * other.cube;
        self.most += times * other.most;
    }

    fn part(&self, all_pkts: f64) -> Part {
        let of = |sum| mean(sum, self.pkts).unwrap_or(0.0);
        let mean_s = of(self.mean);
        let variance = of(self.square) - mean_s * mean_s;
        let law = Law {
            fixed_s: of(self.fixed),
            mean_s,
            variance,
            third: of(self.cube) - mean_s * (3.0 * variance + mean_s * mean_s),
            most_s: of(self.most),
        };
        Part {
            weight: self.pkts / all_pkts,
            fixed_s: law.fixed_s,
            most_s: law.most_s,
            span_s: law.span_s(),
            waiting: Waiting::new(law),
        }
    }
}

/// A cell, ready to be asked.
struct Part {
    weight: f64,
    fixed_s: f64,
    most_s: f64,
    /// Waiting times of next to none are shorter or longer.
    span_s: (f64, f64),
    waiting: Waiting,
}

impl Law {
    /// Below and beyond are fewer than one of 10⁸ waiting times of a Gamma distribution with this mean and
    /// this variance (Chernoff's bounds), and of Beta distributions, which have shorter tails.
    fn span_s(&self) -> (f64, f64) {
        let variance = self.variance.max(0.0);
        let (deviation_s, scale_s) = (variance.sqrt(), variance / self.mean_s);
        let least_s = (self.mean_s - 6.1 * deviation_s).max(0.0);
        (least_s, self.mean_s + 6.1 * deviation_s + 18.5 * scale_s)
    }
}

/// So many times the longest waiting time are as good as no end.
const ENDLESS: f64 = 100.0;

/// A distribution of waiting times.
enum Waiting {
    /// Always this, in seconds.
    Always(f64),
    Beta {
        beta: Beta,
        /// ln of the Beta function of its parameters.
        ln_beta: f64,
    },
}

/// The Beta distribution with parameters `a` and `b`, on times from 0 to `end_s`.
#[derive(Clone, Copy)]
struct Beta {
    a: f64,
    b: f64,
    end_s: f64,
}

impl Waiting {
    /// The Beta distribution with the moments of a law: uniform for a queue at load 1, the Gamma
    /// distribution for light queues whose ends are far, and their mirror images in overload.
    fn new(law: Law) -> Waiting {
        let of = |end_s| Beta::on(end_s, law.mean_s, law.variance);
        let Some(widest) = of(ENDLESS * law.most_s) else {
            return Waiting::Always(law.mean_s);
        };
        // The nearer the end, the less it is skewed to the right.
        let skewness = law.third / law.variance.powf(1.5);
        let (mut near, mut far) = (law.mean_s, ENDLESS * law.most_s);
        let mut best = widest;
        while far > near * (1.0 + 1e-3) && widest.skewness() > skewness {
            let end_s = 0.5 * (near + far);
            match of(end_s) {
                Some(beta) if beta.skewness() >= skewness => (far, best) = (end_s, beta),
                _ => near = end_s,
            }
        }
        Waiting::Beta {
            beta: best,
            ln_beta: ln_beta(best.a, best.b),
        }
    }
}

impl Beta {
    /// With this mean and this variance; `None` if that is next to none, or none on so few times has it.
    fn on(end_s: f64, mean_s: f64, variance: f64) -> Option<Beta> {
        let part = mean_s / end_s;
        // The sum of both parameters.
        let size = part * (1.0 - part) * (end_s * end_s / variance) - 1.0;
        let is_one = size > 0.0 && size < 1e9 && part > 0.0 && part < 1.0;
        is_one.then_some(Beta {
            a: part * size,
            b: (1.0 - part) * size,
            end_s,
        })
    }

    fn skewness(&self) -> f64 {
        let Beta { a, b, .. } = *self;
        2.0 * (b - a) * (a + b + 1.0).sqrt() / ((a + b + 2.0) * (a * b).sqrt())
    }
}

impl Part {
    /// Which part of its packets took at most so long.
    fn within(&self, time_s: f64) -> f64 {
        let waiting_s = time_s - self.fixed_s;
        match self.waiting {
            Waiting::Always(always_s) => f64::from(u8::from(waiting_s >= always_s)),
            Waiting::Beta { .. } if waiting_s <= self.span_s.0 => 0.0,
            Waiting::Beta { .. } if waiting_s >= self.span_s.1 => 1.0,
            Waiting::Beta { beta, .. } if waiting_s >= beta.end_s.min(self.most_s) => 1.0,
            Waiting::Beta { beta, ln_beta } => {
                beta_within(beta, ln_beta, waiting_s / beta.end_s, FRACTION_ERROR)
            }
        }
    }
}

/// Digits beyond these make no percentile: a time to a thousandth needs no more of the part that took as
/// long.
const FRACTION_ERROR: f64 = 1e-6;

/// The regularized incomplete Beta function for x between 0 and 1: by its continued fraction, on the side
/// on which that converges fast, until it changes by no more than a part of `error`.
fn beta_within(Beta { a, b, .. }: Beta, ln_beta: f64, x: f64, error: f64) -> f64 {
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_beta).exp();
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * beta_fraction(a, b, x, error) / a,
        false => 1.0 - front * beta_fraction(b, a, 1.0 - x, error) / b,
    }
}

/// The continued fraction, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64, error: f64) -> f64 {
    let some = |term: f64| if term.abs() < 1e-300 { 1e-300 } else { term };
    let mut c = 1.0;
    let mut d = 1.0 / some(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..=140 {
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

/// The time, no shorter than `low`, within which this part of all packets arrived, to a thousandth of it: by
/// false position within a bracket (Illinois), and by halves where the distribution has a jump.
fn quantile_of(parts: &[Part], quantile: f64, mut low: f64) -> f64 {
    let over = |time_s: f64| {
        let within = parts.iter().map(|it| it.weight * it.within(time_s));
        within.sum::<f64>() - quantile
    };
    let mut high = parts
        .iter()
        .map(|it| it.fixed_s + it.most_s)
        .fold(0.0, f64::max);
    let (mut f_low, mut f_high) = (over(low), 1.0 - quantile);
    if f_low >= 0.0 {
        return low;
    }
    let mut last = 0;
    for round in 0..200 {
        if high - low <= 1e-3 * low.max(1e-12) {
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

    fn law(mean_s: f64, variance: f64, third: f64, most_s: f64) -> Law {
        Law {
            fixed_s: 0.1,
            mean_s,
            variance,
            third,
            most_s,
        }
    }

    fn near(is: f64, should: f64) {
        assert!((is - should).abs() < 2e-3 * should, "{is} {should}");
    }

    /// A queue at load 1 is as often of any length; a light one waits exponentially.
    #[test]
    fn known_laws_have_their_percentiles() {
        let mut uniform = Mixture::default();
        uniform.add(3.0, law(0.5, 1.0 / 12.0, 0.0, 1.0));
        let of = uniform.percentiles().unwrap();
        near(of.p50_s, 0.6);
        near(of.p999_s, 1.099);
        let mut exponential = Mixture::default();
        exponential.add(1.0, law(0.01, 1e-4, 2e-6, 100.0));
        let of = exponential.percentiles().unwrap();
        near(of.p50_s, 0.1 + 0.01 * 2.0_f64.ln());
        near(of.p99_s, 0.1 + 0.01 * 100.0_f64.ln());
    }

    /// As another program says it, far from the mean and near it.
    #[test]
    fn beta_distributions_are_those_of_others() {
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
                    let is = beta_within(beta, ln_beta(a, b), x, 1e-10);
                    let should = beta_reg(a, b, x);
                    assert!((is - should).abs() < 1e-9, "{a} {b} {x}: {is} {should}");
                }
            }
        }
    }

    /// Half of the packets wait for nothing and half for a second: the median lies between, 95 % at it.
    #[test]
    fn moments_are_mixed_by_their_packets() {
        let mut mixture = Mixture::default();
        mixture.add(51.0, law(0.0, 0.0, 0.0, 2.0));
        mixture.add(49.0, law(1.0, 0.0, 0.0, 2.0));
        let of = mixture.percentiles().unwrap();
        near(of.p50_s, 0.1);
        near(of.p95_s, 1.1);
        assert_eq!(Mixture::default().percentiles(), None);
    }

    #[test]
    fn what_was_added_since_is_as_if_nothing_had_been_before() {
        let (mut before, mut alone) = (Mixture::default(), Mixture::default());
        for i in 1..1000 {
            before.add(f64::from(i), law(1e-3 * f64::from(i), 1e-7, 0.0, 10.0));
        }
        let mut all = before.clone();
        for i in 1..100 {
            let new = law(2e-4 * f64::from(i), 1e-8, 0.0, 10.0);
            all.add(2.0, new);
            alone.add(2.0, new);
        }
        let (since, alone) = (all.since(&before), alone.percentiles().unwrap());
        let since = since.percentiles().unwrap();
        near(since.p50_s, alone.p50_s);
        near(since.p999_s, alone.p999_s);
        assert_eq!(all.since(&all).percentiles(), None);
    }
}
