//! The bandwidth of a link, which traces do not tell: found out from the times of its packets.

/// What is known so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Inference {
    /// Transmissions that were followed by the next packet at once: their bits and their time.
    busy_bits: u64,
    busy_ns: i64,
    /// The shortest and the longest packet seen, in bytes, with the least time from the beginning
    /// of its transmission to its arrival.
    shortest: Option<(u32, i64)>,
    longest: Option<(u32, i64)>,
}

impl Inference {
    /// A packet was transmitted for this long: the next one was waiting.
    #[inline]
    pub fn transmission(&mut self, bytes: u32, took_ns: i64) {
        if took_ns > 0 && bytes > 0 {
            self.busy_bits += 8 * u64::from(bytes);
            self.busy_ns += took_ns;
        }
    }

    /// A packet took this long from the beginning of its transmission to its arrival.
    #[inline]
    pub fn crossing(&mut self, bytes: u32, took_ns: i64) {
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

    /// In bit/s: from packets that followed each other without a pause, else from the longer time
    /// that longer packets take; `None` if neither was seen.
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
    fn packets_without_pause_tell_it_exactly() {
        let mut inference = Inference::default();
        assert_eq!(inference.bandwidth_bps(), None);
        inference.transmission(1000, 1_000_000);
        inference.transmission(40, 40_000);
        assert_eq!(inference.bandwidth_bps(), Some(8e6));
    }

    /// 8 Mbit/s and 10 ms: 1000 B take 11 ms, 40 B 10.04 ms.
    #[test]
    fn else_two_sizes_tell_it() {
        let mut inference = Inference::default();
        inference.crossing(1000, 11_000_000);
        assert_eq!(inference.bandwidth_bps(), None);
        inference.crossing(40, 10_040_000);
        assert_eq!(inference.bandwidth_bps(), Some(8e6));
    }
}
