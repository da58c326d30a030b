//! The sending end.

use super::super::congestion::curve;
use super::super::{NEVER, RttEstimator, TcpState};
use super::vegas::Vegas;
use super::{TcpVariant, WindowSource};

/// Seconds of a tick of the retransmission timer's clock.
const TICK_S: f64 = 0.01;
pub(super) const DUPLICATES: i32 = 3;

/// What changed the window last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    None,
    FastRetransmit,
    Timeout,
    Recovered,
}

/// The packets that a sender lets go, in order: their sequence numbers.
pub type Sent = Vec<i32>;

/// A sender: its congestion window and all that belongs to it.
#[derive(Clone, Debug)]
pub struct Sender {
    variant: TcpVariant,
    /// The largest window that it may have, in packets.
    pub limit: f64,
    /// The congestion window in packets.
    pub window: f64,
    pub(super) ssthresh: f64,
    /// By how many packets the window is inflated during fast recovery.
    inflation: i32,
    /// The next to send.
    pub(super) next: i32,
    /// One past the last that there is to send.
    pub available: i32,
    /// The highest ever sent.
    pub highest_sent: i32,
    /// The highest acknowledged.
    pub acknowledged: i32,
    /// The most packets that were under way at a time.
    pub most_out: i32,
    pub(super) duplicates: i32,
    /// The highest that had been sent when recovery began.
    pub(super) recover: i32,
    pub(super) action: Action,
    initial_window: f64,
    timer: Timer,
    /// Whether a partial acknowledgement came already (NewReno).
    partial: bool,
    cubic: Cubic,
    pub(super) vegas: Option<Box<Vegas>>,
    /// Round-trip times that were measured: their sum in seconds.
    pub rtt_sum_s: f64,
    /// How many they were.
    pub rtts: u64,
    /// Packets sent, repeated ones included.
    pub sent: u64,
    /// Packets sent again.
    pub repeated: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Losses found by duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// When something was sent last.
    sent_ns: u64,
    /// Of a sender that has pauses.
    usage: Option<Usage>,
}

/// How much of the window was used of late: what was not used does not grow (RFC 7661, as Linux
/// does it).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// The most packets that were out in a round trip, and whether that filled the window.
    most: i32,
    full: bool,
    /// Where the round trip ends.
    until: i32,
}

/// The retransmission timer, and the packet that is timed.
#[derive(Clone, Debug)]
struct Timer {
    at_ns: u64,
    timing: bool,
    timed: i32,
    timed_ns: u64,
    rtt: RttEstimator,
}

/// CUBIC's curve: where it was cut, and since when it grows again.
#[derive(Clone, Debug, Default)]
struct Cubic {
    max: f64,
    /// The window that was cut last (cwnd_prior).
    prior: f64,
    since_ns: Option<u64>,
    k_s: f64,
    reno: f64,
}

/// What a loss leaves of CUBIC's window.
const CUBIC_BETA: f64 = 0.7;

impl Sender {
    /// What it can tell of itself.
    pub fn state(&self) -> TcpState {
        TcpState {
            cwnd_pkts: self.window,
            ssthresh_pkts: self.ssthresh,
            receive_window_pkts: None,
            in_flight: (self.highest_sent - self.acknowledged).max(0) as u32,
            pacing_pps: None,
            srtt_s: self.smoothed_rtt_s(),
            rto_s: self.rto_s(),
            in_recovery: self.action == Action::FastRetransmit,
        }
    }

    /// Whether all that there is to send now has been sent.
    pub fn has_sent_all(&self) -> bool {
        self.next >= self.available
    }

    /// At rest, with a window of at most `limit` packets, and packets before `available` to send; `offset` in [0, 1) shifts the ticks of
    /// its clock.
    pub fn new(source: &WindowSource, limit: f64, available: i32, offset: f64) -> Sender {
        Sender {
            variant: source.variant,
            limit,
            window: 1.0,
            ssthresh: limit.floor(),
            inflation: 0,
            next: 0,
            available,
            highest_sent: -1,
            acknowledged: -1,
            most_out: 0,
            duplicates: 0,
            recover: 0,
            action: Action::None,
            initial_window: source.initial_window_pkts,
            timer: Timer {
                at_ns: NEVER,
                timing: false,
                timed: -1,
                timed_ns: 0,
                rtt: RttEstimator::of_ticks(
                    source.initial_rto_s,
                    [source.min_rto_s, source.max_rto_s],
                    TICK_S,
                    offset,
                ),
            },
            partial: false,
            cubic: Cubic::default(),
            vegas: (source.variant == TcpVariant::Vegas)
                .then(|| Box::new(Vegas::new(source, limit))),
            rtt_sum_s: 0.0,
            rtts: 0,
            sent: 0,
            repeated: 0,
            timeouts: 0,
            fast_retransmits: 0,
            sent_ns: 0,
            usage: None,
        }
    }

