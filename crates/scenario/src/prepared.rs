//! What comes out: a network ready to run.

use std::sync::Arc;

use netflow_document::{Problem, Sources};
use netflow_network::{Application, Change, ConnectionId, Model, Network, NodeId, Options, Source};
use netflow_workload::Transfers;
use sha2::{Digest, Sha256};

use crate::load::Reach;
use crate::{compared, untold};

/// A scenario that was checked and turned into a network.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The network with its connections and events.
    pub network: Network,
    /// How to evaluate it.
    pub options: Options,
    /// From when on a run is summarized, in seconds.
    pub warmup_s: f64,
    /// What anything random depends on.
    pub seed: u64,
    /// What is suspicious.
    pub warnings: Vec<Problem>,
    /// The files it was read from.
    pub sources: Sources,
    /// The settings that it was read with, as `KEY=VALUE`.
    pub overrides: Vec<String>,
    /// Which files it could name.
    pub reach: Reach,
    /// SHA-256 of those files one after the other, in hex (`cat FILES | sha256sum`).
    pub digest: String,
    /// Labels and positions of nodes that have any.
    pub notes: Vec<NodeNote>,
    /// Demands of transfers that a fluid carries as their mean.
    pub demands: Vec<DemandNote>,
    /// Demands and connections that the network has in parts.
    pub divided: Vec<Divided>,
    /// Whether there are demands of transfers or of video that a fluid carries as their mean.
    pub has_means: bool,
    /// Whether traffic is divided among paths of equal cost.
    pub ecmp: bool,
    /// The setting because of which the packet model was chosen, where the fluid model supports it as well.
    pub packets_because: Option<String>,
}

/// What is wrong with it.
const OF_SEVERAL: &str = ": of several of equal cost (`ecmp`) that one is told too busy, and the others too little; routers would divide \
                          them again";

impl Prepared {
    /// The connections that a name stands for: the one that is called so, or the parts of what is.
    pub fn connections_called(&self, name: &str) -> Option<Vec<ConnectionId>> {
        let one = self.network.connection_by_name(name).map(|id| vec![id]);
        one.or_else(|| {
            let divided = self.divided.iter().find(|it| it.name == name)?;
            Some(divided.parts.clone())
        })
    }

    /// How many demands and connections the scenario states: each is one, in however many parts the network has it.
    pub fn declared_count(&self) -> usize {
        let further = self.divided.iter().map(|it| it.parts.len() - 1);
        self.network.connection_count() - further.sum::<usize>()
    }

    /// The names that stand for connections.
    pub fn connection_names(&self) -> impl Iterator<Item = &str> {
        let ids = self.network.connections();
        let own = ids.map(|id| self.network.connection_name(id));
        own.chain(self.divided.iter().map(|it| it.name.as_str()))
    }

    /// What means of bursts are not, where there are any; of a scenario that is solved for, or run as it says, until `at_s`.
    pub fn means_warnings(&self, is_solved: bool, at_s: f64) -> Vec<String> {
        let demands = self.has_means.then_some(
            "demands of tcp and video are carried as their means: how long queues are that their bursts fill is an estimate, within \
             a factor of 2 at nine of ten links of the networks tried, as are times of transfers, within a factor of 1.4, and what \
             bursts lose is not told; `--set simulation.model=packets` follows them",
        );
        let is_fluid = is_solved || matches!(self.options.model, Model::Fluid(_));
        let switches = |id| {
            let application = self.network.connection_spec(id).application;
            matches!(application, Application::OnOff { .. })
        };
        let users = ("users of workloads", self.network.workloads().len() > 0);
        let switched = (
            "applications that switch on and off",
            self.network.connections().any(switches),
        );
        let bursts = [users, switched].map(|(who, any)| {
            (is_fluid && any).then(|| {
                format!(
                    "{who} are carried as the mean of what they ask for: queues that their bursts fill, and what is lost there, \
                     are not told; packets follow them (`netflow run --set simulation.model=packets`)"
                )
            })
        });
        let failures = match self.links_fail_by(at_s) {
            true => self.failure_warnings(is_solved),
            false => Vec::new(),
        };
        let demands = demands.into_iter().map(str::to_owned);
        let bursts = bursts.into_iter().flatten();
        let untold = match is_fluid {
            true => untold::warnings(&self.network),
            false => compared::warning(&self.network).into_iter().collect(),
        };
        let others = demands.chain(bursts).chain(untold);
        others.chain(failures).collect()
    }

