//! The sender of ns-2: Tahoe, Reno, NewReno, Vegas and CUBIC.

use super::super::congestion::cubic_window;
use super::super::{NEVER, RttEstimator, TcpState};
use super::vegas::Vegas;
use super::{TcpVariant, WindowSource};

/// The tick of the retransmission timer's clock in seconds.
const TICK_S: f64 = 0.01;
pub(super) const DUPACK_THRESHOLD: i32 = 3;

/// The cause of the last change of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    None,
    FastRetransmit,
    Timeout,
    Recovered,
}

/// Sequence numbers of the packets to send, in order.
pub type Sent = Vec<i32>;

/// A sender with its congestion window.
#[derive(Clone, Debug)]
pub struct Sender {
    variant: TcpVariant,
    /// The maximum window in packets.
    pub limit: f64,
    /// The congestion window in packets.
    pub window: f64,
    pub(super) ssthresh: f64,
    /// The inflation of the window during fast recovery, in packets.
    inflation: i32,
    /// The next packet to send.
    pub(super) next: i32,
    /// One past the last packet available to send.
    pub available: i32,
    /// The highest packet ever sent.
    pub highest_sent: i32,
    /// The highest packet acknowledged.
    pub acknowledged: i32,
    /// The maximum number of packets in flight.
    pub max_in_flight: i32,
    pub(super) duplicates: i32,
    /// The highest packet sent when recovery began.
    pub(super) recover: i32,
    pub(super) action: Action,
    initial_window: f64,
    timer: Timer,
    /// True after the first partial acknowledgement (NewReno).
    partial: bool,
    cubic: Cubic,
    pub(super) vegas: Option<Box<Vegas>>,
    /// The sum of the measured round-trip times in seconds.
    pub rtt_sum_s: f64,
    /// The number of measured round-trip times.
    pub rtts: u64,
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Losses detected by duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// The time of the last transmission.
    sent_ns: u64,
    /// The window validation of a sender with pauses.
    validation: Option<CwndValidation>,
}

/// The recent use of the window. A window that was not used does not grow (congestion window validation,
/// RFC 7661, as in Linux).
#[derive(Clone, Copy, Debug, Default)]
struct CwndValidation {
    /// The maximum number of packets in flight in the round trip, and whether it filled the window.
    max_out: i32,
    is_full: bool,
    /// The end of the round trip.
    round_end: i32,
}

/// The retransmission timer, and the packet whose round trip is measured.
#[derive(Clone, Debug)]
struct Timer {
    at_ns: u64,
    timing: bool,
    timed: i32,
    timed_ns: u64,
    rtt: RttEstimator,
}

/// CUBIC's state: W_max, K and the start of the current epoch.
#[derive(Clone, Debug, Default)]
struct Cubic {
    max: f64,
    /// The window before the last reduction (cwnd_prior).
    prior: f64,
    since_ns: Option<u64>,
    k_s: f64,
    reno: f64,
}

/// CUBIC's multiplicative decrease factor.
const CUBIC_BETA: f64 = 0.7;

impl Sender {
    /// Returns the sender's current state.
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

    /// Returns true if all packets available now have been sent.
    pub fn has_sent_all(&self) -> bool {
        self.next >= self.available
    }

    /// Returns an idle sender with a window of at most `limit` packets, and packets before `available` to
    /// send. `offset`, in [0, 1), shifts the ticks of its clock.
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
            max_in_flight: 0,
            duplicates: 0,
            recover: 0,
            action: Action::None,
            initial_window: source.initial_window_pkts,
            timer: Timer {
                at_ns: NEVER,
                timing: false,
                timed: -1,
                timed_ns: 0,
                rtt: RttEstimator::with_ticks(
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
            retransmissions: 0,
            timeouts: 0,
            fast_retransmits: 0,
            sent_ns: 0,
            validation: None,
        }
    }

    /// Returns a sender for a new connection with pauses, which continues the counters of this one. With
    /// `first`, it opens the connection with an empty packet. Otherwise the other end has opened it, and
    /// the sender has its answer.
    pub fn new_connection(
        &self,
        source: &WindowSource,
        limit: f64,
        offset: f64,
        first: bool,
    ) -> Sender {
        let mut new = Sender::new(source, limit, 1, offset);
        if !first {
            new.next = 1;
            new.highest_sent = 0;
            new.acknowledged = 0;
            new.window = source.initial_window_pkts;
        }
        new.validation = Some(CwndValidation::default());
        (new.sent, new.retransmissions, new.max_in_flight) =
            (self.sent, self.retransmissions, self.max_in_flight);
        (new.timeouts, new.fast_retransmits) = (self.timeouts, self.fast_retransmits);
        (new.rtt_sum_s, new.rtts) = (self.rtt_sum_s, self.rtts);
        new
    }

