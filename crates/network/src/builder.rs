//! Builder of an immutable network: checks, buffers, classes, routes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use netflow_queues::{DelayLine, Scheduler};
use netflow_units::{NonMaxU32, link_name};

use crate::buffers::BufferSizing;
use crate::bundles;
use crate::compiled::{Bundle, Class, ClassPath, CompiledNetwork, Epoch, LinkEvent};
use crate::explicit_paths::{ExplicitPath, ExplicitPaths};
use crate::ids::Owner;
use crate::routing::{DistancesOver, Request, Router, length};
use crate::runtime_control::{AllAllowedSettings, ControllableConnection, control_index_of_class};
use crate::scheduling::{ClassQueues, MultiQueueLink};
use crate::srlg::RiskGroups;
use crate::unavailability::Unavailabilities;
use crate::users::{UserTraffic, Users, WorkloadSpec};
use crate::{
    Acks, AggregateId, AggregateSpec, Application, Aqm, Buffer, BuildError, Calibration,
    CalibrationPlan, Change, ConnectionId, ConnectionSpec, DropPolicy, Dscp, EcmpWeights,
    EventSpec, Fallbacks, LinkId, LinkSpec, Network, NodeId, Overhead, SeriesColumns, Source, Tins,
    WindowSource, classes, diffserv,
};

/// Size of an acknowledgement in bytes, with its IP header and without the [overhead](LinkSpec::overhead) of
/// links.
pub const ACK_BYTES: f64 = 40.0;

/// Default size of a data packet in bytes: the MTU of Ethernet.
pub const PACKET_BYTES: f64 = 1500.0;

/// Builder of a [`Network`] from nodes, links, connections and events.
#[derive(Debug)]
pub struct NetworkBuilder {
    /// Owner of its ids.
    pub(crate) owner: Owner,
    nodes: Vec<String>,
    node_ids: HashMap<String, NodeId>,
    pub(crate) links: Vec<LinkSpec>,
    connections: Vec<ConnectionSpec>,
    events: Vec<EventSpec>,
    /// Further explicit paths of connections.
    pub(crate) fallbacks: BTreeMap<u32, Fallbacks>,
    pub(crate) bundles: Vec<Bundle>,
    aggregates: Vec<AggregateSpec>,
    workloads: Vec<Users>,
    pub(crate) multi_queue_links: Vec<MultiQueueLink>,
    /// Duplex links and shared-risk link groups.
    pub(crate) risk_groups: RiskGroups,
    pub(crate) unavailabilities: Unavailabilities,
    /// Traffic classes of connections.
    pub(crate) queue_class_of: BTreeMap<u32, String>,
    /// Values that may be set at run time.
    pub(crate) allowed_settings: AllAllowedSettings,
    /// Errors for ids of other networks.
    foreign_id_errors: Vec<BuildError>,
    pub(crate) class_queues: ClassQueues,
    pub(crate) calibration: Option<CalibrationPlan>,
    ecmp_weights: EcmpWeights,
    memory_limit_bytes: Option<u64>,
}

impl Network {
    /// Returns a builder with all inputs of this network, to change and rebuild it. Ids stay those of this
    /// network.
    pub fn to_builder(&self) -> NetworkBuilder {
        let CompiledNetwork {
            owner,
            nodes,
            links,
            connections,
            given_events,
            fallbacks,
            bundles,
            aggregates,
            workloads,
            multi_queue_links: classed,
            queue_class_of,
            opposite_direction: other_way,
            risk_groups,
            unavailabilities,
            controllable: settable,
            calibration,
            ecmp_weights,
            memory_limit_bytes,
            // Derived from the inputs.
            events: _,
            link_names: _,
            buffer_pkts: _,
            class_of: _,
            classes: _,
            class_paths: _,
            path_links: _,
            epochs: _,
            shared_links: _,
            dscps: _,
        } = &*self.inner;
        let owner = *owner;
        let queues: usize = classed.iter().map(|it| it.classes.len()).sum();
        let links = &links[..links.len() - queues];
        let ids = (0..).map(|n| NodeId(n, owner));
        let groups = risk_groups
            .iter()
            .map(|group| (group.name.clone(), group.links.iter().copied().collect()));
        NetworkBuilder {
            owner,
            nodes: nodes.clone(),
            node_ids: nodes.iter().cloned().zip(ids).collect(),
            links: links.to_vec(),
            connections: connections.clone(),
            events: given_events.clone(),
            fallbacks: fallbacks.clone(),
            bundles: bundles.clone(),
            aggregates: aggregates.clone(),
            workloads: workloads.clone(),
            multi_queue_links: classed.clone(),
            risk_groups: RiskGroups {
                opposite_directions: other_way.clone(),
                groups: groups.collect(),
            },
            unavailabilities: unavailabilities.clone(),
            queue_class_of: queue_class_of.clone(),
            allowed_settings: (settable.iter())
                .map(|it| (it.connection, it.allowed_settings()))
                .collect(),
            foreign_id_errors: Vec::new(),
            class_queues: ClassQueues::default(),
            calibration: calibration.clone(),
            ecmp_weights: *ecmp_weights,
            memory_limit_bytes: Some(*memory_limit_bytes),
        }
    }
}

impl Default for NetworkBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl NetworkBuilder {
    /// Returns an empty network.
    pub fn new() -> Self {
        NetworkBuilder {
            owner: Owner::new(),
            nodes: Vec::new(),
            node_ids: HashMap::new(),
            links: Vec::new(),
            connections: Vec::new(),
            events: Vec::new(),
            fallbacks: BTreeMap::new(),
            bundles: Vec::new(),
            aggregates: Vec::new(),
            workloads: Vec::new(),
            multi_queue_links: Vec::new(),
            risk_groups: RiskGroups::default(),
            unavailabilities: Unavailabilities::default(),
            queue_class_of: BTreeMap::new(),
            allowed_settings: BTreeMap::new(),
            foreign_id_errors: Vec::new(),
            class_queues: ClassQueues::default(),
            calibration: None,
            ecmp_weights: EcmpWeights::default(),
            memory_limit_bytes: None,
        }
    }

    /// Changes every link, in the order in which they were added. Ids in them must be of this network.
    pub fn each_link(&mut self, change: impl FnMut(&mut LinkSpec)) {
        self.links.iter_mut().for_each(change);
    }

    /// Changes every connection, in the order in which they were added. Ids in them must be of this network.
    pub fn each_connection(&mut self, change: impl FnMut(&mut ConnectionSpec)) {
        self.connections.iter_mut().for_each(change);
    }

    /// Returns the node of this name, which is added if it is new.
    pub fn node(&mut self, name: &str) -> NodeId {
        if let Some(&id) = self.node_ids.get(name) {
            return id;
        }
        let id = NodeId(self.nodes.len() as u32, self.owner);
        self.nodes.push(name.to_owned());
        self.node_ids.insert(name.to_owned(), id);
        id
    }

    /// Adds a directed link. A duplex link consists of two.
    pub fn link(&mut self, spec: LinkSpec) -> LinkId {
        let ends = [("from", spec.from.1), ("to", spec.to.1)];
        self.check_owner(&ends, |it| format!("link {}", it.links.len()));
        self.links.push(spec);
        LinkId(self.links.len() as u32 - 1, self.owner)
    }