    /// Whether its events take links down before this time.
    pub fn links_fail_by(&self, at_s: f64) -> bool {
        let mut events = self.network.events();
        events.any(|it| it.change == Change::Down && it.at_s < at_s)
    }

    /// What a failure may do to traffic of several flows that has one of several paths of equal cost, if anything does; demands
    /// are divided anew where it is solved for, and flows are not.
    pub fn failure_warnings(&self, is_solved: bool) -> Vec<String> {
        let network = &self.network;
        let moves_whole = |id: ConnectionId| {
            let spec = network.connection_spec(id);
            spec.flow.is_some() && spec.is_several_flows() && !(is_solved && spec.divides.is_some())
        };
        let parts = network.connections().any(moves_whole).then(|| {
            let what = match is_solved {
                true => {
                    "flows that share a path (`count`, `flows`, calls) and lose it by a failure"
                }
                false => "parts of demands, and flows that share a path, that lose it by a failure",
            };
            format!("{what} all take one that is left{OF_SEVERAL}")
        });
        parts.into_iter().chain(self.users_warning()).collect()
    }

    /// What a failure may do to users of workloads: they have one path between two nodes, whatever else there is.
    pub fn users_warning(&self) -> Option<String> {
        let has_users = |id| {
            let spec = self.network.connection_spec(id);
            matches!(spec.source, Source::Users(_)) && spec.flow.is_none() && spec.path.is_none()
        };
        let any = self.ecmp && self.network.connections().any(has_users);
        any.then(|| {
            format!("users of workloads who lose their path by a failure all take one that is left{OF_SEVERAL}")
        })
    }

    /// Whether a run depends on its seed: the window model and users are random.
    pub fn is_random(&self) -> bool {
        matches!(self.options.model, Model::Packets(_)) || self.network.workloads().len() > 0
    }
}

/// The scenario as its steady state has it. Where packets would follow the transfers, videos and calls of demands, it is loaded
/// again, by `load` with these further settings, for fluids, which have them as rates; its model stays what it
/// says. What fluids cannot follow stays as it is.
pub fn for_steady<E>(
    scenario: Prepared,
    load: impl FnOnce(&[String]) -> Result<Prepared, E>,
) -> Prepared {
    let model = scenario.options.model;
    if !matches!(model, Model::Packets(_)) || scenario.network.workloads().len() == 0 {
        return scenario;
    }
    match load(&["simulation.model=fluid".to_owned()]) {
        Ok(mut fluid) if fluid.has_means => {
            fluid.options.model = model;
            fluid.warnings = scenario.warnings;
            fluid
        }
        _ => scenario,
    }
}

/// A demand of transfers that come and go, of which a fluid has the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct DemandNote {
    /// What it is called.
    pub name: String,
    /// What carries it.
    pub connection: ConnectionId,
    /// How long they are, and what carries them: the same for many demands.
    pub transfers: Arc<Transfers>,
}

/// A demand, or a connection, that the network has in parts: its flows take several paths of equal cost, or its transfers
/// have connections of their own for what asks for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Divided {
    /// What it is called; no connection of the network is.
    pub name: String,
    /// All that it is.
    pub parts: Vec<ConnectionId>,
}

/// What a `[[node]]` says about a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeNote {
    /// The node.
    pub node: NodeId,
    /// What people call it, where that is not its name.
    pub label: Option<String>,
    /// Where it is drawn: to the right and upwards.
    pub position: Option<(f64, f64)>,
    /// How many people live there.
    pub population: Option<f64>,
}

/// SHA-256 of some texts one after the other, in hex: what [`Prepared::digest`] is of the files of a
/// scenario in the order of reading.
pub fn digest<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
    }
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
