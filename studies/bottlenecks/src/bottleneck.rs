//! Random links with TCP connections, and their results in each model.

use std::convert::Infallible;
use std::time::Instant;

use netflow::prelude::Run as _;
use netflow::scenario;
use netflow::simulation::{Interval, Recorder, Simulation};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Ranges of the links: bandwidth in Mbit/s, round-trip time in ms, buffer in bandwidth-delay products, connections.
const BANDWIDTHS_MBPS: (f64, f64) = (1.0, 1e4);
const RTTS_MS: (f64, f64) = (2.0, 300.0);
const BUFFERS_BDP: (f64, f64) = (0.25, 4.0);
const CONNECTIONS: (f64, f64) = (1.0, 100.0);

/// Smallest buffer in packets.
const MIN_BUFFER_PKTS: f64 = 4.0;

const DURATION_S: f64 = 60.0;
const INTERVAL_S: f64 = 5.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tcp {
    NsReno,
    LinuxCubic,
}

impl Tcp {
    pub const ALL: [Tcp; 2] = [Tcp::NsReno, Tcp::LinuxCubic];

    fn profile(self) -> &'static str {
        match self {
            Tcp::NsReno => "ns-reno",
            Tcp::LinuxCubic => "linux-cubic",
        }
    }

    fn packet_bytes(self) -> f64 {
        match self {
            Tcp::NsReno => 1000.0,
            Tcp::LinuxCubic => 1500.0,
        }
    }
}

/// Link with equal connections.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    pub tcp: Tcp,
    bandwidth_mbps: f64,
    rtt_ms: f64,
    pub buffer_pkts: f64,
    connections: u32,
}

#[derive(Clone, Copy, Debug)]
pub enum Model {
    Packets { seed: u64 },
    Fluid,
}

/// Results of a run over its whole duration.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub utilization: f64,
    pub queue_pkts: f64,
    pub lost_pkts: f64,
    /// Packets delivered in each interval.
    pub delivered_pkts: Vec<f64>,
    pub wall_time_s: f64,
}

impl Run {
    pub fn mean_with(&self, other: &Run) -> Run {
        let mean = |a: f64, b: f64| 0.5 * (a + b);
        let delivered = self.delivered_pkts.iter().zip(&other.delivered_pkts);
        Run {
            utilization: mean(self.utilization, other.utilization),
            queue_pkts: mean(self.queue_pkts, other.queue_pkts),
            lost_pkts: mean(self.lost_pkts, other.lost_pkts),
            delivered_pkts: delivered.map(|(&a, &b)| mean(a, b)).collect(),
            wall_time_s: mean(self.wall_time_s, other.wall_time_s),
        }
    }
}

struct NoRecorder;

impl Recorder for NoRecorder {
    type Error = Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Bottleneck {
    /// Draws a link; all quantities are log-uniform.
    pub fn draw(rng: &mut ChaCha8Rng, tcp: Tcp) -> Bottleneck {
        let mut between = |(least, most): (f64, f64)| rng.random_range(least.ln()..most.ln()).exp();
        let (bandwidth_mbps, rtt_ms) = (between(BANDWIDTHS_MBPS), between(RTTS_MS));
        let bdp_pkts = bandwidth_mbps * 1e3 * rtt_ms / (8.0 * tcp.packet_bytes());
        Bottleneck {
            tcp,
            bandwidth_mbps,
            rtt_ms,
            buffer_pkts: (between(BUFFERS_BDP) * bdp_pkts)
                .round()
                .max(MIN_BUFFER_PKTS),
            connections: between(CONNECTIONS).round() as u32,
        }
    }

    fn scenario(&self, model: Model) -> String {
        let (settings, seed) = match model {
            Model::Packets { seed } => ("model = \"packet\"", seed),
            Model::Fluid => ("", 1),
        };
        format!(
            "[simulation]\nduration = \"{DURATION_S} s\"\npacket-size = \"{} B\"\nseed = {seed}\n{settings}\n\n\
             [[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"{:.4} Mbit/s\"\ndelay = \"{:.4} ms\"\nbuffer = \"{} pkt\"\n\n\
             [[connection]]\nname = \"c\"\nfrom = \"A\"\nto = \"B\"\ncount = {}\nsource = {{ profile = \"{}\" }}\n",
            self.tcp.packet_bytes(),
            self.bandwidth_mbps,
            0.5 * self.rtt_ms,
            self.buffer_pkts,
            self.connections,
            self.tcp.profile(),
        )
    }

    /// Runs the link in one model.
    pub fn run(&self, model: Model) -> Result<Run, String> {
        let text = self.scenario(model);
        let prepared = scenario::from_str("bottleneck.toml", &text, "".as_ref(), &[])
            .map_err(|problems| format!("{text}\n{problems}"))?;
        let begun = Instant::now();
        let mut simulation =
            Simulation::new(prepared.network, prepared.options).map_err(|e| e.to_string())?;
        let network = simulation.network().clone();
        let delivered_pkts = |simulation: &Simulation| -> f64 {
            let counts = network
                .connections()
                .map(|id| simulation.engine().connection_counts(id));
            counts.map(|it| it.arrived_pkts).sum()
        };
        let mut run = Run::default();
        let mut before_pkts = 0.0;
        for i in 1..=(DURATION_S / INTERVAL_S) as u32 {
            simulation
                .run_until(f64::from(i) * INTERVAL_S, &mut NoRecorder, || false)
                .map_err(|e| e.to_string())?;
            let now_pkts = delivered_pkts(&simulation);
            run.delivered_pkts.push(now_pkts - before_pkts);
            before_pkts = now_pkts;
        }
        run.wall_time_s = begun.elapsed().as_secs_f64();
        let Some(link) = network.links().next() else {
            return Err("the network has no link".to_owned());
        };
        let sums = simulation.engine().link_sums(link);
        run.utilization = sums.busy_s / DURATION_S;
        run.queue_pkts = sums.queue_time / DURATION_S;
        run.lost_pkts = sums.lost_pkts;
        Ok(run)
    }
}
