//! Options of a run: duration, seed, and model with its numerical settings.

use serde::{Deserialize, Serialize};

use crate::RunError;

/// All inputs of a run except the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
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
    /// [`Transport::Fifo`]; sources always estimate their loss.
    Fifo {
        /// Time steps.
        step: Step,
    },
    /// [`Transport::WellMixed`].
    WellMixed {
        /// Time steps.
        step: Step,
        /// Coupling of sources and path.
        coupling: Coupling,
    },
    /// [`Transport::WellMixed`] with error-controlled steps.
    Adaptive {
        /// Range and tolerance of the time steps.
        step: Adaptive,
        /// Coupling of sources and path.
        coupling: Coupling,
    },
    /// Equations 4–7 of \[Prof\] as printed: well mixed, the profile used directly, fixed steps.
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
    /// Automatic steps, limited by the network and by `longest_s`. They adapt only where sources estimate
    /// their loss; with the other couplings every step is the longest, even if the network requires shorter
    /// ones.
    ///
    /// A profile source requests `per_round_trip` steps per observed round-trip time, queueing delay
    /// included. It requests twice as many while its rate doubles per round trip, and a third in steady
    /// state. The step is the rate-weighted mean of the requests, and at most the shortest steady-state
    /// request.
    Auto {
        /// Longest step in seconds.
        longest_s: f64,
        /// Steps per round-trip time.
        per_round_trip: f64,
    },
    /// Fixed steps, shortened only to end at an event, even if the network requires shorter ones. They serve
    /// to compare step lengths.
    Fixed {
        /// Length of a step in seconds.
        step_s: f64,
    },
}

/// Error-controlled time steps, as long as the tolerance allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    /// Allowed error of a queue per step, relative to its length but at least to one packet.
    pub tolerance: f64,
    /// Shortest step in seconds.
    pub min_s: f64,
    /// Longest step in seconds.
    pub max_s: f64,
}

/// Transport of the mix of connections through queues and links, and the feedback to sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// First in, first out. Departures have the mix of the arrivals one queueing delay earlier, and reach the
    /// next link after the link's delay. The source receives loss and round-trip time after the return path.
    /// It estimates its loss from its last losses, and grows at most as in slow start.
    #[default]
    Fifo,
    /// Well mixed. Departures have the mix of the whole queue, and reach the next link at once (equation 7 of
    /// \[Prof\]). Sources see the current state of the whole path.
    WellMixed,
}

/// Coupling of a profile source to its path, with [`Transport::WellMixed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// Estimated loss. The source estimates its loss from its last losses, after the return path. It grows
    /// and shrinks at most as a window does. It is correct at any step of [`Step::Auto`].
    #[default]
    Learned,
    /// The profile used directly, with the path at the start of the step. It is fast, but sources and a short
    /// queue can oscillate from step to step. The mean of this oscillation is not the equilibrium.
    Lagged,
    /// The profile used directly, within the step. Sources whose first link this is are evaluated inside the
    /// link's scalar solve. If that link is the bottleneck, the equilibrium is exact at any step. For a later
    /// bottleneck, steps have to be short or adaptive, as with `Lagged`.
    Implicit,
    /// TCP windows as state. Windows grow, and shrink once per round trip in which they lose packets; the
    /// profile gives their equilibrium. With [`Step::Auto`], sources request half of `per_round_trip` steps per
    /// round trip in slow start, and a sixth in steady state.
    Windows,
}

impl Model {
    /// Fluid model with default settings.
    pub const FLUID: Model = Model::Fluid(FluidOptions::Fifo {
        step: Step::DEFAULT,
    });
    /// Packet model with default settings.
    pub const PACKETS: Model = Model::Packets(PacketOptions::DEFAULT);

    /// Returns the name in scenarios and results.
    pub fn name(&self) -> ModelName {
        match self {
            Model::Fluid(FluidOptions::Literal { .. }) => ModelName::FluidLiteral,
            Model::Fluid(_) => ModelName::Fluid,
            Model::Packets(_) => ModelName::Packets,
        }
    }
}

impl FluidOptions {
    /// Returns options with steps that are not adaptive; the coupling has no effect with [`Transport::Fifo`].
    pub fn new(transport: Transport, coupling: Coupling, step: Step) -> FluidOptions {
        match transport {
            Transport::Fifo => FluidOptions::Fifo { step },
            Transport::WellMixed => FluidOptions::WellMixed { step, coupling },
        }
    }

    /// Returns the coupling of profile sources to their paths.
    pub fn coupling(&self) -> Coupling {
        match *self {
            FluidOptions::Fifo { .. } => Coupling::Learned,
            FluidOptions::WellMixed { coupling, .. } | FluidOptions::Adaptive { coupling, .. } => {
                coupling
            }
            FluidOptions::Literal { .. } => Coupling::Lagged,
        }
    }

