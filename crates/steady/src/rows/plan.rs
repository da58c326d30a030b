//! Rows of a capacity plan.

use netflow_network::{LinkId, Network};
use netflow_units::BitsPerSecond;
use serde::Serialize;

use super::failures::failure_name;
use crate::{Module, Plan};

/// Row of one link that a plan changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanRow {
    /// Physical link: `A<->B`, or `A->B` for one direction.
    pub link: String,
    /// True for a new link.
    pub is_new: bool,
    /// Bandwidth without the plan in bit/s; of the narrower direction.
    pub bandwidth_bps: f64,
    /// Modules that are added: `2 x 10 Gbit/s`, joined by ` + `.
    pub modules: String,
    /// Number and capacity in bit/s of the modules of each kind.
    #[serde(skip)]
    pub module_counts: Vec<(u32, f64)>,
    /// Bandwidth with the plan in bit/s; of the narrower direction.
    pub planned_bandwidth_bps: f64,
    /// Cost of the modules and of the new link.
    pub cost: f64,
    /// Load without failures, with the plan; of the busier direction.
    pub load: f64,
    /// The highest load under any failure, with the plan; of the busier direction.
    pub max_load: f64,
    /// The failure with the highest load; `None` if no failure raises the load.
    pub failure: Option<String>,
}

impl PlanRow {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> PlanRow {
        PlanRow {
            failure: Some(String::new()),
            ..PlanRow::default()
        }
    }
}

/// Returns the rows of the links that a plan changes, in the order of the network. `modules` are those of a physical link,
/// and `new_link_cost` is the cost of a new link without modules; `None` for links that exist.
pub fn plan<'m>(
    found: &Plan,
    modules: impl Fn(&str) -> &'m [Module],
    new_link_cost: impl Fn(&str) -> Option<f64>,
) -> Vec<PlanRow> {
    let network = &found.network;
    let changed = network.physical_links().filter_map(|(id, other)| {
        let link = network.physical_link_name(id);
        let set = found.added.get(&link)?;
        let both = || [Some(id), other].into_iter().flatten();
        let planned_bps = both().map(|id| network.link_spec(id).bandwidth_bps);
        let planned_bandwidth_bps = planned_bps.fold(f64::INFINITY, f64::min);
        let busiest = busier(found, id, other);
        let worst = &found.failures.links[busiest.index()];
        let intact = both().map(|id| found.failures.links[id.index()].intact_load);
        let fixed = new_link_cost(&link);
        let used = modules(&link)
            .iter()
            .zip(&set.counts)
            .filter(|it| *it.1 > 0);
        let module_counts: Vec<_> = used.map(|(it, &n)| (n, it.capacity_bps)).collect();
        Some(PlanRow {
            is_new: fixed.is_some(),
            bandwidth_bps: planned_bandwidth_bps - set.capacity_bps,
            modules: module_names(&module_counts),
            module_counts,
            planned_bandwidth_bps,
            cost: set.cost + fixed.unwrap_or(0.0),
            load: intact.fold(0.0, f64::max),
            max_load: worst.max_load,
            failure: worst.worst_case.map(|case| case_name(network, found, case)),
            link,
        })
    });
    changed.collect()
}

/// Returns the direction with the higher load under failures.
fn busier(found: &Plan, id: LinkId, other: Option<LinkId>) -> LinkId {
    let load = |id: LinkId| found.failures.links[id.index()].max_load;
    other.filter(|&other| load(other) > load(id)).unwrap_or(id)
}

fn case_name(network: &Network, found: &Plan, case: usize) -> String {
    failure_name(network, &found.failures.cases[case].failing)
}

fn module_names(counts: &[(u32, f64)]) -> String {
    let names = counts
        .iter()
        .map(|&(n, bps)| format!("{n} x {}", BitsPerSecond(bps)));
    names.collect::<Vec<_>>().join(" + ")
}
