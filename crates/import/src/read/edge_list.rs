//! Reader of CSV tables: links, `from,to,bandwidth,delay`, or demands, `from,to,rate`.

use std::collections::HashMap;
use std::ops::Range;

use csv::{ReaderBuilder, StringRecord, Trim};
use netflow_document::{ProblemKind, Words};
use netflow_scenario::file::DemandKind;
use netflow_units::BitsPerSecond;

use super::demands::{DemandRow, Demands, NodeReference};
use super::node_table::Nodes;
use super::sndlib_native::number;
use crate::Subject;
use crate::attributes::{
    self, Attribute, StatedQuantity, is_link_attribute, nearest_link_attribute, normalize_name,
    single_line, truncate_text, with_separator_help,
};
use crate::errors::{ImportError, ReadResult};
use crate::label_bandwidth::{self, ByteUnit};
use crate::lines::lines;
use crate::topology_builder::TopologyBuilder;

/// Names of the columns with the ends, in lower case without punctuation, the likeliest first.
const FROM: &[&str] = &[
    "from",
    "source",
    "src",
    "origin",
    "fromnode",
    "sourcenode",
    "srcnode",
    "startnode",
    "startid",
    "node1",
    "nodea",
    "aend",
    "a",
    "u",
];
const TO: &[&str] = &[
    "to",
    "target",
    "dst",
    "dest",
    "destination",
    "tonode",
    "targetnode",
    "dstnode",
    "destinationnode",
    "endnode",
    "endid",
    "node2",
    "nodeb",
    "nodez",
    "zend",
    "bend",
    "b",
    "z",
    "v",
];
/// Names of further columns of demands, in addition to the ends and the rate.
const DEMAND_COLUMNS: &[&str] = &["name", "id", "class", "path", "kind"];

/// Returns the role of a column: its name in lower case without punctuation. Neo4j writes the role after
/// a colon: `:START_ID`, `node:ID(Router)`.
pub(super) fn role(name: &str) -> String {
    let name = name.split('(').next().unwrap_or_default();
    match name.rsplit_once(':') {
        Some((_, role @ ("ID" | "START_ID" | "END_ID"))) => normalize_name(role),
        _ => normalize_name(name),
    }
}

/// Returns the name of a column without the type suffix of Neo4j: `capacity` for `capacity:float`.
fn without_type(name: &str) -> &str {
    const TYPES: &[&str] = &["int", "long", "float", "double", "boolean", "string"];
    match name.rsplit_once(':') {
        Some((name, of)) if !name.is_empty() && TYPES.contains(&of) => name,
        _ => name,
    }
}

/// A table with the columns of the ends identified.
pub(super) struct Table<'t> {
    text: &'t str,
    /// Number of bytes of the file before the text.
    skipped: usize,
    columns: StringRecord,
    from: usize,
    to: usize,
    delimiter: u8,
}

/// Returns whether a table contains demands: either a matrix, or the ends and a rate without attributes
/// of links.
pub(super) fn has_demands(text: &str) -> bool {
    if is_matrix(text) {
        return true;
    }
    let Ok(table) = Table::of(text) else {
        return false;
    };
    let (rates, others): (Vec<&str>, Vec<&str>) = table
        .other_columns()
        .map(|(_, name)| name)
        .partition(|name| rate_unit_text(name).is_some());
    let [rate] = rates[..] else { return false };
    let known = |name: &&str| DEMAND_COLUMNS.contains(&&*role(name));
    let is_told = |name: &&str| !is_link_attribute(name) || role(name) == "type";
    // `rate` may be a bandwidth, `demand` may not.
    let or_bandwidth = is_link_attribute(rate);
    others.iter().all(known) || !or_bandwidth && others.iter().all(|it| known(it) || is_told(it))
}

