//! Validated scenario with its network, ready to run.

use std::sync::Arc;

use netflow_document::{Problem, SourceSpan, Sources};
use netflow_network::{Application, Change, ConnectionId, Model, Network, NodeId, Options, Source};
use netflow_units::Bytes;
use netflow_workload::TransferSizes;
use sha2::{Digest, Sha256};

use crate::load::FileAccess;
use crate::{fluid_validated_range, linux_tcp_validated_range};

/// Scenario after validation and conversion to a network.
#[derive(Clone, Debug)]
pub struct CompiledScenario {
    /// The network with its connections and events.
    pub network: Network,
    /// Options of the evaluation.
    pub options: Options,
    /// Time in seconds from which a run is summarized.
    pub warmup_s: f64,
    /// Random seed.
    pub seed: u64,
    /// Warnings.
    pub warnings: Vec<Problem>,
    /// Files from which it was read.
    pub sources: Sources,
    /// Settings that replaced those of the file, as `KEY=VALUE`.
    pub overrides: Vec<String>,
    /// Directories from which it could read files.
    pub file_access: FileAccess,
    /// SHA-256 of those files, concatenated, in hex (`cat FILES | sha256sum`).
    pub digest: String,
    /// Labels and positions of nodes, where given.
    pub node_annotations: Vec<NodeAnnotation>,
    /// Demands of finite transfers that the fluid model represents by their mean.
    pub demands: Vec<TransferDemand>,
    /// Demands and connections that the network represents as several connections.
    pub split: Vec<SplitTraffic>,
    /// True if the fluid model represents demands of transfers or video by their mean.
    pub has_mean_traffic: bool,
    /// Places of the settings of each link in its file, in the order of the links.
    pub link_places: Vec<LinkPlaces>,
    /// True if traffic is split among equal-cost paths.
    pub ecmp: bool,
    /// Default size of packets.
    pub packet_size: Bytes,
    /// Setting because of which the packet model was chosen, if the fluid model supports it as
    /// well.
    pub packet_model_reason: Option<String>,
}

/// Places of settings of a link in its file. Both directions of a duplex link share those without a setting of their own.
#[derive(Clone, Copy, Debug)]
pub struct LinkPlaces {
    /// `from`.
    pub from: SourceSpan,
    /// `bandwidth`.
    pub bandwidth: SourceSpan,
    /// `metric`, if it has one.
    pub metric: Option<SourceSpan>,
}

/// End of a warning about traffic that moves as a whole.
const UNSPLIT_REROUTE_WARNING: &str = ": with several equal-cost paths (`ecmp`), its load is overestimated and that of the others \
                          underestimated";

impl CompiledScenario {
    /// Returns the connections with a name: the connection itself, or the parts of a split one. For `A->B`
    /// it also accepts `A->B/constant` if this is the only demand or connection with the prefix `A->B/`.
    pub fn connections_by_name(&self, name: &str) -> Option<Vec<ConnectionId>> {
        let one = self.network.connection_by_name(name).map(|id| vec![id]);
        one.or_else(|| {
            let divided = self.split.iter().find(|it| it.name == name);
            match divided {
                Some(divided) => Some(divided.parts.clone()),
                None => self.connections_by_prefix(name),
            }
        })
    }

