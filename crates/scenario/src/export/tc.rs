//! Export of links to queueing disciplines of Linux: commands of `tc` (tc(8), tc-netem(8), tc-tbf(8), tc-htb(8)).
//!
//! A link becomes netem (delay line and loss), below it tbf or htb (bandwidth and shaper), and below these its queues.
//! netem therefore acts before the queue, because it delays packets when they arrive at a qdisc.

use std::fmt::Write;

use netflow_network::{
    Aqm, Buffer, DropPolicy, LinkId, LinkSpec, MultiQueueLink, Network, Scheduler, TokenBucketSpec,
};
use netflow_queues::{
    AckFilter, Cells, CoDel, DelayLine, HtbTree, Isolation, JitterDistribution, LinkLoss, Overhead,
    Tins,
};

use crate::compiled_scenario::CompiledScenario;

/// Start of the script.
pub const TC_HEADER: &str = "#!/bin/sh\n# Links of a netflow scenario";

/// Bytes of the Ethernet header, which Linux counts as part of a packet.
const ETHERNET_BYTES: f64 = 14.0;

/// Smallest burst of a rate: a full Ethernet frame and some space, as in tc-tbf(8).
const FRAME_BYTES: f64 = 1540.0;

/// Limit of netem that is no limit.
const UNLIMITED_PKTS: u64 = 1_000_000_000;

/// Number of the class of packets without a class.
const DEFAULT_CLASS: &str = "ffff";

/// Link that tc cannot make, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("link {link}: {what}")]
pub struct TcError {
    /// Name of the link.
    pub link: String,
    /// Feature that tc does not support, and what to do.
    pub what: String,
}

/// Exports the links of a scenario as a shell script, which makes one of them on an interface.
///
/// # Errors
/// A link that queueing disciplines cannot make.
pub fn tc(scenario: &CompiledScenario) -> Result<String, TcError> {
    let network = &scenario.network;
    let links = network
        .links()
        .filter(|link| !network.is_class_queue(*link));
    let mut text = format!(
        "{TC_HEADER} as queueing disciplines of Linux (tc).\n\
         #\n\
         #   sh FILE LINK INTERFACE      on the host at the start of the link, as root\n\
         #\n\
         # Switch off offloads first: ethtool -K INTERFACE tso off gso off gro off. The overhead of a link assumes\n\
         # an Ethernet interface. Linux delays and loses packets before the queue, netflow after it.\n\
         set -e\n\
         dev=${{2:?write the name of a link and an interface}}\n\
         tc qdisc del dev \"$dev\" root 2> /dev/null || true\n\
         tc qdisc del dev \"$dev\" clsact 2> /dev/null || true\n\
         case $1 in\n"
    );
    for link in links {
        let name = network.link_name(link).replace('\'', "'\\''");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "'{name}')");
        for command in tc_commands(network, link)? {
            let _ = writeln!(
                text,
                "    tc {} dev \"$dev\" {}",
                command.object, command.rest
            );
        }
        text += "    ;;\n";
    }
    text += "*) echo \"$1 is not a link of the scenario\" >&2; exit 2 ;;\nesac\n";
    Ok(text)
}

/// A command of `tc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcCommand {
    /// Object and verb: `qdisc add`.
    pub object: &'static str,
    /// Arguments after the interface.
    pub rest: String,
}

/// Returns the commands that make a link.
///
/// # Errors
/// A feature that queueing disciplines do not have.
pub fn tc_commands(network: &Network, link: LinkId) -> Result<Vec<TcCommand>, TcError> {
    let refuse = |what: String| TcError {
        link: network.link_name(link).to_owned(),
        what,
    };
    commands(network, link).map_err(refuse)
}

