//! CSV tables of measurements: loads and octet counters of links, and totals of nodes.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use netflow_document::{
    Allowed, Element, FileId, Findings, FormerNames, ProblemKind, Problems, Quantity, Section,
    SourceSpan, Sources, Spanned, Verbatim, load, read_header, table,
};
use netflow_files::FileKind;
use netflow_network::{LinkId, Network, NodeId};
use netflow_units::Rate;

type RateCell = Spanned<Quantity<Rate>>;

/// Measured load of a link: a rate, a volume in a time, or one reading of an octet counter.
#[table(plain, name = "load", check = check_load)]
struct LoadRow {
    /// Name of the link, `A->B`.
    #[key(example = "A->B")]
    link: Option<Spanned<Verbatim>>,
    /// Start node of the link, if `link` is not given.
    #[key(example = "A")]
    from: Option<Spanned<Verbatim>>,
    /// End node of the link.
    #[key(example = "B")]
    to: Option<Spanned<Verbatim>>,
    /// Load with its unit.
    #[key(allowed = RATE, example = "120 Mbit/s")]
    load: Option<RateCell>,
    /// Load in bit/s.
    #[key(name = "load_bps", allowed = BPS, example = 120e6)]
    load_bps: Option<Spanned<f64>>,
    /// Bytes transmitted in `seconds`.
    #[key(allowed = NUMBER, example = 4.5e9)]
    bytes: Option<Spanned<f64>>,
    /// Time in which `bytes` were transmitted.
    #[key(allowed = POSITIVE, example = 300)]
    seconds: Option<Spanned<f64>>,
    /// Reading of a 64-bit counter of transmitted octets, such as ifHCOutOctets.
    #[key(example = "812345678901")]
    octets: Option<Spanned<Verbatim>>,
    /// Time of the reading, in seconds from any moment.
    #[key(name = "time_s", allowed = TIME, example = 1_700_000_000)]
    time_s: Option<Spanned<f64>>,
}

/// Measured totals of a node: traffic that enters and leaves the network there.
#[table(plain, name = "total", check = check_total)]
struct TotalRow {
    /// Name of the node.
    #[key(example = "A")]
    node: Spanned<Verbatim>,
    /// Traffic that enters the network at the node.
    #[key(name = "in", allowed = RATE, example = "2 Gbit/s")]
    entering: Option<RateCell>,
    /// Traffic that leaves the network at the node.
    #[key(name = "out", allowed = RATE, example = "3 Gbit/s")]
    leaving: Option<RateCell>,
    /// The same as `in`, in bit/s.
    #[key(name = "in_bps", allowed = BPS, example = 2e9)]
    entering_bps: Option<Spanned<f64>>,
    /// The same as `out`, in bit/s.
    #[key(name = "out_bps", allowed = BPS, example = 3e9)]
    leaving_bps: Option<Spanned<f64>>,
}

const RATE: Allowed<Quantity<Rate>> = Allowed {
    test: |rate| matches!(rate.0, Rate::BitsPerSecond(bps) if (0.0..=MAX_BPS).contains(&bps.get())),
    text: "0 bit/s to 100000 Gbit/s",
};
const BPS: Allowed<f64> = Allowed {
    test: |bps| (0.0..=MAX_BPS).contains(bps),
    text: "0 to 1e14",
};
const NUMBER: Allowed<f64> = Allowed {
    test: |number| *number >= 0.0,
    text: "at least 0",
};
const POSITIVE: Allowed<f64> = Allowed {
    test: |number| *number > 0.0,
    text: "above 0",
};
const TIME: Allowed<f64> = Allowed {
    test: |time| time.is_finite(),
    text: "finite",
};

/// Largest rate in bit/s, as of bandwidths.
const MAX_BPS: f64 = 1e14;

/// Largest rate of a wrapped counter, relative to the bandwidth of the link. A counter that was reset seems faster.
const MAX_WRAPPED_LOAD: f64 = 2.0;

/// Totals of nodes in bit/s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeTotals {
    /// Traffic that enters the network at nodes.
    pub entering: Vec<(NodeId, f64)>,
    /// Traffic that leaves the network at nodes.
    pub leaving: Vec<(NodeId, f64)>,
}

