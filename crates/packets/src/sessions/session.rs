//! Arrivals of sessions, and allocation of their slots (an object pool).

use netflow_network::base_rtt_s;
use netflow_tcpmodel::tcp::NEVER;
use netflow_units::NonMaxU32;

use crate::endpoint::transfer::Transfer;
use crate::engine::Engine;
use crate::sessions::events::{self, ActiveSession, SessionClass, Slot};

/// Minimum idle time of a slot in ns before it is used again. With sessions it is also the maximum length of
/// an interval, so that the state of a slot before that time is final.
pub(crate) const SESSION_LOOKAHEAD_NS: u64 = 50_000_000;

impl Engine {
    /// Creates a first slot for each pair of nodes of each workload.
    pub fn open_workloads(&mut self) {
        let inner = self.network.tables().clone();
        let mut first_of: Vec<Option<u32>> = vec![None; inner.connections.len()];
        for (t, ends) in (0..).zip(&self.topology.ends) {
            first_of[ends.connection as usize].get_or_insert(t);
        }
        let seeds = self.network.workload_seeds(self.seed);
        for ((c, users), seed) in inner.workloads.iter().enumerate().zip(seeds) {
            let rtt_s = users
                .pairs
                .iter()
                .map(|pair| base_rtt_s(&self.network, pair[0]));
            let arrivals = users.spec.arrivals(seed);
            let mut class = SessionClass::new(arrivals, rtt_s.collect());
            for (p, pair) in users.pairs.iter().enumerate() {
                let Some(first) = first_of[pair[0].index()] else {
                    continue;
                };
                class.free_slots[p].insert((0, self.sessions.slots.len() as u32));
                self.add_slot(first, c as u32, p as u32);
            }
            self.sessions.classes.push(class);
        }
    }

    fn add_slot(&mut self, first: u32, class: u32, pair: u32) {
        let slot = NonMaxU32::new(self.sessions.slots.len() as u32);
        for t in [first, first + 1] {
            self.sessions.slot_of[t as usize] = slot;
        }
        self.sessions.slots.push(Slot {
            first,
            class,
            pair,
            session: None,
            last_ns: 0,
        });
    }

    /// Returns a slot in which nothing remains of the last session at `now_ns`, or a new one.
    fn free_slot(&mut self, class: usize, pair: usize, now_ns: u64) -> usize {
        /// Maximum number of slots to inspect. The first have been unused longest.
        const MAX_INSPECTED_SLOTS: usize = 4;
        for _ in 0..MAX_INSPECTED_SLOTS {
            let left = &mut self.sessions.classes[class].free_slots[pair];
            let Some(&(from_ns, slot)) = left.first().filter(|(from_ns, _)| *from_ns <= now_ns)
            else {
                break;
            };
            left.remove(&(from_ns, slot));
            if self.is_drained(slot as usize, now_ns) {
                return slot as usize;
            }
            // The slot follows all others.
            self.sessions.classes[class].free_slots[pair]
                .insert((now_ns + SESSION_LOOKAHEAD_NS, slot));
        }
        let inner = self.network.tables().clone();
        let first = self.transfers.len() as u32;
        for id in inner.workloads[class].pairs[pair] {
            self.add_transfer(id.index() as u32);
        }
        self.add_slot(first, class as u32, pair as u32);
        let slot = self.sessions.slots.len() - 1;
        self.schedule_slot(slot as u32, first);
        slot
    }

    /// Returns the number of slots, which is at least the maximum number of simultaneous sessions.
    pub fn slots(&self) -> usize {
        self.sessions.slots.len()
    }

    /// Returns true if nothing of the slot's transfers was in flight or due [`SESSION_LOOKAHEAD_NS`] ago.
    fn is_drained(&self, slot: usize, now_ns: u64) -> bool {
        let slot = &self.sessions.slots[slot];
        let first = slot.first as usize;
        let was_quiet = |at_ns: u64| at_ns == 0 || at_ns + SESSION_LOOKAHEAD_NS <= now_ns;
        was_quiet(slot.last_ns)
            && (first..first + 2).all(|t| {
                let it = &self.transfers[t];
                let losses = &self.loss_counts[t];
                was_quiet(losses.last_lost_ns)
                    && it.is_idle()
                    && it.sent() + losses.copies
                        == it.receiver.arrived + losses.lost + self.blocked(t)
                    && it.receiver.acks_sent + losses.ack_copies
                        == it.acks_arrived + losses.lost_acks + it.receiver.acks_unrouted
            })
    }

    /// Admits the sessions that arrive before `end_ns`, in order.
    pub fn admit_sessions(&mut self, end_ns: u64) {
        loop {
            let classes = (0..).zip(&self.sessions.classes);
            let Some((c, _)) = classes.min_by_key(|(_, class)| class.next_ns()) else {
                return;
            };
            let Some((session, pair)) = self.sessions.classes[c].next_arrival(end_ns) else {
                return;
            };
            let visit = ActiveSession::new(session, pair);
            let came_ns = visit.arrival_ns();
            let s = self.free_slot(c, pair, came_ns);
            let first = self.sessions.slots[s].first;
            for (t, server) in [(first, false), (first + 1, true)] {
                self.transfers[t as usize].start_session(came_ns, server);
            }
            self.sessions.slots[s].session = Some(visit);
            self.dependencies.set_due(first, NEVER, came_ns);
        }
    }

    /// Returns the time in ns of the next event at a slot that does not depend on an arrival.
    pub fn slot_due_ns(&self, s: usize) -> u64 {
        let slot = &self.sessions.slots[s];
        let first = slot.first as usize;
        let own_ns = slot.session.as_ref().map_or(NEVER, ActiveSession::due_ns);
        let ends = &self.transfers[first..first + 2];
        let each = ends.iter().map(Transfer::due_ns);
        each.fold(own_ns, u64::min)
    }

    /// Runs all events before `until_ns` at the endpoints of a slot's transfers.
    pub fn run_session_slot(&mut self, s: usize, until_ns: u64) {
        let slot = &mut self.sessions.slots[s];
        let first = slot.first as usize;
        let class = &mut self.sessions.classes[slot.class as usize];
        let ends = self.transfers.get_mut(first..first + 2);
        let Some(ends) = ends.and_then(|ends| <&mut [Transfer; 2]>::try_from(ends).ok()) else {
            return;
        };
        let acted = events::run_slot(
            &mut slot.session,
            ends,
            until_ns,
            &mut self.topology.wires,
            class,
        );
        slot.last_ns = acted.last_ns.unwrap_or(slot.last_ns);
        if let Some(over_ns) = acted.ended_ns {
            ends.iter_mut().for_each(Transfer::end_session);
            class.free_slots[slot.pair as usize].insert((over_ns + SESSION_LOOKAHEAD_NS, s as u32));
        }
        let due_ns = self.slot_due_ns(s);
        self.dependencies.set_due(first as u32, NEVER, due_ns);
        for t in [first, first + 1] {
            self.record_delays(t);
            self.record_round_trips(t);
        }
    }
}
