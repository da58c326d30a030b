//! Loss models of a link: independent, Gilbert–Elliott, bit errors, and outages. The number, the size and the time of a
//! packet determine its fate.

use netflow_units::Probability;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// A loss parameter outside its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}, allowed is {allowed}")]
pub struct LossError {
    /// Name of the parameter.
    pub name: &'static str,
    /// Value of the parameter.
    pub value: f64,
    /// Allowed range.
    pub allowed: &'static str,
}

fn ensure(
    good: bool,
    name: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), LossError> {
    if good {
        Ok(())
    } else {
        Err(LossError {
            name,
            value,
            allowed,
        })
    }
}

/// Packet loss on a link, independent of its queue. A lost packet has used the buffer and the link like any
/// other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkLoss {
    /// Independent loss probability per packet, 0–1.
    pub random: f64,
    /// Burst losses (Gilbert–Elliott).
    pub gilbert: Option<GilbertElliott>,
    /// Bit errors; a packet with an error is lost.
    pub bit_errors: Option<BitErrors>,
    /// Outages that last some time, however many packets there are.
    pub outages: Option<Outages>,
}

impl LinkLoss {
    /// No loss.
    pub const NONE: LinkLoss = LinkLoss {
        random: 0.0,
        gilbert: None,
        bit_errors: None,
        outages: None,
    };

    /// Returns true if no packet is ever lost.
    pub fn is_none(&self) -> bool {
        *self == LinkLoss::NONE
    }

    /// Checks [`LinkLoss::random`].
    ///
    /// # Errors
    /// [`LinkLoss::random`] is not from 0 to 1.
    pub fn check(&self) -> Result<(), LossError> {
        let good = (0.0..=1.0).contains(&self.random);
        ensure(good, "loss", self.random, "from 0 to 1")
    }

    /// Returns the long-run loss probability of a packet of `bytes` bytes.
    pub fn probability(&self, bytes: f64) -> f64 {
        let gilbert = self.gilbert.map_or(0.0, |it| it.loss_probability());
        let errors = self.bit_errors.map_or(0.0, |it| it.loss_probability(bytes));
        // Exact for a single cause, even at very low probabilities.
        let either = |a: f64, b: f64| a + b - a * b;
        let outages = self.outages.map_or(0.0, |it| it.loss_probability());
        either(either(either(self.random, gilbert), errors), outages)
    }

    /// Returns true if losses of consecutive packets depend on each other.
    pub fn is_correlated(&self) -> bool {
        self.gilbert.is_some() || self.outages.is_some()
    }

    /// Returns the probability that a bit is in error after a correct one. Only this cause of loss depends on
    /// the packet size.
    pub fn error_onset(&self) -> f64 {
        self.bit_errors.map_or(0.0, |it| it.onset)
    }
}

/// For example `1 % at random, bit errors 1e-6`.
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
        let outages = self
            .outages
            .map(|it| format!("{} in outages", share(it.loss_probability())));
        let causes: Vec<String> = [random, gilbert, errors, outages]
            .into_iter()
            .flatten()
            .collect();
        if causes.is_empty() {
            f.write_str("nothing")
        } else {
            f.write_str(&causes.join(", "))
        }
    }
}

impl From<f64> for LinkLoss {
    /// Returns independent loss with this probability.
    fn from(random: f64) -> LinkLoss {
        LinkLoss {
            random,
            ..LinkLoss::NONE
        }
    }
}

/// Cause of a packet loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// Independent loss ([`LinkLoss::random`]).
    Random,
    /// Burst loss ([`LinkLoss::gilbert`]).
    Gilbert,
    /// Bit error ([`LinkLoss::bit_errors`]).
    BitErrors,
    /// Outage ([`LinkLoss::outages`]).
    Outages,
}

/// Gilbert–Elliott burst-loss model (Gilbert, 1960; Elliott, 1963): a Markov chain with a good and a bad
/// state and one transition before every packet. It starts in its stationary distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GilbertElliott {
    to_bad: f64,
    to_good: f64,
    loss_good: f64,
    loss_bad: f64,
}

