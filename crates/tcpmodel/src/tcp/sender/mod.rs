//! The sending half of a connection.

mod classic;
mod linux;
mod pacer;
mod rate;
mod retransmission_queue;

use super::congestion::{NO_SSTHRESH, RecoveryState};
use super::{Ack, Clock};
use crate::Stack;
use classic::Classic;
use linux::LinuxSender;
#[cfg(test)]
pub(crate) use rate::Measured;
pub(crate) use rate::{Flight, RateSample};

/// The sending half of an end of a connection. It sends when acknowledgements arrive, when timers fire and
/// when new data is available. Segments to send are appended to `out`, which the caller empties.
#[derive(Clone, Debug)]
pub struct Sender(SenderKind);

/// The kinds of senders, by the feedback on losses.
#[derive(Clone, Debug)]
enum SenderKind {
    Classic(Box<Classic>),
    Linux(Box<LinuxSender>),
}

/// The observable state of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpState {
    /// The congestion window in packets.
    pub cwnd_pkts: f64,
    /// The slow-start threshold in packets; infinite before the first loss.
    pub ssthresh_pkts: f64,
    /// The receive window in packets as announced by the other end; `None` without a limit.
    pub receive_window_pkts: Option<u32>,
    /// The estimated number of packets in flight.
    pub in_flight: u32,
    /// The pacing rate in packets/s; `None` without pacing.
    pub pacing_pps: Option<f64>,
    /// The smoothed round-trip time in seconds; 0 before the first measurement.
    pub srtt_s: f64,
    /// The retransmission timeout in seconds, back-off included.
    pub rto_s: f64,
    /// True during loss recovery.
    pub in_recovery: bool,
}

/// The state of loss recovery of a sender with congestion controls, in the terms of Linux's `tcp_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossRecovery {
    /// The state.
    pub state: RecoveryState,
    /// The number of unacknowledged segments reported as received out of order.
    pub sacked: u32,
    /// The number of unacknowledged segments that are considered lost, sent again or not.
    pub lost: u32,
    /// The number of retransmissions in flight.
    pub retransmitted: u32,
}

impl Sender {
    /// Returns a sender by the rules of a stack, which the other end has, too. Segments have
    /// `segment_bytes`, and at most `peer_window_segments` of them are in flight. `phases`, from 0 to 1, are
    /// the positions of its two clocks at time 0: the timer clock and the clock of round-trip times.
    pub fn new(
        stack: &Stack,
        segment_bytes: u32,
        peer_window_segments: u32,
        phases: [f64; 2],
    ) -> Self {
        let [phase, ticks] = phases;
        let clock = Clock::new(stack, phase);
        let peer_window_segments =
            peer_window_segments.min(stack.peer_window_segments(segment_bytes));
        Self(if stack.has_congestion_controls() {
            SenderKind::Linux(Box::new(LinuxSender::new(
                stack,
                segment_bytes,
                peer_window_segments,
                clock,
                ticks,
            )))
        } else {
            SenderKind::Classic(Box::new(Classic::new(
                stack,
                peer_window_segments,
                clock,
                ticks,
            )))
        })
    }

    /// Notifies the sender of new data from the program, possibly after a pause.
    pub fn restart_after_idle(&mut self, now_ns: u64) {
        match &mut self.0 {
            SenderKind::Classic(sender) => sender.restart_after_idle(now_ns),
            SenderKind::Linux(sender) => sender.restart_after_idle(now_ns),
        }
    }

    /// Sets the number of segments available to send, counted from the first.
    pub fn offer(&mut self, segments: u32) {
        match &mut self.0 {
            SenderKind::Classic(sender) => sender.offer(segments),
            SenderKind::Linux(sender) => sender.offered = segments,
        }
    }

    /// Returns the number of segments available to send, counted from the first.
    pub fn offered(&self) -> u32 {
        match &self.0 {
            SenderKind::Classic(sender) => sender.offered(),
            SenderKind::Linux(sender) => sender.offered,
        }
    }