    /// Returns true if all packets sent are acknowledged.
    pub fn is_idle(&self) -> bool {
        self.acknowledged == self.highest_sent
    }

    /// Stops the timer if nothing is in flight and nothing remains to send.
    pub fn stop_timer_if_done(&mut self) {
        if self.is_idle() && self.has_sent_all() {
            self.timer.at_ns = NEVER;
        }
    }

    /// Restarts after a pause. If the pause exceeded a timeout, the window is halved for each timeout that
    /// it lasted, down to the initial window. The threshold keeps the former window (RFC 2861, as in
    /// Linux).
    pub fn restart_after_idle(&mut self, now_ns: u64) {
        if self.validation.is_none() || !self.is_idle() {
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
        // Vegas can leave a window of 0, to be opened by the timer.
        self.window = self.window.max(1.0);
    }

    /// Adds the round-trip time of the handshake as a measurement.
    pub fn measure_handshake_rtt(&mut self, from_ns: u64, to_ns: u64) {
        self.timer.rtt.measure(to_ns, from_ns, false);
    }

    /// Returns the expiry time of the retransmission timer.
    pub fn timer_ns(&self) -> u64 {
        self.timer.at_ns
    }

    /// Returns the smoothed round-trip time in seconds; 0 before the first measurement.
    pub fn smoothed_rtt_s(&self) -> f64 {
        self.timer.rtt.srtt_ns() as f64 * 1e-9
    }

    /// Returns the retransmission timeout in seconds, back-off included.
    pub fn rto_s(&self) -> f64 {
        self.timer.rtt.timeout_ns() as f64 * 1e-9
    }

    /// Returns true if the window and the available data allow another packet.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.next < self.available
            && self.next <= self.acknowledged.saturating_add(self.usable_window())
    }

    /// Sends all packets that may be sent.
    #[inline]
    pub fn send(&mut self, now_ns: u64, sent: &mut Sent) {
        while self.may_send() {
            self.output(now_ns, self.next, sent);
            self.next += 1;
        }
        self.validate_cwnd();
    }

    #[inline]
    fn validate_cwnd(&mut self) {
        let out = self.highest_sent - self.acknowledged;
        let full = out >= self.usable_window();
        if let Some(validation) = &mut self.validation
            && (self.acknowledged >= validation.round_end || out > validation.max_out || full)
        {
            (validation.max_out, validation.is_full, validation.round_end) = (out, full, self.next);
        }
    }

    /// Returns true if the packets in flight justify a larger window.
    #[inline]
    fn is_cwnd_limited(&self) -> bool {
        match self.validation {
            Some(validation) if self.window < self.ssthresh => {
                self.window < 2.0 * f64::from(validation.max_out)
            }
            Some(validation) => validation.is_full,
            None => true,
        }
    }

    /// Returns the window in whole packets, inflated in fast recovery and at most the limit.
    #[inline]
    fn usable_window(&self) -> i32 {
        ((self.window as i32).saturating_add(self.inflation)).min(self.limit as i32)
    }

    /// Returns the same for Vegas, which inflates the window itself.
    pub(super) fn vegas_usable_window(&self) -> i32 {
        self.usable_window()
    }

    /// Returns the window after the first acknowledgement.
    pub(super) fn initial_window(&self) -> f64 {
        self.initial_window
    }

    /// Returns the window without rounding, as reduced after a loss.
    fn fractional_window(&self) -> f64 {
        (self.window + f64::from(self.inflation)).min(self.limit)
    }

    #[inline]
    pub(super) fn output(&mut self, now_ns: u64, seq: i32, sent: &mut Sent) {
        let nothing_out = self.acknowledged == self.highest_sent;
        sent.push(seq);
        self.sent += 1;
        if nothing_out {
            self.cubic.on_idle_restart(now_ns, self.sent_ns);
        }
        self.sent_ns = now_ns;
        if let Some(vegas) = &mut self.vegas {
            vegas.on_send(now_ns, seq);
        }
        if seq > self.highest_sent {
            self.highest_sent = seq;
            self.max_in_flight = self.max_in_flight.max(seq - self.acknowledged);
            if !self.timer.timing {
                self.timer.timing = true;
                if seq > self.timer.timed {
                    self.timer.timed = seq;
                    self.timer.timed_ns = now_ns;
                }
            }
        } else {
            self.retransmissions += 1;
        }
        let restart = nothing_out && self.variant != TcpVariant::Vegas;
        if self.timer.at_ns == NEVER || restart {
            self.timer.start(now_ns);
        }
    }

