//! `application` in `[[connection]]`

use schemars::JsonSchema;
use serde::Serialize;

use super::{RateSetting, allowed};
use crate::problem::{Findings, ProblemKind};
use crate::read::{Kind, Read, Section, Shown, Value};

/// What gives a TCP source its data. Without it there is always more to send.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationSetting {
    /// Packets at random moments; what TCP cannot send at once waits at the sender. The fluid
    /// models see the mean rate.
    Poisson(RateSetting),
}

impl ApplicationSetting {
    pub(crate) const KEYS: &'static [&'static str] = &["poisson"];
}

impl Read for ApplicationSetting {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<ApplicationSetting> {
        const HELP: &str = "write `application = { poisson = \"100 pkt/s\" }`, or leave it out for a source that \
                            always has more to send";
        if let Kind::String(_) | Kind::Cell(_) = value.kind {
            let message = format!("`{key}` must be a table, not a string");
            findings
                .error(ProblemKind::WrongType, value.place, message)
                .help(HELP);
            return None;
        }
        let mut s = Section::of(value, key, Self::KEYS, findings)?;
        let before = s.findings.errors();
        s.later = &[("on-off", "applications that come and go (`on-off`) are")];
        let poisson = s.optional("poisson", &allowed::RATE);
        s.finish();
        if poisson.is_none() && findings.errors() == before {
            findings
                .error(
                    ProblemKind::Missing,
                    value.place,
                    "the application is empty",
                )
                .help(HELP);
        }
        poisson.map(ApplicationSetting::Poisson)
    }
}

impl Shown for ApplicationSetting {
    fn shown(&self) -> String {
        let ApplicationSetting::Poisson(rate) = self;
        rate.to_string()
    }
}