    /// Opens the connection with a window of `cwnd` packets and the slow-start threshold `ssthresh`, if
    /// there is one.
    pub fn open(&mut self, now_ns: u64, cwnd: u32, ssthresh: Option<u32>) {
        match &mut self.0 {
            SenderKind::Classic(sender) => {
                sender.open(f64::from(cwnd), ssthresh.map_or(f64::INFINITY, f64::from));
            }
            SenderKind::Linux(sender) => {
                sender.open(now_ns, cwnd, ssthresh.unwrap_or(NO_SSTHRESH));
            }
        }
    }

    /// Adds the round-trip time of a packet without data that was sent at `sent_ns` and is answered now.
    pub fn measure(&mut self, now_ns: u64, sent_ns: u64) {
        self.rtt_mut().measure(now_ns, sent_ns, false);
    }

    /// Sets a lower bound of the timeout in seconds, until a round-trip time is measured.
    pub fn set_min_initial_rto(&mut self, min_s: f64) {
        self.rtt_mut().set_min_initial_rto(min_s);
    }

    /// Returns true if retransmitted packets measure the round-trip time, too, because of timestamps.
    pub fn has_timestamps(&self) -> bool {
        self.rtt().has_timestamps()
    }

    /// Returns the retransmission timeout in nanoseconds.
    pub fn rto_ns(&self) -> u64 {
        self.rtt().timeout_ns()
    }

    fn rtt(&self) -> &super::RttEstimator {
        match &self.0 {
            SenderKind::Classic(sender) => &sender.rtt,
            SenderKind::Linux(sender) => &sender.rtt,
        }
    }

    fn rtt_mut(&mut self) -> &mut super::RttEstimator {
        match &mut self.0 {
            SenderKind::Classic(sender) => &mut sender.rtt,
            SenderKind::Linux(sender) => &mut sender.rtt,
        }
    }

    /// Sends all segments that may be sent.
    pub fn send(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        match &mut self.0 {
            SenderKind::Classic(sender) => sender.send(now_ns, out),
            SenderKind::Linux(sender) => sender.send(now_ns, out),
        }
    }

    /// Processes an acknowledgement, alone or with data.
    pub fn receive(&mut self, now_ns: u64, ack: &Ack, out: &mut Vec<u32>) {
        match &mut self.0 {
            SenderKind::Classic(sender) => {
                let echo_ns = ack.echo_ns.unwrap_or(now_ns);
                sender.receive(now_ns, ack.cumulative, ack.pure, echo_ns, out);
            }
            SenderKind::Linux(sender) => sender.receive(now_ns, ack, out),
        }
    }

    /// Returns the time of the next event of the sender: a timer or the end of a pacing delay.
    pub fn timer_ns(&self) -> u64 {
        match &self.0 {
            SenderKind::Classic(sender) => sender.timer_ns,
            SenderKind::Linux(sender) => sender.timer_ns(),
        }
    }

    /// Processes the event at [`timer_ns`](Self::timer_ns). Returns true if missing acknowledgements caused
    /// it.
    pub fn time_out(&mut self, now_ns: u64, out: &mut Vec<u32>) -> bool {
        match &mut self.0 {
            SenderKind::Classic(sender) => {
                sender.timeout(now_ns, out);
                true
            }
            SenderKind::Linux(sender) => sender.time_out(now_ns, out),
        }
    }

    /// Returns the first segment not acknowledged cumulatively (SND.UNA).
    pub fn acknowledged(&self) -> u32 {
        match &self.0 {
            SenderKind::Classic(sender) => sender.acknowledged,
            SenderKind::Linux(sender) => sender.acknowledged(),
        }
    }

    /// Returns the first segment never sent (SND.NXT).
    pub fn sent(&self) -> u32 {
        match &self.0 {
            SenderKind::Classic(sender) => sender.sent(),
            SenderKind::Linux(sender) => sender.next(),
        }
    }

