//! A network under construction, in the terms of its file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use netflow_document::ProblemKind;
use netflow_units::{BitsPerSecond, Bounds, Seconds};

use crate::assumption::Assumptions;
use crate::attributes::{
    Attribute, LinkAttributes, NodeAttributes, StatedQuantity, default_rate_unit_bps, is_up,
    scaled, single_line, truncate_text,
};
use crate::errors::{ImportError, ReadResult};
use crate::lines::Lines;
use crate::names::{self, NameRequest};
use crate::{
    Coordinates, Demand, Format, Link, Node, Position, Reading, Reverse, Subject, Topology,
    attributes,
};

/// Maximum number of nodes, links and demands. Larger scenarios exceed any practical use.
const MAX_ITEMS: usize = 1_000_000;

/// A network under construction from the text of a file.
pub(crate) struct TopologyBuilder<'t> {
    pub(crate) text: &'t str,
    pub(crate) format: Format,
    pub(crate) name: Option<String>,
    pub(crate) origin: Vec<(String, String)>,
    /// Unit of rates without one, in bit/s, if the format or the file states it.
    pub(crate) rate_unit: Option<f64>,
    /// Unit of times without one, in s.
    pub(crate) time_unit: f64,
    /// Kind of the coordinates, if the file states it.
    pub(crate) coordinates: Option<Coordinates>,
    pub(crate) assumptions: Assumptions,
    /// True if two directed links in opposite directions form one link.
    pub(crate) pairs: bool,
    lines: Lines,
    nodes: Vec<DraftNode>,
    node_indices: HashMap<String, usize>,
    links: Vec<DraftLink>,
    demands: Vec<DraftDemand>,
    zero_demands: usize,
}

/// A complete network.
pub(crate) struct ParsedTopology {
    pub(crate) topology: Topology,
    /// Identifier of each node in the file.
    pub(crate) ids: Vec<String>,
    /// Unit of rates without one, in bit/s.
    pub(crate) rate_unit: f64,
}

struct DraftNode {
    id: String,
    attributes: NodeAttributes,
    span: Range<usize>,
}

struct DraftLink {
    from: usize,
    to: usize,
    directed: bool,
    attributes: LinkAttributes,
    /// The opposite direction of a bidirectional link, if it is listed separately.
    back: Option<(LinkAttributes, Range<usize>)>,
    span: Range<usize>,
}

struct DraftDemand {
    from: usize,
    to: usize,
    rate: StatedQuantity,
    span: Range<usize>,
}

impl<'t> TopologyBuilder<'t> {
    pub(crate) fn new(text: &'t str, format: Format) -> TopologyBuilder<'t> {
        TopologyBuilder {
            text,
            format,
            name: None,
            origin: Vec::new(),
            rate_unit: None,
            time_unit: 1e-3,
            coordinates: None,
            assumptions: Assumptions::default(),
            pairs: true,
            lines: Lines::of(text),
            nodes: Vec::new(),
            node_indices: HashMap::new(),
            links: Vec::new(),
            demands: Vec::new(),
            zero_demands: 0,
        }
    }

    /// Returns whether it has demands and no links.
    pub(crate) fn is_matrix(&self) -> bool {
        self.links.is_empty() && !self.demands.is_empty()
    }

    /// Returns whether any rate has no unit.
    pub(crate) fn has_unitless_rates(&self) -> bool {
        self.unitless_rates().next().is_some()
    }

    /// Returns the rates of links and demands that have no unit.
    fn unitless_rates(&self) -> impl Iterator<Item = f64> {
        let attributes = self.links.iter().flat_map(|link| {
            let reverse = link.attributes.reverse.as_deref();
            std::iter::once(&link.attributes).chain(reverse)
        });
        let of_links =
            attributes.filter_map(|attributes| attributes.bandwidth.as_ref()?.0.unitless());
        of_links.chain(self.demands.iter().filter_map(|it| it.rate.unitless()))
    }

    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        self.lines.line_of_byte(span.start)
    }

    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn has_node(&self, id: &str) -> bool {
        self.node_indices.contains_key(id)
    }

