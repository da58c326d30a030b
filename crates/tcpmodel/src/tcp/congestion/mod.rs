//! Congestion control: a state machine for each algorithm.
//!
//! An algorithm is one file that implements [`Algorithm`], and one line in the list below. Windows are whole packets,
//! as in Linux. Each algorithm uses the fields of [`Acked`] that it needs.

mod ack_aggregation;
mod bbr;
mod bbr3;
mod cubic;
pub(super) mod cubic_window;
mod dctcp;
mod prague;
mod reno;
mod windowed_max;

use super::Clock;
use super::sender::{Flight, RateSample};
use crate::{CongestionControl, EcnRules, Stack};
use bbr::Bbr;
use bbr3::Bbr3;
use cubic::Cubic;
use dctcp::Dctcp;
use prague::Prague;
use reno::Reno;

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
    /// Segments newly reported as marked (CE).
    pub marked: u32,
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

/// β, the multiplicative decrease factor: the share of the window left after a loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MultiplicativeDecrease(f64);

impl MultiplicativeDecrease {
    fn new(stack: &Stack) -> Self {
        Self(stack.window_after_loss)
    }

    fn apply(self, cwnd: u32) -> u32 {
        ((f64::from(cwnd) * self.0).floor() as u32).max(2)
    }

    /// Returns the acknowledged packets per unit of window growth. With it, the mean window equals that of
    /// Reno (RFC 9438, 4.3).
    fn acks_per_increment(self, cwnd: u32) -> f64 {
        f64::from(cwnd) / cubic_window::reno_alpha(self.0)
    }
}

/// A congestion control algorithm with its state.
pub(crate) trait Algorithm {
    /// Returns its use of ECN.
    fn ecn_rules(_stack: &Stack) -> EcnRules {
        EcnRules::OPTIONAL
    }

    /// Returns the initial state. `phase`, from 0 to 1, is random.
    fn new(stack: &Stack, clock: Clock, phase: f64) -> Self;

    /// Returns the slow-start threshold after a loss, or after ECN marks with `by_mark`.
    fn on_congestion_event(&mut self, window: Window, by_mark: bool) -> u32;

    /// Processes the start of fast recovery.
    fn on_recovery(&mut self, _window: Window) {}

    /// Resets the state after a retransmission timeout. `next` is the next segment to be sent for the first
    /// time.
    fn on_rto(&mut self, window: Window, next: u32);

    /// Processes the end of an idle period with nothing in flight.
    fn on_idle_restart(&mut self, _window: &mut Window, _idle: &IdlePeriod) {}

    /// Processes every acknowledgement, before the window changes.
    fn on_ack(&mut self, _window: &mut Window, _acked: &Acked) {}

    /// Grows the window in congestion avoidance by `acked` packets.
    fn increase_window(&mut self, _window: &mut Window, _acked: u32, _now_ns: u64) {}

    /// Returns the algorithm if it sets window and pacing itself (Linux: `cong_control`).
    fn as_window_control(&mut self) -> Option<&mut dyn WindowControl> {
        None
    }

    /// Returns the pacing rate in packets per nanosecond and the number of packets per burst; `None`
    /// without pacing.
    fn pacing(&self) -> Option<(f64, u32)> {
        None
    }
}

/// An algorithm that sets window and pacing itself at every acknowledgement.
pub(crate) trait WindowControl {
    /// Starts with the round-trip time of the handshake.
    fn open(&mut self, now_ns: u64, window: Window, rtt_ns: u64);

    /// Updates window and pacing rate after an acknowledgement.
    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery);

    /// Processes a segment that was marked lost.
    fn on_lost(&mut self, _window: Window, _lost: &Lost) {}

    /// Processes the loss of the last segment that a tail loss probe repaired.
    fn on_tail_loss(&mut self, _window: Window, _lost: &Lost) {}

    /// Restores the state after a spurious recovery (Linux: `undo_cwnd`). Other algorithms restore just the window.
    fn undo(&mut self, window: &mut Window);

    /// Returns true if the sending rate is below the capacity of the path on purpose.
    fn is_probing_rtt(&self) -> bool {
        false
    }
}

