//! Estimation of a link's bandwidth, which traces do not contain, from the times of its packets.

/// Estimator of one link's bandwidth.
#[derive(Clone, Debug, Default)]
pub(super) struct BandwidthEstimator {
    /// Bits and duration of the transmissions after which another packet was waiting.
    busy_bits: u64,
    busy_ns: i64,
    /// Shortest and longest packet in bytes, with their minimum time from the start of transmission to
    /// the arrival.
    shortest: Option<(u32, i64)>,
    longest: Option<(u32, i64)>,
}

impl BandwidthEstimator {
    /// Records a transmission of `took_ns` after which another packet was waiting.
    #[inline]
    pub fn record_back_to_back(&mut self, bytes: u32, took_ns: i64) {
        if took_ns > 0 && bytes > 0 {
            self.busy_bits += 8 * u64::from(bytes);
            self.busy_ns += took_ns;
        }
    }

    /// Records the time of a packet from the start of its transmission to its arrival.
    #[inline]
    pub fn record_transit(&mut self, bytes: u32, took_ns: i64) {
        for (place, better) in [
            (&mut self.shortest, std::cmp::Ordering::Less),
            (&mut self.longest, std::cmp::Ordering::Greater),
        ] {
            match place {
                Some((known, least)) if *known == bytes => *least = (*least).min(took_ns),
                Some((known, _)) if bytes.cmp(known) != better => {}
                _ => *place = Some((bytes, took_ns)),
            }
        }
    }

    /// Returns the bandwidth in bit/s. Back-to-back packets have priority; the fallback is the additional
    /// time of longer packets. `None` if neither was seen.
    pub fn bandwidth_bps(&self) -> Option<f64> {
        if self.busy_ns > 0 {
            return Some(self.busy_bits as f64 * 1e9 / self.busy_ns as f64);
        }
        let ((short, short_ns), (long, long_ns)) = (self.shortest?, self.longest?);
        let (bits, ns) = (8.0 * f64::from(long - short), (long_ns - short_ns) as f64);
        (bits > 0.0 && ns > 0.0).then(|| bits * 1e9 / ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_to_back_packets_give_exact_bandwidth() {
        let mut inference = BandwidthEstimator::default();
        assert_eq!(inference.bandwidth_bps(), None);
        inference.record_back_to_back(1000, 1_000_000);
        inference.record_back_to_back(40, 40_000);
        assert_eq!(inference.bandwidth_bps(), Some(8e6));
    }

    /// 8 Mbit/s and 10 ms: 1000 B take 11 ms, 40 B 10.04 ms.
    #[test]
    fn two_packet_sizes_give_bandwidth() {
        let mut inference = BandwidthEstimator::default();
        inference.record_transit(1000, 11_000_000);
        assert_eq!(inference.bandwidth_bps(), None);
        inference.record_transit(40, 10_040_000);
        assert_eq!(inference.bandwidth_bps(), Some(8e6));
    }
}
