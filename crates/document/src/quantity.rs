//! Quantities: numbers with a unit.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use netflow_units::{
    BufferSize, Bytes, LongSeconds, Packets, PacketsPerSecond, Rate, Seconds, Size, UnitError,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::{Findings, ProblemKind, Read, Value, ValueKind};

/// A quantity in the notation of scenarios: a string with a number and a unit, such as `"20 ms"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity<T>(pub T);

impl<T> Deref for Quantity<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Display> fmt::Display for Quantity<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Display> Serialize for Quantity<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Descriptions of a physical dimension for messages and the schema.
trait Dimension: Sized {
    const NAME: &'static str;
    /// Its name within a sentence.
    const KIND: &'static str;
    /// One unit.
    const ONE: Self;
    const DESCRIPTION: &'static str;
    /// Regular expression of the units after a number.
    const UNITS: &'static str;

    /// Returns the units that are likely for a number without a unit, the likeliest first.
    fn likely_units(key: &str, number: f64) -> &'static [&'static str];

    /// Returns a warning about a suspicious text, and an unambiguous notation.
    fn suspicious_value(&self, _key: &str, _text: &str) -> Option<(String, String)> {
        None
    }
}

impl Dimension for Seconds {
    const NAME: &'static str = "Time";
    const KIND: &'static str = "time";
    const ONE: Self = Seconds(1.0);
    const DESCRIPTION: &'static str = "A time with its unit: \"20 ms\", \"1.5 s\", \"2 min\".";
    const UNITS: &'static str = "(s|ms|us|min|h|d)";

    fn likely_units(key: &str, number: f64) -> &'static [&'static str] {
        match key {
            "delay" | "step" | "min" | "burstiness-interval" if number >= 1.0 => &["ms", "s"],
            _ => &["s", "ms"],
        }
    }
}

impl Dimension for LongSeconds {
    const NAME: &'static str = "LongTime";
    const KIND: &'static str = "time";
    const ONE: Self = LongSeconds(1.0);
    const DESCRIPTION: &'static str =
        "A time between failures or to repair with its unit: \"4 h\", \"2000 d\".";
    const UNITS: &'static str = Seconds::UNITS;

    fn likely_units(_: &str, _: f64) -> &'static [&'static str] {
        &["h", "d"]
    }
}

impl Dimension for Rate {
    const NAME: &'static str = "Rate";
    const KIND: &'static str = "rate";
    const ONE: Self = Rate::PacketsPerSecond(PacketsPerSecond(1.0));
    const DESCRIPTION: &'static str = "A rate with its unit: \"8 Mbit/s\", \"1000 pkt/s\".";
    const UNITS: &'static str = "([kMG]?bit/s|[kMG]?bps|[KMG]?B/s|pkt/s)";

    fn likely_units(_: &str, number: f64) -> &'static [&'static str] {
        if number >= 1e4 {
            &["bit/s", "kbit/s"]
        } else {
            &["Mbit/s", "kbit/s"]
        }
    }

    /// Bandwidths are usually given in bits, so bytes are most likely a mistake.
    fn suspicious_value(&self, key: &str, text: &str) -> Option<(String, String)> {
        let text = text.trim();
        if key != "bandwidth" || !text.ends_with("B/s") {
            return None;
        }
        let bits = text.replace("KB/s", "kbit/s").replace("B/s", "bit/s");
        Some((
            format!("`bandwidth` is in bytes: \"{text}\" is {self}"),
            format!("write \"{self}\", or \"{bits}\" if you mean bits"),
        ))
    }
}

impl Dimension for Bytes {
    const NAME: &'static str = "Bytes";
    const KIND: &'static str = "size in bytes";
    const ONE: Self = Bytes(1.0);
    const DESCRIPTION: &'static str = "A size with its unit: \"1500 B\", \"10 KB\", \"64 KiB\".";
    const UNITS: &'static str = "([KMG]?B|[KMG]iB)";

    fn likely_units(_: &str, _: f64) -> &'static [&'static str] {
        &["B"]
    }
}

impl Dimension for Packets {
    const NAME: &'static str = "Packets";
    const KIND: &'static str = "number of packets";
    const ONE: Self = Packets(1.0);
    const DESCRIPTION: &'static str = "A number of packets with its unit: \"64 pkt\".";
    const UNITS: &'static str = "pkt";

