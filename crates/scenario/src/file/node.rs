//! `[[node]]`

use netflow_document::{Section, Spanned, table};

use super::{LongTime, Unavailability, allowed};

/// Properties of a node. The links define the nodes; this table adds a label, a position in pictures, a
/// population, or an unavailability.
#[table(name = "node", check = check_unavailability)]
pub struct Node {
    /// Name, as in the links.
    #[key(example = "A")]
    pub name: Spanned<String>,
    /// Display name. Default: the name.
    #[key(example = "Amsterdam")]
    pub label: Option<Spanned<String>>,
    /// Horizontal position in pictures, increasing to the right.
    #[key(allowed = allowed::COORDINATE, example = 4.9)]
    pub x: Option<Spanned<f64>>,
    /// Vertical position in pictures, increasing upwards.
    #[key(allowed = allowed::COORDINATE, example = 52.4)]
    pub y: Option<Spanned<f64>>,
    /// Population, or another weight of its traffic, for `gravity` in `[include]`.
    #[key(allowed = allowed::POPULATION, example = 850000)]
    pub population: Option<Spanned<f64>>,
    /// Mean time between failures: from a repair to the next failure. It needs `mttr`, and only `netflow availability` uses
    /// it. Default: the node never fails.
    #[key(allowed = allowed::MTBF, example = "2000 d")]
    pub mtbf: Option<LongTime>,
    /// Mean time to repair, with `mtbf`: the unavailability is mttr / (mtbf + mttr).
    #[key(allowed = allowed::MTTR, example = "6 h")]
    pub mttr: Option<LongTime>,
    /// Fraction of the time in which the node has failed, instead of `mtbf` and `mttr`.
    #[key(allowed = allowed::UNAVAILABILITY, example = "0.01 %")]
    pub unavailability: Option<Spanned<f64>>,
}

impl Node {
    /// Returns the keys of its unavailability.
    pub(crate) fn unavailability(&self) -> Unavailability<'_> {
        Unavailability {
            mtbf: self.mtbf.as_ref(),
            mttr: self.mttr.as_ref(),
            fraction: self.unavailability.as_ref(),
        }
    }
}

fn check_unavailability(node: &mut Node, s: &mut Section<'_, '_>) {
    node.unavailability().check(s);
}
