//! The subcommand `netflow failures SCENARIO --headroom`.

use std::io::{self, Write};

use netflow::number::{count, short};
use netflow::simulation::Network;
use netflow::steady::rows::{self, HeadroomUnderFailuresRow};
use netflow::steady::{Headroom, HeadroomUnderFailures};

use crate::command::solve::headroom::limited_by;

pub(super) fn print_text(
    network: &Network,
    answer: &HeadroomUnderFailuresRow<'_>,
    found: &HeadroomUnderFailures,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cases = count(found.cases, "failure");
    match found.least.factor {
        None => writeln!(
            out,
            "no headroom: even with all demands close to zero, a limit is exceeded"
        )?,
        Some(factor) => writeln!(
            out,
            "headroom: all demands can grow by a factor of {}, without failures and after each of {cases}",
            short(factor)
        )?,
    }
    match (&answer.failure, reached(network, &found.least)) {
        (_, None) => writeln!(out, " no limit is reached")?,
        (None, Some(limit)) => writeln!(out, " limited by {limit}, without failures")?,
        (Some(failure), Some(limit)) => {
            writeln!(out, " limited by {limit}, after the failure of {failure}")?;
            if let (Some(factor), limit) = (found.intact.factor, reached(network, &found.intact)) {
                let limit = limit.map_or(String::new(), |limit| format!(", limited by {limit}"));
                writeln!(
                    out,
                    " without failures: a factor of {}{limit}",
                    short(factor)
                )?;
            }
        }
    }
    if found.disconnecting > 0 {
        writeln!(
            out,
            " in {} of {cases}, connections lose their route; limits do not apply to them",
            found.disconnecting
        )?;
    }
    Ok(())
}

fn reached(network: &Network, found: &Headroom) -> Option<String> {
    (found.binding).map(|binding| limited_by(network, binding, found))
}

/// Returns the warnings about failures that were not evaluated as routers would.
pub(super) fn warnings(found: &HeadroomUnderFailures) -> Vec<String> {
    let mut warnings = Vec::new();
    if found.without_steady_state > 0 {
        warnings.push(format!(
            "{} of {} have no steady state and are left out",
            found.without_steady_state,
            count(found.cases, "failure")
        ));
    }
    if found.moved_whole > 0 {
        warnings.push(rows::moved_parts_warning(found.moved_whole, found.cases));
    }
    warnings
}
