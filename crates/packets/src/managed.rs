//! A queue that is managed: who waits is known, and who is sent next is decided when the link is free.

use netflow_queues::{Aqm, Buffer, Managed};

use crate::tcp::NEVER;
use crate::wire::Packet;

/// On data, in what it tells: it met congestion (CE, RFC 3168).
pub(crate) const CONGESTED: u64 = 1 << 63;

/// Likewise: it was sent before, and so may not be marked (RFC 3168, 6.1.5).
pub(crate) const SENT_AGAIN: u64 = 1 << 62;

/// When a data packet was sent, by what it tells.
pub(crate) fn sent_ns(tells: u64) -> u64 {
    tells & !(CONGESTED | SENT_AGAIN)
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    pub packet: Packet,
    pub bits: f64,
}

/// A managed queue and the link behind it.
#[derive(Clone, Debug)]
pub(crate) struct ManagedQueue {
    queue: Managed<Waits>,
    /// When what is being sent will have been.
    pub free_ns: u64,
    most_pkts: u64,
}

impl ManagedQueue {
    /// One that holds so much, the packet in service included; there is room for one that waits in any
    /// case.
    pub fn new(discipline: Aqm, buffer: Buffer, seed: u64) -> ManagedQueue {
        ManagedQueue {
            queue: Managed::new(discipline, buffer.waiting(), seed),
            free_ns: 0,
            most_pkts: 0,
        }
    }

    /// When the next of those that wait is sent.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        match self.queue.is_empty() {
            true => NEVER,
            false => self.free_ns,
        }
    }

    /// A packet arrives; those that are dropped for it are pushed to `dropped`.
    pub fn enqueue(&mut self, waits: Waits, flow: u64, ecn: bool, dropped: &mut Vec<Waits>) {
        let now_ns = waits.packet.time_ns;
        if self.queue.is_empty() {
            // If nothing is being sent, this can be at once.
            self.free_ns = self.free_ns.max(now_ns);
        }
        let bytes = (waits.bits / 8.0).round() as u32;
        self.queue.enqueue(now_ns, waits, bytes, flow, ecn, dropped);
    }

    /// Notes how many are there, once all that can be sent is.
    pub fn note_length(&mut self, now_ns: u64) {
        self.most_pkts = self.most_pkts.max(self.length(now_ns) as u64);
    }

    /// The link is free at `now_ns`: the next packet, when it arrived, and whether this queue has marked it;
    /// those that are dropped on the way to it are pushed to `dropped`.
    pub fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Waits>) -> Option<(Waits, u64, bool)> {
        let sent = self.queue.dequeue(now_ns, dropped)?;
        let mut waits = sent.packet;
        if sent.marked {
            waits.packet.tells |= CONGESTED;
        }
        Some((waits, sent.arrived_ns, sent.marked))
    }

    /// Packets that wait, or are being sent.
    pub fn length(&self, now_ns: u64) -> usize {
        self.queue.len() + usize::from(self.free_ns > now_ns)
    }

    /// Bytes of those that wait.
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Those that wait, and when they arrived.
    pub fn waiting(&self) -> impl Iterator<Item = (&Waits, u64)> {
        let each = self.queue.iter();
        each.map(|waiting| (&waiting.packet, waiting.arrived_ns))
    }

    /// Nanoseconds that those that wait have waited until now.
    pub fn waited_ns(&self, now_ns: u64) -> u64 {
        self.waiting()
            .map(|(_, arrived_ns)| now_ns - arrived_ns)
            .sum()
    }

    /// Bits of those that wait.
    pub fn waiting_bits(&self) -> f64 {
        self.waiting().map(|(waits, _)| waits.bits).sum()
    }

    /// Takes out all that wait.
    pub fn clear(&mut self) -> Vec<Waits> {
        let mut all = Vec::new();
        self.queue.clear(&mut all);
        all
    }

    pub fn most_pkts(&self) -> u64 {
        self.most_pkts
    }

    pub fn restart_most(&mut self, now_ns: u64) {
        self.most_pkts = self.length(now_ns) as u64;
    }
}
