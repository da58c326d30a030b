//! Active queue management (AQM): queues that drop or mark packets before their buffer is full.
//!
//! Each discipline is one file with its settings and its queue, and one line in the list below.

mod cake;
mod codel;
mod dualpi2;
mod fifo;
mod fq_codel;
mod pie;
#[cfg(test)]
mod tests;

pub use cake::{AckFilter, Cake, Isolation, TcpAck, Tins};
pub use codel::CoDel;
pub use dualpi2::DualPi2;
pub use fq_codel::FqCoDel;
pub use pie::Pie;

use netflow_diffserv::DropPrecedence;
use netflow_units::SplitMix64;

use crate::{Buffer, Dscp, EarlyDrop, EcnCodepoint};
use cake::CakeQueue;
use codel::CoDelQueue;
use dualpi2::DualPi2Queue;
use fifo::{FifoQueue, LimitedFifo};
use fq_codel::FqCoDelQueue;
use pie::PieQueue;

/// Properties of a packet that disciplines use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketInfo {
    /// Size in bytes.
    pub bytes: u32,
    /// Number that distinguishes flows.
    pub flow: u64,
    /// ECN field of its IP header.
    pub ecn: EcnCodepoint,
    /// Drop precedence, for RIO.
    pub precedence: DropPrecedence,
}

/// Properties of a packet that only CAKE uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketDetails {
    /// Number that distinguishes source hosts.
    pub source: u32,
    /// Number that distinguishes destination hosts.
    pub destination: u32,
    /// Code point of its IP header.
    pub dscp: Dscp,
    /// Acknowledgement of a TCP segment that opens no connection.
    pub ack: Option<TcpAck>,
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
    /// ECN field on arrival.
    pub ecn: EcnCodepoint,
    /// True if this queue has marked it (RFC 3168, section 5: CE).
    pub marked: bool,
}

impl<P> WaitingPacket<P> {
    /// Marks the packet if it is ECN-capable. Returns false if it is not.
    #[inline]
    fn mark(&mut self) -> bool {
        self.marked |= self.ecn.is_capable();
        self.ecn.is_capable()
    }
}

/// Reason for the drop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Decision of the AQM, before the buffer is full.
    Early,
    /// Full buffer.
    BufferFull,
    /// Acknowledgement that a later one replaces.
    AckFilter,
}

/// Receiver of dropped packets.
pub trait Drops<P> {
    /// Records a dropped packet.
    fn record(&mut self, packet: P, reason: DropReason);
}

/// Packets without the reasons.
impl<P> Drops<P> for Vec<P> {
    #[inline]
    fn record(&mut self, packet: P, _reason: DropReason) {
        self.push(packet);
    }
}

/// Settings of a discipline.
trait Settings {
    /// Returns true if it marks ECN-capable packets.
    fn marks(&self) -> bool;

    /// Returns the bandwidth of its shaper in bit/s, if it has one.
    fn shaper_bps(&self) -> Option<f64> {
        None
    }
}

/// Queue of a discipline.
trait Discipline<P> {
    /// Adds a packet. Packets dropped as a result are recorded in `dropped`: this one or others.
    fn enqueue(
        &mut self,
        packet: WaitingPacket<P>,
        info: &PacketInfo,
        details: impl FnOnce() -> PacketDetails,
        buffer: Buffer,
        dropped: &mut impl Drops<P>,
    );

    /// Returns the time in ns from which on the next packet may be sent.
    #[inline]
    fn ready_ns(&self) -> u64 {
        0
    }

    /// Returns the next packet to send; none before [`ready_ns`](Self::ready_ns). Packets dropped meanwhile are
    /// recorded in `dropped`.
    fn dequeue(&mut self, now_ns: u64, dropped: &mut impl Drops<P>) -> Option<WaitingPacket<P>>;

    /// Returns the number of waiting packets.
    fn len(&self) -> usize;

    /// Returns the bytes of the waiting packets.
    fn bytes(&self) -> u64;

    /// Removes all packets, in order, and resets the state. A random stream continues.
    fn clear(&mut self, now_ns: u64, dropped: &mut Vec<P>);

    /// Returns the waiting packets.
    fn iter(&self) -> Box<dyn Iterator<Item = &WaitingPacket<P>> + '_>;

    /// Returns the drop or mark probability of a discipline that has one.
    fn drop_probability(&self) -> f64 {
        0.0
    }

    /// Sets the random stream, if there is one.
    #[cfg(test)]
    fn reseed(&mut self, _seed: u64) {}
}

