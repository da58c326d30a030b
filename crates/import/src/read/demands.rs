//! Demands in a separate file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use netflow_document::{ProblemKind, Words};
use netflow_scenario::file::DemandKind;
use netflow_units::{BitsPerSecond, Bounds};

use crate::assumption::Assumptions;
use crate::attributes::{StatedQuantity, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::lines::Lines;
use crate::topology_builder::{ParsedTopology, allowed_rates, unit_text};
use crate::{Demand, Reading, Topology};

/// Demands between nodes of a network in another file.
#[derive(Default)]
pub(super) struct Demands {
    pub(super) rows: Vec<DemandRow>,
    /// Unit of rates without one in bit/s, if the format states it.
    pub(super) unit_bps: Option<f64>,
    /// Assumptions about the file.
    pub(super) assumptions: Vec<String>,
    /// Number of further demands that are 0.
    pub(super) zero_demands: usize,
    /// Number of nodes of a matrix without names.
    pub(super) matrix_nodes: Option<usize>,
}

/// A demand.
pub(super) struct DemandRow {
    pub(super) from: NodeReference,
    pub(super) to: NodeReference,
    pub(super) rate: StatedQuantity,
    /// The original text of the rate and its interpretation, if they are to be reported.
    pub(super) remark: Option<(String, &'static str)>,
    pub(super) kind: Option<DemandKind>,
    pub(super) class: Option<String>,
    /// Nodes of its path; empty if the file does not state it.
    pub(super) path: Vec<String>,
    pub(super) span: Range<usize>,
    /// Location of the receiver, if it is not in the row.
    pub(super) to_span: Option<Range<usize>>,
}

impl DemandRow {
    pub(super) fn new(
        from: NodeReference,
        to: NodeReference,
        rate: StatedQuantity,
        span: Range<usize>,
    ) -> DemandRow {
        DemandRow {
            from,
            to,
            rate,
            remark: None,
            kind: None,
            class: None,
            path: Vec::new(),
            span,
            to_span: None,
        }
    }
}

/// A reference to a node.
pub(super) enum NodeReference {
    /// Place of the node, from 0: by its identifier if the identifiers are the numbers from 0 or 1, otherwise in the
    /// order of the other file.
    Number(usize),
    /// Node name in the other file.
    Name(String),
}

impl Demands {
    /// Returns the demands of a network without links.
    pub(super) fn of(matrix: &ParsedTopology) -> Demands {
        let name = |node: usize| NodeReference::Name(matrix.ids[node].clone());
        let rows = matrix.topology.demands.iter().map(|demand| {
            let rate = StatedQuantity::WithUnit(demand.rate_bps);
            DemandRow::new(name(demand.from), name(demand.to), rate, 0..0)
        });
        Demands {
            rows: rows.collect(),
            zero_demands: matrix.topology.zero_demands,
            ..Demands::default()
        }
    }

    fn unitless_rates(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().filter_map(|row| row.rate.unitless())
    }

    /// Returns whether any rate has no unit.
    pub(super) fn has_unitless_rates(&self) -> bool {
        self.unitless_rates().next().is_some()
    }

    /// Returns the largest rate without a unit; 0 if the format states the unit.
    pub(super) fn max_unitless_rate(&self) -> f64 {
        match self.unit_bps {
            Some(_) => 0.0,
            None => self.unitless_rates().fold(0.0, f64::max),
        }
    }

    /// Adds the demands to the network.
    pub(super) fn add_to(
        self,
        network: &mut ParsedTopology,
        text: &str,
        reading: &Reading,
    ) -> ReadResult<()> {
        let lines = Lines::of(text);
        let said = reading.rate_unit_bps.or(self.unit_bps);
        let unit = said.unwrap_or(network.rate_unit);
        let topology = &mut network.topology;
        let before = std::mem::take(&mut topology.assumptions);
        let mut assumptions = Assumptions::continue_list(before);
        for text in &self.assumptions {
            assumptions.add_general(text.clone());
        }
        if reading.rate_unit_bps.is_none() && self.has_unitless_rates() {
            let words = unit_text(&BitsPerSecond(unit).to_string());
            assumptions.add_general(format!("demands without a unit are read in {words}"));
        }
        let (order, is_by_number) = order(&network.ids);
        if let Some(nodes) = self.matrix_nodes {
            if nodes != order.len() {
                let message = format!(
                    "the demand matrix has {nodes} nodes, but the network has {}",
                    order.len()
                );
                return Err(ImportError::new(ProblemKind::Conflict, 0..0, message));
            }
            assumptions.add_general(if is_by_number {
                "rows and columns of the demand matrix are in the order of the nodes' numbers"
            } else {
                "rows and columns of the demand matrix are in the order of the nodes in their file"
            });
        }
        let known = NodeLookup::of(topology, &network.ids, order);
        let mut ways: Option<HashSet<(usize, usize)>> = None;
        let mut joined = Vec::with_capacity(self.rows.len());
        let mut seen = HashSet::new();
        let mut zeros = self.zero_demands;
        for row in self.rows {
            let from = known.node_index(&row.from, topology, &row.span)?;
            let to_span = row.to_span.as_ref().unwrap_or(&row.span);
            let to = known.node_index(&row.to, topology, to_span)?;
            let rate_bps = row.rate.to_base_units(unit);
            let about = || crate::Subject::Other(String::new(), lines.line_of_byte(row.span.start));
            if rate_bps == 0.0 {
                assumptions.add("a demand is 0: ignored", about());
                zeros += 1;
            } else if from == to {
                let text = "a demand from a node to itself uses no link: ignored";
                assumptions.add(text, about());
            } else if rate_bps < 0.0 || !Bounds::BIT_RATE.contains(rate_bps) {
                let message = format!("demand out of range: {}", BitsPerSecond(rate_bps));
                let wrong = ImportError::new(ProblemKind::OutOfRange, row.span, message);
                return Err(wrong.help(allowed_rates(&row.rate)));
            } else {
                if let Some((text, how)) = &row.remark {
                    let rate = BitsPerSecond(rate_bps);
                    let text = format!(
                        "a demand of \"{}\" is read as {rate}{how}",
                        truncate_text(text)
                    );
                    assumptions.add(text, about());
                }
                if !seen.insert((
                    from,
                    to,
                    row.kind.map(|kind| kind.name()),
                    row.class.clone(),
                )) {
                    let text = "several demands between the same nodes: all are imported";
                    assumptions.add(text, about());
                }
                let path = if row.path.is_empty() {
                    None
                } else {
                    let ways = ways.get_or_insert_with(|| topology.directions().collect());
                    Some(known.path(&row, [from, to], topology, ways)?)
                };
                joined.push(Demand {
                    kind: row.kind,
                    class: row.class,
                    path,
                    ..Demand::new(from, to, rate_bps)
                });
            }
        }
        drop(known);
        topology.demands.extend(joined);
        topology.zero_demands += zeros;
        topology.assumptions = assumptions.finish();
        Ok(())
    }
}

/// Nodes by all their names in the file: identifier, label and scenario name. A name that is the
/// identifier of one node and the label of another is ambiguous.
struct NodeLookup {
    names: HashMap<String, NameMatch>,
    /// Node indices by number.
    order: Vec<usize>,
}

/// Returns the node indices by number, and whether the identifiers are the numbers from 0 or 1.
fn order(ids: &[String]) -> (Vec<usize>, bool) {
    let numbers: Option<Vec<usize>> = ids.iter().map(|id| id.parse().ok()).collect();
    let mut order: Vec<usize> = (0..ids.len()).collect();
    let Some(numbers) = numbers else {
        return (order, false);
    };
    let mut sorted = order.clone();
    sorted.sort_by_key(|&place| numbers[place]);
    let counts_from = |first: usize| {
        (first..)
            .zip(&sorted)
            .all(|(number, &place)| numbers[place] == number)
    };
    let is_by_number = counts_from(0) || counts_from(1);
    if is_by_number {
        order = sorted;
    }
    (order, is_by_number)
}

/// The nodes of a name.
#[derive(Clone, Copy)]
enum NameMatch {
    One(usize),
    /// The first two nodes of an ambiguous name.
    Several(usize, usize),
}

impl NodeLookup {
    fn of(topology: &Topology, ids: &[String], order: Vec<usize>) -> NodeLookup {
        let mut known: HashMap<String, NameMatch> = HashMap::new();
        for (place, node) in topology.nodes.iter().enumerate() {
            let names = [ids.get(place), node.label.as_ref(), Some(&node.name)];
            for name in names.into_iter().flatten() {
                let called = known.entry(name.clone()).or_insert(NameMatch::One(place));
                if let NameMatch::One(first) = *called
                    && first != place
                {
                    *called = NameMatch::Several(first, place);
                }
            }
        }
        NodeLookup {
            names: known,
            order,
        }
    }

    /// Returns the indices of the nodes on a path between these ends, which must follow existing links.
    fn path(
        &self,
        row: &DemandRow,
        ends: [usize; 2],
        topology: &Topology,
        ways: &HashSet<(usize, usize)>,
    ) -> ReadResult<Vec<usize>> {
        let wrong = |message: String| {
            let wrong = ImportError::new(ProblemKind::Conflict, row.span.clone(), message);
            wrong.help("write all nodes from sender to receiver: `A > R1 > B`")
        };
        let node = |name: &String| {
            self.node_index(&NodeReference::Name(name.clone()), topology, &row.span)
        };
        let places: Vec<usize> = row.path.iter().map(node).collect::<ReadResult<_>>()?;
        let name = |place: usize| topology.nodes.get(place).map_or("", |node| &*node.name);
        if places.first() != Some(&ends[0]) || places.last() != Some(&ends[1]) {
            let [from, to] = ends.map(name);
            return Err(wrong(format!(
                "the path does not run from `{from}` to `{to}`"
            )));
        }
        let mut pairs = places.windows(2);
        match pairs.find(|pair| !ways.contains(&(pair[0], pair[1]))) {
            None => Ok(places),
            Some(pair) => {
                let (from, to) = (name(pair[0]), name(pair[1]));
                Err(wrong(format!(
                    "the path has no link from `{from}` to `{to}`"
                )))
            }
        }
    }

    fn node_index(
        &self,
        end: &NodeReference,
        topology: &Topology,
        span: &Range<usize>,
    ) -> ReadResult<usize> {
        let unknown = |message: String, help: String| {
            ImportError::new(ProblemKind::UnknownName, span.clone(), message).help(help)
        };
        match end {
            NodeReference::Number(number) if *number < self.order.len() => Ok(self.order[*number]),
            NodeReference::Number(number) => {
                let count = topology.nodes.len();
                let message = format!("unknown node {number}");
                Err(unknown(
                    message,
                    format!("the network has nodes 0 to {}", count.saturating_sub(1)),
                ))
            }
            NodeReference::Name(name) => match self.names.get(name).copied() {
                Some(NameMatch::One(place)) => Ok(place),
                Some(NameMatch::Several(first, second)) => {
                    let [first, second] = [first, second].map(|at| &topology.nodes[at].name);
                    let message = format!("`{}` is the name of several nodes", truncate_text(name));
                    let help = format!(
                        "the nodes are `{first}` and `{second}` in the scenario; give them different names in all files"
                    );
                    Err(unknown(message, help))
                }
                None => {
                    let names = topology.nodes.iter().take(10_000).map(|node| {
                        let label = node.label.as_deref();
                        label.unwrap_or(&node.name)
                    });
                    let near = netflow_units::nearest_name(name, names, &[]);
                    let help = near.map(|near| {
                        let remark = netflow_units::composition_remark(name, near);
                        format!("did you mean `{near}`?{remark}")
                    });
                    let message = format!("unknown node `{}`", truncate_text(name));
                    Err(unknown(message, help.unwrap_or_default()))
                }
            },
        }
    }
}
