//! `netflow report RESULTS…`

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use netflow::report::{Error, Report};
use netflow::results::PartialFile;

use crate::failure::Failure;

/// Make one page to look at of results
///
/// The page needs nothing else: it works offline and from a file. The first results are on the
/// map; the others are put over its curves.
#[derive(Args)]
pub struct ReportArguments {
    /// Directories that `netflow run -o` wrote
    #[arg(value_name = "RESULTS", required = true, value_hint = ValueHint::DirPath)]
    results: Vec<PathBuf>,

    /// Write the page to this file
    #[arg(short, long, value_name = "FILE", default_value = "report.html", value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// Put ns-2 behind the curves: a directory that `netflow compare -o` wrote
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    against: Option<PathBuf>,
}

pub fn report(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let report = Report::read(&arguments.results, arguments.against.as_deref())?;
    write_whole(&arguments.output, &report.html())?;
    writeln!(out, "{}", arguments.output.display())?;
    Ok(())
}

/// The file is there as a whole or not at all.
fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |source| Failure::File {
        action: "write",
        path: path.to_owned(),
        source,
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match path.file_name().and_then(|name| name.to_str()) {
        Some(name) if !path.exists() || path.is_file() => {
            let mut file = PartialFile::create(directory, name)?;
            file.write_all(text.as_bytes()).map_err(failed)?;
            Ok(file.publish()?)
        }
        // A pipe or a device, such as /dev/stdout.
        _ => fs::write(path, text).map_err(failed),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Results(error) => Failure::Results(error),
            Error::NoResults => Failure::usage(error.to_string()),
            error => Failure::Report(error),
        }
    }
}
