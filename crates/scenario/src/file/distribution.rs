//! Distributions in `[[workload]]`

use netflow_workload::Distribution;
use schemars::JsonSchema;
use serde::Serialize;

use netflow_units::{Bytes, Seconds};

use crate::place::Spanned;
use crate::problem::{Findings, ProblemKind};
use crate::read::{Allowed, Kind, Quantity, Read, Section, Shown, Value, any};

/// How something differs from one user, page or file to the next. Every distribution has a largest
/// value; larger ones are cut to it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DistributionSetting<T> {
    /// Always the same: `{ constant = "10 KB" }`.
    Constant(Spanned<T>),
    /// `{ exponential = { mean = "15 s", most = "900 s" } }`
    Exponential(Exponential<T>),
    /// `{ pareto = { shape = 1.117, least = "941 B", most = "2 MB" } }`
    Pareto(Pareto<T>),
    /// `{ log-normal = { median = "15 s", sigma = 1.3, most = "900 s" } }`
    LogNormal(LogNormal<T>),
    /// Measured: values, each with the share of all that is not above it; both ascend, the last
    /// share is 1. Between two rows values are spread evenly; a first row with a share above 0 has
    /// just its value: `{ table = [["200 B", 0], ["300 B", 0.7], ["1 KB", 1]] }`.
    Table(Spanned<Vec<(T, f64)>>),
}

/// An exponential distribution.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Exponential<T> {
    /// The mean, before larger values are cut.
    pub mean: Spanned<T>,
    /// The largest value.
    pub most: Spanned<T>,
}

/// A Pareto distribution: a share (least / x)^shape is above x.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pareto<T> {
    /// The exponent: the lower, the heavier the tail.
    pub shape: Spanned<f64>,
    /// The smallest value.
    pub least: Spanned<T>,
    /// The largest value.
    pub most: Spanned<T>,
}

/// A log-normal distribution.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LogNormal<T> {
    /// The median.
    pub median: Spanned<T>,
    /// The standard deviation of the logarithm.
    pub sigma: Spanned<f64>,
    /// The largest value.
    pub most: Spanned<T>,
}

/// What can be distributed.
pub(crate) trait Variable: Read + Shown + Clone + 'static {
    /// What an example shows.
    const EXAMPLE: &'static str;

    /// The number: bytes, seconds or how many.
    fn number(&self) -> f64;

    /// In the place of what cannot be read.
    fn fallback() -> Self;
}

impl Variable for Quantity<Bytes> {
    const EXAMPLE: &'static str = "\"10 KB\"";

    fn number(&self) -> f64 {
        self.get()
    }

    fn fallback() -> Self {
        Quantity(Bytes(1.0))
    }
}

impl Variable for Quantity<Seconds> {
    const EXAMPLE: &'static str = "\"15 s\"";

    fn number(&self) -> f64 {
        self.get()
    }

    fn fallback() -> Self {
        Quantity(Seconds(1.0))
    }
}

impl Variable for f64 {
    const EXAMPLE: &'static str = "3";

    fn number(&self) -> f64 {
        *self
    }

    fn fallback() -> Self {
        1.0
    }
}

const KEYS: &[&str] = &["constant", "exponential", "pareto", "log-normal", "table"];

const SHAPE: Allowed<f64> = Allowed {
    test: |shape| *shape > 0.0 && *shape <= 100.0,
    text: "above 0, at most 100",
};
const SIGMA: Allowed<f64> = Allowed {
    test: |sigma| *sigma > 0.0 && *sigma <= 10.0,
    text: "above 0, at most 10",
};

/// Rows of a table at most.
const MOST_ROWS: usize = 10_000;

