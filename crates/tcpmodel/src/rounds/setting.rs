//! What the transfers of one distribution have in common.

use super::{
    Exchange, Transfer, Until,
    trial::{LISTENER, OPENER},
};
use crate::Stack;

/// What does not change between transfers.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub stack: Stack,
    /// Segments that the opener and the listener send.
    pub segments: [u32; 2],
    /// The payload of their last segments, in bytes.
    pub last_bytes: [f64; 2],
    pub mss_bytes: f64,
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
        let segments = |bytes: u64| bytes.div_ceil(u64::from(transfer.mss_bytes)) as u32;
        let last = |bytes: u64| {
            let before =
                u64::from(segments(bytes).saturating_sub(1)) * u64::from(transfer.mss_bytes);
            bytes.saturating_sub(before) as f64
        };
        let (forward, back) = (transfer.loss_forward, transfer.loss_back);
        let (bytes, source, loss) = match transfer.exchange {
            Exchange::Push => ([transfer.bytes, 0], OPENER, [forward, back]),
            Exchange::Fetch { request_bytes } => {
                ([request_bytes, transfer.bytes], LISTENER, [back, forward])
            }
        };
        Self {
            stack,
            segments: bytes.map(segments),
            last_bytes: bytes.map(last),
            mss_bytes: f64::from(transfer.mss_bytes),
            delay_s: transfer.delay_s,
            bandwidth_bps: transfer.bandwidth_bps,
            loss,
            source,
            until: transfer.until,
        }
    }
}
