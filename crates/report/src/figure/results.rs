//! Figures of results.

use std::path::PathBuf;

use netflow_results::{Results, Topology};

use super::draw::{Curve, Look, Panel, draw};
use crate::Error;
use crate::columns::Columns;
use crate::report::{name, topology};
use crate::run::{GOODPUT, LINK_LOSS, QUEUE, RTT, SEND, UTILIZATION};
use crate::thin::Thinning;

/// What a figure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Queue, loss and utilization of links over time.
    Links,
    /// Rates and round-trip time of connections over time.
    Connections,
    /// The mean throughput of every connection over its mean round-trip time; a colour for each of
    /// the results, such as one per conditioner.
    Throughput,
    /// The coefficient of variation of what arrives at a link over the number of connections
    /// through it, a point for every link of every result that was counted, beside that of
    /// Poisson arrivals.
    Burstiness,
}

/// Links or connections in a figure, if none are named.
const SHOWN: usize = 3;
/// Points of a curve at most.
const POINTS: usize = 1200;

/// A figure of results, of the links or connections that are named or else of the busiest.
///
/// # Errors
/// If results cannot be read, or have nothing of what is to be shown.
pub fn results_figure(
    figure: Figure,
    directories: &[PathBuf],
    only: &[String],
) -> Result<String, Error> {
    let mut all = Vec::new();
    for directory in directories {
        let results = Results::open(directory)?;
        let topology = topology(&results)?;
        all.push((name(directory, directories), results, topology));
    }
    if all.is_empty() {
        return Err(Error::NoResults);
    }
    let panels = match figure {
        Figure::Links => links(&all, only)?,
        Figure::Connections => connections(&all, only)?,
        Figure::Throughput => throughput(&all, only),
        Figure::Burstiness => burstiness(&all, only),
    };
    let points = |panel: &Panel| panel.curves.iter().any(|curve| !curve.points.is_empty());
    if !panels.iter().any(points) {
        return Err(Error::NothingToShow(match figure {
            Figure::Burstiness => {
                "the results count no arrivals: only the window model does".to_owned()
            }
            _ if only.is_empty() => "the results are empty".to_owned(),
            _ => format!("the results have nothing called {}", only.join(" or ")),
        }));
    }
    draw(&panels)
}

type Read = (String, Results, Topology);

/// The names that are to be shown: those asked for, or the busiest of the first results.
fn chosen(values: Vec<(String, f64)>, only: &[String]) -> Vec<String> {
    if !only.is_empty() {
        return only.to_vec();
    }
    let mut values = values;
    values.sort_by(|a, b| b.1.total_cmp(&a.1));
    values.into_iter().take(SHOWN).map(|it| it.0).collect()
}

fn links(all: &[Read], only: &[String]) -> Result<Vec<Panel>, Error> {
    let first = all.iter().take(1).flat_map(|it| &it.1.summary.links);
    let names = chosen(
        first.map(|it| (it.link.clone(), it.utilization)).collect(),
        only,
    );
    let mut columns = Vec::new();
    for (of, results, _) in all {
        columns.push((of.as_str(), Columns::new(&results.links()?, &names)));
    }
    Ok(vec![
        over_time("queue in pkt", &columns, &names, QUEUE, 1.0),
        over_time("loss in %", &columns, &names, LINK_LOSS, 100.0),
        over_time("utilization in %", &columns, &names, UTILIZATION, 100.0),
    ])
}

fn connections(all: &[Read], only: &[String]) -> Result<Vec<Panel>, Error> {
    let first = all.iter().take(1).flat_map(|it| &it.1.summary.connections);
    let values = first.map(|it| (it.connection.clone(), it.mean_goodput_pps));
    let names = chosen(values.collect(), only);
    let mut columns = Vec::new();
    for (of, results, _) in all {
        let connections = Columns::new(&results.connections()?, &names);
        columns.push((of.as_str(), connections.without_zeros(RTT)));
    }
    Ok(vec![
        over_time("sent in pkt/s", &columns, &names, SEND, 1.0),
        over_time("goodput in pkt/s", &columns, &names, GOODPUT, 1.0),
        over_time("round-trip time in ms", &columns, &names, RTT, 1e3),
    ])
}

/// One curve for each name and each of the results.
fn over_time(
    y_title: &'static str,
    columns: &[(&str, Columns)],
    names: &[String],
    quantity: usize,
    unit: f64,
) -> Panel {
    let mut curves = Vec::new();
    for (of, columns) in columns_of(columns) {
        let thinning = Thinning::new(columns.times_s.len(), POINTS);
        let times_s = thinning.times(&columns.times_s);
        for (place, name) in names.iter().enumerate() {
            let values = thinning.extremes(columns.series(place, quantity));
            let points = times_s.iter().zip(values).map(|(t, v)| (*t, unit * v));
            curves.push(Curve {
                label: match of {
                    Some(of) => format!("{name}, {of}"),
                    None => name.clone(),
                },
                look: Look::Line,
                points: points.collect(),
            });
        }
    }
    curves.retain(|curve| curve.points.iter().any(|point| point.1.is_finite()));
    Panel {
        x_title: "time in s",
        y_title,
        log_x: false,
        log_y: false,
        curves,
    }
}

/// The results' names only where there are several.
fn columns_of<'a>(
    columns: &'a [(&'a str, Columns)],
) -> impl Iterator<Item = (Option<&'a str>, &'a Columns)> {
    let several = columns.len() > 1;
    columns
        .iter()
        .map(move |(of, columns)| (several.then_some(*of), columns))
}

fn throughput(all: &[Read], only: &[String]) -> Vec<Panel> {
    let curve = |(name, results, _): &Read| {
        let connections = results.summary.connections.iter();
        let wanted = connections.filter(|it| only.is_empty() || only.contains(&it.connection));
        Curve {
            label: name.clone(),
            look: Look::Dots,
            points: wanted
                .filter_map(|it| {
                    Some((
                        1e3 * it.mean_rtt_s.filter(|s| *s > 0.0)?,
                        it.mean_goodput_pps,
                    ))
                })
                .collect(),
        }
    };
    vec![Panel {
        x_title: "mean round-trip time in ms",
        y_title: "goodput in pkt/s",
        log_x: false,
        log_y: false,
        curves: all.iter().map(curve).collect(),
    }]
}

fn burstiness(all: &[Read], only: &[String]) -> Vec<Panel> {
    let (mut measured, mut poisson) = (Vec::new(), Vec::new());
    for (_, results, topology) in all {
        let interval_s = results.manifest.options.burstiness_interval_s();
        let intervals = results.summary.duration_s / interval_s;
        for (place, link) in results.summary.links.iter().enumerate() {
            let wanted = only.is_empty() || only.contains(&link.link);
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
    // One link in each of the results makes a curve; many links, clouds.
    let curve = match poisson.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        true => Look::Grey,
        false => Look::Dots,
    };
    let measured = Curve {
        label: "arrivals".to_owned(),
        look: Look::Dots,
        points: measured,
    };
    let poisson = Curve {
        label: "Poisson".to_owned(),
        look: curve,
        points: poisson,
    };
    vec![Panel {
        x_title: "connections through the link",
        y_title: "coefficient of variation",
        log_x: false,
        log_y: false,
        curves: vec![measured, poisson],
    }]
}
