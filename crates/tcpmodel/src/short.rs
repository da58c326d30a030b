//! The latency model for short transfers of \[Short\] (Zhang, Wang & Keshav, *The implication of network
//! performance on service quality*).
//!
//! ```
//! use netflow_tcpmodel::short::{Exponent, Short};
//! use netflow_tcpmodel::{Stack, Transfer, rto::ExactMoments};
//!
//! let stack = Stack::builtin("linux-2.0.34").expect("it is built in");
//! let transfer = Transfer { packets: 20, loss: 0.05, delay_s: 0.05 };
//! let short = Short::new(&stack, &transfer, Exponent::Printed)?;
//! let latency = short.latency(&ExactMoments)?;
//! assert!((latency.mean_s - 2.544386).abs() < 1e-6);
//! assert!((latency.timeout_s - 1.249998).abs() < 1e-6);
//! # Ok::<(), netflow_tcpmodel::Error>(())
//! ```

use crate::rto::{Distribution, RtoChain, Solver, Timers};
use crate::{Error, Stack, Transfer};

/// The loss probability p in the exponent of the equation for the first window, w = 1 + (1−p)². The
/// exponent is 2 because both data and acknowledgement of the handshake must arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exponent {
    /// The effective loss, as printed in the paper. It counts the return path twice.
    #[default]
    Printed,
    /// The loss in one direction, which is consistent.
    OneWay,
}

/// All quantities of \[Short\] except the time spent in timeouts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Short {
    /// The transfer.
    pub transfer: Transfer,
    /// p: the probability that a packet or its acknowledgement is lost.
    pub effective_loss: f64,
    /// The round-trip time in seconds.
    pub rtt_s: f64,
    /// l = p·data/(1−p): the total number of lost packets.
    pub lost_pkts: f64,
    /// Q = min(1, 3/√(8/(3bp))): the probability that a loss is detected by a timeout.
    pub timeout_share: f64,
    /// n = l·Q: the number of timeouts.
    pub timeouts: f64,
    /// u = n(1−p): the number of series of timeouts.
    pub timeout_series: f64,
    /// v = u + 1: the number of slow starts.
    pub slow_starts: f64,
    /// e = (data + l)/v: packets per slow start.
    pub packets_per_slow_start: f64,
    /// r = 1 + 1/b: the growth factor of the window per round trip.
    pub growth: f64,
    /// w: the first window in packets. It is the stack's initial window, or one packet after a loss in the
    /// handshake.
    pub first_window_pkts: f64,
    /// v0, with the initial and the maximum timer.
    pub timers: Timers,
    /// v·log_r(e(r−1)/w + 1)·RTT: the total time of all slow starts, in seconds.
    pub transfer_s: f64,
}

impl Short {
    /// Computes the model for a transfer by a stack. It uses the stack's timers, initial window and b.
    ///
    /// # Errors
    /// A number of the transfer or the stack is outside its allowed range.
    pub fn new(stack: &Stack, transfer: &Transfer, exponent: Exponent) -> Result<Self, Error> {
        transfer.check()?;
        stack.check()?;
        let p = transfer.effective_loss();
        let b = f64::from(stack.segments_per_ack);
        let data = transfer.packets as f64;
        let lost_pkts = p * data / (1.0 - p);
        let timeout_share = timeout_share(p, b);
        let timeouts = lost_pkts * timeout_share;
        let timeout_series = timeouts * (1.0 - p);
        let slow_starts = timeout_series + 1.0;
        let packets_per_slow_start = (data + lost_pkts) / slow_starts;
        let growth = 1.0 + 1.0 / b;
        let unharmed = match exponent {
            Exponent::Printed => (1.0 - p).powi(2),
            Exponent::OneWay => (1.0 - transfer.loss).powi(2),
        };
        let first_window_pkts = unharmed * f64::from(stack.initial_window_pkts) + (1.0 - unharmed);
        let rtt_s = transfer.rtt_s();
        let round_trips =
            libm::log(packets_per_slow_start * (growth - 1.0) / first_window_pkts + 1.0)
                / libm::log(growth);
        Ok(Self {
            transfer: *transfer,
            effective_loss: p,
            rtt_s,
            lost_pkts,
            timeout_share,
            timeouts,
            timeout_series,
            slow_starts,
            packets_per_slow_start,
            growth,
            first_window_pkts,
            timers: Timers {
                initial_s: stack.initial_rto_s,
                base_s: stack.rto_s(rtt_s),
                max_s: stack.max_rto_s,
            },
            transfer_s: slow_starts * round_trips * rtt_s,
        })
    }

    /// Returns the three chains of sends that may time out, in order. The first is a packet of the
    /// handshake at loss p. The second is another one at loss pl, which takes place with probability pl.
    /// The third is the data.
    pub fn chains(&self) -> [RtoChain; 3] {
        let loss = self.transfer.loss;
        [
            RtoChain::new(1, self.effective_loss, self.timers),
            RtoChain {
                probability: loss,
                ..RtoChain::new(1, loss, self.timers)
            },
            RtoChain::new(self.transfer.packets, self.effective_loss, self.timers),
        ]
    }

    /// Returns the time of the handshake without timeouts, in seconds: 1.5 round-trip times.
    pub fn handshake_flight_s(&self) -> f64 {
        1.5 * self.rtt_s
    }

    /// Computes the latency of the transfer, with the time in timeouts found by `solver`.
    ///
    /// # Errors
    /// Those of the solver.
    pub fn latency(&self, solver: &dyn Solver) -> Result<Latency, Error> {
        let timeouts = solver.solve(&self.chains())?;
        let flight_s = self.handshake_flight_s();
        let (handshake, data) = timeouts.means_s.split_at(2.min(timeouts.means_s.len()));
        let moving_s = flight_s + self.transfer_s;
        Ok(Latency {
            mean_s: moving_s + timeouts.mean_s,
            std_s: timeouts.std_s,
            standard_error_s: timeouts.standard_error_s,
            handshake_s: flight_s + handshake.iter().sum::<f64>(),
            timeout_s: data.iter().sum(),
            transfer_s: self.transfer_s,
            trials: timeouts.trials,
            distribution: timeouts
                .distribution
                .map(|times| times.shifted_by(moving_s)),
        })
    }
}

/// The latency of a transfer and its components. `mean_s` is the sum of `handshake_s`, `timeout_s` and
/// `transfer_s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// The mean in seconds.
    pub mean_s: f64,
    /// The standard deviation in seconds. In this model only timeouts vary.
    pub std_s: f64,
    /// The standard error of the mean in seconds; 0 for an exact mean.
    pub standard_error_s: f64,
    /// The mean time of the handshake, its timeouts included, in seconds.
    pub handshake_s: f64,
    /// The mean time that the data spends in timeouts, in seconds.
    pub timeout_s: f64,
    /// The time of all slow starts, in seconds.
    pub transfer_s: f64,
    /// The number of Monte Carlo trials; 0 for exact solutions.
    pub trials: u64,
    /// The whole distribution, if the solver computes it.
    pub distribution: Option<Distribution>,
}

/// Returns Q of \[Short\]: 3 divided by the mean window √(8/(3bp)), at most 1.
pub(crate) fn timeout_share(loss: f64, segments_per_ack: f64) -> f64 {
    (3.0 * (3.0 * segments_per_ack * loss / 8.0).sqrt()).min(1.0)
}