/// Reads a table of measured loads, in bit/s. A link is given by its name in `link`, or by `from` and `to`. Its load is
/// one of:
///
/// - `load` with a unit, or `load_bps`
/// - `bytes` in `seconds`
/// - `octets` of a 64-bit counter at `time_s`, in at least two rows for each link
///
/// # Errors
/// The file cannot be read, or its content is invalid.
pub fn link_loads(path: &Path, network: &Network) -> Result<Vec<(LinkId, f64)>, Problems> {
    load(path, FileKind::Samples, |text, file, findings| {
        read_loads(text, file, network, findings)
    })
}

/// Reads the text of a table of measured loads, as [`link_loads`].
///
/// # Errors
/// The text is invalid.
pub fn link_loads_from_text(text: &str, network: &Network) -> Result<Vec<(LinkId, f64)>, Problems> {
    Sources::read_text(text, |text, file, findings| {
        read_loads(text, file, network, findings)
    })
}

/// Reads a table of the traffic that enters and leaves the network at nodes, with the columns `node`, `in` and `out`.
///
/// # Errors
/// The file cannot be read, or its content is invalid.
pub fn node_totals(path: &Path, network: &Network) -> Result<NodeTotals, Problems> {
    load(path, FileKind::Samples, |text, file, findings| {
        read_totals(text, file, network, findings)
    })
}

/// Reads the text of a table of totals, as [`node_totals`].
///
/// # Errors
/// The text is invalid.
pub fn node_totals_from_text(text: &str, network: &Network) -> Result<NodeTotals, Problems> {
    Sources::read_text(text, |text, file, findings| {
        read_totals(text, file, network, findings)
    })
}

fn check_load(row: &mut LoadRow, s: &mut Section<'_, '_>) {
    let ends = [row.from.is_some(), row.to.is_some()];
    let place = s.place();
    if !matches!(
        (row.link.is_some(), ends),
        (true, [false, false]) | (false, [true, true])
    ) {
        let message = "this row must name a link, or both of its nodes";
        let finding = s.findings.error(ProblemKind::Missing, place, message);
        finding.set_help("fill the column `link` (`A->B`), or the columns `from` and `to`");
    }
    let forms = [
        row.load.is_some(),
        row.load_bps.is_some(),
        row.bytes.is_some() || row.seconds.is_some(),
        row.octets.is_some() || row.time_s.is_some(),
    ];
    let is_complete = row.bytes.is_some() == row.seconds.is_some()
        && row.octets.is_some() == row.time_s.is_some();
    if s.is_valid() && (forms.iter().filter(|it| **it).count() != 1 || !is_complete) {
        let message = "this row must have one load";
        let finding = s.findings.error(ProblemKind::Missing, place, message);
        finding.set_help(
            "fill `load` (`120 Mbit/s`), `load_bps`, both `bytes` and `seconds`, or both `octets` and `time_s`",
        );
    }
}

fn check_total(row: &mut TotalRow, s: &mut Section<'_, '_>) {
    let place = s.place();
    for (name, both) in [
        ("in", row.entering.is_some() && row.entering_bps.is_some()),
        ("out", row.leaving.is_some() && row.leaving_bps.is_some()),
    ] {
        if both {
            let message = format!("`{name}` and `{name}_bps` are the same");
            let finding = s.findings.error(ProblemKind::Conflict, place, message);
            finding.set_help("leave out one of them");
        }
    }
}

/// Reads all rows of a table; `None` after an error, or if there are none.
fn read_rows<T: Element>(
    text: &str,
    file: FileId,
    findings: &mut Findings,
) -> Option<Vec<(T, SourceSpan)>> {
    let (mut csv, mut row) = read_header::<T>(file, text, FormerNames::default(), findings)?;
    let start = SourceSpan::new(file, 0..text.lines().next().map_or(0, str::len));
    let mut rows = Vec::new();
    while csv.next(&mut row, findings) {
        let place = row.place().unwrap_or(start);
        let keys = const { &[T::KEYS] };
        let section = Section::new(findings, "this row", row.fields(), place, keys);
        rows.push((T::read_section(section), place));
    }
    if rows.is_empty() && !findings.has_errors() {
        let message = format!("the table has no {}s", T::NAME);
        let finding = findings.error(ProblemKind::Missing, start, message);
        finding.set_help(format!("write a row for each measured {}", T::NAME));
    }
    (!findings.has_errors()).then_some(rows)
}

/// Returns the rate of a cell in bit/s; other units are not allowed.
fn bps(cell: &RateCell) -> f64 {
    match cell.0 {
        Rate::BitsPerSecond(bps) => bps.get(),
        Rate::PacketsPerSecond(_) => f64::NAN,
    }
}

