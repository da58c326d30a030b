//! What is swept: checked as a whole before the first case.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use netflow_document::replaces_all;
use netflow_network::Network;
use netflow_results::{Format, SweepColumns};
use netflow_scenario::{Prepared, Problem, Problems, digest, for_steady};
use netflow_simulation::uncalibrated;
use netflow_steady::Solver;
use rayon::prelude::*;
use serde::Serialize;

use crate::cases::{Case, Cases, count};
use crate::chunks::Chunks;
use crate::tables::columns;
use crate::worker::{Worker, check_run};
use crate::{Axis, Error};
use netflow_results::columns::Cell;

/// Loads the scenario with these settings, each as `KEY=VALUE`, of which later ones count.
pub type Load<'a> = dyn Fn(&[String]) -> Result<Prepared, Problems> + Sync + 'a;

/// What every case is evaluated with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// The steady state of fluids.
    #[default]
    Solve,
    /// A run of fluids.
    Fluid,
    /// A run of packets, with congestion windows.
    Packets,
}

impl Model {
    /// All of them.
    pub const ALL: [Model; 3] = [Model::Solve, Model::Fluid, Model::Packets];

    /// What options call it.
    pub fn name(self) -> &'static str {
        match self {
            Model::Solve => "solve",
            Model::Fluid => "fluid",
            Model::Packets => "packets",
        }
    }

    /// What it is, in words.
    pub fn about(self) -> &'static str {
        match self {
            Model::Solve => "the steady state, as `netflow solve` finds it",
            Model::Fluid => "a run of the fluid model, as `netflow run` has it",
            Model::Packets => "a run of the window model",
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(name: &str) -> Result<Model, String> {
        let found = Model::ALL.into_iter().find(|model| model.name() == name);
        found.ok_or_else(|| format!("no model `{name}`; there are solve, fluid and packets"))
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// What varies.
    pub axes: Vec<Axis>,
    /// Settings of all cases, each as `KEY=VALUE`.
    pub settings: Vec<String>,
    /// Whether there is a case for every link that is down, besides the one with none.
    pub each_link_fails: bool,
    /// How every case is evaluated.
    pub model: Model,
    /// At which time steady states are looked for, in seconds; at the end of the run without.
    pub at_s: Option<f64>,
    /// Runs with the scenario's seed and those that follow it.
    pub seeds: u32,
    /// Length of the recording intervals of runs, in seconds, which peaks are of.
    pub every_s: f64,
    /// How tables are written.
    pub format: Format,
}

impl Default for Request {
    /// One case, at rest.
    fn default() -> Request {
        Request {
            axes: Vec::new(),
            settings: Vec::new(),
            each_link_fails: false,
            model: Model::Solve,
            at_s: None,
            seeds: 1,
            every_s: 0.5,
            format: default_format(),
        }
    }
}

/// Parquet where the build has it, otherwise CSV.
pub fn default_format() -> Format {
    match Format::Parquet.is_available() {
        true => Format::Parquet,
        false => Format::Csv,
    }
}

/// What trying every value of a sweep has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Digest of the scenario's files, with any of the values.
    pub digest: String,
    /// Whether some values name files.
    pub names_files: bool,
}

/// A sweep whose every value was tried: which cases there are, and what their tables have.
#[derive(Clone, Debug)]
pub struct Sweep {
    request: Request,
    base: Prepared,
    failures: Vec<String>,
    cases: Cases,
    tables: SweepColumns,
    /// Of the files of the scenario: with any of the values, where these name files.
    digest: String,
    names_files: bool,
    warnings: Vec<Problem>,
}

