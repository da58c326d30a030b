//! Congestion control: a state machine for each algorithm.
//!
//! Windows are whole packets, as in Linux. Each algorithm uses the fields of [`Acked`] that it needs.

mod bbr;
mod cubic;
pub(super) mod cubic_window;
mod dctcp;
mod windowed_max;

use super::Clock;
use super::sender::RateSample;
use crate::{CongestionControl, Stack};
use bbr::Bbr;
use cubic::Cubic;
use dctcp::Dctcp;

/// The value without a threshold: slow start continues.
pub(crate) const NO_SSTHRESH: u32 = u32::MAX;

/// A congestion window and its slow-start threshold, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub cwnd: u32,
    pub ssthresh: u32,
}

impl Window {
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows the window in slow start by `acked` packets. Returns those not used for it (RFC 5681, 3.1, by
    /// packets).
    fn slow_start(&mut self, acked: u32) -> u32 {
        let room = self.ssthresh.saturating_sub(self.cwnd);
        let used = acked.min(room);
        self.cwnd += used;
        acked - used
    }
}

/// The content of one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub now_ns: u64,
    /// Segments newly reported as arrived, by the cumulative number or by SACK blocks.
    pub delivered: u32,
    /// True if the cumulative number advanced and the window was used, so that it may grow.
    pub may_grow: bool,
    /// The first unacknowledged segment, and the next to be sent for the first time.
    pub acknowledged: u32,
    pub next: u32,
    /// The round-trip time of the latest sent segment that arrived, if it was sent only once.
    pub rtt_ns: Option<u64>,
    /// True if it reports ECN marks.
    pub congested: bool,
}

/// Additive increase: the window grows by one packet per number of acknowledged packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AdditiveIncrease {
    credit: u32,
}

impl AdditiveIncrease {
    /// Adds one packet to `cwnd` for each `acks_per_increment` acknowledged packets (Linux's
    /// `tcp_cong_avoid_ai`).
    fn add(&mut self, cwnd: &mut u32, acks_per_increment: u32, acked: u32) {
        if self.credit >= acks_per_increment {
            self.credit = 0;
            *cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= acks_per_increment {
            let more = self.credit / acks_per_increment;
            self.credit -= more * acks_per_increment;
            *cwnd += more;
        }
    }
}

/// A congestion control algorithm with its state.
#[derive(Clone, Debug)]
pub(crate) enum Congestion {
    /// Multiplicative decrease by the stack's factor, by default 0.5, and a packet per round trip
    /// (RFC 5681).
    Reno(AdditiveIncrease, MultiplicativeDecrease),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Bbr(Box<Bbr>),
}

/// β, the multiplicative decrease factor: the share of the window left after a loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MultiplicativeDecrease(f64);

impl MultiplicativeDecrease {
    fn apply(self, cwnd: u32) -> u32 {
        ((f64::from(cwnd) * self.0).floor() as u32).max(2)
    }

    /// Returns the acknowledged packets per unit of window growth. With it, the mean window equals that of
    /// Reno (RFC 9438, 4.3).
    fn acks_per_increment(self, cwnd: u32) -> f64 {
        f64::from(cwnd) / cubic_window::reno_alpha(self.0)
    }
}

impl Congestion {
    pub(crate) fn new(stack: &Stack, clock: Clock, phase: f64) -> Self {
        let decrease = MultiplicativeDecrease(stack.window_after_loss);
        match stack.congestion {
            CongestionControl::Reno => Self::Reno(AdditiveIncrease::default(), decrease),
            CongestionControl::Cubic => Self::Cubic(Cubic::new(clock, decrease)),
            CongestionControl::Dctcp => Self::Dctcp(Dctcp::default()),
            CongestionControl::Bbr => Self::Bbr(Box::new(Bbr::new(stack, phase))),
        }
    }

