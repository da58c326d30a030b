//! Times in whole nanoseconds.

/// Rounds a time in seconds to whole nanoseconds, so that equal times compare equal. Negative times
/// become 0.
pub fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
