//! Packets that a sender has in flight.

use std::collections::VecDeque;

/// Maximum number of packets in flight. If a trace lacks the acknowledgements, the oldest packets are
/// forgotten.
pub const MAX_IN_FLIGHT: usize = 1 << 17;

/// Unacknowledged packet. Positions are sequence numbers that do not wrap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Time of the last transmission, in ns.
    pub(super) time_ns: i64,
    /// Timestamp value of the last transmission.
    pub(super) timestamp: Option<u32>,
    /// Number of packets sent before the last transmission.
    pub(super) ordinal: u64,
    pub(super) sends: u32,
    pub(super) sacked: bool,
}

/// Packets between the last acknowledgement and the highest sequence number, in order.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
}

/// Packets that an acknowledgement removed from the flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckedPackets {
    /// Number of packets.
    pub(super) pkts: u32,
    /// True if one of them was sent more than once.
    pub(super) resent: bool,
    /// Last transmission among those not yet reported by SACK.
    pub(super) newest: Option<Sent>,
    /// First transmission among those with the echoed timestamp.
    pub(super) echoed: Option<Sent>,
}

impl Flight {
    /// Appends a new packet.
    pub(super) fn push(&mut self, sent: Sent) {
        if self.sent.len() >= MAX_IN_FLIGHT {
            self.sent.pop_front();
        }
        self.sent.push_back(sent);
    }

    /// Records the retransmission of all packets between two positions.
    pub(super) fn resend(
        &mut self,
        start: u64,
        end: u64,
        time_ns: i64,
        timestamp: Option<u32>,
        ordinal: u64,
    ) {
        for sent in self.packets_between(start, end) {
            sent.sends = sent.sends.saturating_add(1);
            (sent.time_ns, sent.timestamp, sent.ordinal) = (time_ns, timestamp, ordinal);
        }
    }

    /// Removes all packets before `position`.
    pub(super) fn acknowledge(&mut self, position: u64, echo: Option<u32>) -> AckedPackets {
        let mut covered = AckedPackets::default();
        while let Some(&sent) = self.sent.front().filter(|sent| sent.end <= position) {
            self.sent.pop_front();
            covered.pkts += 1;
            covered.resent |= sent.sends > 1;
            if !sent.sacked {
                covered.newest = Some(later_sent(covered.newest, sent));
            }
            if echo.is_some() && sent.timestamp == echo {
                covered.echoed = match covered.echoed {
                    Some(first) if first.time_ns <= sent.time_ns => Some(first),
                    _ => Some(sent),
                };
            }
        }
        if self.sent.is_empty() {
            // A trace may have millions of senders, of which few have packets in flight.
            self.clear();
        }
        covered
    }

    /// Marks all packets between two positions as received. Returns the last transmission among those not
    /// reported before.
    pub(super) fn sack(&mut self, start: u64, end: u64) -> Option<Sent> {
        let mut newest = None;
        for sent in self.packets_between(start, end) {
            if !sent.sacked && start <= sent.start && sent.end <= end {
                sent.sacked = true;
                newest = Some(later_sent(newest, *sent));
            }
        }
        newest
    }

    pub(super) fn clear(&mut self) {
        self.sent = VecDeque::new();
    }

    fn packets_between(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Sent> {
        let first = self.sent.partition_point(|sent| sent.end <= start);
        self.sent
            .range_mut(first..)
            .take_while(move |sent| sent.start < end)
    }
}

/// Returns the packet with the later transmission.
pub(super) fn later_sent(a: Option<Sent>, b: Sent) -> Sent {
    match a {
        Some(a) if a.time_ns > b.time_ns => a,
        _ => b,
    }
}
