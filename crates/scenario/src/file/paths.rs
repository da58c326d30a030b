//! `paths` in `[[connection]]` and `[[demand]]`

use netflow_document::{
    Findings, Key, List, Read, Spanned, Table, Value, ValueKind, keyword_enum, read_table, table,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::allowed;

/// Example in messages.
const EXAMPLE: &str = r#"[["A", "R1", "B"], ["A", "R2", "B"]]"#;

/// Explicit paths, in order of preference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Paths(pub Vec<Spanned<PathSetting>>);

/// One of several paths.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathSetting {
    /// Nodes from sender to receiver, both included: `["A", "R1", "B"]`.
    Nodes(Vec<Spanned<String>>),
    /// Path of a share of the traffic.
    Shared(Box<SharedPath>),
    /// Shortest path, after all others.
    Shortest(Shortest),
}

/// Shortest path.
#[keyword_enum]
pub enum Shortest {
    /// `"shortest"`
    Shortest,
}

/// Path of a share of the traffic.
#[table]
pub struct SharedPath {
    /// Nodes from sender to receiver, both included.
    #[key(allowed = allowed::PATH, example = "[\"A\", \"R1\", \"B\"]")]
    pub nodes: Spanned<Vec<Spanned<String>>>,
    /// Share of the traffic. The shares of all paths sum to 1.
    #[key(allowed = allowed::FRACTION, example = 0.7, fallback = 0.5)]
    pub share: Spanned<f64>,
}

impl Read for Paths {
    const KIND: &'static str = "an array of paths";
    const IS_CELL: bool = false;

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Paths> {
        if !matches!(value.kind, ValueKind::Array { .. }) {
            value.report_wrong_type(key, Self::KIND, findings);
            findings.set_last_help(format!(
                "write `{key} = {EXAMPLE}`, the preferred path first"
            ));
            return None;
        }
        List::read(value, key, findings).map(|list| Paths(list.0))
    }

    fn fallback() -> Paths {
        Paths(Vec::new())
    }
}

impl Read for PathSetting {
    const KIND: &'static str = "an array of nodes, a table, or \"shortest\"";
    const TABLES: &'static [&'static [Key]] = &[SharedPath::KEYS];

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<PathSetting> {
        match value.kind {
            ValueKind::String("shortest") => Some(PathSetting::Shortest(Shortest::Shortest)),
            ValueKind::Table(_) => {
                let path = read_table(value, key, findings)?;
                Some(PathSetting::Shared(Box::new(path)))
            }
            ValueKind::String(_) => {
                value.report_wrong_type(key, Self::KIND, findings);
                let help = format!("each path has an array of nodes: `{key} = {EXAMPLE}`");
                findings.set_last_help(help);
                None
            }
            _ => Read::read(value, key, findings).map(PathSetting::Nodes),
        }
    }

    fn fallback() -> PathSetting {
        PathSetting::Nodes(Vec::new())
    }
}
