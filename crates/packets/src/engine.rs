//! The network of packets.

use netflow_diffserv::{Aggregate, DiffServQueue, GivenInputs, Minima, RedAverage};
use netflow_network::tables::{NO_BRANCH, Tables};
use netflow_network::{ConnectionId, DropPolicy, LinkId, Network, Set, Source};
use netflow_queues::{LossCause, Losses};
use netflow_units::Fifo;
use rand::RngExt;

use crate::endpoint::delays::{Delays, OneWay, Times, there};
use crate::endpoint::transfer::Transfer;
use crate::link::class_scheduler::Transmission;
use crate::link::edge_marker::{self, Marking};
use crate::link::queue::{Arrivals, Link, LinkCounts, Lossy, Queue, RedMarks};
use crate::link::queue_disc::QueueDisc;
use crate::parallel::partition::Partitions;
use crate::sessions::events::{NO_SLOT, Sessions};
use crate::sync::dependencies::Dependencies;
use crate::tie_break::TieBreak;
use crate::topology::{Ends, HopSpec, Topology};
use crate::{Purpose, ns, random};

/// A network of packets.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub network: Network,
    pub numbers: TieBreak,
    pub seed: u64,
    /// Wires, hops and ways as they are now.
    pub plan: Topology,
    pub links: Vec<Link>,
    pub transfers: Vec<Transfer>,
    /// By transfer.
    pub accounts: Vec<Account>,
    /// The edges of aggregates.
    pub edges: Vec<Marking>,
    /// By connection.
    pub delays: Vec<Delays>,
    /// The users of workloads.
    pub visits: Sessions,
    /// Events carried out, and which routes are in use.
    pub next_event: usize,
    pub epoch: usize,
    /// What is set of the connections of which something may be.
    pub set: Vec<Set>,
    pub now_ns: u64,
    /// How many packets arrived at links of late, once that is known.
    pub pkts_per_ns: Option<f64>,
    pub schedule: Dependencies,
    /// The network in parts, where several threads follow it.
    pub parts: Partitions,
}

/// What becomes of the packets of one transfer, seen from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub aggregate: Option<u32>,
    /// Data packets that were lost, and acknowledgements.
    pub lost: u64,
    pub lost_acks: u64,
    /// When a packet of either kind was lost last.
    pub last_lost_ns: u64,
}

impl Account {
    /// What has become of others of its packets.
    pub fn add(&mut self, more: &Account) {
        self.lost += more.lost;
        self.lost_acks += more.lost_acks;
        self.last_lost_ns = self.last_lost_ns.max(more.last_lost_ns);
    }

    pub fn new(aggregate: Option<u32>) -> Account {
        Account {
            aggregate,
            lost: 0,
            lost_acks: 0,
            last_lost_ns: 0,
        }
    }
}

/// A packet of mean size in bits, to random early detection.
const MEAN_BITS: f64 = 8000.0;

