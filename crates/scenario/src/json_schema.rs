//! Generator of the JSON schema of the file format.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::file::Scenario;

/// Returns the JSON schema of scenario files, pretty-printed, with which editors complete keys and
/// show their descriptions.
pub fn schema() -> String {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Scenario>().to_value();
    remove_null(&mut schema);
    allow_percent(&mut schema);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// Allows numbers to be written as a text in percent, too.
fn allow_percent(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("type").is_some_and(|name| name == "number") {
                object.insert("type".to_owned(), json!(["number", "string"]));
                let percent = r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*%\s*$";
                object.insert("pattern".to_owned(), json!(percent));
            }
            object.values_mut().for_each(allow_percent);
        }
        Value::Array(list) => list.iter_mut().for_each(allow_percent),
        _ => {}
    }
}

/// Removes null from types, because TOML has no null: optional keys are simply not required.
fn remove_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    object.insert("type".to_owned(), one);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
                if let [one] = choices.as_slice() {
                    let one = one.clone();
                    object.remove("anyOf");
                    if let Value::Object(one) = one {
                        // The description of the key is more specific than that of its type.
                        for (key, value) in one {
                            object.entry(key).or_insert(value);
                        }
                    }
                }
            }
            object.values_mut().for_each(remove_null);
        }
        Value::Array(list) => list.iter_mut().for_each(remove_null),
        _ => {}
    }
}