    /// One for a connection with pauses, where another has been before, whose counts go on. With
    /// `first` it begins with an empty packet; else the other end has done that, and it has its
    /// answer.
    pub fn anew(&self, source: &WindowSource, limit: f64, offset: f64, first: bool) -> Sender {
        let mut new = Sender::new(source, limit, 1, offset);
        if !first {
            new.next = 1;
            new.highest_sent = 0;
            new.acknowledged = 0;
            new.window = source.initial_window_pkts;
        }
        new.usage = Some(Usage::default());
        (new.sent, new.repeated, new.most_out) = (self.sent, self.repeated, self.most_out);
        (new.timeouts, new.fast_retransmits) = (self.timeouts, self.fast_retransmits);
        (new.rtt_sum_s, new.rtts) = (self.rtt_sum_s, self.rtts);
        new
    }

    /// Whether all that was sent is acknowledged.
    pub fn is_at_rest(&self) -> bool {
        self.acknowledged == self.highest_sent
    }

    /// If nothing is out, and there is nothing to send, the timer has nothing to wait for.
    pub fn rest(&mut self) {
        if self.is_at_rest() && self.has_sent_all() {
            self.timer.at_ns = NEVER;
        }
    }

    /// There is something to send again. After a pause of more than a timeout the window is halved
    /// for each timeout that it lasted, down to the initial one; the threshold remembers (RFC
    /// 2861, as Linux does it).
    pub fn end_pause(&mut self, now_ns: u64) {
        if self.usage.is_none() || !self.is_at_rest() {
            return;
        }
        let rto_s = self.rto_s();
        let mut paused_s = now_ns.saturating_sub(self.sent_ns) as f64 * 1e-9 - rto_s;
        let least = self.window.min(self.initial_window);
        if paused_s > 0.0 {
            self.ssthresh = self.ssthresh.max(0.75 * self.window).floor();
        }
        while paused_s > 0.0 && self.window > least {
            self.window = (0.5 * self.window).floor().max(least);
            paused_s -= rto_s;
        }
        // Vegas can leave none at all, for the timer to open again.
        self.window = self.window.max(1.0);
    }

    /// The round-trip time is known from the handshake.
    pub fn learn_rtt(&mut self, from_ns: u64, to_ns: u64) {
        self.timer.rtt.measure(to_ns, from_ns, false);
    }

    /// When its retransmission timer runs out.
    pub fn timer_ns(&self) -> u64 {
        self.timer.at_ns
    }

    /// The smoothed round-trip time in seconds; 0 before the first measurement.
    pub fn smoothed_rtt_s(&self) -> f64 {
        self.timer.rtt.srtt_ns() as f64 * 1e-9
    }

    /// The retransmission timeout in seconds, back-off included.
    pub fn rto_s(&self) -> f64 {
        self.timer.rtt.timeout_ns() as f64 * 1e-9
    }

