//! What can be wrong with a workload.

/// A number outside of what it may be, or NaN.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {value}, allowed is {allowed}")]
pub struct Error {
    /// Which number, with its unit unless that goes without saying.
    pub what: &'static str,
    /// What it is.
    pub value: f64,
    /// The range, in words.
    pub allowed: &'static str,
}

/// `Ok` if `good`, else the value with its range.
pub(crate) fn ensure(
    good: bool,
    what: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), Error> {
    if good {
        Ok(())
    } else {
        Err(Error {
            what,
            value,
            allowed,
        })
    }
}
