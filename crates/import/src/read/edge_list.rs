//! CSV tables: of links, `from,to,bandwidth,delay`, or of demands, `from,to,rate`.

use std::ops::Range;

use csv::{ReaderBuilder, StringRecord, Trim};
use netflow_document::ProblemKind;
use netflow_units::BitsPerSecond;

use super::demands::{Demands, End, Row};
use super::node_table::Nodes;
use super::sndlib_native::number;
use crate::attributes::{self, Attribute, Stated, cut, is_of_link, near_of_link, with_point};
use crate::draft::Draft;
use crate::lines::lines;
use crate::wrong::{Read, Wrong};

const FROM: &[&str] = &["from", "source", "src", "a", "node1", "u"];
const TO: &[&str] = &[
    "to",
    "target",
    "dst",
    "dest",
    "destination",
    "b",
    "node2",
    "v",
];

/// A table with its columns found.
pub(super) struct Table<'t> {
    text: &'t str,
    columns: StringRecord,
    from: usize,
    to: usize,
    delimiter: u8,
}

/// Whether a table has demands: the nodes, a rate, and nothing else.
pub(super) fn has_demands(text: &str) -> bool {
    let Ok(table) = Table::of(text) else {
        return false;
    };
    let others: Vec<&str> = table.others().map(|(_, name)| name).collect();
    match others.as_slice() {
        [one] => is_demand(one),
        [one, other] => {
            (is_demand(one) && *other == "name") || (is_demand(other) && *one == "name")
        }
        _ => false,
    }
}

/// A column that is a rate of demands, and no bandwidth of links.
fn is_demand(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["demand", "rate", "volume", "traffic", "constant"];
    words
        .iter()
        .any(|word| name == *word || name.starts_with(&format!("{word}_")))
}

/// Links, between the nodes of another table, if there is one, and further ones.
pub(super) fn read(draft: &mut Draft<'_>, nodes: Option<&Nodes>) -> Read<()> {
    for (name, says) in nodes.iter().flat_map(|nodes| &nodes.rows) {
        draft.add_node_saying(name, says.clone(), 0..0)?;
    }
    for text in nodes.iter().flat_map(|nodes| &nodes.assumptions) {
        draft.assumptions.whole(text.clone());
    }
    let listed = draft.node_count();
    let table = Table::of(draft.text)?;
    for (_, name) in table.others() {
        let directed = name.eq_ignore_ascii_case("directed") || name.eq_ignore_ascii_case("duplex");
        if !directed && !is_of_link(name) {
            let near = near_of_link(name);
            let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            let text = format!(
                "the column `{}` says nothing that is known{near}",
                cut(name)
            );
            draft.assumptions.whole(text);
        }
    }
    let (mut undirected, mut known) = (true, false);
    table.rows(|row, span| {
        let from = draft.named(table.cell(row, table.from, &span)?, span.clone())?;
        let to = draft.named(table.cell(row, table.to, &span)?, span.clone())?;
        known |= from.min(to) < listed;
        let mut directed = false;
        let mut said = Vec::new();
        for (column, name) in table.others() {
            let value = row.get(column).unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "directed" => directed = truth(name, value, &span)?.unwrap_or(false),
                "duplex" => directed = !truth(name, value, &span)?.unwrap_or(true),
                _ => said.push(Attribute::new(name, value, span.clone())),
            }
        }
        undirected &= !directed;
        draft.add_link((from, to), directed, attributes::link(&said)?, span)
    })?;
    let unlisted = draft.node_count() - listed;
    if nodes.is_some() && unlisted > 0 {
        if !known {
            let message = "no link begins or ends at a node of the table of nodes";
            let help = "both tables have to call the nodes the same: that of nodes in a column `id`, `node` or `name`";
            return Err(Wrong::new(ProblemKind::UnknownName, 0..0, message).help(help));
        }
        let text = format!("{unlisted} of the links' nodes are not in the table of nodes");
        draft.assumptions.whole(text);
    }
    let says = |name: &str| {
        ["directed", "duplex"]
            .iter()
            .any(|it| name.eq_ignore_ascii_case(it))
    };
    if undirected && !table.others().any(|(_, name)| says(name)) {
        let silence = "there is no column `directed`";
        if !draft.settle_directions(silence) {
            draft
                .assumptions
                .whole(format!("links lead both ways: {silence}"));
        }
    }
    Ok(())
}

