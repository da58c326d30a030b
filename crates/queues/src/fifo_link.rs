//! FIFO queue in front of a link, with departure times that are known on arrival: drop-tail, RED or RIO.

use crate::early_drop::stretched_ns;
use crate::{Buffer, DropReason, DropTail, EarlyDrop, PacketInfo};

/// A link with a FIFO queue, which may drop or mark packets early. Times are in ns and do not decrease.
///
/// ```
/// use netflow_queues::{Buffer, DropReason, FifoLink, PacketInfo};
///
/// // A buffer of 2500 B, and packets of 1000 B, each of which takes 8 ns.
/// let mut link = FifoLink::new(Buffer::Bytes(2500.0), None);
/// let packet = PacketInfo { bytes: 1000, ..PacketInfo::default() };
/// let mut arrive = |now_ns| link.arrive(now_ns, 8, &packet).map(|departure| departure.at_ns);
/// assert_eq!((arrive(0), arrive(0)), (Ok(8), Ok(16)));
/// assert_eq!(arrive(7), Err(DropReason::BufferFull));
/// assert_eq!(arrive(8), Ok(24));
/// ```
#[derive(Clone, Debug)]
pub struct FifoLink {
    queue: DropTail<u64>,
    buffer: Buffer,
    early_drop: Option<Box<EarlyDrop>>,
    max_len: u64,
}

/// Departure of an accepted packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// End of its transmission in ns.
    pub at_ns: u64,
    /// True if RED has marked it.
    pub marked: bool,
}

impl FifoLink {
    /// Returns an empty queue. The buffer includes the packet in service.
    pub fn new(buffer: Buffer, early_drop: Option<Box<EarlyDrop>>) -> FifoLink {
        FifoLink {
            queue: DropTail::default(),
            buffer,
            early_drop,
            max_len: 0,
        }
    }

    /// Returns its early drops, if it has any.
    pub fn early_drop(&self) -> Option<&EarlyDrop> {
        self.early_drop.as_deref()
    }

    /// Returns its early drops, if it has any.
    pub fn early_drop_mut(&mut self) -> Option<&mut EarlyDrop> {
        self.early_drop.as_deref_mut()
    }

