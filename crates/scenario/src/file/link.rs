//! `[[link]]`

use netflow_document::{ProblemKind, Section, Spanned, Table, table};
use netflow_units::link_name;

use super::{
    BufferSetting, LinkClass, LossSetting, OverheadSetting, QueueSetting, RateSetting, RiskGroups,
    Time, allowed,
};

/// A link from one node to another, with the queue in front of it.
#[table(name = "link", called = override_name, check = read_reverse)]
pub struct Link {
    /// The node where it starts. Naming a node here is all it takes for the node to exist.
    #[key(fixed, allowed = allowed::END, example = "A")]
    pub from: Spanned<String>,
    /// The node where it ends.
    #[key(fixed, allowed = allowed::END, example = "B")]
    pub to: Spanned<String>,
    /// What tells it from other links between the same two nodes: it is called `A->B#2` then, and its other direction
    /// `B->A#2`. Of several links between two nodes one at most has none.
    #[key(fixed, allowed = allowed::CIRCUIT, example = "2")]
    pub circuit: Option<Spanned<String>>,
    /// Bandwidth: `"8 Mbit/s"`, or `"1000 pkt/s"` for packets of the default size, `overhead` included.
    #[key(allowed = allowed::RATE, example = "8 Mbit/s")]
    pub bandwidth: RateSetting,
    /// Propagation delay, one way. Default: 0 s.
    #[key(allowed = allowed::DELAY, example = "20 ms")]
    pub delay: Option<Time>,
    /// Bytes of each packet on the wire beyond those of IP: `"38 B"` on Ethernet (18 B of header and checksum, 20 B of preamble and
    /// gap), or a table with `bytes`, `minimum` and `cells`. Load, utilization and transmission times include them;
    /// rates, goodputs, throughputs and `packet-size` count IP bytes. Buffers, queue thresholds and quanta in bytes, and bit errors, count bytes on the
    /// wire, as Linux does with a size table (tc-stab). Default: `overhead` of `[simulation]`, or else none.
    #[key(example = "38 B")]
    pub overhead: Option<Spanned<OverheadSetting>>,
    /// What it costs to lead traffic over it, both ways unless `reverse` has another metric: the path with the smallest sum is taken. Either all
    /// links have a metric or none. Default: the delay is what it costs.
    #[key(allowed = allowed::METRIC, example = 10)]
    pub metric: Option<Spanned<f64>>,
    /// How much the queue holds, the packet in service included: `"100 pkt"`, `"150 KB"`, or what the link
    /// sends in `"50 ms"`, at least one packet, of those that cross the link too, and two where the queue is managed (`codel`, `fq-codel`, `pie`).
    /// Packets count alike, small ones and acknowledgements as others; of bytes and times each packet
    /// takes its own bytes (in fluids they are so many of the mean size of those that are there). Default: what it sends during the longest round trip, queues
    /// aside, of the connections that cross it at the start (the bandwidth-delay product), at least 10
    /// packets and twice the upper threshold of a RED queue. A link that nothing crosses takes the round trips of links that leave or enter
    /// the same node, or of the network; 100 ms without traffic. `netflow check` shows it.
    /// A time follows the bandwidth that events set; CoDel, FQ-CoDel and PIE need at least 2 packets.
    #[key(allowed = allowed::BUFFER, example = "100 pkt")]
    pub buffer: Option<BufferSetting>,
    /// Whether there is the same link, with a queue of its own, in the other direction. Default:
    /// true.
    #[key(fixed, example = false)]
    pub duplex: Option<Spanned<bool>>,
    /// The other direction of a duplex link where it is different. Keys that it does not have are as in this direction. Both directions
    /// are one link, and fail together. Default: both directions are equal.
    #[key(fixed, example = "{ bandwidth = \"1 Mbit/s\", metric = 20 }")]
    pub reverse: Option<Spanned<Reverse>>,
    /// Which packets a filling queue refuses: `"drop-tail"`, `"codel"`, `"fq-codel"`, `"pie"`, or a table with
    /// `discipline` and its settings, which may also be `red`, `rio`, `rio-d` or `wred`. Default: drop-tail.
    #[key(example = "{ discipline = \"red\", min = \"10 pkt\", max = \"40 pkt\" }")]
    pub queue: Option<Spanned<QueueSetting>>,
    /// What is lost on the way, after the queue, whatever the queue is like: a fraction of the packets, or
    /// a table. Of a duplex link both directions lose as much unless `reverse` states another loss, acknowledgements too. Default: nothing.
    #[key(example = "1 %")]
    pub loss: Option<Spanned<LossSetting>>,
    /// The shared-risk groups that the link is in, both directions of it: links of one group fail together,
    /// by events and in `netflow failures`. In a CSV table several names stand in one cell, with `;` between
    /// them. Default: none.
    #[key(allowed = allowed::GROUPS, example = "[\"conduit-1\", \"bridge\"]")]
    pub srlg: Option<Spanned<RiskGroups>>,
    /// Queues for classes of packets, where `queue` is "priority" or "wfq".
    #[key(name = "class")]
    pub classes: Vec<LinkClass>,
    /// The other direction of a duplex link where `reverse` or `--set` makes it different.
    #[key(skip)]
    pub back: Option<Box<Link>>,
}

/// The other direction of a duplex link, where it is different.
#[table]
pub struct Reverse {
    /// Bandwidth.
    #[key(allowed = allowed::RATE, example = "1 Mbit/s")]
    pub bandwidth: Option<RateSetting>,
    /// Propagation delay, one way.
    #[key(allowed = allowed::DELAY, example = "25 ms")]
    pub delay: Option<Time>,
    /// Bytes of each packet on the wire beyond those of IP, as `overhead` of the link.
    #[key(example = "24 B")]
    pub overhead: Option<Spanned<OverheadSetting>>,
    /// Routing metric.
    #[key(allowed = allowed::METRIC, example = 20)]
    pub metric: Option<Spanned<f64>>,
    /// Buffer size of the queue, as `buffer` of the link.
    #[key(allowed = allowed::BUFFER, example = "50 pkt")]
    pub buffer: Option<BufferSetting>,
    /// Losses after the queue, as `loss` of the link.
    #[key(example = "2 %")]
    pub loss: Option<Spanned<LossSetting>>,
}

impl Link {
    /// Whether the link exists in both directions.
    pub fn is_duplex(&self) -> bool {
        self.duplex.as_ref().is_none_or(|duplex| **duplex)
    }
}

fn override_name(section: &Section<'_, '_>) -> Option<String> {
    let (from, to) = (section.text("from")?, section.text("to")?);
    let name = link_name(from, to, section.text("circuit"));
    Some(format!("link.{name}"))
}

/// The other direction, if `reverse` describes it or `--set` options call it by its own name: `link.B->A` of a link from A to B.
/// What these do not set is as in this direction.
fn read_reverse(link: &mut Link, s: &mut Section<'_, '_>) {
    if !link.is_duplex() {
        if let Some(reverse) = &link.reverse {
            let message = "`reverse` describes a direction that `duplex = false` excludes";
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
        back.loss = reverse.loss.or(back.loss);
    }
    if is_set {
        s.set_override_name(name);
        back = back.overridden(s);
    }
    link.back = Some(Box::new(back));
}
