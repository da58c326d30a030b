//! Droppers: random early detection with drop precedences (RED, RIO, WRED).

mod curve;
mod diffserv_queue;
mod drop_spacing;
mod ewma;
mod red;
mod spec;

pub use curve::Curve;
pub use diffserv_queue::DiffServQueue;
pub use drop_spacing::DropSpacing;
pub use ewma::EwmaStep;
pub use red::{RedAverage, RedDecision};
pub use spec::{Counting, Discipline, DropperSpec};

use crate::{DropPrecedence, Error};
use curve::Slopes;

/// Random early detection with drop precedences: the definition of [`DiffServQueue`] and of its expected
/// averages and drop probabilities.
///
/// ```
/// use netflow_diffserv::{Discipline, DropPrecedence, Dropper, DropperSpec};
///
/// // Thresholds as in [Cond], at a link of 10 Mbit/s with packets of 1024 B.
/// let service_pps = 10e6 / (8.0 * 1024.0);
/// let dropper = Dropper::new(DropperSpec::habib_2002(Discipline::RioC, service_pps, 100))?;
///
/// // DP2 (red) is between its thresholds, and DP1 (yellow) is below them.
/// assert!(dropper.drop_probability(DropPrecedence::Dp2, 20.0) > 0.1);
/// assert_eq!(dropper.drop_probability(DropPrecedence::Dp1, 20.0), 0.0);
/// # Ok::<(), netflow_diffserv::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dropper {
    spec: DropperSpec,
    slopes: [Slopes; 3],
}

/// Load of a queue in a time step, per precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueLoad {
    /// Arrival rate of each precedence in packets/s, including dropped packets.
    pub arrival_pps: [f64; 3],
    /// Mean number of packets of each precedence in the queue.
    pub queue_pkts: [f64; 3],
    /// Fraction of the time without packets in the average queue of each precedence. That is the whole queue
    /// with RED and WRED, packets of this precedence and lower ones with RIO-C, and packets of this
    /// precedence with RIO-D.
    pub empty: [f64; 3],
}

impl Dropper {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`]; [`Error::Thresholds`] if an upper threshold is not above its lower
    /// one; [`Error::PrecedenceOrder`] if a higher precedence would be dropped less than a lower
    /// one.
    pub fn new(spec: DropperSpec) -> Result<Dropper, Error> {
        spec.check()?;
        let slopes = spec.curves_in_use().map(|curve| curve.slopes(spec.gentle));
        Ok(Dropper { spec, slopes })
    }

    /// Returns the settings.
    pub fn spec(&self) -> &DropperSpec {
        &self.spec
    }

    /// Returns the long-run fraction of packets of this precedence that is dropped at an average queue of
    /// `average_pkts` (mean packets in byte mode). Drops by a full buffer are not included.
    pub fn drop_probability(&self, precedence: DropPrecedence, average_pkts: f64) -> f64 {
        let marking = precedence.of(&self.slopes).probability(average_pkts);
        self.spec.spread.fraction(marking)
    }

    /// Returns [`Dropper::drop_probability`] of every precedence, each with its own average.
    pub fn drop_probabilities(&self, average_pkts: [f64; 3]) -> [f64; 3] {
        DropPrecedence::ALL.map(|p| self.drop_probability(p, *p.of(&average_pkts)))
    }

    /// Returns the expected averages after `step_s` seconds under this load with random arrivals. Solvers
    /// that need the averages as functions of the queue at the end of the step can use
    /// [`Dropper::average_step`].
    #[must_use]
    pub fn averages_after(
        &self,
        average_pkts: [f64; 3],
        load: &QueueLoad,
        step_s: f64,
    ) -> [f64; 3] {
        DropPrecedence::ALL.map(|p| {
            let seen = |parts: [f64; 3]| -> f64 {
                let held = DropPrecedence::ALL.into_iter();
                let held = held.filter(|&other| self.spec.discipline.counts(p, other));
                held.map(|other| *other.of(&parts)).sum()
            };
            self.average_step(seen(load.arrival_pps), *p.of(&load.empty), step_s)
                .after(*p.of(&average_pkts), seen(load.queue_pkts))
        })
    }

    /// Returns the expected update of an average over `step_s` seconds. `arrival_pps` counts only arrivals in
    /// this average, and `empty` is the fraction of the time without such packets in the queue.
    pub fn average_step(&self, arrival_pps: f64, empty: f64, step_s: f64) -> EwmaStep {
        EwmaStep::over_step(
            self.spec.weight,
            arrival_pps,
            empty * self.spec.service_pps,
            step_s,
        )
    }
}