impl GilbertElliott {
    /// Builds the chain from its transition probabilities and from the loss probability in each state.
    ///
    /// # Errors
    /// A probability is outside 0–1, or both transition probabilities are 0.
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

    /// Returns the arguments of [`new`](Self::new): p, r, and the loss probabilities of the good and the bad state.
    pub fn parameters(&self) -> [f64; 4] {
        [self.to_bad, self.to_good, self.loss_good, self.loss_bad]
    }

    /// Returns the fraction of packets in the bad state: p/(p + r).
    pub fn bad_share(&self) -> f64 {
        self.to_bad / (self.to_bad + self.to_good)
    }

    /// Returns the long-run loss probability: (r·good + p·bad)/(p + r).
    pub fn loss_probability(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.loss_good + bad * self.loss_bad
    }
}

/// Outages of a link: a continuous-time Markov chain (Gilbert 1960, by time instead of packets). The times between outages
/// and their durations are exponentially distributed. It starts in its stationary distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outages {
    interval_s: f64,
    duration_s: f64,
    loss: f64,
}

impl Outages {
    /// Builds outages from the mean time from the end of one to the start of the next, their mean duration, and the loss
    /// probability of a packet in an outage.
    ///
    /// # Errors
    /// A time is not from 1 us to 1e6 s, or the loss probability is outside 0–1.
    pub fn new(interval_s: f64, duration_s: f64, loss: f64) -> Result<Outages, LossError> {
        let times = "from 1e-6 to 1e6 s";
        for (name, value) in [("interval", interval_s), ("duration", duration_s)] {
            ensure((1e-6..=1e6).contains(&value), name, value, times)?;
        }
        ensure((0.0..=1.0).contains(&loss), "loss", loss, "from 0 to 1")?;
        Ok(Outages {
            interval_s,
            duration_s,
            loss,
        })
    }

    /// Returns the fraction of time in outages.
    pub fn time_share(&self) -> f64 {
        self.duration_s / (self.interval_s + self.duration_s)
    }

    /// Returns the long-run loss probability of packets at any times.
    pub fn loss_probability(&self) -> f64 {
        self.time_share() * self.loss
    }
}

/// Bit-error model: a Markov chain over the bits of a packet, with a clean and an errored state. Every bit in
/// the errored state is in error. The fraction of errored bits is the bit error rate e, and the mean burst
/// length is b bits. The transition probability from clean to errored is q = e/(b·(1 − e)). A packet of n
/// bits has no error with probability
///
/// (1 − e)·(1 − q)^(n − 1).
///
/// Independent errors have mean bursts of b = 1/(1 − e) bits, therefore q = e and the probability is (1 −
/// e)^n ([`BitErrors::independent`]). Every packet starts in the stationary distribution, so bursts do not
/// extend from one packet into the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BitErrors {
    rate: f64,
    /// Probability of an errored bit after a clean one, q.
    onset: f64,
}

impl BitErrors {
    /// Returns independent bit errors with bit error rate `rate`.
    ///
    /// # Errors
    /// The rate is not in [0, 1).
    pub fn independent(rate: f64) -> Result<BitErrors, LossError> {
        let rate = checked_rate(rate)?;
        Ok(BitErrors { rate, onset: rate })
    }

    /// Returns bit errors in bursts of `burst_bits` bits on average.
    ///
    /// # Errors
    /// The rate is not in [0, 1), or the burst length is below 1 or below the minimum e/(1 − e) for this
    /// rate.
    pub fn in_bursts(rate: f64, burst_bits: f64) -> Result<BitErrors, LossError> {
        let rate = checked_rate(rate)?;
        let onset = rate / (burst_bits * (1.0 - rate));
        let good = burst_bits >= 1.0 && burst_bits.is_finite() && onset <= 1.0;
        let allowed = "at least 1 bit, and at least BER/(1 - BER)";
        ensure(good, "burst", burst_bits, allowed)?;
        Ok(BitErrors { rate, onset })
    }

