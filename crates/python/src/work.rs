//! Work of some length: without Python's lock, on a thread of its own, while the caller's thread listens to
//! Ctrl-C and tells how far it is.

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

/// So often somebody looks whether there was a Ctrl-C.
const LISTEN: Duration = Duration::from_millis(20);
/// A callback for progress is called at most so often.
const TELL: Duration = Duration::from_millis(100);

/// What work is asked to do, and tells.
#[derive(Default)]
pub struct Wish {
    stop: AtomicBool,
    /// The bits of the part that is done, from 0 to 1.
    done: AtomicU64,
}

impl Wish {
    /// Whether it is to end soon.
    pub fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// So much is done, from 0 to 1.
    pub fn done(&self, part: f64) {
        self.done.store(part.to_bits(), Ordering::Relaxed);
    }
}

/// What work came to, and what ended it before its time: Ctrl-C, or a callback's exception.
pub struct Worked<T> {
    pub outcome: T,
    pub interruption: Option<PyErr>,
}

impl<T> Worked<T> {
    /// The outcome of work that was not interrupted.
    pub fn whole(self) -> PyResult<T> {
        match self.interruption {
            None => Ok(self.outcome),
            Some(error) => Err(error),
        }
    }
}

/// What is called for progress: `true` is a line on the standard error.
pub fn progress<'py>(given: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(given) = given.filter(|it| !it.is_none()) else {
        return Ok(None);
    };
    if let Ok(wanted) = given.extract::<bool>() {
        return match wanted {
            false => Ok(None),
            true => {
                let module = given.py().import("netflow_evaluator._progress")?;
                module.getattr("Line")?.call0().map(Some)
            }
        };
    }
    match given.is_callable() {
        true => Ok(Some(given.clone())),
        false => Err(PyTypeError::new_err(
            "`progress` is True, or is called with the part that is done",
        )),
    }
}

/// Does some work on at most so many threads; all cores without a number. `progress` is called with the part
/// that is done. Never uses threads that outlive it, so that a process may fork afterwards.
pub fn work<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Wish) -> T + Send,
) -> PyResult<Worked<T>> {
    let wish = Wish::default();
    let threads = threads_of(threads)?;
    remember_places_of_panics();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let receiver = Mutex::new(receiver);
        let wish = &wish;
        let spawned = thread::Builder::new().spawn_scoped(scope, move || {
            let done =
                panic::catch_unwind(AssertUnwindSafe(|| on_threads(Some(threads), || job(wish))));
            let done = done.map_err(|payload| said(&*payload));
            // The receiver is there until this is received.
            let _ = sender.send(done);
        });
        spawned.map_err(|error| errors::value(format!("cannot start a thread: {error}")))?;
        let mut interruption: Option<PyErr> = None;
        let mut told = Instant::now();
        let mut told_part = 0.0;
        let received = loop {
            // Nobody else locks it.
            let wait = || match receiver.lock() {
                Ok(receiver) => receiver.recv_timeout(LISTEN),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            };
            match py.detach(wait) {
                Ok(done) => break done,
                Err(RecvTimeoutError::Disconnected) => {
                    break Err("the thread that worked is gone".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if interruption.is_some() {
                continue;
            }
            let part = f64::from_bits(wish.done.load(Ordering::Relaxed));
            let heard = py.check_signals().and_then(|()| match progress {
                Some(progress) if part != told_part && told.elapsed() >= TELL => {
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
        Ok(Worked {
            outcome,
            interruption,
        })
    })
}

fn threads_of(asked: Option<usize>) -> PyResult<usize> {
    const MOST: usize = 1024;
    match asked {
        Some(threads) if !(1..=MOST).contains(&threads) => Err(errors::value(format!(
            "`threads` must be 1 to {MOST}, not {threads}"
        ))),
        Some(threads) => Ok(threads),
        None => Ok(thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// Where the last panic was: the thread that tells it need not be the one that it was on.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Panics are told by an exception, with their place, instead of on the standard error.
fn remember_places_of_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string);
            if let Ok(mut it) = PLACE.lock() {
                *it = place;
            }
        }));
    });
}

/// What a panic said, and where.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = match payload.downcast_ref::<&str>() {
        Some(text) => (*text).to_owned(),
        None => payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_default(),
    };
    let place = PLACE.lock().ok().and_then(|mut it| it.take());
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    let version = env!("CARGO_PKG_VERSION");
    format!("netflow {version} has a fault{place}: {text}")
}

/// Work that panics, so that a test can see what becomes of it.
#[pyfunction]
pub fn panic_for_a_test(py: Python<'_>) -> PyResult<()> {
    work(py, Some(1), None, |_| panic!("asked for by a test"))?.whole()
}
