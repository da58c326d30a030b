//! Specifications of links, connections and events, the input of a network builder.

use std::sync::Arc;

use netflow_diffserv::{Curve, RedAverage, TokenBucket};
use netflow_profile::Profile;
use netflow_queues::{Aqm, DelayLine, DeliveryTrace, LinkLoss, Overhead, RedMarks};
use netflow_tcpmodel::Stack;
use netflow_tcpmodel::tcp::ns2::WindowSource;
use netflow_workload::TransferSizes;

use crate::{
    Calibration, EcmpShare, FlowHash, LinkElement, LinkId, NodeId, Rio, SeriesSpec, UserTraffic,
};

/// Buffer size of a queue, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// Number of packets of any size, at least 1.
    Packets(f64),
    /// Number of bytes. Each packet takes its own size, with the link's [overhead](LinkSpec::overhead). The
    /// fluid model converts them to packets of the mean size in the queue.
    Bytes(f64),
    /// Bytes that the link transmits in a given time, at its current bandwidth.
    Time(BufferTime),
    /// Bandwidth-delay product of the link. The round-trip time is the longest, without queueing, of the
    /// connections that cross the link at the start. Packets have the mean size of the data of these
    /// connections. The minimum is 10 packets, and twice the upper threshold of RED and RIO. A link without
    /// traffic uses the round-trip times of the links that leave or enter the same node, otherwise those of
    /// the whole network. A network without traffic uses 100 ms.
    BandwidthDelay,
}

/// Buffer size given as a transmission time: its bytes scale with the link's bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferTime {
    /// Time that the link needs to transmit a full buffer, in seconds.
    pub s: f64,
    /// Smallest buffer in bytes, for low bandwidths: one packet.
    pub least_bytes: f64,
}

impl BufferTime {
    /// Returns the buffer size in bytes at this bandwidth in bit/s.
    pub fn bytes(self, bandwidth_bps: f64) -> f64 {
        (self.s * bandwidth_bps / 8.0).max(self.least_bytes)
    }
}

impl Buffer {
    /// Returns the buffer size in bytes at this bandwidth in bit/s; `None` if it is in packets.
    pub fn bytes(self, bandwidth_bps: f64) -> Option<f64> {
        match self {
            Buffer::Bytes(bytes) => Some(bytes),
            Buffer::Time(time) => Some(time.bytes(bandwidth_bps)),
            Buffer::Packets(_) | Buffer::BandwidthDelay => None,
        }
    }
}

/// Random early detection (RED, Floyd and Jacobson 1993): the drop probability rises with the average queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Average queue in packets below which no packet is dropped.
    pub min_pkts: f64,
    /// Average queue in packets at which the drop probability reaches `max_p`. If it equals `min_pkts`, the
    /// probability is a step from 0 to 1.
    pub max_pkts: f64,
    /// Drop probability at `max_pkts`, in (0, 1].
    pub max_p: f64,
    /// Weight of a packet in the average queue, in (0, 1].
    pub weight: f64,
    /// True if the probability rises linearly to 1 at twice `max_pkts`; false if it jumps to 1 at `max_pkts`.
    pub gentle: bool,
    /// True if packets of senders with ECN are marked instead of randomly dropped. Only the packet model uses
    /// it, because the fluid model has no such senders.
    pub ecn: bool,
    /// True if all packets are dropped where the probability is 1. If false, packets of senders with ECN are
    /// marked there too, as in Linux without `harddrop` and ns-3 without `UseHardDrop`.
    pub hard_drop: bool,
}

impl Red {
    /// Returns the marking probability p_b at this average queue in packets; 1 where all packets are dropped.
    pub fn marking_probability(&self, average_pkts: f64) -> f64 {
        self.curve().probability(average_pkts, self.gentle)
    }

    /// Returns the marking probability as a function of the average queue.
    pub fn curve(&self) -> Curve {
        Curve::new(self.min_pkts, self.max_pkts, self.max_p)
    }

