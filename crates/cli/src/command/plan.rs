//! The subcommand `netflow plan SCENARIO`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::evaluate::{steady_notes, steady_warnings};
use netflow::number::{count, percent, short};
use netflow::plan::{Error, PLAN_MARK, ScenarioVariants};
use netflow::scenario::planning_tables::{read_candidates, read_modules};
use netflow::steady::rows::{self, PlanRow};
use netflow::steady::{MAX_EXHAUSTIVE, Plan, PlanOptions, PlanVariants, plan as search};

use super::failures::warn_down_already;
use super::planned_network::PlannedNetwork;
use super::solve::headroom::BoundsArguments;
use crate::failure::Failure;
use crate::input::ScenarioArguments;
use crate::interrupt;
use crate::output::answer_options::AnswerOptions;
use crate::output::csv;
use crate::output::json::object;
use crate::output::notes::print_notes;
use crate::output::progress::Progress;
use crate::output::table::Table;
use crate::parse::{factor_from_1, probability};
use crate::problems;
use crate::threads::on_threads;

/// Find the cheapest upgrades and new links for growth and failures
///
/// Every link gets the cheapest modules with which the limits hold, without failures and after each
/// failure of a link, node or shared-risk group. While only loads are limited, the plan is optimal for
/// the shortest-path routes of the scenario. Demands need rates; bulk TCP fills any link.
#[derive(Args)]
pub struct PlanArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// CSV table of modules: `capacity`, `cost` and, for modules of some links only, `link`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    modules: PathBuf,

    /// CSV table of new links that can be built: `from`, `to`, `delay`, `metric`, `cost`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    candidates: Option<PathBuf>,

    /// Factor by which all demands grow
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor_from_1)]
    growth: f64,

    #[command(flatten)]
    bounds: BoundsArguments,

    /// Limit for the load of every link without failures, if it is lower
    #[arg(long, value_name = "PART", value_parser = probability)]
    max_utilization_intact: Option<f64>,

    #[command(flatten)]
    planned: PlannedNetwork,

    #[command(flatten)]
    answer: AnswerOptions,
}

pub fn plan(arguments: &PlanArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let planned = &arguments.planned;
    planned.check_output(&arguments.scenario, PLAN_MARK)?;
    let invalid = |problems: netflow::document::Problems| Failure::Input(problems.into());
    let modules = read_modules(&arguments.modules).map_err(invalid)?;
    let candidates = match &arguments.candidates {
        Some(path) => read_candidates(path).map_err(invalid)?,
        None => Vec::new(),
    };
    let scenario = on_threads(planned.threads, || arguments.scenario.load_for_steady())??;
    problems::warn(&scenario);
    let at_s = planned.at_s(&scenario);
    let file = planned.file(&arguments.scenario, &scenario)?;
    let variants = ScenarioVariants::new(file, &scenario, &modules, candidates).map_err(failure)?;
    let options = arguments.options(&scenario.network)?;
    // Most combinations of candidates are evaluated twice, and limits of delay and loss need more networks.
    let combinations = 1_usize << variants.candidates().len().min(MAX_EXHAUSTIVE);
    let is_coupled = options.bounds.delay_s.is_finite() || options.bounds.loss.is_finite();
    let expected = 2 * combinations + if is_coupled { 500 } else { 1 };
    let mut progress = Progress::new("networks evaluated", true);
    let mut evaluated = |number: usize| progress.set((number as f64 / expected as f64).min(0.99));
    let work = || {
        search(
            &variants,
            at_s,
            &options,
            &interrupt::requested,
            &mut evaluated,
        )
    };
    let found = on_threads(planned.threads, work)?.map_err(failure)?;
    progress.finish();
    let found = found.ok_or_else(|| Failure::Interrupted("no results".to_owned()))?;
    for warning in steady_warnings(&scenario, &found.failures.intact, at_s) {
        problems::warn_message(&warning);
    }
    if let Some(warning) = found.failures.moved_parts_warning() {
        problems::warn_message(&warning);
    }
    warn_down_already(&found.network, &found.failures.down_already);
    let written = match &planned.output {
        Some(path) => variants.write(&scenario, &found, path).map_err(failure)?,
        None => Vec::new(),
    };
    let candidates = variants.candidates();
    let links = rows::plan(
        &found,
        |link| variants.modules_of(link),
        |link| (candidates.iter().find(|it| it.name == link)).map(|it| it.cost),
    );
    let intact = rows::intact(&found.network, &found.failures);
    let answer = object! {
        at_s: at_s,
        growth: arguments.growth,
        cost: found.cost,
        lower_bound: found.lower_bound,
        is_optimal: found.is_optimal(),
        cases: found.failures.cases.len(),
        intact: intact,
        links: &links,
    };
    Ok(arguments.answer.format().print(
        out,
        &answer,
        |out| csv::write(&links, out),
        |out| {
            print_text(arguments, &found, &links, out)?;
            for path in &written {
                writeln!(out, "wrote {}", path.display())?;
            }
            if arguments.answer.no_notes {
                Ok(())
            } else {
                print_notes(&steady_notes(&scenario, &found.failures.intact), out)
            }
        },
    )?)
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Edit(error) => error.into(),
        Error::Plan(error) => Failure::Evaluation(error.to_string()),
        Error::UnknownLink(link) => Failure::Usage {
            message: format!("the table of modules names `{link}`, but no link matches it"),
            help: Some(
                "write the name that `netflow solve` prints, or a pattern such as `A*`".to_owned(),
            ),
        },
        error @ Error::UnknownNode { .. } => Failure::Usage {
            message: error.to_string(),
            help: Some("candidates link nodes that exist; for a new node, write a first link to it in the scenario".to_owned()),
        },
    }
}

