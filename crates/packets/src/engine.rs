//! The network of packets.

use netflow_diffserv::{ActiveQueue, Aggregate, Known, Minima, RedAverage};
use netflow_network::tables::NO_BRANCH;
use netflow_network::{LinkSpec, Network, Queue as Discipline};
use rand::RngExt;

use crate::advance::Clock;
use crate::calendar::{Calendar, Moments};
use crate::delays::Delays;
use crate::edge::{self, Marking};
use crate::ends::Transfer;
use crate::numbers::Numbers;
use crate::plan::{Ends, HopSpec, Plan};
use crate::queue::{LinkCounts, Queue};
use crate::users::Crowd;
use crate::visits::{NO_SLOT, Slot};
use crate::wire::Packet;
use crate::{Purpose, random};

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub queue: Queue,
    pub delay_ns: u64,
    /// Wires that end here and hold packets.
    pub pending: Vec<u32>,
}

/// A network of packets.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub network: Network,
    pub numbers: Numbers,
    pub plan: Plan,
    pub links: Vec<Link>,
    pub bandwidths_bps: Vec<f64>,
    pub transfers: Vec<Transfer>,
    /// Events carried out, and which routes are in use.
    pub next_event: usize,
    pub epoch: usize,
    /// When each transfer has something to do by itself.
    pub due_ns: Vec<u64>,
    /// Transfers at which packets arrive, and links.
    pub awake: Vec<u32>,
    pub is_awake: Vec<bool>,
    pub active_links: Vec<u32>,
    pub calendar: Calendar,
    /// Instead of it where moment follows moment: when to look at wires and at transfers.
    pub wire_moments: Moments,
    pub transfer_moments: Moments,
    pub in_order: bool,
    pub clock: Clock,
    /// Links and transfers by how many steps they take at a time: a power of two each.
    pub link_log: Vec<u8>,
    pub transfer_log: Vec<u8>,
    /// By wire: that of its end.
    pub wire_log: Vec<u8>,
    pub now_ns: u64,
    pub steps: u64,
    pub batch: Vec<Packet>,
    /// The edges of aggregates.
    pub edges: Vec<Marking>,
    /// By transfer.
    pub aggregate_of: Vec<Option<u32>>,
    /// Data packets of each transfer that were lost.
    pub lost: Vec<u64>,
    pub lost_acks: Vec<u64>,
    /// When a packet of either kind was lost last.
    pub last_lost_ns: Vec<u64>,
    /// By connection, once anything of it has arrived.
    pub delays: Vec<Option<Box<Delays>>>,
    pub seed: u64,
    /// The users of each workload, and where visits take place.
    pub crowds: Vec<Crowd>,
    pub slots: Vec<Slot>,
    /// By transfer, or [`NO_SLOT`].
    pub slot_of: Vec<u32>,
    /// By connection: transfers beside those it had at first.
    pub more_of: Vec<Vec<u32>>,
}

/// A packet of mean size in bits, to random early detection.
const MEAN_BITS: f64 = 8000.0;

impl Engine {
    pub fn new(network: Network, seed: u64) -> Engine {
        let numbers = Numbers::new(&network);
        let plan = Plan::new(&network, &numbers);
        let inner = network.tables().clone();
        let link = |(i, spec): (usize, &LinkSpec)| {
            let room = inner.room_pkts[i].floor().clamp(1.0, 1e9) as usize;
            Link {
                queue: match spec.queue {
                    // Precedences are refused before it comes to this.
                    // Where precedences count is made when routes are known.
                    Discipline::DropTail | Discipline::Rio(_) => Queue::new(room),
                    Discipline::Red(red) => Queue::with_red(
                        room,
                        RedAverage::new(
                            red.curve(),
                            red.gentle,
                            red.weight,
                            MEAN_BITS / spec.bandwidth_bps * 1e9,
                        ),
                        random(seed, Purpose::Queue, numbers.links[i]),
                    ),
                },
                delay_ns: (spec.delay_s * 1e9).round() as u64,
                pending: Vec::new(),
            }
        };
        let transfer = |(i, ends): (usize, &Ends)| {
            let spec = &inner.connections[ends.connection as usize];
            let mut transfer = Transfer::new(spec, *ends, seed, numbers.transfers[i]);
            if inner.aggregate_of(ends.connection).is_some() {
                transfer.is_marked();
            }
            transfer
        };
        let transfers: Vec<Transfer> = plan.ends.iter().enumerate().map(transfer).collect();
        let mut engine = Engine {
            lost: vec![0; transfers.len()],
            lost_acks: vec![0; transfers.len()],
            last_lost_ns: vec![0; transfers.len()],
            delays: vec![None; inner.connections.len()],
            seed,
            crowds: Vec::new(),
            slots: Vec::new(),
            slot_of: vec![NO_SLOT; transfers.len()],
            more_of: vec![Vec::new(); inner.connections.len()],
            aggregate_of: plan
                .ends
                .iter()
                .map(|ends| inner.aggregate_of(ends.connection))
                .collect(),
            edges: (0..)
                .zip(&inner.aggregates)
                .map(|(i, spec): (usize, _)| Marking::new(spec, seed, numbers.edges[i]))
                .collect(),
            is_awake: vec![false; transfers.len()],
            awake: Vec::new(),
            due_ns: transfers.iter().map(Transfer::due_ns).collect(),
            links: inner.links.iter().enumerate().map(link).collect(),
            bandwidths_bps: inner.links.iter().map(|link| link.bandwidth_bps).collect(),
            transfers,
            next_event: 0,
            epoch: 0,
            clock: Clock::default(),
            active_links: Vec::new(),
            calendar: Calendar::default(),
            wire_moments: Moments::default(),
            transfer_moments: Moments::default(),
            in_order: false,
            link_log: Vec::new(),
            transfer_log: Vec::new(),
            wire_log: Vec::new(),
            now_ns: 0,
            steps: 0,
            batch: Vec::new(),
            plan,
            numbers,
            network,
        };
        engine.open_workloads();
        engine.route(None);
        engine.tell_precedences_apart(seed);
        engine.choose_steps();
        engine.apply_events();
        engine
    }

