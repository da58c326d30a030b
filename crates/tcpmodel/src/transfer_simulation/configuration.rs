//! The common parameters of the transfers of one distribution.

use super::{
    CompletionCriterion, Exchange, Transfer,
    connection::{LISTENER, OPENER},
};
use crate::Stack;

/// The parameters that do not change between transfers.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    pub stack: Stack,
    /// The bytes sent by the opener and by the listener.
    pub bytes: [u64; 2],
    pub mss_bytes: u32,
    pub delay_s: f64,
    pub bandwidth_bps: Option<f64>,
    /// The loss probability of the packets of the opener and of the listener.
    pub loss: [f64; 2],
    /// The end that sends the measured data.
    pub source: usize,
    pub until: CompletionCriterion,
}

impl Configuration {
    /// Returns the parameters of `transfer`, which must be in range.
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