    pub(crate) fn add_node(
        &mut self,
        id: &str,
        attributes: &[Attribute<'_>],
        span: Range<usize>,
    ) -> ReadResult<usize> {
        if let Some(&first) = self.node_indices.get(id) {
            let line = self.line(&self.nodes[first].span);
            let message = format!(
                "node `{}` exists twice: first in line {line}",
                truncate_text(id)
            );
            return Err(ImportError::new(ProblemKind::Duplicate, span, message));
        }
        let attributes = attributes::parse_node(attributes)?;
        self.add_node_with(id, attributes, span)
    }

    /// Adds a node with known attributes. It must be new.
    pub(crate) fn add_node_with(
        &mut self,
        id: &str,
        attributes: NodeAttributes,
        span: Range<usize>,
    ) -> ReadResult<usize> {
        check_count(self.nodes.len(), "nodes", &span)?;
        let place = self.nodes.len();
        self.node_indices.insert(id.to_owned(), place);
        let id = id.to_owned();
        self.nodes.push(DraftNode {
            id,
            attributes,
            span,
        });
        Ok(place)
    }

    /// Returns the node that a link or a demand refers to.
    pub(crate) fn existing_node(&self, id: &str, span: Range<usize>) -> ReadResult<usize> {
        self.node_indices.get(id).copied().ok_or_else(|| {
            let message = format!("unknown node `{}`", truncate_text(id));
            let wrong = ImportError::new(ProblemKind::UnknownName, span, message);
            let ids = self.nodes.iter().take(10_000).map(|node| node.id.as_str());
            match netflow_units::nearest_name(id, ids, &[]) {
                Some(near) => wrong.help(format!(
                    "did you mean `{}`?{}",
                    truncate_text(near),
                    netflow_units::composition_remark(id, near)
                )),
                None => wrong.help(match self.nodes.len() {
                    0 => "the file has no nodes".to_owned(),
                    1 => "the file has one node".to_owned(),
                    n => format!(
                        "the file has {n} nodes, the first of them `{}`",
                        truncate_text(&self.nodes[0].id)
                    ),
                }),
            }
        })
    }

    /// Returns the node of this identifier, which is added if the file does not list its nodes.
    pub(crate) fn node_or_new(&mut self, id: &str, span: Range<usize>) -> ReadResult<usize> {
        match self.node_indices.get(id) {
            Some(&place) => Ok(place),
            None => self.add_node(id, &[], span),
        }
    }

    pub(crate) fn add_link(
        &mut self,
        (from, to): (usize, usize),
        directed: bool,
        attributes: LinkAttributes,
        span: Range<usize>,
    ) -> ReadResult<()> {
        check_count(self.links.len(), "links", &span)?;
        if from == to {
            let name = format!("{0}--{0}", truncate_text(&self.nodes[from].id));
            let text = "a link from a node to itself carries no traffic: ignored";
            let about = Subject::Other(name, self.line(&span));
            self.assumptions.add(text, about);
            return Ok(());
        }
        if attributes.is_down() {
            let status = attributes
                .status
                .as_deref()
                .map(truncate_text)
                .unwrap_or_default();
            let text = format!("a link with the status \"{status}\" is out of service: ignored");
            let [from, to] = [from, to].map(|end| truncate_text(&self.nodes[end].id));
            let about = Subject::Other(format!("{from}--{to}"), self.line(&span));
            self.assumptions.add(text, about);
            return Ok(());
        }
        self.links.push(DraftLink {
            from,
            to,
            directed,
            attributes,
            back: None,
            span,
        });
        Ok(())
    }

    /// Adds a network segment. `members` are its nodes and the attributes of the direction into the segment. Two
    /// nodes get one link. More get a node for the segment, which they leave without delay and metric.
    pub(crate) fn add_lan(
        &mut self,
        name: &str,
        mut members: Vec<(usize, LinkAttributes)>,
        span: Range<usize>,
    ) -> ReadResult<()> {
        if members.len() == 2 {
            let [(from, mut there), (to, mut back)] = [members.remove(0), members.remove(0)];
            there.fill_from_reverse(&back);
            back.fill_from_reverse(&there);
            let settings = std::mem::take(&mut there.settings);
            if !there.has_equal_attributes(&back) {
                there.contradictions.append(&mut back.contradictions);
                there.reverse = Some(Box::new(back));
            }
            there.settings = settings;
            return self.add_link((from, to), false, there, span);
        }
        let mut id = name.to_owned();
        while self.has_node(&id) {
            id.push('\'');
        }
        let attributes = NodeAttributes {
            // Names cannot have points.
            name: Some(id.replace('.', "-")),
            label: Some(single_line(&id)),
            is_hyperedge: true,
            ..NodeAttributes::default()
        };
        let segment = self.add_node_with(&id, attributes, span.clone())?;
        for (member, mut there) in members {
            let zero =
                |it: &(StatedQuantity, Range<usize>)| (StatedQuantity::WithUnit(0.0), it.1.clone());
            let back = LinkAttributes {
                delay: there.delay.as_ref().map(zero),
                metric: there.metric.map(|_| 0.0),
                ..LinkAttributes::default()
            };
            there.reverse = Some(Box::new(back));
            self.add_link((member, segment), false, there, span.clone())?;
        }
        Ok(())
    }

    /// Decides whether links are directed if the file does not state it. They are if every link is listed
    /// in both directions. Returns the decision.
    pub(crate) fn infer_directions(&mut self, silence: &str) -> bool {
        let mut ways: HashMap<(usize, usize), usize> = HashMap::new();
        for link in &self.links {
            *ways.entry((link.from, link.to)).or_default() += 1;
        }
        let back = |link: &DraftLink| ways.get(&(link.to, link.from)).copied();
        let paired = |link: &DraftLink| back(link) == Some(ways[&(link.from, link.to)]);
        if !self.links.is_empty() && self.links.iter().all(paired) {
            self.assumptions.add_general(format!(
                "every link is listed in both directions: read as one bidirectional link, because {silence}"
            ));
            for link in &mut self.links {
                link.directed = true;
            }
            return true;
        }
        // A row that repeats a link with its ends exchanged is the opposite direction of a bidirectional
        // link.
        let mut seen: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        let mut repeats = Vec::new();
        for (place, link) in self.links.iter().enumerate() {
            let back = seen.get_mut(&(link.to, link.from));
            let found = back.and_then(|back| {
                let is_alike = |&other: &usize| {
                    self.links[other]
                        .attributes
                        .has_equal_name_and_attributes(&link.attributes)
                };
                let at = back.iter().position(is_alike)?;
                Some(back.remove(at))
            });
            match found {
                Some(_) => repeats.push(place),
                None => seen.entry((link.from, link.to)).or_default().push(place),
            }
        }
        for &place in repeats.iter().rev() {
            let link = self.links.remove(place);
            let [from, to] = [link.from, link.to].map(|end| truncate_text(&self.nodes[end].id));
            let text =
                "a row repeats a link with its ends exchanged: read as one bidirectional link";
            let about = Subject::Other(format!("{from}--{to}"), self.line(&link.span));
            self.assumptions.add(text, about);
        }
        let mut seen = HashSet::new();
        for (place, link) in self.links.iter().enumerate() {
            seen.insert((link.from, link.to));
            if seen.contains(&(link.to, link.from)) {
                let text = format!(
                    "read as a second link, not as the reverse direction, because {silence} and not every link is listed \
                     in both directions"
                );
                let about = Subject::Link(place, self.lines.line_of_byte(link.span.start));
                self.assumptions.add(text, about);
            }
        }
        false
    }

    /// Merges pairs of directed links with opposite directions into bidirectional links. Links with equal
    /// attributes are paired first, then links of equal name, then the others in order.
    fn pair_directions(&mut self) {
        let mut partner: Vec<Option<usize>> = vec![None; self.links.len()];
        let rules: [fn(&LinkAttributes, &LinkAttributes) -> bool; 3] = [
            LinkAttributes::has_equal_attributes,
            |a, b| a.name.is_some() && a.name == b.name,
            |_, _| true,
        ];
        for rule in rules {
            let mut waiting: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
            for (place, link) in self.links.iter().enumerate() {
                if !link.directed || partner[place].is_some() {
                    continue;
                }
                let others = waiting.entry((link.to, link.from)).or_default();
                let fits = |&other: &usize| rule(&self.links[other].attributes, &link.attributes);
                match others.iter().position(fits) {
                    Some(at) => {
                        let first = others.remove(at);
                        (partner[first], partner[place]) = (Some(place), Some(first));
                    }
                    None => waiting.entry((link.from, link.to)).or_default().push(place),
                }
            }
        }
        let links = std::mem::take(&mut self.links);
        let mut links: Vec<Option<DraftLink>> = links.into_iter().map(Some).collect();
        for place in 0..links.len() {
            let Some(mut link) = links[place].take() else {
                continue;
            };
            if let Some(mut back) = partner[place].and_then(|other| links[other].take()) {
                link.directed = false;
                if !link.attributes.has_equal_attributes(&back.attributes) {
                    link.attributes.fill_from_reverse(&back.attributes);
                    back.attributes.fill_from_reverse(&link.attributes);
                    link.back = Some((back.attributes, back.span));
                }
            }
            self.links.push(link);
        }
    }

    pub(crate) fn add_demand(
        &mut self,
        (from, to): (usize, usize),
        rate: StatedQuantity,
        span: Range<usize>,
    ) -> ReadResult<()> {
        check_count(self.demands.len(), "demands", &span)?;
        let (StatedQuantity::WithUnit(number) | StatedQuantity::WithoutUnit(number)) = rate;
        if !(number.is_finite() && number >= 0.0) {
            let message = format!("invalid demand: {number}");
            return Err(ImportError::value(span, message).help("write 0 or more"));
        }
        if from == to || number == 0.0 {
            let text = if from == to {
                "a demand from a node to itself uses no link: ignored"
            } else {
                "a demand is 0: ignored"
            };
            self.zero_demands += usize::from(number == 0.0);
            let about = Subject::Other(String::new(), self.line(&span));
            self.assumptions.add(text, about);
            return Ok(());
        }
        self.demands.push(DraftDemand {
            from,
            to,
            rate,
            span,
        });
        Ok(())
    }

    /// Returns the network. `elsewhere` is the largest rate without a unit in the other files, or 0 if
    /// there is none, because links and demands share one unit.
    pub(crate) fn finish(
        mut self,
        reading: &Reading,
        elsewhere: f64,
    ) -> ReadResult<ParsedTopology> {
        let said = reading.rate_unit_bps.or(self.rate_unit);
        let rate_unit = said.unwrap_or_else(|| {
            default_rate_unit_bps(self.unitless_rates().fold(elsewhere, f64::max))
        });
        let positions = self.positions(reading)?;
        let names = self.names();
        for (place, node) in self.nodes.iter().enumerate() {
            let label = node
                .attributes
                .label
                .as_ref()
                .or(node.attributes.name.as_ref());
            if label.is_some_and(|label| truncate_label(label) != *label) {
                let about = Subject::Node(place, self.lines.line_of_byte(node.span.start));
                self.assumptions
                    .add("a label is longer than 200 characters: truncated", about);
            }
            if node.attributes.is_hyperedge {
                let text = "a hyperedge with more than two ends is read as a node";
                let about = Subject::Node(place, self.lines.line_of_byte(node.span.start));
                self.assumptions.add(text, about);
            }
        }
        let one_way = self
            .links
            .iter()
            .find(|it| it.directed && it.attributes.reverse.is_some());
        if let Some(link) = one_way {
            let message = "a unidirectional link has attributes of its reverse direction";
            let help = "describe both directions in one row, or each in a row of its own";
            let wrong = ImportError::new(ProblemKind::Conflict, link.span.clone(), message);
            return Err(wrong.help(help));
        }
        if self.pairs {
            self.pair_directions();
        }
        let links = self.finish_links(reading, rate_unit)?;
        let demands = self.finish_demands(reading, rate_unit)?;
        let ids = self.nodes.iter().map(|node| node.id.clone()).collect();
        let nodes = self.nodes.into_iter().zip(names).zip(positions);
        let nodes = nodes.map(|((node, name), position)| {
            // A node without a label is labelled with its identifier in the file.
            let label = node.attributes.label.or(node.attributes.name);
            let label = truncate_label(&label.unwrap_or_else(|| single_line(&node.id)));
            Node {
                label: Some(label).filter(|label| !label.is_empty() && *label != name),
                name,
                position,
                population: node.attributes.population,
            }
        });
        let topology = Topology {
            format: Some(self.format),
            name: self.name,
            origin: self.origin,
            nodes: nodes.collect(),
            links,
            demands,
            zero_demands: self.zero_demands,
            assumptions: self.assumptions.finish(),
        };
        Ok(ParsedTopology {
            topology,
            ids,
            rate_unit,
        })
    }

    fn names(&mut self) -> Vec<String> {
        let wishes = self.nodes.iter().map(|node| {
            let said = node
                .attributes
                .name
                .as_ref()
                .or(node.attributes.label.as_ref());
            let preferred = said.unwrap_or(&node.id);
            let id = &node.id;
            NameRequest { id, preferred }
        });
        let wishes: Vec<NameRequest<'_>> = wishes.collect();
        let names = names::unique(&wishes);
        let mut count: HashMap<&str, usize> = HashMap::new();
        for wish in &wishes {
            *count.entry(wish.preferred).or_default() += 1;
        }
        for (place, wish) in wishes.iter().enumerate() {
            if count[wish.preferred] > 1 {
                let text = format!(
                    "{} nodes are called `{}`: their identifiers are appended",
                    count[wish.preferred],
                    truncate_text(wish.preferred)
                );
                let line = self.lines.line_of_byte(self.nodes[place].span.start);
                self.assumptions.add(text, Subject::Node(place, line));
                continue;
            }
            let legal = names::legal(wish.preferred);
            if names[place] != legal {
                let text = format!(
                    "node `{}` is named `{}`, because several nodes would be called `{legal}`",
                    truncate_text(wish.preferred),
                    names[place]
                );
                self.assumptions.add_general(text);
            }
        }
        names
    }

    fn positions(&mut self, reading: &Reading) -> ReadResult<Vec<Option<Position>>> {
        // Either all or none of the coordinate pairs are degrees.
        let pairs = self
            .nodes
            .iter()
            .filter_map(|node| node.attributes.x.zip(node.attributes.y));
        let (mut most_x, mut most_y, mut pairs_found) = (0.0_f64, 0.0_f64, 0);
        for (x, y) in pairs {
            (most_x, most_y) = (most_x.max(x.abs()), most_y.max(y.abs()));
            pairs_found += 1;
        }
        let drawn = matches!(self.format, Format::GraphMl | Format::Gml);
        let told = reading.coordinates.or(self.coordinates);
        let as_degrees = match told {
            Some(Coordinates::Degrees) => true,
            Some(Coordinates::Plane) => false,
            None => !drawn && most_x <= 180.0 && most_y <= 180.0 && most_x.min(most_y) <= 90.0,
        };
        let swapped = as_degrees && most_y > 90.0;
        if pairs_found > 0 && told.is_none() && !drawn {
            self.assumptions.add_general(match (as_degrees, swapped) {
                (true, false) => {
                    "coordinates are read as longitude and latitude, because all are within ±180 and ±90 degrees"
                }
                (true, true) => {
                    "coordinates are read as latitude and longitude, because the second exceeds ±90 degrees"
                }
                (false, _) => {
                    "coordinates are not degrees, because they exceed ±180 and ±90: delays are not computed from them"
                }
            });
        }
        let mut positions = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let attributes = &node.attributes;
            let degrees = match (
                attributes.longitude.zip(attributes.latitude),
                attributes.x.zip(attributes.y),
            ) {
                (Some(degrees), _) => Some(degrees),
                (None, Some((x, y))) if as_degrees => Some(if swapped { (y, x) } else { (x, y) }),
                _ => None,
            };
            positions.push(match (degrees, attributes.x.zip(attributes.y)) {
                (Some((longitude, latitude)), _) => {
                    if longitude.abs() > 180.0 || latitude.abs() > 90.0 {
                        let message = format!(
                            "node `{}` is at longitude {longitude} and latitude {latitude}",
                            truncate_text(&node.id)
                        );
                        let help = "allowed: longitudes -180 to 180, latitudes -90 to 90";
                        return Err(ImportError::value(node.span.clone(), message).help(help));
                    }
                    Some(Position::Degrees {
                        longitude,
                        latitude,
                    })
                }
                (None, Some((x, y))) => Some(Position::Plane { x, y }),
                (None, None) => None,
            });
        }
        Ok(positions)
    }

