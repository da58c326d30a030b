//! `jitter`, `reordering` and `slots` in `[[link]]`

use netflow_document::{
    Findings, ProblemKind, Quantity, Read, Section, Spanned, Value, keyword_enum, table,
};
use netflow_queues::{
    JITTER_TABLE_SCALE, Jitter, JitterDistribution, JitterTable, Reordering, Slots,
};
use netflow_units::{Seconds, ns};
use schemars::JsonSchema;
use serde::Serialize;

use super::scalar_or_table::scalar_or_table;
use super::{ByteSize, Time, allowed};

/// Random delay of each packet after the queue.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum JitterSetting {
    /// Uniform between minus and plus this time: `"5 ms"`.
    Uniform(Quantity<Seconds>),
    /// With its distribution: `{ deviation = "5 ms", distribution = "normal" }`.
    Distribution(Box<JitterSettings>),
}

/// Random delay of each packet, added to the delay of the link. The sum is at least 0.
#[table]
#[schemars(rename = "Jitter")]
pub struct JitterSettings {
    /// Half the range of a uniform distribution, or the deviation of the others.
    #[key(allowed = allowed::DELAY, example = "5 ms")]
    pub deviation: Time,
    /// `uniform`; `normal`, `pareto` or `pareto-normal`, those of `tc netem`, with at most four deviations; or equally
    /// likely delays in deviations, from -4 to 4. Default: uniform.
    #[key(example = "normal")]
    pub distribution: Option<Spanned<JitterDistributionSetting>>,
    /// Correlation between consecutive delays: a packet has the random delay of the one before with this probability.
    /// Default: 0.
    #[key(allowed = allowed::LOSS, example = "25 %")]
    pub correlation: Option<Spanned<f64>>,
    /// True if packets with shorter delays overtake others, as with `tc netem`. Otherwise they wait for them, so that the
    /// mean delay of packets at short intervals is longer. Default: false.
    #[key(example = true)]
    pub reorders: Option<Spanned<bool>>,
}

/// Distribution of random delays.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum JitterDistributionSetting {
    /// A named distribution.
    Named(JitterDistributionName),
    /// Equally likely delays in deviations: `[-1.0, 0.0, 0.0, 1.0]`.
    Values(Vec<f64>),
}

/// Named distribution of random delays.
#[keyword_enum]
#[schemars(rename = "JitterDistribution")]
pub enum JitterDistributionName {
    /// Uniform between minus and plus the deviation.
    Uniform,
    /// Normal.
    Normal,
    /// Pareto with exponent 3 and mean 0.
    Pareto,
    /// A quarter of normal and three quarters of Pareto.
    ParetoNormal,
}

/// Packets that skip the delay of the link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ReorderingSetting {
    /// Each packet with this probability: `"1 %"`.
    Probability(f64),
    /// With a gap between such packets: `{ probability = "100 %", gap = 5 }`.
    Gap(Box<ReorderingGap>),
}

/// Packets that skip the delay of the link, as `reorder` of `tc netem`.
#[table]
pub struct ReorderingGap {
    /// Probability that a packet whose turn it is skips the delay.
    #[key(allowed = allowed::PROBABILITY, example = "100 %", fallback = 0.0)]
    pub probability: Spanned<f64>,
    /// Turn of a packet: at least this many packets after the last one that skipped the delay. Default: 1.
    #[key(allowed = allowed::COUNT, example = 5)]
    pub gap: Option<Spanned<u64>>,
}

/// Transmission slots: packets wait for the next slot, as on media that send in bursts (`slot` of `tc netem`).
#[table(name = "slots", check = check_slots)]
pub struct SlotSettings {
    /// Time between slots, and from a packet after an idle time to its slot.
    #[key(allowed = allowed::DELAY, example = "10 ms")]
    pub interval: Time,
    /// Longest time between slots; the times are uniform from `interval` on. Default: `interval`.
    #[key(allowed = allowed::DELAY, example = "20 ms")]
    pub longest: Option<Time>,
    /// Maximum number of packets in a slot. Default: unlimited.
    #[key(allowed = allowed::COUNT, example = 16)]
    pub packets: Option<Spanned<u64>>,
    /// Bytes on the wire after which a slot ends. Default: unlimited.
    #[key(allowed = allowed::BURST_SIZE, example = "64 KB")]
    pub bytes: Option<ByteSize>,
}

