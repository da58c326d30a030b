//! What else the machine is doing: it decides what measurements on it are worth.

use std::fs;

/// Processor time so far, in ticks: of everything; of everything but idling; of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy {
    all: f64,
    busy: f64,
    own: f64,
}

impl Busy {
    /// Until now; `None` if the kernel does not say.
    pub(crate) fn now() -> Option<Busy> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // user nice system idle iowait irq softirq steal; the rest is counted in these.
        let ticks: Vec<f64> = line
            .split_whitespace()
            .take(8)
            .filter_map(|ticks| ticks.parse().ok())
            .collect();
        let [_, _, _, idle, iowait, ..] = ticks.as_slice() else {
            return None;
        };
        let all = ticks.iter().sum::<f64>();
        // Behind the name, which may hold anything but ends with the last parenthesis, utime and
        // stime are the 12th and 13th.
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let own = rest.split_whitespace().skip(11).take(2);
        Some(Busy {
            all,
            busy: all - idle - iowait,
            own: own.filter_map(|ticks| ticks.parse::<f64>().ok()).sum(),
        })
    }

    /// Share of the processors that others have used since then.
    pub(crate) fn others_since(self) -> Option<f64> {
        let now = Busy::now()?;
        let all = now.all - self.all;
        let others = (now.busy - self.busy) - (now.own - self.own);
        (all > 0.0).then(|| (others / all).clamp(0.0, 1.0))
    }
}
