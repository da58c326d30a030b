//! How the window moves: slow start, congestion avoidance, proportional rate reduction (RFC 6937).

use super::{News, Selective, State};

impl Selective {
    pub(super) fn move_window(&mut self, now_s: f64, news: &News) {
        if self.state == State::Recovery {
            self.reduce(news);
        } else if news.advanced && self.is_window_used() {
            let mut grown = f64::from(news.delivered);
            if self.window < self.threshold {
                let room = self.threshold - self.window;
                let slow = grown.min(room);
                self.window += slow;
                grown -= slow;
            }
            if grown > 0.0 {
                let window = self.window;
                self.window = self.growth.grow(now_s, window, grown, self.min_rtt_s);
            }
        }
    }

    /// Proportional rate reduction.
    pub(super) fn reduce(&mut self, news: &News) {
        if news.delivered == 0 && self.reduction_sent > 0 {
            return;
        }
        self.reduction_delivered += news.delivered;
        let in_flight = self.in_flight();
        let room = self.threshold - in_flight;
        let sent = f64::from(self.reduction_sent);
        let delivered = f64::from(self.reduction_delivered);
        let mut more = if room < 0.0 {
            (self.threshold * delivered / self.prior_window).ceil() - sent
        } else {
            let mut more = (delivered - sent).max(f64::from(news.delivered));
            if news.advanced && !news.newly_lost {
                more += 1.0;
            }
            more.min(room)
        };
        more = more.max(if self.reduction_sent == 0 { 1.0 } else { 0.0 });
        self.window = in_flight + more;
    }
}
