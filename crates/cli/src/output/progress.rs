//! A progress bar for tasks that take more than 1 s, on terminals only.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Number of steps of the bar.
const BAR_LENGTH: f64 = 1000.0;

pub struct Progress {
    started: Instant,
    is_enabled: bool,
    label: &'static str,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Returns a bar for the progress from 0 to 1 of `of_what`. Without `wanted`, it is never shown.
    pub fn new(of_what: &'static str, wanted: bool) -> Progress {
        Progress {
            started: Instant::now(),
            is_enabled: wanted && io::stderr().is_terminal(),
            label: of_what,
            bar: None,
        }
    }

    /// Sets the progress, from 0 to 1.
    pub fn set(&mut self, part: f64) {
        if self.is_enabled
            && (self.bar.is_some() || self.started.elapsed() > Duration::from_secs(1))
        {
            self.bar
                .get_or_insert_with(|| bar(self.started, self.label))
                .set_position((BAR_LENGTH * part) as u64);
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(started: Instant, of_what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(
        Some(BAR_LENGTH as u64),
        ProgressDrawTarget::stderr_with_hz(5),
    )
    .with_elapsed(started.elapsed());
    let template = format!("{{wide_bar}} {{percent:>3}} % of {of_what}, {{eta}} left");
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
