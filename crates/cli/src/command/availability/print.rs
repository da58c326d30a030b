//! Text output of availability.

use std::io::{self, Write};

use netflow::number::{complement_percent, count, percent, plain_percent, short};
use netflow::steady::rows::{AvailabilityRow, NetworkAvailabilityRow, SloVerdict};

use crate::output::table::Table;

pub fn print(
    all: &NetworkAvailabilityRow,
    rows: &[AvailabilityRow<'_>],
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown = rows.iter().filter(|row| row.slo != Some(SloVerdict::Met));
    let shown: Vec<&AvailabilityRow<'_>> = shown.collect();
    if !shown.is_empty() {
        table(all, shown).print_top(top, "demand", out)?;
        writeln!(out)?;
    }
    if let (Some(slo), Some(missed), Some(undecided)) = (all.slo, all.slo_missed, all.slo_undecided)
    {
        let verdict = match (missed, undecided) {
            (0, 0) => "all demands meet it".to_owned(),
            (_, 0) => format!("{missed} of {} miss it", count(all.demands, "demand")),
            _ => format!(
                "{missed} of {} miss it, {undecided} may miss it",
                count(all.demands, "demand")
            ),
        };
        writeln!(out, "SLO of {}: {verdict}", plain_percent(slo))?;
    }
    print_network(all, out)?;
    print_states(all, out)
}

fn table<'a>(
    all: &NetworkAvailabilityRow,
    rows: Vec<&'a AvailabilityRow<'a>>,
) -> Table<'a, &'a AvailabilityRow<'a>> {
    let has_end_failures = rows.iter().any(|row| row.end_downtime_h > 0.0);
    let mut table = Table::of(rows)
        .text("demand", |it| it.demand)
        .number("availability", |it| {
            shares(it.availability_min, it.availability_max)
        })
        .number("downtime [h/year]", |it| {
            range(it.downtime_min_h, it.downtime_max_h, short)
        });
    if has_end_failures {
        table = table
            .number("in transit [h/year]", |it| {
                range(it.transit_downtime_min_h, it.transit_downtime_max_h, short)
            })
            .number("end failed [h/year]", |it| short(it.end_downtime_h));
    }
    table = table.number("delivered", |it| shares(it.delivered_min, it.delivered_max));
    match all.slo {
        None => table,
        Some(_) => table.description("SLO", |it| it.slo.map_or("", SloVerdict::name)),
    }
}

fn print_network(all: &NetworkAvailabilityRow, out: &mut dyn Write) -> io::Result<()> {
    let served = shares(all.all_served_min, all.all_served_max);
    writeln!(
        out,
        "all demands served (at least {} of their rate): {served} of the time",
        plain_percent(all.served)
    )?;
    if all.lost_at_ends > 0.0 {
        let served = shares(all.all_served_in_transit_min, all.all_served_in_transit_max);
        writeln!(
            out,
            "all demands with working end nodes served: {served} of the time"
        )?;
    }
    let delivered = shares(all.delivered_min, all.delivered_max);
    let transit = range(all.lost_in_transit_min, all.lost_in_transit_max, percent);
    write!(
        out,
        "expected traffic: {delivered} of {} Mbit/s delivered; {transit} lost in transit",
        short(all.rate_bps / 1e6)
    )?;
    if all.lost_at_ends > 0.0 {
        write!(
            out,
            "; {} lost by failed end nodes",
            percent(all.lost_at_ends)
        )?;
    }
    writeln!(out)
}

fn print_states(all: &NetworkAvailabilityRow, out: &mut dyn Write) -> io::Result<()> {
    let elements = count(all.elements, "element");
    let states = count(all.states, "state");
    let rest = percent(all.rest);
    if all.rest <= 0.0 {
        return writeln!(out, "evaluated all {states} of {elements} that can fail");
    }
    let failures = match all.all_failures_up_to {
        0 => String::new(),
        1 => ", including all with 1 failure".to_owned(),
        n => format!(", including all with up to {n} failures"),
    };
    writeln!(
        out,
        "evaluated the most probable {states} of {elements} that can fail{failures}; probability of the others: {rest}"
    )?;
    match all.sampled_states {
        0 => writeln!(
            out,
            "ranges: in the other states, no demand is served, or all are"
        ),
        n => writeln!(
            out,
            "ranges: 95 % confidence intervals from {n} random samples of the other states"
        ),
    }
}

/// Formats an interval of shares near 1.
fn shares(low: f64, high: f64) -> String {
    range(1.0 - low, 1.0 - high, complement_percent)
}

/// Formats both limits of an interval, or one if they do not differ as texts.
fn range(low: f64, high: f64, text: impl Fn(f64) -> String) -> String {
    let (low, high) = (text(low), text(high));
    if low == high {
        low
    } else {
        format!("{}–{high}", low.trim_end_matches(" %"))
    }
}