    /// Mean packet size in bits that RED assumes when it converts idle time to packets, as in ns-2.
    pub const MEAN_PACKET_BITS: f64 = 8000.0;

    /// Returns the average queue at the start, at a link with this bandwidth.
    pub fn average(&self, bandwidth_bps: f64) -> RedAverage {
        let packet_ns = Self::MEAN_PACKET_BITS / bandwidth_bps * 1e9;
        RedAverage::new(self.curve(), self.gentle, self.weight, packet_ns)
    }

    /// Returns the cases in which it marks packets of senders with ECN.
    pub fn marks(&self) -> RedMarks {
        match (self.ecn, self.hard_drop) {
            (false, _) => RedMarks::Never,
            (true, true) => RedMarks::BelowMax,
            (true, false) => RedMarks::Always,
        }
    }
}

/// Queue management: the policy that selects the packets to drop.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum DropPolicy {
    /// Drop-tail: packets that arrive at a full buffer.
    #[default]
    DropTail,
    /// Random early detection before the buffer is full.
    Red(Red),
    /// RIO or WRED before the buffer is full: each drop precedence has its own curve.
    Rio(Rio),
    /// Active queue management by sojourn time, at arrival or at departure. The fluid model supports PIE
    /// only.
    Managed(Aqm),
}

impl DropPolicy {
    /// Returns whether it marks packets of senders with ECN instead of dropping them (RFC 3168).
    pub fn marks(&self) -> bool {
        match self {
            DropPolicy::Red(red) => red.ecn,
            DropPolicy::Managed(aqm) => aqm.marks(),
            DropPolicy::DropTail | DropPolicy::Rio(_) => false,
        }
    }
}

/// Directed link and its output queue.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Node at its start.
    pub from: NodeId,
    /// Node at its end.
    pub to: NodeId,
    /// Circuit name, which distinguishes parallel links; such a link is named `A->B#CIRCUIT`. At most one of
    /// several parallel links has none. Routing prefers the lowest cost, then the highest bandwidth, then a
    /// link without circuit, then the first name.
    pub circuit: Option<Arc<str>>,
    /// Bandwidth in bit/s, positive.
    pub bandwidth_bps: f64,
    /// Propagation delay in seconds, not negative.
    pub delay_s: f64,
    /// Bytes of each packet on the wire beyond its IP bytes. They use bandwidth and space in byte-counted
    /// buffers, and bit errors hit them. Packet sizes, rates and goodput count IP bytes.
    pub overhead: Overhead,
    /// Buffer size of the queue.
    pub buffer: Buffer,
    /// Drop policy of the queue.
    pub queue: DropPolicy,
    /// Token bucket in front of the queue: it drops packets that do not conform (`tc police`).
    pub policer: Option<TokenBucketSpec>,
    /// Token bucket behind the queue: packets that do not conform wait (`tc tbf`).
    pub shaper: Option<TokenBucketSpec>,
    /// Loss in transit, after the queue.
    pub loss: LinkLoss,
    /// Delivery trace that decides when packets leave; `bandwidth_bps` is its mean then.
    pub trace: Option<TraceSpec>,
    /// Values over time. `bandwidth_bps`, `delay_s` and `loss` are then their means, if the series has these columns.
    pub series: Option<SeriesSpec>,
    /// Propagation of each packet after `delay_s`: jitter, reordering, duplication, a limit, slots.
    pub delay_line: DelayLine,
    /// Routing cost, not negative. Either all links have a metric or none has one; without metrics the cost
    /// is the delay.
    pub metric: Option<f64>,
    /// Queue correction measured by the packet model, for the fluid model.
    pub calibration: Calibration,
}

/// Delivery trace of a link, as mahimahi plays it. It repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpec {
    /// Delivery opportunities.
    pub trace: Arc<DeliveryTrace>,
    /// Position in the trace at the start of the run, in ns.
    pub offset_ns: u64,
}

