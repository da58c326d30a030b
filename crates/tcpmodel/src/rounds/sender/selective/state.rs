//! What state a sender is in after an acknowledgement, and so what it sends.

use super::super::super::path::Packet;
use super::{LOST, News, Resend, Selective, State};

impl Selective {
    /// Decides what state to be in, and what to send.
    pub(super) fn judge(&mut self, now_s: f64, news: &mut News) -> Resend {
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

    pub(super) fn keep_open(&mut self) {
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

    pub(super) fn enter_recovery(&mut self) {
        self.state = State::Recovery;
        self.high = self.next;
        self.probe_end = 0;
        self.reduction_delivered = 0;
        self.reduction_sent = 0;
        self.lower_threshold();
    }

    /// A loss: what is left of the window, and what it was.
    pub(super) fn lower_threshold(&mut self) {
        self.prior_window = self.window;
        self.prior_threshold = self.threshold;
        self.threshold = self.growth.lose(self.window);
    }

    pub(super) fn after_timeout(&mut self, news: &News) -> Resend {
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
                if self.may_send_new() {
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
        self.threshold = self.prior_threshold;
        self.frto = false;
        self.state = State::Open;
    }

    pub(super) fn end_probe(&mut self, packet: &Packet, news: News) {
        if self.probe_end == 0 || packet.ack < self.probe_end {
            return;
        }
        if self.probe_again && !packet.duplicate && packet.ack > self.probe_end {
            // The probe repaired a loss that nothing else told of.
            self.lower_threshold();
            self.window = self.threshold;
            self.probe_end = 0;
        } else if !self.probe_again || packet.duplicate || news.pure_duplicate {
            self.probe_end = 0;
        }
    }
}
