//! Writer of scenario files.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use netflow_document::Words;
use netflow_network::{LinkSpec, NetworkBuilder, NodeId};
use netflow_scenario::file::DemandKind;
use netflow_units::{BitsPerSecond, BufferSize, Seconds};

use super::components::Components;
use super::resolve::{ResolvedLink, resolve_links};
use crate::assumption::Assumptions;
use crate::attributes::single_line;
use crate::{Assumption, LinkSettings, Node, Position, Reverse, Subject, Topology};

/// Defaults for information that a file lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    /// Bandwidth in bit/s of links without one.
    pub bandwidth_bps: f64,
    /// Delay in seconds of links without one.
    pub delay_s: f64,
    /// Buffer size of queues; `None` for the default of scenarios.
    pub buffer: Option<BufferSize>,
    /// Length of a fibre path relative to the great-circle distance.
    pub detour: f64,
    /// Kind of traffic of demands without one.
    pub kind: DemandKind,
    /// Setting of equal-cost multipath routing; `None` to enable it if all links have a metric.
    pub ecmp: Option<bool>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults {
            bandwidth_bps: 1e9,
            delay_s: 0.005,
            buffer: None,
            detour: 1.5,
            kind: DemandKind::Constant,
            ecmp: None,
        }
    }
}

/// The origin of a scenario, and the file of its demands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The files that the network was read from.
    pub files: Vec<String>,
    /// The command that writes the scenario.
    pub command: String,
    /// Name of the file with the demands in the scenario; `None` to write them into the scenario.
    pub demands: Option<String>,
}

/// A scenario with its topology and assumptions.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenScenario {
    /// The scenario's text.
    pub text: String,
    /// The network as in the scenario, without properties that scenarios do not support.
    pub topology: Topology,
    /// All assumptions, of reading and of writing.
    pub assumptions: Vec<Assumption>,
}

