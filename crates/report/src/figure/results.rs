//! Figures of simulation results.

use std::collections::HashSet;
use std::path::PathBuf;

use netflow_results::{Results, Topology, ci95_of};

use super::draw::{Curve, CurveStyle, Panel, draw};
use super::names::select_names;
use super::style::{Drawing, Style};
use crate::Error;
use crate::confidence_band::{band_edges, link_series_max};
use crate::downsample::DownsamplingGrid;
use crate::report::{name, topology};
use crate::run::{DELAY, GOODPUT, LINK_LOSS, QUEUE, RTT, SEND, UTILIZATION};
use crate::series_table::SeriesTable;

/// Kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Queue, loss and utilization of links over time.
    Links,
    /// Rates and round-trip time of connections over time.
    Connections,
    /// Delay of connections over time, and percentiles of their packet delays.
    Delay,
    /// Mean throughput of every connection over its mean round-trip time, with a colour per results
    /// directory, for example per conditioner.
    Throughput,
    /// Coefficient of variation of the arrivals at a link over the number of connections through it, compared
    /// with Poisson arrivals. Each link with counted arrivals in each results directory is a point.
    Burstiness,
}

/// Maximum number of points of a curve.
const MAX_CURVE_POINTS: usize = 1200;

/// Draws a figure of the links or connections that match `only` (`*` matches any text, `?` any character), or
/// of the busiest. Several seeds have bands: the 95 % confidence intervals of their means.
///
/// # Errors
/// Results cannot be read, or do not contain the data of the figure.
pub fn results_figure(
    figure: Figure,
    directories: &[PathBuf],
    only: &[String],
    style: &Style,
) -> Result<Drawing, Error> {
    let mut all = Vec::new();
    for directory in directories {
        let results = Results::open(directory)?;
        let topology = topology(&results)?;
        all.push((name(directory, directories), results, topology));
    }
    if all.is_empty() {
        return Err(Error::NoResults);
    }
    let mut panels = match figure {
        Figure::Links => links(&all, only)?,
        Figure::Connections => connections(&all, only)?,
        Figure::Delay => delay(&all, only)?,
        Figure::Throughput => throughput(&all, only)?,
        Figure::Burstiness => burstiness(&all, only)?,
    };
    if !panels.iter().any(Panel::has_points) {
        return Err(Error::NothingToShow(match figure {
            Figure::Burstiness => {
                "the results contain no counts of arrivals: use results of the packet model (`--model packet`)".to_owned()
            }
            _ => "the results are empty".to_owned(),
        }));
    }
    // A panel selected by name is drawn even if it is empty.
    if style.panels.is_empty() {
        panels.retain(Panel::has_points);
    }
    draw(&panels, style)
}

type NamedResults = (String, Results, Topology);

/// Time series of one results directory.
struct RunSeries<'a> {
    run_name: &'a str,
    values: SeriesTable,
    /// Half-widths of the confidence intervals, if there are several seeds.
    spread: Option<SeriesTable>,
    /// Topology, if these are links.
    link_topology: Option<&'a Topology>,
}

impl RunSeries<'_> {
    /// Returns the maximum of a quantity for the link with this name.
    fn axis_max(&self, name: &str, quantity: usize) -> f64 {
        self.link_topology.map_or(f64::INFINITY, |topology| {
            let link = topology.links.iter().find(|it| it.link == name);
            link_series_max(quantity, link.and_then(|it| it.max_queue_pkts()))
        })
    }
}

/// Returns the distinct names from `(index of the results, name, utilization or rate)`. Only those of the
/// first results can be the busiest.
fn names<'a>(all: impl Iterator<Item = (usize, &'a str, f64)>) -> Vec<(String, f64)> {
    let mut known = HashSet::new();
    let fresh = all.filter(|(_, name, _)| known.insert(*name));
    let busy = |place, busy| if place == 0 { busy } else { -1.0 };
    fresh
        .map(|(place, name, is)| (name.to_owned(), busy(place, is)))
        .collect()
}

fn link_names(all: &[NamedResults], only: &[String]) -> Result<Vec<String>, Error> {
    let links = all.iter().enumerate().flat_map(|(i, (_, results, _))| {
        let links = results.summary.links.iter();
        links.map(move |it| (i, it.link.as_str(), it.utilization))
    });
    select_names(&names(links), only)
}

