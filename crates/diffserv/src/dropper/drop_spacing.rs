//! Spacing of drops: a count of the packets since the last drop makes drops regular instead of bunched.

/// Spacing of drops; p_b is the marking probability, and count is the number of packets since the last drop,
/// including the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropSpacing {
    /// p_b/(1 − count·p_b): the distance between drops is uniform over 1 … 1/p_b − 1 packets (Floyd &
    /// Jacobson 1993, Fig. 2; DiffServ module of ns-2). The drop rate is about 2·p_b.
    Uniform,
    /// 0 while count·p_b < 1, then p_b/(2 − count·p_b): uniform over 1/p_b … 2/p_b (RED of ns-2, unless
    /// `wait_` is off). The drop rate is about p_b/1.5.
    WaitThenUniform,
}

/// Probability below which 1/p_b cannot resolve single packets in an `f64`.
const MIN_RESOLVED_PROBABILITY: f64 = 1e-12;

impl DropSpacing {
    /// Returns the divisor of p_b.
    #[inline]
    fn divisor(self, p: f64, count: f64) -> f64 {
        let counted = count * p;
        match self {
            DropSpacing::Uniform => 1.0 - counted,
            DropSpacing::WaitThenUniform if counted < 1.0 => f64::INFINITY,
            DropSpacing::WaitThenUniform => 2.0 - counted,
        }
    }

    /// Returns true if the random number u in [0, 1) drops a packet of `size` mean packets: if u <
    /// p_b/divisor·size, or p_b/divisor ≥ 1.
    #[inline]
    pub(super) fn drops(self, p: f64, count: f64, size: f64, u: f64) -> bool {
        let divisor = self.divisor(p, count);
        // Computes all terms, because branches on random values are unpredictable.
        (p >= 1.0) | ((p > 0.0) & ((u * divisor < p * size) | (divisor <= p)))
    }

    /// Returns the long-run drop fraction at p_b = `p`. It is the reciprocal of the mean number X of packets
    /// from one drop to the next, E\[X\] = Σ P(X > n).
    pub(super) fn fraction(self, p: f64) -> f64 {
        if p <= 0.0 {
            return 0.0;
        }
        if p >= 1.0 {
            return 1.0;
        }
        let mean = match self {
            DropSpacing::Uniform if p < MIN_RESOLVED_PROBABILITY => 0.5 / p,
            DropSpacing::WaitThenUniform if p < MIN_RESOLVED_PROBABILITY => 1.5 / p,
            DropSpacing::Uniform => {
                // P(X > n) = (1 − (n+1)p)/(1 − p), as long as that is positive: n + 1 ≤ last.
                let last = (1.0 / p).ceil() - 1.0;
                (last - 0.5 * p * last * (last + 1.0)) / (1.0 - p)
            }
            DropSpacing::WaitThenUniform => {
                // P(X > n) = 1 for n < first, then (2 − (n+1)p)/(2 − first·p) up to n + 1 ≤ last.
                let first = (1.0 / p).ceil();
                let last = ((2.0 / p).ceil() - 1.0).max(first);
                let sum =
                    2.0 * (last - first) - 0.5 * p * (last * (last + 1.0) - first * (first + 1.0));
                first + sum / (2.0 - first * p)
            }
        };
        (1.0 / mean).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::DropSpacing;

    /// Computes the fraction directly from the mean number of packets between drops.
    fn fraction_by_summing(spread: DropSpacing, p: f64) -> f64 {
        let (mut alive, mut mean) = (1.0, 0.0);
        let mut count = 0.0;
        while alive > 0.0 {
            mean += alive;
            count += 1.0;
            let divisor = spread.divisor(p, count);
            alive *= if divisor <= p { 0.0 } else { 1.0 - p / divisor };
        }
        1.0 / mean
    }

    #[test]
    fn the_fraction_dropped_is_one_over_the_mean_distance() {
        for spread in [DropSpacing::Uniform, DropSpacing::WaitThenUniform] {
            for p in [
                0.9, 0.7, 0.55, 0.45, 0.34, 0.3, 0.21, 0.1, 0.07, 0.031, 0.003, 1.7e-4, 2.3e-5,
            ] {
                let (found, wanted) = (spread.fraction(p), fraction_by_summing(spread, p));
                assert!(
                    (found / wanted - 1.0).abs() < 1e-9,
                    "{spread:?} {p}: {found} {wanted}"
                );
            }
        }
        // If 1/p_b is an integer m, X is uniform over 1 … m − 1 (mean m/2), or over m … 2m − 1.
        for m in [2.0, 3.0, 10.0, 64.0, 1000.0_f64] {
            let uniform = DropSpacing::Uniform.fraction(1.0 / m);
            assert!((uniform * m / 2.0 - 1.0).abs() < 1e-12, "{m}");
            let wait = DropSpacing::WaitThenUniform.fraction(1.0 / m);
            assert!((wait * (1.5 * m - 0.5) - 1.0).abs() < 1e-12, "{m}");
        }
        // The limits continue the sums, which lose precision here, without a jump.
        for (spread, factor) in [
            (DropSpacing::Uniform, 2.0),
            (DropSpacing::WaitThenUniform, 1.0 / 1.5),
        ] {
            for p in [0.99e-12, 1.01e-12, 1e-300] {
                let fraction = spread.fraction(p) / p;
                assert!(
                    (fraction - factor).abs() < 1e-3,
                    "{spread:?} {p}: {fraction}"
                );
            }
        }
    }
}
