//! Window updates: growth, proportional rate reduction (RFC 6937), or the window of a path model (BBR).

use super::super::super::congestion::{Acked, Algorithm, Delivery};
use super::{AckInfo, LinuxSender, State};

impl LinuxSender {
    /// Returns the content of the acknowledgement for the congestion control.
    pub(super) fn acked(&self, now_ns: u64, info: &AckInfo) -> Acked {
        // With a high degree of reordering, any delivery counts (`tcp_may_raise_cwnd`).
        let any_counts = self.reordering.degree > self.rules.dupack_threshold;
        let has_progress = info.advanced || any_counts && info.sacked;
        Acked {
            now_ns,
            delivered: info.delivered,
            may_grow: has_progress && self.is_cwnd_limited(),
            acknowledged: self.acknowledged(),
            next: self.segments.next(),
            rtt_ns: info.rtt_ns,
            marked: info.marked,
        }
    }

    pub(super) fn update_cwnd(&mut self, now_ns: u64, info: &AckInfo) {
        let acked = self.acked(now_ns, info);
        let mut rate = self.rate.sample(now_ns, self.min_rtt_ns);
        rate.may_be_delayed = info.may_be_delayed;
        if let Some(control) = self.congestion.as_window_control() {
            let delivery = Delivery {
                rate,
                acked,
                in_flight: self.segments.in_flight(),
                in_flight_before: info.in_flight_before,
                newly_lost: (rate.lost - info.lost_before) as u32,
                recovery: self.state,
                srtt_ns: self.rtt.srtt_ns(),
                is_cwnd_limited: self.validation.limited,
                next_departure_ns: self.pacer.next_departure_ns(),
                acks_tail_probe: info.acks_tail_probe,
            };
            control.on_delivery(&mut self.window, &delivery);
            if control.is_probing_rtt() {
                self.rate.mark_app_limited(self.segments.in_flight());
            }
        } else if matches!(self.state, State::Recovery | State::Reduced) {
            self.reduce_proportionally(info);
        } else {
            self.congestion.grow(&mut self.window, &acked);
        }
    }

    /// Performs proportional rate reduction.
    pub(super) fn reduce_proportionally(&mut self, info: &AckInfo) {
        if self.congestion.owns_window() || info.delivered == 0 && self.prr.sent > 0 {
            return;
        }
        let it = &mut self.prr;
        it.delivered += info.delivered;
        let in_flight = self.segments.in_flight();
        let ssthresh = self.window.ssthresh;
        let more = match ssthresh.checked_sub(in_flight) {
            None => {
                let share = u64::from(ssthresh) * u64::from(it.delivered);
                let all = share.div_ceil(u64::from(it.prior_cwnd.max(1)));
                (all as u32).saturating_sub(it.sent)
            }
            Some(room) => {
                let mut more = it.delivered.saturating_sub(it.sent).max(info.delivered);
                if info.advanced && !info.newly_lost {
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