    fn finish_links(&mut self, reading: &Reading, rate_unit: f64) -> ReadResult<Vec<Link>> {
        let bare = |stated: &Option<(StatedQuantity, Range<usize>)>| {
            stated.as_ref().and_then(|(stated, _)| stated.unitless())
        };
        let attributes = || {
            self.links.iter().flat_map(|link| {
                let reverse = link.attributes.reverse.as_deref();
                let back = link.back.as_ref().map(|(attributes, _)| attributes);
                [Some(&link.attributes), reverse, back]
                    .into_iter()
                    .flatten()
            })
        };
        let has_bare_rates = attributes().any(|attributes| bare(&attributes.bandwidth).is_some());
        let has_bare_times = attributes().any(|attributes| bare(&attributes.delay).is_some());
        if has_bare_rates {
            self.note_unit(reading, rate_unit, "bandwidths");
        }
        let time_unit = reading.time_unit_s.unwrap_or(self.time_unit);
        if has_bare_times && reading.time_unit_s.is_none() {
            let unit = unit_text(&Seconds(time_unit).to_string());
            let text = format!("delays without a unit are read in {unit}");
            self.assumptions.add_general(text);
        }
        let links = std::mem::take(&mut self.links);
        let mut settled = Vec::with_capacity(links.len());
        for (place, link) in links.into_iter().enumerate() {
            settled.push(self.finish_link(place, link, rate_unit, time_unit)?);
        }
        Ok(settled)
    }

