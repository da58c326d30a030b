//! The subcommand `netflow explain SCENARIO CONNECTION`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::Args;
use netflow::document::Words;
use netflow::evaluate::{TrafficPart, shares_of_links, traffic_parts};
use netflow::number::{percent, plain, short};
use netflow::scenario::CompiledScenario;
use netflow::simulation::{
    ACK_BYTES, Aqm, ConnectionId, ConnectionSpec, DropPolicy, ExplainedHop, Explanation, Limit,
    LinkId, Model, Network, SeriesColumns, Slots, Source, TokenBucketSpec, TraceSpec,
};
use netflow::tcpmodel::tcp::TcpState;
use netflow::units::Bytes;
use serde::Serialize;

use crate::failure::Failure;
use crate::input::{ModelledScenario, unknown_name};
use crate::output::csv;
use crate::output::format::{Format, HELP};
use crate::output::json::object;
use crate::output::table::Table;
use crate::parse::time_from_zero;

/// Explain the rate of a connection: loss, round-trip time, profile
///
/// Evaluates the scenario up to a time and prints the components of the connection's rate: queue,
/// loss and delay of every hop, and every factor with its unit. Utilization and packet loss are
/// means over the half second before this time. For a demand or connection that is divided among
/// paths, prints its parts with their paths, and its share on each link.
#[derive(Args)]
pub struct ExplainArguments {
    #[command(flatten)]
    scenario: ModelledScenario,

    /// Name of the connection or demand
    #[arg(value_name = "CONNECTION")]
    connection: String,

    /// Time of the explanation [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = time_from_zero)]
    at: Option<f64>,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
}

pub fn explain(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let scenario = arguments.scenario.load()?;
    let network = &scenario.network;
    let name = &arguments.connection;
    let Some(ids) = scenario.connections_by_name(name) else {
        let message = format!("the scenario has no connection `{name}`");
        let known = network.connections().map(|id| network.connection_name(id));
        return Err(unknown_name(message, name, known, None));
    };
    let duration_s = scenario.options.duration_s;
    let at_s = arguments.at.unwrap_or(duration_s);
    if at_s > duration_s {
        return Err(Failure::usage(format!(
            "--at {at_s}s is after the end of the run, {duration_s} s"
        )));
    }
    let [id] = ids[..] else {
        return explain_parts(network, name, &ids, (at_s, arguments.format), out);
    };
    let explanation = netflow::evaluate::explain(&scenario, id, at_s)
        .map_err(|error| Failure::Evaluation(error.to_string()))?;
    let hops = explanation.hops.iter().map(|hop| Hop::of(network, hop));
    let hops: Vec<Hop<'_>> = hops.collect();
    let it = &explanation;
    let answer = object! {
        connection: network.connection_name(id),
        time_s: it.time_s,
        sending: it.sending,
        count: it.count,
        hops: &hops,
        loss_probability: it.loss_probability,
        rtt_s: it.rtt_s,
        seen_loss_probability: it.seen_loss_probability,
        seen_rtt_s: it.seen_rtt_s,
        propagation_s: it.propagation_s,
        profile: it.profile.as_deref(),
        profile_pps: it.profile_pps,
        outside_profile: it.outside,
        window_limit_pps: it.window_limit_pps,
        application_pps: it.application_pps,
        tcp: it.tcp.as_ref().map(tcp_state),
        most_out_pkts: it.max_in_flight_pkts,
        limit: it.limit,
        rate_pps: it.rate_pps,
    };
    Ok(arguments.format.print(
        out,
        &answer,
        |out| csv::write_with_header(&hops, out),
        |out| print_text(&scenario, id, it, &hops, out),
    )?)
}