/// Returns the commands, or the feature that qdiscs do not have.
fn commands(network: &Network, link: LinkId) -> Result<Vec<TcCommand>, String> {
    // Exhaustive, so that every new setting of a link must be translated here.
    let LinkSpec {
        from: _,
        to: _,
        circuit: _,
        bandwidth_bps,
        delay_s,
        overhead,
        buffer: _,
        queue: _, // both in `queue`
        policer,
        shaper,
        loss,
        trace,
        series,
        delay_line,
        metric: _,
        calibration: _, // of the fluid model
    } = network.link_spec(link);
    if trace.is_some() || series.is_some() {
        return Err("traces have no qdisc; give the link a rate".to_owned());
    }
    if network.events().any(|event| event.link == link) {
        return Err(
            "events have no qdisc: remove them, and change the interface with `tc` at their times"
                .to_owned(),
        );
    }
    // `tc` rounds a burst down to whole microseconds of its rate, and tbf drops larger packets.
    let rounding_bytes = bandwidth_bps / 8e6;
    let frame_bytes = largest_frame_bytes(network, link).max(FRAME_BYTES) + rounding_bytes;
    let frame_bytes = frame_bytes.ceil();
    let mut plan = Plan {
        commands: Vec::new(),
        place: "root".to_owned(),
        size_table: size_table(overhead)?,
        handle: 1,
    };
    if let Some(policer) = policer {
        plan.add_policer(policer, overhead)?;
    }
    if let Some(netem) = netem(*delay_s, delay_line, loss)? {
        plan.add_qdisc(&netem);
    }
    let specs = network.tables().multi_queue_links.iter();
    let queues = network.queues_of(link);
    match specs.into_iter().find(|it| it.link == link) {
        Some(classes) => {
            let Scheduler::Htb(tree) = &classes.scheduler else {
                return Err(
                    "`priority` and `wfq` have no qdisc with rates; use `queue = \"htb\"`"
                        .to_owned(),
                );
            };
            if shaper.is_some() {
                return Err(
                    "a shaper with htb cannot be exported; use the `ceil` of a class".to_owned(),
                );
            }
            plan.add_htb(
                network,
                (classes, tree),
                &queues,
                *bandwidth_bps,
                frame_bytes,
            )?;
        }
        None => {
            let queue = Queue::of(network, link)?;
            let limit = match &queue {
                Queue::Bytes(bytes) => *bytes,
                // Only the limit of the queue below counts.
                Queue::Below(_) => 1e6,
            };
            let tbf = token_bucket(*bandwidth_bps, *shaper, frame_bytes)?;
            plan.add_qdisc(&format!("{tbf} limit {limit}b"));
            if let Queue::Below(qdisc) = &queue {
                plan.add_qdisc(qdisc);
            }
        }
    }
    Ok(plan.commands)
}

/// Commands under construction.
struct Plan {
    commands: Vec<TcCommand>,
    /// Place of the next qdisc: `root` or its parent.
    place: String,
    /// Size table of the root qdisc.
    size_table: String,
    /// Number of the next qdisc.
    handle: usize,
}

impl Plan {
    fn push(&mut self, object: &'static str, rest: String) {
        self.commands.push(TcCommand { object, rest });
    }

    /// Adds a qdisc below the former one.
    fn add_qdisc(&mut self, qdisc: &str) {
        let table = std::mem::take(&mut self.size_table);
        let (place, handle) = (&self.place, self.handle);
        let rest = format!("{place} handle {handle:x}: {table}{qdisc}");
        self.push("qdisc add", rest);
        self.place = format!("parent {handle:x}:1");
        self.handle += 1;
    }

    fn add_policer(
        &mut self,
        policer: &TokenBucketSpec,
        overhead: &Overhead,
    ) -> Result<(), String> {
        if *overhead != Overhead::of(ETHERNET_BYTES) {
            return Err("policers of Linux count 14 B of Ethernet header; give the link `overhead = \"14 B\"`".to_owned());
        }
        let TokenBucketSpec {
            rate_bps,
            burst_bytes,
        } = policer;
        self.push("qdisc add", "clsact".to_owned());
        self.push(
            "filter add",
            format!(
                "egress matchall action police rate {rate_bps}bit burst {burst_bytes}b conform-exceed drop"
            ),
        );
        Ok(())
    }

