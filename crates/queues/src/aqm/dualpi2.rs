//! DualPI2: coupled dual-queue active queue management for L4S (RFC 9332), as in Linux 6.17 (`sch_dualpi2`).

use std::collections::VecDeque;

use netflow_units::SplitMix64;

use super::{
    Discipline, DropReason, Drops, FifoQueue, PacketDetails, PacketInfo, Settings, WaitingPacket,
};
use crate::Buffer;

/// Two queues that share a link: L for L4S traffic (ECT(1) and CE, RFC 9331), and C for the other packets.
///
/// A PI controller keeps the longer of the two queueing delays near the target with the probability p'. Packets
/// of C are dropped, or marked if they are ECN-capable, with the probability p'²; packets of L are marked with
/// the probability k·p'. The windows of L4S and classic senders with equal round-trip times are then about equal.
/// In L, packets that waited longer than a step threshold are marked, too. A weighted round robin serves L first,
/// but leaves C a minimum share of the bandwidth.
///
/// If k·p' exceeds 1, the queue is overloaded: both queues drop ECN-capable packets with the probability p'², too.
/// The probabilities are not applied to a packet that leaves fewer bytes behind than two packets of maximum size;
/// the largest packet so far represents the maximum size. Decisions are made when packets leave, as is the default
/// of Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2 {
    /// Target queueing delay in ns (RFC 9332, appendix A.1, `target`).
    pub target_ns: u64,
    /// Interval between updates of p' in ns, at least 1, counted from time 0 (`Tupdate`).
    pub update_ns: u64,
    /// Integral gain: increase of p' per update and second of delay above the target (`alpha`, in Hz).
    pub alpha_hz: f64,
    /// Proportional gain: increase of p' per second of delay increase (`beta`, in Hz).
    pub beta_hz: f64,
    /// Coupling factor (`k`).
    pub coupling: f64,
    /// Sojourn time in ns above which packets of L are marked (`minTh` of the step).
    pub step_threshold_ns: u64,
    /// Number of packets that an L4S packet must find in L for the step to apply to it (`Th_len`; Linux:
    /// `min_qlen_step`).
    pub step_min_pkts: usize,
    /// Share of C in the bandwidth while packets wait in both queues, from 0 to 1.
    pub classic_share: f64,
}

impl Default for DualPi2 {
    /// The values of Linux: target 15 ms, update every 16 ms, gains of 0.16 and 3.2 Hz, k = 2, step at 1 ms, and
    /// 10 % for the classic queue.
    fn default() -> DualPi2 {
        DualPi2 {
            target_ns: 15_000_000,
            update_ns: 16_000_000,
            alpha_hz: 0.16,
            beta_hz: 3.2,
            coupling: 2.0,
            step_threshold_ns: 1_000_000,
            step_min_pkts: 0,
            classic_share: 0.1,
        }
    }
}

impl Settings for DualPi2 {
    fn marks(&self) -> bool {
        true
    }
}

/// Queues and state of DualPI2.
#[derive(Clone, Debug)]
pub(super) struct DualPi2Queue<P> {
    settings: DualPi2,
    low_latency: FifoQueue<P>,
    /// For each packet in L: true if the step applies to it.
    has_step: VecDeque<bool>,
    classic: FifoQueue<P>,
    /// Base probability p'.
    pub probability: f64,
    /// Queueing delay at the last update, in ns.
    old_delay_ns: u64,
    next_update_ns: u64,
    /// Bytes by which the classic queue is behind its share.
    credit: f64,
    largest: u32,
    random: SplitMix64,
}

