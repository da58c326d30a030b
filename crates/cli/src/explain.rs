//! `netflow explain SCENARIO CONNECTION`

use std::io::{self, Write};

use clap::Args;
use netflow::fluid::{
    ConnectionId, ConnectionSpec, ExplainedHop, Explanation, Network, Simulation, Source,
};
use netflow::units::nearest_name;
use serde::Serialize;

use crate::args::{ReportFormat, time_from_zero};
use crate::failure::Failure;
use crate::input::{self, ScenarioArguments};
use crate::number::{percent, plain, short};
use crate::table;

/// Explain a connection's rate: loss, round-trip time, profile, rate
///
/// Evaluates the scenario up to a time and shows how the connection's rate comes about there:
/// every hop's queue, loss and delay, and every factor with its unit.
#[derive(Args)]
pub struct ExplainArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// The connection's name
    #[arg(value_name = "CONNECTION")]
    connection: String,

    /// When [default: at the end of the run]
    #[arg(long, value_name = "TIME", value_parser = time_from_zero)]
    at: Option<f64>,

    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: ReportFormat,
}

pub fn explain(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let scenario = input::load(&arguments.scenario)?;
    let network = &scenario.network;
    let Some(id) = network.connection_by_name(&arguments.connection) else {
        return Err(unknown(network, &arguments.connection));
    };
    let duration_s = scenario.options.duration_s;
    let at_s = arguments.at.unwrap_or(duration_s);
    if at_s > duration_s {
        return Err(Failure::usage(format!(
            "--at {at_s}s is after the end of the run, {duration_s} s"
        )));
    }
    let explanation = explanation_at(network, scenario.options, id, at_s)
        .map_err(|error| Failure::Evaluation(error.to_string()))?;
    match arguments.format {
        ReportFormat::Json => print_json(network, id, &explanation, out)?,
        ReportFormat::Text => print_text(network, id, &explanation, out)?,
    }
    Ok(())
}

fn explanation_at(
    network: &Network,
    options: netflow::fluid::Options,
    id: ConnectionId,
    at_s: f64,
) -> Result<Explanation, netflow::fluid::RunError> {
    let mut simulation = Simulation::new(network.clone(), options)?;
    while simulation.time_s() < at_s - 1e-9 && !simulation.is_done() {
        simulation.step()?;
    }
    Ok(simulation.explain(id))
}

/// Says what it might have been.
fn unknown(network: &Network, name: &str) -> Failure {
    let known = network.connections().map(|id| network.connection_name(id));
    let known: Vec<&str> = known.collect();
    let nearest = nearest_name(name, known.iter().copied(), &[]);
    Failure::Usage {
        message: format!("the scenario has no connection `{name}`"),
        help: nearest.map(|nearest| format!("the nearest name is `{nearest}`")),
    }
}

fn print_text(
    network: &Network,
    id: ConnectionId,
    it: &Explanation,
    out: &mut dyn Write,
) -> io::Result<()> {
    let spec = network.connection_spec(id);
    writeln!(
        out,
        "{} from {} to {} at {} s: {}{}",
        spec.name,
        network.node_name(spec.from),
        network.node_name(spec.to),
        plain(it.time_s),
        source(spec),
        match network.path_at(id, it.time_s).is_empty() {
            true => ", not sending: it has no route",
            false if it.sending => "",
            false => ", not sending",
        },
    )?;
    writeln!(out)?;
    print_hops(network, &it.hops, out)?;
    writeln!(out)?;
    print_loss(it, out)?;
    print_rtt(it, out)?;
    print_rate(spec, it, out)
}

fn source(spec: &ConnectionSpec) -> String {
    match &spec.source {
        Source::Profile(profile) => format!("profile {}", profile.name()),
        Source::Constant { rate_pps } => format!("constant {} pkt/s", plain(*rate_pps)),
        Source::Poisson { rate_pps } => format!("Poisson {} pkt/s", plain(*rate_pps)),
        Source::Users(traffic) => format!("users of workload {}", traffic.workload.name),
        #[allow(unreachable_patterns)]
        _ => "source".to_owned(),
    }
}

fn print_hops(network: &Network, hops: &[ExplainedHop], out: &mut dyn Write) -> io::Result<()> {
    let titles = [
        "hop",
        "way",
        "queue pkt",
        "service pkt/s",
        "loss",
        "waiting ms",
        "transmission ms",
        "propagation ms",
    ];
    let mut table = table::aligned(&titles, 2);
    for hop in hops {
        table.add_row([
            network.link_name(hop.link).to_owned(),
            if hop.back { "back" } else { "out" }.to_owned(),
            short(hop.queue_pkts),
            short(hop.service_pps),
            percent(hop.loss_probability),
            short(hop.waiting_s * 1e3),
            short(hop.transmission_s * 1e3),
            short(hop.propagation_s * 1e3),
        ]);
    }
    table::print(&table, out)
}

