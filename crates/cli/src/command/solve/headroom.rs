//! The subcommand `netflow solve SCENARIO --headroom`.

use std::io::{self, Write};

use clap::Args;
use netflow::number::{percent, short};
use netflow::simulation::Network;
use netflow::steady::rows::{self, HeadroomRow};
use netflow::steady::{Binding, Bounds, ConnectionSelection, Headroom, Solver, SteadyOptions};

use super::{SolvedState, steady_failure};
use crate::failure::Failure;
use crate::output::csv;
use crate::output::notes::print_notes;
use crate::parse::{positive_time, probability};

/// Limits of `solve --headroom`, `failures --headroom` and `plan`.
#[derive(Args)]
pub(crate) struct BoundsArguments {
    /// Limit for the load of every link: demanded traffic over bandwidth
    #[arg(long, value_name = "PART", value_parser = probability)]
    max_utilization: Option<f64>,

    /// Limit for the mean one-way delay of every connection
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    max_delay: Option<f64>,

    /// Limit for the fraction of packets that a connection loses
    #[arg(long, value_name = "PART", value_parser = probability)]
    max_loss: Option<f64>,
}

impl BoundsArguments {
    /// Returns the limits; without any, a load of 100 %.
    pub fn bounds(&self) -> Bounds {
        let given = [self.max_utilization, self.max_delay, self.max_loss];
        if given.iter().all(Option::is_none) {
            return Bounds {
                utilization: 1.0,
                ..Bounds::default()
            };
        }
        let endless = |bound: Option<f64>| bound.unwrap_or(f64::INFINITY);
        Bounds {
            utilization: endless(self.max_utilization),
            delay_s: endless(self.max_delay),
            loss: endless(self.max_loss),
        }
    }
}

/// Minimum loss probability that the answer reports.
const MIN_REPORTED_LOSS: f64 = 1e-6;

pub(super) fn answer(
    seen: &SolvedState<'_>,
    solver: &mut Solver,
    bounds: &Bounds,
    scaled: Option<&str>,
    scale: ConnectionSelection<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let options = SteadyOptions::default();
    let found = solver
        .headroom(bounds, scale, &options)
        .map_err(steady_failure)?;
    let network = seen.network;
    let answer = rows::headroom(network, seen.at_s, bounds, scaled, &found);
    Ok(seen.format.print(
        out,
        &answer,
        |out| csv::write([&answer], out),
        |out| {
            print_text(network, &answer, &found, out)?;
            print_notes(seen.notes, out)
        },
    )?)
}

fn print_text(
    network: &Network,
    answer: &HeadroomRow<'_>,
    found: &Headroom,
    out: &mut dyn Write,
) -> io::Result<()> {
    match (found.factor, found.binding) {
        (None, Some(binding)) => writeln!(
            out,
            "no headroom: even with {} close to zero, a limit is exceeded by {}",
            answer.scaled,
            limited_by(network, binding, found),
        ),
        (Some(factor), Some(binding)) => {
            writeln!(
                out,
                "headroom: {} can grow by a factor of {}, to {} Mbit/s of total goodput",
                answer.scaled,
                short(factor),
                short(answer.goodput_bps / 1e6),
            )?;
            writeln!(out, " limited by {}", limited_by(network, binding, found))?;
            print_loss(network, found, out)
        }
        (factor, None) => writeln!(
            out,
            "headroom: {} can grow by a factor of {} or more; no limit is reached{}",
            answer.scaled,
            short(factor.unwrap_or(f64::NAN)),
            match found.steady.totals.loss_probability {
                loss if loss >= MIN_REPORTED_LOSS => format!(
                    ", but {} of all packets are lost there; limit the loss with `--max-loss`",
                    percent(loss)
                ),
                _ => String::new(),
            },
        ),
    }
}

/// Prints the losses at the answer, which bounds on load or delay permit.
fn print_loss(network: &Network, found: &Headroom, out: &mut dyn Write) -> io::Result<()> {
    let loss = found.steady.totals.loss_probability;
    let links = network.links().zip(&found.steady.links);
    let worst = links.max_by(|(_, a), (_, b)| a.loss_probability.total_cmp(&b.loss_probability));
    match worst {
        Some((id, link)) if loss >= MIN_REPORTED_LOSS => writeln!(
            out,
            " loss at this load: {} of all packets, at most {} at {}; limit it with `--max-loss`, or reduce it with a larger `buffer`",
            percent(loss),
            percent(link.loss_probability),
            network.link_name(id),
        ),
        _ => Ok(()),
    }
}

/// Names the bound that is reached, with its value.
pub(crate) fn limited_by(network: &Network, binding: Binding, found: &Headroom) -> String {
    let name = binding.name(network);
    match binding {
        Binding::Utilization(id) => {
            format!(
                "link {name} at a load of {}",
                percent(found.steady.link(id).load)
            )
        }
        Binding::Delay(id) => {
            let delay_s = found.steady.connection(id).delay_s;
            format!("the delay of {name}, {} ms", short(delay_s * 1e3))
        }
        Binding::Loss(id) => {
            format!(
                "the loss of {name}, {}",
                percent(found.steady.connection(id).loss_probability)
            )
        }
    }
}
