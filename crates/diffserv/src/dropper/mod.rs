//! Droppers: which packets a queue refuses before it is full.

mod active_queue;
mod average;
mod curve;
mod red;
mod spec;
mod spread;

pub use active_queue::ActiveQueue;
pub use average::Relaxation;
pub use curve::Curve;
pub use red::{Early, RedAverage};
pub use spec::{Counting, Discipline, DropperSpec};
pub use spread::Spread;

use crate::{DropPrecedence, Error};
use curve::Slopes;

/// Random early detection with drop precedences: the definition behind [`ActiveQueue`] and its
/// expectation.
///
/// ```
/// use netflow_diffserv::{Discipline, DropPrecedence, Dropper, DropperSpec};
///
/// // Thresholds as in [Cond], in front of 10 Mbit/s for packets of 1024 B.
/// let service_pps = 10e6 / (8.0 * 1024.0);
/// let dropper = Dropper::new(DropperSpec::cond(Discipline::RioC, service_pps, 100))?;
///
/// // Red between its thresholds, yellow not yet.
/// assert!(dropper.drop_probability(DropPrecedence::Dp2, 20.0) > 0.1);
/// assert_eq!(dropper.drop_probability(DropPrecedence::Dp1, 20.0), 0.0);
/// # Ok::<(), netflow_diffserv::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dropper {
    spec: DropperSpec,
    slopes: [Slopes; 3],
}

/// What a queue is under in some time step, per precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Arriving packets of each precedence per second, the refused ones included.
    pub arrival_pps: [f64; 3],
    /// Mean number of packets of each precedence in the queue.
    pub queue_pkts: [f64; 3],
    /// The fraction of the time in which nothing is in what each precedence looks at: the whole
    /// queue with RED and WRED; packets of this precedence and lower ones with RIO-C; packets of
    /// this precedence with RIO-D.
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

    /// The settings.
    pub fn spec(&self) -> &DropperSpec {
        &self.spec
    }

    /// The fraction of the packets of this precedence that is refused in the long run while the
    /// average it looks at is `average_pkts` (in byte mode, of packets of the mean size). What a
    /// full buffer refuses comes on top.
    pub fn drop_probability(&self, precedence: DropPrecedence, average_pkts: f64) -> f64 {
        let marking = precedence.of(&self.slopes).probability(average_pkts);
        self.spec.spread.fraction(marking)
    }

    /// [`Dropper::drop_probability`] of every precedence, each with the average that it looks at.
    pub fn drop_probabilities(&self, average_pkts: [f64; 3]) -> [f64; 3] {
        DropPrecedence::ALL.map(|p| self.drop_probability(p, *p.of(&average_pkts)))
    }

    /// How the averages that the precedences look at move under this load within `step_s`
    /// seconds: their expectation over arrivals at random. For solvers that want the averages as
    /// functions of the queue at the end of the step, [`Dropper::relaxation`] has the parts.
    #[must_use]
    pub fn averages_after(&self, average_pkts: [f64; 3], load: &Load, step_s: f64) -> [f64; 3] {
        DropPrecedence::ALL.map(|p| {
            let seen = |parts: [f64; 3]| -> f64 {
                let held = DropPrecedence::ALL.into_iter();
                let held = held.filter(|&other| self.spec.discipline.holds(p, other));
                held.map(|other| *other.of(&parts)).sum()
            };
            self.relaxation(seen(load.arrival_pps), *p.of(&load.empty), step_s)
                .after(*p.of(&average_pkts), seen(load.queue_pkts))
        })
    }

    /// How an average moves within `step_s` seconds if `arrival_pps` packets per second arrive
    /// that it counts, and nothing that it counts is in the queue for the fraction `empty` of the
    /// time.
    pub fn relaxation(&self, arrival_pps: f64, empty: f64, step_s: f64) -> Relaxation {
        Relaxation::within(
            self.spec.weight,
            arrival_pps,
            empty * self.spec.service_pps,
            step_s,
        )
    }
}
