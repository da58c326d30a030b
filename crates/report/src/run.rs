//! Conversion of a results directory into page data.

use std::collections::HashMap;

use netflow_results::{
    CONNECTIONS, Column, ConnectionSummary, ESTIMATE, LINKS, LinkSummary, NETWORK_TOTALS,
    NetworkQuantity, Results, Topology, TopologyConnection, TopologyLink, TopologyPath,
};
use netflow_workload::TimeSample;

use crate::confidence_band::{band_edges, link_series_max};
use crate::data;
use crate::downsample::{DownsamplingGrid, mean};
use crate::rounding::{Precise, Rounded, Time, round_all};
use crate::series_table::{SeriesTable, quantile, sum, union_of_times};
use crate::unmet_demand::unmet_demand;
use crate::worst_moment::worst_moment;
use crate::{Error, title};

/// Number of links or connections above which only the busiest have curves.
pub const MAX_ALL_CURVES: usize = 2000;
/// Number of the busiest links or connections that have curves in that case.
pub const MAX_BUSIEST_CURVES: usize = 300;

/// Approximate total number of points of all curves of a page.
const MAX_PAGE_POINTS: usize = 1_600_000;
/// Maximum number of points of a curve.
const MAX_CURVE_POINTS: usize = 1200;
/// Minimum number of points of a curve, if it has that many samples.
const MIN_CURVE_POINTS: usize = 60;
/// Maximum number of frames of the map.
const MAX_FRAMES: usize = 240;

// Columns of the series.
const fn link_column(name: &str) -> usize {
    Column::place(LINKS.values, name)
}

const fn connection_column(name: &str) -> usize {
    Column::place(CONNECTIONS.values, name)
}

pub const QUEUE: usize = link_column("queue_pkts");
pub const LINK_LOSS: usize = link_column("loss_probability");
pub const UTILIZATION: usize = link_column("utilization");
pub const ARRIVAL: usize = link_column("arrival_pps");
const QUEUEING: usize = link_column("sojourn_time_s");
pub const SEND: usize = connection_column("send_pps");
pub const GOODPUT: usize = connection_column("goodput_pps");
pub const RTT: usize = connection_column("rtt_s");
pub const DELAY: usize = connection_column("delay_s");
const TOTALS_MEAN: usize = Column::place(NETWORK_TOTALS.values, "mean");
const TOTALS_CI95: usize = Column::place(NETWORK_TOTALS.values, "ci95");

