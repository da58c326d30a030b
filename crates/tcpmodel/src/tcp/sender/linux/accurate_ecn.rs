//! Accurate ECN feedback: the number of marked segments from a counter in acknowledgements (RFC 9768).

use super::super::super::CE_COUNTER_MODULUS;

/// The number of segments reported as marked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkedSegments(u32);

impl MarkedSegments {
    /// Adds the marked segments of an acknowledgement with this counter, which newly reports `delivered` segments
    /// as arrived. Returns their number.
    ///
    /// If more segments are reported than the counter can count, as many are marked as possible (RFC 9768, appendix
    /// A.2.1), as in Linux.
    pub(super) fn advance(&mut self, counter: u8, delivered: u32) -> u32 {
        const MASK: u32 = CE_COUNTER_MODULUS - 1;
        let least = u32::from(counter).wrapping_sub(self.0) & MASK;
        let newly = if delivered <= MASK {
            least
        } else {
            delivered - ((delivered - least) & MASK)
        };
        self.0 = self.0.wrapping_add(newly);
        newly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts survive the overflow of the counter, and acknowledgements of up to seven segments are exact even if
    /// earlier ones were lost. Longer ones count as many marks as possible.
    #[test]
    fn marks_are_counted() {
        let mut marked = MarkedSegments::default();
        let mut all = 0_u32;
        for newly in [0, 1, 2, 3, 7, 5, 0, 6] {
            all += newly;
            assert_eq!(marked.advance((all % 8) as u8, 7), newly);
        }
        assert_eq!(marked.advance((all % 8) as u8, 20), 16);
        assert_eq!(marked.advance(((all + 3) % 8) as u8, 20), 19);
    }
}
