//! `queue` in `[[link]]`

use netflow_units::{Packets, Size};
use schemars::JsonSchema;
use serde::Serialize;

use super::{SizeSetting, allowed};
use crate::place::Spanned;
use crate::problem::{Findings, ProblemKind};
use crate::read::{Kind, Quantity, Read, Section, Shown, Value, any, word};

/// Which packets a filling queue refuses.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum QueueSetting {
    /// A discipline without settings.
    Plain(Plain),
    /// Random early detection: `{ discipline = "red", min = "10 pkt", max = "40 pkt" }`.
    Red(Red),
}

/// Disciplines without settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Plain {
    /// Packets that find the queue full are refused.
    DropTail,
}

/// Random early detection: packets are refused with a probability that rises with the average
/// length of the queue.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Red {
    /// `"red"`.
    pub discipline: RedDiscipline,
    /// Average length below which nothing is refused.
    pub min: SizeSetting,
    /// Average length at which the probability reaches `max-p`.
    pub max: SizeSetting,
    /// Probability at `max`. Default: 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_p: Option<Spanned<f64>>,
    /// Weight of the newest packet in the average. Default: 0.002.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Spanned<f64>>,
    /// Whether the probability rises on to 1 at twice `max` instead of jumping there. Default:
    /// false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<Spanned<bool>>,
}

/// The name of random early detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedDiscipline {
    /// `"red"`.
    Red,
}

impl Red {
    pub(crate) const KEYS: &'static [&'static str] =
        &["discipline", "min", "max", "max-p", "weight", "gentle"];
}

#[derive(Clone, Copy, PartialEq)]
enum Discipline {
    DropTail,
    Red,
}

impl Read for Discipline {
    fn read(value: &Value<'_>, _: &str, findings: &mut Findings) -> Option<Discipline> {
        let words = [
            ("drop-tail", Discipline::DropTail),
            ("red", Discipline::Red),
        ];
        let later = [
            ("rio", "queue discipline \"rio\" is"),
            ("priority", "queue discipline \"priority\" is"),
            ("wfq", "queue discipline \"wfq\" is"),
        ];
        word(value, "queue discipline", &words, &later, findings)
    }
}

const RED_EXAMPLE: &str =
    "write `queue = { discipline = \"red\", min = \"10 pkt\", max = \"40 pkt\" }`";

impl Read for QueueSetting {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<QueueSetting> {
        if !matches!(value.kind, Kind::Table(_)) {
            if !matches!(value.kind, Kind::String(_) | Kind::Cell(_)) {
                value.wrong_type(key, "a string such as \"drop-tail\", or a table", findings);
                return None;
            }
            return match Discipline::read(value, key, findings)? {
                Discipline::Red => {
                    let message = "queue discipline \"red\" needs thresholds";
                    findings
                        .error(ProblemKind::Missing, value.place, message)
                        .help(RED_EXAMPLE);
                    None
                }
                _ => Some(QueueSetting::Plain(Plain::DropTail)),
            };
        }
        let mut s = Section::of(value, key, Red::KEYS, findings)?;
        let Some(discipline) = s.get("discipline") else {
            s.missing("discipline", "discipline = \"red\"");
            return None;
        };
        match Discipline::read(&discipline, key, s.findings)? {
            Discipline::Red => {}
            _ => {
                s.only("discipline", "drop-tail has no settings");
                return Some(QueueSetting::Plain(Plain::DropTail));
            }
        }
        let pkt = |n| Quantity(Size::Packets(Packets(n)));
        let red = Red {
            discipline: RedDiscipline::Red,
            min: s.required("min", &allowed::THRESHOLD, "min = \"10 pkt\"", pkt(10.0)),
            max: s.required("max", &allowed::THRESHOLD, "max = \"40 pkt\"", pkt(40.0)),
            max_p: s.optional("max-p", &allowed::FRACTION),
            weight: s.optional("weight", &allowed::FRACTION),
            gentle: s.optional("gentle", &any()),
        };
        s.finish();
        Some(QueueSetting::Red(red))
    }
}

impl Shown for QueueSetting {
    fn shown(&self) -> String {
        match self {
            QueueSetting::Plain(Plain::DropTail) => "drop-tail".to_owned(),
            QueueSetting::Red(_) => "red".to_owned(),
        }
    }
}