/// Returns the part of a demand column's name that may be a unit: `mbps` for `demand_mbps` and for
/// `mbps`.
fn rate_unit_text(name: &str) -> Option<String> {
    const WORDS: &[&str] = &["demand", "rate", "volume", "traffic", "load", "constant"];
    let between = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '_');
    let words: Vec<&str> = name.split(between).filter(|it| !it.is_empty()).collect();
    match words.split_first() {
        Some((first, rest)) if WORDS.iter().any(|word| first.eq_ignore_ascii_case(word)) => {
            Some(rest.join("_"))
        }
        Some((only, [])) if attributes::is_rate_unit(only) => {
            parse_unit(only).map(|_| (*only).to_owned())
        }
        _ => None,
    }
}

/// Reads links. Their nodes may be those of a separate table, or new.
pub(super) fn read(draft: &mut TopologyBuilder<'_>, nodes: Option<&Nodes>) -> ReadResult<()> {
    for (name, says) in nodes.iter().flat_map(|nodes| &nodes.rows) {
        draft.add_node_with(name, says.clone(), 0..0)?;
    }
    for text in nodes.iter().flat_map(|nodes| &nodes.assumptions) {
        draft.assumptions.add_general(text.clone());
    }
    let listed = draft.node_count();
    let table = Table::of(draft.text)?;
    for (_, name) in table.other_columns() {
        let directed = name.eq_ignore_ascii_case("directed") || name.eq_ignore_ascii_case("duplex");
        if !directed && !is_link_attribute(name) {
            let near = nearest_link_attribute(name);
            let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            let text = format!("ignoring unknown column `{}`{near}", truncate_text(name));
            draft.assumptions.add_general(text);
        }
    }
    let (mut undirected, mut known) = (true, false);
    let mut seen: HashMap<Vec<String>, usize> = HashMap::new();
    table.rows(|row, span| {
        let cells = row.iter().map(str::to_owned).collect();
        let line = draft.line(&span);
        let first = *seen.entry(cells).or_insert(line);
        if first != line {
            let ends = [table.from, table.to].map(|end| truncate_text(row.get(end).unwrap_or_default()));
            let text = "a row is equal to an earlier row: read as one link; give parallel links different names in a column `name`";
            let about = Subject::Other(ends.join("--"), line);
            draft.assumptions.add(text, about);
            return Ok(());
        }
        let from = draft.node_or_new(table.cell(row, table.from, &span)?, span.clone())?;
        let to = draft.node_or_new(table.cell(row, table.to, &span)?, span.clone())?;
        known |= from.min(to) < listed;
        let mut directed = false;
        let mut said = Vec::new();
        for (column, name) in table.other_columns() {
            let value = row.get(column).unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "directed" => directed = parse_bool(name, value, &span)?.unwrap_or(false),
                "duplex" => directed = !parse_bool(name, value, &span)?.unwrap_or(true),
                _ => said.push(Attribute::new(name, value, span.clone())),
            }
        }
        undirected &= !directed;
        draft.add_link((from, to), directed, attributes::parse_link(&said)?, span)
    })?;
    let unlisted = draft.node_count() - listed;
    if nodes.is_some() && unlisted > 0 {
        if !known {
            let message = "no link refers to a node of the node table";
            let help = "use the same node names in both tables; the node table has them in a column `id`, `node` or `name`";
            return Err(ImportError::new(ProblemKind::UnknownName, 0..0, message).help(help));
        }
        let text = format!("{unlisted} nodes of links are not in the node table");
        draft.assumptions.add_general(text);
    }
    let says = |name: &str| {
        ["directed", "duplex"]
            .iter()
            .any(|it| name.eq_ignore_ascii_case(it))
    };
    if undirected && !table.other_columns().any(|(_, name)| says(name)) {
        let silence = "the table has no column `directed`";
        if !draft.infer_directions(silence) {
            draft.assumptions.add_general(format!(
                "links are read as bidirectional, because {silence}"
            ));
        }
    }
    Ok(())
}

