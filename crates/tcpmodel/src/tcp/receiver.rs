//! The receiver of a connection: reassembly state and acknowledgements.

use std::collections::VecDeque;

use netflow_units::ns;

use super::ranges::Ranges;
use super::{Ack, CE_COUNTER_MODULUS, Clock, MAX_SACK_BLOCKS, NEVER, Sacks};
use crate::{EcnFeedback, Stack};

/// The receiving half of an end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The number of full segments that are acknowledged at once.
    segments_per_ack: u32,
    delay_ns: u64,
    /// True if delayed acknowledgements leave at the next tick of a free-running clock.
    uses_ack_clock: bool,
    quick_acks: u32,
    compresses_acks: bool,
    clock: Clock,
    /// The position of the free-running clock of delayed acknowledgements at time 0.
    beat_phase_ns: u64,
    /// The next expected segment (RCV.NXT).
    next: u32,
    /// Segments received out of order.
    out_of_order: Ranges,
    /// One segment of each SACK block, the latest first.
    recent_blocks: VecDeque<u32>,
    /// True until the first segment arrives.
    is_new: bool,
    /// The value of `next` in the last acknowledgement.
    acknowledged: u32,
    quick_left: u32,
    autotuning: Option<ReceiveWindowAutotuning>,
    /// The number of segments received out of order.
    out_of_order_segments: u32,
    /// The right edge of the offered receive window: one past its last segment.
    window_edge: u32,
    /// The arrival time of the last new segment.
    arrived_ns: u64,
    duplicates_at: u32,
    duplicates: u32,
    /// The number of compressed (delayed) duplicate acknowledgements.
    compressed_acks: u32,
    /// Blocks that are new or have grown since the last acknowledgement.
    unreported_blocks: usize,
    /// A segment that arrived again, until it is reported.
    pending_dsack: Option<u32>,
    /// True if the last packet was marked (ECN).
    congested: bool,
    /// The number of marked packets that have arrived.
    ce_packets: u32,
    ecn_feedback: EcnFeedback,
    echo_ns: u64,
    /// The episodes of the sender when it sent the packet to echo, and the arriving segment.
    echo_odd_episode: bool,
    odd_episode: bool,
    due_ns: u64,
}

/// A SACK block that begins while an acknowledgement is delayed.
#[derive(Clone, Copy, Debug)]
pub struct FurtherBlock {
    /// The number of blocks not yet reported.
    pub waiting: usize,
    /// The end of the latest of them, relative to the cumulative acknowledgement.
    pub latest_end: u32,
    /// The number of segments in the latest of them.
    pub latest_segments: u32,
    /// The first segment of this block, relative to the cumulative acknowledgement.
    pub first: u32,
}

/// Further duplicate acknowledgements are delayed by this fraction of a round trip, and at most by this
/// time (`tcp_comp_sack_delay_ns` of Linux).
const ACK_COMPRESSION_RTT_DIVISOR: u64 = 20;
const ACK_COMPRESSION_MAX_NS: u64 = 1_000_000;
/// The maximum number of compressed acknowledgements (`tcp_comp_sack_nr`).
const MAX_COMPRESSED_ACKS: u32 = 44;

/// The largest window in a packet with SYN, which has no window scaling.
const MAX_UNSCALED_WINDOW_BYTES: u32 = 65_535;