/// Defines [`Aqm`], and the queue of each discipline.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $name:ident($word:literal, $settings:ident, $queue:ident),)*) => {
        /// AQM discipline of a queue.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Aqm {
            $($(#[$doc])* $name($settings),)*
        }

        impl Aqm {
            /// Returns every discipline, with its default settings.
            pub fn all() -> impl Iterator<Item = Aqm> {
                [$(Aqm::$name($settings::default())),*].into_iter()
            }

            /// Returns its name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Aqm::$name(_) => $word,)*
                }
            }

            /// Returns true if it marks ECN-capable packets, either instead of dropping them or above a
            /// threshold.
            pub fn marks(&self) -> bool {
                match self {
                    $(Aqm::$name(settings) => settings.marks(),)*
                }
            }

            /// Returns the bandwidth of its shaper in bit/s, if it has one.
            pub fn shaper_bps(&self) -> Option<f64> {
                match self {
                    $(Aqm::$name(settings) => settings.shaper_bps(),)*
                }
            }
        }

        #[derive(Clone, Debug)]
        enum State<P> {
            $($name($queue<P>),)*
            /// Drop-tail, RED or RIO.
            Fifo(LimitedFifo<P>),
        }

        impl<P> State<P> {
            fn new(discipline: Aqm, seed: u64) -> State<P> {
                match discipline {
                    $(Aqm::$name(settings) => State::$name($queue::new(settings, seed)),)*
                }
            }
        }

        impl<P> Discipline<P> for State<P> {
            #[inline]
            fn enqueue(
                &mut self,
                packet: WaitingPacket<P>,
                info: &PacketInfo,
                details: impl FnOnce() -> PacketDetails,
                buffer: Buffer,
                dropped: &mut impl Drops<P>,
            ) {
                match self {
                    $(State::$name(queue) => queue.enqueue(packet, info, details, buffer, dropped),)*
                    State::Fifo(queue) => queue.enqueue(packet, info, details, buffer, dropped),
                }
            }

            #[inline]
            fn ready_ns(&self) -> u64 {
                match self {
                    $(State::$name(queue) => queue.ready_ns(),)*
                    State::Fifo(queue) => queue.ready_ns(),
                }
            }

            #[inline]
            fn dequeue(&mut self, now_ns: u64, dropped: &mut impl Drops<P>) -> Option<WaitingPacket<P>> {
                match self {
                    $(State::$name(queue) => queue.dequeue(now_ns, dropped),)*
                    State::Fifo(queue) => queue.dequeue(now_ns, dropped),
                }
            }

            fn len(&self) -> usize {
                match self {
                    $(State::$name(queue) => queue.len(),)*
                    State::Fifo(queue) => queue.len(),
                }
            }

            fn bytes(&self) -> u64 {
                match self {
                    $(State::$name(queue) => queue.bytes(),)*
                    State::Fifo(queue) => queue.bytes(),
                }
            }

            fn clear(&mut self, now_ns: u64, dropped: &mut Vec<P>) {
                match self {
                    $(State::$name(queue) => queue.clear(now_ns, dropped),)*
                    State::Fifo(queue) => queue.clear(now_ns, dropped),
                }
            }

            fn iter(&self) -> Box<dyn Iterator<Item = &WaitingPacket<P>> + '_> {
                match self {
                    $(State::$name(queue) => queue.iter(),)*
                    State::Fifo(queue) => queue.iter(),
                }
            }

            fn drop_probability(&self) -> f64 {
                match self {
                    $(State::$name(queue) => queue.drop_probability(),)*
                    State::Fifo(queue) => queue.drop_probability(),
                }
            }

            #[cfg(test)]
            fn reseed(&mut self, seed: u64) {
                match self {
                    $(State::$name(queue) => queue.reseed(seed),)*
                    State::Fifo(queue) => queue.reseed(seed),
                }
            }
        }
    };
}

disciplines! {
    /// Head drop by sojourn time (RFC 8289).
    CoDel("codel", CoDel, CoDelQueue),
    /// Flow queueing with CoDel for each flow (RFC 8290).
    FqCoDel("fq-codel", FqCoDel, FqCoDelQueue),
    /// Coupled dual queue for L4S (RFC 9332).
    DualPi2("dualpi2", DualPi2, DualPi2Queue),
    /// Random tail drop by queueing delay (RFC 8033).
    Pie("pie", Pie, PieQueue),
    /// Shaper, priority tins, and flow queueing with host fairness and COBALT.
    Cake("cake", Cake, CakeQueue),
}

/// A queue in front of a link, for packets of any type. Its discipline chooses the next packet when the link is free.
///
/// It has no clock: each call passes the time in whole nanoseconds, which does not decrease. The buffer
/// counts waiting packets without the one in service, except in a [FIFO queue](Self::fifo); an empty queue accepts any
/// packet. FIFO queues, CoDel, PIE and DualPI2 reject a packet that does not fit; FQ-CoDel and CAKE accept it and drop
/// others.
///
/// ```
/// use netflow_queues::{Aqm, AqmQueue, Buffer, CoDel, PacketDetails, PacketInfo};
///
/// let mut queue = AqmQueue::new(Aqm::CoDel(CoDel::default()), Buffer::Packets(2), 1);
/// let mut dropped = Vec::new();
/// for (packet, flow) in [("first", 1), ("second", 2), ("third", 1)] {
///     let info = PacketInfo { bytes: 1500, flow, ..PacketInfo::default() };
///     queue.enqueue(0, packet, info, PacketDetails::default, &mut dropped);
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