pub(super) fn demands(text: &str) -> ReadResult<Demands> {
    if is_matrix(text) {
        return matrix(text);
    }
    let table = Table::of(text)?;
    let rate = table
        .other_columns()
        .find_map(|(column, name)| Some((column, name, rate_unit_text(name)?)));
    let (column, name, words) = rate.unwrap_or_default();
    let unit = parse_column_unit(name, &words);
    let mut found = Demands::default();
    for (_, name) in table.other_columns() {
        if rate_unit_text(name).is_none() && !DEMAND_COLUMNS.contains(&&*role(name)) {
            let name = truncate_text(name);
            let text = format!("ignoring unknown column `{name}` of the demands");
            found.assumptions.push(text);
        }
    }
    table.rows(|row, span| {
        let cell = table.cell(row, column, &span)?;
        let (rate, remark) = parse_demand_rate(cell, name, &unit, &span)?;
        let end = |column| -> ReadResult<NodeReference> {
            Ok(NodeReference::Name(
                table.cell(row, column, &span)?.to_owned(),
            ))
        };
        let mut demand = DemandRow::new(end(table.from)?, end(table.to)?, rate, span.clone());
        demand.remark = remark;
        for (column, name) in table.other_columns() {
            let value = row.get(column).unwrap_or_default();
            if value.is_empty() {
                continue;
            }
            match &*role(name) {
                "kind" => demand.kind = Some(parse_kind(value, &span)?),
                "class" => demand.class = Some(single_line(value)),
                "path" => {
                    let nodes = value.replace("->", ">");
                    demand.path = nodes.split('>').map(single_line).collect();
                }
                _ => {}
            }
        }
        found.rows.push(demand);
        Ok(())
    })?;
    Ok(found)
}

/// Reads a demand matrix. A cell contains the rate from the node of its row to the node of its column.
fn matrix(text: &str) -> ReadResult<Demands> {
    let table = Table::between(text, 0, 0)?;
    let corner = table.columns.get(0).unwrap_or_default();
    let unit = rate_unit_text(corner).map_or(Ok(None), |words| parse_column_unit(corner, &words));
    let mut found = Demands::default();
    found
        .assumptions
        .push("rows of the demand matrix are read as senders, columns as receivers".to_owned());
    table.rows(|row, span| {
        let from = table.cell(row, 0, &span)?;
        for (column, to) in table.columns.iter().enumerate().skip(1) {
            let cell = row.get(column).unwrap_or_default();
            if matches!(cell, "" | "-") {
                continue;
            }
            let (rate, remark) = parse_demand_rate(cell, corner, &unit, &span)?;
            if rate.is_zero() {
                found.zero_demands += 1;
                continue;
            }
            let [from, to] = [from, to].map(|end| NodeReference::Name(end.to_owned()));
            let mut demand = DemandRow::new(from, to, rate, span.clone());
            demand.remark = remark;
            demand.to_span = table.header_cell(column);
            found.rows.push(demand);
        }
        Ok(())
    })?;
    Ok(found)
}

fn parse_kind(value: &str, span: &Range<usize>) -> ReadResult<DemandKind> {
    DemandKind::named(&value.to_ascii_lowercase()).ok_or_else(|| {
        let message = format!("unknown kind `{}` of demands", truncate_text(value));
        let names: Vec<&str> = DemandKind::names().collect();
        let help = format!("allowed: {}", names.join(", "));
        ImportError::value(span.clone(), message).help(help)
    })
}

