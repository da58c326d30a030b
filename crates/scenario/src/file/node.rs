//! `[[node]]`

use netflow_document::{Spanned, table};

use super::allowed;

/// Properties of a node. The links define the nodes; this table adds a label, a position in pictures, or a
/// population.
#[table(name = "node")]
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
}
