//! Failure analysis in sentences.

use netflow_steady::rows::{self, FailureRow};

use super::FailuresSeen;
use super::tables::{NOTHING, known, lost};
use crate::number::{count, percent, plain, short};

impl FailuresSeen<'_> {
    /// Returns the summary of all cases, as lines.
    pub fn summary(&self) -> Vec<String> {
        let intact = rows::intact(self.network, self.found);
        let busy = match intact.max_load_link.zip(intact.max_load) {
            Some((link, load)) => format!("; highest load {} at {link}", percent(load)),
            None => String::new(),
        };
        let goodput = short(intact.goodput_bps / 1e6);
        let mut lines = vec![format!("intact: goodput {goodput} Mbit/s{busy}")];
        for kind in rows::kinds_of_failures(&self.cases) {
            let mut of_kind = self.cases.iter().filter(|it| it.kind == kind);
            if let Some(worst) = of_kind.next() {
                lines.push(format!("worst {kind}: {}", told(worst)));
            }
        }
        let drawn = match self.cases.len() == self.found.possible {
            true => String::new(),
            false => format!(" of {}", self.found.possible),
        };
        lines.push(format!(
            "{}{drawn} with what sends just before {} s, by lost goodput (in steps of 0.01 %), then by load",
            count(self.cases.len(), "case"),
            plain(self.at_s),
        ));
        match self.not_at_rest() {
            0 => {}
            1 => lines.push("1 case does not come to rest, and stands first".to_owned()),
            n => lines.push(format!("{n} cases do not come to rest, and stand first")),
        }
        lines
    }
}

/// Returns a case as one line.
pub fn told(row: &FailureRow<'_>) -> String {
    let name = &row.failure;
    if let Some(why) = &row.why_not {
        return format!("{name}: {why}");
    }
    let mut told = format!(
        "{name} costs {} of the goodput",
        known(row.lost_goodput, lost, NOTHING)
    );
    if row.blocked_connections > 0 {
        let blocked = count(row.blocked_connections as usize, "connection");
        let verb = if row.blocked_connections == 1 {
            "has"
        } else {
            "have"
        };
        told += &format!("; {blocked} {verb} no route");
    }
    if let Some((link, load)) = row.max_load_link.zip(row.max_load) {
        told += &format!("; highest load {} at {link}", percent(load));
    }
    told
}
