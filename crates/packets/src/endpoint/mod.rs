//! Endpoints of transfers: senders and receivers.

pub mod ack_encoding;
pub mod delay_histograms;
pub mod generator;
pub mod ns2;
pub mod receiver;
pub mod sender;
pub mod stack;
pub mod tfrc;
pub mod transfer;
