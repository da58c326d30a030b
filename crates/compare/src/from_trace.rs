//! Runs made elsewhere: packet traces.

use std::path::Path;

use netflow_trace::analysis::{Connections, Links};
use netflow_trace::open;
use netflow_trace::sender::{MOST_FLOWS, Options};

use crate::{ConnectionInterval, Error, LinkInterval, Run, Side};

/// What a trace of ns-2 says about the network of these results, in the same intervals.
///
/// Links are found by the names of their nodes, which traces of exported scripts hold, connections
/// by their flow ids: their places in the scenario, from 1.
///
/// # Errors
/// If the trace cannot be read, or is of another network.
pub fn from_trace(trace: &Path, side: &Side) -> Result<Run, Error> {
    let every_s = side
        .run
        .times_s
        .first()
        .copied()
        .unwrap_or(side.summary.duration_s);
    let (end_s, last_s) = (side.summary.duration_s, side.run.times_s.last());
    // As many intervals will be made as there are until the end.
    if last_s.is_some_and(|&last_s| end_s > last_s + every_s) {
        return Err(Error::Mismatch {
            what: format!("the summary of the results tells of {end_s} s, their series do not"),
            help: "run the scenario again".to_owned(),
        });
    }
    let mut links = Links::new(every_s);
    let mut connections = Connections::new(every_s, Options::default());
    let mut reader = open(trace)?;
    while let Some(event) = reader.next()? {
        links.on(event);
        connections.on(event);
    }
    if links.left_out() > 0 || connections.left_out() > 0 {
        return Err(Error::Mismatch {
            what: format!("{} lasts far longer than the results", trace.display()),
            help: "a time in it may be wrong".to_owned(),
        });
    }
    if connections.flows_left_out() > 0 {
        return Err(Error::Mismatch {
            what: format!("{} has more than {MOST_FLOWS} flows", trace.display()),
            help: "they are not those of the results".to_owned(),
        });
    }
    let names = reader.names();
    let mut run = Run {
        times_s: side.run.times_s.clone(),
        ..Run::default()
    };
    let intervals = run.times_s.len();
    let found = links.finish_at(Some(end_s));
    let mut used = 0;
    for (name, _) in &side.run.links {
        let series = found.iter().find(|series| names.link(series.link) == *name);
        used += usize::from(series.is_some());
        let bins = series.map_or(&[][..], |series| &series.bins);
        let interval = |i: usize| {
            bins.get(i).map_or_else(LinkInterval::default, |bin| {
                let utilization = bin.utilization.unwrap_or(0.0);
                LinkInterval {
                    arrived_pkts: bin.arrived_pkts as f64,
                    lost_pkts: bin.lost_pkts as f64,
                    marked_pkts: None,
                    queue_pkts: bin.waiting_pkts + utilization,
                    utilization,
                }
            })
        };
        run.links
            .push((name.clone(), (0..intervals).map(interval).collect()));
    }
    if used == 0 {
        let known: Vec<String> = found.iter().take(5).map(|s| names.link(s.link)).collect();
        return Err(Error::Mismatch {
            what: format!("{} has none of the links of the results", trace.display()),
            help: format!(
                "its links are {} …; traces of scripts that `netflow export --trace` writes name the nodes",
                known.join(", ")
            ),
        });
    }
    let found = connections.finish();
    for (i, (name, _)) in side.run.connections.iter().enumerate() {
        let mine = || {
            found
                .iter()
                .filter(|series| series.flow_id as usize == i + 1)
        };
        let interval = |k: usize| {
            let mut sum = ConnectionInterval::default();
            for bin in mine().filter_map(|series| series.bins.get(k)) {
                sum.sent_pkts += bin.sent_pkts as f64;
                sum.delivered_pkts += bin.delivered_pkts as f64;
            }
            sum
        };
        run.connections
            .push((name.clone(), (0..intervals).map(interval).collect()));
    }
    Ok(run)
}
