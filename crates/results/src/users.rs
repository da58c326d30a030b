//! Statistics of the response times of users.

use netflow_network::{Network, ResponseEvent, UserStats};
use netflow_workload::{RttCluster, TimeSample};
use serde::{Deserialize, Serialize};

use crate::WaitNumbers;

/// Tolerance, in RTTs, for counting a response time as an integer number of RTTs.
const RTT_TOLERANCE: f64 = 0.1;

/// Users of a workload, over all seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSummary {
    /// Name of the workload.
    pub workload: String,
    /// Number of users who arrived.
    #[serde(alias = "came")]
    pub arrived: u64,
    /// Number of users who finished.
    #[serde(alias = "gone")]
    pub finished: u64,
    /// Response times by event; events without waits are absent.
    pub waits: Vec<WaitSummary>,
}

/// Response times for one kind of event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitSummary {
    /// Event: `connect`, `file`, `page`, `echo`, `play` or `stall`.
    pub wait: String,
    /// Statistics of the response times.
    #[serde(flatten)]
    pub times: netflow_workload::Summary,
    /// Clusters of response times near a whole number of base round-trip times, at most 10 % of a round trip above
    /// it. A cluster contains at least 1 % of all response times.
    #[serde(alias = "steps")]
    pub clusters: Vec<RttCluster>,
}

/// Returns the response times of the users of each workload in each run, in order of arrival. Each item
/// is the arrival time, the indices of the workload and of the kind of wait, and the numbers of a
/// [`WaitRow`](crate::WaitRow).
pub fn wait_rows(runs: &[Vec<UserStats>]) -> Vec<(f64, [usize; 2], WaitNumbers)> {
    let mut rows = Vec::new();
    for (run, one) in runs.iter().enumerate() {
        for (w, experience) in one.iter().enumerate() {
            rows.extend(experience.waits.iter().map(|wait| {
                let numbers = WaitNumbers {
                    run: run as f64,
                    user: wait.user as f64,
                    wait_s: wait.wait_s,
                };
                (wait.arrival_s, [w, wait.kind as usize], numbers)
            }));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0)); // stable: keeps the order of the ends
    rows
}

/// Returns the summaries of all workloads of a network over all runs.
pub(crate) fn summaries(network: &Network, runs: &[Vec<UserStats>]) -> Vec<WorkloadSummary> {
    let summary = |(w, name): (usize, &str)| {
        let all = || runs.iter().filter_map(move |run| run.get(w));
        let of_kind = |kind: ResponseEvent| {
            let waits = || {
                let waits = all().flat_map(|experience| &experience.waits);
                waits.filter(move |wait| wait.kind == kind)
            };
            let times = TimeSample::new(waits().map(|wait| wait.wait_s).collect());
            let trips = TimeSample::new(waits().map(|wait| wait.wait_s / wait.rtt_s).collect());
            Some(WaitSummary {
                wait: kind.name().to_owned(),
                times: times.summary()?,
                clusters: trips.rtt_clusters(1.0, RTT_TOLERANCE),
            })
        };
        WorkloadSummary {
            workload: name.to_owned(),
            arrived: all().map(|experience| experience.arrived).sum(),
            finished: all().map(|experience| experience.finished).sum(),
            waits: ResponseEvent::ALL.into_iter().filter_map(of_kind).collect(),
        }
    };
    let names = network.workloads().map(|spec| spec.name.as_str());
    names.enumerate().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netflow_network::{NetworkBuilder, ResponseTime, WindowSource, WorkloadSpec};
    use netflow_workload::{Application, Http};

    fn network() -> Network {
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        for (from, to) in [(a, b), (b, a)] {
            builder.link(netflow_network::LinkSpec {
                delay_s: 0.1,
                buffer: netflow_network::Buffer::Packets(10.0),
                ..netflow_network::LinkSpec::new(from, to, 1e6)
            });
        }
        builder.workload(WorkloadSpec {
            name: "web".to_owned(),
            application: Application::Http(Http::default()),
            users_per_s: 1.0,
            clients: vec![a],
            servers: vec![b],
            start_s: 0.0,
            stop_s: None,
            source: Some(WindowSource::default()),
            delayed_ack: false,
            packet_size_bytes: 1000.0,
            stack: netflow_tcpmodel::Stack::builtin("linux-6").unwrap(),
            flow: None,
            path: None,
            return_path: None,
            class: None,
        });
        builder.build().unwrap()
    }

    /// Users of two seeds have different RTTs, yet one RTT remains one step.
    #[test]
    fn seeds_are_pooled_and_waits_clustered_by_rtt() {
        let wait = |user, rtt_s, wait_s| ResponseTime {
            user,
            arrival_s: 1.0,
            kind: ResponseEvent::File,
            wait_s,
            rtt_s,
        };
        let run = |waits| {
            vec![UserStats {
                arrived: 3,
                finished: 2,
                waits,
            }]
        };
        let runs = [
            run(vec![wait(0, 0.1, 0.105), wait(1, 0.2, 0.2)]),
            run(vec![wait(0, 0.1, 0.2), wait(1, 0.2, 0.3)]),
        ];
        let found = summaries(&network(), &runs);
        assert_eq!((found[0].arrived, found[0].finished), (6, 4));
        let [file] = &found[0].waits[..] else {
            panic!("{found:?}")
        };
        assert_eq!((file.wait.as_str(), file.times.count), ("file", 4));
        assert_eq!(file.times.max_s, 0.3);
        let steps: Vec<(u32, f64)> = file
            .clusters
            .iter()
            .map(|it| (it.round_trips, it.share))
            .collect();
        assert_eq!(steps, [(1, 0.5), (2, 0.25)]);
    }
}