    /// Returns the congestion window in packets.
    #[inline]
    pub fn cwnd_pkts(&self) -> f64 {
        match &self.0 {
            SenderKind::Classic(sender) => sender.cwnd(),
            SenderKind::Linux(sender) => f64::from(sender.window.cwnd),
        }
    }

    /// Returns the smoothed round-trip time in seconds; 0 before the first measurement.
    pub fn srtt_s(&self) -> f64 {
        1e-9 * self.rtt().srtt_ns() as f64
    }

    /// Returns the sum of all measured round-trip times in seconds, and their number.
    pub fn rtt_sum(&self) -> (f64, u64) {
        let (sum_ns, count) = self.rtt().sum();
        (1e-9 * sum_ns as f64, count)
    }

    /// Returns the maximum number of segments in flight that the other end allows.
    pub fn peer_window_segments(&self) -> u32 {
        match &self.0 {
            SenderKind::Classic(sender) => sender.peer_window_segments(),
            SenderKind::Linux(sender) => sender.peer_window_segments,
        }
    }

    /// Returns the number of segments in flight that the other end allows now, its announced receive window
    /// included.
    pub fn receive_window_segments(&self) -> u32 {
        match &self.0 {
            SenderKind::Classic(sender) => sender.peer_window_segments(),
            SenderKind::Linux(sender) => sender.receive_window_segments(),
        }
    }

    /// Returns true if the segments in flight fill the receive window of the other end.
    pub fn is_receive_window_limited(&self) -> bool {
        match &self.0 {
            SenderKind::Classic(_) => false,
            SenderKind::Linux(sender) => sender.is_receive_window_limited(),
        }
    }

    /// Returns true if the whole send buffer is in flight while the program waits for space.
    pub fn is_buffer_empty(&self) -> bool {
        match &self.0 {
            SenderKind::Classic(_) => false,
            SenderKind::Linux(sender) => sender.is_buffer_empty(),
        }
    }

    /// Returns the numbers of retransmission timeouts and of losses found otherwise.
    pub fn detected_losses(&self) -> (u64, u64) {
        match &self.0 {
            SenderKind::Classic(sender) => sender.detected_losses(),
            SenderKind::Linux(sender) => (sender.timeouts, sender.fast_retransmits),
        }
    }

    /// Returns the state of loss recovery; `None` for senders without congestion controls.
    pub fn loss_recovery(&self) -> Option<LossRecovery> {
        match &self.0 {
            SenderKind::Classic(_) => None,
            SenderKind::Linux(sender) => Some(sender.loss_recovery()),
        }
    }

    /// Returns whether the number of repair episodes so far is odd. An episode begins with a first retransmission. The
    /// episode of an echoed packet shows whether it was sent before (Eifel, RFC 3522). One bit replaces the timestamp
    /// where an acknowledgement has no space for it.
    pub fn has_odd_episode(&self) -> bool {
        match &self.0 {
            SenderKind::Classic(_) => false,
            SenderKind::Linux(sender) => sender.has_odd_episode(),
        }
    }

    /// Returns the observable state.
    pub fn state(&self) -> TcpState {
        let rtt = self.rtt();
        let (srtt_s, rto_s) = (self.srtt_s(), 1e-9 * rtt.timeout_ns() as f64);
        match &self.0 {
            SenderKind::Classic(sender) => TcpState {
                srtt_s,
                rto_s,
                ..sender.state()
            },
            SenderKind::Linux(sender) => TcpState {
                cwnd_pkts: f64::from(sender.window.cwnd),
                ssthresh_pkts: match sender.window.ssthresh {
                    NO_SSTHRESH => f64::INFINITY,
                    ssthresh => f64::from(ssthresh),
                },
                receive_window_pkts: sender.receive_window(),
                in_flight: sender.in_flight(),
                pacing_pps: sender.pacing_pps(),
                srtt_s,
                rto_s,
                in_recovery: sender.is_in_recovery(),
            },
        }
    }
}
