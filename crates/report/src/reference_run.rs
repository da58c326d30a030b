//! Reference series of `netflow compare -o DIR`, drawn behind the curves.

use std::collections::HashMap;
use std::path::Path;

use netflow_results::{CONNECTIONS, LINKS, ReferenceSystem, for_each_csv_row};

use crate::confidence_band::link_series_max;
use crate::data::{Reference, ReferenceCurves, ReferenceRun};
use crate::run::{GOODPUT, PageGrid, QUEUE, SEND, UTILIZATION};
use crate::series_table::SeriesTable;
use crate::{Error, data};

/// Quantities of a link; each has a column with its name and one with the suffix `_std`.
const LINK: [&str; 2] = [LINKS.values[QUEUE].name, LINKS.values[UTILIZATION].name];
/// Quantities of a connection.
const CONNECTION: [&str; 2] = [
    CONNECTIONS.values[SEND].name,
    CONNECTIONS.values[GOODPUT].name,
];

/// Maximum number of points of a curve.
const MAX_POINTS: usize = 600;

/// Reads the files of a reference in a directory (for ns-2 `ns2-links.csv` and `ns2-connections.csv`), for
/// links and connections that have curves in the run.
pub fn read(directory: &Path, run: &data::Run) -> Result<ReferenceRun, Error> {
    let links = run.links.iter().filter(|it| it.curves.is_some());
    let links = links.map(|it| it.name.as_str()).collect();
    let connections = run.connections.iter().filter(|it| it.curves.is_some());
    let connections = connections.map(|it| it.name.as_str()).collect();
    let there = |referee: &ReferenceSystem| directory.join(referee.links_file()).is_file();
    // Without any file, the error names the file of the default reference.
    let referee = ReferenceSystem::ALL
        .into_iter()
        .find(there)
        .unwrap_or_default();
    Ok(ReferenceRun {
        name: directory.display().to_string(),
        referee: referee.name(),
        links: reference(&directory.join(referee.links_file()), "link", LINK, links)?,
        connections: reference(
            &directory.join(referee.connections_file()),
            "connection",
            CONNECTION,
            connections,
        )?,
    })
}

fn reference(
    path: &Path,
    key: &str,
    quantities: [&str; 2],
    names: Vec<&str>,
) -> Result<Reference, Error> {
    let columns = quantities.map(|it| [it.to_owned(), format!("{it}_std")]);
    let columns: Vec<(&str, bool)> = columns
        .as_flattened()
        .iter()
        .map(|it| (it.as_str(), false))
        .collect();
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (*n, i)).collect();
    let mut rows = Vec::new();
    for_each_csv_row(path, &[key], &columns, |time_s, keys, values| {
        if let (Some(&place), true) = (places.get(&*keys[0]), time_s.is_finite()) {
            rows.push((time_s, place, values.to_vec()));
        }
    })?;
    let columns = SeriesTable::of(rows.into_iter(), names.len(), 2 * quantities.len());
    let grid = PageGrid::new(&columns.times_s, MAX_POINTS);
    let of = names
        .iter()
        .enumerate()
        .map(|(place, name)| ReferenceCurves {
            name: (*name).to_owned(),
            curves: (0..quantities.len())
                .map(|quantity| {
                    let spread = columns.series(place, 2 * quantity + 1);
                    let most = if quantities[quantity] == LINK[1] {
                        link_series_max(UTILIZATION, None)
                    } else {
                        f64::INFINITY
                    };
                    grid.curve(columns.series(place, 2 * quantity), spread, most)
                })
                .collect(),
        });
    Ok(Reference {
        of: of.collect(),
        x: grid.times(&columns.times_s),
    })
}
