//! Colours of aggregates, and drops by precedence, where there are any.

use std::io::{self, Write};

use netflow::results::{Beside, LinkSummary, PrecedenceSummary, Summary};

use super::beside;
use crate::number::{percent, short};
use crate::table;

pub fn print(summary: &Summary, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if !summary.aggregates.is_empty() {
        print_aggregates(summary, top, out)?;
        writeln!(out)?;
    }
    if summary.links.iter().any(tells_apart) {
        print_drops(&summary.links, top, out)?;
        writeln!(out)?;
    }
    Ok(())
}

fn print_aggregates(summary: &Summary, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let titles = ["aggregate", "goodput Mbit/s", "DP0", "DP1", "DP2", "loss"];
    let mut table = table::table(&titles);
    for aggregate in summary.aggregates.iter().take(top) {
        let std = |name: &str| aggregate.spread.get(&format!("{name}_std"));
        let goodput_std = std("mean_goodput_bps").and_then(Beside::one);
        let fraction = |p: usize| {
            let std = std("fractions").and_then(|all| all.at(p));
            beside(aggregate.fractions[p], std, percent)
        };
        table.add_row([
            aggregate.aggregate.clone(),
            beside(aggregate.mean_goodput_bps, goodput_std, |bps| {
                short(bps / 1e6)
            }),
            fraction(0),
            fraction(1),
            fraction(2),
            beside(
                aggregate.loss_probability,
                std("loss_probability").and_then(Beside::one),
                percent,
            ),
        ]);
    }
    table::print(&table, out)?;
    super::print_rest(summary.aggregates.len(), top, "aggregate", out)
}

/// A row for each queue that tells precedences apart and was used.
fn print_drops(links: &[LinkSummary], top: usize, out: &mut dyn Write) -> io::Result<()> {
    let used: Vec<&LinkSummary> = links.iter().filter(|link| tells_apart(link)).collect();
    let mut table = table::table(&[
        "drops at", "of DP0", "of DP1", "of DP2", "DP0 pkt", "DP1 pkt", "DP2 pkt",
    ]);
    for link in used.iter().take(top) {
        let all = &link.precedences;
        let std = |p: &PrecedenceSummary, name: &str| {
            let std = p.spread.get(&format!("{name}_std"));
            std.and_then(Beside::one)
        };
        let fractions = all
            .iter()
            .map(|p| beside(p.loss_probability, std(p, "loss_probability"), percent));
        let drops = all
            .iter()
            .map(|p| beside(p.lost_pkts, std(p, "lost_pkts"), short));
        let name = std::iter::once(link.link.clone());
        table.add_row(name.chain(fractions).chain(drops));
    }
    table::print(&table, out)?;
    super::print_rest(used.len(), top, "link", out)
}

fn tells_apart(link: &LinkSummary) -> bool {
    !link.precedences.is_empty() && link.offered_pkts > 0.0
}
