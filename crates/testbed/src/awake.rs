//! Keeps the processors of a virtual machine awake while there are links.
//!
//! A processor of a virtual machine that has nothing to do is taken away by its host, and comes back
//! milliseconds after a timer or a packet asked for it. One that always has something to do stays; what it
//! does here gives way to everything else.

use std::fs;
use std::hint;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use thread_priority::ThreadPriority;
use thread_priority::unix::{
    NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// As long as one of these is there, no processor of a virtual machine sleeps.
#[derive(Debug)]
pub(crate) struct Awake {
    over: Arc<AtomicBool>,
}

/// The one of this process, if there is any.
static AWAKE: Mutex<Weak<Awake>> = Mutex::new(Weak::new());

impl Awake {
    /// One for everybody in this process.
    pub(crate) fn keep() -> Arc<Awake> {
        // Nothing panics while it holds the lock.
        let mut awake = AWAKE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(awake) = awake.upgrade() {
            return awake;
        }
        let over = Arc::new(AtomicBool::new(false));
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let spinning = if is_virtual() { processors } else { 0 };
        for _ in 0..spinning {
            let over = over.clone();
            // Without it the machine is as late as it is.
            let _ = thread::Builder::new()
                .name("awake".to_owned())
                .spawn(move || spin(&over));
        }
        let new = Arc::new(Awake { over });
        *awake = Arc::downgrade(&new);
        new
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Whether a hypervisor says that it is there. Processors of a real machine wake within some 0.1 ms.
fn is_virtual() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.split_whitespace().any(|word| word == "hypervisor")
}

/// Runs when nobody else on this machine wants to; not at all if that cannot be had.
fn spin(over: &AtomicBool) {
    let idle = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Min,
        ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle),
    );
    while idle.is_ok() && !over.load(Ordering::Relaxed) {
        hint::spin_loop();
    }
}
