//! Drop-tail FIFO queue with a limit in packets, stored as a ring of departure times.

/// Fast path of [`DropTail`](crate::DropTail) for a buffer counted in packets: a ring of departure times. The
/// queue holds more than k packets if the packet accepted k places before the last one departs after now.
/// Departures therefore need no event. Times are whole nanoseconds and do not decrease.
///
/// ```
/// use netflow_queues::Departures;
///
/// // A buffer of two packets, each of which takes 8 ns.
/// let mut link = Departures::new(2);
/// assert_eq!(link.arrive(0, 8), Some(8));
/// assert_eq!(link.arrive(0, 8), Some(16));
/// assert_eq!(link.arrive(7, 8), None);
/// assert_eq!(link.arrive(8, 8), Some(24));
/// assert_eq!((link.len(8), link.most()), (2, 2));
/// ```
#[derive(Clone, Debug)]
pub struct Departures {
    /// Departure times of the most recent packets. The length is a power of two and larger than `most`.
    ring: Vec<u64>,
    /// Number of packets accepted.
    taken: u64,
    free: u64,
    room: u64,
    most: u64,
}

impl Departures {
    /// Returns an empty queue for `room_pkts` packets, at least one. The packet in service counts.
    pub fn new(room_pkts: usize) -> Departures {
        Departures {
            ring: vec![0; 2],
            taken: 0,
            free: 0,
            room: room_pkts.max(1) as u64,
            most: 0,
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
        let n = self.taken;
        if self.most == self.room && self.at(n - self.room) > now_ns {
            return None;
        }
        self.free = self.free.max(now_ns) + service_ns;
        let mask = self.ring.len() - 1;
        self.ring[n as usize & mask] = self.free;
        self.taken += 1;
        if self.at(n - self.most) > now_ns {
            self.grow();
        }
        Some(self.free)
    }

    /// Records a new maximum occupancy and enlarges the ring if necessary.
    #[cold]
    fn grow(&mut self) {
        self.most += 1;
        let size = self.ring.len() as u64;
        if self.most == size {
            let mut ring = vec![0; 2 * size as usize];
            for number in self.taken.saturating_sub(size)..self.taken {
                ring[(number & (2 * size - 1)) as usize] = self.at(number);
            }
            self.ring = ring;
        }
    }

    /// Returns the maximum number of packets in the queue so far.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Restarts the maximum at the present occupancy.
    pub fn restart_most(&mut self, now_ns: u64) {
        self.most = self.len(now_ns) as u64;
    }

    /// Returns the departure time of the last packet.
    #[inline]
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Returns the number of the first packet that has not departed (binary search).
    fn first(&self, now_ns: u64) -> u64 {
        let (mut low, mut high) = (self.taken - self.most.min(self.taken), self.taken);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.at(middle) > now_ns {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        low
    }

    /// Returns the number of packets in the queue, including the one in service.
    #[inline]
    pub fn len(&self, now_ns: u64) -> usize {
        match self.free > now_ns {
            true => (self.taken - self.first(now_ns)) as usize,
            false => 0,
        }
    }

    /// Returns true if the queue is empty.
    pub fn is_empty(&self, now_ns: u64) -> bool {
        self.free <= now_ns
    }

    /// Returns the departure times of the packets in the queue.
    pub fn sent(&self, now_ns: u64) -> impl Iterator<Item = u64> + '_ {
        (self.first(now_ns)..self.taken).map(|number| self.at(number))
    }

    /// Maps all future departure times with `of`, which must keep their order.
    pub fn retime(&mut self, now_ns: u64, of: impl Fn(u64) -> u64) {
        let mask = self.ring.len() - 1;
        for number in self.first(now_ns)..self.taken {
            let sent_ns = &mut self.ring[number as usize & mask];
            *sent_ns = of(*sent_ns);
        }
        if self.free > now_ns {
            self.free = of(self.free);
        }
    }

    /// Discards all packets in the queue.
    pub fn clear(&mut self, now_ns: u64) {
        self.retime(now_ns, |_| now_ns);
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
    fn it_is_the_same_queue() {
        let mut random = Pcg32::seed_from_u64(1);
        let mut next = |most: u64| random.random_range(0..most);
        for room in [1, 2, 3, 7, 8, 50, 1000] {
            for gap in [1, 15, 20, 30, 100] {
                let mut ours = Departures::new(room);
                let mut theirs = DropTail::default();
                let (mut now, mut most) = (0, 0);
                for _ in 0..3000 {
                    now += next(gap);
                    let service = 1 + next(20);
                    let sent = ours.arrive(now, service);
                    assert_eq!(sent, theirs.arrive(now, service, 1, Buffer::Packets(room)));
                    theirs.leave(now);
                    most = theirs.len().max(most);
                    assert_eq!((ours.len(now), ours.most()), (theirs.len(), most as u64));
                    assert!(ours.sent(now).eq(theirs.sent(now)));
                    let of = |at: u64| at + at.saturating_sub(now);
                    match next(500) {
                        0 => {
                            ours.retime(now, of);
                            theirs.retime(of);
                        }
                        1 => {
                            ours.clear(now);
                            theirs.clear(now);
                        }
                        2 => {
                            ours.restart_most(now);
                            most = theirs.len();
                        }
                        _ => {}
                    }
                    assert_eq!(ours.free(), theirs.free());
                }
            }
        }
    }
}
