//! `netflow solve SCENARIO --headroom`

use std::io::{self, Write};

use netflow::number::{percent, short};
use netflow::simulation::Network;
use netflow::steady::rows::{self, HeadroomRow};
use netflow::steady::{Binding, Bounds, Headroom, Solver, SteadyOptions, Which};

use super::{Seen, cannot};
use crate::failure::Failure;
use crate::output::csv;

pub(super) fn answer(
    seen: &Seen<'_>,
    solver: &mut Solver,
    bounds: &Bounds,
    scaled: Option<&str>,
    scale: Which<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let options = SteadyOptions::default();
    let found = solver.headroom(bounds, scale, &options).map_err(cannot)?;
    let network = seen.network;
    let answer = rows::headroom(network, seen.at_s, bounds, scaled, &found);
    Ok(seen.format.answer(
        out,
        &answer,
        |out| csv::write([&answer], out),
        |out| print_text(network, &answer, &found, out),
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
            "no headroom: however small {} is, {}",
            answer.scaled,
            held(network, binding, found),
        ),
        (Some(factor), Some(binding)) => {
            writeln!(
                out,
                "{} may be {} times as much: {} Mbit/s of goodput in all",
                answer.scaled,
                short(factor),
                short(answer.goodput_bps / 1e6),
            )?;
            writeln!(out, " what binds there: {}", held(network, binding, found))
        }
        (factor, None) => writeln!(
            out,
            "{} may be {} times as much, and more: no bound is met",
            answer.scaled,
            short(factor.unwrap_or(f64::NAN)),
        ),
    }
}

fn held(network: &Network, binding: Binding, found: &Headroom) -> String {
    let name = binding.name(network);
    match binding {
        Binding::Utilization(id) => {
            format!(
                "link {name} is busy for {} of the time",
                percent(found.at.link(id).utilization)
            )
        }
        Binding::Delay(id) => {
            let delay_s = found.at.connection(id).delay_s;
            format!("packets of {name} take {} ms", short(delay_s * 1e3))
        }
        Binding::Loss(id) => {
            format!(
                "{name} loses {}",
                percent(found.at.connection(id).loss_probability)
            )
        }
    }
}
