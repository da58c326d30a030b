//! The receiver of ns-2: cumulative acknowledgements, optionally delayed.

use super::super::NEVER;

/// The delay of ns-2's delayed acknowledgements.
const DELAY_NS: u64 = 100_000_000;

/// A receiver of packets numbered from 0.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next expected packet.
    next: i32,
    /// The highest packet received.
    highest: i32,
    /// A ring bitmap of packets received out of order.
    received_bits: Vec<u64>,
    delayed: bool,
    /// The time at which a delayed acknowledgement is due.
    pub due_ns: u64,
}

impl Receiver {
    /// Returns a receiver with space for `window` packets out of order.
    pub fn new(window: f64, delayed: bool) -> Receiver {
        let words = (2.0 * window).clamp(64.0, 2f64.powi(26)) as usize / 64 + 1;
        Receiver {
            next: 0,
            highest: -1,
            received_bits: vec![0; words.next_power_of_two()],
            delayed,
            due_ns: NEVER,
        }
    }

    /// Resets the state; `next` is the next expected packet.
    pub fn restart(&mut self, next: i32) {
        (self.next, self.highest, self.due_ns) = (next, next - 1, NEVER);
        self.received_bits.fill(0);
    }

    /// Returns the last packet in order: the number in an acknowledgement.
    #[inline]
    pub fn in_order(&self) -> i32 {
        self.next - 1
    }

    /// Receives a packet. Returns whether it is new, and whether it is acknowledged at once.
    #[inline]
    pub fn receive(&mut self, now_ns: u64, seq: i32) -> (bool, bool) {
        let new = self.mark_received(seq);
        if !self.delayed {
            return (new, true);
        }
        let waiting = self.due_ns != NEVER;
        if !waiting && seq == self.in_order() && seq >= self.highest && seq != 0 {
            self.due_ns = now_ns + DELAY_NS;
            return (new, false);
        }
        self.due_ns = NEVER;
        (new, true)
    }

    #[inline]
    fn mark_received(&mut self, seq: i32) -> bool {
        if seq == self.next && self.highest < self.next {
            self.next += 1;
            self.highest = seq;
            return true;
        }
        if seq < self.next {
            return false;
        }
        let (word, bit) = self.bit(seq);
        let new = self.received_bits[word] & bit == 0;
        self.received_bits[word] |= bit;
        self.highest = self.highest.max(seq);
        loop {
            let (word, bit) = self.bit(self.next);
            if self.received_bits[word] & bit == 0 {
                return new;
            }
            self.received_bits[word] &= !bit;
            self.next += 1;
        }
    }

    fn bit(&self, seq: i32) -> (usize, u64) {
        let place = seq as usize & (64 * self.received_bits.len() - 1);
        (place >> 6, 1 << (place & 63))
    }
}
