//! Detection of results and sweeps in a directory.

use std::path::Path;

use netflow_files::{FileKind, read_text};

use crate::table::ALL;
use crate::{Error, Format, Manifest, SWEEP_FILE, Summary, Table, Topology};

/// Returns whether the directory contains results of netflow, according to its manifest.
pub fn is_results(directory: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Program {
        program: String,
    }
    let text = read_text(&directory.join(Manifest::FILE), FileKind::Summary).ok();
    let manifest = text.and_then(|text| serde_json::from_str::<Program>(&text).ok());
    manifest.is_some_and(|it| it.program == "netflow")
}

/// Returns whether the directory contains the tables of a sweep.
pub fn is_sweep(directory: &Path) -> bool {
    directory.join(SWEEP_FILE).exists()
}

/// Returns the names of all files of a results directory, without copies of the scenario.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let tables = ALL
        .iter()
        .flat_map(|table| Format::ALL.map(|format| table.file(format)));
    tables.chain([Topology::FILE, Summary::FILE, Manifest::FILE].map(str::to_owned))
}

/// Returns a text near the beginning or end of each file that identifies it: the columns of a table, or
/// the first key of a JSON file.
fn signatures() -> impl Iterator<Item = String> {
    let of_table = |table: &Table, format| match format {
        Format::Csv => table.columns().collect::<Vec<_>>().join(","),
        _ => table.columns().last().unwrap_or_default().to_owned(),
    };
    let tables = ALL
        .iter()
        .flat_map(move |table| Format::ALL.map(|format| of_table(table, format)));
    let first_keys = ["\"nodes\": [", "\"from_s\": ", "\"program\": \"netflow\""];
    tables.chain(first_keys.map(str::to_owned))
}

/// Rejects a directory that contains a sweep, or other files that results would overwrite.
pub(crate) fn check(directory: &Path) -> Result<(), Error> {
    if is_sweep(directory) {
        return Err(Error::HoldsSweep {
            path: directory.to_owned(),
        });
    }
    if is_results(directory) {
        return Ok(());
    }
    // Without a manifest, there may be tables of a run that was killed while it renamed its files.
    for (name, mark) in names().zip(signatures()) {
        let path = directory.join(name);
        netflow_files::check_overwrite(&path, Some(&mark))
            .map_err(|source| Error::Write { path, source })?;
    }
    Ok(())
}
