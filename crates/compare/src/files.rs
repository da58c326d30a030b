//! The ensemble as files, for pictures.

use std::fs;
use std::path::Path;

use netflow_files::write_own;

use crate::error::file;
use crate::{Ensemble, Error, Run, Spread};

/// Writes what the referee says over time into a directory; of ns-2:
///
/// - `ns2-links.csv`: `time_s, link, queue_pkts, queue_pkts_std, utilization, utilization_std,
///   arrival_pps, arrival_pps_std, loss_probability`
/// - `ns2-connections.csv`: `time_s, connection, send_pps, send_pps_std, goodput_pps,
///   goodput_pps_std`
///
/// Means and sample standard deviations over the runs; those of a single run are empty.
///
/// # Errors
/// If a file cannot be written, or others have written one of that name.
pub fn write_ensemble(ensemble: &Ensemble, directory: &Path) -> Result<(), Error> {
    file("make", directory, fs::create_dir_all(directory))?;
    let Some(first) = ensemble.runs.first() else {
        return Ok(());
    };
    let lengths: Vec<f64> = first.lengths_s().collect();
    let path = directory.join(ensemble.referee.links_file());
    let header = "time_s,link,queue_pkts,queue_pkts_std,utilization,utilization_std,arrival_pps,arrival_pps_std,loss_probability";
    write(
        &path,
        header,
        first,
        first.links.len(),
        &mut |i, place, out| {
            let at = |run: &Run| run.links.get(place)?.1.get(i).copied();
            let here: Vec<_> = ensemble.runs.iter().filter_map(at).collect();
            let spread = |of: &dyn Fn(&crate::LinkInterval) -> f64| {
                columns(Spread::of(&here.iter().map(of).collect::<Vec<f64>>()))
            };
            let arrived: f64 = here.iter().map(|it| it.arrived_pkts).sum();
            let lost: f64 = here.iter().map(|it| it.lost_pkts).sum();
            let loss = if arrived > 0.0 { lost / arrived } else { 0.0 };
            let name = netflow_results::quote(&first.links[place].0);
            *out += &format!(
                ",{name},{},{},{},{loss}\n",
                spread(&|it| it.queue_pkts),
                spread(&|it| it.utilization),
                spread(&|it| it.arrived_pkts / lengths[i]),
            );
        },
    )?;
    let path = directory.join(ensemble.referee.connections_file());
    let header = "time_s,connection,send_pps,send_pps_std,goodput_pps,goodput_pps_std";
    write(
        &path,
        header,
        first,
        first.connections.len(),
        &mut |i, place, out| {
            let at = |run: &Run| run.connections.get(place)?.1.get(i).copied();
            let here: Vec<_> = ensemble.runs.iter().filter_map(at).collect();
            let spread = |of: &dyn Fn(&crate::ConnectionInterval) -> f64| {
                columns(Spread::of(&here.iter().map(of).collect::<Vec<f64>>()))
            };
            let name = netflow_results::quote(&first.connections[place].0);
            *out += &format!(
                ",{name},{},{}\n",
                spread(&|it| it.sent_pkts / lengths[i]),
                spread(&|it| it.delivered_pkts / lengths[i]),
            );
        },
    )
}

fn columns(spread: Spread) -> String {
    let std = spread.std.map_or(String::new(), |std| std.to_string());
    format!("{},{std}", spread.mean)
}

/// Rows interval by interval; the file is there as a whole or not at all.
fn write(
    path: &Path,
    header: &str,
    run: &Run,
    count: usize,
    row: &mut dyn FnMut(usize, usize, &mut String),
) -> Result<(), Error> {
    let mut text = format!("{header}\n");
    for (i, time_s) in run.times_s.iter().enumerate() {
        for place in 0..count {
            text += &time_s.to_string();
            row(i, place, &mut text);
        }
    }
    file(
        "write",
        path,
        write_own(path, text.as_bytes(), Some(header)),
    )
}