    fn likely_units(_: &str, _: f64) -> &'static [&'static str] {
        &["pkt"]
    }
}

impl Dimension for Size {
    const NAME: &'static str = "Size";
    const KIND: &'static str = "size";
    const ONE: Self = Size::Packets(Packets(1.0));
    const DESCRIPTION: &'static str = "A size with its unit: \"100 pkt\", \"150 KB\".";
    const UNITS: &'static str = "([KMG]?B|[KMG]iB|pkt)";

    fn likely_units(key: &str, number: f64) -> &'static [&'static str] {
        if key == "size" || number >= 1e5 {
            &["B"]
        } else {
            &["pkt"]
        }
    }
}

impl Dimension for BufferSize {
    const NAME: &'static str = "Room";
    const KIND: &'static str = "size, or time";
    const ONE: Self = BufferSize::Size(Size::ONE);
    const DESCRIPTION: &'static str = "A size with its unit, or a time at the bandwidth of the link: \"100 pkt\", \"150 KB\", \"50 ms\".";
    const UNITS: &'static str = "([KMG]?B|[KMG]iB|pkt|s|ms|us|min|h|d)";

    fn likely_units(key: &str, number: f64) -> &'static [&'static str] {
        Size::likely_units(key, number)
    }
}

impl<T: Dimension> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": T::DESCRIPTION,
            "pattern": format!(r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*{}\s*$", T::UNITS),
        })
    }
}

impl<T: Dimension + fmt::Display + FromStr<Err = UnitError>> Read for Quantity<T> {
    const KIND: &'static str = T::KIND;

    fn shown(&self) -> String {
        self.to_string()
    }

    fn fallback() -> Self {
        Quantity(T::ONE)
    }

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        let (text, bare) = match &value.kind {
            ValueKind::String(text) | ValueKind::Cell(text) => (*text, text.trim()),
            ValueKind::Integer(number) if number.radix() == 10 => ("", number.as_str()),
            ValueKind::Float(number) => ("", number.as_str()),
            _ => {
                let wanted = format!(
                    "a string with a number and a unit, such as \"{}\"",
                    with_unit("50", T::likely_units(key, 50.0)[0])
                );
                value.report_wrong_type(key, &wanted, findings);
                return None;
            }
        };
        let error = match text.parse::<T>() {
            Ok(quantity) => {
                if let Some((message, help)) = quantity.suspicious_value(key, text) {
                    findings.warn_once(value.place, message, &help);
                }
                return Some(Quantity(quantity));
            }
            Err(error) => error,
        };
        // The help for a number without a unit is the corrected line for every likely unit.
        let number = bare.strip_prefix('+').unwrap_or(bare);
        if number.parse::<f64>().is_ok_and(f64::is_finite) {
            let likely = T::likely_units(key, number.parse().unwrap_or(1.0));
            let line = |unit: &&str| {
                let text = with_unit(number, unit);
                let meant = text.parse::<T>().map(|it| it.to_string());
                let meant = match meant.ok().filter(|it| likely.len() > 1 && *it != text) {
                    Some(meant) => format!(" ({meant})"),
                    None => String::new(),
                };
                match value.kind {
                    ValueKind::Cell(_) => format!("`{text}`{meant}"),
                    _ => format!("`{key} = \"{text}\"`{meant}"),
                }
            };
            let lines: Vec<String> = likely.iter().map(line).collect();
            let units = number
                .parse::<T>()
                .err()
                .map(|error| units_of(&error))
                .unwrap_or_default();
            let message = format!("`{key}` has no unit: {number}");
            let finding = findings.error(ProblemKind::BadValue, value.place, message);
            finding.set_help(format!("write {}{units}", lines.join(" or ")));
            return None;
        }
        if text.is_empty() && !matches!(value.kind, ValueKind::String(_) | ValueKind::Cell(_)) {
            let message = format!("`{key}` is not a finite number: {bare}");
            findings.error(ProblemKind::BadValue, value.place, message);
            return None;
        }
        value.report_invalid_quantity(text, key, &error, findings);
        None
    }
}

fn with_unit(number: &str, unit: &str) -> String {
    format!("{number} {unit}")
}

/// Returns the list of units at the end of the help of a unit error.
fn units_of(error: &UnitError) -> String {
    let list = error.help().split_once("; ").map(|(_, units)| units);
    list.map(|units| format!("; {units}")).unwrap_or_default()
}
