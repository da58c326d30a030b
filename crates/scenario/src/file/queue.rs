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
    /// Early drops by precedence: `{ discipline = "rio", dp0 = { min = "40 pkt", max = "55 pkt",
    /// max-p = 0.02 }, dp1 = …, dp2 = … }`.
    Rio(Box<Rio>),
}

/// Disciplines without settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Plain {
    /// Packets that find the queue full are refused.
    DropTail,
    /// The queues of the link's classes (`[[link.class]]`) by strict priority, the first class first;
    /// the link's own queue, drop-tail, comes last.
    Priority,
    /// Weighted fair queueing among the queues of the link's classes (`[[link.class]]`) and the
    /// link's own, which is drop-tail and has a weight of 1.
    Wfq,
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

/// Early drops by precedence: each of DP0, DP1 and DP2 has its own curve over the average number of
/// waiting packets that it looks at. Data of no aggregate is DP2, acknowledgements are DP0.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rio {
    /// Which packets the averages count.
    pub discipline: RioDiscipline,
    /// How DP0, the last to be dropped, is dropped.
    pub dp0: Spanned<Curve>,
    /// How DP1 is dropped: no later than DP0.
    pub dp1: Spanned<Curve>,
    /// How DP2 is dropped: no later than DP1.
    pub dp2: Spanned<Curve>,
    /// Weight of the newest packet in the averages. Default: 0.002.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Spanned<f64>>,
    /// Whether the probabilities rise on to 1 at twice `max` instead of jumping there. Default:
    /// false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<Spanned<bool>>,
}

/// Which packets the averages count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RioDiscipline {
    /// RIO coupled: DP0 looks at DP0, DP1 at DP0 and DP1, DP2 at all.
    Rio,
    /// RIO de-coupled: each precedence looks at its own packets.
    RioD,
    /// Weighted RED: all look at all.
    Wred,
}

/// Nothing is dropped below `min`, a fraction that rises to `max-p` up to `max`, and everything
/// above.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Curve {
    /// Average length below which nothing is dropped.
    pub min: SizeSetting,
    /// Average length at which the probability reaches `max-p`.
    pub max: SizeSetting,
    /// Probability at `max`.
    pub max_p: Spanned<f64>,
}

impl Rio {
    pub(crate) const KEYS: &'static [&'static str] =
        &["discipline", "dp0", "dp1", "dp2", "weight", "gentle"];
}

impl Curve {
    const KEYS: &'static [&'static str] = &["min", "max", "max-p"];

    /// Of a precedence without any.
    fn fallback() -> Curve {
        let pkt = |n| Quantity(Size::Packets(Packets(n)));
        Curve {
            min: pkt(1.0).into(),
            max: pkt(2.0).into(),
            max_p: 0.1.into(),
        }
    }
}

impl Read for Curve {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Curve> {
        let mut s = Section::of(value, key, Self::KEYS, findings)?;
        let pkt = |n| Quantity(Size::Packets(Packets(n)));
        let curve = Curve {
            min: s.required("min", &allowed::THRESHOLD, "min = \"10 pkt\"", pkt(1.0)),
            max: s.required("max", &allowed::THRESHOLD, "max = \"25 pkt\"", pkt(2.0)),
            max_p: s.required("max-p", &allowed::FRACTION, "max-p = 0.1", 0.1),
        };
        s.finish();
        Some(curve)
    }
}

impl Shown for Curve {
    fn shown(&self) -> String {
        format!("{} to {}", **self.min, **self.max)
    }
}

impl Red {
    pub(crate) const KEYS: &'static [&'static str] =
        &["discipline", "min", "max", "max-p", "weight", "gentle"];
}

#[derive(Clone, Copy, PartialEq)]
enum Discipline {
    Plain(Plain),
    Red,
    Rio(RioDiscipline),
}

impl Read for Discipline {
    fn read(value: &Value<'_>, _: &str, findings: &mut Findings) -> Option<Discipline> {
        let words = [
            ("drop-tail", Discipline::Plain(Plain::DropTail)),
            ("red", Discipline::Red),
            ("rio", Discipline::Rio(RioDiscipline::Rio)),
            ("rio-d", Discipline::Rio(RioDiscipline::RioD)),
            ("wred", Discipline::Rio(RioDiscipline::Wred)),
            ("priority", Discipline::Plain(Plain::Priority)),
            ("wfq", Discipline::Plain(Plain::Wfq)),
        ];
        word(value, "queue discipline", &words, &[], findings)
    }
}

const RIO_EXAMPLE: &str = "write `queue = { discipline = \"rio\", dp0 = { min = \"40 pkt\", max = \"55 pkt\", max-p = 0.02 }, \
                           dp1 = …, dp2 = … }`";

fn rio(
    discipline: RioDiscipline,
    value: &Value<'_>,
    key: &str,
    findings: &mut Findings,
) -> Option<QueueSetting> {
    let mut s = Section::of(value, key, Rio::KEYS, findings)?;
    s.get("discipline");
    let curve = Curve::fallback;
    let rio = Rio {
        discipline,
        dp0: s.required(
            "dp0",
            &any(),
            "dp0 = { min = \"40 pkt\", max = \"55 pkt\", max-p = 0.02 }",
            curve(),
        ),
        dp1: s.required(
            "dp1",
            &any(),
            "dp1 = { min = \"25 pkt\", max = \"40 pkt\", max-p = 0.05 }",
            curve(),
        ),
        dp2: s.required(
            "dp2",
            &any(),
            "dp2 = { min = \"10 pkt\", max = \"25 pkt\", max-p = 0.1 }",
            curve(),
        ),
        weight: s.optional("weight", &allowed::FRACTION),
        gentle: s.optional("gentle", &any()),
    };
    s.finish();
    Some(QueueSetting::Rio(Box::new(rio)))
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
                Discipline::Rio(_) => {
                    let message = "a queue with drop precedences needs thresholds";
                    findings
                        .error(ProblemKind::Missing, value.place, message)
                        .help(RIO_EXAMPLE);
                    None
                }
                Discipline::Plain(plain) => Some(QueueSetting::Plain(plain)),
            };
        }
        let mut s = Section::of(value, key, Red::KEYS, findings)?;
        let Some(discipline) = s.get("discipline") else {
            s.missing("discipline", "discipline = \"red\"");
            return None;
        };
        match Discipline::read(&discipline, key, s.findings)? {
            Discipline::Red => {}
            Discipline::Rio(discipline) => return rio(discipline, value, key, findings),
            Discipline::Plain(plain) => {
                let why = format!("{} has no settings", QueueSetting::Plain(plain).shown());
                s.only("discipline", &why);
                return Some(QueueSetting::Plain(plain));
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
            QueueSetting::Plain(Plain::Priority) => "priority".to_owned(),
            QueueSetting::Plain(Plain::Wfq) => "wfq".to_owned(),
            QueueSetting::Red(_) => "red".to_owned(),
            QueueSetting::Rio(rio) => match rio.discipline {
                RioDiscipline::Rio => "rio".to_owned(),
                RioDiscipline::RioD => "rio-d".to_owned(),
                RioDiscipline::Wred => "wred".to_owned(),
            },
        }
    }
}
