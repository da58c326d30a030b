//! From a profile file's text to a profile.
//!
//! The parsed document is walked by hand: every value keeps its place for the messages, and a
//! built-in surface of 500 numbers is read in well under a millisecond.

use std::ops::Range;
use std::sync::Arc;

use netflow_units::{Packets, Seconds, UnitError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{FORMAT, KINDS, ProfileFileError, ProfileFileErrorKind as Kind};
use crate::{
    Analytic, Formula, FormulaParameters, Grid, GridRow, GridSpec, Place, PowerLaw, PowerLawRow,
    PowerLawSpec, Profile, ProfileError,
};

type Result<T> = std::result::Result<T, ProfileFileError>;
type Value<'i> = Spanned<DeValue<'i>>;

const GRID_KEYS: &[&str] = &[
    "format",
    "kind",
    "name",
    "description",
    "window",
    "rtt",
    "throughput-unit",
    "rows",
];
const POWER_LAW_KEYS: &[&str] = &[
    "format",
    "kind",
    "name",
    "description",
    "rtt-min",
    "rtt-max",
    "loss-rtt-exponent",
    "rows",
];
const MATHIS_KEYS: &[&str] = &[
    "format",
    "kind",
    "name",
    "description",
    "segments-per-ack",
    "window",
];
const PFTK_KEYS: &[&str] = &[
    "format",
    "kind",
    "name",
    "description",
    "segments-per-ack",
    "timeout",
    "window",
];
const GRID_ROW_KEYS: &[&str] = &["loss", "throughput", "extended"];
const POWER_LAW_ROW_KEYS: &[&str] = &["loss", "a", "b"];

/// Reads a profile; errors carry spans but not yet lines.
pub(super) fn read(text: &str) -> Result<Arc<dyn Profile>> {
    let document = DeTable::parse(text).map_err(|error| {
        ProfileFileError::new(Kind::Toml(error.message().to_owned()), error.span())
    })?;
    let root = Section {
        table: document.get_ref(),
        span: 0..text.len().min(1),
    };

    let format = root.require("format")?;
    if !matches!(format.get_ref(), DeValue::Integer(number) if number.as_str() == FORMAT) {
        return fail(
            Kind::Format {
                found: text[format.span()].to_owned(),
            },
            format.span(),
        );
    }
    let kind = root.require("kind")?;
    match string("kind", kind)? {
        "grid" => grid(&root),
        "power-law" => power_law(&root),
        "mathis" => analytic(&root, Formula::Mathis, MATHIS_KEYS),
        "pftk-approximate" => analytic(&root, Formula::PftkApproximate, PFTK_KEYS),
        "pftk-full" => analytic(&root, Formula::PftkFull, PFTK_KEYS),
        other => fail(
            Kind::UnknownKind {
                kind: other.to_owned(),
                nearest: nearest(other, KINDS),
            },
            kind.span(),
        ),
    }
}

fn grid(root: &Section<'_, '_>) -> Result<Arc<dyn Profile>> {
    root.allow_only(GRID_KEYS)?;
    let unit = root.require("throughput-unit")?;
    let to_pps = match string("throughput-unit", unit)? {
        "pkt/s" => 1.0,
        "pkt/ms" => 1000.0,
        other => {
            return fail(
                Kind::ThroughputUnit {
                    unit: other.to_owned(),
                },
                unit.span(),
            );
        }
    };
    let (name, description) = root.title()?;
    let mut rtts_s = Vec::new();
    for value in list("rtt", root.require("rtt")?)? {
        rtts_s.push(seconds("rtt", value)?);
    }
    let mut rows = Vec::new();
    for row in root.rows()? {
        let row = row?;
        row.allow_only(GRID_ROW_KEYS)?;
        let loss = number("loss", row.require("loss")?)?;
        let mut throughput_pps = Vec::with_capacity(rtts_s.len());
        for value in list("throughput", row.require("throughput")?)? {
            throughput_pps.push(to_pps * number("throughput", value)?);
        }
        let mut extended = Vec::new();
        let named = match row.table.get("extended") {
            Some(value) => list("extended", value)?,
            None => &[],
        };
        for value in named {
            let rtt_s = seconds("extended", value)?;
            let Some(column) = rtts_s.iter().position(|&it| it == rtt_s) else {
                return fail(Kind::NotInGrid, value.span());
            };
            extended.push(column);
        }
        rows.push(GridRow {
            loss,
            throughput_pps,
            extended,
        });
    }
    let spec = GridSpec {
        name,
        description,
        window_pkts: root.window()?,
        rtts_s,
        rows,
    };
    let grid = Grid::new(spec).map_err(|error| root.refuse(error))?;
    Ok(Arc::new(grid))
}

fn power_law(root: &Section<'_, '_>) -> Result<Arc<dyn Profile>> {
    root.allow_only(POWER_LAW_KEYS)?;
    let (name, description) = root.title()?;
    let rtt_min_s = seconds("rtt-min", root.require("rtt-min")?)?;
    let rtt_max_s = seconds("rtt-max", root.require("rtt-max")?)?;
    let loss_rtt_exponent = root.optional("loss-rtt-exponent", number)?.unwrap_or(0.0);
    let mut rows = Vec::new();
    for row in root.rows()? {
        let row = row?;
        row.allow_only(POWER_LAW_ROW_KEYS)?;
        rows.push(PowerLawRow {
            loss: number("loss", row.require("loss")?)?,
            a: number("a", row.require("a")?)?,
            b: number("b", row.require("b")?)?,
        });
    }
    let spec = PowerLawSpec {
        name,
        description,
        rows,
        loss_rtt_exponent,
        rtt_min_s,
        rtt_max_s,
    };
    let power_law = PowerLaw::new(spec).map_err(|error| root.refuse(error))?;
    Ok(Arc::new(power_law))
}

fn analytic(
    root: &Section<'_, '_>,
    formula: Formula,
    keys: &'static [&'static str],
) -> Result<Arc<dyn Profile>> {
    root.allow_only(keys)?;
    let (name, description) = root.title()?;
    let usual = FormulaParameters::default();
    let parameters = FormulaParameters {
        segments_per_ack: root
            .optional("segments-per-ack", number)?
            .unwrap_or(usual.segments_per_ack),
        timeout_s: root
            .optional("timeout", seconds)?
            .unwrap_or(usual.timeout_s),
        window_pkts: root.window()?,
    };
    let analytic = Analytic::new(name, description, formula, parameters)
        .map_err(|error| root.refuse(error))?;
    Ok(Arc::new(analytic))
}

