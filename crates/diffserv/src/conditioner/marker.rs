//! Packet-by-packet marker of a conditioner.

use super::marking_rule::MarkingRule;
use super::{Conditioner, Inputs};
use crate::meter::Tsw;
use crate::random::{Purpose, Random};
use crate::{DropPrecedence, Error};

/// Marker of the packets of one aggregate by its [`Conditioner`].
///
/// ```
/// use netflow_diffserv::{Conditioner, ConditionerSpec, DropPrecedence, Kind, GivenInputs, Marker};
///
/// let spec = ConditionerSpec::new(Kind::Standard, 2e6, Some(3e6));
/// let conditioner = Conditioner::new(spec)?;
/// let mut marker = Marker::new(conditioner, &GivenInputs::default(), 0, 1)?;
///
/// // 1024 B every 10 ms are 0.8 Mbit/s, all of which is committed.
/// for i in 0..1000 {
///     assert_eq!(marker.mark(i * 10_000_000, 1024, None), DropPrecedence::Dp0);
/// }
/// # Ok::<(), netflow_diffserv::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Marker {
    conditioner: Conditioner,
    rule: MarkingRule,
    /// Window in packets below which a packet is protected; 0 protects no packet.
    protected_pkts: f64,
    meter: Tsw,
    random: Random,
}

impl Marker {
    /// Returns a marker that starts at `start_ns`. Its rate estimator starts at the committed rate (RFC 2859
    /// §3). The same seed gives the same random numbers on every platform.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if the kind needs a time that `inputs` does not have; [`Error::OutOfRange`] for one
    /// that is not positive.
    pub fn new(
        conditioner: Conditioner,
        inputs: &(impl Inputs + ?Sized),
        start_ns: u64,
        seed: u64,
    ) -> Result<Marker, Error> {
        let spec = conditioner.spec();
        let protected_pkts = if spec.kind.protects_small_windows() {
            spec.small_window_pkts
        } else {
            0.0
        };
        Ok(Marker {
            rule: MarkingRule::of(spec, inputs)?,
            protected_pkts,
            meter: Tsw::starting(spec.committed_bps, spec.interval_s, start_ns),
            random: Random::new(seed, Purpose::Marking),
            conditioner,
        })
    }

    /// Replaces the inputs.
    ///
    /// # Errors
    ///
    /// Those of [`Marker::new`]; the previous inputs then remain.
    pub fn set_inputs(&mut self, inputs: &(impl Inputs + ?Sized)) -> Result<(), Error> {
        self.rule = MarkingRule::of(self.conditioner.spec(), inputs)?;
        Ok(())
    }

    /// Replaces the conditioner. The measured rate and its averaging interval remain.
    ///
    /// # Errors
    ///
    /// Those of [`Marker::new`]; everything then remains unchanged.
    pub fn set_conditioner(
        &mut self,
        conditioner: Conditioner,
        inputs: &(impl Inputs + ?Sized),
    ) -> Result<(), Error> {
        self.rule = MarkingRule::of(conditioner.spec(), inputs)?;
        self.conditioner = conditioner;
        Ok(())
    }

    /// Returns the precedence of a packet of `bytes` bytes that arrives now. `window_pkts` is the congestion
    /// window of its connection, if known; a small window may protect the packet.
    ///
    /// A time before that of the last packet is replaced by that of the last packet.
    #[inline]
    pub fn mark(&mut self, now_ns: u64, bytes: u32, window_pkts: Option<f64>) -> DropPrecedence {
        let u = self.random.uniform();
        self.mark_at(now_ns, bytes, window_pkts, u)
    }

    #[inline]
    fn mark_at(
        &mut self,
        now_ns: u64,
        bytes: u32,
        window_pkts: Option<f64>,
        u: f64,
    ) -> DropPrecedence {
        // A protected packet counts in the measured rate, too.
        let rate_bps = self.meter.packet(now_ns, bytes);
        match window_pkts {
            Some(window) if window < self.protected_pkts => DropPrecedence::Dp0,
            _ => self.rule.apply(rate_bps).sample(u),
        }
    }

    /// Returns the measured rate in bit/s after the last packet.
    pub fn measured_bps(&self) -> f64 {
        self.meter.average_bps()
    }
}

#[cfg(test)]
mod tests {
    use super::Marker;
    use crate::{Conditioner, ConditionerSpec, GivenInputs, Kind};

    /// Rows of `tests/reference/math/tsw3cm.csv` in the repository root: time, bytes, the estimate, the
    /// probabilities, the random number u and the resulting colour.
    #[test]
    fn tsw3cm_matches_an_independent_program() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/reference/math/tsw3cm.csv"
        );
        let mut spec = ConditionerSpec::new(Kind::Standard, 8.0 * 1000.0, Some(8.0 * 2000.0));
        spec.interval_s = 1.0;
        let conditioner = Conditioner::new(spec).unwrap();
        let mut marker = Marker::new(conditioner.clone(), &GivenInputs::default(), 0, 0).unwrap();
        let mut rows = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_path(path)
            .unwrap();
        let mut count = 0;
        for row in rows.records() {
            let row = row.unwrap();
            let number = |i: usize| row[i].parse::<f64>().unwrap();
            let now_ns = (number(0) * 1e9).round() as u64;
            let bytes = row[1].parse().unwrap();
            let colour = marker.mark_at(now_ns, bytes, None, number(6));
            assert_eq!(marker.measured_bps(), 8.0 * number(2), "row {count}");
            let f = conditioner
                .fractions(marker.measured_bps(), &GivenInputs::default())
                .unwrap();
            for (found, wanted) in f.to_array().into_iter().zip([3, 4, 5].map(number)) {
                assert!((found - wanted).abs() < 1e-15, "row {count}: {f:?}");
            }
            assert_eq!(*colour.of(&["G", "Y", "R"]), &row[7], "row {count}");
            count += 1;
        }
        assert_eq!(count, 40);
    }
}
