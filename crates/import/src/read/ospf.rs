//! Reader of the router LSAs of OSPFv2: `show ip ospf database router` of FRR, Quagga and Cisco IOS as text, and
//! of FRR as JSON.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use netflow_document::ProblemKind;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json;
use super::link_state::{Adjacency, Neighbour, build};
use super::sndlib_native::number;
use crate::Subject;
use crate::attributes::{LinkAttributes, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::lines::lines;
use crate::topology_builder::TopologyBuilder;

/// The router LSAs of a file.
#[derive(Default)]
struct Database {
    routers: Vec<(String, Range<usize>)>,
    adjacencies: Vec<Adjacency>,
    /// Area and router of each LSA.
    seen: HashSet<(String, String)>,
    /// Number of links to stub networks.
    stubs: usize,
}

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let mut database = Database::default();
    if draft
        .text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('{')
    {
        database.read_json(draft)?;
    } else {
        database.read_text(draft)?;
    }
    if database.stubs > 0 {
        let text = format!("ignoring stub networks: {}", database.stubs);
        draft.assumptions.add_general(text);
    }
    build(draft, &database.routers, database.adjacencies)
}

impl Database {
    /// Begins an LSA. Returns false if it is listed again, as in the outputs of several routers.
    fn begin(
        &mut self,
        draft: &mut TopologyBuilder<'_>,
        area: &str,
        router: &str,
        span: &Range<usize>,
    ) -> bool {
        let is_new = self.seen.insert((area.to_owned(), router.to_owned()));
        if is_new {
            self.routers.push((router.to_owned(), span.clone()));
        } else {
            let about = Subject::Other(truncate_text(router), draft.line(span));
            draft
                .assumptions
                .add("an LSA that is listed again is ignored", about);
        }
        is_new
    }

    /// Adds a link. `kind` is the type in the words of FRR, and `id` the router or designated router.
    fn add(
        &mut self,
        draft: &mut TopologyBuilder<'_>,
        router: &str,
        (kind, id): (&str, &str),
        metric: f64,
        span: Range<usize>,
    ) {
        let neighbour = match kind {
            "another Router (point-to-point)" => Neighbour::Router(id.to_owned()),
            "a Transit Network" => Neighbour::Segment(id.to_owned()),
            "Stub Network" | "a Stub Network" => {
                self.stubs += 1;
                return;
            }
            _ => {
                let about = Subject::Other(String::new(), draft.line(&span));
                let text = format!("a link to \"{}\" is ignored", truncate_text(kind));
                draft.assumptions.add(text, about);
                return;
            }
        };
        self.adjacencies.push(Adjacency {
            router: router.to_owned(),
            neighbour,
            attributes: LinkAttributes {
                metric: Some(metric),
                ..LinkAttributes::default()
            },
            span,
        });
    }

    fn read_text(&mut self, draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
        let mut area: Option<&str> = None;
        // Router of the LSA; `None` if the LSA is left out.
        let mut router: Option<&str> = None;
        let mut link: Option<(&str, &str, usize)> = None;
        let text = draft.text;
        for (start, line) in lines(text) {
            let indent = line.len() - line.trim_start().len();
            let span = start + indent..start + line.trim_end().len().max(indent);
            let line = line.trim();
            if line.contains(" Link States (") || line.ends_with(" Link States") {
                let rest = line.strip_prefix("Router Link States (Area ");
                area = rest.map(|rest| rest.trim_end_matches(')'));
                router = None;
            } else if let Some(id) = line.strip_prefix("Link State ID:") {
                let id = id.split_whitespace().next().unwrap_or_default();
                link = None;
                router = match area {
                    Some(area) if self.begin(draft, area, id, &span) => Some(id),
                    _ => None,
                };
            } else if let Some(kind) = line.strip_prefix("Link connected to:") {
                link = Some((kind.trim(), "", span.start));
            } else if let (Some((kind, "", at)), Some(rest)) =
                (link, line.strip_prefix("(Link ID)"))
            {
                let id = rest.rsplit(' ').next().unwrap_or_default();
                link = Some((kind, id, at));
            } else if let (Some((kind, id, at)), Some(metric)) =
                (link, line.strip_prefix("TOS 0 Metric"))
            {
                link = None;
                let metric = metric.rsplit(':').next().unwrap_or_default().trim();
                let metric = number(metric, &span)?;
                check_metric(metric, &span)?;
                if let Some(router) = router {
                    self.add(
                        draft,
                        router,
                        (kind, id),
                        metric,
                        at..span.end.min(line_end(text, at)),
                    );
                }
            }
        }
        Ok(())
    }

    fn read_json(&mut self, draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
        let text = draft.text;
        let document: Document<'_> = json::parse(text, "JSON of OSPF")?;
        for (area, lsas) in document.states.areas {
            for raw in lsas {
                let (lsa, span): (Lsa, _) = json::parse_part(text, raw, "router LSA")?;
                if !self.begin(draft, &area, &lsa.router, &span) {
                    continue;
                }
                for link in lsa.links.into_values() {
                    let id = link
                        .neighbour
                        .or(link.designated_router)
                        .unwrap_or_default();
                    let Some(metric) = link.metric else {
                        let message = format!(
                            "a link of router `{}` has no `tos0Metric`",
                            truncate_text(&lsa.router)
                        );
                        return Err(ImportError::new(ProblemKind::Missing, span, message));
                    };
                    check_metric(metric, &span)?;
                    self.add(draft, &lsa.router, (&link.kind, &id), metric, span.clone());
                }
            }
        }
        Ok(())
    }
}

/// Returns the end of the line of a byte.
fn line_end(text: &str, at: usize) -> usize {
    text[at..]
        .find(['\r', '\n'])
        .map_or(text.len(), |end| at + end)
}

/// Checks a cost of OSPF, which has 16 bits.
fn check_metric(metric: f64, span: &Range<usize>) -> ReadResult<()> {
    if (0.0..=65535.0).contains(&metric) {
        Ok(())
    } else {
        let message = format!("cost out of range: {metric}");
        Err(ImportError::new(ProblemKind::OutOfRange, span.clone(), message).help("0 to 65535"))
    }
}

#[derive(Deserialize)]
struct Document<'t> {
    #[serde(borrow, rename = "routerLinkStates")]
    states: States<'t>,
}

#[derive(Deserialize)]
struct States<'t> {
    #[serde(borrow)]
    areas: BTreeMap<String, Vec<&'t RawValue>>,
}

#[derive(Deserialize)]
struct Lsa {
    #[serde(rename = "linkStateId")]
    router: String,
    #[serde(rename = "routerLinks", default)]
    links: BTreeMap<String, Link>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(rename = "linkType")]
    kind: String,
    #[serde(rename = "neighborRouterId")]
    neighbour: Option<String>,
    #[serde(rename = "designatedRouterAddress")]
    designated_router: Option<String>,
    #[serde(rename = "tos0Metric")]
    metric: Option<f64>,
}
