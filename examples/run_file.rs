//! Runs a scenario file and keeps the one series that is wanted.
//!
//! ```text
//! cargo run --release -p netflow --example run_file [SCENARIO]
//! ```

use std::convert::Infallible;
use std::path::Path;

use netflow::prelude::*;

/// The longest queue of every interval.
#[derive(Default)]
struct LongestQueues(Vec<(f64, LinkId, f64)>);

impl Recorder for LongestQueues {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        let queues = interval
            .network
            .links()
            .map(|link| (link, interval.link(link).queue_pkts));
        if let Some((link, queue_pkts)) = queues.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
            self.0.push((interval.time_s, link, queue_pkts));
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/topology.toml");
    let path = std::env::args_os().nth(1).map_or(shipped, Into::into);
    let scenario = netflow::scenario::load(&path, &[])?;
    let mut simulation = Simulation::new(scenario.network, scenario.options)?;
    let mut longest = LongestQueues::default();
    simulation.run(5.0, &mut longest, || false)?;

    for (time_s, link, queue_pkts) in longest.0 {
        println!(
            "{time_s:5.1} s  {:12} {queue_pkts:6.2} packets",
            simulation.network().link_name(link)
        );
    }
    Ok(())
}
