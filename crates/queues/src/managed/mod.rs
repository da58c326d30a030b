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
use codel::Control;
use fq_codel::Flows;
use pie::Early;

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
pub struct Waiting<P> {
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
pub struct Sent<P> {
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
/// use netflow_queues::{Buffer, CoDel, Aqm, Managed};
///
/// let mut queue = Managed::new(Aqm::CoDel(CoDel::default()), Buffer::Packets(2), 1);
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
pub struct Managed<P> {
    buffer: Buffer,
    state: State<P>,
}

#[derive(Clone, Debug)]
enum State<P> {
    CoDel(Head<P>),
    FqCoDel(Box<Flows<P>>),
    Pie(Box<Early<P>>),
}

/// A queue with CoDel.
#[derive(Clone, Debug)]
struct Head<P> {
    rules: CoDel,
    control: Control,
    largest: u32,
    line: Line<P>,
}

impl<P> Managed<P> {
    /// Returns an empty queue. The seed determines which flows share a queue of FQ-CoDel, and which packets
    /// PIE drops. The same seed gives the same result on every platform.
    pub fn new(discipline: Aqm, buffer: Buffer, seed: u64) -> Managed<P> {
        let seed = SplitMix64::new(seed).bits();
        let state = match discipline {
            Aqm::CoDel(rules) => State::CoDel(Head {
                rules,
                control: Control::default(),
                largest: 0,
                line: Line::default(),
            }),
            Aqm::FqCoDel(rules) => State::FqCoDel(Box::new(Flows::new(rules, seed))),
            Aqm::Pie(rules) => State::Pie(Box::new(Early::new(rules, SplitMix64::new(seed)))),
        };
        Managed { buffer, state }
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
        let packet = Waiting {
            packet,
            arrived_ns: now_ns,
            bytes,
            ecn,
            marked: false,
        };
        match &mut self.state {
            State::CoDel(head) => match head.line.fits(bytes, self.buffer) {
                true => head.line.push(packet),
                false => dropped.push(packet.packet),
            },
            State::FqCoDel(flows) => flows.enqueue(packet, flow, self.buffer, dropped),
            State::Pie(early) => early.enqueue(packet, self.buffer, dropped),
        }
    }

    /// Returns the next packet to send when the link is free. Packets dropped meanwhile are pushed to
    /// `dropped`; the queue may be empty afterwards.
    #[inline]
    pub fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<P>) -> Option<Sent<P>> {
        let packet = match &mut self.state {
            State::CoDel(head) => {
                let line = &mut head.line;
                let pop = || line.pop().map(|packet| (packet, line.bytes));
                let (rules, largest) = (&head.rules, &mut head.largest);
                head.control.next(rules, now_ns, largest, pop, dropped)
            }
            State::FqCoDel(flows) => flows.dequeue(now_ns, dropped),
            State::Pie(early) => early.dequeue(now_ns),
        }?;
        Some(Sent {
            packet: packet.packet,
            arrived_ns: packet.arrived_ns,
            bytes: packet.bytes,
            marked: packet.marked,
        })
    }

    /// Returns the number of waiting packets.
    pub fn len(&self) -> usize {
        match &self.state {
            State::CoDel(head) => head.line.len(),
            State::FqCoDel(flows) => flows.len,
            State::Pie(early) => early.line.len(),
        }
    }

    /// Returns true if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the waiting packets.
    pub fn bytes(&self) -> u64 {
        match &self.state {
            State::CoDel(head) => head.line.bytes,
            State::FqCoDel(flows) => flows.bytes,
            State::Pie(early) => early.line.bytes,
        }
    }

    /// Returns the drop or mark probability of PIE, and 0 for the others.
    pub fn drop_probability(&self) -> f64 {
        match &self.state {
            State::Pie(early) => early.control.probability,
            State::CoDel(_) | State::FqCoDel(_) => 0.0,
        }
    }

    /// Moves all waiting packets to `dropped`, as when the link fails, and resets the state of the
    /// discipline. A random stream continues.
    pub fn clear(&mut self, dropped: &mut Vec<P>) {
        match &mut self.state {
            State::CoDel(head) => {
                head.line.clear(dropped);
                head.control = Control::default();
                head.largest = 0;
            }
            State::FqCoDel(flows) => flows.clear(dropped),
            State::Pie(early) => early.clear(dropped),
        }
    }

    /// Returns the waiting packets: in order of arrival for CoDel and PIE, and within each queue for
    /// FQ-CoDel.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting<P>> {
        let (line, flows) = match &self.state {
            State::CoDel(head) => (Some(&head.line), None),
            State::FqCoDel(flows) => (None, Some(flows)),
            State::Pie(early) => (Some(&early.line), None),
        };
        let line = line.into_iter().flat_map(Line::iter);
        line.chain(flows.into_iter().flat_map(|flows| flows.iter()))
    }
}

/// A FIFO queue without a limit of its own.
#[derive(Clone, Debug)]
struct Line<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
}

impl<P> Default for Line<P> {
    fn default() -> Line<P> {
        Line {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<P> Line<P> {
    #[inline]
    fn push(&mut self, packet: Waiting<P>) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    #[inline]
    fn pop(&mut self) -> Option<Waiting<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Returns true if one more packet of `bytes` bytes fits.
    #[inline]
    fn fits(&self, bytes: u32, room: Buffer) -> bool {
        room.holds(self.len() + 1, self.bytes + u64::from(bytes))
    }

    #[inline]
    fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = &Waiting<P>> {
        self.packets.iter()
    }

    fn clear(&mut self, dropped: &mut Vec<P>) {
        dropped.extend(self.packets.drain(..).map(|packet| packet.packet));
        self.bytes = 0;
    }
}
