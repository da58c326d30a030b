//! One sender, followed.

use super::Options;
use super::arrivals::Needless;
use super::flight::{Covered, Flight, Sent, newer};
use super::full::Full;
use super::rtt::RttMethod;
use crate::{SET_BACK_NS, Segment};

/// What one packet or one acknowledgement showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// When.
    pub time_ns: i64,
    /// Packets sent, resent ones included (a capture's super-segment is several).
    pub sent_pkts: u32,
    /// Of these, packets whose sequence numbers had been sent before.
    pub resent_pkts: u32,
    /// Packets acknowledged that had not been acknowledged before.
    pub acked_pkts: u32,
    /// Resends that turn out to have been needless: the packet had arrived.
    pub needless_pkts: u32,
    /// Whether the clock was set back since the last.
    pub clock_set_back: bool,
    /// The round-trip time of a packet that this acknowledgement is about.
    pub rtt_s: Option<f64>,
    /// How many packets had been sent before that one.
    pub(super) rtt_ordinal: u64,
    /// One past the highest position sent, and the highest one acknowledged.
    pub(super) high: u64,
    pub(super) acked: u64,
}

/// Sums over what was observed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Packets sent, resent ones included.
    pub sent_pkts: u64,
    /// Packets whose sequence numbers had been sent before.
    pub resent_pkts: u64,
    /// Packets acknowledged for the first time.
    pub acked_pkts: u64,
    /// Resends of packets that had arrived.
    pub needless_pkts: u64,
    /// What was sent for the first time, in the trace's units: bytes, ns-2: packets.
    pub payload: u64,
    /// Round-trip times found.
    pub rtts: u64,
    /// Their sum in seconds.
    pub rtt_sum_s: f64,
}

impl Totals {
    /// Packets that must have been lost: every loss is repaired by a resend, other resends are
    /// needless.
    pub fn lost_pkts(&self) -> u64 {
        self.resent_pkts.saturating_sub(self.needless_pkts)
    }

    /// Mean round-trip time in seconds.
    pub fn mean_rtt_s(&self) -> Option<f64> {
        (self.rtts > 0).then(|| self.rtt_sum_s / self.rtts as f64)
    }
}

/// Follows one sender; fed by [`Senders`](super::Senders).
#[derive(Debug)]
pub struct Tracker {
    options: Options,
    started: bool,
    /// The time of the last packet.
    last_ns: i64,
    /// Whether the clock was set back and no observation has told of it, and how many packets had been sent
    /// when it was: of those before, nothing is known of how long they took.
    clock_set_back: bool,
    timed_from: u64,
    /// One past the highest sequence number sent, as a position: the part above 32 bits counts
    /// wraps.
    high: u64,
    /// The highest acknowledgement.
    acked: u64,
    full: Full,
    /// Whether sequence numbers count packets, as far as is known.
    in_packets: bool,
    flight: Flight,
    needless: Needless,
    /// Whether data carried timestamps.
    stamps: bool,
    /// Whether acknowledgements carried SACK blocks.
    sacks: bool,
    totals: Totals,
}

/// Positions start here, so that there is something before them.
const FIRST: u64 = 1 << 32;

impl Tracker {
    pub(super) fn new(options: Options, full: Full) -> Tracker {
        Tracker {
            options,
            started: false,
            last_ns: i64::MIN,
            clock_set_back: false,
            timed_from: 0,
            high: FIRST,
            acked: FIRST,
            full,
            in_packets: true,
            flight: Flight::default(),
            needless: Needless::default(),
            stamps: false,
            sacks: false,
            totals: Totals::default(),
        }
    }

    /// Sums until now.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How round-trip times are found.
    pub fn rtt_method(&self) -> RttMethod {
        match self.options.rtt_method {
            Some(method) => method,
            None if self.sacks => RttMethod::Sack,
            None if self.stamps => RttMethod::Timestamps,
            None => RttMethod::Karn,
        }
    }

