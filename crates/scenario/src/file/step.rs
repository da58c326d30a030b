//! `step` in `[simulation]`

use netflow_document::{
    Findings, Key, ProblemKind, Read, Section, Spanned, Table, Value, ValueKind, keyword_enum,
    read_table, table,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Time, allowed};

/// Time step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StepSetting {
    /// As long as the network allows, at most 50 ms.
    Auto(Auto),
    /// Longest step: `"50 ms"`. Steps are shorter if the network requires it.
    Longest(Time),
    /// Adaptive steps: `{ tolerance = 1e-3, min = "1 ms", max = "1 s" }`.
    Adaptive(Adaptive),
}

/// Automatic steps.
#[keyword_enum]
pub enum Auto {
    /// `"auto"`
    Auto,
}

/// Adaptive steps: as long as the tolerance allows.
#[table(check = check_limits)]
pub struct Adaptive {
    /// Allowed error of the queue length in a step, relative to the length or to one packet, whichever is larger.
    #[key(allowed = allowed::TOLERANCE, example = 1e-3, fallback = 1e-3)]
    pub tolerance: Spanned<f64>,
    /// Shortest step. Default: 1 ms.
    #[key(allowed = allowed::STEP, example = "1 ms")]
    pub min: Option<Time>,
    /// Longest step. Default: 1 s.
    #[key(allowed = allowed::STEP, example = "1 s")]
    pub max: Option<Time>,
}

impl Adaptive {
    /// Shortest and longest step in seconds, with their defaults.
    pub(crate) fn limits_s(&self) -> (f64, f64) {
        let or = |time: &Option<Time>, default| time.as_ref().map_or(default, |time| time.get());
        let (min, max) = (or(&self.min, 1e-3), or(&self.max, 1.0));
        // A limit that was not given makes way for the one that was.
        match (&self.min, &self.max) {
            (Some(_), None) => (min, max.max(min)),
            (None, Some(_)) => (min.min(max), max),
            _ => (min, max),
        }
    }
}

fn check_limits(step: &mut Adaptive, s: &mut Section<'_, '_>) {
    let (min, max) = step.limits_s();
    if min > max {
        let place = s.place();
        let message = "the shortest step is longer than the longest";
        s.findings
            .error(ProblemKind::Conflict, place, message)
            .set_help("make `min` at most `max`");
    }
}

impl Read for StepSetting {
    const KIND: &'static str = "\"auto\", a time, or a table";
    const TABLES: &'static [&'static [Key]] = &[Adaptive::KEYS];

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<StepSetting> {
        match value.kind {
            ValueKind::String("auto") | ValueKind::Cell("auto") => {
                Some(StepSetting::Auto(Auto::Auto))
            }
            ValueKind::Table(_) => read_table(value, key, findings).map(StepSetting::Adaptive),
            _ => value
                .setting(key, &allowed::STEP, findings)
                .map(StepSetting::Longest),
        }
    }

    fn fallback() -> StepSetting {
        StepSetting::Auto(Auto::Auto)
    }
}
