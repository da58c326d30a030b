//! One direction of a link, without clocks or devices: a packet of some size comes in at a time,
//! and is delivered at a later one or dropped.

use netflow_queues::{Buffer, DropTail, LossCause, Losses};
use netflow_units::Rate;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::options::DirectionOptions;

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The buffer was full.
    Buffer,
    /// Lost by itself.
    Loss,
    /// Lost by the chain of bursts.
    Gilbert,
    /// It had a bit error.
    BitErrors,
    /// More was in flight than the emulator keeps.
    Overflow,
}

impl From<LossCause> for DropReason {
    fn from(cause: LossCause) -> DropReason {
        match cause {
            LossCause::Random => DropReason::Loss,
            LossCause::Gilbert => DropReason::Gilbert,
            LossCause::BitErrors => DropReason::BitErrors,
        }
    }
}

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
    buffer: Buffer,
    losses: Losses<ChaCha8Rng>,
    link: DropTail<f64>,
    last_ns: u64,
    queued_ns: u64,
}

/// Times are nanoseconds.
const NS: f64 = 1e9;

impl Channel {
    /// `direction` tells apart the two directions of one link, which have the same seed.
    pub fn new(options: &DirectionOptions, seed: u64, direction: u64) -> Channel {
        Channel {
            delay_ns: (options.delay.get() * NS).round() as u64,
            rate: options.rate,
            buffer: options.buffer.into(),
            losses: Losses::new(&options.loss, |cause| {
                let mut stream = ChaCha8Rng::seed_from_u64(seed);
                stream.set_stream(4 * direction + cause as u64);
                stream
            }),
            link: DropTail::default(),
            last_ns: 0,
            queued_ns: 0,
        }
    }

    /// Nanoseconds that all packets together have waited for the transmitter and been sent; over a time,
    /// the mean number of packets in the queue (Little's law).
    pub fn queued_ns(&self) -> u64 {
        self.queued_ns
    }

    /// A packet of `bytes` comes in at `now_ns`. Times must not go back; one that does counts as the
    /// latest before.
    pub fn offer(&mut self, now_ns: u64, bytes: usize) -> Fate {
        self.last_ns = self.last_ns.max(now_ns);
        let lost = self.losses.next(bytes as f64);
        let sent_ns = match self.rate {
            None => self.last_ns,
            Some(rate) => match self.queue(rate, bytes) {
                Some(sent_ns) => {
                    self.queued_ns += sent_ns.saturating_sub(self.last_ns);
                    sent_ns
                }
                None => return Fate::Dropped(DropReason::Buffer),
            },
        };
        match lost {
            Some(cause) => Fate::Dropped(cause.into()),
            None => Fate::Delivered(sent_ns.saturating_add(self.delay_ns)),
        }
    }

    /// When the packet will have been sent; `None` if there is no room for it.
    fn queue(&mut self, rate: Rate, bytes: usize) -> Option<u64> {
        let takes_ns = match rate {
            Rate::BitsPerSecond(rate) => 8.0 * bytes as f64 * NS / rate.get(),
            Rate::PacketsPerSecond(rate) => NS / rate.get(),
        };
        let now_ns = self.last_ns as f64;
        let sent_ns = self
            .link
            .arrive(now_ns, takes_ns, bytes as u32, self.buffer);
        sent_ns.map(|sent_ns| sent_ns.round() as u64)
    }
}