    /// Processes an acknowledgement of everything up to `ack`. Returns true if the sender may try to send
    /// now.
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
            self.receive_new_ack(now_ns, ack);
            self.increase_window(now_ns, ack);
        } else if ack == self.acknowledged {
            self.duplicates += 1;
            if self.duplicates == DUPACK_THRESHOLD {
                if self.acknowledged > self.recover || self.acknowledged == 0 {
                    self.recover = self.highest_sent;
                    self.action = Action::FastRetransmit;
                    self.fast_retransmits += 1;
                    self.reduce_ssthresh();
                    self.window = 1.0;
                    self.timer.restart(now_ns);
                    self.next = self.acknowledged + 1;
                }
            } else if self.duplicates < DUPACK_THRESHOLD {
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
            self.receive_new_ack(now_ns, ack);
            self.increase_window(now_ns, ack);
        } else if ack == self.acknowledged {
            let again = self.action == Action::FastRetransmit;
            self.duplicate(now_ns, again, sent);
        }
        self.duplicates == 0 || self.duplicates >= DUPACK_THRESHOLD
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
                self.receive_new_ack(now_ns, ack);
                self.increase_window(now_ns, ack);
            } else {
                self.partial_ack(now_ns, ack, sent);
            }
        } else if ack == self.acknowledged {
            self.duplicate(now_ns, false, sent);
        }
        match self.duplicates {
            0 => true,
            // In recovery, an acknowledgement releases at most two packets.
            n if n >= DUPACK_THRESHOLD => {
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

    /// Processes a partial acknowledgement: more packets of the window in flight at the start of recovery
    /// are missing.
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
            self.timer.rtt.reset_backoff(true);
        }
        self.output(now_ns, ack + 1, sent);
    }

    fn duplicate(&mut self, now_ns: u64, again: bool, sent: &mut Sent) {
        self.duplicates += 1;
        if self.duplicates == DUPACK_THRESHOLD {
            if self.acknowledged > self.recover || again || self.acknowledged == 0 {
                self.recover = self.highest_sent;
                self.action = Action::FastRetransmit;
                self.fast_retransmits += 1;
                self.window = self.reduce_ssthresh();
                self.timer.restart(now_ns);
                self.output(now_ns, self.acknowledged + 1, sent);
                self.inflation = DUPACK_THRESHOLD;
            }
        } else if self.duplicates > DUPACK_THRESHOLD {
            if self.action == Action::FastRetransmit {
                self.inflation += 1;
            }
        } else {
            self.limited_transmit(now_ns, sent);
        }
    }

    /// Sends a new packet for each of the first two duplicates (limited transmit, RFC 3042).
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

    /// Processes the acknowledgement of new data.
    #[inline]
    pub(super) fn receive_new_ack(&mut self, now_ns: u64, ack: i32) {
        self.duplicates = 0;
        self.acknowledged = ack;
        self.next = self.next.max(ack + 1);
        if self.timer.timing && ack >= self.timer.timed {
            self.timer.rtt.reset_backoff(true);
            self.timer.timing = false;
            let sent_ns = self.timer.timed_ns;
            self.timer.rtt.measure(now_ns, sent_ns, false);
            self.rtt_sum_s += now_ns.saturating_sub(sent_ns) as f64 * 1e-9;
            self.rtts += 1;
        }
        self.timer.start(now_ns);
    }

    #[inline]
    fn increase_window(&mut self, now_ns: u64, ack: i32) {
        if !self.is_cwnd_limited() {
            // A window that was not used does not grow.
        } else if self.window < self.ssthresh {
            self.window += 1.0;
        } else if self.variant == TcpVariant::Cubic {
            self.window += self
                .cubic
                .window_increment(now_ns, self.window, self.smoothed_rtt_s());
        } else {
            self.window += 1.0 / self.window;
        }
        if ack == 0 {
            self.window = self.initial_window;
        }
    }

    /// Lowers the slow-start threshold after a loss. Returns the reduced window.
    fn reduce_ssthresh(&mut self) -> f64 {
        let window = self.fractional_window();
        let left = match self.variant {
            TcpVariant::Cubic => self.cubic.on_congestion_event(window),
            _ => window / 2.0,
        };
        self.ssthresh = left.floor().max(2.0);
        left
    }

    /// Processes the expiry of the retransmission timer.
    pub fn time_out(&mut self, now_ns: u64) {
        self.timer.at_ns = NEVER;
        self.inflation = 0;
        self.duplicates = 0;
        self.recover = self.highest_sent;
        if let Some(vegas) = &mut self.vegas {
            vegas.on_timeout(now_ns);
        }
        if self.acknowledged == -1 {
            self.initial_window = 1.0;
        }
        if self.acknowledged == self.highest_sent {
            // Nothing is in flight: restart after an idle period.
            self.window = 1.0;
        } else {
            self.timeouts += 1;
            self.reduce_ssthresh();
            self.cubic.on_rto();
            self.window = if self.vegas.is_some() { 2.0 } else { 1.0 };
            self.timer.rtt.back_off();
        }
        self.action = Action::Timeout;
        self.timer.restart(now_ns);
        self.next = self.acknowledged + 1;
    }

    /// Backs off and restarts the timer after Vegas has found a loss (as ns-2 does).
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

    /// Starts the timer without measuring packets in flight (Karn's algorithm).
    fn restart(&mut self, now_ns: u64) {
        self.start(now_ns);
        self.timing = false;
    }
}

