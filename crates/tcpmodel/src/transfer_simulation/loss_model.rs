//! Random events of a transfer.

use rand::{Rng, RngExt};

/// The source of random events of a transfer.
pub(super) trait LossModel {
    /// Returns the position of a clock at time 0, from 0 to 1.
    fn phase(&mut self) -> f64;

    /// Returns true if the next packet of the opener (0) or the listener (1), with this number of bytes, is
    /// lost.
    fn is_lost(&mut self, end_index: usize, bytes: f64) -> bool;
}

/// Independent losses of packets.
pub(super) struct IndependentLosses<R> {
    rng: R,
    parameters: [LossParameters; 2],
}

/// The loss parameters of the packets of one end.
#[derive(Clone, Copy)]
struct LossParameters {
    /// The threshold below which 32 random bits mean a loss.
    threshold: u64,
    /// ln(1 - loss) and ln(1 - bit error rate): the log probabilities that a packet, and a bit, arrives.
    ln_packet: f64,
    ln_bit: f64,
}

/// The number of 32-bit random values.
const RANDOM_VALUES: f64 = 4_294_967_296.0;

impl LossParameters {
    fn new(loss: f64, bit_error_rate: f64) -> Self {
        Self {
            threshold: (loss * RANDOM_VALUES) as u64,
            ln_packet: libm::log1p(-loss),
            ln_bit: libm::log1p(-bit_error_rate),
        }
    }

    fn loss_threshold(&self, bytes: f64) -> u64 {
        if self.ln_bit == 0.0 {
            return self.threshold;
        }
        (-libm::expm1(self.ln_packet + 8.0 * bytes * self.ln_bit) * RANDOM_VALUES) as u64
    }
}

impl<R: Rng> IndependentLosses<R> {
    /// Returns losses with the probabilities of the opener's and of the listener's packets.
    pub(super) fn new(rng: R, loss: [f64; 2]) -> Self {
        Self {
            rng,
            parameters: loss.map(|loss| LossParameters::new(loss, 0.0)),
        }
    }

    /// Sets the loss probability and the bit error rate of the packets of an end, from now on.
    pub(super) fn set_loss(&mut self, who: usize, loss: f64, bit_error_rate: f64) {
        if let Some(parameters) = self.parameters.get_mut(who) {
            *parameters = LossParameters::new(loss, bit_error_rate);
        }
    }
}

impl<R: Rng> LossModel for IndependentLosses<R> {
    fn phase(&mut self) -> f64 {
        self.rng.random()
    }

    fn is_lost(&mut self, who: usize, bytes: f64) -> bool {
        let below = self
            .parameters
            .get(who)
            .map_or(0, |parameters| parameters.loss_threshold(bytes));
        u64::from(self.rng.next_u32()) < below
    }
}
