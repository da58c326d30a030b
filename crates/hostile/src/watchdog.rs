//! Watchdog for the time and memory of inputs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use crate::run::save_failed_input;

/// Maximum time of an input.
pub const LONGEST: Duration = Duration::from_secs(10);

/// Maximum resident memory of the process for each thread, in bytes.
pub const MAX_MEMORY_BYTES: u64 = 1 << 30;

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Start time and input.
type RunningInput = (Instant, Arc<[u8]>);

/// Inputs being tried, by thread.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    running: Mutex<HashMap<ThreadId, RunningInput>>,
}

impl Watchdog {
    pub(crate) fn begin(&self, input: Arc<[u8]>) {
        let mut trying = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        trying.insert(thread::current().id(), (Instant::now(), input));
    }

    pub(crate) fn end(&self) {
        let mut trying = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        trying.remove(&thread::current().id());
    }

    /// Ends the process if an input exceeds a limit. Returns when `done` is true.
    pub(crate) fn watch_until(&self, reader: &str, threads: usize, done: impl Fn() -> bool) {
        let most_bytes = MAX_MEMORY_BYTES * threads as u64;
        while !done() {
            thread::sleep(POLL_INTERVAL);
            let trying = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let bytes = resident_bytes().unwrap_or(0);
            for (began, input) in trying.values() {
                let why = if bytes > most_bytes {
                    format!("{} MB of memory are taken", bytes >> 20)
                } else if began.elapsed() > LONGEST {
                    format!("more than {LONGEST:?} have passed")
                } else {
                    continue;
                };
                let kept = save_failed_input(reader, input);
                eprintln!(
                    "{reader}: {why} with this input, kept as {}:",
                    kept.display()
                );
                eprintln!("{}", input.escape_ascii());
            }
            let slow = trying.values().any(|(began, _)| began.elapsed() > LONGEST);
            if bytes > most_bytes || slow {
                process::abort();
            }
        }
    }
}

/// Returns the resident memory of the process, if the system reports it.
fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// Returns the peak resident memory.
pub(crate) fn peak_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

fn status_bytes(line: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let found = status.lines().find_map(|it| it.strip_prefix(line))?;
    let kilobytes: u64 = found.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
