//! `netflow compare`

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

/// Put a scenario beside a real ns-2 run
#[derive(Args)]
pub struct CompareArguments {}

pub fn compare(_arguments: &CompareArguments, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::usage("not in this version"))
}
