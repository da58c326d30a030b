//! `netflow report RESULTS…`

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use netflow::report::{Error, Figure, ProfileSample, Report, profile_figure, results_figure};
use netflow_files::{Kind, ShortLines};
use serde::Deserialize;

use crate::failure::Failure;
use crate::input;
use crate::output::file;

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

    /// With --svg profile: dots, from what `netflow trace samples` printed, or any table with columns
    /// loss, rtt_s and throughput_pps
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
    let output = arguments.output.as_deref();
    let allowed: &[&str] = match arguments.svg {
        None => &["html", "htm"],
        Some(_) => &["svg"],
    };
    if let Some(path) = output {
        file::allow_ending(path, allowed)?;
    }
    let figure = |figure| results_figure(figure, results, &arguments.only);
    let (name, text) = match arguments.svg {
        None => {
            let report = Report::read(results, arguments.against.as_deref())?;
            ("report.html", report.html())
        }
        Some(Drawing::Links) => ("links.svg", figure(Figure::Links)?),
        Some(Drawing::Connections) => ("connections.svg", figure(Figure::Connections)?),
        Some(Drawing::Throughput) => ("throughput.svg", figure(Figure::Throughput)?),
        Some(Drawing::Burstiness) => ("burstiness.svg", figure(Figure::Burstiness)?),
        Some(Drawing::Profile) => ("profile.svg", profile(arguments)?),
    };
    let output = output.unwrap_or(Path::new(name));
    file::text(output, text)?;
    writeln!(out, "{}", output.display())?;
    Ok(())
}

fn profile(arguments: &ReportArguments) -> Result<String, Failure> {
    let [name] = arguments.results.as_slice() else {
        return Err(Failure::usage("`--svg profile` draws one profile"));
    };
    let profile = super::profile::find::find(&name.to_string_lossy())?;
    let samples = match &arguments.samples {
        Some(path) => read_samples(path)?,
        None => Vec::new(),
    };
    Ok(profile_figure(&*profile, &samples)?)
}

/// The samples of a table: that of `netflow trace samples`, or one with just the columns that are drawn.
fn read_samples(path: &Path) -> Result<Vec<ProfileSample>, Failure> {
    #[derive(Deserialize)]
    struct Line {
        loss: f64,
        rtt_s: f64,
        throughput_pps: f64,
    }
    let bytes = input::read(path, Kind::Samples)?;
    let wrong = |what: String| Failure::Usage {
        message: format!("{}: {what}", path.display()),
        help: Some("samples have columns loss, rtt_s and throughput_pps".to_owned()),
    };
    let mut samples = Vec::new();
    let mut lines = csv::Reader::from_reader(ShortLines::new(bytes.as_slice()));
    for (at, line) in lines.deserialize().enumerate() {
        let Line {
            loss,
            rtt_s,
            throughput_pps,
        } = line.map_err(|error| wrong(error.to_string()))?;
        let allowed = [
            (loss, (0.0..=1.0).contains(&loss), "loss", "0 to 1"),
            (
                rtt_s,
                rtt_s > 0.0 && rtt_s.is_finite(),
                "rtt_s",
                "more than 0",
            ),
            // Infinite where all packets of a sample left at once.
            (
                throughput_pps,
                throughput_pps >= 0.0,
                "throughput_pps",
                "0 or more",
            ),
        ];
        if let Some((value, _, name, allowed)) = allowed.iter().find(|(_, good, ..)| !good) {
            let row = at + 1;
            return Err(wrong(format!(
                "row {row}: {name} is {value}, allowed is {allowed}"
            )));
        }
        samples.push(ProfileSample {
            loss,
            rtt_s,
            throughput_pps,
        });
    }
    Ok(samples)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Results(error) => Failure::Results(error),
            Error::NoResults | Error::NothingToShow(_) => Failure::usage(error.to_string()),
            error => Failure::Evaluation(error.to_string()),
        }
    }
}
