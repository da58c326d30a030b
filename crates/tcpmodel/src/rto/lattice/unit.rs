//! The unit of the time lattice.

use super::super::backoff::BackoffTimers;
use super::{RtoChain, TimeoutTime};
use crate::Error;
use crate::error::ensure;

/// The distance between two lattice points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    seconds: f64,
    /// True if all timers are integer multiples of the unit.
    exact: bool,
}

/// The shift of a timer in lattice points, and the share of probability that moves one point farther.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub points: usize,
    pub fraction: f64,
}

impl Shift {
    pub const NONE: Shift = Shift {
        points: 0,
        fraction: 0.0,
    };
}

/// The maximum number of additions for a solution: about ten seconds.
const MAX_ADDITIONS: f64 = 2e10;

/// The target number of additions when the unit can be chosen: about 0.1 s.
const TARGET_ADDITIONS: f64 = 2e8;

/// The maximum number of points of a row.
const MAX_POINTS: f64 = 1e6;

/// The maximum increase of the standard deviation caused by splitting: 0.1 of it in quadrature, so 1 % in
/// variance.
const MAX_STD_INCREASE: f64 = 0.1;

impl Unit {
    /// Chooses the greatest common unit of the timers if that lattice is small enough, otherwise the finest
    /// feasible unit.
    pub fn choose(chains: &[RtoChain], moments: &TimeoutTime) -> Result<Self, Error> {
        let timeouts: f64 = chains
            .iter()
            .map(|chain| chain.packets as f64 * chain.loss / (1.0 - chain.loss))
            .sum();
        if timeouts == 0.0 {
            return Ok(Self {
                seconds: 1.0,
                exact: true,
            });
        }
        let rows: f64 = chains
            .iter()
            .map(|chain| {
                chain.packets as f64 * BackoffTimers::new(&chain.timers).timers_s().len() as f64
            })
            .sum();
        let width_s = 16.0 * moments.std_s + chains.iter().map(tail_s).sum::<f64>();
        if let Some(seconds) = common_unit_s(chains)
            && width_s <= seconds * MAX_POINTS.min(MAX_ADDITIONS / rows)
        {
            return Ok(Self {
                seconds,
                exact: true,
            });
        }
        let longest_s = chains
            .iter()
            .map(|chain| chain.timers.max_s)
            .fold(f64::INFINITY, f64::min);
        // A split between two points has a variance of at most a quarter of the squared unit.
        let coarsest_s = 2.0 * MAX_STD_INCREASE * moments.std_s / timeouts.sqrt();
        let seconds = (width_s / MAX_POINTS.min(TARGET_ADDITIONS / rows))
            .min(coarsest_s)
            .min(longest_s / 4.0);
        let packets: u64 = chains.iter().map(|chain| chain.packets).sum();
        ensure(
            width_s * rows <= seconds * MAX_ADDITIONS,
            "number of packets",
            packets as f64,
            "fewer: at this loss, the distribution takes too long to compute",
        )?;
        Ok(Self {
            seconds,
            exact: false,
        })
    }

    /// Returns the unit in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Returns the shift of a timer.
    pub fn shift(&self, timer_s: f64) -> Shift {
        let points = timer_s / self.seconds;
        let whole = if self.exact {
            points.round()
        } else {
            points.floor()
        };
        Shift {
            points: whole as usize,
            fraction: if self.exact { 0.0 } else { points - whole },
        }
    }
}

/// Returns the time that a packet needs in seconds, if its number of losses has probability 1e-19.
fn tail_s(chain: &RtoChain) -> f64 {
    if chain.loss == 0.0 {
        return 0.0;
    }
    let losses = (libm::log(1e-19) / libm::log(chain.loss)).ceil();
    let backoff = BackoffTimers::new(&chain.timers);
    let timers_s = backoff.timers_s();
    let climb: f64 = timers_s.iter().take(losses as usize).sum();
    climb + losses * chain.timers.max_s * f64::from(losses > timers_s.len() as f64)
}

/// Returns the greatest common divisor of all timers in seconds, if they are whole nanoseconds.
fn common_unit_s(chains: &[RtoChain]) -> Option<f64> {
    let mut unit_ns = 0;
    for chain in chains.iter().filter(|chain| chain.loss > 0.0) {
        for timer_s in [
            chain.timers.initial_s,
            chain.timers.base_s,
            chain.timers.max_s,
        ] {
            let (ns, whole_ns) = (timer_s * 1e9, (timer_s * 1e9).round());
            if (ns - whole_ns).abs() > 1e-15 * ns {
                return None;
            }
            unit_ns = greatest_common_divisor(unit_ns, whole_ns as u64);
        }
    }
    (unit_ns > 0).then_some(unit_ns as f64 / 1e9)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}
