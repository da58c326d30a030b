//! Capacity plans of scenarios, as in `netflow plan`: the cheapest modules and new links, and the scenario with them.
//!
//! Variants of the network are those of a scenario with other bandwidths and further links, so that a plan is evaluated
//! exactly as the scenario that [`ScenarioVariants::write`] makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use netflow_network::{LinkId, Network};
use netflow_scenario::CompiledScenario;
use netflow_scenario::planning_tables::{CandidateRow, ModuleRow};
use netflow_steady::{CandidateLink, Module, Plan, PlanError, PlanVariants};
use netflow_units::BitsPerSecond;

use crate::scenario_edit::{Edit, EditError, Replacement, ScenarioFile};

/// Reason why there is no plan, or why it was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No plan was found.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The scenario with the changes is not valid, or cannot be written.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A module names no link.
    #[error("no link is called `{0}`")]
    UnknownLink(String),
    /// A candidate has an end that is not a node of the scenario.
    #[error("the candidate {candidate} ends at `{node}`, which is not a node of the scenario")]
    UnknownNode {
        /// Name of the candidate.
        candidate: String,
        /// Name of the end.
        node: String,
    },
}

/// Scenario in its variants: with more bandwidth, and with new links.
pub struct ScenarioVariants {
    file: ScenarioFile,
    candidates: Vec<CandidateLink>,
    rows: Vec<CandidateRow>,
    modules: BTreeMap<String, Vec<Module>>,
    /// Directions of each physical link with their bandwidth in bit/s, in the order of the file.
    links: BTreeMap<String, Vec<(String, f64)>>,
}

impl ScenarioVariants {
    /// Takes the scenario that was read from `file`, the modules that links can have, and candidates for new links.
    ///
    /// # Errors
    /// [`Error::UnknownLink`], [`Error::UnknownNode`].
    pub fn new(
        file: ScenarioFile,
        scenario: &CompiledScenario,
        modules: &[ModuleRow],
        candidates: Vec<CandidateRow>,
    ) -> Result<ScenarioVariants, Error> {
        let network = &scenario.network;
        let links: BTreeMap<String, Vec<(String, f64)>> = (network.physical_links())
            .map(|(id, other)| {
                let direction = |id: LinkId| {
                    let bandwidth_bps = network.link_spec(id).bandwidth_bps;
                    (network.link_name(id).to_owned(), bandwidth_bps)
                };
                let both = [Some(id), other].into_iter().flatten();
                (
                    network.physical_link_name(id),
                    both.map(direction).collect(),
                )
            })
            .collect();
        let names = || {
            links
                .keys()
                .cloned()
                .chain(candidates.iter().map(CandidateRow::name))
        };
        for candidate in &candidates {
            let is_node = |name: &str| network.nodes().any(|id| network.node_name(id) == name);
            let mut ends = [&candidate.from, &candidate.to].into_iter();
            if let Some(node) = ends.find(|end| !is_node(end.as_str())) {
                return Err(Error::UnknownNode {
                    candidate: candidate.name(),
                    node: node.as_str().to_owned(),
                });
            }
        }
        for module in modules {
            if let Some(pattern) = &module.link
                && !names().any(|name| module.applies_to(&name))
            {
                return Err(Error::UnknownLink(pattern.as_str().to_owned()));
            }
        }
        // A key of the file sets all members of a bundle.
        let members = network.bundles().flat_map(|(members, _)| members);
        let members: BTreeSet<String> = members.map(|id| network.physical_link_name(id)).collect();
        let of_link = |name: String| {
            let all = modules
                .iter()
                .filter(|it| it.applies_to(&name) && !members.contains(&name));
            let all = all.map(|it| Module {
                capacity_bps: it.capacity_bps(),
                cost: *it.cost,
            });
            (name.clone(), all.collect())
        };
        Ok(ScenarioVariants {
            file,
            candidates: (candidates.iter())
                .map(|row| CandidateLink {
                    name: row.name(),
                    cost: row.cost.as_deref().copied().unwrap_or(0.0),
                })
                .collect(),
            modules: names().map(of_link).collect(),
            rows: candidates,
            links,
        })
    }

    /// Returns the modules of a physical link.
    pub fn modules_of(&self, link: &str) -> &[Module] {
        self.modules.get(link).map_or(&[], Vec::as_slice)
    }