    fn add_htb(
        &mut self,
        network: &Network,
        (spec, tree): (&MultiQueueLink, &HtbTree),
        queues: &[LinkId],
        bandwidth_bps: f64,
        frame_bytes: f64,
    ) -> Result<(), String> {
        let top = self.handle;
        self.add_qdisc(&format!("htb default {DEFAULT_CLASS}"));
        let bursts = format!("burst {frame_bytes}b cburst {frame_bytes}b");
        self.push(
            "class add",
            format!(
                "parent {top:x}: classid {top:x}:1 htb rate {bandwidth_bps}bit ceil {bandwidth_bps}bit {bursts}"
            ),
        );
        // The class of the link is number 1.
        let number = |class: usize| class + 2;
        for (place, class) in tree.classes.iter().enumerate() {
            let parent = class.parent.map_or(1, number);
            let is_leaf = tree.class_of_queue.contains(&place);
            let mut rest = format!(
                "parent {top:x}:{parent:x} classid {top:x}:{:x} htb rate {}bit ceil {}bit burst {}b cburst {}b",
                number(place),
                class.rate_bps,
                class.ceil_bps,
                class.burst_bytes,
                class.cburst_bytes
            );
            if is_leaf {
                rest += &format!(" prio {} quantum {}", class.prio, class.quantum_bytes);
            }
            self.push("class add", rest);
        }
        self.push(
            "class add",
            format!(
                "parent {top:x}:1 classid {top:x}:{DEFAULT_CLASS} htb rate 8bit ceil {bandwidth_bps}bit {bursts} prio 7 \
                 quantum 1514"
            ),
        );
        for (class, queue) in spec.classes.iter().zip(&queues[1..]) {
            if class.policer.is_some() {
                return Err(format!(
                    "the policer of class `{}` cannot be exported; use its `ceil`",
                    class.name
                ));
            }
            let place = queues[1..]
                .iter()
                .position(|it| it == queue)
                .unwrap_or_default();
            let minor = number(tree.class_of_queue[place]);
            self.add_leaf(network, *queue, &format!("{top:x}:{minor:x}"))?;
        }
        self.add_leaf(network, queues[0], &format!("{top:x}:{DEFAULT_CLASS}"))
    }

    fn add_leaf(&mut self, network: &Network, queue: LinkId, class: &str) -> Result<(), String> {
        self.place = format!("parent {class}");
        match Queue::of(network, queue)? {
            Queue::Below(qdisc) => self.add_qdisc(&qdisc),
            Queue::Bytes(bytes) => self.add_qdisc(&format!("bfifo limit {bytes}")),
        }
        Ok(())
    }
}

/// Queue of a link or a class.
enum Queue {
    /// Drop-tail in bytes, which tbf has itself.
    Bytes(f64),
    /// A qdisc.
    Below(String),
}

