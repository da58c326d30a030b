//! The timer: retransmission, tail loss probe or reordering.

use super::{AGAIN, LOST, News, SACKED, Selective, State, Timer};

impl Selective {
    pub(super) fn set_timer(&mut self, now_s: f64, timer: Timer, delay_s: f64) {
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

    pub(super) fn rearm(&mut self, now_s: f64) {
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

    pub(super) fn schedule_probe(&mut self, now_s: f64, advancing: bool) -> bool {
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

    /// A timer fires. Was it for want of acknowledgements?
    pub(in super::super) fn timeout(&mut self, now_s: f64, out: &mut Vec<u32>) -> bool {
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
            self.probe_again = !self.may_send_new();
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
            self.lower_threshold();
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
        self.growth.forget();
        self.state = State::Loss;
        self.high = self.next;
        self.probe_end = 0;
        self.timeouts += 1;
        self.send_again(now_s, self.acknowledged, out);
        self.rto.back_off();
        self.set_timer(now_s, Timer::Retransmission, self.rto.timeout_s());
    }
}
