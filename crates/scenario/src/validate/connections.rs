//! Validation of connections.

use netflow_document::{ProblemKind, SourceSpan, Spanned};
use netflow_network::{
    Acks, Application, ConnectionSpec, Fallbacks, HEADER_BYTES, MAX_STACK_WINDOW_PKTS, NodeId,
    Source, TcpVariant, WindowSource,
};
use netflow_units::{Bytes, Packets, Rate, Size};

use super::Validator;
use super::equal_cost_split::TrafficPart;
use super::names::Names;
use super::paths::Route;
use crate::compiled_scenario::SplitTraffic;
use crate::file::{ApplicationSetting, Connection, Ns2TcpSetting, SizeSetting, SourceSetting};

/// Largest number of packets that can be counted exactly.
const MAX_EXACT_PKTS: f64 = 1e15;

/// Connections so far: names, and locations of their ends.
#[derive(Default)]
pub(super) struct Connections {
    names: Names,
    ends: Vec<ConnectionEnds>,
    /// Number of connections, including skipped ones.
    pub(super) declared_count: usize,
}

/// Sender of a connection, and the locations of its ends in the input.
#[derive(Clone, Copy)]
pub(super) struct ConnectionEnds {
    pub(super) sender: Option<NodeId>,
    pub(super) from: SourceSpan,
    pub(super) to: SourceSpan,
}

impl Connections {
    pub(super) fn is_empty(&self) -> bool {
        self.declared_count == 0
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter()
    }

    /// Adds a new name; the locations of the ends must follow.
    pub(super) fn add_name(&mut self, name: &str) -> Result<usize, usize> {
        self.names.add(name)
    }

    pub(super) fn add_ends(&mut self, ends: ConnectionEnds) {
        self.ends.push(ends);
    }

    pub(super) fn ends(&self, name: &str) -> Option<ConnectionEnds> {
        self.ends.get(self.names.find(name)?).copied()
    }
}

