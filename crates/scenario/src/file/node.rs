//! `[[node]]`

use netflow_document::{Spanned, table};

use super::allowed;

/// Something to say about a node. Nodes are known from the links; this gives them a label or a
/// position in pictures.
#[table(name = "node")]
pub struct Node {
    /// Its name, as the links write it.
    #[key(example = "A")]
    pub name: Spanned<String>,
    /// What people call it. Default: its name.
    #[key(example = "Amsterdam")]
    pub label: Option<Spanned<String>>,
    /// Where it is drawn: to the right.
    #[key(allowed = allowed::COORDINATE, example = 4.9)]
    pub x: Option<Spanned<f64>>,
    /// Where it is drawn: upwards.
    #[key(allowed = allowed::COORDINATE, example = 52.4)]
    pub y: Option<Spanned<f64>>,
    /// How many people live there, or what else its traffic is in proportion to: for `gravity`, an include.
    #[key(allowed = allowed::POPULATION, example = 850000)]
    pub population: Option<Spanned<f64>>,
}
