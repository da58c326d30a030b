//! Managed queues, whose discipline chooses the next packet when the link is free.

use netflow_queues::{
    Aqm, AqmQueue, Buffer, DropReason, Drops, EarlyDrop, PacketDetails, PacketInfo, stretched_ns,
};
use netflow_tcpmodel::tcp::NEVER;

use crate::link::wire::Packet;

/// Flag in the metadata of data: congestion experienced (CE, RFC 3168).
pub(crate) const CONGESTED: u64 = 1 << 63;

/// Flag in the metadata of data: retransmission, which may not be marked (RFC 3168, 6.1.5).
pub(crate) const RETRANSMITTED: u64 = 1 << 62;

/// Position of the sender's round-trip time in the metadata of data: ten bits in units of [`RTT_UNIT_NS`],
/// [encoded](crate::endpoint::ack_encoding) like windows.
pub(crate) const RTT_SHIFT: u32 = 52;

/// Unit of round-trip times in the metadata of data, in ns.
pub(crate) const RTT_UNIT_NS: u64 = 4_000;

/// Flag in the metadata of data: the number of repair episodes of the sender is odd.
pub(crate) const ODD_EPISODE: u64 = 1 << 51;

/// Bits of the send time in the metadata of data.
pub(crate) const SEND_TIME_MASK: u64 = ODD_EPISODE - 1;

/// Returns the delay in ns of a data packet with this metadata that arrives now. It is below 26 days.
pub(crate) fn delay_ns(now_ns: u64, metadata: u64) -> u64 {
    now_ns.wrapping_sub(metadata) & SEND_TIME_MASK
}

/// Waiting packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedPacket {
    pub packet: Packet,
    pub bits: f64,
}

/// Packets that a queue has dropped.
#[derive(Debug, Default)]
pub(crate) struct DroppedPackets {
    pub packets: Vec<QueuedPacket>,
    /// Number of them that were dropped before the buffer was full.
    pub early: u64,
}

impl Drops<QueuedPacket> for DroppedPackets {
    #[inline]
    fn record(&mut self, packet: QueuedPacket, reason: DropReason) {
        self.packets.push(packet);
        self.early += u64::from(reason == DropReason::Early);
    }
}

/// Managed queue and the link behind it.
#[derive(Clone, Debug)]
pub(crate) struct QueueDisc {
    queue: AqmQueue<QueuedPacket>,
    /// Start and end of the current transmission in ns. It begins in the future if the packet waits for a shaper.
    pub begins_ns: u64,
    pub free_ns: u64,
    max_pkts: u64,
    /// Bandwidth of the discipline's shaper in bit/s, if it has one.
    pub shaper_bps: Option<f64>,
    /// Time in ns at which the shaper lets the next packet pass; 0 without a shaper.
    ready_ns: u64,
    /// Time in ns at which the trace of the link lets the next packet pass; 0 without a trace.
    pub opportunity_ns: u64,
}

/// Returns the whole bytes of a packet with these bits.
#[inline]
pub(crate) fn wire_bytes(bits: f64) -> u32 {
    (bits / 8.0 + 0.5) as u32
}

impl QueuedPacket {
    pub fn bytes(&self) -> u32 {
        wire_bytes(self.bits)
    }
}

impl QueueDisc {
    /// Returns a FIFO queue: drop-tail, RED or RIO. The buffer includes the packet in service.
    pub fn fifo(buffer: Buffer, early_drop: Option<Box<EarlyDrop>>) -> QueueDisc {
        QueueDisc::of(AqmQueue::fifo(buffer, early_drop), None)
    }

    /// Returns a queue with an AQM. The buffer includes the packet in service; at least one packet can wait
    /// in any case.
    pub fn new(discipline: Aqm, buffer: Buffer, seed: u64) -> QueueDisc {
        let queue = AqmQueue::new(discipline, buffer.waiting(), seed);
        QueueDisc::of(queue, discipline.shaper_bps())
    }

    fn of(queue: AqmQueue<QueuedPacket>, shaper_bps: Option<f64>) -> QueueDisc {
        QueueDisc {
            queue,
            begins_ns: 0,
            free_ns: 0,
            max_pkts: 0,
            shaper_bps,
            ready_ns: 0,
            opportunity_ns: 0,
        }
    }

