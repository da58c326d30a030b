//! Index of the endpoints that a link feeds, by the times of their next events.
//!
//! A link with few endpoints looks at all of them when it advances. A link with many endpoints has an
//! [event list](EventList), and looks only at endpoints with an event.
//!
//! If several links feed an endpoint, no list has its entry later than its next event. Arrivals are scheduled in all
//! lists. A timer is set by an earlier event, for which each list has an entry until its link has advanced past it.

use netflow_tcpmodel::tcp::NEVER;

use crate::engine::Engine;
use crate::sync::dependencies::{Dependencies, Endpoint, LinkDependencies};
use crate::sync::event_list::EventList;
use crate::topology::Target;

/// Minimum number of endpoints of a link with an event list. It is small in tests, whose networks are small.
pub(crate) const MIN_INDEXED_ENDPOINTS: usize = if cfg!(test) { 3 } else { 64 };

/// Endpoint or session slot that a link feeds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fed {
    Receiver(Endpoint),
    Sender(Endpoint),
    Slot(u32),
}

/// Event lists of links with many endpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndpointIndex {
    /// Event lists, by link.
    lists: Vec<Option<EventList>>,
    /// Links with a list that feed an endpoint, and its number there, by [key](Engine::index_key).
    positions: Vec<Vec<(u32, u32)>>,
    /// Number of transfers for which the positions are valid.
    transfers: usize,
    /// Scratch memory: endpoints with events, and the next events of endpoints that have run.
    due: Vec<u32>,
    later: Vec<(u32, u64)>,
}

fn receiver_key(transfer: u32) -> usize {
    2 * transfer as usize
}

fn sender_key(transfer: u32) -> usize {
    2 * transfer as usize + 1
}

impl LinkDependencies {
    /// Returns the endpoint with this number. Receivers precede senders, which may act because of them.
    fn endpoint(&self, number: u32) -> Option<Fed> {
        let number = number as usize;
        let (senders_from, slots_from) = (
            self.receivers.len(),
            self.receivers.len() + self.senders.len(),
        );
        if number < senders_from {
            self.receivers.get(number).copied().map(Fed::Receiver)
        } else if number < slots_from {
            let number = number - senders_from;
            self.senders.get(number).copied().map(Fed::Sender)
        } else {
            self.slots.get(number - slots_from).copied().map(Fed::Slot)
        }
    }
}

impl EndpointIndex {
    /// Returns true if a link has an event list.
    #[inline]
    pub fn has_list(&self, l: usize) -> bool {
        self.lists.get(l).is_some_and(Option::is_some)
    }

    fn list_mut(&mut self, l: u32) -> Option<&mut EventList> {
        self.lists.get_mut(l as usize)?.as_mut()
    }
}

impl Dependencies {
    /// Schedules an arrival at an endpoint at the links with an event list that feed it.
    fn schedule_arrival(&mut self, key: usize, at_ns: u64) {
        let Some(positions) = self.index.positions.get(key) else {
            return;
        };
        for &(l, number) in positions {
            if let Some(Some(list)) = self.index.lists.get_mut(l as usize) {
                list.schedule(number, at_ns);
                let next_ns = &mut self.links_of[l as usize].next_endpoint_event_ns;
                *next_ns = at_ns.min(*next_ns);
            }
        }
    }
}

impl Engine {
    fn index_key(&self, fed: Fed) -> usize {
        match fed {
            Fed::Receiver(end) => receiver_key(end.transfer),
            Fed::Sender(end) => sender_key(end.transfer),
            // All of its endpoints share the key of the first one.
            Fed::Slot(slot) => receiver_key(self.sessions.slots[slot as usize].first),
        }
    }

    /// Returns the key of the endpoint at the end of a wire.
    fn index_key_of_wire(&self, wire: u32) -> Option<usize> {
        let (t, key) = match self.topology.targets[wire as usize] {
            Target::Link(_) => return None,
            Target::Receiver(t) => (t, receiver_key(t)),
            Target::Sender(t) => (t, sender_key(t)),
        };
        Some(match self.sessions.slot_of[t as usize] {
            None => key,
            Some(slot) => receiver_key(self.sessions.slots[slot.index()].first),
        })
    }

