//! One link that transfers share, by packets and at rest.

use std::error::Error;

use netflow::prelude::*;
use netflow::scenario::{Prepared, from_str};
use netflow::steady::{Solver, SteadyOptions, TransferTimes};

/// Bits of a full packet.
pub const PACKET_BITS: f64 = 12_000.0;
/// Bytes of payload of one.
const PAYLOAD_BYTES: f64 = 1460.0;
/// Before it there is one that is so many times as fast.
const ACCESS: f64 = 10.0;

/// A link, and the transfers that come and go over it, exponentially distributed in size.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Packets that its way holds: bandwidth times the round trip without queues.
    pub way_pkts: f64,
    /// The round trip without queues, in seconds.
    pub rtt_s: f64,
    /// Packets of a mean transfer.
    pub size_pkts: f64,
    /// Its room in packets.
    pub room_pkts: f64,
    /// The part of the bandwidth that transfers ask for.
    pub load: f64,
}

impl Link {
    pub fn bandwidth_bps(&self) -> f64 {
        self.way_pkts * PACKET_BITS / self.rtt_s
    }

    fn text(&self, transfers: f64, seed: u64) -> String {
        let bandwidth_bps = self.bandwidth_bps();
        let rate_bps = self.load * bandwidth_bps;
        let seconds = transfers * self.size_pkts * PACKET_BITS / rate_bps;
        let duration_s = seconds.max(60.0 * self.rtt_s) / 0.9;
        let size_bytes = PAYLOAD_BYTES * self.size_pkts;
        // Both directions have the delay, and the fast link a hundredth of it.
        let delay_s = 0.5 * self.rtt_s;
        format!(
            "[simulation]\nduration = \"{duration_s} s\"\nwarmup = \"{} s\"\nseed = {seed}\n\n\
             [[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"{} bit/s\"\ndelay = \"{} s\"\n\n\
             [[link]]\nfrom = \"B\"\nto = \"C\"\nbandwidth = \"{bandwidth_bps} bit/s\"\ndelay = \"{} s\"\nbuffer = \"{} pkt\"\n\n\
             [[demand]]\nfrom = \"A\"\nto = \"C\"\nrate = \"{rate_bps} bit/s\"\n\
             size = {{ exponential = {{ mean = \"{size_bytes} B\", most = \"{} B\" }} }}\n",
            0.1 * duration_s,
            ACCESS * bandwidth_bps,
            0.01 * delay_s,
            0.99 * delay_s,
            self.room_pkts.round().max(2.0),
            20.0 * size_bytes,
        )
    }

    fn prepared(&self, transfers: f64, seed: u64, model: &str) -> Result<Prepared, Box<dyn Error>> {
        let text = self.text(transfers, seed);
        let model = format!("simulation.model={model}");
        Ok(from_str("link.toml", &text, "".as_ref(), &[model])?)
    }

    /// The mean time of so many transfers, packet by packet, in seconds.
    pub fn by_packets_s(&self, transfers: f64, seed: u64) -> Result<f64, Box<dyn Error>> {
        let prepared = self.prepared(transfers, seed, "packets")?;
        let evaluation = evaluate(&prepared, &Settings::default())?;
        let waits = evaluation.summary.workloads.iter().flat_map(|it| &it.waits);
        let file = waits.into_iter().find(|wait| wait.wait == "file");
        Ok(file.ok_or("nothing was transferred")?.times.mean_s)
    }

    /// What is told at rest.
    pub fn at_rest(&self) -> Result<TransferTimes, Box<dyn Error>> {
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
