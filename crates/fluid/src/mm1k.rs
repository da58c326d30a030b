//! M/M/1/K queue in equilibrium (\[Prof\] §3.3).
//!
//! K is the buffer size including the packet in service; it need not be an integer. All formulas use x = ln
//! ρ, with ρ = λ/μ. Then ρ = 1 is a regular point, and ρ^K cannot overflow.
//!
//! - mean N(x) = 1/expm1(−x) − (K+1)/expm1(−(K+1)x), with N(0) = K/2;
//! - blocking B(x) = expm1(−x)/expm1(−(K+1)x), with B(0) = 1/(K+1);
//! - empty π₀(x) = B(−x), utilization U = 1 − π₀ = ρ(1−B);
//! - derivative dN/dx = V(x) = f(x) − (K+1)²f((K+1)x) with f(a) = 1/(4 sinh²(a/2));
//! - symmetry N(−x) = K − N(x); d ln B/dx = K − N; dπ₀/dx = −π₀N.

mod inverse;
mod math;

use inverse::{FAR_END_THRESHOLD, FastInverse};
use math::Langevin;
use netflow_units::math::exp;

/// Equilibrium of an M/M/1/K queue at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equilibrium {
    /// Mean number of packets, including the one in service; in [0, K].
    pub mean_pkts: f64,
    /// Mean free buffer space, K − `mean_pkts`; accurate also where it is small.
    pub free_pkts: f64,
    /// Probability that an arriving packet finds the queue full.
    pub blocking: f64,
    /// Probability that the queue is empty.
    pub empty: f64,
    /// Derivative dN/dx of the mean with respect to ln ρ.
    pub slope: f64,
}

impl Equilibrium {
    /// Returns the fraction of time the server is busy, U = 1 − π₀.
    pub fn utilization(&self) -> f64 {
        1.0 - self.empty
    }

    /// Returns the accepted fraction of arrivals, 1−B, to full accuracy; `x` is the ln ρ of this equilibrium.
    pub fn admitted(&self, x: f64) -> f64 {
        if x > 0.0 {
            self.utilization() * exp(-x)
        } else {
            1.0 - self.blocking
        }
    }
}

/// Returns the equilibrium of a queue with buffer size `k` packets (k ≥ 1) at load ρ = eˣ.
///
/// `x` may be infinite: −∞ is the empty queue, +∞ the full one.
pub fn equilibrium(x: f64, k: f64) -> Equilibrium {
    let below = equilibrium_below(x.abs(), k);
    if x <= 0.0 {
        below
    } else {
        // Mirror image: packets and free places are exchanged.
        Equilibrium {
            mean_pkts: below.free_pkts,
            free_pkts: below.mean_pkts,
            blocking: below.empty,
            empty: below.blocking,
            slope: below.slope,
        }
    }
}

/// Computes [`equilibrium`] for x = −a ≤ 0, where all exponentials decay.
///
/// With y = (K+1)a/2, r = 1/(K+1), the Langevin function L and E(a) = 1/expm1(a):
/// N = E(a) − (K+1)E((K+1)a) = K/2 − ((K+1)L(y) − L(ry))/2, V = ((K+1)²L'(y) − L'(ry))/4,
/// B = E((K+1)a)/E(a), π₀ = (1 + E((K+1)a))/(1 + E(a)).
#[inline]
fn equilibrium_below(a: f64, k: f64) -> Equilibrium {
    let k1 = k + 1.0;
    let (far, near) = (0.5 * k1 * a, 0.5 * a);
    if far.is_nan() || far < 1e-150 {
        return Equilibrium {
            mean_pkts: 0.5 * k,
            free_pkts: 0.5 * k,
            blocking: 1.0 / k1,
            empty: 1.0 / k1,
            slope: k * (k + 2.0) / 12.0,
        };
    }
    let (far, near) = (Langevin::new(far), Langevin::new(near));
    // Each form is used where it is free of cancellation.
    let few = far.mean < 0.5;
    let mean_pkts = if few {
        near.mean - k1 * far.mean
    } else {
        0.5 * (k - (k1 * far.value - near.value))
    };
    let slope = if few {
        near.mean * (1.0 + near.mean) - k1 * k1 * (far.mean * (1.0 + far.mean))
    } else {
        0.25 * (k1 * k1 * far.slope - near.slope)
    };
    Equilibrium {
        mean_pkts,
        free_pkts: k - mean_pkts,
        blocking: if near.mean > 0.0 {
            far.mean / near.mean
        } else {
            0.0
        },
        empty: (1.0 + far.mean) / (1.0 + near.mean),
        slope,
    }
}

/// Returns the third central moment of the number of packets, d²N/dx² = f'(x) − (K+1)³f'((K+1)x), with f as
/// above. It is 0 at load 1 and changes sign with x.
pub fn third_moment(x: f64, k: f64) -> f64 {
    let (k1, a) = (k + 1.0, x.abs());
    let (far, near) = (0.5 * k1 * a, 0.5 * a);
    if far.is_nan() || far < 1e-6 {
        return 0.0; // distribution is symmetric near load 1
    }
    let (far, near) = (Langevin::new(far), Langevin::new(near));
    let geometric = |m: f64| m * (1.0 + m) * (1.0 + 2.0 * m);
    let below = if far.mean < 0.5 {
        geometric(near.mean) - k1.powi(3) * geometric(far.mean)
    } else {
        0.125 * (near.curvature - k1.powi(3) * far.curvature)
    };
    if x > 0.0 { -below } else { below }
}

