//! Export of scenarios to C++ programs of ns-3, version 3.37.

use std::fmt::Write;

use netflow_network::{
    AckFilter, Aqm, Buffer, Cake, Change, CoDel, ConnectionId, DropPolicy, Isolation, LinkId,
    LinkSpec, Network, Overhead, Source, Tins,
};

use super::linux_tcp::{LinuxTcp, default_socket_buffer_bytes, linux_tcp};
use crate::compiled_scenario::CompiledScenario;

/// Name of the output file of links: counts of the interval that ends at `time_s`, and time
/// averages over it.
pub const NS3_LINKS_FILE: &str = "ns3-links.csv";

/// Start of the first line of a program.
pub const NS3_HEADER: &str = "// A scenario of netflow, for ns-3.37";

/// Name of the output file of connections, with the same kinds of columns.
pub const NS3_CONNECTIONS_FILE: &str = "ns3-connections.csv";

/// Name of the output file with packet delays of connections.
pub const NS3_DELAYS_FILE: &str = "ns3-delays.csv";

/// ns-3 libraries with which the program is linked.
pub const NS3_LIBRARIES: [&str; 8] = [
    "applications",
    "flow-monitor",
    "traffic-control",
    "internet",
    "point-to-point",
    "network",
    "stats",
    "core",
];

/// Options of the export to ns-3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ns3Options {
    /// Largest random delay of each connection's start, in seconds.
    pub start_jitter_s: f64,
    /// Length of the counting intervals in the output files, in seconds.
    pub every_s: f64,
    /// Time in seconds before which sent packets do not count for delays.
    pub delays_from_s: f64,
}

impl Default for Ns3Options {
    fn default() -> Ns3Options {
        Ns3Options {
            start_jitter_s: 0.0,
            every_s: 0.5,
            delays_from_s: 0.0,
        }
    }
}

/// Reason why a scenario cannot be exported to ns-3.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Ns3Error {
    /// Element with the unsupported feature: `link a->b`.
    pub place: String,
    /// Feature that ns-3 does not support.
    pub what: String,
}

fn unsupported<T>(place: String, what: impl Into<String>) -> Result<T, Ns3Error> {
    let what = what.into();
    Err(Ns3Error { place, what })
}

/// Exports the scenario as one C++ file that compiles against ns-3; its header explains how.
///
/// # Errors
/// Features that ns-3 does not support.
pub fn ns3(scenario: &CompiledScenario, options: &Ns3Options) -> Result<String, Ns3Error> {
    let mut text = file_header();
    text += "\nint main(int argc, char **argv) {\n";
    add_run(scenario, options, &mut text)?;
    text += "}\n";
    Ok(text)
}

/// Exports several scenarios as one file, which takes little longer to compile than one. The
/// program's third argument is the index of the scenario to run, from 0.
///
/// # Errors
/// Features that ns-3 does not support.
pub fn ns3_batch(
    scenarios: &[&CompiledScenario],
    options: &Ns3Options,
) -> Result<String, Ns3Error> {
    let mut text = file_header();
    for (i, scenario) in scenarios.iter().enumerate() {
        text += &format!("\nvoid Run{i}(int argc, char **argv) {{\n");
        add_run(scenario, options, &mut text)?;
        text += "}\n";
    }
    text += "\nint main(int argc, char **argv) {\n";
    push_line(
        &mut text,
        format_args!("switch (argc > 3 ? std::stoi(argv[3]) : 0) {{"),
    );
    for i in 0..scenarios.len() {
        push_line(
            &mut text,
            format_args!("case {i}: Run{i}(argc, argv); break;"),
        );
    }
    push_line(&mut text, format_args!("}}"));
    text += "}\n";
    Ok(text)
}

