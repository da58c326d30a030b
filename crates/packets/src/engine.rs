//! Engine of the packet simulation: its state, set-up and counters.

use std::collections::HashSet;

use netflow_diffserv::{Aggregate, DiffServQueue, GivenInputs, Minima};
use netflow_network::compiled::CompiledNetwork;
use netflow_network::{
    Change, ChangeCursor, ConnectionId, ControlState, DropPolicy, LinkId, LinkSpec, Network, Red,
    Source,
};
use netflow_queues::{DelayLineQueue, EarlyDrop, LossCause, Losses, PrecedenceCounts, TraceServer};
use netflow_units::Fifo;
use rand::RngExt;

use crate::endpoint::delay_histograms::{Delays, OneWayDelays, TimeHistogram, get_or_create};
use crate::endpoint::transfer::Transfer;
use crate::link::class_scheduler::Transmission;
use crate::link::edge_marker::{self, EdgeMarker};
use crate::link::queue::{ArrivalCounter, Link, LinkCounts, PacketDelays, Queue, TransitLosses};
use crate::link::queue_disc::QueueDisc;
use crate::parallel::partition::Partitions;
use crate::sessions::events::Sessions;
use crate::sync::dependencies::Dependencies;
use crate::tie_break::TieBreak;
use crate::topology::{HopSpec, Topology, TransferPaths};
use crate::{Purpose, ns, random};

/// State of a packet simulation.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub network: Network,
    pub tie_break: TieBreak,
    pub seed: u64,
    /// Current wires, hops and paths.
    pub topology: Topology,
    pub links: Vec<Link>,
    pub transfers: Vec<Transfer>,
    /// Losses, by transfer.
    pub loss_counts: Vec<LossCounts>,
    /// Edges of aggregates.
    pub edge_markers: Vec<EdgeMarker>,
    /// Delays, by connection.
    pub delays: Vec<Delays>,
    /// Sessions of workloads.
    pub sessions: Sessions,
    /// Number of events applied, and current epoch of routes.
    pub changes: ChangeCursor,
    pub epoch: usize,
    /// Settings of settable connections.
    pub control_states: Vec<ControlState>,
    pub now_ns: u64,
    /// Packets per ns that arrived at links in the last interval, if known.
    pub pkts_per_ns: Option<f64>,
    pub dependencies: Dependencies,
    /// Partitions of the network for several threads.
    pub partitions: Partitions,
}

/// Losses of the packets of one transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossCounts {
    pub aggregate: Option<u32>,
    /// Lost data packets and lost acknowledgements.
    pub lost: u64,
    pub lost_acks: u64,
    /// Copies of data packets and of acknowledgements that links have made.
    pub copies: u64,
    pub ack_copies: u64,
    /// Time of the last loss of either kind, in ns.
    pub last_lost_ns: u64,
}

impl LossCounts {
    /// Adds the losses of another account.
    pub fn add(&mut self, more: &LossCounts) {
        self.lost += more.lost;
        self.lost_acks += more.lost_acks;
        self.copies += more.copies;
        self.ack_copies += more.ack_copies;
        self.last_lost_ns = self.last_lost_ns.max(more.last_lost_ns);
    }

    pub fn new(aggregate: Option<u32>) -> LossCounts {
        LossCounts {
            aggregate,
            lost: 0,
            lost_acks: 0,
            copies: 0,
            ack_copies: 0,
            last_lost_ns: 0,
        }
    }
}

