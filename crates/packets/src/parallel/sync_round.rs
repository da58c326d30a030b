//! What the parts of a network tell each other, and in which rounds.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use netflow_tcpmodel::tcp::NEVER;
use netflow_units::Fifo;

use crate::link::wire::{Packet, Wires};
use crate::parallel::partition::Partition;
use crate::parallel::spin_barrier::SpinBarrier;

/// What parts tell each other in a round.
pub(crate) struct SyncRound {
    /// By link that others wait for: its horizon.
    earliest_output_ns: Vec<AtomicU64>,
    /// By part: how far the last of its links has come, and what others have sent it, with the wires.
    least_ns: Vec<AtomicU64>,
    sent: Vec<Mutex<Sent>>,
}

/// Packets that one part has sent another, by wire: what was on it stands here as it was, and what was here before, which is
/// empty by then, is on it.
#[derive(Default)]
struct Sent {
    each: Vec<(u32, Fifo<Packet>)>,
    /// So many of these hold packets.
    used: usize,
}

impl Sent {
    fn add(&mut self, wire: u32, wires: &mut Wires) {
        if self.used == self.each.len() {
            self.each.push((wire, Fifo::default()));
        }
        let (which, packets) = &mut self.each[self.used];
        *which = wire;
        wires.exchange(wire, packets);
        self.used += 1;
    }

    fn take(&mut self, wires: &mut Wires) {
        for (wire, packets) in &mut self.each[..self.used] {
            packets.iter().for_each(|&packet| {
                wires.push(*wire, packet);
            });
            packets.clear();
        }
        self.used = 0;
    }
}

impl SyncRound {
    pub fn new(links: usize, parts: usize) -> SyncRound {
        let zeros = |n| {
            std::iter::repeat_with(|| AtomicU64::new(0))
                .take(n)
                .collect()
        };
        SyncRound {
            earliest_output_ns: zeros(links),
            least_ns: zeros(parts),
            sent: (0..parts).map(|_| Mutex::default()).collect(),
        }
    }

    /// What has been sent to a part.
    fn sent_to(&self, part: usize) -> MutexGuard<'_, Sent> {
        // Where one panics all do.
        self.sent[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partition {
    /// All that happens here before `end_ns`, in rounds: while one is heard, the next is told.
    pub fn follow(
        &mut self,
        number: usize,
        end_ns: u64,
        rounds: &[SyncRound; 2],
        barrier: &SpinBarrier,
    ) {
        if !std::mem::replace(&mut self.is_own, true) {
            self.engine.move_in_memory();
        }
        if !barrier.wait() {
            return;
        }
        for (i, round) in rounds.iter().cycle().enumerate() {
            let least_ns = match i {
                // What others may know of links they may know when the ends behind these have acted.
                0 => self.ends_begin(end_ns),
                _ => self.engine.turn(end_ns),
            };
            self.tell(round);
            round.least_ns[number].store(least_ns, Relaxed);
            if !barrier.wait() {
                return;
            }
            self.hear(number, round);
            let mut all = round.least_ns.iter();
            if all.all(|least_ns| least_ns.load(Relaxed) >= end_ns) {
                return;
            }
        }
    }

    /// What ends do that have heard all they will for now. How far links have come: nowhere.
    fn ends_begin(&mut self, end_ns: u64) -> u64 {
        for &l in &self.links {
            self.engine.run_endpoints(l as usize, end_ns);
        }
        0
    }

    fn tell(&mut self, round: &SyncRound) {
        let engine = &mut self.engine;
        for &l in &self.border {
            let earliest_output_ns = engine.schedule.earliest_output_ns[l as usize];
            round.earliest_output_ns[l as usize].store(earliest_output_ns, Relaxed);
        }
        for &(wire, to) in &self.out {
            if engine.plan.wires.head_ns(wire) != NEVER {
                round.sent_to(to as usize).add(wire, &mut engine.plan.wires);
            }
        }
    }

    fn hear(&mut self, number: usize, round: &SyncRound) {
        let engine = &mut self.engine;
        for &l in &self.remote_inputs {
            let earliest_output_ns = round.earliest_output_ns[l as usize].load(Relaxed);
            engine.schedule.earliest_output_ns[l as usize] = earliest_output_ns;
        }
        round.sent_to(number).take(&mut engine.plan.wires);
    }
}
