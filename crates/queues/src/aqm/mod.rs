//! Active queue management (AQM): queues that drop or mark packets before their buffer is full.

mod codel;
mod fq_codel;
mod pie;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub use codel::CoDel;
pub use fq_codel::FqCoDel;
pub use pie::Pie;

use netflow_units::SplitMix64;

use crate::Buffer;
use codel::CoDelState;
use fq_codel::FqCoDelQueue;
use pie::PieQueue;

/// AQM discipline of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aqm {
    /// Head drop by sojourn time (RFC 8289).
    CoDel(CoDel),
    /// Flow queueing with CoDel for each flow (RFC 8290).
    FqCoDel(FqCoDel),
    /// Random tail drop by queueing delay (RFC 8033).
    Pie(Pie),
}

impl Aqm {
    /// Returns true if it marks ECN-capable packets, either instead of dropping them or above a sojourn-time
    /// threshold.
    pub fn marks(&self) -> bool {
        match self {
            Aqm::CoDel(codel) | Aqm::FqCoDel(FqCoDel { codel, .. }) => {
                codel.ecn || codel.ce_threshold_ns.is_some()
            }
            Aqm::Pie(pie) => pie.ecn,
        }
    }
}

/// A waiting packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingPacket<P> {
    /// Packet of the caller.
    pub packet: P,
    /// Arrival time in ns.
    pub arrived_ns: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// True if the packet may be marked instead of dropped (RFC 3168, section 5: ECT).
    pub ecn: bool,
    /// True if this queue has marked it.
    pub marked: bool,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DequeuedPacket<P> {
    /// Packet of the caller.
    pub packet: P,
    /// Arrival time in ns.
    pub arrived_ns: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// True if this queue has marked it (RFC 3168, section 5: CE).
    pub marked: bool,
}

/// A queue with AQM in front of a link, for packets of any type.
///
/// It has no clock: each call passes the time in whole nanoseconds, which does not decrease. The buffer
/// counts waiting packets without the one in service; an empty queue accepts any packet. CoDel and PIE reject
/// a packet that does not fit; FQ-CoDel accepts it and drops others.
///
/// ```
/// use netflow_queues::{Buffer, CoDel, Aqm, AqmQueue};
///
/// let mut queue = AqmQueue::new(Aqm::CoDel(CoDel::default()), Buffer::Packets(2), 1);
/// let mut dropped = Vec::new();
/// for (packet, flow) in [("first", 1), ("second", 2), ("third", 1)] {
///     queue.enqueue(0, packet, 1500, flow, false, &mut dropped);
/// }
/// assert_eq!(dropped, ["third"]);
/// let sent = queue.dequeue(1_000_000, &mut dropped).unwrap();
/// assert_eq!((sent.packet, sent.arrived_ns, sent.marked), ("first", 0, false));
/// assert_eq!((queue.len(), queue.bytes()), (1, 1500));
/// ```
#[derive(Clone, Debug)]
pub struct AqmQueue<P> {
    buffer: Buffer,
    state: State<P>,
}

#[derive(Clone, Debug)]
enum State<P> {
    CoDel(CoDelQueue<P>),
    FqCoDel(Box<FqCoDelQueue<P>>),
    Pie(Box<PieQueue<P>>),
}

/// A queue with CoDel.
#[derive(Clone, Debug)]
struct CoDelQueue<P> {
    rules: CoDel,
    codel: CoDelState,
    largest: u32,
    fifo: FifoQueue<P>,
}

impl<P> AqmQueue<P> {
    /// Returns an empty queue. The seed determines which flows share a queue of FQ-CoDel, and which packets
    /// PIE drops. The same seed gives the same result on every platform.
    pub fn new(discipline: Aqm, buffer: Buffer, seed: u64) -> AqmQueue<P> {
        let seed = SplitMix64::new(seed).bits();
        let state = match discipline {
            Aqm::CoDel(rules) => State::CoDel(CoDelQueue {
                rules,
                codel: CoDelState::default(),
                largest: 0,
                fifo: FifoQueue::default(),
            }),
            Aqm::FqCoDel(rules) => State::FqCoDel(Box::new(FqCoDelQueue::new(rules, seed))),
            Aqm::Pie(rules) => State::Pie(Box::new(PieQueue::new(rules, SplitMix64::new(seed)))),
        };
        AqmQueue { buffer, state }
    }

