//! What a network is made of, as its builder takes it.

use std::sync::Arc;

use netflow_diffserv::Curve;
use netflow_profile::Profile;
use netflow_queues::{Aqm, LinkLoss, Overhead};
use netflow_tcpmodel::Stack;
use netflow_tcpmodel::tcp::agents::WindowSource;
use netflow_workload::Transfers;

use crate::{Calibration, FlowHash, LinkId, NodeId, Portion, Rio, UserTraffic};

/// How much a queue holds, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// This many packets of any size; at least 1.
    Packets(f64),
    /// This many bytes, of which each packet takes its own, the link's [overhead](LinkSpec::overhead) included. In fluids they are as many packets of the mean size
    /// of all that are there.
    Bytes(f64),
    /// The bytes that the link sends in a given time, whatever its bandwidth is at the moment.
    Time(BufferTime),
    /// The bandwidth-delay product: what the link sends during the longest round trip, queues aside, of the
    /// connections that cross it at the start, in packets of the mean size of their data; at least 10
    /// packets, and at least twice the upper threshold of RED and RIO. A link that
    /// nothing crosses is sized by the round trips of the links that leave or enter the same node, or of the
    /// network; 100 ms without traffic.
    BandwidthDelay,
}

/// A buffer size as a transmission time: its bytes follow the link's bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferTime {
    /// Time in seconds that the link needs to send a full buffer.
    pub s: f64,
    /// Smallest buffer in bytes, for low bandwidths: one packet.
    pub least_bytes: f64,
}

impl BufferTime {
    /// Returns the buffer in bytes at this bandwidth in bit/s.
    pub fn bytes(self, bandwidth_bps: f64) -> f64 {
        (self.s * bandwidth_bps / 8.0).max(self.least_bytes)
    }
}

impl Buffer {
    /// Returns the buffer in bytes at this bandwidth in bit/s; `None` if it counts packets.
    pub fn bytes(self, bandwidth_bps: f64) -> Option<f64> {
        match self {
            Buffer::Bytes(bytes) => Some(bytes),
            Buffer::Time(time) => Some(time.bytes(bandwidth_bps)),
            Buffer::Packets(_) | Buffer::BandwidthDelay => None,
        }
    }
}

/// Random early detection: its drop probability rises with the average queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Average queue in packets below which nothing is dropped.
    pub min_pkts: f64,
    /// Average queue in packets at which the drop probability reaches `max_p`; where it is `min_pkts`, the probability is a step
    /// from 0 to 1.
    pub max_pkts: f64,
    /// Drop probability at `max_pkts`, in (0, 1].
    pub max_p: f64,
    /// Weight of a packet in the average queue, in (0, 1].
    pub weight: f64,
    /// Whether the probability rises on to 1 at twice `max_pkts` instead of jumping there.
    pub gentle: bool,
    /// Whether packets of senders with ECN are marked where others are dropped by chance; packets only,
    /// since fluids know no such senders.
    pub ecn: bool,
    /// Whether all packets are dropped where the probability is 1; else those of senders with ECN are marked there, too,
    /// as by Linux without `harddrop` and by ns-3 without `UseHardDrop`.
    pub hard_drop: bool,
}

impl Red {
    /// The marking probability p_b at an average queue of so many packets; 1 where all are dropped.
    pub fn marking_probability(&self, average_pkts: f64) -> f64 {
        self.curve().probability(average_pkts, self.gentle)
    }

    /// The marking probability over the average queue.
    pub fn curve(&self) -> Curve {
        Curve::new(self.min_pkts, self.max_pkts, self.max_p)
    }
}

/// Which packets a full, or filling, queue refuses.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum DropPolicy {
    /// Those that find it full.
    #[default]
    DropTail,
    /// Random early detection in front of the full buffer.
    Red(Red),
    /// RIO or WRED in front of the full buffer: each drop precedence has its own curve.
    Rio(Rio),
    /// By how long packets wait, decided when they come or when they are sent; fluids know PIE only.
    Managed(Aqm),
}

