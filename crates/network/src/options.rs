//! What the user may set for a run.

use serde::{Deserialize, Serialize};

use crate::RunError;

/// Everything a run needs beside the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Options {
    /// Simulated time in seconds.
    pub duration_s: f64,
    /// What anything random depends on.
    pub seed: u64,
    /// What moves the network, and how.
    pub model: Model,
}

/// What moves a network, with what can be set of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// Equations: the default.
    Fluid(FluidOptions),
    /// Packets and congestion windows: every packet is followed.
    Packets(PacketOptions),
}

/// The name of a model, as scenarios and results have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelName {
    /// Conservative, backward Euler, pointwise-stationary M/M/1/K, and windows' own law at drop-tail queues.
    #[default]
    Fluid,
    /// [`FluidOptions::Literal`].
    FluidLiteral,
    /// [`Model::Packets`].
    #[serde(rename = "window", alias = "packets")]
    Packets,
}

/// How fluids are moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FluidOptions {
    /// With [`Transport::Fifo`]; sources always learn.
    Fifo {
        /// How time advances.
        step: Step,
    },
    /// With [`Transport::WellMixed`].
    WellMixed {
        /// How time advances.
        step: Step,
        /// What a source makes of its path.
        coupling: Coupling,
    },
    /// With [`Transport::WellMixed`], and steps that are tried and compared.
    Adaptive {
        /// How long steps may be.
        step: Adaptive,
        /// What a source makes of its path.
        coupling: Coupling,
    },
    /// Equations 4–7 of \[Prof\] as printed: well mixed, the profile at its word, steps of one length.
    Literal {
        /// Length of a step in seconds.
        step_s: f64,
    },
}

/// How packets are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketOptions {
    /// How far one step goes, in seconds. Results do not depend on it.
    pub step_s: f64,
    /// Over intervals of this many seconds arrivals are counted for their burstiness.
    pub burstiness_interval_s: f64,
}

/// How time advances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// As long as the network allows, and shorter whenever it has to be. Where sources learn, one with a
    /// profile has this many steps in a round trip as it sees it at the time, its queueing delay
    /// included, twice as many while its rate doubles in each, and a third at rest; a step is the mean
    /// of what they want by their rates, and never longer than any of them wants at rest. With the
    /// other couplings every step is the longest, whether the network allows it or not.
    Auto {
        /// Longest step in seconds.
        longest_s: f64,
        /// Steps in a round trip.
        per_round_trip: f64,
    },
    /// Every step has this length in seconds (shorter only to land on an event), whether the
    /// network allows it or not: for comparisons of steps.
    Fixed {
        /// Length of a step in seconds.
        step_s: f64,
    },
}

/// Steps as long as the tolerance allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    /// Allowed error of a queue per step, as a fraction of its length and at least of one packet.
    pub tolerance: f64,
    /// Shortest step in seconds.
    pub min_s: f64,
    /// Longest step in seconds.
    pub max_s: f64,
}

/// How the mix of connections travels through queues and along links, and what sources learn of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// What departs has the mix of what arrived one queueing delay ago, and reaches the next link
    /// after the link's delay. The source sees loss and round-trip time after the way back, learns
    /// its loss over its last losses, and grows at most as slow start does.
    #[default]
    Fifo,
    /// What departs has the mix of the whole queue, and reaches the next link at once (equation 7
    /// of \[Prof\]). Sources see the whole path as it is now.
    WellMixed,
}

/// What a source with a profile makes of its path, with [`Transport::WellMixed`].
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

impl Model {
    /// Fluids with nothing said about how.
    pub const FLUID: Model = Model::Fluid(FluidOptions::Fifo {
        step: Step::DEFAULT,
    });
    /// Packets with nothing said about how.
    pub const PACKETS: Model = Model::Packets(PacketOptions::DEFAULT);

    /// What scenarios and results call it.
    pub fn name(&self) -> ModelName {
        match self {
            Model::Fluid(FluidOptions::Literal { .. }) => ModelName::FluidLiteral,
            Model::Fluid(_) => ModelName::Fluid,
            Model::Packets(_) => ModelName::Packets,
        }
    }
}