    /// One more transfer of a connection that has others already.
    pub fn add_transfer(&mut self, connection: u32) {
        let t = self.transfers.len() as u32;
        self.plan.add(connection);
        let inner = self.network.tables().clone();
        let spec = &inner.connections[connection as usize];
        let ends = self.plan.ends[t as usize];
        let number = self.numbers.of_another(connection);
        let mut transfer = Transfer::new(spec, ends, self.seed, number);
        if inner.aggregate_of(connection).is_some() {
            transfer.is_marked();
        }
        self.transfers.push(transfer);
        self.lost.push(0);
        self.lost_acks.push(0);
        self.last_lost_ns.push(0);
        self.aggregate_of.push(inner.aggregate_of(connection));
        self.is_awake.push(false);
        self.due_ns.push(u64::MAX);
        self.slot_of.push(NO_SLOT);
        self.more_of[connection as usize].push(t);
        self.route_transfer(
            t,
            inner.epochs[self.epoch].branch_of[inner.class_of[connection as usize] as usize],
        );
        // Its links have wires between them already; those to its ends are new.
        self.transfer_log.push(0);
        self.wire_log.resize(self.plan.wires.len(), 0);
    }

    /// Takes down how long packets of this transfer took.
    #[inline]
    pub fn note_delays(&mut self, t: usize) {
        let fresh = &mut self.transfers[t].fresh;
        if fresh.is_empty() {
            return;
        }
        let connection = self.plan.ends[t].connection as usize;
        let delays = &mut self.delays[connection];
        if delays.is_none() {
            let inner = self.network.tables();
            let branch = inner.epochs[self.epoch].branch_of[inner.class_of[connection] as usize];
            let of = |links: &[u32]| links.iter().map(|&l| self.links[l as usize].delay_ns).sum();
            let (there_ns, back_ns): (u64, u64) = match branch {
                NO_BRANCH => (0, 0),
                branch => (of(inner.data_path(branch)), of(inner.back_path(branch))),
            };
            *delays = Delays::new(there_ns, there_ns + back_ns).map(Box::new);
        }
        if let Some(delays) = delays {
            fresh.drain(delays);
        }
    }

    /// A packet that arrived at this hop is lost.
    pub fn is_lost(&mut self, hop: u32, at_ns: u64) {
        let spec = &self.plan.specs[hop as usize];
        let t = spec.transfer as usize;
        self.last_lost_ns[t] = self.last_lost_ns[t].max(at_ns);
        if spec.is_ack {
            self.lost_acks[t] += 1;
            return;
        }
        self.lost[t] += 1;
        if let Some(aggregate) = self.aggregate_of[t] {
            self.edges[aggregate as usize].lost[usize::from(spec.precedence)] += 1;
        }
    }

    /// Sends a transfer over a branch from now on.
    pub fn route_transfer(&mut self, t: u32, branch: u32) {
        self.plan
            .route(&self.network, t, branch, &self.bandwidths_bps);
        self.transfers[t as usize].ends = self.plan.ends[t as usize];
    }

    /// Puts RIO where it is asked for. Pauses are worth packets of the mean size of the link's data.
    fn tell_precedences_apart(&mut self, seed: u64) {
        for (l, spec) in self.network.tables().links.iter().enumerate() {
            let Discipline::Rio(rio) = &spec.queue else {
                continue;
            };
            let crossing = || {
                let specs = self.plan.specs.iter();
                specs.filter(|hop| hop.link as usize == l && !hop.is_ack)
            };
            let mean_bits = match crossing().count() {
                0 => MEAN_BITS,
                n => crossing().map(|hop| hop.bits).sum::<f64>() / n as f64,
            };
            let room = self.links[l].queue.buffer_pkts();
            // Without the one in service.
            let waiting = u32::try_from(room - 1).unwrap_or(u32::MAX).max(1);
            // The network's builder has checked it.
            if let Ok(dropper) = rio.dropper(spec.bandwidth_bps / mean_bits, waiting) {
                let seed = random(seed, Purpose::Queue, self.numbers.links[l]).random();
                let active = ActiveQueue::new(dropper, 0, seed);
                self.links[l].queue = Queue::with_rio(room, active);
            }
        }
    }

