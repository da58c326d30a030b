//! One direction of a link as a function of time, without clocks or devices. A packet with a size and an
//! arrival time is delivered at a later time or dropped.

use netflow_queues::{Buffer, DropTail, LossCause, Losses};
use netflow_units::Rate;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::link_options::DirectionOptions;

/// Reason for dropping a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Full buffer.
    Buffer,
    /// Independent random loss.
    Loss,
    /// Loss in bursts: by the Gilbert–Elliott chain or in outages.
    Gilbert,
    /// Bit error.
    BitErrors,
    /// Limit of the emulator on bytes in flight.
    Overflow,
}

impl From<LossCause> for DropReason {
    fn from(cause: LossCause) -> DropReason {
        match cause {
            LossCause::Random => DropReason::Loss,
            LossCause::Gilbert | LossCause::Outages => DropReason::Gilbert,
            LossCause::BitErrors => DropReason::BitErrors,
        }
    }
}

/// Outcome for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketOutcome {
    /// Delivery time, in nanoseconds.
    Delivered(u64),
    /// Drop, with its reason.
    Dropped(DropReason),
}

/// A queue, a transmitter, random link loss and a propagation delay, in this order. A packet lost on the
/// link still used its buffer space and transmission time. Packets stay in order.
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

/// Nanoseconds per second.
const NS: f64 = 1e9;

impl Channel {
    /// Creates a channel. `direction` selects the random streams, because both directions of a link have
    /// the same seed.
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

    /// Returns the sum of all sojourn times in the queue, in nanoseconds. Divided by the elapsed time, it
    /// is the mean queue length (Little's law).
    pub fn queued_ns(&self) -> u64 {
        self.queued_ns
    }

    /// Processes the arrival of a packet of `bytes` at `now_ns`. An arrival time before the latest counts
    /// as the latest.
    pub fn offer(&mut self, now_ns: u64, bytes: usize) -> PacketOutcome {
        self.last_ns = self.last_ns.max(now_ns);
        let lost = self.losses.next(bytes as f64, self.last_ns);
        let sent_ns = match self.rate {
            None => self.last_ns,
            Some(rate) => match self.queue(rate, bytes) {
                Some(sent_ns) => {
                    self.queued_ns += sent_ns.saturating_sub(self.last_ns);
                    sent_ns
                }
                None => return PacketOutcome::Dropped(DropReason::Buffer),
            },
        };
        match lost {
            Some(cause) => PacketOutcome::Dropped(cause.into()),
            None => PacketOutcome::Delivered(sent_ns.saturating_add(self.delay_ns)),
        }
    }

    /// Returns the departure time of the packet; `None` if the buffer is full.
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