impl Engine {
    /// At time 0, where this is set of the connections of which something may be.
    pub fn new(network: Network, seed: u64, burstiness_interval_ns: u64, set: Vec<Set>) -> Engine {
        let numbers = TieBreak::new(&network);
        let plan = Topology::new(&network, &numbers);
        let inner = network.tables().clone();
        let link = |(i, id): (usize, LinkId)| {
            let (spec, buffer) = (network.link_spec(id), network.packet_buffer(id));
            Link {
                queue: match spec.queue {
                    // Precedences are refused before it comes to this.
                    // Where precedences count is made when routes are known.
                    DropPolicy::DropTail | DropPolicy::Rio(_) => Queue::new(buffer),
                    DropPolicy::Managed(discipline) => {
                        let seed = random(seed, Purpose::Queue, numbers.links[i]).random();
                        Queue::managed(QueueDisc::new(discipline, buffer, seed))
                    }
                    DropPolicy::Red(red) => Queue::with_red(
                        buffer,
                        RedAverage::new(
                            red.curve(),
                            red.gentle,
                            red.weight,
                            MEAN_BITS / spec.bandwidth_bps * 1e9,
                        ),
                        RedMarks::of(&red),
                        random(seed, Purpose::Queue, numbers.links[i]),
                    ),
                },
                lossy: (!spec.loss.is_none()).then(|| {
                    let streams = loss_streams(seed, numbers.links[i]);
                    Box::new(Lossy::new(Losses::new(&spec.loss, streams)))
                }),
                turn: Transmission::Alone,
                bandwidth_bps: spec.bandwidth_bps,
                delay_ns: ns(spec.delay_s),
                earlier: Fifo::default(),
                arrivals: Arrivals::new(burstiness_interval_ns),
            }
        };
        let transfer = |(i, ends): (usize, &Ends)| {
            let spec = &inner.connections[ends.connection as usize];
            let jitter_s = jitter_s(&network, &set, ends.connection);
            let mut transfer = Transfer::new(spec, jitter_s, *ends, seed, numbers.transfers[i]);
            if inner.aggregate_of(ends.connection).is_some() {
                transfer.is_marked();
            }
            if let Some(rate_pps) = inner.set_of(ends.connection, &set).rate_pps {
                transfer.set_rate(0, rate_pps);
            }
            transfer
        };
        let transfers: Vec<Transfer> = plan.ends.iter().enumerate().map(transfer).collect();
        let aggregates = (plan.ends.iter()).map(|ends| inner.aggregate_of(ends.connection));
        let mut engine = Engine {
            accounts: aggregates.map(Account::new).collect(),
            delays: vec![Delays::default(); inner.connections.len()],
            seed,
            visits: Sessions::new(transfers.len(), inner.connections.len()),
            edges: (0..)
                .zip(&inner.aggregates)
                .map(|(i, spec): (usize, _)| Marking::new(spec, seed, numbers.edges[i]))
                .collect(),
            schedule: Dependencies::default(),
            parts: Partitions::default(),
            links: network.links().enumerate().map(link).collect(),
            transfers,
            next_event: 0,
            epoch: 0,
            set,
            now_ns: 0,
            pkts_per_ns: None,
            plan,
            numbers,
            network,
        };
        engine.open_workloads();
        engine.route(None);
        engine.tell_precedences_apart(seed);
        engine.share_links();
        engine.make_dependencies();
        engine.apply_events();
        engine
    }

    /// One more transfer of a connection that has others already.
    pub fn add_transfer(&mut self, connection: u32) {
        let t = self.transfers.len() as u32;
        self.plan.add(connection);
        let inner = self.network.tables().clone();
        let ends = self.plan.ends[t as usize];
        let number = self.numbers.of_another(connection);
        let spec = &inner.connections[connection as usize];
        // Only users have more: they do not wait.
        let mut transfer = Transfer::new(spec, 0.0, ends, self.seed, number);
        if inner.aggregate_of(connection).is_some() {
            transfer.is_marked();
        }
        self.transfers.push(transfer);
        self.accounts
            .push(Account::new(inner.aggregate_of(connection)));
        self.visits.slot_of.push(NO_SLOT);
        self.visits.more_of[connection as usize].push(t);
        self.route_transfer(t, self.branch_of(self.epoch, connection));
    }

    /// The branch that a connection is sent over in an epoch.
    pub fn branch_of(&self, epoch: usize, connection: u32) -> u32 {
        branch_of(self.network.tables(), &self.set, epoch, connection)
    }

    /// Takes down how long packets of this transfer took.
    #[inline]
    pub fn record_delays(&mut self, t: usize) {
        let transfer = &mut self.transfers[t];
        if !transfer.receiving.has_fresh() {
            return;
        }
        let c = self.plan.ends[t].connection as usize;
        let least_ns = || least_ns(&self.network, &self.set, self.epoch, c).0;
        let one_way = there(&mut self.delays[c].one_way, || OneWay::new(least_ns()));
        if let Some(one_way) = one_way {
            transfer.receiving.drain(one_way);
        }
    }

