//! Playing the chain at random, over and over.

mod play;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use play::{Played, Player};

use super::{Distribution, HALF_INTERVAL, RtoChain, Solver, TimeoutTime};
use crate::Error;
use crate::error::ensure;

/// Plays the chains at random, as \[Short\] does, in parallel.
///
/// Every block of 1024 trials has its own stream of random numbers, named by the seed and the
/// block, and blocks are put together in their order: the answer is the same bits for any number
/// of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonteCarlo {
    /// At most so many trials: from 2 to a billion.
    pub trials: u64,
    /// Stop as soon as half the 95 % confidence interval is at most this share of the mean; above
    /// 0. It is looked at after 16 384 trials and whenever their number has doubled.
    pub precision: Option<f64>,
    /// Names the random numbers: the same seed gives the same trials.
    pub seed: u64,
}

impl Default for MonteCarlo {
    /// A million trials.
    fn default() -> Self {
        Self {
            trials: 1_000_000,
            precision: None,
            seed: 1,
        }
    }
}

/// So many trials share a stream.
const BLOCK: u64 = 1024;

/// So many trials before the precision is looked at.
const FIRST_BATCH: u64 = 16 * BLOCK;

/// So many trials make the distribution; that of more would be no better to the eye.
const KEPT: u64 = 1 << 20;

/// So many trials between two looks at whether to stop: no more than a second's work.
const STRETCH: u64 = 256 * BLOCK;

impl Solver for MonteCarlo {
    fn solve(&self, chains: &[RtoChain]) -> Result<TimeoutTime, Error> {
        let (monte_carlo, stop) = (*self, &|| false);
        MonteCarloUnless { monte_carlo, stop }.solve(chains)
    }
}

/// The same, but once `stop` says so no more trials are played, and the answer is that of those until then.
#[derive(Clone, Copy)]
pub struct MonteCarloUnless<'a> {
    /// What is played.
    pub monte_carlo: MonteCarlo,
    /// Whether somebody wants it to end.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Solver for MonteCarloUnless<'_> {
    fn solve(&self, chains: &[RtoChain]) -> Result<TimeoutTime, Error> {
        self.monte_carlo.solve_unless(chains, self.stop)
    }
}

impl MonteCarlo {
    fn solve_unless(
        &self,
        chains: &[RtoChain],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<TimeoutTime, Error> {
        chains.iter().try_for_each(RtoChain::check)?;
        self.check()?;
        let players: Vec<Player> = chains.iter().map(Player::new).collect();
        let mut all = Sums::new(chains.len());
        let mut kept_s = Vec::with_capacity(self.trials.min(KEPT) as usize);
        let mut batch = FIRST_BATCH;
        'batches: while all.trials < self.trials {
            let end = (all.trials + batch).min(self.trials);
            while all.trials < end {
                if all.trials > 0 && stop() {
                    break 'batches;
                }
                let from = all.trials / BLOCK;
                let to = (all.trials + STRETCH).min(end).div_ceil(BLOCK);
                let blocks: Vec<(Sums, Vec<f64>)> = (from..to)
                    .into_par_iter()
                    .map(|block| self.play(&players, block))
                    .collect();
                for (sums, times_s) in &blocks {
                    all.merge(sums);
                    kept_s.extend_from_slice(times_s);
                }
            }
            if let Some(precision) = self.precision
                && HALF_INTERVAL * all.standard_error_s() <= precision * all.mean_s
            {
                break;
            }
            batch = all.trials;
        }
        kept_s.par_sort_unstable_by(f64::total_cmp);
        Ok(TimeoutTime {
            mean_s: all.mean_s,
            std_s: all.std_s(),
            standard_error_s: all.standard_error_s(),
            trials: all.trials,
            sends: all.sends,
            distribution: Some(Distribution::of_sorted(&kept_s)),
            means_s: all.means_s(),
        })
    }

    fn check(&self) -> Result<(), Error> {
        ensure(
            (2..=1_000_000_000).contains(&self.trials),
            "number of trials",
            self.trials as f64,
            "2 to a billion",
        )?;
        match self.precision {
            None => Ok(()),
            Some(precision) => ensure(
                precision > 0.0 && precision < 1.0,
                "precision",
                precision,
                "above 0 and below 1",
            ),
        }
    }

    /// Plays the trials of one block; returns the times only of those that are kept.
    fn play(&self, players: &[Player], block: u64) -> (Sums, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(block);
        let first = block * BLOCK;
        let trials = BLOCK.min(self.trials - first);
        let keep = first < KEPT;
        let mut sums = Sums::new(players.len());
        let mut times_s = Vec::with_capacity(if keep { trials as usize } else { 0 });
        for _ in 0..trials {
            let mut time_s = 0.0;
            for (player, part) in players.iter().zip(&mut sums.parts_s) {
                let Played { timeouts_s, sends } = player.play(&mut rng);
                *part += timeouts_s;
                time_s += timeouts_s;
                sums.sends += sends;
            }
            sums.add(time_s);
            if keep {
                times_s.push(time_s);
            }
        }
        (sums, times_s)
    }
}

/// Running sums over trials.
struct Sums {
    trials: u64,
    sends: u64,
    mean_s: f64,
    /// Of squared deviations from the mean.
    squares: f64,
    /// Every chain's sum.
    parts_s: Vec<f64>,
}

impl Sums {
    fn new(chains: usize) -> Self {
        Self {
            trials: 0,
            sends: 0,
            mean_s: 0.0,
            squares: 0.0,
            parts_s: vec![0.0; chains],
        }
    }

    /// Welford's update.
    fn add(&mut self, time_s: f64) {
        self.trials += 1;
        let deviation = time_s - self.mean_s;
        self.mean_s += deviation / self.trials as f64;
        self.squares += deviation * (time_s - self.mean_s);
    }

    /// Chan's: the sums of both.
    fn merge(&mut self, other: &Sums) {
        let trials = self.trials + other.trials;
        let deviation = other.mean_s - self.mean_s;
        let share = other.trials as f64 / trials as f64;
        self.squares += other.squares + deviation * deviation * share * self.trials as f64;
        self.mean_s += deviation * share;
        self.trials = trials;
        self.sends += other.sends;
        for (sum, part) in self.parts_s.iter_mut().zip(&other.parts_s) {
            *sum += part;
        }
    }

    fn std_s(&self) -> f64 {
        (self.squares / (self.trials as f64 - 1.0)).sqrt()
    }

    fn standard_error_s(&self) -> f64 {
        self.std_s() / (self.trials as f64).sqrt()
    }

    fn means_s(&self) -> Vec<f64> {
        let mean = |sum: &f64| sum / self.trials as f64;
        self.parts_s.iter().map(mean).collect()
    }
}