impl Receiver {
    /// Returns a receiver of segments of `segment_bytes`. `phases`, from 0 to 1, are the positions of its
    /// clocks at time 0: the timer clock and the clock of delayed acknowledgements.
    pub fn new(stack: &Stack, segment_bytes: u32, phases: [f64; 2]) -> Self {
        let [phase, beat_phase] = phases;
        Self {
            segments_per_ack: stack.segments_per_ack,
            delay_ns: ns(stack.ack_delay_s),
            uses_ack_clock: stack.ack_delay_beats,
            quick_acks: stack.quick_acks,
            compresses_acks: stack.acks_compressed,
            clock: Clock::new(stack, phase),
            beat_phase_ns: ns(beat_phase * stack.ack_delay_s),
            next: 0,
            out_of_order: Ranges::default(),
            recent_blocks: VecDeque::new(),
            is_new: true,
            acknowledged: 0,
            quick_left: 0,
            autotuning: (stack.quick_while_growing)
                .then(|| ReceiveWindowAutotuning::new(segment_bytes)),
            out_of_order_segments: 0,
            window_edge: Receiver::first_window(stack, segment_bytes).unwrap_or(0),
            arrived_ns: 0,
            duplicates_at: 0,
            duplicates: 0,
            compressed_acks: 0,
            unreported_blocks: 0,
            pending_dsack: None,
            congested: false,
            ce_packets: 0,
            ecn_feedback: stack.ecn_rules().feedback,
            echo_ns: 0,
            echo_odd_episode: false,
            odd_episode: false,
            due_ns: NEVER,
        }
    }

    /// Returns the receive window of the handshake, in segments of `segment_bytes`; `None` if it does not
    /// limit the other end. Windows in packets with SYN are below 64 KB because they are not scaled
    /// (RFC 7323, 2.2).
    pub fn first_window(stack: &Stack, segment_bytes: u32) -> Option<u32> {
        let window = (MAX_UNSCALED_WINDOW_BYTES / stack.data_bytes(segment_bytes)).max(1);
        stack.quick_while_growing.then_some(window)
    }

    /// Returns the next expected segment: all segments before it have arrived.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Sets the send time of the other end's first packet.
    pub fn set_echo(&mut self, sent_ns: u64) {
        self.echo_ns = sent_ns;
    }

    /// Returns the time at which a delayed acknowledgement is due.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Returns the timestamp echo for a packet of a handshake.
    pub fn echo(&self) -> Ack {
        Ack {
            echo_ns: Some(self.echo_ns),
            ..Ack::default()
        }
    }

    /// Returns the acknowledgement for a packet sent now, alone (`pure`) or with data, and cancels delayed
    /// ones.
    pub fn acknowledge(&mut self, pure: bool) -> Ack {
        self.due_ns = NEVER;
        self.compressed_acks = 0;
        self.unreported_blocks = 0;
        self.acknowledged = self.next;
        self.quick_left = self.quick_left.saturating_sub(1);
        Ack {
            cumulative: self.next,
            sacks: self.sacks(),
            duplicate: self.pending_dsack.take(),
            pure,
            congested: self.congested && self.ecn_feedback != EcnFeedback::Accurate,
            ce_counter: (self.ecn_feedback == EcnFeedback::Accurate)
                .then_some((self.ce_packets % CE_COUNTER_MODULUS) as u8),
            echo_ns: Some(self.echo_ns),
            echo_odd_episode: Some(self.echo_odd_episode),
            window: self.window(),
        }
    }

    /// Returns the receive window in segments behind those acknowledged, if it is limited. The right edge
    /// never moves back (RFC 9293, 3.8.6).
    fn window(&mut self) -> Option<u32> {
        let autotuning = self.autotuning.as_ref()?;
        self.window_edge = self
            .window_edge
            .max(self.next + autotuning.free_window(self.out_of_order_segments));
        Some(self.window_edge - self.next)
    }

    /// Returns the SACK blocks of the current state.
    fn sacks(&self) -> Sacks {
        let mut sacks = Sacks::default();
        for &segment in &self.recent_blocks {
            if let Some((first, end)) = self.out_of_order.range_containing(segment)
                && !sacks.blocks().contains(&(first, end))
            {
                sacks.push(first, end);
            }
        }
        sacks
    }

    /// Sets the other end's smoothed round-trip time, as carried by the next segment. The delay of
    /// acknowledgements is this value minus the delay of data one round trip ago. It is at least the
    /// minimum delay of data. (Linux measures the round trips of its receive window with echoed
    /// timestamps.)
    pub fn set_round_trip(&mut self, round_trip_ns: u64) {
        if let Some(autotuning) = &mut self.autotuning {
            autotuning.round_trip_ns = round_trip_ns;
        }
    }

