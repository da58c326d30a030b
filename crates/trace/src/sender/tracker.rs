//! Tracker of one TCP sender.

use super::Options;
use super::flight::{AckedPackets, Flight, Sent, later_sent};
use super::rtt_method::RttMethod;
use super::segment_size::SegmentSize;
use super::spurious_retransmissions::SpuriousRetransmissions;
use crate::{MAX_REORDERING_NS, Segment};

/// Observation from one packet or one acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Time, in ns.
    pub time_ns: i64,
    /// Packets sent, retransmissions included (a captured super-segment is several packets).
    pub sent_pkts: u32,
    /// Retransmitted packets among these.
    pub resent_pkts: u32,
    /// Packets acknowledged for the first time.
    pub acked_pkts: u32,
    /// Retransmissions found to be spurious: the packet had arrived.
    pub spurious_pkts: u32,
    /// True if the clock was set back since the last observation.
    pub clock_set_back: bool,
    /// Round-trip time that this acknowledgement measures, in seconds.
    pub rtt_s: Option<f64>,
    /// Number of packets sent before the measured packet.
    pub(super) rtt_ordinal: u64,
    /// One past the highest position sent, and the highest acknowledged position.
    pub(super) high: u64,
    pub(super) acked: u64,
}

/// Sums of all observations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Retransmitted packets.
    pub resent_pkts: u64,
    /// Packets acknowledged for the first time.
    pub acked_pkts: u64,
    /// Spurious retransmissions.
    pub spurious_pkts: u64,
    /// Data sent for the first time, in the unit of the trace: bytes, or packets in ns-2.
    pub payload: u64,
    /// Number of measured round-trip times.
    pub rtts: u64,
    /// Sum of the round-trip times, in seconds.
    pub rtt_sum_s: f64,
}

impl Totals {
    /// Returns the number of lost packets: every loss requires a retransmission, and other
    /// retransmissions are spurious.
    pub fn lost_pkts(&self) -> u64 {
        self.resent_pkts.saturating_sub(self.spurious_pkts)
    }

    /// Returns the mean round-trip time, in seconds.
    pub fn mean_rtt_s(&self) -> Option<f64> {
        (self.rtts > 0).then(|| self.rtt_sum_s / self.rtts as f64)
    }
}

/// Tracker of one sender, updated by [`Senders`](super::Senders).
#[derive(Debug)]
pub struct Tracker {
    options: Options,
    started: bool,
    /// Time of the last packet, in ns.
    last_ns: i64,
    /// True if the clock was set back and no observation has reported it. `first_timed_packet` is the number of
    /// packets sent by then; earlier packets yield no round-trip times.
    clock_set_back: bool,
    first_timed_packet: u64,
    /// One past the highest sequence number sent, as a position: the bits above 32 count wraps.
    high: u64,
    /// Highest acknowledged position.
    acked: u64,
    segment_size: SegmentSize,
    /// True if sequence numbers appear to count packets.
    counts_packets: bool,
    flight: Flight,
    spurious: SpuriousRetransmissions,
    /// True if data carried timestamps.
    has_timestamps: bool,
    /// True if acknowledgements carried SACK blocks.
    has_sack: bool,
    totals: Totals,
}

/// First position, above 0 so that earlier positions can be represented.
const FIRST_POSITION: u64 = 1 << 32;

impl Tracker {
    pub(super) fn new(options: Options, segment_size: SegmentSize) -> Tracker {
        Tracker {
            options,
            started: false,
            last_ns: i64::MIN,
            clock_set_back: false,
            first_timed_packet: 0,
            high: FIRST_POSITION,
            acked: FIRST_POSITION,
            segment_size,
            counts_packets: true,
            flight: Flight::default(),
            spurious: SpuriousRetransmissions::default(),
            has_timestamps: false,
            has_sack: false,
            totals: Totals::default(),
        }
    }

    /// Returns the sums until now.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the method of measuring round-trip times.
    pub fn rtt_method(&self) -> RttMethod {
        match self.options.rtt_method {
            Some(method) => method,
            None if self.has_sack => RttMethod::Sack,
            None if self.has_timestamps => RttMethod::Timestamps,
            None => RttMethod::Karn,
        }
    }

    /// Sets the segment size from SYNs that arrived after the first packet.
    pub(super) fn set_segment_size(&mut self, segment_size: SegmentSize) {
        self.segment_size = segment_size;
    }