    /// Prepares the event lists of `links` for sweeps of an interval.
    pub fn index_endpoints(&mut self, links: impl Iterator<Item = u32> + Clone) {
        self.topology.wires.changed.clear();
        if self.dependencies.index.transfers != self.transfers.len() {
            self.make_endpoint_index(links.clone());
        }
        for l in links {
            if !self.dependencies.index.has_list(l as usize) {
                continue;
            }
            let mut list = self.dependencies.index.lists[l as usize].take();
            if let Some(list) = &mut list {
                list.clear();
                let link = &self.dependencies.links_of[l as usize];
                for number in 0..link.endpoint_count() as u32 {
                    if let Some(fed) = link.endpoint(number) {
                        list.schedule(number, self.endpoint_event_ns(fed));
                    }
                }
            }
            self.dependencies.index.lists[l as usize] = list;
        }
    }

    /// Decides which of `links` have an event list, and finds the positions of their endpoints.
    fn make_endpoint_index(&mut self, links: impl Iterator<Item = u32>) {
        let mut lists = vec![None; self.links.len()];
        let mut positions = Vec::new();
        for l in links {
            let link = &self.dependencies.links_of[l as usize];
            if link.endpoint_count() < MIN_INDEXED_ENDPOINTS {
                continue;
            }
            lists[l as usize] = Some(EventList::default());
            positions.resize(2 * self.transfers.len(), Vec::new());
            for number in 0..link.endpoint_count() as u32 {
                if let Some(fed) = link.endpoint(number) {
                    let key = self.index_key(fed);
                    positions[key].push((l, number));
                }
            }
        }
        if !positions.is_empty() {
            for w in 0..self.topology.wires.len() as u32 {
                let key = self.index_key_of_wire(w);
                if key.is_some_and(|key| !positions[key].is_empty()) {
                    self.topology.wires.watch(w);
                }
            }
        }
        let index = &mut self.dependencies.index;
        (index.lists, index.positions) = (lists, positions);
        index.transfers = self.transfers.len();
    }

    /// Schedules the arrivals at endpoints of packets that have been sent since the last call.
    #[inline]
    pub fn schedule_arrivals(&mut self) {
        while let Some(wire) = self.topology.wires.changed.pop() {
            if let Some(key) = self.index_key_of_wire(wire) {
                let at_ns = self.topology.wires.head_ns(wire);
                self.dependencies.schedule_arrival(key, at_ns);
            }
        }
    }

    /// Runs the endpoints with an event before the earliest output time `output_ns` of their link, which has
    /// an event list. Returns the time of the next event.
    pub fn run_due_endpoints(&mut self, l: usize, output_ns: u64, end_ns: u64) -> u64 {
        let mut due = std::mem::take(&mut self.dependencies.index.due);
        let mut later = std::mem::take(&mut self.dependencies.index.later);
        loop {
            if let Some(list) = self.dependencies.index.list_mut(l as u32) {
                due.extend(std::iter::from_fn(|| list.pop_before(output_ns)));
            }
            if due.is_empty() {
                break;
            }
            due.sort_unstable();
            for number in due.drain(..) {
                let Some(fed) = self.dependencies.links_of[l].endpoint(number) else {
                    continue;
                };
                let next_ns = self.run_endpoint(fed, output_ns, end_ns);
                // An event before the output time waits for another link.
                later.push((number, next_ns));
            }
            self.schedule_arrivals();
        }
        let list = self.dependencies.index.list_mut(l as u32);
        let next_ns = list.map_or(NEVER, |list| {
            for (number, next_ns) in later.drain(..) {
                list.schedule(number, next_ns);
            }
            list.next_ns()
        });
        (self.dependencies.index.due, self.dependencies.index.later) = (due, later);
        next_ns
    }
}
