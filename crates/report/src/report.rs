//! Report page of results directories.

use std::path::{Path, PathBuf};

use netflow_results::{Results, Topology, TopologyNode};

use crate::{Error, data, html, map_data, reference_run, run};

/// One or more results, with an optional reference.
#[derive(Debug)]
pub struct Report {
    page: data::Page,
}

impl Report {
    /// Reads results directories. The first is shown on the map, and the others are compared with it.
    /// `against` is a directory written by `netflow compare -o`, which adds bands behind the curves.
    ///
    /// # Errors
    /// There are no results, or a file is missing or invalid.
    pub fn read(directories: &[PathBuf], against: Option<&Path>) -> Result<Report, Error> {
        let mut runs = Vec::new();
        let mut drawn = data::Map::default();
        for directory in directories {
            let results = Results::open(directory)?;
            let topology = topology(&results)?;
            let name = name(directory, directories);
            let run = run::read(&results, &topology, &name, directories.len())?;
            if runs.is_empty() {
                drawn = map_data::map(&run, &topology);
            }
            runs.push(run);
        }
        let first = runs.first().ok_or(Error::NoResults)?;
        let against = match against {
            Some(directory) => Some(reference_run::read(directory, first)?),
            None => None,
        };
        Ok(Report {
            page: data::Page {
                version: env!("CARGO_PKG_VERSION"),
                map: drawn,
                runs,
                against,
            },
        })
    }

    /// Returns the page as HTML without external resources.
    pub fn html(&self) -> String {
        let scenarios = self.page.runs.iter().map(|run| run.name.as_str());
        let title = format!("netflow: {}", scenarios.collect::<Vec<_>>().join(", "));
        // Serialization cannot fail: keys are strings, and NaN becomes null.
        let json = serde_json::to_string(&self.page).unwrap_or_else(|_| "null".to_owned());
        html::page(&title, &json)
    }
}

/// Returns the name of the directory, or its whole path if another directory has the same name.
pub fn name(directory: &Path, all: &[PathBuf]) -> String {
    let named = |it: &Path| Some(it.file_name()?.to_string_lossy().into_owned());
    match named(directory) {
        Some(name)
            if all
                .iter()
                .filter(|it| named(it).as_ref() == Some(&name))
                .count()
                == 1 =>
        {
            name
        }
        _ => directory.display().to_string(),
    }
}

/// Returns the topology of the results, or one derived from the names of the links.
pub fn topology(results: &Results) -> Result<Topology, Error> {
    if let Some(topology) = results.topology()? {
        return Ok(topology);
    }
    let mut topology = Topology::default();
    for link in &results.summary.links {
        let (from, to) = run::end_nodes(&link.link);
        for node in [&from, &to] {
            if topology.nodes.iter().all(|known| known.node != *node) {
                topology.nodes.push(TopologyNode {
                    node: node.clone(),
                    label: None,
                    position: None,
                });
            }
        }
    }
    Ok(topology)
}