    /// Takes down the round-trip times that the sender of this transfer has measured.
    #[inline]
    pub fn record_round_trips(&mut self, t: usize) {
        let transfer = &mut self.transfers[t];
        if transfer.rtts_ns.is_empty() {
            return;
        }
        let c = self.plan.ends[t].connection as usize;
        let least_ns = || least_ns(&self.network, &self.set, self.epoch, c).1;
        let round_trip = there(&mut self.delays[c].round_trip, || Times::new(least_ns()));
        if let Some(round_trip) = round_trip {
            let fresh = transfer.rtts_ns.drain(..);
            fresh.for_each(|rtt_ns| round_trip.add(rtt_ns));
        }
    }

    /// A packet that arrived at this hop is lost.
    pub fn is_lost(&mut self, hop: u32, at_ns: u64) {
        let spec = &self.plan.specs[hop as usize];
        lose(&mut self.accounts, &mut self.edges, spec, at_ns);
    }

    /// Sends a transfer over a branch from now on.
    pub fn route_transfer(&mut self, t: u32, branch: u32) {
        self.plan.route(&self.network, t, branch, &self.links);
        self.transfers[t as usize].ends = self.plan.ends[t as usize];
    }

    /// Puts RIO where it is asked for. Pauses are worth packets of the mean size of the link's data.
    fn tell_precedences_apart(&mut self, seed: u64) {
        for (l, id) in self.network.links().enumerate() {
            let spec = self.network.link_spec(id);
            let DropPolicy::Rio(rio) = &spec.queue else {
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
            // Without the one in service.
            let waiting = (self.network.buffer_pkts(id).floor() - 1.0).max(1.0) as u32;
            // The network's builder has checked it.
            if let Ok(dropper) = rio.dropper(spec.bandwidth_bps / mean_bits, waiting) {
                let seed = random(seed, Purpose::Queue, self.numbers.links[l]).random();
                let active = DiffServQueue::new(dropper, 0, seed);
                self.links[l].queue = Queue::with_rio(self.network.packet_buffer(id), active);
            }
        }
    }

    /// Edges tell each other the round-trip times of their aggregates.
    pub fn exchange(&mut self) {
        let specs = &self.network.tables().aggregates;
        let mut rtts = vec![Mean::default(); specs.len()];
        let mut rtos = rtts.clone();
        for (transfer, account) in self.transfers.iter().zip(&self.accounts) {
            let rtt_s = transfer.seen_rtt_s();
            if let Some(a) = account.aggregate
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
            .map(|(spec, (rtt, rto))| edge_marker::known(spec, rtt.get(), rto.get()))
            .collect();
        let minima = Minima::over(known.iter().flatten());
        for (edge, aggregate) in self.edges.iter_mut().zip(known) {
            if let Some(aggregate) = aggregate {
                edge.learn(GivenInputs { aggregate, minima });
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
            link.queue.restart_most(self.now_ns);
        }
    }

    /// Packets × nanoseconds in the link's queue until now, of those that left.
    pub fn left_time_ns(&self, l: usize) -> f64 {
        self.links[l].queue.left_time_ns(self.now_ns)
    }

    /// Packets × nanoseconds in the link's queue until now.
    pub fn queue_time_ns(&self, l: usize) -> f64 {
        self.links[l].queue.queue_time_ns(self.now_ns)
    }

    pub fn queue_pkts(&self, l: usize) -> usize {
        self.links[l].queue.length(self.now_ns)
    }

    /// Bytes in a queue that counts them.
    pub fn queue_bytes(&self, l: usize) -> u64 {
        self.links[l].queue.bytes(self.now_ns)
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
        self.accounts[i].lost
    }

    /// Data packets of a transfer that had no route.
    pub fn blocked(&self, i: usize) -> u64 {
        self.transfers[i].stranded
    }

    /// Acknowledgements that were lost.
    pub fn lost_acks(&self) -> u64 {
        self.accounts.iter().map(|account| account.lost_acks).sum()
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
        let data = (self.plan.specs.iter().enumerate()).filter(|(_, spec)| !spec.is_ack);
        data.map(|(hop, spec)| (spec, self.arrived_at(hop)))
    }

    /// Every packet: the hop it has last been accepted at, and whether it is still in that queue.
    pub fn each_under_way(&self, mut each: impl FnMut(&HopSpec, bool)) {
        for (w, origins) in (0..).zip(&self.plan.origins) {
            if origins.is_empty() {
                continue; // all that ends have sent has reached its first link
            }
            for packet in self.plan.wires.waiting(w) {
                let hop = &self.plan.specs[packet.hop as usize - 1];
                let left_ns = self.links[hop.link as usize].left_ns(packet);
                each(hop, left_ns.is_some_and(|left_ns| left_ns > self.now_ns));
            }
        }
        let pending_losses = self.links.iter().flat_map(Link::pending_losses);
        pending_losses.for_each(|packet| each(&self.plan.specs[packet.hop as usize], true));
        let managed = self
            .links
            .iter()
            .filter_map(|link| link.queue.managed.as_ref());
        for waits in managed.flat_map(|queue| queue.waiting()) {
            each(&self.plan.specs[waits.packet.hop as usize], true);
        }
    }
}

/// The streams of what the link with this number loses.
pub(crate) fn loss_streams(seed: u64, link: u64) -> impl Fn(LossCause) -> rand_pcg::Pcg32 {
    move |cause| random(seed, Purpose::Loss(cause), link)
}

/// The branch that a connection is sent over in an epoch.
fn branch_of(inner: &Tables, set: &[Set], epoch: usize, connection: u32) -> u32 {
    let path = inner.set_of(connection, set).path;
    inner.branch_of(epoch, inner.class_of[connection as usize], path)
}

/// How long a source with a window waits at most before it sends, in seconds.
fn jitter_s(network: &Network, set: &[Set], connection: u32) -> f64 {
    let inner = network.tables();
    if !matches!(
        inner.connections[connection as usize].source,
        Source::Window(_)
    ) {
        return 0.0;
    }
    let links: Vec<LinkId> = match branch_of(inner, set, 0, connection) {
        NO_BRANCH => Vec::new(),
        branch => {
            let links = inner.data_path(branch).iter();
            links.map(|&link| LinkId::new(link, inner.owner)).collect()
        }
    };
    let id = ConnectionId::new(connection, inner.owner);
    network.send_jitter_over_s(id, &links).unwrap_or_default()
}

/// Nanoseconds that the links of a connection's way take there, and there and back: at least, at any time, of all the
/// paths that it may be set to.
fn least_ns(network: &Network, set: &[Set], epoch: usize, connection: usize) -> (u64, u64) {
    let inner = network.tables();
    let delay_ns = |&l: &u32| ns(inner.delays_s(l).0);
    let of = |links: &[u32]| -> u64 { links.iter().map(delay_ns).sum() };
    let own = branch_of(inner, set, epoch, connection as u32);
    let place = inner.settable_of(connection as u32);
    let others = place.map_or(&[][..], |place| &inner.epochs[epoch].set[place]);
    let branches = others.iter().chain([&own]).filter(|&&b| b != NO_BRANCH);
    let each = branches.map(|&b| {
        let there_ns = of(inner.data_path(b));
        (there_ns, there_ns + of(inner.back_path(b)))
    });
    let least = each.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)));
    least.unwrap_or((0, 0))
}

/// A packet of this hop is lost.
pub(crate) fn lose(accounts: &mut [Account], edges: &mut [Marking], hop: &HopSpec, at_ns: u64) {
    let account = &mut accounts[hop.transfer as usize];
    account.last_lost_ns = account.last_lost_ns.max(at_ns);
    if hop.is_ack {
        account.lost_acks += 1;
        return;
    }
    account.lost += 1;
    if let Some(aggregate) = account.aggregate {
        edges[aggregate as usize].lost[usize::from(hop.precedence)] += 1;
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
