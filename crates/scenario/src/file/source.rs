//! `source` in `[[connection]]`

use netflow_units::{PacketsPerSecond, Rate};
use schemars::JsonSchema;
use serde::Serialize;

use super::{RateSetting, WindowSetting, allowed};
use crate::place::Spanned;
use crate::problem::{Findings, ProblemKind};
use crate::read::{Kind, Quantity, Read, Section, Shown, Value, any};

/// What makes a connection send.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceSetting {
    /// TCP as it was measured: the name of a built-in profile, or the path of a profile file
    /// beside the scenario.
    Profile(Spanned<String>),
    /// The same rate all the time, whatever happens.
    Constant(RateSetting),
    /// Packets at random moments; the fluid models see their mean rate.
    Poisson(RateSetting),
    /// TCP with its congestion window, packet by packet.
    #[serde(untagged)]
    Window(Box<WindowSetting>),
}

impl SourceSetting {
    pub(crate) const KEYS: &'static [&'static str] = &[
        "profile",
        "window",
        "constant",
        "poisson",
        "delayed-ack",
        "initial-window",
        "initial-rto",
        "min-rto",
        "max-rto",
        "send-jitter",
        "alpha",
        "beta",
        "gamma",
    ];
    pub(crate) const EXAMPLE: &'static str = "source = { profile = \"ns-reno\" }";

    /// Of a connection without any.
    pub(crate) fn fallback() -> SourceSetting {
        let rate = Quantity(Rate::PacketsPerSecond(PacketsPerSecond(1.0)));
        SourceSetting::Constant(rate.into())
    }
}

impl Read for SourceSetting {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<SourceSetting> {
        if let Kind::String(text) | Kind::Cell(text) = value.kind {
            let message = format!("`{key}` must be a table, not a string");
            let help = match text.parse::<Rate>() {
                Ok(_) => format!("write `{key} = {{ constant = \"{text}\" }}`"),
                Err(_) => format!("write `{key} = {{ profile = \"{text}\" }}`"),
            };
            findings
                .error(ProblemKind::WrongType, value.place, message)
                .help(help);
            return None;
        }
        let mut s = Section::of(value, key, Self::KEYS, findings)?;
        let before = s.findings.errors();
        let profile = s.optional("profile", &any()).map(SourceSetting::Profile);
        let constant = s
            .optional("constant", &allowed::RATE)
            .map(SourceSetting::Constant);
        let poisson = s
            .optional("poisson", &allowed::RATE)
            .map(SourceSetting::Poisson);
        let is_window = s.get("window").is_some();
        let window = s.optional("window", &any());
        if !is_window {
            s.refuse(&WindowSetting::KEYS[1..], "only a window source has it");
        }
        let window = window
            .map(|variant| SourceSetting::Window(Box::new(WindowSetting::beside(variant, &mut s))));
        s.finish();
        let mut found = [profile, window, constant, poisson].into_iter().flatten();
        let first = found.next();
        let wrong = match (&first, found.next()) {
            (Some(_), None) => return first,
            (Some(_), Some(_)) => "a source has one kind, this one has several",
            // What it has was refused already.
            (None, _) if findings.errors() > before => return None,
            (None, _) => "the source is empty",
        };
        let finding = findings.error(ProblemKind::Conflict, value.place, wrong);
        finding.help("give one of: profile, window, constant, poisson");
        None
    }
}

impl Shown for SourceSetting {
    fn shown(&self) -> String {
        match self {
            SourceSetting::Profile(name) => name.to_string(),
            SourceSetting::Window(window) => window.name().to_owned(),
            SourceSetting::Constant(rate) | SourceSetting::Poisson(rate) => rate.to_string(),
        }
    }
}
