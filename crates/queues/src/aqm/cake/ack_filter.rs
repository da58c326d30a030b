//! ACK filter of CAKE: removes acknowledgements that a later one in the same queue replaces, as Linux 6.18
//! (`sch_cake`; Høiland-Jørgensen, Täht, Morton 2018).

use std::cmp::Ordering;

/// Filter of acknowledgements in the queue of their flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckFilter {
    /// Keeps all acknowledgements.
    #[default]
    Off,
    /// Keeps at least two of the acknowledgements of a flow.
    On,
    /// Keeps at least one of the acknowledgements of a flow.
    Aggressive,
}

/// Properties of a TCP segment that acknowledges data.
///
/// Sequence numbers count in any unit, modulo 2³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpAck {
    /// Next number expected: all before it have arrived.
    pub cumulative: u32,
    /// SACK blocks (RFC 2018): first number and number after the last. Unused blocks are empty.
    pub sacks: [(u32, u32); 4],
    /// ECE and CWR (RFC 3168), or the two last bits of the ACE field (RFC 9768).
    pub ecn_flags: u8,
    /// Timestamp and echoed timestamp (RFC 7323), if there are any.
    pub timestamps: Option<(u32, u32)>,
    /// True without payload, other flags and unknown options, so that a later acknowledgement can replace it.
    pub is_replaceable: bool,
}

/// Returns true if sequence number `a` is after `b`.
fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

impl TcpAck {
    fn blocks(&self) -> impl Iterator<Item = (u32, u32)> + Clone {
        self.sacks.into_iter().filter(|(first, end)| first != end)
    }

    fn sacked(&self) -> u32 {
        let lengths = self.blocks().map(|(first, end)| end.wrapping_sub(first));
        lengths.fold(0, u32::wrapping_add)
    }

    /// Returns whether `later` reports more blocks (less), the same, or not all of these (greater).
    fn compare_blocks(&self, later: &TcpAck) -> Ordering {
        if later.blocks().next().is_none() {
            // Without blocks in both, these are equal.
            return self.blocks().count().cmp(&0);
        }
        let is_reported = |(first, end): (u32, u32)| {
            let covers = |(a, b): (u32, u32)| !is_after(a, first) && !is_after(end, b);
            // A duplicate (RFC 2883) is reported once.
            !is_after(self.cumulative, first) && later.blocks().any(covers)
        };
        if self.blocks().all(is_reported) {
            self.sacked().cmp(&later.sacked()).min(Ordering::Equal)
        } else {
            Ordering::Greater
        }
    }

    /// Returns true if `later` contains all information of this acknowledgement, ECN aside.
    fn is_replaced_by(&self, later: &TcpAck) -> bool {
        let (stamp, echo) = self.timestamps.unwrap_or_default();
        let (later_stamp, later_echo) = later.timestamps.unwrap_or_default();
        let is_newer = self.timestamps.is_some()
            && (is_after(stamp, later_stamp) || is_after(echo, later_echo));
        if !self.is_replaceable || is_newer || is_after(self.cumulative, later.cumulative) {
            return false;
        }
        match self.compare_blocks(later) {
            Ordering::Greater => false,
            // A duplicate acknowledgement is information.
            Ordering::Equal => self.cumulative != later.cumulative,
            Ordering::Less => true,
        }
    }
}

impl AckFilter {
    /// Returns the index of the acknowledgement to remove after the last packet of a queue has arrived. `acks` has
    /// the packets of the queue in order; `None` for packets of other flows and without TCP.
    pub(super) fn redundant<'a>(
        self,
        mut acks: impl DoubleEndedIterator<Item = Option<&'a TcpAck>> + ExactSizeIterator,
    ) -> Option<usize> {
        let last = acks.next_back()??;
        let last_index = acks.len();
        let mut first: Option<(usize, u8)> = None;
        for (index, ack) in acks.enumerate() {
            let Some(ack) = ack else { continue };
            // A change of the flags must arrive.
            first = first.filter(|&(_, flags)| flags == ack.ecn_flags);
            if !ack.is_replaced_by(last) {
                continue;
            }
            match first {
                Some((index, _)) => return Some(index),
                None => first = Some((index, ack.ecn_flags)),
            }
        }
        let (index, flags) = first?;
        let is_next = index + 1 == last_index && flags == last.ecn_flags;
        (self == AckFilter::Aggressive && is_next).then_some(index)
    }
}
