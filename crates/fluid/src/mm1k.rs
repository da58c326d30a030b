//! One finite queue in equilibrium: M/M/1/K ([Prof] §3.3).
//!
//! K is the whole room, the place in service included; it need not be a whole number. Everything
//! is written in x = ln ρ, where ρ = λ/μ: ρ = 1 is then an ordinary point, and ρ^K cannot overflow.
//!
//! - mean number N(x) = 1/expm1(−x) − (K+1)/expm1(−(K+1)x), with N(0) = K/2;
//! - blocking B(x) = expm1(−x)/expm1(−(K+1)x), with B(0) = 1/(K+1);
//! - empty π₀(x) = B(−x), busy U = 1 − π₀ = ρ(1−B);
//! - slope dN/dx = V(x) = f(x) − (K+1)²f((K+1)x) with f(a) = 1/(4 sinh²(a/2));
//! - symmetry N(−x) = K − N(x); d ln B/dx = K − N; dπ₀/dx = −π₀N.

/// Below this (K+1)|x| the closed forms lose digits by cancellation, and the series serves.
const SERIES_BELOW: f64 = 0.75;

/// Coefficients of 1/(eᵃ−1) − 1/a + 1/2 in odd powers of a: the Bernoulli numbers B₂ₙ/(2n)!.
const BERNOULLI: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
];

/// An M/M/1/K queue at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equilibrium {
    /// Mean number of packets, the one in service included; in [0, K].
    pub mean_pkts: f64,
    /// Probability that an arriving packet finds the queue full.
    pub blocking: f64,
    /// Probability that the queue is empty.
    pub empty: f64,
    /// dN/dx, the change of the mean with ln ρ.
    pub slope: f64,
}

impl Equilibrium {
    /// Fraction of the time the server is busy, U = 1 − π₀.
    pub fn utilization(&self) -> f64 {
        1.0 - self.empty
    }
}

/// The queue with room for `k` packets (k ≥ 1) at load ρ = eˣ.
///
/// `x` may be infinite: −∞ is the empty queue, +∞ the full one.
pub fn equilibrium(x: f64, k: f64) -> Equilibrium {
    let below = equilibrium_below(-x.abs(), k);
    if x <= 0.0 {
        below
    } else {
        // The mirror image: customers and holes change places.
        Equilibrium {
            mean_pkts: k - below.mean_pkts,
            blocking: below.empty,
            empty: below.blocking,
            slope: below.slope,
        }
    }
}

/// [`equilibrium`] for x ≤ 0, where all exponentials decay.
fn equilibrium_below(x: f64, k: f64) -> Equilibrium {
    let k1 = k + 1.0;
    let y = k1 * x;
    // 1 − ρ and 1 − ρ^(K+1)
    let (free, free_k1) = (-x.exp_m1(), -y.exp_m1());
    if y > -SERIES_BELOW {
        let (offset, slope) = series(x, k1);
        let empty = if y == 0.0 { 1.0 / k1 } else { free / free_k1 };
        return Equilibrium {
            mean_pkts: 0.5 * k + offset,
            blocking: empty * (k * x).exp(),
            empty,
            slope,
        };
    }
    let rho_k1 = 1.0 - free_k1;
    let odds = (1.0 - free) / free; // ρ/(1−ρ)
    let odds_k1 = rho_k1 / free_k1;
    let empty = free / free_k1;
    Equilibrium {
        mean_pkts: odds - k1 * odds_k1,
        blocking: empty * (k * x).exp(),
        empty,
        slope: odds * (odds + 1.0) - k1 * k1 * odds_k1 * (odds_k1 + 1.0),
    }
}

/// N − K/2 and dN/dx by the odd Langevin series, for (K+1)|x| < 1.
fn series(x: f64, k1: f64) -> (f64, f64) {
    let (y, x2) = (k1 * x, x * x);
    let y2 = y * y;
    // Term n is c_n·(k1·y^(2n−1) − x^(2n−1)); both powers run along.
    let (mut in_y, mut in_x) = (k1 * y, x);
    let (mut offset, mut slope) = (0.0, 0.0);
    let (mut slope_y, mut slope_x) = (k1 * k1, 1.0);
    for (n, c) in BERNOULLI.iter().enumerate() {
        offset += c * (in_y - in_x);
        slope += c * (2 * n + 1) as f64 * (slope_y - slope_x);
        in_y *= y2;
        in_x *= x2;
        slope_y *= y2;
        slope_x *= x2;
    }
    (offset, slope)
}

/// The load x = ln ρ at which the mean number is `mean_pkts`: the inverse that [Prof] §3.3 needs.
///
/// `mean_pkts` outside [0, K] counts as the nearer end; 0 gives −∞ and K gives +∞. The result is
/// good to a few units in the last place of N: N(x) = `mean_pkts` to 1e-12 relative.
pub fn load_of_mean(mean_pkts: f64, k: f64) -> f64 {
    let room = k - mean_pkts;
    if mean_pkts <= room {
        -load_below(mean_pkts.max(0.0), k)
    } else {
        load_below(room.max(0.0), k)
    }
}

/// The blocking probability of the queue whose mean number is `mean_pkts` ([Prof] §3.3): 0 for
/// the empty queue, 1 for the full one.
///
/// Relative error below 1e-12 wherever B > 1e-12. For K = 1, B = N.
pub fn blocking_of_mean(mean_pkts: f64, k: f64) -> f64 {
    let room = k - mean_pkts;
    let k1 = k + 1.0;
    if mean_pkts <= room {
        let a = load_below(mean_pkts.max(0.0), k);
        if a == f64::INFINITY {
            return 0.0;
        }
        if a == 0.0 {
            return 1.0 / k1;
        }
        // B = ρ^K (1−ρ)/(1−ρ^(K+1)), ρ = e^−a
        (-k * a).exp() * (-a).exp_m1() / (-k1 * a).exp_m1()
    } else {
        let a = load_below(room.max(0.0), k);
        if a == f64::INFINITY {
            return 1.0;
        }
        (-a).exp_m1() / (-k1 * a).exp_m1()
    }
}

/// a = |x| ≥ 0 for which the smaller side (packets or free places) has the mean `m` ≤ K/2.
///
/// Newton's iteration on 1/N, whose convergence from this start is quadratic everywhere: one over
/// the mean is nearly linear in e^a. Bisection serves where rounding throws it out of the bracket.
fn load_below(m: f64, k: f64) -> f64 {
    if m <= 0.0 {
        return f64::INFINITY;
    }
    let d = 0.5 * k - m;
    if d <= 0.0 {
        return 0.0;
    }
    let k1 = k + 1.0;
    let odds_load = (1.0 / m).ln_1p();
    // So light that the other end of the buffer is not felt: N = ρ/(1−ρ) exactly.
    if k1 * odds_load > 45.0 + 2.0 * k1.ln() {
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
        } = equilibrium_below(-a, k);
        let miss = (n - m) / m;
        if n > m {
            low = low.max(a);
        } else {
            high = high.min(a);
        }
        let mut next = a + (miss * n / v).ln_1p();
        // NaN fails the comparison as well.
        if !(next >= low && next <= high) {
            next = 0.5 * (low + high);
        }
        let done = (next - a).abs() <= 2e-8 * next.min(1.0) && miss.abs() < 1e-7;
        a = next;
        if done {
            break; // quadratic: the step just taken was exact to rounding
        }
    }
    a
}
