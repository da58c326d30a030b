//! The subcommand `netflow failures SCENARIO`.

mod headroom;
pub(crate) mod kinds;
mod print;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::evaluate::{steady_notes, steady_warnings};
use netflow::failures::FailureReport;
use netflow::report::{PAGE_ENDINGS, PAGE_MARK};
use netflow::scenario::CompiledScenario;
use netflow::simulation::Network;
use netflow::steady::{
    Failing, FailureOptions, failures as analyse, headroom_under_failures, rows,
};

use kinds::FailureKinds;

use super::solve::headroom::BoundsArguments;
use super::solve::steady_failure;
use crate::failure::Failure;
use crate::input::ScenarioArguments;
use crate::interrupt;
use crate::output::answer_options::AnswerOptions;
use crate::output::json::object;
use crate::output::notes::print_notes;
use crate::output::{csv, file};
use crate::parse::positive_time;
use crate::problems;
use crate::threads::on_threads;

/// Compute the effect of failures of links, nodes and shared-risk groups
///
/// Every link fails by itself (a duplex link in both directions), every node with all its links,
/// and every shared-risk group (`srlg` in [[link]]) with all its links. Connections are rerouted as
/// in a run after such a failure, and the steady state of the network is computed as by `netflow
/// solve`. Prints the failures, worst first, and for every link its highest load (demand over
/// bandwidth) under any of them.
#[derive(Args)]
#[command(mut_group("BoundsArguments", |group| group.requires("headroom")))]
pub struct FailuresArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// Time of the failures: netflow uses the routes, bandwidths and active sources just before it
    /// [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    at: Option<f64>,

    #[command(flatten)]
    kinds: FailureKinds,

    /// Find the largest factor by which all demands can grow within the given limits, without failures and after
    /// each; without a limit, within a load of 100 % of every link
    #[arg(long, conflicts_with_all = ["output", "affected"])]
    headroom: bool,

    #[command(flatten)]
    bounds: BoundsArguments,

    /// Number of cases to evaluate, drawn at random [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample: Option<u32>,

    /// Random seed for --sample [default: the seed of the scenario]
    #[arg(long, value_name = "S", requires = "sample")]
    seed: Option<u64>,

    /// Maximum number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Also write an HTML page to this file: maps of the cost of failures and of the load of links
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Also list up to N affected connections per failure, which lose more than 0.01 % of their
    /// goodput or have at least twice the delay; largest loss in bit/s first, failed endpoints last
    #[arg(long, alias = "who", value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    affected: u32,

    #[command(flatten)]
    answer: AnswerOptions,
}

pub fn failures(arguments: &FailuresArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        file::check_extension(path, "a page", PAGE_ENDINGS)?;
        file::check_overwrite(path, Some(PAGE_MARK))?;
    }
    let scenario = on_threads(arguments.threads, || arguments.scenario.load_for_steady())??;
    problems::warn(&scenario);
    let network = &scenario.network;
    let at_s = arguments.at.unwrap_or(scenario.options.duration_s);
    let options = arguments.options(network, scenario.options.seed)?;
    if arguments.headroom {
        return arguments.print_headroom(&scenario, at_s, &options, out);
    }
    let work = || analyse(network, at_s, &options, &interrupt::requested);
    let found = on_threads(arguments.threads, work)?.map_err(steady_failure)?;
    let found = found.ok_or_else(|| Failure::Interrupted("no results".to_owned()))?;
    for warning in steady_warnings(&scenario, &found.intact, at_s) {
        problems::warn_message(&warning);
    }
    // If events take links down, another warning already covers the users.
    let users = scenario
        .users_warning()
        .filter(|_| !scenario.has_link_failure_before(at_s));
    for warning in found.moved_parts_warning().into_iter().chain(users) {
        problems::warn_message(&warning);
    }
    warn_down_already(network, &found.down_already);
    let seen = FailureReport::new(network, &found, at_s);
    let hurt = rows::affected(network, &found);
    if let Some(path) = &arguments.output {
        let page = seen.page(&arguments.scenario.path, &scenario.node_annotations);
        file::write(path, page.html(), Some(PAGE_MARK))?;
    }
    let answer = object! {
        at_s: at_s,
        possible_cases: found.possible,
        cases_not_at_rest: seen.without_steady_state(),
        intact: rows::intact(network, &found),
        cases: &seen.cases,
        links: &seen.links,
        hurt: &hurt,
    };
    Ok(arguments.answer.format().print(
        out,
        &answer,
        |out| {
            csv::write_named_with_header("cases", &seen.cases, out)?;
            csv::write_named_with_header("links", &seen.links, out)?;
            match arguments.affected {
                0 => Ok(()),
                _ => csv::write_named_with_header("hurt", &hurt, out),
            }
        },
        |out| {
            print::print(&seen, &hurt, arguments.answer.top, out)?;
            if arguments.answer.no_notes {
                Ok(())
            } else {
                print_notes(&steady_notes(&scenario, &found.intact), out)
            }
        },
    )?)
}

pub(super) fn warn_down_already(network: &Network, elements: &[Failing]) {
    for failing in elements {
        let (kind, name) = (failing.kind().name(), failing.name(network));
        problems::warn_message(&format!(
            "{kind} {name} is already down; its failure is left out"
        ));
    }
}

impl FailuresArguments {
    fn print_headroom(
        &self,
        scenario: &CompiledScenario,
        at_s: f64,
        options: &FailureOptions,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let network = &scenario.network;
        let bounds = self.bounds.bounds();
        let work =
            || headroom_under_failures(network, at_s, &bounds, options, &interrupt::requested);
        let found = on_threads(self.threads, work)?.map_err(steady_failure)?;
        let found = found.ok_or_else(|| Failure::Interrupted("no results".to_owned()))?;
        for warning in steady_warnings(scenario, &found.intact.steady, at_s) {
            problems::warn_message(&warning);
        }
        headroom::warnings(&found)
            .iter()
            .for_each(|warning| problems::warn_message(warning));
        warn_down_already(network, &found.down_already);
        let answer = rows::headroom_under_failures(network, at_s, &bounds, &found);
        let notes = steady_notes(scenario, &found.least.steady);
        Ok(self.answer.format().print(
            out,
            &answer,
            |out| csv::write([&answer], out),
            |out| {
                headroom::print_text(network, &answer, &found, out)?;
                let notes: &[String] = if self.answer.no_notes { &[] } else { &notes };
                print_notes(notes, out)
            },
        )?)
    }

    fn options(&self, network: &Network, seed: u64) -> Result<FailureOptions, Failure> {
        Ok(FailureOptions {
            sample: self.sample.map(|n| n as usize),
            seed: self.seed.unwrap_or(seed),
            max_affected: self.affected as usize,
            ..self.kinds.options(network)?
        })
    }
}
