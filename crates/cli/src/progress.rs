//! A progress bar for runs that take more than a second on a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar.
const RESOLUTION: f64 = 1000.0;

pub struct Progress {
    started: Instant,
    duration_s: f64,
    wanted: bool,
    of_what: &'static str,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar over this much simulated time; without `wanted` it never shows.
    pub fn new(duration_s: f64, wanted: bool) -> Progress {
        Progress::of("the network time", duration_s, wanted)
    }

    /// A bar over this much of something else.
    pub fn of(of_what: &'static str, duration_s: f64, wanted: bool) -> Progress {
        Progress {
            started: Instant::now(),
            duration_s,
            wanted: wanted && io::stderr().is_terminal(),
            of_what,
            bar: None,
        }
    }

    /// The simulation has come to this time.
    pub fn at(&mut self, time_s: f64) {
        if self.wanted && (self.bar.is_some() || self.started.elapsed() > Duration::from_secs(1)) {
            self.bar
                .get_or_insert_with(|| bar(self.started, self.of_what))
                .set_position((RESOLUTION * time_s / self.duration_s) as u64);
        }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(started: Instant, of_what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(
        Some(RESOLUTION as u64),
        ProgressDrawTarget::stderr_with_hz(5),
    )
    .with_elapsed(started.elapsed());
    let template = format!("{{wide_bar}} {{percent:>3}} % of {of_what}, {{eta}} left");
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
