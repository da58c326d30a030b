//! `[[link]]`

use netflow_document::{ProblemKind, Section, Spanned, Table, table};
use netflow_units::link_name;

use super::{
    BandwidthSetting, BufferSetting, JitterSetting, LinkClass, LongTime, LossSetting,
    OverheadSetting, PacketCount, QueueSetting, ReorderingSetting, RiskGroups, SlotSettings, Time,
    TokenBucketSetting, Unavailability, allowed,
};

/// Link from one node to another, with its queue.
#[table(name = "link", called = override_name, check = check_link)]
pub struct Link {
    /// Node at the start of the link. A node exists if a link names it.
    #[key(fixed, allowed = allowed::END, example = "A")]
    pub from: Spanned<String>,
    /// Node at the end of the link.
    #[key(fixed, allowed = allowed::END, example = "B")]
    pub to: Spanned<String>,
    /// Name that distinguishes parallel links between the same two nodes: the link is called `A->B#2`, and its
    /// other direction `B->A#2`. At most one of the parallel links has none.
    #[key(fixed, allowed = allowed::CIRCUIT, example = "2")]
    pub circuit: Option<Spanned<String>>,
    /// Bandwidth: `"8 Mbit/s"`, or `"1000 pkt/s"` for packets of the default size, `overhead` included. A table names a trace:
    /// values over time, or the times of packet deliveries, which need the packet model.
    #[key(example = "8 Mbit/s")]
    pub bandwidth: Spanned<BandwidthSetting>,
    /// Propagation delay in each direction. Default: 0 s.
    #[key(allowed = allowed::DELAY, example = "20 ms")]
    pub delay: Option<Time>,
    /// Bytes added to each IP packet on the wire: `"38 B"` on Ethernet (18 B of header and checksum, 20 B of
    /// preamble and gap), or a table with `bytes`, `minimum` and `cells`. Load, utilization and transmission
    /// times include them; rates, goodputs, throughputs and `packet-size` count IP bytes. Buffers, queue
    /// thresholds and quanta in bytes, and bit errors, count bytes on the wire, as Linux does with a size table
    /// (tc-stab). Default: `overhead` of `[simulation]`, or else none.
    #[key(example = "38 B")]
    pub overhead: Option<Spanned<OverheadSetting>>,
    /// Routing metric, in both directions unless `reverse` has another: traffic takes the path with the smallest
    /// sum. Either all links have a metric or none. Default: routing by delay.
    #[key(allowed = allowed::METRIC, example = 10)]
    pub metric: Option<Spanned<f64>>,
    /// Buffer size of the queue, the packet in service included: `"100 pkt"`, `"150 KB"`, or a time such as `"50
    /// ms"` (the data that the link sends in this time). A buffer given as a time has space for at least one packet
    /// that crosses the link, and for two in managed queues (`codel`, `fq-codel`, `pie`, `dualpi2`, `cake`). In packets,
    /// every packet counts as one, acknowledgements included. In bytes or time, each packet counts by its size; the
    /// fluid model uses the mean size of the packets present. A time depends on the current bandwidth, which events
    /// can change. Managed queues need at least 2 packets. Default: the bandwidth-delay product for the longest
    /// base RTT of the connections that cross the link at the start, at least 10 packets and twice the upper
    /// threshold of a RED queue; with CAKE at least 4 MiB, or 10 240 packets of 1514 B without a shaper. A link without
    /// connections uses the RTTs of links at the same nodes, or of the network; without traffic, 100 ms. `netflow check`
    /// shows the value.
    #[key(allowed = allowed::BUFFER, example = "100 pkt")]
    pub buffer: Option<BufferSetting>,
    /// True if the link also exists in the other direction, with a separate queue. Default: true.
    #[key(fixed, example = false)]
    pub duplex: Option<Spanned<bool>>,
    /// Number of members of a bundle (LAG), each with this `bandwidth` and `buffer`, a queue of its own, and `mtbf`. The
    /// members are called `A->B#1`, `A->B#2` and so on; with `circuit = "x"`, `A->B#x.1`. Traffic is spread over them by
    /// flow, so `ecmp` is needed. Default: 1, no bundle.
    #[key(fixed, allowed = allowed::MEMBERS, example = 4)]
    pub members: Option<Spanned<u64>>,
    /// Number of working `members` below which the whole bundle is down. Default: 1.
    #[key(fixed, allowed = allowed::MEMBERS, example = 2)]
    pub min_links: Option<Spanned<u64>>,
    /// Settings of the other direction of a duplex link. Missing keys are as in this direction. Both directions
    /// are one link and fail together. Default: both directions are equal.
    #[key(fixed, example = "{ bandwidth = \"1 Mbit/s\", metric = 20 }")]
    pub reverse: Option<Spanned<Reverse>>,
    /// Queue discipline: `"drop-tail"`, `"codel"`, `"fq-codel"`, `"pie"`, `"dualpi2"`, `"cake"`, `"priority"`, `"wfq"`,
    /// `"htb"`, or a table with `discipline` and its settings, also for `red`, `rio`, `rio-d` or `wred`. Default: drop-tail.
    #[key(example = "{ discipline = \"red\", min = \"10 pkt\", max = \"40 pkt\" }")]
    pub queue: Option<Spanned<QueueSetting>>,
    /// Token bucket in front of the queue, which drops the packets that do not conform, as `tc police` and the policers of
    /// routers do: `rate` and `burst`. In `reverse`, `"none"` removes it. It needs the packet model. Default: none.
    #[key(example = "{ rate = \"20 Mbit/s\", burst = \"32 KB\" }")]
    pub policer: Option<Spanned<TokenBucketSetting>>,
    /// Token bucket behind the queue, in which the packets that do not conform wait, as with `tc tbf`: `rate` and
    /// `burst`. Packets that conform leave at the `bandwidth` of the link. Buffers given as a time, and default buffers,
    /// are those of `rate`. In `reverse`, `"none"` removes it. It needs the packet model. Default: none.
    #[key(example = "{ rate = \"20 Mbit/s\", burst = \"32 KB\" }")]
    pub shaper: Option<Spanned<TokenBucketSetting>>,
    /// Loss after the queue, independent of the queue: a fraction of the packets, or a table. It applies to both
    /// directions of a duplex link unless `reverse` has another loss, and to acknowledgements. Default: none.
    #[key(example = "1 %")]
    pub loss: Option<Spanned<LossSetting>>,
    /// Random delay after the queue, added to `delay`: `"5 ms"` is uniform between minus and plus 5 ms and keeps the order
    /// of packets; a table has `deviation`, `distribution`, `correlation` and `reorders`. Routes and default buffers use
    /// `delay`. It needs the packet model. Default: none.
    #[key(example = "5 ms")]
    pub jitter: Option<Spanned<JitterSetting>>,
    /// Packets that skip `delay` and `jitter` and so overtake others: a fraction, or a table with `probability` and `gap`.
    /// It needs the packet model. Default: none.
    #[key(example = "1 %")]
    pub reordering: Option<Spanned<ReorderingSetting>>,
    /// Fraction of packets that arrive twice. A receiver without acknowledgements counts both. It needs the packet model.
    /// Default: 0.
    #[key(allowed = allowed::PROBABILITY, example = "0.1 %")]
    pub duplication: Option<Spanned<f64>>,
    /// Maximum number of packets between the queue and the other end of the link, as `limit` of `tc netem`, whose default
    /// is 1000. More are lost. It needs the packet model. Default: unlimited.
    #[key(name = "in-flight-limit", allowed = allowed::IN_FLIGHT, example = "1000 pkt")]
    pub in_flight_limit: Option<PacketCount>,
    /// Transmission slots: after their delay, packets wait for the next slot, as on media that send in bursts. The order
    /// is kept. It needs the packet model. Default: none.
    #[key(example = "{ interval = \"10 ms\", packets = 16 }")]
    pub slots: Option<Spanned<SlotSettings>>,
    /// Shared-risk groups of the link, in both directions. Links of one group fail together, by events and in
    /// `netflow failures`. In a CSV table, names are separated by `;`. Default: none.
    #[key(allowed = allowed::GROUPS, example = "[\"conduit-1\", \"bridge\"]")]
    pub srlg: Option<Spanned<RiskGroups>>,
    /// Mean time between failures: from a repair to the next failure. It needs `mttr`, and only `netflow availability` uses
    /// it. Both directions of a duplex link fail together. Default: the link never fails.
    #[key(allowed = allowed::MTBF, example = "200 d")]
    pub mtbf: Option<LongTime>,
    /// Mean time to repair, with `mtbf`: the unavailability is mttr / (mtbf + mttr).
    #[key(allowed = allowed::MTTR, example = "12 h")]
    pub mttr: Option<LongTime>,
    /// Fraction of the time in which the link has failed, instead of `mtbf` and `mttr`.
    #[key(allowed = allowed::UNAVAILABILITY, example = "0.4 %")]
    pub unavailability: Option<Spanned<f64>>,
    /// Queues for traffic classes, if `queue` is "priority", "wfq" or "htb".
    #[key(name = "class")]
    pub classes: Vec<LinkClass>,
    /// The other direction of a duplex link where `reverse` or `--set` makes it different.
    #[key(skip)]
    pub back: Option<Box<Link>>,
}

