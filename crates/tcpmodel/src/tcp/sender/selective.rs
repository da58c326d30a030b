//! The sender of Linux 6: RACK and tail loss probes (RFC 8985), proportional rate reduction (RFC 6937) and
//! F-RTO (RFC 5682). Without selective acknowledgements from the other end, it follows Linux's NewReno.

mod counted;
mod lost;
mod marks;
mod send_buffer;
mod state;
mod timers;
mod usage;
mod window;

use super::super::congestion::{Congestion, NO_SSTHRESH, Window};
use super::super::ranges::Ranges;
use super::super::{Ack, Clock, NEVER, Receiver, RttEstimator};
use super::pause::Pause;
use super::rate::Rate;
use super::segments::Segments;
use crate::{Recovery, Stack};
use send_buffer::SendBuffer;
use usage::Usage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Retransmission,
    /// Tail loss probe.
    Probe,
    /// RACK reordering timer: segments not acknowledged by then are lost.
    Reordering,
}

/// The information in one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    advanced: bool,
    /// Segments newly reported as arrived.
    delivered: u32,
    sacked: bool,
    /// True if segments sent only once are among them.
    original: bool,
    newly_lost: bool,
    /// True if a retransmitted segment was lost again.
    lost_again: bool,
    set_timer: bool,
    pure_duplicate: bool,
    /// True if it reports ECN marks.
    congested: bool,
    /// The round-trip time of the latest sent segment among those that arrived and were sent only once.
    rtt_ns: Option<u64>,
    may_be_delayed: bool,
    /// Packets in flight and segments marked lost before it.
    in_flight_before: u32,
    lost_before: u64,
}

/// The kind of segments sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Nothing,
    Lost,
    /// New data first, to detect a spurious timeout (F-RTO).
    New,
}

/// Constants of the sender.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// True with selective acknowledgements; otherwise duplicate ones are counted.
    selective: bool,
    /// True if losses are found by time (RACK).
    rack: bool,
    probes: bool,
    /// The number of later arrivals that indicates a loss.
    loss_at: u32,
    min_rto_ns: u64,
}

/// A window reduction in proportion to deliveries (proportional rate reduction, RFC 6937).
#[derive(Clone, Copy, Debug, Default)]
struct Reduction {
    prior_cwnd: u32,
    prior_ssthresh: u32,
    delivered: u32,
    sent: u32,
}

/// A sender with Linux's loss recovery.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    rules: Rules,
    clock: Clock,
    pub rtt: RttEstimator,
    pub window: Window,
    congestion: Congestion,
    usage: Usage,
    rate: Rate,
    pause: Pause,
    /// The maximum number of segments in flight that the other end allows.
    pub most_out: u32,
    /// The right edge of the other end's receive window: one past its last segment; `None` without a limit.
    edge: Option<u32>,
    /// The number of segments available to send.
    pub offered: u32,
    send_buffer: SendBuffer,
    segments: Segments,
    /// Segments reported as received out of order.
    known: Ranges,
    /// A buffer, kept to avoid allocations.
    new: Vec<(u32, u32)>,
    /// True if the next acknowledgement without data counts as a window update and not as a duplicate. This
    /// is so if the last packet had data or belonged to the handshake, because its sequence number was
    /// lower.
    window_is_news: bool,
    state: State,
    /// The recovery point: the state ends when all segments before it are acknowledged.
    high: u32,
    reduction: Reduction,
    /// The packet number of the latest sent packet among those delivered, and its round-trip time.
    latest: Option<u64>,
    latest_rtt_ns: u64,
    latest_is_new: bool,
    /// The send time of the first segment delivered by the current acknowledgement, if unambiguous.
    probable_echo_ns: Option<u64>,
    min_rtt_ns: u64,
    probe_end: u32,
    probe_again: bool,
    frto: bool,
    timeouts_in_a_row: u32,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    round_end: u32,
    timer: Timer,
    timer_ns: u64,
}

