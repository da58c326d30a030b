//! Queues in front of a link and packet loss on the link, packet by packet.
//!
//! **The buffer counts the packet in service** in every drop-tail queue, with its full size until its last
//! bit has been sent. An idle link accepts any packet. Queues with active queue management ([`Managed`])
//! count only waiting packets.
//!
//! ```
//! use netflow_queues::{Buffer, DropTail};
//!
//! // A buffer of two packets of 1000 B, each of which takes 8 ms.
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

/// Buffer size of a link, including the packet in service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// Number of packets, of any size.
    Packets(usize),
    /// Number of bytes.
    Bytes(f64),
    /// Unlimited buffer.
    Unbounded,
}

impl Buffer {
    /// Returns true if the buffer can hold `pkts` packets with a total of `bytes`. It can always hold one
    /// packet.
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
    /// Returns the part of the buffer for waiting packets, without the packet in service. In byte mode the
    /// whole limit applies to waiting packets, because the size of the packet in service is unknown.
    pub fn waiting(self) -> Buffer {
        match self {
            Buffer::Packets(most) => Buffer::Packets(most.saturating_sub(1)),
            Buffer::Bytes(_) | Buffer::Unbounded => self,
        }
    }
}

impl From<Size> for Buffer {
    /// Rounds a number of packets down.
    fn from(size: Size) -> Buffer {
        match size {
            Size::Packets(pkts) => Buffer::Packets(pkts.get() as usize),
            Size::Bytes(bytes) => Buffer::Bytes(bytes.get()),
        }
    }
}

/// Queue length from which departed packets are removed whenever the length is a power of two.
const LOOKS_FROM: usize = 64;

/// A link with a drop-tail FIFO queue.
///
/// Times are numbers in any unit and do not decrease.
#[derive(Clone, Debug, Default)]
pub struct DropTail<T> {
    /// Departure time of the last packet.
    free: T,
    /// Departure time and size of each packet. Packets that have departed may still be at the front.
    there: Fifo<(T, u32)>,
    bytes: u64,
}

impl<T: Copy + PartialOrd + Add<Output = T>> DropTail<T> {
    /// Adds a packet with service time `service`. Returns its departure time, or `None` if the buffer is
    /// full.
    #[inline]
    pub fn arrive(&mut self, now: T, service: T, bytes: u32, buffer: Buffer) -> Option<T> {
        // Limits the memory to about twice the number of packets present, even with a large buffer.
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

    /// Removes the packets that have departed by `now`.
    #[inline]
    pub fn leave(&mut self, now: T) {
        while let Some(&(sent, bytes)) = self.there.first()
            && sent <= now
        {
            self.bytes -= u64::from(bytes);
            self.there.pop();
        }
    }

    /// Returns the departure time of the last packet.
    #[inline]
    pub fn free(&self) -> T {
        self.free
    }

    /// Returns the number of packets, including any that have departed since the last [`DropTail::leave`].
    #[inline]
    pub fn len(&self) -> usize {
        self.there.len()
    }

    /// Returns true if there is no packet, including any that has departed since the last
    /// [`DropTail::leave`].
    pub fn is_empty(&self) -> bool {
        self.there.is_empty()
    }

    /// Returns the departure times of the packets present at `now`.
    pub fn sent(&self, now: T) -> impl ExactSizeIterator<Item = T> + '_ {
        let gone = self.there.partition_point(|&(sent, _)| sent <= now);
        self.there[gone..].iter().map(|&(sent, _)| sent)
    }

    /// Maps all departure times with `of`, which must keep their order.
    pub fn retime(&mut self, mut of: impl FnMut(T) -> T) {
        for (sent, _) in &mut *self.there {
            *sent = of(*sent);
        }
        self.free = of(self.free);
    }

    /// Discards all packets, including the one in service.
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

    /// A burst is sent back to back up to the buffer size; the packet in service counts.
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
        // The link is idle, so the packet may exceed the buffer.
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
