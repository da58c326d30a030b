//! What the user may set for a run.

use serde::{Deserialize, Serialize};

use crate::RunError;

/// Which equations move the queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Conservative, backward Euler, pointwise-stationary M/M/1/K: the default.
    #[default]
    Fluid,
    /// Equations 4–7 of \[Prof\] as printed. Always [`Transport::WellMixed`] and
    /// [`Coupling::Lagged`], with a fixed step.
    FluidLiteral,
    /// Packets and congestion windows: every packet is followed, in batches.
    Window,
}

impl Model {
    /// Roughly how many seconds [`Model::Window`] takes for a run in which so many packets arrive at
    /// links, each counted once at each of them: on one core of a present machine.
    pub fn window_takes_s(arrivals_pkts: f64) -> f64 {
        const ARRIVALS_PER_S: f64 = 1.5e7;
        arrivals_pkts / ARRIVALS_PER_S
    }
}

/// How time advances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// As long as the network allows, and shorter whenever it has to be. With [`Transport::Fifo`] a
    /// step is at most the given part of the shortest round-trip time that a source with a profile
    /// sees at the time, its queueing delay included; likewise with [`Coupling::Learned`]. With the
    /// other couplings, and with [`Model::FluidLiteral`], every step is the longest, whether the
    /// network allows it or not.
    Auto {
        /// Longest step in seconds.
        longest_s: f64,
        /// Steps in a round trip, at least.
        per_round_trip: f64,
    },
    /// Every step has this length in seconds (shorter only to land on an event), whether the
    /// network allows it or not: for comparisons of steps.
    Fixed {
        /// Length of a step in seconds.
        step_s: f64,
    },
    /// Steps as long as the tolerance allows. Needs [`Transport::WellMixed`].
    Adaptive {
        /// Allowed error of a queue per step, as a fraction of its length and at least of one packet.
        tolerance: f64,
        /// Shortest step in seconds.
        min_s: f64,
        /// Longest step in seconds.
        max_s: f64,
    },
}

/// How the mix of connections travels through queues and along links, and what sources learn of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// What departs has the mix of what arrived one waiting time ago, and reaches the next link
    /// after the link's delay. The source sees loss and round-trip time after the way back, learns
    /// its loss over its last losses, and grows at most as slow start does.
    #[default]
    Fifo,
    /// What departs has the mix of the whole queue, and reaches the next link at once (equation 7
    /// of \[Prof\]). Sources see the whole path as it is now.
    WellMixed,
}

/// What a source with a profile makes of its path, with [`Transport::WellMixed`]. (With
/// [`Transport::Fifo`] sources always learn, and this has no effect.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// It learns its loss over its last losses, after the way back, and grows and shrinks at most
    /// as a window does. Right at any of the steps of [`Step::Auto`].
    #[default]
    Learned,
    /// The profile at its word, at what the path is like at the start of the step: cheap, but
    /// sources and a fast queue can swing against each other from step to step, around a mean that
    /// is not the equilibrium.
    Lagged,
    /// The profile at its word, within the step: the sources whose first link this is are
    /// evaluated inside the link's scalar solve. Where that link is the bottleneck, the equilibrium
    /// is the true one at any step; where it lies further on, steps have to be short or adaptive,
    /// as with `Lagged`.
    Implicit,
}

/// Everything a run needs beside the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Simulated time in seconds.
    pub duration_s: f64,
    /// Which equations.
    pub model: Model,
    /// How time advances.
    pub step: Step,
    /// How the mix travels.
    pub transport: Transport,
    /// When a source looks at its path.
    pub coupling: Coupling,
    /// What anything random depends on.
    pub seed: u64,
    /// Over intervals of this many seconds arrivals are counted for their burstiness.
    pub burstiness_interval_s: f64,
}

impl Step {
    /// The longest step in seconds, and how many there are in a round trip, unless somebody says
    /// otherwise.
    pub const DEFAULT_AUTO: (f64, f64) = (0.05, 12.0);

    /// The longest step in seconds.
    pub fn longest_s(&self) -> f64 {
        match *self {
            Step::Auto { longest_s, .. } => longest_s,
            Step::Fixed { step_s } => step_s,
            Step::Adaptive { max_s, .. } => max_s,
        }
    }
}

impl Default for Step {
    fn default() -> Self {
        let (longest_s, per_round_trip) = Step::DEFAULT_AUTO;
        Step::Auto {
            longest_s,
            per_round_trip,
        }
    }
}

impl Default for Options {
    /// 60 s with the default model.
    fn default() -> Self {
        Options {
            duration_s: 60.0,
            model: Model::default(),
            step: Step::default(),
            transport: Transport::default(),
            coupling: Coupling::default(),
            seed: 1,
            burstiness_interval_s: 0.1,
        }
    }
}

impl Options {
    /// Whether fluids can be moved by them; the length of a step in seconds (the shortest, if steps
    /// adapt).
    ///
    /// # Errors
    /// [`RunError::BadOption`] for options out of range or that exclude each other.
    pub fn check(&self) -> Result<f64, RunError> {
        let bad = |option, reason: String| Err(RunError::BadOption { option, reason });
        let positive = |x: f64| x > 0.0 && x.is_finite();
        if !positive(self.duration_s) {
            let is = self.duration_s;
            return bad("duration", format!("it is {is} s, but must be positive"));
        }
        let step_s = match self.step {
            Step::Fixed { step_s } => step_s,
            Step::Auto {
                longest_s,
                per_round_trip,
            } => {
                if !(per_round_trip >= 1.0 && per_round_trip.is_finite()) {
                    return bad(
                        "step",
                        format!(
                            "{per_round_trip} steps in a round trip, but it must be at least 1"
                        ),
                    );
                }
                longest_s.min(self.duration_s)
            }
            Step::Adaptive {
                tolerance,
                min_s,
                max_s,
            } => {
                if !(positive(tolerance) && tolerance < 1.0) {
                    return bad(
                        "tolerance",
                        format!("it is {tolerance}, but must lie between 0 and 1"),
                    );
                }
                if !(positive(max_s) && min_s <= max_s) {
                    return bad(
                        "step",
                        format!("min {min_s} s and max {max_s} s are not in order"),
                    );
                }
                if self.model == Model::FluidLiteral {
                    return bad(
                        "step",
                        "fluid-literal takes steps of one length only".to_owned(),
                    );
                }
                if self.transport == Transport::Fifo {
                    return bad(
                        "transport",
                        "fifo needs steps of one length; adaptive steps need well-mixed".to_owned(),
                    );
                }
                min_s
            }
        };
        if !positive(step_s) {
            return bad("step", format!("it is {step_s} s, but must be positive"));
        }
        if step_s > self.duration_s {
            return bad(
                "step",
                format!(
                    "it is {step_s} s, longer than the duration of {} s",
                    self.duration_s
                ),
            );
        }
        if self.model == Model::FluidLiteral && self.transport == Transport::Fifo {
            return bad(
                "transport",
                "fluid-literal mixes well: its queues have no order".to_owned(),
            );
        }
        Ok(step_s)
    }
}
