//! Routing metrics of scenarios, as in `netflow weights`: the search, and the scenario with other metrics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use netflow_document::FileId;
use netflow_network::{LinkId, Network};
use netflow_scenario::CompiledScenario;
use netflow_steady::{FailureOptions, MAX_ISIS_METRIC, WeightOptions, WeightSetting, WeightsError};

use crate::scenario_edit::{Edit, EditError, Replacement, ScenarioFile};

/// Reason why metrics were not optimized or not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The search has no result.
    #[error(transparent)]
    Search(#[from] WeightsError),
    /// The scenario with the changes is not valid, or cannot be written.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The scenario does not split traffic among equal-cost paths.
    #[error("the scenario routes without ECMP, so that metrics do not determine its paths")]
    WithoutEcmp,
    /// A metric is not one of IS-IS.
    #[error("the metric of {link} is {metric}, not a whole number from 1 to {MAX_ISIS_METRIC}")]
    Metric {
        /// Name of the link.
        link: String,
        /// Its metric.
        metric: f64,
    },
}

/// Maximum number of steps of a search that commands accept.
pub const MAX_ITERATIONS: usize = 100_000;
/// Largest metric of a scenario without metrics: delays are converted to about three digits.
const MAX_FROM_DELAYS: f64 = 1000.0;
/// Units of delays in seconds, from which the metrics of a scenario without metrics are computed.
const DELAY_UNITS_S: [f64; 5] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

/// Metrics of the links of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioMetrics {
    file: ScenarioFile,
    /// Links with a common metric: they share it in the file, or are the directions of a duplex link.
    groups: Vec<Vec<LinkId>>,
    metrics: Vec<u32>,
    delay_unit_s: Option<f64>,
}

impl ScenarioMetrics {
    /// Takes the scenario that was read from `file`. Without metrics they start as its delays, in a unit for which they have
    /// up to three digits.
    ///
    /// # Errors
    /// [`Error::WithoutEcmp`], [`Error::Metric`].
    pub fn new(file: ScenarioFile, scenario: &CompiledScenario) -> Result<ScenarioMetrics, Error> {
        if !scenario.ecmp {
            return Err(Error::WithoutEcmp);
        }
        let network = &scenario.network;
        let groups = groups(scenario);
        let spec = |group: &Vec<LinkId>| network.link_spec(group[0]);
        let has_metrics = groups.iter().any(|it| spec(it).metric.is_some());
        let delays_s = groups.iter().map(|it| spec(it).delay_s);
        let longest_s = delays_s.fold(0.0, f64::max);
        let fits = |unit_s: &&f64| longest_s <= MAX_FROM_DELAYS * **unit_s;
        let unit_s = DELAY_UNITS_S.iter().find(fits).copied();
        let unit_s = unit_s.unwrap_or(longest_s / MAX_FROM_DELAYS);
        let metric = |group: &Vec<LinkId>| match spec(group).metric {
            Some(metric) if metric.fract() != 0.0 || !is_in_range(metric) => Err(Error::Metric {
                link: network.link_name(group[0]).to_owned(),
                metric,
            }),
            Some(metric) => Ok(metric as u32),
            None => Ok((spec(group).delay_s / unit_s).round().max(1.0) as u32),
        };
        Ok(ScenarioMetrics {
            metrics: groups.iter().map(metric).collect::<Result<_, _>>()?,
            delay_unit_s: (!has_metrics).then_some(unit_s),
            groups,
            file,
        })
    }

    /// Returns the unit in seconds if the metrics are delays, because the scenario has no metrics.
    pub fn delay_unit_s(&self) -> Option<f64> {
        self.delay_unit_s
    }

    /// Returns the links with a common metric.
    pub fn groups(&self) -> &[Vec<LinkId>] {
        &self.groups
    }

    /// Returns the options of a search that starts from these metrics.
    pub fn options(
        &self,
        failures: Option<FailureOptions>,
        max_changes: Option<usize>,
        iterations: usize,
        seed: u64,
    ) -> WeightOptions {
        WeightOptions {
            groups: self.groups.clone(),
            metrics: self.metrics.clone(),
            failures,
            max_changes,
            iterations,
            seed,
        }
    }

