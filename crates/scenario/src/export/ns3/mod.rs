//! Scenarios as programs of ns-3, version 3.37.

use std::fmt::Write;

use netflow_network::{Aqm, Buffer, Change, ConnectionId, DropPolicy, LinkId, Network, Source};

use super::real::{RealTcp, real_tcp, way_holds_bytes};
use crate::prepared::Prepared;

/// The file with what happened at links: counts of the interval that ends at `time_s`, and time averages
/// over it.
pub const NS3_LINKS_FILE: &str = "ns3-links.csv";

/// Likewise of connections.
pub const NS3_CONNECTIONS_FILE: &str = "ns3-connections.csv";

/// The file with how long packets of connections took.
pub const NS3_DELAYS_FILE: &str = "ns3-delays.csv";

/// The libraries of ns-3 that the program is linked with.
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

/// How to export to ns-3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ns3Options {
    /// Every connection starts at its time and up to this much later (s), at random.
    pub start_jitter_s: f64,
    /// Length in seconds of the intervals in the files that the program writes.
    pub every_s: f64,
}

impl Default for Ns3Options {
    fn default() -> Ns3Options {
        Ns3Options {
            start_jitter_s: 0.0,
            every_s: 0.5,
        }
    }
}

/// Why a scenario cannot be exported to ns-3.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Ns3Error {
    /// Whose fault it is: `link a->b`.
    pub place: String,
    /// What ns-3 cannot have.
    pub what: String,
}

fn no<T>(place: String, what: impl Into<String>) -> Result<T, Ns3Error> {
    let what = what.into();
    Err(Ns3Error { place, what })
}

/// The scenario as one file of C++ that compiles against ns-3; its head says how.
///
/// # Errors
/// What ns-3 cannot have.
pub fn ns3(scenario: &Prepared, options: &Ns3Options) -> Result<String, Ns3Error> {
    let network = &scenario.network;
    if let Some(users) = network.workloads().next() {
        return no(
            format!("workload {}", users.name),
            "users cannot be exported to ns-3",
        );
    }
    if let Some(demand) = scenario.demands.first() {
        let what = "transfers that come and go cannot be exported to ns-3";
        return no(format!("demand {}", demand.name), what);
    }
    if let Some(link) = network.classed_links().next() {
        let what = "links with classes cannot be exported to ns-3";
        return no(format!("link {}", network.link_name(link)), what);
    }
    if let Some(aggregate) = network.tables().aggregates.first() {
        let what = "conditioners cannot be exported to ns-3";
        return no(format!("aggregate {}", aggregate.name), what);
    }
    let mut text = head();
    text += include_str!("run.cc");
    text += "\nint main(int argc, char **argv) {\n";
    let (duration_s, every_s) = (scenario.options.duration_s, options.every_s);
    line(
        &mut text,
        format_args!(
            "Network net(argc, argv, {duration_s}, {every_s}, {});",
            options.start_jitter_s
        ),
    );
    for link in network.links() {
        add_link(network, link, &mut text)?;
    }
    for event in network.events() {
        let name = network.link_name(event.link);
        match event.change {
            Change::Bandwidth(bps) => line(
                &mut text,
                format_args!("net.SetBandwidth({}, {}, {bps});", event.at_s, quoted(name)),
            ),
            Change::Down | Change::Up => {
                let what = "links that fail cannot be exported to ns-3 yet";
                return no(format!("link {name}"), what);
            }
        }
    }
    for id in network.connections() {
        add_connection(network, id, &mut text)?;
    }
    text += "    net.Run();\n}\n";
    Ok(text)
}

fn head() -> String {
    let libraries = NS3_LIBRARIES.map(|name| format!("-lns3-{name}")).join(" ");
    format!(
        "// A scenario of netflow, for ns-3.37. To compile it (on Debian: apt-get install libns3-dev g++):\n\
         //\n\
         //   g++ -std=c++17 -O2 FILE -o scenario {libraries}\n\
         //\n\
         // and to run it: ./scenario [SEED [DIRECTORY]]. It writes {NS3_LINKS_FILE}, {NS3_CONNECTIONS_FILE} and\n\
         // {NS3_DELAYS_FILE}. PPP adds 2 B to every packet.\n\n"
    )
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Strings take everything.
    let _ = writeln!(text, "    {what}");
}

