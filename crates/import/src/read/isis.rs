//! Reader of the link-state database of IS-IS: `show isis database detail` of FRR and Cisco IOS, and `show isis
//! hostname`, which maps system identifiers to names.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use netflow_document::ProblemKind;

use super::link_state::{Adjacency, Neighbour, build};
use super::sndlib_native::number;
use crate::Subject;
use crate::attributes::{LinkAttributes, StatedQuantity, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::label_bandwidth::{self, ByteUnit};
use crate::lines::{lines, words};
use crate::topology_builder::TopologyBuilder;

/// An adjacency as listed. Names may be system identifiers.
struct Listed {
    level: u8,
    router: String,
    neighbour: String,
    pseudonode: u8,
    attributes: LinkAttributes,
    span: Range<usize>,
}

/// The source of an LSP: router, pseudonode (0: the router itself).
type Source = (String, u8);

#[derive(Default)]
struct Database {
    listed: Vec<Listed>,
    sources: Vec<(Source, Range<usize>)>,
    /// Names by system identifier.
    names: HashMap<String, String>,
    /// Levels and identifiers of LSPs.
    seen: HashSet<(u8, String)>,
    multi_topology: usize,
}

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let mut database = Database::default();
    database.read(draft)?;
    if database.multi_topology > 0 {
        let text = format!(
            "ignoring adjacencies of further topologies (MT): {}",
            database.multi_topology
        );
        draft.assumptions.add_general(text);
    }
    let Database {
        listed,
        sources,
        names,
        ..
    } = database;
    let name = |id: &str| names.get(id).map_or(id, String::as_str).to_owned();
    let routers = sources
        .into_iter()
        .filter(|((_, pseudonode), _)| *pseudonode == 0);
    let routers: Vec<(String, Range<usize>)> =
        routers.map(|((id, _), span)| (name(&id), span)).collect();
    let known: HashSet<&str> = routers.iter().map(|(name, _)| name.as_str()).collect();
    // The same adjacency may be in both levels.
    let ends = |it: &Listed| (name(&it.router), name(&it.neighbour), it.pseudonode);
    let in_level_2: HashSet<_> = listed.iter().filter(|it| it.level == 2).map(ends).collect();
    let mut adjacencies = Vec::new();
    for it in listed {
        let (router, neighbour, pseudonode) = ends(&it);
        if is_system_id(&neighbour) && !known.contains(neighbour.as_str()) && names.is_empty() {
            let message = format!("router `{neighbour}` has no LSP of this identifier");
            let help = "append the output of `show isis hostname` to the file, which maps identifiers to names";
            return Err(ImportError::new(ProblemKind::UnknownName, it.span, message).help(help));
        }
        if it.level == 1 && in_level_2.contains(&(router.clone(), neighbour.clone(), pseudonode)) {
            let ends = [&router, &neighbour].map(|name| truncate_text(name));
            let about = Subject::Other(ends.join("->"), draft.line(&it.span));
            let text = "adjacencies in both levels are read as those of level 2";
            draft.assumptions.add(text, about);
            continue;
        }
        adjacencies.push(Adjacency {
            router,
            neighbour: match pseudonode {
                0 => Neighbour::Router(neighbour),
                _ => Neighbour::Segment(format!("{neighbour}.{pseudonode:02x}")),
            },
            attributes: it.attributes,
            span: it.span,
        });
    }
    build(draft, &routers, adjacencies)
}

