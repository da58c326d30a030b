//! Wires: packets in flight from links and endpoints to links and endpoints.

use netflow_tcpmodel::tcp::NEVER;
use netflow_units::Fifo;

/// Packet: arrival time in ns, hop on the path of its connection, and sequence number. The sequence number of
/// an acknowledgement is that of the last packet received in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packet {
    pub time_ns: u64,
    /// Content that depends on the packet: send time in ns and flags of data; number of arrivals in an
    /// acknowledgement of TFRC; [SACK blocks and window](crate::endpoint::ack_encoding) in that of a TCP
    /// stack.
    pub metadata: u64,
    pub hop: u32,
    pub seq: i32,
}

impl Packet {
    /// Returns the key by which arrivals are sorted. Simultaneous packets are in the order of their
    /// connections' names, which depends neither on rows nor on the order of execution.
    #[inline]
    pub fn order(&self) -> (u64, u32) {
        (self.time_ns, self.hop)
    }

    /// Returns the packet on its next hop, where it arrives at `time_ns`.
    #[inline]
    pub fn next_hop(self, time_ns: u64) -> Packet {
        Packet {
            time_ns,
            hop: self.hop + 1,
            ..self
        }
    }
}

/// Packets in flight from links or endpoints to the next link or endpoint.
#[derive(Clone, Debug, Default)]
struct Wire {
    packets: Fifo<Packet>,
    /// True if packets may be added out of order of arrival, because several senders or links share the wire.
    /// The second flag is true if they have been.
    may_be_unsorted: bool,
    unsorted: bool,
    /// True if another first packet is recorded in [`Wires::changed`].
    is_watched: bool,
}

/// All wires.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wires {
    wires: Vec<Wire>,
    /// Arrival time of the first packet of each wire in ns; [`NEVER`] without one.
    heads_ns: Vec<u64>,
    /// True in event-by-event execution. Then all wires are watched.
    pub are_watched: bool,
    /// Watched wires with another first packet than before.
    pub changed: Vec<u32>,
}

impl Wires {
    pub fn len(&self) -> usize {
        self.wires.len()
    }

    /// Adds an empty wire.
    pub fn add(&mut self) {
        self.wires.push(Wire::default());
        self.heads_ns.push(NEVER);
    }

    /// Returns an equal number of empty wires of the same kinds.
    pub fn placeholder(&self) -> Wires {
        let each = self.wires.iter().map(|wire| Wire {
            may_be_unsorted: wire.may_be_unsorted,
            ..Wire::default()
        });
        Wires {
            wires: each.collect(),
            heads_ns: vec![NEVER; self.heads_ns.len()],
            ..Wires::default()
        }
    }

    /// Swaps the packets of a wire with those of the same wire in `there`.
    pub fn swap(&mut self, wire: u32, there: &mut Wires) {
        let w = wire as usize;
        std::mem::swap(&mut self.wires[w], &mut there.wires[w]);
        std::mem::swap(&mut self.heads_ns[w], &mut there.heads_ns[w]);
    }

    /// Swaps the packets of a wire with `packets`, which must be empty.
    pub fn exchange(&mut self, wire: u32, packets: &mut Fifo<Packet>) {
        let it = &mut self.wires[wire as usize];
        std::mem::swap(&mut it.packets, packets);
        it.unsorted = false;
        self.set_head(wire, NEVER);
    }

    /// Allows packets of this wire in any order from now on.
    pub fn allow_reordering(&mut self, wire: u32) {
        self.wires[wire as usize].may_be_unsorted = true;
    }

    /// Records from now on that a wire has another first packet.
    pub fn watch(&mut self, wire: u32) {
        self.wires[wire as usize].is_watched = true;
    }

    /// Returns the arrival time of the first packet in ns; [`NEVER`] without a packet, or without a wire.
    #[inline]
    pub fn head_ns(&self, wire: u32) -> u64 {
        self.heads_ns.get(wire as usize).copied().unwrap_or(NEVER)
    }

    /// Adds a packet to a wire. Returns false if there is no such wire.
    #[inline(always)]
    pub fn push(&mut self, wire: u32, packet: Packet) -> bool {
        let Some(it) = self.wires.get_mut(wire as usize) else {
            return false;
        };
        if it.may_be_unsorted
            && let Some(last) = it.packets.last()
        {
            it.unsorted |= last.order() > packet.order();
        }
        it.packets.push(packet);
        if packet.time_ns < self.heads_ns[wire as usize] {
            self.set_head(wire, packet.time_ns);
        }
        true
    }

