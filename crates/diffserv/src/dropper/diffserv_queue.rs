//! Packet-by-packet admission by a dropper (RED, RIO, WRED).

use super::ewma::idle_decay;
use super::{Counting, Discipline, Dropper};
use crate::DropPrecedence;
use crate::random::{Purpose, Random};

/// Queue that admits or drops each arriving packet as its [`Dropper`] specifies. It counts packets but does
/// not store them.
///
/// A packet is in the queue from [`DiffServQueue::admit`] to [`DiffServQueue::depart`]. In ns-2, it departs when
/// its transmission starts.
///
/// ```
/// use netflow_diffserv::{DiffServQueue, Discipline, DropPrecedence, Dropper, DropperSpec};
///
/// let dropper = Dropper::new(DropperSpec::habib_2002(Discipline::RioC, 1000.0, 100))?;
/// let mut queue = DiffServQueue::new(dropper, 0, 1);
/// assert!(queue.admit(0, 1024, DropPrecedence::Dp1));
/// assert_eq!(queue.queue_pkts(), [0, 1, 0]);
/// queue.depart(1_000_000, 1024, DropPrecedence::Dp1);
/// assert_eq!(queue.queue_pkts(), [0, 0, 0]);
/// # Ok::<(), netflow_diffserv::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DiffServQueue {
    dropper: Dropper,
    service_per_ns: f64,
    /// 1, or 1/(mean packet size) in byte mode.
    pkts_per_unit: f64,
    /// Contents of the three average queues, one per precedence. (With RED and WRED all three are equal.)
    /// `average_inputs` is in packets, or in bytes in byte mode: whole numbers, so that sums are exact.
    average_inputs: [f64; 3],
    average_pkts: [f64; 3],
    /// Time since which each average queue has been empty, if it is empty.
    empty_since_ns: [u64; 3],
    /// 1 for the averages that count packets of a precedence, else 0.
    counted_in: [[f64; 3]; 3],
    /// Packets (mean packets in byte mode) since the last drop of each precedence; −1 before the first.
    since_drop: [f64; 3],
    queue_pkts: [u32; 3],
    queue_units: f64,
    random: Random,
}

impl DiffServQueue {
    /// Returns an empty queue at `start_ns`. The same seed gives the same random numbers on every platform.
    pub fn new(dropper: Dropper, start_ns: u64, seed: u64) -> DiffServQueue {
        let spec = dropper.spec();
        let discipline = spec.discipline;
        let counted_in = DropPrecedence::ALL.map(|packet| {
            DropPrecedence::ALL
                .map(|counter| f64::from(u8::from(discipline.counts(counter, packet))))
        });
        DiffServQueue {
            service_per_ns: spec.service_pps / 1e9,
            pkts_per_unit: match spec.counting {
                Counting::Packets => 1.0,
                Counting::Bytes { mean_packet_bytes } => 1.0 / mean_packet_bytes,
            },
            average_inputs: [0.0; 3],
            average_pkts: [0.0; 3],
            empty_since_ns: [start_ns; 3],
            counted_in,
            since_drop: [-1.0; 3],
            queue_pkts: [0; 3],
            queue_units: 0.0,
            random: Random::new(seed, Purpose::Dropping),
            dropper,
        }
    }

    /// Returns true and adds the packet if the queue admits it now.
    ///
    /// A time before that of the last packet is replaced by that of the last packet.
    #[inline]
    pub fn admit(&mut self, now_ns: u64, bytes: u32, precedence: DropPrecedence) -> bool {
        self.update_averages(now_ns, precedence);
        let units = self.units(bytes);
        let admitted = !self.is_full(units) && !self.drops_early(units, precedence);
        // Always adds, possibly zero, because branches on random values are unpredictable.
        let added = if admitted { units } else { 0.0 };
        for (held, counts) in self
            .average_inputs
            .iter_mut()
            .zip(precedence.of(&self.counted_in))
        {
            *held += counts * added;
        }
        self.queue_units += added;
        *precedence.of_mut(&mut self.queue_pkts) += u32::from(admitted);
        admitted
    }