pub(super) fn demands(text: &str) -> Read<Demands> {
    let table = Table::of(text)?;
    let column = table.others().find(|(_, name)| is_demand(name));
    let (column, name) = column.unwrap_or_default();
    let unit = unit_of_column(name);
    let mut found = Vec::new();
    table.rows(|row, span| {
        let cell = table.cell(row, column, &span)?;
        let mut says_bytes = attributes::is_of_bytes(cell).then_some(cell);
        let rate = match (cell.parse::<BitsPerSecond>(), &unit) {
            (Ok(rate), _) => Stated::Sure(rate.get()),
            (Err(_), Ok(Some(unit))) => {
                says_bytes = unit.is_of_bytes.then_some(name);
                Stated::Sure(unit.bps * of_cell(cell, &span)?)
            }
            (Err(_), Ok(None)) => Stated::Bare(of_cell(cell, &span)?),
            (Err(_), Err(message)) => {
                of_cell(cell, &span)?;
                let help = "call the column `rate_bps`, `rate_kbps`, `rate_mbps`, `rate_gbps` or `rate_tbps`, or `rate` and write \
                            units beside the numbers";
                return Err(Wrong::value(span, message.clone()).help(help));
            }
        };
        found.push(Row {
            from: End::Name(table.cell(row, table.from, &span)?.to_owned()),
            to: End::Name(table.cell(row, table.to, &span)?.to_owned()),
            rate,
            bytes: says_bytes.map(str::to_owned),
            span,
        });
        Ok(())
    })?;
    Ok(Demands {
        rows: found,
        unit_bps: None,
    })
}

/// A unit of rates that the name of a column says.
struct Unit {
    bps: f64,
    is_of_bytes: bool,
}

/// The unit that the name of a column of demands says behind its first `_`, if it does: `demand_peak_mbps`. A word that is
/// none, where none says it, may be one that is not known; so may one of two that do.
fn unit_of_column(name: &str) -> Result<Option<Unit>, String> {
    // Words that are there beside a unit, or instead of one.
    const NEUTRAL: [&str; 17] = [
        "value", "mean", "avg", "average", "rate", "volume", "demand", "traffic", "load", "peak",
        "max", "min", "median", "total", "sum", "busy", "hour",
    ];
    let Some((_, behind)) = name.split_once('_') else {
        return Ok(None);
    };
    let unit = |word: &str| {
        let mut known = attributes::RATE_UNITS.iter();
        let (_, bps) = known.find(|(unit, _)| word.eq_ignore_ascii_case(unit))?;
        let is_of_bytes = attributes::counts_bytes(&format!("_{word}"), *bps);
        let bits = if is_of_bytes { 8.0 } else { 1.0 };
        Some(Unit {
            bps: bits * bps,
            is_of_bytes,
        })
    };
    let of_scenarios = |word: &str| {
        let one = format!("1 {word}").parse::<BitsPerSecond>().ok()?;
        Some(Unit {
            bps: one.get(),
            is_of_bytes: attributes::is_of_bytes(word),
        })
    };
    let mut units = behind
        .split('_')
        .filter_map(|word| unit(word).or_else(|| of_scenarios(word)));
    match (units.next(), units.next()) {
        (Some(unit), None) => Ok(Some(unit)),
        (Some(_), Some(_)) => Err(format!("`{}` says two units of rates", cut(name))),
        (None, _) => {
            let mut words = behind.split('_');
            let is_neutral = |word: &str| {
                let word = word.to_ascii_lowercase();
                NEUTRAL.contains(&&*word) || word.bytes().all(|byte| byte.is_ascii_digit())
            };
            match words.find(|word| !is_neutral(word)) {
                None => Ok(None),
                Some(word) => Err(format!(
                    "`{}` says no unit of rates: `{}`",
                    cut(name),
                    cut(word)
                )),
            }
        }
    }
}

fn of_cell(cell: &str, span: &Range<usize>) -> Read<f64> {
    number(cell, span).map_err(|wrong| with_point(wrong, cell))
}

fn truth(name: &str, value: &str, span: &Range<usize>) -> Read<Option<bool>> {
    match value.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "true" | "1" | "yes" => Ok(Some(true)),
        "false" | "0" | "no" => Ok(Some(false)),
        _ => {
            let message = format!("`{}` of `{name}` is neither true nor false", cut(value));
            Err(Wrong::value(span.clone(), message))
        }
    }
}

impl<'t> Table<'t> {
    /// What separates columns, and what they are called.
    pub(super) fn head(text: &str) -> Read<(u8, StringRecord)> {
        let text = text.trim_start_matches('\u{feff}');
        let (span, head) = first_line(text);
        let count = |c: char| head.matches(c).count();
        let delimiter = [b',', b'\t', b';']
            .into_iter()
            .max_by_key(|&it| count(char::from(it)));
        let delimiter = delimiter
            .filter(|&it| count(char::from(it)) > 0)
            .unwrap_or(b',');
        let mut reader = reader(delimiter).from_reader(text.as_bytes());
        match reader.headers() {
            Ok(columns) => Ok((delimiter, columns.clone())),
            Err(error) => Err(Wrong::syntax(span, format!("this is no CSV: {error}"))),
        }
    }