/// Reads the directory; `among` is the number of directories on the page.
pub fn read(
    results: &Results,
    topology: &Topology,
    name: &str,
    among: usize,
) -> Result<data::Run, Error> {
    let summary = &results.summary;
    let link_names: Vec<String> = summary.links.iter().map(|it| it.link.clone()).collect();
    let connection_names = summary.connections.iter().map(|it| it.connection.clone());
    let connection_names: Vec<String> = connection_names.collect();
    let links = SeriesTable::new(&results.links()?, &link_names);
    let connections = SeriesTable::new(&results.connections()?, &connection_names);
    let times_s = union_of_times(&links, &connections);
    let links = links.resampled_at(&times_s);
    let connections = connections.resampled_at(&times_s).without_zeros(RTT);
    let link_spread = results.links_ci95()?;
    let link_spread =
        link_spread.map(|rows| SeriesTable::new(&rows, &link_names).resampled_at(&times_s));
    let spread = results.connections_ci95()?;
    let spread =
        spread.map(|rows| SeriesTable::new(&rows, &connection_names).resampled_at(&times_s));

    let scope_s = (summary.from_s, summary.from_s + summary.duration_s);
    let busy_links = select_busiest(summary.links.iter().map(|it| it.utilization));
    let busy_connections = select_busiest(summary.connections.iter().map(|it| it.mean_goodput_pps));
    let curves = 4 * (count(&busy_links) + count(&busy_connections));
    let points = MAX_PAGE_POINTS / curves.max(1) / among.max(1);
    let points = points.clamp(MIN_CURVE_POINTS, MAX_CURVE_POINTS);
    let grid = PageGrid::new(&times_s, points);
    let of_links: HashMap<&str, &TopologyLink> = topology
        .links
        .iter()
        .map(|it| (it.link.as_str(), it))
        .collect();
    let of_connections: HashMap<&str, &TopologyConnection> = topology
        .connections
        .iter()
        .map(|it| (it.connection.as_str(), it))
        .collect();
    let curve = |columns: &SeriesTable, spread: &Option<SeriesTable>, place, quantity, most| {
        let spread = spread
            .as_ref()
            .map_or(&[][..], |it| it.series(place, quantity));
        grid.curve(columns.series(place, quantity), spread, most)
    };
    let of_connection = |place, quantity| {
        let most = f64::INFINITY;
        curve(&connections, &spread, place, quantity, most)
    };

    let link = |(i, link): (usize, &LinkSummary)| {
        let known = of_links.get(link.link.as_str());
        let (from, to) = known.map_or_else(
            || end_nodes(&link.link),
            |known| (known.from.clone(), known.to.clone()),
        );
        let of_link = |quantity| {
            let most = link_series_max(quantity, known.and_then(|it| it.max_queue_pkts()));
            curve(&links, &link_spread, i, quantity, most)
        };
        data::Link {
            name: link.link.clone(),
            from,
            to,
            bps: known.map(|it| Rounded(it.bandwidth_bps)),
            delay: known.map(|it| Rounded(it.delay_s)),
            room: known
                .and_then(|it| buffer_pkts(it, link, summary.duration_s))
                .map(Rounded),
            throughput: link.throughput_bps.map(Precise),
            utilization: Precise(link.utilization),
            peak: link.peak_utilization.map(Precise),
            full: link.at_capacity_s.map(Precise),
            utilization_sign: link.utilization_is_estimate.then_some(ESTIMATE),
            mean_queue: Precise(link.mean_queue_pkts),
            max_queue: Precise(link.max_queue_pkts),
            queueing: Precise(link.sojourn_time_s.unwrap_or(f64::NAN)),
            sign: link.queue_is_estimate.then_some(ESTIMATE),
            loss: Precise(link.loss_probability),
            loss_sign: link.loss_is_estimate.then_some(ESTIMATE),
            offered: Precise(link.offered_pkts),
            lost: Precise(link.lost_pkts),
            link_lost: link.link_lost_pkts.map(Precise),
            marked: link.marked_pkts.map(Precise),
            curves: is_selected(&busy_links, i).then(|| data::LinkCurves {
                queue: of_link(QUEUE),
                loss: of_link(LINK_LOSS),
                utilization: of_link(UTILIZATION),
                queueing: of_link(QUEUEING),
                frame_queue: grid.frame_max(links.series(i, QUEUE)),
                frame_utilization: grid.frame_mean(links.series(i, UTILIZATION)),
            }),
        }
    };
    let connection = |(i, connection): (usize, &ConnectionSummary)| {
        let known = of_connections.get(connection.connection.as_str()).copied();
        data::Connection {
            name: connection.connection.clone(),
            from: known.map_or(String::new(), |it| it.from.clone()),
            to: known.map_or(String::new(), |it| it.to.clone()),
            source: known.map_or(String::new(), |it| it.source.clone()),
            count: known.map_or(1, |it| it.count),
            bytes: known.map(|it| Rounded(it.packet_size_bytes)),
            path: known.map_or(Vec::new(), |it| it.path.clone()),
            back: known.map_or(Vec::new(), |it| it.return_path.clone()),
            ways: known.map_or(Vec::new(), |it| it.later_paths.iter().map(route).collect()),
            active: Precise(connection.active_s),
            finished: connection.finished_s.map(Precise),
            mean_finished: connection.mean_finished_s.map(Precise),
            short: Precise(unmet_demand(connection, known, scope_s).unwrap_or(f64::NAN)),
            send: Precise(connection.mean_send_pps),
            goodput: Precise(connection.mean_goodput_pps),
            goodput_sign: connection.goodput_is_estimate.then_some(ESTIMATE),
            delivered: Precise(connection.delivered_pkts),
            lost: Precise(connection.lost_pkts),
            rtt: Precise(connection.mean_rtt_s.unwrap_or(f64::NAN)),
            delay: Precise(connection.mean_delay_s.unwrap_or(f64::NAN)),
            delay50: Precise(connection.delay_p50_s.unwrap_or(f64::NAN)),
            delay95: Precise(connection.delay_p95_s.unwrap_or(f64::NAN)),
            delay99: Precise(connection.delay_p99_s.unwrap_or(f64::NAN)),
            delay999: Precise(connection.delay_p999_s.unwrap_or(f64::NAN)),
            jitter: Precise(connection.jitter_s.unwrap_or(f64::NAN)),
            sign: connection.delay_is_estimate.then_some(ESTIMATE),
            loss: Precise(connection.loss_probability.unwrap_or(f64::NAN)),
            loss_sign: connection.loss_is_estimate.then_some(ESTIMATE),
            outside: Precise(connection.extrapolated_fraction),
            profile_use: connection.profile_use.clone(),
            curves: is_selected(&busy_connections, i).then(|| data::ConnectionCurves {
                send: of_connection(i, SEND),
                goodput: of_connection(i, GOODPUT),
                rtt: of_connection(i, RTT),
                delay: of_connection(i, DELAY),
            }),
        }
    };
    let busiest_but = |fraction| {
        let values = links.aggregate(UTILIZATION, quantile(fraction));
        round_all(&grid.curves.extremes(&values))
    };
    let over_seeds = results.network_totals()?;
    let names = NetworkQuantity::ALL.map(|it| it.name().to_owned());
    let over_seeds = over_seeds.map(|rows| SeriesTable::new(&rows, &names).resampled_at(&times_s));
    // With several seeds, uses the mean over seeds of each quantity. The maximum of mean curves would be
    // lower than the mean of maxima.
    let whole = |quantity: NetworkQuantity, of_one: Vec<f64>, most| match &over_seeds {
        Some(seeds) => grid.curve(
            seeds.series(quantity as usize, TOTALS_MEAN),
            seeds.series(quantity as usize, TOTALS_CI95),
            most,
        ),
        None => grid.curve(&of_one, &[], most),
    };
    let (any, all_full) = (f64::INFINITY, link_series_max(UTILIZATION, None));
    let highest = links.aggregate(UTILIZATION, quantile(1.0));
    Ok(data::Run {
        name: name.to_owned(),
        title: title::scenario_title(results),
        manifest: results.manifest.clone(),
        from_s: summary.from_s,
        duration_s: summary.duration_s,
        end_s: results.manifest.end_s(),
        totals: summary.totals.clone(),
        aggregates: summary.aggregates.clone(),
        workloads: summary.workloads.clone(),
        waits: waits(results)?,
        warnings: summary.warnings.clone(),
        estimate: summary.notes(),
        samples: times_s.len(),
        thinned: grid.curves.omits_samples(),
        x: times(grid.curves.times(&times_s)),
        frames: times(grid.frame_times(&times_s)),
        with_curves: (count(&busy_links), count(&busy_connections)),
        whole: data::NetworkCurves {
            queue: whole(NetworkQuantity::Queue, links.aggregate(QUEUE, sum), any),
            highest: whole(NetworkQuantity::Highest, highest, all_full),
            ninth: busiest_but(0.9),
            median: busiest_but(0.5),
            send: whole(NetworkQuantity::Send, connections.aggregate(SEND, sum), any),
            goodput: whole(
                NetworkQuantity::Goodput,
                connections.aggregate(GOODPUT, sum),
                any,
            ),
        },
        worst: worst_moment(&links, &link_names, scope_s),
        links: summary.links.iter().enumerate().map(link).collect(),
        connections: summary
            .connections
            .iter()
            .enumerate()
            .map(connection)
            .collect(),
    })
}

