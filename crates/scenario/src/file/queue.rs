//! `queue` in `[[link]]`

use netflow_document::{
    Findings, Key, ProblemKind, Read, Section, Spanned, Table, Value, ValueKind, Words,
    read_keyword, read_table, table, words,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ByteSize, SizeSetting, Time, allowed};

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
    /// CoDel: `{ discipline = "codel", target = "5 ms" }`, `"codel"` or `"fq-codel"`.
    CoDel(CoDel),
    /// PIE: `"pie"`.
    Pie(Pie),
}

/// Disciplines without settings.
#[words]
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
#[table]
pub struct Red {
    /// `"red"`.
    #[key(example = "red")]
    pub discipline: RedDiscipline,
    /// Average length below which nothing is refused. Bytes are so many packets of the simulation's `packet-size`.
    #[key(allowed = allowed::THRESHOLD, example = "10 pkt")]
    pub min: SizeSetting,
    /// Average length at which the probability reaches `max-p`. Where it is `min`, all are refused from there on: a step.
    #[key(allowed = allowed::THRESHOLD, example = "40 pkt")]
    pub max: SizeSetting,
    /// Probability at `max`. Default: 0.1.
    #[key(allowed = allowed::FRACTION, example = 0.1)]
    pub max_p: Option<Spanned<f64>>,
    /// Weight of the newest packet in the average. Default: 0.002.
    #[key(allowed = allowed::FRACTION, example = 0.002)]
    pub weight: Option<Spanned<f64>>,
    /// Whether the probability rises on to 1 at twice `max` instead of jumping there. Default:
    /// false.
    #[key(example = true)]
    pub gentle: Option<Spanned<bool>>,
    /// Whether packets of senders with ECN are marked instead, below the length at which all are refused.
    /// Default: false.
    #[key(example = true)]
    pub ecn: Option<Spanned<bool>>,
    /// Whether all packets are dropped where all are refused. With `false` those of senders with ECN are marked there, too, as
    /// Linux does without `harddrop` and ns-3 without `UseHardDrop`. Default: true.
    #[key(fixed, example = false)]
    pub hard_drop: Option<Spanned<bool>>,
}

/// The name of random early detection.
#[words]
pub enum RedDiscipline {
    /// `"red"`.
    Red,
}

/// Drops at the head of the queue while packets wait longer than `target`.
#[table]
pub struct CoDel {
    /// Whether all packets wait in one queue, or those of each flow in their own.
    #[key(example = "codel")]
    pub discipline: CoDelDiscipline,
    /// How long packets may wait. Default: 5 ms.
    #[key(allowed = allowed::SOJOURN, example = "5 ms")]
    pub target: Option<Time>,
    /// For how long they must have, before anything is dropped. Default: 100 ms.
    #[key(allowed = allowed::SOJOURN, example = "100 ms")]
    pub interval: Option<Time>,
    /// Whether packets of senders with ECN are marked instead. Default: true for `"fq-codel"`, else false.
    #[key(example = true)]
    pub ecn: Option<Spanned<bool>>,
    /// Packets of senders with ECN that have waited longer are marked in any case. Default: none are.
    #[key(allowed = allowed::SOJOURN, example = "1 ms")]
    pub ce_threshold: Option<Time>,
    /// fq-codel: queues that flows are spread over. Default: 1024.
    #[key(allowed = allowed::FLOWS, example = 1024)]
    pub flows: Option<Spanned<u64>>,
    /// fq-codel: what a flow sends in its turn. Default: 1514 B.
    #[key(allowed = allowed::QUANTUM, example = "1514 B")]
    pub quantum: Option<ByteSize>,
}

impl From<CoDelDiscipline> for CoDel {
    /// The discipline with its defaults.
    fn from(discipline: CoDelDiscipline) -> CoDel {
        CoDel {
            discipline,
            target: None,
            interval: None,
            ecn: None,
            ce_threshold: None,
            flows: None,
            quantum: None,
        }
    }
}