    /// What SYNs said that came after its first packet.
    pub(super) fn set_full(&mut self, full: Full) {
        self.full = full;
    }

    pub(super) fn on_data(&mut self, time_ns: i64, segment: &Segment) -> Option<Observation> {
        self.look_at_clock(time_ns);
        if segment.syn || segment.rst {
            // A connection may follow another one between the same ports.
            self.started = false;
            self.flight.clear();
        }
        if segment.len == 0 {
            return None;
        }
        self.start_at(segment);
        let start = self.unwrapped(segment.seq);
        let end = start + u64::from(segment.len);
        if self.is_keep_alive(segment.len, end) {
            return None;
        }
        self.in_packets &= segment.len == 1;
        self.full.learn(segment.len);

        let timestamp = segment.timestamps.map(|(value, _)| value);
        self.stamps |= timestamp.is_some();
        let old_end = end.min(self.high);
        let mut resent_pkts = 0;
        if start < self.high {
            let ordinal = self.totals.sent_pkts;
            self.flight
                .resend(start, old_end, time_ns, timestamp, ordinal);
            resent_pkts = self.cut(segment.len, old_end - start);
            self.totals.sent_pkts += u64::from(resent_pkts);
            self.totals.resent_pkts += u64::from(resent_pkts);
            self.needless.resent(resent_pkts);
        }
        let new_start = start.max(self.high);
        let new_pkts = self.send(new_start, end, time_ns, segment.len, timestamp);
        self.totals.payload += end.saturating_sub(new_start);
        Some(Observation {
            time_ns,
            sent_pkts: resent_pkts.saturating_add(new_pkts),
            resent_pkts,
            clock_set_back: std::mem::take(&mut self.clock_set_back),
            high: self.high,
            acked: self.acked,
            ..Observation::default()
        })
    }

    pub(super) fn on_ack(&mut self, time_ns: i64, segment: &Segment) -> Option<Observation> {
        self.look_at_clock(time_ns);
        let position = self.unwrapped(segment.ack?);
        if !self.started || segment.syn || segment.rst {
            return None;
        }
        // The acknowledgement of a FIN is one beyond the data.
        let position = match position == self.high + 1 {
            true => self.high,
            false => position,
        };
        let (sacked, twice_pkts) = self.take_sacks(segment, position);
        let covered = self.take_position(segment, position);
        let needless_pkts = match self.sacks {
            true => self.needless.reported(twice_pkts),
            false => self.count_arrivals(segment, position, &covered),
        };
        let about = match self.rtt_method() {
            RttMethod::Timestamps => match covered.resent {
                true => covered.echoed,
                false => covered.newest,
            },
            RttMethod::Sack => match covered.newest {
                Some(sent) if !covered.resent => Some(newer(sacked, sent)),
                _ => sacked,
            }
            .filter(|sent| sent.sends == 1),
            RttMethod::Karn => covered.newest.filter(|_| !covered.resent),
        };
        let timed = about.filter(|sent| sent.ordinal >= self.timed_from);
        let rtt_s = timed.map(|sent| (time_ns - sent.time_ns) as f64 * 1e-9);
        // Less than nothing if packets are out of order.
        let rtt_s = rtt_s.filter(|&rtt_s| rtt_s >= 0.0);
        self.totals.acked_pkts += u64::from(covered.pkts);
        self.totals.needless_pkts += u64::from(needless_pkts);
        if let Some(rtt_s) = rtt_s {
            self.totals.rtts += 1;
            self.totals.rtt_sum_s += rtt_s;
        }
        Some(Observation {
            time_ns,
            acked_pkts: covered.pkts,
            needless_pkts,
            clock_set_back: std::mem::take(&mut self.clock_set_back),
            rtt_s,
            rtt_ordinal: about.map_or(0, |sent| sent.ordinal),
            high: self.high,
            acked: self.acked,
            ..Observation::default()
        })
    }

