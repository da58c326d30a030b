//! The subcommand `netflow failures SCENARIO`.

mod print;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::evaluate::steady_notes;
use netflow::failures::FailureReport;
use netflow::report::{PAGE_ENDINGS, PAGE_MARK};
use netflow::simulation::Network;
use netflow::steady::{FailureOptions, failures as analyse, rows};

use super::solve::steady_failure;
use crate::failure::Failure;
use crate::input::ScenarioArguments;
use crate::interrupt;
use crate::output::format::{Format, HELP};
use crate::output::json::object;
use crate::output::{csv, file};
use crate::parse::positive_time;
use crate::problems;
use crate::threads::on_threads;

/// Tell what happens if a link, a node or a shared-risk group fails
///
/// Every link fails by itself (a duplex link with both directions), every node with all its links, every
/// shared-risk group (`srlg` in [[link]]) with all of its links. Connections go where a run would have them go after
/// such a failure, and the network's steady state is found as by `netflow solve`. Prints the failures, worst
/// first, and for every link its highest load (demand over bandwidth) under any of them.
#[derive(Args)]
pub struct FailuresArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// Look at the scenario as it is just before this time: its routes and bandwidths, and who sends
    /// [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    at: Option<f64>,

    /// Let links fail; without --links, --nodes and --srlgs everything does
    #[arg(long)]
    links: bool,

    /// Let nodes fail
    #[arg(long)]
    nodes: bool,

    /// Let shared-risk groups fail
    #[arg(long)]
    srlgs: bool,

    /// Let every two of these fail at once, instead of each by itself
    #[arg(long)]
    pairs: bool,

    /// Look at so many of the cases only, drawn at random
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample: Option<u32>,

    /// What is drawn hangs on it [default: the scenario's]
    #[arg(long, value_name = "S", requires = "sample")]
    seed: Option<u64>,

    /// Threads to use at most; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Write a page to this file, too: maps of what a failure costs and of how busy links get
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Tell who suffers, too, at most N of each case: who loses more than 0.01 % of its goodput, or waits twice as
    /// long or more; whoever loses most bit/s first, those who begin or end at a failed node last
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    who: u32,

    /// Rows of the printed tables at most
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "N",
        default_value_t = 20
    )]
    top: usize,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,

    /// The same as --format json
    #[arg(long)]
    json: bool,
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
    let work = || analyse(network, at_s, &options, &interrupt::requested);
    let found = on_threads(arguments.threads, work)?.map_err(steady_failure)?;
    let found = found.ok_or_else(|| Failure::Interrupted("nothing is told".to_owned()))?;
    for note in steady_notes(&scenario, &found.intact, at_s) {
        problems::warn_message(&note);
    }
    // If events take links down, another warning already covers the users.
    let users = scenario
        .users_warning()
        .filter(|_| !scenario.has_link_failure_before(at_s));
    for warning in found.moved_parts_warning().into_iter().chain(users) {
        problems::warn_message(&warning);
    }
    for failing in &found.down_already {
        let (kind, name) = (failing.kind().name(), failing.name(network));
        problems::warn_message(&format!("{kind} {name} is down already, and left out"));
    }
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
    let format = if arguments.json {
        Format::Json
    } else {
        arguments.format
    };
    Ok(format.print(
        out,
        &answer,
        |out| {
            csv::write_named_with_header("cases", &seen.cases, out)?;
            csv::write_named_with_header("links", &seen.links, out)?;
            match arguments.who {
                0 => Ok(()),
                _ => csv::write_named_with_header("hurt", &hurt, out),
            }
        },
        |out| print::print(&seen, &hurt, arguments.top, out),
    )?)
}

impl FailuresArguments {
    fn options(&self, network: &Network, seed: u64) -> Result<FailureOptions, Failure> {
        if self.srlgs && network.risk_groups().len() == 0 {
            return Err(Failure::Usage {
                message: "the scenario has no shared-risk groups".to_owned(),
                help: Some(
                    "write `srlg = \"conduit-1\"` in the links that fail together".to_owned(),
                ),
            });
        }
        let all = !(self.links || self.nodes || self.srlgs);
        Ok(FailureOptions {
            links: all || self.links,
            nodes: all || self.nodes,
            groups: all || self.srlgs,
            pairs: self.pairs,
            sample: self.sample.map(|n| n as usize),
            seed: self.seed.unwrap_or(seed),
            max_affected: self.who as usize,
            ..FailureOptions::default()
        })
    }
}