    /// Whether the window and what there is to send allow another packet.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.next < self.available && self.next <= self.acknowledged.saturating_add(self.usable())
    }

    /// Sends all that it may.
    #[inline]
    pub fn send(&mut self, now_ns: u64, sent: &mut Sent) {
        while self.may_send() {
            self.output(now_ns, self.next, sent);
            self.next += 1;
        }
        self.note_usage();
    }

    #[inline]
    fn note_usage(&mut self) {
        let out = self.highest_sent - self.acknowledged;
        let full = out >= self.usable();
        if let Some(usage) = &mut self.usage
            && (self.acknowledged >= usage.until || out > usage.most || full)
        {
            (usage.most, usage.full, usage.until) = (out, full, self.next);
        }
    }

    /// Whether what was out justifies a larger window.
    #[inline]
    fn may_grow(&self) -> bool {
        match self.usage {
            Some(usage) if self.window < self.ssthresh => self.window < 2.0 * f64::from(usage.most),
            Some(usage) => usage.full,
            None => true,
        }
    }

    /// The window in whole packets, inflated in fast recovery, and never above the limit.
    #[inline]
    fn usable(&self) -> i32 {
        ((self.window as i32).saturating_add(self.inflation)).min(self.limit as i32)
    }

    /// The same for Vegas, which inflates the window itself.
    pub(super) fn whole_window(&self) -> i32 {
        self.usable()
    }

    /// The window after the first acknowledgement.
    pub(super) fn initial_window(&self) -> f64 {
        self.initial_window
    }

    /// The same without rounding: what a loss cuts.
    fn real_window(&self) -> f64 {
        (self.window + f64::from(self.inflation)).min(self.limit)
    }

    #[inline]
    pub(super) fn output(&mut self, now_ns: u64, seq: i32, sent: &mut Sent) {
        let nothing_out = self.acknowledged == self.highest_sent;
        sent.push(seq);
        self.sent += 1;
        if nothing_out {
            self.cubic.resume(now_ns, self.sent_ns);
        }
        self.sent_ns = now_ns;
        if let Some(vegas) = &mut self.vegas {
            vegas.sending(now_ns, seq);
        }
        if seq > self.highest_sent {
            self.highest_sent = seq;
            self.most_out = self.most_out.max(seq - self.acknowledged);
            if !self.timer.timing {
                self.timer.timing = true;
                if seq > self.timer.timed {
                    self.timer.timed = seq;
                    self.timer.timed_ns = now_ns;
                }
            }
        } else {
            self.repeated += 1;
        }
        let restart = nothing_out && self.variant != TcpVariant::Vegas;
        if self.timer.at_ns == NEVER || restart {
            self.timer.start(now_ns);
        }
    }

    /// Everything up to `ack` has arrived. Returns whether the sender may try to send now.
    #[inline]
    pub fn acknowledge(&mut self, now_ns: u64, ack: i32, sent: &mut Sent) -> bool {
        match self.variant {
            TcpVariant::Tahoe => self.tahoe(now_ns, ack, sent),
            TcpVariant::Reno => self.reno(now_ns, ack, sent),
            TcpVariant::NewReno | TcpVariant::Cubic => self.newreno(now_ns, ack, sent),
            TcpVariant::Vegas => super::vegas::acknowledge(self, now_ns, ack, sent),
        }
    }

    fn tahoe(&mut self, now_ns: u64, ack: i32, sent: &mut Sent) -> bool {
        if ack > self.acknowledged {
            self.progress(now_ns, ack);
            self.grow(now_ns, ack);
        } else if ack == self.acknowledged {
            self.duplicates += 1;
            if self.duplicates == DUPLICATES {
                if self.acknowledged > self.recover || self.acknowledged == 0 {
                    self.recover = self.highest_sent;
                    self.action = Action::FastRetransmit;
                    self.fast_retransmits += 1;
                    self.cut();
                    self.window = 1.0;
                    self.timer.restart(now_ns);
                    self.next = self.acknowledged + 1;
                }
            } else if self.duplicates < DUPLICATES {
                self.limited_transmit(now_ns, sent);
            }
        }
        ack >= self.acknowledged
    }

    #[inline]
    fn reno(&mut self, now_ns: u64, ack: i32, sent: &mut Sent) -> bool {
        if ack > self.acknowledged {
            if self.action == Action::FastRetransmit {
                self.action = Action::Recovered;
            }
            self.inflation = 0;
            self.progress(now_ns, ack);
            self.grow(now_ns, ack);
        } else if ack == self.acknowledged {
            let again = self.action == Action::FastRetransmit;
            self.duplicate(now_ns, again, sent);
        }
        self.duplicates == 0 || self.duplicates >= DUPLICATES
    }

    fn newreno(&mut self, now_ns: u64, ack: i32, sent: &mut Sent) -> bool {
        if ack > self.acknowledged {
            if ack >= self.recover || self.action != Action::FastRetransmit {
                if self.inflation > 0 {
                    self.inflation = 0;
                    if self.action == Action::FastRetransmit {
                        self.action = Action::Recovered;
                    }
                }
                self.partial = false;
                self.progress(now_ns, ack);
                self.grow(now_ns, ack);
            } else {
                self.partial_ack(now_ns, ack, sent);
            }
        } else if ack == self.acknowledged {
            self.duplicate(now_ns, false, sent);
        }
        match self.duplicates {
            0 => true,
            // In recovery at most two packets an acknowledgement.
            n if n >= DUPLICATES => {
                for _ in 0..2 {
                    if self.may_send() {
                        self.output(now_ns, self.next, sent);
                        self.next += 1;
                    }
                }
                false
            }
            _ => false,
        }
    }

    /// More is missing of the window that was out when recovery began.
    fn partial_ack(&mut self, now_ns: u64, ack: i32, sent: &mut Sent) {
        if !self.partial {
            self.partial = true;
            self.timer.start(now_ns);
        }
        let covered = ack - self.acknowledged;
        if self.inflation > covered {
            self.inflation -= covered - 1;
        } else {
            self.window -= f64::from(covered - self.inflation);
            self.inflation = 1;
        }
        self.window = self.window.max(1.0);
        self.acknowledged = ack;
        self.next = self.next.max(ack + 1);
        if self.timer.timing && ack >= self.timer.timed {
            self.timer.timing = false;
            self.timer.rtt.forget_back_off(true);
        }
        self.output(now_ns, ack + 1, sent);
    }

    fn duplicate(&mut self, now_ns: u64, again: bool, sent: &mut Sent) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES {
            if self.acknowledged > self.recover || again || self.acknowledged == 0 {
                self.recover = self.highest_sent;
                self.action = Action::FastRetransmit;
                self.fast_retransmits += 1;
                self.window = self.cut();
                self.timer.restart(now_ns);
                self.output(now_ns, self.acknowledged + 1, sent);
                self.inflation = DUPLICATES;
            }
        } else if self.duplicates > DUPLICATES {
            if self.action == Action::FastRetransmit {
                self.inflation += 1;
            }
        } else {
            self.limited_transmit(now_ns, sent);
        }
    }

    /// The first two duplicates let go of a new packet each.
    fn limited_transmit(&mut self, now_ns: u64, sent: &mut Sent) {
        let ahead = f64::from(self.next - self.acknowledged);
        if self.next < self.available
            && ahead <= self.limit
            && ahead <= self.window + f64::from(self.duplicates)
        {
            self.output(now_ns, self.next, sent);
            self.next += 1;
        }
    }

    /// New data is acknowledged.
    #[inline]
    pub(super) fn progress(&mut self, now_ns: u64, ack: i32) {
        self.duplicates = 0;
        self.acknowledged = ack;
        self.next = self.next.max(ack + 1);
        if self.timer.timing && ack >= self.timer.timed {
            self.timer.rtt.forget_back_off(true);
            self.timer.timing = false;
            let sent_ns = self.timer.timed_ns;
            self.timer.rtt.measure(now_ns, sent_ns, false);
            self.rtt_sum_s += now_ns.saturating_sub(sent_ns) as f64 * 1e-9;
            self.rtts += 1;
        }
        self.timer.start(now_ns);
    }

    #[inline]
    fn grow(&mut self, now_ns: u64, ack: i32) {
        if !self.may_grow() {
            // What is not used does not grow.
        } else if self.window < self.ssthresh {
            self.window += 1.0;
        } else if self.variant == TcpVariant::Cubic {
            self.window += self
                .cubic
                .growth(now_ns, self.window, self.smoothed_rtt_s());
        } else {
            self.window += 1.0 / self.window;
        }
        if ack == 0 {
            self.window = self.initial_window;
        }
    }

    /// A loss: lowers the slow-start threshold, and returns the window that is left.
    fn cut(&mut self) -> f64 {
        let window = self.real_window();
        let left = match self.variant {
            TcpVariant::Cubic => self.cubic.cut(window),
            _ => window / 2.0,
        };
        self.ssthresh = left.floor().max(2.0);
        left
    }

    /// The retransmission timer has run out.
    pub fn time_out(&mut self, now_ns: u64) {
        self.timer.at_ns = NEVER;
        self.inflation = 0;
        self.duplicates = 0;
        self.recover = self.highest_sent;
        if let Some(vegas) = &mut self.vegas {
            vegas.timed_out(now_ns);
        }
        if self.acknowledged == -1 {
            self.initial_window = 1.0;
        }
        if self.acknowledged == self.highest_sent {
            // Nothing is out: it begins anew after a rest.
            self.window = 1.0;
        } else {
            self.timeouts += 1;
            self.cut();
            self.cubic.time_out();
            self.window = if self.vegas.is_some() { 2.0 } else { 1.0 };
            self.timer.rtt.back_off();
        }
        self.action = Action::Timeout;
        self.timer.restart(now_ns);
        self.next = self.acknowledged + 1;
    }

    /// Vegas has found a loss: its timer starts anew, backed off (as ns-2 does it).
    pub(super) fn back_off_timer(&mut self, now_ns: u64) {
        self.timer.rtt.back_off();
        self.timer.restart(now_ns);
    }
}