    /// Adds a connection.
    pub fn connection(&mut self, spec: ConnectionSpec) -> ConnectionId {
        let mut nodes = vec![("from", spec.from.1), ("to", spec.to.1)];
        for (field, path) in [("path", &spec.path), ("return_path", &spec.return_path)] {
            nodes.extend(path.iter().flatten().map(|node| (field, node.1)));
        }
        self.check_owner(&nodes, |_| format!("connection {}", spec.name));
        self.connections.push(spec);
        ConnectionId(self.connections.len() as u32 - 1, self.owner)
    }

    /// Adds an event.
    pub fn event(&mut self, spec: EventSpec) {
        self.check_owner(&[("link", spec.link.1)], |_| {
            format!("event at {} s", spec.at_s)
        });
        self.events.push(spec);
    }

    /// Adds an aggregate: packets of its members are marked where they enter the network.
    pub fn aggregate(&mut self, spec: AggregateSpec) -> AggregateId {
        let members: Vec<_> = spec.members.iter().map(|m| ("members", m.1)).collect();
        self.check_owner(&members, |_| format!("aggregate {}", spec.name));
        self.aggregates.push(spec);
        AggregateId(self.aggregates.len() as u32 - 1, self.owner)
    }

    /// Adds a workload and its connections. Returns the connections with their names: requests and replies of
    /// each pair of nodes, in this order. An invalid workload has none, and `build` reports its errors.
    pub fn workload(&mut self, spec: WorkloadSpec) -> Vec<(ConnectionId, String)> {
        let ends = [("clients", &spec.clients), ("servers", &spec.servers)];
        let ends = ends.map(|(field, nodes)| nodes.iter().map(move |node| (field, node.1)));
        let ends: Vec<_> = ends.into_iter().flatten().collect();
        self.check_owner(&ends, |_| format!("workload {}", spec.name));
        let spec = Arc::new(spec);
        let nodes = spec.pairs();
        if workload_errors(&spec).len() + self.foreign_id_errors.len() > 0 {
            let pairs = Vec::new();
            self.workloads.push(Users { spec, pairs });
            return Vec::new();
        }
        let load = spec.mean_load();
        let share = 1.0 / nodes.len().max(1) as f64;
        let acks = if spec.delayed_ack {
            Acks::EverySecond
        } else {
            Acks::EveryPacket
        };
        let mut pairs = Vec::with_capacity(nodes.len());
        for &(client, server) in &nodes {
            let name = match nodes.len() {
                1 => spec.name.clone(),
                _ => format!(
                    "{}/{}-{}",
                    spec.name,
                    self.node_name(client),
                    self.node_name(server)
                ),
            };
            let ways = [
                (client, server, "requests", [&spec.return_path, &spec.path]),
                (server, client, "replies", [&spec.path, &spec.return_path]),
            ];
            let mut pair = [ConnectionId(0, self.owner); 2];
            for ((id, (mean_pps, wire_bytes)), (from, to, what, [path, return_path])) in
                pair.iter_mut().zip(load).zip(ways)
            {
                *id = self.connection(ConnectionSpec {
                    name: format!("{name}/{what}"),
                    from,
                    to,
                    source: Source::Users(Arc::new(UserTraffic {
                        workload: spec.clone(),
                        replies: what == "replies",
                        mean_pps: mean_pps * share,
                    })),
                    application: Application::Bulk,
                    start_s: spec.start_s,
                    stop_s: None,
                    size_pkts: None,
                    count: 1,
                    max_window_pkts: None,
                    packet_size_bytes: wire_bytes,
                    path: path.clone(),
                    return_path: return_path.clone(),
                    flow: spec.flow,
                    ecmp_share: None,
                    transfers: None,
                    acks,
                });
                if let Some(class) = &spec.class {
                    self.classify(*id, class);
                }
            }
            pairs.push(pair);
        }
        let name = |&id: &ConnectionId| (id, self.spec_of(id.0).name.clone());
        let added = pairs.iter().flatten().map(name).collect();
        self.workloads.push(Users { spec, pairs });
        added
    }

    /// Adds class queues to a link.
    pub fn schedule(&mut self, spec: MultiQueueLink) {
        self.check_owner(&[("link", spec.link.1)], |_| "classes of a link".to_owned());
        self.multi_queue_links.push(spec);
    }

    /// Assigns the connection's data and acknowledgements to the queue of this class, on links that have one.
    pub fn classify(&mut self, connection: ConnectionId, class: &str) {
        self.check_owner(&[("connection", connection.1)], |_| {
            format!("class {class}")
        });
        self.queue_class_of.insert(connection.0, class.to_owned());
    }

    /// Sets the weights of next links of equal cost (default: equal).
    pub fn ecmp_weights(&mut self, weights: EcmpWeights) {
        self.ecmp_weights = weights;
    }

    /// Sets the paths that a connection with an explicit path takes in turn while a link of this path is down.
    pub fn fallback_paths(&mut self, connection: ConnectionId, fallbacks: Fallbacks) {
        let nodes = fallbacks.paths.iter().flatten();
        let mut ids: Vec<_> = nodes.map(|node| ("paths", node.1)).collect();
        ids.push(("connection", connection.1));
        self.check_owner(&ids, |_| "fallback paths".to_owned());
        self.fallbacks.insert(connection.0, fallbacks);
    }

    /// Sets the memory limit of a run in bytes (default: no limit).
    pub fn memory_limit(&mut self, bytes: u64) {
        self.memory_limit_bytes = Some(bytes);
    }

