//! The subcommand `netflow sweep SCENARIO --vary KEY=VALUES… -o DIR`.

mod print;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueHint};
use netflow::evaluate::Settings;
use netflow::number::count;
use netflow::results;
use netflow::scenario::{CompiledScenario, FileAccess, Problems, from_str};
use netflow::simulation::ModelName;
use netflow::sweep::{
    Axis, Error, Model, ScenarioLoader, Shard, Sweep, SweepRequest, WriteOptions, default_format,
};
use netflow_files::{FileKind, STANDARD_INPUT, read_text};

use crate::failure::Failure;
use crate::input::ScenarioArguments;
use crate::output::progress::Progress;
use crate::parse::{directory, one_of, percentile, positive_time, table_format};
use crate::threads::on_threads;
use crate::{interrupt, problems};

/// Evaluate a scenario with all combinations of settings
///
/// Without -o, the answer has the loads of links over all steady states: mean, percentile and
/// maximum, for example over many traffic matrices. With -o, it writes long tables.
///
/// Every setting that `--set` accepts can be varied; several settings are varied in all
/// combinations. The tables of links, connections and networks have one column for each varied
/// setting. If a sweep is interrupted, the same command continues it. Several processes or machines
/// can each evaluate a shard.
#[derive(Args)]
pub struct SweepArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// Setting and its values, `KEY=10ms,50ms,200ms` or `KEY=1..4 Mbit/s/20`; may be given several
    /// times
    ///
    /// A range `A..B/N` has N values from A to B in equal steps, including both ends; `A..B/Nx` has
    /// equal ratios. Write the unit after every number, or only after the last. KEY is a key as in
    /// `--set`. `include.demands=matrices/*.csv` takes all files of that pattern.
    #[arg(long, value_name = "KEY=VALUES")]
    vary: Vec<String>,

    /// Also evaluate the failure of every `[[link]]`; a duplex link fails in both directions
    #[arg(long, value_name = "WHAT", value_parser = ["each-link"])]
    fail: Option<String>,

    /// Model of all cases [default: solve]
    #[arg(long, value_name = "MODEL")]
    #[arg(value_parser = one_of(&Model::ALL, Model::name, Model::description))]
    model: Option<Model>,

    /// Time of the steady state [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    at: Option<f64>,

    /// Number of runs with consecutive seeds, one case each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,

    /// Write the tables to this directory
    #[arg(short, long, value_name = "DIR", value_parser = directory, value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    /// Format of the tables [default: parquet in a build that has it, otherwise csv]
    #[arg(long, value_name = "parquet|csv", value_parser = table_format())]
    format: Option<results::Format>,

    /// Percentile of link loads without -o; 95 is common for billing
    #[arg(long, value_name = "P", default_value_t = 95.0, value_parser = percentile, conflicts_with = "output")]
    percentile: f64,

    /// Maximum number of rows of the printed table
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        conflicts_with = "output"
    )]
    top: usize,

    /// Maximum number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Evaluate the I-th of N equal parts; all parts can write to one directory at the same time
    #[arg(long, value_name = "I/N", default_value_t)]
    shard: Shard,

    /// Count the cases, evaluate a few, print the estimated size and time, and exit
    #[arg(long)]
    dry_run: bool,

    /// Remove the files of another sweep from the directory
    #[arg(long, conflicts_with_all = ["dry_run", "shard"])]
    force: bool,

    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

pub fn sweep(arguments: &SweepArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let began = Instant::now();
    let request = arguments.request()?;
    let scenario = Source::of(&arguments.scenario)?;
    let load = |settings: &[String]| scenario.load(settings);
    let threads = arguments.threads;
    let sweep = on_threads(threads, || {
        Sweep::new(request, &load, &interrupt::requested)
    })?
    .map_err(sweep_failure)?;
    if !arguments.quiet {
        problems::warn(sweep.base());
        problems::warn_all(sweep.warnings());
        sweep
            .notes()
            .iter()
            .for_each(|it| problems::warn_message(it));
        let of_scenario = sweep.base().options.model.name();
        if arguments.model.is_none() && of_scenario != ModelName::Fluid {
            problems::warn_message(
                "sweep computes steady states; `--model packet` runs the packet model",
            );
        }
    }
    if arguments.dry_run {
        let estimate = sweep.estimate(arguments.shard, &load, &interrupt::requested);
        let estimate = estimate.map_err(sweep_failure)?;
        return Ok(print::print_estimate(
            &sweep,
            arguments.shard,
            &estimate,
            threads,
            out,
        )?);
    }
    let Some(directory) = arguments.output.as_deref() else {
        return print_loads(arguments, &sweep, &load, out);
    };
    let writing = WriteOptions {
        shard: arguments.shard,
        force: arguments.force,
    };
    let mut progress = Progress::new("the cases", !arguments.quiet);
    let mut on_progress = |part| progress.set(part);
    let stop = &interrupt::requested;
    let written = on_threads(threads, || {
        sweep.write(directory, &writing, &load, &mut on_progress, stop)
    });
    progress.finish();
    let written = written?.map_err(sweep_failure)?;
    if !arguments.quiet {
        for file in &written.damaged {
            problems::warn_message(&format!(
                "{file} was damaged; its cases were evaluated again"
            ));
        }
        print::print_written(&sweep, directory, &writing, &written, began, out)?;
    }
    Ok(())
}