/// Writes a network as a scenario that can be run. Its comments list all assumptions.
pub fn write(topology: &Topology, choices: &Defaults, origin: &Origin) -> WrittenScenario {
    let mut assumptions = Assumptions::continue_list(topology.assumptions.clone());
    let resolved = resolve_links(topology, choices, &mut assumptions);
    let components = Components::of(topology);
    let mut topology = topology.clone();
    for demand in &mut topology.demands {
        demand.kind.get_or_insert(choices.kind);
    }
    let ends = topology.demands.iter().map(|it| (it.from, it.to));
    let mut leads = components
        .reachable_pairs(&ends.collect::<Vec<_>>())
        .into_iter();
    topology.demands.retain(|demand| {
        let leads = leads.next().unwrap_or_default();
        // Traffic with acknowledgements needs a return path.
        let answers = matches!(demand.kind, Some(DemandKind::Tcp | DemandKind::Video));
        let reached = if answers {
            components.strongly_connected(demand.from, demand.to)
        } else {
            leads
        };
        if !reached {
            let name = |node: usize| topology.nodes.get(node).map_or("", |node| &*node.name);
            let name = format!("{}->{}", name(demand.from), name(demand.to));
            let text = if leads {
                "demands of kind `tcp` or `video` without a return path: ignored"
            } else {
                "demands without a path from sender to receiver: ignored"
            };
            assumptions.add(text, Subject::Other(name, 0));
        }
        reached
    });
    note_demand_kinds(&topology, &mut assumptions);
    if let [_, _, ..] = components.sizes[..] {
        let sizes: Vec<String> = components
            .sizes
            .iter()
            .take(10)
            .map(ToString::to_string)
            .collect();
        let and_more = if components.sizes.len() > 10 {
            " ..."
        } else {
            ""
        };
        assumptions.add_general(format!(
            "the network has {} disconnected parts, of {}{and_more} nodes",
            components.sizes.len(),
            sizes.join(", ")
        ));
    }
    for &node in &components.isolated {
        let text = "a node has no links: ignored";
        assumptions.add(text, Subject::Node(node, 0));
    }
    let sound = |metric: f64| (0.0..=1e9).contains(&metric);
    let known = topology.links.iter().filter(|link| link.metric.is_some());
    let known = known.count();
    let by_metric = known > 0
        && topology.links.iter().all(|link| {
            let reverse = link.reverse.as_ref().and_then(|it| it.metric);
            link.metric.is_some_and(sound) && reverse.is_none_or(sound)
        });
    if known > 0 && !by_metric {
        assumptions.add_general(
            "metrics are only in comments, because not all links have a valid one: routing uses delays",
        );
    }
    let mut layout = LinkWriter {
        topology: &topology,
        choices,
        by_metric,
        between: HashMap::new(),
        circuits: Vec::new(),
        has_unequal_parallel_links: false,
    };
    let links = layout.links(&resolved);
    let alike = !layout.circuits.is_empty() && !layout.has_unequal_parallel_links;
    let shares = choices.ecmp.unwrap_or(alike || by_metric);
    if by_metric && choices.ecmp.is_none() {
        assumptions.add_general(
            "all links have a metric: traffic is divided among paths of equal metric (`ecmp = true`), as with IS-IS and OSPF; \
             use --ecmp=false for single paths",
        );
    }
    for &place in &layout.circuits {
        let text = match (shares, alike) {
            (true, true) => {
                "parallel links share traffic, like all equal-cost paths (`ecmp = true`)"
            }
            (true, false) => {
                "parallel links of the lowest cost share traffic equally, even if their bandwidths differ \
                 (`ecmp = true`)"
            }
            (false, true) => "one of several equal parallel links carries all traffic",
            (false, false) => {
                "parallel links differ in bandwidth or length: the shortest carries all traffic, and among equally short links \
                 the fastest; use `ecmp = true` to divide it equally among links of equal cost"
            }
        };
        assumptions.add(text, Subject::Link(place, 0));
    }
    if !shares {
        let chosen = count_demands_with_equal_paths(&topology, &resolved, by_metric);
        let all = topology.demands.len();
        if chosen > 0 {
            let verb = if chosen == 1 { "uses" } else { "use" };
            assumptions.add_general(format!(
                "{chosen} of {all} demands {verb} one of several shortest paths: use --ecmp to divide traffic among them"
            ));
        }
    }
    let zeros = topology.zero_demands;
    let example = if topology.demands.is_empty() && zeros == 0 {
        components.distant_pair()
    } else {
        None
    };
    if let Some((from, to)) = example {
        let names = [from, to].map(|node| topology.nodes.get(node).map_or("", |node| &*node.name));
        let [from, to] = names;
        let has_classes = |link: &crate::Link| !link.settings.leaves.is_empty();
        let each = if topology.links.iter().any(has_classes) {
            " in each class"
        } else {
            ""
        };
        assumptions.add_general(format!(
            "the file has no traffic: the scenario has one example connection{each}, {from}->{to}"
        ));
    } else if topology.demands.is_empty() && zeros > 0 {
        let text = format!(
            "no traffic: {zeros} demands are 0, and all others are ignored; add a demand to run the scenario"
        );
        assumptions.add_general(text);
    } else if topology.demands.is_empty() {
        let text = "no traffic, and no two nodes reach each other in both directions: the scenario has no connection; \
                    add one to run it";
        assumptions.add_general(text.to_owned());
    }
    let assumptions = assumptions.finish();
    let mut text = String::new();
    let writer = Writer {
        topology: &topology,
        origin,
        assumptions: &assumptions,
        isolated: components.isolated.iter().copied().collect(),
        ecmp: (shares || by_metric || choices.ecmp.is_some()).then_some(shares),
    };
    // Writing to a string cannot fail.
    let _ = writer.head(&mut text);
    let _ = writer.nodes(&mut text);
    text.push_str(LINKS);
    text.push_str(&links);
    let _ = writer.traffic(example, &mut text);
    WrittenScenario {
        text,
        topology,
        assumptions,
    }
}