    /// Records errors for ids of other networks; returns whether there are none.
    pub(crate) fn check_owner(
        &mut self,
        ids: &[(&'static str, Owner)],
        subject: impl Fn(&Self) -> String,
    ) -> bool {
        let foreign = ids.iter().filter(|(_, owner)| *owner != self.owner);
        let errors: Vec<BuildError> = foreign
            .map(|&(field, _)| BuildError::Foreign {
                subject: subject(self),
                field,
            })
            .collect();
        let owns_all = errors.is_empty();
        self.foreign_id_errors.extend(errors);
        owns_all
    }

    /// Checks all inputs, groups identical connections, and computes the routes.
    ///
    /// # Errors
    /// All errors, not only the first one.
    pub fn build(mut self) -> Result<Network, Vec<BuildError>> {
        if !self.foreign_id_errors.is_empty() {
            return Err(self.foreign_id_errors);
        }
        let mut errors = Vec::new();
        self.check_classes(&mut errors);
        self.class_queues = ClassQueues::new(&mut self.links, &self.multi_queue_links, &mut errors);
        let link_names = self.check_links(&mut errors);
        self.check_connections(&mut errors);
        self.check_events(&link_names, &mut errors);
        self.check_bundles(&mut errors);
        self.check_unavailabilities(&mut errors);
        self.check_workloads(&mut errors);
        self.check_allowed_settings(&mut errors);
        let aggregate_of = diffserv::check(
            &self.links,
            &link_names,
            &self.aggregates,
            &self.connections,
            &mut errors,
        );
        if !errors.is_empty() {
            return Err(errors);
        }
        let (class_of, classes) = classes::group_into_classes(
            &self.connections,
            &aggregate_of,
            &self.queue_class_of,
            &self.fallbacks,
            &self.allowed_settings,
        );
        let mut own: Vec<LinkEvent> = self.events.iter().map(LinkEvent::from).collect();
        own.sort_by(|a, b| a.at_s.total_cmp(&b.at_s)); // stable: ties in order of addition
        let mut events: Vec<LinkEvent> = Vec::with_capacity(own.len());
        for event in bundles::with_caused_events(&self.bundles, self.links.len(), own) {
            events.push(event);
            // A class queue shares the events of its link.
            let queues = self
                .class_queue_links()
                .filter(|&(_, parent, _)| parent == event.link);
            events.extend(queues.map(|(link, _, _)| LinkEvent { link, ..event }));
        }
        let routes = self.routes(&class_of, &classes, &events)?;
        let crossed = BufferSizing {
            links: &self.links,
            connections: &self.connections,
            classes: &classes,
            routes: &routes,
        };
        let buffer_pkts = crossed.buffers_pkts();
        let (other_way, risk_groups) = self.risk_groups.into_parts();
        let dscp = |connection| {
            let class = self.queue_class_of.get(&connection);
            class.and_then(|it| Dscp::named(it)).unwrap_or_default()
        };
        let dscps = (0..self.connections.len() as u32).map(dscp).collect();
        Ok(Network {
            inner: Arc::new(CompiledNetwork {
                owner: self.owner,
                buffer_pkts,
                nodes: self.nodes,
                links: self.links,
                link_names,
                connections: self.connections,
                class_of,
                classes,
                class_paths: routes.branches,
                path_links: routes.path_links,
                epochs: routes.epochs,
                events,
                given_events: self.events,
                fallbacks: self.fallbacks,
                bundles: self.bundles,
                aggregates: self.aggregates,
                workloads: self.workloads,
                shared_links: self.class_queues.shared_links,
                multi_queue_links: self.multi_queue_links,
                dscps,
                queue_class_of: self.queue_class_of,
                opposite_direction: other_way,
                risk_groups,
                unavailabilities: self.unavailabilities,
                controllable: routes.settable,
                calibration: self.calibration,
                ecmp_weights: self.ecmp_weights,
                memory_limit_bytes: self.memory_limit_bytes.unwrap_or(u64::MAX),
            }),
        })
    }

    /// Returns the name of a link without a class.
    pub(crate) fn link_label(&self, link: &LinkSpec) -> String {
        let [from, to] = [link.from, link.to].map(|node| self.node_name(node));
        link_name(from, to, link.circuit.as_deref())
    }

    fn check_links(&self, errors: &mut Vec<BuildError>) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut names = Vec::with_capacity(self.links.len());
        let first_queue = self.first_class_queue();
        let any_metric = self.links.iter().any(|link| link.metric.is_some());
        for (i, link) in self.links.iter().enumerate() {
            let mut name = self.link_label(link);
            let queue = i.checked_sub(first_queue);
            let queue = queue.and_then(|queue| self.class_queues.queues.get(queue));
            if let Some((_, class)) = queue {
                name += &format!("/{class}");
            }
            let subject = || format!("link {name}");
            let mut check = |field, value, allowed| {
                if let Some(e) = check_range(&subject, field, value, allowed) {
                    errors.push(e);
                }
            };
            check("bandwidth_bps", link.bandwidth_bps, Allowed::AtLeastOne);
            check("delay_s", link.delay_s, Allowed::NotNegative);
            let Overhead {
                bytes,
                minimum_bytes,
                cells: _,
            } = link.overhead;
            check("overhead bytes", bytes, Allowed::NotNegative);
            check(
                "overhead minimum_bytes",
                minimum_bytes,
                Allowed::NotNegative,
            );
            // A missing metric is reported as NaN if other links have one.
            let metric = if any_metric {
                link.metric.unwrap_or(f64::NAN)
            } else {
                0.0
            };
            check("metric", metric, Allowed::NotNegative);
            let Calibration {
                losses,
                waiting,
                windows: _,
            } = link.calibration;
            check("calibration losses", losses, Allowed::Positive);
            check("calibration waiting", waiting, Allowed::Positive);
            match link.buffer {
                Buffer::Packets(n) => check("buffer in packets", n, Allowed::AtLeastOne),
                Buffer::Bytes(n) => check("buffer in bytes", n, Allowed::AtLeastOne),
                Buffer::Time(time) => {
                    check("buffer in seconds", time.s, Allowed::Positive);
                    check(
                        "smallest buffer in bytes",
                        time.least_bytes,
                        Allowed::AtLeastOne,
                    );
                }
                Buffer::BandwidthDelay => {}
            }
            if let (DropPolicy::Managed(_), Buffer::Packets(n)) = (link.queue, link.buffer) {
                check(
                    "buffer of a managed queue in packets",
                    n,
                    Allowed::AtLeastTwo,
                );
            }
            if let DropPolicy::Red(red) = link.queue {
                check("red min_pkts", red.min_pkts, Allowed::NotNegative);
                check(
                    "red max_pkts",
                    red.max_pkts - red.min_pkts,
                    Allowed::NotNegative,
                );
                check("red max_p", red.max_p, Allowed::UnitInterval);
                check("red weight", red.weight, Allowed::UnitInterval);
            }
            if let Err(error) = link.loss.check() {
                check(error.name, error.value, Allowed::UnitInterval);
            }
            if link.trace.is_some() && link.series.is_some() {
                errors.push(BuildError::Class {
                    subject: subject(),
                    reason: "a link cannot have both a delivery trace and a series".to_owned(),
                });
            }
            if link.trace.is_some() && link.shaper.is_some() {
                errors.push(BuildError::Class {
                    subject: subject(),
                    reason: "a link with a delivery trace cannot have a shaper".to_owned(),
                });
            }
            if let Some((field, value, allowed)) = delay_line_error(&link.delay_line) {
                let subject = subject();
                errors.push(BuildError::OutOfRange {
                    subject,
                    field,
                    value,
                    allowed,
                });
            }
            for (rate, burst, bucket) in [
                ("policer rate_bps", "policer burst_bytes", link.policer),
                ("shaper rate_bps", "shaper burst_bytes", link.shaper),
            ] {
                let Some(bucket) = bucket else { continue };
                for (field, value) in [(rate, bucket.rate_bps), (burst, bucket.burst_bytes)] {
                    errors.extend(check_range(&subject, field, value, Allowed::AtLeastOne));
                }
                if let Err(reason) = bucket.try_bucket() {
                    let subject = subject();
                    errors.push(BuildError::DiffServ { subject, reason });
                }
            }
            if link.from == link.to {
                let at = self.node_name(link.from).to_owned();
                errors.push(BuildError::SelfLoop { node: at });
            }
            if !seen.insert(name.clone()) {
                errors.push(BuildError::DuplicateLink { link: name.clone() });
            }
            names.push(name);
        }
        names
    }

    fn check_connections(&self, errors: &mut Vec<BuildError>) {
        let mut seen = HashSet::with_capacity(self.connections.len());
        for c in &self.connections {
            if !seen.insert(c.name.as_str()) {
                errors.push(BuildError::DuplicateConnection {
                    connection: c.name.clone(),
                });
            }
            let subject = || format!("connection {}", c.name);
            let mut check = |field, value, allowed| {
                if let Some(e) = check_range(&subject, field, value, allowed) {
                    errors.push(e);
                }
            };
            check("start_s", c.start_s, Allowed::NotNegative);
            check("count", f64::from(c.count), Allowed::AtLeastOne);
            check("packet_size_bytes", c.packet_size_bytes, Allowed::Positive);
            if let Some(stop) = c.stop_s {
                check("stop_s - start_s", stop - c.start_s, Allowed::Positive);
            }
            if let Some(size) = c.size_pkts {
                check("size_pkts", size, Allowed::Positive);
            }
            if let Some(window) = c.max_window_pkts {
                check("max_window_pkts", window, Allowed::AtLeastOne);
            }
            if let Source::Constant { rate_pps } | Source::Poisson { rate_pps } = c.source {
                check("rate_pps", rate_pps, Allowed::Positive);
            }
            match c.application {
                Application::Bulk => {}
                Application::Poisson { rate_pps } => {
                    check("application rate_pps", rate_pps, Allowed::Positive);
                }
                Application::OnOff {
                    rate_pps,
                    on_s,
                    off_s,
                } => {
                    check("application rate_pps", rate_pps, Allowed::Positive);
                    check("application on_s", on_s, Allowed::Positive);
                    check("application off_s", off_s, Allowed::NotNegative);
                }
            }
            match &c.source {
                Source::Ns2Tcp(w) => check_window(w, &mut check),
                Source::Tcp(stack) => {
                    let window = c.max_window_pkts.unwrap_or(1.0);
                    check("max_window_pkts", window, Allowed::StackWindow);
                    if let Err(error) = stack.check() {
                        errors.push(BuildError::OutOfRange {
                            subject: subject(),
                            field: error.what,
                            value: error.value,
                            allowed: error.allowed,
                        });
                    }
                }
                Source::Profile(_)
                | Source::Constant { .. }
                | Source::Poisson { .. }
                | Source::Users(_) => {}
            }
            if c.from == c.to {
                errors.push(BuildError::BadPath {
                    connection: c.name.clone(),
                    reason: format!("sender and receiver are both {}", self.node_name(c.from)),
                });
            }
        }
    }

    fn check_workloads(&self, errors: &mut Vec<BuildError>) {
        let mut seen = HashSet::new();
        for spec in self.workloads.iter().map(|users| &*users.spec) {
            if !seen.insert(spec.name.as_str()) {
                errors.push(BuildError::Workload {
                    workload: spec.name.clone(),
                    reason: "it exists twice".to_owned(),
                });
            }
            errors.extend(workload_errors(spec));
        }
        let pairs = self.workloads.iter().flat_map(|users| &users.pairs);
        let own: HashSet<usize> = pairs.flatten().map(|id| id.index()).collect();
        for (i, connection) in self.connections.iter().enumerate() {
            if let Source::Users(traffic) = &connection.source
                && !own.contains(&i)
            {
                errors.push(BuildError::Workload {
                    workload: traffic.workload.name.clone(),
                    reason: format!(
                        "connection `{}` cannot carry its users: only connections added by \
                         NetworkBuilder::workload can",
                        connection.name
                    ),
                });
            }
        }
    }

    /// Adds errors for classes that no link has, and for links with two class specifications.
    fn check_classes(&self, errors: &mut Vec<BuildError>) {
        let mut links = HashSet::new();
        for spec in &self.multi_queue_links {
            if !links.insert(spec.link) {
                let name = self.link_label(&self.links[spec.link.index()]);
                errors.push(BuildError::Class {
                    subject: format!("link {name}"),
                    reason: "its classes are specified twice".to_owned(),
                });
            }
        }
        let classes = self.multi_queue_links.iter().flat_map(|spec| &spec.classes);
        let has_shaper = |queue: &DropPolicy| matches!(queue, DropPolicy::Managed(aqm) if aqm.shaper_bps().is_some());
        for spec in &self.multi_queue_links {
            let link = &self.links[spec.link.index()];
            let mut queues = spec.classes.iter().map(|class| &class.queue);
            if link.trace.is_some() {
                errors.push(BuildError::Class {
                    subject: format!("link {}", self.link_label(link)),
                    reason: "a link with a delivery trace cannot have classes".to_owned(),
                });
            }
            if let Scheduler::Htb(tree) = &spec.scheduler
                && (tree.first_invalid().is_some()
                    || tree.class_of_queue.len() != spec.classes.len())
            {
                errors.push(BuildError::Class {
                    subject: format!("link {}", self.link_label(link)),
                    reason: "HTB needs a class for each queue, with rates, after its parent"
                        .to_owned(),
                });
            }
            if has_shaper(&link.queue) || queues.any(has_shaper) {
                errors.push(BuildError::Class {
                    subject: format!("link {}", self.link_label(link)),
                    reason: "a queue that shares a link cannot have a shaper".to_owned(),
                });
            }
        }
        // CAKE sorts packets by code point.
        let has_tins = |queue: &DropPolicy| matches!(queue, DropPolicy::Managed(Aqm::Cake(cake)) if cake.tins != Tins::BestEffort);
        let has_tins = self.links.iter().any(|link| has_tins(&link.queue));
        let known: BTreeSet<&str> = classes.map(|class| class.name.as_str()).collect();
        for (&connection, class) in &self.queue_class_of {
            let selects_tin = has_tins && Dscp::named(class).is_some();
            if !selects_tin && !known.contains(class.as_str()) {
                let list: Vec<&str> = known.iter().copied().collect();
                errors.push(BuildError::Class {
                    subject: format!("connection {}", self.connections[connection as usize].name),
                    reason: if list.is_empty() {
                        format!("its class is `{class}`, but no link has classes")
                    } else {
                        format!(
                            "its class is `{class}`, but links have only {}",
                            list.join(", ")
                        )
                    },
                });
            }
        }
    }

    fn check_events(&self, link_names: &[String], errors: &mut Vec<BuildError>) {
        for e in &self.events {
            let subject = || format!("event on link {}", link_names[e.link.index()]);
            errors.extend(check_range(&subject, "at_s", e.at_s, Allowed::NotNegative));
            match e.change {
                Change::Bandwidth(bps) => {
                    errors.extend(check_range(&subject, "bandwidth", bps, Allowed::AtLeastOne));
                }
                Change::Loss(loss) => {
                    if let Err(error) = loss.check() {
                        let (field, value) = (error.name, error.value);
                        errors.extend(check_range(&subject, field, value, Allowed::UnitInterval));
                    }
                }
                Change::Delay(delay_s) => {
                    errors.extend(check_range(
                        &subject,
                        "delay",
                        delay_s,
                        Allowed::NotNegative,
                    ));
                }
                Change::Pause | Change::Down | Change::Up => {}
            }
            let link = &self.links[e.link.index()];
            let columns = link.series.as_ref().map(|it| it.series.columns());
            let has = |column: fn(&SeriesColumns) -> bool| columns.is_some_and(column);
            let (name, follows_trace) = match e.change {
                Change::Bandwidth(_) | Change::Pause => (
                    "bandwidth",
                    link.trace.is_some() || has(|it| it.bandwidths_bps.is_some()),
                ),
                Change::Delay(_) => ("delay", has(|it| it.delays_s.is_some())),
                Change::Loss(_) => ("loss", has(|it| it.losses.is_some())),
                Change::Down | Change::Up => continue,
            };
            if follows_trace {
                errors.push(BuildError::Class {
                    subject: subject(),
                    reason: format!("the {name} of the link follows its trace"),
                });
            }
        }
    }

    /// Returns the index of the first link that is a class queue.
    fn first_class_queue(&self) -> usize {
        self.links.len() - self.class_queues.queues.len()
    }

    /// Returns the class queues: link, parent link, class name.
    pub(crate) fn class_queue_links(&self) -> impl Iterator<Item = (u32, u32, &str)> {
        let queues = (self.first_class_queue() as u32..).zip(&self.class_queues.queues);
        queues.map(|(link, (parent, class))| (link, *parent, class.as_str()))
    }

    fn queue_of(&self) -> HashMap<(u32, &str), u32> {
        let queues = self.class_queue_links();
        queues
            .map(|(link, parent, class)| ((parent, class), link))
            .collect()
    }

    pub(crate) fn node_name(&self, node: NodeId) -> &str {
        self.nodes.get(node.index()).map_or("?", String::as_str)
    }
}

impl From<&EventSpec> for LinkEvent {
    fn from(e: &EventSpec) -> Self {
        LinkEvent {
            at_s: e.at_s,
            link: e.link.0,
            change: e.change,
        }
    }
}

/// Returns the errors of a workload, except for its name and nodes.
fn workload_errors(spec: &WorkloadSpec) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut bad = |reason: String| {
        errors.push(BuildError::Workload {
            workload: spec.name.clone(),
            reason,
        });
    };
    if let Err(error) = spec.application.check() {
        bad(error.to_string());
    }
    if !(spec.users_per_s > 0.0 && spec.users_per_s <= 1e6) {
        let is = spec.users_per_s;
        bad(format!(
            "users_per_s is {is}, but must be above 0 and at most 1e6"
        ));
    }
    if spec.clients.is_empty() || spec.servers.is_empty() {
        bad("it has no clients or no servers".to_owned());
    }
    if spec.too_many_pairs() {
        bad("it has more than 10000 pairs of a client and a server".to_owned());
    }
    let subject = || format!("workload {}", spec.name);
    let mut check = |field, value, allowed| {
        errors.extend(check_range(&subject, field, value, allowed));
    };
    check("start_s", spec.start_s, Allowed::NotNegative);
    if let Some(stop_s) = spec.stop_s {
        check("stop_s - start_s", stop_s - spec.start_s, Allowed::Positive);
    }
    check(
        "packet_size_bytes - 40",
        spec.payload_bytes(),
        Allowed::AtLeastOne,
    );
    if let Some(source) = &spec.source {
        check_window(source, &mut check);
    }
    if let Err(error) = spec.stack.check() {
        errors.push(BuildError::OutOfRange {
            subject: subject(),
            field: error.what,
            value: error.value,
            allowed: error.allowed,
        });
    }
    errors
}