/// How packets wait under CoDel.
#[words]
pub enum CoDelDiscipline {
    /// In one queue (RFC 8289).
    #[key(name = "codel")]
    CoDel,
    /// Those of each flow in a queue of its own; flows are sent in turn (RFC 8290).
    #[key(name = "fq-codel")]
    FqCoDel,
}

/// Drops at random, with a probability that holds the time that packets wait at `target` (RFC 8033).
#[table]
pub struct Pie {
    /// `"pie"`.
    #[key(example = "pie")]
    pub discipline: PieDiscipline,
    /// How long packets are to wait. Default: 15 ms.
    #[key(allowed = allowed::SOJOURN, example = "15 ms")]
    pub target: Option<Time>,
    /// How often the probability changes. Default: 15 ms.
    #[key(allowed = allowed::SOJOURN, example = "15 ms")]
    pub update: Option<Time>,
    /// Whether packets of senders with ECN are marked instead, while the probability is below a tenth.
    /// Default: false.
    #[key(example = true)]
    pub ecn: Option<Spanned<bool>>,
}

impl Default for Pie {
    fn default() -> Pie {
        Pie {
            discipline: PieDiscipline::Pie,
            target: None,
            update: None,
            ecn: None,
        }
    }
}

/// The name of PIE.
#[words]
pub enum PieDiscipline {
    /// `"pie"`.
    Pie,
}

/// Early drops by precedence: each of DP0, DP1 and DP2 has its own curve over the average number of
/// waiting packets that it looks at. Data of no aggregate is DP2, acknowledgements are DP0.
#[table]
pub struct Rio {
    /// Which packets the averages count.
    #[key(example = "rio")]
    pub discipline: RioDiscipline,
    /// How DP0, the last to be dropped, is dropped.
    #[key(example = "{ min = \"40 pkt\", max = \"55 pkt\", max-p = 0.02 }")]
    pub dp0: Spanned<Curve>,
    /// How DP1 is dropped: no later than DP0.
    #[key(example = "{ min = \"25 pkt\", max = \"40 pkt\", max-p = 0.05 }")]
    pub dp1: Spanned<Curve>,
    /// How DP2 is dropped: no later than DP1.
    #[key(example = "{ min = \"10 pkt\", max = \"25 pkt\", max-p = 0.1 }")]
    pub dp2: Spanned<Curve>,
    /// Weight of the newest packet in the averages. Default: 0.002.
    #[key(allowed = allowed::FRACTION, example = 0.002)]
    pub weight: Option<Spanned<f64>>,
    /// Whether the probabilities rise on to 1 at twice `max` instead of jumping there. Default:
    /// false.
    #[key(example = true)]
    pub gentle: Option<Spanned<bool>>,
}

/// Which packets the averages count.
#[words]
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
#[table]
pub struct Curve {
    /// Average length below which nothing is dropped. Bytes are so many packets of the simulation's `packet-size`.
    #[key(allowed = allowed::THRESHOLD, example = "10 pkt")]
    pub min: SizeSetting,
    /// Average length at which the probability reaches `max-p`.
    #[key(allowed = allowed::THRESHOLD, example = "25 pkt")]
    pub max: SizeSetting,
    /// Probability at `max`.
    #[key(allowed = allowed::FRACTION, example = 0.1, fallback = 0.1)]
    pub max_p: Spanned<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Discipline {
    Plain(Plain),
    Red,
    Rio(RioDiscipline),
    CoDel(CoDelDiscipline),
    Pie,
}

impl Discipline {
    fn read(value: &Value<'_>, findings: &mut Findings) -> Option<Discipline> {
        let managed = CoDelDiscipline::names().chain(PieDiscipline::names());
        let others = RedDiscipline::names().chain(RioDiscipline::names());
        let others = others.chain(managed);
        let names = Plain::names().chain(others);
        read_keyword(
            value,
            "queue discipline",
            names,
            Discipline::named,
            findings,
        )
    }

