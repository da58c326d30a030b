//! `application` in `[[connection]]`

use schemars::JsonSchema;
use serde::Serialize;

use netflow_units::{PacketsPerSecond, Rate, Seconds};

use super::{RateSetting, Time, allowed};
use crate::problem::{Findings, ProblemKind};
use crate::read::{Kind, Quantity, Read, Section, Shown, Value, any};

/// What gives a TCP source its data. Without it there is always more to send.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationSetting {
    /// Packets at random moments; what TCP cannot send at once waits at the sender. The fluid
    /// models see the mean rate.
    Poisson(RateSetting),
    /// Bursts at a constant rate, with pauses between them. The fluid models see the mean rate.
    OnOff(OnOffSetting),
}

/// `on-off = { rate = "200 pkt/s", on = "0.5 s", off = "1.5 s" }`
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OnOffSetting {
    /// Rate during a burst.
    pub rate: RateSetting,
    /// Mean length of a burst; the lengths are exponentially distributed.
    pub on: Time,
    /// Mean length of a pause, likewise.
    pub off: Time,
}

impl ApplicationSetting {
    pub(crate) const KEYS: &'static [&'static str] = &["poisson", "on-off"];
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
        let poisson = s.optional("poisson", &allowed::RATE);
        let on_off = s.optional("on-off", &any());
        s.finish();
        match (poisson, on_off) {
            (Some(_), Some(_)) => {
                let message = "there are two applications";
                findings
                    .error(ProblemKind::Conflict, value.place, message)
                    .help("give one of: poisson, on-off");
                None
            }
            (None, None) => {
                if findings.errors() == before {
                    let message = "the application is empty";
                    findings
                        .error(ProblemKind::Missing, value.place, message)
                        .help(HELP);
                }
                None
            }
            (poisson, on_off) => poisson
                .map(ApplicationSetting::Poisson)
                .or(on_off.map(|on_off| ApplicationSetting::OnOff(OnOffSetting::clone(&on_off)))),
        }
    }
}

impl Shown for ApplicationSetting {
    fn shown(&self) -> String {
        match self {
            ApplicationSetting::Poisson(rate) => rate.to_string(),
            ApplicationSetting::OnOff(on_off) => on_off.shown(),
        }
    }
}

impl Read for OnOffSetting {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<OnOffSetting> {
        let mut s = Section::of(value, key, &["rate", "on", "off"], findings)?;
        let second = Quantity(Seconds(1.0));
        let rate = Quantity(Rate::PacketsPerSecond(PacketsPerSecond(1.0)));
        let setting = OnOffSetting {
            rate: s.required("rate", &allowed::RATE, "rate = \"200 pkt/s\"", rate),
            on: s.required("on", &allowed::INTERVAL, "on = \"0.5 s\"", second),
            off: s.required("off", &allowed::DELAY, "off = \"1.5 s\"", second),
        };
        s.finish();
        Some(setting)
    }
}

impl Shown for OnOffSetting {
    fn shown(&self) -> String {
        format!("{}, on {}, off {}", *self.rate, *self.on, *self.off)
    }
}
