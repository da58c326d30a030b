//! Tables of the colours of aggregates, and of drops by precedence.

use std::io::{self, Write};

use netflow::number::{percent, short};
use netflow::results::{LinkSummary, Summary, std_of};

use super::format_with_std::format_with_std;
use crate::output::table::Table;

pub fn print(summary: &Summary, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if !summary.aggregates.is_empty() {
        print_aggregates(summary, top, out)?;
        writeln!(out)?;
    }
    if summary.links.iter().any(has_precedences) {
        print_drops(&summary.links, top, out)?;
        writeln!(out)?;
    }
    Ok(())
}

fn print_aggregates(summary: &Summary, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::of(&summary.aggregates)
        .text("aggregate", |it| it.aggregate.clone())
        .number("delivered [Mbit/s]", |it| {
            let std = std_of(&it.spread, "mean_goodput_bps");
            format_with_std(it.mean_goodput_bps, std, |bps| short(bps / 1e6))
        });
    for place in 0..3 {
        table = table.number(format!("DP{place}"), move |it| {
            let std = it
                .spread
                .get("fractions_std")
                .and_then(|all| all.list_element(place));
            format_with_std(it.fractions[place], std, percent)
        });
    }
    table
        .number("loss", |it| {
            let std = std_of(&it.spread, "loss_probability");
            format_with_std(it.loss_probability, std, percent)
        })
        .print_top(top, "aggregate", out)
}

/// Prints a row for each used queue that distinguishes precedences.
fn print_drops(links: &[LinkSummary], top: usize, out: &mut dyn Write) -> io::Result<()> {
    let used = links.iter().filter(|link| has_precedences(link));
    let mut table = Table::of(used).text("drops at", |link| link.link.clone());
    for place in 0..3 {
        table = table.number(format!("loss DP{place}"), move |link| {
            let it = &link.precedences[place];
            let std = std_of(&it.spread, "loss_probability");
            format_with_std(it.loss_probability, std, percent)
        });
    }
    for place in 0..3 {
        table = table.number(format!("DP{place} [pkt]"), move |link| {
            let it = &link.precedences[place];
            format_with_std(it.lost_pkts, std_of(&it.spread, "lost_pkts"), short)
        });
    }
    table.print_top(top, "link", out)
}

fn has_precedences(link: &LinkSummary) -> bool {
    !link.precedences.is_empty() && link.offered_pkts > 0.0
}
