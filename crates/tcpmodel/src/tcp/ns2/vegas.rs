//! TCP Vegas as in ns-2: round-trip time comparison once per round, and fine-grained timeouts.

use super::WindowSource;
use super::sender::{Action, DUPACK_THRESHOLD, Sender, Sent};

/// The state of Vegas beyond that of Reno.
#[derive(Clone, Debug)]
pub(super) struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    base_rtt_s: f64,
    started: bool,
    /// The current round: its first packet and start time, and the number and sum of its round-trip times.
    begin: i32,
    begin_s: f64,
    rtts: u32,
    rtt_sum_s: f64,
    /// The window increase per acknowledgement in this round.
    increment: f64,
    grow_now: bool,
    smoothed_s: f64,
    deviation_s: f64,
    timeout_s: f64,
    /// The number of acknowledgements after a loss for which the fine-grained timeout is checked.
    worried: i32,
    changed_s: f64,
    /// The congestion window without inflation.
    new_window: f64,
    sent_s: Vec<f64>,
    transmissions: Vec<u32>,
}

impl Vegas {
    pub fn new(source: &WindowSource, limit: f64) -> Vegas {
        let slots = (limit.max(1.0) as usize).min(1 << 24);
        Vegas {
            alpha: source.vegas_alpha_pkts,
            beta: source.vegas_beta_pkts,
            gamma: source.vegas_gamma_pkts,
            base_rtt_s: 1e9,
            started: false,
            begin: 0,
            begin_s: 0.0,
            rtts: 0,
            rtt_sum_s: 0.0,
            increment: 0.0,
            grow_now: true,
            smoothed_s: 0.0,
            deviation_s: 0.0,
            timeout_s: 1000.0,
            worried: 0,
            changed_s: 0.0,
            new_window: 0.0,
            sent_s: vec![-1.0; slots],
            transmissions: vec![0; slots],
        }
    }

    fn slot(&self, seq: i32) -> usize {
        seq.max(0) as usize % self.sent_s.len()
    }

    pub fn on_send(&mut self, now_ns: u64, seq: i32) {
        let slot = self.slot(seq);
        self.sent_s[slot] = seconds(now_ns);
        self.transmissions[slot] += 1;
    }

    pub fn on_timeout(&mut self, now_ns: u64) {
        self.new_window = 0.0;
        self.changed_s = seconds(now_ns);
    }

    /// Returns the packet after `ack` if it was sent longer ago than the fine-grained timeout.
    fn expired(&self, now_s: f64, ack: i32) -> Option<i32> {
        let waited_s = now_s - self.sent_s[self.slot(ack + 1)];
        (waited_s >= self.timeout_s).then_some(ack + 1)
    }

    fn start_measurement(&mut self, now_s: f64) {
        if !self.started {
            // ns-2 takes the time of the first acknowledgement as a measurement.
            self.started = true;
            self.base_rtt_s = now_s;
            self.smoothed_s = 8.0 * now_s;
            self.deviation_s = now_s;
            self.timeout_s = (self.smoothed_s / 4.0 + self.deviation_s) / 2.0;
        }
    }

    /// Clears the records of acknowledged packets. Returns the send time of `ack` if it was sent only once.
    fn remove_acknowledged(&mut self, before: i32, ack: i32) -> Option<f64> {
        let slot = self.slot(ack);
        let (sent_s, transmissions) = (self.sent_s[slot], self.transmissions[slot]);
        // ns-2 clears nothing if the range wraps around the table. A packet that reuses such a slot counts
        // as a retransmission.
        let first = self.slot(before + 1);
        let count = (ack - before) as usize;
        if first <= slot {
            for place in first..=slot.min(first + count - 1) {
                self.sent_s[place] = -1.0;
                self.transmissions[place] = 0;
            }
        }
        (sent_s != 0.0 && transmissions == 1).then_some(sent_s)
    }

    fn update_rtt(&mut self, rtt_s: f64) {
        self.rtt_sum_s += rtt_s;
        self.rtts += 1;
        if rtt_s <= 0.0 {
            return;
        }
        self.base_rtt_s = self.base_rtt_s.min(rtt_s);
        let error = rtt_s - self.smoothed_s / 8.0;
        self.smoothed_s += error;
        self.deviation_s += error.abs() - self.deviation_s / 4.0;
        self.timeout_s = (self.smoothed_s / 4.0 + self.deviation_s) / 2.0;
        self.timeout_s += self.timeout_s / 16.0;
    }
}

