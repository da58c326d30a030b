//! The segments that are under way, and what is known about each.

use std::collections::{BTreeSet, VecDeque};

use super::rate::Stamp;

/// Selectively acknowledged.
pub(super) const SACKED: u8 = 1;
/// Taken for lost.
pub(super) const LOST: u8 = 2;
/// Sent again, and that one is thought to be on its way.
pub(super) const AGAIN: u8 = 4;
/// Ever sent again.
pub(super) const EVER: u8 = 8;

/// A segment under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// When it was sent last, and as which of all packets.
    pub sent_ns: u64,
    pub order: u64,
    pub stamp: Stamp,
    pub marks: u8,
}

/// All segments that are not acknowledged cumulatively, from the first on.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments {
    first: u32,
    ring: VecDeque<Segment>,
    /// Packets sent.
    packets: u64,
    /// Transmissions in their order: which packet, and its segment. Those of segments that have been sent
    /// again, have arrived or are lost stand there until they come to the front.
    in_order: VecDeque<(u64, u32)>,
    /// Segments that are lost and have not been sent again since.
    to_repair: BTreeSet<u32>,
    pub sacked: u32,
    pub lost: u32,
    pub again: u32,
}

impl Segments {
    /// The first that is not acknowledged.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// The next to be sent for the first time.
    pub(super) fn next(&self) -> u32 {
        self.first + self.ring.len() as u32
    }

    /// How many are not acknowledged.
    pub(super) fn out(&self) -> u32 {
        self.ring.len() as u32
    }

    /// Packets thought to be on their way (RFC 6675, "pipe").
    pub(super) fn in_flight(&self) -> u32 {
        (self.out() + self.again).saturating_sub(self.sacked + self.lost)
    }

    #[inline]
    pub(super) fn get(&self, segment: u32) -> Option<&Segment> {
        self.ring.get(segment.checked_sub(self.first)? as usize)
    }

    #[inline]
    fn get_mut(&mut self, segment: u32) -> Option<&mut Segment> {
        self.ring.get_mut(segment.checked_sub(self.first)? as usize)
    }

    /// The next is sent.
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

    /// One is sent again; whether there is such a one.
    pub(super) fn send_again(&mut self, now_ns: u64, segment: u32, stamp: Stamp) -> bool {
        let order = self.packets;
        let Some(it) = self.get_mut(segment) else {
            return false;
        };
        let is_more = it.marks & AGAIN == 0;
        it.marks |= AGAIN | EVER;
        (it.sent_ns, it.order, it.stamp) = (now_ns, order, stamp);
        self.again += u32::from(is_more);
        self.packets += 1;
        self.in_order.push_back((order, segment));
        self.to_repair.remove(&segment);
        true
    }

    /// The first is acknowledged.
    pub(super) fn acknowledge(&mut self) -> Option<Segment> {
        let it = self.ring.pop_front()?;
        self.to_repair.remove(&self.first);
        self.first += 1;
        self.sacked -= u32::from(it.marks & SACKED != 0);
        self.lost -= u32::from(it.marks & LOST != 0);
        self.again -= u32::from(it.marks & AGAIN != 0);
        Some(it)
    }

    /// One has arrived, out of order: what it was, if that is news.
    pub(super) fn sack(&mut self, segment: u32) -> Option<Segment> {
        let it = self.get_mut(segment)?;
        let before = *it;
        if before.marks & SACKED != 0 {
            return None;
        }
        it.marks = (it.marks | SACKED) & !(LOST | AGAIN);
        self.lost -= u32::from(before.marks & LOST != 0);
        self.again -= u32::from(before.marks & AGAIN != 0);
        self.sacked += 1;
        self.to_repair.remove(&segment);
        Some(before)
    }

    /// One is taken for lost, with what was sent of it again; whether it was not before.
    pub(super) fn lose(&mut self, segment: u32) -> bool {
        let Some(it) = self.get_mut(segment) else {
            return false;
        };
        let before = it.marks;
        it.marks = (before | LOST) & !AGAIN;
        self.lost += u32::from(before & LOST == 0);
        self.again -= u32::from(before & AGAIN != 0);
        self.to_repair.insert(segment);
        before & LOST == 0 || before & AGAIN != 0
    }

    /// None of them is lost after all, as far as is known: all that have not arrived are awaited again.
    pub(super) fn find_all(&mut self) {
        self.in_order.clear();
        for (segment, it) in (self.first..).zip(&mut self.ring) {
            it.marks &= !LOST;
            if it.marks & SACKED == 0 {
                self.in_order.push_back((it.order, segment));
            }
        }
        self.in_order.make_contiguous().sort_unstable();
        self.lost = 0;
        self.to_repair.clear();
    }

    /// The first lost segment that has not been sent again.
    pub(super) fn to_repair(&self) -> Option<u32> {
        self.to_repair.first().copied()
    }

    /// Goes through the packets sent before this one of all that may still arrive, in the order in which they
    /// were sent, as long as `is_lost` says so: those are lost. The last that is not, of those sent
    /// before.
    pub(super) fn lose_before(
        &mut self,
        order: u64,
        is_lost: impl Fn(&Segment) -> bool,
        mut lost: impl FnMut(bool),
    ) -> Option<Segment> {
        while let Some(&(sent, segment)) = self.in_order.front()
            && sent < order
        {
            if let Some(it) = self.awaited(sent, segment) {
                if !is_lost(&it) {
                    break;
                }
                lost(it.marks & AGAIN != 0);
                self.lose(segment);
            }
            self.in_order.pop_front();
        }
        let end = self.in_order.partition_point(|&(sent, _)| sent < order);
        let still = self.in_order.range(..end).rev();
        still
            .filter_map(|&(sent, segment)| self.awaited(sent, segment))
            .next()
    }

    /// The segment that was sent as this packet, if that one may still arrive.
    fn awaited(&self, sent: u64, segment: u32) -> Option<Segment> {
        let it = *self.get(segment)?;
        let is_there = it.order == sent && it.marks & SACKED == 0;
        (is_there && it.marks & (LOST | AGAIN) != LOST).then_some(it)
    }

    /// Forgets transmissions at the front that tell nothing any more.
    pub(super) fn tidy(&mut self) {
        while let Some(&(sent, segment)) = self.in_order.front()
            && self.awaited(sent, segment).is_none()
        {
            self.in_order.pop_front();
        }
    }
}
