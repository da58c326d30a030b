//! Results of the study as a page.

use std::fmt::Write;

use crate::reference::Ns2Outcomes;
use crate::{Cell, Mean, Outcome};

/// Experiment with the results of netflow and ns-2.
pub type CellResult = (Cell, Mean, Ns2Outcomes);

/// Title of a table, and the formatter of a row after protocol, gateway and clients.
type Table<'a> = (&'a str, &'a dyn Fn(&CellResult) -> String);

/// Returns the relative distance of a value from the nearer end of a range; 0 inside.
pub fn distance_outside(value: f64, (low, high): (f64, f64)) -> f64 {
    if value < low {
        value / low - 1.0
    } else if value > high {
        value / high - 1.0
    } else {
        0.0
    }
}

/// Returns the fractions of experiments whose c.o.v. is within 10 % and 20 % of the range of ns-2,
/// and two maximum errors: of delivered packets, and of the loss if either end exceeds 0.1 %.
pub fn verdict(judged: &[CellResult]) -> [f64; 4] {
    let n = judged.len() as f64;
    let off = |j: &CellResult| distance_outside(j.1.mean.cov, j.2.span(|o| o.cov)).abs();
    let share = |most: f64| judged.iter().filter(|j| off(j) <= most).count() as f64 / n;
    let largest = |of: &dyn Fn(&CellResult) -> f64| judged.iter().map(of).fold(0.0, f64::max);
    [
        share(0.1),
        share(0.2),
        largest(&|j| {
            let span = j.2.span(|o| o.delivered_pkts);
            distance_outside(j.1.mean.delivered_pkts, span).abs()
        }),
        largest(&|j| {
            let span = j.2.span(|o| o.loss);
            if span.1 > 1e-3 {
                distance_outside(j.1.mean.loss, span).abs()
            } else {
                0.0
            }
        }),
    ]
}

pub fn page(judged: &[CellResult], seeds: u64, head: &str) -> String {
    let [tenth, fifth, delivered, loss] = verdict(judged);
    let mut out = String::from(head);
    let _ = write!(
        out,
        "\n## Summary\n\n\
         | criterion | target | result |\n|---|---|---|\n\
         | c.o.v. within 10 % of the span between plain and jittered ns-2 | 90 % of the cells | {} |\n\
         | within 20 % | all | {} |\n\
         | packets delivered, largest error | 1 % | {} |\n\
         | loss, largest error where it exceeds 0.1 % | 25 % | {} |\n\n\
         Values of netflow are means of {seeds} seeds ± their standard deviation. Values of ns-2 are means of 3 seeds,\n\
         plain / jittered. Errors are relative to the nearer of these two, and 0 between them.\n",
        percent(tenth),
        percent(fifth),
        percent(delivered),
        percent(loss),
    );
    let tables: [Table<'_>; 4] = [
        ("Coefficient of variation of arrivals in 0.1 s", &|j| {
            format!(
                "{:.4} ± {:.4} | {} | {}",
                j.1.mean.cov,
                j.1.cov_std,
                both(&j.2, |o| format!("{:.4}", o.cov)),
                percent(distance_outside(j.1.mean.cov, j.2.span(|o| o.cov)))
            )
        }),
        ("Packets delivered", &|j| {
            format!(
                "{:.0} | {} | {}",
                j.1.mean.delivered_pkts,
                both(&j.2, |o| format!("{:.0}", o.delivered_pkts)),
                percent(distance_outside(
                    j.1.mean.delivered_pkts,
                    j.2.span(|o| o.delivered_pkts)
                ))
            )
        }),
        ("Loss at the gateway", &|j| {
            let span = j.2.span(|o| o.loss);
            format!(
                "{:.3} % | {} | {}",
                100.0 * j.1.mean.loss,
                both(&j.2, |o| format!("{:.3} %", 100.0 * o.loss)),
                if span.0 > 0.0 {
                    percent(distance_outside(j.1.mean.loss, span))
                } else {
                    String::new()
                }
            )
        }),
        ("Losses detected by timeouts / by duplicate ACKs", &|j| {
            let cell = |o: &Outcome| format!("{:.0} / {:.0}", o.timeouts, o.fast_retransmits);
            format!("{} | {} | ", cell(&j.1.mean), both(&j.2, cell))
        }),
    ];
    for (title, row) in tables {
        let _ = write!(
            out,
            "\n## {title}\n\n| protocol | gateway | clients | netflow | ns-2: plain / jittered | error |\n|---|---|---|---|---|---|\n"
        );
        for j in judged {
            let Cell {
                protocol,
                gateway,
                clients,
            } = j.0;
            let _ = writeln!(out, "| {protocol} | {gateway} | {clients} | {} |", row(j));
        }
    }
    out
}

fn both(ns: &Ns2Outcomes, show: impl Fn(&Outcome) -> String) -> String {
    match &ns.jittered {
        Some(jittered) => format!("{} / {}", show(&ns.plain), show(jittered)),
        None => show(&ns.plain),
    }
}

fn percent(fraction: f64) -> String {
    match fraction {
        0.0 => "0 %".to_owned(),
        f if f.abs() < 0.9995 => format!("{:.1} %", 100.0 * f),
        f => format!("{:.0} %", 100.0 * f),
    }
}
