//! Ctrl-C: once to stop in good order, twice to stop at once.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// From now on an interrupt or a termination signal only sets the flag; a second one ends the
/// process.
pub fn listen() {
    // Without a handler the default action stays: the process ends at once, and no file of the
    // run is ever seen under its name.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    });
}

/// From now on interrupts and termination signals only set the flag, however many come, and are
/// told to `also`.
#[cfg(target_os = "linux")]
pub fn listen_and(also: impl Fn() + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        REQUESTED.store(true, Ordering::Relaxed);
        also();
    });
}

/// Whether the run should stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
