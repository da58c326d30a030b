//! Current congestion controls behind one drop-tail link: Linux over an emulated link, compared
//! with netflow's stacks in the packet model.

pub mod cell;
pub mod measure;
pub mod model;
pub mod page;
pub mod row;
#[cfg(target_os = "linux")]
mod senders;
pub mod verdict;
