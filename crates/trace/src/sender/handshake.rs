//! Position of a capture on the path, and maximum segment size, from TCP handshakes.
//!
//! The time from SYN to SYN-ACK is the round trip from the capture point to the responder. The time from
//! SYN-ACK to the next acknowledgement is the round trip to the initiator. The sum is the round-trip time
//! of the path. At the sender of data, nearly all of it is on the receiver's side. At the receiver, the
//! delay from data to acknowledgement is nearly zero, so it is not the round-trip time.

use std::collections::HashMap;

use super::Flow;
use crate::Segment;

/// Position of a capture on the path, from the handshake of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapturePoint {
    /// Round trip from the capture point to the receiver of data, in seconds.
    pub receiver_side_s: f64,
    /// Round trip from the capture point to the sender of data, in seconds.
    pub sender_side_s: f64,
}

impl CapturePoint {
    /// Returns whether round-trip times measured at the capture are too short to be used: below a quarter
    /// of the path's. Always `false` if the sender's side is at most 1 ms, which is too short to measure.
    pub fn is_near_receiver(&self) -> bool {
        const MIN_SENDER_SIDE_S: f64 = 1e-3;
        self.sender_side_s > MIN_SENDER_SIDE_S && self.receiver_side_s < self.sender_side_s / 3.0
    }
}

/// Handshakes, by the direction of their SYN.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    by_syn: HashMap<Flow, Handshake>,
}

#[derive(Clone, Copy, Debug)]
struct Handshake {
    syn_ns: i64,
    syn_ack_ns: Option<i64>,
    ack_ns: Option<i64>,
    /// True if SYN or SYN-ACK was repeated, so that the answered one is unknown.
    ambiguous: bool,
    /// Maximum segment sizes announced by the initiator and the responder, in bytes.
    mss: [Option<u16>; 2],
}

/// Maximum number of stored handshakes, as a limit against SYN floods.
const MAX_HANDSHAKES: usize = 1 << 20;

impl Handshakes {
    pub(super) fn on_segment(&mut self, time_ns: i64, flow: Flow, segment: &Segment) {
        if segment.syn && segment.ack.is_none() {
            let again = self.by_syn.get(&flow).is_some_and(|it| it.ack_ns.is_none());
            if again || self.by_syn.len() < MAX_HANDSHAKES {
                self.by_syn.insert(
                    flow,
                    Handshake {
                        syn_ns: time_ns,
                        syn_ack_ns: None,
                        ack_ns: None,
                        ambiguous: again,
                        mss: [segment.mss, None],
                    },
                );
            }
        } else if segment.syn {
            if let Some(it) = self.by_syn.get_mut(&flow.reversed()) {
                it.ambiguous |= it.syn_ack_ns.is_some();
                it.syn_ack_ns = Some(time_ns);
                it.mss[1] = segment.mss;
            }
        } else if let Some(it) = self.by_syn.get_mut(&flow)
            && it.syn_ack_ns.is_some()
            && it.ack_ns.is_none()
        {
            it.ack_ns = Some(time_ns);
        }
    }

    /// Returns the maximum segment size in this direction, in bytes. It is the smaller of both announced
    /// values, because each side announces the size that its own link supports.
    pub(super) fn path_mss(&self, flow: &Flow) -> Option<u16> {
        let it = (self.by_syn.get(flow)).or_else(|| self.by_syn.get(&flow.reversed()))?;
        it.mss.into_iter().flatten().min()
    }

    /// Returns the position of the capture for data in this direction.
    pub(super) fn capture_point(&self, flow: &Flow) -> Option<CapturePoint> {
        let shares = |flow: &Flow| {
            let it = self.by_syn.get(flow).filter(|it| !it.ambiguous)?;
            let (answered_ns, done_ns) = (it.syn_ack_ns?, it.ack_ns?);
            let s = |from_ns: i64, to_ns: i64| (to_ns - from_ns) as f64 * 1e-9;
            let shares = (s(it.syn_ns, answered_ns), s(answered_ns, done_ns));
            // Times are negative if the clock was set back in between.
            (shares.0 >= 0.0 && shares.1 >= 0.0).then_some(shares)
        };
        // The sender of data is the initiator or the responder.
        let (receiver_side_s, sender_side_s) = match shares(flow) {
            Some((responder_s, initiator_s)) => (responder_s, initiator_s),
            None => shares(&flow.reversed())
                .map(|(responder_s, initiator_s)| (initiator_s, responder_s))?,
        };
        Some(CapturePoint {
            receiver_side_s,
            sender_side_s,
        })
    }
}