/// Readings of the counter of one link.
struct Readings {
    link: LinkId,
    /// Time in seconds, octets, place.
    list: Vec<(f64, u64, SourceSpan)>,
}

fn read_loads(
    text: &str,
    file: FileId,
    network: &Network,
    findings: &mut Findings,
) -> Option<Vec<(LinkId, f64)>> {
    let rows = read_rows::<LoadRow>(text, file, findings)?;
    let links = Links::new(network);
    let mut loads = Vec::new();
    let mut counters: Vec<Readings> = Vec::new();
    let mut counter_of: HashMap<LinkId, usize> = HashMap::new();
    let mut has_load = HashSet::new();
    for (row, place) in rows {
        let Some(link) = links.find(&row, place, findings) else {
            continue;
        };
        if let (Some(octets), Some(time_s)) = (&row.octets, &row.time_s) {
            let Ok(count) = octets.0.trim().parse::<u64>() else {
                let message = format!("`octets` is not a counter: {}", octets.0);
                let finding = findings.error(ProblemKind::OutOfRange, octets.place(), message);
                finding.set_help("write a whole number from 0 to 18446744073709551615");
                continue;
            };
            let known = *counter_of.entry(link).or_insert_with(|| {
                let list = Vec::new();
                counters.push(Readings { link, list });
                counters.len() - 1
            });
            counters[known].list.push((**time_s, count, place));
        } else if !has_load.insert(link) {
            report_duplicate(
                &format!("link {}", network.link_name(link)),
                place,
                findings,
            );
        } else {
            let volume = row.bytes.iter().zip(&row.seconds);
            let volume_bps = volume
                .map(|(bytes, seconds)| 8.0 * **bytes / **seconds)
                .next();
            let load = row.load.as_ref().map(bps);
            let load = load.or(row.load_bps.as_deref().copied()).or(volume_bps);
            let load =
                load.and_then(|bps| plausible(bps, network.link_name(link), place, findings));
            loads.extend(load.map(|bps| (link, bps)));
        }
    }
    for Readings { link, list } in counters {
        if has_load.contains(&link) {
            let name = format!("link {}", network.link_name(link));
            report_duplicate(&name, list[0].2, findings);
        } else if let Some(load_bps) = counter_bps(network, link, list, findings) {
            loads.push((link, load_bps));
        }
    }
    (!findings.has_errors()).then_some(loads)
}

/// Returns the mean rate between the first and the last reading of a counter, which can wrap between readings.
fn counter_bps(
    network: &Network,
    link: LinkId,
    mut list: Vec<(f64, u64, SourceSpan)>,
    findings: &mut Findings,
) -> Option<f64> {
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    let name = network.link_name(link);
    let (&[(first_s, ..), ref rest @ ..], Some(&(last_s, ..))) = (&list[..], list.last()) else {
        return None;
    };
    if rest.is_empty() {
        let message = format!("link {name} has only one reading of its counter");
        let finding = findings.error(ProblemKind::Missing, list[0].2, message);
        finding.set_help("write its `octets` at two times");
        return None;
    }
    let mut octets = 0_u128;
    for pair in list.windows(2) {
        let ((before_s, before, _), (after_s, after, place)) = (pair[0], pair[1]);
        if after_s <= before_s {
            let message = format!("link {name} has two readings at {after_s} s");
            let finding = findings.error(ProblemKind::Duplicate, place, message);
            finding.set_help("leave out one of them");
            return None;
        }
        let increase = after.wrapping_sub(before);
        let rate_bps = 8.0 * increase as f64 / (after_s - before_s);
        if after < before && rate_bps > MAX_WRAPPED_LOAD * network.link_spec(link).bandwidth_bps {
            let message =
                format!("the counter of link {name} decreased: it was reset, or has 32 bits");
            let finding = findings.error(ProblemKind::OutOfRange, place, message);
            finding.set_help("use a 64-bit counter, such as ifHCOutOctets, and leave out readings before a restart");
            return None;
        }
        octets += u128::from(increase);
    }
    let mean_bps = 8.0 * octets as f64 / (last_s - first_s);
    plausible(mean_bps, name, list[0].2, findings)
}

/// Returns a computed rate if it is possible, or reports it.
fn plausible(bps: f64, link: &str, place: SourceSpan, findings: &mut Findings) -> Option<f64> {
    if (0.0..=MAX_BPS).contains(&bps) {
        return Some(bps);
    }
    let message = format!("the load of link {link} is {bps:e} bit/s");
    let finding = findings.error(ProblemKind::OutOfRange, place, message);
    finding.set_help("check the times; at most 100000 Gbit/s is allowed");
    None
}

