//! A dropper at work, packet by packet.

use super::average::{Average, Pace};
use super::{Counting, Discipline, Dropper};
use crate::DropPrecedence;
use crate::random::{Purpose, Random};

/// Decides for each arriving packet whether a queue takes it, as its [`Dropper`] says. It counts
/// the packets, but does not hold them.
///
/// A packet is in the queue from [`ActiveQueue::admit`] to [`ActiveQueue::depart`]; with ns-2,
/// it departs when its transmission starts.
///
/// ```
/// use netflow_diffserv::{ActiveQueue, Discipline, DropPrecedence, Dropper, DropperSpec};
///
/// let dropper = Dropper::new(DropperSpec::cond(Discipline::RioC, 1000.0, 100))?;
/// let mut queue = ActiveQueue::new(dropper, 0, 1);
/// assert!(queue.admit(0, 1024, DropPrecedence::Dp1));
/// assert_eq!(queue.queue_pkts(), [0, 1, 0]);
/// queue.depart(1_000_000, 1024, DropPrecedence::Dp1);
/// assert_eq!(queue.queue_pkts(), [0, 0, 0]);
/// # Ok::<(), netflow_diffserv::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ActiveQueue {
    dropper: Dropper,
    pace: Pace,
    /// What the precedences look at, in order; of RED and WRED only the first is used.
    averages: [Average; 3],
    /// Packets (mean packets) since the last drop, per precedence; −1 before the first.
    counts: [f64; 3],
    queue_pkts: [u32; 3],
    /// All that waits, in packets or bytes.
    held: u64,
    random: Random,
}

impl ActiveQueue {
    /// An empty queue at `start_ns`. The same seed draws the same random numbers everywhere.
    pub fn new(dropper: Dropper, start_ns: u64, seed: u64) -> ActiveQueue {
        let spec = dropper.spec();
        ActiveQueue {
            pace: Pace {
                weight: spec.weight,
                pkts_per_unit: match spec.counting {
                    Counting::Packets => 1.0,
                    Counting::Bytes { mean_packet_bytes } => 1.0 / mean_packet_bytes,
                },
                service_per_ns: spec.service_pps / 1e9,
            },
            averages: [Average {
                empty_since_ns: start_ns,
                ..Average::default()
            }; 3],
            counts: [-1.0; 3],
            queue_pkts: [0; 3],
            held: 0,
            random: Random::new(seed, Purpose::Dropping),
            dropper,
        }
    }

    /// Whether the queue takes a packet that arrives now; if so, it is in the queue.
    ///
    /// A time before that of the last packet counts as that.
    #[inline]
    pub fn admit(&mut self, now_ns: u64, bytes: u32, precedence: DropPrecedence) -> bool {
        let units = self.units(bytes);
        let pace = self.pace;
        for average in self.counting(precedence) {
            average.arrive(now_ns, &pace);
        }
        if self.is_full(units) || self.drops_early(units, precedence) {
            return false;
        }
        *precedence.of_mut(&mut self.queue_pkts) += 1;
        self.held += units;
        for average in self.counting(precedence) {
            average.held += units;
        }
        true
    }

    /// A packet that was admitted leaves. One that cannot have been, since none of its precedence
    /// is there, changes nothing.
    #[inline]
    pub fn depart(&mut self, now_ns: u64, bytes: u32, precedence: DropPrecedence) {
        let pkts = precedence.of_mut(&mut self.queue_pkts);
        if *pkts == 0 {
            return;
        }
        *pkts -= 1;
        let units = self.units(bytes);
        self.held = self.held.saturating_sub(units);
        for average in self.counting(precedence) {
            average.depart(now_ns, units);
        }
    }

    /// The packets of each precedence in the queue.
    pub fn queue_pkts(&self) -> [u32; 3] {
        self.queue_pkts
    }

    /// The averages that the precedences look at, as their last arrivals left them.
    pub fn average_pkts(&self) -> [f64; 3] {
        DropPrecedence::ALL.map(|p| self.looked_at(p))
    }

    /// What the packet counts for: 1, or its bytes.
    #[inline]
    fn units(&self, bytes: u32) -> u64 {
        match self.dropper.spec().counting {
            Counting::Packets => 1,
            Counting::Bytes { .. } => bytes.into(),
        }
    }

    /// The averages that count packets of this precedence.
    #[inline]
    fn counting(&mut self, precedence: DropPrecedence) -> impl Iterator<Item = &mut Average> {
        let (from, to) = match self.dropper.spec().discipline {
            Discipline::Red | Discipline::Wred => (0, 1),
            Discipline::RioC => (precedence.index(), 3),
            Discipline::RioD => (precedence.index(), precedence.index() + 1),
        };
        self.averages.iter_mut().take(to).skip(from)
    }

    #[inline]
    fn looked_at(&self, precedence: DropPrecedence) -> f64 {
        let looks = match self.dropper.spec().discipline {
            Discipline::Red | Discipline::Wred => DropPrecedence::Dp0,
            Discipline::RioC | Discipline::RioD => precedence,
        };
        looks.of(self.averages).average_pkts
    }

    #[inline]
    fn is_full(&self, units: u64) -> bool {
        let pkts = (self.held + units) as f64 * self.pace.pkts_per_unit;
        pkts > f64::from(self.dropper.spec().room_pkts)
    }

    /// Random early detection proper (Floyd & Jacobson 1993, Fig. 2; byte mode as in ns-2).
    #[inline]
    fn drops_early(&mut self, units: u64, precedence: DropPrecedence) -> bool {
        let average_pkts = self.looked_at(precedence);
        let marking = precedence.of(self.dropper.slopes).probability(average_pkts);
        let counted = match self.dropper.spec().discipline {
            Discipline::Red => DropPrecedence::Dp0,
            _ => precedence,
        };
        let count = counted.of_mut(&mut self.counts);
        if marking <= 0.0 {
            *count = -1.0;
            return false;
        }
        if marking >= 1.0 {
            *count = 0.0;
            return true;
        }
        let size = units as f64 * self.pace.pkts_per_unit;
        *count += size;
        let probability = self.dropper.spec().spread.probability(marking, *count);
        let drops = self.random.uniform() < probability * size || probability >= 1.0;
        if drops {
            *count = 0.0;
        }
        drops
    }
}
