//! `summary.json`: the whole run in numbers.

use std::collections::BTreeMap;

use netflow_fluid::{
    ConnectionTotals, Experience, Model, Network, PrecedenceTotals, Simulation, Source, Totals,
};
use serde::{Deserialize, Serialize};

use crate::users::{self, WorkloadSummary};

/// Means, maxima and totals of a run. Other tools read it: names are only ever added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Simulated seconds that the means are over.
    pub duration_s: f64,
    /// Which equations were used.
    pub model: Model,
    /// Runs with different seeds that the means are over.
    pub seeds: u32,
    /// Every link.
    pub links: Vec<LinkSummary>,
    /// Every connection.
    pub connections: Vec<ConnectionSummary>,
    /// Every conditioned aggregate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregates: Vec<AggregateSummary>,
    /// The users of every workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSummary>,
    /// The data packets of all connections.
    pub totals: TotalsSummary,
    /// The acknowledgements of all connections.
    pub acks: TotalsSummary,
    /// What was suspicious about the scenario or the run.
    pub warnings: Vec<String>,
}

/// A link over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// `FROM->TO`.
    pub link: String,
    /// Mean number of packets in the queue, the one in service included.
    pub mean_queue_pkts: f64,
    /// Longest queue.
    pub max_queue_pkts: f64,
    /// Lost / offered.
    pub loss_probability: f64,
    /// Fraction of the time the link was busy.
    pub utilization: f64,
    /// Packets that arrived, data and acknowledgements.
    pub offered_pkts: f64,
    /// Packets lost.
    pub lost_pkts: f64,
    /// DP0, DP1 and DP2, where the queue tells them apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub precedences: Vec<PrecedenceSummary>,
    /// Standard deviation over mean of the packets that arrive in an interval of
    /// `burstiness-interval`; only where packets are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_cov: Option<f64>,
    /// With several seeds: the standard deviation over them of every number above, under its name
    /// with `_std` behind it.
    #[serde(flatten)]
    pub spread: BTreeMap<String, f64>,
}

/// The packets of one drop precedence at a link over the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecedenceSummary {
    /// Packets that arrived.
    pub offered_pkts: f64,
    /// Packets dropped, early or by the full queue.
    pub lost_pkts: f64,
    /// Lost / offered.
    pub loss_probability: f64,
}

/// A conditioned aggregate over the whole run; arrays are DP0, DP1, DP2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AggregateSummary {
    /// Its name.
    pub aggregate: String,
    /// Bits/s delivered.
    pub mean_goodput_bps: f64,
    /// Packets sent.
    pub sent_pkts: [f64; 3],
    /// Packets delivered.
    pub delivered_pkts: [f64; 3],
    /// Packets lost.
    pub lost_pkts: [f64; 3],
    /// Parts of the packets sent.
    pub fractions: [f64; 3],
    /// Lost / sent over all precedences.
    pub loss_probability: f64,
}

/// A connection over the whole run, all `count` of it together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionSummary {
    /// Its name.
    pub connection: String,
    /// Packets/s sent.
    pub mean_send_pps: f64,
    /// Packets/s delivered.
    pub mean_goodput_pps: f64,
    /// Packets sent.
    #[serde(default)]
    pub offered_pkts: f64,
    /// Packets delivered.
    pub delivered_pkts: f64,
    /// Packets lost.
    pub lost_pkts: f64,
    /// Mean round-trip time in seconds.
    pub mean_rtt_s: f64,
    /// Loss probability of the path.
    pub loss_probability: f64,
    /// Fraction of its sending time that it spent outside the measured domain of its profile.
    pub outside_profile_fraction: f64,
    /// Fraction of it, among that, for which the profile was extended further than is usable.
    #[serde(default)]
    pub unusable_profile_fraction: f64,
    /// What its rates rest on: `measured`, `extended` or `not usable`; only of sources with a
    /// profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_use: Option<String>,
    /// When its size was delivered, in seconds; only of a connection that has one and came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_s: Option<f64>,
    /// Retransmission timeouts; only of sources with a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<f64>,
    /// Losses found by duplicate acknowledgements; only of sources with a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_retransmits: Option<f64>,
    /// With several seeds: the standard deviation over them, as of links.
    #[serde(flatten)]
    pub spread: BTreeMap<String, f64>,
}