/// Returns the load x = ln ρ at which the mean number is `mean_pkts`: the inverse required by \[Prof\] §3.3.
///
/// `mean_pkts` outside [0, K] counts as the nearer end; 0 gives −∞ and K gives +∞, as does NaN. The result is
/// accurate to a few units in the last place of N: N(x) = `mean_pkts` to 1e-12 relative.
pub fn ln_rho_of_mean(mean_pkts: f64, k: f64) -> f64 {
    let room = k - mean_pkts;
    let light = mean_pkts <= room;
    let m = if light { mean_pkts } else { room };
    let a = match FastInverse::of(m, k) {
        FastInverse::Converged(near) => near.ln_rho(),
        FastInverse::NotApplicable => load_below(m.max(0.0), k),
    };
    if light { -a } else { a }
}

/// Returns the blocking probability of the queue with mean `mean_pkts` (\[Prof\] §3.3): 0 for the empty
/// queue, 1 for the full one.
///
/// Relative error below 1e-12 wherever B > 1e-12. For K = 1, B = N. `mean_pkts` outside [0, K]
/// counts as the nearer end, and NaN as the full queue; the result always lies within [0, 1].
pub fn blocking_of_mean(mean_pkts: f64, k: f64) -> f64 {
    let room = k - mean_pkts;
    let light = mean_pkts <= room;
    let m = if light { mean_pkts } else { room };
    if k == 1.0 {
        return if light { m.max(0.0) } else { 1.0 - m.max(0.0) };
    }
    match FastInverse::of(m, k) {
        FastInverse::Converged(near) => near.blocking(light),
        FastInverse::NotApplicable if light => blocking_light(m.max(0.0), k),
        FastInverse::NotApplicable => blocking_heavy(m.max(0.0), k),
    }
}

/// Returns the blocking for `m` packets in the queue, few compared with the buffer or with one.
#[cold]
#[inline(never)]
fn blocking_light(m: f64, k: f64) -> f64 {
    // Underflow: a > 1/(m + 1).
    if k > 746.0 * (m + 1.0) {
        return 0.0;
    }
    let a = load_below(m, k);
    if a == f64::INFINITY {
        return 0.0;
    }
    let k1 = k + 1.0;
    if a == 0.0 {
        return 1.0 / k1;
    }
    // B = ρ^K (1−ρ)/(1−ρ^(K+1)), ρ = e^−a
    libm::exp(-k * a) * libm::expm1(-a) / libm::expm1(-k1 * a)
}

/// Returns the blocking with free space for `m` packets, few compared with the buffer or with one.
fn blocking_heavy(m: f64, k: f64) -> f64 {
    if k > FAR_END_THRESHOLD * (m + 0.5) {
        return 1.0 / (1.0 + m); // 1 − ρ with N = ρ/(1−ρ)
    }
    let a = load_below(m, k);
    if a == f64::INFINITY {
        return 1.0;
    }
    if a == 0.0 {
        return 1.0 / (k + 1.0);
    }
    libm::expm1(-a) / libm::expm1(-(k + 1.0) * a)
}

/// Returns a = |x| ≥ 0 for which the smaller side (packets or free places) has the mean `m` ≤ K/2.
///
/// Newton's method on 1/N, which is nearly linear in e^a: it converges quadratically from this start.
/// Bisection replaces a step that rounding moves out of the bracket.
fn load_below(m: f64, k: f64) -> f64 {
    if m <= 0.0 {
        return f64::INFINITY;
    }
    let d = 0.5 * k - m;
    if d <= 0.0 {
        return 0.0;
    }
    let odds_load = libm::log1p(1.0 / m);
    // The load is so light that the buffer limit has no effect: N = ρ/(1−ρ) exactly.
    if k * odds_load > FAR_END_THRESHOLD {
        return odds_load;
    }
    let slope0 = 12.0 / (k * (k + 2.0));
    let u = 2.0 * d / k;
    let (mut low, mut high) = (slope0 * d, odds_load);
    let mut a = (low * (3.0 - u * u) / (3.0 * (1.0 - u * u))).clamp(low, high);
    for _ in 0..60 {
        let Equilibrium {
            mean_pkts: n,
            slope: v,
            ..
        } = equilibrium_below(a, k);
        let miss = (n - m) / m;
        if n > m {
            low = low.max(a);
        } else {
            high = high.min(a);
        }
        let mut next = a + libm::log1p(miss * n / v);
        // NaN fails the comparison, too.
        if !(next >= low && next <= high) {
            next = 0.5 * (low + high);
        }
        let done = (next - a).abs() <= 2e-8 * next.min(1.0) && miss.abs() < 1e-7;
        a = next;
        if done {
            break; // quadratic convergence: the last step was exact to rounding
        }
    }
    a
}
