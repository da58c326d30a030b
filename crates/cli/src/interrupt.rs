//! Handling of Ctrl-C: the first interrupt stops in an orderly manner, the second at once. Either takes
//! less than 1 s.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Time in which a command must stop.
const STOP_TIMEOUT: Duration = Duration::from_millis(850);

/// Exit code after an interrupt.
pub const CODE: u8 = 130;

/// Distinguishes the first interrupt from later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptCount {
    First,
    Later,
}

/// Installs a handler that sets a flag on an interrupt or a termination signal. The process is ended if
/// it does not end soon or gets a second signal. No file is left incomplete.
pub fn listen() {
    install_handler_with(|again| match again {
        InterruptCount::First => drop(thread::spawn(|| {
            thread::sleep(STOP_TIMEOUT);
            exit_now();
        })),
        InterruptCount::Later => exit_now(),
    });
}

/// Installs a handler that sets the flag on interrupts and termination signals, and calls `also`, which
/// must end the process. A command uses either this function or [`listen`].
pub fn install_handler_with(also: impl Fn(InterruptCount) + Send + 'static) {
    #[cfg(unix)]
    ignore_limits_of_files();
    // Without a handler, the default action ends the process at once. No file of the run gets its final
    // name then.
    let _ = ctrlc::set_handler(move || {
        also(if !REQUESTED.swap(true, Ordering::Relaxed) {
            InterruptCount::First
        } else {
            InterruptCount::Later
        });
    });
}

/// Turns a write beyond the file size limit of the process into an error, like that of a full disk.
#[cfg(unix)]
fn ignore_limits_of_files() {
    let unread = std::sync::Arc::new(AtomicBool::new(false));
    // Without the handler, the signal ends the process. Its files have no final names then.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, unread);
}

/// Returns whether the run should stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Ends the process.
fn exit_now() -> ! {
    netflow_files::remove_temp_files();
    process::exit(CODE.into());
}
