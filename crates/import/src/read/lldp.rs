//! Reader of neighbours of LLDP: `lldpctl -f json` (or `json0`) of lldpd, of one host or of several under their
//! names: `{"host1": {"lldp": …}, "host2": {"lldp": …}}`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use netflow_document::ProblemKind;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ethernet, json};
use crate::Subject;
use crate::attributes::{LinkAttributes, StatedQuantity, single_line, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;

/// A neighbour of a host.
struct Neighbour {
    host: String,
    /// The interface of the host.
    interface: String,
    name: String,
    /// Possible names of the interface of the neighbour.
    ports: Vec<String>,
    bps: Option<f64>,
    span: Range<usize>,
}

impl Neighbour {
    /// Returns the names of host and neighbour in messages.
    fn ends(&self) -> String {
        let [host, name] = [&self.host, &self.name].map(|it| truncate_text(it));
        format!("{host}--{name}")
    }
}

pub(super) fn read(draft: &mut TopologyBuilder<'_>, path: &Path) -> ReadResult<()> {
    let text = draft.text;
    let document: Pairs<'_> = json::parse(text, "JSON of LLDP")?;
    let mut hosts = Vec::new();
    if document.0.iter().any(|(name, _)| name == "lldp") {
        let host = path.file_stem().unwrap_or_default().to_string_lossy();
        let host = host.split('.').next().unwrap_or_default();
        if matches!(host, "" | "-") {
            let help =
                "write {\"HOST\": OUTPUT}, or save the output in a file with the name of the host";
            let message = "the file does not contain the name of the host";
            return Err(ImportError::new(ProblemKind::Missing, 0..0, message).help(help));
        }
        let text = format!("the host is named `{}`, as the file", truncate_text(host));
        draft.assumptions.add_general(text);
        hosts.push((
            host.to_owned(),
            json::parse(draft.text, "JSON of LLDP")?,
            0..0,
        ));
    } else {
        for (name, raw) in document.0 {
            let (value, span): (Value, _) = json::parse_part(text, raw, "output of lldpctl")?;
            hosts.push((name, value, span));
        }
    }
    let mut found = Vec::new();
    for (host, value, span) in &hosts {
        let Some(lldp) = value.get("lldp") else {
            let message = format!("host `{}` has no `lldp`", truncate_text(host));
            return Err(ImportError::new(
                ProblemKind::Missing,
                span.clone(),
                message,
            ));
        };
        draft.add_node(host, &[], span.clone())?;
        for (interface, entry) in entries(first(lldp).get("interface"), "name") {
            found.push(neighbour(host, interface, entry, span.clone())?);
        }
    }
    // A neighbour with the full name of a host is that host.
    let reporting: HashSet<&str> = hosts.iter().map(|(host, ..)| host.as_str()).collect();
    for it in &mut found {
        let short = it.name.split('.').next().unwrap_or_default();
        if !reporting.contains(it.name.as_str()) && reporting.contains(short) {
            let text = format!(
                "neighbour `{}` is read as host `{}`",
                truncate_text(&it.name),
                truncate_text(short)
            );
            draft.assumptions.add_general(text);
            it.name = short.to_owned();
        }
    }
    add_links(draft, found, &reporting)
}

/// Adds the links. A link that both hosts report exists once.
fn add_links(
    draft: &mut TopologyBuilder<'_>,
    found: Vec<Neighbour>,
    reporting: &HashSet<&str>,
) -> ReadResult<()> {
    let mut waiting: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (place, it) in found.iter().enumerate() {
        waiting.entry((&it.host, &it.name)).or_default().push(place);
    }
    let mut ports = HashSet::new();
    for it in found
        .iter()
        .filter(|it| !ports.insert((&it.host, &it.interface)))
    {
        let about = Subject::Other(it.ends(), draft.line(&it.span));
        let text = "an interface has several neighbours: each is read as a link of its own";
        draft.assumptions.add(text, about);
    }
    let mut partner: Vec<Option<usize>> = vec![None; found.len()];
    let same_link = |a: &Neighbour, b: &Neighbour| {
        a.ports.contains(&b.interface) && b.ports.contains(&a.interface)
    };
    for by_name in [true, false] {
        for place in 0..found.len() {
            let it = &found[place];
            if partner[place].is_some() || it.host == it.name {
                continue;
            }
            let others = waiting.get(&(it.name.as_str(), it.host.as_str()));
            let other = others.into_iter().flatten().copied().find(|&other| {
                partner[other].is_none() && (!by_name || same_link(it, &found[other]))
            });
            let Some(other) = other else { continue };
            (partner[place], partner[other]) = (Some(other), Some(place));
            if !by_name {
                let about = Subject::Other(it.ends(), draft.line(&it.span));
                let text =
                    "interface names of both ends differ: their neighbours are paired in order";
                draft.assumptions.add(text, about);
            }
        }
    }
    for (place, it) in found.iter().enumerate() {
        if partner[place].is_some_and(|other| other < place) {
            continue;
        }
        if partner[place].is_none() && it.host != it.name && reporting.contains(it.name.as_str()) {
            let about = Subject::Other(it.ends(), draft.line(&it.span));
            draft.assumptions.add(
                "a link that only one of its hosts reports is imported",
                about,
            );
        }
        let from = draft.existing_node(&it.host, it.span.clone())?;
        let to = draft.node_or_new(&it.name, it.span.clone())?;
        let rates = [Some(place), partner[place]];
        let rate = rates
            .into_iter()
            .flatten()
            .find_map(|place| found[place].bps);
        let says = LinkAttributes {
            name: Some(single_line(&it.interface)),
            bandwidth: rate.map(|bps| (StatedQuantity::WithUnit(bps), it.span.clone())),
            ..LinkAttributes::default()
        };
        draft.add_link((from, to), false, says, it.span.clone())?;
    }
    Ok(())
}

/// An object with its keys in the order of the file.
struct Pairs<'t>(Vec<(String, &'t RawValue)>);

