//! Reads results and becomes a page.

use std::path::{Path, PathBuf};

use netflow_results::{Results, Topology, TopologyNode};

use crate::{Error, against, data, html, map, run};

/// One or more results, and what they are put against.
#[derive(Debug)]
pub struct Report {
    page: data::Page,
}

impl Report {
    /// Reads results directories; the first is the one on the map, the others are put beside it.
    /// With `against`, a directory that `netflow compare -o` wrote: bands behind the curves.
    ///
    /// # Errors
    /// If there are no results, or a file is missing or is not what its name says.
    pub fn read(directories: &[PathBuf], against: Option<&Path>) -> Result<Report, Error> {
        let mut runs = Vec::new();
        let mut drawn = data::Map::default();
        for directory in directories {
            let results = Results::open(directory)?;
            let topology = topology(&results)?;
            let name = name(directory, directories);
            let run = run::read(&results, &topology, &name, directories.len())?;
            if runs.is_empty() {
                drawn = map::map(&run, &topology);
            }
            runs.push(run);
        }
        let first = runs.first().ok_or(Error::NoResults)?;
        let against = match against {
            Some(directory) => Some(against::read(directory, first)?),
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

    /// The page: HTML that needs nothing else.
    pub fn html(&self) -> String {
        let scenarios = self.page.runs.iter().map(|run| run.name.as_str());
        let title = format!("netflow: {}", scenarios.collect::<Vec<_>>().join(", "));
        // Cannot fail: string keys, and numbers that are none become null.
        let json = serde_json::to_string(&self.page).unwrap_or_else(|_| "null".to_owned());
        html::page(&title, &json)
    }
}

/// The directory's own name, or all of its path where another one is called so too.
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

/// What the directory says of its network, or what the links' names say.
pub fn topology(results: &Results) -> Result<Topology, Error> {
    if let Some(topology) = results.topology()? {
        return Ok(topology);
    }
    let mut topology = Topology::default();
    for link in &results.summary.links {
        let (from, to) = run::ends(&link.link);
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