/// Returns the number of demands with several shortest paths. A scenario without `ecmp` uses one of them.
fn count_demands_with_equal_paths(
    topology: &Topology,
    resolved: &[ResolvedLink],
    by_metric: bool,
) -> usize {
    let mut builder = NetworkBuilder::new();
    let nodes = topology.nodes.iter().map(|node| builder.node(&node.name));
    let nodes: Vec<NodeId> = nodes.collect();
    for (link, resolved) in topology.links.iter().zip(resolved) {
        let (from, to) = (nodes[link.from], nodes[link.to]);
        let spec = |from, to, delay_s, metric: Option<f64>| LinkSpec {
            delay_s,
            metric: metric.filter(|_| by_metric),
            ..LinkSpec::new(from, to, resolved.bandwidth_bps)
        };
        builder.link(spec(from, to, resolved.delay_s, link.metric));
        if !link.directed {
            let reverse = link.reverse.as_ref().and_then(|it| it.metric);
            let delay_s = resolved.reverse_delay_s.unwrap_or(resolved.delay_s);
            builder.link(spec(to, from, delay_s, reverse.or(link.metric)));
        }
    }
    let demands = topology.demands.iter();
    let free = demands.filter(|demand| demand.path.is_none());
    let ends = free.map(|demand| (nodes[demand.from], nodes[demand.to]));
    let have_several = (builder.equal_paths()).have_several_paths(&ends.collect::<Vec<_>>());
    have_several.into_iter().filter(|&it| it).count()
}

/// Lists the kinds of the demands and their consequences for acknowledgements.
fn note_demand_kinds(topology: &Topology, assumptions: &mut Assumptions) {
    let has = |kind| topology.demands.iter().any(|it| it.kind == Some(kind));
    for kind in DemandKind::WORDS
        .iter()
        .map(|it| it.meaning)
        .filter(|&it| has(it))
    {
        let text = match kind {
            DemandKind::Tcp | DemandKind::Video => {
                "acknowledgements add load in the reverse direction"
            }
            DemandKind::Constant | DemandKind::Poisson | DemandKind::Voice => {
                "a measured matrix contains its acknowledgements, so none are added; bursts of TCP are not modelled, so queues are \
                 underestimated"
            }
        };
        assumptions.add_general(format!(
            "demands are of kind `{}` (--kind): {text}",
            kind.name()
        ));
    }
    if topology.demands.iter().any(|it| it.class.is_some()) {
        let text = "class names of demands are only part of their names: add `[[link.class]]` to links and `class` to demands \
                    for separate queues";
        assumptions.add_general(text);
    }
}

/// Writer of the links, which assigns numbers to parallel links.
struct LinkWriter<'a> {
    topology: &'a Topology,
    choices: &'a Defaults,
    /// True if all links have a metric for routing.
    by_metric: bool,
    /// Existing links between two nodes, the smaller index first.
    between: HashMap<(usize, usize), ParallelLinks>,
    /// Indices of links with a circuit number.
    circuits: Vec<usize>,
    /// True if any of them differs in bandwidth or cost from the first link between its nodes.
    has_unequal_parallel_links: bool,
}

/// The links between two nodes.
struct ParallelLinks {
    links: usize,
    /// Bandwidth and cost of the first link.
    bandwidth_bps: f64,
    cost: f64,
    /// Existing directions: from the node of smaller index to the other, and the opposite.
    directions: [bool; 2],
}

