//! Options of a run: duration, seed, and model with its numerical settings.

use serde::{Deserialize, Serialize};

use crate::RunError;

/// All inputs of a run except the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Written", from = "Written")]
pub struct Options {
    /// Simulated time in seconds.
    pub duration_s: f64,
    /// Random seed.
    pub seed: u64,
    /// Model with its settings.
    pub model: Model,
}

/// Model of a network with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// Fluid model: differential equations of rates and queues; the default.
    Fluid(FluidOptions),
    /// Packet model: simulates every packet, and congestion windows.
    Packets(PacketOptions),
}

/// Name of a model in scenarios and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelName {
    /// Fluid model: conservative, backward Euler, pointwise-stationary M/M/1/K, and a queue model for windows
    /// at drop-tail queues.
    #[default]
    Fluid,
    /// Published equations, [`FluidOptions::Literal`].
    FluidLiteral,
    /// Packet model, [`Model::Packets`].
    #[serde(rename = "packet", alias = "packets", alias = "window")]
    Packets,
}

/// Variant of the fluid model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FluidOptions {
    /// Default variant. The congestion windows of TCP sources are state: they grow, and shrink once per round
    /// trip in which they lose packets. The profile gives their equilibrium.
    Standard {
        /// Time steps.
        step: Step,
    },
    /// Equations 4–7 of \[Prof\] as printed: the profile used directly, with the path at the start of the
    /// step, and fixed steps.
    Literal {
        /// Length of a step in seconds.
        step_s: f64,
    },
}

/// Settings of the packet model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketOptions {
    /// Length of a step in seconds. Results do not depend on it.
    pub step_s: f64,
    /// Interval over which arrivals are counted for their burstiness, in seconds.
    pub burstiness_interval_s: f64,
}

/// Time steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Automatic steps, limited by the network and by `longest_s`.
    ///
    /// A profile source requests 6 steps per round-trip time while its rate doubles per round trip, and 2 in
    /// steady state. The round-trip time includes the queueing delay. The step is the rate-weighted mean of
    /// the requests, and at most the shortest steady-state request.
    // Options of earlier versions can have error-controlled steps.
    #[serde(alias = "adaptive")]
    Auto {
        /// Longest step in seconds.
        #[serde(alias = "max_s")]
        longest_s: f64,
    },
    /// Fixed steps, shortened only to end at an event, even if the network requires shorter ones. They serve
    /// to compare step lengths.
    Fixed {
        /// Length of a step in seconds.
        step_s: f64,
    },
}

impl Model {
    /// Fluid model with default settings.
    pub const FLUID: Model = Model::Fluid(FluidOptions::Standard {
        step: Step::DEFAULT,
    });
    /// Packet model with default settings.
    pub const PACKETS: Model = Model::Packets(PacketOptions::DEFAULT);

    /// Returns the name in scenarios and results.
    pub fn name(&self) -> ModelName {
        match self {
            Model::Fluid(FluidOptions::Literal { .. }) => ModelName::FluidLiteral,
            Model::Fluid(FluidOptions::Standard { .. }) => ModelName::Fluid,
            Model::Packets(_) => ModelName::Packets,
        }
    }
}

impl FluidOptions {
    /// Returns the longest step in seconds.
    pub fn longest_step_s(&self) -> f64 {
        match *self {
            FluidOptions::Standard { step } => step.longest_s(),
            FluidOptions::Literal { step_s } => step_s,
        }
    }

