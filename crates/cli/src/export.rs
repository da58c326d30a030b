//! `netflow export`

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

/// Write the scenario as a runnable ns-2 script
#[derive(Args)]
pub struct ExportArguments {}

pub fn export(_arguments: &ExportArguments, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::usage("not in this version"))
}