    /// Returns the longest step in seconds.
    pub fn longest_step_s(&self) -> f64 {
        match *self {
            FluidOptions::Fifo { step } | FluidOptions::WellMixed { step, .. } => step.longest_s(),
            FluidOptions::Adaptive { step, .. } => step.max_s,
            FluidOptions::Literal { step_s } => step_s,
        }
    }

    /// Checks the options for a run of `duration_s` seconds. Returns the length of a step in seconds, or the
    /// shortest if steps are adaptive.
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
            FluidOptions::Fifo { step } | FluidOptions::WellMixed { step, .. } => match step {
                Step::Fixed { step_s } => step_s,
                Step::Auto {
                    longest_s,
                    per_round_trip,
                } => {
                    if !(per_round_trip >= 1.0 && per_round_trip.is_finite()) {
                        let is = per_round_trip;
                        let reason =
                            format!("{is} steps per round trip, but it must be at least 1");
                        return bad("step", reason);
                    }
                    longest_s.min(duration_s)
                }
            },
            FluidOptions::Adaptive {
                coupling: Coupling::Windows,
                ..
            } => {
                let reason = "windows as state do not support adaptive steps".to_owned();
                return bad("coupling", reason);
            }
            FluidOptions::Adaptive { step, .. } => {
                let Adaptive {
                    tolerance,
                    min_s,
                    max_s,
                } = step;
                if !(positive(tolerance) && tolerance < 1.0) {
                    let reason = format!("it is {tolerance}, but must be between 0 and 1");
                    return bad("tolerance", reason);
                }
                if !(positive(max_s) && min_s <= max_s) {
                    let reason = format!(
                        "min {min_s} s must not exceed max {max_s} s, and max must be positive"
                    );
                    return bad("step", reason);
                }
                min_s
            }
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

    /// Returns automatic steps of at most this many seconds, with twelve per round-trip time.
    pub const fn auto(longest_s: f64) -> Step {
        Step::Auto {
            longest_s,
            per_round_trip: 12.0,
        }
    }

    /// Returns the longest step in seconds.
    pub fn longest_s(&self) -> f64 {
        match *self {
            Step::Auto { longest_s, .. } => longest_s,
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
    step: WrittenStep,
    transport: Transport,
    coupling: Coupling,
    seed: u64,
    burstiness_interval_s: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenStep {
    Plain(Step),
    Adaptive { adaptive: Adaptive },
}

impl From<Options> for Written {
    fn from(options: Options) -> Written {
        let (adaptive, plain) = (
            |adaptive| WrittenStep::Adaptive { adaptive },
            WrittenStep::Plain,
        );
        let (step, transport, coupling) = match options.model {
            Model::Fluid(FluidOptions::Fifo { step }) => {
                (plain(step), Transport::Fifo, Coupling::default())
            }
            Model::Fluid(FluidOptions::WellMixed { step, coupling }) => {
                (plain(step), Transport::WellMixed, coupling)
            }
            Model::Fluid(FluidOptions::Adaptive { step, coupling }) => {
                (adaptive(step), Transport::WellMixed, coupling)
            }
            Model::Fluid(FluidOptions::Literal { step_s }) => {
                let step = plain(Step::auto(step_s));
                (step, Transport::WellMixed, Coupling::Lagged)
            }
            Model::Packets(packets) => {
                let step = plain(Step::auto(packets.step_s));
                (step, Transport::default(), Coupling::default())
            }
        };
        Written {
            duration_s: options.duration_s,
            model: options.model.name(),
            step,
            transport,
            coupling,
            seed: options.seed,
            burstiness_interval_s: options.burstiness_interval_s(),
        }
    }
}

impl TryFrom<Written> for Options {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Options, &'static str> {
        let (transport, coupling) = (written.transport, written.coupling);
        let model = match (written.model, written.step) {
            (ModelName::Fluid, WrittenStep::Plain(step)) => {
                FluidOptions::new(transport, coupling, step).into()
            }
            (ModelName::Fluid, WrittenStep::Adaptive { adaptive: step }) => match transport {
                Transport::WellMixed => FluidOptions::Adaptive { step, coupling }.into(),
                Transport::Fifo => return Err("adaptive steps require transport well-mixed"),
            },
            (ModelName::FluidLiteral, WrittenStep::Plain(step)) => FluidOptions::Literal {
                step_s: step.longest_s(),
            }
            .into(),
            (ModelName::Packets, WrittenStep::Plain(step)) => Model::Packets(PacketOptions {
                step_s: step.longest_s(),
                burstiness_interval_s: written.burstiness_interval_s,
            }),
            (_, WrittenStep::Adaptive { .. }) => return Err("adaptive steps require model fluid"),
        };
        Ok(Options {
            duration_s: written.duration_s,
            seed: written.seed,
            model,
        })
    }
}
