//! Endpoints of transfers: senders and receivers.

pub mod ack_encoding;
pub mod delay_histograms;
pub mod generator;
pub mod receiver;
pub mod stack;
pub mod tfrc;
pub mod transfer;