/// As it is drawn from; whether its numbers go together is not asked.
pub(crate) fn distribution<T: Variable>(setting: &DistributionSetting<T>) -> Distribution {
    match setting {
        DistributionSetting::Constant(value) => Distribution::Constant(value.number()),
        DistributionSetting::Exponential(it) => Distribution::Exponential {
            mean: it.mean.number(),
            most: it.most.number(),
        },
        DistributionSetting::Pareto(it) => Distribution::Pareto {
            shape: *it.shape,
            least: it.least.number(),
            most: it.most.number(),
        },
        DistributionSetting::LogNormal(it) => Distribution::LogNormal {
            median: it.median.number(),
            sigma: *it.sigma,
            most: it.most.number(),
        },
        DistributionSetting::Table(rows) => {
            let rows = rows.iter().map(|(value, share)| (value.number(), *share));
            Distribution::Table(rows.collect())
        }
    }
}

fn positive<T: Variable>() -> Allowed<T> {
    Allowed {
        test: |value| value.number() > 0.0 && value.number() <= 1e12,
        text: "above 0, at most 1e12",
    }
}

fn not_negative<T: Variable>() -> Allowed<T> {
    Allowed {
        test: |value| (0.0..=1e12).contains(&value.number()),
        text: "0 to 1e12",
    }
}

impl<T: Variable> Read for DistributionSetting<T> {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        if !matches!(value.kind, Kind::Table(_)) {
            let message = format!("`{key}` must be a table, not {}", value.type_name());
            let help = format!("write `{key} = {{ constant = {} }}`", T::EXAMPLE);
            findings
                .error(ProblemKind::WrongType, value.place, message)
                .help(help);
            return None;
        }
        let mut s = Section::of(value, key, KEYS, findings)?;
        let before = s.findings.errors();
        let found = [
            s.optional("constant", &not_negative()).map(Self::Constant),
            s.optional("exponential", &any())
                .map(|it: Spanned<Exponential<T>>| Self::Exponential(it.into_inner())),
            s.optional("pareto", &any())
                .map(|it: Spanned<Pareto<T>>| Self::Pareto(it.into_inner())),
            s.optional("log-normal", &any())
                .map(|it: Spanned<LogNormal<T>>| Self::LogNormal(it.into_inner())),
            s.optional("table", &any()).map(Self::Table),
        ];
        s.finish();
        let mut found = found.into_iter().flatten();
        let first = found.next();
        let wrong = match (&first, found.next()) {
            (Some(_), None) => return first,
            (Some(_), Some(_)) => format!("`{key}` has one distribution, here are several"),
            (None, _) if findings.errors() > before => return None,
            (None, _) => format!("`{key}` has no distribution"),
        };
        findings
            .error(ProblemKind::Conflict, value.place, wrong)
            .help(format!("give one of: {}", KEYS.join(", ")));
        None
    }
}

impl<T> Shown for DistributionSetting<T> {
    fn shown(&self) -> String {
        let i = match self {
            Self::Constant(_) => 0,
            Self::Exponential(_) => 1,
            Self::Pareto(_) => 2,
            Self::LogNormal(_) => 3,
            Self::Table(_) => 4,
        };
        KEYS[i].to_owned()
    }
}

/// The example of a key.
fn example<T: Variable>(key: &str) -> String {
    format!("{key} = {}", T::EXAMPLE)
}

impl<T: Variable> Read for Exponential<T> {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        let mut s = Section::of(value, key, &["mean", "most"], findings)?;
        let it = Exponential {
            mean: s.required("mean", &positive(), &example::<T>("mean"), T::fallback()),
            most: s.required("most", &positive(), &example::<T>("most"), T::fallback()),
        };
        s.finish();
        Some(it)
    }
}

