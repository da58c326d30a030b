//! `queue` in `[[link]]`

use netflow_document::{
    Findings, Key, ProblemKind, Read, Section, Spanned, Table, Value, ValueKind, Words,
    keyword_enum, read_keyword, read_table, table,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ByteSize, PacketCount, RateSetting, SizeSetting, Time, allowed};

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
    /// DualPI2 for L4S: `"dualpi2"`.
    DualPi2(DualPi2),
    /// CAKE for home gateways: `"cake"`, `{ discipline = "cake", bandwidth = "9 Mbit/s" }`.
    Cake(Box<Cake>),
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
    /// Hierarchical token bucket, as `tc htb`: the link's classes (`[[link.class]]`) have guaranteed rates and ceilings.
    /// The link's own drop-tail queue gets the bandwidth that they leave.
    Htb,
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

/// DualPI2: two coupled queues, one for L4S senders (RFC 9332).
#[table]
pub struct DualPi2 {
    /// `"dualpi2"`.
    #[key(example = "dualpi2")]
    pub discipline: DualPi2Discipline,
    /// Target of the queueing delay of senders without L4S. Default: 15 ms.
    #[key(allowed = allowed::SOJOURN, example = "15 ms")]
    pub target: Option<Time>,
    /// Interval between updates of the drop probability. The integral gain per update is proportional to it, as in
    /// RFC 9332. Default: 16 ms.
    #[key(allowed = allowed::SOJOURN, example = "16 ms")]
    pub update: Option<Time>,
    /// Coupling factor: the mark probability of L4S packets is this factor times the square root of the drop
    /// probability of other packets. Default: 2.
    #[key(allowed = allowed::COUPLING, example = 2)]
    pub coupling: Option<Spanned<f64>>,
    /// Sojourn time above which L4S packets are always marked. Default: 1 ms.
    #[key(allowed = allowed::SOJOURN, example = "1 ms")]
    pub step: Option<Time>,
    /// Packets that an L4S packet must find in its queue for `step` to apply to it: `min_qlen_step` of Linux. Below
    /// 20 Mbit/s, 2 pkt keep L4S senders from being marked for the packet in service. Default: 0 pkt.
    #[key(allowed = allowed::STEP_QUEUE, example = "2 pkt")]
    pub step_queue: Option<PacketCount>,
    /// Smallest share of the bandwidth for senders without L4S while they have packets to send; with 1, L4S senders
    /// wait for all of them. Default: 0.1.
    #[key(allowed = allowed::FRACTION, example = 0.1)]
    pub classic_share: Option<Spanned<f64>>,
}

impl Default for DualPi2 {
    fn default() -> DualPi2 {
        DualPi2 {
            discipline: DualPi2Discipline::DualPi2,
            target: None,
            update: None,
            coupling: None,
            step: None,
            step_queue: None,
            classic_share: None,
        }
    }
}

/// The name of DualPI2.
#[keyword_enum]
pub enum DualPi2Discipline {
    /// `"dualpi2"`.
    #[key(name = "dualpi2")]
    DualPi2,
}

/// CAKE: a shaper, priority tins, a queue for each flow with fairness between hosts, and COBALT (CoDel with BLUE), as
/// in Linux. It marks packets of senders with ECN. Sizes include the link's `overhead`, which corresponds to
/// `overhead`, `mpu`, `atm` and `ptm` of Linux.
#[table]
pub struct Cake {
    /// `"cake"`.
    #[key(example = "cake")]
    pub discipline: CakeDiscipline,
    /// Bandwidth of the shaper, `overhead` included; below the bandwidth of the slowest link behind it, so that packets
    /// wait here. Default: no shaper.
    #[key(allowed = allowed::RATE, example = "9 Mbit/s")]
    pub bandwidth: Option<RateSetting>,
    /// Usual round-trip time of the traffic, or a name of Linux for it: `"datacentre"` (100 us), `"lan"` (1 ms),
    /// `"metro"` (10 ms), `"regional"` (30 ms), `"internet"` (100 ms), `"oceanic"` (300 ms), `"satellite"` (1 s). The
    /// target of the queueing delay is 5 % of it, and at least 1.5 transmission times of a packet of 1514 B. Default:
    /// `"internet"`.
    #[key(example = "100 ms")]
    pub rtt: Option<Spanned<RttSetting>>,
    /// Fairness between flows and hosts. Hosts are the nodes where connections begin and end. Default:
    /// `"triple-isolate"`.
    #[key(example = "dual-srchost")]
    pub isolation: Option<Spanned<IsolationSetting>>,
    /// Priority tins. The `class` of a connection selects its tin if it is the name of a code point: CS0 to CS7, DF, LE,
    /// AF11 to AF43, AF1 to AF4, VA or EF. Other packets are best effort. Default: `"diffserv3"`.
    #[key(example = "diffserv4")]
    pub tins: Option<Spanned<TinsSetting>>,
    /// Filter of TCP acknowledgements that a later one replaces. They count as dropped. Default: `"off"`.
    #[key(example = "on")]
    pub ack_filter: Option<Spanned<AckFilterSetting>>,
}