    /// Returns the bit error rate, and true if bit errors are independent.
    pub fn rate(&self) -> (f64, bool) {
        (self.rate, self.onset == self.rate)
    }

    /// Returns the probability that a packet of `bytes` bytes has an error.
    pub fn loss_probability(&self, bytes: f64) -> f64 {
        if bytes <= 0.0 {
            return 0.0;
        }
        let bits = 8.0 * bytes;
        // `expm1` and `log1p` keep small rates exact.
        -libm::expm1(libm::log1p(-self.rate) + (bits - 1.0) * libm::log1p(-self.onset))
    }
}

fn checked_rate(rate: f64) -> Result<f64, LossError> {
    ensure((0.0..1.0).contains(&rate), "ber", rate, "from 0 to below 1")?;
    Ok(rate)
}

/// Loss process of one link. Each cause has its own random stream and draws from it for every packet, even if
/// the packet is already lost. The fate of the n-th packet therefore depends only on the streams, n, its size (bit
/// errors) and its time (outages).
#[derive(Clone, Debug)]
pub struct Losses<R> {
    loss: LinkLoss,
    /// Stream of independent losses, once the cause has been present.
    random: Option<R>,
    /// State of the chain (true: bad; `None` before the first packet) and its stream.
    gilbert: Option<(Option<bool>, R)>,
    bit_errors: Option<R>,
    outages: Option<OutageState<R>>,
}

/// State of outages: whether there is one, and when that changes, in ns; `None` before the first packet.
#[derive(Clone, Debug)]
struct OutageState<R> {
    now: Option<(bool, u64)>,
    stream: R,
}

impl<R: Rng> OutageState<R> {
    /// Returns whether a packet at `now_ns`, which does not decrease, is lost.
    fn is_lost(&mut self, outages: &Outages, now_ns: u64) -> bool {
        let stream = &mut self.stream;
        let lasts_ns = |is_out: bool, stream: &mut R| {
            let mean_s = if is_out {
                outages.duration_s
            } else {
                outages.interval_s
            };
            let drawn_s = -mean_s * libm::log1p(-stream.random::<f64>());
            (drawn_s * 1e9) as u64 + 1
        };
        // Exponential durations have no memory.
        let (is_out, until_ns) = self.now.get_or_insert_with(|| {
            let is_out = bernoulli(stream, outages.time_share());
            (is_out, now_ns + lasts_ns(is_out, stream))
        });
        while *until_ns <= now_ns {
            *is_out = !*is_out;
            *until_ns += lasts_ns(*is_out, stream);
        }
        bernoulli(stream, outages.loss) && *is_out
    }
}

impl<R: Rng> Losses<R> {
    /// Builds the process; `stream` returns the random stream of a cause.
    pub fn new(loss: &LinkLoss, stream: impl Fn(LossCause) -> R) -> Losses<R> {
        let mut losses = Losses {
            loss: LinkLoss::NONE,
            random: None,
            gilbert: None,
            bit_errors: None,
            outages: None,
        };
        losses.set(loss, stream);
        losses
    }

    /// Returns the present loss settings.
    pub fn loss(&self) -> &LinkLoss {
        &self.loss
    }

