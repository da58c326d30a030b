//! Validation of demands.

use std::collections::HashSet;
use std::sync::Arc;

use netflow_document::{ProblemKind, Quantity, SourceSpan, Spanned};
use netflow_network::{
    Acks, Application, ConnectionId, ConnectionSpec, EcmpShare, Fallbacks, FlowHash, Model, NodeId,
    Source, WorkloadSpec,
};
use netflow_tcpmodel::{Stack, transfer_simulation::HEADER_BYTES};
use netflow_units::{BitsPerSecond, Bounds, Bytes, Rate};
use netflow_workload::{Application as Users, Distribution, Http, TransferSizes, Video};

use super::Validator;
use super::connections::ConnectionEnds;
use super::equal_cost_split::TrafficPart;
use super::paths::Route;
use super::stacks::DEFAULT_STACK;
use crate::compiled_scenario::{SplitTraffic, TransferDemand};
use crate::file::{Demand, DemandKind, Gravity, GravityWeight, Scenario, distribution};
use crate::file::{VOICE_PACKET, VOICE_PPS};
use crate::memory_limit;

/// Maximum number of transfers or video chunks in a packet-model run, because all their times are
/// stored.
const MAX_TRANSFERS: f64 = 1e6;

/// Profile of long connections in the fluid model; the packet model uses [`DEFAULT_STACK`].
const DEFAULT_PROFILE: &str = "linux-cubic";

/// Size of a request for a transfer.
const REQUEST_BYTES: f64 = 1.0;

/// Default size distribution of transfers.
const DEFAULT_TRANSFER_SIZE: Distribution = Distribution::Exponential {
    mean: 1e6,
    most: 20e6,
};

/// State shared between demands.
#[derive(Default)]
pub(super) struct Demands {
    /// Cache, because many demands have the same transfers and computing their packets takes time.
    last_transfers: Option<Arc<TransferSizes>>,
    pub(super) transfer_demands: Vec<TransferDemand>,
    /// Connections of the demand that is being added.
    demand_connections: Vec<ConnectionId>,
    /// True if users are represented by their mean.
    pub(super) has_mean_traffic: bool,
}

impl Demands {
    fn transfers(
        &mut self,
        size: &Distribution,
        payload_bytes: f64,
        stack: &Stack,
    ) -> Arc<TransferSizes> {
        if let Some(last) = &self.last_transfers
            && last.size() == size
            && last.payload_bytes() == payload_bytes
        {
            return last.clone();
        }
        let window_pkts = f64::from(stack.initial_window_pkts);
        let new = Arc::new(TransferSizes::new(size.clone(), payload_bytes, window_pkts));
        self.last_transfers = Some(new.clone());
        new
    }
}

/// Demand after validation, or its part on one of several paths.
#[derive(Clone)]
struct ValidDemand {
    name: String,
    from: NodeId,
    to: NodeId,
    /// Location of its rate, or of the demand.
    place: SourceSpan,
    rate: Rate,
    packet: Bytes,
    start_s: f64,
    stop_s: Option<f64>,
    flow: Option<FlowHash>,
    /// As [`ConnectionSpec::ecmp_share`].
    ecmp_share: Option<EcmpShare>,
    /// Explicit paths over which it is divided.
    routes: Vec<Route>,
    /// Explicit path of a part.
    path: Option<Vec<NodeId>>,
    fallbacks: Option<Fallbacks>,
    return_path: Option<Vec<NodeId>>,
    class: Option<String>,
}

impl ValidDemand {
    /// Returns the part of this name on an explicit path.
    fn on_route(&self, name: String, route: &Route) -> ValidDemand {
        ValidDemand {
            name,
            path: Some(route.nodes.clone()),
            fallbacks: route.fallbacks.clone(),
            ..self.clone()
        }
    }
}