impl Queue {
    fn of(network: &Network, link: LinkId) -> Result<Queue, String> {
        let spec = network.link_spec(link);
        let bytes = spec.buffer.bytes(spec.sustained_bps()).map(f64::floor);
        let packets = || {
            if bytes.is_some() {
                let what =
                    "the limit of this queue counts packets in Linux; give the `buffer` in packets";
                return Err(what.to_owned());
            }
            Ok(network.buffer_pkts(link).floor())
        };
        let qdisc = match (&spec.queue, bytes) {
            (DropPolicy::DropTail, Some(bytes)) => return Ok(Queue::Bytes(bytes)),
            (DropPolicy::DropTail, None) => format!("pfifo limit {}", packets()?),
            (DropPolicy::Managed(Aqm::CoDel(rules)), _) => {
                format!("codel limit {} {}", packets()?, codel(rules))
            }
            (DropPolicy::Managed(Aqm::FqCoDel(fair)), _) => format!(
                "fq_codel limit {} flows {} quantum {} {}",
                packets()?,
                fair.flows,
                fair.quantum_bytes,
                codel(&fair.codel)
            ),
            (DropPolicy::Managed(Aqm::Pie(pie)), _) => format!(
                "pie limit {} target {} tupdate {} {}",
                packets()?,
                time(pie.target_ns),
                time(pie.update_ns),
                if pie.ecn { "ecn" } else { "noecn" }
            ),
            (DropPolicy::Managed(Aqm::Cake(cake)), bytes) => {
                let rate = cake.bandwidth_bps;
                let rate = rate.map_or_else(
                    || "unlimited".to_owned(),
                    |bps| format!("bandwidth {bps}bit"),
                );
                let mut text = format!(
                    "cake {rate} {} {} {} rtt {} raw",
                    tins(cake.tins),
                    isolation(cake.isolation),
                    match cake.ack_filter {
                        AckFilter::Off => "no-ack-filter",
                        AckFilter::On => "ack-filter",
                        AckFilter::Aggressive => "ack-filter-aggressive",
                    },
                    time(cake.rtt_ns)
                );
                match (bytes, spec.buffer) {
                    (Some(bytes), _) => text += &format!(" memlimit {bytes}"),
                    (None, Buffer::BandwidthDelay) => {}
                    (None, _) => {
                        return Err(
                            "the limit of cake counts bytes in Linux; give the `buffer` in bytes"
                                .to_owned(),
                        );
                    }
                }
                text
            }
            (DropPolicy::Managed(Aqm::DualPi2(_)), _) => {
                return Err("dualpi2 cannot be exported to tc; use fq-codel".to_owned());
            }
            (DropPolicy::Red(_) | DropPolicy::Rio(_), _) => {
                let what =
                    "red of Linux counts bytes, and has no drop precedences; use codel or pie";
                return Err(what.to_owned());
            }
        };
        Ok(Queue::Below(qdisc))
    }
}

/// Returns the options of CoDel.
fn codel(rules: &CoDel) -> String {
    let mut text = format!(
        "target {} interval {} {}",
        time(rules.target_ns),
        time(rules.interval_ns),
        if rules.ecn { "ecn" } else { "noecn" }
    );
    if let Some(threshold_ns) = rules.ce_threshold_ns {
        text += &format!(" ce_threshold {}", time(threshold_ns));
    }
    text
}

fn tins(tins: Tins) -> &'static str {
    match tins {
        Tins::BestEffort => "besteffort",
        Tins::Precedence => "precedence",
        Tins::DiffServ3 => "diffserv3",
        Tins::DiffServ4 => "diffserv4",
        Tins::DiffServ8 => "diffserv8",
    }
}

fn isolation(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::FlowBlind => "flowblind",
        Isolation::SrcHost => "srchost",
        Isolation::DstHost => "dsthost",
        Isolation::Hosts => "hosts",
        Isolation::Flows => "flows",
        Isolation::DualSrcHost => "dual-srchost",
        Isolation::DualDstHost => "dual-dsthost",
        Isolation::TripleIsolate => "triple-isolate",
    }
}

/// Returns the token bucket filter of a bandwidth: with a shaper, the bandwidth is its peak rate.
fn token_bucket(
    bandwidth_bps: f64,
    shaper: Option<TokenBucketSpec>,
    frame_bytes: f64,
) -> Result<String, String> {
    let Some(TokenBucketSpec {
        rate_bps,
        burst_bytes,
    }) = shaper
    else {
        return Ok(format!("tbf rate {bandwidth_bps}bit burst {frame_bytes}b"));
    };
    if rate_bps >= bandwidth_bps {
        return Err(
            "the rate of the shaper is not below the bandwidth; remove the shaper".to_owned(),
        );
    }
    Ok(format!(
        "tbf rate {rate_bps}bit burst {burst_bytes}b peakrate {bandwidth_bps}bit mtu {frame_bytes}b"
    ))
}

/// Returns the size of the largest packet of a link in bytes on the wire.
fn largest_frame_bytes(network: &Network, link: LinkId) -> f64 {
    let overhead = network.link_spec(link).overhead;
    let crossing = network
        .connections()
        .filter(|id| network.path(*id).contains(&link));
    let sizes = crossing.map(|id| network.connection_spec(id).packet_size_bytes);
    overhead.wire_bytes(sizes.fold(0.0, f64::max))
}