/// The text of a rate and a remark on its interpretation, if they are to be reported.
type Remark = Option<(String, &'static str)>;

/// Parses the rate in a cell of a demand column.
fn parse_demand_rate(
    cell: &str,
    name: &str,
    unit: &Result<Option<DemandUnit>, String>,
    span: &Range<usize>,
) -> ReadResult<(StatedQuantity, Remark)> {
    const BYTES: &str = ": read as bytes";
    if let Ok(rate) = cell.parse::<BitsPerSecond>() {
        let remark = attributes::is_byte_rate(cell).then(|| (cell.to_owned(), BYTES));
        return Ok((StatedQuantity::WithUnit(rate.get()), remark));
    }
    let number = match of_cell(cell, span) {
        Ok(number) => number,
        // Rates may have the notation of links: `10G`.
        Err(wrong) if cell.contains(|c: char| c.is_alphabetic()) => {
            let stated = label_bandwidth::parse_bandwidth(cell, ByteUnit::Bytes).ok_or(wrong)?;
            let bytes = if stated.bytes.is_some() { BYTES } else { "" };
            return Ok((
                StatedQuantity::WithUnit(stated.bps),
                Some((cell.to_owned(), bytes)),
            ));
        }
        Err(wrong) => return Err(wrong),
    };
    match unit {
        Ok(Some(unit)) => {
            let remark = unit.is_of_bytes.then(|| (name.to_owned(), BYTES));
            Ok((StatedQuantity::WithUnit(unit.bps * number), remark))
        }
        Ok(None) => Ok((StatedQuantity::WithoutUnit(number), None)),
        Err(message) => {
            let help = "name the column `rate_bps`, `rate_kbps`, `rate_mbps`, `rate_gbps` or `rate_tbps`, or `rate` and write units \
                        after the numbers";
            Err(ImportError::value(span.clone(), message.clone()).help(help))
        }
    }
}

/// A unit of rates from the name of a column.
struct DemandUnit {
    bps: f64,
    is_of_bytes: bool,
}

/// Parses a word as a unit, in the notation of column names or of scenarios.
fn parse_unit(word: &str) -> Option<DemandUnit> {
    let mut known = attributes::RATE_UNITS.iter();
    if let Some((_, bps)) = known.find(|(unit, _)| word.eq_ignore_ascii_case(unit)) {
        let is_of_bytes = attributes::has_byte_unit_suffix(&format!("_{word}"), *bps);
        let bits = if is_of_bytes { 8.0 } else { 1.0 };
        return Some(DemandUnit {
            bps: bits * bps,
            is_of_bytes,
        });
    }
    let one = format!("1 {word}").parse::<BitsPerSecond>().ok()?;
    Some(DemandUnit {
        bps: one.get(),
        is_of_bytes: attributes::is_byte_rate(word),
    })
}

/// Returns the unit among the words of a demand column's name after the first.
///
/// A word that is not a known unit is an error if no other word is one, and so are two units.
fn parse_column_unit(name: &str, words: &str) -> Result<Option<DemandUnit>, String> {
    // Words that may accompany or replace a unit.
    const NEUTRAL: [&str; 17] = [
        "value", "mean", "avg", "average", "rate", "volume", "demand", "traffic", "load", "peak",
        "max", "min", "median", "total", "sum", "busy", "hour",
    ];
    let words = || words.split('_').filter(|word| !word.is_empty());
    let mut units = words().filter_map(parse_unit);
    match (units.next(), units.next()) {
        (Some(unit), None) => Ok(Some(unit)),
        (Some(_), Some(_)) => Err(format!(
            "`{}` contains two units of rates",
            truncate_text(name)
        )),
        (None, _) => {
            let is_neutral = |word: &str| {
                let word = word.to_ascii_lowercase();
                NEUTRAL.contains(&&*word) || word.bytes().all(|byte| byte.is_ascii_digit())
            };
            match words().find(|word| !is_neutral(word)) {
                None => Ok(None),
                Some(word) => Err(format!(
                    "`{}` has no known unit of rates: `{}`",
                    truncate_text(name),
                    truncate_text(word)
                )),
            }
        }
    }
}

fn of_cell(cell: &str, span: &Range<usize>) -> ReadResult<f64> {
    number(cell, span).map_err(|wrong| with_separator_help(wrong, cell))
}

fn parse_bool(name: &str, value: &str, span: &Range<usize>) -> ReadResult<Option<bool>> {
    match value.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "true" | "1" | "yes" => Ok(Some(true)),
        "false" | "0" | "no" => Ok(Some(false)),
        _ => {
            let message = format!(
                "`{}` of `{name}` is neither true nor false",
                truncate_text(value)
            );
            Err(ImportError::value(span.clone(), message))
        }
    }
}

