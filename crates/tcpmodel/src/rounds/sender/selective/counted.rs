//! Without selective acknowledgements, Linux counts every duplicate acknowledgement as a segment
//! that has arrived, and knows of one lost segment at a time: the first (RFC 6582).

use super::{AGAIN, LOST, News, Resend, Selective, State};

impl Selective {
    /// So many segments were acknowledged: one of them was missing, the others were counted.
    pub(super) fn uncount(&mut self, segments: u32, news: &mut News) {
        news.delivered = segments.saturating_sub(self.sacked).max(1);
        self.sacked = self.sacked.saturating_sub(segments - 1);
        self.limit_count();
    }

    /// Counts what a duplicate acknowledgement tells of.
    fn count_duplicate(&mut self, news: &mut News) {
        if !news.pure_duplicate {
            return;
        }
        let before = self.sacked;
        self.sacked += 1;
        self.limit_count();
        news.delivered += self.sacked.saturating_sub(before);
    }

    /// No more can have arrived than is on its way, but for one lost segment at least.
    fn limit_count(&mut self) {
        let holes = self.lost.max(1).min(self.out());
        self.sacked = self.sacked.min(self.out() - holes);
    }

    /// Decides what state to be in, and what to send.
    pub(super) fn judge_counted(&mut self, news: &mut News) -> Resend {
        let recovered = self.acknowledged >= self.high;
        if self.state == State::Recovery && recovered {
            self.sacked = 0;
            if self.acknowledged == self.high {
                // Duplicates of what was sent again would look like another loss.
                return Resend::Nothing;
            }
            self.window = self.threshold;
            self.state = State::Open;
        }
        match self.state {
            State::Loss => {
                let frto_ends = !self.frto || !news.original;
                if recovered && self.acknowledged == self.high && frto_ends {
                    self.frto = false;
                    return Resend::Nothing;
                }
                let resend = self.after_timeout(news);
                if self.state != State::Open {
                    if self.next > self.high && news.pure_duplicate {
                        self.count_duplicate(news);
                    } else if news.advanced {
                        self.sacked = 0;
                    }
                    return resend;
                }
            }
            State::Recovery if !news.advanced => self.count_duplicate(news),
            State::Recovery => self.lose_first(news),
            State::Open | State::Disorder => {
                if news.advanced {
                    self.sacked = 0;
                }
                self.count_duplicate(news);
                if self.sacked >= self.loss_at {
                    self.lose_first(news);
                }
            }
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

    /// The first segment that is not acknowledged is lost.
    fn lose_first(&mut self, news: &mut News) {
        let Some(mark) = self.marks.get_mut(self.acknowledged as usize) else {
            return;
        };
        if self.acknowledged >= self.next || *mark & LOST != 0 {
            return;
        }
        self.again -= u32::from(*mark & AGAIN != 0);
        *mark = (*mark | LOST) & !AGAIN;
        self.lost += 1;
        news.newly_lost = true;
    }
}