/// Token bucket (RFC 2475, section 2.3.3.3). It counts bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucketSpec {
    /// Rate at which it fills, in bit/s: at least 1.
    pub rate_bps: f64,
    /// Its size in bytes: at least 1. At the start it is full.
    pub burst_bytes: f64,
}

impl TokenBucketSpec {
    /// Returns the full bucket. Its rate is rounded to whole bit/s and its size to whole bytes.
    ///
    /// # Panics
    /// For numbers that [`NetworkBuilder::build`](crate::NetworkBuilder::build) rejects.
    pub fn bucket(&self) -> TokenBucket {
        self.try_bucket().expect("the network builder checks it")
    }

    pub(crate) fn try_bucket(&self) -> Result<TokenBucket, netflow_diffserv::Error> {
        TokenBucket::new(
            self.rate_bps.round() as u64,
            self.burst_bytes.round() as u64,
        )
    }
}

impl LinkSpec {
    /// Returns a link without delay, with a drop-tail queue of 100 packets.
    pub fn new(from: NodeId, to: NodeId, bandwidth_bps: f64) -> LinkSpec {
        LinkSpec {
            from,
            to,
            circuit: None,
            bandwidth_bps,
            delay_s: 0.0,
            overhead: Overhead::NONE,
            buffer: Buffer::Packets(100.0),
            queue: DropPolicy::DropTail,
            policer: None,
            shaper: None,
            loss: LinkLoss::NONE,
            trace: None,
            series: None,
            delay_line: DelayLine::default(),
            metric: None,
            calibration: Calibration::default(),
        }
    }

    /// Returns its elements that not every model has: token buckets, traces, delay line.
    pub fn elements(&self) -> impl Iterator<Item = LinkElement> + use<> {
        let DelayLine {
            jitter,
            reordering,
            duplication,
            limit_pkts,
            slots,
        } = &self.delay_line;
        let elements = [
            (self.policer.is_some(), LinkElement::Policer),
            (self.shaper.is_some(), LinkElement::Shaper),
            (self.trace.is_some(), LinkElement::DeliveryTrace),
            (self.series.is_some(), LinkElement::Series),
            (jitter.is_some(), LinkElement::Jitter),
            (reordering.is_some(), LinkElement::Reordering),
            (*duplication > 0.0, LinkElement::Duplication),
            (limit_pkts.is_some(), LinkElement::InFlightLimit),
            (slots.is_some(), LinkElement::Slots),
        ];
        let present = elements.into_iter().filter(|(is_present, _)| *is_present);
        present.map(|(_, element)| element)
    }

    /// Returns its series, if its bandwidth follows it.
    pub fn bandwidth_series(&self) -> Option<&SeriesSpec> {
        let has = |it: &&SeriesSpec| it.series.columns().bandwidths_bps.is_some();
        self.series.as_ref().filter(has)
    }

    /// Returns whether its bandwidth follows a trace.
    pub fn has_traced_bandwidth(&self) -> bool {
        self.trace.is_some() || self.bandwidth_series().is_some()
    }

    /// Returns whether its series has a bandwidth of 0.
    pub fn pauses(&self) -> bool {
        let series = self.series.as_ref();
        let all = series.and_then(|it| it.series.columns().bandwidths_bps.as_ref());
        all.is_some_and(|all| all.contains(&0.0))
    }

    /// Returns the bandwidth in bit/s that the link sustains: that of its shaper, if it is lower.
    pub fn sustained_bps(&self) -> f64 {
        let shaper_bps = self.shaper.map_or(f64::INFINITY, |shaper| shaper.rate_bps);
        self.bandwidth_bps.min(shaper_bps)
    }

    /// Returns the throughput in IP bit/s for packets of this many IP bits: the bandwidth without overhead.
    pub fn carries_bps(&self, ip_bits: f64) -> f64 {
        self.bandwidth_bps / self.overhead.factor(ip_bits)
    }
}

