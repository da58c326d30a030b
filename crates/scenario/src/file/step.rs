//! `step` in `[simulation]`

use netflow_units::Seconds;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Time, allowed};
use crate::place::Spanned;
use crate::problem::{Findings, ProblemKind};
use crate::read::{Kind, Quantity, Read, Section, Shown, Value};

/// How time advances.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StepSetting {
    /// As long as the network allows, at most 50 ms.
    Auto(Auto),
    /// The longest step: `"50 ms"`. Where the network does not allow it, steps are shorter.
    Longest(Time),
    /// Steps as long as the tolerance allows: `{ tolerance = 1e-3, min = "1 ms", max = "1 s" }`.
    Adaptive(Adaptive),
}

/// The word for steps that are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Auto {
    /// `"auto"`
    Auto,
}

/// Steps as long as the tolerance allows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Adaptive {
    /// Allowed error of a queue's length in a step, relative to the length and at least to one
    /// packet.
    pub tolerance: Spanned<f64>,
    /// Shortest step. Default: 1 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Time>,
    /// Longest step. Default: 1 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Time>,
}

impl Adaptive {
    pub(crate) const KEYS: &'static [&'static str] = &["tolerance", "min", "max"];

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

impl Read for StepSetting {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<StepSetting> {
        if matches!(&value.kind, Kind::String(text) if **text == *"auto") {
            return Some(StepSetting::Auto(Auto::Auto));
        }
        if !matches!(value.kind, Kind::Table(_)) {
            let step = Quantity::<Seconds>::read(value, key, findings)?;
            if !(allowed::STEP.test)(&step) {
                let message = format!("`{key}` cannot be {step}");
                let finding = findings.error(ProblemKind::OutOfRange, value.place, message);
                finding.help(format!("allowed: {}", allowed::STEP.text));
                return None;
            }
            return Some(StepSetting::Longest(Spanned::new(step, value.place)));
        }
        let mut s = Section::of(value, key, Adaptive::KEYS, findings)?;
        let step = Adaptive {
            tolerance: s.required("tolerance", &allowed::TOLERANCE, "tolerance = 1e-3", 1e-3),
            min: s.optional("min", &allowed::STEP),
            max: s.optional("max", &allowed::STEP),
        };
        s.finish();
        let (min, max) = step.limits_s();
        if min > max {
            let message = "the shortest step is longer than the longest";
            findings
                .error(ProblemKind::Conflict, value.place, message)
                .help("make `min` at most `max`");
        }
        Some(StepSetting::Adaptive(step))
    }
}

impl Shown for StepSetting {
    fn shown(&self) -> String {
        match self {
            StepSetting::Auto(_) => "auto".to_owned(),
            StepSetting::Longest(step) => step.shown(),
            StepSetting::Adaptive(_) => "adaptive".to_owned(),
        }
    }
}
