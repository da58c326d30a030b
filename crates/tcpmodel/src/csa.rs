//! The latency model \[CSA\] (Cardwell, Savage & Anderson, *Modeling TCP Latency*, 2000). It adds the
//! handshake, one slow start until the first loss, the recovery from that loss, and congestion avoidance
//! for the rest.

use crate::error::ensure;
use crate::steady::{Path, pftk_throughput, timeout_series, timeout_share};
use crate::transfer::ensure_packets;
use crate::{Error, Stack, Transfer};

/// The input of \[CSA\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Csa {
    /// d: packets to transfer, from 1 to 10 million.
    pub packets: u64,
    /// p: the loss probability of data, and of the handshake's packets in each direction; from 0 to below
    /// 0.5.
    pub loss: f64,
    /// The round-trip time in seconds.
    pub rtt_s: f64,
    /// T0: the duration of the retransmission timer in seconds.
    pub timeout_s: f64,
    /// Ts: the first timer of a SYN in seconds.
    pub syn_timeout_s: f64,
    /// b: segments per acknowledgement.
    pub segments_per_ack: f64,
    /// w1: the first window in packets, at least 1.
    pub initial_window_pkts: f64,
    /// Wmax: the window limit in packets; `None` without a limit.
    pub window_limit_pkts: Option<f64>,
}

/// The result of \[CSA\] for a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CsaLatency {
    /// The time of the handshake in seconds, its timeouts included.
    pub handshake_s: f64,
    /// d_ss: packets sent in slow start.
    pub slow_start_pkts: f64,
    /// W_ss: the window at the end of slow start in packets, if nothing limits it.
    pub slow_start_window_pkts: f64,
    /// T_ss: the time of slow start in seconds.
    pub slow_start_s: f64,
    /// l_ss: the probability of at least one loss.
    pub loss_probability: f64,
    /// T_loss: the mean time of the recovery from that loss in seconds.
    pub recovery_s: f64,
    /// The fraction of `recovery_s` spent in timeouts, in seconds.
    pub timeout_s: f64,
    /// d_ca: packets sent in congestion avoidance.
    pub avoidance_pkts: f64,
    /// T_ca: the time of congestion avoidance in seconds, at the throughput of \[PFTK\].
    pub avoidance_s: f64,
}

impl CsaLatency {
    /// Returns the total latency in seconds.
    pub fn total_s(&self) -> f64 {
        self.handshake_s + self.slow_start_s + self.recovery_s + self.avoidance_s
    }
}

impl Csa {
    /// Returns the model of a transfer by a stack, without a window limit. It uses the stack's timers and
    /// b. The first window is one packet, as in the comparison of \[Short\].
    ///
    /// `loss` is [`Transfer::loss`] ("low") or [`Transfer::effective_loss`] ("high").
    pub fn new(stack: &Stack, transfer: &Transfer, loss: f64) -> Self {
        Self {
            packets: transfer.packets,
            loss,
            rtt_s: transfer.rtt_s(),
            timeout_s: stack.rto_s(transfer.rtt_s()),
            syn_timeout_s: stack.initial_rto_s,
            segments_per_ack: f64::from(stack.segments_per_ack),
            initial_window_pkts: 1.0,
            window_limit_pkts: None,
        }
    }

    /// Computes the latency.
    ///
    /// # Errors
    /// A number is outside its allowed range. A loss of 0.5 or more is rejected because the handshake then
    /// has no finite mean.
    pub fn solve(&self) -> Result<CsaLatency, Error> {
        self.check()?;
        let (p, d, rtt_s) = (self.loss, self.packets as f64, self.rtt_s);
        let loss_probability = -libm::expm1(d * libm::log1p(-p));
        let slow_start_pkts = if p == 0.0 {
            d
        } else {
            (loss_probability * (1.0 - p) / p + 1.0).min(d)
        };
        let growth = 1.0 + 1.0 / self.segments_per_ack;
        let first = self.initial_window_pkts;
        let slow_start_window_pkts = slow_start_pkts * (growth - 1.0) / growth + first / growth;
        let limit = self.window_limit_pkts.unwrap_or(f64::INFINITY);
        let round_trips = if slow_start_window_pkts <= limit {
            libm::log(slow_start_pkts * (growth - 1.0) / first + 1.0) / libm::log(growth)
        } else {
            let until_limit_pkts = (growth * limit - first) / (growth - 1.0);
            libm::log(limit / first) / libm::log(growth)
                + 1.0
                + (slow_start_pkts - until_limit_pkts) / limit
        };
        let (recovery_s, timeout_s) = self.recovery(loss_probability, slow_start_window_pkts);
        let avoidance_pkts = d - slow_start_pkts;
        let avoidance_s = if avoidance_pkts > 0.0 {
            let path = Path {
                loss: p,
                rtt_s,
                timeout_s: self.timeout_s,
                segments_per_ack: self.segments_per_ack,
            };
            path.check()?;
            avoidance_pkts / pftk_throughput(&path, limit)
        } else {
            0.0
        };
        Ok(CsaLatency {
            handshake_s: handshake_s(p, rtt_s, self.syn_timeout_s),
            slow_start_pkts,
            slow_start_window_pkts,
            slow_start_s: rtt_s * round_trips,
            loss_probability,
            recovery_s,
            timeout_s,
            avoidance_pkts,
            avoidance_s,
        })
    }

    /// Returns T_loss, and the time of it that is spent in timeouts, in seconds.
    fn recovery(&self, loss_probability: f64, window_pkts: f64) -> (f64, f64) {
        if loss_probability == 0.0 {
            return (0.0, 0.0);
        }
        let share = timeout_share(self.loss, window_pkts);
        let timeout_s = loss_probability * share * timeout_series(self.loss) * self.timeout_s;
        let fast_s = loss_probability * (1.0 - share) * self.rtt_s;
        (timeout_s + fast_s, timeout_s)
    }

    fn check(&self) -> Result<(), Error> {
        ensure_packets(self.packets)?;
        ensure_loss(self.loss)?;
        let times = [
            ("round-trip time (s)", self.rtt_s),
            ("timeout (s)", self.timeout_s),
            ("SYN timeout (s)", self.syn_timeout_s),
        ];
        for (what, time_s) in times {
            ensure((0.0..=1e6).contains(&time_s), what, time_s, "0 to 1e6 s")?;
        }
        let b = self.segments_per_ack;
        let good = (1.0..=255.0).contains(&b);
        ensure(good, "segments per acknowledgement", b, "1 to 255")?;
        let first = self.initial_window_pkts;
        let limit = self.window_limit_pkts.unwrap_or(f64::INFINITY);
        let good = (1.0..=1e9).contains(&first);
        ensure(good, "initial window (packets)", first, "1 to 1e9 packets")?;
        let allowed = "the initial window or more";
        ensure(limit >= first, "window limit (packets)", limit, allowed)
    }
}

/// Checks that the loss is one at which the handshake of \[CSA\] has a finite mean.
pub(crate) fn ensure_loss(loss: f64) -> Result<(), Error> {
    let allowed =
        "0 to below 0.5, because the mean duration of the handshake is infinite from 0.5 on";
    ensure(
        (0.0..0.5).contains(&loss),
        "loss probability",
        loss,
        allowed,
    )
}

/// Returns the mean time of the handshake in seconds, RTT + Ts·(2(1−p)/(1−2p) − 2), with the same loss in
/// both directions.
pub(crate) fn handshake_s(loss: f64, rtt_s: f64, syn_timeout_s: f64) -> f64 {
    rtt_s + syn_timeout_s * 2.0 * loss / (1.0 - 2.0 * loss)
}