    pub(super) fn on_data(&mut self, time_ns: i64, segment: &Segment) -> Option<Observation> {
        self.check_clock(time_ns);
        if segment.syn || segment.rst {
            // A new connection may reuse the same ports.
            self.started = false;
            self.flight.clear();
        }
        if segment.len == 0 {
            return None;
        }
        self.start(segment);
        let start = self.unwrap_seq(segment.seq);
        let end = start + u64::from(segment.len);
        if self.is_keep_alive(segment.len, end) {
            return None;
        }
        self.counts_packets &= segment.len == 1;
        self.segment_size.observe_payload(segment.len);

        let timestamp = segment.timestamps.map(|(value, _)| value);
        self.has_timestamps |= timestamp.is_some();
        let old_end = end.min(self.high);
        let mut resent_pkts = 0;
        if start < self.high {
            let ordinal = self.totals.sent_pkts;
            self.flight
                .resend(start, old_end, time_ns, timestamp, ordinal);
            resent_pkts = self.packet_count(segment.len, old_end - start);
            self.totals.sent_pkts += u64::from(resent_pkts);
            self.totals.resent_pkts += u64::from(resent_pkts);
            self.spurious.on_retransmission(resent_pkts);
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
        self.check_clock(time_ns);
        let position = self.unwrap_seq(segment.ack?);
        if !self.started || segment.syn || segment.rst {
            return None;
        }
        // The acknowledgement of a FIN is one beyond the data.
        let position = if position == self.high + 1 {
            self.high
        } else {
            position
        };
        let (sacked, twice_pkts) = self.process_sack(segment, position);
        let covered = self.process_ack(segment, position);
        let needless_pkts = if self.has_sack {
            self.spurious.on_dsack(twice_pkts)
        } else {
            self.count_spurious(segment, position, &covered)
        };
        let about = match self.rtt_method() {
            RttMethod::Timestamps => {
                if covered.resent {
                    covered.echoed
                } else {
                    covered.newest
                }
            }
            RttMethod::Sack => match covered.newest {
                Some(sent) if !covered.resent => Some(later_sent(sacked, sent)),
                _ => sacked,
            }
            .filter(|sent| sent.sends == 1),
            RttMethod::Karn => covered.newest.filter(|_| !covered.resent),
        };
        let timed = about.filter(|sent| sent.ordinal >= self.first_timed_packet);
        let rtt_s = timed.map(|sent| (time_ns - sent.time_ns) as f64 * 1e-9);
        // The time is negative if packets are out of order.
        let rtt_s = rtt_s.filter(|&rtt_s| rtt_s >= 0.0);
        self.totals.acked_pkts += u64::from(covered.pkts);
        self.totals.spurious_pkts += u64::from(needless_pkts);
        if let Some(rtt_s) = rtt_s {
            self.totals.rtts += 1;
            self.totals.rtt_sum_s += rtt_s;
        }
        Some(Observation {
            time_ns,
            acked_pkts: covered.pkts,
            spurious_pkts: needless_pkts,
            clock_set_back: std::mem::take(&mut self.clock_set_back),
            rtt_s,
            rtt_ordinal: about.map_or(0, |sent| sent.ordinal),
            high: self.high,
            acked: self.acked,
            ..Observation::default()
        })
    }

    fn check_clock(&mut self, time_ns: i64) {
        if self.last_ns.saturating_sub(time_ns) > MAX_REORDERING_NS {
            self.clock_set_back = true;
            self.first_timed_packet = self.totals.sent_pkts;
        }
        self.last_ns = time_ns;
    }

    fn start(&mut self, segment: &Segment) {
        if !self.started {
            self.started = true;
            self.high = FIRST_POSITION + u64::from(segment.seq);
            self.acked = self.high;
        }
    }

    /// Returns the position of a sequence number, near the highest one sent.
    fn unwrap_seq(&self, seq: u32) -> u64 {
        let beyond = seq.wrapping_sub(self.high as u32) as i32;
        self.high.saturating_add_signed(i64::from(beyond))
    }

    /// Returns whether a segment is a keep-alive probe: the last byte again, or none, when everything is
    /// acknowledged (RFC 9293 §3.8.4). ns-2, where a packet has length 1, has no probes.
    fn is_keep_alive(&self, len: u32, end: u64) -> bool {
        !self.counts_packets && len == 1 && end == self.high && self.acked == self.high
    }

    /// Returns the number of packets in `length` bytes of a segment.
    fn packet_count(&self, segment: u32, length: u64) -> u32 {
        match self.segment_size.payload(segment, self.has_timestamps) {
            Some(payload) => u32::try_from(length.div_ceil(payload.into())).unwrap_or(u32::MAX),
            None => 1,
        }
    }

    /// Records the new packets of a segment between two positions. Returns their number.
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
        let payload = self.segment_size.payload(segment, self.has_timestamps);
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

    /// Processes the SACK blocks. Returns the last transmission among the packets reported for the first
    /// time, and the number of packets reported to have arrived twice. The latter are in the first block,
    /// if it lies before the acknowledgement or within the second block (RFC 2883 §4).
    fn process_sack(&mut self, segment: &Segment, position: u64) -> (Option<Sent>, u32) {
        let count = usize::from(segment.sack_blocks).min(segment.sack.len());
        let mut blocks = segment
            .sack
            .map(|(start, end)| (self.unwrap_seq(start), self.unwrap_seq(end)));
        let blocks = &mut blocks[..count];
        let mut twice_pkts = 0;
        if let [(start, end), rest @ ..] = blocks {
            let within_second = rest
                .first()
                .is_some_and(|&(from, to)| from <= *start && *end <= to);
            if (*end <= position || within_second) && start < end {
                let length = *end - *start;
                twice_pkts = self.packet_count(u32::try_from(length).unwrap_or(u32::MAX), length);
            }
        }
        let mut newest = None;
        for &mut (start, end) in blocks {
            if let Some(sent) = self.flight.sack(start, end) {
                newest = Some(later_sent(newest, sent));
            }
        }
        self.has_sack |= count > 0;
        (newest, twice_pkts)
    }

    /// Advances the cumulative acknowledgement.
    fn process_ack(&mut self, segment: &Segment, position: u64) -> AckedPackets {
        if position <= self.acked {
            return AckedPackets::default();
        }
        self.high = self.high.max(position);
        self.acked = position;
        let echo = segment.timestamps.map(|(_, echo)| echo);
        self.flight.acknowledge(position, echo)
    }

    fn count_spurious(&mut self, segment: &Segment, position: u64, covered: &AckedPackets) -> u32 {
        let all = self.acked == self.high;
        if covered.pkts > 0 {
            self.spurious.on_new_ack(covered.pkts, covered.resent, all)
        } else if position == self.acked && segment.len == 0 && !segment.fin {
            self.spurious.on_duplicate_ack(all)
        } else {
            0
        }
    }
}
