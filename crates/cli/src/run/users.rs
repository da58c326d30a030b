//! What users waited for, where there are any.

use std::io::{self, Write};

use netflow::results::{WaitSummary, WorkloadSummary};

use crate::number::{count, percent, short};
use crate::table;

/// Steps of a distribution that are shown.
const STEPS: usize = 3;

pub fn print(workloads: &[WorkloadSummary], out: &mut dyn Write) -> io::Result<()> {
    if workloads.is_empty() {
        return Ok(());
    }
    let mut table = table::table(&[
        "users",
        "wait for",
        "count",
        "mean ms",
        "median ms",
        "p90 ms",
        "p95 ms",
        "p99 ms",
        "whole round trips",
    ]);
    for workload in workloads {
        for wait in &workload.waits {
            let times = &wait.times;
            let ms = |time_s: f64| short(time_s * 1e3);
            table.add_row([
                workload.workload.clone(),
                wait.wait.clone(),
                times.count.to_string(),
                ms(times.mean_s),
                ms(times.median_s),
                ms(times.p90_s),
                ms(times.p95_s),
                ms(times.p99_s),
                steps(wait),
            ]);
        }
    }
    table::print(&table, out)?;
    for workload in workloads {
        let came = usize::try_from(workload.came).unwrap_or(usize::MAX);
        writeln!(
            out,
            " {}: {} came, {} went with all that they wanted",
            workload.workload,
            count(came, "user"),
            workload.gone
        )?;
    }
    writeln!(out)
}

/// The largest steps, in order: `1: 43.2 %, 2: 20.1 %`.
fn steps(wait: &WaitSummary) -> String {
    let mut largest = wait.steps.clone();
    largest.sort_by(|a, b| b.share.total_cmp(&a.share));
    largest.truncate(STEPS);
    largest.sort_by_key(|step| step.round_trips);
    let shown = largest
        .iter()
        .map(|step| format!("{}: {}", step.round_trips, percent(step.share)));
    shown.collect::<Vec<_>>().join(", ")
}
