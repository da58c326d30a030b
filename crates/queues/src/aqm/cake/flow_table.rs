//! Flow queues of a CAKE tin: set-associative hashing and host fairness, as in Linux 6.18 (`sch_cake`;
//! Høiland-Jørgensen, Täht, Morton 2018).

use std::collections::VecDeque;

use super::StoredPacket;
use super::cobalt::Cobalt;

/// Fairness between flows and hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// One queue for all packets.
    FlowBlind,
    /// A queue for each source host.
    SrcHost,
    /// A queue for each destination host.
    DstHost,
    /// A queue for each pair of hosts.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// A queue for each flow; source hosts have equal shares.
    DualSrcHost,
    /// A queue for each flow; destination hosts have equal shares.
    DualDstHost,
    /// A queue for each flow; a flow's share is that of its busier host.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// Returns whether source and destination hosts have equal shares.
    fn counted_hosts(self) -> [bool; 2] {
        let triple = self == Isolation::TripleIsolate;
        [
            triple || self == Isolation::DualSrcHost,
            triple || self == Isolation::DualDstHost,
        ]
    }

    /// Returns the hash that selects a queue.
    fn queue_hash(self, hashes: &Hashes) -> u32 {
        let [source, destination] = hashes.hosts;
        match self {
            Isolation::FlowBlind => 0,
            Isolation::SrcHost => source,
            Isolation::DstHost => destination,
            Isolation::Hosts => source ^ destination,
            Isolation::Flows
            | Isolation::DualSrcHost
            | Isolation::DualDstHost
            | Isolation::TripleIsolate => hashes.flow,
        }
    }
}

/// Number of queues, and of entries of a host table.
pub(super) const QUEUES: usize = 1024;
/// Number of places that a flow or host can have.
pub(super) const WAYS: usize = 8;

/// Hashes of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub flow: u32,
    /// Hashes of the source and the destination host.
    pub hosts: [u32; 2],
}

/// Returns the places of a hash, the preferred one first.
fn ways(hash: u32) -> impl Iterator<Item = usize> + Clone {
    let reduced = hash as usize % QUEUES;
    let (set, first) = (reduced - reduced % WAYS, reduced % WAYS);
    (0..WAYS).map(move |i| set + (first + i) % WAYS)
}

/// Numbers of bulk flows by host, for sources or destinations.
#[derive(Clone, Debug)]
struct HostTable {
    /// Hash and number of bulk flows.
    hosts: Vec<(u32, u16)>,
}

impl HostTable {
    fn new() -> HostTable {
        HostTable {
            hosts: vec![(0, 0); QUEUES],
        }
    }

    /// Returns the place of a host, which is assigned if it has none. Hosts share a place if all are in use.
    fn place_of(&mut self, hash: u32) -> u16 {
        let places = ways(hash);
        let place = (places.clone().find(|&k| self.hosts[k].0 == hash))
            .or_else(|| places.clone().find(|&k| self.hosts[k].1 == 0))
            .unwrap_or(hash as usize % QUEUES);
        self.hosts[place].0 = hash;
        place as u16
    }
}

/// Activity of a flow queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// In no list.
    Idle,
    /// In the list of new flows.
    Sparse,
    /// Emptied sparse flow that waits for its turn in the list of old flows.
    SparseWaiting,
    /// In the list of old flows.
    Bulk,
    /// Empty, while the drop rate of its COBALT still decays.
    Decaying,
}

/// Lists of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListName {
    New,
    Old,
    Decaying,
}

/// No flow.
const NONE: u16 = u16::MAX;

/// Flow queue.
#[derive(Clone, Debug)]
pub(super) struct Flow<P> {
    pub packets: VecDeque<StoredPacket<P>>,
    /// Bytes of the packets.
    pub bytes: u64,
    pub cobalt: Cobalt,
    /// Bytes that it may still send in its round.
    pub deficit: i32,
    pub activity: Activity,
    /// Hash of the flow that has reserved the queue.
    tag: u32,
    /// Places of its hosts in the host tables.
    hosts: [u16; 2],
    list: Option<ListName>,
    previous: u16,
    next: u16,
}

/// Doubly linked list of flows.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u16,
    last: u16,
}

/// Flow queues of a tin.
#[derive(Clone, Debug)]
pub(super) struct FlowTable<P> {
    isolation: Isolation,
    /// Flow of each place; allocated with the first packet.
    places: Vec<u16>,
    pub flows: Vec<Flow<P>>,
    host_tables: [Option<HostTable>; 2],
    lists: [List; 3],
    /// Flows that are sparse or bulk.
    pub active: usize,
}

impl<P> FlowTable<P> {
    pub fn new(isolation: Isolation) -> FlowTable<P> {
        FlowTable {
            isolation,
            places: Vec::new(),
            flows: Vec::new(),
            host_tables: [None, None],
            lists: [List {
                first: NONE,
                last: NONE,
            }; 3],
            active: 0,
        }
    }

