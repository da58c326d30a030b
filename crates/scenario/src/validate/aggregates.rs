//! Validation of conditioned aggregates and of queues with drop precedences.

use netflow_diffserv::{
    Conditioner, ConditionerSpec, Curve, Discipline, DropPrecedence, Error, Kind, SrTcm, TrTcm,
};
use netflow_document::{ProblemKind, SourceSpan, Spanned, Words};
use netflow_network::{AggregateSpec, ConnectionId, DropPolicy, Edge, ModelName, Overhead, Rio};

use super::Validator;
use super::links::DEFAULT_RED_WEIGHT;
use super::names::Names;
use crate::file::{self, Aggregate, RioDiscipline, Scenario};

/// Default size of token buckets; the fluid model does not depend on it.
const DEFAULT_BURST_BYTES: u64 = 1_000_000;

/// Aggregates by name, with their members.
#[derive(Default)]
pub(super) struct Aggregates {
    names: Names,
    places: Vec<SourceSpan>,
    members: Vec<Vec<ConnectionId>>,
    /// Number of connections that name each aggregate, including invalid ones.
    named: Vec<usize>,
}

impl Aggregates {
    pub(super) fn add_member(&mut self, aggregate: usize, connection: ConnectionId) {
        if let Some(members) = self.members.get_mut(aggregate) {
            members.push(connection);
        }
    }
}