    fn named(word: &str) -> Option<Discipline> {
        let plain = Plain::named(word).map(Discipline::Plain);
        plain
            .or_else(|| RedDiscipline::named(word).map(|_| Discipline::Red))
            .or_else(|| RioDiscipline::named(word).map(Discipline::Rio))
            .or_else(|| CoDelDiscipline::named(word).map(Discipline::CoDel))
            .or_else(|| PieDiscipline::named(word).map(|_| Discipline::Pie))
    }
}

const RED_EXAMPLE: &str =
    "write `queue = { discipline = \"red\", min = \"10 pkt\", max = \"40 pkt\" }`";
const RIO_EXAMPLE: &str = "write `queue = { discipline = \"rio\", dp0 = { min = \"40 pkt\", max = \"55 pkt\", max-p = 0.02 }, \
                           dp1 = …, dp2 = … }`";

/// Says that a discipline alone is too little.
fn report_missing<T>(
    value: &Value<'_>,
    findings: &mut Findings,
    what: &str,
    example: &str,
) -> Option<T> {
    let finding = findings.error(ProblemKind::Missing, value.place, what);
    finding.set_help(example);
    None
}

impl QueueSetting {
    /// The word for it.
    pub fn discipline(&self) -> &'static str {
        match self {
            QueueSetting::Plain(plain) => plain.name(),
            QueueSetting::Red(red) => red.discipline.name(),
            QueueSetting::Rio(rio) => rio.discipline.name(),
            QueueSetting::CoDel(codel) => codel.discipline.name(),
            QueueSetting::Pie(pie) => pie.discipline.name(),
        }
    }
}

impl Read for QueueSetting {
    const KIND: &'static str = "a discipline, or a table";
    const TABLES: &'static [&'static [Key]] = &[Red::KEYS, Rio::KEYS, CoDel::KEYS, Pie::KEYS];

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<QueueSetting> {
        match value.kind {
            ValueKind::Table(_) => {}
            ValueKind::String(_) | ValueKind::Cell(_) => {
                return match Discipline::read(value, findings)? {
                    Discipline::Red => report_missing(
                        value,
                        findings,
                        "queue discipline \"red\" needs thresholds",
                        RED_EXAMPLE,
                    ),
                    Discipline::Rio(_) => report_missing(
                        value,
                        findings,
                        "a queue with drop precedences needs thresholds",
                        RIO_EXAMPLE,
                    ),
                    Discipline::Plain(plain) => Some(QueueSetting::Plain(plain)),
                    Discipline::CoDel(codel) => Some(QueueSetting::CoDel(codel.into())),
                    Discipline::Pie => Some(QueueSetting::Pie(Pie::default())),
                };
            }
            _ => {
                value.report_wrong_type(
                    key,
                    "a string such as \"drop-tail\", or a table",
                    findings,
                );
                return None;
            }
        }
        let value = &value.with_keyword_key("discipline");
        let mut s = Section::of(value, key, Self::TABLES, findings)?;
        let Some(discipline) = s.get("discipline") else {
            s.report_missing("discipline", "\"red\"");
            return None;
        };
        match Discipline::read(&discipline, s.findings)? {
            Discipline::Red => read_table(value, key, findings).map(QueueSetting::Red),
            Discipline::Rio(_) => {
                let rio = read_table(value, key, findings)?;
                Some(QueueSetting::Rio(Box::new(rio)))
            }
            Discipline::CoDel(codel) => {
                if codel == CoDelDiscipline::CoDel {
                    let why = "only a queue with `discipline = \"fq-codel\"` has it";
                    s.reject(&["flows", "quantum"], why);
                }
                read_table(value, key, findings).map(QueueSetting::CoDel)
            }
            Discipline::Pie => read_table(value, key, findings).map(QueueSetting::Pie),
            Discipline::Plain(plain) => {
                let why = format!("{} has no settings", plain.name());
                s.reject_all_except("discipline", &why);
                Some(QueueSetting::Plain(plain))
            }
        }
    }

    fn shown(&self) -> String {
        self.discipline().to_owned()
    }

    fn fallback() -> QueueSetting {
        QueueSetting::Plain(Plain::DropTail)
    }
}
