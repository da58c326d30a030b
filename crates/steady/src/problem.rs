//! Inputs of the steady-state problem: links and active flows of a network at one time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use netflow_fluid::link_traffic::LinkTraffic;
use netflow_fluid::queue_fixed_point::{Queue, acks_per_data, ln_pass};
use netflow_fluid::tcp_drop_tail::DropTailTcpLaw;
use netflow_network::compiled::{LinkEvent, PathPair};
use netflow_network::{
    ACK_BYTES, Aqm, BufferLimit, Calibration, Change, ConnectionId, ConnectionSpec, DropPolicy,
    LinkLoss, LinkSpec, Network, Overhead, Red, Rerouted, Source,
};
use netflow_profile::Profile;
use netflow_workload::{Application as Users, TransferSizes};

use crate::SteadyError;

/// Profile index of a fixed-rate source.
pub(crate) const NO_PROFILE: u32 = u32::MAX;

/// Fraction above which a part is the whole, to allow for rounding.
const FULL_SHARE: f64 = 1.0 - 1e-9;

/// Quantities that stay constant during one solution.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub links: Vec<LinkParams>,
    /// Flows sorted by profile, so that those with one profile are evaluated together, then by
    /// class.
    pub flows: Vec<Flow>,
    /// Links of the paths of all flows: data hops first, then the return path.
    pub hop_link: Vec<u32>,
    /// Bits on the wire of a packet of each hop: data or acknowledgement.
    pub hop_bits: Vec<f64>,
    /// Probability that the link's own random loss spares a packet of each hop.
    pub hop_pass: Vec<f64>,
    pub profiles: Vec<Arc<dyn Profile>>,
    /// Random loss of every link.
    losses: Vec<LinkLoss>,
    /// Per class: the transfers whose mean rate it is.
    pub transfers: Vec<Option<Arc<TransferSizes>>>,
    /// Flow range of each profile; fixed-rate sources are last.
    pub groups: Vec<(u32, Range<usize>)>,
    /// Flows of each class: none if inactive, several if it is split among paths.
    flows_of: Vec<Range<u32>>,
    /// Flows of each connection that was taken out of its class.
    isolated: BTreeMap<u32, Range<u32>>,
    /// Number of the network's events after the time of the solution.
    pub later_events: usize,
    /// Connections without a route.
    pub without_route: Vec<ConnectionId>,
    /// Links with traffic, in ascending order.
    pub used_links: Vec<u32>,
}

/// Hops of the flows of a [part](Problem::of_part): see the fields of [`Problem`].
#[derive(Debug, Default)]
pub(crate) struct Hops {
    pub link: Vec<u32>,
    pub bits: Vec<f64>,
    pub pass: Vec<f64>,
}

/// Link parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkParams {
    pub bandwidth_bps: f64,
    pub overhead: Overhead,
    pub delay_s: f64,
    pub buffer: BufferLimit,
    pub red: Option<Red>,
    /// Queue calibration from the packet model.
    pub calibration: Calibration,
}

impl LinkParams {
    /// Returns the queue for the given mean packet size in bits.
    pub fn queue(&self, mean_bits: f64) -> Queue {
        Queue {
            buffer_pkts: self.buffer.pkts(mean_bits),
            red: self.red,
        }
    }
}

/// Connections of one class on one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub class: u32,
    /// The single connection that it is, if that was taken out of its class.
    pub isolated_connection: Option<u32>,
    /// Number of connections in the network.
    pub count: f64,
    /// Demand factor: multiplies the number of connections or, equally, their rate.
    pub demand: f64,
    /// Hop ranges of the data and of the return path.
    pub data: (u32, u32),
    pub back: (u32, u32),
    /// True if acknowledgements are modelled as traffic.
    pub sends_acks: bool,
    pub profile: u32,
    pub rate_pps: f64,
    pub window_pkts: f64,
    pub application_pps: f64,
    /// IP bits of a data packet; for the bits on a link see [`Problem::hop_bits`].
    pub data_bits: f64,
    /// Acknowledgements per data packet.
    pub acks: f64,
    /// ln of the probability that no link's random loss drops a data packet on the path.
    pub ln_pass: f64,
    /// Fraction of its packets that reaches the first hop. Links with a constant state need not be among the
    /// hops; see [`Problem::of_part`].
    pub entry_pass: f64,
}

impl Flow {
    pub fn data_hops(&self) -> Range<usize> {
        self.data.0 as usize..self.data.1 as usize
    }

