//! Reference runs from packet traces of ns-2.

use std::path::{Path, PathBuf};

use netflow_results::Topology;
use netflow_trace::analysis::{ConnectionSeries, Connections, LinkSeries, Links};
use netflow_trace::sender::{MAX_FLOWS, Options};
use netflow_trace::{Endpoint, NodeNames, open};

use crate::{ConnectionInterval, Error, LinkInterval, NetflowRun, Run};

/// Minimum number of packets after the end of a trace, at a link of the results, for the trace to count as
/// incomplete.
const MIN_LATER_PKTS: f64 = 10.0;

/// Reads traces of ns-2 of the network of these results. Returns the results limited to the intervals that
/// all traces cover, and one run per trace.
///
/// # Errors
/// Those of [`from_trace`].
pub fn from_traces(
    traces: &[PathBuf],
    netflow_run: NetflowRun,
) -> Result<(NetflowRun, Vec<Run>), Error> {
    let runs = traces.iter().map(|trace| from_trace(trace, &netflow_run));
    let mut runs = runs.collect::<Result<Vec<Run>, Error>>()?;
    let all = netflow_run.run.times_s.len();
    let covered = runs.iter().map(|run| run.times_s.len()).min();
    let covered = covered.unwrap_or(all);
    runs.iter_mut()
        .for_each(|run| run.truncate_intervals(covered));
    let netflow_run = if covered < all {
        netflow_run.truncated(covered)
    } else {
        netflow_run
    };
    Ok((netflow_run, runs))
}

/// Reads a trace of ns-2 of the network of these results, in the same intervals, as far as the trace covers
/// them.
///
/// Links are matched by node names, which traces of exported scripts contain. Connections are matched by flow
/// ids: their positions in the scenario, from 1. Bandwidths are those of the results, if available. Links and
/// connections without packets in the trace are omitted and listed in [`Run::untold`], unless they have no
/// packets in the results either.
///
/// # Errors
/// The trace cannot be read, is of another network, or ends in the first interval.
pub fn from_trace(trace: &Path, netflow_run: &NetflowRun) -> Result<Run, Error> {
    let end_s = netflow_run.summary.duration_s;
    let every_s = interval_s(netflow_run)?;
    let mut links = Links::new(every_s);
    let mut connections = Connections::new(every_s, Options::default());
    let mut reader = open(trace)?;
    let mut last_ns = 0;
    while let Some(event) = reader.next()? {
        links.on_event(event);
        connections.on_event(event);
        last_ns = last_ns.max(event.time_ns);
    }
    let mismatch = |what: String, help: &str| Error::Mismatch {
        what: format!("{} {what}", trace.display()),
        help: help.to_owned(),
    };
    if links.omitted_events() > 0 || connections.omitted_events() > 0 {
        let what = "is much longer than the results".to_owned();
        return Err(mismatch(what, "check its times"));
    }
    if connections.events_of_omitted_flows() > 0 {
        let what = format!("has more than {MAX_FLOWS} flows");
        return Err(mismatch(what, "use a trace of the network of the results"));
    }
    let names = reader.names();
    set_bandwidths(&mut links, names, netflow_run);
    let last_s = last_ns as f64 * 1e-9;
    // End of the interval in which the trace ends.
    let until_s = netflow_run
        .run
        .times_s
        .iter()
        .find(|&&time_s| time_s > last_s);
    let found = links.finish_at(Some(until_s.copied().unwrap_or(end_s)));
    let flows = connections.finish();
    let mut coverage = TraceCoverage::default();
    let mut run = Run {
        times_s: netflow_run.run.times_s.clone(),
        ..Run::default()
    };
    for (name, mine) in &netflow_run.run.links {
        let series = found.iter().find(|series| names.link(series.link) == *name);
        let idle = || mine.iter().all(|it| it.arrived_pkts == 0.0);
        if let Some(intervals) = coverage.link(name, series, mine.len(), idle) {
            run.links.push((name.clone(), intervals));
        }
    }
    if coverage.links == 0 {
        let known: Vec<String> = found.iter().take(5).map(|s| names.link(s.link)).collect();
        let help = format!(
            "its links are {} …; use a trace of a script from `netflow export --trace`, which names the nodes",
            known.join(", ")
        );
        let what = "does not contain any link of the results".to_owned();
        return Err(mismatch(what, &help));
    }
    check_endpoints(&flows, names, netflow_run)
        .map_err(|what| mismatch(what, "a flow id is the index of a connection, from 1"))?;
    for (i, (name, mine)) in netflow_run.run.connections.iter().enumerate() {
        let series = flows.iter().filter(|it| it.flow_id as usize == i + 1);
        let idle = || mine.iter().all(|it| it.sent_pkts == 0.0);
        if let Some(intervals) =
            coverage.connection(name, &series.collect::<Vec<_>>(), mine.len(), idle)
        {
            run.connections.push((name.clone(), intervals));
        }
    }
    let connections = 1..=netflow_run.run.connections.len();
    let others = flows
        .iter()
        .filter(|it| !connections.contains(&(it.flow_id as usize)));
    coverage.other_flow = others.map(|it| it.flow_id).next();

    let covered = covered_intervals(netflow_run, &run, last_s);
    if covered == 0 {
        let what = format!("ends at {last_s} s, in the first interval of the results");
        return Err(mismatch(
            what,
            "use the whole trace, or run again with a shorter --interval",
        ));
    }
    run.truncate_intervals(covered);
    if covered < netflow_run.run.times_s.len() {
        coverage.end_times_s = Some((last_s, end_s, run.times_s[covered - 1]));
    }
    run.untold = coverage.messages(trace);
    Ok(run)
}

