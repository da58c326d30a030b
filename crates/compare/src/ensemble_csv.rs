//! CSV files of an ensemble, for figures.

use std::fs;
use std::path::Path;

use netflow_files::write_unless_foreign;

use crate::error::file;
use crate::{Ensemble, Error, Run, RunStatistics};

/// Writes the time series of the reference into a directory; for ns-2:
///
/// - `ns2-links.csv`: `time_s, link, queue_pkts, queue_pkts_std, utilization, utilization_std,
///   arrival_pps, arrival_pps_std, loss_probability`
/// - `ns2-connections.csv`: `time_s, connection, send_pps, send_pps_std, goodput_pps,
///   goodput_pps_std`
///
/// Values are means and sample standard deviations over the runs. Standard deviations of a single run and
/// unavailable values are empty. A series that some runs lack has no rows.
///
/// # Errors
/// A file cannot be written, or a file of that name exists and is not from netflow.
pub fn write_ensemble(ensemble: &Ensemble, directory: &Path) -> Result<(), Error> {
    file("make", directory, fs::create_dir_all(directory))?;
    let Some(first) = ensemble.runs.first() else {
        return Ok(());
    };
    let lengths: Vec<f64> = first.lengths_s().collect();
    let links = common_series(ensemble, |run| &run.links);
    let path = directory.join(ensemble.referee.links_file());
    let header = "time_s,link,queue_pkts,queue_pkts_std,utilization,utilization_std,arrival_pps,arrival_pps_std,loss_probability";
    write(&path, header, first, links.len(), &mut |i, index, out| {
        let (name, series) = &links[index];
        let here: Vec<_> = series.iter().filter_map(|it| it.get(i)).collect();
        let spread = |of: &dyn Fn(&crate::LinkInterval) -> f64| {
            columns(RunStatistics::of(
                &here.iter().map(|it| of(it)).collect::<Vec<f64>>(),
            ))
        };
        let arrived: f64 = here.iter().map(|it| it.arrived_pkts).sum();
        let lost: f64 = here.iter().map(|it| it.lost_pkts).sum();
        let loss = if arrived > 0.0 { lost / arrived } else { 0.0 };
        let name = netflow_results::quote(name);
        *out += &format!(
            ",{name},{},{},{},{loss}\n",
            spread(&|it| it.queue_pkts),
            spread(&|it| it.utilization),
            spread(&|it| it.arrived_pkts / lengths[i]),
        );
    })?;
    let connections = common_series(ensemble, |run| &run.connections);
    let path = directory.join(ensemble.referee.connections_file());
    let header = "time_s,connection,send_pps,send_pps_std,goodput_pps,goodput_pps_std";
    write(
        &path,
        header,
        first,
        connections.len(),
        &mut |i, index, out| {
            let (name, series) = &connections[index];
            let here: Vec<_> = series.iter().filter_map(|it| it.get(i)).collect();
            let spread = |of: &dyn Fn(&crate::ConnectionInterval) -> f64| {
                columns(RunStatistics::of(
                    &here.iter().map(|it| of(it)).collect::<Vec<f64>>(),
                ))
            };
            let name = netflow_results::quote(name);
            *out += &format!(
                ",{name},{},{}\n",
                spread(&|it| it.sent_pkts / lengths[i]),
                spread(&|it| it.delivered_pkts / lengths[i]),
            );
        },
    )
}

/// Series by name.
type NamedSeries<T> = [(String, Vec<T>)];

/// Returns the series that all runs have, by name and run.
fn common_series<T>(
    ensemble: &Ensemble,
    of: fn(&Run) -> &NamedSeries<T>,
) -> Vec<(&str, Vec<&[T]>)> {
    let of_name = |run, name: &str| {
        let found = of(run).iter().find(|it| it.0 == name);
        found.map(|it| it.1.as_slice())
    };
    let first = ensemble.runs.first().into_iter().flat_map(of);
    let named = first.filter_map(|(name, _)| {
        let runs = ensemble.runs.iter().map(|run| of_name(run, name));
        Some((name.as_str(), runs.collect::<Option<_>>()?))
    });
    named.collect()
}

fn columns(spread: RunStatistics) -> String {
    let text = |number: f64| {
        if number.is_nan() {
            String::new()
        } else {
            number.to_string()
        }
    };
    format!(
        "{},{}",
        text(spread.mean),
        spread.std.map_or(String::new(), text)
    )
}

/// Writes rows interval by interval. The file is replaced atomically.
fn write(
    path: &Path,
    header: &str,
    run: &Run,
    count: usize,
    row: &mut dyn FnMut(usize, usize, &mut String),
) -> Result<(), Error> {
    let mut text = format!("{header}\n");
    for (i, time_s) in run.times_s.iter().enumerate() {
        for index in 0..count {
            text += &time_s.to_string();
            row(i, index, &mut text);
        }
    }
    file(
        "write",
        path,
        write_unless_foreign(path, text.as_bytes(), Some(header)),
    )
}