fn route(route: &TopologyPath) -> data::Route {
    data::Route {
        from_s: Time(route.from_s),
        path: route.path.clone(),
        back: route.return_path.clone(),
    }
}

/// Maximum number of points of a distribution of response times.
const MAX_CDF_POINTS: usize = 200;

/// Returns the distributions of response times, in the order of the summary.
fn waits(results: &Results) -> Result<Vec<data::Waits>, Error> {
    let rows = results.waits()?.unwrap_or_default();
    let mut by_kind: HashMap<(&str, &str), Vec<f64>> = HashMap::new();
    for row in &rows {
        let of_kind = by_kind.entry((&row.workload, &row.wait)).or_default();
        of_kind.push(row.values.wait_s);
    }
    let kinds = results.summary.workloads.iter().flat_map(|users| {
        let waits = users.waits.iter();
        waits.map(|wait| (users.workload.as_str(), wait.wait.as_str()))
    });
    let kinds = kinds.filter_map(|(workload, wait)| {
        let times = TimeSample::new(by_kind.remove(&(workload, wait))?);
        let points = times.cdf(MAX_CDF_POINTS).into_iter();
        Some(data::Waits {
            workload: workload.to_owned(),
            wait: wait.to_owned(),
            times: points.map(|(time_s, _)| Rounded(time_s)).collect(),
        })
    });
    Ok(kinds.collect())
}