/// Returns the interval length of the results in seconds. The last interval may be shorter.
fn interval_s(netflow_run: &NetflowRun) -> Result<f64, Error> {
    let (times_s, end_s) = (&netflow_run.run.times_s, netflow_run.summary.duration_s);
    let every_s = times_s.first().copied().unwrap_or(end_s);
    // The number of intervals up to the end must match.
    if times_s
        .last()
        .is_some_and(|&last_s| end_s > last_s + every_s)
    {
        return Err(Error::Mismatch {
            what: format!("the summary of the results covers {end_s} s, but their series do not"),
            help: "run the scenario again".to_owned(),
        });
    }
    let but_last = times_s.len().saturating_sub(1);
    let other = netflow_run
        .run
        .lengths_s()
        .take(but_last)
        .find(|s| (s / every_s - 1.0).abs() > 1e-6);
    match other {
        None => Ok(every_s),
        Some(other_s) => Err(Error::Mismatch {
            what: format!(
                "the intervals of the results differ in length: {every_s} s and {other_s} s"
            ),
            help: "run the scenario again with an --interval that is a multiple of its time step"
                .to_owned(),
        }),
    }
}

/// Sets the bandwidths that the results have.
fn set_bandwidths(links: &mut Links, names: &NodeNames, netflow_run: &NetflowRun) {
    let known: Vec<_> = links.links().map(|link| (link, names.link(link))).collect();
    for (link, name) in known {
        let all = netflow_run
            .network
            .iter()
            .flat_map(|network| &network.links);
        let Some(of) = all.into_iter().find(|it| it.link == name) else {
            continue;
        };
        links.set_bandwidth(link, of.bandwidth_bps);
        for event in netflow_run
            .summary
            .events
            .iter()
            .filter(|it| it.link == name)
        {
            if let Some(bps) = event.bandwidth_bps {
                links.set_bandwidth_from(link, event.at_s, bps);
            }
        }
    }
}

/// Checks that each flow has the endpoints of the connection with its number.
fn check_endpoints(
    flows: &[ConnectionSeries],
    names: &NodeNames,
    netflow_run: &NetflowRun,
) -> Result<(), String> {
    let Some(Topology { connections, .. }) = &netflow_run.network else {
        return Ok(());
    };
    for series in flows {
        let index = (series.flow_id as usize).checked_sub(1);
        let connection = index.and_then(|index| connections.get(index));
        if let (Some(it), Endpoint::Node { node: from, .. }, Endpoint::Node { node: to, .. }) =
            (connection, series.flow.from, series.flow.to)
        {
            let (from, to) = (names.name(from), names.name(to));
            if from != it.from || to != it.to {
                return Err(format!(
                    "has flow {} from {from} to {to}; connection `{}` goes from {} to {}",
                    series.flow_id, it.connection, it.from, it.to
                ));
            }
        }
    }
    Ok(())
}

fn link_intervals(series: &LinkSeries, intervals: usize) -> Vec<LinkInterval> {
    let known = series.totals.bandwidth_bps.is_some();
    let interval = |i: usize| match series.bins.get(i) {
        Some(bin) => {
            let utilization = bin.utilization.unwrap_or(f64::NAN);
            LinkInterval {
                arrived_pkts: bin.arrived_pkts as f64,
                lost_pkts: bin.lost_pkts as f64,
                marked_pkts: None,
                queue_pkts: bin.waiting_pkts + utilization,
                utilization,
            }
        }
        // After the last packet of the trace.
        None if known => LinkInterval::default(),
        None => LinkInterval {
            queue_pkts: f64::NAN,
            utilization: f64::NAN,
            ..LinkInterval::default()
        },
    };
    (0..intervals).map(interval).collect()
}