    pub fn back_hops(&self) -> Range<usize> {
        self.back.0 as usize..self.back.1 as usize
    }

    /// Returns the hops of the return path on which acknowledgements are traffic and wait; empty
    /// with `acks = false`.
    pub fn ack_hops(&self) -> Range<usize> {
        if self.sends_acks {
            self.back_hops()
        } else {
            self.back.1 as usize..self.back.1 as usize
        }
    }

    /// Returns the packets/s that one connection demands whatever the network does, given its rate;
    /// 0 for bulk TCP.
    pub fn demanded_pps(&self, rate_pps: f64) -> f64 {
        match self.profile {
            NO_PROFILE => rate_pps,
            _ if self.application_pps.is_finite() => self.application_pps,
            _ => 0.0,
        }
    }

    /// Returns the packets/s of data of all its connections, each sending at this rate.
    pub fn sent_pps(&self, rate_pps: f64) -> f64 {
        rate_pps * self.count * self.demand
    }
}

/// Rejects networks that have no steady state, or none that is implemented.
fn reject_unsupported(network: &Network) -> Result<(), SteadyError> {
    let no = |what: String, reason: &'static str| Err(SteadyError::Unsupported { what, reason });
    if network.calibration_due().is_some() {
        return no(
            "the network".to_owned(),
            "it has not been calibrated by a run of the packet model yet",
        );
    }
    let inner = network.tables();
    if let Some(aggregate) = inner.aggregates.first() {
        return no(
            format!("aggregate `{}`", aggregate.name),
            "the steady state of its edge marker is not implemented; use `netflow run`",
        );
    }
    if let Some(link) = network.classed_links().next() {
        return no(
            format!("link {}", network.link_name(link)),
            "the steady state of its class scheduler is not implemented; use `netflow run`",
        );
    }
    if let Some((link, element)) = network.first_unsupported_element(|_| false) {
        return Err(SteadyError::LinkElement {
            link: network.link_name(link).to_owned(),
            element,
        });
    }
    for id in network.links() {
        let reason = match network.link_spec(id).queue {
            DropPolicy::DropTail | DropPolicy::Red(_) => continue,
            DropPolicy::Rio(_) => {
                "the steady state of its drop precedences is not implemented; use `netflow run`"
            }
            DropPolicy::Managed(Aqm::Pie(_)) => {
                "the steady state of PIE is not implemented; use `netflow run`"
            }
            DropPolicy::Managed(_) => {
                "its queue decides for each packet and needs the packet model; use `netflow run --model packet`"
            }
        };
        return no(format!("link {}", network.link_name(id)), reason);
    }
    Ok(())
}

/// Reason why a source with a congestion window has no steady state.
pub(crate) const NEEDS_PROFILE: &str = "it has a TCP source of the packet model, which has no steady state; use a `profile`, for example `linux-cubic`";

/// Rejects an active connection that has no steady state.
fn reject_connection(spec: &ConnectionSpec) -> Result<(), SteadyError> {
    let reason = match spec.source {
        Source::Ns2Tcp(_) | Source::Tcp(_) => NEEDS_PROFILE,
        Source::Users(ref traffic) if matches!(traffic.workload.application, Users::Video(_)) => {
            "its viewers load chunks in bursts, which need the packet model (`netflow run`); with `--set simulation.model=fluid`, a [[demand]] of `kind = \"video\"` is modelled by its mean rate"
        }
        _ if spec.size_pkts.is_some() => {
            "it has a `size` and ends; remove `size`, or choose a time before its start"
        }
        _ => return Ok(()),
    };
    let what = format!("connection `{}`", spec.name);
    Err(SteadyError::Unsupported { what, reason })
}

/// Counts events; changes of one link at one time are one event.
fn count_events(events: &[LinkEvent]) -> usize {
    let each = events
        .iter()
        .map(|event| (event.at_s.to_bits(), event.link));
    each.collect::<HashSet<_>>().len()
}

