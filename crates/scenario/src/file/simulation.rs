//! `[simulation]`

use netflow_document::{Quantity, Spanned, Table, keyword_enum, table};
use netflow_network::ModelName;
use netflow_units::Seconds;

use super::{ByteSize, EcmpSetting, OverheadSetting, StepSetting, Time, allowed};

/// Settings of the evaluation.
#[table(name = "simulation")]
pub struct Simulation {
    /// Simulated time.
    #[key(allowed = allowed::DURATION, example = "60 s", fallback = Quantity(Seconds(60.0)))]
    pub duration: Time,
    /// Warm-up: the initial part of a run that summaries leave out, because queues are still filling. `netflow
    /// run --from` overrides it. Time series cover the whole run. Default: 0 s.
    #[key(allowed = allowed::MOMENT, example = "10 s")]
    pub warmup: Option<Time>,
    /// Longest time step of the fluid model, or `"auto"`. Steps are derived from the round-trip times of the
    /// sources and never exceed the length that is accurate for them. Default: auto, which is at most 50 ms.
    #[key(example = "50 ms")]
    pub step: Option<Spanned<StepSetting>>,
    /// Size of a data packet with its IP header, for connections without their own `packet-size`. Rates in pkt/s
    /// and sizes in pkt refer to packets of this size. Default: 1500 B.
    #[key(allowed = allowed::PACKET_SIZE, example = "1500 B")]
    pub packet_size: Option<ByteSize>,
    /// Bytes added to each IP packet on the wire, for links without their own `overhead`. Default: none.
    #[key(example = "38 B")]
    pub overhead: Option<Spanned<OverheadSetting>>,
    /// Random seed. Random numbers depend on the seed and on the names of links and connections. They do not
    /// depend on order, threads or other settings: bursts stay the same if a buffer changes. Default: 1.
    #[key(example = 1)]
    pub seed: Option<Spanned<u64>>,
    /// Model of the queues. `fluid` (the default): conservative, stable at any step, M/M/1/K blocking.
    /// `fluid-literal`: the published equations without changes. `packet`: simulation of every packet, the
    /// default if a connection has an `ns2-tcp` or `tcp` source.
    #[key(example = "fluid")]
    pub model: Option<Spanned<ModelSetting>>,
    /// Fluid model: length of the measurement with which the packet model corrects queues, losses and rates. The
    /// packet model runs for twice this time first and measures in the second half. Every profile must belong to
    /// a TCP that the packet model supports: `ns-tahoe`, `ns-reno`, `ns-newreno`, `ns-vegas`, with `-w64` or
    /// without, `linux-reno`, `linux-cubic`. Default: no calibration.
    #[key(allowed = allowed::DURATION, example = "10 s")]
    pub calibrate: Option<Time>,
    /// True if TCP acknowledgements are traffic on the return path: 40 B each; 52 B for stacks with timestamps,
    /// and more with SACK blocks. Default: true.
    #[key(example = true)]
    pub acks: Option<Spanned<bool>>,
    /// Interval of the arrival counts from which burstiness is computed. Default: 100 ms.
    #[key(allowed = allowed::INTERVAL, example = "100 ms")]
    pub burstiness_interval: Option<Time>,
    /// Factor of the rates of all demands. Default: 1.
    #[key(allowed = allowed::SCALE, example = 1.5)]
    pub demand_scale: Option<Spanned<f64>>,
    /// Hour of the day at which demands with a `day` are evaluated, constant during the run. Default: none,
    /// demands have their given rates.
    #[key(allowed = allowed::HOUR, example = 20.5)]
    pub hour: Option<Spanned<f64>>,
    /// True to divide traffic among equal-cost paths (ECMP), equally at each hop; `"weighted"` to divide it in
    /// proportion to capacity (UCMP). A demand is divided over all paths. Each flow of a connection takes one path;
    /// the flows of a `count` or `flows` are spread over the paths. The parts of divided traffic are called `NAME/1`,
    /// `NAME/2` and so on. Default: false, all traffic takes the path with the fewest links.
    #[key(example = "weighted")]
    pub ecmp: Option<Spanned<EcmpSetting>>,
    /// Version of netflow for which the scenario was written, such as `"0.2"`. `netflow check` lists all defaults
    /// that changed since then.
    #[key(allowed = allowed::VERSION, example = "0.2")]
    pub written_for: Option<Spanned<String>>,
}

/// Model of the queues.
#[keyword_enum]
#[schemars(rename = "Model")]
pub enum ModelSetting {
    /// Fluid model: conservative, stable at any step, M/M/1/K blocking.
    Fluid,
    /// Published fluid equations without changes.
    FluidLiteral,
    /// The packet model: every packet and congestion window.
    Packet,
}

impl Default for Simulation {
    /// One minute with every setting at its default.
    fn default() -> Self {
        Simulation::stand_in()
    }
}

impl From<ModelSetting> for ModelName {
    fn from(name: ModelSetting) -> ModelName {
        match name {
            ModelSetting::Fluid => ModelName::Fluid,
            ModelSetting::FluidLiteral => ModelName::FluidLiteral,
            ModelSetting::Packet => ModelName::Packets,
        }
    }
}
