//! Qdiscs, classes and filters in the output of `tc` (text and JSON), and in commands of `tc`.

use std::ops::Range;

use netflow_document::ProblemKind;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::attributes::truncate_text;
use crate::errors::{ImportError, ReadResult};
use crate::lines;

/// A word and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Qdisc,
    Class,
    Filter,
}

impl Table {
    fn named(name: &str) -> Option<Table> {
        match name {
            "qdisc" => Some(Table::Qdisc),
            "class" => Some(Table::Class),
            "filter" => Some(Table::Filter),
            _ => None,
        }
    }
}

/// Where an object is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    Root,
    Ingress,
    Egress,
    Of(Id),
    /// Not stated.
    Unknown,
}

/// Number of a qdisc (`1:`) or a class (`1:10`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) major: u32,
    pub(super) minor: u32,
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.minor {
            0 => write!(f, "{:x}:", self.major),
            minor => write!(f, "{:x}:{minor:x}", self.major),
        }
    }
}

/// A qdisc, a class or a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) table: Table,
    /// Its kind, such as `netem`.
    pub(super) kind: String,
    pub(super) id: Id,
    pub(super) parent: Parent,
    /// Number of the qdisc below a class.
    pub(super) leaf: Option<Id>,
    pub(super) device: Option<String>,
    pub(super) options: Vec<Word>,
    /// Options of the size table (`tc-stab`).
    pub(super) size_table: Vec<Word>,
    /// True if it is from a command, which states all its options.
    pub(super) is_command: bool,
    pub(super) span: Range<usize>,
}

impl Object {
    fn new(table: Table, is_command: bool, span: Range<usize>) -> Object {
        Object {
            table,
            kind: String::new(),
            id: Id::default(),
            parent: Parent::Unknown,
            leaf: None,
            device: None,
            options: Vec::new(),
            size_table: Vec::new(),
            is_command,
            span,
        }
    }
}

/// Words that begin a line of a size table.
const SIZE_TABLE: [&str; 5] = ["linklayer", "overhead", "mpu", "mtu", "tsize"];

/// Returns all objects of a text.
pub(super) fn objects(text: &str) -> ReadResult<Vec<Object>> {
    let content = text.trim_start_matches('\u{feff}');
    if content.trim_start().starts_with('[') {
        return from_json(text, content);
    }
    let mut found: Vec<Object> = Vec::new();
    for (start, line) in super::super::ns2::logical_lines(text) {
        let words = lines::words(start, &line);
        let words: Vec<Word> = words
            .into_iter()
            .take_while(|word| !word.text.starts_with('#'))
            .map(|word| Word {
                text: word.text.trim_matches(['"', '\'']).to_owned(),
                span: word.span,
            })
            .collect();
        let Some(first) = words.first() else {
            continue;
        };
        let span = first.span.start..words[words.len() - 1].span.end;
        if line.starts_with(char::is_whitespace)
            && let Some(object) = found.last_mut().filter(|it| !it.is_command)
            && first.text != "tc"
        {
            match object.table {
                Table::Filter => object.options.extend(words),
                Table::Qdisc if SIZE_TABLE.contains(&&*first.text) => {
                    object.size_table.extend(words);
                }
                // Counters of `tc -s`.
                Table::Qdisc | Table::Class => {}
            }
            continue;
        }
        if let Some(table) = Table::named(&first.text) {
            found.push(shown(table, &words[1..], span)?);
            continue;
        }
        let words = match first.text.as_str() {
            "sudo" => &words[1..],
            _ => &words[..],
        };
        match words {
            [tc, rest @ ..] if tc.text == "tc" || tc.text.ends_with("/tc") => {
                found.extend(command(rest, span)?);
            }
            [word, ..] if word.text == "set" || word.text.contains('=') => {}
            _ => {
                let message = format!(
                    "`{}` begins neither an output of tc nor a command",
                    truncate_text(&first.text)
                );
                return Err(ImportError::syntax(span, message).help(
                    "keep the output of `tc -d qdisc show dev eth0` and `tc -d class show dev eth0`, or the tc commands \
                     of one interface",
                ));
            }
        }
    }
    Ok(found)
}

