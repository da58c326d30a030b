//! Results page: Linux compared with netflow.

use std::error::Error;
use std::fmt;
use std::fmt::Write;
use std::path::Path;

use crate::cell::{CONGESTION, Cell, Group, cells};
use crate::row::{self, Row};
use crate::verdict::{ComparedCell, Pair, Rule, Verdict};

/// All results.
pub struct Study {
    cells: Vec<Cell>,
    measured: Vec<Row>,
    modelled: Vec<Row>,
}

impl Study {
    /// Reads both files of a directory.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid.
    pub fn read(directory: &Path) -> Result<Study, Box<dyn Error>> {
        Ok(Study {
            cells: cells(),
            measured: row::read(&directory.join("measured.csv"))?,
            modelled: row::read(&directory.join("modelled.csv"))?,
        })
    }

    /// Returns the experiments with results of both.
    pub fn cells(&self) -> Vec<ComparedCell<'_>> {
        let both = |cell| ComparedCell::of(cell, &self.measured, &self.modelled);
        self.cells.iter().filter_map(both).collect()
    }

    /// Returns Σ|error| / Σ of the mean queues of one congestion control, over long paths or the
    /// others.
    pub fn queue_error(&self, congestion: &str, long: bool) -> f64 {
        let all = self.cells();
        let cells = identical_senders(&all, congestion).filter(|both| both.cell.is_long() == long);
        let queues: Vec<Pair> = cells.map(ComparedCell::queue).collect();
        let errors: f64 = queues.iter().map(|queue| queue.error().abs()).sum();
        errors / queues.iter().map(|queue| queue.measured).sum::<f64>()
    }

    /// Counts the experiments of one congestion control in which a rule holds.
    pub fn holds(&self, congestion: &str, rule: Rule) -> Count {
        let all = self.cells();
        count(identical_senders(&all, congestion), rule)
    }

    /// Counts the experiments in which the rule of shares holds: two kinds, two path lengths, or
    /// pairs.
    pub fn shares(&self) -> Count {
        count(self.cells().iter(), Rule::Share)
    }
}

fn identical_senders<'a>(
    all: &'a [ComparedCell<'a>],
    congestion: &str,
) -> impl Iterator<Item = &'a ComparedCell<'a>> {
    let begins = congestion.to_owned();
    all.iter().filter(move |both| {
        both.cell.group() == Group::Identical && both.cell.congestion.starts_with(&begins)
    })
}

/// Experiments to which a rule applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number within the limit.
    pub by_limit: usize,
    /// Number within the limit or within Linux's confidence interval.
    pub held: usize,
    /// Number of all.
    pub all: usize,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count {
            by_limit,
            held,
            all,
        } = self;
        write!(f, "{held} ({by_limit}) of {all}")
    }
}

fn count<'a>(all: impl Iterator<Item = &'a ComparedCell<'a>>, rule: Rule) -> Count {
    let verdicts = all
        .flat_map(ComparedCell::verdicts)
        .filter(|(of, _)| *of == rule);
    verdicts.fold(Count::default(), |count, (_, verdict)| Count {
        by_limit: count.by_limit + usize::from(verdict == Verdict::WithinLimit),
        held: count.held + usize::from(verdict.holds()),
        all: count.all + 1,
    })
}

const HEAD: &str = include_str!("head.md");

/// Returns the page.
pub fn page(study: &Study) -> String {
    let mut page = HEAD.to_owned();
    // Writing to a string cannot fail.
    let _ = summary(study, &mut page);
    let _ = mixed(study, &mut page);
    for congestion in CONGESTION {
        let _ = table(study, congestion, &mut page);
    }
    page
}

fn summary(study: &Study, out: &mut String) -> fmt::Result {
    let runs: usize = study.cells().iter().map(ComparedCell::runs).sum();
    writeln!(
        out,
        "\n## Summary\n\nThe study has {} test cases, {runs} runs of Linux and {} of netflow. Counts are cases within the limits or within\nLinux's confidence interval, and in brackets cases within the limits alone.\n",
        study.cells().len(),
        study.modelled.len()
    )?;
    writeln!(
        out,
        "| congestion control | mean queue, Σ\\|error\\|/Σ | the same, RTTs of 300 ms or more | utilization within 2 points | loss within a factor of 1.3 | Jain's index within 0.05 | lost in the first 2 s within 20 % |\n\
         |---|---|---|---|---|---|---|"
    )?;
    for congestion in CONGESTION {
        let cell = |rule| study.holds(congestion, rule);
        writeln!(
            out,
            "| {congestion} | {:.1} % | {:.0} % | {} | {} | {} | {} |",
            100.0 * study.queue_error(congestion, false),
            100.0 * study.queue_error(congestion, true),
            cell(Rule::Utilization),
            cell(Rule::Loss),
            cell(Rule::Jain),
            cell(Rule::Overshoot)
        )?;
    }
    writeln!(
        out,
        "\nShares of two senders within 10 points: {}.",
        study.shares()
    )
}