/// Other direction of a duplex link.
#[table]
pub struct Reverse {
    /// Bandwidth, as `bandwidth` of the link.
    #[key(example = "1 Mbit/s")]
    pub bandwidth: Option<Spanned<BandwidthSetting>>,
    /// Propagation delay.
    #[key(allowed = allowed::DELAY, example = "25 ms")]
    pub delay: Option<Time>,
    /// Bytes added to each IP packet on the wire, as `overhead` of the link.
    #[key(example = "24 B")]
    pub overhead: Option<Spanned<OverheadSetting>>,
    /// Routing metric.
    #[key(allowed = allowed::METRIC, example = 20)]
    pub metric: Option<Spanned<f64>>,
    /// Buffer size of the queue, as `buffer` of the link.
    #[key(allowed = allowed::BUFFER, example = "50 pkt")]
    pub buffer: Option<BufferSetting>,
    /// Queue discipline, as `queue` of the link.
    #[key(example = "{ discipline = \"cake\", bandwidth = \"0.9 Mbit/s\" }")]
    pub queue: Option<Spanned<QueueSetting>>,
    /// Token bucket in front of the queue, as `policer` of the link.
    #[key(example = "{ rate = \"1 Mbit/s\", burst = \"15 KB\" }")]
    pub policer: Option<Spanned<TokenBucketSetting>>,
    /// Token bucket behind the queue, as `shaper` of the link.
    #[key(example = "{ rate = \"1 Mbit/s\", burst = \"15 KB\" }")]
    pub shaper: Option<Spanned<TokenBucketSetting>>,
    /// Loss after the queue, as `loss` of the link.
    #[key(example = "2 %")]
    pub loss: Option<Spanned<LossSetting>>,
    /// Random delay, as `jitter` of the link; `"0 s"` is none.
    #[key(example = "10 ms")]
    pub jitter: Option<Spanned<JitterSetting>>,
    /// Packets that skip the delay, as `reordering` of the link.
    #[key(example = "2 %")]
    pub reordering: Option<Spanned<ReorderingSetting>>,
    /// Fraction of packets that arrive twice, as `duplication` of the link.
    #[key(allowed = allowed::PROBABILITY, example = "0.2 %")]
    pub duplication: Option<Spanned<f64>>,
    /// Maximum number of packets in propagation, as `in-flight-limit` of the link.
    #[key(name = "in-flight-limit", allowed = allowed::IN_FLIGHT, example = "500 pkt")]
    pub in_flight_limit: Option<PacketCount>,
    /// Transmission slots, as `slots` of the link.
    #[key(example = "{ interval = \"5 ms\" }")]
    pub slots: Option<Spanned<SlotSettings>>,
}

