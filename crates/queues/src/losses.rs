//! Which packets a link loses on the way, decided for each by its number and its size.

use netflow_units::Probability;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// A number that a link's losses cannot have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}, allowed is {allowed}")]
pub struct LossError {
    /// Which of its numbers.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// What is allowed.
    pub allowed: &'static str,
}

fn ensure(
    good: bool,
    name: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), LossError> {
    match good {
        true => Ok(()),
        false => Err(LossError {
            name,
            value,
            allowed,
        }),
    }
}

/// What a link loses on the way, whatever its queue is like. A packet that is lost by any of these took
/// its room in the buffer and its time on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkLoss {
    /// Probability with which a packet is lost, each independently.
    pub random: f64,
    /// Losses in bursts.
    pub gilbert: Option<GilbertElliott>,
    /// Bit errors; a packet with an error is lost.
    pub bit_errors: Option<BitErrors>,
}

impl LinkLoss {
    /// Nothing is lost.
    pub const NONE: LinkLoss = LinkLoss {
        random: 0.0,
        gilbert: None,
        bit_errors: None,
    };

    /// Whether nothing is ever lost.
    pub fn is_none(&self) -> bool {
        *self == LinkLoss::NONE
    }

    /// Whether it can be.
    ///
    /// # Errors
    /// [`LinkLoss::random`] is not from 0 to 1.
    pub fn check(&self) -> Result<(), LossError> {
        let good = (0.0..=1.0).contains(&self.random);
        ensure(good, "loss", self.random, "from 0 to 1")
    }

    /// Share of packets of this many bytes that are lost in the long run.
    pub fn probability(&self, bytes: f64) -> f64 {
        let gilbert = self.gilbert.map_or(0.0, |it| it.loss_probability());
        let errors = self.bit_errors.map_or(0.0, |it| it.loss_probability(bytes));
        // Exact where there is one cause, however rare.
        let either = |a: f64, b: f64| a + b - a * b;
        either(either(self.random, gilbert), errors)
    }

    /// Probability that a bit is the first in error after one that is not: by this a packet is lost more
    /// often the more bits it has, and by all else whatever its size.
    pub fn error_onset(&self) -> f64 {
        self.bit_errors.map_or(0.0, |it| it.onset)
    }
}

/// In words: `1 % at random, bit errors 1e-6`.
impl std::fmt::Display for LinkLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = |part: f64| Probability(part).to_string().replace('%', " %");
        let random = (self.random > 0.0).then(|| format!("{} at random", share(self.random)));
        let gilbert = self
            .gilbert
            .map(|it| format!("{} in bursts", share(it.loss_probability())));
        let errors = self
            .bit_errors
            .map(|it| format!("bit errors {:e}", it.rate));
        let causes: Vec<String> = [random, gilbert, errors].into_iter().flatten().collect();
        match causes.is_empty() {
            true => f.write_str("nothing"),
            false => f.write_str(&causes.join(", ")),
        }
    }
}

impl From<f64> for LinkLoss {
    /// Each packet independently, with this probability.
    fn from(random: f64) -> LinkLoss {
        LinkLoss {
            random,
            ..LinkLoss::NONE
        }
    }
}

/// What lost a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// [`LinkLoss::random`].
    Random,
    /// [`LinkLoss::gilbert`].
    Gilbert,
    /// [`LinkLoss::bit_errors`].
    BitErrors,
}