/// Processes an acknowledgement for a Vegas sender. Returns true if it may try to send.
pub(super) fn acknowledge(sender: &mut Sender, now_ns: u64, ack: i32, sent: &mut Sent) -> bool {
    let Some(mut vegas) = sender.vegas.take() else {
        return false;
    };
    let now_s = seconds(now_ns);
    vegas.start_measurement(now_s);
    // The sender's output calls `vegas.sending`, so `vegas` is put back before.
    let mut repeat = None;
    if ack > sender.acknowledged {
        repeat = vegas.new_ack(sender, now_ns, ack);
    } else if ack == sender.acknowledged {
        repeat = vegas.duplicate(sender, now_ns);
    }
    sender.vegas = Some(vegas);
    // A packet that seems overdue may not exist yet.
    if let Some(seq) = repeat.filter(|&seq| seq < sender.available) {
        sender.output(now_ns, seq, sent);
    }
    sender.duplicates == 0 || sender.duplicates >= DUPACK_THRESHOLD
}

impl Vegas {
    fn new_ack(&mut self, sender: &mut Sender, now_ns: u64, ack: i32) -> Option<i32> {
        let now_s = seconds(now_ns);
        if sender.acknowledged == 0 {
            sender.window = sender.initial_window();
        }
        if sender.duplicates > DUPACK_THRESHOLD && sender.window > self.new_window {
            sender.window = self.new_window;
            sender.ssthresh = 2.0;
        }
        let before = sender.acknowledged;
        sender.receive_new_ack(now_ns, ack);
        if ack >= self.begin {
            self.end_round(sender, now_s);
        }
        if self.increment == 1.0 && sender.window >= sender.ssthresh {
            self.increment = 0.0;
        }
        let out = f64::from(sender.next - sender.acknowledged);
        if self.increment > 0.0 && sender.window - out <= 2.0 {
            sender.window += self.increment;
        }
        if let Some(sent_s) = self.remove_acknowledged(before, ack) {
            self.update_rtt(now_s - sent_s);
        }
        if self.worried > 0 {
            self.worried -= 1;
            match self.expired(now_s, ack) {
                Some(seq) => {
                    sender.duplicates = DUPACK_THRESHOLD;
                    return Some(seq);
                }
                None => self.worried = 0,
            }
        }
        None
    }

    /// Once per round, compares the actual rate with the expected rate without queues.
    fn end_round(&mut self, sender: &mut Sender, now_s: f64) {
        let rtt_s = match self.rtts {
            0 => now_s - self.begin_s,
            n => self.rtt_sum_s / f64::from(n),
        };
        (self.rtt_sum_s, self.rtts) = (0.0, 0);
        let in_round = sender.next - self.begin;
        if rtt_s > 0.0 {
            if rtt_s < self.base_rtt_s || in_round <= 1 {
                self.base_rtt_s = rtt_s;
            }
            let actual = f64::from(in_round) / rtt_s;
            let expected = f64::from(sender.next - sender.acknowledged) / self.base_rtt_s;
            let surplus = ((expected - actual) * self.base_rtt_s + 0.5).trunc();
            if sender.window < sender.ssthresh {
                self.grow_now = !self.grow_now;
                if !self.grow_now {
                    self.increment = 0.0;
                } else if surplus > self.gamma {
                    sender.ssthresh = 2.0;
                    sender.window = (sender.window - sender.window / 8.0).max(2.0);
                    self.increment = 0.0;
                } else {
                    self.increment = 1.0;
                }
            } else if surplus > self.beta {
                sender.window = (sender.window - 1.0).max(2.0);
                self.increment = 0.0;
            } else if surplus < self.alpha {
                self.increment = 1.0 / sender.window;
            } else {
                self.increment = 0.0;
            }
        }
        self.begin = sender.next;
        self.begin_s = now_s;
    }

    fn duplicate(&mut self, sender: &mut Sender, now_ns: u64) -> Option<i32> {
        let now_s = seconds(now_ns);
        sender.duplicates += 1;
        let expired = self.expired(now_s, sender.acknowledged);
        if expired.is_none() && sender.duplicates != DUPACK_THRESHOLD {
            if sender.duplicates > DUPACK_THRESHOLD {
                sender.window += 1.0;
            }
            return None;
        }
        if sender.acknowledged <= sender.recover && sender.action == Action::Timeout {
            return None;
        }
        let slot = self.slot(sender.acknowledged + 1);
        let (sent_s, transmissions) = (self.sent_s[slot], self.transmissions[slot]);
        let window = sender.vegas_usable_window();
        sender.action = Action::FastRetransmit;
        sender.recover = sender.highest_sent;
        sender.fast_retransmits += 1;
        self.worried = (sender.next - sender.acknowledged).min(2);
        self.timeout_s *= if transmissions > 1 { 2.0 } else { 1.125 };
        if self.changed_s < sent_s {
            let left = match window {
                ..=3 => 2,
                n if transmissions > 1 => n >> 1,
                n => n - (n >> 2),
            };
            self.new_window = f64::from(left);
            sender.window = self.new_window + f64::from(sender.duplicates);
            self.changed_s = now_s;
        }
        sender.back_off_timer(now_ns);
        if transmissions == 1 {
            sender.duplicates = DUPACK_THRESHOLD;
        }
        Some(expired.unwrap_or(sender.acknowledged + 1))
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
