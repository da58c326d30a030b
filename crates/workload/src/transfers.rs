//! Finite transfers with a size distribution, one connection each.

use crate::Distribution;

/// Number of equally likely sizes that approximate a distribution.
const QUANTILES: usize = 128;

/// Size distribution of transfers in bytes and in packets.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferSizes {
    /// Size of a transfer in bytes.
    size: Distribution,
    /// Payload of a full packet in bytes.
    payload_bytes: f64,
    /// Initial window of a sender in packets.
    initial_window_pkts: f64,
    /// Mean packets of a transfer, cached because its computation is slow.
    mean_pkts: f64,
    residual_ratio: f64,
    /// Packets of equally likely transfers, ascending.
    sizes_pkts: Vec<f64>,
    /// Cumulative sums over the largest n sizes: packets and their squares, from n = 0.
    largest_sums: Vec<[f64; 2]>,
}

impl TransferSizes {
    /// Returns transfers of `size`, with `payload_bytes` per packet and this initial window.
    pub fn new(size: Distribution, payload_bytes: f64, initial_window_pkts: f64) -> TransferSizes {
        let middles = (0..QUANTILES).map(|i| (i as f64 + 0.5) / QUANTILES as f64);
        let sizes_pkts: Vec<f64> = middles
            .map(|u| (size.quantile(u) / payload_bytes).ceil().max(1.0))
            .collect();
        let mut largest_sums = vec![[0.0; 2]];
        let mut of_larger = [0.0; 2];
        for pkts in sizes_pkts.iter().rev() {
            of_larger = [of_larger[0] + pkts, of_larger[1] + pkts * pkts];
            largest_sums.push(of_larger);
        }
        TransferSizes {
            mean_pkts: size.mean_packets(payload_bytes),
            residual_ratio: size.mean_square() / (2.0 * size.mean().powi(2)).max(f64::MIN_POSITIVE),
            size,
            payload_bytes,
            initial_window_pkts,
            sizes_pkts,
            largest_sums,
        }
    }

    /// Returns the size distribution in bytes.
    pub fn size(&self) -> &Distribution {
        &self.size
    }

    /// Returns the payload of a full packet in bytes.
    pub fn payload_bytes(&self) -> f64 {
        self.payload_bytes
    }

    /// Returns the initial window in packets.
    pub fn initial_window_pkts(&self) -> f64 {
        self.initial_window_pkts
    }

    /// Returns the mean number of packets of a transfer.
    pub fn mean_pkts(&self) -> f64 {
        self.mean_pkts
    }

    /// Returns the mean square of the size over twice its squared mean: the mean residual size at a random
    /// byte over the mean size. It is 1/2 for constant sizes and 1 for an exponential distribution.
    pub fn residual_ratio(&self) -> f64 {
        self.residual_ratio
    }

    /// Returns the mean bytes on the link of a transfer, with `header_bytes` per packet.
    pub fn mean_wire_bytes(&self, header_bytes: f64) -> f64 {
        self.size.mean().max(1.0) + header_bytes * self.mean_pkts
    }

    /// Returns the packets of 128 equally likely transfers, ascending: quantiles at the midpoints of 128
    /// equal probability intervals.
    pub fn sizes_pkts(&self) -> &[f64] {
        &self.sizes_pkts
    }

    /// Returns the fraction of transfers with more than `pkts` packets, over
    /// [`sizes_pkts`](Self::sizes_pkts).
    pub fn fraction_larger(&self, pkts: f64) -> f64 {
        let larger = QUANTILES - self.sizes_pkts.partition_point(|&it| it <= pkts);
        larger as f64 / QUANTILES as f64
    }

    /// Returns the mean and the mean square of the packets of a transfer after its first `pkts`, over
    /// [`sizes_pkts`](Self::sizes_pkts).
    pub fn excess_moments(&self, pkts: f64) -> [f64; 2] {
        let larger = QUANTILES - self.sizes_pkts.partition_point(|&it| it <= pkts);
        let [sum, squares] = self.largest_sums[larger];
        let n = larger as f64;
        [
            (sum - n * pkts) / QUANTILES as f64,
            (squares - 2.0 * pkts * sum + n * pkts * pkts) / QUANTILES as f64,
        ]
    }

    /// Returns the mean square of the packets of a transfer between its first `from` and its first `to`.
    pub fn mean_square_between(&self, from: f64, to: f64) -> f64 {
        let [_, all] = self.excess_moments(from);
        let [rest, rest_squared] = self.excess_moments(to);
        (all - rest_squared - 2.0 * (to - from) * rest).max(0.0)
    }

    /// Returns a key that is equal for equal transfers.
    pub fn equality_key(&self) -> [u64; 4] {
        let [sum, squares] = self.largest_sums[QUANTILES];
        [sum, squares, self.payload_bytes, self.initial_window_pkts].map(f64::to_bits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn residual_ratio_matches_closed_forms() {
        let spread = |size| TransferSizes::new(size, 1460.0, 10.0).residual_ratio();
        assert!((spread(Distribution::Constant(2e5)) - 0.5).abs() < 1e-9);
        let (mean, most) = (2e5, 1e9);
        assert!((spread(Distribution::Exponential { mean, most }) - 1.0).abs() < 1e-3);
        // With minimum 1, shape 3/2 and maximum m, the mean is 3 − 2/√m and the mean square is 4 √m − 3.
        let (shape, least, m) = (1.5, 1e4, 1e4_f64);
        let most = m * least;
        let size = Distribution::Pareto { shape, least, most };
        let exact = (4.0 * m.sqrt() - 3.0) / (2.0 * (3.0 - 2.0 / m.sqrt()).powi(2));
        assert!((spread(size) / exact - 1.0).abs() < 1e-3);
    }

    proptest! {
        /// Partial moments equal the means over the transfers themselves.
        #[test]
        fn partial_moments_match_the_sizes(
            mean in 1e3..1e6_f64,
            from in 0.0..500.0_f64,
            more in 0.0..500.0_f64,
        ) {
            let size = Distribution::Exponential { mean, most: 20.0 * mean };
            let transfers = TransferSizes::new(size, 1460.0, 10.0);
            let sizes = transfers.sizes_pkts();
            prop_assert!(sizes.is_sorted());
            let mean_of = |of: &dyn Fn(f64) -> f64| sizes.iter().map(|&s| of(s)).sum::<f64>() / sizes.len() as f64;
            let near = |is: f64, should: f64| (is - should).abs() <= 1e-9 * (1.0 + mean_of(&|s| s * s));
            let [pkts, squared] = transfers.excess_moments(from);
            prop_assert!(near(pkts, mean_of(&|s| (s - from).max(0.0))));
            prop_assert!(near(squared, mean_of(&|s| (s - from).max(0.0).powi(2))));
            let between = transfers.mean_square_between(from, from + more);
            prop_assert!(near(between, mean_of(&|s| (s - from).clamp(0.0, more).powi(2))));
        }
    }
}
