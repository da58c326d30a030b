//! The subcommand `netflow weights SCENARIO`.

use std::io::{self, Write};

use clap::Args;
use netflow::number::{count, percent};
use netflow::scenario::CompiledScenario;
use netflow::steady::rows::{self, WeightRow, WeightSettingRow};
use netflow::steady::{FailureOptions, Failures, Weights, failures, optimize_weights};
use netflow::units::Seconds;
use netflow::weights::{Error, MAX_ITERATIONS, ScenarioMetrics, WEIGHTS_MARK};

use super::failures::warn_down_already;
use super::planned_network::PlannedNetwork;
use super::solve::steady_failure;
use crate::failure::Failure;
use crate::input::ScenarioArguments;
use crate::interrupt;
use crate::output::answer_options::AnswerOptions;
use crate::output::csv;
use crate::output::json::object;
use crate::output::progress::Progress;
use crate::output::table::Table;
use crate::problems;
use crate::threads::on_threads;

/// Find routing metrics that lower the largest load of a link
///
/// A tabu search changes the metrics (IGP weights) of links for ECMP routing, without failures and
/// after each failure of a link, node or shared-risk group. It prefers few changes, and prints a
/// lower bound that no routing can beat. Demands need rates; bulk TCP fills any link.
#[derive(Args)]
pub struct WeightsArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// Maximum number of changed metrics [default: any]
    #[arg(long, value_name = "N")]
    max_changes: Option<usize>,

    /// Number of steps of the search
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(..=MAX_ITERATIONS as i64))]
    iterations: u32,

    /// Random seed of the search
    #[arg(long, value_name = "N", default_value_t = 1)]
    search_seed: u64,

    #[command(flatten)]
    planned: PlannedNetwork,

    #[command(flatten)]
    answer: AnswerOptions,
}

pub fn weights(arguments: &WeightsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let planned = &arguments.planned;
    planned.check_output(&arguments.scenario, WEIGHTS_MARK)?;
    let scenario = on_threads(planned.threads, || arguments.scenario.load_for_steady())??;
    problems::warn(&scenario);
    let network = &scenario.network;
    let at_s = planned.at_s(&scenario);
    let file = planned.file(&arguments.scenario, &scenario)?;
    let metrics = ScenarioMetrics::new(file, &scenario).map_err(failure)?;
    if let Some(unit_s) = metrics.delay_unit_s() {
        problems::warn_message(&format!(
            "the scenario has no metrics: they start as the delays in units of {}",
            Seconds(unit_s)
        ));
    }
    let kinds = planned.failures(network)?;
    let options = metrics.options(
        kinds,
        arguments.max_changes,
        arguments.iterations as usize,
        arguments.search_seed,
    );
    let mut progress = Progress::new("search", true);
    let mut set = |part: f64| progress.set(part);
    let search = || optimize_weights(network, at_s, &options, &interrupt::requested, &mut set);
    let found = on_threads(planned.threads, search)?.map_err(|error| failure(error.into()))?;
    progress.finish();
    if interrupt::requested() {
        return Err(Failure::Interrupted("no results".to_owned()));
    }
    let chosen = found.chosen();
    let changed = metrics.load(network, chosen).map_err(failure)?;
    let analyse = |scenario: &CompiledScenario| analyse(scenario, at_s, kinds.as_ref());
    let (before, after) = on_threads(planned.threads, || {
        Ok::<_, Failure>((analyse(&scenario)?, analyse(&changed)?))
    })??;
    for analysis in [&before, &after] {
        if let Some(warning) = analysis.moved_parts_warning() {
            problems::warn_message(&warning);
            break;
        }
    }
    warn_down_already(network, &before.down_already);
    let written = match &planned.output {
        Some(path) => metrics.write(&scenario, chosen, path).map_err(failure)?,
        None => Vec::new(),
    };
    let links = rows::weights(
        network,
        metrics.groups(),
        (&options.metrics, &before),
        (&chosen.metrics, &after, &changed.network),
    );
    let settings: Vec<_> = found.settings.iter().map(WeightSettingRow::new).collect();
    let answer = object! {
        at_s: at_s,
        cases: before.cases.len(),
        lower_bound: found.lower_bound,
        bounding_failure: &found.bounding_case,
        settings: &settings,
        chosen: WeightSettingRow::new(chosen),
        metrics: &links,
    };
    Ok(arguments.answer.format().print(
        out,
        &answer,
        |out| csv::write(&links, out),
        |out| {
            print_text(
                arguments,
                &found,
                &settings,
                (&links, before.cases.len()),
                out,
            )?;
            for path in &written {
                writeln!(out, "wrote {}", path.display())?;
            }
            Ok(())
        },
    )?)
}