    /// Sets the buffer size. Packets in the queue stay there.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        self.buffer = buffer;
    }

    /// Processes the arrival of a packet with transmission time `service_ns`.
    #[inline]
    pub fn arrive(
        &mut self,
        now_ns: u64,
        service_ns: u64,
        info: &PacketInfo,
    ) -> Result<Departure, DropReason> {
        self.queue.remove_departed(now_ns);
        let mut marked = false;
        let at_ns = match &mut self.early_drop {
            None => (self.queue).arrive_purged(now_ns, service_ns, info.bytes, self.buffer),
            Some(early) => {
                let free_ns = self.queue.last_departure();
                let admitted = early.admit(now_ns, self.queue.len(), free_ns, info);
                marked = admitted.ok_or(DropReason::Early)?;
                let at_ns = (self.queue).arrive_purged(now_ns, service_ns, info.bytes, self.buffer);
                if at_ns.is_some() {
                    early.queued(info.precedence, Some(free_ns.max(now_ns)));
                } else {
                    early.overflowed(now_ns, info.precedence);
                }
                at_ns
            }
        };
        let at_ns = at_ns.ok_or(DropReason::BufferFull)?;
        self.max_len = self.max_len.max(self.queue.len() as u64);
        Ok(Departure { at_ns, marked })
    }

    /// Returns true if the sizes of packets count.
    #[inline]
    pub fn counts_bytes(&self) -> bool {
        matches!(self.buffer, Buffer::Bytes(_))
    }

    /// Returns the number of packets, including the one in service.
    pub fn len(&self, now_ns: u64) -> usize {
        self.queue.departure_times(now_ns).len()
    }

    /// Returns true if there is no packet.
    pub fn is_empty(&self, now_ns: u64) -> bool {
        self.queue.last_departure() <= now_ns
    }

    /// Returns the bytes of the packets, including the one in service.
    pub fn bytes(&self, now_ns: u64) -> u64 {
        self.queue.bytes(now_ns)
    }

    /// Returns the maximum number of packets so far.
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
        self.queue.last_departure()
    }

    /// Returns the departure times of the packets.
    pub fn departure_times(&self, now_ns: u64) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.queue.departure_times(now_ns)
    }

    /// Stretches transmissions: from `now_ns` on, they take `ratio` times as long.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64) {
        (self.queue).remap_times(|at_ns| stretched_ns(at_ns, now_ns, ratio));
        if let Some(early) = &mut self.early_drop {
            early.stretch(now_ns, ratio);
        }
    }

    /// Discards all packets, including the one in service.
    pub fn clear(&mut self, now_ns: u64) {
        self.queue.clear(now_ns);
        if let Some(early) = &mut self.early_drop {
            early.clear(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use netflow_diffserv::{
        Curve, DiffServQueue, Discipline, DropPrecedence, Dropper, DropperSpec, RedAverage,
    };
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg32;

    use super::*;
    use crate::{AqmQueue, EcnCodepoint, PacketDetails, RedMarks};

    /// Returns drop-tail, RED that never marks, RED that marks, and RIO.
    fn early_drops() -> [Option<Box<EarlyDrop>>; 4] {
        let red = |marks| {
            let average = RedAverage::new(Curve::new(2.0, 8.0, 0.2), true, 0.1, 1000.0);
            Some(Box::new(EarlyDrop::red(
                average,
                marks,
                Pcg32::seed_from_u64(1),
            )))
        };
        let spec = DropperSpec {
            weight: 0.1,
            ..DropperSpec::habib_2002(Discipline::RioC, 1e6, 30)
        };
        let rio = DiffServQueue::new(Dropper::new(spec).unwrap(), 0, 1);
        let rio = Some(Box::new(EarlyDrop::rio(rio)));
        [None, red(RedMarks::Never), red(RedMarks::BelowMax), rio]
    }

    /// Link that asks a FIFO queue for the next packet when it is free.
    struct AskingLink {
        queue: AqmQueue<usize>,
        free_ns: u64,
        /// Packets sent, with the end of transmission and whether they are marked.
        sent: Vec<(usize, Departure)>,
    }

    impl AskingLink {
        /// Transmits waiting packets until `now_ns`. A byte takes 1 ns.
        fn transmit(&mut self, now_ns: u64) {
            while self.free_ns <= now_ns
                && let Some(packet) = self.queue.dequeue(self.free_ns, &mut Vec::new())
            {
                self.free_ns = self.free_ns.max(packet.arrived_ns) + u64::from(packet.bytes);
                let departure = Departure {
                    at_ns: self.free_ns,
                    marked: packet.marked,
                };
                self.sent.push((packet.packet, departure));
            }
        }

        /// Returns true if the packet is accepted.
        fn arrive(&mut self, now_ns: u64, number: usize, info: PacketInfo) -> bool {
            self.transmit(now_ns);
            self.queue.set_busy_until(self.free_ns);
            let mut dropped = Vec::new();
            (self.queue).enqueue(now_ns, number, info, PacketDetails::default, &mut dropped);
            self.transmit(now_ns);
            dropped.is_empty()
        }
    }

    /// A queue whose departures are known on arrival, and one that is asked whenever the link is free, accept, mark and
    /// send the same packets at the same times; with failures.
    #[test]
    fn equals_the_queue_of_a_link_that_asks_for_packets() {
        let mut random = Pcg32::seed_from_u64(2);
        let buffers = [
            Buffer::Packets(20),
            Buffer::Bytes(20_000.0),
            Buffer::Packets(1),
        ];
        for (number, early_drop) in (0..).zip(early_drops()) {
            for buffer in buffers {
                let mut known = FifoLink::new(buffer, early_drop.clone());
                let mut asking = AskingLink {
                    queue: AqmQueue::fifo(buffer, early_drop.clone()),
                    free_ns: 0,
                    sent: Vec::new(),
                };
                let (mut now_ns, mut accepted) = (0, Vec::new());
                let (mut early, mut full, mut marked) = (0, 0, 0);
                for packet in 0..5000 {
                    now_ns += random.random_range(0..1500);
                    if random.random_bool(0.005) {
                        now_ns += 20_000;
                    }
                    let info = PacketInfo {
                        bytes: random.random_range(40..1501),
                        ecn: EcnCodepoint::from_bits(random.random_range(0..3)),
                        precedence: DropPrecedence::ALL[random.random_range(0..3)],
                        ..PacketInfo::default()
                    };
                    let outcome = known.arrive(now_ns, u64::from(info.bytes), &info);
                    assert_eq!(asking.arrive(now_ns, packet, info), outcome.is_ok());
                    match outcome {
                        Ok(departure) => {
                            marked += u32::from(departure.marked);
                            accepted.push((packet, departure));
                        }
                        Err(DropReason::Early) => early += 1,
                        Err(_) => full += 1,
                    }
                    let precedences = known.early_drop().map(EarlyDrop::precedences);
                    assert_eq!(
                        precedences,
                        asking.queue.early_drop().map(EarlyDrop::precedences)
                    );
                    if random.random_bool(0.002) {
                        known.clear(now_ns);
                        asking.queue.clear(now_ns, &mut Vec::new());
                        asking.free_ns = asking.free_ns.min(now_ns);
                        accepted.retain(|(_, departure)| departure.at_ns <= now_ns);
                        (asking.sent).retain(|(_, departure)| departure.at_ns <= now_ns);
                    }
                }
                asking.transmit(u64::MAX);
                assert_eq!(accepted, asking.sent);
                assert_eq!(marked > 0, number == 2 && buffer != Buffer::Packets(1));
                assert_eq!(early > 0, number > 0 && buffer != Buffer::Packets(1));
                assert!(full > 0 || number > 0, "{full}");
            }
        }
    }

    /// RED drops early, marks ECN-capable packets instead, and drops at a full buffer.
    #[test]
    fn reasons_of_drops() {
        let average = RedAverage::new(Curve::new(1.0, 3.0, 1.0), false, 1.0, 1000.0);
        let red = EarlyDrop::red(average, RedMarks::Always, Pcg32::seed_from_u64(1));
        let mut link = FifoLink::new(Buffer::Packets(6), Some(Box::new(red)));
        let mut arrive = |ecn| {
            let info = PacketInfo {
                bytes: 1000,
                ecn,
                ..PacketInfo::default()
            };
            link.arrive(0, 1000, &info).map(|it| it.marked)
        };
        // The average is the number of waiting packets: 0, 0, 1, 2, 3.
        for _ in 0..4 {
            assert_eq!(arrive(EcnCodepoint::NotEct), Ok(false));
        }
        assert_eq!(arrive(EcnCodepoint::NotEct), Err(DropReason::Early));
        assert_eq!(arrive(EcnCodepoint::Ect0), Ok(true));
        assert_eq!(arrive(EcnCodepoint::Ect1), Ok(true));
        assert_eq!(arrive(EcnCodepoint::Ect1), Err(DropReason::BufferFull));
    }
}