/// Returns the size table of an overhead: Linux counts the Ethernet header by itself.
fn size_table(overhead: &Overhead) -> Result<String, String> {
    let Overhead {
        bytes,
        minimum_bytes,
        cells,
    } = *overhead;
    let mut text = String::new();
    if bytes != ETHERNET_BYTES {
        text += &format!("overhead {} ", bytes - ETHERNET_BYTES);
    }
    if minimum_bytes > 0.0 {
        text += &format!("mpu {minimum_bytes} mtu 2047 tsize 2048 ");
    }
    match cells {
        Cells::None => {}
        Cells::Atm => text += "linklayer atm ",
        Cells::Ptm => {
            return Err("PTM cells have no size table in Linux; use plain `overhead`".to_owned());
        }
    }
    if text.is_empty() {
        Ok(text)
    } else {
        Ok(format!("stab {text}"))
    }
}

/// Returns netem with a delay line and a loss; `None` if there is neither.
fn netem(delay_s: f64, line: &DelayLine, loss: &LinkLoss) -> Result<Option<String>, String> {
    let DelayLine {
        jitter,
        reordering,
        duplication,
        limit_pkts,
        slots,
    } = line;
    if delay_s == 0.0 && *line == DelayLine::default() && loss.is_none() {
        return Ok(None);
    }
    let mut text = format!("netem limit {}", limit_pkts.unwrap_or(UNLIMITED_PKTS));
    if delay_s > 0.0 || jitter.is_some() {
        text += &format!(" delay {}", time(netflow_units::ns(delay_s)));
    }
    let mut keeps_order = false;
    if let Some(jitter) = jitter {
        text += &format!(" {}", time(jitter.deviation_ns));
        if jitter.correlation > 0.0 {
            text += &format!(" {}", percent(jitter.correlation));
        }
        match &jitter.distribution {
            JitterDistribution::Uniform => {}
            JitterDistribution::Normal => text += " distribution normal",
            JitterDistribution::Pareto => text += " distribution pareto",
            JitterDistribution::ParetoNormal => text += " distribution paretonormal",
            JitterDistribution::Table(_) => {
                return Err(
                    "an own `distribution` of jitter needs a file of iproute2; use a named one"
                        .to_owned(),
                );
            }
        }
        keeps_order = !jitter.reorders;
    }
    match (
        loss.random > 0.0,
        loss.gilbert,
        loss.bit_errors,
        loss.outages,
    ) {
        (_, _, None, None) if loss.random == 0.0 && loss.gilbert.is_none() => {}
        (true, None, None, None) => text += &format!(" loss random {}", percent(loss.random)),
        (false, Some(chain), None, None) => {
            let [p, r, good, bad] = chain.parameters().map(percent);
            text += &format!(" loss gemodel {p} {r} {bad} {good}");
        }
        _ => {
            return Err("netem has no bit errors, no outages and one kind of loss; use `random` or `gilbert`".to_owned());
        }
    }
    if *duplication > 0.0 {
        text += &format!(" duplicate {}", percent(*duplication));
    }
    if let Some(reordering) = reordering {
        if delay_s == 0.0 {
            return Err(
                "netem reorders only packets with a delay; give the link a `delay`".to_owned(),
            );
        }
        text += &format!(
            " reorder {} gap {}",
            percent(reordering.probability),
            reordering.gap
        );
    }
    if keeps_order {
        // With a rate, packets of netem wait for slower ones. This rate delays none of them.
        text += " rate 1tbit";
    }
    if let Some(slots) = slots {
        let (least, most) = slots.interval_ns;
        text += &format!(" slot {} {}", time(least), time(most));
        if let Some(packets) = slots.max_pkts {
            text += &format!(" packets {packets}");
        }
        if let Some(bytes) = slots.max_bytes {
            text += &format!(" bytes {bytes}");
        }
    }
    Ok(Some(text))
}

/// Returns a time as `tc` reads it.
fn time(ns: u64) -> String {
    format!("{}us", ns as f64 / 1000.0)
}

/// Returns a fraction as a percentage, without the rounding error of the product.
fn percent(fraction: f64) -> String {
    format!("{}%", (fraction * 1e14).round() / 1e12)
}
