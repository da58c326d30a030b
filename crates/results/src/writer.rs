//! Writer of a results directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use netflow_files::{DirectoryLock, PartialFile, publish};
use netflow_network::{Columns, Interval, Network, Recorder, ResponseEvent, UserStats};

use crate::detect;
use crate::ensemble::{Ensemble, Statistic};
use crate::partial_files;
use crate::table::{ALL, CONNECTIONS_CI95, CONNECTIONS_STD, LINKS_CI95, LINKS_STD};
use crate::users::wait_rows;
use crate::{
    CLASSES, CONNECTIONS, Error, Exporter, Format, LINKS, Manifest, NETWORK_TOTALS, Names,
    NetworkQuantity, Summary, Table, Topology, WAITS, export,
};

/// Upper bound on the number of value columns of a series.
const MAX_COLUMNS: usize = 16;

/// A recorder that writes the series during the run and the other files at the end.
///
/// No file appears under its final name before [`Writer::finish`]. If a writer is dropped before, its
/// partial files are removed.
pub struct Writer {
    directory: PathBuf,
    links: Box<dyn Exporter>,
    connections: Box<dyn Exporter>,
    classes: Option<Box<dyn Exporter>>,
    waits: Option<Box<dyn Exporter>>,
    /// Series with the spread over seeds.
    spread: Vec<(Table, Box<dyn Exporter>)>,
    topology: Topology,
    format: Format,
    /// Lock that keeps other runs from writing to the directory.
    _claim: DirectoryLock,
}

impl Writer {
    /// Creates the directory and starts its series, including the classes if `classes` is set.
    ///
    /// # Errors
    /// - The directory or a file in it cannot be created.
    /// - Another run is writing to it.
    /// - It contains a sweep or other files.
    /// - This build does not support the format.
    pub fn create(
        directory: &Path,
        network: &Network,
        format: Format,
        classes: bool,
    ) -> Result<Writer, Error> {
        let (links, connections) = &names(network);
        make_directory(directory)?;
        let claim = lock_directory(directory)?;
        detect::check(directory)?;
        Ok(Writer {
            _claim: claim,
            links: export(directory, LINKS, format, &[links])?,
            connections: export(directory, CONNECTIONS, format, &[connections])?,
            classes: if classes {
                Some(export(directory, CLASSES, format, &[links, connections])?)
            } else {
                None
            },
            waits: match network.workloads().len() {
                0 => None,
                _ => {
                    let workloads = network.workloads().map(|spec| spec.name.clone());
                    let kinds = ResponseEvent::ALL.map(|kind| kind.name().to_owned());
                    let names = [&workloads.collect(), &kinds.to_vec()];
                    Some(export(directory, WAITS, format, &names)?)
                }
            },
            spread: Vec::new(),
            topology: Topology::of(network),
            directory: directory.to_owned(),
            format,
        })
    }

    /// Returns the content of `network.json`, to be completed.
    pub fn topology(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// Writes the series of several seeds. Means replace the values of a single run. Standard deviations
    /// and half the widths of the 95 % confidence intervals are written to further files with the same
    /// columns.
    ///
    /// # Errors
    /// If a file cannot be created or written.
    pub fn ensemble(&mut self, network: &Network, ensemble: &Ensemble) -> Result<(), Error> {
        let series = [&mut self.links, &mut self.connections];
        write_all(series, network, ensemble, Statistic::Mean)?;
        if ensemble.seeds() < 2 {
            return Ok(());
        }
        let (links, connections) = names(network);
        for (tables, statistic) in [
            ([LINKS_STD, CONNECTIONS_STD], Statistic::Std),
            ([LINKS_CI95, CONNECTIONS_CI95], Statistic::Ci95),
        ] {
            let export = |table, names| export(&self.directory, table, self.format, &[names]);
            let mut series = [export(tables[0], &links)?, export(tables[1], &connections)?];
            let [links, connections] = &mut series;
            write_all([links, connections], network, ensemble, statistic)?;
            self.spread.extend(tables.into_iter().zip(series));
        }
        let names = NetworkQuantity::ALL.map(|it| it.name().to_owned()).to_vec();
        let mut whole = export(&self.directory, NETWORK_TOTALS, self.format, &[&names])?;
        write_network_totals(&mut whole, ensemble)?;
        self.spread.push((NETWORK_TOTALS, whole));
        Ok(())
    }

    /// Writes the response times of the users of each workload in each run, in order of arrival.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn waits(&mut self, runs: &[Vec<UserStats>]) -> Result<(), Error> {
        let Some(file) = &mut self.waits else {
            return Ok(());
        };
        for (came_s, keys, numbers) in wait_rows(runs) {
            file.interval(came_s);
            put(file, &keys, &numbers)?;
        }
        Ok(())
    }

    /// Returns the names of the files of the series.
    pub fn files(&self) -> Vec<String> {
        let classes = self.classes.is_some().then_some(CLASSES);
        let waits = self.waits.is_some().then_some(WAITS);
        let series = [Some(LINKS), Some(CONNECTIONS), classes, waits];
        let spread = self.spread.iter().map(|(table, _)| *table);
        let series = series.into_iter().flatten();
        series
            .chain(spread)
            .map(|table| table.file(self.format))
            .collect()
    }