impl Cubic {
    /// Returns the window increase of an acknowledgement (RFC 9438, 4.2 to 4.4).
    fn window_increment(&mut self, now_ns: u64, window: f64, rtt_s: f64) -> f64 {
        let since_ns = *self.since_ns.get_or_insert_with(|| {
            self.max = self.max.max(window);
            self.k_s = cubic_window::k_s(self.max, window);
            self.reno = window;
            now_ns
        });
        let t_s = now_ns.saturating_sub(since_ns) as f64 * 1e-9;
        let target = self.max + cubic_window::window_deviation(t_s + rtt_s, self.k_s);
        let alpha = if self.reno < self.prior {
            cubic_window::reno_alpha(CUBIC_BETA)
        } else {
            1.0
        };
        self.reno += alpha / window;
        let target = target.clamp(window, 1.5 * window).max(self.reno);
        (target - window) / window
    }

    /// Records a loss at this window. Returns the reduced window.
    fn on_congestion_event(&mut self, window: f64) -> f64 {
        self.max = cubic_window::w_max_after_loss(window, self.max, CUBIC_BETA);
        self.prior = window;
        self.since_ns = None;
        window * CUBIC_BETA
    }

    /// RFC 9438, 4.8: after slow start the window grows along the convex part.
    fn on_rto(&mut self) {
        self.max = 0.0;
    }

    /// RFC 9438, 5.8: excludes an idle period from the time of the epoch.
    fn on_idle_restart(&mut self, now_ns: u64, sent_ns: u64) {
        if let Some(since_ns) = &mut self.since_ns {
            *since_ns = (*since_ns + now_ns.saturating_sub(sent_ns)).min(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// RFC 9438, 4.8: the window grows from the end of slow start, and not towards the former maximum.
    #[test]
    fn a_timeout_of_cubic_resets_w_max() {
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
        sender.cubic.window_increment(2 * S, 350.0, 0.1);
        assert_eq!((sender.cubic.max, sender.cubic.k_s), (350.0, 0.0));
        // 4.3: W_est grows with the smaller α until it reaches the window before the reduction.
        let step = sender.cubic.reno - 350.0;
        assert!((step - cubic_window::reno_alpha(CUBIC_BETA) / 350.0).abs() < 1e-9);
    }

    /// RFC 9438, 5.8: with K = 4.2 s and 5.8 s more, the window would jump to 100 + 0.4 · 5.8³ = 178.
    #[test]
    fn idle_time_of_cubic_is_excluded() {
        let mut cubic = Cubic::default();
        let window = cubic.on_congestion_event(100.0);
        cubic.window_increment(0, window, 0.1);
        let mut jumps = cubic.clone();
        cubic.on_idle_restart(10 * S, 0);
        assert!(cubic.window_increment(10 * S, window, 0.1) < 0.1);
        assert!(jumps.window_increment(10 * S, window, 0.1) > 0.4);
    }

    /// As in ns-2: 3 s, doubled each time, at most 60 s.
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
        assert_eq!((sender.timeouts, sender.retransmissions), (7, 7));
    }
}
