//! What `netflow compare -o DIR` says of ns-2, to be drawn behind the curves.

use std::collections::HashMap;
use std::path::Path;

use netflow_files::Kind;
use netflow_results::{CONNECTIONS, LINKS};

use crate::columns::Columns;
use crate::data::{Against, Reference, Referred};
use crate::run::{GOODPUT, Grid, QUEUE, SEND, UTILIZATION};
use crate::{Error, data};

/// Quantities of a link, each with a column of its name and one with `_std` behind it.
const LINK: [&str; 2] = [LINKS.values[QUEUE].name, LINKS.values[UTILIZATION].name];
/// Of a connection.
const CONNECTION: [&str; 2] = [
    CONNECTIONS.values[SEND].name,
    CONNECTIONS.values[GOODPUT].name,
];

/// Points of one curve at most.
const POINTS: usize = 600;

/// Reads `ns2-links.csv` and `ns2-connections.csv` of a directory, as far as the run has such
/// links and connections with curves.
pub fn read(directory: &Path, run: &data::Run) -> Result<Against, Error> {
    let links = run.links.iter().filter(|it| it.curves.is_some());
    let links = links.map(|it| it.name.as_str()).collect();
    let connections = run.connections.iter().filter(|it| it.curves.is_some());
    let connections = connections.map(|it| it.name.as_str()).collect();
    Ok(Against {
        name: directory.display().to_string(),
        links: reference(&directory.join("ns2-links.csv"), "link", LINK, links)?,
        connections: reference(
            &directory.join("ns2-connections.csv"),
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
    let bytes = netflow_files::read(path, Kind::Samples).map_err(|refusal| Error::Read {
        path: path.to_owned(),
        source: refusal.into(),
    })?;
    let bad = |line: Option<u64>, reason: String| Error::Malformed {
        path: path.to_owned(),
        line,
        reason,
    };
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header = reader
        .headers()
        .map_err(|error| bad(Some(1), error.to_string()))?
        .clone();
    let find = |column: &str| {
        let place = header.iter().position(|name| name == column);
        place.ok_or_else(|| bad(Some(1), format!("no column `{column}`")))
    };
    let (time, key) = (find("time_s")?, find(key)?);
    let mut columns = Vec::new();
    for quantity in quantities {
        columns.push(find(quantity)?);
        columns.push(find(&format!("{quantity}_std"))?);
    }
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (*n, i)).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record
            .map_err(|error| bad(error.position().map(csv::Position::line), error.to_string()))?;
        let line = record.position().map(csv::Position::line);
        let number = |column: usize| match record.get(column).unwrap_or_default() {
            "" => Ok(f64::NAN),
            text => text
                .parse::<f64>()
                .map_err(|_| bad(line, format!("`{text}` is no number"))),
        };
        let time_s = number(time)?;
        let values = columns
            .iter()
            .map(|&column| number(column))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(&place) = places.get(record.get(key).unwrap_or_default())
            && time_s.is_finite()
        {
            rows.push((time_s, place, values));
        }
    }
    let columns = Columns::of(rows.into_iter(), names.len(), 2 * quantities.len());
    let grid = Grid::new(&columns.times_s, POINTS);
    let of = names.iter().enumerate().map(|(place, name)| Referred {
        name: (*name).to_owned(),
        curves: (0..quantities.len())
            .map(|quantity| {
                let spread = columns.series(place, 2 * quantity + 1);
                grid.curve(columns.series(place, 2 * quantity), spread)
            })
            .collect(),
    });
    Ok(Reference {
        of: of.collect(),
        x: grid.times(&columns.times_s),
    })
}
