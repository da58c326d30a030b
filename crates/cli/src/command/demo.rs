//! The subcommand `netflow demo`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::run;
use crate::args::{Arguments, Command};
use crate::failure::Failure;
use crate::output::file;

/// Write a first scenario, a home gateway, and evaluate it
///
/// A call and a download beside an upload that fills the queue of a home's access. What to try then is said at
/// the end.
#[derive(Args)]
pub struct DemoArguments {
    /// Write the scenario to this file, which must not be there yet with something else
    #[arg(short, long, value_name = "FILE", default_value = "home-gateway.toml", value_hint = ValueHint::FilePath)]
    output: PathBuf,
}

const SCENARIO: &str = include_str!("home-gateway.toml");

pub fn demo(arguments: &DemoArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let path = arguments.output.as_path();
    file::write(path, SCENARIO, None)?;
    let name = path.display();
    writeln!(
        out,
        "{name}: a home with 20 Mbit/s down and 2 Mbit/s up; a call and a download, and from 20 s on an upload.\n"
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
The upload keeps some hundred packets waiting at gateway->ISP, and the call waits behind them (delay ms). To try next:
  a managed queue there     netflow run {name} --set \"link.gateway->ISP.queue=fq-codel\"
  why a connection is so    netflow explain {name} upload
  queues over time          netflow run {name} -o results; netflow report results
  after changes             netflow check {name}"
    )?;
    Ok(())
}
