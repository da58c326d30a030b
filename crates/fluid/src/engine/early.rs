//! What a queue drops before its buffer is full, in a step.

use netflow_network::{Aqm, DropPolicy, Pie, Red};

use super::queue::{PART, Solution};

/// A queue that drops early.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Early {
    Red(Red),
    Pie(Pie),
}

/// The same over one step. What it remembers is *known*: of random early detection the average queue, of PIE
/// the drop probability.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EarlyStep {
    Red(RedStep),
    Pie(PieStep),
}

/// Random early detection over one step: the average moves towards the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedStep {
    pub red: Red,
    pub average_before: f64,
    /// (1 − weight)^arrivals: what remains of the old average.
    pub memory: f64,
}

/// PIE over one step: the probability moves with the wait at its end, which is as implicit as the queue itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieStep {
    pub pie: Pie,
    pub probability_before: f64,
    pub wait_before_s: f64,
    /// How long a packet takes to send, in seconds.
    pub packet_s: f64,
    /// How often the probability is updated in the step.
    pub updates: f64,
}

impl Early {
    /// Of a queue, if fluids know how it drops.
    pub fn of(queue: &DropPolicy) -> Option<Early> {
        match *queue {
            DropPolicy::Red(red) => Some(Early::Red(red)),
            DropPolicy::Managed(Aqm::Pie(pie)) => Some(Early::Pie(pie)),
            DropPolicy::DropTail
            | DropPolicy::Rio(_)
            | DropPolicy::Managed(Aqm::CoDel(_) | Aqm::FqCoDel(_)) => None,
        }
    }
}

/// Fraction of packets that random early detection drops at this average queue.
///
/// Drops are spread evenly: at least 1/p_b packets, at most 2/p_b, lie between two of them, so the
/// fraction dropped is p_b/1.5 (as ns-2 does with its default `wait_`; the 1993 paper's count spreads
/// over 1…1/p_b instead).
pub(crate) fn red_drop(red: &Red, average: f64) -> f64 {
    match red.marking_probability(average) {
        p if p < 1.0 => p / 1.5,
        _ => 1.0,
    }
}

impl RedStep {
    fn average(&self, queue_pkts: f64) -> f64 {
        queue_pkts + (self.average_before - queue_pkts) * self.memory
    }
}

impl PieStep {
    /// What packets wait that are served next: for those before them but the one in service.
    fn wait_s(&self, queue_pkts: f64, utilization: f64) -> f64 {
        (queue_pkts - utilization).max(0.0) * self.packet_s
    }

    /// With a queue that is empty at such a part of the time.
    fn probability(&self, wait_s: f64, empty: f64) -> f64 {
        let above_s = wait_s - 1e-9 * self.pie.target_ns as f64;
        let waits = [above_s, wait_s - self.wait_before_s];
        // At an update and the one before.
        let idle = empty * empty;
        self.pie
            .probability_after(self.probability_before, self.updates, waits, idle)
    }

    fn drops(&self, probability: f64, wait_s: f64) -> f64 {
        match self.pie.is_short(1e9 * self.wait_before_s, probability) {
            true => 0.0,
            false => self.many(wait_s) * self.pie.drop_fraction(probability),
        }
    }

    /// The part of arrivals that finds more than two packets waiting, before which PIE drops none (RFC 8033, section
    /// 4.1), if lengths are geometric.
    fn many(&self, wait_s: f64) -> f64 {
        let waiting_pkts = wait_s / self.packet_s;
        (waiting_pkts / (1.0 + waiting_pkts)).powi(3)
    }
}

impl EarlyStep {
    /// What it knows at the end of a step that leaves so many packets.
    pub fn known(&self, queue_pkts: f64, utilization: f64) -> f64 {
        match self {
            EarlyStep::Red(red) => red.average(queue_pkts),
            EarlyStep::Pie(pie) => {
                let empty = (1.0 - utilization).max(0.0);
                pie.probability(pie.wait_s(queue_pkts, utilization), empty)
            }
        }
    }

    /// The part of the arrivals that it drops at that end.
    pub fn drops(&self, end: &Solution) -> f64 {
        match self {
            EarlyStep::Red(red) => red_drop(&red.red, end.known),
            EarlyStep::Pie(pie) => {
                pie.drops(end.known, pie.wait_s(end.queue_pkts, end.utilization))
            }
        }
    }

    /// What is remembered beside [`known`](Self::known): the wait of PIE, in seconds.
    pub fn wait_s(&self, end: &Solution) -> f64 {
        match self {
            EarlyStep::Red(_) => 0.0,
            EarlyStep::Pie(pie) => pie.wait_s(end.queue_pkts, end.utilization),
        }
    }

    /// The first of the parts into which a step is divided.
    pub fn part(self) -> EarlyStep {
        match self {
            EarlyStep::Red(red) => EarlyStep::Red(RedStep {
                memory: libm::pow(red.memory, PART),
                ..red
            }),
            EarlyStep::Pie(pie) => EarlyStep::Pie(PieStep {
                updates: pie.updates * PART,
                ..pie
            }),
        }
    }

    /// The next part, after one that ended so.
    pub fn go_on(&mut self, end: &Solution) {
        match self {
            EarlyStep::Red(red) => red.average_before = end.known,
            EarlyStep::Pie(pie) => {
                pie.wait_before_s = end.wait_s;
                pie.probability_before = end.known;
            }
        }
    }
}
