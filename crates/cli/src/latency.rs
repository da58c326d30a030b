//! `netflow latency`

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

/// How long a short TCP transfer takes
#[derive(Args)]
pub struct LatencyArguments {}

pub fn latency(_arguments: &LatencyArguments, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::usage("not in this version"))
}
