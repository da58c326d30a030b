//! `[[event]]`

use netflow_units::{BitsPerSecond, Rate, Seconds};
use schemars::JsonSchema;
use serde::Serialize;

use super::{RateSetting, Time, allowed};
use crate::place::Spanned;
use crate::problem::{Findings, ProblemKind};
use crate::read::{Element, Quantity, Read, Section, Shown, Value, any};

/// What happens to a link on the way: exactly one of `set`, `down` and `up`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Event {
    /// When.
    pub at: Time,
    /// To which link: `"A->B"` is one direction, `"A<->B"` both.
    pub link: Spanned<String>,
    /// Other settings of the link from now on: `{ bandwidth = "4 Mbit/s" }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Spanned<Set>>,
    /// `true`: the link fails. What is queued is lost, and routes are computed without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Spanned<bool>>,
    /// `true`: the link works again, and routes are computed with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Spanned<bool>>,
}

/// Settings of a link that an event can change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Set {
    /// The bandwidth from now on.
    pub bandwidth: RateSetting,
}

impl Element for Event {
    const NAME: &'static str = "event";
    const KEYS: &'static [&'static str] = &["at", "link", "set", "down", "up"];
    const COLUMNS: &'static [&'static str] = &["at", "link", "set.bandwidth", "down", "up"];
    const REQUIRED_COLUMNS: &'static [&'static str] = &["at", "link"];

    fn read(mut s: Section<'_, '_>) -> Event {
        let before = s.findings.errors();
        let zero = Quantity(Seconds(0.0));
        let event = Event {
            at: s.required("at", &allowed::MOMENT, "at = \"20 s\"", zero),
            link: s.required("link", &any(), "link = \"A->B\"", String::new()),
            set: s.optional("set", &any()),
            down: only_true(&mut s, "down"),
            up: only_true(&mut s, "up"),
        };
        let place = s.place();
        let changes = [
            event.set.is_some(),
            event.down.is_some(),
            event.up.is_some(),
        ];
        let changes = changes.iter().filter(|given| **given).count();
        let misspelt = ["set", "down", "up"].iter().any(|key| s.is_misspelt(key));
        if changes != 1 && !misspelt && s.findings.errors() == before {
            let message = match changes {
                0 => "this event changes nothing",
                _ => "this event changes several things at once",
            };
            let finding = s.findings.error(ProblemKind::Conflict, place, message);
            finding.help(
                "give one of: `set = { bandwidth = \"4 Mbit/s\" }`, `down = true`, `up = true`",
            );
        }
        s.finish();
        event
    }
}

fn only_true(s: &mut Section<'_, '_>, key: &'static str) -> Option<Spanned<bool>> {
    let flag: Spanned<bool> = s.optional(key, &any())?;
    if *flag {
        return Some(flag);
    }
    let message = format!("`{key} = false` says nothing");
    let finding = s
        .findings
        .error(ProblemKind::Conflict, flag.place(), message);
    finding.help("write `down = true` when the link fails and `up = true` when it works again");
    None
}

impl Read for Set {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Set> {
        let mut s = Section::of(value, key, &["bandwidth"], findings)?;
        let rate = Quantity(Rate::BitsPerSecond(BitsPerSecond(1e6)));
        let set = Set {
            bandwidth: s.required(
                "bandwidth",
                &allowed::RATE,
                "bandwidth = \"4 Mbit/s\"",
                rate,
            ),
        };
        s.finish();
        Some(set)
    }
}

impl Shown for Set {
    fn shown(&self) -> String {
        format!("bandwidth {}", *self.bandwidth)
    }
}