    fn finish_link(
        &mut self,
        place: usize,
        link: DraftLink,
        rate_unit: f64,
        time_unit: f64,
    ) -> ReadResult<Link> {
        let DraftLink {
            from,
            to,
            directed,
            mut attributes,
            back,
            span,
        } = link;
        let own = attributes
            .reverse
            .take()
            .map(|attributes| (*attributes, span.clone()));
        let ends = (from, to, directed);
        let line = self.line(&span);
        let mut link =
            self.finish_direction(place, ends, attributes, span, rate_unit, time_unit)?;
        let is_pair = back.is_some();
        let Some((attributes, span)) = back.or(own) else {
            return Ok(link);
        };
        let back = self.finish_direction(place, ends, attributes, span, rate_unit, time_unit)?;
        let reverse = Reverse {
            bandwidth_bps: back
                .bandwidth_bps
                .filter(|it| Some(*it) != link.bandwidth_bps),
            delay_s: back.delay_s.filter(|it| Some(*it) != link.delay_s),
            length_km: back.length_km.filter(|it| Some(*it) != link.length_km),
            metric: back.metric.filter(|it| Some(*it) != link.metric),
            buffer: back.buffer.filter(|it| Some(*it) != link.buffer),
        };
        link.reverse = reverse.if_any();
        if link.reverse.is_some() && is_pair {
            let text =
                "two different directions are read as one link with `reverse`: they fail together";
            self.assumptions.add(text, Subject::Link(place, line));
        }
        Ok(link)
    }

