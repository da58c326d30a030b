//! Networks of link-state databases: routers, adjacencies and segments.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::Subject;
use crate::attributes::{LinkAttributes, NodeAttributes, single_line, truncate_text};
use crate::errors::ReadResult;
use crate::topology_builder::TopologyBuilder;

/// The other end of an adjacency.
pub(super) enum Neighbour {
    Router(String),
    /// A network segment, such as the LAN of a designated router.
    Segment(String),
}

/// An adjacency in the direction from a router.
pub(super) struct Adjacency {
    pub(super) router: String,
    pub(super) neighbour: Neighbour,
    pub(super) attributes: LinkAttributes,
    pub(super) span: Range<usize>,
}

struct Segment {
    name: String,
    span: Range<usize>,
    members: Vec<(usize, LinkAttributes)>,
}

/// Adds routers and their adjacencies. As in OSPF and IS-IS, an adjacency counts if both routers list it.
pub(super) fn build(
    draft: &mut TopologyBuilder<'_>,
    routers: &[(String, Range<usize>)],
    adjacencies: Vec<Adjacency>,
) -> ReadResult<()> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (router, span) in routers {
        if places.contains_key(router.as_str()) {
            continue;
        }
        let attributes = NodeAttributes {
            // Names cannot have points.
            name: Some(router.replace('.', "-")),
            label: Some(single_line(router)),
            ..NodeAttributes::default()
        };
        places.insert(
            router,
            draft.add_node_with(router, attributes, span.clone())?,
        );
    }
    let pair = |it: &Adjacency| match &it.neighbour {
        Neighbour::Router(to) => Some((it.router.clone(), to.clone())),
        Neighbour::Segment(_) => None,
    };
    let listed: HashSet<(String, String)> = adjacencies.iter().filter_map(pair).collect();
    let mut segments: Vec<Segment> = Vec::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    for adjacency in adjacencies {
        let Adjacency {
            router,
            neighbour,
            attributes,
            span,
        } = adjacency;
        let Some(&from) = places.get(router.as_str()) else {
            continue;
        };
        match neighbour {
            Neighbour::Router(to) => match places.get(to.as_str()) {
                Some(&to_place) if listed.contains(&(to.clone(), router.clone())) => {
                    draft.add_link((from, to_place), true, attributes, span)?;
                }
                _ => {
                    let (router, to) = (truncate_text(&router), truncate_text(&to));
                    let about = Subject::Other(format!("{router}->{to}"), draft.line(&span));
                    let text = "an adjacency that only one router lists is ignored";
                    draft.assumptions.add(text, about);
                }
            },
            Neighbour::Segment(name) => {
                let place = *names.entry(name.clone()).or_insert(segments.len());
                if place == segments.len() {
                    let members = Vec::new();
                    segments.push(Segment {
                        name,
                        span,
                        members,
                    });
                }
                segments[place].members.push((from, attributes));
            }
        }
    }
    for Segment {
        name,
        span,
        members,
    } in segments
    {
        if members.len() == 1 {
            let about = Subject::Other(truncate_text(&name), draft.line(&span));
            draft
                .assumptions
                .add("a segment with one router is ignored", about);
        } else {
            draft.add_lan(&name, members, span)?;
        }
    }
    let text = "costs are read as metrics; bandwidths are not derived from them";
    draft.assumptions.add_general(text);
    Ok(())
}