fn connection_intervals(series: &[&ConnectionSeries], intervals: usize) -> Vec<ConnectionInterval> {
    let interval = |i: usize| {
        let mut sum = ConnectionInterval::default();
        for bin in series.iter().filter_map(|it| it.bins.get(i)) {
            sum.sent_pkts += bin.sent_pkts as f64;
            sum.delivered_pkts += bin.delivered_pkts as f64;
        }
        sum
    };
    (0..intervals).map(interval).collect()
}

/// Returns the number of intervals of the results that a trace covers whose last event is at `last_s`.
fn covered_intervals(netflow_run: &NetflowRun, run: &Run, last_s: f64) -> usize {
    let times_s = &netflow_run.run.times_s;
    let ended = times_s.partition_point(|&time_s| time_s <= last_s);
    // Excludes the interval in which the trace ends.
    let goes_on = |(name, intervals): &(String, Vec<LinkInterval>)| {
        let later = intervals.iter().skip(ended + 1);
        later.map(|it| it.arrived_pkts).sum::<f64>() >= MIN_LATER_PKTS
            && run.links.iter().any(|(name_of_run, _)| name_of_run == name)
    };
    if netflow_run.run.links.iter().any(goes_on) {
        ended
    } else {
        times_s.len()
    }
}

/// Coverage of a trace: missing links and connections, and its end.
#[derive(Default)]
struct TraceCoverage<'a> {
    links: usize,
    missing_links: Vec<&'a str>,
    no_bandwidth: Vec<&'a str>,
    missing_connections: Vec<&'a str>,
    other_flow: Option<u32>,
    /// End of the trace, end of the results and end of the comparison, in seconds.
    end_times_s: Option<(f64, f64, f64)>,
}

impl<'a> TraceCoverage<'a> {
    /// Returns the intervals of a link, or `None` if the trace has no packet of it although the results have
    /// some.
    fn link(
        &mut self,
        name: &'a str,
        series: Option<&LinkSeries>,
        intervals: usize,
        idle: impl Fn() -> bool,
    ) -> Option<Vec<LinkInterval>> {
        let Some(series) = series else {
            if idle() {
                return Some(vec![LinkInterval::default(); intervals]);
            }
            self.missing_links.push(name);
            return None;
        };
        self.links += 1;
        if series.totals.bandwidth_bps.is_none() {
            self.no_bandwidth.push(name);
        }
        Some(link_intervals(series, intervals))
    }

    /// Returns the intervals of one connection, or `None` if the trace lacks its send or delivery events. A
    /// connection that is idle in the results needs neither.
    fn connection(
        &mut self,
        name: &'a str,
        series: &[&ConnectionSeries],
        intervals: usize,
        idle: impl Fn() -> bool,
    ) -> Option<Vec<ConnectionInterval>> {
        let sent = series.iter().any(|it| it.totals.sent_pkts > 0);
        let arrived = |it: &&ConnectionSeries| it.whole_network || it.totals.delivered_pkts > 0;
        if (sent && series.iter().any(arrived)) || idle() {
            return Some(connection_intervals(series, intervals));
        }
        self.missing_connections.push(name);
        None
    }

    fn messages(&self, trace: &Path) -> Vec<String> {
        let trace = trace.display();
        let mut words = Vec::new();
        if let Some((last_s, end_s, until_s)) = self.end_times_s {
            words.push(format!(
                "{trace} ends at {last_s} s and the results end at {end_s} s: compared until {until_s} s"
            ));
        }
        for (names, what) in [
            (&self.missing_links, "link"),
            (&self.missing_connections, "connection"),
        ] {
            if !names.is_empty() {
                let named = format_names(names, what);
                words.push(format!("{trace} does not contain {named}: not compared"));
            }
        }
        if !self.no_bandwidth.is_empty() {
            let named = format_names(&self.no_bandwidth, "link");
            words.push(format!(
                "the bandwidth of {named} is missing in {trace} and in the results: queue and utilization are not compared"
            ));
        }
        if let Some(id) = self.other_flow {
            words.push(format!(
                "flow {id} of {trace} does not belong to a connection: a flow id is the index of a connection, from 1"
            ));
        }
        words
    }
}

/// Returns the number of names with the first few of them.
fn format_names(names: &[&str], what: &str) -> String {
    const MAX_NAMES: usize = 3;
    let shown = names[..names.len().min(MAX_NAMES)].join(", ");
    let plural = if names.len() == 1 { "" } else { "s" };
    let rest = if names.len() > MAX_NAMES { " …" } else { "" };
    format!("{} {what}{plural} ({shown}{rest})", names.len())
}
