//! Split of traffic among equal-cost paths.

use netflow_document::{ProblemKind, SourceSpan};
use netflow_network::{EqualPaths, FlowHash, MAX_PATHS, NodeId, WorkloadSpec};

use super::Validator;
use super::connections::ConnectionEnds;

/// Part of some traffic: name, hash that selects an equal-cost path, and amount.
pub(super) struct TrafficPart<T> {
    pub(super) name: String,
    pub(super) flow: Option<FlowHash>,
    pub(super) amount: T,
}

impl Validator<'_> {
    /// Splits a rate between two nodes into parts with their shares.
    pub(super) fn split_rate(
        &mut self,
        name: String,
        ends: (NodeId, NodeId),
        place: SourceSpan,
    ) -> Vec<TrafficPart<f64>> {
        let Some(paths) = self.equal_paths() else {
            return vec![TrafficPart::unsplit(name, 1.0)];
        };
        let parts = paths.shares(ends.0, ends.1);
        if parts.iter().any(|it| it.is_approximate) && !self.warned_too_many_paths {
            self.warned_too_many_paths = true;
            let message = format!(
                "`{name}` has too many equal-cost paths: {MAX_PATHS} sampled flows represent them; its share of link loads may be wrong by up to 10 %"
            );
            let help = "reported only for the first of these demands";
            self.warning(ProblemKind::Suspicious, place, message, help);
        }
        let parts = parts.into_iter();
        let parts = parts.map(|part| (Some(part.flow), part.share)).collect();
        self.name_parts(name, 1.0, parts, place)
    }

    /// Splits a number of flows between two nodes into parts with flow counts.
    pub(super) fn split_flows(
        &mut self,
        name: String,
        ends: (NodeId, NodeId),
        count: u32,
        place: SourceSpan,
    ) -> Vec<TrafficPart<u32>> {
        let Some(paths) = self.equal_paths() else {
            return vec![TrafficPart::unsplit(name, count)];
        };
        let parts = paths.flows(ends.0, ends.1, &name, count).into_iter();
        let parts = parts.map(|(flow, count)| (Some(flow), count)).collect();
        self.name_parts(name, count, parts, place)
    }

    /// Warns of equal-cost paths for users, who have one path in each direction.
    pub(super) fn warn_of_equal_paths(&mut self, spec: &WorkloadSpec, place: SourceSpan) {
        let Some(paths) = self.equal_paths() else {
            return;
        };
        let pairs = spec.pairs().into_iter();
        let several = pairs
            .map(|(client, server)| paths.shares(server, client).len())
            .max();
        if let Some(several) = several.filter(|&paths| paths > 1) {
            let message = format!(
                "all users of `{}` between two nodes take one of {several} equal-cost paths",
                spec.name
            );
            let help = "use [[demand]]s, which are divided among paths, or several workloads with nodes of their own";
            self.warning(ProblemKind::Conflict, place, message, help);
        }
    }

    /// Returns the equal-cost paths, if traffic is split and the links are valid.
    fn equal_paths(&mut self) -> Option<&mut EqualPaths> {
        if self.settings.ecmp.is_none() || self.is_incomplete || self.findings.has_errors() {
            return None;
        }
        let builder = &self.builder;
        Some(self.paths.get_or_insert_with(|| builder.equal_paths()))
    }

    /// Names the parts, if there are several; a missing route is reported later.
    pub(super) fn name_parts<T>(
        &mut self,
        name: String,
        whole: T,
        parts: Vec<(Option<FlowHash>, T)>,
        place: SourceSpan,
    ) -> Vec<TrafficPart<T>> {
        if parts.is_empty() {
            return vec![TrafficPart::unsplit(name, whole)];
        }
        let several = parts.len() > 1;
        let ends = self.connections.ends(&name);
        let mut named = Vec::with_capacity(parts.len());
        for (number, (flow, of)) in (1..).zip(parts) {
            let part = if several {
                format!("{name}/{number}")
            } else {
                name.clone()
            };
            if several && self.connections.add_name(&part).is_err() {
                let message = format!(
                    "connection `{part}` already exists, but a part of `{name}`, which is divided among paths, has the same name"
                );
                let help =
                    "give one of them another name, or leave out `ecmp` or the shares of `paths`";
                self.error(ProblemKind::Duplicate, place, message, help);
                return Vec::new();
            }
            if several {
                let nowhere = ConnectionEnds {
                    sender: None,
                    from: place,
                    to: place,
                };
                self.connections.add_ends(ends.unwrap_or(nowhere));
            }
            named.push(TrafficPart {
                name: part,
                flow,
                amount: of,
            });
        }
        named
    }
}

impl<T> TrafficPart<T> {
    fn unsplit(name: String, of: T) -> TrafficPart<T> {
        TrafficPart {
            name,
            flow: None,
            amount: of,
        }
    }
}
