//! Distributions in `[[workload]]`

use netflow_document::{
    Allowed, Findings, ProblemKind, Quantity, Read, Section, Spanned, Value, ValueKind, one_of,
    table,
};
use netflow_units::{Bytes, Seconds};
use netflow_workload::Distribution;
use schemars::JsonSchema;
use serde::Serialize;

use super::allowed;

/// Distribution over users, pages or files. Every distribution has a largest value; larger values are truncated
/// to it.
#[one_of(what = "a distribution", bound = Variable, instead = distribution_help::<T>)]
pub enum DistributionSetting<T> {
    /// The same value always.
    #[key(allowed = not_negative::<T>(), example = T::EXAMPLE)]
    Constant(Spanned<T>),
    /// Exponential: `{ exponential = { mean = …, max = … } }`.
    Exponential(Exponential<T>),
    /// Pareto: `{ pareto = { shape = …, min = …, max = … } }`.
    Pareto(Pareto<T>),
    /// Log-normal: `{ log-normal = { median = …, sigma = …, max = … } }`.
    LogNormal(LogNormal<T>),
    /// Empirical distribution: values with their cumulative probabilities. Both ascend, and the last probability
    /// is 1. Values between two rows are uniformly distributed; a first row with a probability above 0 has an
    /// atom at its value.
    #[key(example = T::ROWS)]
    Table(Spanned<Rows<T>>),
}

/// An exponential distribution.
#[table(bound = Variable)]
pub struct Exponential<T> {
    /// Mean before truncation.
    #[key(allowed = positive::<T>(), example = T::EXAMPLE)]
    pub mean: Spanned<T>,
    /// Largest value.
    #[key(allowed = positive::<T>(), example = T::EXAMPLE)]
    pub max: Spanned<T>,
}

/// Pareto distribution: the probability of exceeding x is (min / x)^shape.
#[table(bound = Variable, check = check_limits)]
pub struct Pareto<T> {
    /// Exponent: the lower, the heavier the tail.
    #[key(allowed = allowed::SHAPE, example = 1.1)]
    pub shape: Spanned<f64>,
    /// Smallest value.
    #[key(allowed = positive::<T>(), example = T::EXAMPLE)]
    pub min: Spanned<T>,
    /// Largest value.
    #[key(allowed = positive::<T>(), example = T::EXAMPLE)]
    pub max: Spanned<T>,
}

/// A log-normal distribution.
#[table(bound = Variable)]
pub struct LogNormal<T> {
    /// Median.
    #[key(allowed = positive::<T>(), example = T::EXAMPLE)]
    pub median: Spanned<T>,
    /// Standard deviation of the logarithm.
    #[key(allowed = allowed::SIGMA, example = 1.3)]
    pub sigma: Spanned<f64>,
    /// Largest value.
    #[key(allowed = positive::<T>(), example = T::EXAMPLE)]
    pub max: Spanned<T>,
}

/// Rows of an empirical distribution: values with their cumulative probabilities.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Rows<T>(pub Vec<(T, f64)>);

/// What can be distributed.
pub trait Variable: Read + Clone + 'static {
    /// What an example shows.
    const EXAMPLE: &'static str;
    /// The same in rows.
    const ROWS: &'static str;

    /// The number: bytes, seconds or how many.
    fn number(&self) -> f64;
}

impl Variable for Quantity<Bytes> {
    const EXAMPLE: &'static str = "\"10 KB\"";
    const ROWS: &'static str = "[[\"200 B\", 0], [\"300 B\", 0.7], [\"1 KB\", 1]]";

    fn number(&self) -> f64 {
        self.get()
    }
}

impl Variable for Quantity<Seconds> {
    const EXAMPLE: &'static str = "\"15 s\"";
    const ROWS: &'static str = "[[\"1 s\", 0], [\"15 s\", 0.5], [\"900 s\", 1]]";

    fn number(&self) -> f64 {
        self.get()
    }
}

impl Variable for f64 {
    const EXAMPLE: &'static str = "3";
    const ROWS: &'static str = "[[1, 0.6], [10, 1]]";

    fn number(&self) -> f64 {
        *self
    }
}

/// Rows of a table at most.
const MAX_ROWS: usize = 10_000;