    /// Sets the [episode](super::Sender::has_odd_episode) of the sender, as carried by the next segment.
    pub fn set_episode(&mut self, is_odd: bool) {
        self.odd_episode = is_odd;
    }

    /// Returns an acknowledgement that must leave before `segment` is received, if any.
    ///
    /// With exact ECN feedback, delayed acknowledgements leave first if `congested` differs from their
    /// packets (RFC 8257, 3.2), because one acknowledgement has one mark. A compressed acknowledgement
    /// leaves first if the segment begins a further SACK block that does not fit, as decided by `listed`
    /// (Linux: `tcp_sack_new_ofo_skb`).
    pub fn ack_before(
        &mut self,
        segment: u32,
        congested: bool,
        listed: impl FnOnce(FurtherBlock) -> bool,
    ) -> Option<Ack> {
        let waits = self.due_ns != NEVER;
        let is_exact = self.ecn_feedback == EcnFeedback::Exact;
        let is_other = is_exact && waits && congested != self.congested;
        let is_full = self.compressed_acks > 0
            && self.latest_block().is_some_and(|(first, end)| {
                !(first..=end).contains(&segment)
                    && !listed(FurtherBlock {
                        waiting: self.unreported_blocks,
                        latest_end: end.saturating_sub(self.next),
                        latest_segments: end - first,
                        first: segment.saturating_sub(self.next),
                    })
            });
        (is_other || is_full).then(|| self.acknowledge(true))
    }

    /// Returns the block that grew last.
    fn latest_block(&self) -> Option<(u32, u32)> {
        self.out_of_order
            .range_containing(*self.recent_blocks.front()?)
    }

    /// Receives a segment that was sent at `sent_ns`. `full` is true for a segment of full size,
    /// `congested` for a marked one. Returns whether it is new, and whether it is acknowledged at once. As
    /// in Linux, segments after a pause of more than `rto_ns` are acknowledged at once for a while.
    pub fn receive(
        &mut self,
        now_ns: u64,
        segment: u32,
        full: bool,
        sent_ns: u64,
        rto_ns: u64,
        congested: bool,
    ) -> (bool, bool) {
        // RFC 8257, 3.2: a change is reported at once.
        let changed = std::mem::replace(&mut self.congested, congested) != congested;
        self.ce_packets = self.ce_packets.wrapping_add(u32::from(congested));
        if segment < self.next || self.out_of_order.range_containing(segment).is_some() {
            self.pending_dsack = Some(segment);
            self.quick_left = self.quick_acks;
            return (false, true);
        }
        if self.is_new || now_ns - self.arrived_ns > rto_ns {
            self.quick_left = self.quick_acks;
        }
        (self.is_new, self.arrived_ns) = (false, now_ns);
        if segment != self.next {
            let extends = |(first, end)| (first..=end).contains(&segment);
            if self.unreported_blocks == 0 || !self.latest_block().is_some_and(extends) {
                self.unreported_blocks += 1;
            }
            self.out_of_order.add(segment, segment + 1, |_| ());
            self.out_of_order_segments += 1;
            if let Some(autotuning) = &mut self.autotuning {
                let last = self.out_of_order.end().unwrap_or(segment + 1);
                autotuning.on_out_of_order(last - self.next, self.out_of_order_segments);
            }
            self.move_block_to_front(segment);
            return (true, self.acks_out_of_order_now(now_ns) || changed);
        }
        (self.echo_ns, self.echo_odd_episode) = (sent_ns, self.odd_episode);
        let grows = (self.autotuning.as_mut())
            .is_some_and(|autotuning| autotuning.on_in_order(now_ns, sent_ns, segment));
        self.next += 1;
        let was_whole = self.out_of_order.is_empty();
        if !was_whole {
            if let Some((_, end)) = self.out_of_order.range_containing(self.next) {
                self.out_of_order_segments -= end - self.next;
                self.next = end;
            }
            self.out_of_order.remove_before(self.next);
            self.recent_blocks.retain(|&segment| segment >= self.next);
            return (true, true);
        }
        if self.quick_left > 0 || grows {
            return (true, true);
        }
        (true, self.acks_in_order_now(now_ns, full) || changed)
    }

