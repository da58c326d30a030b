//! Validation of events.

use netflow_document::{ProblemKind, SourceSpan, Spanned};
use netflow_network::{Change, EventSpec, LinkElement, LinkId, NodeId, Overhead};
use netflow_units::{link_name, split_circuit};

use super::Validator;
use crate::file::{Event, Set};

/// Change of links, with its location in the input.
pub(super) struct PlacedChange {
    at_s: f64,
    /// Name of the changed element in messages.
    what: String,
    links: Vec<LinkId>,
    /// True if they fail; `None` for a change of settings only.
    fails: Option<bool>,
    place: SourceSpan,
}

impl Validator<'_> {
    /// Returns the time of the first change in this interval, if any.
    pub(super) fn first_change_in(&self, between_s: &std::ops::Range<f64>) -> Option<f64> {
        let mut times_s = self.changes.iter().map(|change| change.at_s);
        times_s.find(|at_s| between_s.contains(at_s))
    }

    pub(super) fn add_event(&mut self, event: &Event) {
        let duration_s = self.settings.options.duration_s;
        let at_s = event.at.get();
        if at_s >= duration_s {
            let message = format!("occurs at {}, after the end of the run", **event.at);
            self.warning(ProblemKind::WithoutEffect, event.at.place(), message, "");
        }
        let fails = match (&event.set, &event.down, &event.up) {
            (Some(_), ..) => None,
            (_, Some(_), _) => Some(true),
            (_, _, Some(_)) => Some(false),
            _ => return, // refused by the reader
        };
        for (what, links) in self.changed_links(event) {
            for &link in &links {
                let changes = match (&event.set, fails) {
                    (Some(set), _) => self.changes_of_link(set, link),
                    (None, Some(true)) => vec![Change::Down],
                    (None, _) => vec![Change::Up],
                };
                let events = changes.into_iter();
                let events = events.map(|change| EventSpec { at_s, link, change });
                events.for_each(|event| self.builder.event(event));
            }
            self.changes.push(PlacedChange {
                at_s,
                what,
                links,
                fails,
                place: event.at.place(),
            });
        }
    }

    /// Returns the changes of a link that an event sets.
    fn changes_of_link(&mut self, set: &Set, link: LinkId) -> Vec<Change> {
        let Set {
            bandwidth,
            loss,
            delay,
        } = set;
        let link = self.link_list.get(link.index());
        let overhead = link.map_or(Overhead::NONE, |link| link.overhead);
        let bandwidth = bandwidth.as_ref().map(|rate| {
            if rate.0.get() > 0.0 {
                return Change::Bandwidth(self.link_bps(rate.0, overhead));
            }
            let what = "a bandwidth of 0".to_owned();
            self.requires_packet_model.get_or_insert((
                rate.place(),
                what,
                Some(LinkElement::Pause),
            ));
            Change::Pause
        });
        let loss = loss.as_ref().map(|loss| Change::Loss(loss.to_link_loss()));
        let delay = delay.as_ref().map(|delay| Change::Delay(delay.get()));
        bandwidth.into_iter().chain(loss).chain(delay).collect()
    }

    /// Returns the changed elements with their names in messages: each direction of a link alone,
    /// but all links of a node or group together.
    fn changed_links(&mut self, event: &Event) -> Vec<(String, Vec<LinkId>)> {
        match (&event.link, &event.node, &event.srlg) {
            (Some(name), None, None) => {
                let links = self.event_links(name);
                let each = links
                    .into_iter()
                    .map(|id| (self.link_name_of(id), vec![id]));
                each.collect()
            }
            (None, Some(name), None) => {
                let Some(node) = self.known_node(name) else {
                    return Vec::new();
                };
                let at_node = self.links.iter();
                let at_node = at_node.filter(|((from, to), _)| *from == node || *to == node);
                let mut links: Vec<LinkId> = at_node.flat_map(|(_, ids)| ids).copied().collect();
                links.sort_unstable();
                vec![(format!("node `{}`", **name), links)]
            }
            (None, None, Some(name)) => {
                let links = self.risk_group(name);
                let of_group =
                    links.map(|links| (format!("shared-risk group `{}`", **name), links));
                of_group.into_iter().collect()
            }
            _ => Vec::new(), // refused by the reader
        }
    }

    fn link_name_of(&self, id: LinkId) -> String {
        let link = self.link_list.get(id.index());
        link.map_or_else(String::new, |link| {
            format!("link `{}`", self.link_name(link))
        })
    }

    /// Returns the links of a risk group, if it exists.
    pub(super) fn risk_group(&mut self, name: &Spanned<String>) -> Option<Vec<LinkId>> {
        if !name.is_valid() {
            return None;
        }
        let links = self.risk_groups.get(name.as_str()).cloned();
        if links.is_none() && !self.is_incomplete {
            let message = format!("unknown shared-risk group `{}`: no link is in it", **name);
            let names = self.risk_groups.keys().map(String::as_str);
            let help = if self.risk_groups.is_empty() {
                format!(
                    "write `srlg = \"{}\"` in the links that fail together",
                    **name
                )
            } else {
                self.findings.given_names_help(name, "groups", names)
            };
            self.error(ProblemKind::UnknownName, name.place(), message, &help);
        }
        links
    }

    /// Returns the link of `A->B` or `A->B#2`, or both of `A<->B`; of a bundle, all members.
    fn event_links(&mut self, name: &Spanned<String>) -> Vec<LinkId> {
        if !name.is_valid() {
            return Vec::new();
        }
        let (ends, both) = match name.split_once("<->") {
            Some(ends) => (ends, true),
            None => match name.split_once("->") {
                Some(ends) => (ends, false),
                None => {
                    let message = format!("`{}` is not the name of a link", **name);
                    let links = self.link_list.iter().map(|link| self.link_name(link));
                    let links: Vec<String> = links.collect();
                    let near =
                        netflow_units::nearest_name(name, links.iter().map(String::as_str), &[]);
                    let near =
                        near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
                    let help = format!(
                        "{near}write `A->B` for the link from A to B, or `A<->B` for both directions"
                    );
                    self.error(ProblemKind::BadValue, name.place(), message, &help);
                    return Vec::new();
                }
            },
        };
        let (a, b) = (ends.0.trim(), ends.1.trim());
        let find = |end: &str| self.nodes.get(end).copied();
        let (b, circuit) = match split_circuit(b) {
            Some((end, circuit)) if find(b).is_none() => (end, Some(circuit)),
            _ => (b, None),
        };
        let mut unknown = [a, b].into_iter().filter(|end| find(end).is_none());
        if let Some(first) = unknown.next() {
            let second = unknown.next();
            if !self.is_incomplete {
                self.unknown_node(first, name.place());
                if let Some(second) = second {
                    self.unknown_node(second, name.place());
                }
            }
            return Vec::new();
        }
        let (Some(a), Some(b)) = (find(a), find(b)) else {
            return Vec::new();
        };
        let directions: &[(NodeId, NodeId)] = if both { &[(a, b), (b, a)] } else { &[(a, b)] };
        let mut links = Vec::with_capacity(2);
        for &(from, to) in directions {
            let bundle = (from, to, circuit.map(str::to_owned));
            match self.link_between((from, to), circuit) {
                Some(link) => links.push(link),
                None if self.bundles.contains_key(&bundle) => links.extend(&self.bundles[&bundle]),
                None if self.is_incomplete => {}
                None => self.unknown_link((from, to), circuit, name.place()),
            }
        }
        links
    }

    fn unknown_link(&mut self, ends: (NodeId, NodeId), circuit: Option<&str>, place: SourceSpan) {
        let (from, to) = ends;
        let wanted = link_name(self.node_name(from), self.node_name(to), circuit);
        let near = |link: &&super::PlacedLink| link.from == from || link.to == to;
        let near: Vec<String> = self
            .link_list
            .iter()
            .filter(near)
            .map(|link| self.link_name(link))
            .collect();
        let help = if self.link_between((to, from), circuit).is_some() {
            "only the other direction exists".to_owned()
        } else {
            self.findings.given_names_help(
                &wanted,
                "links at its ends",
                near.iter().map(String::as_str),
            )
        };
        self.error(
            ProblemKind::UnknownName,
            place,
            format!("unknown link `{wanted}`"),
            &help,
        );
    }

    /// Warns of repairs of working elements and failures of failed ones.
    pub(super) fn check_events(&mut self) {
        let mut down = vec![false; self.link_list.len()];
        let mut changes = std::mem::take(&mut self.changes);
        changes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        for event in &changes {
            let Some(fails) = event.fails else { continue };
            let state = if fails {
                "has already failed"
            } else {
                "is already up"
            };
            let mut redundant = true;
            for link in &event.links {
                if let Some(is_down) = down.get_mut(link.index()) {
                    redundant &= std::mem::replace(is_down, fails) == fails;
                }
            }
            if redundant {
                let message = format!("this event has no effect: {} {state}", event.what);
                self.warning(ProblemKind::WithoutEffect, event.place, message, "");
            }
        }
    }
}