impl Timer {
    #[inline]
    fn start(&mut self, now_ns: u64) {
        self.at_ns = now_ns.saturating_add(self.rtt.timeout_ns());
    }

    /// Starts, and does not time what is out (Karn).
    fn restart(&mut self, now_ns: u64) {
        self.start(now_ns);
        self.timing = false;
    }
}

impl Cubic {
    /// What an acknowledgement adds (RFC 9438, 4.2 to 4.4).
    fn growth(&mut self, now_ns: u64, window: f64, rtt_s: f64) -> f64 {
        let since_ns = *self.since_ns.get_or_insert_with(|| {
            self.max = self.max.max(window);
            self.k_s = curve::k_s(self.max, window);
            self.reno = window;
            now_ns
        });
        let t_s = now_ns.saturating_sub(since_ns) as f64 * 1e-9;
        let target = self.max + curve::off(t_s + rtt_s, self.k_s);
        let alpha = match self.reno < self.prior {
            true => curve::reno_alpha(CUBIC_BETA),
            false => 1.0,
        };
        self.reno += alpha / window;
        let target = target.clamp(window, 1.5 * window).max(self.reno);
        (target - window) / window
    }

    /// A loss at this window.
    fn cut(&mut self, window: f64) -> f64 {
        self.max = curve::remembered(window, self.max, CUBIC_BETA);
        self.prior = window;
        self.since_ns = None;
        window * CUBIC_BETA
    }