impl Selective {
    pub(super) fn new(
        stack: &Stack,
        segment_bytes: u32,
        most_out: u32,
        clock: Clock,
        phase: f64,
    ) -> Self {
        let selective = stack.recovery != Recovery::NewReno;
        Self {
            rules: Rules {
                selective,
                rack: stack.recovery == Recovery::Rack,
                probes: stack.tail_loss_probe && selective,
                loss_at: stack.duplicate_acks,
                min_rto_ns: netflow_units::ns(stack.min_rto_s),
            },
            clock,
            rtt: RttEstimator::new(stack, phase),
            window: Window {
                cwnd: 0,
                ssthresh: NO_SSTHRESH,
            },
            congestion: Congestion::new(stack, clock, phase),
            usage: Usage::new(stack),
            rate: Rate::default(),
            pause: Pause::default(),
            most_out,
            edge: Receiver::first_window(stack, segment_bytes),
            offered: 0,
            send_buffer: SendBuffer::new(stack, segment_bytes),
            segments: Segments::default(),
            known: Ranges::default(),
            new: Vec::new(),
            window_is_news: true,
            state: State::Open,
            high: 0,
            reduction: Reduction::default(),
            latest: None,
            latest_rtt_ns: 0,
            latest_is_new: false,
            probable_echo_ns: None,
            min_rtt_ns: NEVER,
            probe_end: 0,
            probe_again: false,
            frto: false,
            timeouts_in_a_row: 0,
            timeouts: 0,
            fast_retransmits: 0,
            round_end: 0,
            timer: Timer::Retransmission,
            timer_ns: NEVER,
        }
    }

    /// Opens the connection. The round-trip time of the handshake is the first measurement.
    pub(super) fn open(&mut self, now_ns: u64, cwnd: u32, ssthresh: u32) {
        self.window = Window { cwnd, ssthresh };
        let rtt_ns = self.rtt.srtt_ns();
        if rtt_ns > 0 {
            self.min_rtt_ns = self.min_rtt_ns.min(rtt_ns);
            if let Some(model) = self.congestion.model() {
                model.open(now_ns, cwnd, rtt_ns);
            }
        }
    }

    /// Returns the first segment not acknowledged cumulatively.
    pub(super) fn acknowledged(&self) -> u32 {
        self.segments.first()
    }

