//! Which segments are lost: by time (RACK, RFC 8985) or by those that arrived (RFC 6675).

use super::{AGAIN, LOST, News, SACKED, Selective, State, Timer};

impl Selective {
    /// RACK: what was sent long enough before something that arrived is lost.
    pub(super) fn find_lost(&mut self, now_s: f64, news: &mut News) {
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
    pub(super) fn detect(&mut self, now_s: f64) -> f64 {
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
}
