//! The exact distribution, by a forward recursion on a lattice of times.

mod distribution;
mod unit;

use distribution::LatticeDistribution;
use unit::{Shift, Unit};

use super::backoff::BackoffTimers;
use super::{Distribution, ExactMoments, RtoChain, Solver, TimeoutTime};
use crate::Error;

/// Computes the exact distribution and the exact moments.
///
/// All timers are integer multiples of a unit, so every possible time is a lattice point. A timeout shifts
/// probability by an integer number of points.
///
/// The greatest common unit of the timers may be too small to compute with. A larger unit is then used, and
/// the probability of a timeout is split between the two nearest points. The split keeps the mean, and
/// widens the standard deviation by less than 1 %.
///
/// # Errors
/// About 100 000 packets and more are rejected because the lattice would be too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactDistribution;

impl Solver for ExactDistribution {
    fn solve(&self, chains: &[RtoChain]) -> Result<TimeoutTime, Error> {
        let moments = ExactMoments.solve(chains)?;
        let unit = Unit::choose(chains, &moments)?;
        let mut times = LatticeDistribution::at_zero();
        for chain in chains {
            times = time_after_chain(chain, &unit, times);
        }
        let points = times
            .points()
            .map(|(at, probability)| (at as f64 * unit.seconds(), probability));
        Ok(TimeoutTime {
            distribution: Some(Distribution::new(points)),
            ..moments
        })
    }
}

/// Returns the distribution of the time at the end of a chain that starts at the times `before`.
fn time_after_chain(
    chain: &RtoChain,
    unit: &Unit,
    before: LatticeDistribution,
) -> LatticeDistribution {
    if chain.loss == 0.0 || chain.probability == 0.0 {
        return before;
    }
    let backoff = BackoffTimers::new(&chain.timers);
    let shifts: Vec<Shift> = backoff
        .timers_s()
        .iter()
        .map(|&timer_s| unit.shift(timer_s))
        .collect();
    // Times of a packet's first send, by the index of its timer.
    let mut firsts = vec![LatticeDistribution::default(); shifts.len()];
    if let Some(row) = firsts.get_mut(backoff.initial()) {
        *row = before.clone();
    }
    for _ in 0..chain.packets {
        firsts = next_packet_times(chain.loss, &backoff, &shifts, &firsts);
    }
    let mut times = LatticeDistribution::default();
    for row in &firsts {
        times.add(row, chain.probability, Shift::NONE);
    }
    times.add(&before, 1.0 - chain.probability, Shift::NONE);
    times
}

/// Returns the times of the next packet's first send, from those of this packet's.
fn next_packet_times(
    loss: f64,
    backoff: &BackoffTimers,
    shifts: &[Shift],
    firsts: &[LatticeDistribution],
) -> Vec<LatticeDistribution> {
    let mut resends = vec![LatticeDistribution::default(); firsts.len()];
    for (index, (first, &shift)) in firsts.iter().zip(shifts).enumerate() {
        let (to_here, above) = resends.split_at_mut(index + 1);
        let Some(resend) = to_here.last_mut() else {
            continue;
        };
        if index == backoff.max_index() {
            resend.add_repeated_timeouts(first, loss, shift);
        } else if let Some(next) = above.get_mut(backoff.next(index) - index - 1) {
            next.add(first, loss, shift);
            next.add(resend, loss, shift);
        }
    }
    let arrives = 1.0 - loss;
    let mut next_firsts: Vec<LatticeDistribution> = resends
        .into_iter()
        .map(|mut resend| {
            resend.scale(arrives);
            resend
        })
        .collect();
    if let Some(base) = next_firsts.get_mut(backoff.base) {
        for first in firsts {
            base.add(first, arrives, Shift::NONE);
        }
    }
    next_firsts.iter_mut().for_each(LatticeDistribution::trim);
    next_firsts
}