/// Defines [`Congestion`]: one variant for each [`CongestionControl`].
macro_rules! algorithms {
    ($($name:ident,)*) => {
        /// The congestion control of a connection.
        #[derive(Clone, Debug)]
        pub(crate) enum Congestion {
            $($name($name),)*
        }

        impl Stack {
            /// Returns how its congestion control uses ECN.
            pub fn ecn_rules(&self) -> EcnRules {
                match self.congestion {
                    $(CongestionControl::$name => $name::ecn_rules(self),)*
                }
            }
        }

        impl Algorithm for Congestion {
            fn new(stack: &Stack, clock: Clock, phase: f64) -> Self {
                match stack.congestion {
                    $(CongestionControl::$name => Self::$name($name::new(stack, clock, phase)),)*
                }
            }

            fn on_congestion_event(&mut self, window: Window, by_mark: bool) -> u32 {
                match self {
                    $(Self::$name(it) => it.on_congestion_event(window, by_mark),)*
                }
            }

            fn on_recovery(&mut self, window: Window) {
                match self {
                    $(Self::$name(it) => it.on_recovery(window),)*
                }
            }

            fn on_rto(&mut self, window: Window, next: u32) {
                match self {
                    $(Self::$name(it) => it.on_rto(window, next),)*
                }
            }

            fn on_idle_restart(&mut self, window: &mut Window, idle: &IdlePeriod) {
                match self {
                    $(Self::$name(it) => it.on_idle_restart(window, idle),)*
                }
            }

            fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
                match self {
                    $(Self::$name(it) => it.on_ack(window, acked),)*
                }
            }

            fn increase_window(&mut self, window: &mut Window, acked: u32, now_ns: u64) {
                match self {
                    $(Self::$name(it) => it.increase_window(window, acked, now_ns),)*
                }
            }

            fn as_window_control(&mut self) -> Option<&mut dyn WindowControl> {
                match self {
                    $(Self::$name(it) => it.as_window_control(),)*
                }
            }

            fn pacing(&self) -> Option<(f64, u32)> {
                match self {
                    $(Self::$name(it) => it.pacing(),)*
                }
            }
        }
    };
}

algorithms! {
    Reno,
    Cubic,
    Bbr,
    Bbr3,
    Dctcp,
    Prague,
}

impl Congestion {
    /// Grows the window, if it may grow.
    pub(crate) fn grow(&mut self, window: &mut Window, acked: &Acked) {
        if !acked.may_grow {
            return;
        }
        let rest = if window.in_slow_start() {
            window.slow_start(acked.delivered)
        } else {
            acked.delivered
        };
        if rest > 0 {
            self.increase_window(window, rest, acked.now_ns);
        }
    }

    /// Returns true if the algorithm sets the window itself.
    pub(crate) fn owns_window(&mut self) -> bool {
        self.as_window_control().is_some()
    }
}

/// The input of a [`WindowControl`] at every acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub rate: RateSample,
    pub acked: Acked,
    /// Packets in flight after it, and before it.
    pub in_flight: u32,
    pub in_flight_before: u32,
    /// Segments newly marked lost.
    pub newly_lost: u32,
    pub recovery: RecoveryState,
    pub srtt_ns: u64,
    /// True if the window limited transmission.
    pub is_cwnd_limited: bool,
    /// The time at which the pacer allows the next packet.
    pub next_departure_ns: u64,
    /// True if it acknowledges just the end of a retransmission by a tail loss probe, so that the original may have
    /// arrived.
    pub acks_tail_probe: bool,
}

/// The state of loss recovery, as in Linux (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecoveryState {
    /// Nothing is out of order.
    Open,
    /// Segments are out of order.
    Disorder,
    /// The window is being reduced because of ECN marks (CWR).
    Reduced,
    /// Fast recovery: losses are repaired without a timeout.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// A period with nothing in flight, which ends now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdlePeriod {
    pub now_ns: u64,
    /// The time since the last transmission.
    pub idle_ns: u64,
    /// True if the program had no data to send.
    pub is_app_limited: bool,
}

/// A segment that was just marked lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub now_ns: u64,
    /// The segments delivered until now.
    pub delivered: u64,
    pub flight: Flight,
}
