//! Reader of GML: lists of keys and values, `graph [ node [ id 0 label "A" ] edge [ source 0 target 1 ]
//! ]`.

use std::ops::Range;

use netflow_document::ProblemKind;

use crate::attributes::{self, Attribute, single_line, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;

/// Maximum depth of nested lists, which bounds the recursion.
const MAX_DEPTH: usize = 50;

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let mut parser = Parser {
        text: draft.text,
        at: draft.text.len() - draft.text.trim_start_matches('\u{feff}').len(),
    };
    let top = parser.list(None, 0)?;
    let mut graphs = top.iter().filter(|entry| entry.is("graph"));
    let Some(graph) = graphs.next() else {
        let help = "a GML file begins with `graph [`";
        return Err(
            ImportError::new(ProblemKind::Missing, 0..0, "the file has no `graph`").help(help),
        );
    };
    if let Some(second) = graphs.next() {
        let help = "write each graph to a separate file";
        let message = "the file has more than one `graph`";
        return Err(
            ImportError::new(ProblemKind::NotAvailable, second.key_span.clone(), message)
                .help(help),
        );
    }
    let graph = graph.entries()?;
    let said = |name: &str| {
        let entry = graph.iter().find(|entry| entry.key == name)?;
        entry
            .text()
            .map(single_line)
            .filter(|text| !text.is_empty())
    };
    draft.name = said("label")
        .or_else(|| said("name"))
        .or_else(|| said("Network"));
    for name in ["Network", "NetworkDate", "DateObtained", "Source", "Note"] {
        draft
            .origin
            .extend(said(name).map(|value| (name.to_owned(), value)));
    }
    let directed = said("directed").map(|value| value != "0");
    for node in graph.iter().filter(|entry| entry.is("node")) {
        let entries = node.entries()?;
        let id = node.value_of(entries, "id")?;
        let says = flat(entries);
        draft.add_node(&id, &says, node.span.clone())?;
    }
    for edge in graph.iter().filter(|entry| entry.is("edge")) {
        let entries = edge.entries()?;
        let from = draft.existing_node(&edge.value_of(entries, "source")?, edge.span.clone())?;
        let to = draft.existing_node(&edge.value_of(entries, "target")?, edge.span.clone())?;
        let says = flat(entries);
        let says: Vec<_> = says
            .into_iter()
            .filter(|it| !matches!(&*it.name, "source" | "target" | "id"))
            .collect();
        draft.add_link(
            (from, to),
            directed.unwrap_or(false),
            attributes::parse_link(&says)?,
            edge.span.clone(),
        )?;
    }
    if directed.is_none() {
        draft.infer_directions("the graph has no `directed`");
    }
    Ok(())
}

/// Returns the attributes of a list, including those of a nested `graphics [ x 1.0 y 2.0 ]`.
fn flat<'t>(entries: &[Entry<'t>]) -> Vec<Attribute<'t>> {
    let mut said = Vec::new();
    for entry in entries {
        match &entry.value {
            Value::Text(text) => {
                said.push(Attribute::new(entry.key, text.clone(), entry.span.clone()))
            }
            Value::List(inner) if entry.is("graphics") => {
                for inner in inner.iter().filter(|inner| inner.is("x") || inner.is("y")) {
                    if let Value::Text(text) = &inner.value {
                        said.push(Attribute::new(inner.key, text.clone(), inner.span.clone()));
                    }
                }
            }
            Value::List(_) => {}
        }
    }
    said
}

struct Entry<'t> {
    key: &'t str,
    key_span: Range<usize>,
    value: Value<'t>,
    /// Byte range from the key to the end of the value.
    span: Range<usize>,
}

enum Value<'t> {
    /// A number, or a string with its entities decoded.
    Text(String),
    List(Vec<Entry<'t>>),
}

impl<'t> Entry<'t> {
    fn is(&self, key: &str) -> bool {
        self.key.eq_ignore_ascii_case(key)
    }

    fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }

    fn entries(&self) -> ReadResult<&[Entry<'t>]> {
        match &self.value {
            Value::List(entries) => Ok(entries),
            Value::Text(_) => {
                let message = format!("`{}` has no list in brackets", self.key);
                Err(ImportError::syntax(self.span.clone(), message))
            }
        }
    }

    fn value_of(&self, entries: &[Entry<'_>], key: &str) -> ReadResult<String> {
        let value = entries
            .iter()
            .find(|entry| entry.is(key))
            .and_then(Entry::text);
        value.map(str::to_owned).ok_or_else(|| {
            let message = format!("this `{}` has no `{key}`", self.key);
            ImportError::new(ProblemKind::Missing, self.key_span.clone(), message)
        })
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Parses entries up to the closing bracket of the list opened at `opened`, or up to the end.
    fn list(&mut self, opened: Option<usize>, depth: usize) -> ReadResult<Vec<Entry<'t>>> {
        let mut entries = Vec::new();
        loop {
            self.skip();
            let rest = self.rest();
            if rest.starts_with(']') && opened.is_some() {
                self.at += 1;
                return Ok(entries);
            }
            if rest.is_empty() {
                return match opened {
                    None => Ok(entries),
                    Some(at) => Err(ImportError::syntax(at..at + 1, "this `[` is never closed")),
                };
            }
            entries.push(self.entry(depth)?);
        }
    }

    fn entry(&mut self, depth: usize) -> ReadResult<Entry<'t>> {
        let start = self.at;
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')));
        let key = &rest[..end.unwrap_or(rest.len())];
        if !key.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            let c = rest.chars().next().unwrap_or(' ');
            let message = format!(
                "a key is missing before `{}`",
                truncate_text(&c.to_string())
            );
            return Err(ImportError::syntax(start..start + c.len_utf8(), message));
        }
        self.at += key.len();
        let key_span = start..self.at;
        self.skip();
        let value = self.value(key, &key_span, depth)?;
        Ok(Entry {
            key,
            key_span,
            value,
            span: start..self.at,
        })
    }

    fn value(&mut self, key: &str, key_span: &Range<usize>, depth: usize) -> ReadResult<Value<'t>> {
        let start = self.at;
        let rest = self.rest();
        match rest.chars().next() {
            Some('[') if depth >= MAX_DEPTH => {
                let message = format!("more than {MAX_DEPTH} nested lists");
                Err(ImportError::new(
                    ProblemKind::TooLarge,
                    start..start + 1,
                    message,
                ))
            }
            Some('[') => {
                self.at += 1;
                self.list(Some(start), depth + 1).map(Value::List)
            }
            Some('"') => {
                let Some(length) = rest[1..].find('"') else {
                    return Err(ImportError::syntax(
                        start..start + 1,
                        "this string is never closed",
                    ));
                };
                self.at += length + 2;
                Ok(Value::Text(without_entities(&rest[1..=length])))
            }
            Some(']') | None => {
                let message = format!("`{key}` has no value");
                Err(ImportError::syntax(key_span.clone(), message))
            }
            Some(_) => {
                let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"'));
                let word = &rest[..end.unwrap_or(rest.len())];
                self.at += word.len();
                Ok(Value::Text(word.to_owned()))
            }
        }
    }
}

/// Decodes entities such as `&amp;` and `&#228;`. Other text is unchanged.
fn without_entities(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest
            .char_indices()
            .take(12)
            .find(|(_, c)| *c == ';')
            .map(|(end, _)| end);
        let entity = end.and_then(|end| Some((entity(&rest[1..end])?, end)));
        match entity {
            Some((c, end)) => {
                plain.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "lt" => Some('<'),
        "gt" => Some('>'),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_decoded() {
        assert_eq!(
            without_entities("Z&#252;rich &amp; &#xE4; &no; &"),
            "Zürich & ä &no; &"
        );
    }
}