/// Losses in bursts: a chain with a good and a bad state that moves once before every packet
/// (Gilbert, 1960; Elliott, 1963). It starts in its stationary state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
    ) -> Result<GilbertElliott, LossError> {
        let values = [
            ("p", to_bad),
            ("r", to_good),
            ("good", loss_good),
            ("bad", loss_bad),
        ];
        for (name, value) in values {
            ensure((0.0..=1.0).contains(&value), name, value, "from 0 to 1")?;
        }
        ensure(to_bad + to_good > 0.0, "p", to_bad, "above 0, unless r is")?;
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
    pub fn independent(rate: f64) -> Result<BitErrors, LossError> {
        let rate = checked_rate(rate)?;
        Ok(BitErrors { rate, onset: rate })
    }

    /// In bursts of this many bits in the mean.
    ///
    /// # Errors
    /// A rate that is not from 0 to below 1, or bursts shorter than a bit, or so short that the
    /// rate is not to be reached with them: e/(1 − e).
    pub fn in_bursts(rate: f64, burst_bits: f64) -> Result<BitErrors, LossError> {
        let rate = checked_rate(rate)?;
        let onset = rate / (burst_bits * (1.0 - rate));
        let good = burst_bits >= 1.0 && burst_bits.is_finite() && onset <= 1.0;
        let allowed = "at least 1 bit, and at least BER/(1 - BER)";
        ensure(good, "burst", burst_bits, allowed)?;
        Ok(BitErrors { rate, onset })
    }

    /// Whether every bit is on its own, and the rate of errors among all bits.
    pub fn rate(&self) -> (f64, bool) {
        (self.rate, self.onset == self.rate)
    }

    /// Probability that a packet of this many bytes has an error.
    pub fn loss_probability(&self, bytes: f64) -> f64 {
        if bytes <= 0.0 {
            return 0.0;
        }
        let bits = 8.0 * bytes;
        // exp_m1 and ln_1p keep small rates exact.
        -libm::expm1(libm::log1p(-self.rate) + (bits - 1.0) * libm::log1p(-self.onset))
    }
}

fn checked_rate(rate: f64) -> Result<f64, LossError> {
    ensure((0.0..1.0).contains(&rate), "ber", rate, "from 0 to below 1")?;
    Ok(rate)
}

/// The losses of one link. Each cause has a stream of its own and draws from it for every packet,
/// whatever befalls the packet: the n-th packet's fate depends on the streams, n and (for bit errors)
/// its size alone.
#[derive(Clone, Debug)]
pub struct Losses<R> {
    loss: LinkLoss,
    /// Of each cause that there is, or was once.
    random: Option<R>,
    /// With the state of the chain: whether it is bad, once a packet has met it.
    gilbert: Option<(Option<bool>, R)>,
    bit_errors: Option<R>,
}

impl<R: Rng> Losses<R> {
    /// With a stream of random numbers for each cause.
    pub fn new(loss: &LinkLoss, stream: impl Fn(LossCause) -> R) -> Losses<R> {
        let mut losses = Losses {
            loss: LinkLoss::NONE,
            random: None,
            gilbert: None,
            bit_errors: None,
        };
        losses.set(loss, stream);
        losses
    }

    /// What is lost at present.
    pub fn loss(&self) -> &LinkLoss {
        &self.loss
    }

    /// From now on packets are lost by these causes. One that is new gets its stream; one that there was goes on
    /// with its own, and if it has no other numbers than before, nothing about it is different. Another chain of
    /// bursts starts in its stationary state.
    pub fn set(&mut self, loss: &LinkLoss, stream: impl Fn(LossCause) -> R) {
        if loss.random > 0.0 {
            (self.random).get_or_insert_with(|| stream(LossCause::Random));
        }
        if loss.gilbert.is_some() {
            let chain = (self.gilbert).get_or_insert_with(|| (None, stream(LossCause::Gilbert)));
            if loss.gilbert != self.loss.gilbert {
                chain.0 = None;
            }
        }
        if loss.bit_errors.is_some() {
            (self.bit_errors).get_or_insert_with(|| stream(LossCause::BitErrors));
        }
        self.loss = *loss;
    }

