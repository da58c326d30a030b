//! The constants of a TCP implementation.

/// The constants of a TCP implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Its name.
    pub name: String,
}