fn print_text(
    arguments: &PlanArguments,
    found: &Plan,
    links: &[PlanRow],
    out: &mut dyn Write,
) -> io::Result<()> {
    if !links.is_empty() {
        Table::of(links)
            .text("link", |it| it.link.as_str())
            .number("now [Mbit/s]", |it| {
                if it.is_new {
                    "new".to_owned()
                } else {
                    short(it.bandwidth_bps / 1e6)
                }
            })
            .text("added [Mbit/s]", |it| {
                let sets = it.module_counts.iter();
                let sets: Vec<String> = sets
                    .map(|&(n, bps)| format!("{n} x {}", short(bps / 1e6)))
                    .collect();
                sets.join(" + ")
            })
            .number("planned [Mbit/s]", |it| {
                short(it.planned_bandwidth_bps / 1e6)
            })
            .number("cost", |it| short(it.cost))
            .number("load", |it| percent(it.load))
            .number("worst-case load", |it| percent(it.max_load))
            .text("worst failure", |it| {
                it.failure.clone().unwrap_or_else(|| "-".to_owned())
            })
            .print_top(arguments.answer.top, "link", out)?;
        writeln!(out)?;
    }
    let quality = if found.is_optimal() {
        "no plan costs less with these routing metrics".to_owned()
    } else {
        let gap = found.cost / found.lower_bound - 1.0;
        if gap.is_finite() {
            format!("at most {} above the cheapest plan", percent(gap))
        } else {
            "the cheapest plan is not known".to_owned()
        }
    };
    let cases = match found.failures.cases.len() {
        0 => "without failures".to_owned(),
        cases => format!(
            "without failures and after each of {}",
            count(cases, "failure")
        ),
    };
    let growth = match arguments.growth {
        1.0 => String::new(),
        factor => format!(" for demands times {}", short(factor)),
    };
    if links.is_empty() {
        writeln!(out, "the limits hold{growth}, {cases}: nothing to buy")?;
    } else {
        let changed = count(links.len(), "link");
        writeln!(out, "cost {} for {changed}; {quality}", short(found.cost))?;
        writeln!(out, "the limits hold{growth}, {cases}")?;
    }
    let blocked = found
        .failures
        .cases
        .iter()
        .filter(|it| it.blocked > 0)
        .count();
    if blocked > 0 {
        writeln!(
            out,
            "in {} of {}, connections lose their route; limits do not apply to them",
            blocked,
            count(found.failures.cases.len(), "failure")
        )?;
    }
    Ok(())
}

impl PlanArguments {
    fn options(&self, network: &netflow::simulation::Network) -> Result<PlanOptions, Failure> {
        Ok(PlanOptions {
            bounds: self.bounds.bounds(),
            intact_utilization: self.max_utilization_intact.unwrap_or(f64::INFINITY),
            failures: self.planned.failures(network)?,
            demand_factor: self.growth,
        })
    }
}
