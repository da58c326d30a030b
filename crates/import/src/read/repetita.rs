//! Reader of the graphs of Repetita, `NODES n` and `EDGES m` with rows of words, and of its demands.

use std::ops::Range;

use netflow_document::ProblemKind;

use super::demands::{DemandRow, Demands, NodeReference};
use super::sndlib_native::number;
use crate::attributes::{Attribute, LinkAttributes, StatedQuantity, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::lines::{Word, lines, words};
use crate::topology_builder::TopologyBuilder;

/// Units of Repetita: kbit/s for rates, µs for delays.
const RATE_UNIT_BPS: f64 = 1e3;
const TIME_UNIT_S: f64 = 1e-6;

pub(super) fn graph(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    draft.rate_unit = Some(RATE_UNIT_BPS);
    draft.time_unit = TIME_UNIT_S;
    let mut rows = Rows::of(draft.text);
    for row in rows.section("NODES", "label x y")? {
        let [label, x, y] = row.as_slice() else {
            return Err(row_error(&row, "node", "label x y"));
        };
        // Labels often begin with the number of the node.
        let attributes = [
            Attribute::new(
                "label",
                name(label.text, draft.node_count()),
                label.span.clone(),
            ),
            Attribute::new("x", x.text, x.span.clone()),
            Attribute::new("y", y.text, y.span.clone()),
        ];
        number(x.text, &x.span)?;
        number(y.text, &y.span)?;
        let id = draft.node_count().to_string();
        draft.add_node(&id, &attributes, label.span.start..y.span.end)?;
    }
    for row in rows.section("EDGES", "label src dest weight bw delay")? {
        let [label, from, to, weight, bandwidth, delay] = row.as_slice() else {
            return Err(row_error(&row, "edge", "label src dest weight bw delay"));
        };
        let ends = (
            draft.existing_node(from.text, from.span.clone())?,
            draft.existing_node(to.text, to.span.clone())?,
        );
        let positive = |word: &Word<'_>| {
            let number = number(word.text, &word.span)?;
            if number >= 0.0 {
                Ok(number)
            } else {
                Err(ImportError::value(
                    word.span.clone(),
                    "the value is negative",
                ))
            }
        };
        let says = LinkAttributes {
            name: Some(label.text.to_owned()),
            metric: Some(positive(weight)?),
            bandwidth: Some((
                StatedQuantity::WithoutUnit(positive(bandwidth)?),
                bandwidth.span.clone(),
            )),
            delay: Some((
                StatedQuantity::WithoutUnit(positive(delay)?),
                delay.span.clone(),
            )),
            ..LinkAttributes::default()
        };
        draft.add_link(ends, true, says, label.span.start..delay.span.end)?;
    }
    rows.finish()
}

/// Returns the label without the number of the node as a prefix: `New York` for `0_New_York`.
fn name(label: &str, number: usize) -> String {
    let rest = label.strip_prefix(&format!("{number}_"));
    rest.filter(|rest| !rest.is_empty())
        .unwrap_or(label)
        .replace('_', " ")
}

pub(super) fn demands(text: &str) -> ReadResult<Demands> {
    let mut rows = Rows::of(text);
    let mut found = Vec::new();
    for row in rows.section("DEMANDS", "label src dest bw")? {
        let [label, from, to, rate] = row.as_slice() else {
            return Err(row_error(&row, "demand", "label src dest bw"));
        };
        let node = |word: &Word<'_>| {
            let number: Result<usize, _> = word.text.parse();
            number.map(NodeReference::Number).map_err(|_| {
                let message = format!("`{}` is not the number of a node", truncate_text(word.text));
                ImportError::value(word.span.clone(), message)
            })
        };
        found.push(DemandRow::new(
            node(from)?,
            node(to)?,
            StatedQuantity::WithoutUnit(number(rate.text, &rate.span)?),
            label.span.start..rate.span.end,
        ));
    }
    rows.finish()?;
    Ok(Demands {
        rows: found,
        unit_bps: Some(RATE_UNIT_BPS),
        ..Demands::default()
    })
}

fn row_error(row: &[Word<'_>], what: &str, like: &str) -> ImportError {
    ImportError::syntax(row_span(row), format!("invalid {what}")).help(format!("write {like}"))
}

fn row_span(row: &[Word<'_>]) -> Range<usize> {
    match (row.first(), row.last()) {
        (Some(first), Some(last)) => first.span.start..last.span.end,
        _ => 0..0,
    }
}

/// The rows of a file that are not empty.
struct Rows<'t> {
    rows: std::iter::Peekable<std::vec::IntoIter<Vec<Word<'t>>>>,
    end: usize,
}

impl<'t> Rows<'t> {
    fn of(text: &'t str) -> Rows<'t> {
        let rows = lines(text).map(|(start, line)| {
            let mark = '\u{feff}';
            let start = start
                + if line.starts_with(mark) {
                    mark.len_utf8()
                } else {
                    0
                };
            words(start, line.trim_start_matches(mark))
        });
        let said = rows.filter(|row| row.first().is_some_and(|word| !word.text.starts_with('#')));
        let rows: Vec<_> = said.collect();
        Rows {
            rows: rows.into_iter().peekable(),
            end: text.len(),
        }
    }

    /// Returns the rows of a section: a line `NAME count`, an optional header, and `count` rows.
    fn section(&mut self, name: &str, columns: &str) -> ReadResult<Vec<Vec<Word<'t>>>> {
        let head = self.rows.next().unwrap_or_default();
        let at = if head.is_empty() {
            self.end..self.end
        } else {
            row_span(&head)
        };
        let help = format!("write `{name} COUNT`, then a line `{columns}`, then the rows");
        let counted = match head.as_slice() {
            [word, count] if word.text == name => count.text.parse::<usize>().ok(),
            _ => None,
        };
        let Some(count) = counted else {
            let message = format!("expected `{name}` and a number");
            return Err(ImportError::syntax(at, message).help(help));
        };
        // The header may be missing.
        let names =
            |row: &Vec<Word<'_>>| columns.split(' ').next() == row.first().map(|word| word.text);
        self.rows.next_if(names);
        let mut found = Vec::new();
        while found.len() < count {
            match self.rows.next_if(|row| !is_head(row)) {
                Some(row) => found.push(row),
                None => {
                    let message = format!("expected {count} rows, found {}", found.len());
                    return Err(ImportError::new(ProblemKind::Missing, at, message));
                }
            }
        }
        if let Some(row) = self.rows.peek().filter(|row| !is_head(row)) {
            let message = format!("more rows than in `{name} {count}`");
            return Err(ImportError::syntax(row_span(row), message));
        }
        Ok(found)
    }

    fn finish(mut self) -> ReadResult<()> {
        match self.rows.next() {
            None => Ok(()),
            Some(row) => Err(ImportError::syntax(
                row_span(&row),
                "unexpected text after the last section",
            )),
        }
    }
}

fn is_head(row: &[Word<'_>]) -> bool {
    matches!(row, [name, count] if matches!(name.text, "NODES" | "EDGES" | "DEMANDS") && count.text.parse::<usize>().is_ok())
}
