//! The subcommand `netflow report RESULTS…`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use netflow::report::{
    Drawing, Error, Figure, PAGE_ENDINGS, PAGE_MARK, ProfileSample, Report, Rgb, Style, map_figure,
    profile_figure, results_figure, sweep_figure,
};
use netflow::results::{self, is_sweep};
use netflow_files::{BoundedLines, FileKind};
use serde::Deserialize;

use crate::failure::Failure;
use crate::input;
use crate::output::file;
use crate::parse::name_of;

/// Draw results: an HTML page, or a figure
///
/// The page is self-contained and works offline. The map shows the first results; curves show all
/// of them. With --figure, netflow draws a single figure instead. Means over several seeds have
/// bands with their 95 % confidence intervals.
#[derive(Args)]
pub struct ReportArguments {
    /// Results directories of `netflow run -o` (--figure sweep: a directory of `netflow sweep -o`;
    /// --figure profile: name or file of a profile)
    #[arg(value_name = "RESULTS", required = true, value_hint = ValueHint::DirPath)]
    results: Vec<PathBuf>,

    /// Output file [default: report.html, or the name and format of the figure]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Draw curves of ns-2 behind the others: an output directory of `netflow compare -o`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    against: Option<PathBuf>,

    /// Draw this figure instead of a page
    #[arg(long, value_name = "FIGURE", alias = "svg", value_enum, conflicts_with = "against", help_heading = FIGURE)]
    figure: Option<FigureName>,

    /// Format of the figure [default: by the name of the file, or svg]
    #[arg(long, value_name = "FORMAT", value_enum, requires = "figure", help_heading = FIGURE)]
    figure_format: Option<FigureFormat>,

    /// Link or connection to show, or a pattern: `*` matches any text, `?` any character; may be
    /// given several times [default: the busiest]
    #[arg(long, value_name = "NAME", requires = "figure", help_heading = FIGURE)]
    only: Vec<String>,

    /// Panels to show; for a sweep, columns of its tables
    #[arg(long, value_name = "PANEL,…", value_delimiter = ',', requires = "figure", help_heading = FIGURE)]
    panels: Vec<String>,

    /// With --figure sweep: setting on the x axis [default: the setting with the most numbers]
    #[arg(long, value_name = "KEY", requires = "figure", help_heading = FIGURE)]
    over: Option<String>,

    /// Width, or width and height, such as 500x300, in points (1/72 inch) of a PDF; a PNG has three
    /// times as many pixels
    #[arg(long, value_name = "WIDTH[xHEIGHT]", value_parser = size, default_value = "640", requires = "figure", help_heading = FIGURE)]
    size: (u32, Option<u32>),

    /// Font size
    #[arg(long, value_name = "SIZE", value_parser = clap::value_parser!(u32).range(4..=72), default_value_t = 12, requires = "figure", help_heading = FIGURE)]
    font_size: u32,

    /// Leave out the legend
    #[arg(long, requires = "figure", help_heading = FIGURE)]
    no_legend: bool,

    /// Colours of curves, such as #0072b2,#d55e00 [default: five colours suitable for colour-blind
    /// readers]
    #[arg(long, value_name = "COLOUR,…", value_delimiter = ',', value_parser = colour, requires = "figure", help_heading = FIGURE)]
    colours: Vec<Rgb>,

    /// Also write the data of the figure as CSV, to a file with the same name and the ending .csv
    #[arg(long, requires = "figure", help_heading = FIGURE)]
    data: bool,

    /// With --figure profile: samples to draw as dots, from `netflow trace samples` or any table
    /// with columns loss, rtt_s and throughput_pps
    #[arg(long, value_name = "FILE", requires = "figure", value_hint = ValueHint::FilePath, help_heading = FIGURE)]
    samples: Option<PathBuf>,
}

