//! Rows of a weight search.

use netflow_network::{LinkId, Network};
use serde::Serialize;

use super::failures::failure_name;
use crate::{Failures, WeightSetting};

/// Row of the best metrics with one number of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WeightSettingRow {
    /// Number of changed metrics.
    pub changes: usize,
    /// Largest load of a link, without failures and after each failure.
    pub max_load: f64,
    /// Largest load of a link without failures.
    pub load: f64,
}

impl WeightSettingRow {
    /// Returns the row of a setting.
    pub fn new(setting: &WeightSetting) -> WeightSettingRow {
        WeightSettingRow {
            changes: setting.changes,
            max_load: setting.max_load,
            load: setting.intact_load,
        }
    }
}

/// Row of one changed metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WeightRow {
    /// `A<->B` if both directions have this metric, or else `A->B`.
    pub link: String,
    /// Metric before.
    pub metric: u32,
    /// Metric that was found.
    pub new_metric: u32,
    /// Load without failures before, of the busier direction.
    pub load: f64,
    /// Load without failures with the new metrics, of the busier direction.
    pub new_load: f64,
    /// The highest load under any failure before, of the busier direction.
    pub max_load: f64,
    /// The highest load under any failure with the new metrics, of the busier direction.
    pub new_max_load: f64,
    /// The failure with this load; `None` if no failure raises the load.
    pub failure: Option<String>,
}

impl WeightRow {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> WeightRow {
        WeightRow {
            failure: Some(String::new()),
            ..WeightRow::default()
        }
    }
}

/// Returns the rows of changed metrics. `groups` are the links with a common metric, and `before` and the last argument are
/// their metrics with the failure analysis of each; the network with the new metrics has the same links.
pub fn weights(
    network: &Network,
    groups: &[Vec<LinkId>],
    before: (&[u32], &Failures),
    (new_metrics, after, after_network): (&[u32], &Failures, &Network),
) -> Vec<WeightRow> {
    let metrics = before.0.iter().zip(new_metrics);
    let changed = groups
        .iter()
        .zip(metrics)
        .filter(|(_, (now, new))| now != new);
    changed
        .map(|(group, (&metric, &new_metric))| {
            let most =
                |of: &dyn Fn(LinkId) -> f64| group.iter().map(|&id| of(id)).fold(0.0, f64::max);
            let worst = |failures: &Failures| most(&|id| failures.links[id.index()].max_load);
            let intact = |failures: &Failures| most(&|id| failures.links[id.index()].intact_load);
            let new_max_load = worst(after);
            let busiest = |id: &&LinkId| after.links[id.index()].max_load == new_max_load;
            let case = group
                .iter()
                .find(busiest)
                .and_then(|id| after.links[id.index()].worst_case);
            let is_duplex =
                group.len() == 2 && network.opposite_direction(group[0]) == Some(group[1]);
            let first = if is_duplex {
                network.physical_link_name(group[0])
            } else {
                network.link_name(group[0]).to_owned()
            };
            WeightRow {
                link: first,
                metric,
                new_metric,
                load: intact(before.1),
                new_load: intact(after),
                max_load: worst(before.1),
                new_max_load,
                failure: case.map(|case| failure_name(after_network, &after.cases[case].failing)),
            }
        })
        .collect()
}
