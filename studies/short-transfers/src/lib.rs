//! Models of short transfers compared with measurements.

#![allow(missing_docs)]

pub mod models;
pub mod page;
pub mod reference;
mod text;

use std::error::Error;
use std::path::{Path, PathBuf};

use models::EvaluatedRow;

/// Evaluates every row of both references, with `trials` simulated transfers for each.
pub fn evaluate_all(trials: u64) -> Result<Vec<EvaluatedRow>, Box<dyn Error>> {
    let mut rows = reference::ns2(&root())?;
    rows.extend(reference::linux(&root())?);
    rows.into_iter()
        .map(|row| Ok(models::evaluate_row(row, trials)?))
        .collect()
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
