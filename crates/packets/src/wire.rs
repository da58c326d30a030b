//! Packets on their way from one place to the next.

use netflow_units::Fifo;

/// A packet: when it arrives, on which hop of which connection's way, and its sequence number (of
/// an acknowledgement: the last packet received in order).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub time_ns: u64,
    /// When its sender sent it.
    pub sent_ns: u64,
    pub hop: u32,
    pub seq: i32,
}

impl Packet {
    /// In this order packets arrive. Those of one moment have an order, too, which does not depend
    /// on who was looked at first.
    #[inline]
    pub fn order(&self) -> (u64, u32) {
        (self.time_ns, self.hop)
    }
}

/// Packets that travel from one link, or one end, to the next, in order of their arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire {
    packets: Fifo<Packet>,
    /// Whether several senders have put packets on it, when the first of those arrives that its
    /// end has not been told of, and whether there are any.
    unsorted: bool,
    unseen: bool,
    known_ns: u64,
}

impl Wire {
    /// Puts a packet on it; whether it is the next to arrive.
    #[inline]
    pub fn push(&mut self, packet: Packet) -> bool {
        match self.packets.last() {
            _ if self.is_empty() => {
                self.packets.push(packet);
                true
            }
            Some(last) if last.order() > packet.order() => {
                // It comes another, shorter way.
                let index = self
                    .packets
                    .partition_point(|p| p.order() <= packet.order());
                self.packets.insert(index, packet);
                index == 0
            }
            _ => {
                self.packets.push(packet);
                false
            }
        }
    }

    /// The same for packets of several senders, which come in any order within a step.
    #[inline]
    pub fn push_unsorted(&mut self, packet: Packet) {
        if self.is_empty() || packet.time_ns < self.known_ns {
            self.unseen = true;
            self.known_ns = packet.time_ns;
        }
        self.unsorted |= self
            .packets
            .last()
            .is_some_and(|p| p.order() > packet.order());
        self.packets.push(packet);
    }

    /// Whether packets are on it that its end has not been told of.
    pub fn is_new(&self) -> bool {
        self.unseen
    }

    pub fn seen(&mut self) {
        self.unseen = false;
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The next to arrive.
    #[inline]
    pub fn first(&self) -> Option<&Packet> {
        self.packets.first()
    }

    /// Those that have not arrived.
    pub fn waiting(&self) -> &[Packet] {
        &self.packets
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) {
        self.packets.skip(1);
    }

    /// Moves those that arrive before `end_ns` to the end of `batch`.
    #[inline]
    pub fn take_until(&mut self, end_ns: u64, batch: &mut Vec<Packet>) {
        let waiting = &mut self.packets;
        if self.unsorted {
            waiting.sort_by_key(Packet::order);
            self.unsorted = false;
        }
        let n = waiting.iter().take_while(|p| p.time_ns < end_ns).count();
        batch.extend_from_slice(&waiting[..n]);
        self.packets.skip(n);
        self.known_ns = self.first().map_or(u64::MAX, |p| p.time_ns);
    }

    /// Those that have not arrived, to be changed; to be sorted again after that.
    pub fn waiting_mut(&mut self) -> &mut [Packet] {
        &mut self.packets
    }

    /// Puts them in order of their arrival.
    pub fn sort(&mut self) {
        self.waiting_mut().sort_by_key(Packet::order);
    }

    /// Takes out some of those that have not arrived.
    pub fn remove(&mut self, mut which: impl FnMut(&Packet) -> bool) {
        self.packets.retain(|packet| !which(packet));
    }
}