/// Prints the paths of traffic that the network represents as several connections.
fn explain_parts(
    network: &Network,
    name: &str,
    ids: &[ConnectionId],
    (at_s, format): (f64, Format),
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let parts = traffic_parts(network, ids, at_s);
    let links = shares_of_links(&parts).into_iter();
    let links = links.map(|(link, share)| LinkShare {
        link: network.link_name(link),
        share,
    });
    let links: Vec<LinkShare<'_>> = links.collect();
    let part = |it: &TrafficPart| PartOfTraffic {
        part: network.connection_name(it.connection),
        share: it.share,
        path: it
            .path
            .iter()
            .map(|&link| network.link_name(link))
            .collect(),
    };
    let parts: Vec<PartOfTraffic<'_>> = parts.iter().map(part).collect();
    let answer = object! { name: name, time_s: at_s, parts: &parts, links: &links };
    Ok(format.print(
        out,
        &answer,
        |out| csv::write_with_header(&links, out),
        |out| {
            writeln!(
                out,
                "{name} at {} s: {} parts; explain one of them for its rate",
                plain(at_s),
                parts.len()
            )?;
            writeln!(out)?;
            Table::of(&parts)
                .text("part", |it| it.part)
                .number("share", |it| percent(it.share))
                .text("path", |it| {
                    if it.path.is_empty() {
                        "no route".to_owned()
                    } else {
                        it.path.join(", ")
                    }
                })
                .print(out)?;
            writeln!(out)?;
            Table::of(&links)
                .text("link", |it| it.link)
                .number("share", |it| percent(it.share))
                .print(out)
        },
    )?)
}

#[derive(Serialize)]
struct PartOfTraffic<'a> {
    part: &'a str,
    share: f64,
    path: Vec<&'a str>,
}

#[derive(Default, Serialize)]
struct LinkShare<'a> {
    link: &'a str,
    share: f64,
}

