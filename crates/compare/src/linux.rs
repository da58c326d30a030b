//! Reference runs with the TCP of the Linux kernel over an emulated network.

use netflow_emulation::{Emulation, payload_bytes};
use netflow_scenario::CompiledScenario;
use netflow_testbed::network::{LinkCounts, NetworkReport, PairCounts};

use crate::{
    ConnectionInterval, Delay, Error, LinkInterval, ReferenceSystem, Run, Runner, Settings,
};

/// Runner on the kernel of this machine. A process without root privileges must first call
/// `netflow_testbed::become_root` while it has a single thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl Runner for Linux {
    fn reference_system(&self) -> ReferenceSystem {
        ReferenceSystem::Linux
    }

    fn check(&self, scenario: &CompiledScenario, _: &Settings) -> Result<(), Error> {
        let fit = netflow_emulation::check_feasibility(scenario);
        fit.map(drop)
            .map_err(|unfit| Error::Emulation(unfit.into()))
    }

    fn run_one(
        &self,
        scenario: &CompiledScenario,
        settings: &Settings,
        run: u32,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Run, Error> {
        let settings = netflow_emulation::Settings {
            seed: scenario.options.seed.wrapping_add(run.into()),
            start_jitter_s: settings.start_jitter_s,
            every_s: settings.every_s,
            ..netflow_emulation::Settings::default()
        };
        let emulated = Emulation::new(scenario, &settings).and_then(|it| it.run(&stop));
        match emulated {
            Ok(report) => Ok(run_from_report(scenario, &report)),
            Err(netflow_emulation::Error::Stopped) => Err(Error::Stopped),
            Err(error) => Err(Error::Emulation(error)),
        }
    }
}

/// Converts the report of an emulated network into intervals.
fn run_from_report(scenario: &CompiledScenario, report: &NetworkReport) -> Run {
    let network = &scenario.network;
    let duration_s = scenario.options.duration_s;
    let mut run = Run {
        links: network
            .links()
            .map(|id| (network.link_name(id).to_owned(), Vec::new()))
            .collect(),
        connections: network
            .connections()
            .map(|id| (network.connection_name(id).to_owned(), Vec::new()))
            .collect(),
        cost_s: Some(report.seconds),
        doubt: report.unreliable_reason(),
        ..Run::default()
    };
    for (id, delay) in network.connections().zip(&report.delays) {
        if let Some(delay) = delay {
            let name = network.connection_name(id).to_owned();
            let (p50_s, p95_s) = (delay.p50_s, delay.p95_s);
            run.delays.push((name, Delay { p50_s, p95_s }));
        }
    }
    let in_queue = |counts: &LinkCounts| counts.lost_pkts - counts.link_lost_pkts;
    let mut links = vec![LinkCounts::default(); network.link_count()];
    let mut pairs = vec![PairCounts::default(); network.connection_count()];
    let mut before_s = 0.0;
    // The last mark may be slightly after the end.
    for mark in report
        .snapshots
        .iter()
        .filter(|mark| mark.time_s < duration_s + 1e-6)
    {
        let length_s = mark.time_s - before_s;
        run.times_s.push(mark.time_s);
        for ((_, intervals), (then, now)) in run.links.iter_mut().zip(links.iter().zip(&mark.links))
        {
            intervals.push(LinkInterval {
                arrived_pkts: (now.arrived_pkts - then.arrived_pkts) as f64,
                lost_pkts: (in_queue(now) - in_queue(then)) as f64,
                marked_pkts: Some((now.marked_pkts - then.marked_pkts) as f64),
                queue_pkts: (now.queue_pkt_s - then.queue_pkt_s) / length_s,
                utilization: (now.busy_s - then.busy_s) / length_s,
            });
        }
        for (id, (then, now)) in network.connections().zip(pairs.iter().zip(&mark.pairs)) {
            let spec = network.connection_spec(id);
            let delivered_pkts = if spec.source.is_answered() {
                (now.read_bytes - then.read_bytes) as f64 / payload_bytes(spec)
            } else {
                (now.delivered_pkts - then.delivered_pkts) as f64
            };
            run.connections[id.index()].1.push(ConnectionInterval {
                sent_pkts: (now.sent_pkts - then.sent_pkts) as f64,
                delivered_pkts,
            });
        }
        links.clone_from(&mark.links);
        pairs.clone_from(&mark.pairs);
        before_s = mark.time_s;
    }
    run
}
