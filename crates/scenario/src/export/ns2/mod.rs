//! Export of scenarios to scripts of ns-2, version 2.35.

mod connections;
mod events;
mod links;

use netflow_network::{Acks, Change, ConnectionId, EventSpec, LinkId, Network};

use super::tcl::quote_word;
use super::{ExportError, Ns2Tcp};
use crate::compiled_scenario::CompiledScenario;

/// Name of the output file with the counters of links.
pub const NS2_LINKS_FILE: &str = "ns-links.csv";

/// First line of a script.
pub const NS2_HEADER: &str = "written by `netflow export --to ns2`";

/// Columns of the links file. Counts are of the interval that ends at `time_s`. `waiting_pkts` is
/// the time average over it, without the packet in service; a packet has departed when its service
/// begins.
pub const NS2_LINK_COLUMNS: [&str; 7] = [
    "time_s",
    "link",
    "arrived_pkts",
    "dropped_pkts",
    "departed_pkts",
    "departed_bytes",
    "waiting_pkts",
];

/// Name of the output file with the counters of connections.
pub const NS2_CONNECTIONS_FILE: &str = "ns-connections.csv";

/// Columns of the connections file: counts of the interval that ends at `time_s`, with `count = n`
/// the sum over the n connections. `sent_pkts` includes retransmissions and SYN. `acked_pkts` are
/// data packets acknowledged in order, or received if the source has no acknowledgements.
pub const NS2_CONNECTION_COLUMNS: [&str; 6] = [
    "time_s",
    "connection",
    "sent_pkts",
    "acked_pkts",
    "retransmitted_pkts",
    "timeouts",
];

/// Name of the output file with the packet trace, if any.
pub const NS2_TRACE_FILE: &str = "ns-trace.tr";

/// Largest sequence number of ns-2: half of the range of a signed 32-bit integer.
pub(super) const MAX_TRANSFER_PKTS: f64 = 1_073_741_823.0;

/// Largest seed of ns-2.
const MAX_SEED: u64 = 2_147_483_646;

/// Largest number of links that a packet crosses with ns-2's default time-to-live.
const DEFAULT_MAX_HOPS: usize = 31;

/// Options of the export to ns-2.
#[derive(Clone, Debug, PartialEq)]
pub struct Ns2Options {
    /// TCP of all connections with a profile; `None` selects it by the profile's name.
    pub tcp: Option<Ns2Tcp>,
    /// Largest random delay of each connection's start, in seconds.
    pub start_jitter_s: f64,
    /// Largest random delay of TCP before it sends a packet, in seconds (ns-2's `overhead_`). It
    /// breaks the synchronization of deterministic packets at drop-tail queues (phase effects).
    pub max_send_jitter_s: f64,
    /// Length of the counting intervals in the output files, in seconds.
    pub every_s: f64,
    /// Links whose packets are traced.
    pub trace: Ns2Trace,
}

impl Default for Ns2Options {
    fn default() -> Ns2Options {
        Ns2Options {
            tcp: None,
            start_jitter_s: 0.0,
            max_send_jitter_s: 0.0,
            every_s: 0.5,
            trace: Ns2Trace::None,
        }
    }
}

/// Links whose packets are traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ns2Trace {
    /// No link, and no trace file.
    #[default]
    None,
    /// All links.
    All,
    /// Links with these names (`FROM->TO`).
    Links(Vec<String>),
}