fn print_loads(
    arguments: &SweepArguments,
    sweep: &Sweep,
    load: &ScenarioLoader<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let is_written = arguments.format.is_some() || arguments.force || !arguments.shard.is_all();
    if is_written {
        return Err(Failure::Usage {
            message: "--format, --shard and --force are about written tables".to_owned(),
            help: Some("write the tables with `-o DIR`".to_owned()),
        });
    }
    if sweep.model() != Model::Solve {
        return Err(Failure::Usage {
            message: "without -o, a sweep computes loads of links in steady states only".to_owned(),
            help: Some("write the tables of runs with `-o DIR`".to_owned()),
        });
    }
    let mut progress = Progress::new("the cases", !arguments.quiet);
    let mut on_progress = |part| progress.set(part);
    let stop = &interrupt::requested;
    let found = on_threads(arguments.threads, || {
        sweep.load_statistics(arguments.percentile, load, &mut on_progress, stop)
    });
    progress.finish();
    let found = found?.map_err(sweep_failure)?;
    if let Some((cases, reason)) = &found.without_result {
        problems::warn_message(&format!(
            "{} without a steady state, which are left out; the first: {reason}",
            count(*cases as usize, "case")
        ));
    }
    Ok(print::print_loads(
        sweep,
        &found,
        arguments.percentile,
        arguments.top,
        out,
    )?)
}

impl SweepArguments {
    fn request(&self) -> Result<SweepRequest, Failure> {
        let directory = self.scenario.path.parent().unwrap_or(Path::new(""));
        let axes = self.vary.iter();
        let axes = axes.map(|option| Axis::parse_with_files(option, directory));
        let axes = axes.collect::<Result<_, _>>();
        Ok(SweepRequest {
            axes: axes.map_err(|error| sweep_failure(error.into()))?,
            settings: self.scenario.overrides.clone(),
            each_link_fails: self.fail.is_some(),
            model: self.model.unwrap_or(Model::Solve),
            at_s: self.at,
            seeds: self.seeds,
            every_s: Settings::default().every_s,
            format: self.format.unwrap_or_else(default_format),
        })
    }
}

/// The source of a scenario, which is read repeatedly.
enum Source<'a> {
    File(&'a Path, FileAccess),
    /// The text of the standard input, which can be read only once.
    Text(String),
}

impl Source<'_> {
    fn of(arguments: &ScenarioArguments) -> Result<Source<'_>, Failure> {
        let path = arguments.path.as_path();
        if path != Path::new(STANDARD_INPUT) {
            return Ok(Source::File(path, arguments.file_access()));
        }
        if arguments.allow_outside {
            return Err(Failure::usage(
                "`--allow-outside` requires a scenario file: the standard input has no folder",
            ));
        }
        let text = read_text(path, FileKind::Scenario).map_err(|refusal| Failure::File {
            action: "read",
            path: path.to_owned(),
            source: refusal.into(),
        })?;
        Ok(Source::Text(text))
    }

    fn load(&self, settings: &[String]) -> Result<CompiledScenario, Problems> {
        match self {
            Source::File(path, reach) => netflow::evaluate::load(path, settings, *reach),
            Source::Text(text) => from_str(STANDARD_INPUT, text, Path::new(""), settings),
        }
    }
}

fn sweep_failure(error: Error) -> Failure {
    let help = error.help();
    match error {
        Error::Scenario(problems) => Failure::Input(problems.into()),
        Error::Stopped { .. } => Failure::Interrupted(error.to_string()),
        Error::Write { path, source } => Failure::File {
            action: "write",
            path,
            source,
        },
        Error::Read { path, source } => Failure::File {
            action: "read",
            path,
            source,
        },
        Error::Changed => Failure::Evaluation(error.to_string()),
        error => Failure::Usage {
            message: error.to_string(),
            help,
        },
    }
}
