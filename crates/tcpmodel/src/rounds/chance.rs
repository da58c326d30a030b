//! What is left to chance in a transfer.

use rand::{Rng, RngExt};

/// What is left to chance in a transfer.
pub(super) trait Chance {
    /// Where a clock is at time 0, from 0 to 1.
    fn phase(&mut self) -> f64;

    /// Is the next packet lost that the opener (0) or the listener (1) sends, with so many bytes?
    fn is_lost(&mut self, who: usize, bytes: f64) -> bool;
}

/// Every packet is lost independently of all others.
pub(super) struct Independent<R> {
    rng: R,
    harms: [Harm; 2],
}

/// What is lost of the packets of one end.
#[derive(Clone, Copy)]
struct Harm {
    /// A packet is lost if 32 random bits are below.
    below: u64,
    /// ln(1 - loss), ln(1 - bit error rate): how certain it is that a packet, a bit arrives.
    ln_packet: f64,
    ln_bit: f64,
}

/// The random numbers there are.
const ALL: f64 = 4_294_967_296.0;

impl Harm {
    fn new(loss: f64, bit_error_rate: f64) -> Self {
        Self {
            below: (loss * ALL) as u64,
            ln_packet: libm::log1p(-loss),
            ln_bit: libm::log1p(-bit_error_rate),
        }
    }

    fn below(&self, bytes: f64) -> u64 {
        if self.ln_bit == 0.0 {
            return self.below;
        }
        (-libm::expm1(self.ln_packet + 8.0 * bytes * self.ln_bit) * ALL) as u64
    }
}

impl<R: Rng> Independent<R> {
    /// `loss` is the probability for packets of the opener and of the listener.
    pub(super) fn new(rng: R, loss: [f64; 2]) -> Self {
        Self {
            rng,
            harms: loss.map(|loss| Harm::new(loss, 0.0)),
        }
    }

    /// From now on, packets of an end are lost with this probability, or by an error in one of their
    /// bits.
    pub(super) fn set_harm(&mut self, who: usize, loss: f64, bit_error_rate: f64) {
        if let Some(harm) = self.harms.get_mut(who) {
            *harm = Harm::new(loss, bit_error_rate);
        }
    }
}

impl<R: Rng> Chance for Independent<R> {
    fn phase(&mut self) -> f64 {
        self.rng.random()
    }

    fn is_lost(&mut self, who: usize, bytes: f64) -> bool {
        let below = self.harms.get(who).map_or(0, |harm| harm.below(bytes));
        u64::from(self.rng.next_u32()) < below
    }
}
