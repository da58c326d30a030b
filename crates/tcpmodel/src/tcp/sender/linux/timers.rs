//! The timer of a sender: retransmission, tail loss probe or reordering.

use super::super::super::NEVER;
use super::super::super::congestion::Algorithm;
use super::super::rate::Stamp;
use super::super::retransmission_queue::SACKED;
use super::{AckInfo, LinuxSender, State, Timer};

impl LinuxSender {
    pub(super) fn set_timer(&mut self, now_ns: u64, timer: Timer, delay_ns: u64) {
        self.timer = timer;
        self.timer_ns = self.clock.after(now_ns, delay_ns);
    }

    /// Returns the time until the retransmission timeout of the oldest segment, in ns.
    fn until_timeout_ns(&self, now_ns: u64) -> u64 {
        let oldest = self.segments.get(self.acknowledged());
        let sent_ns = oldest.map_or(now_ns, |it| it.sent_ns);
        (sent_ns + self.rtt.timeout_ns()).saturating_sub(now_ns)
    }

    pub(super) fn rearm(&mut self, now_ns: u64) {
        if self.segments.packets_out() == 0 {
            self.timer_ns = NEVER;
            return;
        }
        let is_other = self.timer_ns < NEVER && self.timer != Timer::Retransmission;
        let delay_ns = if is_other {
            self.until_timeout_ns(now_ns).max(1000)
        } else {
            self.rtt.timeout_ns()
        };
        self.set_timer(now_ns, Timer::Retransmission, delay_ns);
    }

    pub(super) fn schedule_probe(&mut self, now_ns: u64, advancing: bool) -> bool {
        let is_open = matches!(self.state, State::Open | State::Reduced);
        if !self.rules.has_tail_loss_probe || self.segments.packets_out() == 0 || !is_open {
            return false;
        }
        let srtt_ns = self.rtt.srtt_ns();
        let mut delay_ns = if srtt_ns > 0 {
            2 * srtt_ns
                + if self.segments.packets_out() == 1 {
                    self.rules.min_rto_ns
                } else {
                    self.clock.min_delay_ns()
                }
        } else {
            1_000_000_000
        };
        let timeout_ns = if advancing {
            self.rtt.timeout_ns()
        } else {
            self.until_timeout_ns(now_ns)
        };
        if timeout_ns > 0 {
            delay_ns = delay_ns.min(timeout_ns);
        }
        self.set_timer(now_ns, Timer::Probe, delay_ns);
        true
    }

    /// Processes a timer. Returns true if it was caused by missing acknowledgements.
    ///
    /// The event can also be the end of a pacing delay.
    pub(in super::super) fn time_out(&mut self, now_ns: u64, out: &mut Vec<u32>) -> bool {
        if self.pacer.end_wait(now_ns) {
            self.send_lost(now_ns, out);
            self.send(now_ns, out);
            return false;
        }
        let timer = self.timer;
        self.timer_ns = NEVER;
        match timer {
            Timer::Retransmission => self.retransmission_timeout(now_ns, out),
            Timer::Probe => self.probe(now_ns, out),
            Timer::Reordering => {
                self.reordering_timeout(now_ns, out);
                return false;
            }
        }
        true
    }

    fn reordering_timeout(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        let before = self.segments.in_flight();
        let wait_ns = self.mark_lost_segments(now_ns);
        if wait_ns > 0 {
            self.set_timer(
                now_ns,
                Timer::Reordering,
                wait_ns + self.clock.min_delay_ns(),
            );
        }
        if self.segments.in_flight() != before {
            if self.state != State::Recovery {
                self.enter_recovery(false);
                self.reduce_proportionally(&AckInfo {
                    delivered: 1,
                    ..AckInfo::default()
                });
            }
            self.send_lost(now_ns, out);
        }
        if self.timer_ns == NEVER || self.timer != Timer::Retransmission {
            self.rearm(now_ns);
        }
    }

    fn probe(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        if self.probe_end == 0 && self.segments.packets_out() > 0 {
            self.probe_again = !self.may_send_new();
            if self.probe_again {
                let last = self.segments.get(self.segments.next() - 1);
                self.probed = last.map_or_else(Stamp::default, |it| it.stamp);
                self.retransmit(now_ns, self.segments.next() - 1, out);
            } else {
                self.send_new(now_ns, out);
            }
            self.probe_end = self.segments.next();
        }
        self.timer_ns = NEVER;
        self.rearm(now_ns);
    }

    fn retransmission_timeout(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        if self.segments.packets_out() == 0 {
            return;
        }
        let anew = matches!(self.state, State::Open | State::Disorder)
            || self.acknowledged() >= self.recovery_point
            || self.state == State::Loss && self.timeouts_in_a_row == 0;
        let threshold = self.rules.dupack_threshold;
        if matches!(self.state, State::Open | State::Disorder) && self.segments.sacked >= threshold
        {
            // The degree of reordering was overestimated.
            self.reordering.degree = threshold;
        }
        self.frto =
            !matches!(self.state, State::Recovery | State::Loss) || self.timeouts_in_a_row > 0;
        let rtt_ns = if self.rules.rack {
            self.latest_rtt_ns
        } else {
            0
        };
        if !self.rules.sack {
            self.segments.sacked = 0;
        }
        let first = self.acknowledged();
        for segment in first..self.segments.next() {
            let Some(it) = self.segments.get(segment) else {
                continue;
            };
            let recent = segment != first && rtt_ns > now_ns - it.sent_ns;
            if it.marks & SACKED == 0 && !recent {
                self.mark_lost(now_ns, segment);
            }
        }
        if anew {
            self.undo.prior_ssthresh = Some(self.threshold_to_keep());
            self.begin_reduction(false);
            self.begin_undo();
        }
        let before = self.window;
        self.window.cwnd = self.segments.in_flight() + 1;
        self.congestion.on_rto(before, self.segments.next());
        self.state = State::Loss;
        self.recovery_point = self.segments.next();
        self.probe_end = 0;
        self.timeouts_in_a_row += 1;
        self.timeouts += 1;
        self.repair(now_ns, first, out);
        self.rtt.back_off();
        self.set_timer(now_ns, Timer::Retransmission, self.rtt.timeout_ns());
    }
}