fn check_window(w: &WindowSource, check: &mut impl FnMut(&'static str, f64, Allowed)) {
    check(
        "initial_window_pkts",
        w.initial_window_pkts,
        Allowed::AtLeastOne,
    );
    check("initial_rto_s", w.initial_rto_s, Allowed::Positive);
    check("min_rto_s", w.min_rto_s, Allowed::Positive);
    check(
        "max_rto_s - min_rto_s",
        w.max_rto_s - w.min_rto_s,
        Allowed::NotNegative,
    );
    let jitter_s = w.send_jitter_s.unwrap_or_default();
    check("send_jitter_s", jitter_s, Allowed::NotNegative);
    check("vegas_alpha_pkts", w.vegas_alpha_pkts, Allowed::Positive);
    check(
        "vegas_beta_pkts - vegas_alpha_pkts",
        w.vegas_beta_pkts - w.vegas_alpha_pkts,
        Allowed::NotNegative,
    );
    check("vegas_gamma_pkts", w.vegas_gamma_pkts, Allowed::Positive);
}

/// Largest window of a [stack](Source::Tcp) in packets, because an acknowledgement cannot identify more
/// packets.
pub const MAX_STACK_WINDOW_PKTS: f64 = 1e6;

/// Default largest window in packets of a source with a congestion window. A stack has a send buffer instead.
pub const DEFAULT_MAX_WINDOW_PKTS: f64 = 1e4;

#[derive(Clone, Copy)]
enum Allowed {
    Positive,
    NotNegative,
    AtLeastOne,
    AtLeastTwo,
    StackWindow,
    UnitInterval,
}

/// Returns the first setting of a delay line that is out of its range: its name, its value and the range.
fn delay_line_error(line: &DelayLine) -> Option<(&'static str, f64, &'static str)> {
    const SHARE: &str = "from 0 to 1";
    let is_share = |value: f64| (0.0..=1.0).contains(&value);
    let DelayLine {
        jitter,
        reordering,
        duplication,
        limit_pkts,
        slots,
    } = line;
    let reorders = jitter.as_ref().is_some_and(|it| it.reorders);
    let jitter = jitter.iter().flat_map(|it| {
        let deviation_s = it.deviation_ns as f64 * 1e-9;
        [
            (
                deviation_s <= 3600.0,
                "jitter deviation in s",
                deviation_s,
                "at most 3600",
            ),
            (
                is_share(it.correlation),
                "jitter correlation",
                it.correlation,
                SHARE,
            ),
        ]
    });
    let reordering = reordering.iter().flat_map(|it| {
        let gap = f64::from(it.gap);
        [
            (
                is_share(it.probability),
                "reordering probability",
                it.probability,
                SHARE,
            ),
            (it.gap >= 1, "reordering gap", gap, "at least 1"),
        ]
    });
    let slots = slots.iter().flat_map(|it| {
        let (least_ns, most_ns) = it.interval_ns;
        let most_s = most_ns as f64 * 1e-9;
        [
            (
                least_ns <= most_ns && most_s <= 3600.0,
                "longest slot interval in s",
                most_s,
                "at least the shortest, and at most 3600",
            ),
            (it.max_pkts != Some(0), "slot packets", 0.0, "at least 1"),
            (it.max_bytes != Some(0), "slot bytes", 0.0, "at least 1"),
            (
                !reorders,
                "slots with jitter that reorders",
                1.0,
                "jitter that keeps the order",
            ),
        ]
    });
    let others = [
        (is_share(*duplication), "duplication", *duplication, SHARE),
        (
            *limit_pkts != Some(0),
            "in-flight limit in packets",
            0.0,
            "at least 1",
        ),
    ];
    let mut all = jitter.chain(reordering).chain(slots).chain(others);
    let (_, field, value, allowed) = all.find(|&(is_allowed, ..)| !is_allowed)?;
    Some((field, value, allowed))
}

fn check_range(
    subject: &impl Fn() -> String,
    field: &'static str,
    value: f64,
    allowed: Allowed,
) -> Option<BuildError> {
    let (good, allowed) = match allowed {
        Allowed::Positive => (value > 0.0, "a positive number"),
        Allowed::NotNegative => (value >= 0.0, "zero or a positive number"),
        Allowed::AtLeastOne => (value >= 1.0, "at least 1"),
        Allowed::AtLeastTwo => (value >= 2.0, "at least 2"),
        Allowed::StackWindow => (
            (1.0..=MAX_STACK_WINDOW_PKTS).contains(&value),
            "1 to 1000000 with a stack",
        ),
        Allowed::UnitInterval => (value > 0.0 && value <= 1.0, "above 0 and at most 1"),
    };
    (!(good && value.is_finite())).then(|| BuildError::OutOfRange {
        subject: subject(),
        field,
        value,
        allowed,
    })
}

/// Number of links that change at the same time from which all paths are computed again.
const MAX_SEARCHED_LINKS: usize = 16;

/// Branches of all classes over time.
pub(crate) struct Routes {
    pub branches: Vec<ClassPath>,
    path_links: Vec<u32>,
    pub epochs: Vec<Epoch>,
    /// Settable connections. `class_paths_of` lists the branches of each, one for all precedences of a path.
    settable: Vec<ControllableConnection>,
    class_paths_of: Vec<Vec<u32>>,
    /// The same of other classes whose paths have changed.
    class_paths_of_changed: HashMap<u32, Vec<u32>>,
    /// Branches over settable paths only, which are unused by default.
    control_only: BTreeSet<u32>,
}

/// Data path and return path of a class, for one set of working links.
#[derive(PartialEq)]
pub(crate) struct PathPairs {
    pub data: Vec<u32>,
    pub back: Vec<u32>,
}

impl NetworkBuilder {
    /// Returns a branch for every class and for every set of working links that changes its paths.
    fn routes(
        &self,
        class_of: &[u32],
        classes: &[Class],
        events: &[LinkEvent],
    ) -> Result<Routes, Vec<BuildError>> {
        let router = self.router();
        let mut down = vec![false; self.links.len()];
        let mut routes = Routes {
            branches: Vec::with_capacity(classes.len()),
            path_links: Vec::new(),
            epochs: Vec::new(),
            settable: Vec::new(),
            class_paths_of: vec![Vec::new(); self.allowed_settings.len()],
            class_paths_of_changed: HashMap::new(),
            control_only: BTreeSet::new(),
        };
        // An unreachable receiver is an error while all links work; later it is the effect of a failure.
        let ways = self.all_path_pairs(&router, classes, &down)?;
        let own_path = |connection: u32| {
            let own = ways[class_of[connection as usize] as usize].as_ref();
            self.nodes_of(own.map_or(&[], |ways| &ways.data))
        };
        routes.settable = self.controllable_connections(own_path);
        let (set, errors) = self.path_pairs_of_allowed_paths(&router, &routes.settable, &down);
        if !errors.is_empty() {
            return Err(errors);
        }
        routes.open_epoch(0.0, classes, ways.into_iter().enumerate());
        routes.set_control_paths(class_of, classes, &set);
        let lengths: Vec<u64> = self.links.iter().map(length).collect();
        // Paths depend only on the links that are down.
        let mut down_links = BTreeSet::new();
        let mut epoch_with = HashMap::from([(down_links.clone(), 0)]);
        let changes = events.iter().filter(|e| e.change.reroutes());
        let changes: Vec<&LinkEvent> = changes.collect();
        // Each event needs the distances of all nodes from one node and to another one.
        let router = if 2 * changes.len() > self.nodes.len() {
            router.with_distances()
        } else {
            router
        };
        for at_once in changes.chunk_by(|a, b| a.at_s == b.at_s) {
            let at_s = at_once[0].at_s;
            let links: BTreeSet<u32> = at_once.iter().map(|e| e.link).collect();
            let before = down.clone();
            for e in at_once {
                down[e.link as usize] = e.change == Change::Down;
                if e.change == Change::Down {
                    down_links.insert(e.link);
                } else {
                    down_links.remove(&e.link);
                }
            }
            if let Some(&known) = epoch_with.get(&down_links) {
                let known: &Epoch = &routes.epochs[known];
                let again = Epoch {
                    at_s,
                    ..known.clone()
                };
                routes.epochs.push(again);
                continue;
            }
            epoch_with.insert(down_links.clone(), routes.epochs.len());
            let mut either = before;
            for &link in &links {
                either[link as usize] = false;
            }
            let affected =
                self.affected_classes(&router, classes, &routes, &links, &either, &lengths);
            let each = affected.iter().map(|&class| classes[class].connection);
            let each: Vec<_> = each.map(|c| (c, self.spec_of(c))).collect();
            let new = self.path_pairs_of_specs(&router, &each, &down).0;
            routes.open_epoch(at_s, classes, affected.into_iter().zip(new));
            let (set, _) = self.path_pairs_of_allowed_paths(&router, &routes.settable, &down);
            routes.set_control_paths(class_of, classes, &set);
        }
        Ok(routes)
    }

    /// Returns the classes whose paths in the last epoch may change when these links go down or up. `either` has the links
    /// that are down before and after, `lengths` the length of every link.
    ///
    /// A path changes only if a best path led, or leads, over one of the links: then a path over it is at most as long as
    /// the path before. Explicit and reversed paths choose among the links between two nodes. ECMP weights also depend on
    /// other links.
    fn affected_classes(
        &self,
        router: &Router,
        classes: &[Class],
        routes: &Routes,
        links: &BTreeSet<u32>,
        either: &[bool],
        lengths: &[u64],
    ) -> Vec<usize> {
        if links.len() > MAX_SEARCHED_LINKS {
            return (0..classes.len()).collect();
        }
        // The queue of a class fails with its link.
        let links = links.range(..self.first_class_queue() as u32);
        let over = links.map(|&it| router.distances_over(it, lengths[it as usize], either));
        let over: Vec<DistancesOver> = over.collect();
        // Links between the same nodes, in both directions, and their class queues.
        let mut is_parallel = vec![false; self.links.len()];
        for &DistancesOver { ends, .. } in &over {
            let forward = router.links_between(ends.0, ends.1);
            for link in forward.chain(router.links_between(ends.1, ends.0)) {
                is_parallel[link as usize] = true;
            }
        }
        for (queue, parent, _) in self.class_queue_links() {
            is_parallel[queue as usize] = is_parallel[parent as usize];
        }
        let branches = &routes.epochs[routes.epochs.len() - 1].class_path_of;
        let is_affected = |&class: &usize| {
            let spec = self.spec_of(classes[class].connection);
            let Some((data, back)) = branches[class].map(|it| routes.paths(it.get())) else {
                return true;
            };
            let (from, to) = (spec.from.0, spec.to.0);
            let length = |path: &[u32]| path.iter().map(|&it| lengths[it as usize]).sum();
            let [there, back_again]: [u64; 2] = [length(data), length(back)];
            let mut both = data.iter().chain(back);
            spec.path.is_some()
                || spec.return_path.is_some()
                || (router.has_weights() && spec.flow.is_some())
                || back.is_empty() // no return path yet, and none needed
                || over.iter().any(|it| {
                    it.length(from, to).is_some_and(|it| it <= there)
                        || it.length(to, from).is_some_and(|it| it <= back_again)
                })
                || both.any(|&link| is_parallel[link as usize])
        };
        (0..classes.len()).filter(is_affected).collect()
    }

    pub(crate) fn router(&self) -> Router {
        let links = &self.links[..self.first_class_queue()];
        Router::new(&self.nodes, links, &self.bundles, self.ecmp_weights)
    }

    fn all_path_pairs(
        &self,
        router: &Router,
        classes: &[Class],
        down: &[bool],
    ) -> Result<Vec<Option<PathPairs>>, Vec<BuildError>> {
        let (ways, errors) = self.path_pairs_of_classes(router, classes, down);
        if errors.is_empty() {
            Ok(ways)
        } else {
            Err(errors)
        }
    }

    /// Returns the paths of every class; `None`, and an error, if there is no path.
    pub(crate) fn path_pairs_of_classes(
        &self,
        router: &Router,
        classes: &[Class],
        down: &[bool],
    ) -> (Vec<Option<PathPairs>>, Vec<BuildError>) {
        let each = classes.iter().map(|class| class.connection);
        let each: Vec<_> = each.map(|c| (c, self.spec_of(c))).collect();
        self.path_pairs_of_specs(router, &each, down)
    }

    /// Returns the number of these classes of several flows that use one of several paths of equal cost.
    pub(crate) fn count_with_choices(
        &self,
        router: &Router,
        classes: &[Class],
        ways: &[Option<PathPairs>],
        down: &[bool],
    ) -> usize {
        let flows = classes.iter().zip(ways).filter_map(|(class, ways)| {
            let (ways, asked) = (
                ways.as_ref()?,
                RequestedPaths::of(self.spec_of(class.connection)),
            );
            let is_flow = asked.path.is_none() && asked.spec.flow.is_some();
            let looked_for = is_flow && asked.spec.is_several_flows();
            let path = if asked.is_reversed {
                &ways.back
            } else {
                &ways.data
            };
            looked_for.then(|| (request(asked.from, asked.to), path.as_slice()))
        });
        router.count_with_choices(&mut flows.collect::<Vec<_>>(), down)
    }

    /// Returns the paths of all settable connections over each of their allowed paths, concatenated.
    fn path_pairs_of_allowed_paths(
        &self,
        router: &Router,
        settable: &[ControllableConnection],
        down: &[bool],
    ) -> (Vec<Option<PathPairs>>, Vec<BuildError>) {
        let over = |it: &ControllableConnection, path: &Vec<NodeId>| ConnectionSpec {
            path: Some(path.clone()),
            ..self.spec_of(it.connection).clone()
        };
        let each = settable.iter().flat_map(|it| {
            it.paths
                .iter()
                .map(move |path| (it.connection, over(it, path)))
        });
        let specs: Vec<(u32, ConnectionSpec)> = each.collect();
        let specs: Vec<_> = specs.iter().map(|(c, spec)| (*c, spec)).collect();
        self.path_pairs_of_specs(router, &specs, down)
    }

    pub(crate) fn spec_of(&self, connection: u32) -> &ConnectionSpec {
        &self.connections[connection as usize]
    }

    /// Returns the nodes along links.
    fn nodes_of(&self, links: &[u32]) -> Vec<NodeId> {
        let link = |&l: &u32| &self.links[l as usize];
        let first = links.first().map(|l| link(l).from);
        first
            .into_iter()
            .chain(links.iter().map(|l| link(l).to))
            .collect()
    }

    /// Returns the paths of connections with these specifications.
    pub(crate) fn path_pairs_of_specs(
        &self,
        router: &Router,
        connections: &[(u32, &ConnectionSpec)],
        down: &[bool],
    ) -> (Vec<Option<PathPairs>>, Vec<BuildError>) {
        let asked = || {
            connections
                .iter()
                .map(|&(_, spec)| RequestedPaths::of(spec))
        };
        let given = ExplicitPaths {
            builder: self,
            router,
            down,
        };
        let mut errors = Vec::new();

        let explicit = asked().zip(connections).map(|(it, &(connection, _))| {
            let Some(nodes) = it.path else {
                return ExplicitPath::None;
            };
            // A path that is set at run time has no others.
            let is_own = it.spec.path == self.spec_of(connection).path;
            let others = self.fallbacks.get(&connection).filter(|_| is_own);
            given.first_working(it.spec, nodes, others, (it.from, it.to), &mut errors)
        });
        let explicit: Vec<ExplicitPath> = explicit.collect();
        let wanted = asked().zip(&explicit);
        let requests: Vec<Request> = wanted
            .filter(|(_, path)| **path == ExplicitPath::None)
            .map(|(it, _)| Request {
                flow: it.spec.flow,
                ..request(it.from, it.to)
            })
            .collect();
        let mut found = router.paths(&requests, down).into_iter();
        let mut data: Vec<Option<Vec<u32>>> = Vec::with_capacity(connections.len());
        let mut is_pinned = Vec::with_capacity(connections.len());
        for (it, path) in asked().zip(explicit) {
            is_pinned.push(path != ExplicitPath::None);
            data.push(match path {
                ExplicitPath::Links(path) => Some(path),
                ExplicitPath::Invalid => None,
                ExplicitPath::None => {
                    let path = found.next().flatten();
                    if path.is_none() {
                        errors.push(self.unreachable(it.spec, it.from, it.to));
                    }
                    path
                }
            });
        }

        // The return path is explicit, otherwise reversed, otherwise (with a unidirectional link) the
        // shortest path.
        let mut back: Vec<Option<Vec<u32>>> = Vec::with_capacity(connections.len());
        let mut looked_for = Vec::new();
        let mut opposites = given.opposites();
        for ((it, path), is_pinned) in asked().zip(&data).zip(is_pinned) {
            back.push(match (it.return_path, path) {
                (Some(nodes), _) => given.path(it.spec, nodes, (it.to, it.from), &mut errors),
                (None, None) => None,
                (None, Some(path)) => {
                    let reversed = given.reversed(path, is_pinned, &mut opposites);
                    if reversed.is_none() {
                        looked_for.push(back.len());
                    }
                    reversed
                }
            });
        }
        let asked_by = |i: usize| RequestedPaths::of(connections[i].1);
        let ends = |&i: &usize| request(asked_by(i).to, asked_by(i).from);
        let requests: Vec<Request> = looked_for.iter().map(ends).collect();
        for (&i, path) in looked_for.iter().zip(router.paths(&requests, down)) {
            let RequestedPaths { spec, from, to, .. } = asked_by(i);
            let needed = spec.needs_return_path();
            if path.is_none() && needed {
                errors.push(self.unreachable(spec, to, from));
            }
            back[i] = if needed {
                path
            } else {
                Some(path.unwrap_or_default())
            };
        }
        let queue_of = self.queue_of();
        let both = |((data, back), &(connection, spec)): ((Option<_>, Option<_>), &(u32, _))| {
            let (data, back) = if RequestedPaths::of(spec).is_reversed {
                (back?, data?)
            } else {
                (data?, back?)
            };
            let queue_class = self.queue_class_of.get(&connection);
            let queues = |links: Vec<u32>| match queue_class {
                None => links,
                Some(queue_class) => {
                    let queue = |link| queue_of.get(&(link, queue_class.as_str()));
                    let each = links.into_iter();
                    each.map(|link| queue(link).copied().unwrap_or(link))
                        .collect()
                }
            };
            Some(PathPairs {
                data: queues(data),
                back: queues(back),
            })
        };
        let ways = data.into_iter().zip(back).zip(connections);
        (ways.map(both).collect(), errors)
    }

    fn unreachable(&self, spec: &ConnectionSpec, from: NodeId, to: NodeId) -> BuildError {
        BuildError::Unreachable {
            connection: spec.name.clone(),
            from: self.node_name(from).to_owned(),
            to: self.node_name(to).to_owned(),
        }
    }
}

/// Requested paths of a connection, in the direction in which they are routed.
struct RequestedPaths<'a> {
    spec: &'a ConnectionSpec,
    from: NodeId,
    to: NodeId,
    path: Option<&'a [NodeId]>,
    return_path: Option<&'a [NodeId]>,
    /// True if they are the reverse of the connection's own direction.
    is_reversed: bool,
}