    /// Changes the loss settings. A new cause receives its stream; an existing cause keeps its stream and, if
    /// its parameters are unchanged, its state. A Gilbert–Elliott chain with new parameters restarts in its
    /// stationary distribution.
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
        if loss.outages.is_some() {
            let state = (self.outages).get_or_insert_with(|| OutageState {
                now: None,
                stream: stream(LossCause::Outages),
            });
            if loss.outages != self.loss.outages {
                state.now = None;
            }
        }
        self.loss = *loss;
    }

    /// Returns the cause of loss of the next packet, which is transmitted by `now_ns`, or `None` if it is delivered.
    pub fn next(&mut self, bytes: f64, now_ns: u64) -> Option<LossCause> {
        let mut lost = None;
        if self.loss.random > 0.0
            && let Some(stream) = &mut self.random
            && bernoulli(stream, self.loss.random)
        {
            lost = Some(LossCause::Random);
        }
        if let Some(chain) = self.loss.gilbert
            && let Some((bad, stream)) = &mut self.gilbert
        {
            let bad = match bad {
                Some(bad) => bad,
                None => bad.insert(bernoulli(stream, chain.bad_share())),
            };
            let moves = bernoulli(stream, if *bad { chain.to_good } else { chain.to_bad });
            *bad ^= moves;
            let loss = if *bad {
                chain.loss_bad
            } else {
                chain.loss_good
            };
            if bernoulli(stream, loss) {
                lost = lost.or(Some(LossCause::Gilbert));
            }
        }
        if let Some(errors) = self.loss.bit_errors
            && let Some(stream) = &mut self.bit_errors
            && bernoulli(stream, errors.loss_probability(bytes))
        {
            lost = lost.or(Some(LossCause::BitErrors));
        }
        if let Some(outages) = &self.loss.outages
            && let Some(state) = &mut self.outages
            && state.is_lost(outages, now_ns)
        {
            lost = lost.or(Some(LossCause::Outages));
        }
        lost
    }
}

/// Draws always, so that streams stay in step.
fn bernoulli(stream: &mut impl Rng, probability: f64) -> bool {
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
            outages: None,
        }
    }

    fn fates(losses: &mut Losses<Pcg32>, n: usize) -> Vec<Option<LossCause>> {
        (0..n).map(|_| losses.next(1000.0, 0)).collect()
    }

    /// Settings before the first packet have no effect.
    #[test]
    fn settings_before_the_first_packet_equal_initial_settings() {
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

    /// Streams continue: a restarted stream would repeat the same numbers.
    #[test]
    fn unchanged_and_returning_losses_continue_their_streams() {
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

    /// A new chain starts in its stationary distribution, so the first packet after the change has the
    /// long-run loss probability.
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
            losses.next(1000.0, 0);
            losses.set(&of(1.0), stream);
            losses.next(1000.0, 0).is_some()
        });
        let share = lost.count() as f64 / runs as f64;
        assert!(
            (share - 0.25).abs() < 4.0 * (0.1875 / runs as f64).sqrt(),
            "{share}"
        );
    }

    /// Outages take their share of the time, whatever the rate of packets, and are exponentially distributed.
    #[test]
    fn outages_last_their_time() {
        for gap_ns in [100_000, 1_000_000, 10_000_000] {
            let loss = LinkLoss {
                outages: Outages::new(0.9, 0.1, 1.0).ok(),
                ..LinkLoss::NONE
            };
            assert!((loss.probability(1000.0) - 0.1).abs() < 1e-12);
            let mut losses = Losses::new(&loss, stream);
            let (n, mut lost, mut outages) = (10_000_000_000_000 / gap_ns, 0, 0);
            let mut before = false;
            for i in 0..n {
                let is_lost = losses.next(1000.0, i * gap_ns).is_some();
                lost += u64::from(is_lost);
                outages += u64::from(is_lost && !before);
                before = is_lost;
            }
            let share = lost as f64 / n as f64;
            assert!((share - 0.1).abs() < 0.005, "{share}");
            let mean_s = lost as f64 * gap_ns as f64 * 1e-9 / outages as f64;
            // Outages between two packets are not seen.
            let seen_s = 0.1 + gap_ns as f64 * 1e-9;
            assert!((mean_s / seen_s - 1.0).abs() < 0.05, "{gap_ns}: {mean_s}");
        }
    }

    #[test]
    fn outages_lose_a_part_of_their_packets() {
        let loss = LinkLoss {
            outages: Outages::new(0.5, 0.5, 0.4).ok(),
            ..LinkLoss::NONE
        };
        let mut losses = Losses::new(&loss, stream);
        let lost = (0..1_000_000).filter(|i| losses.next(1000.0, i * 1_000_000).is_some());
        let share = lost.count() as f64 / 1e6;
        assert!((share - 0.2).abs() < 0.01, "{share}");
        assert!(Outages::new(0.0, 1.0, 1.0).is_err());
        assert!(Outages::new(1.0, 1.0, 1.1).is_err());
    }
}