impl Problem {
    /// Takes the network with the bandwidths, losses, delays and active sources of just before
    /// `at_s`, and the given routes.
    pub fn new(network: &Network, at_s: f64, routes: &Rerouted) -> Result<Problem, SteadyError> {
        if at_s.is_nan() || at_s <= 0.0 {
            return Err(SteadyError::BadTime { at_s });
        }
        reject_unsupported(network)?;
        let inner = network.tables();
        let rooms = (0..).map(|link| inner.buffer_limit(link));
        let mut links: Vec<LinkParams> = inner.links.iter().zip(rooms).map(link_params).collect();
        let mut losses: Vec<LinkLoss> = inner.links.iter().map(|link| link.loss).collect();
        let begun = inner.events.partition_point(|e| e.at_s < at_s);
        for event in &inner.events[..begun] {
            let link = event.link as usize;
            match event.change {
                Change::Bandwidth(bps) => links[link].set_bandwidth(bps),
                Change::Loss(loss) => losses[link] = loss,
                Change::Delay(delay_s) => links[link].delay_s = delay_s,
                Change::Pause => {}             // rejected
                Change::Down | Change::Up => {} // in the routes
            }
        }
        let epoch = inner.epochs.partition_point(|e| e.at_s < at_s).max(1) - 1;
        let later = inner.epochs.len() - 1 - epoch;
        let mut problem = Problem {
            links,
            flows: Vec::new(),
            hop_link: Vec::new(),
            hop_bits: Vec::new(),
            hop_pass: Vec::new(),
            profiles: Vec::new(),
            losses,
            transfers: (0..inner.classes.len() as u32)
                .map(|class| inner.spec_of_class(class).transfers.clone())
                .collect(),
            groups: Vec::new(),
            flows_of: vec![0..0; inner.classes.len()],
            isolated: BTreeMap::new(),
            later_events: count_events(&inner.events[begun..]).max(later),
            without_route: Vec::new(),
            used_links: Vec::new(),
        };
        let mut known: HashMap<*const (), u32> = HashMap::new();
        let mut blocked = vec![false; inner.classes.len()];
        for (class, blocked) in blocked.iter_mut().enumerate() {
            let spec = inner.spec_of_class(class as u32);
            let (start_s, stop_s) = match &spec.source {
                Source::Users(traffic) => (traffic.workload.start_s, traffic.workload.stop_s),
                _ => (spec.start_s, spec.stop_s),
            };
            if start_s >= at_s || stop_s.is_some_and(|stop_s| stop_s < at_s) {
                continue;
            }
            reject_connection(spec)?;
            let branch = inner.epochs[epoch].class_path_of[class];
            let class = class as u32;
            let ways = routes.paths(inner, class, branch);
            *blocked = ways.is_empty();
            for way in ways {
                problem.add_flow(network, class, way, &mut known);
            }
        }
        let ids = (0..).zip(&inner.class_of);
        let ids = ids.filter(|&(_, &class)| blocked[class as usize]);
        problem.without_route = ids
            .map(|(id, _)| ConnectionId::new(id, inner.owner))
            .collect();
        problem.index_flows();
        Ok(problem)
    }

