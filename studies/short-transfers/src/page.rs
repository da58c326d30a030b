//! Results of the study as a page.

use std::fmt::Write;

use crate::models::{EvaluatedRow, Formulas, SimulatedTimes};
use crate::reference::{Measured, Row, Source};
use crate::text::{INTRODUCTION, MODELS, READING, ROWS};

/// Mean of |x| for a standard normal x.
const MEAN_ABSOLUTE: f64 = 0.797_884_560_802_865_4;

pub fn page(judged: &[EvaluatedRow]) -> String {
    let mut out = String::from(INTRODUCTION);
    out += "\n## Summary\n\n";
    out += &targets(judged);
    out += READING;
    out += "\n## Accuracy by model\n\n";
    out += MODELS;
    for source in [Source::Ns2, Source::Linux] {
        let _ = write!(out, "\n{}:\n\n{}", name(source), by_loss(judged, source));
    }
    out += "\n## Simulated transfers by delay and loss\n\n";
    out += "Mean absolute error of the mean, and in brackets the random error:\n\n";
    out += &by_delay(judged);
    out += "\n## All rows\n\n";
    out += ROWS;
    for source in [Source::Ns2, Source::Linux] {
        for group in groups(judged, source) {
            let _ = write!(out, "\n### {}: {group}\n\n", name(source));
            out += HEADER;
            for judged in judged.iter().filter(|j| in_group(&j.row, source, &group)) {
                let _ = writeln!(out, "{}", line(judged));
            }
        }
    }
    out
}

fn name(source: Source) -> &'static str {
    match source {
        Source::Ns2 => "ns-2.35",
        Source::Linux => "Linux 6.18",
    }
}

fn groups(judged: &[EvaluatedRow], source: Source) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for row in judged.iter().map(|j| &j.row).filter(|r| r.source == source) {
        if !groups.contains(&row.group) {
            groups.push(row.group.clone());
        }
    }
    groups
}

fn in_group(row: &Row, source: Source, group: &str) -> bool {
    row.source == source && row.group == group
}

/// Comparison of one simulated with one measured result.
struct Pair<'a> {
    row: &'a Row,
    measured: Measured,
    simulated: SimulatedTimes,
}

impl Pair<'_> {
    fn mean_error(&self) -> f64 {
        self.simulated.mean_s / self.measured.mean_s - 1.0
    }

    fn median_error(&self) -> f64 {
        self.simulated.median_s / self.measured.median_s - 1.0
    }

    /// Returns the standard error of the measured mean, from the simulated standard deviation.
    fn standard_error_s(&self) -> f64 {
        self.simulated.std_s / f64::from(self.row.repetitions).sqrt()
    }

    /// Returns the expected error of the mean of a perfect model.
    fn luck(&self) -> f64 {
        MEAN_ABSOLUTE * self.standard_error_s() / self.measured.mean_s
    }

    /// Returns the squared error in standard errors; 1 on average for a perfect model.
    fn chi_squared(&self) -> f64 {
        let error_s = self.simulated.mean_s - self.measured.mean_s;
        (error_s / self.standard_error_s()).powi(2)
    }
}

/// Endpoint whose time is compared.
#[derive(Clone, Copy)]
enum Clock {
    Receiver,
    Sender,
}

fn pairs(judged: &[EvaluatedRow], source: Source, clock: Clock) -> Vec<Pair<'_>> {
    judged
        .iter()
        .filter(|judged| judged.row.source == source)
        .filter_map(|judged| match clock {
            Clock::Receiver => Some(delivered(judged)),
            Clock::Sender => acknowledged(judged),
        })
        .collect()
}

