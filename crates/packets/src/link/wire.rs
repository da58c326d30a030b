//! Packets on their way from one place to the next.

use netflow_tcpmodel::tcp::NEVER;
use netflow_units::Fifo;

/// A packet: when it arrives, on which hop of which connection's way, and its sequence number (of
/// an acknowledgement: the last packet received in order).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packet {
    pub time_ns: u64,
    /// Of data: when its sender sent it, in nanoseconds. Of an acknowledgement: how many packets had
    /// arrived.
    pub metadata: u64,
    pub hop: u32,
    pub seq: i32,
}

impl Packet {
    /// In this order packets arrive at a place. Those of one moment have an order, too: that of
    /// connections by their names, which does not depend on rows, nor on who was looked at first.
    #[inline]
    pub fn order(&self) -> (u64, u32) {
        (self.time_ns, self.hop)
    }

    /// The same packet on its next hop, where it arrives at this time.
    #[inline]
    pub fn next_hop(self, time_ns: u64) -> Packet {
        Packet {
            time_ns,
            hop: self.hop + 1,
            ..self
        }
    }
}

/// Packets that travel from one link, or from ends, to the next place.
#[derive(Clone, Debug, Default)]
struct Wire {
    packets: Fifo<Packet>,
    /// Whether packets may be put on it in another order than that in which they arrive: several senders
    /// share it, or ways of two links meet on it. And whether they have been.
    mixed: bool,
    unsorted: bool,
}

/// All wires.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wires {
    each: Vec<Wire>,
    /// When the first packet of each arrives; never if there is none.
    heads_ns: Vec<u64>,
    /// For who goes from moment to moment: wires that have another first packet than before.
    pub is_watched: bool,
    pub changed: Vec<u32>,
}

impl Wires {
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// One more, with nothing on it.
    pub fn add(&mut self) {
        self.each.push(Wire::default());
        self.heads_ns.push(NEVER);
    }

    /// As many wires of the same kinds, with nothing on them.
    pub fn placeholder(&self) -> Wires {
        let each = self.each.iter().map(|wire| Wire {
            mixed: wire.mixed,
            ..Wire::default()
        });
        Wires {
            each: each.collect(),
            heads_ns: vec![NEVER; self.heads_ns.len()],
            ..Wires::default()
        }
    }

    /// What is on a wire here is there from now on, and the other way round.
    pub fn swap(&mut self, wire: u32, there: &mut Wires) {
        let w = wire as usize;
        std::mem::swap(&mut self.each[w], &mut there.each[w]);
        std::mem::swap(&mut self.heads_ns[w], &mut there.heads_ns[w]);
    }

    /// All packets of a wire are elsewhere from now on, and these on it, which are none.
    pub fn exchange(&mut self, wire: u32, packets: &mut Fifo<Packet>) {
        let it = &mut self.each[wire as usize];
        std::mem::swap(&mut it.packets, packets);
        it.unsorted = false;
        self.set_head(wire, NEVER);
    }

    /// From now on packets are put on this one in any order.
    pub fn mix(&mut self, wire: u32) {
        self.each[wire as usize].mixed = true;
    }

    /// When the first packet arrives; never if there is none, or no wire.
    #[inline]
    pub fn head_ns(&self, wire: u32) -> u64 {
        self.heads_ns.get(wire as usize).copied().unwrap_or(NEVER)
    }

    /// Puts a packet on it; whether there is such a wire.
    #[inline(always)]
    pub fn push(&mut self, wire: u32, packet: Packet) -> bool {
        let Some(it) = self.each.get_mut(wire as usize) else {
            return false;
        };
        if it.mixed
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
        if self.is_watched && head_ns != NEVER {
            self.changed.push(wire);
        }
    }

    /// Puts those that have not arrived in the order of their arrival.
    #[inline]
    pub fn sort(&mut self, wire: u32) {
        if let Some(wire) = self.each.get_mut(wire as usize)
            && wire.unsorted
        {
            wire.packets.sort_by_key(Packet::order);
            wire.unsorted = false;
        }
    }

    /// The packet that comes after `index` others, once they are in [order](Wires::sort).
    #[inline]
    pub fn get(&self, wire: u32, index: usize) -> Option<Packet> {
        self.each.get(wire as usize)?.packets.get(index).copied()
    }

    /// The first `n` have arrived.
    #[inline]
    pub fn skip(&mut self, wire: u32, n: usize) {
        if n > 0 {
            let packets = &mut self.each[wire as usize].packets;
            packets.skip(n);
            let head_ns = packets.first().map_or(NEVER, |p| p.time_ns);
            self.set_head(wire, head_ns);
        }
    }

    /// Whether packets lie on it in the order of their arrival.
    #[inline]
    pub fn is_sorted(&self, wire: u32) -> bool {
        !self.each[wire as usize].unsorted
    }

    /// Moves those that arrive before `end_ns` to the end of `batch`, in any order but for those of one
    /// sender.
    #[inline]
    pub fn take_until(&mut self, wire: u32, end_ns: u64, batch: &mut Vec<Packet>) {
        let it = &mut self.each[wire as usize];
        if !it.unsorted {
            let n = before(&it.packets, end_ns);
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

    /// Takes all packets off a wire, for a while in which none is put on it.
    #[inline]
    pub fn lend(&mut self, wire: u32) -> Fifo<Packet> {
        std::mem::take(&mut self.each[wire as usize].packets)
    }

    /// Puts them back, but for the first `n`, which have arrived.
    #[inline]
    pub fn give_back(&mut self, wire: u32, packets: Fifo<Packet>, n: usize) {
        self.each[wire as usize].packets = packets;
        self.skip(wire, n);
    }

    /// Those that have not arrived, in any order.
    pub fn waiting(&self, wire: u32) -> &[Packet] {
        self.each
            .get(wire as usize)
            .map_or(&[], |wire| &wire.packets)
    }

    /// Packets arrive at another time than was thought.
    pub fn retime(&mut self, wire: u32, mut time_ns: impl FnMut(&Packet) -> u64) {
        let it = &mut self.each[wire as usize];
        for packet in &mut *it.packets {
            packet.time_ns = time_ns(packet);
        }
        it.packets.sort_by_key(Packet::order);
        it.unsorted = false;
        let head_ns = it.packets.first().map_or(NEVER, |p| p.time_ns);
        self.set_head(wire, head_ns);
    }

    /// Takes out some of those that have not arrived.
    pub fn remove(&mut self, wire: u32, mut which: impl FnMut(&Packet) -> bool) {
        self.sort(wire);
        let packets = &mut self.each[wire as usize].packets;
        packets.retain(|packet| !which(packet));
        let head_ns = packets.first().map_or(NEVER, |p| p.time_ns);
        self.set_head(wire, head_ns);
    }
}

/// How many of these arrive before `end_ns`.
#[inline]
pub(crate) fn before(packets: &[Packet], end_ns: u64) -> usize {
    match packets.last() {
        Some(last) if last.time_ns < end_ns => packets.len(),
        _ => packets.iter().take_while(|p| p.time_ns < end_ns).count(),
    }
}
