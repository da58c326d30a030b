//! The state machine of Linux's loss recovery (`tcp_fastretrans_alert`).

use super::super::super::Ack;
use super::{News, Reduction, Resend, Selective, State};

impl Selective {
    /// Updates the state, and returns the kind of segments to send.
    pub(super) fn judge(&mut self, now_ns: u64, news: &mut News) -> Resend {
        if self.state == State::Reduced && self.acknowledged() > self.high {
            self.end_reduction();
            self.state = State::Open;
        }
        let decided = match self.rules.selective {
            true => self.judge_selective(now_ns, news),
            false => self.judge_counted(news),
        };
        if let Some(resend) = decided {
            return resend;
        }
        if self.state != State::Recovery {
            if self.segments.lost == 0 {
                self.try_to_open(news);
                return Resend::Nothing;
            }
            self.enter_recovery();
        }
        Resend::Lost
    }

    /// Updates the state with selective acknowledgements. Returns the kind of segments to send, if it does
    /// not depend on losses.
    fn judge_selective(&mut self, now_ns: u64, news: &mut News) -> Option<Resend> {
        if self.acknowledged() >= self.high && self.state == State::Recovery {
            self.end_reduction();
            self.state = State::Open;
        }
        if self.state != State::Loss {
            self.find_lost(now_ns, news);
            return None;
        }
        let resend = self.after_timeout(news);
        self.find_lost(now_ns, news);
        let reopened = self.state == State::Open;
        (!reopened && !news.lost_again).then_some(resend)
    }

    /// Updates the state without losses. ECN marks reduce the window as a loss does, once per round trip
    /// (RFC 3168, 6.1.2).
    fn try_to_open(&mut self, news: &News) {
        if news.congested && self.state != State::Reduced {
            self.state = State::Reduced;
            self.high = self.segments.next();
            self.begin_reduction(true);
        }
        if self.state == State::Reduced {
            return;
        }
        let state = if self.segments.sacked > 0 || self.segments.again > 0 {
            State::Disorder
        } else {
            State::Open
        };
        if self.state != state {
            self.state = state;
            self.high = self.segments.next();
        }
    }

    pub(super) fn enter_recovery(&mut self) {
        let is_reduced = self.state == State::Reduced;
        self.state = State::Recovery;
        self.high = self.segments.next();
        self.probe_end = 0;
        self.fast_retransmits += 1;
        if !is_reduced {
            self.begin_reduction(false);
        }
    }

    /// Starts a window reduction after a loss or a mark.
    pub(super) fn begin_reduction(&mut self, by_mark: bool) {
        self.reduction = Reduction {
            prior_cwnd: self.window.cwnd,
            prior_ssthresh: self.window.ssthresh,
            ..Reduction::default()
        };
        self.window.ssthresh = self.congestion.lose(self.window, by_mark);
    }

    /// Ends a window reduction: all segments before the recovery point are acknowledged.
    pub(super) fn end_reduction(&mut self) {
        if self.congestion.model().is_none() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    pub(super) fn after_timeout(&mut self, news: &News) -> Resend {
        let recovered = self.acknowledged() >= self.high;
        if self.frto {
            if news.original {
                self.undo();
                return Resend::Nothing;
            }
            if self.segments.next() > self.high {
                if news.sacked || news.pure_duplicate {
                    self.frto = false;
                }
            } else if news.advanced && !recovered {
                self.high = self.segments.next();
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

    /// Undoes the effects of a spurious timeout. Segments that have not arrived are checked for losses
    /// again.
    fn undo(&mut self) {
        self.segments.find_all();
        self.latest_is_new = true;
        match self.congestion.model() {
            Some(model) => model.undo(),
            None => self.window.cwnd = self.window.cwnd.max(self.reduction.prior_cwnd),
        }
        self.window.ssthresh = self.reduction.prior_ssthresh;
        self.frto = false;
        self.state = State::Open;
    }

    pub(super) fn end_probe(&mut self, ack: &Ack, news: News) {
        if self.probe_end == 0 || ack.cumulative < self.probe_end {
            return;
        }
        if self.probe_again && !ack.duplicate && ack.cumulative > self.probe_end {
            // The probe repaired a loss that nothing else reported.
            self.begin_reduction(false);
            self.end_reduction();
            self.probe_end = 0;
        } else if !self.probe_again || ack.duplicate || news.pure_duplicate {
            self.probe_end = 0;
        }
    }
}
