//! `netflow trace`

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

/// Read packet traces of ns-2 and captures (pcap, pcapng)
#[derive(Args)]
pub struct TraceArguments {}

pub fn trace(_arguments: &TraceArguments, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::usage("not in this version"))
}
