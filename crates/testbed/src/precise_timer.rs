//! Precise timer: timeouts that compensate the wake-up latency and end with busy waiting.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::Timespec;

/// Monotonic clock in nanoseconds since its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(pub Instant);

impl Clock {
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Timeouts that compensate late wake-ups. A timer wakes a thread late by the time to start a sleeping
/// processor. So it wakes earlier by the recent maximum of that latency, and busy-waits for the rest
/// within a budget.
pub(crate) struct PreciseTimer {
    latency_ns: f64,
    busy_wait_ns: u64,
    within_budget: bool,
}

/// Number of running links in this process, which share the budget.
static ACTIVE_TIMERS: AtomicU64 = AtomicU64::new(0);

/// Fraction of one processor's time that all links together may spend in busy waiting.
const BUSY_WAIT_BUDGET: f64 = 0.1;

/// Decay factor of the maximum latency, per timer.
const LATENCY_DECAY: f64 = 0.98;

/// Latency in nanoseconds above which other processes are the cause.
const MAX_LATENCY_NS: f64 = 300_000.0;

impl PreciseTimer {
    pub fn new() -> PreciseTimer {
        ACTIVE_TIMERS.fetch_add(1, Ordering::Relaxed);
        PreciseTimer {
            latency_ns: 0.0,
            busy_wait_ns: 0,
            within_budget: true,
        }
    }

    fn early_wakeup_ns(&self) -> u64 {
        if self.within_budget {
            self.latency_ns as u64
        } else {
            0
        }
    }

    /// Returns the wake-up time for an event at `due_ns`, and the timeout until then.
    pub fn timeout(&self, due_ns: Option<u64>, clock: &Clock) -> (Option<u64>, Option<Timespec>) {
        let wake_ns = due_ns.map(|due_ns| due_ns.saturating_sub(self.early_wakeup_ns()));
        let timeout = wake_ns.map(|wake_ns| {
            let wait = Duration::from_nanos(wake_ns.saturating_sub(clock.now_ns()));
            Timespec {
                tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: wait.subsec_nanos().into(),
            }
        });
        (wake_ns, timeout)
    }

    /// Updates the latency from a timer that was due at `wake_ns`, and busy-waits until `due_ns`.
    pub fn record_wakeup(&mut self, wake_ns: u64, due_ns: u64, clock: &Clock) {
        let mut now_ns = clock.now_ns();
        let late_ns = now_ns.saturating_sub(wake_ns) as f64;
        self.latency_ns = late_ns
            .min(MAX_LATENCY_NS)
            .max(LATENCY_DECAY * self.latency_ns);
        let share = BUSY_WAIT_BUDGET / ACTIVE_TIMERS.load(Ordering::Relaxed).max(1) as f64;
        self.within_budget = self.busy_wait_ns as f64 <= share * now_ns as f64;
        let begin_ns = now_ns;
        while now_ns < due_ns {
            std::hint::spin_loop();
            now_ns = clock.now_ns();
        }
        self.busy_wait_ns += now_ns - begin_ns;
    }
}

impl Drop for PreciseTimer {
    fn drop(&mut self) {
        ACTIVE_TIMERS.fetch_sub(1, Ordering::Relaxed);
    }
}
