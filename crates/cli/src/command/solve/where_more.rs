//! `netflow solve SCENARIO --where`

use std::io::{self, Write};

use netflow::number::short;
use netflow::steady::{Measure, Sensitivities, Solver};
use serde::Serialize;

use super::{Seen, cannot, print};
use crate::failure::Failure;
use crate::output::csv;
use crate::output::json::object;
use crate::output::table::Table;

/// What a little more of one link changes, per unit.
#[derive(Default, Serialize)]
struct Row<'a> {
    link: &'a str,
    goodput_bps_per_bps: f64,
    goodput_bps_per_s: f64,
    goodput_bps_per_pkt: f64,
    delay_s_per_bps: f64,
    delay_s_per_s: f64,
    delay_s_per_pkt: f64,
    loss_per_bps: f64,
    loss_per_s: f64,
    loss_per_pkt: f64,
}

pub(super) fn answer(
    seen: &Seen<'_>,
    solver: &mut Solver,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut by = |measure| solver.sensitivities(seen.steady, measure).map_err(cannot);
    let (goodput, delay, loss) = (
        by(Measure::Goodput)?,
        by(Measure::Delay)?,
        by(Measure::Loss)?,
    );
    let rows = seen.network.links().map(|id| {
        let at = |all: &Sensitivities| {
            let l = id.index();
            [all.by_bandwidth[l], all.by_delay[l], all.by_buffer[l]]
        };
        let [goodput, delay, loss] = [at(&goodput), at(&delay), at(&loss)];
        Row {
            link: seen.network.link_name(id),
            goodput_bps_per_bps: goodput[0],
            goodput_bps_per_s: goodput[1],
            goodput_bps_per_pkt: goodput[2],
            delay_s_per_bps: delay[0],
            delay_s_per_s: delay[1],
            delay_s_per_pkt: delay[2],
            loss_per_bps: loss[0],
            loss_per_s: loss[1],
            loss_per_pkt: loss[2],
        }
    });
    let mut rows: Vec<Row<'_>> = rows.collect();
    rows.sort_by(|a, b| b.goodput_bps_per_bps.total_cmp(&a.goodput_bps_per_bps));
    let bends: Vec<&str> = goodput
        .at_bends
        .iter()
        .map(|&id| seen.network.connection_name(id))
        .collect();
    let answer = object! {
        at_s: seen.at_s,
        goodput_bps: goodput.value,
        delay_s: delay.value,
        loss_probability: loss.value,
        one_sided_because_of: &bends,
        links: &rows,
    };
    Ok(seen.format.answer(
        out,
        &answer,
        |out| csv::write_any(&rows, out),
        |out| print_text(seen, &rows, &bends, out),
    )?)
}

fn print_text(
    seen: &Seen<'_>,
    rows: &[Row<'_>],
    bends: &[&str],
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(first) = rows.first().filter(|row| row.goodput_bps_per_bps > 0.0) {
        writeln!(
            out,
            "1 Mbit/s more gains most at {}: {} kbit/s of goodput at the margin",
            first.link,
            short(first.goodput_bps_per_bps * 1e3),
        )?;
        writeln!(out)?;
    }
    writeln!(
        out,
        "what more of each link changes, at the margin: goodput in kbit/s, mean delay in ms, loss in %"
    )?;
    Table::of(rows)
        .text("link", |it| it.link)
        .number("1 Mbit/s: goodput", |it| {
            little(it.goodput_bps_per_bps * 1e3)
        })
        .number("delay", |it| little(it.delay_s_per_bps * 1e9))
        .number("loss", |it| little(it.loss_per_bps * 1e8))
        .number("1 ms: goodput", |it| little(it.goodput_bps_per_s * 1e-6))
        .number("delay", |it| little(it.delay_s_per_s))
        .number("loss", |it| little(it.loss_per_s * 0.1))
        .number("1 packet of room: goodput", |it| {
            little(it.goodput_bps_per_pkt * 1e-3)
        })
        .number("delay", |it| little(it.delay_s_per_pkt * 1e3))
        .number("loss", |it| little(it.loss_per_pkt * 1e2))
        .print_top(seen.top, "link", out)?;
    writeln!(out)?;
    if !bends.is_empty() {
        writeln!(
            out,
            "one-sided: a profile or a limit bends right where {} is",
            bends.join(", "),
        )?;
    }
    print::print_found(seen, out)
}

/// A change of which less than a millionth is none.
fn little(change: f64) -> String {
    match change.abs() < 1e-6 {
        true => "0".to_owned(),
        false => short(change),
    }
}