    /// Checks the options for a run of `duration_s` seconds. Returns the length of a step in seconds.
    ///
    /// # Errors
    /// [`RunError::BadOption`] for options out of range.
    pub fn check(&self, duration_s: f64) -> Result<f64, RunError> {
        let bad = |option, reason: String| Err(RunError::BadOption { option, reason });
        let positive = |x: f64| x > 0.0 && x.is_finite();
        if !positive(duration_s) {
            let is = duration_s;
            return bad("duration", format!("it is {is} s, but must be positive"));
        }
        let step_s = match *self {
            FluidOptions::Standard {
                step: Step::Auto { longest_s },
            } => longest_s.min(duration_s),
            FluidOptions::Standard {
                step: Step::Fixed { step_s },
            } => step_s,
            FluidOptions::Literal { step_s } => step_s,
        };
        if !positive(step_s) {
            return bad("step", format!("it is {step_s} s, but must be positive"));
        }
        if step_s > duration_s {
            let reason = format!("it is {step_s} s, longer than the duration of {duration_s} s");
            return bad("step", reason);
        }
        Ok(step_s)
    }
}

impl PacketOptions {
    const DEFAULT: PacketOptions = PacketOptions {
        step_s: 0.05,
        burstiness_interval_s: 0.1,
    };

    /// Returns the approximate run time in seconds on one core of a current machine. Each packet counts once
    /// for every link at which it arrives.
    pub fn estimated_runtime_s(arrivals_pkts: f64) -> f64 {
        const ARRIVALS_PER_S: f64 = 1.5e7;
        arrivals_pkts / ARRIVALS_PER_S
    }
}

impl Step {
    const DEFAULT: Step = Step::auto(0.05);

    /// Returns automatic steps of at most this many seconds.
    pub const fn auto(longest_s: f64) -> Step {
        Step::Auto { longest_s }
    }

    /// Returns the longest step in seconds.
    pub fn longest_s(&self) -> f64 {
        match *self {
            Step::Auto { longest_s } => longest_s,
            Step::Fixed { step_s } => step_s,
        }
    }
}

impl Default for Step {
    /// Returns steps of at most 50 ms.
    fn default() -> Self {
        Step::DEFAULT
    }
}

impl Default for Model {
    fn default() -> Self {
        Model::FLUID
    }
}

impl Default for PacketOptions {
    /// Returns steps of 50 ms, with burstiness over 100 ms.
    fn default() -> Self {
        PacketOptions::DEFAULT
    }
}

impl From<FluidOptions> for Model {
    fn from(options: FluidOptions) -> Model {
        Model::Fluid(options)
    }
}

impl Default for Options {
    /// Returns 60 s with the default model.
    fn default() -> Self {
        Options {
            duration_s: 60.0,
            seed: 1,
            model: Model::default(),
        }
    }
}

impl Options {
    /// Returns the interval over which the packet model counts arrivals for their burstiness, in seconds.
    pub fn burstiness_interval_s(&self) -> f64 {
        match self.model {
            Model::Packets(packets) => packets.burstiness_interval_s,
            Model::Fluid(_) => PacketOptions::DEFAULT.burstiness_interval_s,
        }
    }
}

/// Serialized form of the options: separate settings, with defaults for those without effect.
#[derive(Serialize, Deserialize)]
struct Written {
    duration_s: f64,
    model: ModelName,
    step: Step,
    seed: u64,
    burstiness_interval_s: f64,
}

impl From<Options> for Written {
    fn from(options: Options) -> Written {
        Written {
            duration_s: options.duration_s,
            model: options.model.name(),
            step: match options.model {
                Model::Fluid(FluidOptions::Standard { step }) => step,
                Model::Fluid(FluidOptions::Literal { step_s }) => Step::auto(step_s),
                Model::Packets(packets) => Step::auto(packets.step_s),
            },
            seed: options.seed,
            burstiness_interval_s: options.burstiness_interval_s(),
        }
    }
}

impl From<Written> for Options {
    fn from(written: Written) -> Options {
        let step_s = written.step.longest_s();
        let model = match written.model {
            ModelName::Fluid => FluidOptions::Standard { step: written.step }.into(),
            ModelName::FluidLiteral => FluidOptions::Literal { step_s }.into(),
            ModelName::Packets => Model::Packets(PacketOptions {
                step_s,
                burstiness_interval_s: written.burstiness_interval_s,
            }),
        };
        Options {
            duration_s: written.duration_s,
            seed: written.seed,
            model,
        }
    }
}
