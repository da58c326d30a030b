//! `step` in `[simulation]`

use netflow_document::{Findings, ProblemKind, Read, Value, ValueKind, keyword_enum};
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
}

/// Automatic steps.
#[keyword_enum]
pub enum Auto {
    /// `"auto"`
    Auto,
}

impl Read for StepSetting {
    const KIND: &'static str = "\"auto\" or a time";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<StepSetting> {
        match value.kind {
            ValueKind::String("auto") | ValueKind::Cell("auto") => {
                Some(StepSetting::Auto(Auto::Auto))
            }
            ValueKind::Table(_) => {
                let message = format!("`{key}` is no longer a table");
                findings
                    .error(ProblemKind::WrongType, value.place, message)
                    .set_help("remove `step`: steps are automatic; or write the longest step, `step = \"50 ms\"`");
                None
            }
            _ => value
                .setting(key, &allowed::STEP, findings)
                .map(StepSetting::Longest),
        }
    }

    fn fallback() -> StepSetting {
        StepSetting::Auto(Auto::Auto)
    }
}
