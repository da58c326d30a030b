//! The subcommand `netflow availability SCENARIO`.

mod print;

use std::io::Write;

use clap::Args;
use netflow::evaluate::{steady_demands, steady_notes, steady_warnings};
use netflow::number::{count, percent};
use netflow::scenario::CompiledScenario;
use netflow::steady::{Availability, AvailabilityOptions, Demand, availability as compute, rows};

use super::failures::warn_down_already;
use super::solve::steady_failure;
use crate::failure::Failure;
use crate::input::ScenarioArguments;
use crate::interrupt;
use crate::output::answer_options::AnswerOptions;
use crate::output::csv;
use crate::output::json::object;
use crate::output::notes::print_notes;
use crate::parse::{loss, positive_time, probability};
use crate::problems;
use crate::threads::on_threads;

/// Compute the availability of each demand if links, nodes and shared-risk groups fail at random
///
/// Elements fail independently: those with `mtbf` and `mttr`, or `unavailability`, in the scenario. netflow evaluates the
/// most probable states of failed elements, each in steady state as `netflow failures` does. A demand is served if enough of
/// its rate in the intact network is delivered; loss, overload and a missing route all count. The other states bound the
/// results: at worst they serve nothing, at best everything. `--sample` draws some of them, and narrows the ranges to 95 %
/// confidence intervals. Prints the demands with the lowest availability, and sums of the network.
#[derive(Args)]
pub struct AvailabilityArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,

    /// Time of the failures: netflow uses the routes, bandwidths and active sources just before it
    /// [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    at: Option<f64>,

    /// Share of its rate from which a demand is served
    #[arg(long, value_name = "PART", default_value = "99%", value_parser = probability)]
    served: f64,

    /// Service-level objective for the availability of every demand: list only the demands that miss it, or may miss it,
    /// and count them; the exit code stays 0
    #[arg(long, value_name = "PART", value_parser = probability)]
    slo: Option<f64>,

    /// Probability of the states that need not be evaluated
    #[arg(long, value_name = "PART", default_value = "0.000001", value_parser = loss)]
    rest: f64,

    /// Maximum number of states to evaluate one by one, the most probable first
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    states: u32,

    /// Number of states to draw at random from the others [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample: Option<u32>,

    /// Random seed for --sample [default: the seed of the scenario]
    #[arg(long, value_name = "S", requires = "sample")]
    seed: Option<u64>,

    /// Maximum number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    #[command(flatten)]
    answer: AnswerOptions,
}

pub fn availability(arguments: &AvailabilityArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let scenario = on_threads(arguments.threads, || arguments.scenario.load_for_steady())??;
    problems::warn(&scenario);
    let at_s = arguments.at.unwrap_or(scenario.options.duration_s);
    let options = arguments.options(scenario.options.seed);
    let demands = steady_demands(&scenario);
    let network = &scenario.network;
    let work = || compute(network, at_s, &demands, &options, &interrupt::requested);
    let found = on_threads(arguments.threads, work)?.map_err(steady_failure)?;
    let found = found.ok_or_else(|| Failure::Interrupted("no results".to_owned()))?;
    for warning in steady_warnings(&scenario, &found.intact, at_s) {
        problems::warn_message(&warning);
    }
    for warning in warnings(&scenario, at_s, &demands, &found, &options) {
        problems::warn_message(&warning);
    }
    warn_down_already(network, &found.down_already);
    let rows = rows::availability(&demands, &found, arguments.slo);
    let all = rows::network_availability(at_s, options.served, arguments.slo, &found, &rows);
    let answer = object! { network: &all, demands: &rows };
    Ok(arguments.answer.format().print(
        out,
        &answer,
        |out| {
            csv::write_named_with_header("network", std::slice::from_ref(&all), out)?;
            csv::write_named_with_header("demands", &rows, out)
        },
        |out| {
            print::print(&all, &rows, arguments.answer.top, out)?;
            if arguments.answer.no_notes {
                Ok(())
            } else {
                print_notes(&steady_notes(&scenario, &found.intact), out)
            }
        },
    )?)
}

fn warnings(
    scenario: &CompiledScenario,
    at_s: f64,
    demands: &[Demand],
    found: &Availability,
    options: &AvailabilityOptions,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(&first) = found.without_traffic.first() {
        let all = count(found.without_traffic.len(), "demand");
        let name = &demands[first].name;
        warnings.push(format!(
            "left out without traffic: {all} (the first is {name})"
        ));
    }
    let is_unserved = |lost: f64| 1.0 - lost < options.served - 1e-8;
    let unserved = || {
        let demands = found.demands.iter();
        demands.filter(|it| is_unserved(it.intact_lost))
    };
    if let Some(first) = unserved().next() {
        let name = &demands[first.demand].name;
        warnings.push(format!(
            "not served even without failures: {} (the first is {name}, {} delivered)",
            count(unserved().count(), "demand"),
            percent(1.0 - first.intact_lost)
        ));
    }
    let states = &found.states;
    let evaluated = count(states.most_probable + states.different_samples, "state");
    if states.without_steady_state > 0 {
        warnings.push(format!(
            "{} of {evaluated} have no steady state and count as not evaluated",
            states.without_steady_state
        ));
    }
    if states.moved_whole > 0 {
        warnings.push(format!(
            "in {} of {evaluated} (`states_rerouted_unsplit`) flows move to one of several equal-cost paths: the load of \
             this path is overestimated",
            states.moved_whole
        ));
    }
    // If events take links down, another warning already covers the users.
    let users = scenario
        .users_warning()
        .filter(|_| !scenario.has_link_failure_before(at_s));
    warnings.extend(users);
    warnings
}

impl AvailabilityArguments {
    fn options(&self, seed: u64) -> AvailabilityOptions {
        AvailabilityOptions {
            served: self.served,
            rest: self.rest,
            max_states: self.states as usize,
            sample: self.sample.map_or(0, |n| n as usize),
            seed: self.seed.unwrap_or(seed),
            ..AvailabilityOptions::default()
        }
    }
}