    /// Returns true if enough segments have arrived in order for an acknowledgement; otherwise starts the
    /// delay.
    fn acks_in_order_now(&mut self, now_ns: u64, full: bool) -> bool {
        let waiting = self.next - self.acknowledged;
        // BSD and ns-2, whose delayed acknowledgements follow a free-running clock, do not count a last,
        // partial segment.
        let enough = waiting - u32::from(!full && self.uses_ack_clock) >= self.segments_per_ack;
        if !enough && self.due_ns == NEVER {
            self.due_ns = if self.uses_ack_clock && self.delay_ns > 0 {
                let beats = (now_ns + self.beat_phase_ns) / self.delay_ns;
                (beats + 1) * self.delay_ns - self.beat_phase_ns
            } else {
                self.clock.after(now_ns, self.delay_ns)
            };
        }
        enough
    }

    /// Moves the block of `segment` to the front: the latest block is reported first.
    fn move_block_to_front(&mut self, segment: u32) {
        let Some((first, end)) = self.out_of_order.range_containing(segment) else {
            return;
        };
        self.recent_blocks
            .retain(|other| !(first..end).contains(other));
        self.recent_blocks.push_front(segment);
        self.recent_blocks.truncate(MAX_SACK_BLOCKS + 1);
    }

    /// Returns true if a segment received out of order is acknowledged at once.
    fn acks_out_of_order_now(&mut self, now_ns: u64) -> bool {
        if !self.compresses_acks
            || self.quick_left > 0
            || self.compressed_acks >= MAX_COMPRESSED_ACKS
        {
            return true;
        }
        if self.duplicates_at != self.next {
            self.duplicates_at = self.next;
            self.duplicates = 0;
        }
        if self.duplicates < 3 {
            self.duplicates += 1;
            return true;
        }
        self.compressed_acks += 1;
        if self.due_ns == NEVER {
            let part_ns = (self.autotuning.as_ref())
                .and_then(ReceiveWindowAutotuning::shortest_round_trip_ns)
                .map_or(ACK_COMPRESSION_MAX_NS, |round_trip_ns| {
                    round_trip_ns / ACK_COMPRESSION_RTT_DIVISOR
                });
            self.due_ns = now_ns + part_ns.min(ACK_COMPRESSION_MAX_NS);
        }
        false
    }
}

/// The receive window autotuning of Linux (`tcp_rcv_space_adjust`, `tcp_grow_window`).
///
/// If more segments arrived in a round trip than in any before, the buffer grows to twice that number, and
/// further after a large increase. The offered window grows by two segments with every arriving segment,
/// which is acknowledged at once. Segments received out of order occupy buffer space, for which the buffer
/// grows, too (`tcp_rcvbuf_grow`, from Linux 6.18 on). The kernel's limit, `tcp_rmem`, is not modelled.
#[derive(Clone, Debug)]
struct ReceiveWindowAutotuning {
    /// The buffer size in segments.
    buffer_segments: u32,
    /// The offered window in segments.
    offered: u32,
    /// The number of further segments that are acknowledged at once because their arrival widens the
    /// offered window.
    quick_acks_left: u32,
    /// The maximum number of segments that arrived in a round trip.
    max_segments_per_rtt: u32,
    /// The start time of this round trip, and its first segment.
    since_ns: u64,
    from: u32,
    /// The round-trip time reported by the other end; 0 without one.
    round_trip_ns: u64,
    /// The delay of the first segment of this round trip.
    began_ns: u64,
    /// The minimum delay of a segment: the one-way delay without queueing.
    min_delay_ns: u64,
}