fn connection_names(all: &[NamedResults], only: &[String]) -> Result<Vec<String>, Error> {
    let connections = all.iter().enumerate().flat_map(|(i, (_, results, _))| {
        let connections = results.summary.connections.iter();
        connections.map(move |it| (i, it.connection.as_str(), it.mean_goodput_pps))
    });
    select_names(&names(connections), only)
}

fn links(all: &[NamedResults], only: &[String]) -> Result<Vec<Panel>, Error> {
    let names = link_names(all, only)?;
    let mut series = Vec::new();
    for (of, results, topology) in all {
        let spread = results.links_ci95()?;
        series.push(RunSeries {
            run_name: of,
            values: SeriesTable::new(&results.links()?, &names),
            spread: spread.map(|rows| SeriesTable::new(&rows, &names)),
            link_topology: Some(topology),
        });
    }
    let panel =
        |name, title, quantity, unit| over_time((name, title), &series, &names, quantity, unit);
    Ok(vec![
        panel("queue", "queue in pkt", QUEUE, 1.0),
        panel("loss", "loss in %", LINK_LOSS, 100.0),
        panel("utilization", "utilization in %", UTILIZATION, 100.0),
    ])
}

fn connection_series<'a>(
    all: &'a [NamedResults],
    names: &[String],
) -> Result<Vec<RunSeries<'a>>, Error> {
    let mut series = Vec::new();
    for (of, results, _) in all {
        let spread = results.connections_ci95()?;
        series.push(RunSeries {
            run_name: of,
            values: SeriesTable::new(&results.connections()?, names).without_zeros(RTT),
            spread: spread.map(|rows| SeriesTable::new(&rows, names)),
            link_topology: None,
        });
    }
    Ok(series)
}

fn connections(all: &[NamedResults], only: &[String]) -> Result<Vec<Panel>, Error> {
    let names = connection_names(all, only)?;
    let series = connection_series(all, &names)?;
    let panel =
        |name, title, quantity, unit| over_time((name, title), &series, &names, quantity, unit);
    Ok(vec![
        panel("sent", "sent in pkt/s", SEND, 1.0),
        panel("goodput", "goodput in pkt/s", GOODPUT, 1.0),
        panel("rtt", "round-trip time in ms", RTT, 1e3),
    ])
}

fn delay(all: &[NamedResults], only: &[String]) -> Result<Vec<Panel>, Error> {
    let names = connection_names(all, only)?;
    let series = connection_series(all, &names)?;
    let mut panels = vec![over_time(
        ("delay", "one-way delay in ms"),
        &series,
        &names,
        DELAY,
        1e3,
    )];
    let mut curves = Vec::new();
    for (run, (of, results, _)) in all.iter().enumerate() {
        for (place, name) in names.iter().enumerate() {
            let mut those = results.summary.connections.iter();
            let Some(it) = those.find(|it| it.connection == *name) else {
                continue;
            };
            let known = [
                (50.0, it.delay_p50_s),
                (95.0, it.delay_p95_s),
                (99.0, it.delay_p99_s),
                (99.9, it.delay_p999_s),
            ];
            let points = known.into_iter();
            let points = points.filter_map(|(part, delay_s)| Some((1e3 * delay_s?, part)));
            curves.push(Curve {
                label: label(name, of, all.len() > 1),
                // No values are known between the percentiles.
                curve_style: CurveStyle::Dots,
                points: points.collect(),
                colour: colour(place, run, names.len(), all.len()),
                band: None,
            });
        }
    }
    curves.retain(|curve| !curve.points.is_empty());
    if !curves.is_empty() {
        panels.push(Panel {
            name: "percentiles".into(),
            x_title: "one-way delay in ms".into(),
            y_title: "cumulative share of packets in %".into(),
            log_x: false,
            log_y: false,
            curves,
        });
    }
    Ok(panels)
}