impl DropPolicy {
    /// Whether it marks packets of senders with ECN instead of dropping them (RFC 3168).
    pub fn marks(&self) -> bool {
        match self {
            DropPolicy::Red(red) => red.ecn,
            DropPolicy::Managed(aqm) => aqm.marks(),
            DropPolicy::DropTail | DropPolicy::Rio(_) => false,
        }
    }
}

/// A directed link and the queue in front of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// What tells it from other links between the same nodes: it is called `A->B#CIRCUIT` then. Of several one at
    /// most has none. Preferred is the one of least cost, then the fastest, the one without a circuit, the first by its
    /// name.
    pub circuit: Option<Arc<str>>,
    /// Bandwidth in bit/s, positive.
    pub bandwidth_bps: f64,
    /// Propagation delay in seconds, not negative.
    pub delay_s: f64,
    /// Bytes of each packet on the wire beyond those of IP. They take bandwidth, space in buffers of bytes and bit errors; sizes of
    /// packets, rates and goodputs count IP bytes.
    pub overhead: Overhead,
    /// How much the queue holds.
    pub buffer: Buffer,
    /// Which packets are refused.
    pub queue: DropPolicy,
    /// What is lost on the way, after the queue.
    pub loss: LinkLoss,
    /// What it costs to lead traffic over it, not negative. Either all links have a metric or none: then the
    /// delay is what it costs.
    pub metric: Option<f64>,
    /// What packets showed of its queue, for fluids.
    pub calibration: Calibration,
}

impl LinkSpec {
    /// A link without delay, with a drop-tail queue for 100 packets.
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
            loss: LinkLoss::NONE,
            metric: None,
            calibration: Calibration::default(),
        }
    }

    /// IP bit/s that it transmits of packets with these IP bits: its bandwidth without overhead.
    pub fn carries_bps(&self, ip_bits: f64) -> f64 {
        self.bandwidth_bps / self.overhead.factor(ip_bits)
    }
}

/// What makes a connection send.
#[derive(Clone, Debug)]
pub enum Source {
    /// TCP with its congestion window, by the rules of ns-2's agents.
    Window(WindowSource),
    /// TCP with its congestion window, by the rules of a real stack at both ends.
    Stack(Arc<Stack>),
    /// TCP as measured: throughput from the loss and the round-trip time of the path.
    Profile(Arc<dyn Profile>),
    /// A constant rate in packets/s, whatever happens.
    Constant {
        /// Packets per second.
        rate_pps: f64,
    },
    /// Poisson packets; the fluid models see their mean rate.
    Poisson {
        /// Mean packets per second.
        rate_pps: f64,
    },
    /// What the users of a workload send; see [`NetworkBuilder::workload`](crate::NetworkBuilder::workload).
    Users(Arc<UserTraffic>),
}

/// What gives a TCP source its data; sources without a window make their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Application {
    /// As much as TCP can send.
    #[default]
    Bulk,
    /// Packets at random moments; the fluid models see their mean rate. What TCP cannot send at
    /// once waits at the sender, without limit.
    Poisson {
        /// Mean packets per second of each connection.
        rate_pps: f64,
    },
    /// Bursts of packets at a constant rate with pauses between them, the lengths of both
    /// exponentially distributed. The fluid models see the mean rate.
    OnOff {
        /// Packets per second during a burst.
        rate_pps: f64,
        /// Mean length of a burst in seconds.
        on_s: f64,
        /// Mean length of a pause in seconds.
        off_s: f64,
    },
}

impl Application {
    /// Mean packets per second that it makes; infinite where there is always more.
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
    /// Whether routers may lead parts of it over different paths of equal cost: it is more than one flow.
    pub fn is_several_flows(&self) -> bool {
        self.divides.is_some() || self.count > 1 || matches!(self.source, Source::Users(_))
    }

    /// Whether something comes back for what it sends, so that there has to be a way.
    pub(crate) fn needs_way_back(&self) -> bool {
        self.source.has_feedback() || self.acks != Acks::None
    }

