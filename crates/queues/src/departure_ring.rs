//! Drop-tail FIFO queue with a limit in packets, stored as a ring of departure times.

/// Fast path of [`DropTail`](crate::DropTail) for a buffer counted in packets: a ring of departure times. The
/// queue holds more than k packets if the packet accepted k places before the last one departs after now.
/// Departures therefore need no event. Times are whole nanoseconds and do not decrease.
///
/// ```
/// use netflow_queues::DepartureRing;
///
/// // A buffer of two packets, each of which takes 8 ns.
/// let mut link = DepartureRing::new(2);
/// assert_eq!(link.arrive(0, 8), Some(8));
/// assert_eq!(link.arrive(0, 8), Some(16));
/// assert_eq!(link.arrive(7, 8), None);
/// assert_eq!(link.arrive(8, 8), Some(24));
/// assert_eq!((link.len(8), link.max_len()), (2, 2));
/// ```
#[derive(Clone, Debug)]
pub struct DepartureRing {
    /// Departure times of the most recent packets. The length is a power of two and larger than `max_len`.
    ring: Vec<u64>,
    /// Number of packets accepted.
    accepted: u64,
    last_departure: u64,
    limit_pkts: u64,
    max_len: u64,
}

impl DepartureRing {
    /// Returns an empty queue for `limit_pkts` packets, at least one. The packet in service counts.
    pub fn new(limit_pkts: usize) -> DepartureRing {
        DepartureRing {
            ring: vec![0; 2],
            accepted: 0,
            last_departure: 0,
            limit_pkts: limit_pkts.max(1) as u64,
            max_len: 0,
        }
    }

    #[inline(always)]
    fn at(&self, number: u64) -> u64 {
        self.ring[number as usize & (self.ring.len() - 1)]
    }

    /// Adds a packet with service time `service_ns`. Returns its departure time, or `None` if the buffer is
    /// full.
    #[inline(always)]
    pub fn arrive(&mut self, now_ns: u64, service_ns: u64) -> Option<u64> {
        let n = self.accepted;
        if self.max_len == self.limit_pkts && self.at(n - self.limit_pkts) > now_ns {
            return None;
        }
        self.last_departure = self.last_departure.max(now_ns) + service_ns;
        let mask = self.ring.len() - 1;
        self.ring[n as usize & mask] = self.last_departure;
        self.accepted += 1;
        if self.at(n - self.max_len) > now_ns {
            self.raise_max_len();
        }
        Some(self.last_departure)
    }

    /// Records a new maximum occupancy and enlarges the ring if necessary.
    #[cold]
    fn raise_max_len(&mut self) {
        self.max_len += 1;
        let size = self.ring.len() as u64;
        if self.max_len == size {
            let mut ring = vec![0; 2 * size as usize];
            for number in self.accepted.saturating_sub(size)..self.accepted {
                ring[(number & (2 * size - 1)) as usize] = self.at(number);
            }
            self.ring = ring;
        }
    }

    /// Returns the maximum number of packets in the queue so far.
    pub fn max_len(&self) -> u64 {
        self.max_len
    }

    /// Restarts the maximum at the present occupancy.
    pub fn reset_max_len(&mut self, now_ns: u64) {
        self.max_len = self.len(now_ns) as u64;
    }

    /// Returns the departure time of the last packet.
    #[inline]
    pub fn last_departure(&self) -> u64 {
        self.last_departure
    }

    /// Returns the number of the first packet that has not departed (binary search).
    fn first_queued(&self, now_ns: u64) -> u64 {
        let (mut low, mut high) = (
            self.accepted - self.max_len.min(self.accepted),
            self.accepted,
        );
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle) > now_ns {
                high = middle
            } else {
                low = middle + 1
            }
        }
        low
    }

    /// Returns the number of packets in the queue, including the one in service.
    #[inline]
    pub fn len(&self, now_ns: u64) -> usize {
        if self.last_departure > now_ns {
            (self.accepted - self.first_queued(now_ns)) as usize
        } else {
            0
        }
    }

    /// Returns true if the queue is empty.
    pub fn is_empty(&self, now_ns: u64) -> bool {
        self.last_departure <= now_ns
    }

    /// Returns the departure times of the packets in the queue.
    pub fn departure_times(&self, now_ns: u64) -> impl Iterator<Item = u64> + '_ {
        (self.first_queued(now_ns)..self.accepted).map(|number| self.at(number))
    }

    /// Maps all future departure times with `of`, which must keep their order.
    pub fn remap_times(&mut self, now_ns: u64, of: impl Fn(u64) -> u64) {
        let mask = self.ring.len() - 1;
        for number in self.first_queued(now_ns)..self.accepted {
            let sent_ns = &mut self.ring[number as usize & mask];
            *sent_ns = of(*sent_ns);
        }
        if self.last_departure > now_ns {
            self.last_departure = of(self.last_departure);
        }
    }

    /// Discards all packets in the queue.
    pub fn clear(&mut self, now_ns: u64) {
        self.remap_times(now_ns, |_| now_ns);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg32;

    use super::*;
    use crate::{Buffer, DropTail};

    /// Gives the same results as [`DropTail`] over buffers, loads and interruptions.
    #[test]
    fn matches_drop_tail() {
        let mut random = Pcg32::seed_from_u64(1);
        let mut next = |limit: u64| random.random_range(0..limit);
        for limit in [1, 2, 3, 7, 8, 50, 1000] {
            for gap in [1, 15, 20, 30, 100] {
                let mut ours = DepartureRing::new(limit);
                let mut theirs = DropTail::default();
                let (mut now, mut max_len) = (0, 0);
                for _ in 0..3000 {
                    now += next(gap);
                    let service = 1 + next(20);
                    let sent = ours.arrive(now, service);
                    assert_eq!(sent, theirs.arrive(now, service, 1, Buffer::Packets(limit)));
                    theirs.remove_departed(now);
                    max_len = theirs.len().max(max_len);
                    assert_eq!(
                        (ours.len(now), ours.max_len()),
                        (theirs.len(), max_len as u64)
                    );
                    assert!(ours.departure_times(now).eq(theirs.departure_times(now)));
                    let of = |at: u64| at + at.saturating_sub(now);
                    match next(500) {
                        0 => {
                            ours.remap_times(now, of);
                            theirs.remap_times(of);
                        }
                        1 => {
                            ours.clear(now);
                            theirs.clear(now);
                        }
                        2 => {
                            ours.reset_max_len(now);
                            max_len = theirs.len();
                        }
                        _ => {}
                    }
                    assert_eq!(ours.last_departure(), theirs.last_departure());
                }
            }
        }
    }
}
