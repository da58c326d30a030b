//! Tables of the response times of users.

use std::io::{self, Write};

use netflow::number::{count, percent, short};
use netflow::results::{WaitSummary, WorkloadSummary};
use serde::Serialize;

use crate::output::table::{Table, print_omitted_count};

/// Maximum number of printed clusters of a distribution.
const MAX_PRINTED_CLUSTERS: usize = 3;

/// A kind of response time with its workload.
#[derive(Default, Serialize)]
pub struct Row<'a> {
    workload: &'a str,
    #[serde(flatten)]
    wait: WaitSummary,
}

pub fn rows(workloads: &[WorkloadSummary]) -> Vec<Row<'_>> {
    let row = |it, wait: &WaitSummary| Row {
        workload: it,
        wait: wait.clone(),
    };
    workloads
        .iter()
        .flat_map(|it| it.waits.iter().map(move |wait| row(&it.workload, wait)))
        .collect()
}

pub fn print(workloads: &[WorkloadSummary], top: usize, out: &mut dyn Write) -> io::Result<()> {
    if workloads.is_empty() {
        return Ok(());
    }
    let ms = |time_s: f64| short(time_s * 1e3);
    let shown = &workloads[..top.min(workloads.len())];
    Table::of(rows(shown))
        .text("users", |it| it.workload)
        .text("event", |it| it.wait.wait.clone())
        .number("count", |it| it.wait.times.count)
        .number("mean [ms]", |it| ms(it.wait.times.mean_s))
        .number("median [ms]", |it| ms(it.wait.times.median_s))
        .number("p90 [ms]", |it| ms(it.wait.times.p90_s))
        .number("p95 [ms]", |it| ms(it.wait.times.p95_s))
        .number("p99 [ms]", |it| ms(it.wait.times.p99_s))
        .description("duration in RTTs", |it| format_clusters(&it.wait))
        .print(out)?;
    for workload in shown {
        let arrived = usize::try_from(workload.arrived).unwrap_or(usize::MAX);
        writeln!(
            out,
            " {}: {} arrived, {} finished",
            workload.workload,
            count(arrived, "user"),
            workload.finished
        )?;
    }
    print_omitted_count(workloads.len(), top, "workload", out)?;
    writeln!(out)
}

/// Formats the largest clusters in order: `1: 43.2 %, 2: 20.1 %`.
fn format_clusters(wait: &WaitSummary) -> String {
    let mut largest = wait.clusters.clone();
    largest.sort_by(|a, b| b.share.total_cmp(&a.share));
    largest.truncate(MAX_PRINTED_CLUSTERS);
    largest.sort_by_key(|step| step.round_trips);
    let shown = largest
        .iter()
        .map(|step| format!("{}: {}", step.round_trips, percent(step.share)));
    shown.collect::<Vec<_>>().join(", ")
}