    /// Loads the scenario with other metrics.
    ///
    /// # Errors
    /// [`Error::Edit`].
    pub fn load(
        &self,
        network: &Network,
        setting: &WeightSetting,
    ) -> Result<CompiledScenario, Error> {
        let mut settings = Vec::new();
        for (group, metric) in self.changed(setting) {
            for &link in group {
                settings.push(format!("link.{}.metric={metric}", network.link_name(link)));
            }
        }
        Ok(self.file.load(None, settings)?)
    }

    /// Returns the groups whose metric the file does not have yet.
    fn changed<'a>(
        &'a self,
        setting: &'a WeightSetting,
    ) -> impl Iterator<Item = (&'a Vec<LinkId>, u32)> {
        let both = self.metrics.iter().zip(&setting.metrics);
        let is_new = move |(now, new): (&u32, &u32)| now != new || self.delay_unit_s.is_some();
        let changed = self.groups.iter().zip(both).filter(move |it| is_new(it.1));
        changed.map(|(group, (_, &metric))| (group, metric))
    }

    /// Writes the scenario with other metrics to `path`, and its table of links, if it includes one, to a file next to it. All
    /// else stays as it is, with its comments. Returns the files.
    ///
    /// # Errors
    /// [`EditError::Write`]: the scenario includes tables and `path` is in another directory; a metric is not in these
    /// files but in `--set`; a table of links has no column `metric`; a file exists and is not from an earlier search; or
    /// it cannot be written.
    pub fn write(
        &self,
        scenario: &CompiledScenario,
        setting: &WeightSetting,
        path: &Path,
    ) -> Result<Vec<PathBuf>, Error> {
        let mut replacements = Vec::new();
        let mut insertions = Vec::new();
        for (group, metric) in self.changed(setting) {
            let places = &scenario.link_places[group[0].index()];
            let link = scenario.network.link_name(group[0]);
            if let Some(place) = places.metric {
                replacements.push(Replacement {
                    place,
                    value: metric.to_string(),
                    setting: format!("the metric of {link}"),
                });
                continue;
            }
            if places.from.file() != FileId::FIRST {
                let source = scenario.sources.path(places.from.file());
                let file = source.map_or_else(String::new, |it| format!("{}: ", it.display()));
                let message = format!("{file}a column `metric` is missing: add it for all links");
                return Err(EditError::Write(message).into());
            }
            let end = places.from.span().end;
            let text = if self.file.has_link_tables() {
                format!("\nmetric = {metric}")
            } else {
                format!(", metric = {metric}")
            };
            insertions.push(Edit {
                range: end..end,
                text,
            });
        }
        let remark = format!("; largest load {:.4}", setting.max_load);
        let mark = (WEIGHTS_MARK, &*remark);
        let (files, result) = (self.file).write(scenario, replacements, insertions, mark, path)?;
        let network = &scenario.network;
        let metrics = self.groups.iter().zip(&setting.metrics);
        let is_written = |(group, &metric): (&Vec<LinkId>, &u32)| {
            group.iter().all(|&link| {
                let written = result.network.link_by_name(network.link_name(link));
                let written = written.and_then(|id| result.network.link_spec(id).metric);
                written == Some(f64::from(metric))
            })
        };
        if !metrics.into_iter().all(is_written) {
            let message = format!(
                "{} does not have the metrics that were found: report this as a fault of netflow",
                path.display()
            );
            return Err(EditError::Write(message).into());
        }
        Ok(files)
    }
}

fn is_in_range(metric: f64) -> bool {
    (1.0..=f64::from(MAX_ISIS_METRIC)).contains(&metric)
}

/// Returns the links by the place of their metric in the files, and others by their duplex link, in the order of the network.
fn groups(scenario: &CompiledScenario) -> Vec<Vec<LinkId>> {
    let network = &scenario.network;
    let mut groups: Vec<Vec<LinkId>> = Vec::new();
    let mut known = BTreeMap::new();
    for id in network.links() {
        let place = scenario.link_places[id.index()].metric;
        // One setting of --set can apply to many links.
        let place = place.filter(|it| scenario.sources.path(it.file()).is_some());
        let first = network
            .opposite_direction(id)
            .map_or(id, |other| id.min(other));
        let key = (place, place.is_none().then_some(first));
        let group = *known.entry(key).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(id);
    }
    groups
}

/// Start of the first line of a scenario with metrics from a search.
pub const WEIGHTS_MARK: &str = "# Written by netflow weights";
