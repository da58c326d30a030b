//! Writes a results directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use netflow_fluid::{Interval, Network, Recorder};

use crate::partial::PartialFile;
use crate::{
    CLASSES, CONNECTIONS, Error, Exporter, Format, LINKS, Manifest, Names, Summary, export,
};

/// A recorder that writes the series as they come, and the rest of the directory at the end.
///
/// Nothing appears under its final name before [`Writer::finish`]; a writer that is dropped
/// without takes its partial files with it.
pub struct Writer {
    directory: PathBuf,
    links: Box<dyn Exporter>,
    connections: Box<dyn Exporter>,
    classes: Option<Box<dyn Exporter>>,
    format: Format,
}

impl Writer {
    /// Makes the directory and starts its series; with `classes`, those too.
    ///
    /// # Errors
    /// If the directory or a file in it cannot be made, or the format is not in this build.
    pub fn create(
        directory: &Path,
        network: &Network,
        format: Format,
        classes: bool,
    ) -> Result<Writer, Error> {
        let links: Names = network
            .links()
            .map(|id| network.link_name(id).to_owned())
            .collect();
        let connections: Names = network
            .connections()
            .map(|id| network.connection_name(id).to_owned())
            .collect();
        Writer::start(directory, &links, &connections, format, classes)
    }

    fn start(
        directory: &Path,
        links: &Names,
        connections: &Names,
        format: Format,
        classes: bool,
    ) -> Result<Writer, Error> {
        make_directory(directory)?;
        Ok(Writer {
            links: export(directory, LINKS, format, &[links])?,
            connections: export(directory, CONNECTIONS, format, &[connections])?,
            classes: match classes {
                true => Some(export(directory, CLASSES, format, &[links, connections])?),
                false => None,
            },
            directory: directory.to_owned(),
            format,
        })
    }

    /// The series' files that there will be.
    pub fn files(&self) -> Vec<String> {
        let classes = self.classes.is_some().then_some(CLASSES);
        [Some(LINKS), Some(CONNECTIONS), classes]
            .into_iter()
            .flatten()
            .map(|table| format!("{}.{}", table.name, self.format))
            .collect()
    }

    /// Writes the summary and the manifest, and gives every file its name, the manifest last.
    /// What an earlier run left under one of the directory's names goes.
    ///
    /// # Errors
    /// If a file cannot be written or replaced. Unless it happens while files get their names,
    /// no file of this run is then seen.
    pub fn finish(self, summary: &Summary, manifest: &Manifest) -> Result<(), Error> {
        let directory = self.directory;
        let mut series = vec![self.links.finish()?, self.connections.finish()?];
        if let Some(classes) = self.classes {
            series.push(classes.finish()?);
        }
        let summary = PartialFile::of(&directory, "summary.json", summary.to_json().as_bytes())?;
        let manifest = PartialFile::of(&directory, "manifest.json", manifest.to_json().as_bytes())?;

        remove(&directory.join("manifest.json"))?;
        for table in [LINKS, CONNECTIONS, CLASSES] {
            for format in Format::ALL {
                let old = directory.join(format!("{}.{format}", table.name));
                if series.iter().all(|file| file.path() != old) {
                    remove(&old)?;
                }
            }
        }
        series.into_iter().try_for_each(PartialFile::publish)?;
        summary.publish()?;
        manifest.publish()
    }
}

impl Recorder for Writer {
    type Error = Error;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Error> {
        self.links.interval(interval.time_s);
        for id in interval.network.links() {
            let link = interval.link(id);
            let values = [
                link.arrival_pps,
                link.departure_pps,
                link.queue_pkts,
                link.loss_probability,
                link.utilization,
            ];
            self.links.row(&[id.index()], &values)?;
        }
        self.connections.interval(interval.time_s);
        for id in interval.network.connections() {
            let connection = interval.connection(id);
            let values = [
                connection.send_pps,
                connection.goodput_pps,
                connection.rtt_s,
                connection.loss_probability,
            ];
            self.connections.row(&[id.index()], &values)?;
        }
        if let Some(classes) = &mut self.classes {
            classes.interval(interval.time_s);
            for class in interval.classes() {
                let keys = [class.link.index(), class.connection.index()];
                classes.row(&keys, &[class.queue_pkts, class.arrival_pps])?;
            }
        }
        Ok(())
    }
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

/// Removes a file that may not be there.
fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Replace {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}