/// Fate of a packet that leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl<P> DualPi2Queue<P> {
    pub fn new(settings: DualPi2, seed: u64) -> DualPi2Queue<P> {
        DualPi2Queue {
            settings,
            low_latency: FifoQueue::default(),
            has_step: VecDeque::new(),
            classic: FifoQueue::default(),
            probability: 0.0,
            old_delay_ns: 0,
            next_update_ns: settings.update_ns.max(1),
            credit: 0.0,
            largest: 0,
            random: SplitMix64::new(seed),
        }
    }

    /// Performs the updates due until now. The queues have not changed since the last call.
    #[inline]
    fn run_due_updates(&mut self, now_ns: u64) {
        let every_ns = self.settings.update_ns.max(1);
        while now_ns >= self.next_update_ns {
            if self.is_empty() && self.probability == 0.0 && self.old_delay_ns == 0 {
                // Updates do not change this state.
                let due = (now_ns - self.next_update_ns) / every_ns + 1;
                self.next_update_ns += due * every_ns;
                return;
            }
            self.update(self.next_update_ns);
            self.next_update_ns += every_ns;
        }
    }

    fn is_empty(&self) -> bool {
        self.low_latency.is_empty() && self.classic.is_empty()
    }

    /// Updates p' (RFC 9332, appendix A.1, figure 6).
    fn update(&mut self, now_ns: u64) {
        let delay_ns = |fifo: &FifoQueue<P>| {
            fifo.iter()
                .next()
                .map_or(0, |head| now_ns.saturating_sub(head.arrived_ns))
        };
        let delay_ns = delay_ns(&self.low_latency).max(delay_ns(&self.classic));
        let seconds = |a_ns: u64, b_ns: u64| (a_ns as f64 - b_ns as f64) * 1e-9;
        let DualPi2 {
            target_ns,
            alpha_hz,
            beta_hz,
            ..
        } = self.settings;
        let step = alpha_hz * seconds(delay_ns, target_ns)
            + beta_hz * seconds(delay_ns, self.old_delay_ns);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.old_delay_ns = delay_ns;
    }

    /// Removes the packet that the weighted round robin sends next. Returns it with the change of the credit, in
    /// bytes, if it is sent, and whether the step applies to it.
    fn next(&mut self) -> Option<(WaitingPacket<P>, f64, bool)> {
        let share = self.settings.classic_share;
        let classic_waits = !self.classic.is_empty();
        if !self.low_latency.is_empty() && (!classic_waits || self.credit <= 0.0) {
            let packet = self.low_latency.pop()?;
            let change = if classic_waits { share } else { 0.0 };
            let bytes = f64::from(packet.bytes);
            let has_step = self.has_step.pop_front().unwrap_or(false);
            return Some((packet, change * bytes, has_step));
        }
        let packet = self.classic.pop()?;
        let change = if self.low_latency.is_empty() {
            0.0
        } else {
            share - 1.0
        };
        let bytes = f64::from(packet.bytes);
        Some((packet, change * bytes, false))
    }

    /// Draws an event with this probability.
    fn draw(&mut self, probability: f64) -> bool {
        self.random.uniform() < probability
    }

    /// Decides on a packet that has left its queue.
    fn decide(&mut self, packet: &WaitingPacket<P>, now_ns: u64, has_step: bool) -> Verdict {
        let is_l4s = packet.ecn.is_l4s();
        let coupled = self.settings.coupling * self.probability;
        let is_overloaded = coupled > 1.0;
        let mut verdict = Verdict::Pass;
        if self.bytes() >= 2 * u64::from(self.largest) {
            let (p, may_mark) = (self.probability, packet.ecn.is_capable());
            verdict = match (is_l4s, is_overloaded) {
                (true, false) if self.draw(coupled) => Verdict::Mark,
                (true, false) => Verdict::Pass,
                (_, _) if self.draw(p) && self.draw(p) => {
                    if is_overloaded || !may_mark {
                        Verdict::Drop
                    } else {
                        Verdict::Mark
                    }
                }
                (true, true) => Verdict::Mark,
                (false, _) => Verdict::Pass,
            };
        }
        let waited_ns = now_ns.saturating_sub(packet.arrived_ns);
        if has_step && verdict == Verdict::Pass && waited_ns > self.settings.step_threshold_ns {
            verdict = Verdict::Mark;
        }
        verdict
    }
}

impl<P> Discipline<P> for DualPi2Queue<P> {
    fn enqueue(
        &mut self,
        packet: WaitingPacket<P>,
        _info: &PacketInfo,
        _details: impl FnOnce() -> PacketDetails,
        buffer: Buffer,
        dropped: &mut impl Drops<P>,
    ) {
        self.run_due_updates(packet.arrived_ns);
        let bytes = self.bytes() + u64::from(packet.bytes);
        if !buffer.fits(self.len() + 1, bytes) {
            dropped.record(packet.packet, DropReason::BufferFull);
            return;
        }
        self.largest = packet.bytes.max(self.largest);
        if self.is_empty() {
            // The low-latency queue begins after an idle time.
            self.credit = f64::from(self.largest) * (2.0 * self.settings.classic_share - 1.0);
        }
        if packet.ecn.is_l4s() {
            let has_step = self.low_latency.len() >= self.settings.step_min_pkts;
            self.has_step.push_back(has_step);
            self.low_latency.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut impl Drops<P>) -> Option<WaitingPacket<P>> {
        self.run_due_updates(now_ns);
        loop {
            let (mut packet, change, has_step) = self.next()?;
            match self.decide(&packet, now_ns, has_step) {
                Verdict::Drop => {
                    dropped.record(packet.packet, DropReason::Early);
                    continue;
                }
                Verdict::Mark => packet.marked = true,
                Verdict::Pass => {}
            }
            self.credit += change;
            return Some(packet);
        }
    }

    fn len(&self) -> usize {
        self.low_latency.len() + self.classic.len()
    }

    fn bytes(&self) -> u64 {
        self.low_latency.bytes + self.classic.bytes
    }

    fn clear(&mut self, _now_ns: u64, dropped: &mut Vec<P>) {
        self.low_latency.clear(dropped);
        self.has_step.clear();
        self.classic.clear(dropped);
        (self.probability, self.old_delay_ns) = (0.0, 0);
        (self.credit, self.largest) = (0.0, 0);
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &WaitingPacket<P>> + '_> {
        Box::new(self.low_latency.iter().chain(self.classic.iter()))
    }

    fn drop_probability(&self) -> f64 {
        self.probability * self.probability
    }

    #[cfg(test)]
    fn reseed(&mut self, seed: u64) {
        self.random = SplitMix64::new(seed);
    }
}