impl FluidOptions {
    /// Steps that do not adapt; the coupling has no effect with [`Transport::Fifo`].
    pub fn new(transport: Transport, coupling: Coupling, step: Step) -> FluidOptions {
        match transport {
            Transport::Fifo => FluidOptions::Fifo { step },
            Transport::WellMixed => FluidOptions::WellMixed { step, coupling },
        }
    }

    /// Whether sources with profiles learn, instead of taking the profile at its word.
    pub fn learns(&self) -> bool {
        match *self {
            FluidOptions::Fifo { .. } => true,
            FluidOptions::WellMixed { coupling, .. } | FluidOptions::Adaptive { coupling, .. } => {
                coupling == Coupling::Learned
            }
            FluidOptions::Literal { .. } => false,
        }
    }

    /// The longest step in seconds.
    pub fn longest_step_s(&self) -> f64 {
        match *self {
            FluidOptions::Fifo { step } | FluidOptions::WellMixed { step, .. } => step.longest_s(),
            FluidOptions::Adaptive { step, .. } => step.max_s,
            FluidOptions::Literal { step_s } => step_s,
        }
    }

    /// Whether a run of `duration_s` seconds can be moved so; the length of a step in seconds (the
    /// shortest, if steps adapt).
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
                            format!("{is} steps in a round trip, but it must be at least 1");
                        return bad("step", reason);
                    }
                    longest_s.min(duration_s)
                }
            },
            FluidOptions::Adaptive { step, .. } => {
                let Adaptive {
                    tolerance,
                    min_s,
                    max_s,
                } = step;
                if !(positive(tolerance) && tolerance < 1.0) {
                    let reason = format!("it is {tolerance}, but must lie between 0 and 1");
                    return bad("tolerance", reason);
                }
                if !(positive(max_s) && min_s <= max_s) {
                    let reason = format!("min {min_s} s and max {max_s} s are not in order");
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

    /// Roughly how many seconds a run takes in which so many packets arrive at links, each counted
    /// once at each of them: on one core of a present machine.
    pub fn takes_s(arrivals_pkts: f64) -> f64 {
        const ARRIVALS_PER_S: f64 = 1.5e7;
        arrivals_pkts / ARRIVALS_PER_S
    }
}

impl Step {
    const DEFAULT: Step = Step::auto(0.05);

    /// Steps of at most so many seconds, with twelve in a round trip.
    pub const fn auto(longest_s: f64) -> Step {
        Step::Auto {
            longest_s,
            per_round_trip: 12.0,
        }
    }

    /// The longest step in seconds.
    pub fn longest_s(&self) -> f64 {
        match *self {
            Step::Auto { longest_s, .. } => longest_s,
            Step::Fixed { step_s } => step_s,
        }
    }
}

impl Default for Step {
    /// Of at most 50 ms.
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
    /// Steps of 50 ms, burstiness over 100 ms.
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
    /// 60 s with the default model.
    fn default() -> Self {
        Options {
            duration_s: 60.0,
            seed: 1,
            model: Model::default(),
        }
    }
}

impl Options {
    /// Over intervals of this many seconds arrivals are counted for their burstiness, where packets
    /// are followed.
    pub fn burstiness_interval_s(&self) -> f64 {
        match self.model {
            Model::Packets(packets) => packets.burstiness_interval_s,
            Model::Fluid(_) => PacketOptions::DEFAULT.burstiness_interval_s,
        }
    }
}

/// Options as they are written: every setting by itself, those without effect at their defaults.
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
                Transport::Fifo => return Err("adaptive steps need transport well-mixed"),
            },
            (ModelName::FluidLiteral, WrittenStep::Plain(step)) => FluidOptions::Literal {
                step_s: step.longest_s(),
            }
            .into(),
            (ModelName::Packets, WrittenStep::Plain(step)) => Model::Packets(PacketOptions {
                step_s: step.longest_s(),
                burstiness_interval_s: written.burstiness_interval_s,
            }),
            (_, WrittenStep::Adaptive { .. }) => return Err("only model fluid has adaptive steps"),
        };
        Ok(Options {
            duration_s: written.duration_s,
            seed: written.seed,
            model,
        })
    }
}
