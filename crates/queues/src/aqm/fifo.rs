//! FIFO queues: without a limit, and with a limit and early drops.

use std::collections::VecDeque;

use super::{Discipline, DropReason, Drops, PacketDetails, PacketInfo, WaitingPacket};
use crate::{Buffer, EarlyDrop};

/// A FIFO queue without a limit of its own.
#[derive(Clone, Debug)]
pub(super) struct FifoQueue<P> {
    packets: VecDeque<WaitingPacket<P>>,
    pub bytes: u64,
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
    pub fn push(&mut self, packet: WaitingPacket<P>) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    #[inline]
    pub fn pop(&mut self) -> Option<WaitingPacket<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Returns true if one more packet of `bytes` bytes fits.
    #[inline]
    pub fn fits(&self, bytes: u32, buffer: Buffer) -> bool {
        buffer.fits(self.len() + 1, self.bytes + u64::from(bytes))
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &WaitingPacket<P>> {
        self.packets.iter()
    }

    pub fn clear(&mut self, dropped: &mut Vec<P>) {
        dropped.extend(self.packets.drain(..).map(|packet| packet.packet));
        self.bytes = 0;
    }
}

/// Drop-tail, RED or RIO: a FIFO queue whose buffer includes the packet in service.
#[derive(Clone, Debug)]
pub(super) struct LimitedFifo<P> {
    fifo: FifoQueue<P>,
    pub early_drop: Option<Box<EarlyDrop>>,
    /// End of the current or last transmission in ns, and the bytes of its packet.
    pub free_ns: u64,
    sending_bytes: u32,
}

impl<P> LimitedFifo<P> {
    pub fn new(early_drop: Option<Box<EarlyDrop>>) -> LimitedFifo<P> {
        LimitedFifo {
            fifo: FifoQueue::default(),
            early_drop,
            free_ns: 0,
            sending_bytes: 0,
        }
    }
}

impl<P> Discipline<P> for LimitedFifo<P> {
    fn enqueue(
        &mut self,
        mut packet: WaitingPacket<P>,
        info: &PacketInfo,
        _details: impl FnOnce() -> PacketDetails,
        buffer: Buffer,
        dropped: &mut impl Drops<P>,
    ) {
        let now_ns = packet.arrived_ns;
        let (mut pkts, mut bytes) = (self.fifo.len(), self.fifo.bytes);
        if self.free_ns > now_ns {
            pkts += 1;
            bytes += u64::from(self.sending_bytes);
        }
        if let Some(early) = &mut self.early_drop {
            match early.admit(now_ns, pkts, self.free_ns, info) {
                Some(marked) => packet.marked = marked,
                None => return dropped.record(packet.packet, DropReason::Early),
            }
        }
        let fits = buffer.fits(pkts + 1, bytes + u64::from(packet.bytes));
        if let Some(early) = &mut self.early_drop {
            if fits {
                early.queued(info.precedence, None);
            } else {
                early.overflowed(now_ns, info.precedence);
            }
        }
        if fits {
            self.fifo.push(packet);
        } else {
            dropped.record(packet.packet, DropReason::BufferFull);
        }
    }

    fn dequeue(&mut self, now_ns: u64, _dropped: &mut impl Drops<P>) -> Option<WaitingPacket<P>> {
        let packet = self.fifo.pop()?;
        self.sending_bytes = packet.bytes;
        if let Some(early) = &mut self.early_drop {
            early.started(now_ns);
        }
        Some(packet)
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes
    }

    fn clear(&mut self, now_ns: u64, dropped: &mut Vec<P>) {
        self.fifo.clear(dropped);
        if let Some(early) = &mut self.early_drop {
            early.clear(now_ns);
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &WaitingPacket<P>> + '_> {
        Box::new(self.fifo.iter())
    }
}