/// Exports the scenario as a script that ns-2.35 runs: `ns SCRIPT [SEED [DIRECTORY [TRACE]]]`.
///
/// The default seed is the scenario's. The script writes [`NS2_LINKS_FILE`] and
/// [`NS2_CONNECTIONS_FILE`] into the directory (by default the current one). If requested, it
/// writes a packet trace into [`NS2_TRACE_FILE`] there, or into the given file (for example
/// `/dev/null`). The trace begins with a line `# netflow node NUMBER NAME` for every node, in which
/// newline, carriage return and backslash are written `\n`, `\r` and `\\`.
///
/// All settings are those of the scenario: links, buffers (the packet in service counts), paths and
/// return paths of every connection, starts, stops, sizes, windows, packet sizes. A connection with
/// `count = n` is n agents. A profile becomes the TCP from which it was measured
/// ([`Ns2Tcp::of_profile`]), with a window of at most `max-window`, else the profile's limit, else 10
/// 000 packets. Poisson sources and applications become exponential gaps. A connection without a
/// route after a failure keeps sending, as TCP does. The first comment of the script lists all
/// differences from the scenario.
///
/// Acknowledgements that are not traffic (`acks = false`) return outside the network: after the
/// propagation and transmission of the return path, without waiting in its queues.
///
/// # Errors
/// Features that ns-2 does not support, and options out of range.
pub fn ns2(scenario: &CompiledScenario, options: &Ns2Options) -> Result<String, ExportError> {
    check(options)?;
    let export = Export {
        network: &scenario.network,
        duration_s: scenario.options.duration_s,
        options,
    };
    export.check_interval()?;
    if let Some(id) = scenario.network.classed_links().next() {
        return Err(ExportError::Classes {
            link: scenario.network.link_name(id).to_owned(),
        });
    }
    if let Some(id) = scenario.network.aggregates().next() {
        return Err(ExportError::Aggregate {
            aggregate: scenario.network.aggregate_spec(id).name.clone(),
        });
    }
    if let Some(demand) = scenario.demands.first() {
        return Err(ExportError::Demand {
            demand: demand.name.clone(),
        });
    }
    let mut warnings = Warnings::default();
    let seed = seed(scenario.seed, &mut warnings);
    // The sections come first, because the header lists their differences.
    let links = export.links(&mut warnings)?;
    let losses = export.losses()?;
    let connections = export.connections(&mut warnings)?;
    let events = export.events(&mut warnings)?;
    let trace = export.trace()?;

    let mut script = header(scenario, &warnings);
    script += &export.settings(seed);
    script += include_str!("setup.tcl");
    if export.connections_without_ack_traffic().next().is_some() {
        script += include_str!("beside.tcl");
    }
    if !events.is_empty() {
        script += include_str!("events.tcl");
    }
    if !trace.is_empty() {
        script += include_str!("trace.tcl");
    }
    script += &export.nodes();
    script += &links;
    script += &losses;
    script += &connections;
    script += &events;
    script += &trace;
    script += include_str!("run.tcl");
    Ok(script)
}

fn check(options: &Ns2Options) -> Result<(), ExportError> {
    let check = |option, value: f64, good: bool, allowed| {
        if good && value.is_finite() {
            Ok(())
        } else {
            Err(ExportError::Option {
                option,
                value,
                allowed,
            })
        }
    };
    let (jitter_s, overhead_s) = (options.start_jitter_s, options.max_send_jitter_s);
    let every_s = options.every_s;
    check("start jitter (s)", jitter_s, jitter_s >= 0.0, "0 or more")?;
    check("overhead (s)", overhead_s, overhead_s >= 0.0, "0 or more")?;
    check("interval (s)", every_s, every_s > 0.0, "above 0")
}

fn seed(seed: u64, warnings: &mut Warnings) -> u64 {
    if (1..=MAX_SEED).contains(&seed) {
        return seed;
    }
    let instead = seed % MAX_SEED + 1;
    warnings.add(format!(
        "seed {seed} is {instead} here: ns-2 takes 1 to {MAX_SEED}"
    ));
    instead
}

fn header(scenario: &CompiledScenario, warnings: &Warnings) -> String {
    let file = scenario.sources.iter().next();
    let name = file.map_or_else(String::new, |path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        format!(" {}", quote_word(&name.to_string_lossy()))
    });
    let mut text = format!(
        "# The scenario{name} for ns-2.35, {NS2_HEADER}.\n\
         #\n\
         #   ns SCRIPT [SEED [DIRECTORY [TRACE]]]\n\
         #\n\
         # writes {NS2_LINKS_FILE} and {NS2_CONNECTIONS_FILE} into the directory (default: this one).\n"
    );
    if !warnings.0.is_empty() {
        text += "#\n# Differences from the scenario:\n";
        for warning in &warnings.0 {
            text += &format!("# - {warning}\n");
        }
    }
    text
}

/// Warnings in the header of the script.
#[derive(Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn add(&mut self, warning: String) {
        self.0.push(warning);
    }
}

/// Data from which all sections of the script are made.
struct Export<'a> {
    network: &'a Network,
    duration_s: f64,
    options: &'a Ns2Options,
}

