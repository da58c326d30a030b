//! The subcommand `netflow new KIND`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::scenario::generate::{SizeRequest, TopologyKind};

use crate::failure::Failure;
use crate::output::file;
use crate::output::scenario_schema_file::SchemaFile;
use crate::parse::one_of;

/// Write a commented scenario to start from
///
/// Equal arguments give the same scenario. Editors complete keys with the schema
/// netflow.schema.json, which is written next to the output file.
#[derive(Args)]
pub struct NewArguments {
    /// Topology
    #[arg(value_parser = one_of(&TopologyKind::ALL, TopologyKind::name, TopologyKind::description))]
    kind: TopologyKind,

    /// Number of nodes
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,

    /// Number of bidirectional links
    #[arg(long, value_name = "N")]
    links: Option<usize>,

    /// Number of connections
    #[arg(long, value_name = "N")]
    connections: Option<usize>,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Output file, which must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Replace an existing file
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
                "the file already exists; --force replaces it",
            ),
        });
    }
    let schema = SchemaFile::beside(path);
    file::replace(path, schema.with_reference(&text))?;
    schema.write()
}
