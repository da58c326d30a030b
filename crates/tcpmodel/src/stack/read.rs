//! From a stack's description in TOML to a stack.
//!
//! The parsed document is walked by hand, so that every value keeps its place for the messages.

use std::ops::Range;
use std::str::FromStr;

use netflow_units::{Bytes, Packets, Seconds, UnitError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Recovery, RtoRule, Stack, StackError, StackErrorKind as Kind, builtin_names};

type Result<T> = std::result::Result<T, StackError>;
type Value<'i> = Spanned<DeValue<'i>>;

/// What a description may say.
pub(super) const KEYS: &[&str] = &[
    "name",
    "description",
    "like",
    "mss",
    "initial-window",
    "initial-rto",
    "min-rto",
    "max-rto",
    "rto-rule",
    "clock",
    "timestamps",
    "linear-syn-timeouts",
    "syn-answered-again",
    "rto-after-syn-timeout",
    "handshake-timeouts-forgiven",
    "syn-timeout-ends-slow-start",
    "recovery",
    "duplicate-acks",
    "limited-transmit",
    "early-retransmit",
    "tail-loss-probe",
    "window-after-loss",
    "cubic-growth",
    "receive-window",
    "segments-per-ack",
    "ack-delay",
    "ack-delay-beats",
    "quick-acks",
    "acks-compressed",
];

const RTO_RULES: &[&str] = &["ticks", "rfc6298", "linux"];
const RECOVERIES: &[&str] = &["timeout", "tahoe", "reno", "newreno", "sack", "rack"];

/// Reads a stack; errors carry spans but not yet lines.
pub(super) fn read(text: &str) -> Result<Stack> {
    let document = DeTable::parse(text)
        .map_err(|error| StackError::new(Kind::Toml(error.message().to_owned()), error.span()))?;
    let root = Root {
        table: document.get_ref(),
        span: 0..text.len().min(1),
    };
    root.refuse_unknown_keys()?;
    let like = root.require("like", |key, value| {
        word(key, value, builtin_names(), Stack::builtin)
    })?;
    let stack = root.over(Stack {
        name: root.require("name", string)?,
        description: String::new(),
        ..like
    })?;
    match stack.check() {
        Ok(()) => Ok(stack),
        Err(error) => {
            let span = root.table.get(error.what).map(Spanned::span);
            fail(Kind::Value(error), span.unwrap_or(root.span))
        }
    }
}

/// The whole document.
struct Root<'d, 'i> {
    table: &'d DeTable<'i>,
    span: Range<usize>,
}

impl Root<'_, '_> {
    fn refuse_unknown_keys(&self) -> Result<()> {
        // The map is sorted by name; complain about the first unknown key of the text.
        let unknown = self
            .table
            .keys()
            .filter(|key| !KEYS.contains(&key.get_ref().as_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => {
                let name = key.get_ref().as_ref();
                let kind = Kind::UnknownKey {
                    key: name.to_owned(),
                    nearest: nearest(name),
                };
                fail(kind, key.span())
            }
        }
    }

    /// What the document says, over what `like` says.
    fn over(&self, like: Stack) -> Result<Stack> {
        Ok(Stack {
            name: like.name,
            description: self.or("description", string, like.description)?,
            mss_bytes: self.or("mss", bytes, like.mss_bytes)?,
            initial_window_pkts: self.or("initial-window", window, like.initial_window_pkts)?,
            initial_rto_s: self.or("initial-rto", seconds, like.initial_rto_s)?,
            min_rto_s: self.or("min-rto", seconds, like.min_rto_s)?,
            max_rto_s: self.or("max-rto", seconds, like.max_rto_s)?,
            rto_rule: self.or("rto-rule", rto_rule, like.rto_rule)?,
            clock_s: self.or("clock", seconds, like.clock_s)?,
            timestamps: self.or("timestamps", truth, like.timestamps)?,
            linear_syn_timeouts: self.or("linear-syn-timeouts", count, like.linear_syn_timeouts)?,
            syn_answered_again: self.or("syn-answered-again", truth, like.syn_answered_again)?,
            rto_after_syn_timeout_s: self.or(
                "rto-after-syn-timeout",
                |key, value| seconds(key, value).map(Some),
                like.rto_after_syn_timeout_s,
            )?,
            handshake_timeouts_forgiven: self.or(
                "handshake-timeouts-forgiven",
                count,
                like.handshake_timeouts_forgiven,
            )?,
            syn_timeout_ends_slow_start: self.or(
                "syn-timeout-ends-slow-start",
                truth,
                like.syn_timeout_ends_slow_start,
            )?,
            recovery: self.or("recovery", recovery, like.recovery)?,
            duplicate_acks: self.or("duplicate-acks", count, like.duplicate_acks)?,
            limited_transmit: self.or("limited-transmit", truth, like.limited_transmit)?,
            early_retransmit: self.or("early-retransmit", truth, like.early_retransmit)?,
            tail_loss_probe: self.or("tail-loss-probe", truth, like.tail_loss_probe)?,
            window_after_loss: self.or("window-after-loss", number, like.window_after_loss)?,
            cubic_growth: self.or("cubic-growth", truth, like.cubic_growth)?,
            receive_window_bytes: self.or(
                "receive-window",
                |key, value| bytes(key, value).map(Some),
                like.receive_window_bytes,
            )?,
            segments_per_ack: self.or("segments-per-ack", count, like.segments_per_ack)?,
            ack_delay_s: self.or("ack-delay", seconds, like.ack_delay_s)?,
            ack_delay_beats: self.or("ack-delay-beats", truth, like.ack_delay_beats)?,
            quick_acks: self.or("quick-acks", count, like.quick_acks)?,
            acks_compressed: self.or("acks-compressed", truth, like.acks_compressed)?,
        })
    }

    fn require<T>(
        &self,
        key: &'static str,
        read: impl Fn(&'static str, &Value<'_>) -> Result<T>,
    ) -> Result<T> {
        match self.table.get(key) {
            Some(value) => read(key, value),
            None => fail(Kind::MissingKey { key }, self.span.clone()),
        }
    }

    fn or<T>(
        &self,
        key: &'static str,
        read: impl Fn(&'static str, &Value<'_>) -> Result<T>,
        otherwise: T,
    ) -> Result<T> {
        self.table
            .get(key)
            .map_or(Ok(otherwise), |value| read(key, value))
    }
}

fn rto_rule(key: &'static str, value: &Value<'_>) -> Result<RtoRule> {
    word(key, value, RTO_RULES, |word| match word {
        "ticks" => Some(RtoRule::Ticks),
        "rfc6298" => Some(RtoRule::Rfc6298),
        "linux" => Some(RtoRule::Linux),
        _ => None,
    })
}

fn recovery(key: &'static str, value: &Value<'_>) -> Result<Recovery> {
    word(key, value, RECOVERIES, |word| match word {
        "timeout" => Some(Recovery::Timeout),
        "tahoe" => Some(Recovery::Tahoe),
        "reno" => Some(Recovery::Reno),
        "newreno" => Some(Recovery::NewReno),
        "sack" => Some(Recovery::Sack),
        "rack" => Some(Recovery::Rack),
        _ => None,
    })
}

fn word<T>(
    key: &'static str,
    value: &Value<'_>,
    allowed: &'static [&'static str],
    meaning: impl Fn(&str) -> Option<T>,
) -> Result<T> {
    let word = string(key, value)?;
    match meaning(&word) {
        Some(meaning) => Ok(meaning),
        None => fail(Kind::UnknownWord { key, word, allowed }, value.span()),
    }
}