impl Export<'_> {
    fn settings(&self, seed: u64) -> String {
        let Ns2Options {
            start_jitter_s,
            max_send_jitter_s: overhead_s,
            every_s,
            ..
        } = self.options;
        let mut text = format!("\nset seed {seed}\n");
        let mut set = |setting: &str, value: f64, about: &str| {
            let setting = format!("set {setting} {value}");
            text += &format!("{setting:24};# s{about}\n");
        };
        set("duration", self.duration_s, "");
        set("every", *every_s, "; interval of the output files");
        set(
            "start_jitter",
            *start_jitter_s,
            "; largest random delay of the start of connections",
        );
        set(
            "overhead",
            *overhead_s,
            "; largest random delay before TCP sends a packet",
        );
        text += &format!(
            "set link_columns {}\nset connection_columns {}\n",
            NS2_LINK_COLUMNS.join(","),
            NS2_CONNECTION_COLUMNS.join(","),
        );
        let longest = self.max_path_links();
        if longest > DEFAULT_MAX_HOPS {
            let ttl = longest + 1;
            let setting = format!("Agent set ttl_ {ttl}");
            text += &format!("{setting:24};# the longest path has {longest} links\n");
        }
        text + "\n"
    }

    fn max_path_links(&self) -> usize {
        let network = self.network;
        let changes: Vec<f64> = std::iter::once(0.0)
            .chain(self.reroutings().map(|event| event.at_s))
            .collect();
        let lengths = network.connections().flat_map(|id| {
            changes.iter().map(move |&at_s| {
                let back = network.return_path_at(id, at_s).len();
                network.path_at(id, at_s).len().max(back)
            })
        });
        lengths.max().unwrap_or(0)
    }

    /// Checks that a counter of bytes cannot overflow on the fastest link in an interval.
    fn check_interval(&self) -> Result<(), ExportError> {
        let network = self.network;
        let every_s = self.options.every_s.min(self.duration_s);
        let changed = self
            .events_before_end()
            .filter_map(|event| match event.change {
                Change::Bandwidth(bps) => Some((event.link, bps)),
                _ => None,
            });
        let too_fast = network
            .links()
            .map(|id| (id, network.link_spec(id).bandwidth_bps))
            .chain(changed)
            .find(|&(_, bps)| bps / 8.0 * every_s > f64::from(u32::MAX));
        match too_fast {
            Some((id, _)) => Err(ExportError::Interval {
                every_s,
                link: network.link_name(id).to_owned(),
            }),
            None => Ok(()),
        }
    }

    fn nodes(&self) -> String {
        let mut text = String::from("\n# ---- nodes\n\n");
        for id in self.network.nodes() {
            text += &format!("node {}\n", quote_word(self.network.node_name(id)));
        }
        text
    }

    fn trace(&self) -> Result<String, ExportError> {
        let network = self.network;
        let links: Vec<LinkId> = match &self.options.trace {
            Ns2Trace::None => return Ok(String::new()),
            Ns2Trace::All => network.links().collect(),
            Ns2Trace::Links(names) => names
                .iter()
                .map(|name| {
                    let known = network.link_by_name(name);
                    known.ok_or_else(|| ExportError::UnknownLink(name.clone()))
                })
                .collect::<Result<_, _>>()?,
        };
        let mut text = String::from("\n# ---- the trace\n\nopen-trace\n");
        for id in links {
            text += &format!("trace-packets {}\n", self.end_names(id));
        }
        Ok(text)
    }

    /// Returns both ends of a link, as two words.
    fn end_names(&self, id: LinkId) -> String {
        let spec = self.network.link_spec(id);
        let name = |node| quote_word(self.network.node_name(node));
        format!("{} {}", name(spec.from), name(spec.to))
    }

    /// Returns the names of the nodes on a path of at least one link.
    fn path_nodes(&self, way: &[LinkId]) -> Vec<&str> {
        let network = self.network;
        let first = way.first().map(|&link| network.link_spec(link).from);
        let others = way.iter().map(|&link| network.link_spec(link).to);
        let nodes = first.into_iter().chain(others);
        nodes.map(|node| network.node_name(node)).collect()
    }

    /// Iterates over events before the end.
    fn events_before_end(&self) -> impl Iterator<Item = EventSpec> + '_ {
        let events = self.network.events();
        events.filter(|event| event.at_s < self.duration_s)
    }

    /// Iterates over events that change routes.
    fn reroutings(&self) -> impl Iterator<Item = EventSpec> + '_ {
        let events = self.events_before_end();
        events.filter(|event| event.change.reroutes())
    }

    /// Iterates over TCP connections whose acknowledgements are not traffic.
    fn connections_without_ack_traffic(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        let network = self.network;
        network.connections().filter(|&id| {
            let spec = network.connection_spec(id);
            spec.acks == Acks::None && connections::is_tcp(spec)
        })
    }
}
