//! Execution of long operations on a separate thread without Python's lock. The caller's thread
//! handles Ctrl-C and reports progress.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use netflow::evaluate::on_threads;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::{self, InternalError};

/// Interval between checks for Ctrl-C.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Minimum interval between calls of the progress callback.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Cancellation flag and progress of a background task.
#[derive(Default)]
pub struct CancelToken {
    stop: AtomicBool,
    /// Bits of the completed fraction, 0–1.
    done: AtomicU64,
}

impl CancelToken {
    /// Returns whether the task should end soon.
    pub fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sets the completed fraction, 0–1.
    pub fn done(&self, part: f64) {
        self.done.store(part.to_bits(), Ordering::Relaxed);
    }
}

/// Outcome of a task, and the interruption, if any: Ctrl-C, or an exception of the callback.
pub struct InterruptibleResult<T> {
    pub outcome: T,
    pub interruption: Option<PyErr>,
}

impl<T> InterruptibleResult<T> {
    /// Returns the outcome, or the error that interrupted the task.
    pub fn into_result(self) -> PyResult<T> {
        match self.interruption {
            None => Ok(self.outcome),
            Some(error) => Err(error),
        }
    }
}

/// Returns the progress callback; `true` selects a line on the standard error.
pub fn progress<'py>(given: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(given) = given.filter(|it| !it.is_none()) else {
        return Ok(None);
    };
    if let Ok(wanted) = given.extract::<bool>() {
        return if !wanted {
            Ok(None)
        } else {
            let module = given.py().import("netflow_evaluator._progress")?;
            module.getattr("Line")?.call0().map(Some)
        };
    }
    if given.is_callable() {
        Ok(Some(given.clone()))
    } else {
        Err(PyTypeError::new_err(
            "`progress` must be True or a function of the completed fraction",
        ))
    }
}

/// Runs a task on at most `threads` threads (default: all cores) and calls `progress` with the
/// completed fraction. All its threads end with it, so that the process may fork afterwards.
pub fn run_in_background<T: Send>(
    py: Python<'_>,
    threads: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&CancelToken) -> T + Send,
) -> PyResult<InterruptibleResult<T>> {
    let wish = CancelToken::default();
    let threads = threads_of(threads)?;
    record_panic_locations();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let receiver = Mutex::new(receiver);
        let wish = &wish;
        let spawned = thread::Builder::new().spawn_scoped(scope, move || {
            let done =
                panic::catch_unwind(AssertUnwindSafe(|| on_threads(Some(threads), || job(wish))));
            let done = done.map_err(|payload| panic_message(&*payload));
            // The receiver exists until this is received.
            let _ = sender.send(done);
        });
        spawned.map_err(|error| errors::value(format!("cannot start a thread: {error}")))?;
        let mut interruption: Option<PyErr> = None;
        let mut told = Instant::now();
        let mut told_part = 0.0;
        let received = loop {
            // No other thread locks it.
            let wait = || match receiver.lock() {
                Ok(receiver) => receiver.recv_timeout(SIGNAL_CHECK_INTERVAL),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            };
            match py.detach(wait) {
                Ok(done) => break done,
                Err(RecvTimeoutError::Disconnected) => {
                    break Err("the worker thread ended unexpectedly".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if interruption.is_some() {
                continue;
            }
            let part = f64::from_bits(wish.done.load(Ordering::Relaxed));
            let heard = py.check_signals().and_then(|()| match progress {
                Some(progress) if part != told_part && told.elapsed() >= PROGRESS_INTERVAL => {
                    (told, told_part) = (Instant::now(), part);
                    progress.call1((part,)).map(drop)
                }
                _ => Ok(()),
            });
            if let Err(error) = heard {
                wish.stop.store(true, Ordering::Relaxed);
                interruption = Some(error);
            }
        };
        let outcome = received
            .map_err(InternalError::new_err)?
            .map_err(|error| errors::evaluation(&error))?;
        if let (None, Some(progress)) = (&interruption, progress)
            && let Err(error) = progress.call1((1.0,))
        {
            interruption = Some(error);
        }
        Ok(InterruptibleResult {
            outcome,
            interruption,
        })
    })
}

fn threads_of(asked: Option<i64>) -> PyResult<usize> {
    const MOST: i64 = 1024;
    match asked {
        Some(threads) if !(1..=MOST).contains(&threads) => Err(errors::value(format!(
            "`threads` must be 1 to {MOST}, not {threads}"
        ))),
        Some(threads) => Ok(threads as usize),
        None => Ok(thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// Location of the last panic, which may be reported by another thread.
static PANIC_LOCATION: Mutex<Option<String>> = Mutex::new(None);

/// Installs a panic hook that stores the location. Panics become exceptions instead of output.
fn record_panic_locations() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string);
            if let Ok(mut it) = PANIC_LOCATION.lock() {
                *it = place;
            }
        }));
    });
}

/// Returns the message and location of a panic.
fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = match payload.downcast_ref::<&str>() {
        Some(text) => (*text).to_owned(),
        None => payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_default(),
    };
    let place = PANIC_LOCATION.lock().ok().and_then(|mut it| it.take());
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    let version = env!("CARGO_PKG_VERSION");
    format!("bug in netflow {version}{place}: {text}")
}

/// Work that panics, so that a test can see what becomes of it.
#[pyfunction]
pub fn panic_for_a_test(py: Python<'_>) -> PyResult<()> {
    run_in_background(py, Some(1), None, |_| panic!("requested by a test"))?.into_result()
}
