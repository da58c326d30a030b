//! Validation of a scenario and its conversion to a network.
//!
//! All checks are here, and all problems are reported; later stages do not check the input again.

mod aggregates;
mod aqm;
mod calibration;
mod connections;
mod days;
mod demands;
mod equal_cost_split;
mod events;
mod link_classes;
mod links;
mod names;
mod paths;
mod profiles;
mod simulation;
mod stacks;
mod tables;
mod traces;
mod workloads;

use netflow_document::{
    FileId, Findings, OverrideTarget, Overrides, ProblemKind, SourceSpan, Sources,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use netflow_network::{
    Aqm, BuildError, DropPolicy, EqualPaths, FluidOptions, LinkElement, LinkId, LinkSeries, Model,
    ModelName, Network, NetworkBuilder, NodeId, Options, Overhead,
};

use self::aggregates::Aggregates;
use self::connections::Connections;
use self::days::Days;
use self::demands::Demands;
use self::profiles::Profiles;
use self::simulation::Settings;
use crate::compiled_scenario::{LinkPlaces, NodeAnnotation, SplitTraffic, TransferDemand};
use crate::default_changes;
use crate::file::{
    Aggregate, ApplicationName, Connection, Demand, Event, Include, Link, ModelSetting, Node,
    Scenario, Simulation, Workload,
};
use crate::load::FileAccess;
use crate::memory_limit;
use netflow_queues::DeliveryTrace;
use netflow_units::{Bytes, Packets, link_name};

pub(crate) use self::workloads::application;

/// Result of validation.
pub(crate) struct ValidatedScenario {
    pub(crate) network: Network,
    pub(crate) options: Options,
    pub(crate) warmup_s: f64,
    pub(crate) seed: u64,
    pub(crate) node_annotations: Vec<NodeAnnotation>,
    pub(crate) demands: Vec<TransferDemand>,
    pub(crate) split: Vec<SplitTraffic>,
    pub(crate) has_means: bool,
    pub(crate) link_places: Vec<LinkPlaces>,
    pub(crate) packet_model_reason: Option<String>,
    pub(crate) ecmp: bool,
    pub(crate) packet_size: Bytes,
}

/// Environment of a scenario.
pub(crate) struct Environment<'s> {
    /// Directory to which its paths are relative.
    pub(crate) directory: &'s Path,
    /// Path of the scenario itself, which its tables cannot have.
    pub(crate) own_path: &'s Path,
    pub(crate) file_access: FileAccess,
    pub(crate) overrides: &'s Overrides,
}

/// Validates a scenario and builds its network; `None` on any error.
pub(crate) fn validate(
    scenario: &Scenario,
    environment: &Environment<'_>,
    sources: &mut Sources,
    findings: &mut Findings,
) -> Option<ValidatedScenario> {
    let settings = simulation::check(&scenario.simulation, findings);
    let mut builder = NetworkBuilder::new();
    builder.ecmp_weights(settings.ecmp.unwrap_or_default());
    let mut assembly = Validator {
        findings,
        sources,
        environment,
        settings,
        builder,
        nodes: HashMap::new(),
        node_names: Vec::new(),
        links: HashMap::new(),
        link_list: Vec::new(),
        bundles: HashMap::new(),
        risk_groups: BTreeMap::new(),
        node_annotations: Vec::new(),
        demand_list: Vec::new(),
        demands: Demands::default(),
        split: Vec::new(),
        days: Days::default(),
        annotated_nodes: HashSet::new(),
        annotated_groups: HashSet::new(),
        connections: Connections::default(),
        aggregates: Aggregates::default(),
        class_names: HashSet::new(),
        parent_classes: HashMap::new(),
        profiles: Profiles::default(),
        traces: HashMap::new(),
        series: HashMap::new(),
        paths: None,
        warned_too_many_paths: false,
        changes: Vec::new(),
        fractional_packets: Vec::new(),
        first_ecn_sender: None,
        first_dctcp: None,
        requires_packet_model: None,
        prefers_packet_model: None,
        packet_model_reason: None,
        is_incomplete: false,
    };
    let include = scenario.include.clone().unwrap_or_default();
    scenario
        .links
        .iter()
        .for_each(|link| assembly.add_link(link));
    assembly.table(include.links.as_ref(), |assembly, link: Link| {
        assembly.add_link(&link)
    });
    scenario
        .srlgs
        .iter()
        .for_each(|group| assembly.add_srlg(group));
    scenario
        .nodes
        .iter()
        .for_each(|node| assembly.annotate_node(node));
    assembly.table(include.nodes.as_ref(), |assembly, node: Node| {
        assembly.annotate_node(&node)
    });
    scenario
        .events
        .iter()
        .for_each(|event| assembly.add_event(event));
    assembly.table(include.events.as_ref(), |assembly, event: Event| {
        assembly.add_event(&event)
    });
    assembly.declare_aggregates(&scenario.aggregates);
    assembly.reserve(scenario.connections.len());
    for connection in &scenario.connections {
        assembly.add_connection(connection.clone());
    }
    assembly.table(
        include.connections.as_ref(),
        |assembly, connection: Connection| {
            assembly.add_connection(connection);
        },
    );
    assembly.declare_days(&scenario.days);
    assembly.demand_list.clone_from(&scenario.demands);
    assembly.table(include.demands.as_ref(), |assembly, demand: Demand| {
        assembly.demand_list.push(demand);
    });
    if let Some(gravity) = &include.gravity {
        let mut demands = assembly.gravity(gravity);
        assembly.demand_list.append(&mut demands);
    }
    assembly.finish(scenario)
}