impl ReceiveWindowAutotuning {
    /// Returns the initial state, which expects ten segments per round trip.
    ///
    /// Linux's initial receive buffer of 128 KiB has space for 60 segments of 1500 B with the kernel's
    /// overhead, and for no more smaller ones. At first 48 of them are offered. After the first 16
    /// segments, 6 more are therefore acknowledged one by one (none with 1000 B; both observed with Linux
    /// 6.18). For larger segments the number of bytes is the same: 10 segments of 9000 B (observed, too).
    fn new(segment_bytes: u32) -> Self {
        let scaled = |segments: f64| {
            let larger = f64::from(segment_bytes) / ETHERNET_PAYLOAD_BYTES;
            (segments / larger.max(1.0)).round().max(1.0) as u32
        };
        let (window, offered) = (scaled(60.0), scaled(48.0));
        Self {
            buffer_segments: window,
            offered,
            quick_acks_left: 16 + (window - offered) / 2,
            max_segments_per_rtt: (MAX_UNSCALED_WINDOW_BYTES / segment_bytes.max(1)).clamp(1, 10),
            since_ns: 0,
            from: 0,
            round_trip_ns: 0,
            began_ns: 0,
            min_delay_ns: u64::MAX,
        }
    }
}

/// The payload of a packet of 1500 B.
const ETHERNET_PAYLOAD_BYTES: f64 = 1460.0;

impl ReceiveWindowAutotuning {
    /// Receives a segment in order that was sent at `sent_ns`. Returns true if it widens the offered
    /// window.
    #[inline]
    fn on_in_order(&mut self, now_ns: u64, sent_ns: u64, segment: u32) -> bool {
        let delay_ns = now_ns.saturating_sub(sent_ns);
        self.min_delay_ns = self.min_delay_ns.min(delay_ns);
        // The reported round-trip time belongs to segments of one round trip ago.
        let back_ns = self.round_trip_ns.saturating_sub(self.began_ns);
        if now_ns - self.since_ns >= delay_ns + back_ns.max(self.min_delay_ns) {
            self.adjust_window(segment - self.from);
            (self.since_ns, self.from, self.began_ns) = (now_ns, segment, delay_ns);
        }
        let grows = self.quick_acks_left > 0;
        self.quick_acks_left -= u32::from(grows);
        self.widen_window(0);
        grows
    }

    /// Returns the smaller of the reported round-trip time and the one without queues, if both were
    /// measured. Linux takes the smaller of two measurements of its own, one of them from the handshake.
    fn shortest_round_trip_ns(&self) -> Option<u64> {
        let is_known = self.round_trip_ns > 0 && self.min_delay_ns < u64::MAX;
        is_known.then(|| self.round_trip_ns.min(2 * self.min_delay_ns))
    }

    /// Receives a segment out of order. `buffered` segments are now out of order; the last is `span` segments
    /// after the first missing one.
    fn on_out_of_order(&mut self, span: u32, buffered: u32) {
        self.buffer_segments = self
            .buffer_segments
            .max(2 * self.max_segments_per_rtt + span);
        self.widen_window(buffered);
    }

    /// Widens the offered window by two segments, as far as the buffer allows.
    fn widen_window(&mut self, buffered: u32) {
        let free = self.buffer_segments.saturating_sub(buffered);
        self.offered = self.offered.max((self.offered + 2).min(free));
    }

    /// Returns the window from the first missing segment on, with `buffered` segments received out of order.
    fn free_window(&self, buffered: u32) -> u32 {
        self.offered
            .min(self.buffer_segments.saturating_sub(buffered))
    }

