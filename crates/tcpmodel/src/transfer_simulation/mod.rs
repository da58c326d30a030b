//! Simulation of transfers of real stacks, packet by packet.
//!
//! [\[Short\]](crate) and the models with which it is compared add mean values of timeouts and rounds. A
//! real transfer takes whole round trips. One lost packet costs a round trip or a timeout, depending on the
//! packet. [`TransferSimulation`] simulates a transfer repeatedly, with the rules of a [`Stack`] at both ends and
//! independent losses. It returns the whole distribution.
//!
//! ```no_run
//! use netflow_tcpmodel::{Stack, transfer_simulation::{Options, Transfer, TransferSimulation}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let stack: Stack = todo!();
//! let transfer = Transfer {
//!     loss_forward: 0.05,
//!     loss_back: 0.05,
//!     ..Transfer::push(10_240, 512, 0.05)
//! };
//! let latency = TransferSimulation { stack, transfer }.solve(&Options::default())?;
//! println!("mean {} s, median {} s", latency.mean_s(), latency.quantile(0.5));
//! # Ok(())
//! # }
//! ```
//!
//! [`SessionRuns`] simulates sessions of users, each over one persistent connection.

mod check;
mod configuration;
mod connection;
mod connection_end;
mod distribution;
mod loss_model;
mod path;
mod send_queue;
mod session_run;
#[cfg(test)]
mod tests;
mod trial;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use configuration::Configuration;
use loss_model::IndependentLosses;
use trial::TransferResult;

pub use connection::{HEADER_BYTES, segment_bytes};
pub use distribution::Distribution;
pub use session_run::{Direction, Path, SessionResults, SessionRuns};

use crate::rto::NORMAL_QUANTILE_975;
use crate::{Error, Stack};

/// A transfer over a path, to be simulated repeatedly.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The size of the transfer in bytes of payload; at least 1.
    pub bytes: u64,
    /// The maximum payload of a packet in bytes; at least 1.
    pub mss_bytes: u32,
    /// The propagation delay in each direction, in seconds; at least 0.
    pub delay_s: f64,
    /// The loss probability of packets in the direction of the data, in [0, 1).
    pub loss_forward: f64,
    /// The loss probability of packets in the direction opposite to the data, in [0, 1).
    pub loss_back: f64,
    /// The bandwidth of the path in each direction, in bit/s; `None` without transmission times.
    pub bandwidth_bps: Option<f64>,
    /// The end that sends the data.
    pub exchange: Exchange,
    /// The end of the transfer.
    pub until: CompletionCriterion,
}

impl Transfer {
    /// Returns a transfer of `bytes` from the end that opens the connection, without loss and transmission
    /// times. It ends when all bytes have arrived.
    pub fn push(bytes: u64, mss_bytes: u32, delay_s: f64) -> Self {
        Self {
            bytes,
            mss_bytes,
            delay_s,
            loss_forward: 0.0,
            loss_back: 0.0,
            bandwidth_bps: None,
            exchange: Exchange::Push,
            until: CompletionCriterion::Delivered,
        }
    }

    /// Returns a transfer of `bytes` in reply to a request of `request_bytes`; otherwise as
    /// [`push`](Self::push).
    pub fn fetch(request_bytes: u64, bytes: u64, mss_bytes: u32, delay_s: f64) -> Self {
        Self {
            exchange: Exchange::Fetch { request_bytes },
            ..Self::push(bytes, mss_bytes, delay_s)
        }
    }
}

/// The end that sends the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The end that opens the connection sends the data.
    Push,
    /// The end that opens the connection sends a request; the other end replies with the data.
    Fetch {
        /// The size of the request, in bytes of payload; at least 1.
        request_bytes: u64,
    },
}

/// The event that ends a transfer. A transfer begins when the first SYN is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionCriterion {
    /// All of the data has arrived.
    Delivered,
    /// The sender of the data has received the acknowledgement of all of it.
    Acknowledged,
}

/// The parameters of the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The maximum number of transfers; at least 2.
    pub trials: u64,
    /// The relative half-width of the 95 % confidence interval of the mean at which simulation stops;
    /// `None` for all trials.
    pub precision: Option<f64>,
    /// The random seed: the same seed gives the same transfers.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trials: 100_000,
            precision: None,
            seed: 1,
        }
    }
}

/// A transfer by a stack, which both ends use.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferSimulation {
    /// The stack.
    pub stack: Stack,
    /// The transfer and its path.
    pub transfer: Transfer,
}

impl TransferSimulation {
    /// Simulates the transfer `options.trials` times, or until the mean is precise enough.
    ///
    /// # Errors
    ///
    /// A number of the transfer, the stack or the options is outside its allowed range.
    pub fn solve(&self, options: &Options) -> Result<Distribution, Error> {
        self.solve_interruptible(options, &|| false)
    }

    /// Simulates the transfer as [`solve`](Self::solve) does, and can be interrupted. Once `stop` returns
    /// true, it returns the result of the transfers until then.
    ///
    /// # Errors
    ///
    /// As [`solve`](Self::solve).
    pub fn solve_interruptible(
        &self,
        options: &Options,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Distribution, Error> {
        self.stack.check()?;
        self.transfer.check()?;
        options.check()?;
        let setting = Configuration::new(self.stack.clone(), &self.transfer);
        let all_blocks = options.trials.div_ceil(BLOCK);
        let mut taken: Vec<TransferResult> = Vec::new();
        let mut begun = 0;
        // The number of blocks doubles each time, so it does not depend on threads.
        let mut blocks = match options.precision {
            None => all_blocks,
            Some(_) => FIRST_BLOCKS.min(all_blocks),
        };
        loop {
            let more = (begun..blocks).into_par_iter().flat_map_iter(|block| {
                let trials = BLOCK.min(options.trials - block * BLOCK);
                let all = simulate_block(&setting, options.seed, block, trials);
                // A distribution needs at least `MIN_TRIALS` transfers. One may take long, so `stop` is
                // checked before each.
                let mut played = 0;
                let goes_on = std::iter::from_fn(move || {
                    let goes_on = (block == 0 && played < MIN_TRIALS) || !stop();
                    played += 1;
                    goes_on.then_some(())
                });
                goes_on.zip(all).map(|((), taken)| taken)
            });
            taken.par_extend(more);
            let found = Distribution::of(&taken);
            let half_s = NORMAL_QUANTILE_975 * found.standard_error_s();
            let is_precise = (options.precision).is_none_or(|part| half_s <= part * found.mean_s());
            if blocks == all_blocks || is_precise || stop() {
                return Ok(found);
            }
            (begun, blocks) = (blocks, (2 * blocks).min(all_blocks));
        }
    }
}

/// Transfers that share a random stream.
const BLOCK: u64 = 256;

/// Blocks simulated before the precision is checked: enough for a 99th percentile.
const FIRST_BLOCKS: u64 = 16;

/// The minimum number of transfers, even if `stop` returns true.
const MIN_TRIALS: u64 = 2;

/// Returns the transfers of one block, simulated on demand.
fn simulate_block(
    setting: &Configuration,
    seed: u64,
    block: u64,
    trials: u64,
) -> impl Iterator<Item = TransferResult> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(block);
    let mut losses = IndependentLosses::new(rng, setting.loss);
    (0..trials).map(move |_| trial::simulate_transfer(setting, &mut losses))
}
