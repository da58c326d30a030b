//! Accurate ECN feedback: the number of marked segments from a counter in acknowledgements (RFC 9768).

use super::super::super::CE_COUNTER_MODULUS;

/// The number of segments reported as marked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkedSegments(u32);

impl MarkedSegments {
    /// Adds the newly marked segments of an acknowledgement with this counter. Returns their number.
    ///
    /// It is the smallest number that fits the counter, also if acknowledgements were lost: TCP Prague needs this
    /// (`tcp_ecn_unsafe_cep` of the L4S team). Linux without that and without the AccECN option counts as many marks
    /// as possible (RFC 9768, appendix A.2.1), that is marks which were not made.
    pub(super) fn advance(&mut self, counter: u8) -> u32 {
        let newly = u32::from(counter).wrapping_sub(self.0) % CE_COUNTER_MODULUS;
        self.0 = self.0.wrapping_add(newly);
        newly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts survive the overflow of the counter, and lost acknowledgements with up to seven marks.
    #[test]
    fn marks_are_counted() {
        let mut marked = MarkedSegments::default();
        let mut all = 0_u32;
        for newly in [0, 1, 2, 3, 7, 5, 0, 6] {
            all += newly;
            assert_eq!(marked.advance((all % 8) as u8), newly);
        }
        assert_eq!(marked.advance(((all + 8) % 8) as u8), 0);
    }
}
