//! Real TCP stacks at both ends of an emulated link, or around an emulated network.
//!
//! - [`Channel`] is one direction of a link as a function of time: an arriving packet is delivered later
//!   or dropped. It needs neither clocks nor rights.
//! - [`Testbed`] consists of two network namespaces, a TUN device in each, and a thread that carries
//!   packets between them through two channels. It needs root or unprivileged user namespaces. If they
//!   are unavailable, [`Error::Unavailable`] names the missing resource, and [`Outcome`] separates
//!   skipped checks from passed ones.
//! - [`network`] is a whole network between many hosts, with the queues of all links.
//! - [`StackOptions`] sets Linux's TCP in the namespaces.
//!
//! Namespaces have no names and are held by descriptors alone, so they disappear however the process
//! ends. Times are those of the monotonic clock.

mod error;
mod link_direction;
mod link_options;
pub mod network;
mod outcome;
mod report;
mod stack;

#[cfg(target_os = "linux")]
mod bulk;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod cpu_keepalive;
#[cfg(target_os = "linux")]
mod cpu_usage;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod emulator;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod pid_namespace;
#[cfg(target_os = "linux")]
mod precise_timer;
#[cfg(target_os = "linux")]
mod priority;
#[cfg(target_os = "linux")]
mod self_test;
#[cfg(target_os = "linux")]
mod testbed;

#[cfg(target_os = "linux")]
pub use bulk::transfer;
pub use capture::{CaptureError, CaptureReport};
#[cfg(target_os = "linux")]
pub use device::{address, check_congestion_control, congestion_controls};
pub use error::Error;
pub use link_direction::{Channel, DropReason, PacketOutcome};
pub use link_options::{Capture, DirectionOptions, End, ExtraPathDelay, LinkOptions, OptionError};
#[cfg(target_os = "linux")]
pub use namespace::{Namespace, become_root};
pub use netflow_queues::{BitErrors, GilbertElliott, LinkLoss};
pub use outcome::{CONTROL_TOLERANCE_S, Outcome, control_fault};
#[cfg(target_os = "linux")]
pub use pid_namespace::{bind_etc_hosts, is_pid_namespace_child, spawn_in_pid_namespace};
#[cfg(target_os = "linux")]
pub use priority::{ThreadRole, set_realtime_priority};
pub use report::{Count, DirectionReport, Drops, Lateness, LinkReport, MAX_P99_LATENESS_US};
#[cfg(target_os = "linux")]
pub use self_test::{SelfTestResult, self_test};
pub use stack::{STACKS, StackOptions};
#[cfg(target_os = "linux")]
pub use testbed::Testbed;