impl<P> AqmQueue<P> {
    /// Returns an empty queue. The seed determines which flows share a queue of FQ-CoDel or CAKE, and which packets
    /// are dropped at random. The same seed gives the same result on every platform.
    pub fn new(discipline: Aqm, buffer: Buffer, seed: u64) -> AqmQueue<P> {
        let state = State::new(discipline, SplitMix64::new(seed).bits());
        AqmQueue { buffer, state }
    }

    /// Returns an empty FIFO queue: drop-tail, RED or RIO. Its buffer includes the packet in service, see
    /// [`set_busy_until`](Self::set_busy_until).
    pub fn fifo(buffer: Buffer, early_drop: Option<Box<EarlyDrop>>) -> AqmQueue<P> {
        let state = State::Fifo(LimitedFifo::new(early_drop));
        AqmQueue { buffer, state }
    }

    /// Returns the queue if it is FIFO: drop-tail, RED or RIO.
    fn as_fifo_mut(&mut self) -> Option<&mut LimitedFifo<P>> {
        match &mut self.state {
            State::Fifo(queue) => Some(queue),
            _ => None,
        }
    }

    /// Returns true if it is FIFO. Only then, accepted packets are never dropped, and the buffer includes the packet in
    /// service.
    pub fn is_fifo(&self) -> bool {
        matches!(self.state, State::Fifo(_))
    }

    /// Returns the early drops of a FIFO queue, if it has any.
    pub fn early_drop(&self) -> Option<&EarlyDrop> {
        match &self.state {
            State::Fifo(queue) => queue.early_drop.as_deref(),
            _ => None,
        }
    }

    /// Returns the early drops of a FIFO queue, if it has any.
    pub fn early_drop_mut(&mut self) -> Option<&mut EarlyDrop> {
        self.as_fifo_mut()?.early_drop.as_deref_mut()
    }

    /// Sets the end of the current or last transmission, which a FIFO queue requires before an arrival.
    #[inline]
    pub fn set_busy_until(&mut self, free_ns: u64) {
        if let Some(queue) = self.as_fifo_mut() {
            queue.free_ns = free_ns;
        }
    }

    /// Adapts to transmissions that take `ratio` times as long from `now_ns` on.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64) {
        if let Some(early) = self.early_drop_mut() {
            early.stretch(now_ns, ratio);
        }
    }

    /// Changes the size of the buffer. Waiting packets stay.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        self.buffer = buffer;
    }

    /// Adds a packet. Packets dropped because of a full buffer, or early, are recorded in `dropped`: this
    /// one or others. The details are computed only if the discipline uses them.
    #[inline]
    pub fn enqueue(
        &mut self,
        now_ns: u64,
        packet: P,
        info: PacketInfo,
        details: impl FnOnce() -> PacketDetails,
        dropped: &mut impl Drops<P>,
    ) {
        let PacketInfo { bytes, ecn, .. } = info;
        let packet = WaitingPacket {
            packet,
            arrived_ns: now_ns,
            bytes,
            ecn,
            marked: false,
        };
        self.state
            .enqueue(packet, &info, details, self.buffer, dropped);
    }

    /// Returns the time in ns from which on the next packet may be sent: the present or the past, unless the
    /// discipline has a shaper.
    #[inline]
    pub fn ready_ns(&self) -> u64 {
        self.state.ready_ns()
    }

    /// Returns the next packet to send when the link is free; none before [`ready_ns`](Self::ready_ns). Packets
    /// dropped meanwhile are recorded in `dropped`; the queue may be empty afterwards.
    #[inline]
    pub fn dequeue(
        &mut self,
        now_ns: u64,
        dropped: &mut impl Drops<P>,
    ) -> Option<WaitingPacket<P>> {
        self.state.dequeue(now_ns, dropped)
    }

    /// Returns the number of waiting packets.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Returns true if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the waiting packets.
    pub fn bytes(&self) -> u64 {
        self.state.bytes()
    }

    /// Returns the drop or mark probability of a discipline that has one, and 0 for the others.
    pub fn drop_probability(&self) -> f64 {
        self.state.drop_probability()
    }

    /// Moves all waiting packets to `dropped`, as when the link fails, and resets the state of the
    /// discipline. A random stream continues.
    pub fn clear(&mut self, now_ns: u64, dropped: &mut Vec<P>) {
        self.state.clear(now_ns, dropped);
    }

    /// Returns the waiting packets: in order of arrival within each queue of the discipline.
    pub fn iter(&self) -> impl Iterator<Item = &WaitingPacket<P>> {
        self.state.iter()
    }
}
