//! The subcommand `netflow new KIND`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::scenario::generate::{SizeRequest, TopologyKind};

use crate::failure::Failure;
use crate::output::file;
use crate::parse::one_of;

/// Write a scenario to start from, commented
///
/// The same arguments give the same scenario.
#[derive(Args)]
pub struct NewArguments {
    /// The network's shape
    #[arg(value_parser = one_of(&TopologyKind::ALL, TopologyKind::name, TopologyKind::description))]
    kind: TopologyKind,

    /// Nodes
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,

    /// Links, each of which leads both ways
    #[arg(long, value_name = "N")]
    links: Option<usize>,

    /// Connections
    #[arg(long, value_name = "N")]
    connections: Option<usize>,

    /// What everything random depends on
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write to this file, which must not be there yet, instead of the standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

pub fn new(arguments: &NewArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let wishes = SizeRequest {
        nodes: arguments.nodes,
        links: arguments.links,
        connections: arguments.connections,
        seed: arguments.seed,
    };
    let text = arguments
        .kind
        .write(&wishes)
        .map_err(|impossible| Failure::usage(impossible.to_string()))?;
    let Some(path) = &arguments.output else {
        return Ok(out.write_all(text.as_bytes())?);
    };
    if path.exists() && !arguments.force {
        return Err(Failure::File {
            action: "write",
            path: path.clone(),
            source: io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it is there already; --force replaces it",
            ),
        });
    }
    file::replace(path, text)
}