    fn adjust_window(&mut self, copied: u32) {
        if copied <= self.max_segments_per_rtt {
            return;
        }
        let window = 2 * u64::from(copied);
        let more = window * u64::from(copied - self.max_segments_per_rtt)
            / u64::from(self.max_segments_per_rtt);
        let window = u32::try_from(window + 2 * more).unwrap_or(u32::MAX);
        self.quick_acks_left += window.saturating_sub(self.buffer_segments).div_ceil(2);
        self.buffer_segments = self.buffer_segments.max(window);
        self.max_segments_per_rtt = copied;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> Receiver {
        let stack = Stack {
            acks_compressed: false,
            ..Stack::builtin("linux-6").unwrap()
        };
        Receiver::new(&stack, 1460, [0.0, 0.0])
    }

    /// Every second packet is acknowledged. Of eight packets, the fourth is marked while the third waits.
    /// The sender counts only that one as marked, not both packets of an acknowledgement.
    #[test]
    fn dctcp_feedback_is_exact_for_each_marked_packet() {
        let mut stack = Stack::builtin("linux-6").unwrap();
        stack.set_congestion(crate::CongestionControl::Dctcp);
        stack.quick_acks = 0;
        stack.quick_while_growing = false;
        let mut receiver = Receiver::new(&stack, 1460, [0.0, 0.0]);
        let (mut known, mut window) = (0, Vec::new());
        let mut hear = |ack: Ack| {
            window.push((ack.cumulative - known, ack.congested));
            known = ack.cumulative;
        };
        for segment in 0..8 {
            let congested = segment == 3;
            receiver
                .ack_before(segment, congested, |_| true)
                .map(&mut hear);
            let (_, at_once) = receiver.receive(0, segment, true, 0, 0, congested);
            at_once.then(|| hear(receiver.acknowledge(true)));
        }
        let plain = |pkts| (pkts, false);
        assert_eq!(window, [plain(2), plain(1), (1, true), plain(1), plain(2)]);
    }

    /// The window starts at 48 and grows by two with each segment in order, up to 60. The right edge stays
    /// while a segment is missing.
    #[test]
    fn receive_window_matches_linux() {
        let mut receiver = receiver();
        let mut edge = |segments: std::ops::Range<u32>| {
            for segment in segments {
                receiver.receive(0, segment, true, 0, 0, false);
            }
            let ack = receiver.acknowledge(true);
            (ack.cumulative, ack.cumulative + ack.window.unwrap())
        };
        assert_eq!(edge(0..1), (1, 1 + 50));
        assert_eq!(edge(1..5), (5, 5 + 58));
        assert_eq!(edge(5..9), (9, 9 + 60));
        // 9 is missing. Segments out of order occupy the buffer of 60, but the right edge does not move
        // back.
        assert_eq!(edge(10..40), (9, 9 + 60));
        assert_eq!(edge(40..69), (9, 9 + 60));
        // The buffer has grown to the span plus 20. The window grows again with segments in order.
        assert_eq!(edge(9..10), (69, 69 + 62));
    }

    /// Each round trip of 10 ms brings twice as many segments as the one before. The window fits them, and
    /// twice as many.
    #[test]
    fn receive_window_does_not_limit_slow_start() {
        let mut receiver = receiver();
        let (mut next, mut window) = (0, 10);
        for round in 1..12_u64 {
            let sent_ns = 10_000_000 * round;
            let mut room = 0;
            for segment in next..next + window {
                receiver.receive(sent_ns + 5_000_000, segment, true, sent_ns, u64::MAX, false);
                room = receiver.acknowledge(true).window.unwrap();
            }
            (next, window) = (next + window, 2 * window);
            assert!(room >= window, "round {round}: {room} of {window}");
        }
    }

    /// Data takes 20 ms and acknowledgements 500 ms because of queueing. A round trip therefore has 26
    /// segments, one each 20 ms, and not two.
    #[test]
    fn receive_window_accounts_for_delayed_acks() {
        let window = |round_trip_ms: u64| {
            let mut receiver = receiver();
            for segment in 0..400 {
                let sent_ns = 20_000_000 * u64::from(segment);
                receiver.set_round_trip(1_000_000 * round_trip_ms);
                receiver.receive(
                    sent_ns + 20_000_000,
                    segment,
                    true,
                    sent_ns,
                    u64::MAX,
                    false,
                );
            }
            receiver.acknowledge(true).window.unwrap()
        };
        // 60 are offered anyway. The window exceeds 2 x 26 because 26 is more than twice the ten expected.
        assert_eq!(window(40), 60);
        assert!((120..250).contains(&window(520)), "{}", window(520));
    }

    /// Without autotuning there is no limit. Legacy stacks have a fixed limit, which their driver enforces.
    #[test]
    fn other_receivers_announce_no_window() {
        let mut receiver = Receiver::new(&Stack::builtin("legacy").unwrap(), 1460, [0.0, 0.0]);
        receiver.receive(0, 0, true, 0, 0, false);
        assert_eq!(receiver.acknowledge(true).window, None);
    }

    /// Behind a hole, three segments are acknowledged at once. The next 44 acknowledgements wait for 1/20
    /// of a round trip, at most 1 ms; the one after them leaves at once.
    #[test]
    fn duplicate_acknowledgements_are_compressed_as_linux_does() {
        let waits = |round_trip_ms: u64, delay_ms: u64| {
            let mut receiver = Receiver::new(&Stack::builtin("linux-6").unwrap(), 1460, [0.0, 0.0]);
            receiver.quick_acks = 0;
            let mut arrives = |segment: u32| {
                receiver.set_round_trip(1_000_000 * round_trip_ms);
                let now_ns = 1_000_000 * delay_ms;
                let (_, at_once) = receiver.receive(now_ns, segment, true, 0, u64::MAX, false);
                let due_ns = receiver.due_ns();
                if at_once {
                    receiver.acknowledge(true);
                }
                (at_once, due_ns - now_ns)
            };
            arrives(0);
            assert!((2..5).all(|segment| arrives(segment).0));
            let (at_once, due_ns) = arrives(5);
            assert!(!at_once && (6..49).all(|segment| !arrives(segment).0));
            assert!(arrives(49).0 && !arrives(50).0);
            due_ns
        };
        assert_eq!(waits(0, 5), ACK_COMPRESSION_MAX_NS);
        assert_eq!(waits(100, 50), ACK_COMPRESSION_MAX_NS);
        assert_eq!(waits(10, 8), 500_000);
        assert_eq!(waits(10, 2), 200_000);
    }

    /// Segments 0, 2 to 5, 7 and 8 arrive; the first three behind the hole are acknowledged at once. An
    /// acknowledgement that lists two blocks leaves before a third block begins.
    #[test]
    fn every_sack_block_is_reported() {
        let mut receiver = Receiver::new(&Stack::builtin("linux-6").unwrap(), 1460, [0.0, 0.0]);
        receiver.quick_acks = 0;
        let mut said = Vec::new();
        for segment in [0, 2, 3, 4, 5, 7, 8, 10] {
            if let Some(first) = receiver.ack_before(segment, false, |it| it.waiting < 2) {
                said.push((segment, first.sacks.blocks().to_vec()));
            }
            if receiver.receive(0, segment, true, 0, u64::MAX, false).1 {
                receiver.acknowledge(true);
            }
        }
        assert_eq!(said, [(10, vec![(7, 9), (2, 6)])]);
    }

    /// Three blocks, the latest first; filling a hole merges two of them.
    #[test]
    fn blocks_are_reported_latest_first() {
        let mut receiver = receiver();
        let mut blocks = |arrives: &[u32]| {
            for &segment in arrives {
                receiver.receive(0, segment, true, 0, 0, false);
            }
            let ack = receiver.acknowledge(true);
            (
                ack.cumulative,
                ack.sacks.blocks().to_vec(),
                ack.duplicate.is_some(),
            )
        };
        assert_eq!(blocks(&[0, 2]), (1, vec![(2, 3)], false));
        assert_eq!(blocks(&[3, 5]), (1, vec![(5, 6), (2, 4)], false));
        assert_eq!(blocks(&[7, 9]), (1, vec![(9, 10), (7, 8), (5, 6)], false));
        assert_eq!(blocks(&[4]), (1, vec![(2, 6), (9, 10), (7, 8)], false));
        assert!(blocks(&[3]).2);
        assert_eq!(blocks(&[1]), (6, vec![(9, 10), (7, 8)], false));
        assert_eq!(blocks(&[6, 8]), (10, vec![], false));
    }
}