/// As it is drawn from; whether its numbers go together is not asked.
pub(crate) fn distribution<T: Variable>(setting: &DistributionSetting<T>) -> Distribution {
    match setting {
        DistributionSetting::Constant(value) => Distribution::Constant(value.number()),
        DistributionSetting::Exponential(it) => Distribution::Exponential {
            mean: it.mean.number(),
            most: it.max.number(),
        },
        DistributionSetting::Pareto(it) => Distribution::Pareto {
            shape: *it.shape,
            least: it.min.number(),
            most: it.max.number(),
        },
        DistributionSetting::LogNormal(it) => Distribution::LogNormal {
            median: it.median.number(),
            sigma: *it.sigma,
            most: it.max.number(),
        },
        DistributionSetting::Table(rows) => {
            let rows = rows.0.iter().map(|(value, share)| (value.number(), *share));
            Distribution::Table(rows.collect())
        }
    }
}

const fn positive<T: Variable>() -> Allowed<T> {
    Allowed {
        test: |value| value.number() > 0.0 && value.number() <= 1e12,
        text: "above 0, at most 1e12",
    }
}

const fn not_negative<T: Variable>() -> Allowed<T> {
    Allowed {
        test: |value| (0.0..=1e12).contains(&value.number()),
        text: "0 to 1e12",
    }
}

impl<T: Variable> DistributionSetting<T> {
    fn stand_in() -> Self {
        DistributionSetting::Constant(T::fallback().into())
    }
}

fn distribution_help<T: Variable>(key: &str, _: &Value<'_>) -> String {
    format!("write `{key} = {{ constant = {} }}`", T::EXAMPLE)
}

fn check_limits<T: Variable>(it: &mut Pareto<T>, s: &mut Section<'_, '_>) {
    let sound = it.max.is_valid() && it.min.is_valid();
    if sound && it.max.number() < it.min.number() {
        let (most, least) = (it.max.shown(), it.min.shown());
        let message = format!("`most` is {most}, below `least`, which is {least}");
        s.findings
            .error(ProblemKind::OutOfRange, it.max.place(), message);
    }
}

impl<T: Variable> Read for Rows<T> {
    const KIND: &'static str = "an array of rows";
    const IS_CELL: bool = false;

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        let help = || {
            format!(
                "rows are values with their cumulative probability: `{key} = [[{}, 0.5], …]`",
                T::EXAMPLE
            )
        };
        let ValueKind::Array { array, .. } = value.kind else {
            value.report_wrong_type(key, "an array of rows", findings);
            findings.set_last_help(help());
            return None;
        };
        let mut rows: Vec<(T, f64)> = Vec::new();
        if array.is_empty() || array.len() > MAX_ROWS {
            let message = format!(
                "`{key}` has {} rows, but 1 to {MAX_ROWS} are allowed",
                array.len()
            );
            findings.error(ProblemKind::OutOfRange, value.place, message);
            return None;
        }
        let before = findings.errors();
        for row in value.array_elements().into_iter().flatten() {
            let cells: Vec<Value<'_>> = row.array_elements().into_iter().flatten().collect();
            let [x, share] = cells.as_slice() else {
                let message = format!("a row of `{key}` must be a value and a share");
                findings
                    .error(ProblemKind::WrongType, row.place, message)
                    .set_help(help());
                return None;
            };
            let Some(number) = T::read(x, key, findings) else {
                continue;
            };
            let Some(up_to) = f64::read(share, "a share", findings) else {
                continue;
            };
            let (low, least) = rows
                .last()
                .map_or((0.0, 0.0), |(x, share)| (x.number(), *share));
            if !(low..=1e12).contains(&number.number()) {
                let message = format!("a value of `{key}` cannot be {}", number.shown());
                findings
                    .error(ProblemKind::OutOfRange, x.place, message)
                    .set_help("allowed: 0 to 1e12, not below the row before");
            } else if !(least..=1.0).contains(&up_to) {
                let message = format!("a share in `{key}` cannot be {up_to}");
                findings
                    .error(ProblemKind::OutOfRange, share.place, message)
                    .set_help("allowed: 0 to 1, not below the row before");
            }
            rows.push((number, up_to));
        }
        let last = rows.last().map_or(0.0, |(_, share)| *share);
        if findings.errors() == before && last != 1.0 {
            let message = format!("the last share in `{key}` is {last}, but must be 1");
            findings.error(ProblemKind::OutOfRange, value.place, message);
        }
        (findings.errors() == before).then_some(Rows(rows))
    }

    fn fallback() -> Self {
        Rows(Vec::new())
    }
}
