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

mod clock;
mod distribution;
mod end;
mod path;
mod receiver;
mod rto;
mod rules;
mod sender;
mod trial;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use rules::Rules;
use trial::{Setting, Taken, Trial};

pub use distribution::Distribution;

use crate::Stack;

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
    /// How many transfers are played; at least 2.
    pub trials: u64,
    /// Names the random numbers: the same seed gives the same transfers.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trials: 100_000,
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
    /// Plays the transfer `options.trials` times.
    ///
    /// # Errors
    ///
    /// If a number of the transfer, the stack or the options is outside of what it may be.
    pub fn solve(&self, options: &Options) -> Result<Distribution, Error> {
        self.transfer.check()?;
        options.check()?;
        let setting = Setting::new(Rules::of(&self.stack), &self.transfer);
        let blocks = options.trials.div_ceil(BLOCK);
        let taken: Vec<Taken> = (0..blocks)
            .into_par_iter()
            .flat_map_iter(|block| {
                let trials = BLOCK.min(options.trials - block * BLOCK);
                play(&setting, options.seed, block, trials)
            })
            .collect();
        Ok(Distribution::of(&taken))
    }
}

/// So many transfers share a stream of random numbers.
const BLOCK: u64 = 256;

/// Plays the transfers of one block.
fn play(setting: &Setting, seed: u64, block: u64, trials: u64) -> impl Iterator<Item = Taken> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(block);
    (0..trials).map(move |_| Trial::new(setting, &mut rng).run())
}

impl Transfer {
    fn check(&self) -> Result<(), Error> {
        let finite = |value: f64| value.is_finite() && value >= 0.0;
        let loss = |value: f64| (0.0..=MAX_LOSS).contains(&value);
        check(
            "size in bytes",
            self.bytes as f64,
            self.bytes >= 1,
            "1 or more",
        )?;
        check(
            "mss in bytes",
            f64::from(self.mss_bytes),
            self.mss_bytes >= 1,
            "1 or more",
        )?;
        let segments = self.bytes.div_ceil(u64::from(self.mss_bytes.max(1)));
        check(
            "size in segments",
            segments as f64,
            segments <= MAX_SEGMENTS,
            "10 million or less",
        )?;
        check(
            "delay in seconds",
            self.delay_s,
            finite(self.delay_s),
            "0 or more",
        )?;
        let allowed = "a probability from 0 to 0.9";
        check(
            "loss with the data",
            self.loss_forward,
            loss(self.loss_forward),
            allowed,
        )?;
        check(
            "loss against the data",
            self.loss_back,
            loss(self.loss_back),
            allowed,
        )?;
        if let Some(bps) = self.bandwidth_bps {
            check(
                "bandwidth in bit/s",
                bps,
                bps.is_finite() && bps > 0.0,
                "more than 0",
            )?;
        }
        if let Exchange::Fetch { request_bytes } = self.exchange {
            let segments = request_bytes.div_ceil(u64::from(self.mss_bytes));
            check(
                "request in bytes",
                request_bytes as f64,
                request_bytes >= 1,
                "1 or more",
            )?;
            check(
                "request in segments",
                segments as f64,
                segments <= MAX_SEGMENTS,
                "10 million or less",
            )?;
        }
        Ok(())
    }
}

impl Options {
    fn check(&self) -> Result<(), Error> {
        check(
            "number of trials",
            self.trials as f64,
            (2..=MAX_TRIALS).contains(&self.trials),
            "from 2 to a billion",
        )
    }
}

/// Beyond this, a single packet takes a hundred tries, and a transfer may take days.
const MAX_LOSS: f64 = 0.9;
const MAX_SEGMENTS: u64 = 10_000_000;
const MAX_TRIALS: u64 = 1_000_000_000;

fn check(what: &'static str, value: f64, holds: bool, allowed: &'static str) -> Result<(), Error> {
    if holds {
        Ok(())
    } else {
        Err(Error::OutOfRange {
            what,
            value,
            allowed,
        })
    }
}

/// Why a transfer cannot be played.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A number is not allowed.
    #[error("{what}: {value} is not allowed: it must be {allowed}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
}