fn average(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Returns the targets of the simulation and its results.
fn targets(judged: &[EvaluatedRow]) -> String {
    let mut out = String::from(
        "| measurement | rows | loss | error of the mean | target | random error | χ² per row | error of the median (loss up to 2 %) | target |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for (source, clock, what) in [
        (Source::Ns2, Clock::Receiver, "ns-2.35, data delivered"),
        (Source::Ns2, Clock::Sender, "ns-2.35, data acknowledged"),
        (
            Source::Linux,
            Clock::Receiver,
            "Linux 6.18, reply delivered",
        ),
    ] {
        let pairs = pairs(judged, source, clock);
        for (range, asked) in [((0.0, 0.05), 5), ((0.05, 0.2), 12)] {
            let (over, to) = range;
            let within: Vec<&Pair<'_>> = pairs
                .iter()
                .filter(|pair| pair.row.loss <= to && (over == 0.0 || pair.row.loss > over))
                .collect();
            let lossy = || within.iter().filter(|pair| pair.row.loss > 0.0);
            let medians = pairs.iter().filter(|pair| pair.row.loss <= 0.02);
            let median = average(medians.map(|pair| pair.median_error().abs()));
            let _ = writeln!(
                out,
                "| {what} | {} | {} | {} | {asked} % | {} | {:.2} | {} |",
                within.len(),
                if over == 0.0 {
                    "up to 5 %"
                } else {
                    "10 to 20 %"
                },
                percent(average(within.iter().map(|pair| pair.mean_error().abs()))),
                percent(average(within.iter().map(|pair| pair.luck()))),
                average(lossy().map(|pair| pair.chi_squared())),
                if over == 0.0 {
                    format!("{} | 3 %", percent(median))
                } else {
                    " | ".to_owned()
                },
            );
        }
    }
    out
}

/// Returns the errors of all models at each loss.
fn by_loss(judged: &[EvaluatedRow], source: Source) -> String {
    let mut out = String::from(
        "| loss | rows | random error | simulated: delivered | acknowledged | [Short] | Model C low | Model C high | [CSA] | medians, simulated: delivered |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let rows: Vec<&EvaluatedRow> = judged.iter().filter(|j| j.row.source == source).collect();
    for loss in losses(&rows) {
        let at: Vec<&EvaluatedRow> = rows
            .iter()
            .copied()
            .filter(|j| j.row.loss == loss)
            .collect();
        let delivered: Vec<Pair<'_>> = at.iter().map(|j| delivered(j)).collect();
        let whole = at.iter().filter_map(|j| acknowledged(j));
        let whole: Vec<f64> = whole.map(|pair| pair.mean_error().abs()).collect();
        let error = |of: &dyn Fn(&Formulas) -> Option<f64>| {
            let errors: Option<Vec<f64>> = at
                .iter()
                .map(|j| Some((of(&j.formulas)? / j.row.whole().mean_s - 1.0).abs()))
                .collect();
            errors.map_or("–".to_owned(), |e| percent(average(e.into_iter())))
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            percent(loss),
            at.len(),
            percent(average(delivered.iter().map(Pair::luck))),
            percent(average(delivered.iter().map(|p| p.mean_error().abs()))),
            match whole.as_slice() {
                [] => String::new(),
                errors => percent(average(errors.iter().copied())),
            },
            error(&|f| Some(f.short_s)),
            error(&|f| Some(f.c_low_s)),
            error(&|f| f.c_high_s),
            error(&|f| f.csa_s),
            percent(average(delivered.iter().map(|p| p.median_error().abs()))),
        );
    }
    out
}

fn delivered(judged: &EvaluatedRow) -> Pair<'_> {
    Pair {
        row: &judged.row,
        measured: judged.row.delivered,
        simulated: judged.delivered,
    }
}

fn acknowledged(judged: &EvaluatedRow) -> Option<Pair<'_>> {
    let (measured, played) = judged.row.acknowledged.zip(judged.acknowledged)?;
    Some(Pair {
        row: &judged.row,
        measured,
        simulated: played,
    })
}

fn losses(rows: &[&EvaluatedRow]) -> Vec<f64> {
    let mut losses: Vec<f64> = rows.iter().map(|judged| judged.row.loss).collect();
    losses.sort_by(f64::total_cmp);
    losses.dedup();
    losses
}

