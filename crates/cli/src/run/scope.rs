//! Which part of a run is summarized.

use std::io::{self, Write};

use netflow::results::{Scope, Summary};
use netflow::simulation::{Change, Network};

use super::RunArguments;
use crate::failure::Failure;
use crate::input::Scenario;
use crate::number::{plain, short};
use crate::problems;

/// From `--from`, or the warmup's end, to `--to`, or the run's end.
///
/// # Errors
/// If nothing lies between.
pub fn scope(arguments: &RunArguments, scenario: &Scenario) -> Result<Scope, Failure> {
    let duration_s = scenario.options.duration_s;
    let scope = Scope {
        from_s: arguments.from.unwrap_or(scenario.warmup_s),
        to_s: arguments.to.unwrap_or(duration_s),
        by_event: arguments.by_event,
    };
    let bad = |message: String, help: &str| {
        Err(Failure::Usage {
            message,
            help: Some(help.to_owned()),
        })
    };
    let from = match arguments.from {
        Some(from_s) => format!("`--from {} s`", plain(from_s)),
        None => format!("the scenario's `warmup` of {} s", plain(scope.from_s)),
    };
    if scope.from_s >= duration_s {
        return bad(
            format!(
                "{from} leaves nothing of the {} s of the run",
                plain(duration_s)
            ),
            "give a time within the run",
        );
    }
    if scope.to_s > duration_s {
        return bad(
            format!(
                "`--to {} s` is after the end of the run at {} s",
                plain(scope.to_s),
                plain(duration_s)
            ),
            "give a time within the run, or make it longer: --set \"simulation.duration=…\"",
        );
    }
    if scope.from_s >= scope.to_s {
        return bad(
            format!(
                "{from} leaves nothing before `--to {} s`",
                plain(scope.to_s)
            ),
            "`--from` must be before `--to`",
        );
    }
    if scope.by_event && !arguments.quiet && scope.bounds_s(&scenario.network).len() == 2 {
        problems::warn_of("`--by-event` has no effect: there is no event in what is summarized");
    }
    Ok(scope)
}

/// Of which time a summary is, and what happened at its beginning.
pub fn print_heading(network: &Network, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let (from_s, to_s) = (summary.from_s, summary.from_s + summary.duration_s);
    let happened = network
        .events()
        .filter(|event| (event.at_s - from_s).abs() < 1e-9);
    let happened = happened.map(|event| {
        let link = network.link_name(event.link);
        match event.change {
            Change::Down => format!("{link} fails"),
            Change::Up => format!("{link} is back"),
            Change::Bandwidth(bps) => format!("{link} has {} Mbit/s", short(bps / 1e6)),
        }
    });
    let happened: Vec<String> = happened.collect();
    let what = match happened.is_empty() {
        true => String::new(),
        false => format!(": {}", happened.join(", ")),
    };
    writeln!(out, "from {} to {} s{what}", plain(from_s), plain(to_s))
}
