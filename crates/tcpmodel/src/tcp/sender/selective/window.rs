//! Window updates: growth, proportional rate reduction (RFC 6937), or the window of a path model (BBR).

use super::super::super::congestion::{Acked, Delivery, Repairs};
use super::{News, Selective, State};

impl Selective {
    /// Returns the content of the acknowledgement for the congestion control.
    pub(super) fn acked(&self, now_ns: u64, news: &News) -> Acked {
        Acked {
            now_ns,
            delivered: news.delivered,
            may_grow: news.advanced && self.is_window_used(),
            acknowledged: self.acknowledged(),
            next: self.segments.next(),
            rtt_ns: news.rtt_ns,
            congested: news.congested,
        }
    }

    pub(super) fn move_window(&mut self, now_ns: u64, news: &News) {
        let acked = self.acked(now_ns, news);
        let mut rate = self.rate.sample(now_ns, self.min_rtt_ns);
        rate.may_be_delayed = news.may_be_delayed;
        if let Some(model) = self.congestion.model() {
            let delivery = Delivery {
                rate,
                acked,
                in_flight: self.segments.in_flight(),
                in_flight_before: news.in_flight_before,
                newly_lost: (rate.lost - news.lost_before) as u32,
                repairs: match self.state {
                    State::Open | State::Disorder | State::Reduced => Repairs::None,
                    State::Recovery => Repairs::Recovery,
                    State::Loss => Repairs::Timeout,
                },
                srtt_ns: self.rtt.srtt_ns(),
            };
            model.acked(&mut self.window, &delivery);
            if model.is_probing_rtt() {
                self.rate.limit(self.segments.in_flight());
            }
        } else if matches!(self.state, State::Recovery | State::Reduced) {
            self.reduce(news);
        } else {
            self.congestion.grow(&mut self.window, &acked);
        }
    }

    /// Performs proportional rate reduction.
    pub(super) fn reduce(&mut self, news: &News) {
        if self.congestion.model().is_some() || news.delivered == 0 && self.reduction.sent > 0 {
            return;
        }
        let it = &mut self.reduction;
        it.delivered += news.delivered;
        let in_flight = self.segments.in_flight();
        let ssthresh = self.window.ssthresh;
        let more = match ssthresh.checked_sub(in_flight) {
            None => {
                let share = u64::from(ssthresh) * u64::from(it.delivered);
                let all = share.div_ceil(u64::from(it.prior_cwnd.max(1)));
                (all as u32).saturating_sub(it.sent)
            }
            Some(room) => {
                let mut more = it.delivered.saturating_sub(it.sent).max(news.delivered);
                if news.advanced && !news.newly_lost {
                    more += 1;
                }
                more.min(room)
            }
        };
        // The first retransmission is always sent.
        let least = u32::from(it.sent == 0);
        self.window.cwnd = in_flight + more.max(least);
    }
}