impl<'a> RequestedPaths<'a> {
    /// Returns the requested paths. Requests of users use the path of their replies reversed, unless a return
    /// path is given.
    fn of(spec: &'a ConnectionSpec) -> RequestedPaths<'a> {
        let (path, return_path) = (spec.path.as_deref(), spec.return_path.as_deref());
        match &spec.source {
            Source::Users(it) if !it.replies => RequestedPaths {
                spec,
                from: spec.to,
                to: spec.from,
                path: return_path,
                return_path: path,
                is_reversed: true,
            },
            _ => RequestedPaths {
                spec,
                from: spec.from,
                to: spec.to,
                path,
                return_path,
                is_reversed: false,
            },
        }
    }
}

fn request(from: NodeId, to: NodeId) -> Request {
    Request {
        from: from.0,
        to: to.0,
        flow: None,
    }
}

impl Routes {
    /// Starts an epoch at `at_s`: these classes get new paths, the others keep theirs.
    fn open_epoch(
        &mut self,
        at_s: f64,
        classes: &[Class],
        ways: impl Iterator<Item = (usize, Option<PathPairs>)>,
    ) {
        let mut branch_of = match self.epochs.last() {
            Some(before) => before.class_path_of.to_vec(),
            None => vec![None; classes.len()],
        };
        for (class, ways) in ways {
            let now = branch_of[class].map(|it| self.paths(it.get()));
            let is_same = now == ways.as_ref().map(|it| (&*it.data, &*it.back));
            if !is_same {
                branch_of[class] = ways.and_then(|ways| {
                    let place = control_index_of_class(&self.settable, &classes[class]);
                    let branch = self.class_path(class as u32, &classes[class], place, &ways);
                    self.control_only.remove(&branch);
                    NonMaxU32::new(branch)
                });
            }
        }
        let unrouted = (0..).zip(&branch_of).filter(|(_, it)| it.is_none());
        self.epochs.push(Epoch {
            at_s,
            unrouted: unrouted.map(|(class, _)| class).collect(),
            class_path_of: branch_of.into(),
            control_paths: Arc::default(),
        });
    }