impl<T: Variable> Read for Pareto<T> {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        let mut s = Section::of(value, key, &["shape", "least", "most"], findings)?;
        let before = s.findings.errors();
        let it = Pareto {
            shape: s.required("shape", &SHAPE, "shape = 1.1", 1.0),
            least: s.required("least", &positive(), &example::<T>("least"), T::fallback()),
            most: s.required("most", &positive(), &example::<T>("most"), T::fallback()),
        };
        if s.findings.errors() == before && it.most.number() < it.least.number() {
            let message = format!(
                "`most` is {}, below `least`, which is {}",
                it.most.shown(),
                it.least.shown()
            );
            s.findings
                .error(ProblemKind::OutOfRange, it.most.place(), message);
        }
        s.finish();
        Some(it)
    }
}

impl<T: Variable> Read for LogNormal<T> {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        let mut s = Section::of(value, key, &["median", "sigma", "most"], findings)?;
        let it = LogNormal {
            median: s.required(
                "median",
                &positive(),
                &example::<T>("median"),
                T::fallback(),
            ),
            sigma: s.required("sigma", &SIGMA, "sigma = 1.3", 1.0),
            most: s.required("most", &positive(), &example::<T>("most"), T::fallback()),
        };
        s.finish();
        Some(it)
    }
}

impl<T> Shown for Exponential<T> {
    fn shown(&self) -> String {
        "exponential".to_owned()
    }
}

impl<T> Shown for Pareto<T> {
    fn shown(&self) -> String {
        "pareto".to_owned()
    }
}

impl<T> Shown for LogNormal<T> {
    fn shown(&self) -> String {
        "log-normal".to_owned()
    }
}

/// The rows of a measured distribution.
impl<T: Variable> Read for Vec<(T, f64)> {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        let help = || {
            format!(
                "rows are values with the share up to them: `{key} = [[{}, 0.5], …]`",
                T::EXAMPLE
            )
        };
        let Kind::Array(array) = value.kind else {
            value.wrong_type(key, "an array of rows", findings);
            findings.amend(help());
            return None;
        };
        let mut rows: Vec<(T, f64)> = Vec::new();
        if array.is_empty() || array.len() > MOST_ROWS {
            let message = format!(
                "`{key}` has {} rows, allowed are 1 to {MOST_ROWS}",
                array.len()
            );
            findings.error(ProblemKind::OutOfRange, value.place, message);
            return None;
        }
        let before = findings.errors();
        for row in array.iter().map(Value::toml) {
            let cells = match row.kind {
                Kind::Array(cells) if cells.len() == 2 => cells,
                _ => {
                    let message = format!("a row of `{key}` must be a value and a share");
                    findings
                        .error(ProblemKind::WrongType, row.place, message)
                        .help(help());
                    return None;
                }
            };
            let mut cells = cells.iter().map(Value::toml);
            let (Some(x), Some(share)) = (cells.next(), cells.next()) else {
                return None;
            };
            let Some(number) = T::read(&x, key, findings) else {
                continue;
            };
            let Some(up_to) = f64::read(&share, "a share", findings) else {
                continue;
            };
            let (low, least) = rows
                .last()
                .map_or((0.0, 0.0), |(x, share)| (x.number(), *share));
            if !(low..=1e12).contains(&number.number()) {
                let message = format!("a value of `{key}` cannot be {}", number.shown());
                findings
                    .error(ProblemKind::OutOfRange, x.place, message)
                    .help("allowed: 0 to 1e12, not below the row before");
            } else if !(least..=1.0).contains(&up_to) {
                let message = format!("a share in `{key}` cannot be {up_to}");
                findings
                    .error(ProblemKind::OutOfRange, share.place, message)
                    .help("allowed: 0 to 1, not below the row before");
            }
            rows.push((number, up_to));
        }
        let last = rows.last().map_or(0.0, |(_, share)| *share);
        if findings.errors() == before && last != 1.0 {
            let message = format!("the last share in `{key}` is {last}, but must be 1");
            findings.error(ProblemKind::OutOfRange, value.place, message);
        }
        (findings.errors() == before).then_some(rows)
    }
}

impl<T> Shown for Vec<(T, f64)> {
    fn shown(&self) -> String {
        format!("a table of {} rows", self.len())
    }
}
