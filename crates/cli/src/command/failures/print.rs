//! Failures to read.

use std::io::{self, Write};

use netflow::number::{count, percent, plain, short};
use netflow::steady::rows::{self, FailureRow, HurtRow, LinkUnderFailureRow};

use super::Seen;
use crate::output::table::{Table, known};

pub fn print(
    seen: &Seen<'_>,
    cases: &[FailureRow<'_>],
    links: &[LinkUnderFailureRow<'_>],
    hurt: &[HurtRow<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    table_of_cases(cases).print_top(seen.top, "case", out)?;
    writeln!(out)?;
    if !hurt.is_empty() {
        // Of the cases that are printed.
        let of_top = hurt.iter().filter(|it| it.rank <= seen.top);
        table_of_hurt(of_top).print_top(usize::MAX, "connection", out)?;
        writeln!(out)?;
    }
    print_links(links, seen.top, out)?;
    writeln!(out)?;
    for line in summary(seen, cases) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Of what there is not.
const NOTHING: &str = "-";

/// The cases, in the order of the rows.
pub fn table_of_cases<'a>(cases: &'a [FailureRow<'a>]) -> Table<'a, &'a FailureRow<'a>> {
    let ms = |delay_s: f64| short(delay_s * 1e3);
    Table::of(cases)
        .text("failure", |it| it.failure.clone())
        .text("kind", |it| it.kind.clone())
        .number("lost goodput", |it| known(it.lost_goodput, lost, "no rest"))
        .number("blocked", |it| match it.blocked_connections {
            0 => "0".to_owned(),
            n => format!("{n} ({})", percent(it.blocked_goodput)),
        })
        .number("max utilization", |it| {
            known(it.max_utilization, percent, NOTHING)
        })
        .text("at", |it| it.max_utilization_link.unwrap_or_default())
        .number("links above 90 %", |it| {
            it.links_above_90_percent
                .map_or_else(|| NOTHING.to_owned(), |n| n.to_string())
        })
        .number("max delay ms", move |it| known(it.max_delay_s, ms, NOTHING))
        .text("of", |it| it.max_delay_connection.unwrap_or_default())
        .number("max loss", |it| known(it.max_loss, percent, NOTHING))
        .text("at", |it| it.max_loss_link.unwrap_or_default())
        .number("hurt", |it| {
            it.hurt_connections
                .map_or_else(|| NOTHING.to_owned(), |n| n.to_string())
        })
        .text("hit hardest", |it| {
            match (it.hardest_hit, it.hardest_hit_lost) {
                (Some(name), Some(part)) => format!("{name}: {}", percent(-part)),
                _ => String::new(),
            }
        })
}

fn table_of_hurt<'a>(
    rows: impl IntoIterator<Item = &'a HurtRow<'a>>,
) -> Table<'a, &'a HurtRow<'a>> {
    Table::of(rows)
        .text("failure", |it| it.failure.clone())
        .text("hurts", |it| it.connection)
        .number("lost goodput", |it| lost(it.lost_goodput))
        .number("delay ms", |it| short(it.intact_delay_s * 1e3))
        .number("then", |it| {
            known(it.delay_s, |delay_s| short(delay_s * 1e3), NOTHING)
        })
        .number("offered Mbit/s", |it| short(it.offered_bps / 1e6))
}

/// A part of the goodput; of so little nobody can tell whether it is lost.
fn lost(part: f64) -> String {
    match part.abs() < 1e-7 {
        true => percent(0.0),
        false => percent(part),
    }
}

/// The links with traffic, the busiest first, in hundredths of a percent; then by what they are offered, then by name.
pub fn table_of_links<'a>(
    links: &'a [LinkUnderFailureRow<'a>],
) -> Table<'a, &'a LinkUnderFailureRow<'a>> {
    let mut used: Vec<_> = links.iter().filter(|it| it.max_utilization > 0.0).collect();
    let steps = |it: &LinkUnderFailureRow<'_>| (it.max_utilization * 1e4).round();
    let kbps = |it: &LinkUnderFailureRow<'_>| (it.offered_bps * 1e-3).round();
    used.sort_by(|a, b| {
        let by_use = steps(b).total_cmp(&steps(a));
        let by_offer = kbps(b).total_cmp(&kbps(a));
        by_use.then(by_offer).then_with(|| a.link.cmp(b.link))
    });
    Table::of(used)
        .text("link", |it| it.link)
        .number("utilization", |it| percent(it.utilization))
        .number("under failures", |it| percent(it.max_utilization))
        .number("offered Mbit/s", |it| short(it.offered_bps / 1e6))
        .text("if this fails", |it| {
            it.failure.clone().unwrap_or_else(|| NOTHING.to_owned())
        })
}

fn print_links(
    links: &[LinkUnderFailureRow<'_>],
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let used = table_of_links(links);
    used.print_top(top, "link", out)?;
    match links.len() - used.len() {
        0 => Ok(()),
        idle => writeln!(
            out,
            " {} without traffic, whatever fails",
            count(idle, "link")
        ),
    }
}

/// What is to be known of all, a line each.
pub fn summary(seen: &Seen<'_>, cases: &[FailureRow<'_>]) -> Vec<String> {
    let intact = rows::intact(seen.network, seen.found);
    let busy = match intact.max_utilization_link.zip(intact.max_utilization) {
        Some((link, part)) => format!("; {link} is busy for {} of the time", percent(part)),
        None => String::new(),
    };
    let goodput = short(intact.goodput_bps / 1e6);
    let mut lines = vec![format!("intact: goodput {goodput} Mbit/s{busy}")];
    for kind in rows::kinds_of_failures(cases) {
        let mut of_kind = cases.iter().filter(|it| it.kind == kind);
        if let Some(worst) = of_kind.next() {
            lines.push(format!("worst {kind}: {}", told(worst)));
        }
    }
    let drawn = match cases.len() == seen.found.possible {
        true => String::new(),
        false => format!(" of {}", seen.found.possible),
    };
    lines.push(format!(
        "{}{drawn} with what sends just before {} s, by lost goodput (in steps of 0.01 %), then by utilization",
        count(cases.len(), "case"),
        plain(seen.at_s),
    ));
    match cases.iter().filter(|it| !it.rests).count() {
        0 => {}
        1 => lines.push("1 case does not come to rest, and stands first".to_owned()),
        n => lines.push(format!("{n} cases do not come to rest, and stand first")),
    }
    lines
}

/// A case in a line.
pub fn told(row: &FailureRow<'_>) -> String {
    let name = &row.failure;
    if let Some(why) = &row.why_not {
        return format!("{name}: {why}");
    }
    let mut told = format!(
        "{name} costs {} of the goodput",
        known(row.lost_goodput, lost, NOTHING)
    );
    if row.blocked_connections > 0 {
        let blocked = count(row.blocked_connections as usize, "connection");
        let verb = if row.blocked_connections == 1 {
            "has"
        } else {
            "have"
        };
        told += &format!("; {blocked} {verb} no route");
    }
    if let Some((link, part)) = row.max_utilization_link.zip(row.max_utilization) {
        told += &format!("; {link} is busy for {} of the time", percent(part));
    }
    told
}