impl Default for Cake {
    fn default() -> Cake {
        Cake {
            discipline: CakeDiscipline::Cake,
            bandwidth: None,
            rtt: None,
            isolation: None,
            tins: None,
            ack_filter: None,
        }
    }
}

/// The name of CAKE.
#[keyword_enum]
pub enum CakeDiscipline {
    /// `"cake"`.
    Cake,
}

/// Round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RttSetting {
    /// A name of Linux.
    Preset(RttPreset),
    /// A time: `"100 ms"`.
    Time(Time),
}

/// Round-trip times with a name.
#[keyword_enum]
pub enum RttPreset {
    /// 100 us.
    Datacentre,
    /// 1 ms.
    Lan,
    /// 10 ms.
    Metro,
    /// 30 ms.
    Regional,
    /// 100 ms.
    Internet,
    /// 300 ms.
    Oceanic,
    /// 1 s.
    Satellite,
}

impl RttPreset {
    /// Returns the time in seconds.
    pub fn seconds(self) -> f64 {
        match self {
            RttPreset::Datacentre => 1e-4,
            RttPreset::Lan => 1e-3,
            RttPreset::Metro => 0.01,
            RttPreset::Regional => 0.03,
            RttPreset::Internet => 0.1,
            RttPreset::Oceanic => 0.3,
            RttPreset::Satellite => 1.0,
        }
    }
}

impl Read for RttSetting {
    const KIND: &'static str = "a time, or the name of one";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<RttSetting> {
        match value.kind {
            ValueKind::String(word) | ValueKind::Cell(word)
                if !word.starts_with(|first: char| first.is_ascii_digit()) =>
            {
                let names = RttPreset::names();
                read_keyword(value, key, names, RttPreset::named, findings).map(RttSetting::Preset)
            }
            _ => value
                .setting(key, &allowed::SOJOURN, findings)
                .map(RttSetting::Time),
        }
    }

    fn fallback() -> RttSetting {
        RttSetting::Preset(RttPreset::Internet)
    }
}

/// Fairness between flows and hosts.
#[keyword_enum]
#[schemars(rename = "Isolation")]
pub enum IsolationSetting {
    /// One queue for all packets.
    #[key(name = "flowblind")]
    FlowBlind,
    /// A queue for each source host.
    #[key(name = "srchost")]
    SrcHost,
    /// A queue for each destination host.
    #[key(name = "dsthost")]
    DstHost,
    /// A queue for each pair of hosts.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// A queue for each flow; source hosts have equal shares.
    #[key(name = "dual-srchost")]
    DualSrcHost,
    /// A queue for each flow; destination hosts have equal shares.
    #[key(name = "dual-dsthost")]
    DualDstHost,
    /// A queue for each flow; the share of a flow is that of its busier host.
    TripleIsolate,
}

/// Priority tins.
#[keyword_enum]
#[schemars(rename = "Tins")]
pub enum TinsSetting {
    /// One tin.
    #[key(name = "besteffort")]
    BestEffort,
    /// Eight tins by precedence: CS0 to CS7.
    Precedence,
    /// Bulk (LE, CS1), best effort, voice (CS6, CS7, EF, VA).
    #[key(name = "diffserv3")]
    DiffServ3,
    /// Bulk (LE, CS1), best effort, video (AF2 to AF4, CS2, CS3), voice (CS4 to CS7, EF, VA).
    #[key(name = "diffserv4")]
    DiffServ4,
    /// Eight tins by traffic class.
    #[key(name = "diffserv8")]
    DiffServ8,
}

/// Filter of acknowledgements.
#[keyword_enum]
#[schemars(rename = "AckFilter")]
pub enum AckFilterSetting {
    /// Keeps all.
    Off,
    /// Keeps at least two of a flow.
    On,
    /// Keeps at least one of a flow.
    Aggressive,
}

