//! The subcommand `netflow demo`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::run;
use crate::args::{Arguments, Command};
use crate::failure::Failure;
use crate::output::file;
use crate::output::scenario_schema_file::SchemaFile;

/// Write an example scenario, a home gateway, and evaluate it
///
/// A call and a download share the access link of a home with an upload that fills its queue. The
/// output ends with commands to try next. Editors complete keys with the schema
/// netflow.schema.json, which is written next to the scenario.
#[derive(Args)]
pub struct DemoArguments {
    /// Output file; an existing file with other contents is not replaced
    #[arg(short, long, value_name = "FILE", default_value = "home-gateway.toml", value_hint = ValueHint::FilePath)]
    output: PathBuf,
}

const SCENARIO: &str = include_str!("home-gateway.toml");

pub fn demo(arguments: &DemoArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let path = arguments.output.as_path();
    let schema = SchemaFile::beside(path);
    file::write(path, schema.with_reference(SCENARIO), None)?;
    schema.write()?;
    let name = path.display();
    writeln!(
        out,
        "{name}: a home with 20 Mbit/s downstream and 2 Mbit/s upstream; a call and a download, and an upload from 20 s on.\n"
    )?;
    let line = ["netflow".into(), "run".into(), path.into()];
    // The line is valid: it is the command that a user would type.
    let run = Arguments::parse_line(line).map_err(|said| Failure::usage(said.to_string()))?;
    if let Command::Run(arguments) = &run.command {
        run::run(arguments, out)?;
    }
    writeln!(
        out,
        "
The upload keeps several hundred packets in the queue of gateway->ISP, and the call waits behind them (one-way delay). Try next:
  active queue management   netflow run {name} --set \"link.gateway->ISP.queue=fq-codel\"
  explain a connection      netflow explain {name} upload
  plot queues over time     netflow run {name} -o results; netflow report results
  check after changes       netflow check {name}"
    )?;
    Ok(())
}