impl Validator<'_> {
    /// Returns the demands of a gravity model.
    pub(super) fn gravity(&mut self, gravity: &Spanned<Gravity>) -> Vec<Demand> {
        let weight = gravity.weight.as_deref().copied();
        let weights = self.weights(weight.unwrap_or(GravityWeight::Population));
        let place = gravity.place();
        if weights.len() < 2 {
            if !self.is_incomplete && !self.findings.has_errors() {
                let message = format!(
                    "`gravity` needs at least two nodes with a `population`, but {} have one",
                    weights.len()
                );
                let help = "add `population` to [[node]]s, or write `weight = \"uniform\"` or \"bandwidth\"";
                self.error(ProblemKind::Missing, place, message, help);
            }
            return Vec::new();
        }
        if weight.is_none_or(|weight| matches!(weight, GravityWeight::Population)) {
            self.warn_of_nodes_without_population(gravity.place());
        }
        let pairs = weights.len() * (weights.len() - 1);
        if let Err(message) = memory_limit::check_rows(pairs, "demand") {
            let help = "give fewer nodes a `population`";
            self.error(ProblemKind::TooLarge, place, message, help);
            return Vec::new();
        }
        // An unknown day is reported once, not for every demand.
        let day = gravity.day.clone();
        let day = day.filter(|day| self.factor_of(day).is_some());
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let own: f64 = weights.iter().map(|(_, weight)| weight * weight).sum();
        let total = sum * sum - own;
        let mut demands = Vec::with_capacity(pairs);
        for (from, of_from) in &weights {
            for (to, of_to) in weights.iter().filter(|(to, _)| to != from) {
                let share = of_from * of_to / total;
                let rate = Quantity(scale_rate(gravity.total.0, share));
                let node = |name: &str| Spanned::new(name.to_owned(), place);
                demands.push(Demand {
                    name: None,
                    from: node(from),
                    to: node(to),
                    rate: Some(Spanned::new(rate, gravity.total.place())),
                    users: None,
                    kind: gravity.kind,
                    day: day.clone(),
                    size: None,
                    flows: None,
                    start: None,
                    stop: None,
                    packet_size: None,
                    path: None,
                    paths: None,
                    return_path: None,
                    class: None,
                });
            }
        }
        demands
    }

    fn warn_of_nodes_without_population(&mut self, place: SourceSpan) {
        let peopled: HashSet<usize> = (self.node_annotations.iter())
            .filter(|note| note.population.is_some())
            .map(|note| note.node.index())
            .collect();
        let names = self.node_names.iter().enumerate();
        let mut without = names.filter(|(i, _)| !peopled.contains(i));
        let Some((_, first)) = without.next() else {
            return;
        };
        let which = match without.count() {
            0 => first.clone(),
            1 => format!("{first} and one other node"),
            more => format!("{first} and {more} other nodes"),
        };
        let message = format!("no `population`, so no demands by `gravity`: {which}");
        let help = "write `population = 0` if this is intended";
        self.warning(ProblemKind::Suspicious, place, message, help);
    }

    /// Returns the nodes with a weight, in the order of the nodes.
    fn weights(&self, by: GravityWeight) -> Vec<(String, f64)> {
        let mut weights = match by {
            GravityWeight::Uniform => vec![1.0; self.node_names.len()],
            GravityWeight::Population | GravityWeight::Bandwidth => {
                vec![0.0; self.node_names.len()]
            }
        };
        match by {
            GravityWeight::Uniform => {}
            GravityWeight::Population => {
                for note in &self.node_annotations {
                    weights[note.node.index()] = note.population.unwrap_or(0.0);
                }
            }
            GravityWeight::Bandwidth => {
                for link in &self.link_list {
                    weights[link.from.index()] += link.bandwidth_bps;
                }
            }
        }
        let names = self.node_names.iter().cloned();
        names
            .zip(weights)
            .filter(|(_, weight)| *weight > 0.0)
            .collect()
    }

    /// Warns of a scale without demands.
    pub(super) fn check_demand_scale(&mut self, scenario: &Scenario, demands: &[Demand]) {
        if let Some(scale) = &scenario.simulation.demand_scale
            && demands.is_empty()
            && !self.findings.has_errors()
        {
            let message = "`demand-scale` has no effect: there are no demands";
            self.warning(ProblemKind::WithoutEffect, scale.place(), message, "");
        }
    }

    /// Adds a demand, after the model was chosen.
    pub(super) fn add_demand(&mut self, demand: &Demand) {
        let Some(checked) = self.check_demand(demand) else {
            return;
        };
        let name = checked.name.clone();
        self.add_connections_of(demand, checked);
        let parts = std::mem::take(&mut self.demands.demand_connections);
        // A single connection has the name of the demand.
        if parts.len() > 1 {
            self.split.push(SplitTraffic { name, parts });
        }
    }

    /// Adds the connections of a demand.
    fn add_connections_of(&mut self, demand: &Demand, checked: ValidDemand) {
        match demand.kind() {
            DemandKind::Constant => {
                for part in self.split_by_share(checked) {
                    let rate_pps = part.rate.packets_per_second(part.packet).get();
                    self.add_rate(part, Source::Constant { rate_pps }, 1);
                }
            }
            DemandKind::Poisson => {
                for part in self.split_by_share(checked) {
                    let rate_pps = part.rate.packets_per_second(part.packet).get();
                    self.add_rate(part, Source::Poisson { rate_pps }, 1);
                }
            }
            DemandKind::Voice => {
                let all_pps = checked.rate.packets_per_second(checked.packet).get();
                let calls = (all_pps / VOICE_PPS)
                    .round()
                    .clamp(1.0, f64::from(u32::MAX));
                let rate_pps = all_pps / calls;
                for (part, calls) in self.split_by_flow(checked, calls as u32) {
                    self.add_rate(part, Source::Constant { rate_pps }, calls);
                }
            }
            DemandKind::Tcp => match demand.flows.as_deref() {
                Some(&flows) => {
                    let flows = u32::try_from(flows).unwrap_or(u32::MAX);
                    for (part, flows) in self.split_by_flow(checked, flows) {
                        self.add_flows(part, flows);
                    }
                }
                None => {
                    let size = demand
                        .size
                        .as_deref()
                        .map_or(DEFAULT_TRANSFER_SIZE, distribution);
                    for part in self.split_by_share(checked) {
                        self.add_transfers(part, size.clone());
                    }
                }
            },
            DemandKind::Video => {
                for part in self.split_by_share(checked) {
                    self.add_video(part);
                }
            }
        }
    }

    /// Splits a demand by share among its explicit paths, or among equal-cost paths.
    fn split_by_share(&mut self, demand: ValidDemand) -> Vec<ValidDemand> {
        if !demand.routes.is_empty() {
            let shares = demand.routes.iter().map(|it| (None, it.share)).collect();
            let parts = self.name_parts(demand.name.clone(), 1.0, shares, demand.place);
            let parts = parts.into_iter().zip(&demand.routes);
            let part = |(part, route): (TrafficPart<f64>, &Route)| ValidDemand {
                rate: scale_rate(demand.rate, part.amount),
                ..demand.on_route(part.name, route)
            };
            return parts.map(part).collect();
        }
        let ends = (demand.from, demand.to);
        let parts = self.split_rate(demand.name.clone(), ends, demand.place);
        let portions = EcmpShare::of_each(parts.iter().map(|part| part.amount));
        let part = |(part, portion): (TrafficPart<f64>, EcmpShare)| ValidDemand {
            name: part.name,
            rate: scale_rate(demand.rate, part.amount),
            flow: part.flow,
            ecmp_share: part.flow.map(|_| portion),
            ..demand.clone()
        };
        parts.into_iter().zip(portions).map(part).collect()
    }

    /// Splits a demand among its explicit paths, or among equal-cost paths by the hashes of its flows; returns parts
    /// with flow counts.
    fn split_by_flow(&mut self, demand: ValidDemand, flows: u32) -> Vec<(ValidDemand, u32)> {
        let share = |count: u32| f64::from(count) / f64::from(flows);
        if !demand.routes.is_empty() {
            let Some(counts) = self.flows_of_routes(&demand.routes, flows, demand.place) else {
                return Vec::new();
            };
            let counts = counts.into_iter().map(|count| (None, count)).collect();
            let parts = self.name_parts(demand.name.clone(), flows, counts, demand.place);
            let parts = parts.into_iter().zip(&demand.routes);
            let part = |(part, route): (TrafficPart<u32>, &Route)| {
                let checked = ValidDemand {
                    rate: scale_rate(demand.rate, share(part.amount)),
                    ..demand.on_route(part.name, route)
                };
                (checked, part.amount)
            };
            return parts.map(part).collect();
        }
        let ends = (demand.from, demand.to);
        let parts = self.split_flows(demand.name.clone(), ends, flows, demand.place);
        let part = |part: TrafficPart<u32>| {
            let checked = ValidDemand {
                name: part.name,
                rate: scale_rate(demand.rate, share(part.amount)),
                flow: part.flow,
                ..demand.clone()
            };
            (checked, part.amount)
        };
        parts.into_iter().map(part).collect()
    }

    fn check_demand(&mut self, demand: &Demand) -> Option<ValidDemand> {
        let kind = demand.kind();
        let place = demand
            .name
            .as_ref()
            .map_or(demand.from.place(), Spanned::place);
        let name = demand.display_name();
        if self.connections.add_name(&name).is_err() {
            let message =
                format!("`{name}` exists twice: demands and connections need different names");
            let help = "give every demand between the same nodes a `name`";
            self.error(ProblemKind::Duplicate, place, message, help);
            return None;
        }
        let from = self.known_node(&demand.from);
        let to = self.known_node(&demand.to);
        self.connections.add_ends(ConnectionEnds {
            sender: from,
            from: demand.from.place(),
            to: demand.to.place(),
        });
        if demand.from.is_valid() && *demand.from == *demand.to {
            let message = format!("demand `{name}` runs from `{}` to itself", *demand.from);
            let help = "sender and receiver must be two different nodes";
            self.error(ProblemKind::Conflict, demand.to.place(), message, help);
            return None;
        }
        let packet = match (&demand.packet_size, kind) {
            (Some(size), _) => size.0,
            (None, DemandKind::Voice) => VOICE_PACKET,
            (None, _) => self.settings.packet_size,
        };
        let has_users = match kind {
            DemandKind::Tcp => demand.flows.is_none(),
            DemandKind::Video => true,
            DemandKind::Constant | DemandKind::Poisson | DemandKind::Voice => false,
        };
        if has_users && packet.get() <= HEADER_BYTES {
            let message = format!("packets of {packet} are too small for the data of transfers");
            let help = "40 B of a packet are headers: add `packet-size = \"1500 B\"`";
            self.error(ProblemKind::OutOfRange, place, message, help);
            return None;
        }
        let (start_s, stop_s) = self.start_and_stop_s(&demand.start, &demand.stop);
        let of_each = match (&demand.rate, kind) {
            (Some(rate), _) => rate.0,
            (None, DemandKind::Video) => bits_per_s(viewer_bps(packet)),
            (None, _) => bits_per_s(8.0 * VOICE_PPS * VOICE_PACKET.get()),
        };
        let users = demand.users.as_deref().copied().unwrap_or(1);
        let factor = match &demand.day {
            Some(day) => self.factor_of(day),
            None => Some(1.0),
        };
        let ends = from.zip(to);
        let routes = self.routes(demand.path.as_ref(), demand.paths.as_ref(), ends);
        let back = ends.map(|(from, to)| (to, from));
        let return_path = self.path(demand.return_path.as_ref(), back, "return-path");
        if let DemandKind::Constant | DemandKind::Poisson | DemandKind::Voice = kind {
            self.warn_of_return_path(demand.return_path.as_ref());
        }
        let class = self.known_class(demand.class.as_ref()).map(str::to_owned);
        let (Some((from, to)), Some(factor), Ok(routes), Ok(return_path)) =
            (ends, factor, routes, return_path)
        else {
            return None;
        };
        let scale = self.settings.demand_scale * factor;
        let place = demand.rate.as_ref().map_or(place, Spanned::place);
        let rate = scale_rate(of_each, users as f64 * scale);
        let bounds = match rate {
            Rate::BitsPerSecond(_) => Bounds::BIT_RATE,
            Rate::PacketsPerSecond(_) => Bounds::PACKET_RATE,
        };
        // A rate that rounds to zero is not a demand.
        if rate.get() <= 0.0 || rate.get() > bounds.max {
            let with = match demand.day {
                Some(_) => "all users, `demand-scale` and `day`",
                None => "all users and `demand-scale`",
            };
            let message = format!("demand `{name}` is {rate} with {with}");
            let help = format!("rates are {}", bounds.text);
            self.error(ProblemKind::OutOfRange, place, message, &help);
            return None;
        }
        Some(ValidDemand {
            place,
            rate,
            name,
            from,
            to,
            packet,
            start_s,
            stop_s,
            flow: None,
            ecmp_share: None,
            routes,
            path: None,
            fallbacks: None,
            return_path,
            class,
        })
    }

    /// Adds a connection of a demand with its class and its other paths.
    fn add_demand_connection(
        &mut self,
        demand: &ValidDemand,
        spec: ConnectionSpec,
    ) -> ConnectionId {
        let id = self.builder.connection(spec);
        self.demands.demand_connections.push(id);
        if let Some(class) = &demand.class {
            self.builder.classify(id, class);
        }
        if let Some(fallbacks) = &demand.fallbacks {
            self.builder.fallback_paths(id, fallbacks.clone());
        }
        id
    }

    /// Adds a source with a fixed rate.
    fn add_rate(&mut self, demand: ValidDemand, source: Source, count: u32) {
        let spec = connection_spec(&demand, source, demand.packet.get());
        self.add_demand_connection(&demand, ConnectionSpec { count, ..spec });
    }

    /// Adds long connections that share the rate.
    fn add_flows(&mut self, demand: ValidDemand, flows: u32) {
        let source = match self.settings.options.model {
            Model::Packets(_) => Stack::builtin(DEFAULT_STACK).map(|it| Source::Tcp(it.into())),
            Model::Fluid(_) => {
                let name = Spanned::new(DEFAULT_PROFILE.to_owned(), demand.place);
                self.profile(&name).map(Source::Profile)
            }
        };
        let Some(source) = source else { return };
        let all_pps = demand.rate.packets_per_second(demand.packet).get();
        let spec = connection_spec(&demand, source, demand.packet.get());
        // Long connections, for which Linux acknowledges nearly every second packet.
        let acks = match self.demand_acks() {
            Acks::None => Acks::None,
            Acks::EveryPacket | Acks::EverySecond => Acks::EverySecond,
        };
        let spec = ConnectionSpec {
            application: Application::Poisson {
                rate_pps: all_pps / f64::from(flows),
            },
            count: flows,
            acks,
            ..spec
        };
        self.add_demand_connection(&demand, spec);
    }

    /// Adds finite transfers: individual ones in the packet model, started by users' requests;
    /// their mean in the fluid model.
    fn add_transfers(&mut self, demand: ValidDemand, size: Distribution) {
        let Some(stack) = Stack::builtin(DEFAULT_STACK) else {
            return;
        };
        let payload_bytes = demand.packet.get() - HEADER_BYTES;
        let transfers = self.demands.transfers(&size, payload_bytes, &stack);
        // Packets count with their mean bits, because the last packet of a transfer is not full.
        let packets = transfers.mean_pkts();
        let mean = MeanTraffic {
            packets,
            wire_bytes: transfers.mean_wire_bytes(HEADER_BYTES) / packets,
        };
        let one = || Distribution::Constant(1.0);
        let application = Users::Http(Http {
            request_bytes: Distribution::Constant(REQUEST_BYTES),
            reply_bytes: size,
            files: one(),
            think_s: Distribution::Constant(0.0),
            pages: one(),
        });
        let name = demand.name.clone();
        let stands_for = transfers.clone();
        if let Some(connection) = self.add_users(demand, application, stack, &mean, stands_for) {
            self.demands.transfer_demands.push(TransferDemand {
                name,
                connection,
                transfers,
            });
        }
    }

    /// Adds viewers of videos in the same manner.
    fn add_video(&mut self, demand: ValidDemand) {
        let Some(stack) = Stack::builtin(DEFAULT_STACK) else {
            return;
        };
        let (video, mean) = video_viewer(demand.packet);
        // Chunks are successive transfers over one connection; queues treat each as a separate
        // transfer.
        let chunk = Video::default().chunk_bytes;
        let payload_bytes = demand.packet.get() - HEADER_BYTES;
        let chunks = self.demands.transfers(&chunk, payload_bytes, &stack);
        self.add_users(demand, video, stack, &mean, chunks);
    }

    /// Adds users at the receiver, each of whom is sent the mean traffic. In the fluid model it adds
    /// and returns a connection with their mean rate.
    fn add_users(
        &mut self,
        demand: ValidDemand,
        application: Users,
        stack: Stack,
        mean: &MeanTraffic,
        transfers: Arc<TransferSizes>,
    ) -> Option<ConnectionId> {
        let wire = Bytes(mean.wire_bytes);
        let rate_pps = demand.rate.packets_per_second(wire).get();
        let Model::Packets(_) = self.settings.options.model else {
            self.demands.has_mean_traffic = true;
            let acks = self.demand_acks();
            let spec = connection_spec(&demand, Source::Poisson { rate_pps }, mean.wire_bytes);
            let spec = ConnectionSpec {
                acks,
                transfers: Some(transfers),
                ..spec
            };
            return Some(self.add_demand_connection(&demand, spec));
        };
        let workload = WorkloadSpec {
            name: demand.name,
            application,
            users_per_s: rate_pps / mean.packets,
            clients: vec![demand.to],
            servers: vec![demand.from],
            start_s: demand.start_s,
            stop_s: demand.stop_s,
            source: None,
            delayed_ack: false,
            packet_size_bytes: demand.packet.get(),
            stack,
            flow: demand.flow,
            path: demand.path,
            return_path: demand.return_path,
            class: demand.class,
        };
        let place = demand.place;
        let run_s = self.settings.options.duration_s;
        let asked = workload.application.mean_exchanges();
        let expected = asked * workload.expected_users(run_s);
        if expected > MAX_TRANSFERS {
            let (what, help) = match &workload.application {
                Users::Video(_) => ("chunks of video", "make `rate` smaller or the run shorter"),
                _ => (
                    "transfers",
                    "make `size` larger, `rate` smaller or the run shorter",
                ),
            };
            let message = format!(
                "demand `{}` has about {expected:.1e} {what}, but the packet model supports at most {MAX_TRANSFERS:e}",
                workload.name
            );
            let help = format!("{help}, or write `model = \"fluid\"` in [simulation]");
            self.error(ProblemKind::TooLarge, place, message, &help);
            return None;
        }
        for (id, name) in self.builder.workload(workload) {
            self.demands.demand_connections.push(id);
            if let Some(fallbacks) = &demand.fallbacks {
                self.builder.fallback_paths(id, fallbacks.clone());
            }
            self.register_users_connection(&name, place, [place; 2]);
        }
        None
    }

    fn demand_acks(&mut self) -> Acks {
        self.settings.acks_used = true;
        if self.settings.acks {
            Acks::EveryPacket
        } else {
            Acks::None
        }
    }
}

