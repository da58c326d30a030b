//! One direction of a link, without clocks or devices: a packet of some size comes in at a time,
//! and is delivered at a later one or dropped.

use std::collections::VecDeque;

use netflow_units::{Rate, Size};

use crate::loss::{DropReason, Losses};
use crate::options::DirectionOptions;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It comes out at this time in nanoseconds.
    Delivered(u64),
    /// It never does.
    Dropped(DropReason),
}

/// A queue, a transmitter, losses on the way, and a delay, in this order: what is lost on the way
/// took its room in the queue and its time on the link. Packets come out in the order in which they
/// went in.
#[derive(Debug)]
pub struct Channel {
    delay_ns: u64,
    rate: Option<Rate>,
    buffer: Size,
    losses: Losses,
    /// When the last packet in the queue will have been sent, in nanoseconds.
    free_ns: f64,
    /// When each packet in the queue will have been sent, and its size in bytes.
    queue: VecDeque<(f64, usize)>,
    queue_bytes: usize,
    last_ns: u64,
}

/// Times are nanoseconds.
const NS: f64 = 1e9;

impl Channel {
    /// `direction` tells apart the two directions of one link, which have the same seed.
    pub fn new(options: &DirectionOptions, seed: u64, direction: u64) -> Channel {
        Channel {
            delay_ns: (options.delay.get() * NS).round() as u64,
            rate: options.rate,
            buffer: options.buffer,
            losses: Losses::new(options, seed, direction),
            free_ns: 0.0,
            queue: VecDeque::new(),
            queue_bytes: 0,
            last_ns: 0,
        }
    }

    /// A packet of `bytes` comes in at `now_ns`. Times must not go back; one that does counts as the
    /// latest before.
    pub fn offer(&mut self, now_ns: u64, bytes: usize) -> Fate {
        self.last_ns = self.last_ns.max(now_ns);
        let lost = self.losses.next(bytes);
        let sent_ns = match self.rate {
            None => self.last_ns,
            Some(rate) => match self.queue(rate, bytes) {
                Some(sent_ns) => sent_ns,
                None => return Fate::Dropped(DropReason::Buffer),
            },
        };
        match lost {
            Some(drop) => Fate::Dropped(drop),
            None => Fate::Delivered(sent_ns.saturating_add(self.delay_ns)),
        }
    }

    /// When the packet will have been sent; `None` if there is no room for it.
    fn queue(&mut self, rate: Rate, bytes: usize) -> Option<u64> {
        let now_ns = self.last_ns as f64;
        while let Some(&(sent_ns, bytes)) = self.queue.front()
            && sent_ns <= now_ns
        {
            self.queue.pop_front();
            self.queue_bytes -= bytes;
        }
        let fits = match self.buffer {
            Size::Packets(room) => (self.queue.len() + 1) as f64 <= room.get(),
            Size::Bytes(room) => (self.queue_bytes + bytes) as f64 <= room.get(),
        };
        if !fits {
            return None;
        }
        let takes_ns = match rate {
            Rate::BitsPerSecond(rate) => 8.0 * bytes as f64 * NS / rate.get(),
            Rate::PacketsPerSecond(rate) => NS / rate.get(),
        };
        self.free_ns = self.free_ns.max(now_ns) + takes_ns;
        self.queue.push_back((self.free_ns, bytes));
        self.queue_bytes += bytes;
        Some(self.free_ns.round() as u64)
    }
}