impl Database {
    fn read(&mut self, draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
        let mut level = 0;
        // Source of the LSP; `None` if the LSP is left out.
        let mut source: Option<Source> = None;
        // True if the next lines describe the last adjacency.
        let mut in_adjacency = false;
        for (start, line) in lines(draft.text) {
            let words = words(start, line);
            let (Some(first), Some(last)) = (words.first(), words.last()) else {
                continue;
            };
            let span = first.span.start..last.span.end;
            let line = line.trim();
            if let Some(of) = database_level(line) {
                (level, source) = (of, None);
            } else if let Some((id, from)) = lsp_id(first.text).filter(|_| line.contains(" 0x")) {
                in_adjacency = false;
                if self.seen.insert((level, id.to_owned())) {
                    self.sources.push((from.clone(), span));
                    source = Some(from);
                } else {
                    let about = Subject::Other(truncate_text(id), draft.line(&span));
                    draft
                        .assumptions
                        .add("an LSP that is listed again is ignored", about);
                    source = None;
                }
            } else if let Some((router, _)) =
                source.as_ref().filter(|_| line.starts_with("Hostname:"))
            {
                if is_system_id(router) {
                    self.names.insert(router.clone(), last.text.to_owned());
                }
            } else if let Some((neighbour, metric)) = adjacency(line) {
                in_adjacency = false;
                let Some((router, pseudonode)) = &source else {
                    continue;
                };
                let Some((neighbour, of)) = node_id(neighbour) else {
                    let message = format!(
                        "`{}` is not the identifier of a neighbour",
                        truncate_text(neighbour)
                    );
                    return Err(ImportError::value(span, message));
                };
                let metric = number(metric, &span)?;
                // RFC 5305: no path uses a link with this metric.
                if metric >= 16_777_215.0 {
                    let about = Subject::Other(String::new(), draft.line(&span));
                    draft
                        .assumptions
                        .add("an adjacency with the maximum metric is ignored", about);
                } else if metric < 0.0 {
                    return Err(ImportError::value(span, "the metric is negative"));
                } else if *pseudonode == 0 {
                    in_adjacency = true;
                    self.listed.push(Listed {
                        level,
                        router: router.clone(),
                        neighbour: neighbour.to_owned(),
                        pseudonode: of,
                        attributes: LinkAttributes {
                            metric: Some(metric),
                            ..LinkAttributes::default()
                        },
                        span,
                    });
                }
            } else if line.starts_with("MT Reachability:") {
                in_adjacency = false;
                self.multi_topology += usize::from(source.is_some());
            } else if let (true, Some(rate)) =
                (in_adjacency, line.strip_prefix("Maximum Bandwidth:"))
            {
                let bps = bandwidth(rate.trim(), &span)?;
                if let Some(listed) = self.listed.last_mut() {
                    listed.attributes.bandwidth = Some((StatedQuantity::WithUnit(bps), span));
                }
            } else if let [.., id, name] = words.as_slice()
                && is_system_id(id.text)
                && words[..words.len() - 2]
                    .iter()
                    .all(|it| it.text == "*" || it.text.parse::<u8>().is_ok())
            {
                self.names.insert(id.text.to_owned(), name.text.to_owned());
            }
        }
        Ok(())
    }
}

/// Returns the level of `IS-IS Level-2 link-state database:`.
pub(crate) fn database_level(line: &str) -> Option<u8> {
    let rest = line
        .trim()
        .strip_prefix("IS-IS ")?
        .to_ascii_lowercase()
        .replace('-', " ");
    let at = rest.find("level ")?;
    let level = rest[at..].split_whitespace().nth(1)?;
    let is_database = rest.contains("link state database");
    level
        .parse()
        .ok()
        .filter(|level| is_database && (1..=2).contains(level))
}

/// Splits `r1.00-00` and returns it with its router and pseudonode.
fn lsp_id(word: &str) -> Option<(&str, Source)> {
    let (node, fragment) = word.rsplit_once('-')?;
    let is_fragment = fragment.len() == 2 && u8::from_str_radix(fragment, 16).is_ok();
    let (router, pseudonode) = node_id(node).filter(|_| is_fragment)?;
    Some((word, (router.to_owned(), pseudonode)))
}

/// Splits `r1.00` into router and pseudonode.
fn node_id(word: &str) -> Option<(&str, u8)> {
    let (router, pseudonode) = word.rsplit_once('.')?;
    let number = u8::from_str_radix(pseudonode, 16).ok()?;
    (pseudonode.len() == 2 && !router.is_empty()).then_some((router, number))
}

fn is_system_id(word: &str) -> bool {
    let parts = || word.split('.');
    let is_part = |part: &str| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts().count() == 3 && parts().all(is_part)
}

/// Returns neighbour and metric of `Extended Reachability: r2.00 (Metric: 10)` of FRR, or of `Metric: 10
/// IS-Extended r2.00` of IOS.
fn adjacency(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line
        .strip_prefix("Extended Reachability:")
        .or_else(|| line.strip_prefix("IS Reachability:"))
    {
        let (neighbour, metric) = rest.split_once("(Metric:")?;
        return Some((neighbour.trim(), metric.split(')').next()?.trim()));
    }
    let mut words = line.strip_prefix("Metric:")?.split_whitespace();
    let (metric, kind, neighbour) = (words.next()?, words.next()?, words.next()?);
    matches!(kind, "IS" | "IS-Extended").then_some((neighbour, metric))
}

/// Parses `1.25e+08 (Bytes/sec)`, or a rate with another unit.
fn bandwidth(text: &str, span: &Range<usize>) -> ReadResult<f64> {
    if let Some(bytes) = text.strip_suffix("(Bytes/sec)") {
        return Ok(8.0 * number(bytes.trim(), span)?);
    }
    let rate = label_bandwidth::parse_bandwidth(text, ByteUnit::Bits);
    rate.map(|rate| rate.bps).ok_or_else(|| {
        let message = format!("`{}` is not a bandwidth", truncate_text(text));
        ImportError::value(span.clone(), message)
    })
}
