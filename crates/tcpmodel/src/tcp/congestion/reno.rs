//! Reno congestion control: multiplicative decrease by the stack's factor, by default 0.5, and an increase of a
//! packet per round trip (RFC 5681).

use super::{AdditiveIncrease, Algorithm, Clock, MultiplicativeDecrease, Window};
use crate::Stack;

/// The state of Reno.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    increase: AdditiveIncrease,
    decrease: MultiplicativeDecrease,
}

impl Algorithm for Reno {
    fn new(stack: &Stack, _clock: Clock, _phase: f64) -> Self {
        Self {
            increase: AdditiveIncrease::default(),
            decrease: MultiplicativeDecrease::new(stack),
        }
    }

    fn on_congestion_event(&mut self, window: Window, _by_mark: bool) -> u32 {
        self.decrease.apply(window.cwnd)
    }

    fn on_rto(&mut self, _window: Window, _next: u32) {
        self.increase = AdditiveIncrease::default();
    }

    fn increase_window(&mut self, window: &mut Window, acked: u32, _now_ns: u64) {
        let acks_per_increment = self.decrease.acks_per_increment(window.cwnd);
        let acks_per_increment = acks_per_increment.round().max(1.0) as u32;
        self.increase
            .add(&mut window.cwnd, acks_per_increment, acked);
    }
}
