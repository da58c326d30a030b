//! CoDel (controlled delay) active queue management: head drop when the sojourn time stays above a target
//! (RFC 8289).

use super::{
    Discipline, DropReason, Drops, FifoQueue, PacketDetails, PacketInfo, Settings, WaitingPacket,
};
use crate::Buffer;

/// Controlled delay: drops at the head of the queue when no packet has had a sojourn time below the target
/// during an interval. The drop rate increases until a packet is below the target.
///
/// Implements the pseudo-code of RFC 8289, section 5. Linux differs in the square root of the drop count: it
/// approximates the root by one Newton step per drop. Its second drop therefore follows after 0.5 intervals
/// instead of 0.71, and it drops up to 20 % more with a few transfers. A packet is never dropped if it leaves
/// at most one maximum packet behind it; the largest packet so far represents the MTU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoDel {
    /// Target sojourn time in ns, acceptable at any time (RFC 8289, section 4).
    pub target_ns: u64,
    /// Time in ns for which the sojourn time may exceed the target: about the largest round-trip time (RFC
    /// 8289, section 4).
    pub interval_ns: u64,
    /// True to mark ECN-capable packets instead of dropping them; as in Linux, one at a time.
    pub ecn: bool,
    /// Sojourn time in ns above which every ECN-capable packet is marked, independently of [`CoDel::ecn`]
    /// (RFC 8290, section 5.2, `CE_THRESHOLD`).
    pub ce_threshold_ns: Option<u64>,
}

impl Default for CoDel {
    /// Target 5 ms and interval 100 ms (RFC 8289, section 4), without marking.
    fn default() -> CoDel {
        CoDel {
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
            ecn: false,
            ce_threshold_ns: None,
        }
    }
}

impl CoDel {
    /// Computes the control law: the time of the drop that follows drop number `count` at `since_ns` (RFC
    /// 8289, section 5.3). The `f64` square root is the same on every platform.
    fn next_drop(&self, since_ns: u64, count: u32) -> u64 {
        let wait = self.interval_ns as f64 / f64::from(count.max(1)).sqrt();
        since_ns.saturating_add(wait as u64)
    }
}

/// Number of intervals after a drop during which a restart continues at the previous drop rate.
const RESUME_INTERVALS: u64 = 16;

/// CoDel state of one queue.
#[derive(Clone, Debug, Default)]
pub(super) struct CoDelState {
    /// Time at which the sojourn time will have exceeded the target for an interval, if it exceeds it now.
    first_above_ns: Option<u64>,
    drop_next_ns: u64,
    /// Drops in the present dropping state.
    pub count: u32,
    /// `count` at the start of the last dropping state.
    last_count: u32,
    dropping: bool,
}

