//! What the transfers of one distribution have in common.

use super::{
    Exchange, Transfer, Until,
    connection::{LISTENER, OPENER},
};
use crate::Stack;

/// What does not change between transfers.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub stack: Stack,
    /// What the opener and the listener send, in bytes.
    pub bytes: [u64; 2],
    pub mss_bytes: u32,
    pub delay_s: f64,
    pub bandwidth_bps: Option<f64>,
    /// The probability that a packet of the opener, of the listener is lost.
    pub loss: [f64; 2],
    /// Who sends the data that counts.
    pub source: usize,
    pub until: Until,
}

impl Setting {
    /// `transfer` must be in range.
    pub(super) fn new(stack: Stack, transfer: &Transfer) -> Self {
        let (forward, back) = (transfer.loss_forward, transfer.loss_back);
        let (bytes, source, loss) = match transfer.exchange {
            Exchange::Push => ([transfer.bytes, 0], OPENER, [forward, back]),
            Exchange::Fetch { request_bytes } => {
                ([request_bytes, transfer.bytes], LISTENER, [back, forward])
            }
        };
        Self {
            stack,
            bytes,
            mss_bytes: transfer.mss_bytes,
            delay_s: transfer.delay_s,
            bandwidth_bps: transfer.bandwidth_bps,
            loss,
            source,
            until: transfer.until,
        }
    }
}
