//! Endpoints of transfers: senders and receivers.

pub mod ack_encoding;
pub mod delays;
pub mod generator;
pub mod receiver;
pub mod stack;
pub mod tfrc;
pub mod transfer;