impl Validator<'_> {
    /// Registers the names of aggregates.
    pub(super) fn declare_aggregates(&mut self, aggregates: &[Aggregate]) {
        for aggregate in aggregates {
            if !aggregate.name.is_valid() {
                continue;
            }
            let place = aggregate.name.place();
            if let Err(first) = self.aggregates.names.add(&aggregate.name) {
                let first = self.aggregates.places.get(first).copied();
                let help = first.map_or(String::new(), |place| self.first_definition_help(place));
                let message = format!("aggregate `{}` exists twice", *aggregate.name);
                self.error(ProblemKind::Duplicate, place, message, &help);
                continue;
            }
            self.aggregates.places.push(place);
            self.aggregates.members.push(Vec::new());
            self.aggregates.named.push(0);
        }
    }

    /// Returns the aggregate that a connection names.
    pub(super) fn aggregate_of(&mut self, name: Option<&Spanned<String>>) -> Option<usize> {
        let name = name.filter(|name| name.is_valid())?;
        let found = self.aggregates.names.find(name);
        match found.and_then(|found| self.aggregates.named.get_mut(found)) {
            Some(named) => *named += 1,
            None => {
                let message = format!("unknown aggregate `{}`", **name);
                let names: Vec<&str> = self.aggregates.names.iter().collect();
                let help = if names.is_empty() {
                    "the scenario has no [[aggregate]]".to_owned()
                } else {
                    self.findings
                        .given_names_help(name, "aggregates", names.into_iter())
                };
                self.error(ProblemKind::UnknownName, name.place(), message, &help);
            }
        }
        found
    }

    /// Adds the aggregates with their members.
    pub(super) fn add_aggregates(&mut self, scenario: &Scenario) {
        self.check_precedences(scenario);
        for aggregate in &scenario.aggregates {
            let Some(place) = self.aggregates.names.find(&aggregate.name) else {
                continue; // its name could not be read
            };
            if self.aggregates.places.get(place) != Some(&aggregate.name.place()) {
                continue; // the second of this name
            }
            let edge = self.edge(aggregate);
            if self.aggregates.named.get(place) == Some(&0) {
                let message = format!("aggregate `{}` has no members", *aggregate.name);
                let help = format!(
                    "write `aggregate = \"{}\"` in its [[connection]]s",
                    *aggregate.name
                );
                self.error(ProblemKind::Missing, aggregate.name.place(), message, &help);
            }
            let members = self.aggregates.members.get_mut(place);
            let members = members.map(std::mem::take).unwrap_or_default();
            let Some(edge) = edge.filter(|_| !members.is_empty()) else {
                continue;
            };
            self.builder.aggregate(AggregateSpec {
                name: aggregate.name.to_string(),
                edge,
                members,
                rtt_s: aggregate.rtt.as_ref().map(|time| time.get()),
                rto_s: aggregate.rto.as_ref().map(|time| time.get()),
            });
        }
    }

    /// Reports settings that conflict with drop precedences, or have no effect without them.
    fn check_precedences(&mut self, scenario: &Scenario) {
        let is_rio =
            |queue: &Spanned<file::QueueSetting>| matches!(**queue, file::QueueSetting::Rio(_));
        let queues = scenario.links.iter().flat_map(|link| {
            let classes = link.classes.iter().filter_map(|class| class.queue.as_ref());
            link.queue.iter().chain(classes)
        });
        let queue = queues.into_iter().find(|queue| is_rio(queue));
        let aggregate = scenario.aggregates.first();
        let classes = scenario.links.iter().flat_map(|link| &link.classes);
        let class = classes.map(|class| class.name.place()).next();
        let first = queue
            .map(Spanned::place)
            .or(class)
            .or(aggregate.map(|aggregate| aggregate.name.place()));
        let model = self.settings.options.model.name();
        if model == ModelName::FluidLiteral
            && let Some(place) = first
        {
            let message =
                "model \"fluid-literal\" does not support aggregates, drop precedences or classes";
            let help = "use model \"fluid\"";
            self.error(ProblemKind::Conflict, place, message.to_owned(), help);
        }
        if let (Some(aggregate), None) = (aggregate, queue)
            && !self.findings.has_errors()
        {
            let message = "the `aggregate` has no effect: no queue distinguishes drop precedences";
            let help = "give a link `queue = { discipline = \"rio\", … }`";
            self.warning(
                ProblemKind::WithoutEffect,
                aggregate.name.place(),
                message,
                help,
            );
        }
    }

    /// Returns the conditioner of an aggregate.
    fn edge(&mut self, aggregate: &Aggregate) -> Option<Edge> {
        let committed_bps = self.rate_bps(aggregate.committed_rate.0);
        let peak_bps = aggregate
            .peak_rate
            .as_ref()
            .map(|rate| self.rate_bps(rate.0));
        self.warn_of_unused(aggregate);
        if aggregate.conditioner.has_peak_rate() && peak_bps.is_none() {
            let message = format!(
                "conditioner \"{}\" needs a `peak-rate`",
                aggregate.conditioner.name()
            );
            let help = "add `peak-rate = \"3 Mbit/s\"`, not below the committed rate";
            let place = aggregate.conditioner.place();
            self.error(ProblemKind::Missing, place, message, help);
            return None;
        }
        if let (Some(peak), Some(rate)) = (peak_bps, &aggregate.peak_rate)
            && peak < committed_bps
        {
            let message = format!(
                "`peak-rate` is {}, below `committed-rate`, which is {}",
                **rate, **aggregate.committed_rate
            );
            let help = "packets above the peak rate are DP2, packets above the committed rate DP1";
            self.error(ProblemKind::OutOfRange, rate.place(), message, help);
            return None;
        }
        let edge = match (aggregate.conditioner.kind(), peak_bps) {
            (Some(kind), _) => {
                let mut spec = ConditionerSpec::new(kind, committed_bps, peak_bps);
                if let Some(interval) = &aggregate.averaging {
                    spec.interval_s = interval.get();
                }
                if let Some(window) = &aggregate.small_window {
                    spec.small_window_pkts = window.get();
                }
                Conditioner::new(spec).map(Edge::Conditioner)
            }
            (None, Some(peak_bps)) if aggregate.conditioner.has_peak_rate() => TrTcm::new(
                committed_bps.round() as u64,
                DEFAULT_BURST_BYTES,
                peak_bps.round() as u64,
                DEFAULT_BURST_BYTES,
            )
            .map(Edge::TrTcm),
            (None, _) => SrTcm::new(
                committed_bps.round() as u64,
                DEFAULT_BURST_BYTES,
                DEFAULT_BURST_BYTES,
            )
            .map(Edge::SrTcm),
        };
        edge.map_err(|error| self.report_invalid(aggregate.name.place(), &error))
            .ok()
    }

    fn warn_of_unused(&mut self, aggregate: &Aggregate) {
        let name = *aggregate.conditioner;
        let is = |of: fn(Kind) -> bool| name.kind().is_some_and(of);
        let place = |time: &Option<file::Time>| time.as_ref().map(Spanned::place);
        let settings = [
            (
                "peak-rate",
                aggregate.peak_rate.as_ref().map(Spanned::place),
                name.has_peak_rate(),
            ),
            (
                "averaging",
                place(&aggregate.averaging),
                name.kind().is_some(),
            ),
            (
                "small-window",
                aggregate.small_window.as_ref().map(Spanned::place),
                is(Kind::protects_small_windows),
            ),
            // Other aggregates use the values that one reports for their minima.
            ("rtt", place(&aggregate.rtt), is(Kind::follows_rtt)),
            ("rto", place(&aggregate.rto), is(Kind::follows_rto)),
        ];
        for (key, place, used) in settings {
            if let (Some(place), false) = (place, used) {
                let message = format!("`{key}` has no effect on conditioner \"{}\"", name.name());
                self.warning(ProblemKind::WithoutEffect, place, message, "");
            }
        }
    }

    /// Returns a queue with drop precedences (RIO).
    pub(super) fn rio(
        &mut self,
        rio: &file::Rio,
        place: SourceSpan,
        overhead: Overhead,
    ) -> DropPolicy {
        let settings = [&rio.dp0, &rio.dp1, &rio.dp2];
        let mut sound = true;
        let mut curve = |setting: &Spanned<file::Curve>| {
            let min_pkts = self.packets(setting.min.0, overhead);
            let max_pkts = self.packets(setting.max.0, overhead);
            if max_pkts <= min_pkts {
                sound = false;
                if setting.min.is_valid() && setting.max.is_valid() {
                    let message = format!(
                        "`max` is {}, not above `min`, which is {}",
                        **setting.max, **setting.min
                    );
                    let help = "the probability rises from 0 at `min` to `max-p` at `max`";
                    self.error(ProblemKind::OutOfRange, setting.max.place(), message, help);
                }
            }
            Curve::new(min_pkts, max_pkts, *setting.max_p)
        };
        let curves = settings.map(&mut curve);
        let queue = Rio {
            discipline: match rio.discipline {
                RioDiscipline::Rio => Discipline::RioC,
                RioDiscipline::RioD => Discipline::RioD,
                RioDiscipline::Wred => Discipline::Wred,
            },
            curves,
            weight: rio.weight.as_deref().copied().unwrap_or(DEFAULT_RED_WEIGHT),
            gentle: rio.gentle.as_deref().copied().unwrap_or(false),
        };
        if !sound || settings.iter().any(|setting| !setting.is_valid()) {
            return DropPolicy::DropTail;
        }
        match queue.check() {
            Ok(()) => DropPolicy::Rio(queue),
            Err(error) => {
                let place = match &error {
                    Error::PrecedenceOrder { higher, .. } => match higher {
                        DropPrecedence::Dp0 => rio.dp0.place(),
                        DropPrecedence::Dp1 => rio.dp1.place(),
                        DropPrecedence::Dp2 => rio.dp2.place(),
                    },
                    _ => place,
                };
                self.report_invalid(place, &error);
                DropPolicy::DropTail
            }
        }
    }

    fn report_invalid(&mut self, place: SourceSpan, error: &Error) {
        let help = error.help().unwrap_or_default();
        self.error(ProblemKind::OutOfRange, place, error.to_string(), &help);
    }
}
