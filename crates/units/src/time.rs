//! Times in whole nanoseconds.

/// A time in whole nanoseconds: compared, counted and waited for as such, so that none falls between two of
/// them. What is before 0 counts as 0.
pub fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