    /// Returns the estimated number of packets in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.segments.in_flight()
    }

    /// Returns the next segment to be sent for the first time.
    pub(super) fn next(&self) -> u32 {
        self.segments.next()
    }

    /// Returns the time of the next event: a timer or the end of a pacing delay.
    pub(super) fn timer_ns(&self) -> u64 {
        self.timer_ns.min(self.pause.until_ns())
    }

    /// Returns the pacing rate in packets/s, if the congestion control sets one.
    pub(super) fn pacing_pps(&self) -> Option<f64> {
        self.congestion.pacing().map(|(rate, _)| 1e9 * rate)
    }

    /// Returns true during loss recovery.
    pub(super) fn is_repairing(&self) -> bool {
        matches!(self.state, State::Recovery | State::Loss)
    }

    /// Sends new segments as the window allows.
    pub(super) fn send(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        let (mut any, mut rearms) = (false, false);
        self.write();
        while self.may_send_new()
            && self.segments.in_flight() < self.window.cwnd
            && self.pause.lets_go(now_ns, self.congestion.pacing())
        {
            rearms |= self.send_new(now_ns, out);
            any = true;
        }
        if any && !self.schedule_probe(now_ns, false) && rearms {
            self.rearm(now_ns);
        }
        let in_flight = self.segments.in_flight();
        if self.segments.next() >= self.written()
            && in_flight < self.window.cwnd
            && self.segments.lost <= self.segments.again
        {
            self.rate.limit(in_flight);
        }
        self.pause.end_burst();
        self.note_usage(now_ns, any);
    }

    /// Returns the number of unacknowledged segments that the other end allows.
    pub(super) fn room(&self) -> u32 {
        let told = self.receive_window();
        told.map_or(self.most_out, |told| told.min(self.most_out))
    }

    /// Returns the receive window as announced by the other end.
    pub(super) fn receive_window(&self) -> Option<u32> {
        self.edge.map(|edge| edge - self.acknowledged())
    }

    /// Returns true if unacknowledged segments fill the receive window. Segments received out of order
    /// count, because the receiver keeps them.
    pub(super) fn is_out_of_room(&self) -> bool {
        self.segments.out() >= self.room()
    }

    /// Returns true if there is a new segment and the receive window allows it.
    fn may_send_new(&self) -> bool {
        self.segments.next() < self.written() && !self.is_out_of_room()
    }

    /// Sends the next segment. Returns true if the retransmission timer restarts, unless a probe is
    /// scheduled.
    fn send_new(&mut self, now_ns: u64, out: &mut Vec<u32>) -> bool {
        let was_empty = self.segments.out() == 0;
        if was_empty {
            let idle_ns = now_ns.saturating_sub(self.usage.last_sent_ns);
            self.congestion.resume(now_ns, idle_ns);
        }
        let stamp = self.rate.stamp(now_ns, was_empty);
        out.push(self.segments.send(now_ns, stamp));
        self.usage.last_sent_ns = now_ns;
        self.reduction.sent += 1;
        was_empty || self.timer_ns < NEVER && self.timer == Timer::Probe
    }

    fn send_again(&mut self, now_ns: u64, segment: u32, out: &mut Vec<u32>) {
        let stamp = self.rate.stamp(now_ns, false);
        if self.segments.send_again(now_ns, segment, stamp) {
            self.usage.last_sent_ns = now_ns;
            out.push(segment);
        }
    }

    /// Processes an acknowledgement.
    pub(super) fn receive(&mut self, now_ns: u64, ack: &Ack, out: &mut Vec<u32>) {
        if ack.cumulative < self.acknowledged() || ack.cumulative > self.segments.next() {
            return;
        }
        let (in_flight_before, lost_before) = (self.segments.in_flight(), self.rate.lost);
        self.probable_echo_ns = None;
        if let Some(window) = ack.window {
            let edge = ack.cumulative.saturating_add(window);
            self.edge = self.edge.map(|before| before.max(edge)).or(Some(edge));
        }
        let mut news = News {
            in_flight_before,
            lost_before,
            congested: ack.congested,
            ..self.mark(now_ns, ack)
        };
        news.pure_duplicate = ack.pure
            && !news.advanced
            && !news.sacked
            && self.segments.out() > 0
            && (self.rules.selective || !self.window_is_news);
        self.window_is_news = !ack.pure;
        if news.advanced {
            self.timeouts_in_a_row = 0;
        }
        let acked = self.acked(now_ns, &news);
        self.congestion.learn(&mut self.window, &acked);
        self.end_probe(ack, news);
        let mut resend = Resend::Nothing;
        let is_dubious = news.sacked || news.congested;
        let is_counted = !self.rules.selective && news.pure_duplicate;
        if self.state != State::Open || is_dubious || is_counted {
            resend = self.judge(now_ns, &mut news);
        }
        if news.set_timer && !self.schedule_probe(now_ns, true) {
            self.rearm(now_ns);
        }
        self.move_window(now_ns, &news);
        match resend {
            Resend::Nothing => {}
            Resend::Lost => self.send_lost(now_ns, out),
            Resend::New => {
                self.send(now_ns, out);
                if self.segments.next() <= self.high {
                    self.frto = false;
                    self.send_lost(now_ns, out);
                }
            }
        }
        self.send(now_ns, out);
    }

    /// Retransmits lost segments as the window allows.
    fn send_lost(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        let mut head_sent = false;
        while let Some(segment) = self.segments.to_repair()
            && self.segments.in_flight() < self.window.cwnd
            && self.pause.lets_go(now_ns, self.congestion.pacing())
        {
            self.send_again(now_ns, segment, out);
            self.reduction.sent += 1;
            head_sent |= segment == self.acknowledged()
                && !(self.timer_ns < NEVER && self.timer == Timer::Reordering);
        }
        if head_sent {
            self.set_timer(now_ns, Timer::Retransmission, self.rtt.timeout_ns());
        }
    }
}