impl LinkWriter<'_> {
    fn links(&mut self, resolved: &[ResolvedLink]) -> String {
        let mut text = String::new();
        for (place, (link, resolved)) in self.topology.links.iter().zip(resolved).enumerate() {
            let duplex = !link.directed;
            let circuit = self.assign_circuit(place, resolved, duplex);
            let name = |node: usize| self.topology.nodes.get(node).map_or("", |node| &*node.name);
            let row = LinkRow {
                ends: [link.from, link.to].map(name),
                circuit,
                duplex,
                resolved,
                buffer: link.buffer.or(self.choices.buffer),
                srlg: &link.srlg,
                settings: &link.settings,
                remark: [
                    link.name
                        .as_ref()
                        .map(|name| format!("called {}", single_line(name))),
                    link.metric
                        .filter(|_| !self.by_metric)
                        .map(|metric| format!("metric {metric}")),
                ],
                metric: link.metric.filter(|_| self.by_metric),
                reverse: link.reverse.as_ref(),
            };
            // Writing to a string cannot fail.
            let _ = row.write(&mut text);
        }
        text
    }

    /// Adds a link between two nodes. Returns a circuit number if there is already a link in one of its
    /// directions.
    fn assign_circuit(
        &mut self,
        place: usize,
        resolved: &ResolvedLink,
        duplex: bool,
    ) -> Option<usize> {
        let link = &self.topology.links[place];
        let (from, to) = (link.from, link.to);
        let ends = (from.min(to), from.max(to));
        let metric = link.metric.filter(|_| self.by_metric);
        let cost = metric.unwrap_or(resolved.delay_s);
        let between = self.between.entry(ends).or_insert(ParallelLinks {
            links: 0,
            bandwidth_bps: resolved.bandwidth_bps,
            cost,
            directions: [false; 2],
        });
        between.links += 1;
        let back = usize::from(from > to);
        let mut busy = std::mem::replace(&mut between.directions[back], true);
        if duplex {
            busy |= std::mem::replace(&mut between.directions[1 - back], true);
        }
        if busy {
            self.circuits.push(place);
            self.has_unequal_parallel_links |=
                between.bandwidth_bps != resolved.bandwidth_bps || between.cost != cost;
        }
        busy.then_some(between.links)
    }
}

/// The data of a link in the scenario.
struct LinkRow<'a> {
    ends: [&'a str; 2],
    /// Number that distinguishes it from other links between the same nodes.
    circuit: Option<usize>,
    duplex: bool,
    resolved: &'a ResolvedLink,
    buffer: Option<BufferSize>,
    srlg: &'a [String],
    metric: Option<f64>,
    reverse: Option<&'a Reverse>,
    settings: &'a LinkSettings,
    remark: [Option<String>; 2],
}

impl LinkRow<'_> {
    fn write(&self, text: &mut String) -> fmt::Result {
        let remarks: Vec<&str> = self.remark.iter().flatten().map(String::as_str).collect();
        if remarks.is_empty() {
            writeln!(text, "\n[[link]]")?
        } else {
            writeln!(text, "\n[[link]]  # {}", remarks.join(", "))?
        }
        let [from, to] = self.ends;
        writeln!(text, "from      = \"{from}\"\nto        = \"{to}\"")?;
        if let Some(circuit) = self.circuit {
            writeln!(text, "circuit   = \"{circuit}\"")?;
        }
        if !self.duplex {
            writeln!(text, "duplex    = false")?;
        }
        let rate = BitsPerSecond(self.resolved.bandwidth_bps);
        let delay = Seconds(self.resolved.delay_s);
        writeln!(
            text,
            "bandwidth = \"{rate}\"{}",
            Remark(&self.resolved.bandwidth_remark)
        )?;
        writeln!(
            text,
            "delay     = \"{delay}\"{}",
            Remark(&self.resolved.delay_remark)
        )?;
        if let Some(metric) = self.metric {
            writeln!(text, "metric    = {metric}")?;
        }
        if let Some(buffer) = self.buffer {
            writeln!(text, "buffer    = \"{buffer}\"")?;
        }
        if !self.srlg.is_empty() {
            let names = self.srlg.iter().map(|name| Quoted(name).to_string());
            let names = names.collect::<Vec<_>>().join(", ");
            writeln!(text, "srlg      = [{names}]")?;
        }
        let reverse = self.reversed();
        if !reverse.is_empty() {
            writeln!(text, "reverse   = {{ {} }}", reverse.join(", "))?;
        }
        text.push_str(&self.settings.as_toml());
        Ok(())
    }
}