/// State of validation, with the network under construction.
struct Validator<'s> {
    findings: &'s mut Findings,
    sources: &'s mut Sources,
    environment: &'s Environment<'s>,
    settings: Settings,
    builder: NetworkBuilder,
    nodes: HashMap<String, NodeId>,
    node_names: Vec<String>,
    links: HashMap<(NodeId, NodeId), Vec<LinkId>>,
    link_list: Vec<PlacedLink>,
    /// Members of bundles, by ends and circuit.
    bundles: HashMap<(NodeId, NodeId, Option<String>), Vec<LinkId>>,
    /// Links of each shared-risk group.
    risk_groups: BTreeMap<String, Vec<LinkId>>,
    node_annotations: Vec<NodeAnnotation>,
    /// Demands, which are added after the model was chosen.
    demand_list: Vec<Demand>,
    demands: Demands,
    /// Demands and connections in several parts.
    split: Vec<SplitTraffic>,
    days: Days,
    /// Nodes with a `[[node]]` table.
    annotated_nodes: HashSet<String>,
    /// Shared-risk groups with an `[[srlg]]` table.
    annotated_groups: HashSet<String>,
    connections: Connections,
    aggregates: Aggregates,
    /// Names of the classes with queues of all links.
    class_names: HashSet<String>,
    /// Classes of HTB that have classes of their own, with one of these.
    parent_classes: HashMap<String, String>,
    profiles: Profiles,
    /// Delivery traces by file; `None` for an invalid one.
    traces: HashMap<String, Option<Arc<DeliveryTrace>>>,
    /// Traces over time by file and overhead of the link; `None` for an invalid one.
    series: HashMap<(String, String), Option<Arc<LinkSeries>>>,
    /// Equal-cost paths, computed at first use, when all links were added.
    paths: Option<EqualPaths>,
    /// True if flows on too many paths to distinguish were reported.
    warned_too_many_paths: bool,
    changes: Vec<events::PlacedChange>,
    /// Non-integer numbers of packets: location, key and value.
    fractional_packets: Vec<(SourceSpan, &'static str, Packets)>,
    /// Location of the first sender that requests ECN, and the warning if no queue marks.
    /// Place of the first sender with ECN, the effect of missing marks, and true for L4S.
    first_ecn_sender: Option<(SourceSpan, String, bool)>,
    /// Place of the first sender with DCTCP.
    first_dctcp: Option<SourceSpan>,
    /// First feature that requires the packet model: location and name.
    requires_packet_model: Option<(SourceSpan, String, Option<LinkElement>)>,
    /// First feature for which the packet model is the default, but the fluid model possible.
    prefers_packet_model: Option<(SourceSpan, String)>,
    /// Setting because of which the packet model was chosen, if the fluid model supports it as
    /// well.
    packet_model_reason: Option<String>,
    /// True if links are missing because of errors, so that nodes and reachability are unknown.
    is_incomplete: bool,
}