impl JitterSetting {
    /// Returns the jitter; `None` without deviation.
    pub fn to_jitter(&self) -> Option<Jitter> {
        let settings = match self {
            JitterSetting::Uniform(deviation) => {
                return Some(Jitter {
                    deviation_ns: ns(deviation.get()),
                    distribution: JitterDistribution::Uniform,
                    correlation: 0.0,
                    reorders: false,
                })
                .filter(|it| it.deviation_ns > 0);
            }
            JitterSetting::Distribution(settings) => settings,
        };
        let JitterSettings {
            deviation,
            distribution,
            correlation,
            reorders,
        } = &**settings;
        let jitter = Jitter {
            deviation_ns: ns(deviation.get()),
            distribution: distribution.as_deref().map_or(
                JitterDistribution::Uniform,
                JitterDistributionSetting::distribution,
            ),
            correlation: correlation.as_deref().copied().unwrap_or(0.0),
            reorders: reorders.as_deref().copied().unwrap_or(false),
        };
        (jitter.deviation_ns > 0).then_some(jitter)
    }
}

impl JitterDistributionSetting {
    fn distribution(&self) -> JitterDistribution {
        match self {
            JitterDistributionSetting::Named(JitterDistributionName::Uniform) => {
                JitterDistribution::Uniform
            }
            JitterDistributionSetting::Named(JitterDistributionName::Normal) => {
                JitterDistribution::Normal
            }
            JitterDistributionSetting::Named(JitterDistributionName::Pareto) => {
                JitterDistribution::Pareto
            }
            JitterDistributionSetting::Named(JitterDistributionName::ParetoNormal) => {
                JitterDistribution::ParetoNormal
            }
            JitterDistributionSetting::Values(values) => {
                let scale = JITTER_TABLE_SCALE as f64;
                // The largest value of a table is just below 4.
                let units = |it: &f64| (it * scale).round().min(f64::from(i16::MAX)) as i16;
                JitterTable::new(values.iter().map(units).collect())
                    .map_or(JitterDistribution::Uniform, JitterDistribution::Table)
            }
        }
    }
}

impl ReorderingSetting {
    /// Returns the reordering; `None` if no packet skips the delay.
    pub fn to_reordering(&self) -> Option<Reordering> {
        let reordering = match self {
            ReorderingSetting::Probability(probability) => Reordering {
                probability: *probability,
                gap: 1,
            },
            ReorderingSetting::Gap(settings) => Reordering {
                probability: *settings.probability,
                gap: settings.gap.as_deref().map_or(1, |&gap| gap as u32),
            },
        };
        (reordering.probability > 0.0).then_some(reordering)
    }
}

impl SlotSettings {
    /// Returns the slots.
    pub fn to_slots(&self) -> Slots {
        let least_ns = ns(self.interval.get());
        Slots {
            interval_ns: (
                least_ns,
                self.longest.as_ref().map_or(least_ns, |it| ns(it.get())),
            ),
            max_pkts: self.packets.as_deref().map(|&n| n as u32),
            max_bytes: self.bytes.as_ref().map(|bytes| bytes.get().round() as u64),
        }
    }
}

fn check_slots(slots: &mut SlotSettings, s: &mut Section<'_, '_>) {
    let Some(longest) = &slots.longest else {
        return;
    };
    if longest.get() < slots.interval.get() {
        let message = "`longest` is below `interval`";
        s.findings
            .error(ProblemKind::OutOfRange, longest.place(), message)
            .set_help("raise `longest`, or remove it");
        slots.longest = None;
    }
}

scalar_or_table!(
    JitterSetting,
    "a time, or a table",
    Uniform(allowed::DELAY),
    Distribution(JitterSettings),
    Quantity(Seconds(0.0))
);

impl Read for JitterDistributionSetting {
    const KIND: &'static str = "a name, or an array of numbers";

    fn read(
        value: &Value<'_>,
        key: &str,
        findings: &mut Findings,
    ) -> Option<JitterDistributionSetting> {
        let Some(each) = value.array_elements() else {
            return JitterDistributionName::read(value, key, findings)
                .map(JitterDistributionSetting::Named);
        };
        let each = each.map(|it| it.setting(key, &allowed::DEVIATIONS, findings));
        let each: Vec<Option<Spanned<f64>>> = each.collect();
        let each = each.into_iter().map(|it| it.map(Spanned::into_inner));
        let values: Vec<f64> = each.collect::<Option<_>>()?;
        if values.is_empty() {
            value.report_wrong_type(key, JitterDistributionSetting::KIND, findings);
            return None;
        }
        Some(JitterDistributionSetting::Values(values))
    }

    fn fallback() -> JitterDistributionSetting {
        JitterDistributionSetting::Named(JitterDistributionName::Uniform)
    }
}

scalar_or_table!(
    ReorderingSetting,
    "a probability, or a table",
    Probability(allowed::PROBABILITY),
    Gap(ReorderingGap),
    0.0
);