    /// Resolves one direction of a link. `ends` are its nodes and whether it is directed.
    fn finish_direction(
        &mut self,
        place: usize,
        (from, to, directed): (usize, usize, bool),
        attributes: LinkAttributes,
        span: Range<usize>,
        rate_unit: f64,
        time_unit: f64,
    ) -> ReadResult<Link> {
        let about = Subject::Link(place, self.line(&span));
        let mut remark = None;
        let mut bandwidth_bps = None;
        if let Some((stated, at)) = attributes.bandwidth {
            let bps = stated.to_base_units(rate_unit);
            if bps == 0.0 {
                self.assumptions
                    .add("a bandwidth is 0: ignored", about.clone());
            } else {
                check_rate(bps, &stated, "bandwidth", at)?;
                bandwidth_bps = Some(bps);
            }
        }
        match (bandwidth_bps, attributes.label) {
            // The toolset of the Topology Zoo reads `10GEx4` as 10 Gbit/s.
            (Some(bps), Some((told, label)))
                if told.multiplicity > 1.0
                    && (bps * told.multiplicity / told.bps - 1.0).abs() < 1e-3 =>
            {
                check_rate(
                    told.bps,
                    &StatedQuantity::WithUnit(told.bps),
                    "bandwidth",
                    span.clone(),
                )?;
                remark = Some(format!(
                    "by the label \"{}\", not {}",
                    truncate_text(&label),
                    BitsPerSecond(bps)
                ));
                bandwidth_bps = Some(told.bps);
            }
            (None, Some((told, label))) => {
                check_rate(
                    told.bps,
                    &StatedQuantity::WithUnit(told.bps),
                    "bandwidth",
                    span.clone(),
                )?;
                let (label, how) = (truncate_text(&label), told.remark());
                remark = Some(format!("by the label \"{label}\"{how}"));
                bandwidth_bps = Some(told.bps);
            }
            (None, None) => {
                let silent = attributes.silent.map(|label| truncate_text(&label));
                remark = silent.map(|label| format!("the label \"{label}\" has no bandwidth"));
            }
            _ => {}
        }
        if let (Some(remark), Some(bps)) = (&remark, bandwidth_bps) {
            let text = format!("bandwidth {} {remark}", BitsPerSecond(bps));
            self.assumptions.add(text, about.clone());
        }
        for text in attributes.contradictions {
            self.assumptions.add(text, about.clone());
        }
        if let Some(status) = attributes.status.filter(|status| !is_up(status)) {
            let text = format!(
                "a link with the status \"{}\" is imported",
                truncate_text(&status)
            );
            self.assumptions.add(text, about);
        }
        let delay_s = match attributes.delay {
            None => None,
            Some((stated, at)) => {
                let delay_s = match stated {
                    StatedQuantity::WithUnit(delay_s) => delay_s,
                    StatedQuantity::WithoutUnit(number) => scaled(number, time_unit),
                };
                if !(0.0..=3600.0).contains(&delay_s) || !Bounds::TIME.contains(delay_s) {
                    let message = format!("delay out of range: {}", Seconds(delay_s));
                    return Err(
                        ImportError::value(at, message).help("write 0 s to 1 h, at least 0.001 us")
                    );
                }
                Some(delay_s)
            }
        };
        Ok(Link {
            name: attributes.name,
            from,
            to,
            directed,
            reverse: None,
            bandwidth_bps,
            bandwidth_remark: remark,
            delay_s,
            length_km: attributes.length_km,
            metric: attributes.metric,
            buffer: attributes.buffer,
            srlg: attributes.srlg,
            settings: attributes.settings,
        })
    }