/// Traffic source of a connection.
#[derive(Clone, Debug)]
pub enum Source {
    /// TCP with a congestion window, by the rules of ns-2's agents.
    Ns2Tcp(WindowSource),
    /// TCP with a congestion window, by the rules of a real stack at both ends.
    Tcp(Arc<Stack>),
    /// TCP by a measured profile: throughput as a function of the path's loss and round-trip time.
    Profile(Arc<dyn Profile>),
    /// Constant rate without feedback.
    Constant {
        /// Rate in packets per second.
        rate_pps: f64,
    },
    /// Poisson packet arrivals; the fluid model uses their mean rate.
    Poisson {
        /// Mean rate in packets per second.
        rate_pps: f64,
    },
    /// Traffic of the users of a workload; see [`NetworkBuilder::workload`](crate::NetworkBuilder::workload).
    Users(Arc<UserTraffic>),
}

/// Application that supplies a TCP source with data; only profile sources use it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Application {
    /// Unlimited data.
    #[default]
    Bulk,
    /// Poisson packet arrivals; the fluid model uses their mean rate. Packets that TCP cannot send at once
    /// wait at the sender, without limit.
    Poisson {
        /// Mean rate of each connection in packets per second.
        rate_pps: f64,
    },
    /// Bursts of packets at a constant rate with pauses between them. The lengths of both are exponentially
    /// distributed. The fluid model uses the mean rate.
    OnOff {
        /// Rate during a burst in packets per second.
        rate_pps: f64,
        /// Mean length of a burst in seconds.
        on_s: f64,
        /// Mean length of a pause in seconds.
        off_s: f64,
    },
}

impl Application {
    /// Returns the mean rate in packets per second; infinite for unlimited data.
    pub fn mean_pps(&self) -> f64 {
        match *self {
            Application::Bulk => f64::INFINITY,
            Application::Poisson { rate_pps } => rate_pps,
            Application::OnOff {
                rate_pps,
                on_s,
                off_s,
            } => rate_pps * on_s / (on_s + off_s),
        }
    }
}

impl ConnectionSpec {
    /// Returns the maximum window in packets: the smaller of its own and that of its profile.
    pub fn window_limit_pkts(&self) -> Option<f64> {
        let of_profile = match &self.source {
            Source::Profile(profile) => profile.window_limit_pkts(),
            _ => None,
        };
        let both = [self.max_window_pkts, of_profile].into_iter().flatten();
        both.reduce(f64::min)
    }

    /// Returns whether it is more than one flow, so that ECMP may split it over several paths of equal cost.
    pub fn is_several_flows(&self) -> bool {
        self.ecmp_share.is_some() || self.count > 1 || matches!(self.source, Source::Users(_))
    }

    /// Returns whether it needs a return path, for feedback or acknowledgements.
    pub(crate) fn needs_return_path(&self) -> bool {
        self.source.has_feedback() || self.acks != Acks::None
    }

    /// Returns the mean number of packets that its applications (all `count`) generate from the start to
    /// `time_s`. Returns `None` for unlimited data.
    pub fn generated_pkts_until(&self, time_s: f64) -> Option<f64> {
        let mean_pps = self.application.mean_pps();
        let active_s = time_s.min(self.stop_s.unwrap_or(f64::INFINITY)) - self.start_s;
        let pkts = mean_pps * active_s.max(0.0);
        let each_pkts = pkts.min(self.size_pkts.unwrap_or(f64::INFINITY));
        (mean_pps < f64::INFINITY).then_some(each_pkts * f64::from(self.count))
    }
}

/// Acknowledgements that a connection's receiver sends (40 B each).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Acks {
    /// No acknowledgements, or a negligible number.
    None,
    /// One for every data packet.
    #[default]
    EveryPacket,
    /// One for every second data packet.
    EverySecond,
}

impl Acks {
    /// Returns the number of acknowledgements per data packet that arrives.
    pub fn per_data(self) -> f64 {
        match self {
            Acks::None => 0.0,
            Acks::EveryPacket => 1.0,
            Acks::EverySecond => 0.5,
        }
    }
}