/// Adds the lines that build the network and run it.
fn add_run(
    scenario: &CompiledScenario,
    options: &Ns3Options,
    text: &mut String,
) -> Result<(), Ns3Error> {
    let network = &scenario.network;
    if let Some(users) = network.workloads().next() {
        return unsupported(
            format!("workload {}", users.name),
            "users cannot be exported to ns-3",
        );
    }
    if let Some(demand) = scenario.demands.first() {
        let what = "finite transfers cannot be exported to ns-3";
        return unsupported(format!("demand {}", demand.name), what);
    }
    if let Some(link) = network.classed_links().next() {
        let what = "links with classes cannot be exported to ns-3";
        return unsupported(format!("link {}", network.link_name(link)), what);
    }
    if let Some(aggregate) = network.tables().aggregates.first() {
        let what = "conditioners cannot be exported to ns-3";
        return unsupported(format!("aggregate {}", aggregate.name), what);
    }
    let Ns3Options {
        start_jitter_s,
        every_s,
        delays_from_s,
    } = options;
    let duration_s = scenario.options.duration_s;
    push_line(
        text,
        format_args!(
            "Network net(argc, argv, {duration_s}, {every_s}, {start_jitter_s}, {delays_from_s});"
        ),
    );
    for link in network.links() {
        add_link(network, link, text)?;
    }
    for event in network.events() {
        let name = network.link_name(event.link);
        match event.change {
            Change::Bandwidth(_)
                if matches!(network.link_spec(event.link).buffer, Buffer::Time(_)) =>
            {
                let what =
                    "a buffer given as a time whose bandwidth changes cannot be exported to ns-3";
                return unsupported(format!("link {name}"), what);
            }
            Change::Bandwidth(bps) => push_line(
                text,
                format_args!("net.SetBandwidth({}, {}, {bps});", event.at_s, quoted(name)),
            ),
            Change::Pause => {
                let what = "a bandwidth of 0 cannot be exported to ns-3";
                return unsupported(format!("link {name}"), what);
            }
            Change::Loss(_) => {
                let what = "changes of losses cannot be exported to ns-3 yet";
                return unsupported(format!("link {name}"), what);
            }
            Change::Delay(delay_s) => push_line(
                text,
                format_args!("net.SetDelay({}, {}, {delay_s});", event.at_s, quoted(name)),
            ),
            Change::Down | Change::Up => {
                let what = "failures of links cannot be exported to ns-3 yet";
                return unsupported(format!("link {name}"), what);
            }
        }
    }
    for id in network.connections() {
        add_connection(network, id, text)?;
    }
    push_line(text, format_args!("net.Run();"));
    Ok(())
}

fn file_header() -> String {
    let libraries = NS3_LIBRARIES.map(|name| format!("-lns3-{name}")).join(" ");
    format!(
        "{NS3_HEADER}. To compile it (on Debian: apt-get install libns3-dev g++):\n\
         //\n\
         //   g++ -std=c++17 -O2 FILE -o scenario {libraries}\n\
         //\n\
         // and to run it: ./scenario [SEED [DIRECTORY]]. It writes {NS3_LINKS_FILE}, {NS3_CONNECTIONS_FILE} and\n\
         // {NS3_DELAYS_FILE}. PPP adds 2 B to every packet; an overhead includes them.\n\n"
    ) + include_str!("run.cc")
}

fn push_line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "    {what}");
}