    /// Returns the connections of the only demand or connection whose name begins with `name/`.
    fn connections_by_prefix(&self, name: &str) -> Option<Vec<ConnectionId>> {
        let has_prefix = |it: &str| {
            let rest = it.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let of_split = self.split.iter().filter(|it| has_prefix(&it.name));
        let mut found: Vec<Vec<ConnectionId>> = of_split.map(|it| it.parts.clone()).collect();
        let is_part = |id: &ConnectionId| self.split.iter().any(|it| it.parts.contains(id));
        let ids = self.network.connections();
        let own = ids.filter(|&id| has_prefix(self.network.connection_name(id)));
        found.extend(own.filter(|id| !is_part(id)).map(|id| vec![id]));
        match found.len() {
            1 => found.pop(),
            _ => None,
        }
    }

    /// Returns the number of demands and connections in the scenario file; a split one counts once.
    pub fn unsplit_count(&self) -> usize {
        let further = self.split.iter().map(|it| it.parts.len() - 1);
        self.network.connection_count() - further.sum::<usize>()
    }

    /// Iterates over the names of connections, including those of split ones.
    pub fn connection_names(&self) -> impl Iterator<Item = &str> {
        let ids = self.network.connections();
        let own = ids.map(|id| self.network.connection_name(id));
        own.chain(self.split.iter().map(|it| it.name.as_str()))
    }

    /// Returns notes on traffic that the fluid model represents by its mean rate. `is_solved` is true for a
    /// steady state.
    pub fn mean_traffic_notes(&self, is_solved: bool) -> Vec<String> {
        let is_fluid = is_solved || matches!(self.options.model, Model::Fluid(_));
        let switches = |id| {
            let application = self.network.connection_spec(id).application;
            matches!(application, Application::OnOff { .. })
        };
        let demands = self.has_mean_traffic.then_some(
            "tcp and video demands are modelled by mean rate, without burst losses: queues within a factor of 2, \
             transfer times within 1.4, with bulk TCP on the same link within 1.6 (90 % of test cases)",
        );
        let has_users = is_fluid && self.network.workloads().len() > 0;
        let users = has_users.then_some(
            "users are modelled by mean rate: queueing and loss from their bursts are missing",
        );
        let has_switched = is_fluid && self.network.connections().any(switches);
        let switched = has_switched.then_some(
            "on-off applications are modelled by mean rate: queueing and loss from their bursts are missing",
        );
        let notes = [demands, users, switched].into_iter().flatten();
        notes.map(str::to_owned).collect()
    }

    /// Returns warnings about conditions that the model does not cover, for a steady state or a run until
    /// `at_s`.
    pub fn model_warnings(&self, is_solved: bool, at_s: f64) -> Vec<String> {
        let is_fluid = is_solved || matches!(self.options.model, Model::Fluid(_));
        let mut warnings = if is_fluid {
            fluid_validated_range::warnings(&self.network)
        } else {
            Vec::from_iter(linux_tcp_validated_range::warning(&self.network))
        };
        if self.has_link_failure_before(at_s) {
            warnings.extend(self.failure_warnings(is_solved));
        }
        warnings
    }

    /// Returns whether its events take links down before this time.
    pub fn has_link_failure_before(&self, at_s: f64) -> bool {
        let mut events = self.network.events();
        events.any(|it| it.change == Change::Down && it.at_s < at_s)
    }

    /// Returns warnings about traffic of several flows on one of several equal-cost paths, if a
    /// failure can move it as a whole. The steady-state solver splits demands again, but not flows.
    pub fn failure_warnings(&self, is_solved: bool) -> Vec<String> {
        let network = &self.network;
        let moves_whole = |id: ConnectionId| {
            let spec = network.connection_spec(id);
            spec.flow.is_some()
                && spec.is_several_flows()
                && !(is_solved && spec.ecmp_share.is_some())
        };
        let parts = network.connections().any(moves_whole).then(|| {
            let what = if is_solved {
                "flows on the same path (`count`, `flows`, calls) that a failure interrupts"
            } else {
                "parts of demands, and flows on the same path, that a failure interrupts"
            };
            format!("{what} all move to one remaining path{UNSPLIT_REROUTE_WARNING}")
        });
        parts.into_iter().chain(self.users_warning()).collect()
    }

    /// Returns a warning about workloads, whose users have one path between two nodes even if there
    /// are more.
    pub fn users_warning(&self) -> Option<String> {
        let has_users = |id| {
            let spec = self.network.connection_spec(id);
            matches!(spec.source, Source::Users(_)) && spec.flow.is_none() && spec.path.is_none()
        };
        let any = self.ecmp && self.network.connections().any(has_users);
        any.then(|| {
            format!("users of workloads that a failure interrupts all move to one remaining path{UNSPLIT_REROUTE_WARNING}")
        })
    }

    /// Returns whether a run depends on its seed: the packet model and users are random.
    pub fn is_random(&self) -> bool {
        matches!(self.options.model, Model::Packets(_)) || self.network.workloads().len() > 0
    }
}

/// Converts the scenario for the steady-state solver. If the packet model would simulate transfers,
/// videos and calls of demands, `load` loads it again with further settings for the fluid model,
/// which has them as rates. The scenario's model setting stays. Unsupported features also stay.
pub fn for_steady_state<E>(
    scenario: CompiledScenario,
    load: impl FnOnce(&[String]) -> Result<CompiledScenario, E>,
) -> CompiledScenario {
    let model = scenario.options.model;
    if !matches!(model, Model::Packets(_)) || scenario.network.workloads().len() == 0 {
        return scenario;
    }
    match load(&["simulation.model=fluid".to_owned()]) {
        Ok(mut fluid) if fluid.has_mean_traffic => {
            fluid.options.model = model;
            fluid.warnings = scenario.warnings;
            fluid
        }
        _ => scenario,
    }
}

/// Demand of finite transfers that the fluid model represents by its mean.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferDemand {
    /// Name of the demand.
    pub name: String,
    /// Connection with the mean rate.
    pub connection: ConnectionId,
    /// Size distribution and TCP of the transfers, shared by many demands.
    pub transfers: Arc<TransferSizes>,
}

/// Demand or connection that the network represents in parts: its flows take several equal-cost
/// paths, or its transfers have separate connections for requests.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitTraffic {
    /// Its name, which no connection of the network has.
    pub name: String,
    /// Connections of all parts.
    pub parts: Vec<ConnectionId>,
}

/// Annotations of a `[[node]]` table.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeAnnotation {
    /// The node.
    pub node: NodeId,
    /// Display name, if it differs from the name.
    pub label: Option<String>,
    /// Position in a drawing: to the right, and upwards.
    pub position: Option<(f64, f64)>,
    /// Population of the node.
    pub population: Option<f64>,
}

/// Returns the SHA-256 of concatenated texts in hex; [`CompiledScenario::digest`] is that of a scenario's
/// files in the order of reading.
pub fn digest<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
    }
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
