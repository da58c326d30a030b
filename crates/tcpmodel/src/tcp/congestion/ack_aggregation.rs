//! ACK aggregation, as in Linux's `tcp_bbr`: acknowledged packets in excess of the bandwidth.

use super::{Delivery, Window};

/// Round trips in each of two filter windows.
pub(super) const EXTRA_ACKED_ROUNDS: u32 = 5;
/// The maximum duration of the excess in nanoseconds, and the maximum packets of an epoch.
const EXTRA_ACKED_MAX_NS: f64 = 100e6;
const ACK_EPOCH_MAX_PKTS: u64 = 1 << 20;

/// The maximum excess of the last five to ten round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    epoch_ns: u64,
    acked: u64,
    extra: [u32; 2],
    extra_index: usize,
    rounds: u32,
}

impl AckAggregation {
    /// Starts a new epoch.
    pub(super) fn restart(&mut self, now_ns: u64) {
        (self.epoch_ns, self.acked) = (now_ns, 0);
    }

    /// Adds a delivery. `bandwidth` is in packets per nanosecond. At the start of a round trip, `window_rounds` is the
    /// number of round trips in a filter window.
    pub(super) fn update(
        &mut self,
        window: &Window,
        delivery: &Delivery,
        bandwidth: f64,
        window_rounds: Option<u32>,
    ) {
        let acked = delivery.acked.delivered;
        if acked == 0 || delivery.rate.measured.is_none() {
            return;
        }
        if let Some(window_rounds) = window_rounds {
            self.rounds += 1;
            if self.rounds >= window_rounds {
                self.rounds = 0;
                self.extra_index ^= 1;
                self.extra[self.extra_index] = 0;
            }
        }
        let at_ns = delivery.rate.at_ns;
        let mut expected = (bandwidth * at_ns.saturating_sub(self.epoch_ns) as f64) as u64;
        if self.acked <= expected || self.acked + u64::from(acked) >= ACK_EPOCH_MAX_PKTS {
            (self.acked, self.epoch_ns, expected) = (0, at_ns, 0);
        }
        self.acked += u64::from(acked);
        let extra = (self.acked - expected).min(u64::from(window.cwnd)) as u32;
        self.extra[self.extra_index] = self.extra[self.extra_index].max(extra);
    }

    /// Returns the additional packets in flight that the excess needs.
    pub(super) fn extra_pkts(&self, bandwidth: f64) -> u32 {
        let most = (bandwidth * EXTRA_ACKED_MAX_NS).min(super::bbr::MAX_CWND) as u32;
        self.extra[0].max(self.extra[1]).min(most)
    }
}
