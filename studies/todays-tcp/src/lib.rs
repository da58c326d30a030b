//! Today's congestion controls behind one drop-tail link: a real Linux over an emulated link, and netflow's
//! stacks packet by packet.

pub mod cell;
pub mod measure;
pub mod model;
pub mod page;
pub mod row;
#[cfg(target_os = "linux")]
mod senders;
pub mod verdict;
