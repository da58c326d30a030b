//! Verification of the steady state by a run.

use std::io::{self, Write};

use netflow::number::{percent, plain, short};
use netflow::simulation::{FluidOptions, Model, Network, Step};
use netflow::steady::{BesideRun, beside_run};
use serde::Serialize;

use super::SolvedState;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::json::object;

/// Runs the fluid model. Step and transport are those of the scenario, if its model is a fluid that
/// accounts for upstream losses.
pub(super) fn run(seen: &SolvedState<'_>, model: Model) -> Result<BesideRun, Failure> {
    let options = match model {
        Model::Fluid(options) if !matches!(options, FluidOptions::Literal { .. }) => options,
        _ => FluidOptions::Fifo {
            step: Step::default(),
        },
    };
    let run = beside_run(
        seen.network,
        seen.steady,
        seen.at_s,
        options,
        &interrupt::requested,
    )
    .map_err(|error| Failure::Evaluation(error.to_string()))?;
    run.ok_or_else(|| Failure::Interrupted("interrupted".to_owned()))
}

pub(super) fn row(network: &Network, run: &BesideRun) -> impl Serialize {
    object! {
        duration_s: run.duration_s,
        rests: run.rests(),
        queues_away: run.queues_away,
        rates_away: run.rates_away,
        most_moved_link: run.queue.map(|(id, _)| network.link_name(id).to_owned()),
        least_pkts: run.queue.map(|(_, it)| it.least),
        mean_pkts: run.queue.map(|(_, it)| it.mean),
        most_pkts: run.queue.map(|(_, it)| it.most),
    }
}

pub(super) fn print(network: &Network, run: &BesideRun, out: &mut dyn Write) -> io::Result<()> {
    let seconds = plain(run.duration_s);
    let away = format!(
        "mean queues within {}, mean rates within {} of these",
        percent(run.queues_away),
        percent(run.rates_away),
    );
    match run.queue {
        _ if run.rests() => writeln!(
            out,
            "a run of {seconds} s rests in its last quarter: {away}"
        ),
        Some((id, it)) => writeln!(
            out,
            "a run of {seconds} s does not rest in its last quarter: the queue of {} goes from {} to {} packets; {away}",
            network.link_name(id),
            short(it.least),
            short(it.most),
        ),
        None => writeln!(
            out,
            "a run of {seconds} s does not rest in its last quarter; {away}"
        ),
    }
}
