//! A number that may not be what it is.

/// A number outside of what it may be, or NaN.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {value}, allowed is {allowed}")]
pub struct OutOfRange {
    /// Which number, with its unit unless that goes without saying.
    pub what: &'static str,
    /// What it is.
    pub value: f64,
    /// The range, in words.
    pub allowed: &'static str,
}

/// `Ok` if `good`, else the value with its range.
///
/// # Errors
/// If not `good`.
pub fn ensure(
    good: bool,
    what: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), OutOfRange> {
    if good {
        Ok(())
    } else {
        Err(OutOfRange {
            what,
            value,
            allowed,
        })
    }
}