impl Link {
    /// Whether the link exists in both directions.
    pub fn is_duplex(&self) -> bool {
        self.duplex.as_ref().is_none_or(|duplex| **duplex)
    }

    /// Returns the keys of its unavailability.
    pub(crate) fn unavailability(&self) -> Unavailability<'_> {
        Unavailability {
            mtbf: self.mtbf.as_ref(),
            mttr: self.mttr.as_ref(),
            fraction: self.unavailability.as_ref(),
        }
    }
}

fn override_name(section: &Section<'_, '_>) -> Option<String> {
    let (from, to) = (section.text("from")?, section.text("to")?);
    let name = link_name(from, to, section.text("circuit"));
    Some(format!("link.{name}"))
}

fn check_link(link: &mut Link, s: &mut Section<'_, '_>) {
    link.unavailability().check(s);
    read_reverse(link, s);
}

/// The other direction, if `reverse` describes it or `--set` options call it by its own name: `link.B->A` of a link from A to B.
/// What these do not set is as in this direction.
fn read_reverse(link: &mut Link, s: &mut Section<'_, '_>) {
    if !link.is_duplex() {
        if let Some(reverse) = &link.reverse {
            let message = "`reverse` conflicts with `duplex = false`";
            s.findings
                .error(ProblemKind::Conflict, reverse.place(), message)
                .set_help("leave out `duplex` or `reverse`");
        }
        return;
    }
    let circuit = link.circuit.as_ref().map(|circuit| circuit.as_str());
    let name = format!("link.{}", link_name(&link.to, &link.from, circuit));
    let is_set = s.is_set(&name);
    if !is_set && link.reverse.is_none() {
        return;
    }
    let mut back = link.clone();
    std::mem::swap(&mut back.from, &mut back.to);
    back.duplex = None;
    if let Some(reverse) = back.reverse.take().map(Spanned::into_inner) {
        back.bandwidth = reverse.bandwidth.unwrap_or(back.bandwidth);
        back.delay = reverse.delay.or(back.delay);
        back.overhead = reverse.overhead.or(back.overhead);
        back.metric = reverse.metric.or(back.metric);
        back.buffer = reverse.buffer.or(back.buffer);
        back.queue = reverse.queue.or(back.queue);
        back.policer = reverse.policer.or(back.policer);
        back.shaper = reverse.shaper.or(back.shaper);
        back.loss = reverse.loss.or(back.loss);
        back.jitter = reverse.jitter.or(back.jitter);
        back.reordering = reverse.reordering.or(back.reordering);
        back.duplication = reverse.duplication.or(back.duplication);
        back.in_flight_limit = reverse.in_flight_limit.or(back.in_flight_limit);
        back.slots = reverse.slots.or(back.slots);
    }
    if is_set {
        s.set_override_name(name);
        back = back.overridden(s);
    }
    link.back = Some(Box::new(back));
}
