//! Models of short transfers against what was measured: the parts of the study.

#![allow(missing_docs)]

pub mod models;
pub mod page;
pub mod reference;
mod text;

use std::error::Error;
use std::path::{Path, PathBuf};

use models::Judged;

/// Every row of both references, judged with so many transfers played for each.
pub fn judge_all(trials: u64) -> Result<Vec<Judged>, Box<dyn Error>> {
    let mut rows = reference::ns2(&root())?;
    rows.extend(reference::linux(&root())?);
    rows.into_iter()
        .map(|row| Ok(models::judge(row, trials)?))
        .collect()
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
