//! The packets of a stream, from a trace or a table.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use csv::ByteRecord;
use netflow::diffserv::DropPrecedence;
use netflow::trace::{Format, Link, Reader, What};
use netflow_files::ShortLines;

use crate::failure::Failure;
use crate::problems::{Problem, Report, Severity};
use crate::{interrupt, trace};

/// One packet that is to be marked.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub time_s: f64,
    pub bytes: u32,
    /// Window of its connection, where that is known.
    pub window_pkts: Option<f64>,
    /// The colour it comes with.
    pub precedence: Option<DropPrecedence>,
}

/// What a stream tells of its packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub windows: bool,
    pub precedences: bool,
}

/// Hands over every packet in order of time.
pub fn each(
    file: &Path,
    link: Option<&str>,
    on: &mut dyn FnMut(Packet) -> io::Result<()>,
) -> Result<Seen, Failure> {
    let is_table = file.extension().is_some_and(|extension| extension == "csv");
    if is_table && link.is_some() {
        return Err(Failure::usage(
            "--link is for ns-2 traces: a table has no links",
        ));
    }
    match is_table {
        true => each_of_table(file, on),
        false => each_of_trace(file, link, on),
    }
}

/// What arrives at one link's queue of an ns-2 trace, or everything captured.
fn each_of_trace(
    file: &Path,
    link: Option<&str>,
    on: &mut dyn FnMut(Packet) -> io::Result<()>,
) -> Result<Seen, Failure> {
    let mut reader = netflow::trace::open(file).map_err(trace::cannot_read)?;
    reader.only(&[What::Enqueued]);
    if reader.format() != Format::Ns2 && link.is_some() {
        let message = format!("{} is a capture, which has no links", file.display());
        return Err(Failure::usage(message));
    }
    let mut links = Links::new(link);
    while let Some(event) = reader.next().map_err(trace::cannot_read)? {
        let arrives = matches!(event.what, What::Enqueued | What::Captured);
        let at = event.link;
        let packet = Packet {
            time_s: event.time_ns as f64 / 1e9,
            bytes: event.packet.bytes,
            window_pkts: None,
            precedence: None,
        };
        if arrives && links.is_wanted(at, &reader)? {
            on(packet)?;
        }
        if interrupt::requested() {
            let message = format!("stopped reading {}", file.display());
            return Err(Failure::Interrupted(message));
        }
    }
    trace::warn_of_faults(file, &reader);
    links.check()?;
    Ok(Seen::default())
}

/// The links of a trace, and which of them is asked for.
struct Links<'a> {
    wanted: Option<&'a str>,
    known: HashMap<Link, (String, bool)>,
}

impl<'a> Links<'a> {
    fn new(wanted: Option<&'a str>) -> Links<'a> {
        Links {
            wanted,
            known: HashMap::new(),
        }
    }

    fn is_wanted(&mut self, link: Option<Link>, reader: &Reader) -> Result<bool, Failure> {
        let Some(link) = link else { return Ok(true) };
        if let Some((_, wanted)) = self.known.get(&link) {
            return Ok(*wanted);
        }
        let name = reader.names().link(link);
        let wanted = self.wanted.is_none_or(|wanted| wanted == name);
        self.known.insert(link, (name, wanted));
        match (self.wanted, self.known.len()) {
            (None, 2..) => Err(Failure::Usage {
                message: "the trace has several links: say which with --link".to_owned(),
                help: Some(format!("such as {}", self.names())),
            }),
            _ => Ok(wanted),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        match self.wanted {
            Some(name) if !self.known.values().any(|(_, wanted)| *wanted) => Err(Failure::Usage {
                message: format!("no packet arrives at a link `{name}`"),
                help: Some(format!("links: {}", self.names())),
            }),
            _ => Ok(()),
        }
    }

    fn names(&self) -> String {
        let mut all: Vec<_> = self.known.iter().collect();
        all.sort_by_key(|(link, _)| **link);
        let names: Vec<&str> = all.iter().map(|(_, (name, _))| name.as_str()).collect();
        names.join(", ")
    }
}

/// The rows of a table.
fn each_of_table(
    file: &Path,
    on: &mut dyn FnMut(Packet) -> io::Result<()>,
) -> Result<Seen, Failure> {
    let source = File::open(file).map_err(|source| Failure::File {
        action: "read",
        path: file.to_owned(),
        source,
    })?;
    let mut rows = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(ShortLines::new(source));
    let header = rows
        .byte_headers()
        .map_err(|error| unreadable(file, error))?
        .clone();
    let columns = Columns::of(file, &header)?;
    let mut row = ByteRecord::new();
    let mut before_s = f64::NEG_INFINITY;
    while rows
        .read_byte_record(&mut row)
        .map_err(|error| unreadable(file, error))?
    {
        let row = Row { file, row: &row };
        let packet = columns.packet(&row)?;
        if packet.time_s < before_s {
            let message = "a packet that comes before the one above: times must not fall";
            return Err(row.wrong(columns.time_s, message, "sort the rows by time_s"));
        }
        before_s = packet.time_s;
        on(packet)?;
    }
    Ok(Seen {
        windows: columns.window_pkts.is_some(),
        precedences: columns.precedence.is_some(),
    })
}

fn unreadable(file: &Path, error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => Failure::File {
            action: "read",
            path: file.to_owned(),
            source,
        },
        other => Failure::usage(format!("{}: {other:?}", file.display())),
    }
}

/// Where the columns are.
struct Columns {
    time_s: usize,
    bytes: usize,
    window_pkts: Option<usize>,
    precedence: Option<usize>,
}

const NAMES: &str = "columns are time_s, bytes, window_pkts and precedence";

impl Columns {
    fn of(file: &Path, header: &ByteRecord) -> Result<Columns, Failure> {
        let row = Row { file, row: header };
        let mut found = [None; 4];
        for (i, name) in header.iter().enumerate() {
            let name = String::from_utf8_lossy(name);
            let known = ["time_s", "bytes", "window_pkts", "precedence"];
            match known.iter().position(|known| *known == name.trim()) {
                Some(place) if found[place].is_none() => found[place] = Some(i),
                Some(_) => {
                    let message = format!("column `{}` is there twice", name.trim());
                    return Err(row.wrong(i, &message, NAMES));
                }
                None => {
                    let message = format!("unknown column `{}`", name.trim());
                    return Err(row.wrong(i, &message, NAMES));
                }
            }
        }
        let [time_s, bytes, window_pkts, precedence] = found;
        let needed = |column: Option<usize>, name: &str| {
            column.ok_or_else(|| row.wrong(0, &format!("no column `{name}`"), NAMES))
        };
        Ok(Columns {
            time_s: needed(time_s, "time_s")?,
            bytes: needed(bytes, "bytes")?,
            window_pkts,
            precedence,
        })
    }

