//! The subcommand `netflow run SCENARIO`.

mod diffserv;
mod format_with_std;
mod measurement_window;
pub mod tables;
mod users;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use indexmap::IndexSet;
use netflow::evaluate::{Directory, End, Error, Evaluation, Settings, evaluate_with};
use netflow::number::{count, duration, plain};
use netflow::results::{self, Summary, rounded_time};
use netflow::scenario::CompiledScenario;
use netflow::simulation::{Model, RunError};
use netflow::units::Seconds;

use crate::failure::Failure;
use crate::input::ModelledScenario;
use crate::output::csv;
use crate::output::format::{self, AnswerOrSeriesFormat, Format};
use crate::output::notes::print_notes;
use crate::output::progress::Progress;
use crate::parse::{directory, positive_time, time_from_zero};
use crate::threads::on_threads;
use crate::{interrupt, problems};

/// Evaluate a scenario: print tables, and write series to a directory
///
/// Prints the links, busiest first, the connections, fastest first, and packet totals. With -o, it
/// also writes the series of all links and connections, a summary and a manifest.
#[derive(Args)]
pub struct RunArguments {
    #[command(flatten)]
    scenario: ModelledScenario,

    /// Write the results to this directory
    #[arg(short, long, value_name = "DIR", value_parser = directory)]
    output: Option<PathBuf>,

    /// Format of the series [default: csv]
    #[arg(long, value_name = "csv|jsonl|parquet", requires = "output")]
    series: Option<results::Format>,

    /// Length of a recording interval; series of more than 20 million rows are rejected
    #[arg(long, alias = "every", value_name = "TIME", default_value = "0.5s", value_parser = positive_time)]
    interval: f64,

    /// Also write the series of every connection at every link
    #[arg(long, requires = "output")]
    classes: bool,

    /// Start of the summarized period; series cover the whole run [default: the scenario's warmup]
    #[arg(long, value_name = "TIME", value_parser = time_from_zero)]
    from: Option<f64>,

    /// End of the summarized period [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    to: Option<f64>,

    /// Also summarize every period between two events of the scenario
    #[arg(long)]
    by_event: bool,

    /// Maximum number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Number of runs with consecutive seeds; prints means and standard deviations
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    #[arg(conflicts_with = "classes")]
    seeds: u32,

    /// Maximum number of rows of a printed table [default: 20, without links below 1 % utilization]
    #[arg(allow_negative_numbers = true, long, value_name = "N")]
    top: Option<usize>,

    /// Omit the notes after the tables
    #[arg(long)]
    no_notes: bool,

    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = format::answer_or_series_format(),
        help = format!("{} [default: text]", format::HELP),
        long_help = format!("{}\n\n{FORMAT}\n\n[default: text]", format::HELP)
    )]
    format: Option<AnswerOrSeriesFormat>,

    /// Same as --format json
    #[arg(long)]
    json: bool,

    /// Print only errors
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

const FORMAT: &str = "\
JSON equals summary.json. CSV contains several tables, each below a line with `#` and its name: all links, \
all connections and, if there are any, aggregates and response times of users.";

pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let began = Instant::now();
    let (format, series) = arguments.formats()?;
    let scenario = on_threads(arguments.threads, || arguments.scenario.load())??;
    if !arguments.quiet {
        problems::warn(&scenario);
    }
    let settings = arguments.settings(series, began);
    if !arguments.quiet {
        warn_about_ineffective_options(&settings, &scenario);
    }
    let mut progress = Progress::new("the network time", !arguments.quiet);
    let mut on_progress = |part| progress.set(part);
    let evaluation = evaluate_with(
        &scenario,
        &settings,
        &mut on_progress,
        &interrupt::requested,
    );
    progress.finish();
    let evaluation = evaluation.map_err(|error| run_failure(error, arguments))?;
    if !arguments.quiet {
        for warning in &evaluation.warnings {
            problems::warn_message(warning);
        }
        match format {
            Format::Text => print(arguments, &scenario, &evaluation, began, out)?,
            Format::Json => out.write_all(evaluation.summary.to_json().as_bytes())?,
            Format::Csv => print_csv(&evaluation, out)?,
        }
    }
    match evaluation.end {
        End::Finished => match evaluation.summary.imbalance() {
            None => Ok(()),
            Some(_) => Err(Failure::Evaluation("packets do not balance".to_owned())),
        },
        End::Stopped(what) => Err(Failure::Interrupted(what)),
        End::Failed(what) => Err(Failure::Evaluation(what)),
    }
}

impl RunArguments {
    /// Returns the formats of the answer and of the series. For compatibility, `--format jsonl` and
    /// `parquet` are formats of the series.
    fn formats(&self) -> Result<(Format, results::Format), Failure> {
        let series = self.series.unwrap_or_default();
        let otherwise = if self.json {
            Format::Json
        } else {
            Format::Text
        };
        match self.format {
            None => Ok((otherwise, series)),
            Some(AnswerOrSeriesFormat::Answer(_)) if self.json => {
                Err(Failure::usage("`--json` and `--format` exclude each other"))
            }
            Some(AnswerOrSeriesFormat::Answer(Format::Json)) if self.quiet => Err(Failure::usage(
                "`--quiet` leaves nothing of `--format json`",
            )),
            Some(AnswerOrSeriesFormat::Answer(format)) => Ok((format, series)),
            Some(AnswerOrSeriesFormat::Series(format))
                if self.output.is_none() || self.series.is_some() =>
            {
                Err(Failure::Usage {
                    message: format!("`--format {format}` is no format of answers"),
                    help: Some(format!(
                        "answers are text, json or csv; series are written by `--output DIR --series {format}`"
                    )),
                })
            }
            Some(AnswerOrSeriesFormat::Series(format)) => Ok((otherwise, format)),
        }
    }

