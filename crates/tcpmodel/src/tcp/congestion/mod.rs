//! How the congestion window moves: one state machine for each kind of congestion control.
//!
//! Windows are whole packets, as in Linux. What an acknowledgement brought is one [`Round`] value;
//! each control takes from it what it knows how to use.

mod bandwidth;
mod bbr;
mod cubic;
pub(super) mod curve;
mod dctcp;

use super::Clock;
use super::sender::RateSample;
use crate::{CongestionControl, Stack};
use bbr::Bbr;
use cubic::Cubic;
use dctcp::Dctcp;

/// No threshold: slow start goes on.
pub(crate) const NO_SSTHRESH: u32 = u32::MAX;

/// A window and the slow start threshold beside it, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub cwnd: u32,
    pub ssthresh: u32,
}

impl Window {
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start: of so many packets acknowledged, those that were not used for it (RFC 5681, 3.1, by
    /// packets).
    fn slow_start(&mut self, acked: u32) -> u32 {
        let room = self.ssthresh.saturating_sub(self.cwnd);
        let used = acked.min(room);
        self.cwnd += used;
        acked - used
    }
}

/// What one acknowledgement brought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub now_ns: u64,
    /// Segments known to have arrived only now, by the cumulative number or by blocks.
    pub delivered: u32,
    /// Whether the cumulative number moved, and whether the window was used, so that it may grow.
    pub may_grow: bool,
    /// All segments before this are acknowledged; the next to be sent for the first time.
    pub acknowledged: u32,
    pub next: u32,
    /// The round trip of the segment sent last among those that arrived, if it was sent only once.
    pub rtt_ns: Option<u64>,
    /// It said that what it answers had met congestion.
    pub congested: bool,
}

/// The additive increase of Reno's kind: so many acknowledged packets for each one more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Increase {
    credit: u32,
}

impl Increase {
    /// As Linux's `tcp_cong_avoid_ai`.
    fn add(&mut self, cwnd: &mut u32, for_one: u32, acked: u32) {
        if self.credit >= for_one {
            self.credit = 0;
            *cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= for_one {
            let more = self.credit / for_one;
            self.credit -= more * for_one;
            *cwnd += more;
        }
    }
}

/// A congestion control.
#[derive(Clone, Debug)]
pub(crate) enum Congestion {
    /// Halves, or what the stack says, and adds a packet a round trip (RFC 5681).
    Reno(Increase, Share),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Bbr(Box<Bbr>),
}

/// The share of the window that a loss leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share(f64);

impl Share {
    fn of(self, cwnd: u32) -> u32 {
        ((f64::from(cwnd) * self.0).floor() as u32).max(2)
    }

    /// Packets acknowledged for one more, such that the mean window is that of halving and one a round
    /// trip.
    fn for_one(self, cwnd: u32) -> f64 {
        f64::from(cwnd) / curve::reno_alpha(self.0)
    }
}

impl Congestion {
    pub(crate) fn new(stack: &Stack, clock: Clock, phase: f64) -> Self {
        let share = Share(stack.window_after_loss);
        match stack.congestion {
            CongestionControl::Reno => Self::Reno(Increase::default(), share),
            CongestionControl::Cubic => Self::Cubic(Cubic::new(clock, share)),
            CongestionControl::Dctcp => Self::Dctcp(Dctcp::default()),
            CongestionControl::Bbr => Self::Bbr(Box::new(Bbr::new(stack, phase))),
        }
    }

    /// The slow start threshold that a loss leaves, or packets that met congestion.
    pub(crate) fn lose(&mut self, window: Window, by_mark: bool) -> u32 {
        match self {
            Self::Reno(_, share) => share.of(window.cwnd),
            Self::Cubic(cubic) => cubic.lose(window.cwnd),
            Self::Dctcp(dctcp) if by_mark => dctcp.reduce(window.cwnd),
            // RFC 8257, 3.5
            Self::Dctcp(_) => (window.cwnd / 2).max(2),
            Self::Bbr(bbr) => {
                bbr.save_cwnd(window.cwnd);
                window.ssthresh
            }
        }
    }

    /// A retransmission timeout: little is known any more.
    pub(crate) fn time_out(&mut self, next: u32) {
        match self {
            Self::Reno(increase, _) => *increase = Increase::default(),
            Self::Cubic(cubic) => cubic.time_out(next),
            Self::Dctcp(dctcp) => dctcp.time_out(),
            Self::Bbr(bbr) => bbr.time_out(),
        }
    }

    /// Something is sent after so long a time with nothing under way.
    pub(crate) fn resume(&mut self, now_ns: u64, idle_ns: u64) {
        match self {
            Self::Reno(..) | Self::Dctcp(_) => {}
            Self::Cubic(cubic) => cubic.resume(now_ns, idle_ns),
            Self::Bbr(bbr) => bbr.resume(now_ns),
        }
    }

    /// What every acknowledgement tells, before the window moves.
    pub(crate) fn learn(&mut self, window: &mut Window, acked: &Acked) {
        match self {
            Self::Reno(..) | Self::Bbr(_) => {}
            Self::Cubic(cubic) => cubic.learn(window, acked),
            Self::Dctcp(dctcp) => dctcp.learn(acked),
        }
    }

    /// The window grows, if it may.
    pub(crate) fn grow(&mut self, window: &mut Window, acked: &Acked) {
        if !acked.may_grow {
            return;
        }
        let rest = match window.in_slow_start() {
            true => window.slow_start(acked.delivered),
            false => acked.delivered,
        };
        if rest == 0 {
            return;
        }
        match self {
            Self::Reno(increase, share) => {
                let for_one = share.for_one(window.cwnd).round().max(1.0) as u32;
                increase.add(&mut window.cwnd, for_one, rest);
            }
            Self::Cubic(cubic) => cubic.grow(window, rest, acked.now_ns),
            Self::Dctcp(dctcp) => dctcp.grow(window, rest),
            Self::Bbr(_) => {}
        }
    }

    /// Of a control that sets window and pacing by itself at every acknowledgement: what it is.
    pub(crate) fn model(&mut self) -> Option<&mut Bbr> {
        match self {
            Self::Bbr(bbr) => Some(bbr),
            Self::Reno(..) | Self::Cubic(_) | Self::Dctcp(_) => None,
        }
    }

    /// How fast packets may leave, in packets per nanosecond, and how many together; none for a sender that
    /// sends all it may at once.
    pub(crate) fn pacing(&self) -> Option<(f64, u32)> {
        match self {
            Self::Bbr(bbr) => Some(bbr.pacing()),
            Self::Reno(..) | Self::Cubic(_) | Self::Dctcp(_) => None,
        }
    }
}

/// What [`Bbr`] is told at every acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub rate: RateSample,
    pub acked: Acked,
    /// Packets under way after it, and before it.
    pub in_flight: u32,
    pub in_flight_before: u32,
    /// Segments found to be lost by it.
    pub newly_lost: u32,
    /// Whether losses are being repaired, and whether after a timeout.
    pub repairs: Repairs,
    pub srtt_ns: u64,
}

/// Whether losses are being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Repairs {
    None,
    Recovery,
    Timeout,
}