fn quoted(name: &str) -> String {
    let escaped: String = name
        .chars()
        .map(|c| match c {
            // Its files have names between such.
            '"' => "'".to_owned(),
            '\\' => "\\\\".to_owned(),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn add_link(network: &Network, id: LinkId, text: &mut String) -> Result<(), Ns3Error> {
    let spec = network.link_spec(id);
    let place = || format!("link {}", network.link_name(id));
    let queue = match spec.queue {
        DropPolicy::DropTail => queue(network, id, "", 1.0, &[])?,
        DropPolicy::Red(red) => queue(
            network,
            id,
            "ns3::RedQueueDisc",
            2.0,
            &[
                ("MinTh", red.min_pkts.to_string()),
                ("MaxTh", red.max_pkts.to_string()),
                ("LInterm", (1.0 / red.max_p).to_string()),
                ("QW", red.weight.to_string()),
                ("Gentle", red.gentle.to_string()),
                ("UseEcn", red.ecn.to_string()),
                ("MeanPktSize", "1000".to_owned()),
                (
                    "LinkBandwidth",
                    format!("{}bps", spec.bandwidth_bps.round()),
                ),
            ],
        )?,
        DropPolicy::Managed(Aqm::CoDel(codel)) => queue(
            network,
            id,
            "ns3::CoDelQueueDisc",
            2.0,
            &[
                ("Target", format!("{}ns", codel.target_ns)),
                ("Interval", format!("{}ns", codel.interval_ns)),
                ("UseEcn", codel.ecn.to_string()),
            ],
        )?,
        DropPolicy::Managed(Aqm::FqCoDel(fq)) => queue(
            network,
            id,
            "ns3::FqCoDelQueueDisc",
            2.0,
            &[
                ("Target", format!("{}ns", fq.codel.target_ns)),
                ("Interval", format!("{}ns", fq.codel.interval_ns)),
                ("UseEcn", fq.codel.ecn.to_string()),
                ("Flows", fq.flows.to_string()),
            ],
        )?,
        DropPolicy::Managed(Aqm::Pie(pie)) => queue(
            network,
            id,
            "ns3::PieQueueDisc",
            2.0,
            &[
                ("QueueDelayReference", format!("{}ns", pie.target_ns)),
                ("Tupdate", format!("{}ns", pie.update_ns)),
                ("A", pie.alpha.to_string()),
                ("B", pie.beta.to_string()),
                ("MaxBurstAllowance", format!("{}ns", pie.max_burst_ns)),
                ("UseEcn", pie.ecn.to_string()),
                ("MarkEcnThreshold", pie.mark_ecn_threshold.to_string()),
            ],
        )?,
        DropPolicy::Rio(_) => {
            return no(
                place(),
                "queues with drop precedences cannot be exported to ns-3",
            );
        }
    };
    let loss = &spec.loss;
    let loss = match (loss.random > 0.0, loss.gilbert, loss.bit_errors) {
        (false, None, None) => String::new(),
        (true, None, None) => format!(", {}", loss.random),
        (false, None, Some(errors)) if errors.rate().1 => format!(", {}, true", errors.rate().0),
        (true, None, Some(_)) => {
            return no(place(), "one kind of loss can be exported to ns-3, not two");
        }
        _ => {
            return no(
                place(),
                "losses in bursts cannot be exported to ns-3; independent ones can",
            );
        }
    };
    let [from, to] = [spec.from, spec.to].map(|node| quoted(network.node_name(node)));
    line(
        text,
        format_args!(
            "net.AddLink({from}, {to}, {}, {}, {queue}{loss});",
            spec.bandwidth_bps, spec.delay_s
        ),
    );
    Ok(())
}

/// A queue, of which so many packets are elsewhere: the one that is being sent, and below a queue disc the
/// one that its device holds.
fn queue(
    network: &Network,
    id: LinkId,
    disc: &str,
    elsewhere: f64,
    settings: &[(&str, String)],
) -> Result<String, Ns3Error> {
    let place = || format!("link {}", network.link_name(id));
    let largest = network
        .connections()
        .map(|id| network.connection_spec(id).packet_size_bytes)
        .fold(0.0, f64::max);
    let room = match network.link_spec(id).buffer {
        Buffer::Bytes(bytes) => {
            let waiting = bytes - elsewhere * largest;
            if waiting < largest {
                return no(
                    place(),
                    "its buffer has no room for a packet that waits, as ns-3's must",
                );
            }
            format!("{}B", waiting.floor())
        }
        Buffer::Packets(_) | Buffer::BandwidthDelay => {
            let waiting = network.buffer_pkts(id).floor() - elsewhere;
            if waiting < 1.0 {
                let what = format!(
                    "its buffer has no room for a packet that waits, as ns-3's must: {} pkt at least",
                    1.0 + elsewhere
                );
                return no(place(), what);
            }
            format!("{waiting}p")
        }
    };
    let settings: Vec<String> = settings
        .iter()
        .map(|(name, value)| format!("{{{}, {}}}", quoted(name), quoted(value)))
        .collect();
    let (disc, settings) = (quoted(disc), settings.join(", "));
    Ok(format!("Waiting{{{disc}, \"{room}\", {{{settings}}}}}"))
}

fn add_connection(network: &Network, id: ConnectionId, text: &mut String) -> Result<(), Ns3Error> {
    let spec = network.connection_spec(id);
    let place = || format!("connection {}", spec.name);
    let nodes = |links: &[LinkId]| {
        let Some(&first) = links.first() else {
            return no(place(), "it has no way");
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
    let tcp = real_tcp(spec).or_else(|what| no(place(), what))?;
    match (&spec.source, tcp) {
        (&Source::Constant { rate_pps } | &Source::Poisson { rate_pps }, _) => {
            if spec.size_pkts.is_some() {
                return no(
                    place(),
                    "sources that nobody answers have no `size` in ns-3; a `stop` can be exported",
                );
            }
            let poisson = matches!(spec.source, Source::Poisson { .. });
            line(
                text,
                format_args!(
                    "net.AddUdp({name}, {way}, {bytes}, {count}, {rate_pps}, {poisson}, {start_s}, {stop_s});"
                ),
            );
        }
        (_, Some(tcp)) => {
            let RealTcp {
                congestion,
                initial_window,
                largest_window,
                ecn,
            } = tcp;
            let back = nodes(&network.return_path(id))?;
            let buffer = way_holds_bytes(network, id).clamp(262_144.0, 1e9).round();
            line(
                text,
                format_args!(
                    "net.AddTcp({name}, {way}, {back}, {bytes}, {count}, \"{}\", {}, {}, {buffer}, {ecn}, {start_s}, {stop_s}, {});",
                    congestion.ns3(),
                    initial_window.unwrap_or(10),
                    largest_window.unwrap_or(0),
                    spec.size_pkts.unwrap_or(0.0),
                ),
            );
        }
        (_, None) => return no(place(), "ns-3 has nothing like it"),
    }
    Ok(())
}