    /// Changes the size of the buffer. Waiting packets stay.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        self.buffer = buffer;
    }

    /// Adds a packet. `flow` identifies its flow, and `ecn` is true for an ECN-capable packet. Packets
    /// dropped because of a full buffer, or early, are pushed to `dropped`: this one or others.
    #[inline]
    pub fn enqueue(
        &mut self,
        now_ns: u64,
        packet: P,
        bytes: u32,
        flow: u64,
        ecn: bool,
        dropped: &mut Vec<P>,
    ) {
        let packet = WaitingPacket {
            packet,
            arrived_ns: now_ns,
            bytes,
            ecn,
            marked: false,
        };
        match &mut self.state {
            State::CoDel(queue) => {
                if queue.fifo.fits(bytes, self.buffer) {
                    queue.fifo.push(packet)
                } else {
                    dropped.push(packet.packet)
                }
            }
            State::FqCoDel(queue) => queue.enqueue(packet, flow, self.buffer, dropped),
            State::Pie(queue) => queue.enqueue(packet, self.buffer, dropped),
        }
    }

    /// Returns the next packet to send when the link is free. Packets dropped meanwhile are pushed to
    /// `dropped`; the queue may be empty afterwards.
    #[inline]
    pub fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<P>) -> Option<DequeuedPacket<P>> {
        let packet = match &mut self.state {
            State::CoDel(queue) => {
                let fifo = &mut queue.fifo;
                let pop = || fifo.pop().map(|packet| (packet, fifo.bytes));
                let (rules, largest) = (&queue.rules, &mut queue.largest);
                queue.codel.dequeue(rules, now_ns, largest, pop, dropped)
            }
            State::FqCoDel(queue) => queue.dequeue(now_ns, dropped),
            State::Pie(queue) => queue.dequeue(now_ns),
        }?;
        Some(DequeuedPacket {
            packet: packet.packet,
            arrived_ns: packet.arrived_ns,
            bytes: packet.bytes,
            marked: packet.marked,
        })
    }

    /// Returns the number of waiting packets.
    pub fn len(&self) -> usize {
        match &self.state {
            State::CoDel(queue) => queue.fifo.len(),
            State::FqCoDel(queue) => queue.len,
            State::Pie(queue) => queue.fifo.len(),
        }
    }

    /// Returns true if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the waiting packets.
    pub fn bytes(&self) -> u64 {
        match &self.state {
            State::CoDel(queue) => queue.fifo.bytes,
            State::FqCoDel(queue) => queue.bytes,
            State::Pie(queue) => queue.fifo.bytes,
        }
    }

    /// Returns the drop or mark probability of PIE, and 0 for the others.
    pub fn drop_probability(&self) -> f64 {
        match &self.state {
            State::Pie(queue) => queue.state.probability,
            State::CoDel(_) | State::FqCoDel(_) => 0.0,
        }
    }

    /// Moves all waiting packets to `dropped`, as when the link fails, and resets the state of the
    /// discipline. A random stream continues.
    pub fn clear(&mut self, dropped: &mut Vec<P>) {
        match &mut self.state {
            State::CoDel(queue) => {
                queue.fifo.clear(dropped);
                queue.codel = CoDelState::default();
                queue.largest = 0;
            }
            State::FqCoDel(queue) => queue.clear(dropped),
            State::Pie(queue) => queue.clear(dropped),
        }
    }

    /// Returns the waiting packets: in order of arrival for CoDel and PIE, and within each queue for
    /// FQ-CoDel.
    pub fn iter(&self) -> impl Iterator<Item = &WaitingPacket<P>> {
        let (fifo, fair) = match &self.state {
            State::CoDel(queue) => (Some(&queue.fifo), None),
            State::FqCoDel(queue) => (None, Some(queue)),
            State::Pie(queue) => (Some(&queue.fifo), None),
        };
        let fifo = fifo.into_iter().flat_map(FifoQueue::iter);
        fifo.chain(fair.into_iter().flat_map(|queue| queue.iter()))
    }
}

/// A FIFO queue without a limit of its own.
#[derive(Clone, Debug)]
struct FifoQueue<P> {
    packets: VecDeque<WaitingPacket<P>>,
    bytes: u64,
}

impl<P> Default for FifoQueue<P> {
    fn default() -> FifoQueue<P> {
        FifoQueue {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<P> FifoQueue<P> {
    #[inline]
    fn push(&mut self, packet: WaitingPacket<P>) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    #[inline]
    fn pop(&mut self) -> Option<WaitingPacket<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Returns true if one more packet of `bytes` bytes fits.
    #[inline]
    fn fits(&self, bytes: u32, buffer: Buffer) -> bool {
        buffer.fits(self.len() + 1, self.bytes + u64::from(bytes))
    }

    #[inline]
    fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = &WaitingPacket<P>> {
        self.packets.iter()
    }

    fn clear(&mut self, dropped: &mut Vec<P>) {
        dropped.extend(self.packets.drain(..).map(|packet| packet.packet));
        self.bytes = 0;
    }
}
