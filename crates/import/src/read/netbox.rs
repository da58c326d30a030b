//! Reader of NetBox tables: cables, and interfaces with their speeds. Both are CSV, as exported from the lists or as
//! accepted by the bulk import.

use std::collections::HashMap;
use std::ops::Range;

use super::edge_list::{Table, role};
use super::ethernet;
use super::sndlib_native::number;
use crate::Subject;
use crate::attributes::{self, Attribute, LinkAttributes, StatedQuantity, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::label_bandwidth::{self, ByteUnit, LabelBandwidth};
use crate::topology_builder::TopologyBuilder;

/// Columns with the devices of a cable, in lists and in the bulk import.
const DEVICES: [[&str; 2]; 2] = [["devicea", "sideadevice"], ["deviceb", "sidebdevice"]];
const PORTS: [[&str; 2]; 2] = [["terminationa", "sideaname"], ["terminationb", "sidebname"]];
const KINDS: [[&str; 1]; 2] = [["sideatype"], ["sidebtype"]];

/// The rates of interfaces by device and name.
#[derive(Default)]
pub(super) struct Interfaces(HashMap<(String, String), Rate>);

impl Interfaces {
    pub(super) fn extend(&mut self, other: Interfaces) {
        self.0.extend(other.0);
    }
}

/// The rate of an interface.
#[derive(Clone, PartialEq)]
enum Rate {
    Speed(f64),
    /// A rate by the type of the interface.
    Type(f64, String),
    Unknown,
}

fn place(text: &str, names: &[&str]) -> Option<usize> {
    let (_, columns) = Table::head(text).ok()?;
    names
        .iter()
        .find_map(|name| columns.iter().position(|it| role(it) == *name))
}

/// Returns whether a table has cables.
pub(crate) fn has_cables(text: &str) -> bool {
    DEVICES.iter().all(|names| place(text, names).is_some())
}

/// Returns whether a table has interfaces of devices.
pub(crate) fn has_interfaces(text: &str) -> bool {
    let has = |name: &str| place(text, &[name]).is_some();
    has("device") && has("name") && has("type") && !has_cables(text)
}

pub(super) fn interfaces(text: &str) -> ReadResult<Interfaces> {
    // `has_interfaces` has checked that they exist.
    let [device, name, kind] =
        ["device", "name", "type"].map(|name| place(text, &[name]).unwrap_or_default());
    let speed = place(text, &["speed", "speedkbps"]);
    let table = Table::between(text, device, name)?;
    let mut found = Interfaces::default();
    table.rows(|row, span| {
        let cell = |column: Option<usize>| {
            column
                .and_then(|column| row.get(column))
                .unwrap_or_default()
        };
        let (speed, kind) = (cell(speed), cell(Some(kind)));
        let rate = match (speed, type_rate_bps(kind)) {
            ("" | "—", Some(bps)) => Rate::Type(bps, kind.to_owned()),
            ("" | "—", None) => Rate::Unknown,
            (speed, _) => Rate::Speed(speed_bps(speed, &span)?),
        };
        let key = (
            table.cell(row, device, &span)?.to_owned(),
            table.cell(row, name, &span)?.to_owned(),
        );
        found.0.insert(key, rate);
        Ok(())
    })?;
    Ok(found)
}

/// Parses a speed: a number in kbit/s, or `10 Gbps`.
fn speed_bps(text: &str, span: &Range<usize>) -> ReadResult<f64> {
    if text.parse::<f64>().is_ok() {
        return Ok(1e3 * number(text, span)?);
    }
    let rate = label_bandwidth::parse_bandwidth(text, ByteUnit::Bits);
    rate.map(|rate| rate.bps).ok_or_else(|| {
        let message = format!("`{}` is not a speed", truncate_text(text));
        ImportError::value(span.clone(), message).help("write a number in kbit/s")
    })
}

/// Returns the rate in a type: `1000BASE-T (1GE)`, `SFP+ (10GE)` or `10gbase-x-sfpp`.
fn type_rate_bps(kind: &str) -> Option<f64> {
    let label = || label_bandwidth::parse_bandwidth(kind, ByteUnit::Bits);
    ethernet::rate_bps(kind).or_else(|| Some(label()?.bps))
}

/// Reads cables. Without a table of interfaces, every cable between two devices counts.
pub(super) fn read(
    draft: &mut TopologyBuilder<'_>,
    interfaces: Option<&Interfaces>,
) -> ReadResult<()> {
    let text = draft.text;
    let [from, to] = DEVICES.map(|names| place(text, &names));
    let (Some(from), Some(to)) = (from, to) else {
        let message = "the table has no columns with the devices of cables";
        return Err(ImportError::syntax(0..0, message)
            .help("export the cables with the columns `Device A`, `Termination A`, `Device B` and `Termination B`"));
    };
    let ports = PORTS.map(|names| place(text, &names));
    let kinds = KINDS.map(|names| place(text, &names));
    let [length, length_unit, label, status] =
        ["length", "lengthunit", "label", "status"].map(|name| place(text, &[name]));
    let table = Table::between(text, from, to)?;
    if interfaces.is_none() {
        let text = "every cable between two devices is read as a link, because there is no table of interfaces";
        draft.assumptions.add_general(text);
    }
    table.rows(|row, span| {
        let cell = |column: Option<usize>| {
            column
                .and_then(|column| row.get(column))
                .unwrap_or_default()
        };
        let devices = [cell(Some(from)), cell(Some(to))];
        let about = Subject::Other(devices.map(truncate_text).join("--"), draft.line(&span));
        let ports = ports.map(cell);
        let rates: Vec<Rate> = match interfaces {
            None => Vec::new(),
            Some(Interfaces(known)) => {
                let ends = devices.iter().zip(ports);
                let rates = ends.filter_map(|(device, port)| {
                    known.get(&((*device).to_owned(), port.to_owned()))
                });
                rates.cloned().collect()
            }
        };
        let of_other_kind = kinds
            .iter()
            .map(|kind| cell(*kind))
            .any(|kind| !kind.is_empty() && !kind.ends_with("interface"));
        let ignored = if devices.iter().any(|device| device.is_empty()) {
            Some("a cable without a device at one end is ignored")
        } else if ports.iter().any(|port| port.contains(',')) {
            Some("a cable with several ends on one side is ignored")
        } else if of_other_kind || interfaces.is_some() && rates.len() < 2 {
            Some("a cable that does not connect two known interfaces is ignored")
        } else {
            None
        };
        if let Some(text) = ignored {
            draft.assumptions.add(text, about);
            return Ok(());
        }
        let mut said = Vec::new();
        for (name, column) in [("name", label), ("status", status)] {
            said.push(Attribute::new(name, cell(column), span.clone()));
        }
        let mut says = attributes::parse_link(&said)?;
        says.length_km = length_km(cell(length), cell(length_unit), &span)?;
        set_rate(&mut says, &rates, &span);
        let ends = (
            draft.node_or_new(devices[0], span.clone())?,
            draft.node_or_new(devices[1], span.clone())?,
        );
        draft.add_link(ends, false, says, span)
    })
}

/// Sets the bandwidth by the rates of both interfaces. A speed counts more than a type.
fn set_rate(says: &mut LinkAttributes, rates: &[Rate], span: &Range<usize>) {
    let bps = |rate: &Rate| match rate {
        Rate::Speed(bps) | Rate::Type(bps, _) => Some(*bps),
        Rate::Unknown => None,
    };
    let speeds = || rates.iter().filter(|rate| matches!(rate, Rate::Speed(_)));
    let lowest = match speeds().next() {
        Some(_) => speeds().min_by(|a, b| {
            bps(a)
                .partial_cmp(&bps(b))
                .unwrap_or(std::cmp::Ordering::Equal)
        }),
        None => {
            let known = rates.iter().filter(|rate| bps(rate).is_some());
            known.min_by(|a, b| {
                bps(a)
                    .partial_cmp(&bps(b))
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
        }
    };
    let Some(lowest) = lowest else { return };
    if rates
        .iter()
        .any(|rate| bps(rate).is_some_and(|it| Some(it) != bps(lowest)))
    {
        let text = "both ends of a cable have different rates: a speed counts before a type, and the lower one is used";
        says.contradictions.push(text.to_owned());
    }
    match lowest {
        Rate::Speed(bps) => says.bandwidth = Some((StatedQuantity::WithUnit(*bps), span.clone())),
        Rate::Type(bps, kind) => {
            let label = LabelBandwidth {
                bps: *bps,
                rule: String::new(),
                multiplicity: 1.0,
                bytes: None,
            };
            says.label = Some((label, kind.clone()));
        }
        Rate::Unknown => {}
    }
}

/// Parses the length of a cable: `5`, with its unit in another column, or `5 m`.
fn length_km(length: &str, unit: &str, span: &Range<usize>) -> ReadResult<Option<f64>> {
    if matches!(length, "" | "—") {
        return Ok(None);
    }
    let (length, unit) = match length.split_once(' ') {
        Some((length, unit)) => (length, unit),
        None => (length, unit),
    };
    let km = match unit.trim().to_ascii_lowercase().as_str() {
        "km" | "kilometer" | "kilometers" => 1.0,
        "m" | "meter" | "meters" => 1e-3,
        "cm" | "centimeter" | "centimeters" => 1e-5,
        "mi" | "mile" | "miles" => 1.609344,
        "ft" | "foot" | "feet" => 0.3048e-3,
        "in" | "inch" | "inches" => 0.0254e-3,
        _ => {
            let message = format!("`{}` is not a unit of lengths", truncate_text(unit));
            return Err(
                ImportError::value(span.clone(), message).help("write km, m, cm, mi, ft or in")
            );
        }
    };
    let number = number(length, span)?;
    if number < 0.0 {
        return Err(ImportError::value(span.clone(), "the length is negative"));
    }
    Ok(Some(number * km))
}