/// Returns the end nodes of a link from its name.
pub fn end_nodes(link: &str) -> (String, String) {
    let (from, to) = link.split_once("->").unwrap_or((link, ""));
    (from.to_owned(), to.to_owned())
}

/// Returns true for the links or connections that have curves.
fn select_busiest(values: impl Iterator<Item = f64>) -> Vec<bool> {
    let values: Vec<f64> = values.collect();
    if values.len() <= MAX_ALL_CURVES {
        return vec![true; values.len()];
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    let value = |i: usize| {
        values
            .get(i)
            .copied()
            .filter(|v| !v.is_nan())
            .unwrap_or(-1.0)
    };
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
    let mut chosen = vec![false; values.len()];
    for i in order.into_iter().take(MAX_BUSIEST_CURVES) {
        if let Some(it) = chosen.get_mut(i) {
            *it = true;
        }
    }
    chosen
}

fn is_selected(which: &[bool], i: usize) -> bool {
    which.get(i).copied().unwrap_or(false)
}

/// Returns the buffer of a queue in packets. A buffer in bytes is divided by the mean size of the packets
/// sent, if known.
fn buffer_pkts(known: &TopologyLink, link: &LinkSummary, duration_s: f64) -> Option<f64> {
    let sent_pkts = link.offered_pkts - link.lost_pkts;
    match (known.buffer_bytes, link.throughput_bps) {
        (Some(bytes), Some(bps)) if sent_pkts > 0.0 && bps > 0.0 => {
            Some((8.0 * bytes * sent_pkts / (bps * duration_s)).max(1.0))
        }
        _ => known.max_queue_pkts(),
    }
}

fn count(which: &[bool]) -> usize {
    which.iter().filter(|it| **it).count()
}

fn times(times_s: Vec<f64>) -> Vec<Time> {
    times_s.into_iter().map(Time).collect()
}

/// Downsampling grids of the curves and of the map.
pub struct PageGrid {
    curves: DownsamplingGrid,
    frames: DownsamplingGrid,
}

impl PageGrid {
    pub fn new(times_s: &[f64], points: usize) -> PageGrid {
        PageGrid {
            curves: DownsamplingGrid::new(times_s.len(), points),
            frames: DownsamplingGrid::single_valued(times_s.len(), MAX_FRAMES),
        }
    }

    pub fn times(&self, times_s: &[f64]) -> Vec<Time> {
        times(self.curves.times(times_s))
    }

    /// Returns a curve with a band of ±`spread`, if given; `most` is the maximum.
    pub fn curve(&self, values: &[f64], spread: &[f64], most: f64) -> data::Curve {
        let (low, high) = band_edges(values, spread, most);
        data::Curve {
            y: round_all(&self.curves.extremes(values)),
            band: (!spread.is_empty()).then(|| data::Band {
                low: round_all(&self.curves.bucket_minima(&low)),
                high: round_all(&self.curves.bucket_maxima(&high)),
            }),
        }
    }

    fn frame_times(&self, times_s: &[f64]) -> Vec<f64> {
        let last = |range: std::ops::Range<usize>| times_s.get(range)?.last().copied();
        self.frames.buckets().filter_map(last).collect()
    }

    fn frame_mean(&self, values: &[f64]) -> Vec<Rounded> {
        let here = |range| Rounded(mean(values.get(range).unwrap_or_default()));
        self.frames.buckets().map(here).collect()
    }

    fn frame_max(&self, values: &[f64]) -> Vec<Rounded> {
        let here = |range: std::ops::Range<usize>| {
            let values = values.get(range).unwrap_or_default().iter().copied();
            let highest = values.filter(|v| !v.is_nan()).max_by(f64::total_cmp);
            Rounded(highest.unwrap_or(f64::NAN))
        };
        self.frames.buckets().map(here).collect()
    }
}
