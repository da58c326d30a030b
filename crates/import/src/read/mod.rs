//! Readers: conversion of files to a topology.

mod batfish;
mod containerlab;
mod demands;
mod edge_list;
mod ethernet;
mod gml;
mod graphml;
mod isis;
mod json;
mod link_state;
mod lldp;
mod matrix;
mod net2plan;
mod netbox;
mod netlab;
mod node_link;
mod node_table;
mod ns2;
mod ospf;
mod repetita;
mod sndlib_native;
mod sndlib_xml;
mod tc;
mod teavar;
mod xml;
mod yaml;

use std::path::Path;

use netflow_document::{FileId, Findings, ProblemKind, Problems, SourceSpan, Sources};
use netflow_files::{FileKind, ReadError, STANDARD_INPUT, read_text};
use netflow_units::BitsPerSecond;

use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;
use crate::{Assumption, Format, Topology};
pub(crate) use batfish::has_edges;
use demands::Demands;
pub(crate) use isis::database_level;
pub(crate) use matrix::is_matrix;
use netbox::Interfaces;
pub(crate) use netbox::{has_cables, has_interfaces};
use node_table::Nodes;

/// Options of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// The format; `None` to detect it.
    pub format: Option<Format>,
    /// Unit of rates without one, in bit/s; `None` to derive it from the format and the numbers.
    pub rate_unit_bps: Option<f64>,
    /// Unit of delays without one, in seconds; `None` to derive it from the format.
    pub time_unit_s: Option<f64>,
    /// Kind of coordinates if the file does not state it; `None` to derive it from the numbers.
    pub coordinates: Option<Coordinates>,
}

/// A kind of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates {
    /// Longitude and latitude in degrees.
    Degrees,
    /// Positions on a picture.
    Plane,
}

/// Reads a file with a network, and files with demands between its nodes.
///
/// # Errors
/// Problems of the first file that cannot be read.
pub fn read(paths: &[&Path], reading: &Reading) -> Result<Topology, Problems> {
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    let mut files = Vec::new();
    for path in paths {
        let text = match read_text(path, FileKind::Topology) {
            Ok(text) => text,
            Err(refusal) => {
                return Err(python_data(path, &refusal)
                    .unwrap_or_else(|| netflow_document::unreadable_file(path, refusal, "")));
            }
        };
        files.push((*path, sources.add(path, text)));
    }
    let texts = files
        .iter()
        .map(|(path, (file, text))| (*path, *file, text.as_str()));
    read_all(texts.collect(), reading, &mut findings).ok_or_else(|| findings.into_problems(sources))
}

/// Returns the refusal of a pickle or an array of NumPy, with the command that converts a matrix in it to a text.
/// Reading a pickle would execute it.
fn python_data(path: &Path, refusal: &ReadError) -> Option<Problems> {
    let is_binary =
        matches!(refusal, ReadError::NotUtf8 { valid_prefix, .. } if valid_prefix.is_empty());
    if !is_binary || path == Path::new(STANDARD_INPUT) {
        return None;
    }
    let bytes = netflow_files::read(path, FileKind::Topology).ok()?;
    let (what, load) = match bytes.as_slice() {
        [0x80, 2..=5, ..] => ("a pickle of Python", "numpy.load(file, allow_pickle=True)"),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => ("an array of NumPy", "numpy.load(file)"),
        _ => return None,
    };
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    let place = SourceSpan::new(sources.add_unreadable(path), 0..0);
    let message = format!("the file is {what}, which netflow does not read");
    let help = format!(
        "convert a matrix that you trust: python3 -c 'import numpy, sys; file = sys.argv[1]; numpy.savetxt(file + \".txt\", {load})' FILE"
    );
    findings
        .error(ProblemKind::NotAvailable, place, message)
        .set_help(help);
    Some(findings.into_problems(sources))
}

/// Reads a text. The format is detected by the content, otherwise by the file name.
///
/// # Errors
/// Problems of the text.
pub fn from_text(name: &str, text: &str, reading: &Reading) -> Result<Topology, Problems> {
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    let (file, text) = sources.add(Path::new(name), text.to_owned());
    let texts = vec![(Path::new(name), file, text.as_str())];
    read_all(texts, reading, &mut findings).ok_or_else(|| findings.into_problems(sources))
}

/// The text of a file.
type SourceText<'t> = (&'t Path, FileId, &'t str);

