//! Packet-level simulation of networks: conservative parallel discrete-event simulation.
//!
//! - `sync` advances links (logical processes) in simulated time; its head page has the algorithm.
//! - `parallel` runs partitions of the network on several threads.
//! - `link` has queues, queue disciplines, class schedulers, transmission and changes of links.
//! - `endpoint` has senders and receivers: TCP stacks, ns-2 agents, TFRC, fixed-rate sources.
//! - `sessions` has the users of workloads and their transfers.
//! - `topology` has the compiled network: hops, wires and endpoints.
//! - `tie_break` has the order of simultaneous events.
//! - `stepper` is the interface in seconds: [`Packets`].
//!
//! Times are integers in nanoseconds. The result is that of an event-driven simulation, bit for bit, for any
//! number of threads. The test module `reference` is a plain event-driven simulator with the same results.

mod endpoint;
mod engine;
mod link;
mod parallel;
#[cfg(test)]
mod reference;
mod sessions;
mod stepper;
mod sync;
mod tie_break;
mod topology;

pub use endpoint::delay_histograms::Delays;
use netflow_network::hash::fnv_hash;
use netflow_queues::LossCause;
use netflow_units::ns;
use rand_pcg::Pcg32;
pub use stepper::{ACK_PRECEDENCES, Packets, PeriodStart};

/// Purpose of a random-number stream. Each purpose has one stream for each link, transfer or aggregate.
#[derive(Clone, Copy)]
enum Purpose {
    Queue,
    Sender,
    Receiver,
    Application,
    Edge,
    Loss(LossCause),
    Delay,
}

impl Purpose {
    /// Returns the number of the purpose. It never changes, because random numbers depend on it.
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
            Purpose::Delay => 9,
            Purpose::Loss(LossCause::Outages) => 10,
        }
    }
}

/// Returns the random-number stream of an item. `number` is a hash of the item's name ([`tie_break`]).
fn random(seed: u64, purpose: Purpose, number: u64) -> Pcg32 {
    Pcg32::new(seed, fnv_hash((purpose.number(), number)))
}