impl Sweep {
    /// Counts the cases, and tries every value once, with the first of all others, on the threads of the current
    /// rayon pool, until `stop` says otherwise. Of more than a thousand numbers a thousand are tried; if one of the others
    /// is impossible, its cases are without an answer, with the reason.
    ///
    /// # Errors
    /// Everything that keeps the sweep from beginning.
    pub fn new(
        request: Request,
        load: &Load<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Sweep, Error> {
        let mut sweep = Sweep::untried(request, load)?;
        sweep.check_values(load, stop)?;
        Ok(sweep)
    }

    /// The same again, in another process: what was tried before is not tried once more.
    ///
    /// # Errors
    /// As [`new`](Self::new), but for values that nobody tries.
    pub fn again(request: Request, tried: Tried, load: &Load<'_>) -> Result<Sweep, Error> {
        let sweep = Sweep::untried(request, load)?;
        if !tried.names_files && sweep.digest != tried.digest {
            return Err(Error::Changed);
        }
        Ok(Sweep {
            digest: tried.digest,
            names_files: tried.names_files,
            ..sweep
        })
    }

    /// What trying every value has shown, for [`again`](Self::again).
    pub fn tried(&self) -> Tried {
        Tried {
            digest: self.digest.clone(),
            names_files: self.names_files,
        }
    }

    fn untried(request: Request, load: &Load<'_>) -> Result<Sweep, Error> {
        check_keys(&request)?;
        if !request.format.is_available() {
            let error = netflow_results::Error::FormatMissing {
                format: request.format,
            };
            return Err(Error::Format(error.to_string()));
        }
        if request.format == Format::Jsonl {
            return Err(Error::Format(
                "tables are written as csv or parquet, not as jsonl".to_owned(),
            ));
        }
        let tables = columns(request.model, &request.axes);
        let mut sweep = Sweep {
            base: loaded(request.model, load, &first_settings(&request))
                .map_err(Error::Scenario)?,
            failures: Vec::new(),
            cases: Cases::new(&[], 0, 1).ok_or(Error::Changed)?,
            request,
            tables,
            digest: String::new(),
            names_files: false,
            warnings: Vec::new(),
        };
        sweep.digest = sweep.base.digest.clone();
        sweep.check_model()?;
        if sweep.request.each_link_fails {
            sweep.failures = link_names(&sweep.base.network);
        }
        let (axes, failures) = (&sweep.request.axes, sweep.failures.len());
        let Some(cases) = Cases::new(axes, failures, sweep.request.seeds) else {
            return Err(sweep.too_many(load));
        };
        sweep.cases = cases;
        Ok(sweep)
    }

    /// Whether it can be evaluated so at all.
    fn check_model(&self) -> Result<(), Error> {
        let Request { model, seeds, .. } = self.request;
        if model == Model::Solve {
            if seeds > 1 {
                return Err(Error::NotRandom(
                    "steady states are not random; `--model packets` is",
                ));
            }
            let at_s = self.request.at_s.unwrap_or(self.base.options.duration_s);
            let network = uncalibrated(&self.base.network)
                .map_err(|error| Error::Refused(error.to_string()))?;
            return match Solver::new(&network, at_s) {
                Ok(_) => Ok(()),
                Err(error) => {
                    let runs = match error.needs_profile() {
                        true => "`--model packets`",
                        false => "`--model fluid` or `packets`",
                    };
                    Err(Error::Refused(format!("{error}; {runs} runs it")))
                }
            };
        }
        if self.request.at_s.is_some() {
            let message = "`--at` is a time of steady states; runs are summarized from the scenario's warmup on";
            return Err(Error::Refused(message.to_owned()));
        }
        if seeds > 1 && !self.base.is_random() {
            return Err(Error::NotRandom(
                "only the window model and users are random",
            ));
        }
        check_run(&self.base, self.request.every_s).map_err(Error::Refused)
    }

    fn check_values(
        &mut self,
        load: &Load<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let axes = self.request.axes.iter().enumerate();
        let values = axes.flat_map(|(a, axis)| to_try(axis).map(move |v| (a, v)));
        let values: Vec<(usize, usize)> = values.collect();
        let cases = self.cases.count();
        let tried = values.par_iter().map(|&(axis, value)| {
            if stop() {
                return Err(Error::Stopped { done: 0, cases });
            }
            let mut which = vec![0; self.request.axes.len()];
            which[axis] = value;
            let scenario = loaded(self.request.model, load, &self.settings_with(&which));
            let scenario = scenario.map_err(Error::Scenario)?;
            if !self.failures.is_empty() && link_names(&scenario.network) != self.failures {
                let setting = self.request.axes[axis].setting(value);
                return Err(Error::OtherLinks { setting });
            }
            Ok((scenario.digest, scenario.warnings))
        });
        // The first that is wrong, whoever found it.
        let tried: Vec<Result<(String, Vec<Problem>), Error>> = tried.collect();
        let mut digests = BTreeSet::from([self.base.digest.clone()]);
        for tried in tried {
            let (digest, warnings) = tried?;
            digests.insert(digest);
            for warning in warnings {
                if !self.base.warnings.contains(&warning) && !self.warnings.contains(&warning) {
                    self.warnings.push(warning);
                }
            }
        }
        if digests.len() > 1 {
            self.names_files = true;
            self.digest = digest(digests.iter().map(String::as_str));
        }
        Ok(())
    }

    fn too_many(&self, load: &Load<'_>) -> Error {
        let Request { axes, seeds, .. } = &self.request;
        let began = Instant::now();
        let first = Worker::new(self, load, &|| false).evaluate(&Cases::first(axes));
        if let Err(error) = first {
            return error;
        }
        // One digit: it is measured anew each time.
        let case_s: f64 = format!("{:.0e}", began.elapsed().as_secs_f64())
            .parse()
            .unwrap_or(1e-3);
        let count = count(axes, self.failures.len(), *seeds);
        let network = &self.base.network;
        let rows = (network.link_count() + network.connection_count() + 1) as u128;
        let beyond = || "more than 10^38".to_owned();
        Error::TooMany {
            cases: count.map_or_else(beyond, |count| count.to_string()),
            rows: count
                .and_then(|count| count.checked_mul(rows))
                .map_or_else(beyond, |rows| rows.to_string()),
            case_s,
            years: count.map_or(f64::INFINITY, |count| count as f64) * case_s / (365.25 * 86400.0),
        }
    }

    fn settings_with(&self, values: &[usize]) -> Vec<String> {
        settings(&self.request, values)
    }

    /// The settings of a case: what `--set` takes to have it alone.
    pub fn settings_of(&self, case: &Case) -> Vec<String> {
        self.settings_with(&case.values)
    }

    /// All cases.
    pub fn cases(&self) -> &Cases {
        &self.cases
    }

    /// The parts that cases are written in.
    pub fn chunks(&self) -> Chunks {
        Chunks::of(self.cases.count())
    }

    /// What the tables have.
    pub fn tables(&self) -> &SweepColumns {
        &self.tables
    }

    /// What was asked for.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The links that fail, one after the other, by the names that events have for them.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// The scenario with the first of all values.
    pub fn base(&self) -> &Prepared {
        &self.base
    }

    /// What the answers are not, whatever the values.
    pub fn notes(&self) -> Vec<String> {
        let is_solved = self.model() == Model::Solve;
        let at_s = self.at_s().filter(|_| is_solved).unwrap_or(f64::INFINITY);
        let mut notes = self.base.means_warnings(is_solved, at_s);
        // Events may have told of it already.
        if self.request.each_link_fails && !self.base.links_fail_by(at_s) {
            notes.extend(self.base.failure_warnings(is_solved));
        }
        notes
    }

    /// What is suspicious with one of the values, and not with the first of all.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Digest of the scenario's files.
    pub(crate) fn scenario_digest(&self) -> &str {
        &self.digest
    }

    /// How each case is evaluated.
    pub fn model(&self) -> Model {
        self.request.model
    }

    pub(crate) fn at_s(&self) -> Option<f64> {
        self.request.at_s
    }

    pub(crate) fn every_s(&self) -> f64 {
        self.request.every_s
    }

    /// Whether it was read from other files than the first one was.
    pub(crate) fn is_changed(&self, scenario: &Prepared) -> bool {
        !self.names_files && scenario.digest != self.base.digest
    }

    /// What a case has in its own columns.
    pub(crate) fn cells(&self, case: &Case) -> Vec<Cell<'_>> {
        let axes = self.request.axes.iter().zip(&case.values);
        let mut cells = vec![Cell::Whole(case.index)];
        cells.extend(axes.map(|(axis, &value)| match &axis.numbers {
            Some(numbers) if axis.is_whole() => Cell::Whole(numbers[value] as u64),
            Some(numbers) => Cell::Number(numbers[value]),
            None => Cell::Text(&axis.values[value]),
        }));
        cells.push(match case.failed {
            Some(failure) => Cell::Text(&self.failures[failure]),
            None => Cell::Nothing,
        });
        cells.push(Cell::Whole(self.base.options.seed.wrapping_add(case.seed)));
        cells
    }
}

