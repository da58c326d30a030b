//! Processor use by other processes, which limits the validity of measurements.

use std::fs;

/// Processor time since boot, in ticks: in total, without idle time, and of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuTimes {
    all: f64,
    busy: f64,
    own: f64,
}

impl CpuTimes {
    /// Reads the current counters; `None` if the kernel does not provide them.
    pub(crate) fn now() -> Option<CpuTimes> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // Columns: user nice system idle iowait irq softirq steal. The others are included in these.
        let ticks: Vec<f64> = line
            .split_whitespace()
            .take(8)
            .filter_map(|ticks| ticks.parse().ok())
            .collect();
        let [_, _, _, idle, iowait, ..] = ticks.as_slice() else {
            return None;
        };
        let all = ticks.iter().sum::<f64>();
        // The name may contain anything but ends at the last parenthesis. utime and stime are the 12th
        // and 13th fields after it.
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let own = rest.split_whitespace().skip(11).take(2);
        Some(CpuTimes {
            all,
            busy: all - idle - iowait,
            own: own.filter_map(|ticks| ticks.parse::<f64>().ok()).sum(),
        })
    }

    /// Returns the fraction of the processors that other processes have used since then.
    pub(crate) fn others_since(self) -> Option<f64> {
        let now = CpuTimes::now()?;
        let all = now.all - self.all;
        let others = (now.busy - self.busy) - (now.own - self.own);
        (all > 0.0).then(|| (others / all).clamp(0.0, 1.0))
    }
}