    fn look_at_clock(&mut self, time_ns: i64) {
        if self.last_ns.saturating_sub(time_ns) > SET_BACK_NS {
            self.clock_set_back = true;
            self.timed_from = self.totals.sent_pkts;
        }
        self.last_ns = time_ns;
    }

    fn start_at(&mut self, segment: &Segment) {
        if !self.started {
            self.started = true;
            self.high = FIRST + u64::from(segment.seq);
            self.acked = self.high;
        }
    }

    /// Where a sequence number is, near the highest one sent.
    fn unwrapped(&self, seq: u32) -> u64 {
        let beyond = seq.wrapping_sub(self.high as u32) as i32;
        self.high.saturating_add_signed(i64::from(beyond))
    }

    /// Probes whether the other side is still there: the last byte again, or none, when everything
    /// is acknowledged (RFC 9293 §3.8.4). In ns-2, whose packets count one, there are none.
    fn is_keep_alive(&self, len: u32, end: u64) -> bool {
        !self.in_packets && len == 1 && end == self.high && self.acked == self.high
    }

    /// How many packets part of a segment is.
    fn cut(&self, segment: u32, length: u64) -> u32 {
        match self.full.payload(segment, self.stamps) {
            Some(payload) => u32::try_from(length.div_ceil(payload.into())).unwrap_or(u32::MAX),
            None => 1,
        }
    }

    /// New packets of a segment, from one position to another.
    fn send(
        &mut self,
        start: u64,
        end: u64,
        time_ns: i64,
        segment: u32,
        timestamp: Option<u32>,
    ) -> u32 {
        let mut pkts = 0;
        let mut at = start;
        let payload = self.full.payload(segment, self.stamps);
        let step = payload.map_or(end.saturating_sub(start), u64::from);
        while at < end {
            let next = end.min(at + step);
            self.flight.push(Sent {
                start: at,
                end: next,
                time_ns,
                timestamp,
                ordinal: self.totals.sent_pkts,
                sends: 1,
                sacked: false,
            });
            self.totals.sent_pkts += 1;
            pkts += 1;
            at = next;
        }
        self.high = self.high.max(end);
        pkts
    }

    /// The packet sent last among those that SACK blocks report for the first time, and how many
    /// packets they report to have come twice (RFC 2883 §4: the first block, if it lies before the
    /// acknowledgement or within the second block).
    fn take_sacks(&mut self, segment: &Segment, position: u64) -> (Option<Sent>, u32) {
        let count = usize::from(segment.sack_blocks).min(segment.sack.len());
        let mut blocks = segment
            .sack
            .map(|(start, end)| (self.unwrapped(start), self.unwrapped(end)));
        let blocks = &mut blocks[..count];
        let mut twice_pkts = 0;
        if let [(start, end), rest @ ..] = blocks {
            let within_second = rest
                .first()
                .is_some_and(|&(from, to)| from <= *start && *end <= to);
            if (*end <= position || within_second) && start < end {
                let length = *end - *start;
                twice_pkts = self.cut(u32::try_from(length).unwrap_or(u32::MAX), length);
            }
        }
        let mut newest = None;
        for &mut (start, end) in blocks {
            if let Some(sent) = self.flight.sack(start, end) {
                newest = Some(newer(newest, sent));
            }
        }
        self.sacks |= count > 0;
        (newest, twice_pkts)
    }

    /// Moves the cumulative acknowledgement on.
    fn take_position(&mut self, segment: &Segment, position: u64) -> Covered {
        if position <= self.acked {
            return Covered::default();
        }
        self.high = self.high.max(position);
        self.acked = position;
        let echo = segment.timestamps.map(|(_, echo)| echo);
        self.flight.acknowledge(position, echo)
    }

    fn count_arrivals(&mut self, segment: &Segment, position: u64, covered: &Covered) -> u32 {
        let all = self.acked == self.high;
        if covered.pkts > 0 {
            self.needless.advanced(covered.pkts, covered.resent, all)
        } else if position == self.acked && segment.len == 0 && !segment.fin {
            self.needless.duplicate(all)
        } else {
            0
        }
    }
}