/// Link with its location in the input.
#[derive(Clone)]
struct PlacedLink {
    from: NodeId,
    to: NodeId,
    circuit: Option<Arc<str>>,
    bandwidth_bps: f64,
    overhead: Overhead,
    has_metric: bool,
    places: LinkPlaces,
    /// True if it is the reverse direction of a duplex link.
    reverse: bool,
}

impl Validator<'_> {
    fn error(&mut self, kind: ProblemKind, place: SourceSpan, message: String, help: &str) {
        let finding = self.findings.error(kind, place, message);
        if !help.is_empty() {
            finding.set_help(help);
        }
    }

    fn warning(
        &mut self,
        kind: ProblemKind,
        place: SourceSpan,
        message: impl Into<String>,
        help: &str,
    ) {
        let finding = self.findings.warning(kind, place, message);
        if !help.is_empty() {
            finding.set_help(help);
        }
    }

    fn node_name(&self, node: NodeId) -> &str {
        self.node_names
            .get(node.index())
            .map_or("?", String::as_str)
    }

    fn link_name(&self, link: &PlacedLink) -> String {
        let [from, to] = [link.from, link.to].map(|node| self.node_name(node));
        link_name(from, to, link.circuit.as_deref())
    }

    /// Returns the line of a place, for "first at line 12"; empty if the message would not be
    /// shown.
    fn first_definition_help(&self, place: SourceSpan) -> String {
        if self.findings.is_full() || place.is_unknown() {
            return String::new();
        }
        let text = self.sources.text(place.file()).unwrap_or("");
        let before = text.get(..place.span().start).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        let file = match place.file() {
            FileId::FIRST => String::new(),
            file => self
                .sources
                .path(file)
                .and_then(Path::file_name)
                .map_or(String::new(), |name| {
                    format!(" of {}", name.to_string_lossy())
                }),
        };
        format!("first at line {line}{file}")
    }

    /// Makes the final checks and builds the network.
    fn finish(mut self, scenario: &Scenario) -> Option<ValidatedScenario> {
        let start = SourceSpan::new(FileId::FIRST, 0..0);
        let readable = !self.is_incomplete && !self.findings.has_rejected_keys();
        if self.link_list.is_empty() && readable && scenario.links.is_empty() {
            let help = "add one: [[link]] with `from = \"A\"`, `to = \"B\"` and `bandwidth = \"8 Mbit/s\"`";
            self.error(
                ProblemKind::Missing,
                start,
                "the scenario has no links".to_owned(),
                help,
            );
        }
        self.check_metrics();
        let demands = std::mem::take(&mut self.demand_list);
        let include = scenario.include.as_ref();
        let is_silent = self.connections.is_empty()
            && scenario.workloads.is_empty()
            && demands.is_empty()
            && include.is_none_or(|include| include.gravity.is_none());
        if is_silent && readable {
            let help = "add one: [[connection]] with `from = \"A\"`, `to = \"B\"` and `source = { profile = \"ns-reno\" }`";
            self.error(
                ProblemKind::Missing,
                start,
                "the scenario has no connections".to_owned(),
                help,
            );
        }
        self.choose_model(scenario);
        self.warn_of_other_models(&scenario.simulation);
        self.check_calibration_setting(&scenario.simulation);
        self.check_events();
        for demand in &demands {
            self.add_demand(demand);
        }
        self.check_demand_scale(scenario, &demands);
        self.check_days(scenario);
        self.add_workloads(scenario);
        self.add_aggregates(scenario);
        self.replace_profiles(&scenario.simulation);
        self.plan_calibration(&scenario.simulation);
        self.check_unused_settings(scenario);
        self.report_unused_overrides(scenario, &demands);
        // After other errors the builder only finds unreachable ends, for which it needs all links.
        if self.is_incomplete || self.links.is_empty() {
            return None;
        }
        let available = memory_limit::available();
        if let Some(bytes) = available {
            self.builder.memory_limit(bytes);
        }
        let built = std::mem::take(&mut self.builder).build();
        match built {
            Ok(network) => {
                self.reject_too_small_buffers(&network);
                self.warn_of_ecn_without_marks(&network);
                self.warn_of_dctcp_at_dualpi2(&network);
                default_changes::warn(scenario, &network, &self.settings.options, self.findings);
                (!self.findings.has_errors()).then(|| ValidatedScenario {
                    options: self.settings.options,
                    warmup_s: self.settings.warmup_s,
                    seed: self.settings.options.seed,
                    node_annotations: self.node_annotations,
                    demands: self.demands.transfer_demands,
                    split: self.split,
                    has_means: self.demands.has_mean_traffic,
                    link_places: self.link_list.iter().map(|it| it.places).collect(),
                    packet_model_reason: self.packet_model_reason,
                    ecmp: self.settings.ecmp.is_some(),
                    packet_size: self.settings.packet_size,
                    network,
                })
            }
            Err(errors) => {
                for error in errors {
                    self.report(error);
                }
                None
            }
        }
    }

    /// Warns of senders with ECN if no queue marks.
    fn warn_of_ecn_without_marks(&mut self, network: &Network) {
        if let Some((place, what, is_l4s)) = self.first_ecn_sender.take()
            && !network.links().any(|id| network.marks(id))
        {
            let message = format!("{what}: no queue marks packets");
            let queue = if is_l4s { "dualpi2" } else { "fq-codel" };
            let help =
                format!("give the bottleneck `queue = \"{queue}\"`, or a queue with `ecn = true`");
            self.warning(ProblemKind::WithoutEffect, place, message, &help);
        }
    }

    /// Warns of DCTCP at DualPI2: its packets are not L4S traffic (RFC 9331, 4.1).
    fn warn_of_dctcp_at_dualpi2(&mut self, network: &Network) {
        let is_dualpi2 = |id| {
            matches!(
                network.link_spec(id).queue,
                DropPolicy::Managed(Aqm::DualPi2(_))
            )
        };
        if let Some(place) = self.first_dctcp.take()
            && network.links().any(is_dualpi2)
        {
            let message = "`dctcp` sends ECT(0): `dualpi2` puts its packets into the classic queue";
            let help = "set `l4s = true`, or use `congestion = \"prague\"`, for L4S";
            self.warning(ProblemKind::WithoutEffect, place, message.to_owned(), help);
        }
    }

    /// Rejects metrics on some links only, because path costs would add metrics and delays.
    fn check_metrics(&mut self) {
        let of = |has| self.link_list.iter().find(|it| it.has_metric == has);
        if let (Some(with), Some(without)) = (of(true), of(false)) {
            let names = [with, without].map(|link| self.link_name(link));
            let place = without.places.from;
            let message = format!(
                "link `{}` has no `metric`, but `{}` has one",
                names[1], names[0]
            );
            let help = "give every link a `metric`, or none: then routing uses delays";
            self.error(ProblemKind::Missing, place, message, help);
        }
    }

    /// Warns of non-integer buffers and windows, which the packet model rounds down.
    fn warn_of_fractional_packets(&mut self) {
        let mut parts = std::mem::take(&mut self.fractional_packets);
        // One option can set many.
        parts.dedup();
        for (place, key, pkts) in parts {
            let whole = Packets(pkts.get().floor().max(1.0));
            let message = format!(
                "`{key}` is {pkts}, but counts as {whole}: write a whole number of packets"
            );
            self.warning(ProblemKind::WithoutEffect, place, message, "");
        }
    }

    /// Warns of settings without effect in the chosen model.
    fn warn_of_other_models(&mut self, simulation: &Simulation) {
        match self.settings.options.model {
            Model::Packets(_) => self.warn_of_fractional_packets(),
            Model::Fluid(_) => {
                if let Some(interval) = &simulation.burstiness_interval
                    && !self.findings.has_errors()
                {
                    let message =
                        "`burstiness-interval` has no effect: only the packet model uses it";
                    self.warning(ProblemKind::WithoutEffect, interval.place(), message, "");
                }
            }
        }
        if let Model::Fluid(FluidOptions::Literal { .. }) = self.settings.options.model
            && let Some(model) = &simulation.model
            && !self.findings.has_errors()
        {
            let message =
                "with model \"fluid-literal\", profile sources may oscillate from step to step";
            let help = "the length of steps is not checked: compare with a shorter `step`, or use model \"fluid\"";
            self.warning(ProblemKind::Conflict, model.place(), message, help);
        }
    }

    /// Chooses the model: some features need the packet model, which is then the default.
    fn choose_model(&mut self, scenario: &Scenario) {
        let video = (scenario.workloads.iter())
            .find(|workload| *workload.application == ApplicationName::Video);
        if let Some(workload) = video {
            // The fluid model gives viewers their long-run rate, without stalls.
            let place = workload.application.place();
            self.requires_packet_model
                .get_or_insert((place, "a video workload".to_owned(), None));
        }
        let model = scenario.simulation.model.as_deref();
        let is_fluid = model == Some(&ModelSetting::Fluid);
        let rather = self.prefers_packet_model.take().filter(|_| !is_fluid);
        let by_fluids = self.requires_packet_model.is_none();
        let rather = rather.map(|(place, what)| (place, what, None));
        let Some((place, what, element)) = self.requires_packet_model.take().or(rather) else {
            return;
        };
        match &scenario.simulation.model {
            None => {
                self.packet_model_reason = by_fluids.then_some(what);
                let model = simulation::model(ModelName::Packets, &scenario.simulation);
                self.settings.options.model = model;
            }
            Some(model) if **model == ModelSetting::Packet => {}
            Some(_) if by_fluids => {
                let message = format!("{what} needs the packet model or model \"fluid\"");
                let help = "write `model = \"packet\"` or `model = \"fluid\"` in [simulation]";
                self.error(ProblemKind::Conflict, place, message, help);
            }
            Some(_) => {
                let message = format!("{what} needs the packet model");
                let mut help =
                    "write `model = \"packet\"` in [simulation], or leave out `model` and any \
                            `--set simulation.model`"
                        .to_owned();
                if let Some(element) = element {
                    help += &format!("; or {}", element.alternative());
                }
                self.error(ProblemKind::Conflict, place, message, &help);
            }
        }
    }

    /// Reports an error of the network builder with its location.
    fn report(&mut self, error: BuildError) {
        let BuildError::Unreachable {
            connection,
            from,
            to,
        } = error
        else {
            // The checks above should find everything; if not, the error is reported as it is.
            if !self.findings.has_errors() {
                let start = SourceSpan::new(FileId::FIRST, 0..0);
                self.error(ProblemKind::Conflict, start, error.to_string(), "");
            }
            return;
        };
        let Some(ends) = self.connections.ends(&connection) else {
            return;
        };
        // `from` of the builder is the connection's `from`, or its `to` on the return path.
        let forth = self.nodes.get(&from).copied() == ends.sender;
        let (place, message) = if forth {
            (ends.to, format!("no path from `{from}` to `{to}`"))
        } else {
            (
                ends.from,
                format!("no return path from `{from}` to `{to}` for acknowledgements"),
            )
        };
        let help = "a link is bidirectional unless it has `duplex = false`; add a link, or make one duplex";
        self.error(ProblemKind::Unreachable, place, message, help);
    }

    fn report_unused_overrides(&mut self, scenario: &Scenario, demands: &[Demand]) {
        let overrides = self.environment.overrides;
        if overrides.is_empty() {
            return;
        }
        let given = self.link_list.iter();
        let links: Vec<String> = given.map(|link| self.link_name(link)).collect();
        let aggregates = scenario.aggregates.iter().map(|it| it.name.as_str());
        let workloads = scenario.workloads.iter().map(|it| it.name.as_str());
        let demands: Vec<String> = demands.iter().map(Demand::display_name).collect();
        let known = [
            OverrideTarget::single_table::<Simulation>(),
            OverrideTarget::single_table::<Include>(),
            OverrideTarget::elements::<Link>(links.iter().map(String::as_str)),
            OverrideTarget::elements::<Connection>(self.connections.names()),
            OverrideTarget::elements::<Demand>(demands.iter().map(String::as_str)),
            OverrideTarget::elements::<Aggregate>(aggregates),
            OverrideTarget::elements::<Workload>(workloads),
        ];
        overrides.report_unused(self.findings, &known);
    }
}
