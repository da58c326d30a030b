//! The subcommand `netflow solve SCENARIO`.

pub(super) mod headroom;
mod print;
mod sensitivity;
mod settling_run;
mod upgrade;

use std::io::Write;

use clap::Args;
use netflow::evaluate::{steady_notes, steady_warnings};
use netflow::scenario::CompiledScenario;
use netflow::simulation::{ConnectionId, Network};
use netflow::steady::{ConnectionSelection, Solver, Steady, SteadyError, SteadyOptions, rows};

use self::headroom::BoundsArguments;
use crate::failure::Failure;
use crate::input::{ScenarioArguments, unknown_name};
use crate::output::answer_options::AnswerOptions;
use crate::output::csv;
use crate::output::format::Format;
use crate::output::json::object;
use crate::output::notes::print_notes;
use crate::parse::{bandwidth, positive_time};
use crate::problems;

/// Compute the steady state of a scenario
///
/// Solves the equations that a settled run of the fluid model satisfies: the queue model of every
/// link and the profile of every source. Prints the links, highest load first, the connections,
/// fastest first, the residual, and the number of steady states found from random starting points.
/// A steady state is an equilibrium and may be unstable: a run can oscillate around it without end.
#[derive(Args)]
#[command(mut_group("BoundsArguments", |group| group.requires("headroom")))]
pub struct SolveArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// Time of the steady state: netflow uses the routes, bandwidths and active sources just before
    /// it [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    at: Option<f64>,

    /// Number of additional random starting points, to find other steady states
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=i64::from(SteadyOptions::MAX_STARTS)))]
    starts: u32,

    /// Also run the fluid model until this time and report whether it settles
    #[arg(long, alias = "beside-run", conflicts_with_all = ["sensitivity", "headroom"])]
    verify_by_run: bool,

    /// Compute the effect of slightly more bandwidth, delay and buffer of every link; rank links by
    /// gain
    #[arg(long, alias = "where", conflicts_with = "headroom")]
    sensitivity: bool,

    /// Bandwidth to add to each link in turn, solving again each time, such as `1 Gbit/s`
    #[arg(long, alias = "more", value_name = "RATE", value_parser = bandwidth, requires = "sensitivity")]
    upgrade: Option<f64>,

    /// Compute effects on this demand or connection only, with all of its parts; `NAME/1` is one
    /// part
    #[arg(long, alias = "of", value_name = "NAME", requires = "sensitivity", conflicts_with_all = ["upgrade", "headroom"])]
    target: Option<String>,

    /// Find the largest factor by which demands can grow within the given limits; without a limit, within a
    /// load of 100 % of every link
    #[arg(long)]
    headroom: bool,

    #[command(flatten)]
    bounds: BoundsArguments,

    /// Scale only this demand or connection, with all of its parts; `NAME/1` is one part
    #[arg(long, alias = "scale", value_name = "NAME", requires = "headroom")]
    headroom_of: Option<String>,

    #[command(flatten)]
    answer: AnswerOptions,
}

