//! CPU keep-alive: busy threads at idle priority while links run on a virtual machine.
//!
//! A hypervisor deschedules an idle virtual processor, and resumes it milliseconds after a timer or
//! packet is due. A processor that is never idle stays scheduled. The busy threads run in the idle class,
//! so that everything else takes precedence.

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

/// Handle that keeps all processors of a virtual machine busy until it is dropped.
#[derive(Debug)]
pub(crate) struct CpuKeepalive {
    stop: Arc<AtomicBool>,
}

/// Handle shared by this process, if one exists.
static SHARED: Mutex<Weak<CpuKeepalive>> = Mutex::new(Weak::new());

impl CpuKeepalive {
    /// Returns the shared handle; creates it if there is none.
    pub(crate) fn acquire() -> Arc<CpuKeepalive> {
        // No code panics while it holds the lock.
        let mut keepalive = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keepalive) = keepalive.upgrade() {
            return keepalive;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let spinning = if is_virtual() { processors } else { 0 };
        for _ in 0..spinning {
            let stop = stop.clone();
            // If the thread cannot start, the machine is only less punctual.
            let _ = thread::Builder::new()
                .name("awake".to_owned())
                .spawn(move || spin(&stop));
        }
        let new = Arc::new(CpuKeepalive { stop });
        *keepalive = Arc::downgrade(&new);
        new
    }
}

impl Drop for CpuKeepalive {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Returns whether a hypervisor is reported. Processors of a physical machine wake within some 0.1 ms.
fn is_virtual() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.split_whitespace().any(|word| word == "hypervisor")
}

/// Spins at idle priority; returns at once if that priority is denied.
fn spin(stop: &AtomicBool) {
    let idle = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Min,
        ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle),
    );
    while idle.is_ok() && !stop.load(Ordering::Relaxed) {
        hint::spin_loop();
    }
}
