//! The receiving half of an end: what has arrived, and when that is acknowledged.

use super::clock::Clock;
use crate::Stack;

/// The receiving half of an end.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// So many full segments are acknowledged at once.
    every: u32,
    delay_s: f64,
    /// Does the delay end at the next beat of a free-running clock?
    beats: bool,
    quick: u32,
    compressed: bool,
    clock: Clock,
    /// Where the free-running clock of delayed acknowledgements is at time 0, in seconds.
    beat_phase_s: f64,
    /// For each segment up to the last one that arrived, how many different ones had arrived with it;
    /// 0 if it has not.
    arrived: Vec<u32>,
    arrivals: u32,
    next: u32,
    /// The `next` that was acknowledged last.
    acknowledged: u32,
    quick_left: u32,
    /// When something new arrived last, in seconds.
    arrived_s: f64,
    duplicates_at: u32,
    duplicates: u32,
    told_twice: bool,
    echo_s: f64,
    due_s: f64,
}

/// Further duplicate acknowledgements wait this long at most, in seconds (Linux).
const COMPRESSED_S: f64 = 0.001;

impl Receiver {
    /// Nothing has arrived; `beat_phase` (from 0 to 1) is where the beats of delayed acknowledgements
    /// are.
    pub(super) fn new(stack: &Stack, clock: Clock, beat_phase: f64) -> Self {
        Self {
            every: stack.segments_per_ack,
            delay_s: stack.ack_delay_s,
            beats: stack.ack_delay_beats,
            quick: stack.quick_acks,
            compressed: stack.acks_compressed,
            clock,
            beat_phase_s: beat_phase * stack.ack_delay_s,
            arrived: Vec::new(),
            arrivals: 0,
            next: 0,
            acknowledged: 0,
            quick_left: 0,
            arrived_s: 0.0,
            duplicates_at: 0,
            duplicates: 0,
            told_twice: false,
            echo_s: 0.0,
            due_s: f64::INFINITY,
        }
    }

    /// All segments before this one have arrived.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// How many different segments have arrived.
    pub(super) fn arrivals(&self) -> u32 {
        self.arrivals
    }

    /// For each segment, how many different ones had arrived with it; 0 if it has not.
    pub(super) fn arrived(&self) -> &[u32] {
        &self.arrived
    }

    /// When the packet was sent that moved [`next`](Self::next), in seconds.
    pub(super) fn echo_s(&self) -> f64 {
        self.echo_s
    }

    /// The other end's first packet was sent at `sent_s`.
    pub(super) fn set_echo(&mut self, sent_s: f64) {
        self.echo_s = sent_s;
    }

    /// When a delayed acknowledgement is due, in seconds.
    pub(super) fn due_s(&self) -> f64 {
        self.due_s
    }

    /// A packet carries [`next`](Self::next). Does it tell of a segment that came twice?
    pub(super) fn told(&mut self) -> bool {
        self.due_s = f64::INFINITY;
        self.acknowledged = self.next;
        self.quick_left = self.quick_left.saturating_sub(1);
        std::mem::take(&mut self.told_twice)
    }

    /// A segment arrives that was sent at `sent_s`. Is it acknowledged at once? After a pause of
    /// more than `rto_s`, Linux does so again for a while.
    pub(super) fn receive(
        &mut self,
        now_s: f64,
        segment: u32,
        full: bool,
        sent_s: f64,
        rto_s: f64,
    ) -> bool {
        let i = segment as usize;
        if i >= self.arrived.len() {
            self.arrived.resize(i + 1, 0);
        }
        let Some(place) = self.arrived.get_mut(i) else {
            return false;
        };
        if *place != 0 {
            self.told_twice = true;
            self.quick_left = self.quick;
            return true;
        }
        if self.arrivals == 0 || now_s - self.arrived_s > rto_s {
            self.quick_left = self.quick;
        }
        self.arrived_s = now_s;
        let was_whole = self.arrivals == self.next;
        self.arrivals += 1;
        *place = self.arrivals;
        if segment != self.next {
            return self.out_of_order(now_s);
        }
        self.echo_s = sent_s;
        while self
            .arrived
            .get(self.next as usize)
            .is_some_and(|&place| place != 0)
        {
            self.next += 1;
        }
        if !was_whole || self.quick_left > 0 {
            return true;
        }
        let waiting = self.next - self.acknowledged;
        // For BSD and ns-2, whose clocks beat, a last, partial segment does not count.
        let enough = waiting - u32::from(!full && self.beats) >= self.every;
        if !enough && self.due_s == f64::INFINITY {
            self.due_s = if self.beats && self.delay_s > 0.0 {
                let delay_s = self.delay_s;
                (((now_s + self.beat_phase_s) / delay_s).floor() + 1.0) * delay_s
                    - self.beat_phase_s
            } else {
                self.clock.after(now_s, self.delay_s)
            };
        }
        enough
    }

    /// Something is missing before a segment that arrived.
    fn out_of_order(&mut self, now_s: f64) -> bool {
        if !self.compressed || self.quick_left > 0 {
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
        if self.due_s == f64::INFINITY {
            self.due_s = now_s + COMPRESSED_S;
        }
        false
    }
}
