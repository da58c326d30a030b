//! Active queue management in one step: RED and PIE drop laws.

use netflow_network::{Aqm, DropPolicy, Pie, Red};

use super::queue::{QueueSolution, SUBSTEP_FRACTION};

/// Queue management with early drops.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EarlyDropPolicy {
    Red(Red),
    Pie(Pie),
}

/// Early-drop law over one step. Its memory (`known`) is the average queue for RED and the drop probability
/// for PIE.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EarlyDropStep {
    Red(RedStep),
    Pie(PieStep),
}

/// Random early detection over one step: exponential average of the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedStep {
    pub red: Red,
    pub average_before: f64,
    /// Remaining weight of the old average, (1 − weight)^arrivals.
    pub memory: f64,
}

/// PIE over one step. The drop probability depends on the delay at the end of the step, which is implicit as
/// is the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieStep {
    pub pie: Pie,
    pub probability_before: f64,
    pub wait_before_s: f64,
    /// Transmission time of a packet, in seconds.
    pub packet_s: f64,
    /// Number of updates of the probability in the step.
    pub updates: f64,
}

impl EarlyDropPolicy {
    /// Returns the law of a queue, if the fluid model has one.
    pub fn of(queue: &DropPolicy) -> Option<EarlyDropPolicy> {
        match *queue {
            DropPolicy::Red(red) => Some(EarlyDropPolicy::Red(red)),
            DropPolicy::Managed(Aqm::Pie(pie)) => Some(EarlyDropPolicy::Pie(pie)),
            DropPolicy::DropTail
            | DropPolicy::Rio(_)
            | DropPolicy::Managed(
                Aqm::Cake(_) | Aqm::CoDel(_) | Aqm::DualPi2(_) | Aqm::FqCoDel(_),
            ) => None,
        }
    }
}

/// Returns the fraction of packets that random early detection drops at this average queue.
///
/// Drops are evenly spaced: between two drops there are at least 1/p_b and at most 2/p_b packets. The dropped
/// fraction is therefore p_b/1.5, as in ns-2 with its default `wait_`. The count of the 1993 paper is uniform
/// on 1…1/p_b instead.
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
    /// Returns the waiting time of the next served packets, without the packet in service.
    fn wait_s(&self, queue_pkts: f64, utilization: f64) -> f64 {
        (queue_pkts - utilization).max(0.0) * self.packet_s
    }

    /// Returns the updated drop probability, if the queue is empty for the fraction `empty` of time.
    fn probability(&self, wait_s: f64, empty: f64) -> f64 {
        let above_s = wait_s - 1e-9 * self.pie.target_ns as f64;
        let waits = [above_s, wait_s - self.wait_before_s];
        // Probability of an empty queue at two consecutive updates.
        let idle = empty * empty;
        self.pie
            .probability_after(self.probability_before, self.updates, waits, idle)
    }

    fn drops(&self, probability: f64, wait_s: f64) -> f64 {
        if self.pie.is_short(1e9 * self.wait_before_s, probability) {
            0.0
        } else {
            self.many(wait_s) * self.pie.drop_fraction(probability)
        }
    }

    /// Returns the fraction of arrivals that find more than two waiting packets, assuming geometric lengths.
    /// PIE does not drop below that (RFC 8033, section 4.1).
    fn many(&self, wait_s: f64) -> f64 {
        let waiting_pkts = wait_s / self.packet_s;
        (waiting_pkts / (1.0 + waiting_pkts)).powi(3)
    }
}

impl EarlyDropStep {
    /// Returns the memory at the end of a step that leaves `queue_pkts` packets.
    pub fn memory_after(&self, queue_pkts: f64, utilization: f64) -> f64 {
        match self {
            EarlyDropStep::Red(red) => red.average(queue_pkts),
            EarlyDropStep::Pie(pie) => {
                let empty = (1.0 - utilization).max(0.0);
                pie.probability(pie.wait_s(queue_pkts, utilization), empty)
            }
        }
    }

    /// Returns the fraction of arrivals dropped at the end of the step.
    pub fn drops(&self, end: &QueueSolution) -> f64 {
        match self {
            EarlyDropStep::Red(red) => red_drop(&red.red, end.known),
            EarlyDropStep::Pie(pie) => {
                pie.drops(end.known, pie.wait_s(end.queue_pkts, end.utilization))
            }
        }
    }

    /// Returns the second memory of PIE, its waiting time in seconds; 0 for RED.
    pub fn wait_s(&self, end: &QueueSolution) -> f64 {
        match self {
            EarlyDropStep::Red(_) => 0.0,
            EarlyDropStep::Pie(pie) => pie.wait_s(end.queue_pkts, end.utilization),
        }
    }

    /// Returns the law for the first part of a divided step.
    pub fn first_substep(self) -> EarlyDropStep {
        match self {
            EarlyDropStep::Red(red) => EarlyDropStep::Red(RedStep {
                memory: libm::pow(red.memory, SUBSTEP_FRACTION),
                ..red
            }),
            EarlyDropStep::Pie(pie) => EarlyDropStep::Pie(PieStep {
                updates: pie.updates * SUBSTEP_FRACTION,
                ..pie
            }),
        }
    }

    /// Continues with the next part after one that ended at `end`.
    pub fn continue_from(&mut self, end: &QueueSolution) {
        match self {
            EarlyDropStep::Red(red) => red.average_before = end.known,
            EarlyDropStep::Pie(pie) => {
                pie.wait_before_s = end.wait_s;
                pie.probability_before = end.known;
            }
        }
    }
}
