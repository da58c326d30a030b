//! ProbeRTT of BBR version 3, and its minimum filters of round-trip times.

use super::super::bbr::{MIN_RTT_NS, PROBE_RTT_NS};
use super::super::{Delivery, Window};
use super::{AckPhase, Bbr3, MinRtt, PROBE_RTT_INTERVAL_NS, State};

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, window: &mut Window, delivery: &Delivery) {
        let now_ns = delivery.acked.now_ns;
        let is_due = now_ns > self.probe_rtt_min.at_ns + PROBE_RTT_INTERVAL_NS;
        if let Some(ns) = delivery.acked.rtt_ns
            && (ns < self.probe_rtt_min.ns || is_due && !delivery.rate.may_be_delayed)
        {
            self.probe_rtt_min = MinRtt {
                ns: ns.max(1),
                at_ns: now_ns,
            };
        }
        let is_expired = now_ns > self.min_rtt.at_ns + MIN_RTT_NS;
        if self.probe_rtt_min.ns <= self.min_rtt.ns || is_expired {
            self.min_rtt = self.probe_rtt_min;
        }
        if is_due && !self.is_idle_restart && self.state != State::ProbeRtt {
            self.save_cwnd(window.cwnd);
            self.state = State::ProbeRtt;
            self.probe_rtt_until_ns = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.round_end = delivery.rate.delivered;
        }
        if self.state == State::ProbeRtt {
            if self.probe_rtt_until_ns.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.check_probe_rtt_done(window, now_ns, delivery.rate.delivered);
                }
            } else if delivery.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_until_ns = Some(now_ns + PROBE_RTT_NS);
                self.probe_rtt_round = false;
                self.round_end = delivery.rate.delivered;
            }
        }
        if delivery.rate.flight.is_some_and(|it| it.delivered > 0) {
            self.is_idle_restart = false;
        }
    }

    pub(super) fn check_probe_rtt_done(
        &mut self,
        window: &mut Window,
        now_ns: u64,
        delivered: u64,
    ) {
        if self
            .probe_rtt_until_ns
            .is_none_or(|until_ns| now_ns <= until_ns)
        {
            return;
        }
        self.probe_rtt_min.at_ns = now_ns;
        self.restore_cwnd(window);
        self.reset_lower_bounds();
        if self.full_bw_reached {
            self.start_down(now_ns, delivered);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
