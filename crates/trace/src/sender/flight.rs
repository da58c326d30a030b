//! The packets that a sender has in flight.

use std::collections::VecDeque;

/// More packets than this are never in flight; where a trace lacks the acknowledgements, the
/// oldest packets are forgotten.
pub const MOST_IN_FLIGHT: usize = 1 << 17;

/// A packet that is not acknowledged yet. Positions are sequence numbers that do not wrap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) start: u64,
    pub(super) end: u64,
    /// When it was sent last.
    pub(super) time_ns: i64,
    /// How it was marked then.
    pub(super) timestamp: Option<u32>,
    /// How many packets had been sent before it then.
    pub(super) ordinal: u64,
    pub(super) sends: u32,
    pub(super) sacked: bool,
}

/// The packets between the last acknowledgement and the highest sequence number, in order.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
}

/// What an acknowledgement took out of the flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Covered {
    /// How many packets.
    pub(super) pkts: u32,
    /// Whether one of them had been sent more than once.
    pub(super) resent: bool,
    /// The one sent last among those that were not reported before.
    pub(super) newest: Option<Sent>,
    /// The one sent first among those with the echoed timestamp.
    pub(super) echoed: Option<Sent>,
}

impl Flight {
    /// A new packet, behind all others.
    pub(super) fn push(&mut self, sent: Sent) {
        if self.sent.len() >= MOST_IN_FLIGHT {
            self.sent.pop_front();
        }
        self.sent.push_back(sent);
    }

    /// Everything between two positions was sent again.
    pub(super) fn resend(
        &mut self,
        start: u64,
        end: u64,
        time_ns: i64,
        timestamp: Option<u32>,
        ordinal: u64,
    ) {
        for sent in self.between(start, end) {
            sent.sends = sent.sends.saturating_add(1);
            (sent.time_ns, sent.timestamp, sent.ordinal) = (time_ns, timestamp, ordinal);
        }
    }

    /// Everything before a position has arrived.
    pub(super) fn acknowledge(&mut self, position: u64, echo: Option<u32>) -> Covered {
        let mut covered = Covered::default();
        while let Some(&sent) = self.sent.front().filter(|sent| sent.end <= position) {
            self.sent.pop_front();
            covered.pkts += 1;
            covered.resent |= sent.sends > 1;
            if !sent.sacked {
                covered.newest = Some(newer(covered.newest, sent));
            }
            if echo.is_some() && sent.timestamp == echo {
                covered.echoed = match covered.echoed {
                    Some(first) if first.time_ns <= sent.time_ns => Some(first),
                    _ => Some(sent),
                };
            }
        }
        if self.sent.is_empty() {
            // A trace may have millions of senders, of which few have anything in flight.
            self.clear();
        }
        covered
    }

    /// Everything between two positions has arrived; gives the packet sent last among those that
    /// were not reported before.
    pub(super) fn sack(&mut self, start: u64, end: u64) -> Option<Sent> {
        let mut newest = None;
        for sent in self.between(start, end) {
            if !sent.sacked && start <= sent.start && sent.end <= end {
                sent.sacked = true;
                newest = Some(newer(newest, *sent));
            }
        }
        newest
    }

    pub(super) fn clear(&mut self) {
        self.sent = VecDeque::new();
    }

    fn between(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Sent> {
        let first = self.sent.partition_point(|sent| sent.end <= start);
        self.sent
            .range_mut(first..)
            .take_while(move |sent| sent.start < end)
    }
}

/// The one that was sent last.
pub(super) fn newer(a: Option<Sent>, b: Sent) -> Sent {
    match a {
        Some(a) if a.time_ns > b.time_ns => a,
        _ => b,
    }
}
