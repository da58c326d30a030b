//! Confidence bands around means over seeds.

use crate::run::{LINK_LOSS, QUEUE, UTILIZATION};

/// Returns the lower and upper edges of a band of ±`spread` around each value. The edges are limited to 0 and
/// to `most`, or to the value itself if it exceeds `most`.
pub fn band_edges(values: &[f64], spread: &[f64], most: f64) -> (Vec<f64>, Vec<f64>) {
    let each = values.iter().zip(spread);
    // `f64::max` and `f64::min` would replace NaN, which marks a gap.
    each.map(|(value, by)| {
        let (low, high) = (value - by, value + by);
        let top = most.max(*value);
        (
            if low < 0.0 { 0.0 } else { low },
            if high > top { top } else { high },
        )
    })
    .unzip()
}

/// Returns the maximum of a series of a link, where `buffer_pkts` is its buffer if it counts packets.
pub fn link_series_max(quantity: usize, buffer_pkts: Option<f64>) -> f64 {
    match quantity {
        QUEUE => buffer_pkts.unwrap_or(f64::INFINITY),
        LINK_LOSS | UTILIZATION => 1.0,
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn band_is_clipped_to_the_valid_range() {
        let values = [0.5, 0.9, 0.1, f64::NAN, 1.2];
        let (low, high) = band_edges(&values, &[0.2; 5], link_series_max(UTILIZATION, None));
        assert_eq!(low[..3], [0.3, 0.7, 0.0]);
        assert_eq!(high[..2], [0.7, 1.0]);
        assert!(low[3].is_nan() && high[3].is_nan());
        assert_eq!(high[4], 1.2);
        assert_eq!(
            band_edges(&[90.0], &[20.0], link_series_max(QUEUE, Some(100.0))).1,
            [100.0]
        );
    }
}
