//! A sender with selective acknowledgements: RACK and tail loss probes (RFC 8985), proportional
//! rate reduction (RFC 6937) and F-RTO (RFC 5682), as Linux 6 has them; and what Linux makes of it
//! where the other end has none.

mod counted;

use super::super::{clock::Clock, path::Packet, rto::Rto};
use crate::{Recovery, Stack};

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
    decrease: f64,
    min_rto_s: f64,
    clock: Clock,
    pub rto: Rto,
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
    /// What congestion avoidance has gathered for the next packet.
    credit: f64,
    threshold: f64,
    prior_window: f64,
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
    timer: Timer,
    pub timer_s: f64,
}

impl Selective {
    pub(super) fn new(stack: &Stack, rto: Rto, clock: Clock) -> Self {
        Self {
            selective: stack.recovery != Recovery::NewReno,
            rack: stack.recovery == Recovery::Rack,
            probes: stack.tail_loss_probe && stack.recovery != Recovery::NewReno,
            loss_at: stack.duplicate_acks,
            decrease: stack.window_after_loss,
            min_rto_s: stack.min_rto_s,
            clock,
            rto,
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
            credit: 0.0,
            threshold: f64::INFINITY,
            prior_window: 0.0,
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
        while self.next < self.segments && self.in_flight() + 1.0 <= self.window {
            self.send_new(now_s, out);
            any = true;
        }
        if any {
            self.schedule_probe(now_s, false);
        }
    }

    fn send_new(&mut self, now_s: f64, out: &mut Vec<u32>) {
        let was_empty = self.out() == 0;
        out.push(self.next);
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
        self.again += u32::from(*mark & AGAIN == 0);
        *mark |= AGAIN | EVER;
        *sent_s = now_s;
        *order = self.packets;
        self.packets += 1;
        out.push(segment);
    }

    fn set_timer(&mut self, now_s: f64, timer: Timer, delay_s: f64) {
        self.timer = timer;
        self.timer_s = self.clock.after(now_s, delay_s);
    }

    /// How long until the retransmission timeout of the oldest segment, in seconds.
    fn until_timeout_s(&self, now_s: f64) -> f64 {
        let sent_s = self
            .sent_s
            .get(self.acknowledged as usize)
            .copied()
            .unwrap_or(now_s);
        sent_s + self.rto.timeout_s() - now_s
    }

    fn rearm(&mut self, now_s: f64) {
        if self.out() == 0 {
            self.timer_s = f64::INFINITY;
            return;
        }
        let elapsed_counts = self.timer_s < f64::INFINITY && self.timer != Timer::Retransmission;
        let delay_s = if elapsed_counts {
            self.until_timeout_s(now_s).max(1e-6)
        } else {
            self.rto.timeout_s()
        };
        self.set_timer(now_s, Timer::Retransmission, delay_s);
    }

    fn schedule_probe(&mut self, now_s: f64, advancing: bool) -> bool {
        if !self.probes || self.out() == 0 || self.state != State::Open {
            return false;
        }
        let srtt_s = self.rto.srtt_s();
        let mut delay_s = if srtt_s > 0.0 {
            2.0 * srtt_s
                + if self.out() == 1 {
                    self.min_rto_s
                } else {
                    self.clock.least_s()
                }
        } else {
            1.0
        };
        let timeout_s = if advancing {
            self.rto.timeout_s()
        } else {
            self.until_timeout_s(now_s)
        };
        if timeout_s > 0.0 {
            delay_s = delay_s.min(timeout_s);
        }
        self.set_timer(now_s, Timer::Probe, delay_s);
        true
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
        self.move_window(&news);
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

    /// Takes in what the acknowledgement says about each segment.
    fn mark(&mut self, now_s: f64, packet: &Packet, arrived: &[u32]) -> News {
        let mut news = News::default();
        let mut measured = None;
        let mut sent_again = false;
        let before = self.acknowledged;
        for segment in self.acknowledged..packet.ack {
            let i = segment as usize;
            let (Some(&mark), Some(&sent_s)) = (self.marks.get(i), self.sent_s.get(i)) else {
                continue;
            };
            news.advanced = true;
            if mark & SACKED == 0 {
                news.delivered += 1;
                sent_again |= mark & EVER != 0;
                if mark & EVER == 0 {
                    news.original |= segment < self.high;
                    measured.get_or_insert(sent_s);
                }
                self.take_latest(now_s, segment, sent_s, mark);
            } else {
                self.sacked -= 1;
            }
            self.lost -= u32::from(mark & LOST != 0);
            self.again -= u32::from(mark & AGAIN != 0);
        }
        if news.advanced {
            self.acknowledged = packet.ack;
            let first = self.acknowledged > self.round_end;
            if first {
                self.round_end = self.next;
            }
            if !self.selective {
                self.uncount(packet.ack - before, &mut news);
                if sent_again {
                    // It may be that one, or what was sent first, that has arrived.
                    news.original = false;
                    measured = None;
                }
            }
            if self.rto.has_timestamps() {
                measured.get_or_insert(packet.echo_s);
            }
            if let Some(sent_s) = measured {
                self.rto.measure(now_s, sent_s, first);
            }
            self.rto.forget_back_off(measured.is_some());
            news.set_timer = true;
        }
        if !self.selective {
            return news;
        }
        let mut sacked_sent_s = None;
        for segment in self.acknowledged..self.next {
            let i = segment as usize;
            let (Some(mark), Some(&place)) = (self.marks.get_mut(i), arrived.get(i)) else {
                continue;
            };
            if *mark & SACKED != 0 || place == 0 || place > packet.arrivals {
                continue;
            }
            let before = *mark;
            self.lost -= u32::from(before & LOST != 0);
            self.again -= u32::from(before & AGAIN != 0);
            *mark = (before | SACKED) & !(LOST | AGAIN);
            self.sacked += 1;
            news.delivered += 1;
            news.sacked = true;
            if before & EVER == 0 {
                news.original |= segment < self.high;
            }
            let sent_s = self.sent_s.get(i).copied().unwrap_or(now_s);
            if before & EVER == 0 {
                sacked_sent_s.get_or_insert(sent_s);
            }
            self.take_latest(now_s, segment, sent_s, before);
        }
        if let Some(sent_s) = sacked_sent_s
            && !news.advanced
        {
            self.rto.measure(now_s, sent_s, false);
            self.rto.forget_back_off(true);
            // The timer starts anew only if the oldest segment was sent again since.
            let oldest = self.sent_s.get(self.acknowledged as usize);
            news.set_timer = oldest.is_some_and(|&oldest_s| sent_s < oldest_s);
        }
        news
    }

    /// A segment was delivered: is it the latest sent?
    fn take_latest(&mut self, now_s: f64, segment: u32, sent_s: f64, mark: u8) {
        let rtt_s = now_s - sent_s;
        if mark & EVER != 0 && rtt_s < self.min_rtt_s - 1e-9 {
            // It is the one sent before that arrived.
            return;
        }
        if mark & EVER == 0 {
            self.min_rtt_s = self.min_rtt_s.min(rtt_s);
        }
        self.latest_is_new = true;
        self.latest_rtt_s = rtt_s;
        self.latest = self.latest.max(self.order.get(segment as usize).copied());
    }

    fn end_probe(&mut self, packet: &Packet, news: News) {
        if self.probe_end == 0 || packet.ack < self.probe_end {
            return;
        }
        if self.probe_again && !packet.duplicate && packet.ack > self.probe_end {
            // The probe repaired a loss that nothing else told of.
            self.threshold = (self.window * self.decrease).floor().max(2.0);
            self.window = self.threshold;
            self.probe_end = 0;
        } else if !self.probe_again || packet.duplicate || news.pure_duplicate {
            self.probe_end = 0;
        }
    }

    /// Decides what state to be in, and what to send.
    fn judge(&mut self, now_s: f64, news: &mut News) -> Resend {
        if !self.selective {
            return self.judge_counted(news);
        }
        if self.acknowledged >= self.high && self.state == State::Recovery {
            self.window = self.threshold;
            self.state = State::Open;
        }
        if self.state == State::Loss {
            let resend = self.after_timeout(news);
            self.find_lost(now_s, news);
            let reopened = self.state == State::Open;
            if !(reopened || news.lost_again) {
                return resend;
            }
        } else {
            self.find_lost(now_s, news);
        }
        if self.state != State::Recovery {
            if self.lost == 0 {
                self.keep_open();
                return Resend::Nothing;
            }
            self.enter_recovery();
        }
        Resend::Lost
    }

    fn keep_open(&mut self) {
        let state = if self.sacked > 0 || self.again > 0 {
            State::Disorder
        } else {
            State::Open
        };
        if self.state != state {
            self.state = state;
            self.high = self.next;
        }
    }

    fn enter_recovery(&mut self) {
        self.state = State::Recovery;
        self.high = self.next;
        self.probe_end = 0;
        self.prior_window = self.window;
        self.reduction_delivered = 0;
        self.reduction_sent = 0;
        self.threshold = (self.window * self.decrease).floor().max(2.0);
    }

    fn after_timeout(&mut self, news: &News) -> Resend {
        let recovered = self.acknowledged >= self.high;
        if self.frto {
            if news.original {
                self.undo();
                return Resend::Nothing;
            }
            if self.next > self.high {
                if news.sacked || news.pure_duplicate {
                    self.frto = false;
                }
            } else if news.advanced && !recovered {
                self.high = self.next;
                if self.next < self.segments {
                    return Resend::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.state = State::Open;
            self.frto = false;
            return Resend::Nothing;
        }
        Resend::Lost
    }

    /// The timeout was not needed.
    fn undo(&mut self) {
        for mark in self.marks.iter_mut().skip(self.acknowledged as usize) {
            self.lost -= u32::from(*mark & LOST != 0);
            *mark &= !LOST;
        }
        self.window = self.window.max(self.prior_window);
        self.threshold = f64::INFINITY;
        self.frto = false;
        self.state = State::Open;
    }

    /// RACK: what was sent long enough before something that arrived is lost.
    fn find_lost(&mut self, now_s: f64, news: &mut News) {
        if self.out() == 0 || !self.latest_is_new {
            return;
        }
        self.latest_is_new = false;
        let again_before = self.again;
        let lost_before = self.lost;
        let wait_s = self.detect(now_s);
        if wait_s > 0.0 {
            self.set_timer(now_s, Timer::Reordering, wait_s + self.clock.least_s());
            news.set_timer = false;
        }
        news.lost_again = self.again < again_before;
        news.newly_lost = self.lost > lost_before || news.lost_again;
    }

    /// Marks what is lost; returns for how long other segments still may be on their way.
    fn detect(&mut self, now_s: f64) -> f64 {
        let tolerated_s = if self.state == State::Recovery
            || self.state == State::Loss
            || self.sacked >= self.loss_at
        {
            0.0
        } else {
            (self.min_rtt_s / 4.0).min(self.rto.srtt_s())
        };
        if !self.rack {
            self.count();
            return 0.0;
        }
        let mut wait_s: f64 = 0.0;
        for segment in self.acknowledged..self.next {
            let i = segment as usize;
            let (Some(mark), Some(&sent_s)) = (self.marks.get_mut(i), self.sent_s.get(i)) else {
                continue;
            };
            if *mark & SACKED != 0
                || *mark & (LOST | AGAIN) == LOST
                || self.latest <= self.order.get(i).copied()
            {
                continue;
            }
            let left_s = self.latest_rtt_s + tolerated_s - (now_s - sent_s);
            if left_s <= 1e-9 {
                if *mark & LOST == 0 {
                    self.lost += 1;
                }
                self.again -= u32::from(*mark & AGAIN != 0);
                *mark = (*mark | LOST) & !AGAIN;
            } else {
                wait_s = wait_s.max(left_s);
            }
        }
        wait_s
    }

    /// RFC 6675: a segment is lost when enough after it have arrived.
    fn count(&mut self) {
        let mut after = 0;
        for segment in (self.acknowledged..self.next).rev() {
            let Some(mark) = self.marks.get_mut(segment as usize) else {
                continue;
            };
            if *mark & SACKED != 0 {
                after += 1;
            } else if after >= self.loss_at && *mark & (LOST | AGAIN) == 0 {
                *mark |= LOST;
                self.lost += 1;
            }
        }
    }

    fn move_window(&mut self, news: &News) {
        if self.state == State::Recovery {
            self.reduce(news);
        } else if news.advanced {
            let mut grown = f64::from(news.delivered);
            if self.window < self.threshold {
                let room = self.threshold - self.window;
                let slow = grown.min(room);
                self.window += slow;
                grown -= slow;
            }
            if grown > 0.0 {
                // RFC 9438, 4.3; 1 for a window that is halved.
                let rise = 3.0 * (1.0 - self.decrease) / (1.0 + self.decrease);
                self.credit += rise * grown;
                while self.credit >= self.window {
                    self.credit -= self.window;
                    self.window += 1.0;
                }
            }
        }
    }

    /// Proportional rate reduction.
    fn reduce(&mut self, news: &News) {
        if news.delivered == 0 && self.reduction_sent > 0 {
            return;
        }
        self.reduction_delivered += news.delivered;
        let in_flight = self.in_flight();
        let room = self.threshold - in_flight;
        let sent = f64::from(self.reduction_sent);
        let delivered = f64::from(self.reduction_delivered);
        let mut more = if room < 0.0 {
            (self.threshold * delivered / self.prior_window).ceil() - sent
        } else {
            let mut more = (delivered - sent).max(f64::from(news.delivered));
            if news.advanced && !news.newly_lost {
                more += 1.0;
            }
            more.min(room)
        };
        more = more.max(if self.reduction_sent == 0 { 1.0 } else { 0.0 });
        self.window = in_flight + more;
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

    /// A timer fires. Was it for want of acknowledgements?
    pub(super) fn timeout(&mut self, now_s: f64, out: &mut Vec<u32>) -> bool {
        let timer = self.timer;
        self.timer_s = f64::INFINITY;
        match timer {
            Timer::Retransmission => self.retransmission_timeout(now_s, out),
            Timer::Probe => self.probe(now_s, out),
            Timer::Reordering => {
                self.reordering_timeout(now_s, out);
                return false;
            }
        }
        true
    }

    fn reordering_timeout(&mut self, now_s: f64, out: &mut Vec<u32>) {
        let before = self.in_flight();
        let wait_s = self.detect(now_s);
        if wait_s > 0.0 {
            self.set_timer(now_s, Timer::Reordering, wait_s + self.clock.least_s());
        }
        if self.in_flight() != before {
            if self.state != State::Recovery {
                self.enter_recovery();
                self.reduce(&News {
                    delivered: 1,
                    ..News::default()
                });
            }
            self.send_lost(now_s, out);
        }
        if self.timer_s == f64::INFINITY || self.timer != Timer::Retransmission {
            self.rearm(now_s);
        }
    }

    fn probe(&mut self, now_s: f64, out: &mut Vec<u32>) {
        if self.probe_end == 0 && self.out() > 0 {
            self.probe_again = self.next >= self.segments;
            if self.probe_again {
                self.send_again(now_s, self.next - 1, out);
            } else {
                self.send_new(now_s, out);
            }
            self.probe_end = self.next;
        }
        self.timer_s = f64::INFINITY;
        self.rearm(now_s);
    }

    fn retransmission_timeout(&mut self, now_s: f64, out: &mut Vec<u32>) {
        if self.out() == 0 {
            return;
        }
        let anew = self.state != State::Recovery && self.state != State::Loss
            || self.acknowledged >= self.high
            || self.state == State::Loss && self.timeouts == 0;
        if anew {
            self.prior_window = self.window;
            self.threshold = (self.window * self.decrease).floor().max(2.0);
        }
        self.frto = matches!(self.state, State::Open | State::Disorder) || self.timeouts > 0;
        let rtt_s = if self.rack { self.latest_rtt_s } else { 0.0 };
        if !self.selective {
            self.sacked = 0;
        }
        for segment in self.acknowledged..self.next {
            let i = segment as usize;
            let (Some(mark), Some(&sent_s)) = (self.marks.get_mut(i), self.sent_s.get(i)) else {
                continue;
            };
            let recent = segment != self.acknowledged && rtt_s - (now_s - sent_s) > 0.0;
            if *mark & SACKED != 0 || recent {
                continue;
            }
            if *mark & LOST == 0 {
                self.lost += 1;
            }
            self.again -= u32::from(*mark & AGAIN != 0);
            *mark = (*mark | LOST) & !AGAIN;
        }
        self.window = self.in_flight() + 1.0;
        self.credit = 0.0;
        self.state = State::Loss;
        self.high = self.next;
        self.probe_end = 0;
        self.timeouts += 1;
        self.send_again(now_s, self.acknowledged, out);
        self.rto.back_off();
        self.set_timer(now_s, Timer::Retransmission, self.rto.timeout_s());
    }
}
