//! Transfers that proceed in whole round trips: a real stack, simulated packet by packet.
//!
//! [\[Short\]](crate) and the models it is compared with add averages: so many timeouts, so many
//! rounds. A real transfer takes whole round trips, and one lost packet costs a round trip or a
//! timeout depending on which packet it is. [`Rounds`] plays one transfer after another, with the
//! rules of a [`Stack`] on both ends and every packet lost independently, and keeps the whole
//! distribution.
//!
//! ```no_run
//! use netflow_tcpmodel::{Stack, rounds::{Options, Rounds, Transfer}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let stack: Stack = todo!();
//! let transfer = Transfer {
//!     loss_forward: 0.05,
//!     loss_back: 0.05,
//!     ..Transfer::push(10_240, 512, 0.05)
//! };
//! let latency = Rounds { stack, transfer }.solve(&Options::default())?;
//! println!("mean {} s, median {} s", latency.mean_s(), latency.quantile(0.5));
//! # Ok(())
//! # }
//! ```
//!
//! [`Conversations`] plays the sessions of users, each over one connection that lasts.

mod chance;
mod check;
mod connection;
mod conversation;
mod distribution;
mod end;
mod path;
mod setting;
#[cfg(test)]
mod tests;
mod trial;
mod written;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use chance::Independent;
use setting::Setting;
use trial::Taken;

pub use connection::{HEADER_BYTES, segment_bytes};
pub use conversation::{Conversations, Direction, Path, Played};
pub use distribution::Distribution;

use crate::rto::HALF_INTERVAL;
use crate::{Error, Stack};

/// One transfer over one path, to be repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// What is transferred, in bytes of payload; at least 1.
    pub bytes: u64,
    /// The largest payload of a packet, in bytes; at least 1.
    pub mss_bytes: u32,
    /// Propagation delay each way, in seconds; at least 0.
    pub delay_s: f64,
    /// The probability that a packet that travels with the data is lost, in [0, 1).
    pub loss_forward: f64,
    /// The probability that a packet that travels against the data is lost, in [0, 1).
    pub loss_back: f64,
    /// The bandwidth of the path, each way, in bits per second; without, packets take no time.
    pub bandwidth_bps: Option<f64>,
    /// Who sends the data.
    pub exchange: Exchange,
    /// When the transfer is over.
    pub until: Until,
}

impl Transfer {
    /// Sends `bytes` from the end that opens the connection, without loss, over links that are
    /// fast; over when all of them have arrived.
    pub fn push(bytes: u64, mss_bytes: u32, delay_s: f64) -> Self {
        Self {
            bytes,
            mss_bytes,
            delay_s,
            loss_forward: 0.0,
            loss_back: 0.0,
            bandwidth_bps: None,
            exchange: Exchange::Push,
            until: Until::Delivered,
        }
    }

    /// Asks for `bytes` with a request of `request_bytes`, otherwise as [`push`](Self::push).
    pub fn fetch(request_bytes: u64, bytes: u64, mss_bytes: u32, delay_s: f64) -> Self {
        Self {
            exchange: Exchange::Fetch { request_bytes },
            ..Self::push(bytes, mss_bytes, delay_s)
        }
    }
}

/// Who sends the data.
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

/// When a transfer is over. It always begins when the first SYN is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All of the data has arrived.
    Delivered,
    /// The sender of the data knows that all of it has arrived.
    Acknowledged,
}

/// How a transfer is repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How many transfers are played at most; at least 2.
    pub trials: u64,
    /// Fewer are played once the 95 % confidence interval of the mean is within this part of it; `None` plays all.
    pub precision: Option<f64>,
    /// Names the random numbers: the same seed gives the same transfers.
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

/// A transfer by a stack: both ends follow its rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    /// The rules.
    pub stack: Stack,
    /// What is transferred, and over which path.
    pub transfer: Transfer,
}

impl Rounds {
    /// Plays the transfer `options.trials` times, or until the mean is precise enough.
    ///
    /// # Errors
    ///
    /// If a number of the transfer, the stack or the options is outside of what it may be.
    pub fn solve(&self, options: &Options) -> Result<Distribution, Error> {
        self.solve_unless(options, &|| false)
    }

    /// The same, but once `stop` says so no more transfers are played, and the answer is that of those until then.
    ///
    /// # Errors
    ///
    /// As [`solve`](Self::solve).
    pub fn solve_unless(
        &self,
        options: &Options,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Distribution, Error> {
        self.stack.check()?;
        self.transfer.check()?;
        options.check()?;
        let setting = Setting::new(self.stack.clone(), &self.transfer);
        let all_blocks = options.trials.div_ceil(BLOCK);
        let mut taken: Vec<Taken> = Vec::new();
        let mut begun = 0;
        // Twice as many each time: how many are played does not depend on threads.
        let mut blocks = match options.precision {
            None => all_blocks,
            Some(_) => FIRST_BLOCKS.min(all_blocks),
        };
        loop {
            let more = (begun..blocks).into_par_iter().flat_map_iter(|block| {
                let trials = BLOCK.min(options.trials - block * BLOCK);
                let all = play(&setting, options.seed, block, trials);
                // Of none there is no distribution. One may take long, so it is asked before each.
                let mut played = 0;
                let goes_on = std::iter::from_fn(move || {
                    let goes_on = (block == 0 && played < FEWEST) || !stop();
                    played += 1;
                    goes_on.then_some(())
                });
                goes_on.zip(all).map(|((), taken)| taken)
            });
            taken.par_extend(more);
            let found = Distribution::of(&taken);
            let half_s = HALF_INTERVAL * found.standard_error_s();
            let is_precise = (options.precision).is_none_or(|part| half_s <= part * found.mean_s());
            if blocks == all_blocks || is_precise || stop() {
                return Ok(found);
            }
            (begun, blocks) = (blocks, (2 * blocks).min(all_blocks));
        }
    }
}

/// So many transfers share a stream of random numbers.
const BLOCK: u64 = 256;

/// Blocks that are played before the precision is looked at: enough for a 99th percentile.
const FIRST_BLOCKS: u64 = 16;

/// So many are played whatever happens.
const FEWEST: u64 = 2;

/// The transfers of one block, each played when it is asked for.
fn play(setting: &Setting, seed: u64, block: u64, trials: u64) -> impl Iterator<Item = Taken> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(block);
    let mut chance = Independent::new(rng, setting.loss);
    (0..trials).map(move |_| trial::play(setting, &mut chance))
}
