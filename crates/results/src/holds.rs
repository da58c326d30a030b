//! What there is in a directory already.

use std::path::Path;

use netflow_files::{Kind, read_text};

use crate::table::ALL;
use crate::{Error, Format, Manifest, SWEEP_FILE, Summary, Table, Topology};

/// Whether the directory has results that netflow has written: its manifest says so.
pub fn is_results(directory: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Program {
        program: String,
    }
    let text = read_text(&directory.join(Manifest::FILE), Kind::Summary).ok();
    let manifest = text.and_then(|text| serde_json::from_str::<Program>(&text).ok());
    manifest.is_some_and(|it| it.program == "netflow")
}

/// Whether the directory has the tables of a sweep.
pub fn is_sweep(directory: &Path) -> bool {
    directory.join(SWEEP_FILE).exists()
}

/// The files that a results directory may have, but for copies of the scenario.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let tables = ALL
        .iter()
        .flat_map(|table| Format::ALL.map(|format| table.file(format)));
    tables.chain([Topology::FILE, Summary::FILE, Manifest::FILE].map(str::to_owned))
}

/// What stands near the beginning or the end of each of them: the columns of a table, the first key of what is
/// JSON.
fn marks() -> impl Iterator<Item = String> {
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

/// Refuses a directory with a sweep, or with files of others that results would replace.
pub(crate) fn check(directory: &Path) -> Result<(), Error> {
    if is_sweep(directory) {
        return Err(Error::HoldsSweep {
            path: directory.to_owned(),
        });
    }
    if is_results(directory) {
        return Ok(());
    }
    // Without a manifest there may be tables of a run that was killed while it gave them their names.
    for (name, mark) in names().zip(marks()) {
        let path = directory.join(name);
        netflow_files::may_write(&path, Some(&mark))
            .map_err(|source| Error::Write { path, source })?;
    }
    Ok(())
}
