//! Round-trip time of one connection whose link becomes slower: scenario 2 of the published measurements.

use std::convert::Infallible;
use std::fmt::Write;

use netflow::simulation::{Interval, Recorder};
use rayon::prelude::*;

use crate::{simulation, source};

/// Time of the step and duration of the run in seconds.
const STEP_S: f64 = 30.0;
const DURATION_S: f64 = 80.0;
/// Interval over which RTTs are averaged, in seconds.
const RECORDING_INTERVAL_S: f64 = 0.1;
/// RTT in seconds from which the spike lasts: 40 ms more than that without a queue.
const SPIKE_RTT_S: f64 = 0.12;

/// Case of the measurements, with its published text.
struct Step {
    tcp: &'static str,
    after_mbps: f64,
    published: &'static str,
}

const STEPS: [Step; 5] = [
    Step {
        tcp: "prague",
        after_mbps: 25.0,
        published: "about 100 ms more, for about 5 s",
    },
    Step {
        tcp: "cubic-ecn",
        after_mbps: 25.0,
        published: "a brief spike",
    },
    Step {
        tcp: "prague",
        after_mbps: 5.0,
        published: "figure only",
    },
    Step {
        tcp: "prague",
        after_mbps: 1.0,
        published: "4346 ms at most, over 30 s",
    },
    Step {
        tcp: "cubic-ecn",
        after_mbps: 1.0,
        published: "figure only",
    },
];

/// RTTs after the step: the largest mean of a recording interval, and the time above [`SPIKE_RTT_S`].
#[derive(Clone, Copy, Debug, Default)]
struct Spike {
    largest_rtt_s: f64,
    duration_s: f64,
}

impl Recorder for Spike {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        let mut connections = interval.network.connections();
        let rtt_s = connections.find_map(|id| interval.connection(id).rtt_s);
        if let Some(rtt_s) = rtt_s
            && interval.time_s > STEP_S
        {
            self.largest_rtt_s = self.largest_rtt_s.max(rtt_s);
            if rtt_s > SPIKE_RTT_S {
                self.duration_s += interval.length_s;
            }
        }
        Ok(())
    }
}

impl Step {
    fn scenario(&self) -> String {
        format!(
            "[simulation]\nduration = \"{DURATION_S} s\"\nmodel = \"packet\"\n\n\
             [[link]]\nfrom = \"R\"\nto = \"C\"\nbandwidth = \"50 Mbit/s\"\ndelay = \"0.1 ms\"\nqueue = \"fq-codel\"\n\
             buffer = \"10000 pkt\"\nduplex = true\n\n\
             [[link]]\nfrom = \"S\"\nto = \"R\"\nbandwidth = \"1 Gbit/s\"\ndelay = \"39.9 ms\"\nduplex = true\n\n\
             [[connection]]\nname = \"c\"\nfrom = \"S\"\nto = \"C\"\nsource = {}\n\n\
             [[event]]\nat = \"{STEP_S} s\"\nlink = \"R->C\"\nset = {{ bandwidth = \"{} Mbit/s\" }}\n",
            source(self.tcp),
            self.after_mbps
        )
    }

    fn run(&self) -> Result<Spike, String> {
        let mut simulation = simulation(&self.scenario())?;
        let mut spike = Spike::default();
        simulation
            .run(RECORDING_INTERVAL_S, &mut spike, || false)
            .map_err(|e| e.to_string())?;
        Ok(spike)
    }
}

/// Runs all cases, and returns their table.
pub fn table() -> Result<String, String> {
    let spikes: Result<Vec<Spike>, String> = STEPS.par_iter().map(Step::run).collect();
    let mut text =
        "| TCP | bandwidth after the step | published | largest RTT | time above 120 ms |\n\
                    |---|---|---|---|---|\n"
            .to_owned();
    for (step, spike) in STEPS.iter().zip(spikes?) {
        let _ = writeln!(
            text,
            "| {} | {} Mbit/s | {} | {:.0} ms | {:.1} s |",
            step.tcp,
            step.after_mbps,
            step.published,
            1e3 * spike.largest_rtt_s,
            spike.duration_s
        );
    }
    Ok(text)
}
