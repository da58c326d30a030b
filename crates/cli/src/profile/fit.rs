//! `netflow profile fit`

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

/// Fit a profile to packet traces
#[derive(Args)]
pub struct FitArguments {}

pub fn fit(_arguments: &FitArguments, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::usage("not in this version"))
}
