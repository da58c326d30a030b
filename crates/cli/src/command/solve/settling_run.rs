//! Verification of the steady state by a run.

use std::io::{self, Write};

use netflow::number::{percent, plain, short};
use netflow::simulation::{FluidOptions, Model, Network, Step};
use netflow::steady::{RunComparison, compare_with_run};
use serde::Serialize;

use super::SolvedState;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::json::object;

/// Runs the fluid model. The step is that of the scenario, if its model is `fluid`.
pub(super) fn run(seen: &SolvedState<'_>, model: Model) -> Result<RunComparison, Failure> {
    let options = match model {
        Model::Fluid(options @ FluidOptions::Standard { .. }) => options,
        Model::Fluid(FluidOptions::Literal { .. }) | Model::Packets(_) => FluidOptions::Standard {
            step: Step::default(),
        },
    };
    let run = compare_with_run(
        seen.network,
        seen.steady,
        seen.at_s,
        options,
        &interrupt::requested,
    )
    .map_err(|error| Failure::Evaluation(error.to_string()))?;
    run.ok_or_else(|| Failure::Interrupted("no results".to_owned()))
}

pub(super) fn row(network: &Network, run: &RunComparison) -> impl Serialize {
    object! {
        duration_s: run.duration_s,
        settled: run.has_settled(),
        max_queue_difference: run.max_queue_difference,
        max_rate_difference: run.max_rate_difference,
        most_varying_link: run.queue.map(|(id, _)| network.link_name(id).to_owned()),
        min_pkts: run.queue.map(|(_, it)| it.min),
        mean_pkts: run.queue.map(|(_, it)| it.mean),
        max_pkts: run.queue.map(|(_, it)| it.max),
    }
}

pub(super) fn print(network: &Network, run: &RunComparison, out: &mut dyn Write) -> io::Result<()> {
    let seconds = plain(run.duration_s);
    let away = format!(
        "mean queues differ by at most {} and mean rates by at most {}",
        percent(run.max_queue_difference),
        percent(run.max_rate_difference),
    );
    match run.queue {
        _ if run.has_settled() => writeln!(
            out,
            "settled in the last quarter of a run of {seconds} s: {away}"
        ),
        Some((id, it)) => writeln!(
            out,
            "not settled in the last quarter of a run of {seconds} s: the queue of {} varies from {} to {} packets; {away}",
            network.link_name(id),
            short(it.min),
            short(it.max),
        ),
        None => writeln!(
            out,
            "not settled in the last quarter of a run of {seconds} s: {away}"
        ),
    }
}
