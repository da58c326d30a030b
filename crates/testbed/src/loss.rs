//! Which packets a link loses, decided for each by its number and its size.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::options::{DirectionOptions, OptionError};

/// Losses in bursts: a chain with a good and a bad state that moves once before every packet
/// (Gilbert, 1960; Elliott, 1963). It starts in its stationary state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    to_bad: f64,
    to_good: f64,
    loss_good: f64,
    loss_bad: f64,
}

impl GilbertElliott {
    /// With the probabilities of going from good to bad and from bad to good, and of losing a packet
    /// in either state.
    ///
    /// # Errors
    /// A probability outside 0–1, or a chain that never moves.
    pub fn new(
        to_bad: f64,
        to_good: f64,
        loss_good: f64,
        loss_bad: f64,
    ) -> Result<GilbertElliott, OptionError> {
        let values = [
            ("p", to_bad),
            ("r", to_good),
            ("good", loss_good),
            ("bad", loss_bad),
        ];
        for (name, value) in values {
            if !(0.0..=1.0).contains(&value) {
                let allowed = "from 0 to 1";
                return Err(OptionError::new("loss in bursts", name, value, allowed));
            }
        }
        if to_bad + to_good <= 0.0 {
            let allowed = "above 0, unless r is";
            return Err(OptionError::new("loss in bursts", "p", to_bad, allowed));
        }
        Ok(GilbertElliott {
            to_bad,
            to_good,
            loss_good,
            loss_bad,
        })
    }

    /// Share of packets that meet the bad state: p/(p + r).
    pub fn bad_share(&self) -> f64 {
        self.to_bad / (self.to_bad + self.to_good)
    }

    /// Share of packets lost in the long run: (r·good + p·bad)/(p + r).
    pub fn loss_probability(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.loss_good + bad * self.loss_bad
    }
}

/// Bit errors in bursts: along the bits of a packet a chain with a clean state and an errored one
/// (every bit is in error there), whose share of errored bits is the bit error rate e and whose
/// bursts are b bits long in the mean. From a clean bit to an errored one it goes with probability
/// q = e/(b·(1 − e)), and a packet of n bits is without error with probability
///
/// (1 − e)·(1 − q)^(n − 1).
///
/// Errors that are independent have bursts of b = 1/(1 − e) bits in the mean, therefore q = e and
/// the familiar (1 − e)^n; that is what [`BitErrors::independent`] makes. Every packet meets the
/// chain in its stationary state: bursts do not reach from one packet into the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BitErrors {
    rate: f64,
    /// Probability of an errored bit after a clean one, q.
    onset: f64,
}

impl BitErrors {
    /// Every bit on its own.
    ///
    /// # Errors
    /// A rate that is not from 0 to below 1.
    pub fn independent(rate: f64) -> Result<BitErrors, OptionError> {
        let rate = checked_rate(rate)?;
        Ok(BitErrors { rate, onset: rate })
    }

    /// In bursts of this many bits in the mean.
    ///
    /// # Errors
    /// A rate that is not from 0 to below 1, or bursts shorter than a bit, or so short that the
    /// rate is not to be reached with them: e/(1 − e).
    pub fn in_bursts(rate: f64, burst_bits: f64) -> Result<BitErrors, OptionError> {
        let rate = checked_rate(rate)?;
        let onset = rate / (burst_bits * (1.0 - rate));
        if !(burst_bits >= 1.0 && burst_bits.is_finite() && onset <= 1.0) {
            let allowed = "at least 1 bit, and at least BER/(1 - BER)";
            return Err(OptionError::new("bit errors", "burst", burst_bits, allowed));
        }
        Ok(BitErrors { rate, onset })
    }

    /// Probability that a packet of this many bytes has an error.
    pub fn loss_probability(&self, bytes: usize) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        let bits = 8.0 * bytes as f64;
        // exp_m1 and ln_1p keep small rates exact.
        -((-self.rate).ln_1p() + (bits - 1.0) * (-self.onset).ln_1p()).exp_m1()
    }
}

fn checked_rate(rate: f64) -> Result<f64, OptionError> {
    match (0.0..1.0).contains(&rate) {
        true => Ok(rate),
        false => Err(OptionError::new(
            "bit errors",
            "rate",
            rate,
            "from 0 to below 1",
        )),
    }
}

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

/// The losses of one direction. Each cause has a stream of its own and draws from it for every packet,
/// whatever befalls the packet: the n-th packet's fate depends on the seed, n and (for bit errors)
/// its size alone.
#[derive(Debug)]
pub(crate) struct Losses {
    loss: Option<(f64, ChaCha8Rng)>,
    gilbert: Option<(GilbertElliott, bool, ChaCha8Rng)>,
    bit_errors: Option<(BitErrors, ChaCha8Rng)>,
}

impl Losses {
    /// `direction` keeps the streams of the two directions apart.
    pub(crate) fn new(options: &DirectionOptions, seed: u64, direction: u64) -> Losses {
        let stream = |cause: u64| {
            let mut stream = ChaCha8Rng::seed_from_u64(seed);
            stream.set_stream(4 * direction + cause);
            stream
        };
        Losses {
            loss: (options.loss > 0.0).then(|| (options.loss, stream(0))),
            gilbert: options.gilbert.map(|chain| {
                let mut stream = stream(1);
                let bad = happens(&mut stream, chain.bad_share());
                (chain, bad, stream)
            }),
            bit_errors: options.bit_errors.map(|errors| (errors, stream(2))),
        }
    }

    /// The fate of the next packet.
    pub(crate) fn next(&mut self, bytes: usize) -> Option<DropReason> {
        let mut drop = None;
        if let Some((loss, stream)) = &mut self.loss
            && happens(stream, *loss)
        {
            drop = Some(DropReason::Loss);
        }
        if let Some((chain, bad, stream)) = &mut self.gilbert {
            let moves = happens(stream, if *bad { chain.to_good } else { chain.to_bad });
            *bad ^= moves;
            let loss = if *bad {
                chain.loss_bad
            } else {
                chain.loss_good
            };
            if happens(stream, loss) {
                drop = drop.or(Some(DropReason::Gilbert));
            }
        }
        if let Some((errors, stream)) = &mut self.bit_errors
            && happens(stream, errors.loss_probability(bytes))
        {
            drop = drop.or(Some(DropReason::BitErrors));
        }
        drop
    }
}

/// Draws always, so that streams stay in step.
fn happens(stream: &mut impl Rng, probability: f64) -> bool {
    stream.random::<f64>() < probability
}
