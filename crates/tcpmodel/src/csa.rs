//! \[CSA\] (Cardwell, Savage & Anderson, *Modeling TCP Latency*, 2000): handshake, one slow start
//! until the first loss, its recovery, and congestion avoidance for the rest.

use crate::error::ensure;
use crate::steady::{Path, pftk_throughput, timeout_series, timeout_share};
use crate::transfer::ensure_packets;
use crate::{Error, Stack, Transfer};

/// A transfer as \[CSA\] sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Csa {
    /// d: packets to transfer, 1 to 10 million.
    pub packets: u64,
    /// p: the loss probability of data, and of the handshake's packets each way; from 0 to below
    /// 0.5.
    pub loss: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
    /// T0: length of the retransmission timer in seconds.
    pub timeout_s: f64,
    /// Ts: a SYN's first timer in seconds.
    pub syn_timeout_s: f64,
    /// b: segments that an acknowledgement covers.
    pub segments_per_ack: f64,
    /// w1: the first window in packets, 1 or more.
    pub initial_window_pkts: f64,
    /// Wmax: the window limit in packets.
    pub window_limit_pkts: Option<f64>,
}

/// What \[CSA\] computes for a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CsaLatency {
    /// The handshake in seconds, its timeouts included.
    pub handshake_s: f64,
    /// d_ss: packets of the slow start.
    pub slow_start_pkts: f64,
    /// W_ss: the window at the slow start's end in packets, if nothing limits it.
    pub slow_start_window_pkts: f64,
    /// T_ss: the slow start in seconds.
    pub slow_start_s: f64,
    /// l_ss: the probability that there is a loss at all.
    pub loss_probability: f64,
    /// T_loss: the recovery from that loss in seconds.
    pub recovery_s: f64,
    /// The part of `recovery_s` that is timeouts.
    pub timeout_s: f64,
    /// d_ca: packets after that.
    pub avoidance_pkts: f64,
    /// T_ca: their time in seconds, at \[PFTK\]'s throughput.
    pub avoidance_s: f64,
}

impl CsaLatency {
    /// The whole in seconds.
    pub fn total_s(&self) -> f64 {
        self.handshake_s + self.slow_start_s + self.recovery_s + self.avoidance_s
    }
}

impl Csa {
    /// A transfer by a stack, without window limit; of the stack, the timers and b count. The first
    /// window is one packet, as in \[Short\]'s comparison.
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

    /// The latency.
    ///
    /// # Errors
    /// A number is outside of what it may be; a loss of 0.5 or more, for which the model has no
    /// handshake.
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

    /// T_loss, and the part of it that is timeouts.
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

/// A loss at which the handshake of \[CSA\] has a mean.
pub(crate) fn ensure_loss(loss: f64) -> Result<(), Error> {
    let allowed = "0 to below 0.5: beyond, the model's handshake never ends";
    ensure(
        (0.0..0.5).contains(&loss),
        "loss probability",
        loss,
        allowed,
    )
}

/// RTT + Ts·(2(1−p)/(1−2p) − 2) in seconds: the handshake, with the same loss both ways.
pub(crate) fn handshake_s(loss: f64, rtt_s: f64, syn_timeout_s: f64) -> f64 {
    rtt_s + syn_timeout_s * 2.0 * loss / (1.0 - 2.0 * loss)
}
