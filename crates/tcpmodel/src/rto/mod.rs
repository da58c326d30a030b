//! The time spent in retransmission timeouts: the Markov chain of \[Short\] Fig. 5, and three solvers.
//!
//! A packet's first send with timer r times out with the loss probability p. The timeout takes r, and the
//! packet is sent again with twice the timer, up to the maximum. If a packet arrives at its first send, the
//! next packet uses the measured timer. If it was sent again, nothing was measured (Karn's algorithm), and
//! the next packet's first send keeps the doubled timer.
//!
//! ```
//! use netflow_tcpmodel::rto::{ExactDistribution, ExactMoments, MonteCarlo, RtoChain, Solver, Timers};
//!
//! let timers = Timers { initial_s: 3.0, base_s: 0.3, max_s: 120.0 };
//! let chain = RtoChain::new(20, 0.0975, timers);
//!
//! let exact = ExactMoments.solve(&[chain])?;
//! assert!((exact.mean_s - 1.249998).abs() < 1e-6);
//!
//! let sampled = MonteCarlo { trials: 100_000, ..MonteCarlo::default() }.solve(&[chain])?;
//! assert!((sampled.mean_s - exact.mean_s).abs() < 4.0 * sampled.standard_error_s);
//!
//! let distribution = ExactDistribution.solve(&[chain])?.distribution.expect("it was computed");
//! assert!((distribution.quantile(0.5) - 0.6).abs() < 1e-9);
//! # Ok::<(), netflow_tcpmodel::Error>(())
//! ```

mod backoff;
mod chain;
mod lattice;
mod moments;
mod monte_carlo;
mod time_distribution;

pub use chain::{RtoChain, Timers};
pub use lattice::ExactDistribution;
pub use moments::ExactMoments;
pub use monte_carlo::{InterruptibleMonteCarlo, MonteCarlo};
pub use time_distribution::Distribution;

use crate::Error;

/// A method to compute the time spent in timeouts.
pub trait Solver {
    /// Solves `chains` in sequence.
    ///
    /// # Errors
    /// A number of a chain or of the solver is outside its allowed range.
    fn solve(&self, chains: &[RtoChain]) -> Result<TimeoutTime, Error>;
}

/// Half the width of a 95 % confidence interval, in standard errors.
pub const NORMAL_QUANTILE_975: f64 = 1.959_963_984_540_054;

/// The total time spent in the timeouts of chains.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeoutTime {
    /// The mean in seconds.
    pub mean_s: f64,
    /// The contribution of each chain to the mean, in seconds.
    pub means_s: Vec<f64>,
    /// The standard deviation in seconds.
    pub std_s: f64,
    /// The standard error of the mean in seconds; 0 for an exact mean.
    pub standard_error_s: f64,
    /// The number of Monte Carlo trials; 0 for exact solutions.
    pub trials: u64,
    /// The number of packet sends in all trials.
    pub sends: u64,
    /// The whole distribution, if the solver computes it.
    pub distribution: Option<Distribution>,
}

impl TimeoutTime {
    /// Returns a 95 % confidence interval of the mean, in seconds. For an exact mean both ends are the
    /// mean.
    pub fn interval_s(&self) -> (f64, f64) {
        let half_s = NORMAL_QUANTILE_975 * self.standard_error_s;
        (self.mean_s - half_s, self.mean_s + half_s)
    }
}
