//! A link with a queue in front of it, and what it loses on the way, packet by packet.
//!
//! One convention holds wherever a link with a drop-tail queue is played: **the buffer counts the packet in
//! service**, whole until its last bit has been sent, beside those that wait. A link that has nothing
//! takes any packet. The queues that drop before their buffer is full ([`Managed`]) hold only those that wait.
//!
//! ```
//! use netflow_queues::{Buffer, DropTail};
//!
//! // Room for two packets of 1000 B, each of which takes 8 ms.
//! let mut link = DropTail::default();
//! let mut arrive = |now_s| link.arrive(now_s, 0.008, 1000, Buffer::Packets(2));
//! assert_eq!(arrive(0.0), Some(0.008));
//! assert_eq!(arrive(0.0), Some(0.016));
//! assert_eq!(arrive(0.007), None);
//! assert_eq!(arrive(0.008), Some(0.024));
//! ```
#![warn(missing_docs)]

mod departures;
mod losses;
mod managed;
mod overhead;
mod turns;

use std::ops::Add;

use netflow_units::{Fifo, Size};

pub use departures::Departures;
pub use losses::{BitErrors, GilbertElliott, LinkLoss, LossCause, LossError, Losses};
pub use managed::{Aqm, CoDel, FqCoDel, Managed, Pie, Sent, Waiting};
pub use overhead::{Cells, Overhead};
pub use turns::{Scheduler, Turns};

/// How much a link holds, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// So many packets of any size.
    Packets(usize),
    /// So many bytes.
    Bytes(f64),
    /// Everything.
    Unbounded,
}

impl Buffer {
    /// Whether it has room for so many packets of so many bytes; for one it always has.
    #[inline]
    pub fn holds(self, pkts: usize, bytes: u64) -> bool {
        match self {
            Buffer::Packets(most) => pkts <= most.max(1),
            Buffer::Bytes(most) => pkts <= 1 || bytes as f64 <= most,
            Buffer::Unbounded => true,
        }
    }
}

impl Buffer {
    /// What may wait beside the packet in service, where only those are counted that wait. Bytes are
    /// all for those: who is in service next is not known.
    pub fn waiting(self) -> Buffer {
        match self {
            Buffer::Packets(most) => Buffer::Packets(most.saturating_sub(1)),
            Buffer::Bytes(_) | Buffer::Unbounded => self,
        }
    }
}

impl From<Size> for Buffer {
    /// A part of a packet is none.
    fn from(size: Size) -> Buffer {
        match size {
            Size::Packets(pkts) => Buffer::Packets(pkts.get() as usize),
            Size::Bytes(bytes) => Buffer::Bytes(bytes.get()),
        }
    }
}

/// From so many packets on it looks who has been sent, whenever they have doubled.
const LOOKS_FROM: usize = 64;

/// A link that sends one packet after the other, in the order of their arrival.
///
/// Times are numbers of any unit; they do not go back.
#[derive(Clone, Debug, Default)]
pub struct DropTail<T> {
    /// When the last packet it has will have been sent.
    free: T,
    /// When each packet that is there will have been sent, and its bytes. Some that have been may still
    /// stand in front.
    there: Fifo<(T, u32)>,
    bytes: u64,
}

impl<T: Copy + PartialOrd + Add<Output = T>> DropTail<T> {
    /// A packet arrives that takes `service` to be sent: when it will have been, if there is room.
    #[inline]
    pub fn arrive(&mut self, now: T, service: T, bytes: u32, buffer: Buffer) -> Option<T> {
        // However large the buffer is, it remembers little more than twice of what is there.
        let many = self.len() >= LOOKS_FROM && self.len().is_power_of_two();
        if many || !self.fits(bytes, buffer) {
            self.leave(now);
            if !self.fits(bytes, buffer) {
                return None;
            }
        }
        let begins = if self.free > now { self.free } else { now };
        self.free = begins + service;
        self.there.push((self.free, bytes));
        self.bytes += u64::from(bytes);
        Some(self.free)
    }

    #[inline]
    fn fits(&self, bytes: u32, buffer: Buffer) -> bool {
        buffer.holds(self.there.len() + 1, self.bytes + u64::from(bytes))
    }

    /// Forgets those that have been sent.
    #[inline]
    pub fn leave(&mut self, now: T) {
        while let Some(&(sent, bytes)) = self.there.first()
            && sent <= now
        {
            self.bytes -= u64::from(bytes);
            self.there.pop();
        }
    }

    /// When the last packet will have been sent.
    #[inline]
    pub fn free(&self) -> T {
        self.free
    }

    /// Packets there, and perhaps some that have been sent since [`DropTail::leave`].
    #[inline]
    pub fn len(&self) -> usize {
        self.there.len()
    }

    /// Whether nobody is there, and nobody has been since [`DropTail::leave`].
    pub fn is_empty(&self) -> bool {
        self.there.is_empty()
    }

    /// When each packet that is there now will have been sent.
    pub fn sent(&self, now: T) -> impl ExactSizeIterator<Item = T> + '_ {
        let gone = self.there.partition_point(|&(sent, _)| sent <= now);
        self.there[gone..].iter().map(|&(sent, _)| sent)
    }

    /// Everything that is to happen is moved to another time, in the same order.
    pub fn retime(&mut self, mut of: impl FnMut(T) -> T) {
        for (sent, _) in &mut *self.there {
            *sent = of(*sent);
        }
        self.free = of(self.free);
    }

    /// Takes out all that is there; what has been sent is not.
    pub fn clear(&mut self, now: T) {
        self.there.clear();
        self.bytes = 0;
        if self.free > now {
            self.free = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a burst as many are sent as there is room for, one after the other; the one in service counts.
    #[test]
    fn the_packet_in_service_counts() {
        for most in [1, 2, 10] {
            let mut link = DropTail::default();
            let sent: Vec<_> = (0..20)
                .filter_map(|_| link.arrive(0_u64, 8, 100, Buffer::Packets(most)))
                .collect();
            let wanted: Vec<u64> = (1..=most as u64).map(|k| 8 * k).collect();
            assert_eq!(sent, wanted);
            assert_eq!(link.arrive(7, 8, 100, Buffer::Packets(most)), None);
            assert!(link.arrive(8, 8, 100, Buffer::Packets(most)).is_some());
        }
    }

    #[test]
    fn bytes_are_counted_until_the_last_has_been_sent() {
        let mut link = DropTail::default();
        let mut arrive =
            |now, bytes| link.arrive(now, f64::from(bytes), bytes, Buffer::Bytes(1000.0));
        assert_eq!(arrive(0.0, 600), Some(600.0));
        assert_eq!(arrive(599.0, 500), None);
        assert_eq!(arrive(599.0, 400), Some(1000.0));
        assert_eq!(arrive(600.0, 600), Some(1600.0));
        // Nobody is there: it need not fit.
        assert_eq!(arrive(1600.0, 5000), Some(6600.0));
        assert_eq!(arrive(1600.0, 1), None);
    }

    #[test]
    fn a_link_forgets_what_it_has_sent_however_large_its_buffer_is() {
        for buffer in [
            Buffer::Unbounded,
            Buffer::Packets(1_000_000),
            Buffer::Bytes(1e9),
        ] {
            let mut link = DropTail::default();
            for now in 0..100_000_u64 {
                link.arrive(now, 1, 1, buffer);
                assert!(link.len() <= 64);
            }
            link.retime(|at| 2 * at);
            assert_eq!(link.free(), 200_000);
        }
    }
}
