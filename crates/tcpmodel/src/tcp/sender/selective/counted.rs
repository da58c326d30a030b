//! Loss detection without selective acknowledgements, as in Linux (RFC 6582). Every duplicate
//! acknowledgement counts as a segment that has arrived. Only one lost segment is known at a time: the
//! first.

use super::super::segments::LOST;
use super::{News, Resend, Selective, State};

impl Selective {
    /// Processes the cumulative acknowledgement of `segments` segments: one was missing, the others were
    /// counted.
    pub(super) fn uncount(&mut self, segments: u32, news: &mut News) {
        let sacked = self.segments.sacked;
        news.delivered = segments.saturating_sub(sacked).max(1);
        self.segments.sacked = sacked.saturating_sub(segments - 1);
        self.limit_count();
    }

    /// Counts a duplicate acknowledgement as an arrived segment.
    fn count_duplicate(&mut self, news: &mut News) {
        if !news.pure_duplicate {
            return;
        }
        let before = self.segments.sacked;
        self.segments.sacked += 1;
        self.limit_count();
        news.delivered += self.segments.sacked.saturating_sub(before);
    }

    /// Limits the count of arrivals to the segments in flight minus the lost ones, at least one.
    fn limit_count(&mut self) {
        let out = self.segments.out();
        let holes = self.segments.lost.max(1).min(out);
        self.segments.sacked = self.segments.sacked.min(out - holes);
    }

    /// Updates the state by counting. Returns the kind of segments to send, if it does not depend on
    /// losses.
    pub(super) fn judge_counted(&mut self, news: &mut News) -> Option<Resend> {
        let recovered = self.acknowledged() >= self.high;
        if self.state == State::Recovery && recovered {
            self.segments.sacked = 0;
            if self.acknowledged() == self.high {
                // Duplicates caused by retransmissions would indicate another loss.
                return Some(Resend::Nothing);
            }
            self.end_reduction();
            self.state = State::Open;
        }
        match self.state {
            State::Loss => {
                let frto_ends = !self.frto || !news.original;
                if recovered && self.acknowledged() == self.high && frto_ends {
                    self.frto = false;
                    return Some(Resend::Nothing);
                }
                let resend = self.after_timeout(news);
                if self.state != State::Open {
                    if self.segments.next() > self.high && news.pure_duplicate {
                        self.count_duplicate(news);
                    } else if news.advanced {
                        self.segments.sacked = 0;
                    }
                    return Some(resend);
                }
            }
            State::Recovery if !news.advanced => self.count_duplicate(news),
            State::Recovery => self.lose_first(news),
            State::Open | State::Disorder | State::Reduced => {
                if news.advanced {
                    self.segments.sacked = 0;
                }
                self.count_duplicate(news);
                if self.segments.sacked >= self.rules.loss_at {
                    self.lose_first(news);
                }
            }
        }
        None
    }

    /// Marks the first unacknowledged segment as lost.
    fn lose_first(&mut self, news: &mut News) {
        let first = self.acknowledged();
        let Some(it) = self.segments.get(first) else {
            return;
        };
        if it.marks & LOST != 0 {
            return;
        }
        self.segments.lose(first);
        self.rate.lost += 1;
        news.newly_lost = true;
    }
}