fn read_totals(
    text: &str,
    file: FileId,
    network: &Network,
    findings: &mut Findings,
) -> Option<NodeTotals> {
    let rows = read_rows::<TotalRow>(text, file, findings)?;
    let names = || network.nodes().map(|node| network.node_name(node));
    let nodes: HashMap<&str, NodeId> = names().zip(network.nodes()).collect();
    let mut totals = NodeTotals::default();
    let mut seen = HashSet::new();
    for (row, place) in rows {
        let name = row.node.0.as_str();
        let Some(&node) = nodes.get(name) else {
            let help =
                findings.given_names_help(name, "nodes", names().collect::<Vec<_>>().into_iter());
            let message = format!("unknown node `{name}`");
            let finding = findings.error(ProblemKind::UnknownName, row.node.place(), message);
            finding.set_help(help);
            continue;
        };
        if !seen.insert(node) {
            report_duplicate(&format!("node {name}"), place, findings);
        }
        let rate = |cell: &Option<RateCell>, number: &Option<Spanned<f64>>| {
            let number = number.as_deref().copied();
            cell.as_ref().map(bps).or(number)
        };
        let entering = rate(&row.entering, &row.entering_bps);
        let leaving = rate(&row.leaving, &row.leaving_bps);
        if entering.is_none() && leaving.is_none() {
            let finding = findings.error(ProblemKind::Missing, place, "this row has no total");
            finding.set_help("fill `in` or `out`, for example with `2 Gbit/s`");
        }
        totals.entering.extend(entering.map(|bps| (node, bps)));
        totals.leaving.extend(leaving.map(|bps| (node, bps)));
    }
    (!findings.has_errors()).then_some(totals)
}

fn report_duplicate(of: &str, place: SourceSpan, findings: &mut Findings) {
    let message = format!("{of} was measured in an earlier row");
    let finding = findings.error(ProblemKind::Duplicate, place, message);
    finding.set_help("leave out one of the rows");
}

/// Links by name and by their nodes.
struct Links<'n> {
    network: &'n Network,
    by_name: HashMap<&'n str, LinkId>,
    by_ends: HashMap<(&'n str, &'n str), Vec<LinkId>>,
}

impl<'n> Links<'n> {
    fn new(network: &'n Network) -> Links<'n> {
        let mut by_ends: HashMap<_, Vec<LinkId>> = HashMap::new();
        for link in network.links_without_class_queues() {
            let spec = network.link_spec(link);
            let ends = (network.node_name(spec.from), network.node_name(spec.to));
            by_ends.entry(ends).or_default().push(link);
        }
        let by_name = network
            .links_without_class_queues()
            .map(|it| (network.link_name(it), it));
        Links {
            network,
            by_name: by_name.collect(),
            by_ends,
        }
    }

    /// Returns the link of a row, or reports that there is none.
    fn find(&self, row: &LoadRow, place: SourceSpan, findings: &mut Findings) -> Option<LinkId> {
        let (name, place) = match (&row.link, &row.from, &row.to) {
            (Some(link), ..) => (link.0.clone(), link.place()),
            (None, Some(from), Some(to)) => {
                match self
                    .by_ends
                    .get(&(from.0.as_str(), to.0.as_str()))
                    .map(Vec::as_slice)
                {
                    Some(&[link]) => return Some(link),
                    Some(links) => {
                        let names = links.iter().map(|&it| self.network.link_name(it));
                        let names: Vec<&str> = names.collect();
                        let message = format!("{} links from {} to {}", links.len(), from.0, to.0);
                        let finding = findings.error(ProblemKind::Conflict, place, message);
                        finding.set_help(format!(
                            "name one of them in the column `link`: {}",
                            names.join(", ")
                        ));
                        return None;
                    }
                    None => (format!("{}->{}", from.0, to.0), place),
                }
            }
            // Already reported.
            _ => return None,
        };
        if let Some(&link) = self.by_name.get(name.as_str()) {
            return Some(link);
        }
        let names: Vec<&str> = self
            .network
            .links_without_class_queues()
            .map(|it| self.network.link_name(it))
            .collect();
        let help = findings.given_names_help(&name, "links", names.into_iter());
        let message = format!("unknown link `{name}`");
        findings
            .error(ProblemKind::UnknownName, place, message)
            .set_help(help);
        None
    }
}
