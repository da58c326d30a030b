//! FQ-CoDel: flow queueing by deficit round robin, with CoDel for each queue (RFC 8290).

use std::collections::VecDeque;

use super::codel::{CoDel, CoDelState};
use netflow_units::hash_mix;

use super::{
    Discipline, DropReason, Drops, FifoQueue, PacketDetails, PacketInfo, Settings, WaitingPacket,
};
use crate::Buffer;

/// Queues served by deficit round robin, new ones first, each with CoDel (RFC 8290). A hash assigns flows to
/// queues, so that flows can share a queue.
///
/// As in Linux, CoDel does not drop while at most one maximum packet is left **in all queues**. A full buffer
/// drops from the head of the queue with the most bytes until half of these are gone. It drops at most 64
/// packets at once (RFC 8290, section 4.1). These drops count for CoDel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqCoDel {
    /// CoDel settings of each queue.
    pub codel: CoDel,
    /// Number of queues, at least 1 (RFC 8290, section 5.2).
    pub flows: u32,
    /// Quantum in bytes that a queue may send per round, at least 1 (RFC 8290, section 5.2).
    pub quantum_bytes: u32,
}

impl Default for FqCoDel {
    /// 1024 queues, a quantum of 1514 B, and CoDel with marking (RFC 8290, section 5.2).
    fn default() -> FqCoDel {
        FqCoDel {
            codel: CoDel {
                ecn: true,
                ..CoDel::default()
            },
            flows: 1024,
            quantum_bytes: 1514,
        }
    }
}

/// Maximum number of packets that a full buffer drops at once.
const DROP_BATCH: usize = 64;

/// Index of a hash bucket without packets so far.
const UNUSED: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Queue<P> {
    fifo: FifoQueue<P>,
    codel: CoDelState,
    deficit: i64,
    /// True if the queue is in the list of new or old queues.
    listed: bool,
}

/// State of FQ-CoDel: all queues and the two lists.
#[derive(Clone, Debug)]
pub(super) struct FqCoDelQueue<P> {
    rules: FqCoDel,
    perturbation: u64,
    /// Queue index of each hash bucket; allocated with the first packet.
    buckets: Vec<u32>,
    queues: Vec<Queue<P>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    largest: u32,
    len: usize,
    bytes: u64,
}

impl<P> FqCoDelQueue<P> {
    pub fn new(rules: FqCoDel, perturbation: u64) -> FqCoDelQueue<P> {
        FqCoDelQueue {
            rules,
            perturbation,
            buckets: Vec::new(),
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            largest: 0,
            len: 0,
            bytes: 0,
        }
    }

    /// Returns the queue index of a flow.
    pub fn queue_of(&mut self, flow: u64) -> u32 {
        if self.buckets.is_empty() {
            self.buckets = vec![UNUSED; self.rules.flows.max(1) as usize];
        }
        let hash = u128::from(hash_mix(flow ^ self.perturbation));
        let bucket =
            &mut self.buckets[((hash * u128::from(self.rules.flows.max(1))) >> 64) as usize];
        if *bucket == UNUSED {
            *bucket = self.queues.len() as u32;
            self.queues.push(Queue {
                fifo: FifoQueue::default(),
                codel: CoDelState::default(),
                deficit: 0,
                listed: false,
            });
        }
        *bucket
    }

    /// Drops half of the bytes of the queue with the most bytes.
    #[cold]
    fn drop_from_longest(&mut self, dropped: &mut impl Drops<P>) {
        let backlog = |index: u32| {
            let fifo = &self.queues[index as usize].fifo;
            (fifo.bytes, fifo.len())
        };
        let listed = self.new.iter().chain(&self.old).copied();
        let Some(longest) = listed.reduce(|a, b| if backlog(b) > backlog(a) { b } else { a })
        else {
            return;
        };
        let queue = &mut self.queues[longest as usize];
        let (before, half) = (queue.fifo.bytes, queue.fifo.bytes / 2);
        let mut n = 0;
        while let Some(packet) = queue.fifo.pop() {
            dropped.record(packet.packet, DropReason::BufferFull);
            n += 1;
            if n == DROP_BATCH || before - queue.fifo.bytes >= half {
                break;
            }
        }
        queue.codel.count = queue.codel.count.wrapping_add(n as u32);
        self.bytes -= before - queue.fifo.bytes;
        self.len -= n;
    }

    /// Returns the drop count of CoDel for each queue.
    #[cfg(test)]
    pub fn counts(&self) -> Vec<u32> {
        self.queues.iter().map(|it| it.codel.count).collect()
    }
}

impl Settings for FqCoDel {
    fn marks(&self) -> bool {
        self.codel.marks()
    }
}

impl<P> Discipline<P> for FqCoDelQueue<P> {
    fn enqueue(
        &mut self,
        packet: WaitingPacket<P>,
        info: &PacketInfo,
        _details: impl FnOnce() -> PacketDetails,
        buffer: Buffer,
        dropped: &mut impl Drops<P>,
    ) {
        let index = self.queue_of(info.flow);
        let queue = &mut self.queues[index as usize];
        self.len += 1;
        self.bytes += u64::from(packet.bytes);
        queue.fifo.push(packet);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = i64::from(self.rules.quantum_bytes.max(1));
            self.new.push_back(index);
        }
        // A buffer in packets needs at most one iteration.
        while !buffer.fits(self.len, self.bytes) {
            self.drop_from_longest(dropped);
        }
    }

    /// Returns the next packet to send (RFC 8290, section 4.2).
    fn dequeue(&mut self, now_ns: u64, dropped: &mut impl Drops<P>) -> Option<WaitingPacket<P>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = &mut self.queues[index as usize];
            if queue.deficit <= 0 {
                queue.deficit += i64::from(self.rules.quantum_bytes.max(1));
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let (fifo, len, bytes) = (&mut queue.fifo, &mut self.len, &mut self.bytes);
            let pop = || {
                let packet = fifo.pop()?;
                *len -= 1;
                *bytes -= u64::from(packet.bytes);
                Some((packet, *bytes))
            };
            let rules = &self.rules.codel;
            let largest = &mut self.largest;
            if let Some(packet) = queue.codel.dequeue(rules, now_ns, largest, pop, dropped) {
                queue.deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
            list.pop_front();
            // An emptied new queue moves to the old list first, so that it cannot return to the new list
            // before the old queues are served.
            queue.listed = is_new;
            if is_new {
                self.old.push_back(index);
            }
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn clear(&mut self, _now_ns: u64, dropped: &mut Vec<P>) {
        for queue in &mut self.queues {
            queue.fifo.clear(dropped);
        }
        *self = FqCoDelQueue::new(self.rules, self.perturbation);
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &WaitingPacket<P>> + '_> {
        Box::new(self.queues.iter().flat_map(|queue| queue.fifo.iter()))
    }
}