    /// Sets the branches over settable paths in the last epoch. `ways` lists the paths of all settable
    /// connections in order.
    fn set_control_paths(
        &mut self,
        class_of: &[u32],
        classes: &[Class],
        ways: &[Option<PathPairs>],
    ) {
        let mut ways = ways.iter();
        let mut set = Vec::with_capacity(self.settable.len());
        for place in 0..self.settable.len() {
            let ControllableConnection {
                connection, paths, ..
            } = &self.settable[place];
            let (number, paths) = (class_of[*connection as usize], paths.len());
            let class = &classes[number as usize];
            let mut branches = Vec::with_capacity(paths);
            for ways in ways.by_ref().take(paths) {
                let new = self.branches.len() as u32;
                branches.push(ways.as_ref().and_then(|ways| {
                    NonMaxU32::new(self.class_path(number, class, Some(place), ways))
                }));
                if self.branches.len() as u32 > new {
                    self.control_only.insert(new);
                }
            }
            set.push(branches);
        }
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.control_paths = set.into();
        }
    }

    /// Returns whether a branch carries traffic without being set.
    pub fn is_used(&self, branch: u32) -> bool {
        let first = branch - self.branches[branch as usize].precedence;
        !self.control_only.contains(&first)
    }

    /// Returns the first branch of this class over these paths, new or existing. There is one branch for each
    /// precedence of its packets.
    fn class_path(
        &mut self,
        number: u32,
        class: &Class,
        place: Option<usize>,
        ways: &PathPairs,
    ) -> u32 {
        let known: &[u32] = match (place, self.epochs.first()) {
            (Some(place), _) => &self.class_paths_of[place],
            (None, None) => &[],
            (None, Some(first)) => {
                let first = first.class_path_of[number as usize];
                let paths = self.class_paths_of_changed.entry(number);
                paths.or_insert_with(|| first.map(NonMaxU32::get).into_iter().collect());
                &self.class_paths_of_changed[&number]
            }
        };
        let is_equal = |&b: &u32| self.paths(b) == (&ways.data, &ways.back);
        if let Some(known) = known.iter().copied().find(is_equal) {
            return known;
        }
        let data = self.add_path(&ways.data);
        let back = self.add_path(&ways.back);
        let first = self.branches.len() as u32;
        if let Some(place) = place {
            self.class_paths_of[place].push(first);
        } else if let Some(paths) = self.class_paths_of_changed.get_mut(&number) {
            paths.push(first);
        }
        let precedences = class.aggregate.map_or(1, |_| 3);
        self.branches
            .extend((0..precedences).map(|precedence| ClassPath {
                class: number,
                precedence,
                data,
                back,
            }));
        first
    }

    /// Returns the data path and the return path of a branch.
    fn paths(&self, branch: u32) -> (&[u32], &[u32]) {
        let ClassPath { data, back, .. } = self.branches[branch as usize];
        (self.links(data), self.links(back))
    }

    pub fn links(&self, (start, end): (u32, u32)) -> &[u32] {
        &self.path_links[start as usize..end as usize]
    }

    fn add_path(&mut self, links: &[u32]) -> (u32, u32) {
        let start = self.path_links.len() as u32;
        self.path_links.extend(links);
        (start, self.path_links.len() as u32)
    }
}