    fn add_flow(
        &mut self,
        network: &Network,
        class: u32,
        way: (f64, PathPair<'_>),
        known: &mut HashMap<*const (), u32>,
    ) {
        let inner = network.tables();
        let spec = inner.spec_of_class(class);
        let (profile, rate_pps) = match &spec.source {
            Source::Profile(p) => {
                let index = *known.entry(Arc::as_ptr(p).cast()).or_insert_with(|| {
                    self.profiles.push(p.clone());
                    self.profiles.len() as u32 - 1
                });
                (index, 0.0)
            }
            source => (NO_PROFILE, source.own_pps().unwrap_or(0.0)),
        };
        if profile == NO_PROFILE && rate_pps <= 0.0 {
            return; // it is silent
        }
        self.push_flow(network, class, way, profile, rate_pps);
    }

    /// Appends a flow of a class with this profile, or this rate, on a pair of paths.
    fn push_flow(
        &mut self,
        network: &Network,
        class: u32,
        (share, way): (f64, PathPair<'_>),
        profile: u32,
        rate_pps: f64,
    ) {
        let inner = network.tables();
        let spec = inner.spec_of_class(class);
        let bits = |l: u32, bytes: f64| {
            let overhead = inner.links[l as usize].overhead;
            overhead.wire_bits(8.0 * bytes)
        };
        let pass = |l: u32, bytes: f64| {
            let on_wire = bits(l, bytes) / 8.0;
            1.0 - self.losses[l as usize].probability(on_wire)
        };
        let first = self.hop_link.len() as u32;
        let middle = first + way.data.len() as u32;
        let end = middle + way.back.len() as u32;
        self.hop_link.extend(way.data.iter().chain(way.back));
        let bytes = spec.packet_size_bytes;
        let acks = acks_per_data(inner, spec, way.data, way.back);
        self.hop_bits
            .extend(way.data.iter().map(|&l| bits(l, bytes)));
        self.hop_bits
            .extend(way.back.iter().map(|&l| bits(l, ACK_BYTES)));
        self.hop_pass
            .extend(way.data.iter().map(|&l| pass(l, bytes)));
        self.hop_pass
            .extend(way.back.iter().map(|&l| pass(l, ACK_BYTES)));
        let lost = way.data.iter().map(|&l| ln_pass(1.0 - pass(l, bytes)));
        self.flows.push(Flow {
            class,
            isolated_connection: None,
            count: share * inner.classes[class as usize].weight,
            demand: 1.0,
            data: (first, middle),
            back: (middle, end),
            sends_acks: !way.acks.is_empty(),
            profile,
            rate_pps,
            window_pkts: spec.max_window_pkts.unwrap_or(f64::INFINITY),
            application_pps: match profile {
                NO_PROFILE => f64::INFINITY,
                _ => spec.application.mean_pps(),
            },
            data_bits: 8.0 * bytes,
            acks,
            ln_pass: lost.sum(),
            entry_pass: 1.0,
        });
    }

    /// Appends a flow like `like`, of the same class, on another pair of paths. The indices of flows do not
    /// include it.
    pub fn append_rerouted(&mut self, network: &Network, like: &Flow, way: (f64, PathPair<'_>)) {
        self.push_flow(network, like.class, way, like.profile, like.rate_pps);
        if let Some(flow) = self.flows.last_mut() {
            // They may be scaled.
            (flow.demand, flow.application_pps) = (like.demand, like.application_pps);
        }
    }

    /// Removes appended flows.
    pub fn truncate(&mut self, flows: usize, hops: usize) {
        self.flows.truncate(flows);
        self.hop_link.truncate(hops);
        self.hop_bits.truncate(hops);
        self.hop_pass.truncate(hops);
    }

    /// Returns the flows of a class in the network's own state.
    pub fn flows_of_class(&self, class: u32) -> Range<usize> {
        let all = &self.flows_of[class as usize];
        all.start as usize..all.end as usize
    }

    /// Creates the problem of these links alone, all of them with traffic. Links elsewhere have a constant state,
    /// which is part of `flows` and of `hops`. The flows are sorted by profile.
    pub fn of_part(&self, links: Vec<LinkParams>, flows: Vec<Flow>, hops: Hops) -> Problem {
        let mut part = Problem {
            used_links: (0..links.len() as u32).collect(),
            links,
            flows,
            hop_link: hops.link,
            hop_bits: hops.bits,
            hop_pass: hops.pass,
            profiles: self.profiles.clone(),
            losses: Vec::new(),
            transfers: Vec::new(),
            groups: Vec::new(),
            flows_of: Vec::new(),
            isolated: BTreeMap::new(),
            later_events: 0,
            without_route: Vec::new(),
        };
        part.group_by_profile();
        part
    }

    fn group_by_profile(&mut self) {
        self.groups.clear();
        let mut first = 0;
        for same in self.flows.chunk_by(|a, b| a.profile == b.profile) {
            self.groups
                .push((same[0].profile, first..first + same.len()));
            first += same.len();
        }
    }

    /// Sorts the flows by profile and class, and rebuilds the indices.
    fn index_flows(&mut self) {
        self.flows
            .sort_by_key(|flow| (flow.profile, flow.class, flow.isolated_connection));
        self.group_by_profile();
        let mut first = 0;
        for same in (self.flows)
            .chunk_by(|a, b| (a.class, a.isolated_connection) == (b.class, b.isolated_connection))
        {
            let all = first..first + same.len() as u32;
            first = all.end;
            match same[0].isolated_connection {
                None => self.flows_of[same[0].class as usize] = all,
                Some(connection) => {
                    self.isolated.insert(connection, all);
                }
            }
        }
        let mut used = vec![false; self.links.len()];
        for flow in &self.flows {
            for hop in flow.data_hops().chain(flow.ack_hops()) {
                used[self.hop_link[hop] as usize] = true;
            }
        }
        let all = 0..self.links.len() as u32;
        self.used_links = all.filter(|&l| used[l as usize]).collect();
    }

    /// Returns the flows of a connection: those of its class, or its own; empty if it is inactive.
    pub fn flows_of(&self, network: &Network, id: ConnectionId) -> Range<usize> {
        let class = network.tables().class_of[id.index()] as usize;
        let alone = self.isolated.get(&(id.index() as u32));
        let all = alone.unwrap_or(&self.flows_of[class]);
        all.start as usize..all.end as usize
    }

    /// Returns the fraction of these flows that belongs to a connection.
    pub fn share_of(&self, network: &Network, id: ConnectionId, flows: Range<usize>) -> f64 {
        let all: f64 = self.flows[flows].iter().map(|it| it.count).sum();
        f64::from(network.connection_spec(id).count) / all
    }

    /// Gives a connection flows of its own, so that its demand can differ from the rest of its
    /// class. Returns them; empty if it is inactive.
    pub fn isolate_connection(&mut self, network: &Network, id: ConnectionId) -> Range<usize> {
        let flows = self.flows_of(network, id);
        let part = self.share_of(network, id, flows.clone());
        if part < FULL_SHARE {
            for i in flows {
                let mut alone = self.flows[i];
                self.flows[i].count -= part * alone.count;
                (alone.count, alone.isolated_connection) =
                    (part * alone.count, Some(id.index() as u32));
                let first = self.hop_link.len() as u32;
                let old = alone.data.0;
                let moved = |at: u32| first + at - old;
                let hops = alone.data.0 as usize..alone.back.1 as usize;
                self.hop_link.extend_from_within(hops.clone());
                self.hop_bits.extend_from_within(hops.clone());
                self.hop_pass.extend_from_within(hops);
                let (data, back) = (alone.data, alone.back);
                alone.data = (moved(data.0), moved(data.1));
                alone.back = (moved(back.0), moved(back.1));
                self.flows.push(alone);
            }
            self.index_flows();
        }
        self.flows_of(network, id)
    }

    /// Returns the number of unknowns: two per link.
    pub fn size(&self) -> usize {
        2 * self.links.len()
    }

    /// Returns propagation delay plus the transmission of one data packet and one acknowledgement,
    /// in seconds: forward path, then return path.
    pub fn base_delays_s(&self, flow: &Flow) -> [f64; 2] {
        let over = |hops: Range<usize>, is_sent: bool| -> f64 {
            let links = hops.map(|h| (h, &self.links[self.hop_link[h] as usize]));
            links
                .map(|(h, l)| l.delay_s + self.sent_bits(h, is_sent) / l.bandwidth_bps)
                .sum()
        };
        [
            over(flow.data_hops(), true),
            over(flow.back_hops(), flow.sends_acks),
        ]
    }

    /// Returns the round-trip time of a flow without waiting, in seconds.
    pub fn base_rtt_s(&self, flow: &Flow) -> f64 {
        self.base_delays_s(flow).iter().sum()
    }

    /// Returns the bits on the wire of a packet of a hop if it is sent there, else 0.
    pub fn sent_bits(&self, hop: usize, is_sent: bool) -> f64 {
        if is_sent { self.hop_bits[hop] } else { 0.0 }
    }
}

impl LinkParams {
    /// Returns the queue model for this traffic.
    pub fn queue_model(&self, traffic: &LinkTraffic) -> DropTailTcpLaw {
        traffic.queue_model(self.calibration, self.red.is_some())
    }

    /// Sets the bandwidth in bit/s; a buffer given as a time scales with it.
    pub fn set_bandwidth(&mut self, bps: f64) {
        self.bandwidth_bps = bps;
        self.buffer = self.buffer.at(bps);
    }
}

fn link_params((spec, room): (&LinkSpec, BufferLimit)) -> LinkParams {
    // Exhaustive, so that every new setting of a link must be modelled or rejected.
    let &LinkSpec {
        from: _,    // in the routes
        to: _,      // in the routes
        circuit: _, // in the name
        bandwidth_bps,
        delay_s,
        overhead,
        buffer: _, // in `room`
        ref queue,
        policer: _,    // rejected
        shaper: _,     // rejected
        loss: _,       // in the delivery probability of each hop
        trace: _,      // rejected
        series: _,     // rejected
        delay_line: _, // rejected
        metric: _,     // in the routes
        calibration,
    } = spec;
    LinkParams {
        bandwidth_bps,
        overhead,
        delay_s,
        calibration,
        buffer: room,
        red: match *queue {
            DropPolicy::Red(red) => Some(red),
            _ => None,
        },
    }
}
