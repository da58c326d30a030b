//! The problem: an immutable network with its routes, classes and events.

use std::collections::BTreeSet;
use std::sync::Arc;

use netflow_tcpmodel::Stack;

use crate::tables::{NO_BRANCH, Tables};
use crate::{
    ACK_BYTES, Change, ConnectionId, ConnectionSpec, EventSpec, LinkId, LinkLoss, LinkSpec, NodeId,
    Source, WorkloadSpec,
};

/// A source with a window waits no longer before it sends, in seconds, unless it says so.
const MOST_JITTER_S: f64 = 1e-3;

/// By so much the time may be off that a packet takes to be sent, where times are whole nanoseconds.
const TOO_COARSE: f64 = 0.01;
/// Below, it never is, but for packets smaller than an acknowledgement.
const FAST_BPS: f64 = 6e9;

/// How long a packet takes to be sent where times are whole nanoseconds: some time, in any case.
pub fn service_ns(bits: f64, bandwidth_bps: f64) -> u64 {
    (bits / bandwidth_bps * 1e9).round().clamp(1.0, 1e18) as u64
}

/// An immutable network: links, connections grouped into classes, their routes, and events.
///
/// Cloning is cheap: clones share the same data.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) inner: Arc<Tables>,
}

impl Source {
    /// Whether it hears of its packets, and so knows a round-trip time.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Source::Constant { .. } | Source::Poisson { .. })
    }

    /// Whether it adapts to what the network does.
    pub fn has_feedback(&self) -> bool {
        matches!(self, Source::Profile(_))
    }

    /// Packets/s of what sends them whatever happens to them: of each connection, and on average; `None` of TCP.
    pub fn own_pps(&self) -> Option<f64> {
        match self {
            Source::Constant { rate_pps } | Source::Poisson { rate_pps } => Some(*rate_pps),
            Source::Users(traffic) => Some(traffic.mean_pps),
            Source::Profile(_) | Source::Window(_) | Source::Stack(_) => None,
        }
    }

    /// The stack of its ends, of sources that have one.
    pub fn stack(&self) -> Option<&Stack> {
        match self {
            Source::Stack(stack) => Some(stack),
            Source::Users(traffic) if traffic.workload.source.is_none() => {
                Some(&traffic.workload.stack)
            }
            _ => None,
        }
    }

    /// Bytes of an acknowledgement on the wire, without SACK blocks.
    pub fn ack_bytes(&self) -> f64 {
        self.stack().map_or(ACK_BYTES, |stack| stack.ack_bytes(0))
    }
}

impl Network {
    /// All of it, as engines read it.
    pub fn tables(&self) -> &Arc<Tables> {
        &self.inner
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.inner.nodes.len()
    }

    /// Number of directed links.
    pub fn link_count(&self) -> usize {
        self.inner.links.len()
    }

    /// Number of connections; one with `count = n` counts once.
    pub fn connection_count(&self) -> usize {
        self.inner.connections.len()
    }

    /// Number of distinct behaviours among the connections: what a step costs follows this.
    pub fn class_count(&self) -> usize {
        self.inner.classes.len()
    }

