//! What the parts of a network tell each other, and in which rounds.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use netflow_tcpmodel::tcp::NEVER;

use crate::meeting::Meeting;
use crate::parts::Part;
use crate::wire::Packet;

/// What parts tell each other in a round.
pub(crate) struct Round {
    /// By link that others wait for: its horizon.
    horizon_ns: Vec<AtomicU64>,
    /// By part: how far the last of its links has come, and what others have sent it, with the wires.
    least_ns: Vec<AtomicU64>,
    sent: Vec<Mutex<Vec<(u32, Packet)>>>,
}

impl Round {
    pub fn new(links: usize, parts: usize) -> Round {
        let zeros = |n| {
            std::iter::repeat_with(|| AtomicU64::new(0))
                .take(n)
                .collect()
        };
        Round {
            horizon_ns: zeros(links),
            least_ns: zeros(parts),
            sent: (0..parts).map(|_| Mutex::default()).collect(),
        }
    }

    /// What has been sent to a part.
    fn sent_to(&self, part: usize) -> MutexGuard<'_, Vec<(u32, Packet)>> {
        // Where one panics all do.
        self.sent[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part {
    /// All that happens here before `end_ns`, in rounds: while one is heard, the next is told.
    pub fn follow(&mut self, number: usize, end_ns: u64, rounds: &[Round; 2], meeting: &Meeting) {
        if !meeting.wait() {
            return;
        }
        for round in rounds.iter().cycle() {
            let least_ns = self.engine.turn(end_ns);
            self.tell(round);
            round.least_ns[number].store(least_ns, Relaxed);
            if !meeting.wait() {
                return;
            }
            self.hear(number, round);
            let mut all = round.least_ns.iter();
            if all.all(|least_ns| least_ns.load(Relaxed) >= end_ns) {
                return;
            }
        }
    }

    fn tell(&mut self, round: &Round) {
        let engine = &mut self.engine;
        for &l in &self.border {
            let horizon_ns = engine.schedule.horizon_ns[l as usize];
            round.horizon_ns[l as usize].store(horizon_ns, Relaxed);
        }
        for &(wire, to) in &self.out {
            if engine.plan.wires.head_ns(wire) != NEVER {
                let mut sent = round.sent_to(to as usize);
                let wires = &mut engine.plan.wires;
                wires.take_all(wire, |packet| sent.push((wire, packet)));
            }
        }
    }

    fn hear(&mut self, number: usize, round: &Round) {
        let engine = &mut self.engine;
        for &l in &self.beyond {
            let horizon_ns = round.horizon_ns[l as usize].load(Relaxed);
            engine.schedule.horizon_ns[l as usize] = horizon_ns;
        }
        for (wire, packet) in round.sent_to(number).drain(..) {
            engine.plan.wires.push(wire, packet);
        }
    }
}
