//! Buffer size of every link's queue in packets.

use std::collections::HashMap;

use crate::builder::{ACK_BYTES, PACKET_BYTES, Routes};
use crate::compiled::{Class, CompiledNetwork};
use crate::{
    Aqm, Buffer, BufferTime, ConnectionSpec, DropPolicy, LinkSpec, NodeId, Overhead, Source,
};

/// Minimum buffer of one bandwidth-delay product, in packets.
const MIN_BDP_PKTS: f64 = 10.0;
/// Round-trip time that sizes such a buffer in a network without traffic, in seconds.
const IDLE_NETWORK_RTT_S: f64 = 0.1;

/// Buffer size of a link's queue in the fluid model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferLimit {
    /// Size in packets, the packet in service included. A size in bits is converted with the packet size that
    /// is expected before the start.
    pub nominal_pkts: f64,
    /// Size in bits; `None` if the buffer counts packets.
    pub bits: Option<f64>,
    /// Transmission time that sets the bits when the bandwidth changes, if the buffer is given as a time.
    pub time: Option<BufferTime>,
}

impl BufferLimit {
    /// Returns the buffer after a change of the link's bandwidth to this many bit/s.
    #[inline]
    pub fn at(self, bandwidth_bps: f64) -> BufferLimit {
        let (Some(time), Some(bits)) = (self.time, self.bits) else {
            return self;
        };
        let changed_bits = 8.0 * time.bytes(bandwidth_bps);
        if changed_bits == bits {
            return self;
        }
        BufferLimit {
            nominal_pkts: (self.nominal_pkts * changed_bits / bits).max(1.0),
            bits: Some(changed_bits),
            time: self.time,
        }
    }

    /// Returns whether the buffer grows in proportion to the link's bandwidth, at this many bit/s.
    pub fn follows_bandwidth(&self, bandwidth_bps: f64) -> bool {
        (self.time).is_some_and(|time| time.bytes(bandwidth_bps) > time.least_bytes)
    }

    /// Returns the size in packets of this mean size, at least 1.
    pub fn pkts(&self, mean_bits: f64) -> f64 {
        match self.bits {
            Some(bits) => (bits / mean_bits).max(1.0),
            None => self.nominal_pkts,
        }
    }

    /// Returns the derivative of [`pkts`](Self::pkts) with respect to ln of the buffer's bits. It is zero if
    /// the buffer counts packets or is at its minimum of one packet.
    pub fn by_ln_bits(&self, mean_bits: f64) -> f64 {
        match self.bits {
            Some(bits) if bits > mean_bits => bits / mean_bits,
            _ => 0.0,
        }
    }
}

impl CompiledNetwork {
    /// Returns the buffer size of the queue of this link.
    pub fn buffer_limit(&self, link: u32) -> BufferLimit {
        let link = link as usize;
        let spec = &self.links[link];
        BufferLimit {
            nominal_pkts: self.buffer_pkts[link],
            bits: spec
                .buffer
                .bytes(spec.sustained_bps())
                .map(|bytes| 8.0 * bytes),
            time: match spec.buffer {
                Buffer::Time(time) => Some(time),
                Buffer::Bytes(_) | Buffer::Packets(_) | Buffer::BandwidthDelay => None,
            },
        }
    }
}

/// Links and the traffic that crosses them.
pub(crate) struct BufferSizing<'a> {
    pub links: &'a [LinkSpec],
    pub connections: &'a [ConnectionSpec],
    pub classes: &'a [Class],
    pub routes: &'a Routes,
}

/// Mean size of the data packets that fill a queue. TCP counts first, with equal weight per connection,
/// because it sends until the queue is full. Without TCP, other sources count, weighted by rate. Requests of
/// users belong to the others because they are few and small.
#[derive(Clone, Copy, Default)]
struct Sizes {
    tcp: WeightedMean,
    others: WeightedMean,
    /// True if acknowledgements cross the link.
    acks: bool,
}