/// Combines all texts into one network: one text has links, the others demands.
fn read_all(
    texts: Vec<SourceText<'_>>,
    reading: &Reading,
    findings: &mut Findings,
) -> Option<Topology> {
    let mut network: Option<(TopologyBuilder<'_>, FileId)> = None;
    let mut demands: Vec<(FileId, &str, Demands)> = Vec::new();
    let count = texts.len();
    let format = |path: &Path, text: &str| reading.format.or_else(|| Format::of(path, text));
    let is_csv = |path: &Path, text: &str| format(path, text) == Some(Format::EdgeList);
    let mut nodes: Option<Nodes> = None;
    let has_nodes =
        |&(path, _, text): &SourceText<'_>| is_csv(path, text) && node_table::has_nodes(text);
    let (tables, texts): (Vec<SourceText<'_>>, Vec<_>) = texts.into_iter().partition(has_nodes);
    for &(_, file, text) in &tables {
        let read = match nodes {
            Some(_) => {
                let wrong = ImportError::syntax(0..0, "this is a second node table");
                Err(wrong.help("merge the node tables"))
            }
            None => node_table::read(text),
        };
        match read {
            Ok(read) => nodes = Some(read),
            Err(wrong) => {
                wrong.report(file, findings);
                return None;
            }
        }
    }
    let (ports, texts): (Vec<SourceText<'_>>, Vec<_>) =
        texts.into_iter().partition(|&(path, _, text)| {
            has_interfaces(text) && format(path, text) == Some(Format::NetBox)
        });
    let mut interfaces: Option<Interfaces> = None;
    for &(_, file, text) in &ports {
        match netbox::interfaces(text) {
            Ok(read) => interfaces.get_or_insert_default().extend(read),
            Err(wrong) => {
                wrong.report(file, findings);
                return None;
            }
        }
    }
    for (path, file, text) in texts {
        let of_nodes = nodes.as_ref().filter(|_| is_csv(path, text));
        let read = read_one(
            path,
            text,
            reading,
            count > 1,
            of_nodes,
            interfaces.as_ref(),
        );
        let draft = match read {
            Ok(Parsed::Demands(said)) => {
                demands.push((file, text, said));
                continue;
            }
            Ok(Parsed::Network(draft)) => draft,
            Err(wrong) => {
                wrong.report(file, findings);
                return None;
            }
        };
        if network.is_some() {
            let help = "give one file with links and others with demands (columns `from`, `to`, `rate`); \
                import other networks separately";
            ImportError::syntax(0..0, "this is a second network")
                .help(help)
                .report(file, findings);
            return None;
        }
        network = Some((*draft, file));
    }
    let Some((draft, file)) = network else {
        let first = demands.first().map(|(file, ..)| *file);
        let what = match first {
            Some(_) => "the files have demands, but no links",
            None => "the files have nodes, but no links",
        };
        let first = first.or_else(|| tables.first().or(ports.first()).map(|(_, file, _)| *file));
        let help = "add the file with the links, before or after this file; name a column of bandwidths, for example, \
                    `bandwidth_mbps`";
        ImportError::syntax(0..0, what)
            .help(help)
            .report(first.unwrap_or(FileId::FIRST), findings);
        return None;
    };
    if let Some((_, of_nodes, _)) = tables.first()
        && draft.format != Format::EdgeList
    {
        let help = "leave out the node table: other formats contain the positions of nodes";
        ImportError::syntax(0..0, "a node table needs a CSV table of links")
            .help(help)
            .report(*of_nodes, findings);
        return None;
    }
    let has_bare_rates =
        draft.has_unitless_rates() || demands.iter().any(|it| it.2.has_unitless_rates());
    let elsewhere = demands.iter().map(|(.., said)| said.max_unitless_rate());
    let elsewhere = elsewhere.fold(0.0, f64::max);
    let mut network = match draft.finish(reading, elsewhere) {
        Ok(network) => network,
        Err(wrong) => {
            wrong.report(file, findings);
            return None;
        }
    };
    for (demands_file, text, said) in demands {
        if let Err(wrong) = said.add_to(&mut network, text, reading) {
            wrong.report(demands_file, findings);
            return None;
        }
    }
    let mut topology = network.topology;
    if has_bare_rates && reading.rate_unit_bps.is_none() {
        topology
            .assumptions
            .extend(has_implausible_units(&topology));
    }
    if topology.links.is_empty() {
        let message = match topology.nodes.len() {
            0 => "the file has no nodes and no links".to_owned(),
            1 => "the file has one node and no links".to_owned(),
            nodes => format!("the file has {nodes} nodes and no links"),
        };
        let help = "add at least one link";
        ImportError::syntax(0..0, message)
            .help(help)
            .report(file, findings);
        return None;
    }
    Some(topology)
}

/// Returns a warning if a unit is likely wrong. This is the case if the largest demand exceeds 10 times
/// the fastest link, or if all demands together are below 1/10 000 of the slowest link.
fn has_implausible_units(topology: &Topology) -> Option<Assumption> {
    let links = || topology.links.iter().filter_map(|link| link.bandwidth_bps);
    let demands = || topology.demands.iter().map(|demand| demand.rate_bps);
    let (fastest, slowest) = (links().reduce(f64::max)?, links().reduce(f64::min)?);
    let (largest, all) = (demands().reduce(f64::max)?, demands().sum::<f64>());
    let help = "check the units: name columns with their unit (`rate_mbps`), or use --unit for links and demands";
    let text = if largest > 10.0 * fastest {
        let times = (largest / fastest).round();
        format!("the largest demand is {times} times the bandwidth of the fastest link: {help}")
    } else if all < 1e-4 * slowest {
        let [all, slowest] = [all, slowest].map(BitsPerSecond);
        format!("all demands together are {all}, and the slowest link has {slowest}: {help}")
    } else {
        return None;
    };
    let about = Vec::new();
    Some(Assumption {
        text,
        subjects: about,
    })
}

/// The content of a file.
enum Parsed<'t> {
    Network(Box<TopologyBuilder<'t>>),
    Demands(Demands),
}

/// Returns whether a text has a table that begins a scenario file.
fn is_scenario(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end);
    lines.any(|line| matches!(line, "[[link]]" | "[simulation]"))
}

fn read_one<'t>(
    path: &Path,
    text: &'t str,
    reading: &Reading,
    several: bool,
    nodes: Option<&Nodes>,
    interfaces: Option<&Interfaces>,
) -> ReadResult<Parsed<'t>> {
    let Some(format) = reading.format.or_else(|| Format::of(path, text)) else {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        let help = format!("use --format with one of {}", names.join(", "));
        if is_scenario(text) {
            let help = "a scenario needs no import: use `netflow run FILE`";
            return Err(ImportError::syntax(0..0, "the file is already a scenario").help(help));
        }
        return Err(ImportError::syntax(0..0, "unrecognized file format").help(help));
    };
    let content = text.trim_start_matches('\u{feff}');
    if content.trim().is_empty() {
        return Err(ImportError::syntax(0..0, "the file is empty"));
    }
    if format == Format::Repetita && content.trim_start().starts_with("DEMANDS") {
        return repetita::demands(text).map(Parsed::Demands);
    }
    if format == Format::EdgeList && edge_list::has_demands(text) {
        return edge_list::demands(text).map(Parsed::Demands);
    }
    let mut draft = TopologyBuilder::new(text, format);
    match format {
        Format::GraphMl => graphml::read(&mut draft)?,
        Format::Gml => gml::read(&mut draft)?,
        Format::SndlibNative => sndlib_native::read(&mut draft)?,
        Format::SndlibXml => sndlib_xml::read(&mut draft)?,
        Format::Repetita => repetita::graph(&mut draft)?,
        Format::NodeLink => node_link::read(&mut draft)?,
        Format::EdgeList => edge_list::read(&mut draft, nodes)?,
        Format::Ns2 => ns2::read(&mut draft)?,
        Format::Tc => tc::read(&mut draft)?,
        Format::Net2Plan => net2plan::read(&mut draft)?,
        Format::TeaVar => teavar::read(&mut draft)?,
        Format::Matrix => return matrix::demands(text).map(Parsed::Demands),
        Format::Containerlab => containerlab::read(&mut draft)?,
        Format::Netlab => netlab::read(&mut draft)?,
        Format::NetBox => netbox::read(&mut draft, interfaces)?,
        Format::Lldp => lldp::read(&mut draft, path)?,
        Format::Ospf => ospf::read(&mut draft)?,
        Format::Isis => isis::read(&mut draft)?,
        Format::Batfish => batfish::read(&mut draft)?,
    }
    let sndlib = matches!(format, Format::SndlibNative | Format::SndlibXml);
    // A matrix of the dynamic traffic of SNDlib has nodes but no links.
    if sndlib && several && draft.is_matrix() {
        let matrix = draft.finish(reading, 0.0)?;
        return Ok(Parsed::Demands(Demands::of(&matrix)));
    }
    Ok(Parsed::Network(Box::new(draft)))
}