    fn finish_demands(&mut self, reading: &Reading, unit: f64) -> ReadResult<Vec<Demand>> {
        if self.demands.iter().any(|it| it.rate.unitless().is_some()) {
            self.note_unit(reading, unit, "demands");
        }
        let demands = std::mem::take(&mut self.demands).into_iter().map(|demand| {
            let rate_bps = demand.rate.to_base_units(unit);
            check_rate(rate_bps, &demand.rate, "demand", demand.span)?;
            Ok(Demand::new(demand.from, demand.to, rate_bps))
        });
        demands.collect()
    }

    /// Lists the unit of rates without one as an assumption, unless the caller set it.
    fn note_unit(&mut self, reading: &Reading, unit: f64, what: &str) {
        if reading.rate_unit_bps.is_none() {
            let words = unit_text(&BitsPerSecond(unit).to_string());
            let text = format!("{what} without a unit are read in {words}");
            self.assumptions.add_general(text);
        }
    }
}

/// Returns a label cut to the length that a scenario allows.
fn truncate_label(label: &str) -> String {
    const MAX_CHARS: usize = 200;
    match label.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &label[..end]),
        None => label.to_owned(),
    }
}

/// Returns a quantity as a unit: `Mbit/s` for `1 Mbit/s`, and `100 kbit/s` unchanged.
pub(crate) fn unit_text(quantity: &str) -> String {
    quantity.strip_prefix("1 ").unwrap_or(quantity).to_owned()
}

/// Returns the range of rates that scenarios allow, with help if the unit of a rate was assumed.
pub(crate) fn allowed_rates(stated: &StatedQuantity) -> String {
    let unit = match stated.unitless() {
        Some(_) => "; --unit sets the unit of rates without one",
        None => "",
    };
    format!("{}{unit}", Bounds::BIT_RATE.text)
}

fn check_rate(bps: f64, stated: &StatedQuantity, what: &str, span: Range<usize>) -> ReadResult<()> {
    if bps > 0.0 && Bounds::BIT_RATE.contains(bps) {
        Ok(())
    } else {
        let message = format!("{what} out of range: {}", BitsPerSecond(bps));
        Err(ImportError::new(ProblemKind::OutOfRange, span, message).help(allowed_rates(stated)))
    }
}

fn check_count(count: usize, what: &str, span: &Range<usize>) -> ReadResult<()> {
    if count < MAX_ITEMS {
        Ok(())
    } else {
        let message = format!("the file has more than {MAX_ITEMS} {what}");
        Err(ImportError::new(
            ProblemKind::TooLarge,
            span.clone(),
            message,
        ))
    }
}
