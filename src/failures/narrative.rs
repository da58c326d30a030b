//! Failure analysis in sentences.

use netflow_steady::rows::{self, FailureRow};

use super::FailureReport;
use super::tables::{MIN_LOST_GOODPUT, NO_VALUE, format_or, lost_goodput_text};
use crate::number::{count, percent, plain, short};

impl FailureReport<'_> {
    /// Returns the summary of all cases, as lines.
    pub fn summary(&self) -> Vec<String> {
        let intact = rows::intact(self.network, self.failures);
        let busy = match intact.max_load_link.zip(intact.max_load) {
            Some((link, load)) => format!("; highest load {} at {link}", percent(load)),
            None => String::new(),
        };
        let goodput = short(intact.goodput_bps / 1e6);
        let mut lines = vec![format!(
            "without failures: {goodput} Mbit/s delivered{busy}"
        )];
        for kind in rows::failure_kinds(&self.cases) {
            let mut of_kind = self.cases.iter().filter(|it| it.kind == kind);
            if let Some(worst) = of_kind.next() {
                lines.push(match worst.lost_goodput {
                    Some(lost) if lost < MIN_LOST_GOODPUT && worst.unroutable_connections == 0 => {
                        no_loss_line(&kind, worst)
                    }
                    _ => format!("worst {kind}: {}", case_line(worst)),
                });
            }
        }
        let drawn = if self.cases.len() == self.failures.possible {
            String::new()
        } else {
            format!(" of {}", self.failures.possible)
        };
        lines.push(format!(
            "{}{drawn} with the traffic active just before {} s, ordered by lost goodput, then by load",
            count(self.cases.len(), "case"),
            plain(self.at_s),
        ));
        match self.without_steady_state() {
            0 => {}
            1 => lines.push("1 case has no steady state and is listed first".to_owned()),
            n => lines.push(format!(
                "{n} cases have no steady state and are listed first"
            )),
        }
        lines
    }
}

/// Returns the line about failures of a kind of which none loses goodput.
fn no_loss_line(kind: &str, worst: &FailureRow<'_>) -> String {
    let mut line = format!("no {kind} failure loses goodput");
    if let Some((link, load)) = worst.max_load_link.zip(worst.max_load) {
        let name = &worst.failure;
        line += &format!("; highest load {} at {link} after {name}", percent(load));
    }
    line
}

/// Returns a case as one line.
pub fn case_line(row: &FailureRow<'_>) -> String {
    let name = &row.failure;
    if let Some(why) = &row.reason {
        return format!("{name}: {why}");
    }
    let mut line = format!(
        "{name} costs {} of the goodput",
        format_or(row.lost_goodput, lost_goodput_text, NO_VALUE)
    );
    if row.unroutable_connections > 0 {
        let blocked = count(row.unroutable_connections as usize, "connection");
        let verb = if row.unroutable_connections == 1 {
            "has"
        } else {
            "have"
        };
        line += &format!("; {blocked} {verb} no route");
    }
    if let Some((link, load)) = row.max_load_link.zip(row.max_load) {
        line += &format!("; highest load {} at {link}", percent(load));
    }
    line
}