    fn settings(&self, format: results::Format, began: Instant) -> Settings {
        let directory = self.output.as_ref().map(|path| Directory {
            format,
            classes: self.classes,
            began: Some(began),
            ..Directory::at(path)
        });
        Settings {
            seeds: self.seeds,
            every_s: self.interval,
            from_s: self.from,
            to_s: self.to,
            by_event: self.by_event,
            threads: self.threads.map(usize::from),
            keep_series: false,
            keep_classes: false,
            directory,
        }
    }
}

fn warn_about_ineffective_options(settings: &Settings, scenario: &CompiledScenario) {
    if settings.seeds_of(scenario) < settings.seeds {
        problems::warn_message(
            "`--seeds` has no effect: only the packet model and users are random",
        );
    }
    if let Ok(scope) = settings.measurement_window_of(scenario)
        && scope.by_event
        && scope.boundaries_s(&scenario.network).len() == 2
    {
        problems::warn_message(
            "`--by-event` has no effect: there is no event in what is summarized",
        );
    }
}

fn run_failure(error: Error, arguments: &RunArguments) -> Failure {
    match error {
        Error::TooManyRows { enough_s, .. } => Failure::Usage {
            message: error.to_string(),
            help: Some(format!(
                "write `--interval \"{}\"`, or leave out `-o`: the tables do without series",
                Seconds(enough_s)
            )),
        },
        Error::Period(error) => measurement_window::window_failure(error, arguments.from.is_some()),
        Error::Run(RunError::NotFinite { .. }) | Error::Seed { .. } => {
            Failure::Evaluation(error.to_string())
        }
        Error::Stopped(what) => Failure::Interrupted(what),
        Error::Results(error) => Failure::Results(error),
        error => Failure::usage(error.to_string()),
    }
}

fn print_csv(evaluation: &Evaluation, out: &mut dyn Write) -> io::Result<()> {
    let summary = &evaluation.summary;
    csv::write_named("links", &summary.links, out)?;
    writeln!(out)?;
    csv::write_named("connections", &summary.connections, out)?;
    if !summary.aggregates.is_empty() {
        writeln!(out)?;
        csv::write_named("aggregates", &summary.aggregates, out)?;
    }
    if !summary.workloads.is_empty() {
        writeln!(out)?;
        csv::write_named_with_header("waits", &users::rows(&summary.workloads), out)?;
    }
    Ok(())
}

fn print(
    arguments: &RunArguments,
    scenario: &CompiledScenario,
    evaluation: &Evaluation,
    began: Instant,
    out: &mut dyn Write,
) -> io::Result<()> {
    let summary = &evaluation.summary;
    let periods = if summary.periods.is_empty() {
        std::slice::from_ref(summary)
    } else {
        &summary.periods[..]
    };
    print_heading(arguments, scenario, evaluation, began, out)?;
    for period in periods {
        writeln!(out)?;
        if period.duration_s < evaluation.time_s {
            measurement_window::print_heading(&scenario.network, period, out)?;
        }
        tables::print(&scenario.network, period, arguments.top, out)?;
    }
    if arguments.no_notes {
        return Ok(());
    }
    print_run_notes(arguments, periods, out)
}

/// Prints the model, the simulated time and the wall-clock time.
fn print_heading(
    arguments: &RunArguments,
    scenario: &CompiledScenario,
    evaluation: &Evaluation,
    began: Instant,
    out: &mut dyn Write,
) -> io::Result<()> {
    let written = match &arguments.output {
        Some(directory) => format!("; results in {}", directory.display()),
        None => String::new(),
    };
    let steps = usize::try_from(evaluation.steps).unwrap_or(usize::MAX);
    let lengths = evaluation.steps_s.map(tables::format_range_ms);
    let lengths = lengths.map_or_else(String::new, |lengths| format!(" of {lengths}"));
    let seeds = match evaluation.summary.seeds {
        1 => String::new(),
        n => format!(" for each of {n} seeds (± standard deviation)"),
    };
    let (model, step) = match scenario.options.model {
        Model::Packets(_) => ("Packet model", "packet-hop"),
        Model::Fluid(_) => ("Fluid model", "step"),
    };
    writeln!(
        out,
        "{model}: {} s{seeds}, {}{lengths}, in {}{written}",
        plain(evaluation.time_s),
        count(steps, step),
        duration(began.elapsed().as_secs_f64()),
    )
}

/// Prints the notes of all periods, each once, and the command that avoids estimates.
fn print_run_notes(
    arguments: &RunArguments,
    periods: &[Summary],
    out: &mut dyn Write,
) -> io::Result<()> {
    let notes: IndexSet<String> = periods.iter().flat_map(Summary::notes).collect();
    let notes: Vec<String> = notes.into_iter().collect();
    print_notes(&notes, out)?;
    if periods.iter().any(Summary::packet_model_is_more_accurate) {
        let longest_s = periods.iter().map(Summary::packet_model_s);
        let longest_s = longest_s.fold(0.0, f64::max);
        writeln!(
            out,
            " For packet-level results (about {}): {}",
            rounded_time(longest_s),
            arguments.scenario.packet_command(),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    /// The help states this default.
    #[test]
    fn default_interval_matches_the_library() {
        let arguments = Arguments::parse_from(["netflow", "run", "scenario.toml"]);
        let Command::Run(arguments) = arguments.command else {
            panic!("another command");
        };
        assert_eq!(arguments.interval, Settings::default().every_s);
    }
}
