//! Queues that act on congestion before their buffer is full, packet by packet.

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

/// What a queue does about congestion before its buffer is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aqm {
    /// Drops at the head by how long packets have waited (RFC 8289).
    CoDel(CoDel),
    /// Flows in turn, each under CoDel (RFC 8290).
    FqCoDel(FqCoDel),
    /// Drops at the tail at random by how long packets have waited (RFC 8033).
    Pie(Pie),
}

impl Aqm {
    /// Whether it marks packets of senders with ECN: instead of dropping them, or those that have waited for longer than a threshold.
    pub fn marks(&self) -> bool {
        match self {
            Aqm::CoDel(codel) | Aqm::FqCoDel(FqCoDel { codel, .. }) => {
                codel.ecn || codel.ce_threshold_ns.is_some()
            }
            Aqm::Pie(pie) => pie.ecn,
        }
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<P> {
    /// The packet.
    pub packet: P,
    /// When it arrived, in ns.
    pub arrived_ns: u64,
    /// Its bytes.
    pub bytes: u32,
    /// Whether it may be marked instead of being dropped (RFC 3168, section 5: ECT).
    pub ecn: bool,
    /// Whether this queue has marked it.
    pub marked: bool,
}

/// A packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<P> {
    /// The packet.
    pub packet: P,
    /// When it arrived, in ns.
    pub arrived_ns: u64,
    /// Its bytes.
    pub bytes: u32,
    /// Whether this queue has put a mark on it (RFC 3168, section 5: CE).
    pub marked: bool,
}

/// A queue in front of a link, in which packets of any kind wait.
///
/// It has no clock: times are those of the calls, whole nanoseconds that do not go back. The buffer counts
/// the packets that wait, without the one in service; an empty queue takes any packet. CoDel and PIE refuse
/// a packet that does not fit; FQ-CoDel takes it, and drops others.
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

/// A queue under CoDel.
#[derive(Clone, Debug)]
struct Head<P> {
    rules: CoDel,
    control: Control,
    largest: u32,
    line: Line<P>,
}

impl<P> Managed<P> {
    /// An empty one. The seed tells which flows share a queue of FQ-CoDel, and which packets PIE drops: the
    /// same seed does the same everywhere.
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

    /// Changes the size of the buffer. Packets that wait stay there.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        self.buffer = buffer;
    }

    /// A packet arrives. `flow` is a number that tells flows apart; `ecn`, whether it may be marked
    /// instead of being dropped. What there is no room for is pushed to `dropped`, or what is dropped
    /// early: this packet or others.
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

    /// The link is free: the next packet to send. Those that are dropped on the way to it are pushed to
    /// `dropped`; there may be none left to send.
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

    /// Packets that wait.
    pub fn len(&self) -> usize {
        match &self.state {
            State::CoDel(head) => head.line.len(),
            State::FqCoDel(flows) => flows.len,
            State::Pie(early) => early.line.len(),
        }
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the packets that wait.
    pub fn bytes(&self) -> u64 {
        match &self.state {
            State::CoDel(head) => head.line.bytes,
            State::FqCoDel(flows) => flows.bytes,
            State::Pie(early) => early.line.bytes,
        }
    }

    /// The probability with which PIE drops or marks; 0 for the others.
    pub fn drop_probability(&self) -> f64 {
        match &self.state {
            State::Pie(early) => early.control.probability,
            State::CoDel(_) | State::FqCoDel(_) => 0.0,
        }
    }

    /// Takes out all that wait, as when the link fails. What the discipline has learned is forgotten; a
    /// stream of random numbers goes on.
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

    /// The packets that wait: those of a flow in their order, and with CoDel and PIE all of them.
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

/// Packets in the order of their arrival.
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

    /// Whether one more has room.
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
