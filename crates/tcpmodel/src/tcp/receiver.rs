//! The receiving half of an end: what has arrived, and when that is acknowledged.

use std::collections::VecDeque;

use netflow_units::ns;

use super::ranges::Ranges;
use super::{Ack, Clock, MOST_BLOCKS, NEVER, Sacks};
use crate::{CongestionControl, Stack};

/// The receiving half of an end of a connection: what has arrived, and what an acknowledgement says of it.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// So many full segments are acknowledged at once.
    every: u32,
    delay_ns: u64,
    /// Does the delay end at the next beat of a free-running clock?
    beats: bool,
    quick: u32,
    compressed: bool,
    clock: Clock,
    /// Where the free-running clock of delayed acknowledgements is at time 0.
    beat_phase_ns: u64,
    /// All segments before this one have arrived.
    next: u32,
    /// Segments that have arrived behind one that has not.
    beyond: Ranges,
    /// A segment of each block of those, the latest first.
    recent: VecDeque<u32>,
    /// Whether nothing has arrived yet.
    is_new: bool,
    /// The `next` that was acknowledged last.
    acknowledged: u32,
    quick_left: u32,
    growth: Option<Growth>,
    /// Segments that are kept until what is before them arrives.
    held: u32,
    /// It has offered room for all segments before this one.
    edge: u32,
    /// When something new arrived last.
    arrived_ns: u64,
    duplicates_at: u32,
    duplicates: u32,
    /// Duplicate acknowledgements that wait.
    compressing: u32,
    /// Blocks that are new, or have grown, since the last acknowledgement.
    fresh_blocks: usize,
    told_twice: bool,
    /// Whether the last packet had met congestion.
    congested: bool,
    /// Whether each packet's congestion is told of, and not only that there was some (RFC 8257, 3.2).
    exact: bool,
    echo_ns: u64,
    due_ns: u64,
}

/// A block that begins while an acknowledgement waits.
#[derive(Clone, Copy, Debug)]
pub struct FurtherBlock {
    /// Blocks that wait to be listed.
    pub waiting: usize,
    /// Where the latest of them ends, and where this one begins, behind the segments acknowledged cumulatively.
    pub latest_end: u32,
    /// The first segment of this one, from there on, too.
    pub first: u32,
}

/// Further duplicate acknowledgements wait for this part of a round trip, and this long at most
/// (`tcp_comp_sack_delay_ns` of Linux).
const COMPRESSED_PART: u64 = 20;
const COMPRESSED_NS: u64 = 1_000_000;
/// No more of them than these (`tcp_comp_sack_nr`).
const MOST_COMPRESSED: u32 = 44;

/// What a packet with SYN tells of at most.
const FIRST_WINDOW_BYTES: u32 = 65_535;

impl Receiver {
    /// Nothing has arrived of segments of so many bytes. `phases`, from 0 to 1, say where its clocks stand at time 0: that of
    /// timers, and that of delayed acknowledgements.
    pub fn new(stack: &Stack, segment_bytes: u32, phases: [f64; 2]) -> Self {
        let [phase, beat_phase] = phases;
        Self {
            every: stack.segments_per_ack,
            delay_ns: ns(stack.ack_delay_s),
            beats: stack.ack_delay_beats,
            quick: stack.quick_acks,
            compressed: stack.acks_compressed,
            clock: Clock::new(stack, phase),
            beat_phase_ns: ns(beat_phase * stack.ack_delay_s),
            next: 0,
            beyond: Ranges::default(),
            recent: VecDeque::new(),
            is_new: true,
            acknowledged: 0,
            quick_left: 0,
            growth: (stack.quick_while_growing).then(|| Growth::new(segment_bytes)),
            held: 0,
            edge: Receiver::first_window(stack, segment_bytes).unwrap_or(0),
            arrived_ns: 0,
            duplicates_at: 0,
            duplicates: 0,
            compressing: 0,
            fresh_blocks: 0,
            told_twice: false,
            congested: false,
            exact: stack.congestion == CongestionControl::Dctcp,
            echo_ns: 0,
            due_ns: NEVER,
        }
    }

