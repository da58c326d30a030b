//! Demands in a file of their own.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use netflow_document::ProblemKind;
use netflow_units::{BitsPerSecond, Bounds};

use crate::attributes::{Stated, cut, unit_of_bare_bps};
use crate::draft::unit_in_words;
use crate::lines::Lines;
use crate::wrong::{Read, Wrong};
use crate::{Demand, Reading, Topology};

/// Demands between nodes of a network that another file has.
#[derive(Default)]
pub(super) struct Demands {
    pub(super) rows: Vec<Row>,
    /// What the format says rates without a unit are in.
    pub(super) unit_bps: Option<f64>,
}

/// One of them.
pub(super) struct Row {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) rate: Stated,
    /// The rate as it stands there, if that is in bytes per second.
    pub(super) bytes: Option<String>,
    pub(super) span: Range<usize>,
}

/// A node.
pub(super) enum End {
    /// Its number in the other file, from 0.
    Number(usize),
    /// Its name there.
    Name(String),
}

impl Demands {
    /// Those of a network without links.
    pub(super) fn of(matrix: &Topology, ids: &[String]) -> Demands {
        let name = |node: usize| End::Name(ids[node].clone());
        let rows = matrix.demands.iter().map(|demand| Row {
            from: name(demand.from),
            to: name(demand.to),
            rate: Stated::Sure(demand.rate_bps),
            bytes: None,
            span: 0..0,
        });
        Demands {
            rows: rows.collect(),
            unit_bps: None,
        }
    }

    /// Adds them to the network.
    pub(super) fn join(
        self,
        topology: &mut Topology,
        ids: &[String],
        text: &str,
        reading: &Reading,
    ) -> Read<()> {
        let lines = Lines::of(text);
        let bare = self.rows.iter().filter_map(|row| row.rate.bare());
        let largest = bare.reduce(f64::max);
        let said = reading.rate_unit_bps.or(self.unit_bps);
        let unit = said.unwrap_or_else(|| unit_of_bare_bps(largest.unwrap_or(0.0)));
        let mut assumptions =
            crate::assumption::Assumptions::after(std::mem::take(&mut topology.assumptions));
        if reading.rate_unit_bps.is_none() && largest.is_some() {
            let words = unit_in_words(&BitsPerSecond(unit).to_string());
            assumptions.whole(format!("demands without a unit are taken as {words}"));
        }
        let known = Known::of(topology, ids);
        let mut joined = Vec::with_capacity(self.rows.len());
        let mut seen = HashSet::new();
        for row in self.rows {
            let from = known.place(&row.from, topology, &row.span)?;
            let to = known.place(&row.to, topology, &row.span)?;
            let rate_bps = row.rate.in_units_of(unit);
            let about = || crate::About::Other(String::new(), lines.of_byte(row.span.start));
            if from == to {
                let text = "a demand of a node to itself needs no network: left out";
                assumptions.about(text, about());
            } else if rate_bps == 0.0 {
                assumptions.about("a demand of 0 is none: left out", about());
            } else if rate_bps < 0.0 || !Bounds::BIT_RATE.allow(rate_bps) {
                let message = format!("a demand of {}", BitsPerSecond(rate_bps));
                let wrong = Wrong::new(ProblemKind::OutOfRange, row.span, message);
                return Err(wrong.help(Bounds::BIT_RATE.text));
            } else {
                if let Some(text) = &row.bytes {
                    let rate = BitsPerSecond(rate_bps);
                    let text = format!("a demand of \"{}\" is {rate}: read as bytes", cut(text));
                    assumptions.about(text, about());
                }
                if !seen.insert((from, to)) {
                    let text = "a further demand from a node to another: all of them count";
                    assumptions.about(text, about());
                }
                joined.push(Demand { from, to, rate_bps });
            }
        }
        drop(known);
        topology.demands.extend(joined);
        topology.assumptions = assumptions.finish();
        Ok(())
    }
}

/// The nodes by everything that a file may call them: identifier, label, and name in the scenario. A name that is the
/// identifier of one node and the label of another one is no name.
struct Known(HashMap<String, Called>);

/// The nodes that have a name.
#[derive(Clone, Copy)]
enum Called {
    One(usize),
    /// The first two of them.
    Several(usize, usize),
}

impl Known {
    fn of(topology: &Topology, ids: &[String]) -> Known {
        let mut known: HashMap<String, Called> = HashMap::new();
        for (place, node) in topology.nodes.iter().enumerate() {
            let names = [ids.get(place), node.label.as_ref(), Some(&node.name)];
            for name in names.into_iter().flatten() {
                let called = known.entry(name.clone()).or_insert(Called::One(place));
                if let Called::One(first) = *called
                    && first != place
                {
                    *called = Called::Several(first, place);
                }
            }
        }
        Known(known)
    }

    fn place(&self, end: &End, topology: &Topology, span: &Range<usize>) -> Read<usize> {
        let unknown = |message: String, help: String| {
            Wrong::new(ProblemKind::UnknownName, span.clone(), message).help(help)
        };
        match end {
            End::Number(number) if *number < topology.nodes.len() => Ok(*number),
            End::Number(number) => {
                let count = topology.nodes.len();
                let message = format!("there is no node {number}");
                Err(unknown(
                    message,
                    format!("the network has the nodes 0 to {}", count.saturating_sub(1)),
                ))
            }
            End::Name(name) => match self.0.get(name).copied() {
                Some(Called::One(place)) => Ok(place),
                Some(Called::Several(first, second)) => {
                    let [first, second] = [first, second].map(|at| &topology.nodes[at].name);
                    let message = format!("`{}` is the name of several nodes", cut(name));
                    let help = format!(
                        "the nodes are `{first}` and `{second}` in the scenario; give each a name of its own in all files"
                    );
                    Err(unknown(message, help))
                }
                None => {
                    let names = topology.nodes.iter().take(10_000).map(|node| {
                        let label = node.label.as_deref();
                        label.unwrap_or(&node.name)
                    });
                    let near = netflow_units::nearest_name(name, names, &[]);
                    let help = near.map(|near| format!("did you mean `{near}`?"));
                    let message = format!("the network has no node `{}`", cut(name));
                    Err(unknown(message, help.unwrap_or_default()))
                }
            },
        }
    }
}
