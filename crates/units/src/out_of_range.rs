//! Error for a number outside its range.

/// Number outside its allowed range, or NaN.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {value}, allowed is {allowed}")]
pub struct OutOfRange {
    /// Name of the number, with its unit where needed.
    pub what: &'static str,
    /// The value.
    pub value: f64,
    /// Allowed range, in words.
    pub allowed: &'static str,
}

/// Returns `Ok` if `is_valid`, otherwise an error with the value and its range.
///
/// # Errors
/// If not `is_valid`.
pub fn ensure(
    is_valid: bool,
    what: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), OutOfRange> {
    if is_valid {
        Ok(())
    } else {
        Err(OutOfRange {
            what,
            value,
            allowed,
        })
    }
}