impl Engine {
    /// Returns the engine at time 0, with these settings of settable connections.
    pub fn new(
        network: Network,
        seed: u64,
        burstiness_interval_ns: u64,
        set: Vec<ControlState>,
    ) -> Engine {
        let tie_break = TieBreak::new(&network);
        let topology = Topology::new(&network, &tie_break);
        let inner = network.tables().clone();
        let pauses = inner.events.iter().filter(|it| it.change == Change::Pause);
        let pausing: HashSet<u32> = pauses.map(|it| it.link).collect();
        let link = |(i, id): (usize, LinkId)| {
            // Exhaustive, so that every new setting of a link must be simulated or rejected.
            let &LinkSpec {
                from: _,    // in the routes
                to: _,      // in the routes
                circuit: _, // in the name
                bandwidth_bps,
                delay_s,
                overhead: _, // in the service times of `Topology`
                buffer: _,   // in `packet_buffer`
                ref queue,
                policer,
                shaper,
                ref loss,
                ref trace,
                series: _, // in `changes`
                ref delay_line,
                metric: _,      // in the routes
                calibration: _, // of the fluid model
            } = network.link_spec(id);
            let buffer = network.packet_buffer(id);
            let mut link = Link {
                queue: match *queue {
                    // RIO queues are set up when routes are known.
                    DropPolicy::DropTail | DropPolicy::Rio(_) => Queue::new(buffer),
                    DropPolicy::Managed(discipline) => {
                        let seed = random(seed, Purpose::Queue, tie_break.links[i]).random();
                        Queue::with_discipline(QueueDisc::new(discipline, buffer, seed))
                    }
                    DropPolicy::Red(red) => {
                        let random = random(seed, Purpose::Queue, tie_break.links[i]);
                        let average = red.average(bandwidth_bps);
                        Queue::with_early_drop(buffer, EarlyDrop::red(average, red.marks(), random))
                    }
                },
                policer: policer.map(|it| Box::new(it.bucket())),
                shaper: shaper.map(|it| Box::new(it.bucket())),
                // Losses at the limit of a delay line count as losses in transit.
                transit_losses: (!loss.is_none() || delay_line.limit_pkts.is_some()).then(|| {
                    let streams = loss_streams(seed, tie_break.links[i]);
                    Box::new(TransitLosses::new(Losses::new(loss, streams)))
                }),
                transmission: Transmission::Exclusive,
                bandwidth_bps,
                delay_ns: ns(delay_s),
                min_delay_ns: delay_line.min_delay_ns(ns(delay_s)),
                delay_line: (!delay_line.is_plain()).then(|| {
                    let random = random(seed, Purpose::Delay, tie_break.links[i]);
                    Box::new(PacketDelays {
                        line: DelayLineQueue::new(delay_line.clone(), random),
                        transmitted_last: Vec::new(),
                    })
                }),
                trace: trace
                    .as_ref()
                    .map(|it| Box::new(TraceServer::new(it.trace.clone(), it.offset_ns))),
                departed_with_old_delay: Fifo::default(),
                arrivals: ArrivalCounter::new(burstiness_interval_ns),
            };
            let pauses = pausing.contains(&(i as u32)) || network.link_spec(id).pauses();
            if shaper.is_some() || pauses || link.trace.is_some() || link.delay_line.is_some() {
                link.queue.choose_when_free(buffer);
            }
            link
        };
        let transfer = |(i, ends): (usize, &TransferPaths)| {
            let spec = &inner.connections[ends.connection as usize];
            let jitter_s = jitter_s(&network, &set, ends.connection);
            let mut transfer = Transfer::new(spec, jitter_s, *ends, seed, tie_break.transfers[i]);
            if inner.aggregate_of(ends.connection).is_some() {
                transfer.record_windows();
            }
            if let Some(rate_pps) = inner.control_state_of(ends.connection, &set).rate_pps {
                transfer.set_rate(0, rate_pps);
            }
            transfer
        };
        let transfers: Vec<Transfer> = topology.ends.iter().enumerate().map(transfer).collect();
        let aggregates = (topology.ends.iter()).map(|ends| inner.aggregate_of(ends.connection));
        let mut engine = Engine {
            loss_counts: aggregates.map(LossCounts::new).collect(),
            delays: vec![Delays::default(); inner.connections.len()],
            seed,
            sessions: Sessions::new(transfers.len(), inner.connections.len()),
            edge_markers: (0..)
                .zip(&inner.aggregates)
                .map(|(i, spec): (usize, _)| EdgeMarker::new(spec, seed, tie_break.edges[i]))
                .collect(),
            dependencies: Dependencies::default(),
            partitions: Partitions::default(),
            links: network.links().enumerate().map(link).collect(),
            transfers,
            changes: ChangeCursor::new(&inner),
            epoch: 0,
            control_states: set,
            now_ns: 0,
            pkts_per_ns: None,
            topology,
            tie_break,
            network,
        };
        engine.open_workloads();
        engine.route(None);
        engine.set_up_rio(seed);
        engine.set_up_class_schedulers();
        engine.make_dependencies();
        engine.apply_events();
        engine
    }