    /// All nodes, in the order they were added.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        let owner = self.inner.owner;
        (0..self.node_count() as u32).map(move |n| NodeId(n, owner))
    }

    /// All links, in the order they were added.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        let owner = self.inner.owner;
        (0..self.link_count() as u32).map(move |l| LinkId(l, owner))
    }

    /// All connections, in the order they were added.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + use<> {
        let owner = self.inner.owner;
        (0..self.connection_count() as u32).map(move |c| ConnectionId(c, owner))
    }

    /// The workloads, in the order they were added.
    pub fn workloads(&self) -> impl ExactSizeIterator<Item = &WorkloadSpec> {
        self.inner.workloads.iter().map(|users| &*users.spec)
    }

    /// The node's name.
    ///
    /// # Panics
    /// Like all look-ups by id: if the id is of another network.
    pub fn node_name(&self, id: NodeId) -> &str {
        &self.inner.nodes[id.within(self.inner.owner)]
    }

    /// The link's name, `FROM->TO`.
    pub fn link_name(&self, id: LinkId) -> &str {
        &self.inner.link_names[id.within(self.inner.owner)]
    }

    /// The first of these links by name, and how many others there are, in words; none of none.
    pub fn first_named(&self, links: &[LinkId]) -> Option<String> {
        let (&first, others) = links.split_first()?;
        let first = self.link_name(first);
        Some(match others.len() {
            0 => first.to_owned(),
            1 => format!("{first} and 1 other link"),
            others => format!("{first} and {others} other links"),
        })
    }

    /// The connection's name.
    pub fn connection_name(&self, id: ConnectionId) -> &str {
        &self.inner.connections[id.within(self.inner.owner)].name
    }

    /// The lowest and the highest bandwidth that the link ever has, in bit/s: its own, and those of events.
    pub fn bandwidths_bps(&self, id: LinkId) -> (f64, f64) {
        let own_bps = self.link_spec(id).bandwidth_bps;
        let events = self.inner.events.iter();
        let events = events.filter(|event| event.link as usize == id.index());
        events.fold((own_bps, own_bps), |(least, most), event| {
            match event.change {
                Change::Bandwidth(bps) => (least.min(bps), most.max(bps)),
                Change::Loss(_) | Change::Delay(_) | Change::Down | Change::Up => (least, most),
            }
        })
    }

    /// The propagation delay of every link in seconds at this time (s), in the order of the links; the events of that
    /// moment included.
    pub fn delays_at_s(&self, time_s: f64) -> Vec<f64> {
        self.inner.delays_at_s(time_s)
    }

    /// The shortest and the longest propagation delay that the link ever has, in seconds: its own, unless an event at
    /// 0 s sets another, and those of events.
    pub fn delays_s(&self, id: LinkId) -> (f64, f64) {
        self.inner.delays_s(id.within(self.inner.owner) as u32)
    }

    /// What every link loses on the way at this time (s), in the order of the links; the events of that moment
    /// included.
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

    /// The link of this name (`FROM->TO`).
    pub fn link_by_name(&self, name: &str) -> Option<LinkId> {
        let names = &self.inner.link_names;
        names
            .iter()
            .position(|n| n == name)
            .map(|i| LinkId(i as u32, self.inner.owner))
    }

    /// The connection of this name.
    pub fn connection_by_name(&self, name: &str) -> Option<ConnectionId> {
        let all = &self.inner.connections;
        all.iter()
            .position(|c| c.name == name)
            .map(|i| ConnectionId(i as u32, self.inner.owner))
    }

    /// What the link was built from.
    pub fn link_spec(&self, id: LinkId) -> &LinkSpec {
        &self.inner.links[id.within(self.inner.owner)]
    }

    /// The link's buffer in packets, the one in service included. If it is said in bytes, these are packets of
    /// TCP's size that cross it at any time; of what others send, by their rates, where there is no TCP; and of
    /// acknowledgements where only those come.
    pub fn buffer_pkts(&self, id: LinkId) -> f64 {
        self.inner.buffer_pkts[id.within(self.inner.owner)]
    }

    /// The mean size in bytes of the packets that [`buffer_pkts`](Self::buffer_pkts) counts where the buffer is in bytes.
    pub fn mean_packet_bytes(&self, id: LinkId) -> f64 {
        let spec = self.link_spec(id);
        let bytes = spec.buffer.bytes(spec.bandwidth_bps);
        bytes.unwrap_or_default() / self.buffer_pkts(id)
    }

    /// The room of the link's queue, as fluids see it.
    pub fn room(&self, id: LinkId) -> crate::Room {
        self.inner.room(id.within(self.inner.owner) as u32)
    }

    /// What the link's queue holds where packets are followed one by one: bytes if it is said in bytes,
    /// and whole packets else.
    pub fn packet_buffer(&self, id: LinkId) -> netflow_queues::Buffer {
        self.packet_buffer_at(id, self.link_spec(id).bandwidth_bps)
    }

    /// As [`packet_buffer`](Self::packet_buffer), after a change of the link's bandwidth to this many bit/s.
    pub fn packet_buffer_at(&self, id: LinkId, bandwidth_bps: f64) -> netflow_queues::Buffer {
        match self.link_spec(id).buffer.bytes(bandwidth_bps) {
            Some(bytes) => netflow_queues::Buffer::Bytes(bytes),
            None => {
                let pkts = self.buffer_pkts(id).floor().clamp(1.0, 1e9);
                netflow_queues::Buffer::Packets(pkts as usize)
            }
        }
    }

    /// What the connection was built from.
    pub fn connection_spec(&self, id: ConnectionId) -> &ConnectionSpec {
        &self.inner.connections[id.within(self.inner.owner)]
    }

    /// How long a source with this window waits at most before it sends, at random, in seconds; `None` for others. If nothing is
    /// said, by the bandwidths that links are built with, as long as the slowest link of its way takes to send a packet, and 1 ms at most: so long phases do not lock
    /// (Floyd and Jacobson, *On Traffic Phase Effects in Packet-Switched Gateways*, 1992), and much longer the wait would be
    /// what limits the source.
    pub fn send_jitter_s(&self, id: ConnectionId) -> Option<f64> {
        self.send_jitter_over_s(id, &self.path(id))
    }

    /// The same where it is sent over these links.
    pub fn send_jitter_over_s(&self, id: ConnectionId, links: &[LinkId]) -> Option<f64> {
        let spec = self.connection_spec(id);
        let Source::Window(window) = &spec.source else {
            return None;
        };
        Some(window.send_jitter_s.unwrap_or_else(|| {
            let bits = 8.0 * spec.packet_size_bytes;
            let bandwidths = links
                .iter()
                .map(|&link| self.link_spec(link).carries_bps(bits));
            let slowest_bps = bandwidths.fold(f64::INFINITY, f64::min);
            match slowest_bps.is_finite() {
                true => (bits / slowest_bps).min(MOST_JITTER_S),
                false => MOST_JITTER_S,
            }
        }))
    }

    /// Whether data that is followed packet by packet, in whole nanoseconds, takes a hundredth more or less time to be sent over a
    /// link than it should, with the bandwidth and on the ways that it was built with: above 10 Gbit/s, if packets are small.
    pub fn is_too_fast(&self, link: LinkId) -> bool {
        let LinkSpec {
            bandwidth_bps,
            overhead,
            ..
        } = *self.link_spec(link);
        if bandwidth_bps < FAST_BPS {
            return false;
        }
        let (inner, link) = (&self.inner, link.index() as u32);
        let branches = &inner.epochs[inner.epoch_at(0.0)].branch_of;
        let crosses = |branch: u32| branch != NO_BRANCH && inner.data_path(branch).contains(&link);
        let mut classes = (0..inner.classes.len() as u32).zip(branches);
        classes.any(|(class, &branch)| {
            let bits = overhead.wire_bits(8.0 * inner.spec_of_class(class).packet_size_bytes);
            let takes_ns = bits / bandwidth_bps * 1e9;
            let error = service_ns(bits, bandwidth_bps) as f64 / takes_ns - 1.0;
            error.abs() > TOO_COARSE && crosses(branch)
        })
    }

    /// The links from sender to receiver at time 0; empty if a failure at time 0 leaves no way.
    pub fn path(&self, id: ConnectionId) -> Vec<LinkId> {
        self.path_at(id, 0.0)
    }

    /// The links from receiver to sender at time 0.
    pub fn return_path(&self, id: ConnectionId) -> Vec<LinkId> {
        self.return_path_at(id, 0.0)
    }

    /// The links from sender to receiver at this time (s), the events of that moment included;
    /// empty while failures leave no way.
    pub fn path_at(&self, id: ConnectionId, time_s: f64) -> Vec<LinkId> {
        self.way_at(id, time_s, |inner, b| inner.data_path(b))
    }

    /// The links from receiver to sender at this time (s), likewise.
    pub fn return_path_at(&self, id: ConnectionId, time_s: f64) -> Vec<LinkId> {
        self.way_at(id, time_s, |inner, b| inner.back_path(b))
    }

    /// The links that it crosses at any time from `from_s` to `to_s` (s), on its way or back.
    pub fn crossed(&self, id: ConnectionId, from_s: f64, to_s: f64) -> BTreeSet<LinkId> {
        let inner = &*self.inner;
        let class = inner.class_of[id.within(inner.owner)] as usize;
        let first = inner.epochs.partition_point(|e| e.at_s <= from_s.max(0.0)) - 1;
        let until = inner
            .epochs
            .partition_point(|e| e.at_s < to_s)
            .max(first + 1);
        let branches = inner.epochs[first..until]
            .iter()
            .map(|e| e.branch_of[class]);
        let branches: BTreeSet<u32> = branches.filter(|&b| b != NO_BRANCH).collect();
        let links = |b: u32| inner.data_path(b).iter().chain(inner.back_path(b));
        let links = branches.into_iter().flat_map(links);
        links.map(|&l| LinkId(l, inner.owner)).collect()
    }

    /// Whether packets have corrected its queues.
    pub fn is_calibrated(&self) -> bool {
        self.links()
            .any(|id| self.link_spec(id).calibration.is_some())
    }

    /// What happens to links, in order of time.
    pub fn events(&self) -> impl Iterator<Item = EventSpec> + '_ {
        self.inner.events.iter().map(|event| EventSpec {
            at_s: event.at_s,
            link: LinkId(event.link, self.inner.owner),
            change: event.change,
        })
    }

    fn way_at(
        &self,
        id: ConnectionId,
        time_s: f64,
        way: fn(&Tables, u32) -> &[u32],
    ) -> Vec<LinkId> {
        let inner = &*self.inner;
        let class = inner.class_of[id.within(self.inner.owner)];
        match inner.branch_of(inner.epoch_at(time_s), class, None) {
            NO_BRANCH => Vec::new(),
            branch => way(inner, branch)
                .iter()
                .map(|&l| LinkId(l, inner.owner))
                .collect(),
        }
    }
}
