//! Early drops at a FIFO queue: RED (Floyd and Jacobson 1993) and RIO (Clark and Fang 1998) decide on each packet
//! when it arrives.

use std::collections::VecDeque;

use netflow_diffserv::{DiffServQueue, DropPrecedence, RedAverage, RedDecision};
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::PacketInfo;

/// Cases in which RED marks ECN-capable packets instead of dropping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedMarks {
    /// Never.
    Never,
    /// If the drop probability is below 1.
    BelowMax,
    /// Always.
    Always,
}

/// State of RED or RIO in front of a FIFO queue.
#[derive(Clone, Debug)]
pub struct EarlyDrop(Algorithm);

#[derive(Clone, Debug)]
enum Algorithm {
    Red {
        average: RedAverage,
        marks: RedMarks,
        random: Pcg32,
    },
    Rio(Box<RioState>),
}

#[derive(Clone, Debug)]
struct RioState {
    queue: DiffServQueue,
    /// Admitted packets, with the start of transmission in ns if it is known. ns-2 counts packets until their
    /// transmission starts.
    waiting: VecDeque<(Option<u64>, DropPrecedence)>,
    counts: PrecedenceCounts,
}

/// Packets by drop precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrecedenceCounts {
    /// Packets that arrived.
    pub offered: [u64; 3],
    /// Packets dropped on arrival.
    pub lost: [u64; 3],
}

impl RioState {
    /// Removes packets whose transmission has started.
    fn remove_started(&mut self, now_ns: u64) {
        while let Some(&(Some(begins_ns), precedence)) = self.waiting.front()
            && begins_ns <= now_ns
        {
            self.queue.depart(begins_ns, 1, precedence);
            self.waiting.pop_front();
        }
    }
}

impl EarlyDrop {
    /// Returns RED.
    pub fn red(average: RedAverage, marks: RedMarks, random: Pcg32) -> EarlyDrop {
        EarlyDrop(Algorithm::Red {
            average,
            marks,
            random,
        })
    }

    /// Returns RIO.
    pub fn rio(queue: DiffServQueue) -> EarlyDrop {
        EarlyDrop(Algorithm::Rio(Box::new(RioState {
            queue,
            waiting: VecDeque::new(),
            counts: PrecedenceCounts::default(),
        })))
    }

    /// Decides on a packet that finds `pkts` packets, including the one in service. `free_ns` is the end of the
    /// current or last transmission. Returns whether the packet is marked, or `None` if it is dropped.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        now_ns: u64,
        pkts: usize,
        free_ns: u64,
        info: &PacketInfo,
    ) -> Option<bool> {
        match &mut self.0 {
            Algorithm::Red {
                average,
                marks,
                random,
            } => {
                let idle_ns = (pkts == 0).then(|| now_ns.saturating_sub(free_ns));
                // ns-2 counts only waiting packets.
                let waiting = pkts.saturating_sub(1);
                match average.on_arrival(waiting, idle_ns, || random.random()) {
                    RedDecision::Admit => return Some(false),
                    RedDecision::RandomDrop if *marks != RedMarks::Never => {}
                    RedDecision::ForcedDrop if *marks == RedMarks::Always => {}
                    RedDecision::RandomDrop | RedDecision::ForcedDrop => return None,
                }
                info.ecn.is_capable().then_some(true)
            }
            Algorithm::Rio(rio) => {
                rio.counts.offered[info.precedence.index()] += 1;
                rio.remove_started(now_ns);
                let admitted = rio.queue.admit(now_ns, 1, info.precedence);
                rio.counts.lost[info.precedence.index()] += u64::from(!admitted);
                admitted.then_some(false)
            }
        }
    }

    /// Records that an admitted packet has been queued. `begins_ns` is the start of its transmission, if it is known.
    #[inline]
    pub(crate) fn queued(&mut self, precedence: DropPrecedence, begins_ns: Option<u64>) {
        if let Algorithm::Rio(rio) = &mut self.0 {
            rio.waiting.push_back((begins_ns, precedence));
        }
    }

    /// Records that an admitted packet does not fit into the buffer.
    pub(crate) fn overflowed(&mut self, now_ns: u64, precedence: DropPrecedence) {
        match &mut self.0 {
            Algorithm::Red { average, .. } => average.on_overflow(),
            Algorithm::Rio(rio) => {
                rio.queue.depart(now_ns, 1, precedence);
                rio.counts.lost[precedence.index()] += 1;
            }
        }
    }

    /// Records the start of the transmission of the first packet.
    pub(crate) fn started(&mut self, now_ns: u64) {
        if let Algorithm::Rio(rio) = &mut self.0
            && let Some((_, precedence)) = rio.waiting.pop_front()
        {
            rio.queue.depart(now_ns, 1, precedence);
        }
    }

    /// Counts a packet that is lost before it arrives at the queue.
    pub fn record_lost(&mut self, precedence: DropPrecedence) {
        if let Algorithm::Rio(rio) = &mut self.0 {
            rio.counts.offered[precedence.index()] += 1;
            rio.counts.lost[precedence.index()] += 1;
        }
    }

    /// Adapts to transmissions that take `ratio` times as long from `now_ns` on.
    pub(crate) fn stretch(&mut self, now_ns: u64, ratio: f64) {
        match &mut self.0 {
            Algorithm::Red { average, .. } => average.scale_service_time(ratio),
            Algorithm::Rio(rio) => {
                let begins = rio.waiting.iter_mut().filter_map(|it| it.0.as_mut());
                begins.for_each(|at_ns| *at_ns = stretched_ns(*at_ns, now_ns, ratio));
            }
        }
    }

    /// Records that all packets have been removed.
    pub(crate) fn clear(&mut self, now_ns: u64) {
        if let Algorithm::Rio(rio) = &mut self.0 {
            rio.remove_started(now_ns);
            for (_, precedence) in rio.waiting.drain(..) {
                rio.queue.depart(now_ns, 1, precedence);
            }
        }
    }

    /// Returns the packets of each precedence and the average queue of each, if the algorithm distinguishes
    /// precedences.
    pub fn precedences(&self) -> Option<(PrecedenceCounts, [f64; 3])> {
        match &self.0 {
            Algorithm::Red { .. } => None,
            Algorithm::Rio(rio) => Some((rio.counts, rio.queue.average_pkts())),
        }
    }
}

/// Returns the time of an event at `time_ns` if everything takes `ratio` times as long from `now_ns` on.
pub fn stretched_ns(time_ns: u64, now_ns: u64, ratio: f64) -> u64 {
    if time_ns > now_ns {
        now_ns + ((time_ns - now_ns) as f64 * ratio).round() as u64
    } else {
        time_ns
    }
}