    /// Sets the buffer size, including the packet in service. Waiting packets stay.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        let is_fifo = self.queue.is_fifo();
        let limit = if is_fifo { buffer } else { buffer.waiting() };
        self.queue.set_buffer(limit);
    }

    /// Returns true if accepted packets may be dropped.
    pub fn may_drop_queued(&self) -> bool {
        !self.queue.is_fifo()
    }

    /// Returns its RED or RIO, if it has any.
    pub fn early_drop(&self) -> Option<&EarlyDrop> {
        self.queue.early_drop()
    }

    /// Returns its RED or RIO, if it has any.
    pub fn early_drop_mut(&mut self) -> Option<&mut EarlyDrop> {
        self.queue.early_drop_mut()
    }

    /// Stretches the transmission in progress: from `now_ns` on, it takes `ratio` times as long.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64) {
        self.free_ns = stretched_ns(self.free_ns, now_ns, ratio);
        self.queue.stretch(now_ns, ratio);
    }

    /// Returns the start of the next transmission in ns.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        if self.waiting_pkts() == 0 {
            NEVER
        } else {
            self.free_ns.max(self.ready_ns).max(self.opportunity_ns)
        }
    }

    /// Processes an arrival. Packets that are dropped as a result are pushed to `dropped`.
    pub fn enqueue(
        &mut self,
        arrival: QueuedPacket,
        info: PacketInfo,
        details: impl FnOnce() -> PacketDetails,
        dropped: &mut DroppedPackets,
    ) {
        let now_ns = arrival.packet.time_ns;
        self.queue.set_busy_until(self.free_ns);
        if self.waiting_pkts() == 0 {
            // An idle link transmits at once.
            self.free_ns = self.free_ns.max(now_ns);
        }
        self.queue.enqueue(now_ns, arrival, info, details, dropped);
        if self.shaper_bps.is_some() {
            self.ready_ns = self.queue.ready_ns();
        }
    }

    /// Updates the maximum length, after all possible transmissions.
    pub fn record_length(&mut self, now_ns: u64) {
        self.max_pkts = self.max_pkts.max(self.length(now_ns) as u64);
    }

    /// Removes the next packet to transmit from `now_ns` on. Returns it with its arrival time and whether
    /// this queue has marked it. Packets that are dropped before it are pushed to `dropped`.
    pub fn dequeue(
        &mut self,
        now_ns: u64,
        dropped: &mut DroppedPackets,
    ) -> Option<(QueuedPacket, u64, bool)> {
        let sent = self.queue.dequeue(now_ns, dropped)?;
        if self.shaper_bps.is_some() {
            self.ready_ns = self.queue.ready_ns();
        }
        let mut waits = sent.packet;
        if sent.marked {
            waits.packet.metadata |= CONGESTED;
        }
        Some((waits, sent.arrived_ns, sent.marked))
    }

    /// Returns the number of waiting packets.
    #[inline]
    pub fn waiting_pkts(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of packets, including the packet in transmission.
    pub fn length(&self, now_ns: u64) -> usize {
        self.waiting_pkts() + usize::from(self.free_ns > now_ns)
    }

    /// Returns the bytes of waiting packets.
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Returns the waiting packets.
    pub fn waiting(&self) -> impl Iterator<Item = &QueuedPacket> {
        self.queue.iter().map(|waiting| &waiting.packet)
    }

    /// Returns the total time in ns that waiting packets have waited until now.
    pub fn waiting_time_sum_ns(&self, now_ns: u64) -> u64 {
        self.waiting()
            .map(|waits| now_ns - waits.packet.time_ns)
            .sum()
    }

    /// Returns the bits of waiting packets.
    pub fn waiting_bits(&self) -> f64 {
        self.waiting().map(|waits| waits.bits).sum()
    }

    /// Removes all waiting packets.
    pub fn clear(&mut self, now_ns: u64) -> Vec<QueuedPacket> {
        let mut all = Vec::new();
        self.queue.clear(now_ns, &mut all);
        self.ready_ns = 0;
        all
    }

    pub fn max_pkts(&self) -> u64 {
        self.max_pkts
    }

    pub fn restart_max(&mut self, now_ns: u64) {
        self.max_pkts = self.length(now_ns) as u64;
    }
}