/// `count` identical connections.
#[derive(Clone, Debug)]
pub struct ConnectionSpec {
    /// Unique name.
    pub name: String,
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Traffic source.
    pub source: Source,
    /// Application of a profile source; other sources ignore it.
    pub application: Application,
    /// Start time in seconds.
    pub start_s: f64,
    /// Time at which it stops sending, in seconds; `None`: the end of the run.
    pub stop_s: Option<f64>,
    /// Transfer size in packets of each of the `count` connections; each ends after it.
    pub size_pkts: Option<f64>,
    /// Number of identical connections, at least 1.
    pub count: u32,
    /// Window limit in packets: the rate is at most this per round-trip time.
    pub max_window_pkts: Option<f64>,
    /// Size of a data packet in bytes, with its IP header and without the [overhead](LinkSpec::overhead) of
    /// links.
    pub packet_size_bytes: f64,
    /// Nodes from sender to receiver. `None` selects the shortest path by delay or metric; requests of a
    /// workload with a `path` use that path reversed. Between two nodes with parallel links, the
    /// [preferred](LinkSpec::circuit) working link is used.
    pub path: Option<Vec<NodeId>>,
    /// Nodes from receiver to sender. `None` selects the reversed path, or the shortest path if a link of the
    /// reversed path does not exist.
    pub return_path: Option<Vec<NodeId>>,
    /// ECMP hash that selects among paths of equal cost, if no path is given. `None` selects the path with
    /// the fewest links, then the preferred links.
    pub flow: Option<FlowHash>,
    /// Share of an aggregate of flows that ECMP divides among all paths of equal cost. If a failure leaves
    /// other paths, a steady state routes each flow separately. A run routes the whole share over one path,
    /// by `flow`.
    pub ecmp_share: Option<EcmpShare>,
    /// Finite TCP transfers that a constant or Poisson source represents. Their packets arrive in bursts, so
    /// the fluid model and the steady state estimate longer queues. The packet model ignores it.
    pub transfers: Option<Arc<TransferSizes>>,
    /// Acknowledgements. Sources without feedback (constant, Poisson) usually have none.
    pub acks: Acks,
}

/// Paths that a connection takes in turn while a link of its explicit path is down.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fallbacks {
    /// Nodes from sender to receiver of each path, the preferred one first.
    pub paths: Vec<Vec<NodeId>>,
    /// Path while all of them have a link that is down.
    pub last: LastResort,
}

/// Path of a connection while none of its explicit paths works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastResort {
    /// Its explicit path, on which packets are lost.
    OwnPath,
    /// Shortest path.
    ShortestPath,
}

/// Change of a link by an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// New bandwidth in bit/s.
    Bandwidth(f64),
    /// Bandwidth 0: the link transmits nothing until an event sets a bandwidth. Its queue stays, and routes do not
    /// change. It needs the packet model.
    Pause,
    /// New loss in transit, for packets whose transmission ends later.
    Loss(LinkLoss),
    /// New propagation delay in seconds, for packets whose transmission ends later. They may overtake packets
    /// in flight.
    Delay(f64),
    /// Failure of the link: queued packets are lost, and routes are recomputed without it.
    Down,
    /// Recovery of the link: routes are recomputed with it.
    Up,
}

impl Change {
    /// Returns whether routes are recomputed.
    pub fn reroutes(&self) -> bool {
        match self {
            Change::Down | Change::Up => true,
            Change::Bandwidth(_) | Change::Pause | Change::Loss(_) | Change::Delay(_) => false,
        }
    }
}

/// Change of a link during the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventSpec {
    /// Time in seconds.
    pub at_s: f64,
    /// Link that changes.
    pub link: LinkId,
    /// The change.
    pub change: Change,
}

impl EventSpec {
    /// Time of an event that never happens: it announces a change that may be made at run time.
    pub const NEVER_S: f64 = 1e12;
}