    /// The receive window in segments of so many bytes that a handshake tells of, if it is one that holds the other end: packets with SYN
    /// tell of less than 64 KB (RFC 7323, 2.2).
    pub fn first_window(stack: &Stack, segment_bytes: u32) -> Option<u32> {
        let told = (FIRST_WINDOW_BYTES / stack.data_bytes(segment_bytes)).max(1);
        stack.quick_while_growing.then_some(told)
    }

    /// All segments before this one have arrived.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The other end's first packet was sent at `sent_ns`.
    pub fn set_echo(&mut self, sent_ns: u64) {
        self.echo_ns = sent_ns;
    }

    /// When a delayed acknowledgement is due.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// What a packet of a handshake says: when that was sent which it answers.
    pub fn echo(&self) -> Ack {
        Ack {
            echo_ns: Some(self.echo_ns),
            ..Ack::default()
        }
    }

    /// What an acknowledgement says that is sent now, alone or with data: nothing waits any more then.
    pub fn acknowledge(&mut self, pure: bool) -> Ack {
        self.due_ns = NEVER;
        self.compressing = 0;
        self.fresh_blocks = 0;
        self.acknowledged = self.next;
        self.quick_left = self.quick_left.saturating_sub(1);
        Ack {
            cumulative: self.next,
            sacks: self.sacks(),
            duplicate: std::mem::take(&mut self.told_twice),
            pure,
            congested: self.congested,
            echo_ns: Some(self.echo_ns),
            window: self.window(),
        }
    }

    /// How many segments behind those acknowledged it has room for, where that is limited. What has been offered once
    /// stays (RFC 9293, 3.8.6).
    fn window(&mut self) -> Option<u32> {
        let growth = self.growth.as_ref()?;
        self.edge = self.edge.max(self.next + growth.free(self.held));
        Some(self.edge - self.next)
    }

    /// What it would say of blocks.
    fn sacks(&self) -> Sacks {
        let mut sacks = Sacks::default();
        for &segment in &self.recent {
            if let Some((first, end)) = self.beyond.run_of(segment)
                && !sacks.blocks().contains(&(first, end))
            {
                sacks.push(first, end);
            }
        }
        sacks
    }

    /// The other end's smoothed round-trip time, as the segment that arrives next tells it. By how much that is more than
    /// data's delay was a round trip ago is how long acknowledgements take, but no less than the least delay of data.
    /// (Linux measures its round trips, in which the receive window grows, by timestamps that come back.)
    pub fn set_round_trip(&mut self, round_trip_ns: u64) {
        if let Some(growth) = &mut self.growth {
            growth.round_trip_ns = round_trip_ns;
        }
    }

    /// Before a packet arrives that `congested` says met congestion, or not: what is said first of those that
    /// wait to be acknowledged and did not, or did (RFC 8257, 3.2). Else it would be taken for true of them. Where one
    /// acknowledgement cannot list a further block, which is `listed`'s to decide, it leaves before (Linux:
    /// `tcp_sack_new_ofo_skb`).
    pub fn settle(
        &mut self,
        segment: u32,
        congested: bool,
        listed: impl FnOnce(FurtherBlock) -> bool,
    ) -> Option<Ack> {
        let waits = self.due_ns != NEVER;
        let is_other = self.exact && waits && congested != self.congested;
        let is_full = self.compressing > 0
            && self.latest_block().is_some_and(|(first, end)| {
                !(first..=end).contains(&segment)
                    && !listed(FurtherBlock {
                        waiting: self.fresh_blocks,
                        latest_end: end.saturating_sub(self.next),
                        first: segment.saturating_sub(self.next),
                    })
            });
        (is_other || is_full).then(|| self.acknowledge(true))
    }

    /// The block that grew last.
    fn latest_block(&self) -> Option<(u32, u32)> {
        self.beyond.run_of(*self.recent.front()?)
    }

