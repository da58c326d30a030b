//! Failures and links as text tables.

use netflow_report::PageTable;
use netflow_steady::rows::{FailureRow, LinkUnderFailureRow};

use super::FailureReport;
use crate::number::{percent, short};

/// Mark of a failure after which some traffic is rerouted without ECMP splitting; a warning
/// explains it.
const REROUTED_UNSPLIT: &str = " *";

/// Text of an absent value.
pub const NO_VALUE: &str = "-";

impl FailureReport<'_> {
    /// Returns the first `most` cases by rank.
    pub fn case_table(&self, most: usize) -> PageTable {
        let has = |of: fn(&FailureRow<'_>) -> bool| self.cases.iter().any(of);
        let kinds = netflow_steady::rows::failure_kinds(&self.cases);
        let several_kinds = kinds.len() > 1;
        let mut columns: Vec<Column<FailureRow<'_>>> = vec![text("failure", |it| {
            let mark = if it.rerouted_unsplit {
                REROUTED_UNSPLIT
            } else {
                ""
            };
            format!("{}{mark}", it.failure)
        })];
        if several_kinds {
            columns.push(text("type", |it| it.kind.clone()));
        }
        columns.push(number("lost goodput", |it| {
            format_or(it.lost_goodput, lost_goodput_text, "no steady state")
        }));
        if has(|it| it.unroutable_connections > 0) {
            columns.push(number("unroutable", |it| match it.unroutable_connections {
                0 => "0".to_owned(),
                n => format!("{n} ({})", percent(it.unroutable_goodput)),
            }));
        }
        let measures: [Column<FailureRow<'_>>; 5] = [
            number("max load", |it| format_or(it.max_load, percent, NO_VALUE)),
            text("busiest link", |it| name_or_empty(it.max_load_link)),
            number("max delay [ms]", |it| {
                format_or(it.max_delay_s, milliseconds_text, NO_VALUE)
            }),
            number("max loss", |it| format_or(it.max_loss, percent, NO_VALUE)),
            number("affected", |it| {
                format_or(it.affected_connections, |n| n.to_string(), NO_VALUE)
            }),
        ];
        columns.extend(measures);
        if has(|it| it.worst_affected.is_some()) {
            columns.push(text("worst affected", |it| {
                match (it.worst_affected, it.worst_affected_loss) {
                    (Some(name), Some(part)) => format!("{name}: {}", percent(part)),
                    _ => String::new(),
                }
            }));
        }
        table(&self.cases, &columns, most)
    }

    /// Returns the first `most` links with traffic: highest load first (rounded to 0.01 %), then by
    /// demanded kbit/s, then by name.
    pub fn link_table(&self, most: usize) -> PageTable {
        let links = self.links.iter();
        let mut used: Vec<_> = links.filter(|it| it.max_load > 0.0).collect();
        let steps = |it: &LinkUnderFailureRow<'_>| (it.max_load * 1e4).round();
        let kbps = |it: &LinkUnderFailureRow<'_>| (it.max_load_bps * 1e-3).round();
        used.sort_by(|a, b| {
            let by_use = steps(b).total_cmp(&steps(a));
            let by_demand = kbps(b).total_cmp(&kbps(a));
            by_use.then(by_demand).then_with(|| a.link.cmp(b.link))
        });
        let columns: [Column<&LinkUnderFailureRow<'_>>; 5] = [
            text("link", |it| it.link.to_owned()),
            number("load", |it| percent(it.load)),
            number("worst-case load", |it| percent(it.max_load)),
            number("load then [Mbit/s]", |it| short(it.max_load_bps / 1e6)),
            text("worst failure", |it| {
                format_or(it.failure.clone(), |it| it, NO_VALUE)
            }),
        ];
        table(&used, &columns, most)
    }
}

/// Smaller parts of the goodput are rounding errors.
pub(super) const MIN_LOST_GOODPUT: f64 = 1e-7;

/// Formats a fraction of lost goodput; fractions below numerical accuracy are shown as 0.
pub fn lost_goodput_text(part: f64) -> String {
    if part.abs() < MIN_LOST_GOODPUT {
        percent(0.0)
    } else {
        percent(part)
    }
}

/// Column: title, true for numbers, and formatter of a cell.
type Column<T> = (&'static str, bool, fn(&T) -> String);

fn text<T>(title: &'static str, cell: fn(&T) -> String) -> Column<T> {
    (title, false, cell)
}

fn number<T>(title: &'static str, cell: fn(&T) -> String) -> Column<T> {
    (title, true, cell)
}

fn table<T>(rows: &[T], columns: &[Column<T>], most: usize) -> PageTable {
    let shown = &rows[..most.min(rows.len())];
    let titles = columns.iter();
    let titles = titles.map(|&(title, is_number, _)| (title.to_owned(), is_number));
    let cells = |row: &T| columns.iter().map(|(_, _, cell)| cell(row)).collect();
    PageTable {
        columns: titles.collect(),
        rows: shown.iter().map(cells).collect(),
        omitted_rows: rows.len() - shown.len(),
    }
}

fn milliseconds_text(delay_s: f64) -> String {
    short(delay_s * 1e3)
}

fn name_or_empty(name: Option<&str>) -> String {
    name.unwrap_or_default().to_owned()
}

/// Formats a value with `text`, or returns `otherwise` if it is `None`.
pub fn format_or<T>(value: Option<T>, text: impl Fn(T) -> String, otherwise: &str) -> String {
    value.map_or_else(|| otherwise.to_owned(), text)
}