impl LinkRow<'_> {
    /// Returns the keys of the opposite direction that differ.
    fn reversed(&self) -> Vec<String> {
        let metric = self.reverse.and_then(|it| it.metric);
        // Without metrics for all links, the scenario has no metrics.
        let metric = metric.filter(|_| self.metric.is_some());
        let rate = self.resolved.reverse_bandwidth_bps.map(BitsPerSecond);
        let delay = self.resolved.reverse_delay_s.map(Seconds);
        let buffer = self.reverse.and_then(|it| it.buffer);
        let keys = [
            rate.map(|it| format!("bandwidth = \"{it}\"")),
            delay.map(|it| format!("delay = \"{it}\"")),
            metric.map(|it| format!("metric = {it}")),
            buffer.map(|it| format!("buffer = \"{it}\"")),
        ];
        keys.into_iter().flatten().collect()
    }
}

/// A comment after a value.
struct Remark<'a>(&'a str);

impl fmt::Display for Remark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            remark => write!(f, "  # {}", single_line(remark)),
        }
    }
}

/// A quoted TOML string.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                _ if c.is_control() => write!(f, "\\u{:04X}", c as u32)?,
                _ => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

struct Writer<'a> {
    topology: &'a Topology,
    origin: &'a Origin,
    assumptions: &'a [Assumption],
    isolated: HashSet<usize>,
    /// Setting of equal-cost multipath routing, if the scenario has one.
    ecmp: Option<bool>,
}