    #[inline(always)]
    fn set_head(&mut self, wire: u32, head_ns: u64) {
        self.heads_ns[wire as usize] = head_ns;
        if head_ns != NEVER && (self.are_watched || self.wires[wire as usize].is_watched) {
            self.changed.push(wire);
        }
    }

    /// Sorts the packets of a wire by arrival.
    #[inline]
    pub fn sort(&mut self, wire: u32) {
        if let Some(wire) = self.wires.get_mut(wire as usize)
            && wire.unsorted
        {
            wire.packets.sort_by_key(Packet::order);
            wire.unsorted = false;
        }
    }

    /// Returns the packet after `index` others. They must be in [order](Wires::sort).
    #[inline]
    pub fn get(&self, wire: u32, index: usize) -> Option<Packet> {
        self.wires.get(wire as usize)?.packets.get(index).copied()
    }

    /// Removes the first `n` packets, which have arrived.
    #[inline]
    pub fn skip(&mut self, wire: u32, n: usize) {
        if n > 0 {
            let packets = &mut self.wires[wire as usize].packets;
            packets.pop_n(n);
            let head_ns = packets.first().map_or(NEVER, |p| p.time_ns);
            self.set_head(wire, head_ns);
        }
    }

    /// Returns true if the packets are in the order of arrival.
    #[inline]
    pub fn is_sorted(&self, wire: u32) -> bool {
        !self.wires[wire as usize].unsorted
    }

    /// Moves the packets that arrive before `end_ns` to the end of `batch`. Only packets of the same sender
    /// are in order.
    #[inline]
    pub fn take_until(&mut self, wire: u32, end_ns: u64, batch: &mut Vec<Packet>) {
        let it = &mut self.wires[wire as usize];
        if !it.unsorted {
            let n = count_before(&it.packets, end_ns);
            batch.extend_from_slice(&it.packets[..n]);
            return self.skip(wire, n);
        }
        let mut head_ns = NEVER;
        it.packets.retain(|packet| {
            let stays = packet.time_ns >= end_ns;
            if stays {
                head_ns = head_ns.min(packet.time_ns);
            } else {
                batch.push(*packet);
            }
            stays
        });
        it.unsorted = !it.packets.is_empty();
        self.set_head(wire, head_ns);
    }

    /// Removes all packets of a wire temporarily. None may be added in the meantime.
    #[inline]
    pub fn take_wire(&mut self, wire: u32) -> Fifo<Packet> {
        std::mem::take(&mut self.wires[wire as usize].packets)
    }

    /// Puts the packets back, except for the first `n`, which have arrived.
    #[inline]
    pub fn put_back(&mut self, wire: u32, packets: Fifo<Packet>, n: usize) {
        self.wires[wire as usize].packets = packets;
        self.skip(wire, n);
    }

    /// Returns the packets that have not arrived, in any order.
    pub fn waiting(&self, wire: u32) -> &[Packet] {
        self.wires
            .get(wire as usize)
            .map_or(&[], |wire| &wire.packets)
    }

    /// Changes the arrival times of packets.
    pub fn retime(&mut self, wire: u32, mut time_ns: impl FnMut(&Packet) -> u64) {
        let it = &mut self.wires[wire as usize];
        for packet in &mut *it.packets {
            packet.time_ns = time_ns(packet);
        }
        it.packets.sort_by_key(Packet::order);
        it.unsorted = false;
        let head_ns = it.packets.first().map_or(NEVER, |p| p.time_ns);
        self.set_head(wire, head_ns);
    }

    /// Removes the packets for which `which` is true.
    pub fn remove(&mut self, wire: u32, mut which: impl FnMut(&Packet) -> bool) {
        self.sort(wire);
        let packets = &mut self.wires[wire as usize].packets;
        packets.retain(|packet| !which(packet));
        let head_ns = packets.first().map_or(NEVER, |p| p.time_ns);
        self.set_head(wire, head_ns);
    }
}

/// Returns the number of packets that arrive before `end_ns`. The packets are sorted.
#[inline]
pub(crate) fn count_before(packets: &[Packet], end_ns: u64) -> usize {
    match packets.last() {
        Some(last) if last.time_ns < end_ns => packets.len(),
        _ => packets.iter().take_while(|p| p.time_ns < end_ns).count(),
    }
}
