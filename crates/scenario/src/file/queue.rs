//! `queue` in `[[link]]`

use netflow_document::{
    Findings, Key, ProblemKind, Read, Section, Spanned, Table, Value, ValueKind, Words,
    keyword_enum, read_keyword, read_table, table,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ByteSize, SizeSetting, Time, allowed};

/// Queue discipline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum QueueSetting {
    /// A discipline without settings.
    Plain(Plain),
    /// Random early detection: `{ discipline = "red", min = "10 pkt", max = "40 pkt" }`.
    Red(Red),
    /// Early drops by drop precedence: `{ discipline = "rio", dp0 = { min = "40 pkt", max = "55 pkt", max-p =
    /// 0.02 }, dp1 = …, dp2 = … }`.
    Rio(Box<Rio>),
    /// CoDel: `{ discipline = "codel", target = "5 ms" }`, `"codel"` or `"fq-codel"`.
    CoDel(CoDel),
    /// PIE: `"pie"`.
    Pie(Pie),
}

/// Disciplines without settings.
#[keyword_enum]
pub enum Plain {
    /// Drops packets that arrive at a full buffer.
    DropTail,
    /// Strict priority among the queues of the link's classes (`[[link.class]]`), the first class first. The
    /// link's own drop-tail queue has the lowest priority.
    Priority,
    /// Weighted fair queueing among the queues of the link's classes (`[[link.class]]`) and the link's own
    /// drop-tail queue, which has a weight of 1.
    Wfq,
}

/// Random early detection: the drop probability rises with the average queue length.
#[table]
pub struct Red {
    /// `"red"`.
    #[key(example = "red")]
    pub discipline: RedDiscipline,
    /// Average queue length below which nothing is dropped. Bytes are converted to packets of the `packet-size`
    /// of the simulation.
    #[key(allowed = allowed::THRESHOLD, example = "10 pkt")]
    pub min: SizeSetting,
    /// Average queue length at which the drop probability reaches `max-p`. If it equals `min`, all packets are
    /// dropped from there on: a step.
    #[key(allowed = allowed::THRESHOLD, example = "40 pkt")]
    pub max: SizeSetting,
    /// Drop probability at `max`. Default: 0.1.
    #[key(allowed = allowed::FRACTION, example = 0.1)]
    pub max_p: Option<Spanned<f64>>,
    /// Weight of the newest packet in the average. Default: 0.002.
    #[key(allowed = allowed::FRACTION, example = 0.002)]
    pub weight: Option<Spanned<f64>>,
    /// True if the probability rises from `max-p` at `max` to 1 at twice `max`; false if it jumps to 1 at `max`.
    /// Default: false.
    #[key(example = true)]
    pub gentle: Option<Spanned<bool>>,
    /// True to mark packets of senders with ECN instead of dropping them, below the queue length at which all
    /// packets are dropped. Default: false.
    #[key(example = true)]
    pub ecn: Option<Spanned<bool>>,
    /// True to drop all packets from the queue length at which the drop probability is 1. False to mark packets
    /// of senders with ECN there, too, as Linux without `harddrop` and ns-3 without `UseHardDrop`. Default: true.
    #[key(fixed, example = false)]
    pub hard_drop: Option<Spanned<bool>>,
}

/// The name of random early detection.
#[keyword_enum]
pub enum RedDiscipline {
    /// `"red"`.
    Red,
}