    /// Edges tell each other the round-trip times of their aggregates.
    pub fn exchange(&mut self) {
        let specs = &self.network.tables().aggregates;
        let mut rtts = vec![Mean::default(); specs.len()];
        let mut rtos = rtts.clone();
        for (transfer, aggregate) in self.transfers.iter().zip(&self.aggregate_of) {
            let rtt_s = transfer.seen_rtt_s();
            if let Some(a) = *aggregate
                && rtt_s > 0.0
                && transfer.is_sending(self.now_ns)
            {
                rtts[a as usize].add(rtt_s);
                if let Some(rto_s) = transfer.rto_s() {
                    rtos[a as usize].add(rto_s);
                }
            }
        }
        let known: Vec<Option<Aggregate>> = specs
            .iter()
            .zip(rtts.iter().zip(&rtos))
            .map(|(spec, (rtt, rto))| edge::known(spec, rtt.get(), rto.get()))
            .collect();
        let minima = Minima::over(known.iter().flatten());
        for (edge, aggregate) in self.edges.iter_mut().zip(known) {
            if let Some(aggregate) = aggregate {
                edge.learn(Known { aggregate, minima });
            }
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Packets of each precedence that arrived and were lost at a link, and the averages there.
    pub fn precedences(&self, l: usize) -> Option<([u64; 3], [u64; 3], [f64; 3])> {
        self.links[l].queue.precedences()
    }

    pub fn link_counts(&self, l: usize) -> LinkCounts {
        self.links[l].queue.counts
    }

    /// From now on the longest queues are those from now on.
    pub fn restart_longest(&mut self) {
        for link in &mut self.links {
            link.queue.counts.most = link.queue.length(self.now_ns) as u32;
        }
    }

    /// Packets × nanoseconds in the link's queue until now.
    pub fn queue_time_ns(&self, l: usize) -> f64 {
        let queue = &self.links[l].queue;
        queue.counts.sojourn_ns as f64 - queue.still_ns(self.now_ns) as f64
    }

    pub fn queue_pkts(&self, l: usize) -> usize {
        self.links[l].queue.length(self.now_ns)
    }

    /// Nanoseconds of work in the queue.
    pub fn work_ns(&self, l: usize) -> u64 {
        self.links[l].queue.work_ns(self.now_ns)
    }

    pub fn transfers(&self) -> usize {
        self.transfers.len()
    }

    pub fn transfer(&self, i: usize) -> &Transfer {
        &self.transfers[i]
    }

    /// Data packets of a transfer that were lost.
    pub fn lost(&self, i: usize) -> u64 {
        self.lost[i]
    }

    /// Data packets of a transfer that had no route.
    pub fn blocked(&self, i: usize) -> u64 {
        self.transfers[i].stranded
    }

    pub fn lost_acks(&self) -> u64 {
        let stranded = self.transfers.iter().map(|t| t.acks_stranded);
        self.lost_acks.iter().sum::<u64>() + stranded.sum::<u64>()
    }

    /// Data packets of each transfer in queues and between them.
    pub fn data_under_way(&self) -> Vec<(u32, u32)> {
        let mut by_transfer = vec![(0, 0); self.transfers.len()];
        self.each_under_way(|hop, queued| {
            if !hop.is_ack {
                let (in_queues, flying) = &mut by_transfer[hop.transfer as usize];
                *in_queues += u32::from(queued);
                *flying += u32::from(!queued);
            }
        });
        by_transfer
    }

    /// Acknowledgements in queues and between them.
    pub fn acks_under_way(&self) -> (u64, u64) {
        let (mut in_queues, mut flying) = (0, 0);
        self.each_under_way(|hop, queued| {
            if hop.is_ack {
                in_queues += u64::from(queued);
                flying += u64::from(!queued);
            }
        });
        (in_queues, flying)
    }

    /// Every link on every way of data, and the packets that have arrived there.
    pub fn data_hops(&self) -> impl Iterator<Item = (&HopSpec, u64)> {
        let hops = self.plan.hops.iter().map(|hop| hop.arrived);
        self.plan
            .specs
            .iter()
            .zip(hops)
            .filter(|(spec, _)| !spec.is_ack)
    }

    /// Every packet: the hop it has last been accepted at, and whether it is still in that queue.
    pub fn each_under_way(&self, mut each: impl FnMut(&HopSpec, bool)) {
        for (wire, origins) in self.plan.wires.iter().zip(&self.plan.origins) {
            if origins.is_empty() {
                continue; // all that ends have sent has reached its first link
            }
            for packet in wire.waiting() {
                let hop = &self.plan.specs[packet.hop as usize - 1];
                let delay_ns = self.links[hop.link as usize].delay_ns;
                each(hop, packet.time_ns - delay_ns > self.now_ns);
            }
        }
    }
}

/// A mean, if there is anything to take it of.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}