/// Returns a connection with the demand's name, without acknowledgements.
fn connection_spec(demand: &ValidDemand, source: Source, packet_size_bytes: f64) -> ConnectionSpec {
    ConnectionSpec {
        name: demand.name.clone(),
        from: demand.from,
        to: demand.to,
        source,
        application: Application::Bulk,
        start_s: demand.start_s,
        stop_s: demand.stop_s,
        size_pkts: None,
        count: 1,
        max_window_pkts: None,
        packet_size_bytes,
        path: demand.path.clone(),
        return_path: demand.return_path.clone(),
        flow: demand.flow,
        ecmp_share: demand.ecmp_share,
        transfers: None,
        acks: Acks::None,
    }
}

/// Mean traffic per user: number of packets, and their size in bytes on the wire.
struct MeanTraffic {
    packets: f64,
    wire_bytes: f64,
}

/// Returns the behaviour of a video viewer, and its mean traffic with packets of at most this size.
fn video_viewer(packet: Bytes) -> (Users, MeanTraffic) {
    let video = Users::Video(Video::default());
    let [_, (packets, bytes)] = video.mean_packets(packet.get() - HEADER_BYTES);
    let mean = MeanTraffic {
        packets,
        wire_bytes: bytes + HEADER_BYTES,
    };
    (video, mean)
}

/// Returns the bits per second of video for one viewer.
fn viewer_bps(packet: Bytes) -> f64 {
    let (_, mean) = video_viewer(packet);
    8.0 * mean.packets * mean.wire_bytes / Video::LENGTH_S
}

fn bits_per_s(bps: f64) -> Rate {
    Rate::BitsPerSecond(BitsPerSecond(bps))
}

fn scale_rate(rate: Rate, factor: f64) -> Rate {
    match rate {
        Rate::BitsPerSecond(bps) => Rate::BitsPerSecond(BitsPerSecond(bps.get() * factor)),
        Rate::PacketsPerSecond(pps) => {
            Rate::PacketsPerSecond(netflow_units::PacketsPerSecond(pps.get() * factor))
        }
    }
}