fn print_text(
    scenario: &CompiledScenario,
    id: ConnectionId,
    it: &Explanation,
    hops: &[Hop<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let network = &scenario.network;
    let spec = network.connection_spec(id);
    writeln!(
        out,
        "{} from {} to {} at {} s: {}{}",
        spec.name,
        network.node_name(spec.from),
        network.node_name(spec.to),
        plain(it.time_s),
        source(spec),
        match it.hops.is_empty() {
            true => ", not sending: it has no route",
            false if it.sending => "",
            false => ", not sending",
        },
    )?;
    writeln!(out)?;
    if !hops.is_empty() {
        print_hops(hops, out)?;
        if let Model::Packets(_) = scenario.options.model {
            print_delays(network, it, out)?;
        }
        writeln!(out)?;
        print_loss(it, out)?;
        print_rtt(it, out)?;
    }
    print_rate(spec, it, out)
}

fn source(spec: &ConnectionSpec) -> String {
    match &spec.source {
        Source::Profile(profile) => format!("profile {}", profile.name()),
        Source::Constant { rate_pps } => format!("constant {} pkt/s", plain(*rate_pps)),
        Source::Poisson { rate_pps } => format!("Poisson {} pkt/s", plain(*rate_pps)),
        Source::Users(traffic) => format!("users of workload {}", traffic.workload.name),
        Source::Tcp(stack) => {
            format!("stack {}, {}", stack.name, stack.congestion.name())
        }
        Source::Ns2Tcp(window) => format!("congestion window, {:?}", window.variant).to_lowercase(),
    }
}

fn tcp_state(tcp: &TcpState) -> impl Serialize {
    object! {
        cwnd_pkts: tcp.cwnd_pkts,
        ssthresh_pkts: Some(tcp.ssthresh_pkts).filter(|pkts| pkts.is_finite()),
        receive_window_pkts: tcp.receive_window_pkts,
        in_flight_pkts: tcp.in_flight,
        pacing_pps: tcp.pacing_pps,
        srtt_s: tcp.srtt_s,
        rto_s: tcp.rto_s,
        in_recovery: tcp.in_recovery,
    }
}

/// Prints the state of the sender's TCP state machine.
fn print_tcp(tcp: &TcpState, limit: Option<Limit>, out: &mut dyn Write) -> io::Result<()> {
    let ssthresh = if tcp.ssthresh_pkts.is_finite() {
        format!("{} pkt", short(tcp.ssthresh_pkts))
    } else {
        "not set".to_owned()
    };
    write!(
        out,
        " cwnd {} pkt, ssthresh {ssthresh}, {} in flight, srtt {} ms, rto {} ms",
        short(tcp.cwnd_pkts),
        tcp.in_flight,
        short(1e3 * tcp.srtt_s),
        short(1e3 * tcp.rto_s),
    )?;
    // The maximum window has its own line. If it limits, the announced window can be larger.
    if let Some(window_pkts) = tcp.receive_window_pkts
        && limit != Some(Limit::Window)
    {
        write!(out, ", receive window {window_pkts} pkt")?;
    }
    if let Some(pacing_pps) = tcp.pacing_pps {
        write!(out, ", pacing {} pkt/s", short(pacing_pps))?;
    }
    let state = if tcp.in_recovery { ", in recovery" } else { "" };
    writeln!(out, "{state}")
}

fn print_hops(hops: &[Hop<'_>], out: &mut dyn Write) -> io::Result<()> {
    let has_transit_losses = hops.iter().any(|hop| hop.link_loss_probability > 0.0);
    let mut table = Table::of(hops)
        .text("hop", |hop| hop.link)
        .text(
            "direction",
            |hop| if hop.back { "return" } else { "forward" },
        )
        .number("utilization", |hop| percent(hop.utilization))
        .number("queue [pkt]", |hop| short(hop.queue_pkts))
        .number("service [pkt/s]", |hop| short(hop.service_pps))
        .number("loss", |hop| percent(hop.loss_probability));
    if has_transit_losses {
        table = table.number("in transit", |hop| percent(hop.link_loss_probability));
    }
    table
        .number("waiting [ms]", |hop| short(hop.waiting_s * 1e3))
        .number("transmission [ms]", |hop| short(hop.transmission_s * 1e3))
        .number("propagation [ms]", |hop| short(hop.propagation_s * 1e3))
        .omit_if_wide(&["service [pkt/s]", "queue [pkt]"])
        .print(out)
}

/// Explains `waiting` in the packet model, if it is not only the queue in front of a packet.
fn print_delays(network: &Network, it: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let any = |of: &dyn Fn(LinkId) -> bool| it.hops.iter().any(|hop| of(hop.link));
    if any(&|link| network.is_class_queue(link) || network.queues_of(link).len() > 1) {
        let what = "at links with class queues, waiting counts the packets present; later arrivals of other classes add to it";
        writeln!(out, " {what}")?;
    }
    let notes: BTreeSet<&str> = (it.hops.iter())
        .filter_map(|hop| waiting_note(&network.link_spec(hop.link).queue))
        .collect();
    for note in notes {
        writeln!(out, " {note}")?;
    }
    for hop in &it.hops {
        if let Some(reached) = &hop.reached_ceiling {
            let (name, class) = (network.link_name(hop.link), &reached.class);
            let sends = short(reached.throughput_bps / 1e6);
            let ceil = short(reached.ceil_bps / 1e6);
            writeln!(
                out,
                " {name} is limited by the ceiling of class {class}: {sends} of {ceil} Mbit/s"
            )?;
        }
        print_token_buckets(network, hop.link, out)?;
        print_propagation(network, hop.link, out)?;
        if hop.bandwidth_bps == 0.0 {
            let name = network.link_name(hop.link);
            writeln!(out, " {name} has a bandwidth of 0 and transmits nothing")?;
        }
    }
    Ok(())
}

/// Prints the policer and the shaper of a link.
fn print_token_buckets(network: &Network, link: LinkId, out: &mut dyn Write) -> io::Result<()> {
    let (name, spec) = (network.link_name(link), network.link_spec(link));
    let limits = |bucket: TokenBucketSpec| {
        let rate = short(bucket.rate_bps / 1e6);
        format!("{rate} Mbit/s with bursts of {}", Bytes(bucket.burst_bytes))
    };
    if let Some(policer) = spec.policer {
        writeln!(
            out,
            " {name} polices to {}: drops count as loss",
            limits(policer)
        )?;
    }
    if let Some(shaper) = spec.shaper {
        let bandwidth = short(spec.bandwidth_bps / 1e6);
        let limits = limits(shaper);
        writeln!(
            out,
            " {name} shapes to {limits}; utilization refers to {bandwidth} Mbit/s"
        )?;
    }
    Ok(())
}

/// Returns the trace that a link follows, in words.
pub(super) fn followed_trace(network: &Network, link: LinkId) -> Option<String> {
    let (name, spec) = (network.link_name(link), network.link_spec(link));
    if let Some(TraceSpec { trace, .. }) = &spec.trace {
        let (mean, length) = (short(trace.mean_bps() / 1e6), short(trace.duration_s()));
        return Some(format!(
            "{name} follows a trace of {length} s, {mean} Mbit/s on average"
        ));
    }
    let series = &spec.series.as_ref()?.series;
    let SeriesColumns {
        bandwidths_bps,
        delays_s,
        losses,
    } = series.columns();
    let range = |values: &Option<Vec<f64>>, unit: &str, scale: f64| {
        let values = values.as_ref()?;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        let [least, most, mean] = [least, most, series.mean(values)].map(|it| short(scale * it));
        Some(format!("{least} to {most} {unit}, {mean} on average"))
    };
    let ranges = [
        range(bandwidths_bps, "Mbit/s", 1e-6),
        range(delays_s, "ms", 1e3),
        range(losses, "% loss", 1e2),
    ];
    let ranges: Vec<String> = ranges.into_iter().flatten().collect();
    Some(format!(
        "{name} follows a trace of {} rows, which repeats after {} s: {}",
        series.row_count(),
        short(series.length_s()),
        ranges.join("; ")
    ))
}

/// Prints the trace of a link, its in-flight limit and its jitter.
fn print_propagation(network: &Network, link: LinkId, out: &mut dyn Write) -> io::Result<()> {
    let (name, spec) = (network.link_name(link), network.link_spec(link));
    if let Some(trace) = followed_trace(network, link) {
        match &spec.trace {
            Some(_) => {
                let what = "utilization is the time in which packets wait for a delivery";
                writeln!(out, " {trace}; {what}")?;
            }
            None => writeln!(out, " {trace}")?,
        }
    }
    let line = &spec.delay_line;
    // Fewer packets than a full link of acknowledgements has in flight.
    let may_limit =
        |pkts: &u64| (*pkts as f64) < spec.bandwidth_bps * spec.delay_s / (8.0 * ACK_BYTES);
    if let Some(pkts) = line.limit_pkts.filter(may_limit) {
        let (pps, delay_ms) = (short(pkts as f64 / spec.delay_s), short(spec.delay_s * 1e3));
        let what = "more are lost in transit";
        writeln!(
            out,
            " {name} has at most {pkts} packets in flight, {pps} pkt/s at a delay of {delay_ms} ms; {what}"
        )?;
    }
    if let Some(jitter) = &line.jitter {
        let deviation = short(jitter.deviation_ns as f64 * 1e-6);
        let order = if jitter.reorders {
            "packets overtake each other, which TCP may mistake for loss"
        } else {
            "packets keep their order"
        };
        writeln!(out, " {name} has a jitter of {deviation} ms: {order}")?;
    }
    if let Some(reordering) = line.reordering {
        // A packet every gap - 1 + 1/probability.
        let every = f64::from(reordering.gap) - 1.0 + 1.0 / reordering.probability;
        let share = percent(1.0 / every);
        writeln!(
            out,
            " {name} delivers about {share} of the packets without delay, ahead of others"
        )?;
    }
    if let Some(Slots {
        interval_ns: (_, longest_ns),
        ..
    }) = line.slots
    {
        let longest = short(longest_ns as f64 * 1e-6);
        writeln!(out, " {name} delivers in slots at most {longest} ms apart")?;
    }
    Ok(())
}

/// Returns a note on the waiting time of a queue, if a packet does not wait for all packets before it.
fn waiting_note(queue: &DropPolicy) -> Option<&'static str> {
    match queue {
        DropPolicy::Managed(Aqm::FqCoDel(_)) => Some(
            "at fq-codel, waiting counts all packets; a flow below its fair share waits hardly at all",
        ),
        DropPolicy::Managed(Aqm::Cake(_)) => Some(
            "at cake, waiting counts all packets; a flow below its fair share waits hardly at all",
        ),
        DropPolicy::Managed(Aqm::DualPi2(_)) => {
            Some("at dualpi2, waiting counts all packets; L4S packets wait hardly at all")
        }
        DropPolicy::Managed(Aqm::CoDel(_) | Aqm::Pie(_))
        | DropPolicy::DropTail
        | DropPolicy::Red(_)
        | DropPolicy::Rio(_) => None,
    }
}

/// Prints the factors of the loss probability `p` of the path.
fn print_loss(it: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let factors: Vec<String> = it
        .hops
        .iter()
        .filter(|hop| !hop.back && hop.loss_probability > 0.0)
        .map(|hop| format!("(1 - {})", short(hop.loss_probability)))
        .collect();
    if factors.is_empty() {
        writeln!(out, " loss = {}", percent(it.loss_probability))
    } else {
        writeln!(
            out,
            " loss = 1 - {} = {}",
            factors.join(" "),
            percent(it.loss_probability)
        )
    }
}

fn print_rtt(it: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let sum = |part: fn(&ExplainedHop) -> f64| it.hops.iter().map(part).sum::<f64>() * 1e3;
    writeln!(
        out,
        " RTT  = {} ms waiting + {} ms transmission + {} ms propagation = {} ms",
        short(sum(|hop| hop.waiting_s)),
        short(sum(|hop| hop.transmission_s)),
        short(sum(|hop| hop.propagation_s)),
        short(it.rtt_s * 1e3),
    )
}

fn print_rate(spec: &ConnectionSpec, it: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let seen = [
        it.seen_rtt_s
            .map(|rtt_s| format!("RTT {} ms", short(rtt_s * 1e3))),
        it.seen_loss_probability
            .map(|loss| format!("loss {}", percent(loss))),
    ];
    let seen: Vec<String> = seen.into_iter().flatten().collect();
    if !seen.is_empty() {
        writeln!(out, " seen by the source: {}", seen.join(", "))?;
    }
    if let Some(tcp) = &it.tcp {
        print_tcp(tcp, it.limit, out)?;
    }
    if let (Some(profile), Some(pps), Some(loss), Some(rtt_s)) = (
        &it.profile,
        it.profile_pps,
        it.seen_loss_probability,
        it.seen_rtt_s,
    ) {
        writeln!(
            out,
            " profile {profile}: F({}, {} ms) = {} pkt/s{}",
            percent(loss),
            short(rtt_s * 1e3),
            short(pps),
            if it.outside { ", extrapolated" } else { "" },
        )?;
    }
    if let (Some(limit_pps), Some(rtt_s)) = (it.window_limit_pps, it.seen_rtt_s) {
        let window = spec
            .max_window_pkts
            .map_or_else(String::new, |window| format!(" {} pkt", plain(window)));
        let name = match it.limit {
            Some(Limit::Window) => "maximum window",
            _ => "largest window",
        };
        writeln!(
            out,
            " {name}{window} / {} ms = {} pkt/s",
            short(rtt_s * 1e3),
            short(limit_pps)
        )?;
    }
    if let Some(application_pps) = it.application_pps {
        writeln!(out, " application: {} pkt/s", short(application_pps))?;
    }
    if let Some(limit) = it.limit {
        writeln!(out, " limited by {}", limited_by(limit))?;
    }
    let bits = |pps: f64| short(pps * spec.packet_size_bytes * 8.0 / 1e6);
    write!(
        out,
        " rate = {} pkt/s = {} Mbit/s",
        short(it.rate_pps),
        bits(it.rate_pps)
    )?;
    match it.count {
        1 => writeln!(out),
        n => {
            let all_pps = it.rate_pps * f64::from(n);
            writeln!(
                out,
                " each, ×{n} = {} pkt/s = {} Mbit/s",
                short(all_pps),
                bits(all_pps)
            )
        }
    }
}

fn limited_by(limit: Limit) -> &'static str {
    match limit {
        Limit::Own => "its fixed rate",
        Limit::Profile => "its profile",
        Limit::Window => "its maximum window",
        Limit::Handshake => "the handshake, which is not complete",
        Limit::ReceiveWindow => "the receive window",
        Limit::SendBuffer => "its send buffer",
        Limit::CongestionWindow => "its congestion window",
        Limit::Pacing => "its pacing rate",
        Limit::Growth => "growth: at most twice the rate one RTT ago",
        Limit::Application => "the data of its application",
        Limit::Size => "its size: all remaining data is in flight",
    }
}

#[derive(Default, Serialize)]
struct Hop<'a> {
    link: &'a str,
    back: bool,
    utilization: f64,
    queue_pkts: f64,
    service_pps: f64,
    loss_probability: f64,
    #[serde(skip_serializing_if = "is_zero")]
    link_loss_probability: f64,
    waiting_s: f64,
    transmission_s: f64,
    propagation_s: f64,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl<'a> Hop<'a> {
    fn of(network: &'a Network, hop: &ExplainedHop) -> Hop<'a> {
        Hop {
            link: network.link_name(hop.link),
            back: hop.back,
            utilization: hop.utilization,
            queue_pkts: hop.queue_pkts,
            service_pps: hop.service_pps,
            loss_probability: hop.loss_probability,
            link_loss_probability: hop.link_loss_probability,
            waiting_s: hop.waiting_s,
            transmission_s: hop.transmission_s,
            propagation_s: hop.propagation_s,
        }
    }
}
