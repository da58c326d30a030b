//! `[simulation]`

use netflow_document::{Quantity, Spanned, Table, table, words};
use netflow_network::{Coupling, ModelName, Transport};
use netflow_units::Seconds;

use super::{ByteSize, OverheadSetting, StepSetting, Time, allowed};

/// How to evaluate the network.
#[table(name = "simulation")]
pub struct Simulation {
    /// How long the network is watched.
    #[key(allowed = allowed::DURATION, example = "60 s", fallback = Quantity(Seconds(60.0)))]
    pub duration: Time,
    /// From when on a run is summarized, so that means are not of an empty network that fills. `netflow
    /// run --from` says otherwise; series are of the whole run. Default: 0 s.
    #[key(allowed = allowed::MOMENT, example = "10 s")]
    pub warmup: Option<Time>,
    /// The longest step, `"auto"`, or a table for steps that adapt. Steps are chosen from the
    /// round-trip times that sources see, and never longer than is right. Default: auto, which is
    /// 50 ms at most.
    #[key(example = "50 ms")]
    pub step: Option<Spanned<StepSetting>>,
    /// Size of a data packet, with its IP header, for connections that do not say; rates in pkt/s and
    /// sizes in pkt count packets of this size. Default: 1500 B.
    #[key(allowed = allowed::PACKET_SIZE, example = "1500 B")]
    pub packet_size: Option<ByteSize>,
    /// Bytes of each packet on the wire beyond those of IP, on links without `overhead`. Default: none.
    #[key(example = "38 B")]
    pub overhead: Option<Spanned<OverheadSetting>>,
    /// Anything random depends on it, and on the names of links and connections: not on their order nor on threads,
    /// and not on other settings, so that bursts stay the same while a buffer changes. Default: 1.
    #[key(example = 1)]
    pub seed: Option<Spanned<u64>>,
    /// Which equations move the queues. `fluid` (the default): conservative, stable at any step,
    /// M/M/1/K blocking. `fluid-literal`: the paper's equations to the letter. `window`, or
    /// `packets`: congestion windows and packets, the default once a connection has a window source.
    #[key(example = "fluid")]
    pub model: Option<Spanned<ModelSetting>>,
    /// Fluids: packets are followed for twice as long first, watched in the second half, and what they show of queues, losses and rates corrects the
    /// fluid. Every profile must be that of a TCP that packets know: `ns-tahoe`, `ns-reno`, `ns-newreno`, `ns-vegas`, with
    /// `-w64` or without, `linux-reno`, `linux-cubic`. Default: nothing is calibrated.
    #[key(allowed = allowed::DURATION, example = "10 s")]
    pub calibrate: Option<Time>,
    /// Whether TCP acknowledgements are traffic, on the way back: 40 B each; of stacks with timestamps 52 B, and more with SACK blocks. Default: true.
    #[key(example = true)]
    pub acks: Option<Spanned<bool>>,
    /// How the mix of connections travels. `fifo`: what departs from a queue is what arrived one
    /// waiting time ago, and it reaches the next link after the link's delay. `well-mixed`: what
    /// departs has the mix of the whole queue and reaches the next link at once. Default: fifo;
    /// with adaptive steps and with `fluid-literal`, well-mixed is the only one.
    #[key(example = "fifo")]
    pub transport: Option<Spanned<TransportSetting>>,
    /// With `well-mixed`: what a source with a profile makes of its path. `learned`: it learns its
    /// loss over its last losses, after the way back, as with `fifo`. `implicit`: the profile at its
    /// word, within the step, together with its first link. `lagged`: the same at the start of the
    /// step. Default: learned; with adaptive steps implicit, with `fluid-literal` lagged.
    #[key(example = "learned")]
    pub coupling: Option<Spanned<CouplingSetting>>,
    /// Interval over which arrivals are counted for their burstiness. Default: 100 ms.
    #[key(allowed = allowed::INTERVAL, example = "100 ms")]
    pub burstiness_interval: Option<Time>,
    /// Every demand is so many times what it says. Default: 1.
    #[key(allowed = allowed::SCALE, example = 1.5)]
    pub demand_scale: Option<Spanned<f64>>,
    /// At which hour demands with a `day` are looked at; it is the same during the whole run. Default: none, their
    /// rates are what they say.
    #[key(allowed = allowed::HOUR, example = 20.5)]
    pub hour: Option<Spanned<f64>>,
    /// Whether traffic is shared among paths of equal cost, each hop alike: a demand sends its share over each; of
    /// connections each flow takes one, of `count` flows some this and some that. Where something is on several
    /// paths, `NAME/1`, `NAME/2` and so on are its parts. Default: false, all takes the path with the fewest links.
    #[key(example = true)]
    pub ecmp: Option<Spanned<bool>>,
    /// The version of netflow that it was written for, such as `"0.2"`: `netflow check` names every
    /// default that changed since.
    #[key(allowed = allowed::VERSION, example = "0.2")]
    pub written_for: Option<Spanned<String>>,
}

/// Which equations move the queues.
#[words]
#[schemars(rename = "Model")]
pub enum ModelSetting {
    /// The fluid model: conservative, stable at any step, M/M/1/K blocking.
    Fluid,
    /// The paper's equations to the letter.
    FluidLiteral,
    /// The packet model: every packet and congestion window.
    #[key(also = "packets", also = "window")]
    Packet,
}

/// How the mix of connections travels.
#[words]
#[schemars(rename = "Transport")]
pub enum TransportSetting {
    /// In the order of arrival.
    Fifo,
    /// Mixed in every queue.
    WellMixed,
}

/// What a source makes of its path.
#[words]
#[schemars(rename = "Coupling")]
pub enum CouplingSetting {
    /// It learns its loss over its last losses.
    Learned,
    /// The profile at its word, within the step.
    Implicit,
    /// The profile at its word, at the start of the step.
    Lagged,
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

impl From<TransportSetting> for Transport {
    fn from(name: TransportSetting) -> Transport {
        match name {
            TransportSetting::Fifo => Transport::Fifo,
            TransportSetting::WellMixed => Transport::WellMixed,
        }
    }
}

impl From<CouplingSetting> for Coupling {
    fn from(name: CouplingSetting) -> Coupling {
        match name {
            CouplingSetting::Learned => Coupling::Learned,
            CouplingSetting::Implicit => Coupling::Implicit,
            CouplingSetting::Lagged => Coupling::Lagged,
        }
    }
}
