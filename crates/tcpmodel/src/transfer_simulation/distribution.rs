//! The distribution of transfer times over trials.

use super::trial::TransferResult;

/// The distribution of the time of a transfer, over many trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// The times of all trials in seconds, ascending.
    sorted_s: Vec<f64>,
    mean_s: f64,
    std_s: f64,
    handshake_s: f64,
    timeout_s: f64,
    timeouts: f64,
    retransmissions: f64,
}

impl Distribution {
    /// Returns the distribution of at least two transfers.
    pub(super) fn of(taken: &[TransferResult]) -> Self {
        let trials = taken.len() as f64;
        let mean = |of: fn(&TransferResult) -> f64| taken.iter().map(of).sum::<f64>() / trials;
        let mean_s = mean(|taken| taken.latency_s);
        let squares: f64 = taken
            .iter()
            .map(|taken| (taken.latency_s - mean_s).powi(2))
            .sum();
        let mut sorted_s: Vec<f64> = taken.iter().map(|taken| taken.latency_s).collect();
        sorted_s.sort_unstable_by(f64::total_cmp);
        Self {
            mean_s,
            std_s: (squares / (trials - 1.0)).sqrt(),
            sorted_s,
            handshake_s: mean(|taken| 1e-9 * taken.recovery.handshake_ns as f64),
            timeout_s: mean(|taken| 1e-9 * taken.recovery.timeout_ns as f64),
            timeouts: mean(|taken| f64::from(taken.recovery.timeouts)),
            retransmissions: mean(|taken| f64::from(taken.recovery.retransmissions)),
        }
    }

    /// Returns the number of trials.
    pub fn trials(&self) -> usize {
        self.sorted_s.len()
    }

    /// Returns the mean, in seconds: [`handshake_s`](Self::handshake_s) + [`timeout_s`](Self::timeout_s) +
    /// [`transfer_s`](Self::transfer_s).
    pub fn mean_s(&self) -> f64 {
        self.mean_s
    }

    /// Returns the standard deviation of one transfer, in seconds.
    pub fn std_s(&self) -> f64 {
        self.std_s
    }

    /// Returns the standard error of the mean, in seconds.
    pub fn standard_error_s(&self) -> f64 {
        self.std_s / (self.sorted_s.len() as f64).sqrt()
    }

    /// Returns the quantile `q` (from 0 to 1) of the transfer time, in seconds.
    pub fn quantile(&self, q: f64) -> f64 {
        netflow_units::quantile(&self.sorted_s, q)
    }

    /// Returns the times of all trials in seconds, ascending.
    pub fn sorted_s(&self) -> &[f64] {
        &self.sorted_s
    }

    /// Returns the mean time until the end that opens the connection may send data, in seconds.
    pub fn handshake_s(&self) -> f64 {
        self.handshake_s
    }

    /// Returns the mean time in which the data waited for retransmission timers, in seconds.
    pub fn timeout_s(&self) -> f64 {
        self.timeout_s
    }

    /// Returns the mean transfer time without handshake and timeouts, in seconds.
    pub fn transfer_s(&self) -> f64 {
        self.mean_s - self.handshake_s - self.timeout_s
    }

    /// Returns the mean number of timeouts after the handshake.
    pub fn timeouts(&self) -> f64 {
        self.timeouts
    }

    /// Returns the mean number of data packets sent again.
    pub fn retransmissions(&self) -> f64 {
        self.retransmissions
    }
}
