//! Link shared by transfers, in the packet model and in steady state.

use std::error::Error;

use netflow::prelude::*;
use netflow::scenario::{CompiledScenario, from_str};
use netflow::steady::{Solver, SteadyOptions, TransferTimes};

/// Size of a full packet in bits.
pub const PACKET_BITS: f64 = 12_000.0;
/// Payload of a full packet in bytes.
const PAYLOAD_BYTES: f64 = 1460.0;
/// Bandwidth of the access link relative to the shared link.
const ACCESS_SPEEDUP: f64 = 10.0;

/// Distribution of transfer sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    Exponential,
    Constant,
    /// Shape 1.5, up to 100 times the mean.
    Pareto,
    /// Sigma 1.5, up to 100 times the mean.
    LogNormal,
}

impl Sizes {
    /// All distributions.
    pub const ALL: [Sizes; 4] = [
        Sizes::Exponential,
        Sizes::Constant,
        Sizes::Pareto,
        Sizes::LogNormal,
    ];

    /// Returns the name in pages.
    pub fn name(self) -> &'static str {
        match self {
            Sizes::Exponential => "exponential",
            Sizes::Constant => "constant",
            Sizes::Pareto => "Pareto, shape 1.5",
            Sizes::LogNormal => "log-normal, sigma 1.5",
        }
    }

    /// Returns the scenario text with this mean before truncation.
    fn text(self, mean_bytes: f64) -> String {
        let most_bytes = 100.0 * mean_bytes;
        match self {
            Sizes::Exponential => format!(
                "{{ exponential = {{ mean = \"{mean_bytes} B\", most = \"{} B\" }} }}",
                20.0 * mean_bytes
            ),
            Sizes::Constant => format!("{{ constant = \"{mean_bytes} B\" }}"),
            Sizes::Pareto => format!(
                "{{ pareto = {{ shape = 1.5, min = \"{} B\", most = \"{most_bytes} B\" }} }}",
                mean_bytes / 3.0
            ),
            Sizes::LogNormal => format!(
                "{{ log-normal = {{ median = \"{} B\", sigma = 1.5, most = \"{most_bytes} B\" }} }}",
                mean_bytes * (-1.125_f64).exp()
            ),
        }
    }
}

/// Link with finite transfers.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Bandwidth-delay product in packets.
    pub bdp_pkts: f64,
    /// Round-trip time without queueing, in seconds.
    pub rtt_s: f64,
    /// Mean size of a transfer in packets.
    pub size_pkts: f64,
    /// Distribution of sizes.
    pub sizes: Sizes,
    /// Buffer size in packets.
    pub buffer_pkts: f64,
    /// Offered load as a fraction of the bandwidth.
    pub load: f64,
}

impl Link {
    pub fn bandwidth_bps(&self) -> f64 {
        self.bdp_pkts * PACKET_BITS / self.rtt_s
    }

    fn text(&self, transfers: f64, seed: u64) -> String {
        let bandwidth_bps = self.bandwidth_bps();
        let rate_bps = self.load * bandwidth_bps;
        let seconds = transfers * self.size_pkts * PACKET_BITS / rate_bps;
        let duration_s = seconds.max(60.0 * self.rtt_s) / 0.9;
        // The delay is in both directions, and 1 % of it on the access link.
        let delay_s = 0.5 * self.rtt_s;
        format!(
            "[simulation]\nduration = \"{duration_s} s\"\nwarmup = \"{} s\"\nseed = {seed}\n\n\
             [[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"{} bit/s\"\ndelay = \"{} s\"\n\n\
             [[link]]\nfrom = \"B\"\nto = \"C\"\nbandwidth = \"{bandwidth_bps} bit/s\"\ndelay = \"{} s\"\nbuffer = \"{} pkt\"\n\n\
             [[demand]]\nfrom = \"A\"\nto = \"C\"\nrate = \"{rate_bps} bit/s\"\n\
             size = {}\n",
            0.1 * duration_s,
            ACCESS_SPEEDUP * bandwidth_bps,
            0.01 * delay_s,
            0.99 * delay_s,
            self.buffer_pkts.round().max(2.0),
            self.sizes.text(PAYLOAD_BYTES * self.size_pkts),
        )
    }

    fn prepared(
        &self,
        transfers: f64,
        seed: u64,
        model: &str,
    ) -> Result<CompiledScenario, Box<dyn Error>> {
        let text = self.text(transfers, seed);
        let model = format!("simulation.model={model}");
        Ok(from_str("link.toml", &text, "".as_ref(), &[model])?)
    }

    /// Returns the mean time of `transfers` transfers in the packet model, in seconds.
    pub fn packet_model_time_s(&self, transfers: f64, seed: u64) -> Result<f64, Box<dyn Error>> {
        let prepared = self.prepared(transfers, seed, "packets")?;
        let evaluation = evaluate(&prepared, &Settings::default())?;
        let waits = evaluation.summary.workloads.iter().flat_map(|it| &it.waits);
        let file = waits.into_iter().find(|wait| wait.wait == "file");
        Ok(file.ok_or("nothing was transferred")?.times.mean_s)
    }

    /// Returns the transfer times of the steady state.
    pub fn steady_state_times(&self) -> Result<TransferTimes, Box<dyn Error>> {
        let prepared = self.prepared(1.0, 1, "fluid")?;
        let mut solver = Solver::new(&prepared.network, f64::INFINITY)?;
        let steady = solver.solve(&SteadyOptions::default())?;
        let all: Vec<_> = (prepared.demands.iter())
            .map(|it| (it.connection, &*it.transfers))
            .collect();
        let times = solver.transfer_times(&steady, &all);
        Ok(times[0].ok_or("nothing is transferred")?)
    }
}
