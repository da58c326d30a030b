//! A network as packets and congestion windows: every packet is followed, in batches rather than one by one.
//!
//! Every link goes on as far as its inputs allow: what leaves a link arrives elsewhere no earlier than its
//! delay later, so each goes through all that arrives at it until then, in order, at once. Where delays
//! are too short for that, moment follows moment. The result is that of an event-driven simulation, and
//! times are whole nanoseconds.

mod advance;
mod batch;
mod choice;
mod delays;
mod divide;
mod edge;
mod engine;
mod equation;
mod events;
mod generator;
mod managed;
mod meeting;
mod moments;
mod numbers;
mod order;
mod parts;
#[cfg(test)]
mod plain;
mod plan;
mod queue;
mod receiving;
mod rounds;
mod schedule;
mod serve;
mod sharing;
mod stack;
mod stepper;
mod told;
mod transfer;
mod users;
mod visits;
mod wire;

pub use delays::Delays;
use netflow_network::hash::hash_of;
use netflow_queues::LossCause;
use netflow_units::ns;
use rand_pcg::Pcg32;
pub use stepper::{OF_ACKS, Packets, Start};

/// The streams of random numbers: one for each purpose and place.
#[derive(Clone, Copy)]
enum Purpose {
    Queue,
    Sender,
    Receiver,
    Application,
    Edge,
    Loss(LossCause),
}

impl Purpose {
    /// Which stream it is: a number for good, since random numbers follow from it.
    fn number(self) -> u64 {
        match self {
            Purpose::Queue => 1,
            Purpose::Sender => 2,
            Purpose::Application => 3,
            Purpose::Edge => 4,
            Purpose::Loss(LossCause::Random) => 5,
            Purpose::Loss(LossCause::Gilbert) => 6,
            Purpose::Loss(LossCause::BitErrors) => 7,
            Purpose::Receiver => 8,
        }
    }
}

/// The stream of something with this number, which follows from its name ([`numbers`]).
fn random(seed: u64, purpose: Purpose, number: u64) -> Pcg32 {
    Pcg32::new(seed, hash_of((purpose.number(), number)))
}
