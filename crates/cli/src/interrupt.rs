//! Ctrl-C: once to stop in good order, twice to stop at once. Nobody waits longer than a second.

use std::process;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// What is done with interrupts by a command that answers for its own end.
#[cfg(target_os = "linux")]
static ALSO: OnceLock<Box<dyn Fn(Again) + Send + Sync>> = OnceLock::new();

/// Whether it is the first interrupt.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    First,
    Later,
}

/// How long a command may take to stop in good order.
const PATIENCE: Duration = Duration::from_millis(850);

/// The exit code of what was interrupted.
pub const CODE: u8 = 130;

/// From now on an interrupt or a termination signal sets a flag. A process that has not ended soon
/// after it, or gets a second one, is ended, and nothing is left half-written.
pub fn listen() {
    #[cfg(unix)]
    ignore_limits_of_files();
    // Without a handler the default action stays: the process ends at once, and no file of the
    // run is ever seen under its name.
    let _ = ctrlc::set_handler(|| {
        let again = REQUESTED.swap(true, Ordering::Relaxed);
        #[cfg(target_os = "linux")]
        if let Some(also) = ALSO.get() {
            return also(if again { Again::Later } else { Again::First });
        }
        if again {
            end();
        }
        thread::spawn(|| {
            thread::sleep(PATIENCE);
            #[cfg(target_os = "linux")]
            if ALSO.get().is_some() {
                return;
            }
            end();
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

/// From now on interrupts and termination signals only set the flag, however many come, and are
/// told to `also`: the command ends by itself.
#[cfg(target_os = "linux")]
pub fn end_by_oneself(also: impl Fn(Again) + Send + Sync + 'static) {
    // The first one stays; no command asks twice.
    let _ = ALSO.set(Box::new(also));
    listen();
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