pub fn solve(arguments: &SolveArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let scenario = arguments.scenario.load_for_steady()?;
    problems::warn(&scenario);
    let network = &scenario.network;
    let at_s = arguments.at.unwrap_or(scenario.options.duration_s);
    let options = SteadyOptions {
        starts: arguments.starts,
        seed: scenario.options.seed,
        ..SteadyOptions::default()
    };
    let mut solver = Solver::new(network, at_s).map_err(steady_failure)?;
    let steady = solver.solve(&options).map_err(steady_failure)?;
    for warning in steady_warnings(&scenario, &steady, at_s) {
        problems::warn_message(&warning);
    }
    let notes = if arguments.answer.no_notes {
        Vec::new()
    } else {
        steady_notes(&scenario, &steady)
    };
    let format = arguments.answer.format();
    let seen = SolvedState {
        network,
        steady: &steady,
        at_s,
        format,
        top: arguments.answer.top,
        notes: &notes,
    };
    if let Some(more_bps) = arguments.upgrade {
        return upgrade::answer(&seen, &mut solver, more_bps, &options, out);
    }
    if arguments.sensitivity {
        let only = requested_connections(&scenario, arguments.target.as_deref())?;
        let which = only
            .as_deref()
            .map_or(ConnectionSelection::All, ConnectionSelection::Only);
        return sensitivity::answer(&seen, &mut solver, which, arguments.target.as_deref(), out);
    }
    if arguments.headroom {
        let bounds = arguments.bounds.bounds();
        let scaled = arguments.headroom_of.as_deref();
        let only = requested_connections(&scenario, scaled)?;
        let scale = only
            .as_deref()
            .map_or(ConnectionSelection::All, ConnectionSelection::Only);
        return headroom::answer(&seen, &mut solver, &bounds, scaled, scale, out);
    }
    if arguments.verify_by_run && scenario.has_link_failure_before(at_s) {
        let told = scenario.failure_warnings(true);
        let of_runs = scenario.failure_warnings(false).into_iter();
        for warning in of_runs.filter(|it| !told.contains(it)) {
            problems::warn_message(&format!("in the run, {warning}"));
        }
    }
    let beside = if arguments.verify_by_run {
        Some(settling_run::run(&seen, scenario.options.model)?)
    } else {
        None
    };
    let links = rows::links(network, &steady);
    let connections = rows::connections(network, &steady);
    let demands = scenario.demands.iter();
    let demands = demands.map(|it| (it.name.as_str(), it.connection, &*it.transfers));
    let transfers = rows::transfers(&demands.collect::<Vec<_>>(), &solver, &steady);
    let answer = object! {
        at_s: at_s,
        residual: steady.residual,
        newton_steps: steady.newton_steps,
        starts: steady.starts,
        starts_led_to_rest: steady.converged_starts,
        equilibria: steady.equilibria,
        totals: steady.totals,
        beside_run: beside.as_ref().map(|run| settling_run::row(network, run)),
        links: &links,
        connections: &connections,
        transfers: &transfers,
    };
    Ok(format.print(
        out,
        &answer,
        |out| {
            csv::write_named_with_header("links", &links, out)?;
            csv::write_named_with_header("connections", &connections, out)?;
            if transfers.is_empty() {
                Ok(())
            } else {
                csv::write_named_with_header("transfers", &transfers, out)
            }
        },
        |out| {
            print::print(&seen, &links, &connections, &transfers, out)?;
            if let Some(run) = &beside {
                settling_run::print(network, run, out)?;
            }
            print_notes(&notes, out)
        },
    )?)
}

/// A steady state, and the options of its output.
struct SolvedState<'a> {
    network: &'a Network,
    steady: &'a Steady,
    at_s: f64,
    format: Format,
    top: usize,
    /// Notes after the tables.
    notes: &'a [String],
}

/// Returns the connections of the requested demand or connection, if there is one.
fn requested_connections(
    scenario: &CompiledScenario,
    name: Option<&str>,
) -> Result<Option<Vec<ConnectionId>>, Failure> {
    let Some(name) = name else {
        return Ok(None);
    };
    let Some(ids) = scenario.connections_by_name(name) else {
        let message = format!("the scenario has no connection `{name}`");
        let known = scenario.connection_names();
        return Err(unknown_name(message, name, known, None));
    };
    Ok(Some(ids))
}

pub(super) fn steady_failure(error: SteadyError) -> Failure {
    match error {
        SteadyError::BadOption { .. }
        | SteadyError::BadTime { .. }
        | SteadyError::NothingToFail
        | SteadyError::NoUnavailability
        | SteadyError::TooManyCases { .. }
        | SteadyError::NothingToScale => Failure::usage(error.to_string()),
        SteadyError::NoTraffic { .. } => {
            Failure::usage(format!("{error}; choose another time with `--at`"))
        }
        error if error.needs_profile() => Failure::Evaluation(format!(
            "{error}\n  help: write --set \"connection.NAME.source={{ profile = 'linux-cubic' }}\" for every such connection, or \
             use the packet model with `netflow run`"
        )),
        _ => Failure::Evaluation(error.to_string()),
    }
}
