//! `netflow solve SCENARIO --headroom`

use std::io::{self, Write};

use netflow::number::{percent, short};
use netflow::simulation::Network;
use netflow::steady::{Binding, Bounds, Headroom, Scale, Solver, SteadyOptions};
use serde::Serialize;

use super::{Seen, cannot};
use crate::failure::Failure;
use crate::output::csv;

#[derive(Serialize)]
struct Answer<'a> {
    at_s: f64,
    max_utilization: Option<f64>,
    max_delay_s: Option<f64>,
    max_loss: Option<f64>,
    scaled: &'a str,
    factor: Option<f64>,
    rate_pps: f64,
    goodput_bps: f64,
    binding: Option<netflow::steady::BindingKind>,
    binding_at: Option<&'a str>,
}

pub(super) fn answer(
    seen: &Seen<'_>,
    solver: &mut Solver,
    bounds: &Bounds,
    scale: Scale,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let options = SteadyOptions::default();
    let found = solver.headroom(bounds, scale, &options).map_err(cannot)?;
    let network = seen.network;
    let given = |bound: f64| Some(bound).filter(|bound| bound.is_finite());
    let answer = Answer {
        at_s: seen.at_s,
        max_utilization: given(bounds.utilization),
        max_delay_s: given(bounds.delay_s),
        max_loss: given(bounds.loss),
        scaled: match scale {
            Scale::All => "all demands",
            Scale::One(id) => network.connection_name(id),
        },
        factor: found.factor,
        rate_pps: found.at.totals.rate_pps,
        goodput_bps: found.at.totals.goodput_bps,
        binding: found.binding.map(|binding| binding.kind()),
        binding_at: found.binding.map(|binding| place(network, binding)),
    };
    Ok(seen.format.answer(
        out,
        &answer,
        |out| csv::write([&answer], out),
        |out| print_text(network, &answer, &found, out),
    )?)
}

fn place(network: &Network, binding: Binding) -> &str {
    match binding {
        Binding::Utilization(id) => network.link_name(id),
        Binding::Delay(id) | Binding::Loss(id) => network.connection_name(id),
    }
}

fn print_text(
    network: &Network,
    answer: &Answer<'_>,
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
    let name = place(network, binding);
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