    /// RFC 9438, 4.8: the window grows from where slow start ends, along the convex half.
    fn time_out(&mut self) {
        self.max = 0.0;
    }

    /// RFC 9438, 5.8: something is sent after a time in which nothing was.
    fn resume(&mut self, now_ns: u64, sent_ns: u64) {
        if let Some(since_ns) = &mut self.since_ns {
            *since_ns = (*since_ns + now_ns.saturating_sub(sent_ns)).min(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// RFC 9438, 4.8: the window grows from where slow start ends, and not towards what it was before.
    #[test]
    fn a_timeout_of_cubic_forgets_the_old_maximum() {
        let source = WindowSource {
            variant: TcpVariant::Cubic,
            ..WindowSource::default()
        };
        let mut sender = Sender::new(&source, 1000.0, 1000, 0.0);
        let mut sent = Sent::new();
        sender.window = 500.0;
        sender.send(0, &mut sent);
        assert_eq!(sent.len(), 500);
        sender.time_out(S);
        assert_eq!((sender.window, sender.ssthresh), (1.0, 350.0));
        sender.cubic.growth(2 * S, 350.0, 0.1);
        assert_eq!((sender.cubic.max, sender.cubic.k_s), (350.0, 0.0));
        // 4.3: Reno's part goes on with its smaller step until it is back where the window was cut.
        let step = sender.cubic.reno - 350.0;
        assert!((step - curve::reno_alpha(CUBIC_BETA) / 350.0).abs() < 1e-9);
    }

    /// RFC 9438, 5.8: after K = 4.2 s and 5.8 s more the window would be 100 + 0.4 · 5.8³ = 178 at once.
    #[test]
    fn time_away_of_cubic_does_not_count() {
        let mut cubic = Cubic::default();
        let window = cubic.cut(100.0);
        cubic.growth(0, window, 0.1);
        let mut jumps = cubic.clone();
        cubic.resume(10 * S, 0);
        assert!(cubic.growth(10 * S, window, 0.1) < 0.1);
        assert!(jumps.growth(10 * S, window, 0.1) > 0.4);
    }

    /// As ns-2's do: 3 s, doubled each time, and at most 60 s.
    #[test]
    fn the_timer_backs_off_to_its_bound() {
        let mut sender = Sender::new(&WindowSource::default(), 20.0, 100, 0.0);
        let mut sent = Sent::new();
        sender.send(0, &mut sent);
        let mut at_ns = 0;
        let waits = [3, 6, 12, 24, 48, 60, 60].map(|expected| {
            let wait_ns = sender.timer_ns() - at_ns;
            at_ns = sender.timer_ns();
            sender.time_out(at_ns);
            sender.send(at_ns, &mut sent);
            (wait_ns, expected * S)
        });
        assert!(
            waits.iter().all(|(is, expected)| is == expected),
            "{waits:?}"
        );
        assert_eq!((sender.timeouts, sender.repeated), (7, 7));
    }
}