/// Packets of a kind over the whole run: offered = delivered + lost + queued + in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TotalsSummary {
    /// Sent.
    pub offered_pkts: f64,
    /// Arrived at their receivers.
    pub delivered_pkts: f64,
    /// Lost.
    pub lost_pkts: f64,
    /// In queues at the end.
    pub queued_pkts: f64,
    /// Between queues at the end.
    pub in_flight_pkts: f64,
    /// With several seeds: the standard deviation over them, as of links.
    #[serde(flatten)]
    pub spread: BTreeMap<String, f64>,
}

impl TotalsSummary {
    /// How far the packets are from balancing, as a fraction of those offered; 0 where none were.
    pub fn imbalance(&self) -> f64 {
        let accounted =
            self.delivered_pkts + self.lost_pkts + self.queued_pkts + self.in_flight_pkts;
        if self.offered_pkts > 0.0 {
            (self.offered_pkts - accounted).abs() / self.offered_pkts
        } else {
            0.0
        }
    }
}

impl From<Totals> for TotalsSummary {
    fn from(totals: Totals) -> TotalsSummary {
        TotalsSummary {
            offered_pkts: totals.offered_pkts,
            delivered_pkts: totals.delivered_pkts,
            lost_pkts: totals.lost_pkts,
            queued_pkts: totals.queued_pkts,
            in_flight_pkts: totals.in_flight_pkts,
            spread: BTreeMap::new(),
        }
    }
}

impl From<PrecedenceTotals> for PrecedenceSummary {
    fn from(totals: PrecedenceTotals) -> PrecedenceSummary {
        PrecedenceSummary {
            offered_pkts: totals.offered_pkts,
            lost_pkts: totals.lost_pkts,
            loss_probability: totals.loss_probability,
        }
    }
}

impl ConnectionSummary {
    /// Says anew what its rates rest on, after its fractions were averaged.
    pub(crate) fn judge_profile_use(&mut self) {
        let (outside, unusable) = (
            self.outside_profile_fraction,
            self.unusable_profile_fraction,
        );
        if let Some(rests_on) = &mut self.profile_use {
            *rests_on = ConnectionTotals::profile_use_over(outside, unusable)
                .name()
                .to_owned();
        }
    }
}

impl Summary {
    /// What a simulation has come to by now.
    pub fn of(simulation: &Simulation, warnings: Vec<String>) -> Summary {
        let network = simulation.network();
        let link = |id| {
            let totals = simulation.link_totals(id);
            LinkSummary {
                link: network.link_name(id).to_owned(),
                mean_queue_pkts: totals.mean_queue_pkts,
                max_queue_pkts: totals.max_queue_pkts,
                loss_probability: totals.loss_probability,
                utilization: totals.utilization,
                offered_pkts: totals.offered_pkts,
                lost_pkts: totals.lost_pkts,
                precedences: simulation
                    .precedence_totals(id)
                    .map_or_else(Vec::new, |all| all.map(PrecedenceSummary::from).to_vec()),
                arrival_cov: totals.arrival_cov,
                spread: BTreeMap::new(),
            }
        };
        let aggregate = |id| {
            let totals = simulation.aggregate_totals(id);
            AggregateSummary {
                aggregate: network.aggregate_spec(id).name.clone(),
                mean_goodput_bps: totals.mean_goodput_bps,
                sent_pkts: totals.sent_pkts,
                delivered_pkts: totals.delivered_pkts,
                lost_pkts: totals.lost_pkts,
                fractions: totals.fractions().to_array(),
                loss_probability: totals.loss_probability(),
            }
        };
        let connection = |id| {
            let totals = simulation.connection_totals(id);
            ConnectionSummary {
                connection: network.connection_name(id).to_owned(),
                mean_send_pps: totals.mean_send_pps,
                mean_goodput_pps: totals.mean_goodput_pps,
                offered_pkts: totals.offered_pkts,
                delivered_pkts: totals.delivered_pkts,
                lost_pkts: totals.lost_pkts,
                mean_rtt_s: totals.mean_rtt_s,
                loss_probability: totals.loss_probability,
                outside_profile_fraction: totals.outside_profile_fraction,
                unusable_profile_fraction: totals.unusable_profile_fraction,
                profile_use: matches!(network.connection_spec(id).source, Source::Profile(_))
                    .then(|| totals.profile_use().name().to_owned()),
                finished_s: totals.finished_s,
                timeouts: totals.timeouts,
                fast_retransmits: totals.fast_retransmits,
                spread: BTreeMap::new(),
            }
        };
        Summary {
            duration_s: simulation.time_s(),
            model: simulation.options().model,
            seeds: 1,
            links: network.links().map(link).collect(),
            connections: network.connections().map(connection).collect(),
            aggregates: network.aggregates().map(aggregate).collect(),
            workloads: Vec::new(),
            totals: simulation.totals().into(),
            acks: simulation.ack_totals().into(),
            warnings,
        }
    }