fn string(key: &'static str, value: &Value<'_>) -> Result<String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        _ => wrong_type(key, "a string", value),
    }
}

fn truth(key: &'static str, value: &Value<'_>) -> Result<bool> {
    match value.get_ref() {
        DeValue::Boolean(truth) => Ok(*truth),
        _ => wrong_type(key, "true or false", value),
    }
}

fn count(key: &'static str, value: &Value<'_>) -> Result<u32> {
    let wanted = "a whole number from 0 to 4294967295";
    match value.get_ref() {
        DeValue::Integer(integer) if integer.radix() == 10 => integer
            .as_str()
            .parse()
            .or_else(|_| wrong_type(key, wanted, value)),
        _ => wrong_type(key, wanted, value),
    }
}

fn number(key: &'static str, value: &Value<'_>) -> Result<f64> {
    let text = match value.get_ref() {
        DeValue::Float(float) => float.as_str(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
        _ => return wrong_type(key, "a decimal number", value),
    };
    text.parse()
        .or_else(|_| wrong_type(key, "a decimal number", value))
}

fn seconds(key: &'static str, value: &Value<'_>) -> Result<f64> {
    quantity::<Seconds>(key, value).map(Seconds::get)
}

fn bytes(key: &'static str, value: &Value<'_>) -> Result<u32> {
    whole(
        key,
        quantity::<Bytes>(key, value)?.get(),
        value,
        "a whole number of bytes",
    )
}

fn window(key: &'static str, value: &Value<'_>) -> Result<u32> {
    whole(
        key,
        quantity::<Packets>(key, value)?.get(),
        value,
        "a whole number of packets",
    )
}

/// `number` where it is a `u32`.
fn whole(key: &'static str, number: f64, value: &Value<'_>, allowed: &'static str) -> Result<u32> {
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        Ok(number as u32)
    } else {
        let error = crate::Error {
            what: key,
            value: number,
            allowed,
        };
        fail(Kind::Value(error), value.span())
    }
}

/// A string with a unit. A bare number is refused by the unit's reader, which shows the fix.
fn quantity<T: FromStr<Err = UnitError>>(key: &'static str, value: &Value<'_>) -> Result<T> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.as_ref(),
        DeValue::Integer(integer) => integer.as_str(),
        DeValue::Float(float) => float.as_str(),
        _ => return wrong_type(key, "a string with a unit", value),
    };
    text.parse()
        .or_else(|error| fail(Kind::Unit { key, error }, value.span()))
}

fn wrong_type<T>(key: &'static str, wanted: &'static str, value: &Value<'_>) -> Result<T> {
    let kind = Kind::WrongType {
        key,
        wanted,
        found: value.get_ref().type_str(),
    };
    fail(kind, value.span())
}

fn fail<T>(kind: Kind, span: Range<usize>) -> Result<T> {
    Err(StackError::new(kind, Some(span)))
}

/// The nearest key, if it is near enough to be what was meant.
fn nearest(name: &str) -> Option<&'static str> {
    netflow_units::nearest_name(name, KEYS.iter().copied(), &[])
}