/// Of so many numbers all are tried before a sweep begins.
const TRIED: usize = 1000;

/// The values of an axis that are tried before, beside the first: all, but of more numbers than [`TRIED`] only so many,
/// evenly spread, with the last. Trying one costs as much as preparing its cases does.
fn to_try(axis: &Axis) -> impl Iterator<Item = usize> + use<> {
    let last = axis.values.len() - 1;
    let tried = match axis.numbers {
        Some(_) => last.min(TRIED),
        None => last,
    };
    (1..=tried).map(move |i| (i as u128 * last as u128 / tried as u128) as usize)
}

/// Every key once, and none whose values say nothing.
fn check_keys(request: &Request) -> Result<(), Error> {
    let same = |key: &str, how: &'static str| Error::SameKey {
        key: key.to_owned(),
        how,
    };
    let set = request
        .settings
        .iter()
        .filter_map(|it| Some(it.split_once('=')?.0.trim()));
    let set: Vec<&str> = set.collect();
    for (i, axis) in request.axes.iter().enumerate() {
        let key = axis.key.as_str();
        if request.axes[..i].iter().any(|other| other.key == key) {
            return Err(same(key, "varied twice"));
        }
        if set.contains(&key) {
            return Err(same(key, "both set and varied"));
        }
        let mut earlier = request.axes[..i].iter();
        if let Some(replaced) = earlier.find(|it| replaces_all(key, &it.key)) {
            return Err(Error::Replaced {
                key: replaced.key.clone(),
                by: key.to_owned(),
            });
        }
        if key == SEED {
            return Err(same(key, "what `--seeds` varies"));
        }
        if key == MODEL && request.model != Model::Solve {
            return Err(same(key, "what `--model` says"));
        }
    }
    match set.contains(&MODEL) && request.model != Model::Solve {
        true => Err(same(MODEL, "what `--model` says")),
        false => Ok(()),
    }
}

/// The scenario with these settings, as the model of the cases has it.
pub(crate) fn loaded(
    model: Model,
    load: &Load<'_>,
    settings: &[String],
) -> Result<Prepared, Problems> {
    let scenario = load(settings)?;
    Ok(match model {
        Model::Solve => for_steady(scenario, |more| load(&[settings, more].concat())),
        Model::Fluid | Model::Packets => scenario,
    })
}

const MODEL: &str = "simulation.model";
const SEED: &str = "simulation.seed";

fn first_settings(request: &Request) -> Vec<String> {
    settings(request, &vec![0; request.axes.len()])
}

fn settings(request: &Request, values: &[usize]) -> Vec<String> {
    let model = match request.model {
        Model::Solve => None,
        model => Some(format!("{MODEL}={model}")),
    };
    let axes = request.axes.iter().zip(values);
    model
        .into_iter()
        .chain(request.settings.iter().cloned())
        .chain(axes.map(|(axis, &value)| axis.setting(value)))
        .collect()
}

/// The names of what each `[[link]]` became.
fn link_names(network: &Network) -> Vec<String> {
    let all = network.physical_links();
    all.map(|(id, _)| network.physical_link_name(id)).collect()
}
