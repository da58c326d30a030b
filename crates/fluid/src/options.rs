//! What the user may set for a run.

use serde::{Deserialize, Serialize};

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

/// How time advances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Every step has this length in seconds (shorter only to land on an event).
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

/// When a source looks at the path it sends over, with [`Transport::WellMixed`]. (With
/// [`Transport::Fifo`] it sees what was, and this has no effect.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// At the start of the step: cheaper, but sources and a fast queue can swing against each
    /// other from step to step, around a mean that is not the equilibrium.
    Lagged,
    /// Within the step: the sources whose first link this is are evaluated inside the link's
    /// scalar solve. Where that link is the bottleneck, the equilibrium is the true one at any
    /// step; where it lies further on, steps have to be short or adaptive, as with `Lagged`.
    #[default]
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

impl Default for Options {
    /// 60 s at 50 ms with the default model.
    fn default() -> Self {
        Options {
            duration_s: 60.0,
            model: Model::default(),
            step: Step::Fixed { step_s: 0.05 },
            transport: Transport::default(),
            coupling: Coupling::default(),
            seed: 1,
            burstiness_interval_s: 0.1,
        }
    }
}