    /// Returns the slow-start threshold after a loss, or after ECN marks with `by_mark`.
    pub(crate) fn on_congestion_event(&mut self, window: Window, by_mark: bool) -> u32 {
        match self {
            Self::Reno(_, decrease) => decrease.apply(window.cwnd),
            Self::Cubic(cubic) => cubic.on_congestion_event(window.cwnd),
            Self::Dctcp(dctcp) if by_mark => dctcp.reduce(window.cwnd),
            // RFC 8257, 3.5
            Self::Dctcp(_) => (window.cwnd / 2).max(2),
            Self::Bbr(bbr) => {
                bbr.save_cwnd(window.cwnd);
                window.ssthresh
            }
        }
    }

    /// Resets the state after a retransmission timeout.
    pub(crate) fn on_rto(&mut self, next: u32) {
        match self {
            Self::Reno(increase, _) => *increase = AdditiveIncrease::default(),
            Self::Cubic(cubic) => cubic.on_rto(next),
            Self::Dctcp(dctcp) => dctcp.on_rto(),
            Self::Bbr(bbr) => bbr.on_rto(),
        }
    }

    /// Processes the end of an idle period of `idle_ns` with nothing in flight.
    pub(crate) fn on_idle_restart(&mut self, now_ns: u64, idle_ns: u64) {
        match self {
            Self::Reno(..) | Self::Dctcp(_) => {}
            Self::Cubic(cubic) => cubic.on_idle_restart(now_ns, idle_ns),
            Self::Bbr(bbr) => bbr.on_idle_restart(now_ns),
        }
    }

    /// Processes every acknowledgement, before the window changes.
    pub(crate) fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        match self {
            Self::Reno(..) | Self::Bbr(_) => {}
            Self::Cubic(cubic) => cubic.on_ack(window, acked),
            Self::Dctcp(dctcp) => dctcp.on_ack(acked),
        }
    }

    /// Grows the window, if it may grow.
    pub(crate) fn increase_window(&mut self, window: &mut Window, acked: &Acked) {
        if !acked.may_grow {
            return;
        }
        let rest = if window.in_slow_start() {
            window.slow_start(acked.delivered)
        } else {
            acked.delivered
        };
        if rest == 0 {
            return;
        }
        match self {
            Self::Reno(increase, decrease) => {
                let acks_per_increment =
                    decrease.acks_per_increment(window.cwnd).round().max(1.0) as u32;
                increase.add(&mut window.cwnd, acks_per_increment, rest);
            }
            Self::Cubic(cubic) => cubic.increase_window(window, rest, acked.now_ns),
            Self::Dctcp(dctcp) => dctcp.increase_window(window, rest),
            Self::Bbr(_) => {}
        }
    }

    /// Returns BBR, which sets window and pacing by itself at every acknowledgement; `None` for other
    /// algorithms.
    pub(crate) fn as_bbr(&mut self) -> Option<&mut Bbr> {
        match self {
            Self::Bbr(bbr) => Some(bbr),
            Self::Reno(..) | Self::Cubic(_) | Self::Dctcp(_) => None,
        }
    }

    /// Returns the pacing rate in packets per nanosecond and the number of packets per burst; `None`
    /// without pacing.
    pub(crate) fn pacing(&self) -> Option<(f64, u32)> {
        match self {
            Self::Bbr(bbr) => Some(bbr.pacing()),
            Self::Reno(..) | Self::Cubic(_) | Self::Dctcp(_) => None,
        }
    }
}

/// The input of [`Bbr`] at every acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub rate: RateSample,
    pub acked: Acked,
    /// Packets in flight after it, and before it.
    pub in_flight: u32,
    pub in_flight_before: u32,
    /// Segments newly marked lost.
    pub newly_lost: u32,
    /// The state of loss recovery.
    pub recovery: RecoveryPhase,
    pub srtt_ns: u64,
}

/// The state of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RecoveryPhase {
    None,
    Recovery,
    Timeout,
}
