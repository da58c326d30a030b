//! What a thread that measures or delays packets may ask of the scheduler.

use std::num::NonZeroU64;

use rustix::thread::set_current_timer_slack;
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// Who comes first where several want to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Who measures a link: its packets' ends.
    Measuring = 1,
    /// The link itself.
    Link = 10,
    /// Who looks whether the machine lets anybody run.
    Watching = 20,
}

/// The least delay for the calling thread that it may have, ahead of everything ordinary on this
/// machine; whether that was granted. It must not compute for long.
pub fn hurry(urgency: Urgency) -> bool {
    // Where slack cannot be set there is a little more lateness, which is reported.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let priority = ThreadPriorityValue::try_from(urgency as u8).unwrap_or_default();
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(priority),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    )
    .is_ok()
}