    /// A segment arrives that was sent at `sent_ns`; `full` says that it is as large as segments are, and
    /// `congested` that it met congestion. Whether it is new, and whether it is acknowledged at once.
    /// After a pause of more than `rto_ns`, Linux does so again for a while.
    pub fn receive(
        &mut self,
        now_ns: u64,
        segment: u32,
        full: bool,
        sent_ns: u64,
        rto_ns: u64,
        congested: bool,
    ) -> (bool, bool) {
        // RFC 8257, 3.2: a change is told at once.
        let changed = std::mem::replace(&mut self.congested, congested) != congested;
        if segment < self.next || self.beyond.run_of(segment).is_some() {
            self.told_twice = true;
            self.quick_left = self.quick;
            return (false, true);
        }
        if self.is_new || now_ns - self.arrived_ns > rto_ns {
            self.quick_left = self.quick;
        }
        (self.is_new, self.arrived_ns) = (false, now_ns);
        if segment != self.next {
            let extends = |(first, end)| (first..=end).contains(&segment);
            if self.fresh_blocks == 0 || !self.latest_block().is_some_and(extends) {
                self.fresh_blocks += 1;
            }
            self.beyond.add(segment, segment + 1, |_| ());
            self.held += 1;
            if let Some(growth) = &mut self.growth {
                let last = self.beyond.end().unwrap_or(segment + 1);
                growth.keeps(last - self.next, self.held);
            }
            self.remember(segment);
            return (true, self.out_of_order(now_ns) || changed);
        }
        self.echo_ns = sent_ns;
        let grows =
            (self.growth.as_mut()).is_some_and(|growth| growth.arrives(now_ns, sent_ns, segment));
        self.next += 1;
        let was_whole = self.beyond.is_empty();
        if !was_whole {
            if let Some((_, end)) = self.beyond.run_of(self.next) {
                self.held -= end - self.next;
                self.next = end;
            }
            self.beyond.forget_before(self.next);
            self.recent.retain(|&segment| segment >= self.next);
            return (true, true);
        }
        if self.quick_left > 0 || grows {
            return (true, true);
        }
        (true, self.waits_no_longer(now_ns, full) || changed)
    }

    /// In the order of what arrived: whether enough has for an acknowledgement.
    fn waits_no_longer(&mut self, now_ns: u64, full: bool) -> bool {
        let waiting = self.next - self.acknowledged;
        // For BSD and ns-2, whose clocks beat, a last, partial segment does not count.
        let enough = waiting - u32::from(!full && self.beats) >= self.every;
        if !enough && self.due_ns == NEVER {
            self.due_ns = if self.beats && self.delay_ns > 0 {
                let beats = (now_ns + self.beat_phase_ns) / self.delay_ns;
                (beats + 1) * self.delay_ns - self.beat_phase_ns
            } else {
                self.clock.after(now_ns, self.delay_ns)
            };
        }
        enough
    }

    /// The latest block is told of first.
    fn remember(&mut self, segment: u32) {
        let Some((first, end)) = self.beyond.run_of(segment) else {
            return;
        };
        self.recent.retain(|other| !(first..end).contains(other));
        self.recent.push_front(segment);
        self.recent.truncate(MOST_BLOCKS + 1);
    }

