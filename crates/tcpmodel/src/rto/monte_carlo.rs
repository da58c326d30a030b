//! A Monte Carlo solver for the chain of timeouts.

mod chain_sampler;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use chain_sampler::{ChainSample, ChainSampler};

use super::{Distribution, NORMAL_QUANTILE_975, RtoChain, Solver, TimeoutTime};
use crate::Error;
use crate::error::ensure;

/// Simulates the chains at random, as \[Short\] does, in parallel.
///
/// Every block of 1024 trials has its own random stream, chosen by the seed and the block number. Blocks
/// are merged in order, so the result is bit-identical for any number of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonteCarlo {
    /// The maximum number of trials, from 2 to a billion.
    pub trials: u64,
    /// The relative half-width of the 95 % confidence interval of the mean at which simulation stops; above
    /// 0 and below 1. It is checked after 16 384 trials and after each doubling.
    pub precision: Option<f64>,
    /// The random seed: the same seed gives the same trials.
    pub seed: u64,
}

impl Default for MonteCarlo {
    /// Returns a solver with a million trials.
    fn default() -> Self {
        Self {
            trials: 1_000_000,
            precision: None,
            seed: 1,
        }
    }
}

/// Trials that share a random stream.
const BLOCK: u64 = 1024;

/// Trials before the precision is first checked.
const FIRST_BATCH: u64 = 16 * BLOCK;

/// Trials kept for the distribution. More would not visibly improve it.
const MAX_SAMPLE: u64 = 1 << 20;

/// Trials between two checks of `stop`: at most one second of work.
const TRIALS_PER_STOP_CHECK: u64 = 256 * BLOCK;

impl Solver for MonteCarlo {
    fn solve(&self, chains: &[RtoChain]) -> Result<TimeoutTime, Error> {
        let (monte_carlo, stop) = (*self, &|| false);
        InterruptibleMonteCarlo { monte_carlo, stop }.solve(chains)
    }
}

/// A Monte Carlo solver that can be interrupted. Once `stop` returns true, it returns the result of the
/// trials until then.
#[derive(Clone, Copy)]
pub struct InterruptibleMonteCarlo<'a> {
    /// The solver's parameters.
    pub monte_carlo: MonteCarlo,
    /// The interrupt: returns true once the solver should stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Solver for InterruptibleMonteCarlo<'_> {
    fn solve(&self, chains: &[RtoChain]) -> Result<TimeoutTime, Error> {
        self.monte_carlo.solve_interruptible(chains, self.stop)
    }
}

impl MonteCarlo {
    fn solve_interruptible(
        &self,
        chains: &[RtoChain],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<TimeoutTime, Error> {
        chains.iter().try_for_each(RtoChain::check)?;
        self.check()?;
        let samplers: Vec<ChainSampler> = chains.iter().map(ChainSampler::new).collect();
        let mut all = Sums::new(chains.len());
        let mut kept_s = Vec::with_capacity(self.trials.min(MAX_SAMPLE) as usize);
        let mut batch = FIRST_BATCH;
        'batches: while all.trials < self.trials {
            let end = (all.trials + batch).min(self.trials);
            while all.trials < end {
                if all.trials > 0 && stop() {
                    break 'batches;
                }
                let from = all.trials / BLOCK;
                let to = (all.trials + TRIALS_PER_STOP_CHECK)
                    .min(end)
                    .div_ceil(BLOCK);
                let blocks: Vec<(Sums, Vec<f64>)> = (from..to)
                    .into_par_iter()
                    .map(|block| self.simulate_block(&samplers, block))
                    .collect();
                for (sums, times_s) in &blocks {
                    all.merge(sums);
                    kept_s.extend_from_slice(times_s);
                }
            }
            if let Some(precision) = self.precision
                && NORMAL_QUANTILE_975 * all.standard_error_s() <= precision * all.mean_s
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

    /// Simulates the trials of one block. Times are returned only for blocks that are kept.
    fn simulate_block(&self, samplers: &[ChainSampler], block: u64) -> (Sums, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(block);
        let first = block * BLOCK;
        let trials = BLOCK.min(self.trials - first);
        let keep = first < MAX_SAMPLE;
        let mut sums = Sums::new(samplers.len());
        let mut times_s = Vec::with_capacity(if keep { trials as usize } else { 0 });
        for _ in 0..trials {
            let mut time_s = 0.0;
            for (sampler, part) in samplers.iter().zip(&mut sums.chain_sums_s) {
                let ChainSample { timeouts_s, sends } = sampler.sample(&mut rng);
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
    /// Sum of squared deviations from the mean.
    squared_deviations: f64,
    /// The sum of each chain.
    chain_sums_s: Vec<f64>,
}

impl Sums {
    fn new(chains: usize) -> Self {
        Self {
            trials: 0,
            sends: 0,
            mean_s: 0.0,
            squared_deviations: 0.0,
            chain_sums_s: vec![0.0; chains],
        }
    }

    /// Adds a trial (Welford's algorithm).
    fn add(&mut self, time_s: f64) {
        self.trials += 1;
        let deviation = time_s - self.mean_s;
        self.mean_s += deviation / self.trials as f64;
        self.squared_deviations += deviation * (time_s - self.mean_s);
    }

    /// Merges the sums of two sets of trials (Chan's algorithm).
    fn merge(&mut self, other: &Sums) {
        let trials = self.trials + other.trials;
        let deviation = other.mean_s - self.mean_s;
        let share = other.trials as f64 / trials as f64;
        self.squared_deviations +=
            other.squared_deviations + deviation * deviation * share * self.trials as f64;
        self.mean_s += deviation * share;
        self.trials = trials;
        self.sends += other.sends;
        for (sum, part) in self.chain_sums_s.iter_mut().zip(&other.chain_sums_s) {
            *sum += part;
        }
    }

    fn std_s(&self) -> f64 {
        (self.squared_deviations / (self.trials as f64 - 1.0)).sqrt()
    }

    fn standard_error_s(&self) -> f64 {
        self.std_s() / (self.trials as f64).sqrt()
    }

    fn means_s(&self) -> Vec<f64> {
        let mean = |sum: &f64| sum / self.trials as f64;
        self.chain_sums_s.iter().map(mean).collect()
    }
}