    /// Adds a transfer to a connection that has others already.
    pub fn add_transfer(&mut self, connection: u32) {
        let t = self.transfers.len() as u32;
        self.topology.add(connection);
        let inner = self.network.tables().clone();
        let ends = self.topology.ends[t as usize];
        let number = self.tie_break.next_transfer_number(connection);
        let spec = &inner.connections[connection as usize];
        // Only workloads add transfers. They have no send jitter.
        let mut transfer = Transfer::new(spec, 0.0, ends, self.seed, number);
        if inner.aggregate_of(connection).is_some() {
            transfer.record_windows();
        }
        self.transfers.push(transfer);
        self.loss_counts
            .push(LossCounts::new(inner.aggregate_of(connection)));
        self.sessions.slot_of.push(None);
        self.sessions.added_transfers[connection as usize].push(t);
        self.route_transfer(t, self.branch_of(self.epoch, connection));
    }

    /// Returns the branch over which a connection is sent in an epoch, if it has a route.
    pub fn branch_of(&self, epoch: usize, connection: u32) -> Option<u32> {
        branch_of(
            self.network.tables(),
            &self.control_states,
            epoch,
            connection,
        )
    }

    /// Records the one-way delays of the packets that have arrived since the last call.
    #[inline]
    pub fn record_delays(&mut self, t: usize) {
        let transfer = &mut self.transfers[t];
        if !transfer.receiver.has_new_delays() {
            return;
        }
        let c = self.topology.ends[t].connection as usize;
        let least_ns = || min_propagation_ns(&self.network, &self.control_states, self.epoch, c).0;
        let one_way = get_or_create(
            &mut self.delays[c].one_way,
            || OneWayDelays::new(least_ns()),
        );
        if let Some(one_way) = one_way {
            transfer.receiver.drain_delays(one_way);
        }
    }

    /// Records the round-trip times that the sender has measured since the last call.
    #[inline]
    pub fn record_round_trips(&mut self, t: usize) {
        let transfer = &mut self.transfers[t];
        if transfer.rtts_ns.is_empty() {
            return;
        }
        let c = self.topology.ends[t].connection as usize;
        let least_ns = || min_propagation_ns(&self.network, &self.control_states, self.epoch, c).1;
        let round_trip = get_or_create(&mut self.delays[c].round_trip, || {
            TimeHistogram::new(least_ns())
        });
        if let Some(round_trip) = round_trip {
            let fresh = transfer.rtts_ns.drain(..);
            fresh.for_each(|rtt_ns| round_trip.add(rtt_ns));
        }
    }

    /// Counts the loss of a packet that arrived at this hop.
    pub fn count_loss(&mut self, hop: u32, at_ns: u64) {
        let spec = &self.topology.specs[hop as usize];
        record_loss(&mut self.loss_counts, &mut self.edge_markers, spec, at_ns);
    }

    /// Sends a transfer over a branch from now on.
    pub fn route_transfer(&mut self, t: u32, branch: Option<u32>) {
        self.topology.route(&self.network, t, branch, &self.links);
        self.transfers[t as usize].ends = self.topology.ends[t as usize];
    }

    /// Sets up RIO where it is configured. The average decays in idle periods by packets of the mean size of
    /// the link's data.
    fn set_up_rio(&mut self, seed: u64) {
        for (l, id) in self.network.links().enumerate() {
            let spec = self.network.link_spec(id);
            let DropPolicy::Rio(rio) = &spec.queue else {
                continue;
            };
            let crossing = || {
                let specs = self.topology.specs.iter();
                specs.filter(|hop| hop.link as usize == l && !hop.is_ack)
            };
            let mean_bits = match crossing().count() {
                0 => Red::MEAN_PACKET_BITS,
                n => crossing().map(|hop| hop.bits).sum::<f64>() / n as f64,
            };
            // Without the packet in service.
            let waiting = (self.network.buffer_pkts(id).floor() - 1.0).max(1.0) as u32;
            // The network's builder has validated it.
            if let Ok(dropper) = rio.dropper(spec.bandwidth_bps / mean_bits, waiting) {
                let seed = random(seed, Purpose::Queue, self.tie_break.links[l]).random();
                let active = DiffServQueue::new(dropper, 0, seed);
                let buffer = self.network.packet_buffer(id);
                let mut queue = Queue::with_early_drop(buffer, EarlyDrop::rio(active));
                if self.links[l].queue.is_managed() {
                    queue.choose_when_free(buffer);
                }
                self.links[l].queue = queue;
            }
        }
    }

