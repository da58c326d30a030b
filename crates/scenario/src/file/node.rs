//! `[[node]]`

use schemars::JsonSchema;
use serde::Serialize;

use super::allowed;
use crate::place::Spanned;
use crate::read::{Element, Section, any};

/// Something to say about a node. Nodes are known from the links; this gives them a label or a
/// position in pictures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Node {
    /// Its name, as the links write it.
    pub name: Spanned<String>,
    /// What people call it. Default: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Spanned<String>>,
    /// Where it is drawn: to the right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<Spanned<f64>>,
    /// Where it is drawn: upwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<Spanned<f64>>,
}

impl Element for Node {
    const NAME: &'static str = "node";
    const KEYS: &'static [&'static str] = &["name", "label", "x", "y"];
    const COLUMNS: &'static [&'static str] = Self::KEYS;
    const REQUIRED_COLUMNS: &'static [&'static str] = &["name"];

    fn read(mut s: Section<'_, '_>) -> Node {
        let node = Node {
            name: s.required("name", &any(), "name = \"A\"", String::new()),
            label: s.optional("label", &any()),
            x: s.optional("x", &allowed::COORDINATE),
            y: s.optional("y", &allowed::COORDINATE),
        };
        s.finish();
        node
    }
}