const FIGURE: &str = "Figure";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FigureName {
    /// Queue, loss and utilization over time.
    Links,
    /// Rates and round-trip times over time.
    Connections,
    /// Goodput over round-trip time, one colour per results directory.
    Throughput,
    /// One-way delay over time, and its distribution over packets.
    Delay,
    /// Coefficient of variation of arrivals over the number of connections.
    Burstiness,
    /// Profile: throughput over loss at several round-trip times.
    Profile,
    /// Network with the mean utilization of its links.
    Map,
    /// Results of a sweep over a varied setting: of the network, or of the elements of --only.
    Sweep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FigureFormat {
    Svg,
    Pdf,
    Png,
}

/// Parses a width and an optional height.
fn size(text: &str) -> Result<(u32, Option<u32>), String> {
    let number = |text: &str| -> Result<u32, String> {
        let number = text
            .parse()
            .map_err(|_| "write 500 or 500x300".to_owned())?;
        if (100..=4000).contains(&number) {
            Ok(number)
        } else {
            Err("width and height must be from 100 to 4000".to_owned())
        }
    };
    match text.split_once('x') {
        Some((width, height)) => Ok((number(width)?, Some(number(height)?))),
        None => Ok((number(text)?, None)),
    }
}

/// Parses a colour in CSS notation.
fn colour(text: &str) -> Result<Rgb, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let number = u32::from_str_radix(digits, 16).ok();
    match number.filter(|_| digits.len() == 6 && digits.is_ascii()) {
        Some(number) => {
            let [_, r, g, b] = number.to_be_bytes();
            Ok((r, g, b))
        }
        None => Err("write six hexadecimal digits, such as #0072b2".to_owned()),
    }
}

pub fn report(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if arguments.samples.is_some() && arguments.figure != Some(FigureName::Profile) {
        return Err(Failure::usage("`--samples` requires `--figure profile`"));
    }
    if arguments.over.is_some() && arguments.figure != Some(FigureName::Sweep) {
        return Err(Failure::usage("`--over` requires `--figure sweep`"));
    }
    match arguments.figure {
        None => page(arguments, out),
        Some(name) => figure(name, arguments, out),
    }
}

fn page(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let output = arguments
        .output
        .as_deref()
        .unwrap_or(Path::new("report.html"));
    if let Some(path) = arguments.results.iter().find(|path| is_sweep(path)) {
        let path = path.clone();
        return Err(Failure::Results(results::Error::IsSweep { path }));
    }
    check_page_overwrite(output)?;
    file::check_overwrite(output, Some(PAGE_MARK))?;
    let report = Report::read(&arguments.results, arguments.against.as_deref())?;
    file::write(output, report.html(), Some(PAGE_MARK))?;
    writeln!(out, "{}", output.display())?;
    Ok(())
}

/// Rejects a page with the file extension of another type, for example of a figure.
fn check_page_overwrite(output: &Path) -> Result<(), Failure> {
    let is_figure = output
        .extension()
        .and_then(|it| it.to_str())
        .is_some_and(|it| FigureFormat::from_str(it, true).is_ok());
    match file::check_extension(output, "a page", PAGE_ENDINGS) {
        Err(Failure::Usage {
            message,
            help: Some(help),
        }) if is_figure => Err(Failure::Usage {
            message,
            help: Some(format!(
                "{help}; or draw a figure: `--figure map -o {}`",
                output.display()
            )),
        }),
        allowed => allowed,
    }
}

fn figure(
    name: FigureName,
    arguments: &ReportArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let format = format(arguments)?;
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}.{}", name_of(&name), name_of(&format))),
    };
    let mark = Some(Drawing::MARK);
    file::check_overwrite(&output, mark)?;
    let figure = draw(name, arguments)?;
    // The CSV is written first: it fails if its file contains other data, such as measurements.
    let data = arguments.data.then(|| output.with_extension("csv"));
    if let Some(data) = &data {
        file::table(data, &figure.data)?;
    }
    match format {
        FigureFormat::Svg => file::write(&output, &figure.svg, mark),
        FigureFormat::Pdf => file::write(&output, figure.pdf()?, mark),
        FigureFormat::Png => file::write(&output, figure.png()?, mark),
    }?;
    for path in [Some(output), data].into_iter().flatten() {
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}

