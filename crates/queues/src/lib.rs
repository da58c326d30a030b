//! Queues in front of a link and packet loss on the link, packet by packet.
//!
//! **The buffer counts the packet in service** in every drop-tail queue, with its full size until its last
//! bit has been sent. An idle link accepts any packet. Queues with active queue management ([`AqmQueue`])
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

mod aqm;
mod delay_line;
mod delivery_trace;
mod departure_ring;
mod dscp;
mod early_drop;
mod ecn;
mod fifo_link;
mod htb;
mod losses;
mod overhead;
mod scheduler;

use std::ops::Add;

use netflow_units::{Fifo, Size};

pub use aqm::{
    AckFilter, Aqm, AqmQueue, Cake, CoDel, DropReason, Drops, DualPi2, FqCoDel, Isolation,
    PacketDetails, PacketInfo, Pie, TcpAck, Tins, WaitingPacket,
};
pub use delay_line::{
    DelayLine, DelayLineQueue, JITTER_TABLE_SCALE, Jitter, JitterDistribution, JitterTable,
    Propagation, Reordering, Slots,
};
pub use delivery_trace::{DeliveryTrace, TraceError, TraceServer};
pub use departure_ring::DepartureRing;
pub use dscp::Dscp;
pub use early_drop::{EarlyDrop, PrecedenceCounts, RedMarks, stretched_ns};
pub use ecn::EcnCodepoint;
pub use fifo_link::{Departure, FifoLink};
pub use htb::{Htb, HtbClass, HtbTree};
pub use losses::{BitErrors, GilbertElliott, LinkLoss, LossCause, LossError, Losses, Outages};
pub use overhead::{Cells, Overhead};
pub use scheduler::{PacketScheduler, Scheduler};

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
    pub fn fits(self, pkts: usize, bytes: u64) -> bool {
        match self {
            Buffer::Packets(limit) => pkts <= limit.max(1),
            Buffer::Bytes(limit) => pkts <= 1 || bytes as f64 <= limit,
            Buffer::Unbounded => true,
        }
    }
}

impl Buffer {
    /// Returns the part of the buffer for waiting packets, without the packet in service. In byte mode the
    /// whole limit applies to waiting packets, because the size of the packet in service is unknown.
    pub fn waiting(self) -> Buffer {
        match self {
            Buffer::Packets(limit) => Buffer::Packets(limit.saturating_sub(1)),
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
const MIN_PURGE_LEN: usize = 64;

/// A link with a drop-tail FIFO queue.
///
/// Times are numbers in any unit and do not decrease.
#[derive(Clone, Debug, Default)]
pub struct DropTail<T> {
    /// Departure time of the last packet.
    last_departure: T,
    /// Departure time and size of each packet. Packets that have departed may still be at the front.
    queue: Fifo<(T, u32)>,
    bytes: u64,
}

impl<T: Copy + PartialOrd + Add<Output = T>> DropTail<T> {
    /// Adds a packet with service time `service`. Returns its departure time, or `None` if the buffer is
    /// full.
    #[inline]
    pub fn arrive(&mut self, now: T, service: T, bytes: u32, buffer: Buffer) -> Option<T> {
        // Limits the memory to about twice the number of packets present, even with a large buffer.
        let many = self.len() >= MIN_PURGE_LEN && self.len().is_power_of_two();
        if many || !self.accepts(bytes, buffer) {
            self.remove_departed(now);
            if !self.accepts(bytes, buffer) {
                return None;
            }
        }
        Some(self.push(now, service, bytes))
    }

    /// Adds a packet as [`DropTail::arrive`]. No packet may have departed since the last [`DropTail::remove_departed`].
    #[inline]
    fn arrive_purged(&mut self, now: T, service: T, bytes: u32, buffer: Buffer) -> Option<T> {
        let fits = self.accepts(bytes, buffer);
        fits.then(|| self.push(now, service, bytes))
    }

    #[inline]
    fn push(&mut self, now: T, service: T, bytes: u32) -> T {
        let begins = if self.last_departure > now {
            self.last_departure
        } else {
            now
        };
        self.last_departure = begins + service;
        self.queue.push((self.last_departure, bytes));
        self.bytes += u64::from(bytes);
        self.last_departure
    }

    #[inline]
    fn accepts(&self, bytes: u32, buffer: Buffer) -> bool {
        buffer.fits(self.queue.len() + 1, self.bytes + u64::from(bytes))
    }

    /// Removes the packets that have departed by `now`.
    #[inline]
    pub fn remove_departed(&mut self, now: T) {
        let mut gone = 0;
        for &(sent, bytes) in &*self.queue {
            if sent > now {
                break;
            }
            self.bytes -= u64::from(bytes);
            gone += 1;
        }
        if gone > 0 {
            self.queue.pop_n(gone);
        }
    }

    /// Returns the departure time of the last packet.
    #[inline]
    pub fn last_departure(&self) -> T {
        self.last_departure
    }

    /// Returns the number of packets, including any that have departed since the last [`DropTail::remove_departed`].
    #[inline]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if there is no packet, including any that has departed since the last
    /// [`DropTail::remove_departed`].
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the bytes of the packets present at `now`.
    pub fn bytes(&self, now: T) -> u64 {
        let gone = self.queue.partition_point(|&(sent, _)| sent <= now);
        let gone = self.queue[..gone]
            .iter()
            .map(|&(_, bytes)| u64::from(bytes));
        self.bytes - gone.sum::<u64>()
    }

    /// Returns the departure times of the packets present at `now`.
    pub fn departure_times(&self, now: T) -> impl ExactSizeIterator<Item = T> + '_ {
        let gone = self.queue.partition_point(|&(sent, _)| sent <= now);
        self.queue[gone..].iter().map(|&(sent, _)| sent)
    }

    /// Maps all departure times with `of`, which must keep their order.
    pub fn remap_times(&mut self, mut of: impl FnMut(T) -> T) {
        for (sent, _) in &mut *self.queue {
            *sent = of(*sent);
        }
        self.last_departure = of(self.last_departure);
    }

    /// Discards all packets, including the one in service.
    pub fn clear(&mut self, now: T) {
        self.queue.clear();
        self.bytes = 0;
        if self.last_departure > now {
            self.last_departure = now;
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
    fn departed_packets_are_purged_for_any_buffer() {
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
            link.remap_times(|at| 2 * at);
            assert_eq!(link.last_departure(), 200_000);
        }
    }
}