/// Draws one curve per name and results directory.
fn over_time(
    (panel, y_title): (&'static str, &'static str),
    all: &[RunSeries<'_>],
    names: &[String],
    quantity: usize,
    unit: f64,
) -> Panel {
    let mut curves = Vec::new();
    for (run, series) in all.iter().enumerate() {
        let grid = DownsamplingGrid::new(series.values.times_s.len(), MAX_CURVE_POINTS);
        let times_s = grid.times(&series.values.times_s);
        for (place, name) in names.iter().enumerate() {
            let values = series.values.series(place, quantity);
            let thin = grid.extremes(values);
            let points = times_s.iter().zip(&thin).map(|(t, v)| (*t, unit * v));
            let band = series.spread.as_ref().map(|spread| {
                let most = series.axis_max(name, quantity);
                let (low, high) = band_edges(values, spread.series(place, quantity), most);
                let edges = grid
                    .bucket_minima(&low)
                    .into_iter()
                    .zip(grid.bucket_maxima(&high));
                edges.map(|(low, high)| (unit * low, unit * high)).collect()
            });
            curves.push(Curve {
                label: label(name, series.run_name, all.len() > 1),
                curve_style: CurveStyle::Line,
                points: points.collect(),
                colour: colour(place, run, names.len(), all.len()),
                band,
            });
        }
    }
    curves.retain(|curve| curve.points.iter().any(|point| point.1.is_finite()));
    Panel {
        name: panel.into(),
        x_title: "time in s".into(),
        y_title: y_title.into(),
        log_x: false,
        log_y: false,
        curves,
    }
}

/// With several names in two results directories, the colour shows the name, and the curves of the second are
/// dashed.
fn colour(place: usize, run: usize, names: usize, runs: usize) -> Option<(usize, bool)> {
    (names > 1 && runs == 2).then_some((place, run > 0))
}

/// Adds the name of the results directory if there are several.
fn label(name: &str, of: &str, several: bool) -> String {
    if several {
        format!("{name}, {of}")
    } else {
        name.to_owned()
    }
}

fn throughput(all: &[NamedResults], only: &[String]) -> Result<Vec<Panel>, Error> {
    let shown = match only {
        [] => None,
        _ => Some(connection_names(all, only)?),
    };
    let curve = |(name, results, _): &NamedResults| {
        let seeds = results.summary.seeds;
        let connections = results.summary.connections.iter();
        let wanted = connections
            .filter(|it| (shown.as_ref()).is_none_or(|shown| shown.contains(&it.connection)));
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for it in wanted {
            let Some(rtt_s) = it.mean_rtt_s.filter(|s| *s > 0.0) else {
                continue;
            };
            let goodput = it.mean_goodput_pps;
            let half = ci95_of(&it.spread, "mean_goodput_pps", seeds).unwrap_or(f64::NAN);
            points.push((1e3 * rtt_s, goodput));
            band.push(((goodput - half).max(0.0), goodput + half));
        }
        Curve {
            label: name.clone(),
            curve_style: CurveStyle::Dots,
            points,
            colour: None,
            band: (seeds > 1).then_some(band),
        }
    };
    Ok(vec![Panel {
        name: "throughput".into(),
        x_title: "mean round-trip time in ms".into(),
        y_title: "goodput in pkt/s".into(),
        log_x: false,
        log_y: false,
        curves: all.iter().map(curve).collect(),
    }])
}

fn burstiness(all: &[NamedResults], only: &[String]) -> Result<Vec<Panel>, Error> {
    let shown = match only {
        [] => None,
        _ => Some(link_names(all, only)?),
    };
    let (mut measured, mut poisson) = (Vec::new(), Vec::new());
    for (_, results, topology) in all {
        let interval_s = results.manifest.options.burstiness_interval_s();
        let intervals = results.summary.duration_s / interval_s;
        for (place, link) in results.summary.links.iter().enumerate() {
            let wanted = shown
                .as_ref()
                .is_none_or(|shown| shown.contains(&link.link));
            let (Some(cov), true) = (link.arrival_cov, wanted) else {
                continue;
            };
            let through = topology
                .connections
                .iter()
                .filter(|it| it.path.contains(&place));
            let m: u32 = through.map(|it| it.count).sum();
            if m > 0 && link.offered_pkts > 0.0 {
                measured.push((f64::from(m), cov));
                poisson.push((f64::from(m), 1.0 / (link.offered_pkts / intervals).sqrt()));
            }
        }
    }
    poisson.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    // With one link per results directory the points form a curve, otherwise a scatter plot.
    let curve = if poisson.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        CurveStyle::Grey
    } else {
        CurveStyle::Dots
    };
    let measured = Curve {
        label: "arrivals".to_owned(),
        curve_style: CurveStyle::Dots,
        points: measured,
        colour: None,
        band: None,
    };
    let poisson = Curve {
        label: "Poisson".to_owned(),
        curve_style: curve,
        points: poisson,
        colour: None,
        band: None,
    };
    Ok(vec![Panel {
        name: "burstiness".into(),
        x_title: "connections through the link".into(),
        y_title: "coefficient of variation".into(),
        log_x: false,
        log_y: false,
        curves: vec![measured, poisson],
    }])
}