/// CoDel: drops at the head of the queue while the sojourn time exceeds `target`.
#[table]
pub struct CoDel {
    /// `"codel"` for one queue, `"fq-codel"` for a queue for each flow.
    #[key(example = "codel")]
    pub discipline: CoDelDiscipline,
    /// Acceptable sojourn time. Default: 5 ms.
    #[key(allowed = allowed::SOJOURN, example = "5 ms")]
    pub target: Option<Time>,
    /// Time for which the sojourn time must exceed `target` before packets are dropped. Default: 100 ms.
    #[key(allowed = allowed::SOJOURN, example = "100 ms")]
    pub interval: Option<Time>,
    /// True to mark packets of senders with ECN instead of dropping them. Default: true for `"fq-codel"`, else
    /// false.
    #[key(example = true)]
    pub ecn: Option<Spanned<bool>>,
    /// Sojourn time above which packets of senders with ECN are always marked. Default: none.
    #[key(allowed = allowed::SOJOURN, example = "1 ms")]
    pub ce_threshold: Option<Time>,
    /// fq-codel: number of queues for flows. Default: 1024.
    #[key(allowed = allowed::FLOWS, example = 1024)]
    pub flows: Option<Spanned<u64>>,
    /// fq-codel: bytes that a flow sends in its turn. Default: 1514 B.
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

/// Variants of CoDel.
#[keyword_enum]
pub enum CoDelDiscipline {
    /// One queue (RFC 8289).
    #[key(name = "codel")]
    CoDel,
    /// A queue for each flow; flows send in turn (RFC 8290).
    #[key(name = "fq-codel")]
    FqCoDel,
}

/// PIE: random drops with a probability that controls the queueing delay to `target` (RFC 8033).
#[table]
pub struct Pie {
    /// `"pie"`.
    #[key(example = "pie")]
    pub discipline: PieDiscipline,
    /// Target of the queueing delay. Default: 15 ms.
    #[key(allowed = allowed::SOJOURN, example = "15 ms")]
    pub target: Option<Time>,
    /// Interval between updates of the drop probability. Default: 15 ms.
    #[key(allowed = allowed::SOJOURN, example = "15 ms")]
    pub update: Option<Time>,
    /// True to mark packets of senders with ECN instead of dropping them, while the drop probability is below 10
    /// %. Default: false.
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
#[keyword_enum]
pub enum PieDiscipline {
    /// `"pie"`.
    Pie,
}

/// Early drops by drop precedence: each of DP0, DP1 and DP2 has its own curve over an average number of waiting
/// packets. Data without an aggregate is DP2, acknowledgements are DP0.
#[table]
pub struct Rio {
    /// Packets that the averages count: `"rio"`, `"rio-d"` or `"wred"`.
    #[key(example = "rio")]
    pub discipline: RioDiscipline,
    /// Drop curve of DP0, which is dropped last.
    #[key(example = "{ min = \"40 pkt\", max = \"55 pkt\", max-p = 0.02 }")]
    pub dp0: Spanned<Curve>,
    /// Drop curve of DP1; its thresholds are not above those of DP0.
    #[key(example = "{ min = \"25 pkt\", max = \"40 pkt\", max-p = 0.05 }")]
    pub dp1: Spanned<Curve>,
    /// Drop curve of DP2; its thresholds are not above those of DP1.
    #[key(example = "{ min = \"10 pkt\", max = \"25 pkt\", max-p = 0.1 }")]
    pub dp2: Spanned<Curve>,
    /// Weight of the newest packet in the averages. Default: 0.002.
    #[key(allowed = allowed::FRACTION, example = 0.002)]
    pub weight: Option<Spanned<f64>>,
    /// True if the probabilities rise from `max-p` at `max` to 1 at twice `max`; false if they jump to 1 at
    /// `max`. Default: false.
    #[key(example = true)]
    pub gentle: Option<Spanned<bool>>,
}

/// Packets that the averages count.
#[keyword_enum]
pub enum RioDiscipline {
    /// RIO coupled: DP0 counts DP0; DP1 counts DP0 and DP1; DP2 counts all packets.
    Rio,
    /// RIO de-coupled: each precedence counts its own packets.
    RioD,
    /// Weighted RED: each precedence counts all packets.
    Wred,
}

/// Drop probability over the average queue length: 0 below `min`, rising to `max-p` at `max`, then 1 (with
/// `gentle`, 1 at twice `max`).
#[table]
pub struct Curve {
    /// Average queue length below which nothing is dropped. Bytes are converted to packets of the `packet-size`
    /// of the simulation.
    #[key(allowed = allowed::THRESHOLD, example = "10 pkt")]
    pub min: SizeSetting,
    /// Average queue length at which the drop probability reaches `max-p`.
    #[key(allowed = allowed::THRESHOLD, example = "25 pkt")]
    pub max: SizeSetting,
    /// Drop probability at `max`.
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
                    let why = "only `discipline = \"fq-codel\"` has this key";
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
