//! Ctrl-C: once to stop in good order, twice to stop at once. Nobody waits longer than a second.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// How long a command may take to stop in good order.
const PATIENCE: Duration = Duration::from_millis(850);

/// The exit code of what was interrupted.
pub const CODE: u8 = 130;

/// Whether it is the first interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    First,
    Later,
}

/// From now on an interrupt or a termination signal sets a flag. A process that has not ended soon
/// after it, or gets a second one, is ended, and nothing is left half-written.
pub fn listen() {
    listen_and(|again| match again {
        Again::First => drop(thread::spawn(|| {
            thread::sleep(PATIENCE);
            end();
        })),
        Again::Later => end(),
    });
}

/// From now on interrupts and termination signals only set the flag, however many come, and are
/// told to `also`, which answers for the process's end. A command listens in one of the two ways.
pub fn listen_and(also: impl Fn(Again) + Send + 'static) {
    #[cfg(unix)]
    ignore_limits_of_files();
    // Without a handler the default action stays: the process ends at once, and no file of the
    // run is ever seen under its name.
    let _ = ctrlc::set_handler(move || {
        also(match REQUESTED.swap(true, Ordering::Relaxed) {
            false => Again::First,
            true => Again::Later,
        });
    });
}

/// A write beyond the largest file that the process may have is an error like that of a full disk.
#[cfg(unix)]
fn ignore_limits_of_files() {
    let unread = std::sync::Arc::new(AtomicBool::new(false));
    // Without, the signal ends the process; its files have no names then.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, unread);
}

/// Whether the run should stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Ends the process.
fn end() -> ! {
    netflow_files::abandon();
    process::exit(CODE.into());
}