/// Parses a line of output: `qdisc netem 8001: root refcnt 2 limit 1000 delay 50ms`.
fn shown(table: Table, words: &[Word], span: Range<usize>) -> ReadResult<Object> {
    let mut object = Object::new(table, false, span.clone());
    let mut rest = words;
    if table != Table::Filter {
        let [kind, id, after @ ..] = words else {
            return Err(ImportError::syntax(
                span,
                "the line has no kind and number of a qdisc or class",
            ));
        };
        object.kind = kind.text.clone();
        object.id = parse_id(id)?;
        rest = after;
    }
    loop {
        rest = match rest {
            [key, value, after @ ..] if key.text == "dev" => {
                object.device = Some(value.text.clone());
                after
            }
            [key, value, after @ ..] if key.text == "parent" => {
                object.parent = parse_parent(value)?;
                after
            }
            [key, value, after @ ..] if key.text == "leaf" && table == Table::Class => {
                object.leaf = Some(parse_id(value)?);
                after
            }
            [key, _, after @ ..] if key.text == "refcnt" => after,
            [key, after @ ..] if key.text == "root" => {
                object.parent = Parent::Root;
                after
            }
            [key, after @ ..] if key.text == "ingress" => {
                object.parent = Parent::Ingress;
                after
            }
            [key, after @ ..] if key.text == "egress" => {
                object.parent = Parent::Egress;
                after
            }
            [key, after @ ..] if key.text == "offloaded" => after,
            _ => break,
        };
    }
    object.options = rest.to_vec();
    if matches!(object.kind.as_str(), "ingress" | "clsact") {
        object.parent = Parent::Ingress;
    }
    Ok(object)
}

/// Parses a command: `qdisc add dev eth0 root netem delay 50ms`. Returns `None` if it creates nothing.
fn command(words: &[Word], span: Range<usize>) -> ReadResult<Option<Object>> {
    let flags = words.iter().take_while(|word| word.text.starts_with('-'));
    let words = &words[flags.count()..];
    let [table, verb, rest @ ..] = words else {
        return Err(ImportError::syntax(span, "the tc command is incomplete"));
    };
    let Some(kind) = Table::named(&table.text) else {
        let message = format!("`tc {}` is not supported", truncate_text(&table.text));
        return Err(
            ImportError::new(ProblemKind::NotAvailable, table.span.clone(), message)
                .help("keep the commands of `tc qdisc`, `tc class` and `tc filter`"),
        );
    };
    match verb.text.as_str() {
        "add" | "replace" | "change" | "link" => {}
        "del" | "delete" | "show" | "list" | "ls" => return Ok(None),
        _ => {
            let message = format!("`{}` is not a verb of tc", truncate_text(&verb.text));
            return Err(ImportError::value(verb.span.clone(), message).help("write `add`"));
        }
    }
    let mut object = Object::new(kind, true, span);
    let mut rest = rest;
    loop {
        rest = match rest {
            [key, value, after @ ..] if key.text == "dev" => {
                object.device = Some(value.text.clone());
                after
            }
            [key, value, after @ ..] if key.text == "parent" => {
                object.parent = parse_parent(value)?;
                after
            }
            [key, value, after @ ..] if matches!(key.text.as_str(), "handle" | "classid") => {
                object.id = parse_id(value)?;
                after
            }
            [key, after @ ..] if key.text == "root" => {
                object.parent = Parent::Root;
                after
            }
            [key, after @ ..] if key.text == "ingress" => {
                object.parent = Parent::Ingress;
                if kind == Table::Qdisc {
                    object.kind = key.text.clone();
                }
                after
            }
            [key, after @ ..] if key.text == "egress" => {
                object.parent = Parent::Egress;
                after
            }
            [key, after @ ..] if key.text == "stab" => {
                let mut after = after;
                while let [key, value, further @ ..] = after
                    && SIZE_TABLE.contains(&&*key.text)
                {
                    object.size_table.extend([key.clone(), value.clone()]);
                    after = further;
                }
                after
            }
            _ => break,
        };
    }
    if kind == Table::Filter {
        object.options = rest.to_vec();
        return Ok(Some(object));
    }
    if let [kind, options @ ..] = rest {
        object.kind = kind.text.clone();
        object.options = options.to_vec();
    }
    if object.kind == "clsact" {
        object.parent = Parent::Ingress;
    }
    if object.kind.is_empty() {
        let message = "the command does not name a qdisc";
        return Err(ImportError::syntax(object.span, message).help("add its kind, such as netem"));
    }
    Ok(Some(object))
}