#[derive(Clone, Copy, Default)]
struct WeightedMean {
    weights: f64,
    bytes: f64,
}

impl Sizes {
    fn add(&mut self, spec: &ConnectionSpec, bytes: f64, connections: f64) {
        let (kind, weight) = match &spec.source {
            Source::Constant { rate_pps } | Source::Poisson { rate_pps } => {
                (&mut self.others, connections * rate_pps)
            }
            Source::Users(traffic) if !traffic.replies => {
                (&mut self.others, connections * traffic.mean_pps)
            }
            Source::Ns2Tcp(_) | Source::Tcp(_) | Source::Profile(_) | Source::Users(_) => {
                (&mut self.tcp, connections)
            }
        };
        kind.weights += weight;
        kind.bytes += weight * bytes;
    }

    /// Returns the mean packet size on a link with this overhead. If only acknowledgements cross the link, it
    /// returns their size; without traffic it returns that of a full packet.
    fn expected_bytes(&self, overhead: Overhead) -> f64 {
        let others = if self.acks { ACK_BYTES } else { PACKET_BYTES };
        self.mean_bytes()
            .unwrap_or_else(|| overhead.wire_bytes(others))
    }

    fn merge(&mut self, other: &Sizes) {
        for (all, more) in [
            (&mut self.tcp, &other.tcp),
            (&mut self.others, &other.others),
        ] {
            all.weights += more.weights;
            all.bytes += more.bytes;
        }
        self.acks |= other.acks;
    }

    fn mean_bytes(&self) -> Option<f64> {
        let filling = [self.tcp, self.others];
        let filling = filling.iter().find(|kind| kind.weights > 0.0)?;
        Some(filling.bytes / filling.weights)
    }
}

/// Longest round-trip time without queueing over a link, and the packet sizes of its traffic.
#[derive(Clone, Copy, Default)]
struct LinkRtt {
    longest_s: f64,
    sizes: Sizes,
}

impl LinkRtt {
    fn is_idle(&self) -> bool {
        self.sizes.mean_bytes().is_none()
    }

    fn merge(&mut self, other: &LinkRtt) {
        self.longest_s = self.longest_s.max(other.longest_s);
        self.sizes.merge(&other.sizes);
    }
}

/// Assigns round-trip times to links without traffic. They get those of the links that leave or enter the
/// same node, because they carry that traffic after a failure. Otherwise they get those of the whole network.
fn size_backups(links: &[LinkSpec], trips: &mut [LinkRtt]) {
    let mut network = LinkRtt::default();
    let (mut leaving, mut entering): (HashMap<NodeId, LinkRtt>, HashMap<NodeId, LinkRtt>) =
        Default::default();
    for (link, trip) in links.iter().zip(&*trips) {
        network.merge(trip);
        leaving.entry(link.from).or_default().merge(trip);
        entering.entry(link.to).or_default().merge(trip);
    }
    for (link, trip) in links.iter().zip(trips) {
        if !trip.is_idle() {
            continue;
        }
        let mut near = leaving[&link.from];
        near.merge(&entering[&link.to]);
        *trip = if near.is_idle() { network } else { near };
    }
}

