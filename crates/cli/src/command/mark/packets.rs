//! Reader of packet streams, from traces or tables.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

use netflow::diffserv::packet_table::{Packet, PacketReader, TableError};
use netflow::scenario::{Problem, ProblemKind, Severity};
use netflow::trace::{EventKind, Format, Link, Reader};
use netflow_files::BoundedLines;

use crate::command::trace::trace_files;
use crate::failure::Failure;
use crate::interrupt;
use crate::problems::Report;

/// Optional information that a stream contains.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamInfo {
    pub windows: bool,
    pub precedences: bool,
}

/// Calls `on` for every packet, in time order.
pub fn for_each_packet(
    file: &Path,
    link: Option<&str>,
    on: &mut dyn FnMut(Packet) -> io::Result<()>,
) -> Result<StreamInfo, Failure> {
    let is_table = file.extension().is_some_and(|extension| extension == "csv");
    if is_table && link.is_some() {
        return Err(Failure::usage(
            "--link requires an ns-2 trace: a table has no links",
        ));
    }
    if is_table {
        for_each_packet_of_table(file, on)
    } else {
        for_each_packet_of_trace(file, link, on)
    }
}

/// Reads the arrivals at the queue of one link of an ns-2 trace, or all packets of a capture.
fn for_each_packet_of_trace(
    file: &Path,
    link: Option<&str>,
    on: &mut dyn FnMut(Packet) -> io::Result<()>,
) -> Result<StreamInfo, Failure> {
    let mut reader = netflow::trace::open(file).map_err(trace_files::read_failure)?;
    reader.retain_kinds(&[EventKind::Enqueued]);
    if reader.format() != Format::Ns2 && link.is_some() {
        let message = format!("{} is a capture, which has no links", file.display());
        return Err(Failure::usage(message));
    }
    let mut links = RequestedLinks::new(link);
    while let Some(event) = reader.next().map_err(trace_files::read_failure)? {
        let arrives = matches!(event.kind, EventKind::Enqueued | EventKind::Captured);
        let at = event.link;
        let packet = Packet {
            time_s: event.time_ns as f64 / 1e9,
            bytes: event.packet.bytes,
            window_pkts: None,
            precedence: None,
        };
        if arrives && links.is_requested(at, &reader)? {
            on(packet)?;
        }
        if interrupt::requested() {
            return Err(interrupted(file));
        }
    }
    trace_files::warn_about_faults(file, &reader);
    links.check()?;
    Ok(StreamInfo::default())
}

/// The links of a trace, and which of them are requested.
struct RequestedLinks<'a> {
    requested: Option<&'a str>,
    is_requested_by_link: HashMap<Link, (String, bool)>,
}

impl<'a> RequestedLinks<'a> {
    fn new(wanted: Option<&'a str>) -> RequestedLinks<'a> {
        RequestedLinks {
            requested: wanted,
            is_requested_by_link: HashMap::new(),
        }
    }

    fn is_requested(&mut self, link: Option<Link>, reader: &Reader) -> Result<bool, Failure> {
        let Some(link) = link else { return Ok(true) };
        if let Some((_, wanted)) = self.is_requested_by_link.get(&link) {
            return Ok(*wanted);
        }
        let name = reader.names().link(link);
        let wanted = self.requested.is_none_or(|wanted| wanted == name);
        self.is_requested_by_link.insert(link, (name, wanted));
        match (self.requested, self.is_requested_by_link.len()) {
            (None, 2..) => Err(Failure::Usage {
                message: "the trace has several links; choose one with --link".to_owned(),
                help: Some(format!("links: {}", self.names())),
            }),
            _ => Ok(wanted),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        match self.requested {
            Some(name)
                if !self
                    .is_requested_by_link
                    .values()
                    .any(|(_, wanted)| *wanted) =>
            {
                Err(Failure::Usage {
                    message: format!("no packets arrive at link `{name}`"),
                    help: Some(format!("links: {}", self.names())),
                })
            }
            _ => Ok(()),
        }
    }

    fn names(&self) -> String {
        let mut all: Vec<_> = self.is_requested_by_link.iter().collect();
        all.sort_by_key(|(link, _)| **link);
        let names: Vec<&str> = all.iter().map(|(_, (name, _))| name.as_str()).collect();
        names.join(", ")
    }
}

/// Reads the rows of a table.
fn for_each_packet_of_table(
    file: &Path,
    on: &mut dyn FnMut(Packet) -> io::Result<()>,
) -> Result<StreamInfo, Failure> {
    let source = File::open(file).map_err(|source| read_failure(file, source))?;
    let packets =
        PacketReader::new(BoundedLines::new(source)).map_err(|error| table_failure(file, error))?;
    let seen = StreamInfo {
        windows: packets.has_windows(),
        precedences: packets.has_precedences(),
    };
    for packet in packets {
        on(packet.map_err(|error| table_failure(file, error))?)?;
        if interrupt::requested() {
            return Err(interrupted(file));
        }
    }
    Ok(seen)
}

fn interrupted(file: &Path) -> Failure {
    Failure::Interrupted(format!("stopped reading {}", file.display()))
}

fn read_failure(file: &Path, source: io::Error) -> Failure {
    Failure::File {
        action: "read",
        path: file.to_owned(),
        source,
    }
}

fn table_failure(file: &Path, error: TableError) -> Failure {
    match error {
        TableError::Csv(error) => match error.into_kind() {
            csv::ErrorKind::Io(source) => read_failure(file, source),
            other => Failure::usage(format!("{}: {other:?}", file.display())),
        },
        TableError::Field {
            line,
            column,
            span,
            message,
            allowed,
        } => Failure::Input(Report {
            problems: vec![Problem {
                severity: Severity::Error,
                kind: ProblemKind::BadValue,
                message,
                file: Some(file.to_owned()),
                span: Some(span),
                line: usize::try_from(line).ok(),
                column: Some(column),
                help: Some(allowed),
            }],
            unreadable: false,
        }),
    }
}
