//! Tests of the formats of planning, laboratory and monitoring tools. The samples are written for these tests after
//! the documentation of the tools.

mod batfish;
mod lab;
mod link_state;
mod lldp;
mod matrix;
mod net2plan;
mod netbox;

use std::path::Path;

use netflow_document::{Problem, Problems};
use netflow_import::scenario::{Defaults, Origin, write};
use netflow_import::{Format, Reading, Topology, from_text};

/// Reads a text whose format must be detected as `format`. Its scenario must be valid.
fn import(name: &str, text: &str, format: Format) -> Topology {
    assert_eq!(Format::of(Path::new(name), text), Some(format));
    let read = from_text(name, text, &Reading::default());
    let topology = read.unwrap_or_else(|wrong| panic!("{wrong}"));
    let written = write(&topology, &Defaults::default(), &Origin::default());
    let read = netflow_scenario::from_str("a.toml", &written.text, Path::new(""), &[]);
    read.unwrap_or_else(|problems| panic!("{problems}\n{}", written.text));
    topology
}

/// Reads files, given as names and texts, as one network.
fn import_all(files: &[(&str, &str)]) -> Result<Topology, Problems> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = files
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    netflow_import::read(&paths, &Reading::default())
}

/// Returns the problem of an invalid text, and the number of its line.
fn refused(name: &str, text: &str) -> (Problem, usize) {
    let problems = from_text(name, text, &Reading::default()).expect_err(text);
    let problem = problems.into_vec().remove(0);
    let start = problem.span.clone().map_or(0, |span| span.start);
    let line = text[..start].matches('\n').count() + 1;
    (problem, line)
}

/// A link: name, bandwidth in Mbit/s, and metrics in both directions.
type LinkSummary = (String, Option<f64>, Option<f64>, Option<f64>);

fn links(topology: &Topology) -> Vec<LinkSummary> {
    let links = topology.links.iter().map(|link| {
        let back = link.reverse.as_ref().and_then(|it| it.metric);
        (
            topology.link_name(link),
            link.bandwidth_bps.map(|bps| bps / 1e6),
            link.metric,
            back.or(link.metric),
        )
    });
    links.collect()
}

fn names(topology: &Topology) -> Vec<String> {
    topology
        .links
        .iter()
        .map(|link| topology.link_name(link))
        .collect()
}

fn assumed(topology: &Topology) -> Vec<String> {
    let list = topology.assumptions.iter();
    list.map(|it| it.full_text(topology)).collect()
}

/// Asserts that an assumption begins with a text.
fn assert_assumed(topology: &Topology, text: &str) {
    let all = assumed(topology);
    assert!(
        all.iter().any(|it| it.starts_with(text)),
        "{text}: {all:#?}"
    );
}