impl<'de> serde::Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Pairs<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// Returns a value, or the first of a list of values.
fn first(value: &Value) -> &Value {
    match value {
        Value::Array(list) => list.first().unwrap_or(&Value::Null),
        other => other,
    }
}

/// Returns named entries: `{"eth0": {…}}`, `[{"eth0": {…}}]`, or `[{"name": "eth0", …}]` of `json0`.
fn entries<'v>(value: Option<&'v Value>, key: &str) -> Vec<(&'v str, &'v Value)> {
    let list = match value {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(other) => vec![other],
        None => Vec::new(),
    };
    let mut found = Vec::new();
    for item in list {
        match (item.get(key).map(first_text), item) {
            (Some(Some(name)), _) => found.push((name, item)),
            (None, Value::Object(map)) => {
                found.extend(map.iter().map(|(name, value)| (name.as_str(), value)))
            }
            _ => {}
        }
    }
    found
}

/// Returns the text of a value, or of `[{"value": "text"}]` in `json0`.
fn first_text(value: &Value) -> Option<&str> {
    let value = first(value);
    value.as_str().or_else(|| value.get("value")?.as_str())
}

fn neighbour(
    host: &str,
    interface: &str,
    entry: &Value,
    span: Range<usize>,
) -> ReadResult<Neighbour> {
    let chassis = entry.get("chassis");
    let text = |value: Option<&Value>, key: &str| {
        value
            .and_then(|it| first_text(first(it).get(key)?))
            .map(str::to_owned)
    };
    // A chassis without a name is its attributes.
    let named =
        chassis.filter(|it| first(it).get("id").is_none() || first(it).get("name").is_some());
    let name = named.and_then(|it| {
        entries(Some(it), "name")
            .first()
            .map(|(name, _)| (*name).to_owned())
    });
    let Some(name) = name.or_else(|| text(chassis, "id")) else {
        let message = format!(
            "interface `{}` of `{}` has a neighbour without a name",
            truncate_text(interface),
            truncate_text(host)
        );
        return Err(ImportError::new(ProblemKind::Missing, span, message));
    };
    let port = entry.get("port");
    let ports = [text(port, "id"), text(port, "descr")];
    let negotiation = port.and_then(|it| first(it).get("auto-negotiation"));
    let current = text(negotiation, "current");
    Ok(Neighbour {
        host: host.to_owned(),
        interface: interface.to_owned(),
        name,
        ports: ports.into_iter().flatten().collect(),
        bps: current.and_then(|it| ethernet::rate_bps(&it)),
        span,
    })
}