    /// Writes the network, the summary and the manifest, and renames every file to its final name, the
    /// manifest last. Files that an earlier run left under the same names are removed.
    ///
    /// # Errors
    /// If a file cannot be written or replaced. Unless the error occurs during renaming, no file of this
    /// run is then visible.
    pub fn finish(self, summary: &Summary, manifest: &Manifest) -> Result<(), Error> {
        let directory = self.directory;
        let mut series = vec![self.links.finish()?, self.connections.finish()?];
        if let Some(classes) = self.classes {
            series.push(classes.finish()?);
        }
        if let Some(waits) = self.waits {
            series.push(waits.finish()?);
        }
        for (_, spread) in self.spread {
            series.push(spread.finish()?);
        }
        let network = self.topology.to_json();
        let network =
            partial_files::create_with_content(&directory, Topology::FILE, network.as_bytes())?;
        let summary = partial_files::create_with_content(
            &directory,
            Summary::FILE,
            summary.to_json().as_bytes(),
        )?;
        let manifest = partial_files::create_with_content(
            &directory,
            Manifest::FILE,
            manifest.to_json().as_bytes(),
        )?;

        // Results without a manifest are incomplete, so the old manifest is removed first.
        let mut obsolete = vec![directory.join(Manifest::FILE)];
        for table in ALL {
            let paths = Format::ALL.map(|format| directory.join(table.file(format)));
            obsolete.extend(
                paths
                    .into_iter()
                    .filter(|old| series.iter().all(|file| file.path() != old)),
            );
        }
        publish(
            &obsolete,
            series.into_iter().chain([network, summary, manifest]),
        )
        .map_err(|(path, source)| Error::Replace { path, source })
    }
}

impl Recorder for Writer {
    type Error = Error;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Error> {
        self.links.interval(interval.time_s);
        for id in interval.network.links() {
            put(&mut self.links, &[id.index()], &interval.link(id))?;
        }
        self.connections.interval(interval.time_s);
        for id in interval.network.connections() {
            let connection = interval.connection(id);
            put(&mut self.connections, &[id.index()], &connection)?;
        }
        if let Some(classes) = &mut self.classes {
            classes.interval(interval.time_s);
            for class in interval.classes() {
                let keys = [class.link.index(), class.connection.index()];
                put(classes, &keys, &class.numbers)?;
            }
        }
        Ok(())
    }
}

/// Writes a row of numbers.
fn put<N: Columns>(
    series: &mut Box<dyn Exporter>,
    keys: &[usize],
    numbers: &N,
) -> Result<(), Error> {
    const { assert!(N::COLUMNS.len() <= MAX_COLUMNS) };
    let (mut row, mut count) = ([0.0; MAX_COLUMNS], 0);
    numbers.each(|number| {
        row[count] = number;
        count += 1;
    });
    series.row(keys, &row[..count])
}

fn names(network: &Network) -> (Names, Names) {
    let links = network.links().map(|id| network.link_name(id).to_owned());
    let connections = network.connections();
    let connections = connections.map(|id| network.connection_name(id).to_owned());
    (links.collect(), connections.collect())
}

/// Writes a statistic of every link and every connection over all intervals.
fn write_all(
    [links, connections]: [&mut Box<dyn Exporter>; 2],
    network: &Network,
    ensemble: &Ensemble,
    statistic: Statistic,
) -> Result<(), Error> {
    let values = ensemble.values(statistic);
    let mut values = values.as_slice();
    for &time_s in ensemble.times_s() {
        for (series, rows, columns) in [
            (&mut *links, network.link_count(), LINKS.values.len()),
            (
                &mut *connections,
                network.connection_count(),
                CONNECTIONS.values.len(),
            ),
        ] {
            series.interval(time_s);
            for i in 0..rows {
                let Some((row, rest)) = values.split_at_checked(columns) else {
                    return Ok(());
                };
                series.row(&[i], row)?;
                values = rest;
            }
        }
    }
    Ok(())
}

/// Writes the totals of the network over all intervals.
fn write_network_totals(series: &mut Box<dyn Exporter>, ensemble: &Ensemble) -> Result<(), Error> {
    let of = |statistic| ensemble.network_totals(statistic);
    let (mean, std, ci95) = (of(Statistic::Mean), of(Statistic::Std), of(Statistic::Ci95));
    let mut values = mean.iter().zip(&std).zip(&ci95);
    for &time_s in ensemble.times_s() {
        series.interval(time_s);
        for (i, ((mean, std), ci95)) in values.by_ref().take(NetworkQuantity::ALL.len()).enumerate()
        {
            series.row(&[i], &[*mean, *std, *ci95])?;
        }
    }
    Ok(())
}

fn make_directory(directory: &Path) -> Result<(), Error> {
    let result = match directory.metadata() {
        Ok(metadata) if !metadata.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        _ => fs::create_dir_all(directory),
    };
    result.map_err(|source| Error::MakeDirectory {
        path: directory.to_owned(),
        source,
    })
}

/// Locks the directory against other runs, and removes files that killed runs left there.
fn lock_directory(directory: &Path) -> Result<DirectoryLock, Error> {
    let cannot = |source| Error::MakeDirectory {
        path: directory.to_owned(),
        source,
    };
    let claim = DirectoryLock::acquire(directory).map_err(|source| match source.kind() {
        io::ErrorKind::ResourceBusy => Error::InUse {
            path: directory.to_owned(),
        },
        _ => cannot(source),
    })?;
    for name in detect::names() {
        PartialFile::remove_stale(directory, &name).map_err(cannot)?;
    }
    Ok(claim)
}