impl Validator<'_> {
    /// Returns the maximum window in packets; bytes count payload, in whole packets.
    fn max_window_pkts(
        &mut self,
        window: &SizeSetting,
        source: &Source,
        packet_size: Bytes,
    ) -> Option<f64> {
        let pkts = match window.0 {
            Size::Packets(pkts) => pkts.get(),
            Size::Bytes(bytes) => {
                let header_bytes = match source {
                    Source::Tcp(stack) => stack.header_bytes(),
                    _ => HEADER_BYTES,
                };
                let payload_bytes = (packet_size.get() - header_bytes).max(1.0);
                (bytes.get() / payload_bytes).floor()
            }
        };
        if pkts < 1.0 {
            let message = format!(
                "`max-window` is {}, less than the payload of a packet",
                **window
            );
            let help = "make `max-window` larger, or `packet-size` smaller";
            self.error(ProblemKind::OutOfRange, window.place(), message, help);
            return None;
        }
        if let Source::Tcp(_) = source
            && pkts > MAX_STACK_WINDOW_PKTS
        {
            let message = format!("`max-window` is {}", **window);
            let help = format!("with a TCP stack it is at most {MAX_STACK_WINDOW_PKTS} pkt");
            self.error(ProblemKind::OutOfRange, window.place(), message, &help);
        }
        if let Source::Tcp(_) | Source::Ns2Tcp(_) = source
            && pkts.fract() > 0.0
        {
            self.fractional_packets
                .push((window.place(), "max-window", Packets(pkts)));
        }
        Some(pkts)
    }

    pub(super) fn reserve(&mut self, connections: usize) {
        self.connections.names.reserve(connections);
        self.connections.ends.reserve(connections);
    }

    pub(super) fn add_connection(&mut self, connection: Connection) {
        self.connections.declared_count += 1;
        let number = self.connections.declared_count;
        let name_place = connection
            .name
            .as_ref()
            .map_or(connection.from.place(), |name| name.place());
        let has_name = connection.name.is_some();
        let name = connection.name.map_or_else(
            || Connection::default_name(number),
            |name| name.into_inner(),
        );
        if let Err(first) = self.connections.add_name(&name) {
            return self.report_duplicate(&name, has_name, name_place, first);
        }
        let from = self.known_node(&connection.from);
        let to = self.known_node(&connection.to);
        self.connections.add_ends(ConnectionEnds {
            sender: from,
            from: connection.from.place(),
            to: connection.to.place(),
        });
        if connection.from.is_valid() && *connection.from == *connection.to {
            let message = format!(
                "connection `{name}` runs from `{}` to itself",
                *connection.from
            );
            let help = "sender and receiver must be two different nodes";
            return self.error(ProblemKind::Conflict, connection.to.place(), message, help);
        }

        let packet_size = match &connection.packet_size {
            Some(size) => size.0,
            None => self.settings.packet_size,
        };
        let (start_s, stop_s) = self.start_and_stop_s(&connection.start, &connection.stop);
        let count = connection.count.as_deref().copied().unwrap_or(1);
        let size_pkts = connection
            .size
            .as_ref()
            .map(|size| size.packets(packet_size).get());
        if let (Some(size), Some(setting)) = (size_pkts, &connection.size)
            && size * count as f64 > MAX_EXACT_PKTS
        {
            let message = format!(
                "{count} × {} is more than {MAX_EXACT_PKTS:e} packets",
                **setting
            );
            self.error(
                ProblemKind::TooLarge,
                setting.place(),
                message,
                "make `size` or `count` smaller",
            );
        }
        let acks = self.acks(
            &connection.source,
            connection.acks.as_ref(),
            connection
                .delayed_ack
                .as_ref()
                .or(match &*connection.source {
                    SourceSetting::Ns2Tcp(window) => window.delayed_ack.as_ref(),
                    _ => None,
                }),
        );
        if let (Some(window), false) = (&connection.max_window, is_tcp(&connection.source)) {
            let message = "`max-window` has no effect: only a TCP source has a window";
            self.warning(ProblemKind::WithoutEffect, window.place(), message, "");
        }
        let application = self.application(
            connection.application.as_ref(),
            is_tcp(&connection.source),
            packet_size,
        );
        let aggregate = self.aggregate_of(connection.aggregate.as_ref());
        let source = self.source(&connection.source, packet_size);
        let max_window_pkts = (connection.max_window.as_ref())
            .zip(source.as_ref())
            .and_then(|(window, source)| self.max_window_pkts(window, source, packet_size));
        let ends = from.zip(to);
        let routes = self.routes(connection.path.as_ref(), connection.paths.as_ref(), ends);
        let return_path = self.path(
            connection.return_path.as_ref(),
            ends.map(|(a, b)| (b, a)),
            "return-path",
        );
        if acks == Acks::None && !is_tcp(&connection.source) {
            self.warn_of_return_path(connection.return_path.as_ref());
        }
        let class = self.known_class(connection.class.as_ref());

        let (Some((from, to)), Some(source), Ok(routes), Ok(return_path)) =
            (ends, source, routes, return_path)
        else {
            return;
        };
        let spec = ConnectionSpec {
            name: name.clone(),
            from,
            to,
            source,
            application,
            start_s,
            stop_s,
            size_pkts,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            max_window_pkts,
            packet_size_bytes: packet_size.get(),
            path: None,
            return_path,
            flow: None,
            ecmp_share: None,
            transfers: None,
            acks,
        };
        let parts = if routes.is_empty() {
            let parts = self.split_by_path(spec, name_place).into_iter();
            parts.map(|part| (part, None)).collect()
        } else {
            self.split_by_route(spec, routes, name_place)
        };
        let mut ids = Vec::with_capacity(parts.len());
        for (part, fallbacks) in parts {
            let id = self.builder.connection(part);
            ids.push(id);
            if let Some(fallbacks) = fallbacks {
                self.builder.fallback_paths(id, fallbacks);
            }
            if let Some(class) = class {
                self.builder.classify(id, class);
            }
            if let Some(aggregate) = aggregate {
                self.aggregates.add_member(aggregate, id);
            }
        }
        if ids.len() > 1 {
            self.split.push(SplitTraffic { name, parts: ids });
        }
    }

    /// Warns of a return path without traffic.
    pub(super) fn warn_of_return_path(&mut self, path: Option<&Spanned<Vec<Spanned<String>>>>) {
        if let Some(path) = path {
            let message = "`return-path` has no effect: this source receives no acknowledgements";
            self.warning(ProblemKind::WithoutEffect, path.place(), message, "");
        }
    }

    /// Splits a connection among explicit paths; returns the parts with their other paths.
    fn split_by_route(
        &mut self,
        spec: ConnectionSpec,
        routes: Vec<Route>,
        place: SourceSpan,
    ) -> Vec<(ConnectionSpec, Option<Fallbacks>)> {
        let Some(flows) = self.flows_of_routes(&routes, spec.count, place) else {
            return Vec::new();
        };
        let flows = flows.into_iter().map(|count| (None, count)).collect();
        let parts = self.name_parts(spec.name.clone(), spec.count, flows, place);
        let part = |(part, route): (TrafficPart<u32>, Route)| {
            let spec = ConnectionSpec {
                name: part.name,
                count: part.amount,
                path: Some(route.nodes),
                ..spec.clone()
            };
            (spec, route.fallbacks)
        };
        parts.into_iter().zip(routes).map(part).collect()
    }

    /// Splits a connection among the equal-cost paths of its flows.
    fn split_by_path(&mut self, spec: ConnectionSpec, place: SourceSpan) -> Vec<ConnectionSpec> {
        let parts = self.split_flows(spec.name.clone(), (spec.from, spec.to), spec.count, place);
        let part = |part: TrafficPart<u32>| ConnectionSpec {
            name: part.name,
            count: part.amount,
            flow: part.flow,
            ..spec.clone()
        };
        parts.into_iter().map(part).collect()
    }

    /// Registers the name of a connection for users, with the locations of its workload and ends.
    pub(super) fn register_users_connection(
        &mut self,
        name: &str,
        at: SourceSpan,
        ends: [SourceSpan; 2],
    ) {
        if self.connections.add_name(name).is_err() {
            let message =
                format!("connection `{name}` already exists: it carries the traffic of a workload");
            let help = "give the connection, or the workload, another name";
            return self.error(ProblemKind::Duplicate, at, message, help);
        }
        let [from, to] = ends;
        self.connections.add_ends(ConnectionEnds {
            sender: None,
            from,
            to,
        });
    }

    fn report_duplicate(&mut self, name: &str, has_name: bool, place: SourceSpan, first: usize) {
        let first = self.connections.ends.get(first).map(|ends| ends.from);
        let mut help = first.map_or(String::new(), |place| self.first_definition_help(place));
        let message = if has_name {
            format!("connection `{name}` exists twice")
        } else {
            help += "; give every connection a `name`";
            format!("a connection without a name is called `{name}`, like another connection")
        };
        self.error(ProblemKind::Duplicate, place, message, &help);
    }

    /// Returns start and stop in seconds.
    pub(super) fn start_and_stop_s(
        &mut self,
        start: &Option<crate::file::Time>,
        stop: &Option<crate::file::Time>,
    ) -> (f64, Option<f64>) {
        let duration_s = self.settings.options.duration_s;
        let start_s = start.as_ref().map_or(0.0, |start| start.get());
        if let Some(start) = start.as_ref().filter(|start| start.get() >= duration_s) {
            let message = format!(
                "starts at {}, after the end of the run: it never sends",
                **start
            );
            self.warning(ProblemKind::WithoutEffect, start.place(), message, "");
        }
        let Some(stop) = stop else {
            return (start_s, None);
        };
        if stop.get() <= start_s {
            let message = match start {
                Some(start) => format!("stops at {}, not after its start at {}", **stop, **start),
                None => format!("stops at {}, not after its start at 0 s", **stop),
            };
            self.error(
                ProblemKind::OutOfRange,
                stop.place(),
                message,
                "make `stop` later than `start`",
            );
            return (start_s, None);
        }
        if stop.get() > duration_s {
            let message = format!("stops at {}, after the end of the run", **stop);
            self.warning(
                ProblemKind::WithoutEffect,
                stop.place(),
                message,
                "leave out `stop`, or make `duration` longer",
            );
        }
        (start_s, Some(stop.get()))
    }

    fn acks(
        &mut self,
        source: &SourceSetting,
        acks: Option<&netflow_document::Spanned<bool>>,
        delayed: Option<&netflow_document::Spanned<bool>>,
    ) -> Acks {
        if !is_tcp(source) {
            for (key, setting) in [("acks", acks), ("delayed-ack", delayed)] {
                if let Some(setting) = setting.filter(|setting| ***setting) {
                    let message =
                        format!("`{key}` has no effect: only TCP sources receive acknowledgements");
                    self.warning(ProblemKind::WithoutEffect, setting.place(), message, "");
                }
            }
            return Acks::None;
        }
        if let (SourceSetting::Tcp(_), Some(delayed)) = (source, delayed) {
            let message =
                "`delayed-ack` has no effect: the TCP stack sets when its receiver acknowledges";
            let help = "set `segments-per-ack` and `ack-delay` in a stack file";
            self.warning(ProblemKind::WithoutEffect, delayed.place(), message, help);
        }
        self.settings.acks_used |= acks.is_none();
        let wanted = acks.map_or(self.settings.acks, |acks| **acks);
        let is_stack = matches!(source, SourceSetting::Tcp(_));
        let second = delayed.filter(|delayed| ***delayed && !is_stack);
        match (wanted, second) {
            (true, None) => Acks::EveryPacket,
            (true, Some(_)) => Acks::EverySecond,
            (false, None) => Acks::None,
            (false, Some(delayed)) => {
                let message = "`delayed-ack` has no effect: the acknowledgements of this connection are not traffic";
                self.warning(
                    ProblemKind::WithoutEffect,
                    delayed.place(),
                    message,
                    "set `acks = true`",
                );
                Acks::None
            }
        }
    }

    fn application(
        &mut self,
        setting: Option<&Spanned<ApplicationSetting>>,
        is_tcp: bool,
        packet_size: Bytes,
    ) -> Application {
        let Some(setting) = setting else {
            return Application::Bulk;
        };
        if !is_tcp {
            let message = "`application` has no effect: only TCP sources have an application";
            self.warning(ProblemKind::WithoutEffect, setting.place(), message, "");
            return Application::Bulk;
        }
        let pps = |rate: Rate| rate.packets_per_second(packet_size).get();
        match &**setting {
            ApplicationSetting::Poisson(rate) => Application::Poisson {
                rate_pps: pps(rate.0),
            },
            ApplicationSetting::OnOff(on_off) => Application::OnOff {
                rate_pps: pps(on_off.rate.0),
                on_s: on_off.on.get(),
                off_s: on_off.off.get(),
            },
        }
    }

    /// Reports a first value above the second, at the location of one that is given.
    fn check_order<T>(
        &mut self,
        low: &Option<Spanned<T>>,
        high: &Option<Spanned<T>>,
        low_key: &str,
        high_key: &str,
        [low_value, high_value]: [f64; 2],
    ) {
        let given = low.as_ref().or(high.as_ref());
        if let Some(given) = given
            && low_value > high_value
        {
            let message = format!("`{low_key}` is above `{high_key}`");
            let help = format!("they are {low_value} and {high_value}");
            self.error(ProblemKind::Conflict, given.place(), message, &help);
        }
    }

    /// Warns of bounds in the wrong order, and of a CUBIC without the features of present-day
    /// CUBIC.
    pub(super) fn check_window(&mut self, window: &Ns2TcpSetting, source: &WindowSource) {
        if source.variant == TcpVariant::Cubic {
            let message = "`cubic` of ns-2 has no SACK and repairs one lost packet per round trip: on long paths \
                           its throughput is too low"
                .to_owned();
            let help = "write `tcp = \"linux-6\"` for the CUBIC of Linux";
            self.findings
                .warn_once(window.window.place(), message, help);
        }
        self.check_order(
            &window.min_rto,
            &window.max_rto,
            "min-rto",
            "max-rto",
            [source.min_rto_s, source.max_rto_s],
        );
        self.check_order(
            &window.alpha,
            &window.beta,
            "alpha",
            "beta",
            [source.vegas_alpha_pkts, source.vegas_beta_pkts],
        );
    }

    fn source(&mut self, source: &SourceSetting, packet_size: Bytes) -> Option<Source> {
        let pps = |rate: Rate| rate.packets_per_second(packet_size).get();
        match source {
            SourceSetting::Constant(rate) => Some(Source::Constant {
                rate_pps: pps(rate.0),
            }),
            SourceSetting::Poisson(rate) => Some(Source::Poisson {
                rate_pps: pps(rate.0),
            }),
            SourceSetting::Profile(name) => self.profile(name).map(Source::Profile),
            SourceSetting::Tcp(setting) => {
                let what = (setting.stack.place(), "a TCP stack".to_owned(), None);
                self.requires_packet_model.get_or_insert(what);
                self.stack_source(setting, packet_size)
            }
            SourceSetting::Ns2Tcp(window) => {
                let what = (window.window.place(), "an ns-2 TCP source".to_owned(), None);
                self.requires_packet_model.get_or_insert(what);
                let source = window_source(window);
                self.check_window(window, &source);
                Some(Source::Ns2Tcp(source))
            }
        }
    }
}

