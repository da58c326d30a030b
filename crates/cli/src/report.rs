//! `netflow report RESULTS…`

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use netflow::report::{Error, Figure, ProfileSample, Report, profile_figure, results_figure};
use netflow::results::PartialFile;
use serde::Deserialize;

use crate::failure::Failure;

/// Make pictures of results: one page to look at, or a figure
///
/// The page needs nothing else: it works offline and from a file. The first results are on the
/// map; the others are put over its curves. With --svg a single figure is drawn instead.
#[derive(Args)]
pub struct ReportArguments {
    /// Directories that `netflow run -o` wrote (for --svg profile: a profile's name or file)
    #[arg(value_name = "RESULTS", required = true, value_hint = ValueHint::DirPath)]
    results: Vec<PathBuf>,

    /// Write to this file [default: report.html, or the figure's name and .svg]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Draw this figure instead of a page
    #[arg(long, value_name = "FIGURE", value_enum, conflicts_with = "against")]
    svg: Option<Drawing>,

    /// In a figure, show this link or connection; may be given several times [default: the busiest]
    #[arg(long, value_name = "NAME", requires = "svg")]
    only: Vec<String>,

    /// With --svg profile: dots, from what `netflow trace samples` printed
    #[arg(long, value_name = "FILE", requires = "svg", value_hint = ValueHint::FilePath)]
    samples: Option<PathBuf>,

    /// Put ns-2 behind the curves: a directory that `netflow compare -o` wrote
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    against: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Drawing {
    /// Queue, loss and utilization over time.
    Links,
    /// Rates and round-trip times over time.
    Connections,
    /// Goodput over round-trip time, a colour for each of the results.
    Throughput,
    /// Coefficient of variation of arrivals over the number of connections.
    Burstiness,
    /// A profile: throughput over loss at several round-trip times.
    Profile,
}

pub fn report(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let results = &arguments.results;
    if arguments.samples.is_some() && arguments.svg != Some(Drawing::Profile) {
        return Err(Failure::usage("`--samples` goes with `--svg profile`"));
    }
    let (name, text) = match arguments.svg {
        None => {
            let report = Report::read(results, arguments.against.as_deref())?;
            ("report.html", report.html())
        }
        Some(Drawing::Links) => ("links.svg", figure(Figure::Links, arguments)?),
        Some(Drawing::Connections) => ("connections.svg", figure(Figure::Connections, arguments)?),
        Some(Drawing::Throughput) => ("throughput.svg", figure(Figure::Throughput, arguments)?),
        Some(Drawing::Burstiness) => ("burstiness.svg", figure(Figure::Burstiness, arguments)?),
        Some(Drawing::Profile) => ("profile.svg", profile(arguments)?),
    };
    let output = arguments.output.as_deref().unwrap_or(Path::new(name));
    write_whole(output, &text)?;
    writeln!(out, "{}", output.display())?;
    Ok(())
}

fn figure(figure: Figure, arguments: &ReportArguments) -> Result<String, Failure> {
    Ok(results_figure(figure, &arguments.results, &arguments.only)?)
}

fn profile(arguments: &ReportArguments) -> Result<String, Failure> {
    let [name] = arguments.results.as_slice() else {
        return Err(Failure::usage("`--svg profile` draws one profile"));
    };
    let profile = crate::profile::find(&name.to_string_lossy())?;
    let samples = match &arguments.samples {
        Some(path) => read_samples(path)?,
        None => Vec::new(),
    };
    Ok(profile_figure(&*profile, &samples)?)
}

fn read_samples(path: &Path) -> Result<Vec<ProfileSample>, Failure> {
    #[derive(Deserialize)]
    struct Sample {
        loss: f64,
        rtt_s: f64,
        throughput_pps: f64,
    }
    let bytes = fs::read(path).map_err(|source| Failure::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    let mut samples = Vec::new();
    for sample in csv::Reader::from_reader(bytes.as_slice()).deserialize() {
        let sample: Sample =
            sample.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        samples.push(ProfileSample {
            loss: sample.loss,
            rtt_s: sample.rtt_s,
            throughput_pps: sample.throughput_pps,
        });
    }
    Ok(samples)
}

/// The file is there as a whole or not at all.
/// Writes a file that is seen once it is whole.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
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
            Error::NoResults | Error::NothingToShow(_) => Failure::usage(error.to_string()),
            error => Failure::Report(error),
        }
    }
}