/// What `p` of the path is made of.
fn print_loss(it: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let factors: Vec<String> = it
        .hops
        .iter()
        .filter(|hop| !hop.back && hop.loss_probability > 0.0)
        .map(|hop| format!("(1 - {})", short(hop.loss_probability)))
        .collect();
    match factors.is_empty() {
        true => writeln!(out, " loss = {}", percent(it.loss_probability)),
        false => writeln!(
            out,
            " loss = 1 - {} = {}",
            factors.join(" "),
            percent(it.loss_probability)
        ),
    }
}

fn print_rtt(it: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let sum = |part: fn(&ExplainedHop) -> f64| it.hops.iter().map(part).sum::<f64>() * 1e3;
    writeln!(
        out,
        " rtt  = {} ms waiting + {} ms transmission + {} ms propagation = {} ms",
        short(sum(|hop| hop.waiting_s)),
        short(sum(|hop| hop.transmission_s)),
        short(sum(|hop| hop.propagation_s)),
        short(it.rtt_s * 1e3),
    )
}

fn print_rate(spec: &ConnectionSpec, it: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    if let (Some(profile), Some(rate_pps)) = (&it.profile, it.profile_pps) {
        if (it.seen_loss_probability, it.seen_rtt_s) != (it.loss_probability, it.rtt_s) {
            writeln!(
                out,
                " seen after the way back: rtt {} ms; loss learnt from the last losses: {}",
                short(it.seen_rtt_s * 1e3),
                percent(it.seen_loss_probability),
            )?;
        }
        writeln!(
            out,
            " F({}, {} ms) of {profile} = {} pkt/s{}",
            percent(it.seen_loss_probability),
            short(it.seen_rtt_s * 1e3),
            short(rate_pps),
            if it.outside {
                ", extended: it was not measured there"
            } else {
                ""
            },
        )?;
    }
    if let Some(limit_pps) = it.window_limit_pps {
        let window = spec
            .max_window_pkts
            .map_or_else(String::new, |window| format!(" {} pkt", plain(window)));
        writeln!(
            out,
            " window{window} / {} ms = {} pkt/s",
            short(it.seen_rtt_s * 1e3),
            short(limit_pps)
        )?;
    }
    if let Some(application_pps) = it.application_pps {
        writeln!(
            out,
            " the application makes {} pkt/s",
            short(application_pps)
        )?;
    }
    if it.slow_start {
        writeln!(
            out,
            " slow start: at most twice the rate of one round trip before"
        )?;
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

#[derive(Serialize)]
struct JsonExplanation<'a> {
    connection: &'a str,
    time_s: f64,
    sending: bool,
    count: u32,
    hops: Vec<JsonHop<'a>>,
    loss_probability: f64,
    rtt_s: f64,
    seen_loss_probability: f64,
    seen_rtt_s: f64,
    propagation_s: f64,
    profile: Option<&'a str>,
    profile_pps: Option<f64>,
    outside_profile: bool,
    window_limit_pps: Option<f64>,
    application_pps: Option<f64>,
    slow_start: bool,
    rate_pps: f64,
}

#[derive(Serialize)]
struct JsonHop<'a> {
    link: &'a str,
    back: bool,
    queue_pkts: f64,
    service_pps: f64,
    loss_probability: f64,
    waiting_s: f64,
    transmission_s: f64,
    propagation_s: f64,
}

fn print_json(
    network: &Network,
    id: ConnectionId,
    it: &Explanation,
    out: &mut dyn Write,
) -> io::Result<()> {
    let hop = |hop: &ExplainedHop| JsonHop {
        link: network.link_name(hop.link),
        back: hop.back,
        queue_pkts: hop.queue_pkts,
        service_pps: hop.service_pps,
        loss_probability: hop.loss_probability,
        waiting_s: hop.waiting_s,
        transmission_s: hop.transmission_s,
        propagation_s: hop.propagation_s,
    };
    let explanation = JsonExplanation {
        connection: network.connection_name(id),
        time_s: it.time_s,
        sending: it.sending,
        count: it.count,
        hops: it.hops.iter().map(hop).collect(),
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
        slow_start: it.slow_start,
        rate_pps: it.rate_pps,
    };
    serde_json::to_writer_pretty(&mut *out, &explanation)?;
    writeln!(out)
}