impl BufferSizing<'_> {
    /// Returns the buffer of every link in packets.
    pub fn buffers_pkts(&self) -> Vec<f64> {
        let data = self.data_sizes();
        let needs_trips = |link: &LinkSpec| link.buffer == Buffer::BandwidthDelay;
        let trips = if self.links.iter().any(needs_trips) {
            self.link_rtts()
        } else {
            vec![LinkRtt::default(); self.links.len()]
        };
        let room = |((link, data), trip): ((&LinkSpec, &Sizes), &LinkRtt)| match link.buffer {
            Buffer::Packets(pkts) => pkts,
            Buffer::Bytes(bytes) => (bytes / data.expected_bytes(link.overhead)).max(1.0),
            Buffer::Time(time) => {
                let bytes = time.bytes(link.sustained_bps());
                (bytes / data.expected_bytes(link.overhead)).max(1.0)
            }
            Buffer::BandwidthDelay => bandwidth_delay_pkts(link, trip),
        };
        self.links.iter().zip(&data).zip(&trips).map(room).collect()
    }

    /// Returns the sizes of the data packets that cross each link at any time.
    fn data_sizes(&self) -> Vec<Sizes> {
        let mut data = vec![Sizes::default(); self.links.len()];
        let branches = (0..).zip(&self.routes.branches);
        for (_, branch) in branches.filter(|&(b, _)| self.routes.is_used(b)) {
            let class = &self.classes[branch.class as usize];
            for &link in self.routes.links(branch.data) {
                let spec = self.spec(class);
                let bytes = self.wire_bytes(link, spec.packet_size_bytes);
                data[link as usize].add(spec, bytes, class.weight);
            }
            for &link in self.routes.links(branch.back) {
                data[link as usize].acks = true;
            }
        }
        data
    }

    /// Returns the round-trip times over each link at the start.
    fn link_rtts(&self) -> Vec<LinkRtt> {
        let mut trips = vec![LinkRtt::default(); self.links.len()];
        let at_start = self.routes.epochs.first();
        let branches = at_start.map_or(&[][..], |epoch| &epoch.class_path_of);
        for (class, &branch) in self.classes.iter().zip(branches) {
            let Some(branch) = branch else {
                continue;
            };
            let branch = self.routes.branches[branch.index()];
            let ways = [branch.data, branch.back].map(|way| self.routes.links(way));
            let bytes = self.spec(class).packet_size_bytes;
            let there_s = self.unloaded_delay_s(ways[0], bytes);
            let trip_s = match ways[1] {
                // No return path: its delay is taken as that of the forward path.
                [] => 2.0 * there_s,
                back => there_s + self.unloaded_delay_s(back, self.spec(class).source.ack_bytes()),
            };
            for &link in ways.into_iter().flatten() {
                let trip = &mut trips[link as usize];
                trip.longest_s = trip.longest_s.max(trip_s);
                trip.sizes.add(self.spec(class), bytes, class.weight);
            }
        }
        size_backups(self.links, &mut trips);
        trips
    }

    /// Returns the unloaded one-way delay of a packet over these links, in seconds.
    fn unloaded_delay_s(&self, way: &[u32], bytes: f64) -> f64 {
        let links = way.iter().map(|&link| &self.links[link as usize]);
        links
            .map(|link| link.delay_s + 8.0 * link.overhead.wire_bytes(bytes) / link.bandwidth_bps)
            .sum()
    }

    fn wire_bytes(&self, link: u32, bytes: f64) -> f64 {
        self.links[link as usize].overhead.wire_bytes(bytes)
    }

    fn spec(&self, class: &Class) -> &ConnectionSpec {
        &self.connections[class.connection as usize]
    }
}

fn bandwidth_delay_pkts(link: &LinkSpec, trip: &LinkRtt) -> f64 {
    let mean_bytes = trip.sizes.mean_bytes();
    let (seconds, bytes) = mean_bytes.map_or((IDLE_NETWORK_RTT_S, PACKET_BYTES), |it| {
        (trip.longest_s, it)
    });
    let pkts = (link.sustained_bps() * seconds / (8.0 * link.overhead.wire_bytes(bytes))).ceil();
    let threshold_pkts = match link.queue {
        DropPolicy::Red(red) => red.max_pkts,
        DropPolicy::Rio(rio) => rio
            .curves
            .map(|it| it.max_pkts)
            .into_iter()
            .fold(0.0, f64::max),
        DropPolicy::Managed(Aqm::Cake(cake)) => {
            // The limit of Linux, because drops by CAKE's full buffer count as an unresponsive flow.
            return pkts.max((cake.default_buffer_bytes() / PACKET_BYTES).ceil());
        }
        DropPolicy::DropTail | DropPolicy::Managed(_) => 0.0,
    };
    pkts.max(MIN_BDP_PKTS).max(2.0 * threshold_pkts.ceil())
}
