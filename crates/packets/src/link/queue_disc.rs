//! A queue that is managed: who waits is known, and who is sent next is decided when the link is free.

use std::collections::VecDeque;

use netflow_queues::{Aqm, AqmQueue, Buffer};
use netflow_tcpmodel::tcp::NEVER;

use crate::link::wire::Packet;

/// On data, in what it metadata: it met congestion (CE, RFC 3168).
pub(crate) const CONGESTED: u64 = 1 << 63;

/// Likewise: it was sent before, and so may not be marked (RFC 3168, 6.1.5).
pub(crate) const SENT_AGAIN: u64 = 1 << 62;

/// Likewise in ten bits, as windows are [told](crate::endpoint::ack_encoding): the sender's round-trip time, in units of [`ROUND_TRIP_NS`].
pub(crate) const ROUND_TRIP: u32 = 52;

/// The unit of round-trip times that data metadata of.
pub(crate) const ROUND_TRIP_NS: u64 = 4_000;

/// The bits that say when a packet was sent.
pub(crate) const SENT_TIME: u64 = (1 << ROUND_TRIP) - 1;

/// How long a data packet that arrives now has been on its way, by what it metadata: 52 days at most.
pub(crate) fn delay_ns(now_ns: u64, metadata: u64) -> u64 {
    now_ns.wrapping_sub(metadata) & SENT_TIME
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedPacket {
    pub packet: Packet,
    pub bits: f64,
}

/// A managed queue and the link behind it.
#[derive(Clone, Debug)]
pub(crate) struct QueueDisc {
    queue: Discipline,
    /// When what is being sent will have been.
    pub free_ns: u64,
    most_pkts: u64,
}

/// Who of those that wait is sent, and who is dropped.
#[derive(Clone, Debug)]
enum Discipline {
    Managed(AqmQueue<QueuedPacket>),
    DropTail(Line),
}

/// Packets in the order of their arrival, where other queues decide as well when the next is sent.
#[derive(Clone, Debug)]
struct Line {
    /// The packet in service included.
    buffer: Buffer,
    waiting: VecDeque<QueuedPacket>,
    bytes: u64,
    /// Of the one in service.
    sending_bytes: u32,
}

impl Line {
    /// Takes a packet, if it has room for it.
    fn push(&mut self, waits: QueuedPacket, is_sending: bool) -> bool {
        let (pkts, bytes) = match is_sending {
            true => (1, self.sending_bytes),
            false => (0, 0),
        };
        let all_bytes = self.bytes + u64::from(bytes) + u64::from(waits.bytes());
        let fits = (self.buffer).fits(self.waiting.len() + pkts + 1, all_bytes);
        if fits {
            self.bytes += u64::from(waits.bytes());
            self.waiting.push_back(waits);
        }
        fits
    }

    fn pop(&mut self) -> Option<QueuedPacket> {
        let waits = self.waiting.pop_front()?;
        self.sending_bytes = waits.bytes();
        self.bytes -= u64::from(waits.bytes());
        Some(waits)
    }

    fn clear(&mut self) -> Vec<QueuedPacket> {
        self.bytes = 0;
        self.waiting.drain(..).collect()
    }
}

impl QueuedPacket {
    fn bytes(&self) -> u32 {
        (self.bits / 8.0).round() as u32
    }
}

impl QueueDisc {
    /// One that drops nothing but what it has no room for, the packet in service included.
    pub fn drop_tail(buffer: Buffer) -> QueueDisc {
        let line = Line {
            buffer,
            waiting: VecDeque::new(),
            bytes: 0,
            sending_bytes: 0,
        };
        QueueDisc {
            queue: Discipline::DropTail(line),
            free_ns: 0,
            most_pkts: 0,
        }
    }

    /// One that holds so much, the packet in service included; there is room for one that waits in any
    /// case.
    pub fn new(discipline: Aqm, buffer: Buffer, seed: u64) -> QueueDisc {
        QueueDisc {
            queue: Discipline::Managed(AqmQueue::new(discipline, buffer.waiting(), seed)),
            free_ns: 0,
            most_pkts: 0,
        }
    }

    /// Changes the size of the buffer, the packet in service included. Packets that wait stay there.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        match &mut self.queue {
            Discipline::Managed(managed) => managed.set_buffer(buffer.waiting()),
            Discipline::DropTail(line) => line.buffer = buffer,
        }
    }

    /// Whether packets may be dropped that it has taken.
    pub fn drops_late(&self) -> bool {
        matches!(self.queue, Discipline::Managed(_))
    }

    /// When the next of those that wait is sent.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        match self.waiting_pkts() == 0 {
            true => NEVER,
            false => self.free_ns,
        }
    }

    /// A packet arrives; those that are dropped for it are pushed to `dropped`.
    pub fn enqueue(
        &mut self,
        waits: QueuedPacket,
        flow: u64,
        ecn: bool,
        dropped: &mut Vec<QueuedPacket>,
    ) {
        let now_ns = waits.packet.time_ns;
        if self.waiting_pkts() == 0 {
            // If nothing is being sent, this can be at once.
            self.free_ns = self.free_ns.max(now_ns);
        }
        match &mut self.queue {
            Discipline::Managed(queue) => {
                queue.enqueue(now_ns, waits, waits.bytes(), flow, ecn, dropped);
            }
            Discipline::DropTail(line) => {
                if !line.push(waits, self.free_ns > now_ns) {
                    dropped.push(waits);
                }
            }
        }
    }

    /// Notes how many are there, once all that can be sent is.
    pub fn record_length(&mut self, now_ns: u64) {
        self.most_pkts = self.most_pkts.max(self.length(now_ns) as u64);
    }

    /// The link is free at `now_ns`: the next packet, when it arrived, and whether this queue has marked it;
    /// those that are dropped on the way to it are pushed to `dropped`.
    pub fn dequeue(
        &mut self,
        now_ns: u64,
        dropped: &mut Vec<QueuedPacket>,
    ) -> Option<(QueuedPacket, u64, bool)> {
        let queue = match &mut self.queue {
            Discipline::Managed(queue) => queue,
            Discipline::DropTail(line) => {
                let waits = line.pop()?;
                return Some((waits, waits.packet.time_ns, false));
            }
        };
        let sent = queue.dequeue(now_ns, dropped)?;
        let mut waits = sent.packet;
        if sent.marked {
            waits.packet.metadata |= CONGESTED;
        }
        Some((waits, sent.arrived_ns, sent.marked))
    }

    /// Packets that wait.
    #[inline]
    pub fn waiting_pkts(&self) -> usize {
        match &self.queue {
            Discipline::Managed(queue) => queue.len(),
            Discipline::DropTail(line) => line.waiting.len(),
        }
    }

    /// Packets that wait, or are being sent.
    pub fn length(&self, now_ns: u64) -> usize {
        self.waiting_pkts() + usize::from(self.free_ns > now_ns)
    }

    /// Bytes of those that wait.
    pub fn bytes(&self) -> u64 {
        match &self.queue {
            Discipline::Managed(queue) => queue.bytes(),
            Discipline::DropTail(line) => line.bytes,
        }
    }

    /// Those that wait.
    pub fn waiting(&self) -> impl Iterator<Item = &QueuedPacket> {
        let (managed, line) = match &self.queue {
            Discipline::Managed(queue) => (Some(queue), None),
            Discipline::DropTail(line) => (None, Some(line)),
        };
        let managed = managed.into_iter().flat_map(AqmQueue::iter);
        let line = line.into_iter().flat_map(|line| &line.waiting);
        managed.map(|waiting| &waiting.packet).chain(line)
    }

    /// Nanoseconds that those that wait have waited until now.
    pub fn waited_ns(&self, now_ns: u64) -> u64 {
        self.waiting()
            .map(|waits| now_ns - waits.packet.time_ns)
            .sum()
    }

    /// Bits of those that wait.
    pub fn waiting_bits(&self) -> f64 {
        self.waiting().map(|waits| waits.bits).sum()
    }

    /// Takes out all that wait.
    pub fn clear(&mut self) -> Vec<QueuedPacket> {
        match &mut self.queue {
            Discipline::Managed(queue) => {
                let mut all = Vec::new();
                queue.clear(&mut all);
                all
            }
            Discipline::DropTail(line) => line.clear(),
        }
    }

    pub fn most_pkts(&self) -> u64 {
        self.most_pkts
    }

    pub fn restart_most(&mut self, now_ns: u64) {
        self.most_pkts = self.length(now_ns) as u64;
    }
}