    /// Adds what the users of each workload met with, of one run or several.
    pub fn add_users(&mut self, network: &Network, seeds: &[Vec<Experience>]) {
        self.workloads = users::summaries(network, seeds);
    }

    /// As it stands in `summary.json`: a line for every link and every connection.
    pub fn to_json(&self) -> String {
        // Nothing in here can fail to be JSON: the maps have string keys, and numbers that are
        // none become null.
        let json = |value: serde_json::Result<String>| value.unwrap_or_else(|_| "null".to_owned());
        let list = |items: Vec<String>| match items.is_empty() {
            true => "[]".to_owned(),
            false => format!("[\n    {}\n  ]", items.join(",\n    ")),
        };
        let links = self
            .links
            .iter()
            .map(|link| json(serde_json::to_string(link)))
            .collect();
        let connections = self
            .connections
            .iter()
            .map(|c| json(serde_json::to_string(c)))
            .collect();
        let optional = |name: &str, items: Vec<String>| match items.is_empty() {
            true => String::new(),
            false => format!("\n  \"{name}\": {},", list(items)),
        };
        let aggregates = self.aggregates.iter();
        let aggregates = aggregates.map(|a| json(serde_json::to_string(a)));
        let aggregates = optional("aggregates", aggregates.collect());
        let workloads = self.workloads.iter();
        let workloads = workloads.map(|w| json(serde_json::to_string(w)));
        let workloads = optional("workloads", workloads.collect());
        let warnings = self
            .warnings
            .iter()
            .map(|w| json(serde_json::to_string(w)))
            .collect();
        format!(
            "{{\n  \"duration_s\": {},\n  \"model\": {},\n  \"seeds\": {},\n  \"links\": {},\n  \"connections\": {},{aggregates}{workloads}\n  \
             \"totals\": {},\n  \"acks\": {},\n  \"warnings\": {}\n}}\n",
            json(serde_json::to_string(&self.duration_s)),
            json(serde_json::to_string(&self.model)),
            self.seeds,
            list(links),
            list(connections),
            json(serde_json::to_string(&self.totals)),
            json(serde_json::to_string(&self.acks)),
            list(warnings),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_reads_back_and_has_a_line_for_every_link() {
        let summary = Summary {
            duration_s: 60.0,
            model: Model::Fluid,
            seeds: 1,
            links: vec![LinkSummary {
                link: "a->\"b\"".to_owned(),
                mean_queue_pkts: 1.0 / 3.0,
                max_queue_pkts: 2.0,
                loss_probability: 1e-300,
                utilization: 0.5,
                offered_pkts: 1e9,
                lost_pkts: 0.0,
                precedences: vec![PrecedenceSummary {
                    offered_pkts: 8.0,
                    lost_pkts: 2.0,
                    loss_probability: 0.25,
                }],
                arrival_cov: None,
                spread: [("utilization_std".to_owned(), 0.25)].into(),
            }],
            connections: Vec::new(),
            aggregates: vec![AggregateSummary {
                aggregate: "F1".to_owned(),
                mean_goodput_bps: 1e6,
                sent_pkts: [2.0, 1.0, 1.0],
                delivered_pkts: [2.0, 1.0, 0.0],
                lost_pkts: [0.0, 0.0, 1.0],
                fractions: [0.5, 0.25, 0.25],
                loss_probability: 0.25,
            }],
            workloads: vec![WorkloadSummary {
                workload: "web".to_owned(),
                came: 3,
                gone: 2,
                waits: vec![crate::WaitSummary {
                    wait: "file".to_owned(),
                    times: netflow_workload::Times::new(vec![0.1, 0.2])
                        .summary()
                        .unwrap(),
                    steps: vec![netflow_workload::Step {
                        round_trips: 1,
                        share: 0.5,
                    }],
                }],
            }],
            totals: TotalsSummary {
                offered_pkts: 4.0,
                delivered_pkts: 3.0,
                ..TotalsSummary::default()
            },
            acks: TotalsSummary::default(),
            warnings: vec!["a\nb".to_owned()],
        };
        let json = summary.to_json();
        assert_eq!(
            json.lines()
                .filter(|line| line.contains("\"link\""))
                .count(),
            1
        );
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
        assert_eq!(summary.totals.imbalance(), 0.25);
    }
}
