//! A sender with selective acknowledgements: RACK and tail loss probes (RFC 8985), proportional
//! rate reduction (RFC 6937) and F-RTO (RFC 5682), as Linux 6 has them; and what Linux makes of it
//! where the other end has none.

mod counted;
mod growth;
mod lost;
mod marks;
mod state;
mod timers;
mod usage;
mod window;

use super::super::{clock::Clock, path::Packet, rto::Rto};
use crate::{Recovery, Stack};
use growth::Growth;
use usage::Usage;

/// Selectively acknowledged.
const SACKED: u8 = 1;
/// Taken for lost.
const LOST: u8 = 2;
/// Sent again, and that one is thought to be on its way.
const AGAIN: u8 = 4;
/// Ever sent again.
const EVER: u8 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Something is out of order.
    Disorder,
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
}

/// What is sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Nothing,
    Lost,
    /// New data first, to find out whether a timeout was needed (F-RTO).
    New,
}

/// A sender with selective acknowledgements.
#[derive(Clone, Debug)]
pub(in super::super) struct Selective {
    /// Are there selective acknowledgements, or only duplicate ones to count?
    selective: bool,
    /// Are losses found by time?
    rack: bool,
    probes: bool,
    /// So many segments that arrived stand for the loss of one before them.
    loss_at: u32,
    growth: Growth,
    min_rto_s: f64,
    clock: Clock,
    pub rto: Rto,
    /// The other end lets so many segments be under way.
    most_out: u32,
    segments: u32,
    pub acknowledged: u32,
    next: u32,
    /// Will the next acknowledgement without data be taken for news of the receive window, since the
    /// last packet had data (or was the handshake's) and so an earlier sequence number?
    window_is_news: bool,
    /// For each segment sent: when last, as which of all packets, and what is known about it.
    sent_s: Vec<f64>,
    order: Vec<u32>,
    marks: Vec<u8>,
    sacked: u32,
    lost: u32,
    again: u32,
    state: State,
    /// The state ends when everything before this segment is acknowledged.
    high: u32,
    window: f64,
    threshold: f64,
    prior_window: f64,
    prior_threshold: f64,
    reduction_delivered: u32,
    reduction_sent: u32,
    packets: u32,
    /// The latest packet sent among those delivered: which of all, and its round trip.
    latest: Option<u32>,
    latest_rtt_s: f64,
    latest_is_new: bool,
    min_rtt_s: f64,
    probe_end: u32,
    probe_again: bool,
    frto: bool,
    timeouts: u32,
    round_end: u32,
    usage: Usage,
    timer: Timer,
    pub timer_s: f64,
}

impl Selective {
    pub(super) fn new(stack: &Stack, most_out: u32, rto: Rto, clock: Clock) -> Self {
        Self {
            selective: stack.recovery != Recovery::NewReno,
            rack: stack.recovery == Recovery::Rack,
            probes: stack.tail_loss_probe && stack.recovery != Recovery::NewReno,
            loss_at: stack.duplicate_acks,
            growth: Growth::new(stack),
            min_rto_s: stack.min_rto_s,
            clock,
            rto,
            most_out,
            segments: 0,
            acknowledged: 0,
            next: 0,
            window_is_news: true,
            sent_s: Vec::new(),
            order: Vec::new(),
            marks: Vec::new(),
            sacked: 0,
            lost: 0,
            again: 0,
            state: State::Open,
            high: 0,
            window: 0.0,
            threshold: f64::INFINITY,
            prior_window: 0.0,
            prior_threshold: f64::INFINITY,
            reduction_delivered: 0,
            reduction_sent: 0,
            packets: 0,
            latest: None,
            latest_rtt_s: 0.0,
            latest_is_new: false,
            min_rtt_s: f64::INFINITY,
            probe_end: 0,
            probe_again: false,
            frto: false,
            timeouts: 0,
            round_end: 0,
            usage: Usage::new(stack),
            timer: Timer::Retransmission,
            timer_s: f64::INFINITY,
        }
    }

    pub(super) fn open(&mut self, window: f64, threshold: f64) {
        self.window = window;
        self.threshold = threshold;
    }

    fn out(&self) -> u32 {
        self.next - self.acknowledged
    }

