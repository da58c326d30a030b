//! Text output of the size of a sweep, and of its outcome.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use netflow::number::{count, duration, percent, short};
use netflow::sweep::{Case, Estimate, LoadStatistics, Shard, Sweep, WriteOptions, WriteSummary};

use crate::output::table::Table;

/// Formats the axes: `20 values of link.A->B.bandwidth × 3 values of …`.
fn format_axes(sweep: &Sweep) -> String {
    let request = sweep.request();
    let axes = request.axes.iter();
    let mut factors: Vec<String> = axes
        .map(|axis| format!("{} of {}", count(axis.values.len(), "value"), axis.key))
        .collect();
    match sweep.failures().len() {
        0 => {}
        links => factors.push(format!("intact and {} down", count(links, "link"))),
    }
    if request.seeds > 1 {
        factors.push(format!("{} seeds", request.seeds));
    }
    factors.join(" × ")
}

fn format_cases(sweep: &Sweep) -> String {
    let all = count(
        usize::try_from(sweep.cases().count()).unwrap_or(usize::MAX),
        "case",
    );
    match format_axes(sweep) {
        factors if factors.is_empty() => all,
        factors => format!("{all}: {factors}"),
    }
}

pub fn print_estimate(
    sweep: &Sweep,
    shard: Shard,
    estimate: &Estimate,
    threads: Option<u16>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", format_cases(sweep))?;
    if !shard.is_all() {
        writeln!(out, "{} of them in shard {shard}", estimate.cases)?;
    }
    let of_one = match threads {
        Some(threads) if threads > 1 => {
            let time_s = estimate.time_s / f64::from(threads);
            format!(", {} with {threads} threads", duration(time_s))
        }
        _ => String::new(),
    };
    writeln!(
        out,
        "about {:.0} rows, {} MB of {}, {} of CPU time{of_one}; extrapolated from {}",
        estimate.rows,
        short(estimate.bytes / 1e6),
        sweep.request().format,
        duration(estimate.time_s),
        count(estimate.sampled as usize, "case"),
    )
}

pub fn print_loads(
    sweep: &Sweep,
    found: &LoadStatistics,
    percentile: f64,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rank = format!("p{percentile}");
    Table::of(&found.links)
        .text("link", |it| it.link.as_str())
        .number("mean load", |it| percent(it.mean))
        .number(format!("{rank} load"), |it| percent(it.percentile))
        .number(format!("{rank} [Mbit/s]"), |it| {
            short(it.percentile_bps / 1e6)
        })
        .number("max load", |it| percent(it.max))
        .text("worst case", |it| case_name(sweep, &it.worst_case))
        .print_top(top, "link", out)?;
    writeln!(out)?;
    writeln!(out, "{}", format_cases(sweep))
}

/// Returns the values of a case, `key=value`, with its failure.
fn case_name(sweep: &Sweep, case: &Case) -> String {
    let axes = sweep.request().axes.iter().zip(&case.values);
    let mut parts: Vec<String> = axes.map(|(axis, &value)| axis.setting(value)).collect();
    if let Some(failed) = case.failed {
        parts.push(format!("{} down", sweep.failures()[failed]));
    }
    if parts.is_empty() {
        return "-".to_owned();
    }
    parts.join(", ")
}

pub fn print_written(
    sweep: &Sweep,
    directory: &Path,
    writing: &WriteOptions,
    written: &WriteSummary,
    began: Instant,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", format_cases(sweep))?;
    let shard = if writing.shard.is_all() {
        String::new()
    } else {
        format!(" of shard {}", writing.shard)
    };
    let what = match written.reused {
        0 => format!("evaluated{shard}"),
        reused => format!("finished{shard}, {reused} of them earlier"),
    };
    writeln!(
        out,
        "{} {what}, {} rows, in {}",
        count(written.cases as usize, "case"),
        written.rows,
        duration(began.elapsed().as_secs_f64()),
    )?;
    if written.without_result > 0 {
        writeln!(
            out,
            "{} without a result: see the reason in column `status` of table `network`",
            count(written.without_result as usize, "case"),
        )?;
    }
    let format = sweep.request().format;
    match written.missing_chunks {
        0 => writeln!(
            out,
            "complete: {place}/links/*.{format}, {place}/connections/*.{format} and {place}/network/*.{format}",
            place = directory.display(),
        ),
        missing => writeln!(
            out,
            "{} of {} in {} are still missing",
            count(missing as usize, "chunk"),
            sweep.chunks().count(),
            directory.display(),
        ),
    }
}