/// A table of the document: the whole of it, or one row.
struct Section<'d, 'i> {
    table: &'d DeTable<'i>,
    span: Range<usize>,
}

impl<'d, 'i> Section<'d, 'i> {
    fn allow_only(&self, allowed: &'static [&'static str]) -> Result<()> {
        // The map is sorted by name; complain about the first unknown key of the file.
        let unknown = self
            .table
            .keys()
            .filter(|key| !allowed.contains(&key.get_ref().as_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => {
                let name = key.get_ref().as_ref();
                let kind = Kind::UnknownKey {
                    key: name.to_owned(),
                    nearest: nearest(name, allowed),
                    allowed,
                };
                fail(kind, key.span())
            }
        }
    }

    fn require(&self, key: &'static str) -> Result<&'d Value<'i>> {
        match self.table.get(key) {
            Some(value) => Ok(value),
            None => fail(Kind::MissingKey { key }, self.span.clone()),
        }
    }

    fn optional<T>(
        &self,
        key: &'static str,
        read: fn(&'static str, &Value<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.table
            .get(key)
            .map(|value| read(key, value))
            .transpose()
    }

    fn title(&self) -> Result<(String, String)> {
        let name = string("name", self.require("name")?)?.to_owned();
        let description = match self.table.get("description") {
            Some(value) => string("description", value)?.to_owned(),
            None => String::new(),
        };
        Ok((name, description))
    }

    fn window(&self) -> Result<Option<f64>> {
        self.optional("window", |key, value| {
            quantity::<Packets>(key, value).map(Packets::get)
        })
    }

    fn rows(&self) -> Result<impl Iterator<Item = Result<Section<'d, 'i>>> + use<'d, 'i>> {
        Ok(list("rows", self.require("rows")?)?
            .iter()
            .map(|row| match row.get_ref() {
                DeValue::Table(table) => Ok(Section {
                    table,
                    span: row.span(),
                }),
                _ => wrong_type("rows", "a list of tables", row),
            }))
    }

    /// The error of numbers that a profile cannot have, at the numbers' place in the file.
    fn refuse(&self, error: ProfileError) -> ProfileFileError {
        let span = self.locate(error.place()).unwrap_or(self.span.clone());
        ProfileFileError::new(Kind::Value(error), Some(span))
    }

    fn locate(&self, place: Place) -> Option<Range<usize>> {
        let key = |key: &str| self.table.get(key);
        let row = |row: usize, key: &str| {
            key_of(self.table.get("rows")?.get_ref().as_array()?.get(row)?, key)
        };
        let value = match place {
            Place::Rows => key("rows"),
            Place::Loss { row: i } => row(i, "loss"),
            Place::Exponent { row: i } => row(i, "a"),
            Place::Factor { row: i } => row(i, "b"),
            Place::Row { row: i } => row(i, "throughput"),
            Place::Cell { row: i, column } => {
                row(i, "throughput")?.get_ref().as_array()?.get(column)
            }
            Place::Rtts => key("rtt"),
            Place::Rtt { column } => key("rtt")?.get_ref().as_array()?.get(column),
            Place::RttMin => key("rtt-min"),
            Place::RttMax => key("rtt-max"),
            Place::LossRttExponent => key("loss-rtt-exponent"),
            Place::Window => key("window"),
            Place::Timeout => key("timeout"),
            Place::SegmentsPerAck => key("segments-per-ack"),
        };
        value.map(Spanned::span)
    }
}

fn key_of<'d, 'i>(row: &'d Value<'i>, key: &str) -> Option<&'d Value<'i>> {
    row.get_ref().as_table()?.get(key)
}

fn fail<T>(kind: Kind, span: Range<usize>) -> Result<T> {
    Err(ProfileFileError::new(kind, Some(span)))
}

fn wrong_type<T>(key: &'static str, wanted: &'static str, value: &Value<'_>) -> Result<T> {
    fail(
        Kind::WrongType {
            key,
            wanted,
            found: value.get_ref().type_str(),
        },
        value.span(),
    )
}

fn string<'d>(key: &'static str, value: &'d Value<'_>) -> Result<&'d str> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => wrong_type(key, "a string", value),
    }
}

fn list<'d, 'i>(key: &'static str, value: &'d Value<'i>) -> Result<&'d [Value<'i>]> {
    match value.get_ref() {
        DeValue::Array(values) => Ok(values),
        _ => wrong_type(key, "a list", value),
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

/// A string with a unit. A bare number is refused by the unit's reader, which shows the fix.
fn quantity<T: std::str::FromStr<Err = UnitError>>(
    key: &'static str,
    value: &Value<'_>,
) -> Result<T> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.as_ref(),
        DeValue::Integer(integer) => integer.as_str(),
        DeValue::Float(float) => float.as_str(),
        _ => return wrong_type(key, "a string with a unit", value),
    };
    text.parse()
        .or_else(|error| fail(Kind::Unit { key, error }, value.span()))
}

/// The nearest of `known`, if it is near enough to be what was meant.
fn nearest(name: &str, known: &'static [&'static str]) -> Option<&'static str> {
    netflow_units::nearest_name(name, known.iter().copied(), &[])
}
