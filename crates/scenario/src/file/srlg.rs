//! `[[srlg]]`, and `srlg` in `[[link]]`

use netflow_document::{Findings, ProblemKind, Read, Section, Spanned, Value, ValueKind, table};
use schemars::JsonSchema;
use serde::Serialize;

use super::{LongTime, Unavailability, allowed};

/// What stands between the names of several groups in one cell.
pub(super) const SEPARATOR: char = ';';

/// Unavailability of a shared-risk group: `mtbf` and `mttr`, or `unavailability`. `srlg` of the links defines the group.
#[table(name = "srlg", check = check_unavailability)]
pub struct Srlg {
    /// Name, as in the links.
    #[key(example = "conduit-1")]
    pub name: Spanned<String>,
    /// Mean time between failures: from a repair to the next failure. It needs `mttr`, and only `netflow availability` uses
    /// it. Default: the group never fails.
    #[key(allowed = allowed::MTBF, example = "1000 d")]
    pub mtbf: Option<LongTime>,
    /// Mean time to repair, with `mtbf`: the unavailability is mttr / (mtbf + mttr).
    #[key(allowed = allowed::MTTR, example = "1 d")]
    pub mttr: Option<LongTime>,
    /// Fraction of the time in which the group has failed, instead of `mtbf` and `mttr`.
    #[key(allowed = allowed::UNAVAILABILITY, example = "0.1 %")]
    pub unavailability: Option<Spanned<f64>>,
}

impl Srlg {
    /// Returns the keys of its unavailability.
    pub(crate) fn unavailability(&self) -> Unavailability<'_> {
        Unavailability {
            mtbf: self.mtbf.as_ref(),
            mttr: self.mttr.as_ref(),
            fraction: self.unavailability.as_ref(),
        }
    }
}

fn check_unavailability(group: &mut Srlg, s: &mut Section<'_, '_>) {
    let given = group.unavailability();
    given.check(s);
    let keys = ["mtbf", "mttr", "unavailability"];
    // A rejected or misspelt value would have been one.
    if !keys
        .iter()
        .any(|key| s.get(key).is_some() || s.is_misspelt(key))
    {
        s.report_missing("unavailability", "\"0.1 %\"");
    }
}

/// One shared-risk group, or several.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RiskGroups {
    /// One group: `"conduit-1"`.
    One(Spanned<String>),
    /// Several: `["conduit-1", "bridge"]`.
    Several(Vec<Spanned<String>>),
}

impl RiskGroups {
    /// All of them.
    pub fn names(&self) -> &[Spanned<String>] {
        match self {
            RiskGroups::One(name) => std::slice::from_ref(name),
            RiskGroups::Several(names) => names,
        }
    }
}

impl Read for RiskGroups {
    const KIND: &'static str = "a group's name, or an array of them";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<RiskGroups> {
        match value.kind {
            ValueKind::Array { .. } => Vec::read(value, key, findings).map(RiskGroups::Several),
            ValueKind::Cell(text) if text.contains(SEPARATOR) => {
                several(text, value, key, findings).map(RiskGroups::Several)
            }
            _ => {
                let name = String::read(value, key, findings)?;
                Some(RiskGroups::One(Spanned::new(name, value.place)))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            RiskGroups::One(name) => name.shown(),
            RiskGroups::Several(names) => names.shown(),
        }
    }

    fn fallback() -> RiskGroups {
        RiskGroups::Several(Vec::new())
    }
}

/// The names of a cell.
fn several(
    text: &str,
    value: &Value<'_>,
    key: &str,
    findings: &mut Findings,
) -> Option<Vec<Spanned<String>>> {
    let mut names = Vec::new();
    let mut start = 0;
    for part in text.split(SEPARATOR) {
        let name = part.trim();
        let from = start + (part.len() - part.trim_start().len());
        let place = value.inner_place(text, from..from + name.len());
        if name.is_empty() {
            let message = format!("`{key}` has an empty name next to a `{SEPARATOR}`");
            findings.error(ProblemKind::BadValue, place, message);
            return None;
        }
        names.push(Spanned::new(name.to_owned(), place));
        start += part.len() + SEPARATOR.len_utf8();
    }
    Some(names)
}