    /// Distributes the round-trip times of all aggregates to all edges.
    pub fn exchange_rtts(&mut self) {
        let specs = &self.network.tables().aggregates;
        let mut rtts = vec![Mean::default(); specs.len()];
        let mut rtos = rtts.clone();
        for (transfer, account) in self.transfers.iter().zip(&self.loss_counts) {
            let rtt_s = transfer.smoothed_rtt_s();
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
            .map(|(spec, (rtt, rto))| edge_marker::given_inputs(spec, rtt.get(), rto.get()))
            .collect();
        let minima = Minima::over(known.iter().flatten());
        for (edge, aggregate) in self.edge_markers.iter_mut().zip(known) {
            if let Some(aggregate) = aggregate {
                edge.set_inputs(GivenInputs { aggregate, minima });
            }
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the packets of each precedence that arrived and were lost at a link, and RIO's average queue
    /// lengths.
    pub fn precedences(&self, l: usize) -> Option<(PrecedenceCounts, [f64; 3])> {
        self.links[l].queue.precedences()
    }

    pub fn link_counts(&self, l: usize) -> LinkCounts {
        self.links[l].queue.counts
    }

    /// Restarts the maximum queue lengths from now on.
    pub fn restart_longest(&mut self) {
        for link in &mut self.links {
            link.queue.restart_max(self.now_ns);
        }
    }

    /// Returns the time that departed packets have spent in the link's queue, in packet·ns.
    pub fn departed_queue_time_ns(&self, l: usize) -> f64 {
        self.links[l].queue.departed_queue_time_ns(self.now_ns)
    }

    /// Returns the time that packets have spent in the link's queue until now, in packet·ns.
    pub fn queue_time_ns(&self, l: usize) -> f64 {
        self.links[l].queue.queue_time_ns(self.now_ns)
    }

    pub fn queue_pkts(&self, l: usize) -> usize {
        self.links[l].queue.length(self.now_ns)
    }

    /// Returns the bytes in a queue that counts bytes.
    pub fn queue_bytes(&self, l: usize) -> u64 {
        self.links[l].queue.bytes(self.now_ns)
    }

    /// Returns the remaining service time in the queue, in ns.
    pub fn backlog_ns(&self, l: usize) -> u64 {
        self.links[l].queue.backlog_ns(self.now_ns)
    }

    pub fn transfers(&self) -> usize {
        self.transfers.len()
    }

    pub fn transfer(&self, i: usize) -> &Transfer {
        &self.transfers[i]
    }

    /// Returns the number of lost data packets of a transfer.
    pub fn lost(&self, i: usize) -> u64 {
        self.loss_counts[i].lost
    }

    /// Returns the number of data packets of a transfer that had no route.
    pub fn blocked(&self, i: usize) -> u64 {
        self.transfers[i].unrouted
    }

    /// Returns the number of lost acknowledgements.
    pub fn lost_acks(&self) -> u64 {
        self.loss_counts
            .iter()
            .map(|account| account.lost_acks)
            .sum()
    }

    /// Returns for each transfer the number of data packets in queues and in flight.
    pub fn data_in_network(&self) -> Vec<(u32, u32)> {
        let mut by_transfer = vec![(0, 0); self.transfers.len()];
        self.for_each_in_network(|hop, queued| {
            if !hop.is_ack {
                let (in_queues, flying) = &mut by_transfer[hop.transfer as usize];
                *in_queues += u32::from(queued);
                *flying += u32::from(!queued);
            }
        });
        by_transfer
    }

    /// Returns the number of acknowledgements in queues and in flight.
    pub fn acks_in_network(&self) -> (u64, u64) {
        let (mut in_queues, mut flying) = (0, 0);
        self.for_each_in_network(|hop, queued| {
            if hop.is_ack {
                in_queues += u64::from(queued);
                flying += u64::from(!queued);
            }
        });
        (in_queues, flying)
    }

    /// Returns every hop of data, with the number of packets that have arrived there.
    pub fn data_hops(&self) -> impl Iterator<Item = (&HopSpec, u64)> {
        let data = (self.topology.specs.iter().enumerate()).filter(|(_, spec)| !spec.is_ack);
        data.map(|(hop, spec)| (spec, self.arrived_at(hop)))
    }

    /// Calls `each` for every packet, with the hop that accepted it last and whether it is still in that
    /// queue.
    pub fn for_each_in_network(&self, mut each: impl FnMut(&HopSpec, bool)) {
        for (w, origins) in (0..).zip(&self.topology.origins) {
            if origins.is_empty() {
                continue; // packets from endpoints reach their first link at once
            }
            for packet in self.topology.wires.waiting(w) {
                let hop = &self.topology.specs[packet.hop as usize - 1];
                let left_ns = self.links[hop.link as usize].transmission_end_ns(packet);
                each(hop, left_ns.is_some_and(|left_ns| left_ns > self.now_ns));
            }
        }
        let pending_losses = self.links.iter().flat_map(Link::pending_losses);
        pending_losses.for_each(|packet| each(&self.topology.specs[packet.hop as usize], true));
        let managed = self.links.iter().filter_map(|link| link.queue.managed());
        for waits in managed.flat_map(|queue| queue.waiting()) {
            each(&self.topology.specs[waits.packet.hop as usize], true);
        }
    }
}

/// Returns the random-number streams for the losses of a link, by cause.
pub(crate) fn loss_streams(seed: u64, link: u64) -> impl Fn(LossCause) -> rand_pcg::Pcg32 {
    move |cause| random(seed, Purpose::Loss(cause), link)
}

/// Returns the branch over which a connection is sent in an epoch, if it has a route.
fn branch_of(
    inner: &CompiledNetwork,
    set: &[ControlState],
    epoch: usize,
    connection: u32,
) -> Option<u32> {
    let path = inner.control_state_of(connection, set).path;
    inner.class_path_of(epoch, inner.class_of[connection as usize], path)
}

/// Returns the maximum random delay of a window source before it sends, in seconds.
fn jitter_s(network: &Network, set: &[ControlState], connection: u32) -> f64 {
    let inner = network.tables();
    if !matches!(
        inner.connections[connection as usize].source,
        Source::Ns2Tcp(_)
    ) {
        return 0.0;
    }
    let links: Vec<LinkId> = match branch_of(inner, set, 0, connection) {
        None => Vec::new(),
        Some(branch) => {
            let links = inner.data_path(branch).iter();
            links.map(|&link| LinkId::new(link, inner.owner)).collect()
        }
    };
    let id = ConnectionId::new(connection, inner.owner);
    network.send_jitter_over_s(id, &links).unwrap_or_default()
}

/// Returns the minimum propagation delay of a connection in ns, one-way and round-trip. The minimum is over
/// time and over all paths that may be set.
fn min_propagation_ns(
    network: &Network,
    set: &[ControlState],
    epoch: usize,
    connection: usize,
) -> (u64, u64) {
    let inner = network.tables();
    let delay_ns = |&l: &u32| ns(inner.delays_s(l).0);
    let of = |links: &[u32]| -> u64 { links.iter().map(delay_ns).sum() };
    let own = branch_of(inner, set, epoch, connection as u32);
    let place = inner.control_index(connection as u32);
    let others = place.map_or(&[][..], |place| &inner.epochs[epoch].control_paths[place]);
    let others = others.iter().flatten().map(|b| b.get());
    let each = others.chain(own).map(|b| {
        let there_ns = of(inner.data_path(b));
        (there_ns, there_ns + of(inner.back_path(b)))
    });
    let least = each.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)));
    least.unwrap_or((0, 0))
}

/// Counts the loss of a packet of this hop.
pub(crate) fn record_loss(
    accounts: &mut [LossCounts],
    edges: &mut [EdgeMarker],
    hop: &HopSpec,
    at_ns: u64,
) {
    let account = &mut accounts[hop.transfer as usize];
    account.last_lost_ns = account.last_lost_ns.max(at_ns);
    if hop.is_ack {
        account.lost_acks += 1;
        return;
    }
    account.lost += 1;
    if let Some(aggregate) = account.aggregate {
        edges[aggregate as usize].lost[hop.precedence.index()] += 1;
    }
}

/// Changes the number of copies of packets of this hop.
pub(crate) fn change_copies(
    accounts: &mut [LossCounts],
    edges: &mut [EdgeMarker],
    hop: &HopSpec,
    change: fn(&mut u64),
) {
    let account = &mut accounts[hop.transfer as usize];
    if hop.is_ack {
        return change(&mut account.ack_copies);
    }
    change(&mut account.copies);
    if let Some(aggregate) = account.aggregate {
        change(&mut edges[aggregate as usize].copies[hop.precedence.index()]);
    }
}

/// Mean of the values added, if there are any.
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