    /// Removes a packet that was admitted. Without a packet of this precedence in the queue, nothing changes.
    #[inline]
    pub fn depart(&mut self, now_ns: u64, bytes: u32, precedence: DropPrecedence) {
        let pkts = precedence.of_mut(&mut self.queue_pkts);
        if *pkts == 0 {
            return;
        }
        *pkts -= 1;
        let units = self.units(bytes);
        self.queue_units = (self.queue_units - units).max(0.0);
        let before = self.average_inputs;
        let mut emptied = false;
        for (held, counts) in self
            .average_inputs
            .iter_mut()
            .zip(precedence.of(&self.counted_in))
        {
            let was_there = *held > 0.0;
            *held = (*held - counts * units).max(0.0);
            emptied |= was_there & (*held <= 0.0);
        }
        if emptied {
            self.record_empty(now_ns, before);
        }
    }

    /// Records the time for average queues that have become empty; `before` is their previous content.
    #[cold]
    fn record_empty(&mut self, now_ns: u64, before: [f64; 3]) {
        let held = before.iter().zip(&self.average_inputs);
        for ((before, held), empty_since_ns) in held.zip(&mut self.empty_since_ns) {
            if *before > 0.0 && *held <= 0.0 {
                *empty_since_ns = now_ns.max(*empty_since_ns);
            }
        }
    }

    /// Returns the number of packets of each precedence in the queue.
    pub fn queue_pkts(&self) -> [u32; 3] {
        self.queue_pkts
    }

    /// Returns the average queue of each precedence after the last arrivals.
    pub fn average_pkts(&self) -> [f64; 3] {
        self.average_pkts
    }

    /// Returns the size of a packet in units: 1, or its bytes in byte mode.
    #[inline]
    fn units(&self, bytes: u32) -> f64 {
        match self.dropper.spec().counting {
            Counting::Packets => 1.0,
            Counting::Bytes { .. } => bytes.into(),
        }
    }

    #[inline]
    fn is_full(&self, units: f64) -> bool {
        let pkts = (self.queue_units + units) * self.pkts_per_unit;
        pkts > f64::from(self.dropper.spec().buffer_pkts)
    }

    /// Updates the averages that count this packet.
    #[inline]
    fn update_averages(&mut self, now_ns: u64, precedence: DropPrecedence) {
        let counted_in = *precedence.of(&self.counted_in);
        // Compares all, so that there is only one branch.
        let mut idle = false;
        for (held, counts) in self.average_inputs.iter().zip(counted_in) {
            idle |= *held < counts;
        }
        if idle {
            self.decay_idle(now_ns, counted_in);
        }
        let weight = self.dropper.spec().weight;
        for ((average_pkts, held), counts) in self
            .average_pkts
            .iter_mut()
            .zip(&self.average_inputs)
            .zip(counted_in)
        {
            *average_pkts += counts * weight * (held * self.pkts_per_unit - *average_pkts);
        }
    }

    /// Decays averages over idle time, as if the packets that the link could have sent had arrived at an
    /// empty queue.
    #[cold]
    fn decay_idle(&mut self, now_ns: u64, counted_in: [f64; 3]) {
        let weight = self.dropper.spec().weight;
        for (((average_pkts, empty_since_ns), held), counts) in self
            .average_pkts
            .iter_mut()
            .zip(&mut self.empty_since_ns)
            .zip(self.average_inputs)
            .zip(counted_in)
        {
            if held > 0.0 || counts <= 0.0 {
                continue;
            }
            let idle_ns = now_ns.saturating_sub(*empty_since_ns);
            *empty_since_ns += idle_ns;
            *average_pkts *= idle_decay(weight, idle_ns as f64 * self.service_per_ns);
            // Negligible. Denormal numbers would make later multiplications slow.
            if *average_pkts < 1e-100 {
                *average_pkts = 0.0;
            }
        }
    }

    /// Decides an early drop by RED (Floyd & Jacobson 1993, Fig. 2; byte mode as in ns-2).
    #[inline]
    fn drops_early(&mut self, units: f64, precedence: DropPrecedence) -> bool {
        let spec = self.dropper.spec();
        let average_pkts = *precedence.of(&self.average_pkts);
        let marking = precedence
            .of(&self.dropper.slopes)
            .probability(average_pkts);
        let counter = match spec.discipline {
            Discipline::Red => DropPrecedence::Dp0,
            _ => precedence,
        };
        let since_drop = counter.of_mut(&mut self.since_drop);
        let size = units * self.pkts_per_unit;
        let count = *since_drop + size;
        let drops = spec
            .spread
            .drops(marking, count, size, self.random.uniform());
        let counted = if drops { 0.0 } else { count };
        *since_drop = if marking > 0.0 { counted } else { -1.0 };
        drops
    }
}