    /// Whose rows are about two nodes.
    pub(super) fn of(text: &'t str) -> Read<Table<'t>> {
        let (delimiter, columns) = Table::head(text)?;
        // Before columns are looked for: a node may be called `A` or `to`.
        if is_square(text, delimiter, &columns) {
            let message =
                "a row and a column for each node are a matrix of traffic, and no table".to_owned();
            let help = "write a row for each pair, with the columns `from,to,rate`".to_owned();
            let (span, _) = first_line(text.trim_start_matches('\u{feff}'));
            return Err(Wrong::new(ProblemKind::BadValue, span, message).help(help));
        }
        let find = |names: &[&str]| {
            columns
                .iter()
                .position(|it| names.contains(&it.to_ascii_lowercase().as_str()))
        };
        let (Some(from), Some(to)) = (find(FROM), find(TO)) else {
            let missing = if find(FROM).is_none() {
                ("from", FROM)
            } else {
                ("to", TO)
            };
            let message = format!("the first row has no column `{}`", missing.0);
            let help = format!(
                "it names the columns: one of {}, one of {}, and bandwidth, delay, km, metric, directed",
                FROM.join(", "),
                TO.join(", ")
            );
            let (span, _) = first_line(text.trim_start_matches('\u{feff}'));
            return Err(Wrong::new(ProblemKind::Missing, span, message).help(help));
        };
        Table::between(text, from, to)
    }

    /// With the columns that name nodes.
    pub(super) fn between(text: &'t str, from: usize, to: usize) -> Read<Table<'t>> {
        let (delimiter, columns) = Table::head(text)?;
        let text = text.trim_start_matches('\u{feff}');
        Ok(Table {
            text,
            columns,
            from,
            to,
            delimiter,
        })
    }

    /// The other columns.
    pub(super) fn others(&self) -> impl Iterator<Item = (usize, &str)> {
        let all = self.columns.iter().enumerate();
        all.filter(|(column, name)| ![self.from, self.to].contains(column) && !name.is_empty())
    }

    pub(super) fn rows(
        &self,
        mut each: impl FnMut(&StringRecord, Range<usize>) -> Read<()>,
    ) -> Read<()> {
        let mut reader = reader(self.delimiter).from_reader(self.text.as_bytes());
        let mut row = StringRecord::new();
        loop {
            let start = reader.position().byte() as usize;
            let more = reader.read_record(&mut row);
            let start = match row.position() {
                Some(position) => position.byte() as usize,
                None => start,
            };
            let line = self.text.get(start..).unwrap_or_default();
            let white = line.len() - line.trim_start().len();
            let (start, line) = (start + white, line.trim_start());
            let span = start..start + line.lines().next().map_or(0, str::len);
            match more {
                Ok(true) => each(&row, span)?,
                Ok(false) => return Ok(()),
                Err(error) => {
                    let message = match error.kind() {
                        csv::ErrorKind::UnequalLengths {
                            expected_len, len, ..
                        } => {
                            format!("this row has {len} cells, the first one {expected_len}")
                        }
                        _ => format!("this is no CSV: {error}"),
                    };
                    let wrong = Wrong::syntax(span, message);
                    return Err(match error.kind() {
                        csv::ErrorKind::UnequalLengths {
                            expected_len, len, ..
                        } if len > expected_len && self.delimiter == b',' => wrong.help(
                            "each comma begins a cell: the decimal mark is a point; quote texts that have commas",
                        ),
                        _ => wrong,
                    });
                }
            }
        }
    }

    pub(super) fn cell<'r>(
        &self,
        row: &'r StringRecord,
        column: usize,
        span: &Range<usize>,
    ) -> Read<&'r str> {
        let cell = row.get(column).filter(|cell| !cell.is_empty());
        cell.ok_or_else(|| {
            let name = self.columns.get(column).unwrap_or_default();
            let message = format!("the cell of `{}` is empty", cut(name));
            Wrong::new(ProblemKind::Missing, span.clone(), message)
        })
    }
}

/// Whether the rows begin with the names of the columns but the first, in any order.
fn is_square(text: &str, delimiter: u8, columns: &StringRecord) -> bool {
    let mut reader = reader(delimiter).from_reader(text.as_bytes());
    let rows = reader.records().map_while(Result::ok);
    let mut rows: Vec<String> = rows
        .take(columns.len())
        .filter_map(|row| row.get(0).map(str::to_owned))
        .collect();
    let mut columns: Vec<&str> = columns.iter().skip(1).collect();
    rows.sort_unstable();
    columns.sort_unstable();
    columns.len() > 1 && rows == columns
}

/// The line that names the columns, and its bytes.
fn first_line(text: &str) -> (Range<usize>, &str) {
    let head = lines(text).find(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (start, head) = head.unwrap_or_default();
    (start..start + head.len(), head)
}

fn reader(delimiter: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder
        .delimiter(delimiter)
        .trim(Trim::All)
        .comment(Some(b'#'));
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_rates_has_demands_and_one_of_bandwidths_links() {
        assert!(has_demands("from,to,rate\nA,B,1\n"));
        assert!(has_demands("from,to,rate_bps\nA,B,1\n"));
        assert!(!has_demands("from,to,bandwidth\nA,B,1\n"));
        assert!(!has_demands("from,to\nA,B\n"));
    }
}