/// Returns the text without byte order mark and Excel's line `sep=;`, the length of these in bytes, and
/// the stated separator.
fn content(text: &str) -> (&str, usize, Option<u8>) {
    let bare = text.trim_start_matches('\u{feff}');
    let (first, rest) = bare.split_once('\n').unwrap_or((bare, ""));
    let separator = match first.trim().trim_matches('"').as_bytes() {
        [s, e, p, b'=', separator] if [s, e, p].map(u8::to_ascii_lowercase) == *b"sep" => {
            Some(*separator)
        }
        _ => None,
    };
    let rest = if separator.is_some() { rest } else { bare };
    (rest, text.len() - rest.len(), separator)
}

impl<'t> Table<'t> {
    /// Returns the byte range of a cell of the header; `None` if it is quoted.
    fn header_cell(&self, column: usize) -> Option<Range<usize>> {
        let (line, head) = first_line(self.text);
        if head.contains('"') {
            return None;
        }
        let cell = head.split(char::from(self.delimiter)).nth(column)?;
        let start = line.start + (cell.as_ptr() as usize - head.as_ptr() as usize);
        let start = start + (cell.len() - cell.trim_start().len());
        Some(start..start + cell.trim().len())
    }

    /// Returns the delimiter and the column names.
    pub(super) fn head(text: &str) -> ReadResult<(u8, StringRecord)> {
        let (span, head) = first_line(text);
        let (text, _, separator) = content(text);
        let count = |c: char| head.matches(c).count();
        let delimiter = [b',', b'\t', b';']
            .into_iter()
            .max_by_key(|&it| count(char::from(it)));
        let delimiter = delimiter
            .filter(|&it| count(char::from(it)) > 0)
            .unwrap_or(b',');
        let delimiter = separator.unwrap_or(delimiter);
        let mut reader = reader(delimiter).from_reader(text.as_bytes());
        match reader.headers() {
            Ok(columns) => Ok((delimiter, columns.clone())),
            Err(error) => Err(ImportError::syntax(span, format!("invalid CSV: {error}"))),
        }
    }

