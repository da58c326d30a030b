//! Messages about the measurement window of a run.

use std::io::{self, Write};

use netflow::evaluate::PeriodError;
use netflow::number::{plain, short};
use netflow::results::Summary;
use netflow::simulation::{Change, Network};

use crate::failure::Failure;

/// Returns the failure of an invalid window. `given` is set if its start is from the command line.
pub fn window_failure(error: PeriodError, given: bool) -> Failure {
    let from = |from_s: f64| {
        if given {
            format!("`--from {} s`", plain(from_s))
        } else {
            format!("the scenario's `warmup` of {} s", plain(from_s))
        }
    };
    let (message, help) = match error {
        PeriodError::AfterTheEnd { from_s, duration_s } => (
            format!(
                "{} leaves nothing of the {} s of the run",
                from(from_s),
                plain(duration_s)
            ),
            "give a time within the run",
        ),
        PeriodError::TooLong { to_s, duration_s } => (
            format!(
                "`--to {} s` is after the end of the run at {} s",
                plain(to_s),
                plain(duration_s)
            ),
            "give a time within the run, or make it longer: --set \"simulation.duration=…\"",
        ),
        PeriodError::Empty { from_s, to_s } => (
            format!(
                "{} leaves nothing before `--to {} s`",
                from(from_s),
                plain(to_s)
            ),
            "`--from` must be before `--to`",
        ),
    };
    Failure::Usage {
        message,
        help: Some(help.to_owned()),
    }
}

/// Prints the time range of a summary, and the events at its start.
pub fn print_heading(network: &Network, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let (from_s, to_s) = (summary.from_s, summary.from_s + summary.duration_s);
    let happened = network
        .events()
        .filter(|event| (event.at_s - from_s).abs() < 1e-9)
        .filter(|event| !network.is_class_queue(event.link));
    let happened = happened.map(|event| {
        let link = network.link_name(event.link);
        match event.change {
            Change::Down => format!("{link} fails"),
            Change::Up => format!("{link} is back"),
            Change::Loss(loss) => format!("{link} loses {loss}"),
            Change::Delay(delay_s) => format!("{link} takes {} ms", short(delay_s * 1e3)),
            Change::Pause => format!("{link} has 0 Mbit/s"),
            Change::Bandwidth(bps) => format!("{link} has {} Mbit/s", short(bps / 1e6)),
        }
    });
    let happened: Vec<String> = happened.collect();
    let what = if happened.is_empty() {
        String::new()
    } else {
        format!(": {}", happened.join(", "))
    };
    writeln!(out, "from {} to {} s{what}", plain(from_s), plain(to_s))
}
