//! Mean and variance of the time in timeouts, by a backward recursion over the remaining packets.

use super::backoff::BackoffTimers;
use super::{RtoChain, Solver, TimeoutTime};
use crate::Error;

/// Computes the exact mean and standard deviation in time proportional to the number of packets, without
/// the distribution.
///
/// Let j be the index of a timer, j′ the next index and L the timer. F and R are the moments of a first
/// send and of a resend when n packets remain:
///
/// - R1(n, j) = p·(L + R1(n, j′)) + (1−p)·F1(n−1, j), F1(n, j) the same with F1(n−1, base);
/// - R2(n, j) = p·(L² + 2L·R1(n, j′) + R2(n, j′)) + (1−p)·F2(n−1, j), F2 the same with F2(n−1, base);
/// - at the maximum C, which is its own next timer, R1 = F1(n−1) + p·C/(1−p) and
///   R2 = F2(n−1) + p·(C² + 2C·R1)/(1−p).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactMoments;

impl Solver for ExactMoments {
    fn solve(&self, chains: &[RtoChain]) -> Result<TimeoutTime, Error> {
        let mut means_s = Vec::with_capacity(chains.len());
        let mut variance = 0.0;
        for chain in chains {
            chain.check()?;
            let (mean_s, square) = moments(chain);
            means_s.push(mean_s);
            variance += (square - mean_s * mean_s).max(0.0);
        }
        Ok(TimeoutTime {
            mean_s: means_s.iter().sum(),
            means_s,
            std_s: variance.sqrt(),
            standard_error_s: 0.0,
            trials: 0,
            sends: 0,
            distribution: None,
        })
    }
}

/// Returns the first and second moment of the chain's time, in s and s².
fn moments(chain: &RtoChain) -> (f64, f64) {
    let backoff = BackoffTimers::new(&chain.timers);
    let (p, arrives) = (chain.loss, 1.0 - chain.loss);
    let mut timers: Vec<TimerMoments> = backoff
        .timers_s()
        .iter()
        .map(|&s| TimerMoments::new(p, s))
        .collect();
    let Some((top, below)) = timers.split_last_mut() else {
        return (0.0, 0.0);
    };
    // The two timer sequences depend on each other only through the maximum and the base timer.
    let (initial, base) = below.split_at_mut(backoff.base.min(below.len()));
    let to_the_top = p / arrives;
    for _ in 0..chain.packets {
        let after = base.first().unwrap_or(&*top).first;
        let after = (arrives * after.0, arrives * after.1);
        let resend_1 = top.first.0 + to_the_top * top.timer_s;
        let resend_2 = top.first.1 + to_the_top * top.timer_s * (top.timer_s + 2.0 * resend_1);
        let resend = (resend_1, resend_2);
        let lost = top.timeout(resend);
        top.first = (lost.0 + after.0, lost.1 + after.1);
        propagate_moments(base, resend, arrives, after);
        propagate_moments(initial, resend, arrives, after);
    }
    let first = initial.first().unwrap_or(&*top).first;
    (chain.probability * first.0, chain.probability * first.1)
}

/// Updates the moments of all timers from those of a resend with the timer above them.
fn propagate_moments(
    timers: &mut [TimerMoments],
    mut above: (f64, f64),
    arrives: f64,
    after: (f64, f64),
) {
    for timer in timers.iter_mut().rev() {
        let lost = timer.timeout(above);
        above = (
            lost.0 + arrives * timer.first.0,
            lost.1 + arrives * timer.first.1,
        );
        timer.first = (lost.0 + after.0, lost.1 + after.1);
    }
}

/// A timer with the moments of a first send.
struct TimerMoments {
    timer_s: f64,
    loss: f64,
    /// p·L, p·L² and 2p·L.
    lost: (f64, f64, f64),
    first: (f64, f64),
}

impl TimerMoments {
    fn new(loss: f64, timer_s: f64) -> Self {
        let lost_s = loss * timer_s;
        Self {
            timer_s,
            loss,
            lost: (lost_s, lost_s * timer_s, 2.0 * lost_s),
            first: (0.0, 0.0),
        }
    }

    /// Returns the contribution of a timeout to the moments, if `resend` are the moments of the resend
    /// after it.
    fn timeout(&self, resend: (f64, f64)) -> (f64, f64) {
        (
            self.lost.0 + self.loss * resend.0,
            self.lost.1 + self.lost.2 * resend.0 + self.loss * resend.1,
        )
    }
}