fn quoted(name: &str) -> String {
    let escaped: String = name
        .chars()
        .map(|c| match c {
            // Its files have names in double quotes.
            '"' => "'".to_owned(),
            '\\' => "\\\\".to_owned(),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn add_link(network: &Network, id: LinkId, text: &mut String) -> Result<(), Ns3Error> {
    // Exhaustive, so that every new setting of a link must be translated here.
    let &LinkSpec {
        from,
        to,
        ref circuit,
        bandwidth_bps,
        delay_s,
        overhead,
        buffer: _, // in `queue`
        queue: ref policy,
        policer: _,
        shaper: _,
        ref loss,
        trace: _,
        series: _,
        delay_line: _,  // all four rejected
        metric: _,      // in the routes
        calibration: _, // of the fluid model
    } = network.link_spec(id);
    let place = || format!("link {}", network.link_name(id));
    if circuit.is_some() {
        return unsupported(
            place(),
            "links with a `circuit` cannot be exported to ns-3, where paths are lists of nodes",
        );
    }
    if let Some(element) = network.link_spec(id).elements().next() {
        return unsupported(place(), format!("{element} cannot be exported to ns-3"));
    }
    if !overhead.is_none() {
        supports_overhead(network.link_spec(id)).or_else(|what| unsupported(place(), what))?;
    }
    // CoDel does not drop if the queue behind a packet is at most the largest packet. ns-3's queue
    // counts bytes without PPP.
    let more_than_one = || (max_packet_bytes(network).floor() + 1.0).to_string();
    let queue = match *policy {
        DropPolicy::DropTail => queue(network, id, "", &[], None)?,
        DropPolicy::Red(red) => queue(
            network,
            id,
            "ns3::RedQueueDisc",
            &[
                ("MinTh", red.min_pkts.to_string()),
                ("MaxTh", red.max_pkts.to_string()),
                ("LInterm", (1.0 / red.max_p).to_string()),
                ("QW", red.weight.to_string()),
                ("Gentle", red.gentle.to_string()),
                ("UseEcn", red.ecn.to_string()),
                ("UseHardDrop", red.hard_drop.to_string()),
                ("MeanPktSize", "1000".to_owned()),
                ("LinkBandwidth", format!("{}bps", bandwidth_bps.round())),
            ],
            None,
        )?,
        DropPolicy::Managed(Aqm::CoDel(rules)) => {
            let mut settings = codel(&rules).or_else(|what| unsupported(place(), what))?;
            settings.push(("MinBytes", more_than_one()));
            queue(network, id, "ns3::CoDelQueueDisc", &settings, None)?
        }
        DropPolicy::Managed(Aqm::FqCoDel(fq)) => {
            let mut settings = codel(&fq.codel).or_else(|what| unsupported(place(), what))?;
            settings.push(("Flows", fq.flows.to_string()));
            let quantum = Some(fq.quantum_bytes);
            queue(network, id, "ns3::FqCoDelQueueDisc", &settings, quantum)?
        }
        DropPolicy::Managed(Aqm::Cake(rules)) => {
            let (disc, settings) = cobalt(&rules).or_else(|what| unsupported(place(), what))?;
            queue(network, id, disc, &settings, Some(CAKE_QUANTUM_BYTES))?
        }
        DropPolicy::Managed(Aqm::DualPi2(_)) => {
            return unsupported(place(), "ns-3 has no DualPI2 queue");
        }
        DropPolicy::Managed(Aqm::Pie(pie)) => queue(
            network,
            id,
            "ns3::PieQueueDisc",
            &[
                ("QueueDelayReference", format!("{}ns", pie.target_ns)),
                ("Tupdate", format!("{}ns", pie.update_ns)),
                ("A", pie.alpha.to_string()),
                ("B", pie.beta.to_string()),
                ("MaxBurstAllowance", format!("{}ns", pie.max_burst_ns)),
                ("UseEcn", pie.ecn.to_string()),
                ("MarkEcnThreshold", pie.mark_ecn_threshold.to_string()),
                // After a mark, ns-3 does not reset its accumulated probability, so that it finally
                // marks every packet.
                ("UseDerandomization", (!pie.ecn).to_string()),
            ],
            None,
        )?,
        DropPolicy::Rio(_) => {
            return unsupported(
                place(),
                "queues with drop precedences cannot be exported to ns-3",
            );
        }
    };
    let loss = match (loss.random > 0.0, loss.is_correlated(), loss.bit_errors) {
        (false, false, None) => String::new(),
        (true, false, None) => format!(", {}", loss.random),
        (false, false, Some(errors)) if errors.rate().1 => format!(", {}, true", errors.rate().0),
        (true, false, Some(_)) => {
            return unsupported(
                place(),
                "several kinds of loss cannot be exported to ns-3; use one",
            );
        }
        _ => {
            return unsupported(
                place(),
                "burst losses cannot be exported to ns-3; use independent losses",
            );
        }
    };
    let [from, to] = [from, to].map(|node| quoted(network.node_name(node)));
    push_line(
        text,
        format_args!(
            "net.AddLink({from}, {to}, {bandwidth_bps}, {delay_s}, {}, {queue}{loss});",
            overhead.bytes
        ),
    );
    Ok(())
}

/// Checks that ns-3 can imitate the overhead of a link: as a gap after each packet, which its queues do
/// not count.
fn supports_overhead(spec: &LinkSpec) -> Result<(), &'static str> {
    let plain = Overhead::of(spec.overhead.bytes);
    if spec.overhead != plain {
        return Err(
            "an `overhead` with `minimum` or `cells` cannot be exported to ns-3; use plain bytes",
        );
    }
    if matches!(spec.queue, DropPolicy::Managed(Aqm::FqCoDel(_))) {
        return Err(
            "FQ-CoDel with `overhead` cannot be exported to ns-3, whose quantum counts IP bytes",
        );
    }
    if !matches!(spec.buffer, Buffer::Packets(_)) {
        return Err(
            "with `overhead`, only a buffer in packets can be exported to ns-3, whose queues count IP bytes",
        );
    }
    if spec.loss.bit_errors.is_some() {
        return Err(
            "bit errors with `overhead` cannot be exported to ns-3, which applies them to IP bytes",
        );
    }
    Ok(())
}

/// Attribute of a queue: name and value.
type Attribute = (&'static str, String);

/// Returns the attributes of CoDel.
fn codel(rules: &CoDel) -> Result<Vec<Attribute>, &'static str> {
    let mut settings = vec![
        ("Target", format!("{}ns", rules.target_ns)),
        ("Interval", format!("{}ns", rules.interval_ns)),
        ("UseEcn", rules.ecn.to_string()),
    ];
    match rules.ce_threshold_ns {
        Some(_) if !rules.ecn => {
            return Err("ns-3 needs `ecn = true` for `ce-threshold`");
        }
        Some(most_ns) => settings.push(("CeThreshold", format!("{most_ns}ns"))),
        None => {}
    }
    Ok(settings)
}

/// Quantum of CAKE without a shaper, in bytes.
const CAKE_QUANTUM_BYTES: u32 = 1514;

/// Returns ns-3's queue and the attributes of CAKE's COBALT, for a CAKE of one tin without shaper and filter.
fn cobalt(cake: &Cake) -> Result<(&'static str, Vec<Attribute>), &'static str> {
    let &Cake {
        bandwidth_bps,
        rtt_ns,
        isolation,
        tins,
        ack_filter,
    } = cake;
    if (bandwidth_bps, tins, ack_filter) != (None, Tins::BestEffort, AckFilter::Off) {
        return Err(
            "ns-3 has CAKE's flow queues and COBALT only: use `tins = \"besteffort\"`, and neither `bandwidth` nor `ack-filter`",
        );
    }
    let mut settings = vec![
        ("Target", format!("{}ns", rtt_ns / 20)),
        ("Interval", format!("{rtt_ns}ns")),
        ("UseEcn", "true".to_owned()),
        // A feature that CAKE does not have: BLUE acts on long delays.
        ("BlueThreshold", "1000000s".to_owned()),
    ];
    match isolation {
        Isolation::FlowBlind => Ok(("ns3::CobaltQueueDisc", settings)),
        Isolation::Flows => {
            settings.push(("EnableSetAssociativeHash", "true".to_owned()));
            Ok(("ns3::FqCobaltQueueDisc", settings))
        }
        _ => Err(
            "ns-3 has no fairness between hosts: use `isolation = \"flows\"` or `\"flowblind\"`",
        ),
    }
}

/// Returns the largest packet size of all connections, in bytes.
fn max_packet_bytes(network: &Network) -> f64 {
    let sizes = network
        .connections()
        .map(|id| network.connection_spec(id).packet_size_bytes);
    sizes.fold(0.0, f64::max)
}

/// Returns a queue, whose size does not include the packet in transmission.
fn queue(
    network: &Network,
    id: LinkId,
    disc: &str,
    settings: &[(&str, String)],
    quantum_bytes: Option<u32>,
) -> Result<String, Ns3Error> {
    let place = || format!("link {}", network.link_name(id));
    let spec = network.link_spec(id);
    let room = match spec.buffer.bytes(spec.bandwidth_bps) {
        Some(bytes) => {
            let largest = max_packet_bytes(network);
            let waiting = bytes - largest;
            if waiting < largest {
                return unsupported(
                    place(),
                    "its buffer is too small for a waiting packet, which ns-3 needs",
                );
            }
            format!("{}B", waiting.floor())
        }
        None => {
            let waiting = network.buffer_pkts(id).floor() - 1.0;
            if waiting < 1.0 {
                let what = "its buffer is too small for a waiting packet, which ns-3 needs: use at least 2 pkt";
                return unsupported(place(), what);
            }
            format!("{waiting}p")
        }
    };
    let settings: Vec<String> = settings
        .iter()
        .map(|(name, value)| format!("{{{}, {}}}", quoted(name), quoted(value)))
        .collect();
    let quantum = quantum_bytes.map_or(String::new(), |bytes| format!(", {bytes}"));
    let (disc, settings) = (quoted(disc), settings.join(", "));
    Ok(format!(
        "Waiting{{{disc}, \"{room}\", {{{settings}}}{quantum}}}"
    ))
}

fn add_connection(network: &Network, id: ConnectionId, text: &mut String) -> Result<(), Ns3Error> {
    let spec = network.connection_spec(id);
    let place = || format!("connection {}", spec.name);
    let nodes = |links: &[LinkId]| {
        let Some(&first) = links.first() else {
            return unsupported(place(), "it has no path");
        };
        let first = network.link_spec(first).from;
        let ends = links.iter().map(|&link| network.link_spec(link).to);
        let names: Vec<String> = std::iter::once(first)
            .chain(ends)
            .map(|node| quoted(network.node_name(node)))
            .collect();
        Ok(format!("{{{}}}", names.join(", ")))
    };
    let (way, name) = (nodes(&network.path(id))?, quoted(&spec.name));
    let bytes = spec.packet_size_bytes.round();
    let (count, start_s, stop_s) = (spec.count, spec.start_s, spec.stop_s.unwrap_or(0.0));
    let tcp = linux_tcp(spec).or_else(|what| unsupported(place(), what))?;
    match (&spec.source, tcp) {
        (&Source::Constant { rate_pps } | &Source::Poisson { rate_pps }, _) => {
            if spec.size_pkts.is_some() {
                return unsupported(
                    place(),
                    "fixed-rate sources cannot have a `size` in ns-3; use `stop`",
                );
            }
            let poisson = matches!(spec.source, Source::Poisson { .. });
            push_line(
                text,
                format_args!(
                    "net.AddUdp({name}, {way}, {bytes}, {count}, {rate_pps}, {poisson}, {start_s}, {stop_s});"
                ),
            );
        }
        (_, Some(tcp)) => {
            let LinuxTcp {
                congestion,
                initial_window,
                max_window: largest_window,
                ecn,
            } = tcp;
            let Some(congestion) = congestion.ns3() else {
                let name = congestion.linux();
                return unsupported(place(), format!("ns-3 has no congestion control `{name}`"));
            };
            let way_back = network.return_path(id);
            let back = nodes(&way_back)?;
            let links = network.path(id).into_iter().chain(way_back);
            let empty_s: f64 = links.map(|link| network.link_spec(link).delay_s).sum();
            // Rounded to whole nanoseconds, as delays are.
            let empty_s = (1e9 * empty_s).round() / 1e9;
            let buffer = default_socket_buffer_bytes(network, id)
                .clamp(262_144.0, 1e9)
                .round();
            push_line(
                text,
                format_args!(
                    "net.AddTcp({name}, {way}, {back}, {bytes}, {count}, \"{}\", {}, {}, {buffer}, {ecn}, {start_s}, {stop_s}, {}, {empty_s});",
                    congestion,
                    initial_window.unwrap_or(10),
                    largest_window.unwrap_or(0),
                    spec.size_pkts.unwrap_or(0.0),
                ),
            );
        }
        (_, None) => return unsupported(place(), "its source cannot be exported to ns-3"),
    }
    Ok(())
}
