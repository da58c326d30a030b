//! Watchdog for the time and memory of inputs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use crate::run::keep;

/// Maximum time of an input.
pub const LONGEST: Duration = Duration::from_secs(10);

/// Maximum resident memory of the process for each thread, in bytes.
pub const MOST_BYTES: u64 = 1 << 30;

const EVERY: Duration = Duration::from_millis(20);

/// Start time and input.
type Trying = (Instant, Arc<[u8]>);

/// Inputs being tried, by thread.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    trying: Mutex<HashMap<ThreadId, Trying>>,
}

impl Watch {
    pub(crate) fn begin(&self, input: Arc<[u8]>) {
        let mut trying = self.trying.lock().unwrap_or_else(PoisonError::into_inner);
        trying.insert(thread::current().id(), (Instant::now(), input));
    }

    pub(crate) fn end(&self) {
        let mut trying = self.trying.lock().unwrap_or_else(PoisonError::into_inner);
        trying.remove(&thread::current().id());
    }

    /// Ends the process if an input exceeds a limit. Returns when `done` is true.
    pub(crate) fn until(&self, reader: &str, threads: usize, done: impl Fn() -> bool) {
        let most_bytes = MOST_BYTES * threads as u64;
        while !done() {
            thread::sleep(EVERY);
            let trying = self.trying.lock().unwrap_or_else(PoisonError::into_inner);
            let bytes = resident_bytes().unwrap_or(0);
            for (began, input) in trying.values() {
                let why = if bytes > most_bytes {
                    format!("{} MB of memory are taken", bytes >> 20)
                } else if began.elapsed() > LONGEST {
                    format!("more than {LONGEST:?} have passed")
                } else {
                    continue;
                };
                let kept = keep(reader, input);
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
    memory("VmRSS:")
}

/// Returns the peak resident memory.
pub(crate) fn peak_bytes() -> Option<u64> {
    memory("VmHWM:")
}

fn memory(line: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let found = status.lines().find_map(|it| it.strip_prefix(line))?;
    let kilobytes: u64 = found.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