    fn packet(&self, row: &Row<'_>) -> Result<Packet, Failure> {
        let number = |column: usize, name: &str, allowed: Range<f64>| {
            let value = row.text(column).parse::<f64>();
            value
                .ok()
                .filter(|value| allowed.contains(value))
                .ok_or_else(|| {
                    let message = format!("`{name}` cannot be `{}`", row.text(column));
                    let Range { start, end } = allowed;
                    row.wrong(
                        column,
                        &message,
                        &format!("allowed: {start} to below {end:e}"),
                    )
                })
        };
        let bytes = row.text(self.bytes).parse::<u32>().map_err(|_| {
            let message = format!("`bytes` cannot be `{}`", row.text(self.bytes));
            row.wrong(
                self.bytes,
                &message,
                "allowed: whole numbers from 0 to 4294967295",
            )
        })?;
        let window_pkts = match self.window_pkts {
            Some(column) if !row.text(column).is_empty() => {
                Some(number(column, "window_pkts", 0.0..1e9)?)
            }
            _ => None,
        };
        let precedence = match self.precedence {
            Some(column) => Some(match row.text(column).as_str() {
                "0" => DropPrecedence::Dp0,
                "1" => DropPrecedence::Dp1,
                "2" => DropPrecedence::Dp2,
                other => {
                    let message = format!("`precedence` cannot be `{other}`");
                    return Err(row.wrong(column, &message, "allowed: 0, 1 or 2"));
                }
            }),
            None => None,
        };
        Ok(Packet {
            time_s: number(self.time_s, "time_s", 0.0..9e9)?,
            bytes,
            window_pkts,
            precedence,
        })
    }
}

/// A row with its place.
struct Row<'a> {
    file: &'a Path,
    row: &'a ByteRecord,
}

impl Row<'_> {
    fn text(&self, column: usize) -> String {
        let field = self.row.get(column).unwrap_or_default();
        String::from_utf8_lossy(field).trim().to_owned()
    }

    /// A problem at a field. Numbers are not quoted, so that fields and commas add up to the place.
    fn wrong(&self, column: usize, message: &str, help: &str) -> Failure {
        let fields = self.row.iter().take(column);
        let bytes: usize = fields.clone().map(|field| field.len() + 1).sum();
        let chars: usize = fields
            .map(|field| String::from_utf8_lossy(field).chars().count() + 1)
            .sum();
        let length = self.row.get(column).map_or(0, <[u8]>::len);
        let (line, start) = match self.row.position() {
            Some(position) => (position.line(), position.byte()),
            None => (1, 0),
        };
        let start = usize::try_from(start)
            .unwrap_or(usize::MAX)
            .saturating_add(bytes);
        Failure::Input(Report {
            problems: vec![Problem {
                severity: Severity::Error,
                message: message.to_owned(),
                file: Some(self.file.to_owned()),
                span: Some(start..start.saturating_add(length)),
                line: usize::try_from(line).ok(),
                column: Some(chars + 1),
                help: Some(help.to_owned()),
            }],
            unreadable: false,
        })
    }
}
