//! What a handshake tells: where on the path a capture was made, and how long segments may be.
//!
//! Between SYN and SYN-ACK a packet goes from where it is captured to the responder, and back; between
//! SYN-ACK and the acknowledgement that follows it, to the initiator and back. Both together are the
//! round-trip time, each is the share of one side. At the sender of data the share of the
//! receiver's side is nearly all; at the receiver it is next to nothing, and the delay from data to
//! acknowledgement, which is taken for the round-trip time, as well.

use std::collections::HashMap;

use super::Flow;
use crate::Segment;

/// What the handshake of a connection says about where it was captured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vantage {
    /// From the capture to the receiver of data and back, in seconds.
    pub receiver_side_s: f64,
    /// From the capture to the sender of data and back, in seconds.
    pub sender_side_s: f64,
}

impl Vantage {
    /// Whether round-trip times found there are too short to be used: less than a quarter of what
    /// the path has, unless that is too little to be told.
    pub fn is_near_the_receiver(&self) -> bool {
        const LEAST_S: f64 = 1e-3;
        self.sender_side_s > LEAST_S && self.receiver_side_s < self.sender_side_s / 3.0
    }
}

/// The handshakes seen, by the direction of their SYN.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    seen: HashMap<Flow, Handshake>,
}

#[derive(Clone, Copy, Debug)]
struct Handshake {
    syn_ns: i64,
    answered_ns: Option<i64>,
    done_ns: Option<i64>,
    /// Something was sent twice, so that nobody can say which one was answered.
    ambiguous: bool,
    /// The longest segments that the initiator takes, and the responder.
    mss: [Option<u16>; 2],
}

/// Handshakes that are remembered: somebody may do nothing but knock.
const MOST: usize = 1 << 20;

impl Handshakes {
    pub(super) fn on(&mut self, time_ns: i64, flow: Flow, segment: &Segment) {
        if segment.syn && segment.ack.is_none() {
            let again = self.seen.get(&flow).is_some_and(|it| it.done_ns.is_none());
            if again || self.seen.len() < MOST {
                self.seen.insert(
                    flow,
                    Handshake {
                        syn_ns: time_ns,
                        answered_ns: None,
                        done_ns: None,
                        ambiguous: again,
                        mss: [segment.mss, None],
                    },
                );
            }
        } else if segment.syn {
            if let Some(it) = self.seen.get_mut(&flow.reversed()) {
                it.ambiguous |= it.answered_ns.is_some();
                it.answered_ns = Some(time_ns);
                it.mss[1] = segment.mss;
            }
        } else if let Some(it) = self.seen.get_mut(&flow)
            && it.answered_ns.is_some()
            && it.done_ns.is_none()
        {
            it.done_ns = Some(time_ns);
        }
    }

    /// The longest segments that may go this way: what the receiver takes, and no more than the sender takes itself,
    /// whose own link is as long as that.
    pub(super) fn least_mss(&self, flow: &Flow) -> Option<u16> {
        let it = (self.seen.get(flow)).or_else(|| self.seen.get(&flow.reversed()))?;
        it.mss.into_iter().flatten().min()
    }

    /// What the handshake says, if data go this way.
    pub(super) fn vantage(&self, flow: &Flow) -> Option<Vantage> {
        let shares = |flow: &Flow| {
            let it = self.seen.get(flow).filter(|it| !it.ambiguous)?;
            let (answered_ns, done_ns) = (it.answered_ns?, it.done_ns?);
            let s = |from_ns: i64, to_ns: i64| (to_ns - from_ns) as f64 * 1e-9;
            let shares = (s(it.syn_ns, answered_ns), s(answered_ns, done_ns));
            // Less than nothing if the clock was set back in between.
            (shares.0 >= 0.0 && shares.1 >= 0.0).then_some(shares)
        };
        // The sender of data is who knocked, or who answered.
        let (receiver_side_s, sender_side_s) = match shares(flow) {
            Some((responder_s, initiator_s)) => (responder_s, initiator_s),
            None => shares(&flow.reversed())
                .map(|(responder_s, initiator_s)| (initiator_s, responder_s))?,
        };
        Some(Vantage {
            receiver_side_s,
            sender_side_s,
        })
    }
}
