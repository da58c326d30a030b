//! Real-time priority of threads that measure or delay packets.

use std::num::NonZeroU64;

use rustix::thread::set_current_timer_slack;
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// Priority of a thread, by its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadRole {
    /// Endpoint that measures a link.
    Measuring = 1,
    /// Emulation thread of a link.
    Link = 10,
    /// Monitor that checks whether the machine schedules threads on time.
    Watching = 20,
}

/// Gives the calling thread minimum timer slack and real-time priority ahead of all ordinary threads.
/// Returns whether the priority was granted. The thread must not compute for long.
pub fn set_realtime_priority(role: ThreadRole) -> bool {
    // Without minimum slack, lateness is slightly larger, and is reported.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let priority = ThreadPriorityValue::try_from(role as u8).unwrap_or_default();
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(priority),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    )
    .is_ok()
}
