//! The retransmission queue: segments in flight and their state.

use std::collections::{BTreeSet, VecDeque};

use super::rate::Stamp;

/// Mark of a selectively acknowledged segment.
pub(super) const SACKED: u8 = 1;
/// Mark of a segment that is considered lost.
pub(super) const LOST: u8 = 2;
/// Mark of a segment with a retransmission in flight.
pub(super) const RETRANSMITTED: u8 = 4;
/// Mark of a segment that was ever retransmitted.
pub(super) const EVER_RETRANSMITTED: u8 = 8;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// The time of the last transmission, and its number among all packets.
    pub sent_ns: u64,
    pub order: u64,
    pub stamp: Stamp,
    pub marks: u8,
}

/// All segments not acknowledged cumulatively.
#[derive(Clone, Debug, Default)]
pub(super) struct RetransmissionQueue {
    first: u32,
    ring: VecDeque<Segment>,
    /// The number of packets sent.
    packets: u64,
    /// Transmissions in order: packet number and segment. Obsolete entries stay until they reach the front.
    /// Their segments were sent again, have arrived or are lost.
    in_order: VecDeque<(u64, u32)>,
    /// Segments that are lost and have not been sent again since.
    to_retransmit: BTreeSet<u32>,
    pub sacked: u32,
    pub lost: u32,
    pub retransmitted: u32,
}

impl RetransmissionQueue {
    /// Returns the first unacknowledged segment.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// Returns the next segment to be sent for the first time.
    pub(super) fn next(&self) -> u32 {
        self.first + self.ring.len() as u32
    }

    /// Returns the number of unacknowledged segments.
    pub(super) fn packets_out(&self) -> u32 {
        self.ring.len() as u32
    }

    /// Returns the estimated number of packets in flight ("pipe" of RFC 6675).
    pub(super) fn in_flight(&self) -> u32 {
        (self.packets_out() + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    #[inline]
    pub(super) fn get(&self, segment: u32) -> Option<&Segment> {
        self.ring.get(segment.checked_sub(self.first)? as usize)
    }

    #[inline]
    fn get_mut(&mut self, segment: u32) -> Option<&mut Segment> {
        self.ring.get_mut(segment.checked_sub(self.first)? as usize)
    }

    /// Records the first transmission of the next segment, and returns it.
    pub(super) fn send(&mut self, now_ns: u64, stamp: Stamp) -> u32 {
        let segment = self.next();
        self.in_order.push_back((self.packets, segment));
        self.ring.push_back(Segment {
            sent_ns: now_ns,
            order: self.packets,
            stamp,
            marks: 0,
        });
        self.packets += 1;
        segment
    }

    /// Records a retransmission. Returns false if the segment is not in the queue.
    pub(super) fn retransmit(&mut self, now_ns: u64, segment: u32, stamp: Stamp) -> bool {
        let order = self.packets;
        let Some(it) = self.get_mut(segment) else {
            return false;
        };
        let is_more = it.marks & RETRANSMITTED == 0;
        it.marks |= RETRANSMITTED | EVER_RETRANSMITTED;
        (it.sent_ns, it.order, it.stamp) = (now_ns, order, stamp);
        self.retransmitted += u32::from(is_more);
        self.packets += 1;
        self.in_order.push_back((order, segment));
        self.to_retransmit.remove(&segment);
        true
    }

    /// Removes the first segment after a cumulative acknowledgement.
    pub(super) fn acknowledge(&mut self) -> Option<Segment> {
        let it = self.ring.pop_front()?;
        self.to_retransmit.remove(&self.first);
        self.first += 1;
        self.sacked -= u32::from(it.marks & SACKED != 0);
        self.lost -= u32::from(it.marks & LOST != 0);
        self.retransmitted -= u32::from(it.marks & RETRANSMITTED != 0);
        Some(it)
    }

    /// Marks a segment as received out of order. Returns its former state, or `None` if it was already
    /// marked.
    pub(super) fn sack(&mut self, segment: u32) -> Option<Segment> {
        let it = self.get_mut(segment)?;
        let before = *it;
        if before.marks & SACKED != 0 {
            return None;
        }
        it.marks = (it.marks | SACKED) & !(LOST | RETRANSMITTED);
        self.lost -= u32::from(before.marks & LOST != 0);
        self.retransmitted -= u32::from(before.marks & RETRANSMITTED != 0);
        self.sacked += 1;
        self.to_retransmit.remove(&segment);
        Some(before)
    }

    /// Marks a segment and its retransmission as lost. Returns the stamp of its last transmission; `None` if neither
    /// was in flight.
    pub(super) fn mark_lost(&mut self, segment: u32) -> Option<Stamp> {
        let it = self.get_mut(segment)?;
        let (before, stamp) = (it.marks, it.stamp);
        it.marks = (before | LOST) & !RETRANSMITTED;
        self.lost += u32::from(before & LOST == 0);
        self.retransmitted -= u32::from(before & RETRANSMITTED != 0);
        self.to_retransmit.insert(segment);
        (before & LOST == 0 || before & RETRANSMITTED != 0).then_some(stamp)
    }

    /// Removes all loss marks. All segments that have not arrived are expected again.
    pub(super) fn clear_loss_marks(&mut self) {
        self.in_order.clear();
        for (segment, it) in (self.first..).zip(&mut self.ring) {
            it.marks &= !LOST;
            if it.marks & SACKED == 0 {
                self.in_order.push_back((it.order, segment));
            }
        }
        self.in_order.make_contiguous().sort_unstable();
        self.lost = 0;
        self.to_retransmit.clear();
    }

    /// Returns the first lost segment that has not been sent again.
    pub(super) fn to_retransmit(&self) -> Option<u32> {
        self.to_retransmit.first().copied()
    }

    /// Marks packets as lost in the order of transmission, up to the packet `order`, while `is_lost`
    /// returns true. Calls `lost` for each with its stamp. Returns the latest packet before `order` that may still
    /// arrive.
    pub(super) fn mark_lost_before(
        &mut self,
        order: u64,
        is_lost: impl Fn(&Segment) -> bool,
        mut lost: impl FnMut(&Stamp),
    ) -> Option<Segment> {
        while let Some(&(sent, segment)) = self.in_order.front()
            && sent < order
        {
            if let Some(it) = self.in_flight_segment(sent, segment) {
                if !is_lost(&it) {
                    break;
                }
                self.mark_lost(segment);
                lost(&it.stamp);
            }
            self.in_order.pop_front();
        }
        let end = self.in_order.partition_point(|&(sent, _)| sent < order);
        let still = self.in_order.range(..end).rev();
        still
            .filter_map(|&(sent, segment)| self.in_flight_segment(sent, segment))
            .next()
    }

    /// Returns the segment of a packet if that packet may still arrive.
    fn in_flight_segment(&self, sent: u64, segment: u32) -> Option<Segment> {
        let it = *self.get(segment)?;
        let is_there = it.order == sent && it.marks & SACKED == 0;
        (is_there && it.marks & (LOST | RETRANSMITTED) != LOST).then_some(it)
    }

    /// Removes obsolete transmissions at the front.
    pub(super) fn pop_obsolete(&mut self) {
        while let Some(&(sent, segment)) = self.in_order.front()
            && self.in_flight_segment(sent, segment).is_none()
        {
            self.in_order.pop_front();
        }
    }
}
