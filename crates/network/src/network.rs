//! An immutable network with its routes, connection classes and events.

use std::collections::BTreeSet;
use std::sync::Arc;

use netflow_profile::CUBIC_AMPLITUDE;
use netflow_tcpmodel::Stack;
use netflow_units::NonMaxU32;

use crate::compiled::CompiledNetwork;
use crate::{
    ACK_BYTES, Change, ConnectionId, ConnectionSpec, EventSpec, LinkElement, LinkId, LinkLoss,
    LinkSpec, NodeId, Source, WorkloadSpec,
};

/// Default limit of the random delay before a window source sends, in seconds.
const MAX_DEFAULT_JITTER_S: f64 = 1e-3;

/// Largest acceptable relative error of a transmission time in whole nanoseconds.
const MAX_ROUNDING_ERROR: f64 = 0.01;
/// Bandwidth in bit/s below which the error is never larger, except for packets smaller than an
/// acknowledgement.
const MIN_COARSE_BPS: f64 = 6e9;

/// Returns the transmission time in whole nanoseconds, at least 1.
pub fn service_ns(bits: f64, bandwidth_bps: f64) -> u64 {
    (bits / bandwidth_bps * 1e9).round().clamp(1.0, 1e18) as u64
}

/// An immutable network: links, connections grouped into classes, their routes, and events.
///
/// Cloning is cheap: clones share the same data.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) inner: Arc<CompiledNetwork>,
}

impl Source {
    /// Returns whether it receives acknowledgements, and so has a round-trip time.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Source::Constant { .. } | Source::Poisson { .. })
    }

    /// Returns whether it adapts to the fluid state of the network (a profile source).
    pub fn has_feedback(&self) -> bool {
        matches!(self, Source::Profile(_))
    }

    /// Returns the mean rate in packets/s of each connection of an unresponsive source; `None` for TCP.
    pub fn own_pps(&self) -> Option<f64> {
        match self {
            Source::Constant { rate_pps } | Source::Poisson { rate_pps } => Some(*rate_pps),
            Source::Users(traffic) => Some(traffic.mean_pps),
            Source::Profile(_) | Source::Ns2Tcp(_) | Source::Tcp(_) => None,
        }
    }

    /// Returns the TCP stack of its ends, if it has one.
    pub fn stack(&self) -> Option<&Stack> {
        match self {
            Source::Tcp(stack) => Some(stack),
            Source::Users(traffic) if traffic.workload.source.is_none() => {
                Some(&traffic.workload.stack)
            }
            _ => None,
        }
    }

    /// Returns the IP bytes of an acknowledgement, without SACK blocks.
    pub fn ack_bytes(&self) -> f64 {
        self.stack().map_or(ACK_BYTES, |stack| stack.ack_bytes(0))
    }
}

impl Network {
    /// Returns the tables that engines read.
    pub fn tables(&self) -> &Arc<CompiledNetwork> {
        &self.inner
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.inner.nodes.len()
    }

    /// Returns the number of directed links.
    pub fn link_count(&self) -> usize {
        self.inner.links.len()
    }

    /// Returns the number of connections; one with `count = n` counts once.
    pub fn connection_count(&self) -> usize {
        self.inner.connections.len()
    }

    /// Returns the number of connection classes, which determines the cost of a step.
    pub fn class_count(&self) -> usize {
        self.inner.classes.len()
    }

