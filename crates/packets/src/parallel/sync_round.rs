//! Synchronization rounds of partitions: exchange of earliest output times and packets.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use netflow_tcpmodel::tcp::NEVER;
use netflow_units::Fifo;

use crate::link::wire::{Packet, Wires};
use crate::parallel::partition::Partition;
use crate::parallel::spin_barrier::SpinBarrier;

/// Data that partitions exchange in a round.
pub(crate) struct SyncRound {
    /// Earliest output times of border links in ns, by link.
    earliest_output_ns: Vec<AtomicU64>,
    /// By partition: the minimum local time of its links in ns, and the packets that others have sent it.
    min_local_time_ns: Vec<AtomicU64>,
    sent: Vec<Mutex<SentPackets>>,
}

/// Packets from one partition to another, by wire. The packets of a wire are swapped with an empty queue, not
/// copied.
#[derive(Default)]
struct SentPackets {
    packets_by_wire: Vec<(u32, Fifo<Packet>)>,
    /// Number of entries that hold packets.
    used_wires: usize,
}

impl SentPackets {
    fn add(&mut self, wire: u32, wires: &mut Wires) {
        if self.used_wires == self.packets_by_wire.len() {
            self.packets_by_wire.push((wire, Fifo::default()));
        }
        let (which, packets) = &mut self.packets_by_wire[self.used_wires];
        *which = wire;
        wires.exchange(wire, packets);
        self.used_wires += 1;
    }

    fn take(&mut self, wires: &mut Wires) {
        for (wire, packets) in &mut self.packets_by_wire[..self.used_wires] {
            packets.iter().for_each(|&packet| {
                wires.push(*wire, packet);
            });
            packets.clear();
        }
        self.used_wires = 0;
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
            min_local_time_ns: zeros(parts),
            sent: (0..parts).map(|_| Mutex::default()).collect(),
        }
    }

    /// Returns the packets sent to a partition.
    fn sent_to(&self, part: usize) -> MutexGuard<'_, SentPackets> {
        // A panic of one thread ends all of them.
        self.sent[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partition {
    /// Runs all events before `end_ns` in rounds. Two of them alternate: one is written while the other may
    /// still be read.
    pub fn run_rounds(
        &mut self,
        number: usize,
        end_ns: u64,
        rounds: &[SyncRound; 2],
        barrier: &SpinBarrier,
    ) {
        if !std::mem::replace(&mut self.is_own, true) {
            self.engine.reallocate_locally();
        }
        if !barrier.wait() {
            return;
        }
        for (i, round) in rounds.iter().cycle().enumerate() {
            let least_ns = match i {
                // Earliest output times are valid for other partitions once the endpoints behind the links
                // have run.
                0 => self.start_endpoints(end_ns),
                _ => self.engine.sweep_once(end_ns),
            };
            self.publish(round);
            round.min_local_time_ns[number].store(least_ns, Relaxed);
            if !barrier.wait() {
                return;
            }
            self.read_remote(number, round);
            let mut all = round.min_local_time_ns.iter();
            if all.all(|least_ns| least_ns.load(Relaxed) >= end_ns) {
                return;
            }
        }
    }

    /// Runs the endpoints of all links. Returns 0 because no link has advanced.
    fn start_endpoints(&mut self, end_ns: u64) -> u64 {
        self.engine.index_endpoints(self.links.iter().copied());
        for &l in &self.links {
            self.engine.run_endpoints(l as usize, end_ns);
        }
        0
    }

    fn publish(&mut self, round: &SyncRound) {
        let engine = &mut self.engine;
        for &l in &self.border_links {
            let earliest_output_ns = engine.dependencies.earliest_output_ns[l as usize];
            round.earliest_output_ns[l as usize].store(earliest_output_ns, Relaxed);
        }
        for &(wire, to) in &self.output_wires {
            if engine.topology.wires.head_ns(wire) != NEVER {
                round
                    .sent_to(to as usize)
                    .add(wire, &mut engine.topology.wires);
            }
        }
    }

    fn read_remote(&mut self, number: usize, round: &SyncRound) {
        let engine = &mut self.engine;
        for &l in &self.remote_inputs {
            let earliest_output_ns = round.earliest_output_ns[l as usize].load(Relaxed);
            engine.dependencies.earliest_output_ns[l as usize] = earliest_output_ns;
        }
        round.sent_to(number).take(&mut engine.topology.wires);
    }
}
