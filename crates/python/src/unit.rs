//! Units of numbers in settings: scenario files contain texts with units, Python numbers are in
//! base units.

use std::sync::OnceLock;

use pyo3::prelude::*;
use serde_json::Value;

use crate::errors;

/// Names of the quantities in the schema.
const QUANTITIES: [&str; 6] = ["Time", "Bytes", "Packets", "Rate", "Size", "Room"];

/// Returns the base unit of a key, such as `link.A->B.delay`; None if it is not a quantity.
#[pyfunction]
pub fn unit(py: Python<'_>, key: &str) -> PyResult<Option<&'static str>> {
    let Some(quantity) = quantity(schema(), key) else {
        return Ok(None);
    };
    let may_be = |units: &str, example: &str| {
        Err(errors::invalid_setting(
            py,
            &format!("`{key}` accepts {units}, so a number needs a unit"),
            &format!("write a text such as \"{example}\""),
        ))
    };
    match quantity {
        "Time" => Ok(Some("s")),
        "Bytes" => Ok(Some("B")),
        "Packets" => Ok(Some("pkt")),
        // Source rates in simulations are in packets/s.
        "Rate" if key.starts_with("connection.") => may_be("bit/s or packets/s", "1 Mbit/s"),
        "Rate" => Ok(Some("bit/s")),
        "Size" if key.ends_with(".size") => Ok(Some("B")),
        "Size" => may_be("packets or bytes", "50 pkt"),
        "Room" => may_be("packets, bytes or a time", "50 pkt"),
        _ => Ok(None),
    }
}

/// Returns the schema of scenario files.
fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| serde_json::from_str(&netflow::scenario::schema()).unwrap_or_default())
}

/// Returns the schema's name of the quantity at a key.
fn quantity<'s>(schema: &'s Value, key: &str) -> Option<&'s str> {
    at(schema, schema, Some(key))
}

/// Returns the same within a part of the schema; without a key, the name of the part itself.
fn at<'s>(schema: &'s Value, part: &'s Value, key: Option<&str>) -> Option<&'s str> {
    if let Some(name) = part["$ref"].as_str().and_then(|it| it.rsplit('/').next()) {
        let part = &schema["$defs"][name];
        return match key {
            None if QUANTITIES.contains(&name) => Some(name),
            _ => at(schema, part, key),
        };
    }
    let choices = ["anyOf", "oneOf"]
        .into_iter()
        .filter_map(|it| part[it].as_array());
    if let Some(found) = choices.flatten().find_map(|it| at(schema, it, key)) {
        return Some(found);
    }
    let key = key?;
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    if let Some(part) = part["properties"].get(first) {
        return at(schema, part, rest);
    }
    let place = first.parse::<usize>().ok();
    if let Some(part) = place.and_then(|place| part["prefixItems"].get(place)) {
        return at(schema, part, rest);
    }
    // A list item is selected by its name, which may contain dots.
    let items = part.get("items")?;
    let dots = key.match_indices('.').map(|(dot, _)| Some(&key[dot + 1..]));
    dots.chain([None]).find_map(|rest| at(schema, items, rest))
}