    /// Returns all nodes, in the order they were added.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        let owner = self.inner.owner;
        (0..self.node_count() as u32).map(move |n| NodeId(n, owner))
    }

    /// Returns all links, in the order they were added.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        let owner = self.inner.owner;
        (0..self.link_count() as u32).map(move |l| LinkId(l, owner))
    }

    /// Returns all links without the queues of traffic classes, which follow as links of their own.
    pub fn links_without_class_queues(&self) -> impl Iterator<Item = LinkId> + use<> {
        let classes = self.inner.multi_queue_links.iter();
        let queues: usize = classes.map(|it| it.classes.len()).sum();
        self.links().take(self.link_count() - queues)
    }

    /// Returns all connections, in the order they were added.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + use<> {
        let owner = self.inner.owner;
        (0..self.connection_count() as u32).map(move |c| ConnectionId(c, owner))
    }

    /// Returns the workloads, in the order they were added.
    pub fn workloads(&self) -> impl ExactSizeIterator<Item = &WorkloadSpec> {
        self.inner.workloads.iter().map(|users| &*users.spec)
    }

    /// Returns the node's name.
    ///
    /// # Panics
    /// If the id is of another network, as in all look-ups by id.
    pub fn node_name(&self, id: NodeId) -> &str {
        &self.inner.nodes[id.within(self.inner.owner)]
    }

    /// Returns the link's name, `FROM->TO`.
    pub fn link_name(&self, id: LinkId) -> &str {
        &self.inner.link_names[id.within(self.inner.owner)]
    }

    /// Returns the name of the first link and the number of others, as text; `None` for an empty slice.
    pub fn first_link_name(&self, links: &[LinkId]) -> Option<String> {
        let (&first, others) = links.split_first()?;
        let first = self.link_name(first);
        Some(match others.len() {
            0 => first.to_owned(),
            1 => format!("{first} and 1 other link"),
            others => format!("{first} and {others} other links"),
        })
    }

    /// Returns the connection's name.
    pub fn connection_name(&self, id: ConnectionId) -> &str {
        &self.inner.connections[id.within(self.inner.owner)].name
    }

    /// Returns the lowest and the highest bandwidth of the link in bit/s above 0, over its initial value, its series and
    /// all events.
    pub fn bandwidths_bps(&self, id: LinkId) -> (f64, f64) {
        let spec = self.link_spec(id);
        let own_bps = spec.bandwidth_bps;
        let of_series = spec
            .series
            .iter()
            .flat_map(|it| &it.series.columns().bandwidths_bps);
        let of_series = of_series.flatten().filter(|&&bps| bps > 0.0);
        let own = of_series.fold((own_bps, own_bps), |(least, most), &bps| {
            (least.min(bps), most.max(bps))
        });
        let events = self.inner.events.iter();
        let events = events.filter(|event| event.link as usize == id.index());
        events.fold(own, |(least, most), event| match event.change {
            Change::Bandwidth(bps) => (least.min(bps), most.max(bps)),
            Change::Pause | Change::Loss(_) | Change::Delay(_) | Change::Down | Change::Up => {
                (least, most)
            }
        })
    }

    /// Returns the propagation delay of every link in seconds at this time (s), in the order of the links;
    /// events at that time are included.
    pub fn delays_at_s(&self, time_s: f64) -> Vec<f64> {
        self.inner.delays_at_s(time_s)
    }

    /// Returns the shortest and the longest propagation delay of the link in seconds, over all events. Its
    /// initial value counts unless an event at 0 s replaces it.
    pub fn delays_s(&self, id: LinkId) -> (f64, f64) {
        self.inner.delays_s(id.within(self.inner.owner) as u32)
    }

    /// Returns the loss in transit of every link at this time (s), in the order of the links; events at that
    /// time are included.
    pub fn losses_at(&self, time_s: f64) -> Vec<LinkLoss> {
        let all = self.links().map(|id| self.link_spec(id).loss);
        let mut losses: Vec<LinkLoss> = all.collect();
        for event in self.events().take_while(|event| event.at_s <= time_s) {
            if let Change::Loss(loss) = event.change {
                losses[event.link.index()] = loss;
            }
        }
        losses
    }

    /// Returns the link of this name (`FROM->TO`).
    pub fn link_by_name(&self, name: &str) -> Option<LinkId> {
        let names = &self.inner.link_names;
        names
            .iter()
            .position(|n| n == name)
            .map(|i| LinkId(i as u32, self.inner.owner))
    }

    /// Returns the connection of this name.
    pub fn connection_by_name(&self, name: &str) -> Option<ConnectionId> {
        let all = &self.inner.connections;
        all.iter()
            .position(|c| c.name == name)
            .map(|i| ConnectionId(i as u32, self.inner.owner))
    }

    /// Returns the specification of the link.
    pub fn link_spec(&self, id: LinkId) -> &LinkSpec {
        &self.inner.links[id.within(self.inner.owner)]
    }

    /// Returns the link's buffer in packets, the one in service included. A buffer in bytes is converted with
    /// the mean size of the TCP packets that cross the link at any time. Without TCP it uses the
    /// rate-weighted size of other sources, and if there are only acknowledgements, their size.
    pub fn buffer_pkts(&self, id: LinkId) -> f64 {
        self.inner.buffer_pkts[id.within(self.inner.owner)]
    }

    /// Returns the mean packet size in bytes that [`buffer_pkts`](Self::buffer_pkts) assumes for a buffer in
    /// bytes.
    pub fn mean_packet_bytes(&self, id: LinkId) -> f64 {
        let spec = self.link_spec(id);
        let bytes = spec.buffer.bytes(spec.sustained_bps());
        bytes.unwrap_or_default() / self.buffer_pkts(id)
    }

    /// Returns the buffer of the link's queue in the fluid model.
    pub fn buffer_limit(&self, id: LinkId) -> crate::BufferLimit {
        self.inner.buffer_limit(id.within(self.inner.owner) as u32)
    }

    /// Returns the buffer of the link's queue in the packet model, in bytes if it was given so, otherwise in
    /// whole packets.
    pub fn packet_buffer(&self, id: LinkId) -> netflow_queues::Buffer {
        self.packet_buffer_at(id, self.link_spec(id).bandwidth_bps)
    }

    /// Returns [`packet_buffer`](Self::packet_buffer) after a change of the link's bandwidth to this many
    /// bit/s.
    pub fn packet_buffer_at(&self, id: LinkId, bandwidth_bps: f64) -> netflow_queues::Buffer {
        let spec = LinkSpec {
            bandwidth_bps,
            ..self.link_spec(id).clone()
        };
        match spec.buffer.bytes(spec.sustained_bps()) {
            Some(bytes) => netflow_queues::Buffer::Bytes(bytes),
            None => {
                let pkts = self.buffer_pkts(id).floor().clamp(1.0, 1e9);
                netflow_queues::Buffer::Packets(pkts as usize)
            }
        }
    }

    /// Returns the first link with an element that a model does not support, and the element: token buckets, traces,
    /// delay lines, pauses, HTB.
    pub fn first_unsupported_element(
        &self,
        is_supported: impl Fn(LinkElement) -> bool,
    ) -> Option<(LinkId, LinkElement)> {
        let pauses = self.events().filter(|event| event.change == Change::Pause);
        let pauses = pauses.map(|event| (event.link, LinkElement::Pause));
        let of_link = |id| {
            self.link_spec(id)
                .elements()
                .map(move |element| (id, element))
        };
        let htb = self.first_link_with_htb();
        let htb = htb.map(|link| (link, LinkElement::Htb));
        let mut elements = pauses.chain(self.links().flat_map(of_link)).chain(htb);
        elements.find(|&(_, element)| !is_supported(element))
    }

    /// Returns the specification of the connection.
    pub fn connection_spec(&self, id: ConnectionId) -> &ConnectionSpec {
        &self.inner.connections[id.within(self.inner.owner)]
    }

    /// Returns the maximum random delay before a window source sends, in seconds; `None` for other sources.
    /// The default is the transmission time of a packet on the slowest link of its path at initial
    /// bandwidths, at most 1 ms. This delay avoids phase effects (Floyd and Jacobson, *On Traffic Phase
    /// Effects in Packet-Switched Gateways*, 1992). A much longer one would limit the source.
    pub fn send_jitter_s(&self, id: ConnectionId) -> Option<f64> {
        self.send_jitter_over_s(id, &self.path(id))
    }

    /// Returns the same value for these links.
    pub fn send_jitter_over_s(&self, id: ConnectionId, links: &[LinkId]) -> Option<f64> {
        let spec = self.connection_spec(id);
        let Source::Ns2Tcp(window) = &spec.source else {
            return None;
        };
        Some(window.send_jitter_s.unwrap_or_else(|| {
            let bits = 8.0 * spec.packet_size_bytes;
            let bandwidths = links
                .iter()
                .map(|&link| self.link_spec(link).carries_bps(bits));
            let slowest_bps = bandwidths.fold(f64::INFINITY, f64::min);
            if slowest_bps.is_finite() {
                (bits / slowest_bps).min(MAX_DEFAULT_JITTER_S)
            } else {
                MAX_DEFAULT_JITTER_S
            }
        }))
    }

    /// Returns whether whole nanoseconds are too coarse for the packet model on this link. They are if a data
    /// packet's transmission time is wrong by more than 1 %, with the bandwidth and the routes at time 0.
    /// This occurs above 10 Gbit/s with small packets.
    pub fn is_too_fast(&self, link: LinkId) -> bool {
        let LinkSpec {
            bandwidth_bps,
            overhead,
            ..
        } = *self.link_spec(link);
        if bandwidth_bps < MIN_COARSE_BPS {
            return false;
        }
        let (inner, link) = (&self.inner, link.index() as u32);
        let branches = &inner.epochs[inner.epoch_at(0.0)].class_path_of;
        let crosses = |branch: Option<NonMaxU32>| {
            branch.is_some_and(|branch| inner.data_path(branch.get()).contains(&link))
        };
        let mut classes = (0..inner.classes.len() as u32).zip(&**branches);
        classes.any(|(class, &branch)| {
            let bits = overhead.wire_bits(8.0 * inner.spec_of_class(class).packet_size_bytes);
            let takes_ns = bits / bandwidth_bps * 1e9;
            let error = service_ns(bits, bandwidth_bps) as f64 / takes_ns - 1.0;
            error.abs() > MAX_ROUNDING_ERROR && crosses(branch)
        })
    }

    /// Returns the links from sender to receiver at time 0; empty if a failure at time 0 leaves no path.
    pub fn path(&self, id: ConnectionId) -> Vec<LinkId> {
        self.path_at(id, 0.0)
    }

    /// Returns the links from receiver to sender at time 0.
    pub fn return_path(&self, id: ConnectionId) -> Vec<LinkId> {
        self.return_path_at(id, 0.0)
    }

    /// Returns the links from sender to receiver at this time (s), with the events at that time; empty while
    /// failures leave no path.
    pub fn path_at(&self, id: ConnectionId, time_s: f64) -> Vec<LinkId> {
        self.path_pair_at(id, time_s, |inner, b| inner.data_path(b))
    }

    /// Returns the links from receiver to sender at this time (s), with the events at that time.
    pub fn return_path_at(&self, id: ConnectionId, time_s: f64) -> Vec<LinkId> {
        self.path_pair_at(id, time_s, |inner, b| inner.back_path(b))
    }

    /// Returns the links that the connection crosses at any time from `from_s` to `to_s` (s), in either
    /// direction.
    pub fn crossed_links(&self, id: ConnectionId, from_s: f64, to_s: f64) -> BTreeSet<LinkId> {
        let inner = &*self.inner;
        let class = inner.class_of[id.within(inner.owner)] as usize;
        let first = inner.epochs.partition_point(|e| e.at_s <= from_s.max(0.0)) - 1;
        let until = inner
            .epochs
            .partition_point(|e| e.at_s < to_s)
            .max(first + 1);
        let branches = inner.epochs[first..until]
            .iter()
            .filter_map(|e| e.class_path_of[class]);
        let branches: BTreeSet<NonMaxU32> = branches.collect();
        let links = |b: NonMaxU32| {
            let data_path = inner.data_path(b.get()).iter();
            data_path.chain(inner.back_path(b.get()))
        };
        let links = branches.into_iter().flat_map(links);
        links.map(|&l| LinkId(l, inner.owner)).collect()
    }

    /// Returns whether any queue has a correction from the packet model.
    pub fn is_calibrated(&self) -> bool {
        self.links()
            .any(|id| self.link_spec(id).calibration.is_some())
    }

    /// Returns whether any TCP source with a profile backs off as little as CUBIC.
    pub fn has_cubic_profiles(&self) -> bool {
        self.connections().any(|id| {
            let source = &self.connection_spec(id).source;
            matches!(source, Source::Profile(it) if it.sawtooth_amplitude() <= CUBIC_AMPLITUDE)
        })
    }

    /// Returns the events of links, in order of time.
    pub fn events(&self) -> impl Iterator<Item = EventSpec> + '_ {
        self.inner.events.iter().map(|event| EventSpec {
            at_s: event.at_s,
            link: LinkId(event.link, self.inner.owner),
            change: event.change,
        })
    }

    fn path_pair_at(
        &self,
        id: ConnectionId,
        time_s: f64,
        way: fn(&CompiledNetwork, u32) -> &[u32],
    ) -> Vec<LinkId> {
        let inner = &*self.inner;
        let class = inner.class_of[id.within(self.inner.owner)];
        match inner.class_path_of(inner.epoch_at(time_s), class, None) {
            None => Vec::new(),
            Some(branch) => way(inner, branch)
                .iter()
                .map(|&l| LinkId(l, inner.owner))
                .collect(),
        }
    }
}