    /// Returns the index of the queue of a packet with these hashes.
    pub fn queue_of(&mut self, hashes: &Hashes) -> usize {
        if self.places.is_empty() {
            self.places = vec![NONE; QUEUES];
            let table = |counts: bool| counts.then(HostTable::new);
            self.host_tables = self.isolation.counted_hosts().map(table);
        }
        if self.isolation == Isolation::FlowBlind {
            return self.flow_at(0);
        }
        let hash = self.isolation.queue_hash(hashes);
        let flow = |k: usize| self.flows.get(usize::from(self.places[k]));
        let is_idle = |k: usize| flow(k).is_none_or(|flow| flow.activity == Activity::Idle);
        let reserved = ways(hash).find(|&k| flow(k).map_or(0, |flow| flow.tag) == hash);
        if let Some(place) = reserved
            && !is_idle(place)
        {
            return self.flow_at(place);
        }
        let free = reserved.or_else(|| ways(hash).find(|&k| is_idle(k)));
        // Without a free queue, the flow shares one.
        let index = self.flow_at(free.unwrap_or(hash as usize % QUEUES));
        let is_bulk = self.flows[index].activity == Activity::Bulk;
        if is_bulk {
            self.count_bulk(index, u16::saturating_sub);
        }
        let flow = &mut self.flows[index];
        flow.tag = hash;
        for (side, table) in self.host_tables.iter_mut().enumerate() {
            if let Some(table) = table {
                flow.hosts[side] = table.place_of(hashes.hosts[side]);
            }
        }
        if is_bulk {
            self.count_bulk(index, u16::saturating_add);
        }
        index
    }

    /// Returns the index of the flow at a place, which is created if there is none.
    fn flow_at(&mut self, place: usize) -> usize {
        if self.places[place] == NONE {
            self.places[place] = self.flows.len() as u16;
            self.flows.push(Flow {
                packets: VecDeque::new(),
                bytes: 0,
                cobalt: Cobalt::default(),
                deficit: 0,
                activity: Activity::Idle,
                tag: 0,
                hosts: [0; 2],
                list: None,
                previous: NONE,
                next: NONE,
            });
        }
        usize::from(self.places[place])
    }

    /// Counts a flow as bulk, or no longer, at its hosts.
    fn count_bulk(&mut self, flow: usize, change: fn(u16, u16) -> u16) {
        let places = self.flows[flow].hosts;
        for (table, place) in self.host_tables.iter_mut().zip(places) {
            if let Some(table) = table {
                let count = &mut table.hosts[usize::from(place)].1;
                *count = change(*count, 1);
            }
        }
    }

    /// Sets the activity of a flow, which stays in its list.
    pub fn set_activity(&mut self, flow: usize, activity: Activity) {
        let before = std::mem::replace(&mut self.flows[flow].activity, activity);
        let is_active = |it| !matches!(it, Activity::Idle | Activity::Decaying);
        self.active += usize::from(is_active(activity));
        self.active -= usize::from(is_active(before));
        match (before == Activity::Bulk, activity == Activity::Bulk) {
            (false, true) => self.count_bulk(flow, u16::saturating_add),
            (true, false) => self.count_bulk(flow, u16::saturating_sub),
            _ => {}
        }
    }

    /// Moves a flow to the end of a list, or out of all lists.
    pub fn move_to(&mut self, flow: usize, list: Option<ListName>) {
        self.unlink(flow);
        if let Some(list) = list {
            self.link(flow, list);
        }
    }

    fn unlink(&mut self, flow: usize) {
        let Flow {
            list,
            previous,
            next,
            ..
        } = self.flows[flow];
        let Some(list) = list else { return };
        let list = &mut self.lists[list as usize];
        match self.flows.get_mut(usize::from(previous)) {
            Some(previous) => previous.next = next,
            None => list.first = next,
        }
        match self.flows.get_mut(usize::from(next)) {
            Some(next) => next.previous = previous,
            None => list.last = previous,
        }
        self.flows[flow].list = None;
    }

    fn link(&mut self, flow: usize, name: ListName) {
        let list = &mut self.lists[name as usize];
        let last = std::mem::replace(&mut list.last, flow as u16);
        match self.flows.get_mut(usize::from(last)) {
            Some(last) => last.next = flow as u16,
            None => list.first = flow as u16,
        }
        let flow = &mut self.flows[flow];
        (flow.list, flow.previous, flow.next) = (Some(name), last, NONE);
    }

    /// Returns the first flow of a list.
    pub fn first(&self, name: ListName) -> Option<usize> {
        let first = self.lists[name as usize].first;
        (first != NONE).then_some(usize::from(first))
    }

    /// Returns the quantum of a flow in bytes: the flow quantum divided by the load of its busier host. `dither`
    /// is random, so that rounding has no effect on average.
    pub fn quantum(&self, flow: usize, flow_quantum: u16, dither: u16) -> i32 {
        let places = self.flows[flow].hosts;
        let loads = self.host_tables.iter().zip(places).map(|(table, place)| {
            let table = table.as_ref();
            table.map_or(1, |table| table.hosts[usize::from(place)].1)
        });
        let load = loads.fold(1, u16::max);
        let share = u32::from(u16::MAX / load);
        ((u32::from(flow_quantum) * share + u32::from(dither)) >> 16) as i32
    }
}