    /// Returns a table whose rows refer to two nodes.
    pub(super) fn of(text: &'t str) -> ReadResult<Table<'t>> {
        let (_, columns) = Table::head(text)?;
        let roles: Vec<String> = columns.iter().map(role).collect();
        let find = |names: &[&str]| {
            let place = |name: &&str| roles.iter().position(|role| role == name);
            names.iter().find_map(place)
        };
        let (Some(from), Some(to)) = (find(FROM), find(TO)) else {
            let missing = if find(FROM).is_none() { "from" } else { "to" };
            let message = format!("the table has no column `{missing}`");
            let help = "write a first row with the column names: `from`, `to`, and for example `bandwidth`, `delay`, `km`, `metric`, `directed`";
            let (span, _) = first_line(text);
            return Err(ImportError::new(ProblemKind::Missing, span, message).help(help));
        };
        Table::between(text, from, to)
    }

    /// Returns a table with the given columns for the ends.
    pub(super) fn between(text: &'t str, from: usize, to: usize) -> ReadResult<Table<'t>> {
        let (delimiter, columns) = Table::head(text)?;
        let (text, skipped, _) = content(text);
        Ok(Table {
            text,
            skipped,
            columns,
            from,
            to,
            delimiter,
        })
    }

    /// Returns the other columns.
    pub(super) fn other_columns(&self) -> impl Iterator<Item = (usize, &str)> {
        let all = self.columns.iter().enumerate();
        let others =
            all.filter(|(column, name)| ![self.from, self.to].contains(column) && !name.is_empty());
        others.map(|(column, name)| (column, without_type(name)))
    }

    pub(super) fn rows(
        &self,
        mut each: impl FnMut(&StringRecord, Range<usize>) -> ReadResult<()>,
    ) -> ReadResult<()> {
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
            let start = self.skipped + start;
            let span = start..start + line.lines().next().map_or(0, str::len);
            match more {
                Ok(true) => each(&row, span)?,
                Ok(false) => return Ok(()),
                Err(error) => {
                    let message = match error.kind() {
                        csv::ErrorKind::UnequalLengths {
                            expected_len, len, ..
                        } => {
                            format!(
                                "this row has {len} cells, but the first row has {expected_len}"
                            )
                        }
                        _ => format!("invalid CSV: {error}"),
                    };
                    let wrong = ImportError::syntax(span, message);
                    return Err(match error.kind() {
                        csv::ErrorKind::UnequalLengths {
                            expected_len, len, ..
                        } if len > expected_len && self.delimiter == b',' => wrong
                            .help("use a point as the decimal mark, and quote texts with commas"),
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
    ) -> ReadResult<&'r str> {
        let cell = row.get(column).filter(|cell| !cell.is_empty());
        cell.ok_or_else(|| {
            let name = self.columns.get(column).unwrap_or_default();
            let message = format!("the cell of `{}` is empty", truncate_text(name));
            ImportError::new(ProblemKind::Missing, span.clone(), message)
        })
    }
}

/// Returns whether a table is a matrix: the first cells of the rows are the names of the columns after
/// the first, in any order.
fn is_matrix(text: &str) -> bool {
    let Ok((delimiter, columns)) = Table::head(text) else {
        return false;
    };
    let (text, ..) = content(text);
    let mut reader = reader(delimiter).from_reader(text.as_bytes());
    let rows = reader.records().map_while(Result::ok);
    let mut rows: Vec<String> = rows
        .take(columns.len())
        .filter_map(|row| row.get(0).map(str::to_owned))
        .collect();
    let mut columns: Vec<&str> = columns.iter().skip(1).collect();
    rows.sort_unstable();
    columns.sort_unstable();
    if rows.len() != columns.len() {
        return false;
    }
    // One misspelt name is reported as an unknown node.
    let is_missing = |name: &&&str| rows.binary_search_by(|row| row.as_str().cmp(name)).is_err();
    match columns.len() {
        0..=1 => false,
        2..=3 => rows == columns,
        _ => columns.iter().filter(is_missing).count() <= 1,
    }
}

/// Returns the header line and its byte range.
fn first_line(text: &str) -> (Range<usize>, &str) {
    let (text, skipped, _) = content(text);
    let head = lines(text).find(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (start, head) = head.unwrap_or_default();
    let start = skipped + start;
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
    fn column_names_distinguish_demands_and_links() {
        assert!(has_demands("from,to,rate\nA,B,1\n"));
        assert!(has_demands("from,to,rate_bps\nA,B,1\n"));
        for head in [
            "Source,Destination,bps",
            "from,to,mbps",
            "from,to,Gbps",
            "from,to,Mbit/s",
            "from,to,volume",
            "origin,destination,demand",
            "from,to,Traffic (Mbit/s),comment",
            "from,to,rate,class,path,kind",
        ] {
            assert!(has_demands(&format!("{head}\nA,B,1\n")), "{head}");
        }
        assert!(has_demands("node,A,B\nB,1,2\nA,0,0\n"));
        assert!(!has_demands("from,to,rate,delay\nA,B,1,2\n"));
        assert!(!has_demands("from,to,demand,capacity\nA,B,1,2\n"));
        assert!(!has_demands("from,to,bit\nA,B,1\n"));
        assert!(!has_demands("from,to,bandwidth\nA,B,1\n"));
        assert!(!has_demands("from,to\nA,B\n"));
    }
}