/// Disciplines that share a table of settings.
struct Family {
    names: fn() -> Vec<&'static str>,
    keys: &'static [Key],
    /// Returns the setting for a name without a table, or an example of the table that the discipline needs.
    named: fn(&str) -> Result<QueueSetting, &'static str>,
    /// Reads the table of a discipline with this name.
    read: fn(&str, &Value<'_>, &str, &mut Findings) -> Option<QueueSetting>,
}

/// All disciplines, first those without settings.
const FAMILIES: [Family; 7] = [
    Family {
        names: || Plain::names().collect(),
        keys: &[],
        named: |name| {
            Ok(QueueSetting::Plain(
                Plain::named(name).unwrap_or(Plain::DropTail),
            ))
        },
        read: |name, value, key, findings| {
            let mut section = Section::of(value, key, QueueSetting::TABLES, findings)?;
            section.get("discipline");
            section.reject_all_except("discipline", &format!("{name} has no settings"));
            Some(QueueSetting::Plain(Plain::named(name)?))
        },
    },
    Family {
        names: || RedDiscipline::names().collect(),
        keys: Red::KEYS,
        named: |_| Err("{ discipline = \"red\", min = \"10 pkt\", max = \"40 pkt\" }"),
        read: |_, value, key, findings| read_table(value, key, findings).map(QueueSetting::Red),
    },
    Family {
        names: || RioDiscipline::names().collect(),
        keys: Rio::KEYS,
        named: |_| {
            Err(
                "{ discipline = \"rio\", dp0 = { min = \"40 pkt\", max = \"55 pkt\", max-p = 0.02 }, dp1 = …, dp2 = … }",
            )
        },
        read: |_, value, key, findings| {
            let rio = read_table(value, key, findings)?;
            Some(QueueSetting::Rio(Box::new(rio)))
        },
    },
    Family {
        names: || CoDelDiscipline::names().collect(),
        keys: CoDel::KEYS,
        named: |name| {
            let discipline = CoDelDiscipline::named(name).unwrap_or(CoDelDiscipline::CoDel);
            Ok(QueueSetting::CoDel(discipline.into()))
        },
        read: |name, value, key, findings| {
            if CoDelDiscipline::named(name) == Some(CoDelDiscipline::CoDel) {
                let mut section = Section::of(value, key, QueueSetting::TABLES, findings)?;
                let why = "only `discipline = \"fq-codel\"` has this key";
                section.reject(&["flows", "quantum"], why);
            }
            read_table(value, key, findings).map(QueueSetting::CoDel)
        },
    },
    Family {
        names: || PieDiscipline::names().collect(),
        keys: Pie::KEYS,
        named: |_| Ok(QueueSetting::Pie(Pie::default())),
        read: |_, value, key, findings| read_table(value, key, findings).map(QueueSetting::Pie),
    },
    Family {
        names: || DualPi2Discipline::names().collect(),
        keys: DualPi2::KEYS,
        named: |_| Ok(QueueSetting::DualPi2(DualPi2::default())),
        read: |_, value, key, findings| read_table(value, key, findings).map(QueueSetting::DualPi2),
    },
    Family {
        names: || CakeDiscipline::names().collect(),
        keys: Cake::KEYS,
        named: |_| Ok(QueueSetting::Cake(Box::default())),
        read: |_, value, key, findings| {
            let cake = read_table(value, key, findings)?;
            Some(QueueSetting::Cake(Box::new(cake)))
        },
    },
];

impl Family {
    /// Reads the name of a discipline. Returns it with its family.
    fn read_name(
        value: &Value<'_>,
        findings: &mut Findings,
    ) -> Option<(&'static str, &'static Family)> {
        let names = FAMILIES.iter().flat_map(|family| (family.names)());
        let named = |word: &str| {
            let of = |family: &'static Family| {
                let name = (family.names)().into_iter().find(|name| *name == word)?;
                Some((name, family))
            };
            FAMILIES.iter().find_map(of)
        };
        read_keyword(value, "queue discipline", names, named, findings)
    }
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
            QueueSetting::DualPi2(dualpi2) => dualpi2.discipline.name(),
            QueueSetting::Cake(cake) => cake.discipline.name(),
        }
    }
}

impl Read for QueueSetting {
    const KIND: &'static str = "a discipline, or a table";
    const TABLES: &'static [&'static [Key]] = &{
        // The first family has no table.
        let mut tables: [&[Key]; FAMILIES.len() - 1] = [&[]; FAMILIES.len() - 1];
        let mut i = 0;
        while i < tables.len() {
            tables[i] = FAMILIES[i + 1].keys;
            i += 1;
        }
        tables
    };

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<QueueSetting> {
        match value.kind {
            ValueKind::Table(_) => {}
            ValueKind::String(_) | ValueKind::Cell(_) => {
                let (name, family) = Family::read_name(value, findings)?;
                return match (family.named)(name) {
                    Ok(setting) => Some(setting),
                    Err(example) => {
                        let message = format!("queue discipline \"{name}\" needs thresholds");
                        let finding = findings.error(ProblemKind::Missing, value.place, message);
                        finding.set_help(format!("write `queue = {example}`"));
                        None
                    }
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
        let (name, family) = Family::read_name(&discipline, s.findings)?;
        (family.read)(name, value, key, findings)
    }

    fn shown(&self) -> String {
        self.discipline().to_owned()
    }

    fn fallback() -> QueueSetting {
        QueueSetting::Plain(Plain::DropTail)
    }
}