fn analyse(
    scenario: &CompiledScenario,
    at_s: f64,
    kinds: Option<&FailureOptions>,
) -> Result<Failures, Failure> {
    let network = &scenario.network;
    let found = match kinds {
        Some(options) => failures(network, at_s, options, &interrupt::requested),
        None => Failures::of_intact(network, at_s, 1.0).map(Some),
    };
    let found = found.map_err(steady_failure)?;
    found.ok_or_else(|| Failure::Interrupted("no results".to_owned()))
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Edit(error) => error.into(),
        Error::WithoutEcmp => Failure::Usage {
            message: error.to_string(),
            help: Some("use `--set simulation.ecmp=true`".to_owned()),
        },
        Error::Metric { .. } => Failure::Usage {
            message: error.to_string(),
            help: Some("OSPF has metrics to 65535, IS-IS to 16777214".to_owned()),
        },
        Error::Search(error) => Failure::Evaluation(error.to_string()),
    }
}

fn print_text(
    arguments: &WeightsArguments,
    found: &Weights,
    settings: &[WeightSettingRow],
    (links, cases): (&[WeightRow], usize),
    out: &mut dyn Write,
) -> io::Result<()> {
    let top = arguments.answer.top;
    let mut table = Table::of(settings)
        .number("changes", |it| it.changes.to_string())
        .number("max load", |it| percent(it.max_load));
    if cases > 0 {
        table = table.number("without failures", |it| percent(it.load));
    }
    table.print_top(top, "setting", out)?;
    writeln!(out)?;
    if !links.is_empty() {
        let mut table = Table::of(links)
            .text("link", |it| it.link.as_str())
            .number("metric", |it| it.metric.to_string())
            .number("new metric", |it| it.new_metric.to_string())
            .number("load", |it| percent(it.load))
            .number("new load", |it| percent(it.new_load));
        if cases > 0 {
            table = table
                .number("worst-case load", |it| percent(it.max_load))
                .number("new worst case", |it| percent(it.new_max_load))
                .text("worst failure", |it| {
                    it.failure.clone().unwrap_or_else(|| "-".to_owned())
                });
        }
        table.print_top(top, "metric", out)?;
        writeln!(out)?;
    }
    let (present, chosen) = (found.present(), found.chosen());
    let scope = match cases {
        0 => "without failures".to_owned(),
        cases => format!(
            "without failures and after each of {}",
            count(cases, "failure")
        ),
    };
    if chosen.changes == 0 {
        writeln!(
            out,
            "largest load {}, {scope}: no better metrics found",
            percent(present.max_load)
        )?;
    } else {
        writeln!(
            out,
            "largest load {} instead of {} with {}, {scope}",
            percent(chosen.max_load),
            percent(present.max_load),
            count(chosen.changes, "changed metric"),
        )?;
    }
    let case = match &found.bounding_case {
        None => String::new(),
        Some(case) => format!(" (failure of {case})"),
    };
    writeln!(
        out,
        "no routing has a largest load below {}{case}",
        percent(found.lower_bound)
    )
}