fn by_delay(judged: &[EvaluatedRow]) -> String {
    let mut out = String::from("| transfers | one-way delay |");
    let all: Vec<&EvaluatedRow> = judged.iter().collect();
    let losses = losses(&all);
    for loss in &losses {
        let _ = write!(out, " {} |", percent(*loss));
    }
    let _ = writeln!(out, "\n|---|---|{}", "---|".repeat(losses.len()));
    for source in [Source::Ns2, Source::Linux] {
        for group in groups(judged, source) {
            for delay_ms in [10, 50, 100] {
                let of_delay: Vec<Pair<'_>> = pairs(judged, source, Clock::Receiver)
                    .into_iter()
                    .filter(|pair| pair.row.group == group)
                    .filter(|pair| (pair.row.delay_s * 1000.0).round() as i64 == delay_ms)
                    .collect();
                if of_delay.is_empty() {
                    continue;
                }
                let _ = write!(out, "| {}: {group} | {delay_ms} ms |", name(source));
                for &loss in &losses {
                    let at: Vec<&Pair<'_>> =
                        of_delay.iter().filter(|p| p.row.loss == loss).collect();
                    if at.is_empty() {
                        out += " |";
                        continue;
                    }
                    let _ = write!(
                        out,
                        " {} ({}) |",
                        percent(average(at.iter().map(|pair| pair.mean_error().abs()))),
                        percent(average(at.iter().map(|pair| pair.luck())))
                    );
                }
                out += "\n";
            }
        }
    }
    out
}

/// Returns a line of the tables with all rows.
pub fn line(judged: &EvaluatedRow) -> String {
    format!(
        "| {} | {} | {} |",
        question_cells(&judged.row),
        simulated_cells(judged),
        formula_cells(&judged.row, &judged.formulas)
    )
}

const HEADER: &str = "| size | packets | delay | loss | delivered: mean | simulated | median | simulated | acknowledged: mean | simulated | median | simulated | [Short] | Model C low | Model C high | [CSA] |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

pub fn question_cells(row: &Row) -> String {
    format!(
        "{} B | {} | {:.0} ms | {}",
        row.bytes,
        row.packets,
        row.delay_s * 1000.0,
        percent(row.loss)
    )
}

fn simulated_cells(judged: &EvaluatedRow) -> String {
    let row = &judged.row;
    let cells = |measured: Measured, played: SimulatedTimes| {
        format!(
            "{} ± {} | {} | {} | {}",
            seconds(measured.mean_s),
            seconds(measured.std_s / f64::from(row.repetitions).sqrt()),
            with_error(played.mean_s, measured.mean_s),
            seconds(measured.median_s),
            with_error(played.median_s, measured.median_s),
        )
    };
    let delivered = cells(row.delivered, judged.delivered);
    match row.acknowledged.zip(judged.acknowledged) {
        Some((measured, played)) => format!("{delivered} | {}", cells(measured, played)),
        None => format!("{delivered} | | | | "),
    }
}

pub fn formula_cells(row: &Row, formulas: &Formulas) -> String {
    let measured_s = row.whole().mean_s;
    let cell =
        |value_s: Option<f64>| value_s.map_or("–".to_owned(), |s| with_error(s, measured_s));
    [
        Some(formulas.short_s),
        Some(formulas.c_low_s),
        formulas.c_high_s,
        formulas.csa_s,
    ]
    .map(cell)
    .join(" | ")
}

fn with_error(value_s: f64, measured_s: f64) -> String {
    let error = 100.0 * (value_s / measured_s - 1.0);
    format!("{} ({error:+.1} %)", seconds(value_s))
}

fn seconds(value_s: f64) -> String {
    match value_s {
        v if v >= 9.9995 => format!("{v:.2}"),
        v if v >= 0.9995 => format!("{v:.3}"),
        v => format!("{v:.4}"),
    }
}

fn percent(fraction: f64) -> String {
    let value = 100.0 * fraction;
    match value.abs() {
        v if v < 0.05 => "0 %".to_owned(),
        v if (v - v.round()).abs() < 1e-9 || v >= 99.5 => format!("{value:.0} %"),
        _ => format!("{value:.1} %"),
    }
}
