//! Index that is optional without additional memory.

use std::fmt;
use std::num::NonZeroU32;

/// A `u32` below `u32::MAX`. `Option<NonMaxU32>` is as large as a `u32`.
///
/// ```
/// use netflow_units::NonMaxU32;
///
/// assert_eq!(NonMaxU32::new(7).map(NonMaxU32::get), Some(7));
/// assert_eq!(NonMaxU32::new(u32::MAX), None);
/// assert_eq!(size_of::<Option<NonMaxU32>>(), size_of::<u32>());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NonMaxU32(NonZeroU32);

impl NonMaxU32 {
    /// Returns the value; `None` for `u32::MAX`.
    #[inline]
    pub const fn new(value: u32) -> Option<NonMaxU32> {
        // Stored plus one.
        match NonZeroU32::new(value.wrapping_add(1)) {
            Some(stored) => Some(NonMaxU32(stored)),
            None => None,
        }
    }

    /// Returns the value.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0.get() - 1
    }

    /// Returns the value as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.get() as usize
    }
}

impl fmt::Debug for NonMaxU32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order() {
        let values = [0, 1, u32::MAX - 1].map(NonMaxU32::new);
        assert!(values.is_sorted());
        assert_eq!(
            values.map(|it| it.map(NonMaxU32::get)),
            [Some(0), Some(1), Some(u32::MAX - 1)]
        );
    }
}