fn parse_parent(word: &Word) -> ReadResult<Parent> {
    let id = parse_id(word)?;
    Ok(match (id.major, id.minor) {
        (0xffff, 0xfff3) => Parent::Egress,
        (0xffff, _) => Parent::Ingress,
        _ => Parent::Of(id),
    })
}

/// Parses a number such as `1:10`, whose parts are hexadecimal.
fn parse_id(word: &Word) -> ReadResult<Id> {
    let (major, minor) = word.text.split_once(':').unwrap_or((&word.text, ""));
    let part = |text: &str| match text {
        "" => Some(0),
        _ => u32::from_str_radix(text, 16)
            .ok()
            .filter(|it| *it <= 0xffff),
    };
    match (part(major), part(minor)) {
        (Some(major), Some(minor)) => Ok(Id { major, minor }),
        _ => {
            let message = format!(
                "`{}` is not the number of a qdisc or class",
                truncate_text(&word.text)
            );
            Err(ImportError::value(word.span.clone(), message).help("write 1: or 1:10"))
        }
    }
}

/// Returns the objects of the JSON arrays of `tc -j`.
fn from_json(text: &str, content: &str) -> ReadResult<Vec<Object>> {
    let mut found = Vec::new();
    let arrays = serde_json::Deserializer::from_str(content).into_iter::<Vec<&RawValue>>();
    for array in arrays {
        let array = array.map_err(|error| {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            ImportError::syntax(0..0, format!("invalid JSON of tc: {message}"))
        })?;
        for raw in array {
            let start = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            let first_line = raw.get().lines().next().map_or(0, str::len);
            found.extend(json_object(raw.get(), start..start + first_line)?);
        }
    }
    Ok(found)
}

fn json_object(text: &str, span: Range<usize>) -> ReadResult<Option<Object>> {
    let Ok(Value::Object(all)) = serde_json::from_str(text) else {
        return Err(ImportError::syntax(span, "this is not an object of tc"));
    };
    if all.is_empty() {
        return Ok(None);
    }
    let word = |text: &str| Word {
        text: text.to_owned(),
        span: span.clone(),
    };
    let string = |key: &str| all.get(key).and_then(Value::as_str);
    let kind = string("kind").or(string("class"));
    let table = match (kind, all.contains_key("class"), all.contains_key("pref")) {
        (None, ..) => {
            let message = "the object has no `kind`";
            return Err(ImportError::new(ProblemKind::Missing, span, message));
        }
        (_, true, _) => Table::Class,
        (_, _, true) => Table::Filter,
        _ => Table::Qdisc,
    };
    let mut object = Object::new(table, false, span.clone());
    object.kind = kind.unwrap_or_default().to_owned();
    if let Some(id) = string("handle") {
        object.id = parse_id(&word(id))?;
    }
    object.device = string("dev").map(str::to_owned);
    if let Some(parent) = string("parent") {
        object.parent = parse_parent(&word(parent))?;
    } else if all.contains_key("root") {
        object.parent = Parent::Root;
    }
    if let Some(leaf) = string("leaf") {
        object.leaf = Some(parse_id(&word(leaf))?);
    }
    if matches!(object.kind.as_str(), "ingress" | "clsact") {
        object.parent = Parent::Ingress;
    }
    if table == Table::Filter {
        if text.contains("\"police\"") {
            let message = "tc -j does not print the rate of a policer";
            return Err(
                ImportError::new(ProblemKind::NotAvailable, span.clone(), message)
                    .help("use the output of `tc filter show` without -j"),
            );
        }
        return Ok(Some(object));
    }
    const PLACE: [&str; 10] = [
        "kind", "class", "handle", "dev", "parent", "root", "leaf", "refcnt", "options", "stab",
    ];
    let nested = all.get("options").and_then(Value::as_object);
    let outer = all.iter().filter(|(key, _)| !PLACE.contains(&&***key));
    for (key, value) in nested.into_iter().flatten().chain(outer) {
        // Counters of `tc -s` are outside of the options of a qdisc.
        if table == Table::Qdisc && nested.is_some_and(|it| !it.contains_key(key)) {
            continue;
        }
        let words = json_option(&object.kind, key, value);
        object.options.extend(words.iter().map(|it| word(it)));
    }
    let size_table = all.get("stab").and_then(Value::as_object);
    for (key, value) in size_table.into_iter().flatten() {
        let words = json_option("stab", key, value);
        object.size_table.extend(words.iter().map(|it| word(it)));
    }
    Ok(Some(object))
}