impl CoDelState {
    /// Returns the next packet to send. `pop` removes the head of the queue and returns it with the bytes
    /// left in the queue. `largest` is the size of the largest packet removed so far.
    pub fn dequeue<P>(
        &mut self,
        rules: &CoDel,
        now_ns: u64,
        largest: &mut u32,
        mut pop: impl FnMut() -> Option<(WaitingPacket<P>, u64)>,
        dropped: &mut impl Drops<P>,
    ) -> Option<WaitingPacket<P>> {
        let mut take = |first_above_ns: &mut Option<u64>| {
            let Some((packet, left_bytes)) = pop() else {
                *first_above_ns = None;
                return (None, false);
            };
            *largest = packet.bytes.max(*largest);
            let waited_ns = now_ns.saturating_sub(packet.arrived_ns);
            let low = waited_ns < rules.target_ns || left_bytes <= u64::from(*largest);
            let late = !low && first_above_ns.is_some_and(|at| now_ns >= at);
            if low {
                *first_above_ns = None
            } else {
                first_above_ns.get_or_insert(now_ns.saturating_add(rules.interval_ns));
            }
            (Some(packet), late)
        };
        let (mut first, mut late) = take(&mut self.first_above_ns);
        if self.dropping {
            self.dropping = late;
            while self.dropping && now_ns >= self.drop_next_ns {
                self.count = self.count.wrapping_add(1);
                if mark(&mut first, rules) {
                    self.drop_next_ns = rules.next_drop(self.drop_next_ns, self.count);
                    break;
                }
                drop_early(first, dropped);
                (first, late) = take(&mut self.first_above_ns);
                if late {
                    self.drop_next_ns = rules.next_drop(self.drop_next_ns, self.count)
                } else {
                    self.dropping = false
                }
            }
        } else if late {
            if !mark(&mut first, rules) {
                drop_early(first, dropped);
                (first, _) = take(&mut self.first_above_ns);
            }
            self.dropping = true;
            let last = self.count.wrapping_sub(self.last_count);
            let until_ns = RESUME_INTERVALS
                .saturating_mul(rules.interval_ns)
                .saturating_add(self.drop_next_ns);
            self.count = if last > 1 && now_ns < until_ns {
                last
            } else {
                1
            };
            self.last_count = self.count;
            self.drop_next_ns = rules.next_drop(now_ns, self.count);
        }
        if let (Some(packet), Some(threshold_ns)) = (&mut first, rules.ce_threshold_ns)
            && now_ns.saturating_sub(packet.arrived_ns) > threshold_ns
        {
            packet.mark();
        }
        first
    }
}

/// A queue with CoDel.
#[derive(Clone, Debug)]
pub(super) struct CoDelQueue<P> {
    rules: CoDel,
    codel: CoDelState,
    largest: u32,
    fifo: FifoQueue<P>,
}

impl<P> CoDelQueue<P> {
    pub fn new(rules: CoDel, _seed: u64) -> CoDelQueue<P> {
        CoDelQueue {
            rules,
            codel: CoDelState::default(),
            largest: 0,
            fifo: FifoQueue::default(),
        }
    }
}

impl Settings for CoDel {
    fn marks(&self) -> bool {
        self.ecn || self.ce_threshold_ns.is_some()
    }
}

impl<P> Discipline<P> for CoDelQueue<P> {
    #[inline]
    fn enqueue(
        &mut self,
        packet: WaitingPacket<P>,
        _info: &PacketInfo,
        _details: impl FnOnce() -> PacketDetails,
        buffer: Buffer,
        dropped: &mut impl Drops<P>,
    ) {
        if self.fifo.fits(packet.bytes, buffer) {
            self.fifo.push(packet)
        } else {
            dropped.record(packet.packet, DropReason::BufferFull)
        }
    }

    #[inline]
    fn dequeue(&mut self, now_ns: u64, dropped: &mut impl Drops<P>) -> Option<WaitingPacket<P>> {
        let fifo = &mut self.fifo;
        let pop = || fifo.pop().map(|packet| (packet, fifo.bytes));
        let (rules, largest) = (&self.rules, &mut self.largest);
        (self.codel).dequeue(rules, now_ns, largest, pop, dropped)
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes
    }

    fn clear(&mut self, _now_ns: u64, dropped: &mut Vec<P>) {
        self.fifo.clear(dropped);
        self.codel = CoDelState::default();
        self.largest = 0;
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &WaitingPacket<P>> + '_> {
        Box::new(self.fifo.iter())
    }
}

/// Drops a packet early.
fn drop_early<P>(packet: Option<WaitingPacket<P>>, dropped: &mut impl Drops<P>) {
    if let Some(packet) = packet {
        dropped.record(packet.packet, DropReason::Early);
    }
}

/// Marks an ECN-capable packet. Returns false if it cannot be marked.
fn mark<P>(packet: &mut Option<WaitingPacket<P>>, rules: &CoDel) -> bool {
    match packet {
        Some(packet) if rules.ecn => packet.mark(),
        _ => false,
    }
}