/// Returns the requested format, or that of the file extension. Both must agree.
fn format(arguments: &ReportArguments) -> Result<FigureFormat, Failure> {
    let ending = match &arguments.output {
        Some(path) => {
            let all = FigureFormat::value_variants().iter();
            let all: Vec<String> = all.map(name_of).collect();
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            file::check_extension(path, "a figure", &all)?;
            let ending = path.extension().and_then(|it| it.to_str());
            ending.and_then(|it| FigureFormat::from_str(it, true).ok())
        }
        None => None,
    };
    match (arguments.figure_format, ending) {
        (Some(format), Some(ending)) if format != ending => Err(Failure::usage(format!(
            "`--figure-format {}` contradicts the file ending .{}",
            name_of(&format),
            name_of(&ending)
        ))),
        (format, ending) => match format.or(ending).unwrap_or(FigureFormat::Svg) {
            FigureFormat::Pdf | FigureFormat::Png if !Drawing::HAS_PDF => {
                Err(Failure::usage(Error::PdfMissing.to_string()))
            }
            format => Ok(format),
        },
    }
}

fn draw(name: FigureName, arguments: &ReportArguments) -> Result<Drawing, Failure> {
    let (width, height) = arguments.size;
    let mut style = Style {
        width,
        height,
        font: arguments.font_size,
        legend: !arguments.no_legend,
        panels: arguments.panels.clone(),
        ..Style::default()
    };
    if !arguments.colours.is_empty() {
        style.colours = arguments.colours.clone();
    }
    let results = &arguments.results;
    let of = |figure| results_figure(figure, results, &arguments.only, &style);
    let chosen = !arguments.only.is_empty();
    Ok(match name {
        FigureName::Links => of(Figure::Links)?,
        FigureName::Connections => of(Figure::Connections)?,
        FigureName::Throughput => of(Figure::Throughput)?,
        FigureName::Delay => of(Figure::Delay)?,
        FigureName::Burstiness => of(Figure::Burstiness)?,
        FigureName::Profile | FigureName::Map if chosen => {
            let name = name_of(&name);
            let what = format!("`--only` is not supported with `--figure {name}`");
            return Err(Failure::usage(what));
        }
        FigureName::Profile => profile(arguments, &style)?,
        FigureName::Map => map_figure(results, &style)?,
        FigureName::Sweep => match results.as_slice() {
            [sweep] => sweep_figure(sweep, arguments.over.as_deref(), &arguments.only, &style)?,
            _ => {
                return Err(Failure::usage(
                    "`--figure sweep` requires exactly one sweep",
                ));
            }
        },
    })
}

fn profile(arguments: &ReportArguments, style: &Style) -> Result<Drawing, Failure> {
    let [name] = arguments.results.as_slice() else {
        return Err(Failure::usage(
            "`--figure profile` requires exactly one profile",
        ));
    };
    let profile = super::profile::by_name::find(&name.to_string_lossy())?;
    let samples = match &arguments.samples {
        Some(path) => read_samples(path)?,
        None => Vec::new(),
    };
    Ok(profile_figure(&*profile, &samples, style)?)
}

/// Reads the samples of a table: that of `netflow trace samples`, or one with only the drawn columns.
fn read_samples(path: &Path) -> Result<Vec<ProfileSample>, Failure> {
    #[derive(Deserialize)]
    struct Line {
        loss: f64,
        rtt_s: f64,
        throughput_pps: f64,
    }
    let bytes = input::read(path, FileKind::Samples)?;
    let wrong = |what: String| Failure::Usage {
        message: format!("{}: {what}", path.display()),
        help: Some("samples must have the columns loss, rtt_s and throughput_pps".to_owned()),
    };
    let mut samples = Vec::new();
    let mut lines = csv::Reader::from_reader(BoundedLines::new(bytes.as_slice()));
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
            // The throughput is infinite if all packets of a sample were sent at the same time.
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