    fn in_flight(&self) -> f64 {
        f64::from(self.out() + self.again) - f64::from(self.sacked + self.lost)
    }

    /// There are so many segments to send.
    pub(super) fn offer(&mut self, segments: u32) {
        self.segments = segments;
    }

    /// Sends new segments as the window allows.
    pub(super) fn send(&mut self, now_s: f64, out: &mut Vec<u32>) {
        let mut any = false;
        while self.may_send_new() && self.in_flight() + 1.0 <= self.window {
            self.send_new(now_s, out);
            any = true;
        }
        if any {
            self.schedule_probe(now_s, false);
        }
        self.note_usage(now_s, any);
    }

    /// Is there anything new, and room for it at the other end?
    fn may_send_new(&self) -> bool {
        self.next < self.segments && self.out() < self.most_out
    }

    fn send_new(&mut self, now_s: f64, out: &mut Vec<u32>) {
        let was_empty = self.out() == 0;
        if was_empty {
            self.growth.pause(now_s, now_s - self.usage.last_sent_s);
        }
        out.push(self.next);
        self.usage.last_sent_s = now_s;
        self.sent_s.push(now_s);
        self.order.push(self.packets);
        self.packets += 1;
        self.marks.push(0);
        self.next += 1;
        if self.state == State::Recovery {
            self.reduction_sent += 1;
        }
        if was_empty || (self.timer_s < f64::INFINITY && self.timer == Timer::Probe) {
            self.rearm(now_s);
        }
    }

    fn send_again(&mut self, now_s: f64, segment: u32, out: &mut Vec<u32>) {
        let i = segment as usize;
        let (Some(mark), Some(sent_s), Some(order)) = (
            self.marks.get_mut(i),
            self.sent_s.get_mut(i),
            self.order.get_mut(i),
        ) else {
            return;
        };
        self.usage.last_sent_s = now_s;
        self.again += u32::from(*mark & AGAIN == 0);
        *mark |= AGAIN | EVER;
        *sent_s = now_s;
        *order = self.packets;
        self.packets += 1;
        out.push(segment);
    }

    /// A packet arrives.
    pub(super) fn receive(
        &mut self,
        now_s: f64,
        packet: &Packet,
        arrived: &[u32],
        pure: bool,
        out: &mut Vec<u32>,
    ) {
        if packet.ack < self.acknowledged || packet.ack > self.next {
            return;
        }
        let mut news = self.mark(now_s, packet, arrived);
        news.pure_duplicate = pure
            && !news.advanced
            && !news.sacked
            && self.out() > 0
            && (self.selective || !self.window_is_news);
        self.window_is_news = !pure;
        if news.advanced {
            self.timeouts = 0;
        }
        self.end_probe(packet, news);
        let mut resend = Resend::Nothing;
        if self.state != State::Open || news.sacked || (!self.selective && news.pure_duplicate) {
            resend = self.judge(now_s, &mut news);
        }
        if news.set_timer && !self.schedule_probe(now_s, true) {
            self.rearm(now_s);
        }
        self.move_window(now_s, &news);
        match resend {
            Resend::Nothing => {}
            Resend::Lost => self.send_lost(now_s, out),
            Resend::New => {
                self.send(now_s, out);
                if self.next <= self.high {
                    self.frto = false;
                    self.send_lost(now_s, out);
                }
            }
        }
        self.send(now_s, out);
    }

    /// Sends lost segments again as the window allows.
    fn send_lost(&mut self, now_s: f64, out: &mut Vec<u32>) {
        let mut head_sent = false;
        for segment in self.acknowledged..self.next {
            if self.in_flight() + 1.0 > self.window {
                break;
            }
            let mark = self.marks.get(segment as usize).copied().unwrap_or(SACKED);
            if mark & (SACKED | LOST | AGAIN) != LOST {
                continue;
            }
            self.send_again(now_s, segment, out);
            if self.state == State::Recovery {
                self.reduction_sent += 1;
            }
            head_sent |= segment == self.acknowledged
                && !(self.timer_s < f64::INFINITY && self.timer == Timer::Reordering);
        }
        if head_sent {
            self.set_timer(now_s, Timer::Retransmission, self.rto.timeout_s());
        }
    }
}