impl Writer<'_> {
    fn head(&self, text: &mut String) -> fmt::Result {
        let topology = self.topology;
        let name = topology
            .name
            .as_deref()
            .map_or_else(|| "A network".to_owned(), single_line);
        let files: Vec<String> = self
            .origin
            .files
            .iter()
            .map(|file| single_line(file))
            .collect();
        let format = topology.format.map_or("", |format| format.description());
        let title = format!(
            "{name}: {} and {}, read from {} ({format}).",
            count_text(topology.nodes.len(), "node"),
            count_text(topology.links.len(), "link"),
            files.join(", ")
        );
        comment(text, "# ", &title)?;
        for (key, value) in &topology.origin {
            comment(
                text,
                "#   ",
                &format!("{}: {}", single_line(key), single_line(value)),
            )?;
        }
        if !self.origin.command.is_empty() {
            writeln!(text, "#\n# Command: {}", single_line(&self.origin.command))?;
        }
        if !self.assumptions.is_empty() {
            writeln!(text, "#\n# Assumptions, also at each link below:")?;
        }
        for assumption in self.assumptions {
            let links = assumption
                .subjects
                .iter()
                .any(|about| matches!(about, Subject::Link(..)));
            let listed = if links {
                assumption.summary(topology)
            } else {
                assumption.full_text(topology)
            };
            comment(text, "# - ", &single_line(&listed))?;
        }
        writeln!(text, "\n[simulation]\nduration = \"60 s\"")?;
        if topology.links.iter().any(|link| !link.settings.is_empty()) {
            writeln!(text, "model    = \"packet\"")?;
        }
        if let Some(ecmp) = self.ecmp {
            writeln!(text, "ecmp     = {ecmp}")?;
        }
        if let Some(demands) = self
            .origin
            .demands
            .as_ref()
            .filter(|_| !topology.demands.is_empty())
        {
            writeln!(text, "\n# Demands")?;
            writeln!(text, "[include]\ndemands = {}", Quoted(demands))?;
        }
        Ok(())
    }

    fn nodes(&self, text: &mut String) -> fmt::Result {
        let said = |node: &Node| {
            node.label.is_some() || node.position.is_some() || node.population.is_some()
        };
        let nodes = self.topology.nodes.iter().enumerate();
        let mut nodes = nodes
            .filter(|(place, node)| said(node) && !self.isolated.contains(place))
            .peekable();
        if nodes.peek().is_some() {
            let degrees = self
                .topology
                .nodes
                .iter()
                .any(|node| matches!(node.position, Some(Position::Degrees { .. })));
            text.push_str("\n# Labels and positions of nodes");
            text.push_str(if degrees {
                ": x is the longitude, y the latitude.\n"
            } else {
                ".\n"
            });
        }
        for (_, node) in nodes {
            writeln!(text, "\n[[node]]\nname  = {}", Quoted(&node.name))?;
            if let Some(label) = &node.label {
                writeln!(text, "label = {}", Quoted(label))?;
            }
            let place = match node.position {
                Some(Position::Degrees {
                    longitude,
                    latitude,
                }) => Some((longitude, latitude)),
                Some(Position::Plane { x, y }) => {
                    Some((x, y)).filter(|(x, y)| x.abs().max(y.abs()) <= 1e12)
                }
                None => None,
            };
            if let Some((x, y)) = place {
                writeln!(text, "x     = {x:?}\ny     = {y:?}")?;
            }
            let sound = |people: &f64| *people >= 0.0 && *people <= 1e12;
            if let Some(population) = node.population.filter(sound) {
                writeln!(text, "population = {population}")?;
            }
        }
        Ok(())
    }

    fn traffic(&self, example: Option<(usize, usize)>, text: &mut String) -> fmt::Result {
        let name = |node: usize| self.topology.nodes.get(node).map_or("", |node| &*node.name);
        if self.origin.demands.is_none() && !self.topology.demands.is_empty() {
            text.push_str("\n# Demands\n");
            let names = super::demands::names(self.topology);
            for (demand, called) in self.topology.demands.iter().zip(names) {
                let (from, to) = (Quoted(name(demand.from)), Quoted(name(demand.to)));
                let rate = BitsPerSecond(demand.rate_bps);
                writeln!(text, "\n[[demand]]")?;
                if let Some(called) = called {
                    writeln!(text, "name = {}", Quoted(&called))?;
                }
                writeln!(text, "from = {from}\nto   = {to}\nrate = \"{rate}\"")?;
                if let Some(kind) = demand.kind.filter(|kind| *kind != DemandKind::Tcp) {
                    writeln!(text, "kind = \"{}\"", kind.name())?;
                }
                if let Some(path) = &demand.path {
                    let nodes = path.iter().map(|&node| Quoted(name(node)).to_string());
                    writeln!(text, "path = [{}]", nodes.collect::<Vec<_>>().join(", "))?;
                }
            }
        }
        let Some((from, to)) = example else {
            return Ok(());
        };
        text.push_str(EXAMPLE);
        let (from, to) = (Quoted(name(from)), Quoted(name(to)));
        let has_settings = |link: &&crate::Link| !link.settings.is_empty();
        let Some(link) = self.topology.links.iter().find(has_settings) else {
            writeln!(text, "\n[[connection]]\nname   = \"example\"")?;
            writeln!(text, "from   = {from}\nto     = {to}")?;
            return writeln!(text, "source = {{ profile = \"ns-reno\" }}");
        };
        let classes = link.settings.leaves.iter().map(Some);
        let without = link.settings.leaves.is_empty().then_some(None);
        for class in classes.chain(without) {
            let number = class.map_or_else(String::new, |class| format!("-{class}"));
            let called = format!("example{number}");
            writeln!(text, "\n[[connection]]\nname   = {}", Quoted(&called))?;
            writeln!(text, "from   = {from}\nto     = {to}")?;
            if let Some(class) = class {
                writeln!(text, "class  = {}", Quoted(class))?;
            }
            writeln!(text, "source = {{ tcp = \"linux-6\" }}")?;
        }
        Ok(())
    }
}

/// Returns a count with its noun: `1 link`, `2 links`.
fn count_text(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// Line width of comments.
const WIDTH: usize = 100;

/// Appends a comment with line wrapping.
fn comment(text: &mut String, begin: &str, line: &str) -> fmt::Result {
    let mut columns = begin.chars().count();
    text.push_str(begin);
    for (i, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if i > 0 && columns + 1 + length > WIDTH {
            text.push_str("\n#   ");
            columns = 4;
        } else if i > 0 {
            text.push(' ');
            columns += 1;
        }
        text.push_str(word);
        columns += length;
    }
    writeln!(text)
}

const LINKS: &str = "
# Links are bidirectional unless they have `duplex = false`; each direction has its own queue.
";

const EXAMPLE: &str = "
# The file has no traffic: this example connection makes the scenario run. Replace it with your own;
# `netflow profile list` shows other sources, and { constant = \"2 Mbit/s\" } is one.
";
