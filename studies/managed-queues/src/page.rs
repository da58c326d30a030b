//! Results page: netflow compared with ns-3.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use crate::cell::{Cell, Queue, STACKS, Set, cells};
use crate::row::{self, ABLATIONS, LINUX, NETFLOW, NS3, Row, System};
use crate::verdict::{ComparedCell, Measure, Pair, Sums};

const HEAD: &str = include_str!("head.md");
const REASONS: &str = include_str!("reasons.md");

/// Returns the experiments with results of both netflow and ns-3.
pub fn both(rows: &[Row], set: Set) -> Vec<ComparedCell> {
    compare_with(rows, set, System::Ns3)
}

fn compare_with(rows: &[Row], set: Set, other: System) -> Vec<ComparedCell> {
    let known = |cell: &Cell| ComparedCell::of(cell, rows, other);
    cells(set).iter().filter_map(known).collect()
}

/// Returns the page from the files of this directory.
///
/// # Errors
/// If one of them cannot be read or is invalid.
pub fn page(directory: &Path) -> Result<String, Box<dyn Error>> {
    let read = |name: &str| row::read(&directory.join(name));
    let netflow = read(NETFLOW)?;
    let beside = |name: &str| -> Result<Vec<Row>, Box<dyn Error>> {
        Ok([read(name)?, netflow.clone()].concat())
    };
    let (ns3, linux, ablations) = (beside(NS3)?, beside(LINUX)?, beside(ABLATIONS)?);
    let mut out = format!("{HEAD}\n");
    for set in Set::ALL {
        let _ = write!(
            out,
            "## {}\n\n{}\n",
            title(set),
            summary(&both(&ns3, set), &Measure::ALL)
        );
    }
    let by_linux = compare_with(&linux, Set::Grid, System::Linux);
    out += REASONS;
    for set in [Set::Grid, Set::Test] {
        let changed = both(&ablations, set);
        let _ = write!(
            out,
            "\n## ns-3 with modified senders: {}\n\n{}\n{}",
            set.name(),
            summary(&changed, &Measure::ALL),
            table(&changed, &Measure::ALL),
        );
    }
    let _ = write!(
        out,
        "\n## Linux: grid\n\n{}\n{}",
        summary(&by_linux, &Measure::LINUX_MEASURES),
        table(&by_linux, &Measure::LINUX_MEASURES),
    );
    for set in Set::ALL {
        let _ = write!(
            out,
            "\n## All cases: {}\n\n{}",
            set.name(),
            table(&both(&ns3, set), &Measure::ALL)
        );
    }
    Ok(out)
}

fn title(set: Set) -> &'static str {
    match set {
        Set::Grid => "Summary: grid",
        Set::Development => "Summary: development set",
        Set::Test => "Summary: test set",
    }
}

/// Returns the summary by stack and queue.
pub fn summary(all: &[ComparedCell], measures: &[Measure]) -> String {
    let mut out = String::from("| stack | queue |");
    for &measure in measures {
        let _ = write!(out, " {} |", measure.name());
    }
    out += "\n|---|---|";
    out += &"---|".repeat(measures.len());
    out += "\n";
    let mut row = |stack: Option<&str>, queue: Option<Queue>| {
        let own = |it: &&ComparedCell| {
            stack.is_none_or(|stack| it.cell.stack == stack)
                && queue.is_none_or(|queue| it.cell.queue == queue)
        };
        if !all.iter().any(|it| own(&it)) {
            return;
        }
        let _ = write!(
            out,
            "| {} | {} |",
            stack.unwrap_or("all"),
            queue.map_or("all", Queue::name)
        );
        for &measure in measures {
            let sums = Sums::of(all.iter().filter(own), measure);
            let _ = write!(out, " {} |", format_sums(&sums));
        }
        out += "\n";
    };
    for stack in STACKS {
        for queue in Queue::ALL {
            row(Some(stack), Some(queue));
        }
    }
    for stack in STACKS {
        row(Some(stack), None);
    }
    for queue in Queue::ALL {
        row(None, Some(queue));
    }
    row(None, None);
    out
}

/// Formats `5 of 8, 3.1 % (1.2 %)`.
fn format_sums(sums: &Sums) -> String {
    if sums.cells == 0 {
        return String::new();
    }
    let mut text = format!("{} of {}", sums.within, sums.cells);
    if let (Some(error), Some(spread)) = (sums.error(), sums.spread()) {
        let _ = write!(text, ", {:.1} ({:.1}) %", 100.0 * error, 100.0 * spread);
    }
    text
}

/// Returns the table of all experiments.
pub fn table(all: &[ComparedCell], measures: &[Measure]) -> String {
    let mut out = String::from("| test case |");
    for &measure in measures {
        let _ = write!(out, " {} |", head(measure));
    }
    out += "\n|---|";
    out += &"---|".repeat(measures.len());
    out += "\n";
    for both in all {
        let _ = write!(out, "| {} |", both.cell.description());
        for &measure in measures {
            let text = if measure.applies(&both.cell) {
                format_pair(measure, &both.pair(measure))
            } else {
                String::new()
            };
            let _ = write!(out, " {text} |");
        }
        out += "\n";
    }
    out
}

fn head(measure: Measure) -> &'static str {
    match measure {
        Measure::Queue => "queue [pkt]",
        Measure::Utilization => "utilization [%]",
        Measure::Loss => "lost [%]",
        Measure::Marks => "marked [%]",
        Measure::Jain => "Jain",
        Measure::Delay => "delay p95 [ms]",
    }
}

/// Formats `12.1 / 12.0 ± 0.3`: netflow's value, and the reference with its spread.
fn format_pair(measure: Measure, pair: &Pair) -> String {
    let (factor, digits) = match measure {
        Measure::Queue | Measure::Delay => (1.0, 1),
        Measure::Utilization => (100.0, 1),
        Measure::Loss | Measure::Marks => (100.0, 2),
        Measure::Jain => (1.0, 3),
    };
    let cross = if pair.is_within() { "" } else { " **✗**" };
    format!(
        "{:.digits$} / {:.digits$} ± {:.digits$}{cross}",
        factor * pair.netflow.mean,
        factor * pair.reference.mean,
        factor * pair.reference.std
    )
}