fn mixed(study: &Study, out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "\n## Two senders\n\nThe share is the fraction of the first sender in the goodput of both.\n\n\
         | senders | bandwidth [Mbit/s] | RTT | buffer | share: Linux | netflow | mean queue [pkt]: Linux | netflow |\n\
         |---|---|---|---|---|---|---|---|"
    )?;
    let all = study.cells();
    for both in all.iter().filter(|it| it.cell.group() != Group::Identical) {
        let cell = both.cell;
        let far = match cell.detour_ms {
            0 => String::new(),
            detour_ms => format!(" and {}", cell.rtt_ms + detour_ms),
        };
        let (share, queue) = (both.pair(Row::share), both.queue());
        let holds = both.verdicts().iter().all(|(_, verdict)| verdict.holds());
        writeln!(
            out,
            "| {} | {} | {}{far} ms | {} pkt | {} | {}{} | {} | {:.1} |",
            cell.name(),
            cell.link_mbps,
            cell.rtt_ms,
            cell.buffer_pkts,
            format_with_interval(share, 2),
            decimals(share.modelled, 2),
            mark(holds),
            format_with_interval(queue, 1),
            queue.modelled
        )?;
    }
    Ok(())
}

fn table(study: &Study, congestion: &str, out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "\n## {congestion}\n\n\
         | senders | bandwidth [Mbit/s] | RTT | buffer | mean queue [pkt]: Linux | netflow | utilization [%]: Linux | netflow | lost [%]: Linux | netflow | Jain: Linux | netflow | lost in 2 s [pkt]: Linux | netflow | retransmitted [pkt]: Linux | timeouts: Linux | netflow |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )?;
    let all = study.cells();
    for both in identical_senders(&all, congestion) {
        let cell = both.cell;
        let verdicts = both.verdicts();
        let missed = |rule: Rule| {
            mark(
                verdicts
                    .iter()
                    .all(|(of, verdict)| *of != rule || verdict.holds()),
            )
        };
        let queue = both.queue();
        let utilization = both.pair(|row| 100.0 * row.found.utilization);
        let loss = both.pair(|row| 100.0 * row.loss());
        let jain = both.pair(Row::jain);
        let early = both.pair(|row| row.found.early_drops_pkts as f64);
        let again = both.pair(|row| row.found.retransmitted_pkts.unwrap_or_default() as f64);
        let timeouts = both.pair(|row| row.found.timeouts as f64);
        writeln!(
            out,
            "| {} | {} | {} ms | {} pkt | {} | {:.1} | {} | {:.1} %{} | {} | {} %{} | {} | {:.3}{} | {} | {:.0}{} | {:.0} | {:.0} | {:.0} |",
            cell.senders().len(),
            cell.link_mbps,
            cell.rtt_ms,
            cell.buffer_pkts,
            format_with_interval(queue, 1),
            queue.modelled,
            format_with_interval(utilization, 1),
            utilization.modelled,
            missed(Rule::Utilization),
            format_with_interval(loss, 3),
            decimals(loss.modelled, 3),
            missed(Rule::Loss),
            format_with_interval(jain, 3),
            jain.modelled,
            missed(Rule::Jain),
            format_with_interval(early, 0),
            early.modelled,
            missed(Rule::Overshoot),
            again.measured,
            timeouts.measured,
            timeouts.modelled
        )?;
    }
    Ok(())
}

/// Returns the mark of a result outside its limit.
fn mark(holds: bool) -> &'static str {
    if holds { "" } else { " **✗**" }
}

fn decimals(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

fn format_with_interval(pair: Pair, digits: usize) -> String {
    let measured = decimals(pair.measured, digits);
    match pair.confidence_half_width {
        Some(half) => format!("{measured} ± {}", decimals(half, digits)),
        None => measured,
    }
}
