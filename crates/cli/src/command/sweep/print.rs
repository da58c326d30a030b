//! Text output of the size of a sweep, and of its outcome.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use netflow::number::{count, duration, short};
use netflow::sweep::{Estimate, Shard, Sweep, WriteOptions, WriteSummary};

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