    /// Something is missing before a segment that arrived.
    fn out_of_order(&mut self, now_ns: u64) -> bool {
        if !self.compressed || self.quick_left > 0 || self.compressing >= MOST_COMPRESSED {
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
        self.compressing += 1;
        if self.due_ns == NEVER {
            let part_ns = (self.growth.as_ref())
                .and_then(Growth::shortest_round_trip_ns)
                .map_or(COMPRESSED_NS, |round_trip_ns| {
                    round_trip_ns / COMPRESSED_PART
                });
            self.due_ns = now_ns + part_ns.min(COMPRESSED_NS);
        }
        false
    }
}

/// The receive window of Linux as it grows with what is read (`tcp_rcv_space_adjust`, `tcp_grow_window`):
/// whenever more arrived in a round trip than in any before, room for twice as much is
/// offered, and more if it was much more; by two segments with every segment that arrives, which is
/// acknowledged at once for it. Segments that are kept until what is before them arrives take room, for which the
/// buffer grows, too (`tcp_rcvbuf_grow`, from Linux 6.18 on). The kernel's limit, `tcp_rmem`, is left out.
#[derive(Clone, Debug)]
struct Growth {
    /// Segments that may be under way once all is offered.
    window: u32,
    /// Of these that are offered.
    offered: u32,
    /// Segments whose arrival is acknowledged at once, since it offers more.
    left: u32,
    /// Most segments that arrived in a round trip.
    most: u32,
    /// When this round trip began, and with which segment.
    since_ns: u64,
    from: u32,
    /// The round-trip time that the other end tells of; 0 without.
    round_trip_ns: u64,
    /// The delay of the segment that began this one.
    began_ns: u64,
    /// The least delay of a segment: the queue-free half of a round trip.
    least_ns: u64,
}

impl Growth {
    /// Ten segments are expected. Linux's first receive buffer of 128 KiB has room for 60 segments of 1500 B
    /// with what the kernel keeps beside each, and no more of smaller ones; of these 48 are offered at first. So the segments after the
    /// first 16 that are acknowledged one by one are 6 (none of 1000 B; both seen with Linux 6.18). Of larger ones it is as many as
    /// have the same bytes: 10 of 9000 B (seen, too).
    fn new(segment_bytes: u32) -> Self {
        let alike = |segments: f64| {
            let larger = f64::from(segment_bytes) / ETHERNET_BYTES;
            (segments / larger.max(1.0)).round().max(1.0) as u32
        };
        let (window, offered) = (alike(60.0), alike(48.0));
        Self {
            window,
            offered,
            left: 16 + (window - offered) / 2,
            most: (FIRST_WINDOW_BYTES / segment_bytes.max(1)).clamp(1, 10),
            since_ns: 0,
            from: 0,
            round_trip_ns: 0,
            began_ns: 0,
            least_ns: u64::MAX,
        }
    }
}

/// The payload of a packet of 1500 B.
const ETHERNET_BYTES: f64 = 1460.0;

impl Growth {
    /// A segment arrives in order that was sent at `sent_ns`: whether it makes the window grow.
    #[inline]
    fn arrives(&mut self, now_ns: u64, sent_ns: u64, segment: u32) -> bool {
        let delay_ns = now_ns.saturating_sub(sent_ns);
        self.least_ns = self.least_ns.min(delay_ns);
        // What is told now is of the segments that came a round trip ago.
        let back_ns = self.round_trip_ns.saturating_sub(self.began_ns);
        if now_ns - self.since_ns >= delay_ns + back_ns.max(self.least_ns) {
            self.adjust(segment - self.from);
            (self.since_ns, self.from, self.began_ns) = (now_ns, segment, delay_ns);
        }
        let grows = self.left > 0;
        self.left -= u32::from(grows);
        self.offer(0);
        grows
    }

    /// The round trip that the other end tells of, or one without queues where that is shorter, as far as both are known.
    /// (Linux takes the shorter of two of its own, one of which is that of the handshake.)
    fn shortest_round_trip_ns(&self) -> Option<u64> {
        let is_known = self.round_trip_ns > 0 && self.least_ns < u64::MAX;
        is_known.then(|| self.round_trip_ns.min(2 * self.least_ns))
    }

    /// A segment arrives out of order: with it so many are `held`, the last of them `span` behind what is missing.
    fn keeps(&mut self, span: u32, held: u32) {
        self.window = self.window.max(2 * self.most + span);
        self.offer(held);
    }

    /// Room for two segments more is offered, as far as there is any.
    fn offer(&mut self, held: u32) {
        let free = self.window.saturating_sub(held);
        self.offered = self.offered.max((self.offered + 2).min(free));
    }

    /// The segments from the missing one on that there is room for, with so many held behind it.
    fn free(&self, held: u32) -> u32 {
        self.offered.min(self.window.saturating_sub(held))
    }

