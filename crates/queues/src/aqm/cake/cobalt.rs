//! COBALT: CoDel (RFC 8289) and BLUE (Feng, Shin, Kandlur, Saha 2002) in parallel, as in Linux 6.18 (`sch_cake`).

use netflow_units::SplitMix64;

use crate::aqm::WaitingPacket;

/// Constants of COBALT, which depend on the bandwidth of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::aqm) struct CobaltSettings {
    /// Sojourn time in ns that may last.
    pub target_ns: u64,
    /// Time in ns for which the sojourn time may exceed the target.
    pub interval_ns: u64,
    /// Transmission time in ns of a packet of maximum size; 0 without a shaper.
    pub mtu_ns: u64,
}

/// Increase of the drop probability of BLUE at an overflow: 1/256, in units of 2⁻³².
pub(super) const BLUE_INCREASE: u32 = 1 << 24;

/// Decrease of the drop probability of BLUE at an empty queue: 1/4096, in units of 2⁻³².
pub(super) const BLUE_DECREASE: u32 = 1 << 20;

/// Reciprocal square roots of 0 to 15 in units of 2⁻³²: constants of Linux 6.18 (`inv_sqrt_cache`). The first two
/// represent 1.
const RECIPROCAL_ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// Returns a better reciprocal square root of `count`, in units of 2⁻³²: r·(3 − count·r²)/2.
fn newton_step(root: u32, count: u32) -> u32 {
    let square = (root as u64 * root as u64) >> 32;
    let rest = (3 << 32) - count as u64 * square;
    (((rest >> 2) * root as u64) >> 31) as u32
}

/// State of COBALT for one queue.
#[derive(Clone, Debug, Default)]
pub(in crate::aqm) struct Cobalt {
    /// Signals of CoDel in a row; it falls again after congestion.
    pub count: u32,
    /// Reciprocal square root of `count`, in units of 2⁻³².
    pub reciprocal_root: u32,
    /// Time of the next signal in ns, or end of the last activity.
    pub signal_next_ns: u64,
    /// Time of the last change of `drop_probability` in ns.
    pub blue_changed_ns: u64,
    /// Drop probability of BLUE, in units of 2⁻³².
    pub drop_probability: u32,
    /// True while the sojourn time exceeds the target.
    is_signalling: bool,
}

impl Cobalt {
    /// Updates the reciprocal root after a change of `count`.
    fn update_root(&mut self) {
        self.reciprocal_root = match RECIPROCAL_ROOTS.get(self.count as usize) {
            Some(&root) => root,
            None => newton_step(self.reciprocal_root, self.count),
        };
    }

    /// Returns the time of the signal that follows the one at `since_ns`: interval/√count later.
    fn next_signal(&self, since_ns: u64, settings: &CobaltSettings) -> u64 {
        let wait = (u128::from(settings.interval_ns) * u128::from(self.reciprocal_root)) >> 32;
        since_ns.saturating_add(wait as u64)
    }

    /// Returns true if a signal is due.
    fn is_due(&self, now_ns: u64) -> bool {
        self.count > 0 && now_ns >= self.signal_next_ns
    }

    /// Reduces `count` and moves the next signal accordingly.
    fn decay(&mut self, settings: &CobaltSettings) {
        self.count -= 1;
        self.update_root();
        self.signal_next_ns = self.next_signal(self.signal_next_ns, settings);
    }

    /// Returns true if BLUE may change its probability again.
    fn may_change_blue(&self, settings: &CobaltSettings, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.blue_changed_ns) > settings.target_ns
    }

    /// Records a drop because of a full buffer.
    pub fn record_overflow(&mut self, settings: &CobaltSettings, now_ns: u64) {
        if self.may_change_blue(settings, now_ns) {
            self.drop_probability = self.drop_probability.saturating_add(BLUE_INCREASE);
            self.blue_changed_ns = now_ns;
        }
        self.is_signalling = true;
        self.signal_next_ns = now_ns;
        self.count = self.count.max(1);
    }

    /// Records that the queue was empty at its turn.
    pub fn record_empty(&mut self, settings: &CobaltSettings, now_ns: u64) {
        if self.drop_probability > 0 && self.may_change_blue(settings, now_ns) {
            self.drop_probability = self.drop_probability.saturating_sub(BLUE_DECREASE);
            self.blue_changed_ns = now_ns;
        }
        self.is_signalling = false;
        if self.is_due(now_ns) {
            self.decay(settings);
        }
    }

    /// Returns true if the state equals that of a new queue in effect.
    pub fn is_at_rest(&self, now_ns: u64) -> bool {
        self.drop_probability == 0 && self.count == 0 && now_ns >= self.signal_next_ns
    }

    /// Decides on a packet that has left its queue: it may be marked. Returns true if it must be dropped.
    pub fn decide<P>(
        &mut self,
        settings: &CobaltSettings,
        now_ns: u64,
        packet: &mut WaitingPacket<P>,
        random: &mut SplitMix64,
    ) -> bool {
        let waited_ns = now_ns.saturating_sub(packet.arrived_ns);
        let is_late = waited_ns > settings.target_ns && waited_ns > 4 * settings.mtu_ns;
        let mut is_due = self.is_due(now_ns);
        // True after a signal time that has passed, which is checked before it moves.
        let mut is_past = now_ns > self.signal_next_ns;
        if is_late {
            if !self.is_signalling {
                self.signal_next_ns = self.next_signal(now_ns, settings);
            }
            self.count = self.count.max(1);
        }
        self.is_signalling = is_late;
        let mut is_dropped = false;
        if is_due && is_late {
            is_dropped = !packet.mark();
            self.count = self.count.saturating_add(1);
            self.update_root();
            self.signal_next_ns = self.next_signal(self.signal_next_ns, settings);
            is_past = now_ns > self.signal_next_ns;
        } else {
            while is_due {
                self.decay(settings);
                is_past = now_ns > self.signal_next_ns;
                is_due = self.is_due(now_ns);
            }
        }
        // BLUE drops ECN-capable packets, too.
        if self.drop_probability > 0 && !is_dropped {
            is_dropped = ((random.bits() >> 32) as u32) < self.drop_probability;
        }
        if self.count == 0 {
            self.signal_next_ns = now_ns.saturating_add(settings.interval_ns);
        } else if is_past && !is_dropped {
            self.signal_next_ns = now_ns;
        }
        is_dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to 15 the roots are exact. From 16 on, one Newton step follows them up and down within 0.2 %.
    #[test]
    fn roots_are_followed() {
        let mut cobalt = Cobalt::default();
        for count in (1..2000).chain((1..2000).rev()) {
            cobalt.count = count;
            cobalt.update_root();
            let root = f64::from(cobalt.reciprocal_root) / 4_294_967_296.0;
            let error = (root * f64::from(count).sqrt() - 1.0).abs();
            assert!(
                error < if count < 16 { 1e-9 } else { 2e-3 },
                "{count}: {error}"
            );
        }
    }
}
