//! A sender with selective acknowledgements: RACK and tail loss probes (RFC 8985), proportional
//! rate reduction (RFC 6937) and F-RTO (RFC 5682), as Linux 6 has them; and what Linux makes of it
//! where the other end has none.

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
    /// Something is out of order.
    Disorder,
    /// Packets met congestion, and the window is being reduced for it.
    Reduced,
    /// Losses are being repaired without a timeout.
    Recovery,
    /// After a timeout.
    Loss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Retransmission,
    /// Tail loss probe.
    Probe,
    /// Something may only be reordered; later it is lost.
    Reordering,
}

/// What one acknowledgement says.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    advanced: bool,
    /// Segments that are known to have arrived only now.
    delivered: u32,
    sacked: bool,
    /// Segments sent only once are among them.
    original: bool,
    newly_lost: bool,
    /// A segment sent again was lost again.
    lost_again: bool,
    set_timer: bool,
    pure_duplicate: bool,
    /// It said that packets met congestion.
    congested: bool,
    /// The round trip of the segment sent last among those that arrived and were sent only once.
    rtt_ns: Option<u64>,
    may_be_delayed: bool,
    /// Packets under way, and segments taken for lost, before it.
    in_flight_before: u32,
    lost_before: u64,
}

/// What is sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Nothing,
    Lost,
    /// New data first, to find out whether a timeout was needed (F-RTO).
    New,
}

/// What does not change.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Are there selective acknowledgements, or only duplicate ones to count?
    selective: bool,
    /// Are losses found by time?
    rack: bool,
    probes: bool,
    /// So many segments that arrived stand for the loss of one before them.
    loss_at: u32,
    min_rto_ns: u64,
}

/// A reduction of the window, in proportion to what arrives (RFC 6937).
#[derive(Clone, Copy, Debug, Default)]
struct Reduction {
    prior_cwnd: u32,
    prior_ssthresh: u32,
    delivered: u32,
    sent: u32,
}

/// A sender with selective acknowledgements.
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
    /// The other end lets so many segments be under way.
    pub most_out: u32,
    /// The other end has offered room for all segments before this one, if it has told of any limit.
    edge: Option<u32>,
    /// So many there are to send.
    pub offered: u32,
    send_buffer: SendBuffer,
    segments: Segments,
    /// Those that are known to have arrived out of order.
    known: Ranges,
    /// Kept to save allocations.
    new: Vec<(u32, u32)>,
    /// Will the next acknowledgement without data be taken for news of the receive window, since the
    /// last packet had data (or was the handshake's) and so an earlier sequence number?
    window_is_news: bool,
    state: State,
    /// The state ends when everything before this segment is acknowledged.
    high: u32,
    reduction: Reduction,
    /// The latest packet sent among those delivered: which of all, and its round trip.
    latest: Option<u64>,
    latest_rtt_ns: u64,
    latest_is_new: bool,
    /// Of what the present acknowledgement tells of, when the first was sent, as far as that is certain.
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

    /// The handshake is over, whose round-trip time is the first.
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

    /// All segments before this one are acknowledged.
    pub(super) fn acknowledged(&self) -> u32 {
        self.segments.first()
    }

    /// Packets thought to be on their way.
    pub(super) fn in_flight(&self) -> u32 {
        self.segments.in_flight()
    }

    /// The next to be sent for the first time.
    pub(super) fn next(&self) -> u32 {
        self.segments.next()
    }

    /// When it has something to do by itself.
    pub(super) fn timer_ns(&self) -> u64 {
        self.timer_ns.min(self.pause.until_ns())
    }

    /// How fast packets may leave, in packets/s, where the congestion control says that.
    pub(super) fn pacing_pps(&self) -> Option<f64> {
        self.congestion.pacing().map(|(rate, _)| 1e9 * rate)
    }

    /// Whether losses are being repaired.
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

    /// The segments behind those acknowledged that the other end has room for.
    pub(super) fn room(&self) -> u32 {
        let told = self.receive_window();
        told.map_or(self.most_out, |told| told.min(self.most_out))
    }

    /// What the other end has told of its receive window.
    pub(super) fn receive_window(&self) -> Option<u32> {
        self.edge.map(|edge| edge - self.acknowledged())
    }

    /// Are as many segments under way as the other end has room for, those included that it keeps until what is before
    /// them arrives?
    pub(super) fn is_out_of_room(&self) -> bool {
        self.segments.out() >= self.room()
    }

    /// Is there anything new, and room for it at the other end?
    fn may_send_new(&self) -> bool {
        self.segments.next() < self.written() && !self.is_out_of_room()
    }

    /// Sends the next segment. Whether the timer starts anew for it, if it is not set to probe.
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

    /// An acknowledgement arrives.
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

    /// Sends lost segments again as the window allows.
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