    fn adjust(&mut self, copied: u32) {
        if copied <= self.most {
            return;
        }
        let window = 2 * u64::from(copied);
        let more = window * u64::from(copied - self.most) / u64::from(self.most);
        let window = u32::try_from(window + 2 * more).unwrap_or(u32::MAX);
        self.left += window.saturating_sub(self.window).div_ceil(2);
        self.window = self.window.max(window);
        self.most = copied;
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

    /// Every second packet is acknowledged; of eight the fourth met congestion while the third waited. What the
    /// other end takes for congested is that one, not the two of one acknowledgement.
    #[test]
    fn dctcp_is_told_of_each_congested_packet_and_no_other() {
        let mut stack = Stack::builtin("linux-6").unwrap();
        stack.set_congestion(CongestionControl::Dctcp);
        stack.quick_acks = 0;
        stack.quick_while_growing = false;
        let mut receiver = Receiver::new(&stack, 1460, [0.0, 0.0]);
        let (mut known, mut told) = (0, Vec::new());
        let mut hear = |ack: Ack| {
            told.push((ack.cumulative - known, ack.congested));
            known = ack.cumulative;
        };
        for segment in 0..8 {
            let congested = segment == 3;
            receiver.settle(segment, congested, |_| true).map(&mut hear);
            let (_, at_once) = receiver.receive(0, segment, true, 0, 0, congested);
            at_once.then(|| hear(receiver.acknowledge(true)));
        }
        let plain = |pkts| (pkts, false);
        assert_eq!(told, [plain(2), plain(1), (1, true), plain(1), plain(2)]);
    }

    /// Room for 48 is offered, and for two more with each segment that arrives in order, up to 60. What is offered stays
    /// while one is missing.
    #[test]
    fn the_receive_window_is_linuxs() {
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
        // 9 is missing. Those kept take room of 60, but nothing is taken back.
        assert_eq!(edge(10..40), (9, 9 + 60));
        assert_eq!(edge(40..69), (9, 9 + 60));
        // The buffer has grown, for what is kept and 20 more; what is offered grows again with what comes in order.
        assert_eq!(edge(9..10), (69, 69 + 62));
    }

    /// Round trips of 10 ms that bring twice as much each time: room for that, and for twice as much again.
    #[test]
    fn the_receive_window_does_not_hold_slow_start() {
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

    /// Data takes 20 ms, and what answers it half a second, since it waits behind others: so a round trip brings 26 segments
    /// of one each 20 ms, not two.
    #[test]
    fn the_receive_window_knows_that_acknowledgements_wait() {
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
        // 60 are offered anyway; more than 2 x 26, as the first that brings 26 is more than twice the ten expected.
        assert_eq!(window(40), 60);
        assert!((120..250).contains(&window(520)), "{}", window(520));
    }

    /// Without growth there is no limit; legacy stacks have a fixed one, which their driver knows.
    #[test]
    fn other_receivers_tell_of_no_window() {
        let mut receiver = Receiver::new(&Stack::builtin("legacy").unwrap(), 1460, [0.0, 0.0]);
        receiver.receive(0, 0, true, 0, 0, false);
        assert_eq!(receiver.acknowledge(true).window, None);
    }

    /// Behind a hole three are acknowledged at once, then 44 wait for a twentieth of a round trip, or for a millisecond where
    /// that is shorter; the next is acknowledged at once.
    #[test]
    fn duplicate_acknowledgements_are_compressed_as_linux_does() {
        let waits = |round_trip_ms: u64, delay_ms: u64| {
            let mut receiver = Receiver::new(&Stack::builtin("linux-6").unwrap(), 1460, [0.0, 0.0]);
            receiver.quick = 0;
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
        assert_eq!(waits(0, 5), COMPRESSED_NS);
        assert_eq!(waits(100, 50), COMPRESSED_NS);
        assert_eq!(waits(10, 8), 500_000);
        assert_eq!(waits(10, 2), 200_000);
    }

    /// Segments 0, 2 to 5, 7 and 8 come; the first three behind the hole are acknowledged at once. An acknowledgement that lists two
    /// blocks leaves before a third begins.
    #[test]
    fn no_block_is_forgotten() {
        let mut receiver = Receiver::new(&Stack::builtin("linux-6").unwrap(), 1460, [0.0, 0.0]);
        receiver.quick = 0;
        let mut said = Vec::new();
        for segment in [0, 2, 3, 4, 5, 7, 8, 10] {
            if let Some(first) = receiver.settle(segment, false, |it| it.waiting < 2) {
                said.push((segment, first.sacks.blocks().to_vec()));
            }
            if receiver.receive(0, segment, true, 0, u64::MAX, false).1 {
                receiver.acknowledge(true);
            }
        }
        assert_eq!(said, [(10, vec![(7, 9), (2, 6)])]);
    }

    /// Three blocks, the latest first; a filled hole makes two of them one.
    #[test]
    fn blocks_are_told_of_as_they_came() {
        let mut receiver = receiver();
        let mut blocks = |arrives: &[u32]| {
            for &segment in arrives {
                receiver.receive(0, segment, true, 0, 0, false);
            }
            let ack = receiver.acknowledge(true);
            (ack.cumulative, ack.sacks.blocks().to_vec(), ack.duplicate)
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