pub(super) fn window_source(setting: &Ns2TcpSetting) -> WindowSource {
    let default = WindowSource {
        variant: (*setting.window).into(),
        ..WindowSource::default()
    };
    let time = |given: &Option<crate::file::Time>, otherwise: f64| {
        given.as_ref().map_or(otherwise, |time| time.get())
    };
    let pkts = |given: &Option<crate::file::PacketCount>, otherwise: f64| {
        given.as_ref().map_or(otherwise, |count| count.get())
    };
    WindowSource {
        initial_window_pkts: pkts(&setting.initial_window, default.initial_window_pkts),
        initial_rto_s: time(&setting.initial_rto, default.initial_rto_s),
        min_rto_s: time(&setting.min_rto, default.min_rto_s),
        max_rto_s: time(&setting.max_rto, default.max_rto_s),
        send_jitter_s: setting.send_jitter.as_ref().map(|time| time.get()),
        vegas_alpha_pkts: pkts(&setting.alpha, default.vegas_alpha_pkts),
        vegas_beta_pkts: pkts(&setting.beta, default.vegas_beta_pkts),
        vegas_gamma_pkts: pkts(&setting.gamma, default.vegas_gamma_pkts),
        ..default
    }
}

fn is_tcp(source: &SourceSetting) -> bool {
    match source {
        SourceSetting::Profile(_) | SourceSetting::Ns2Tcp(_) | SourceSetting::Tcp(_) => true,
        SourceSetting::Constant(_) | SourceSetting::Poisson(_) => false,
    }
}
