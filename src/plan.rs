//! Capacity plans of scenarios, as in `netflow plan`: the cheapest modules and new links, and the scenario with them.
//!
//! Variants of the network are those of a scenario with other bandwidths and further links, so that a plan is evaluated
//! exactly as the scenario that [`ScenarioVariants::write`] makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use netflow_document::Problems;
use netflow_files::{FileKind, STANDARD_INPUT, check_overwrite, read_text, write_unless_foreign};
use netflow_network::{LinkId, Network};
use netflow_scenario::planning_tables::{CandidateRow, ModuleRow};
use netflow_scenario::{CompiledScenario, FileAccess, for_steady_state, load_text};
use netflow_steady::{CandidateLink, Module, Plan, PlanError, PlanVariants};
use netflow_units::BitsPerSecond;

/// Reason why there is no plan, or why it was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No plan was found.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The scenario with the changes is not valid.
    #[error("the scenario with new links is not valid: {}", first_message(.0))]
    Scenario(Problems),
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
    /// The scenario was read from the standard input, which can be read only once.
    #[error("a plan reads the scenario again and again, which the standard input does not allow")]
    StandardInput,
    /// The scenario with the changes cannot be written.
    #[error("{0}")]
    Write(String),
}

fn first_message(problems: &Problems) -> String {
    let mut all = problems.clone().into_vec().into_iter();
    all.next()
        .map_or_else(String::new, |it| it.location() + &it.message)
}

/// Scenario in its variants: with more bandwidth, and with new links.
pub struct ScenarioVariants {
    path: PathBuf,
    text: String,
    overrides: Vec<String>,
    file_access: FileAccess,
    candidates: Vec<CandidateLink>,
    rows: Vec<CandidateRow>,
    modules: BTreeMap<String, Vec<Module>>,
    /// Directions of each physical link with their bandwidth in bit/s, in the order of the file.
    links: BTreeMap<String, Vec<(String, f64)>>,
}

