//! The time that retransmission timeouts take: the chain of \[Short\] Fig. 5, and three ways to
//! solve it.
//!
//! A packet's first send with timer r times out with the loss probability p; that takes r, and the
//! packet is sent again with twice the timer, at most the maximum. When a packet gets through at
//! its first send, the next one's timer is the measured one; when it had to be sent again, nothing
//! was measured (Karn) and the next packet's first send keeps the doubled timer.
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

mod chain;
mod distribution;
mod ladder;
mod lattice;
mod moments;
mod monte_carlo;

pub use chain::{RtoChain, Timers};
pub use distribution::Distribution;
pub use lattice::ExactDistribution;
pub use moments::ExactMoments;
pub use monte_carlo::{MonteCarlo, MonteCarloUnless};

use crate::Error;

/// A way to find out how long timeouts take.
pub trait Solver {
    /// Solves `chains` that follow one another.
    ///
    /// # Errors
    /// A number of a chain or of the solver is outside of what it may be.
    fn solve(&self, chains: &[RtoChain]) -> Result<TimeoutTime, Error>;
}

/// Half a 95 % confidence interval in standard errors.
pub const HALF_INTERVAL: f64 = 1.959_963_984_540_054;

/// How long the timeouts of chains take in all.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeoutTime {
    /// The mean in seconds.
    pub mean_s: f64,
    /// Every chain's share of the mean in seconds.
    pub means_s: Vec<f64>,
    /// The standard deviation in seconds.
    pub std_s: f64,
    /// The mean's standard error in seconds; 0 where it is exact.
    pub standard_error_s: f64,
    /// How often the chains were played; 0 where they were solved exactly.
    pub trials: u64,
    /// How many sends of packets that were.
    pub sends: u64,
    /// The whole distribution, if the solver finds it.
    pub distribution: Option<Distribution>,
}

impl TimeoutTime {
    /// A 95 % confidence interval of the mean, in seconds; nothing but the mean where it is exact.
    pub fn interval_s(&self) -> (f64, f64) {
        let half_s = HALF_INTERVAL * self.standard_error_s;
        (self.mean_s - half_s, self.mean_s + half_s)
    }
}