    /// Loads the scenario with these changes.
    fn load(
        &self,
        opened: &[bool],
        added_bps: &BTreeMap<String, f64>,
    ) -> Result<CompiledScenario, EditError> {
        let mut settings = Vec::new();
        for (link, more_bps) in added_bps {
            // The name used in the file selects both directions, so that the other one follows.
            for (direction, bandwidth_bps) in self.links.get(link).into_iter().flatten() {
                let bandwidth = BitsPerSecond(bandwidth_bps + more_bps);
                settings.push(format!("link.{direction}.bandwidth={bandwidth}"));
            }
        }
        self.file.load(self.new_links(opened, added_bps), settings)
    }

    /// Returns the edit that adds the links of the opened candidates: to `link = [ … ]` if the scenario has it, or else as
    /// `[[link]]` tables at the end.
    fn new_links(&self, opened: &[bool], added_bps: &BTreeMap<String, f64>) -> Option<Edit> {
        let rows = self.rows.iter().zip(opened).filter(|it| *it.1);
        let links: Vec<Vec<String>> = rows
            .map(|(row, _)| {
                let bandwidth_bps = added_bps.get(&row.name()).copied().unwrap_or(0.0);
                row.keys(BitsPerSecond(bandwidth_bps))
            })
            .collect();
        if links.is_empty() {
            return None;
        }
        if let Some(at) = self.start_of_inline_links() {
            let tables = links
                .iter()
                .map(|keys| format!("{{ {} }},\n    ", keys.join(", ")));
            return Some(Edit {
                range: at..at,
                text: tables.collect(),
            });
        }
        let end = self.file.text.len();
        let tables = links
            .iter()
            .map(|keys| format!("\n[[link]]\n{}\n", keys.join("\n")));
        Some(Edit {
            range: end..end,
            text: tables.collect(),
        })
    }

    /// Returns the place of the first table in `link = [ … ]`; `None` if links are `[[link]]` tables.
    fn start_of_inline_links(&self) -> Option<usize> {
        if self.file.has_link_tables() {
            return None;
        }
        let scenario = self.file.parsed()?;
        let inside = scenario.links.first()?.from.place().span().start;
        self.file.text[..inside].rfind('{')
    }

    /// Writes the scenario with a plan to `path`, and its table of links, if it includes one, to a file next to it. All
    /// else stays as it is, with its comments. Returns the files.
    ///
    /// # Errors
    /// [`EditError::Write`]: the scenario includes tables and `path` is in another directory; a bandwidth is not in these
    /// files but in `--set`; a file exists and is not from an earlier plan; or it cannot be written.
    pub fn write(
        &self,
        scenario: &CompiledScenario,
        plan: &Plan,
        path: &Path,
    ) -> Result<Vec<PathBuf>, Error> {
        let new_links = self.new_links(&plan.opened, &plan.added_bps());
        let (files, result) = self.file.write(
            scenario,
            self.replacements(scenario, plan),
            new_links.into_iter().collect(),
            (PLAN_MARK, &format!("; cost {}", plan.cost)),
            path,
        )?;
        let bandwidths = |network: &Network| -> Vec<(String, u64)> {
            let all = network.links();
            all.map(|id| {
                let bandwidth_bps = network.link_spec(id).bandwidth_bps;
                (network.link_name(id).to_owned(), bandwidth_bps.to_bits())
            })
            .collect()
        };
        if bandwidths(&result.network) != bandwidths(&plan.network) {
            let message = format!(
                "{} does not have the bandwidths of the plan: report this as a fault of netflow",
                path.display()
            );
            return Err(EditError::Write(message).into());
        }
        Ok(files)
    }

    /// Returns the changes of bandwidths.
    fn replacements(&self, scenario: &CompiledScenario, plan: &Plan) -> Vec<Replacement> {
        let network = &scenario.network;
        let mut all = Vec::new();
        for (link, more_bps) in plan.added_bps() {
            for (direction, bandwidth_bps) in self.links.get(&link).into_iter().flatten() {
                let Some(id) = network.link_by_name(direction) else {
                    continue;
                };
                all.push(Replacement {
                    place: scenario.link_places[id.index()].bandwidth,
                    value: BitsPerSecond(bandwidth_bps + more_bps).to_string(),
                    setting: format!("the bandwidth of {direction}"),
                });
            }
        }
        all
    }
}

impl PlanVariants for ScenarioVariants {
    type Error = Error;

    fn candidates(&self) -> &[CandidateLink] {
        &self.candidates
    }

    fn modules(&self, link: &str) -> &[Module] {
        self.modules_of(link)
    }

    fn network(
        &self,
        opened: &[bool],
        added_bps: &BTreeMap<String, f64>,
    ) -> Result<Network, Error> {
        Ok(self.load(opened, added_bps)?.network)
    }
}

/// Start of the first line of a scenario that a plan has made.
pub const PLAN_MARK: &str = "# Written by netflow plan";