    /// Packets that its applications (all `count`) make on average from the start to this time (s); `None` where
    /// there is always more.
    pub fn made_until(&self, time_s: f64) -> Option<f64> {
        let mean_pps = self.application.mean_pps();
        let active_s = time_s.min(self.stop_s.unwrap_or(f64::INFINITY)) - self.start_s;
        let pkts = mean_pps * active_s.max(0.0);
        let each_pkts = pkts.min(self.size_pkts.unwrap_or(f64::INFINITY));
        (mean_pps < f64::INFINITY).then_some(each_pkts * f64::from(self.count))
    }
}

/// The acknowledgements that a connection's receiver sends back (40 B each).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Acks {
    /// None, or none that matter.
    None,
    /// One for every data packet.
    #[default]
    EveryPacket,
    /// One for every second data packet.
    EverySecond,
}

impl Acks {
    /// How many there are for each data packet that arrives.
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
    /// Its name, unique.
    pub name: String,
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// What makes it send.
    pub source: Source,
    /// What gives a profile source its data; without effect on others.
    pub application: Application,
    /// When it starts, in seconds.
    pub start_s: f64,
    /// When it stops sending, in seconds; `None`: at the end of the run.
    pub stop_s: Option<f64>,
    /// Packets to deliver for each of the `count` connections, after which it ends.
    pub size_pkts: Option<f64>,
    /// How many identical connections this is, at least 1.
    pub count: u32,
    /// Window limit in packets: the rate is at most this per round-trip time.
    pub max_window_pkts: Option<f64>,
    /// Size of a data packet in bytes, with its IP header and without the [overhead](LinkSpec::overhead) of links.
    pub packet_size_bytes: f64,
    /// Nodes from sender to receiver; `None`: the shortest path by delay, or by metric; of requests of a workload
    /// with a `path`, that one reversed. Of several links between two of the nodes it takes the
    /// [preferred](LinkSpec::circuit) one that works.
    pub path: Option<Vec<NodeId>>,
    /// Nodes from receiver to sender; `None`: the reversed path (the shortest path back where a
    /// link of the reversed path does not exist).
    pub return_path: Option<Vec<NodeId>>,
    /// Which of several paths of equal cost, where no path is given; `None`: the one with the fewest links, and among
    /// these the preferred.
    pub flow: Option<FlowHash>,
    /// If it stands for many flows that routers divide among all paths of equal cost: which of them. Where a failure leaves
    /// other paths, a steady state leads each over its own; a run leads all of this over one, by `flow`.
    pub divides: Option<Portion>,
    /// What a source of its own rate stands for: transfers of TCP, which come and go, and send their packets in bursts.
    /// Fluids and steady states have longer queues for it; packets know nothing of it.
    pub transfers: Option<Arc<Transfers>>,
    /// Its acknowledgements. Sources without feedback (constant, Poisson) usually have none.
    pub acks: Acks,
}

/// What an event does to a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The bandwidth in bit/s is this from now on.
    Bandwidth(f64),
    /// What is lost on the way is this from now on: of the packets whose transmission ends later.
    Loss(LinkLoss),
    /// The propagation delay in seconds is this from now on: of the packets whose transmission ends later, which may
    /// overtake those that are on the way.
    Delay(f64),
    /// The link fails: what is queued is lost, and routes are computed anew without it.
    Down,
    /// The link works again, and routes are computed anew with it.
    Up,
}

impl Change {
    /// Whether routes are computed anew.
    pub fn reroutes(&self) -> bool {
        match self {
            Change::Down | Change::Up => true,
            Change::Bandwidth(_) | Change::Loss(_) | Change::Delay(_) => false,
        }
    }
}

/// Something that happens to a link during the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventSpec {
    /// When, in seconds.
    pub at_s: f64,
    /// To which link.
    pub link: LinkId,
    /// What.
    pub change: Change,
}

impl EventSpec {
    /// What happens at this time never happens: it says what may be done to a link by hand.
    pub const NEVER_S: f64 = 1e12;
}