    /// The fate of the next packet.
    pub fn next(&mut self, bytes: f64) -> Option<LossCause> {
        let mut lost = None;
        if self.loss.random > 0.0
            && let Some(stream) = &mut self.random
            && happens(stream, self.loss.random)
        {
            lost = Some(LossCause::Random);
        }
        if let Some(chain) = self.loss.gilbert
            && let Some((bad, stream)) = &mut self.gilbert
        {
            let bad = match bad {
                Some(bad) => bad,
                None => bad.insert(happens(stream, chain.bad_share())),
            };
            let moves = happens(stream, if *bad { chain.to_good } else { chain.to_bad });
            *bad ^= moves;
            let loss = if *bad {
                chain.loss_bad
            } else {
                chain.loss_good
            };
            if happens(stream, loss) {
                lost = lost.or(Some(LossCause::Gilbert));
            }
        }
        if let Some(errors) = self.loss.bit_errors
            && let Some(stream) = &mut self.bit_errors
            && happens(stream, errors.loss_probability(bytes))
        {
            lost = lost.or(Some(LossCause::BitErrors));
        }
        lost
    }
}

/// Draws always, so that streams stay in step.
fn happens(stream: &mut impl Rng, probability: f64) -> bool {
    stream.random::<f64>() < probability
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg32;

    use super::*;

    fn stream(cause: LossCause) -> Pcg32 {
        Pcg32::new(7, cause as u64)
    }

    fn all_causes(random: f64) -> LinkLoss {
        LinkLoss {
            random,
            gilbert: GilbertElliott::new(0.1, 0.4, 0.0, 0.8).ok(),
            bit_errors: BitErrors::independent(2e-5).ok(),
        }
    }

    fn fates(losses: &mut Losses<Pcg32>, n: usize) -> Vec<Option<LossCause>> {
        (0..n).map(|_| losses.next(1000.0)).collect()
    }

    /// Whatever came before the first packet.
    #[test]
    fn before_the_first_packet_it_is_as_if_it_had_always_been() {
        let chain = GilbertElliott::new(0.9, 0.1, 0.0, 1.0).ok();
        let first = [
            LinkLoss::NONE,
            LinkLoss::from(0.9),
            LinkLoss {
                gilbert: chain,
                ..all_causes(0.0)
            },
        ];
        let wanted = fates(&mut Losses::new(&all_causes(0.2), stream), 1000);
        for first in first {
            let mut losses = Losses::new(&first, stream);
            losses.set(&all_causes(0.2), stream);
            assert_eq!(fates(&mut losses, 1000), wanted);
        }
    }

    /// Streams go on: one that began anew would draw the same numbers again.
    #[test]
    fn what_stays_goes_on_and_what_comes_back_does_not_begin_again() {
        let mut always = Losses::new(&all_causes(0.2), stream);
        let mut same = Losses::new(&all_causes(0.2), stream);
        let mut wanted = fates(&mut always, 500);
        let mut found = fates(&mut same, 500);
        same.set(&all_causes(0.2), stream);
        wanted.extend(fates(&mut always, 500));
        found.extend(fates(&mut same, 500));
        assert_eq!(found, wanted);

        let mut paused = Losses::new(&LinkLoss::from(0.5), stream);
        let before = fates(&mut paused, 200);
        paused.set(&LinkLoss::NONE, stream);
        assert_eq!(fates(&mut paused, 200), vec![None; 200]);
        paused.set(&LinkLoss::from(0.5), stream);
        let after = fates(&mut paused, 200);
        assert_ne!(after, before);
        let mut through = Losses::new(&LinkLoss::from(0.5), stream);
        fates(&mut through, 200);
        assert_eq!(after, fates(&mut through, 200));
    }

    /// Another chain starts in its stationary state: the first packet after the change is lost as often as any.
    #[test]
    fn another_chain_starts_in_its_stationary_state() {
        let of = |loss_bad| LinkLoss {
            gilbert: GilbertElliott::new(0.001, 0.003, 0.0, loss_bad).ok(),
            ..LinkLoss::NONE
        };
        let runs = 4000;
        let lost = (0..runs).filter(|&seed| {
            let stream = |cause| Pcg32::new(seed, cause as u64);
            let mut losses = Losses::new(&of(0.5), stream);
            losses.next(1000.0);
            losses.set(&of(1.0), stream);
            losses.next(1000.0).is_some()
        });
        let share = lost.count() as f64 / runs as f64;
        assert!(
            (share - 0.25).abs() < 4.0 * (0.1875 / runs as f64).sqrt(),
            "{share}"
        );
    }
}