/// Returns an option of JSON as in the text. In JSON, rates are in bytes per second, times of netem in seconds, other
/// times in microseconds, and probabilities are fractions.
fn json_option(kind: &str, key: &str, value: &Value) -> Vec<String> {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64).unwrap_or_default();
    let percent = |value: Option<&Value>| format!("{}%", (number(value) * 1e14).round() / 1e12);
    let netem = || -> Option<Vec<String>> {
        let fields = value.as_object()?;
        let field = |name: &str| fields.get(name);
        let correlation = match number(field("correlation")) {
            0.0 => None,
            _ => Some(percent(field("correlation"))),
        };
        let mut words = match key {
            "delay" => {
                let mut words = vec!["delay".to_owned(), format!("{}s", number(field("delay")))];
                if number(field("jitter")) > 0.0 {
                    words.push(format!("{}s", number(field("jitter"))));
                }
                words
            }
            "loss-random" => vec![
                "loss".to_owned(),
                "random".to_owned(),
                percent(field("loss")),
            ],
            "loss-state" | "loss-gemodel" => {
                let names: &[&str] = match key {
                    "loss-state" => &["p13", "p31", "p32", "p23", "p14"],
                    _ => &["p", "r", "1-h", "1-k"],
                };
                let mut words = vec![
                    "loss".to_owned(),
                    key.trim_start_matches("loss-").to_owned(),
                ];
                words.extend(names.iter().map(|name| percent(field(name))));
                return Some(words);
            }
            "rate" => {
                let mut words = vec![
                    "rate".to_owned(),
                    format!("{}bit", number(field("rate")) * 8.0),
                ];
                for name in ["packetoverhead", "cellsize", "celloverhead"] {
                    words.extend([name.to_owned(), number(field(name)).to_string()]);
                }
                return Some(words);
            }
            "slot" if field("min-delay").is_some() => {
                let times = ["min-delay", "max-delay"];
                let times = times.map(|name| format!("{}s", number(field(name))));
                let mut words = vec!["slot".to_owned()];
                words.extend(times);
                for name in ["packets", "bytes"] {
                    words.extend([name.to_owned(), number(field(name)).to_string()]);
                }
                return Some(words);
            }
            "slot" => vec![key.to_owned(), "distribution".to_owned()],
            _ => vec![key.to_owned(), percent(field(key))],
        };
        words.extend(correlation);
        Some(words)
    };
    match (kind, key, value) {
        ("netem", _, Value::Object(_)) => netem().unwrap_or_default(),
        (_, _, Value::Bool(false)) => Vec::new(),
        (_, _, Value::Bool(true) | Value::Null) => vec![key.replace('_', "-")],
        ("cake", "ack-filter", Value::String(state)) => vec![match state.as_str() {
            "disabled" => "no-ack-filter".to_owned(),
            "enabled" => "ack-filter".to_owned(),
            state => format!("ack-filter-{state}"),
        }],
        ("cake", "diffserv" | "flowmode" | "atm" | "autorate", Value::String(name)) => {
            vec![name.clone()]
        }
        ("cake", "fwmark", _) => Vec::new(),
        (_, _, Value::String(text)) => vec![key.to_owned(), text.clone()],
        (_, "rate" | "peakrate" | "ceil" | "bandwidth", Value::Number(_)) => {
            vec![key.to_owned(), format!("{}bit", number(Some(value)) * 8.0)]
        }
        (_, "lat" | "target" | "interval" | "tupdate" | "ce_threshold" | "rtt", _) => {
            vec![key.to_owned(), format!("{}us", number(Some(value)))]
        }
        // netem prints 0 for no gap.
        ("netem", "gap", _) if number(Some(value)) == 0.0 => Vec::new(),
        _ => vec![key.to_owned(), number(Some(value)).to_string()],
    }
}