impl ScenarioVariants {
    /// Takes the scenario that was read from `path`, the modules that links can have, and candidates for new links.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be read again; [`Error::StandardInput`], [`Error::UnknownLink`],
    /// [`Error::UnknownNode`].
    pub fn new(
        path: &Path,
        scenario: &CompiledScenario,
        modules: &[ModuleRow],
        candidates: Vec<CandidateRow>,
    ) -> Result<ScenarioVariants, Error> {
        if path == Path::new(STANDARD_INPUT) {
            return Err(Error::StandardInput);
        }
        let text = read_text(path, FileKind::Scenario)
            .map_err(|refusal| Error::Write(format!("{}: {refusal}", path.display())))?;
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
            path: path.to_owned(),
            text,
            overrides: scenario.overrides.clone(),
            file_access: scenario.file_access,
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
    ) -> Result<CompiledScenario, Problems> {
        let text = edited(
            &self.text,
            self.new_links(opened, added_bps).into_iter().collect(),
        );
        let mut overrides = self.overrides.clone();
        for (link, more_bps) in added_bps {
            // The name used in the file selects both directions, so that the other one follows.
            for (direction, bandwidth_bps) in self.links.get(link).into_iter().flatten() {
                let bandwidth = BitsPerSecond(bandwidth_bps + more_bps);
                overrides.push(format!("link.{direction}.bandwidth={bandwidth}"));
            }
        }
        let load =
            |overrides: &[String]| load_text(&self.path, text.clone(), overrides, self.file_access);
        let scenario = load(&overrides)?;
        Ok(for_steady_state(scenario, |more| {
            load(&[&*overrides, more].concat())
        }))
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
            return Some((at..at, tables.collect()));
        }
        let end = self.text.len();
        let tables = links
            .iter()
            .map(|keys| format!("\n[[link]]\n{}\n", keys.join("\n")));
        Some((end..end, tables.collect()))
    }

    /// Returns the place of the first table in `link = [ … ]`; `None` if links are `[[link]]` tables.
    fn start_of_inline_links(&self) -> Option<usize> {
        let scenario = netflow_scenario::parse(&self.path.to_string_lossy(), &self.text).ok()?;
        let inside = scenario.links.first()?.from.place().span().start;
        let before = &self.text[..inside];
        let brace = before.rfind('{')?;
        // A table header between them is that of a `[[link]]`.
        (!before[brace..].contains("[[link]]")).then_some(brace)
    }

    /// Writes the scenario with a plan to `path`, and its table of links, if it includes one, to a file next to it. All
    /// else stays as it is, with its comments. Returns the files.
    ///
    /// # Errors
    /// [`Error::Write`]: the scenario includes tables and `path` is in another directory; a bandwidth is not in these files
    /// but in `--set`; a file exists and is not from an earlier plan; or it cannot be written.
    pub fn write(
        &self,
        scenario: &CompiledScenario,
        plan: &Plan,
        path: &Path,
    ) -> Result<Vec<PathBuf>, Error> {
        let refuse = |message: String| Err(Error::Write(message));
        let directory = |path: &Path| {
            let parent = path.parent().unwrap_or(Path::new(""));
            let parent = if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            };
            parent.canonicalize().ok()
        };
        let has_tables = scenario.sources.iter().count() > 1;
        if has_tables && directory(path) != directory(&self.path) {
            return refuse(format!(
                "{} includes other files: write the plan to the same directory",
                self.path.display()
            ));
        }
        let edits = self.edits(scenario, plan)?;
        let mut written = Vec::new();
        let mut own = Vec::new();
        for (source, edits) in edits {
            if source == self.path {
                own = edits;
                continue;
            }
            let table = read_text(&source, FileKind::Table)
                .map_err(|refusal| Error::Write(format!("{}: {refusal}", source.display())))?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{stem}-links.csv");
            written.push((
                path.with_file_name(&name),
                format!("{}\n{}", plan_mark(plan), edited(&table, edits)),
            ));
            let Some(place) = self.place_of_link_table() else {
                return refuse(format!("{} is not in [include]", source.display()));
            };
            own.push((place, format!("\"{name}\"")));
        }
        own.extend(self.new_links(&plan.opened, &plan.added_bps()));
        let text = format!("{}\n{}", plan_mark(plan), edited(&self.text, own));
        written.push((path.to_owned(), text));
        // Nothing is written if one of them cannot be.
        for (path, _) in &written {
            check_overwrite(path, Some(PLAN_MARK)).map_err(|error| {
                Error::Write(format!("cannot write {}: {error}", path.display()))
            })?;
        }
        for (path, text) in &written {
            write_unless_foreign(path, text.as_bytes(), Some(PLAN_MARK)).map_err(|error| {
                Error::Write(format!("cannot write {}: {error}", path.display()))
            })?;
        }
        self.check_written(plan, path)?;
        Ok(written.into_iter().rev().map(|it| it.0).collect())
    }

    /// Returns the place of `links` in `[include]`.
    fn place_of_link_table(&self) -> Option<std::ops::Range<usize>> {
        let scenario = netflow_scenario::parse(&self.path.to_string_lossy(), &self.text).ok()?;
        Some(scenario.include.as_ref()?.links.as_ref()?.place().span())
    }

    /// Returns the changes of bandwidths by file, each a range of bytes and its new text.
    fn edits(
        &self,
        scenario: &CompiledScenario,
        plan: &Plan,
    ) -> Result<BTreeMap<PathBuf, Vec<Edit>>, Error> {
        let network = &scenario.network;
        let mut edits: BTreeMap<PathBuf, Vec<Edit>> = BTreeMap::new();
        for (link, more_bps) in plan.added_bps() {
            for (direction, bandwidth_bps) in self.links.get(&link).into_iter().flatten() {
                let Some(id) = network.link_by_name(direction) else {
                    continue;
                };
                let place = scenario.bandwidth_places[id.index()];
                let Some(source) = scenario.sources.path(place.file()) else {
                    return Err(Error::Write(format!(
                        "the bandwidth of {direction} is in --set: write it to the scenario first"
                    )));
                };
                let bandwidth = BitsPerSecond(bandwidth_bps + more_bps).to_string();
                edits
                    .entry(source.to_owned())
                    .or_default()
                    .push((place.span(), bandwidth));
            }
        }
        Ok(edits)
    }

    /// Checks that the written scenario has the bandwidths of the plan.
    fn check_written(&self, plan: &Plan, path: &Path) -> Result<(), Error> {
        let scenario = netflow_scenario::load_within(path, &self.overrides, self.file_access)
            .map_err(Error::Scenario)?;
        let bandwidths = |network: &Network| -> Vec<(String, u64)> {
            let all = network.links();
            all.map(|id| {
                let bandwidth_bps = network.link_spec(id).bandwidth_bps;
                (network.link_name(id).to_owned(), bandwidth_bps.to_bits())
            })
            .collect()
        };
        if bandwidths(&scenario.network) != bandwidths(&plan.network) {
            return Err(Error::Write(format!(
                "{} does not have the bandwidths of the plan: report this as a fault of netflow",
                path.display()
            )));
        }
        Ok(())
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
        let scenario = self.load(opened, added_bps).map_err(Error::Scenario)?;
        Ok(scenario.network)
    }
}

/// Range of bytes and the text that replaces it.
type Edit = (std::ops::Range<usize>, String);

/// Applies edits to a text; equal ranges count once. A value in quotes stays in quotes.
fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    edits.dedup_by(|a, b| a == b);
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for (range, value) in edits {
        result += &text[at..range.start];
        let old = &text[range.clone()];
        match old.chars().next() {
            Some(quote @ ('"' | '\'')) if !value.starts_with(quote) => {
                result.push(quote);
                result += &value;
                result.push(quote);
            }
            _ => result += &value,
        }
        at = range.end;
    }
    result + &text[at..]
}

/// Returns the first line of a written plan.
fn plan_mark(plan: &Plan) -> String {
    format!("{PLAN_MARK}; cost {}", plan.cost)
}

/// Start of the first line of a scenario that a plan has made.
pub const PLAN_MARK: &str = "# Written by netflow plan";
