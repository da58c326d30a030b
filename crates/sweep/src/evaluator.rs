//! Sequential evaluation of cases, with the same result for each as if evaluated alone.

use std::convert::Infallible;

use netflow_network::{
    Change, EventSpec, Interval, LinkId, Network, Options, Recorder, Rerouter, RunError,
};
use netflow_results::{MeasurementWindow, Summary, SummaryRecorder, UserExperiences, WithSummary};
use netflow_scenario::CompiledScenario;
use netflow_simulation::{Simulation, calibrated, check_interval, uncalibrated};
use netflow_steady::{Solver, SteadyOptions};

use crate::cases::Case;
use crate::sweep::load_for_model;
use crate::tables::CaseResult;
use crate::{Error, Model, ScenarioLoader, Sweep};

/// Evaluator that caches the parts shared by consecutive cases.
pub(crate) struct CaseEvaluator<'a> {
    sweep: &'a Sweep,
    load: &'a ScenarioLoader<'a>,
    stop: &'a (dyn Fn() -> bool + Sync),
    /// Scenario, by combination of values.
    scenario: Option<(u64, Result<CompiledScenario, String>)>,
    /// Routes around failures for steady states, by combination of values.
    detours: Option<(u64, Rerouter)>,
    /// Network to simulate, by combination of values and failure.
    network: Option<((u64, usize), Result<Network, String>)>,
}

impl<'a> CaseEvaluator<'a> {
    pub(crate) fn new(
        sweep: &'a Sweep,
        load: &'a ScenarioLoader<'a>,
        stop: &'a (dyn Fn() -> bool + Sync),
    ) -> CaseEvaluator<'a> {
        CaseEvaluator {
            sweep,
            load,
            stop,
            scenario: None,
            detours: None,
            network: None,
        }
    }

    /// Returns the result of a case, or the reason why there is none. Returns `None` if it was stopped.
    pub(crate) fn evaluate(
        &mut self,
        case: &Case,
    ) -> Result<Option<Result<CaseResult, String>>, Error> {
        self.prepare(case)?;
        let Some((_, scenario)) = &self.scenario else {
            return Ok(None);
        };
        let scenario = match scenario {
            Ok(scenario) => scenario,
            Err(reason) => return Ok(Some(Err(reason.clone()))),
        };
        if let Model::Solve = self.sweep.model() {
            let at_s = self.sweep.at_s().unwrap_or(scenario.options.duration_s);
            return Ok(Some(solve_steady(scenario, at_s, case, &mut self.detours)));
        }
        let network = match case.failed {
            None => &scenario.network,
            Some(failure) => {
                let key = (case.combination, failure);
                if self.network.as_ref().is_none_or(|(known, _)| *known != key) {
                    self.network = Some((key, with_link_down(scenario, failure)));
                }
                match &self.network {
                    Some((_, Ok(network))) => network,
                    Some((_, Err(reason))) => return Ok(Some(Err(reason.clone()))),
                    None => return Ok(None),
                }
            }
        };
        Ok(self.run(scenario, network, case.seed))
    }

    fn prepare(&mut self, case: &Case) -> Result<(), Error> {
        let combination = case.combination;
        if self
            .scenario
            .as_ref()
            .is_some_and(|(known, _)| *known == combination)
        {
            return Ok(());
        }
        let prepared = match load_for_model(
            self.sweep.request().model,
            self.load,
            &self.sweep.settings_of(case),
        ) {
            Ok(prepared) if self.sweep.is_changed(&prepared) => return Err(Error::Changed),
            Ok(mut prepared) => match calibrated(&prepared.network, &prepared.options, self.stop) {
                Ok(Some(network)) => {
                    prepared.network = network;
                    Ok(prepared)
                }
                Ok(None) => {
                    self.scenario = None;
                    return Ok(());
                }
                Err(error) => Err(error.to_string()),
            },
            Err(problems) => {
                let first = problems.iter().next();
                Err(first.map_or_else(String::new, |problem| problem.message.clone()))
            }
        };
        self.scenario = Some((combination, prepared));
        Ok(())
    }

    /// Runs a simulation like `netflow run`, with `seed` added to the seed of the scenario.
    fn run(
        &self,
        scenario: &CompiledScenario,
        network: &Network,
        seed: u64,
    ) -> Option<Result<CaseResult, String>> {
        let options = Options {
            seed: scenario.options.seed.wrapping_add(seed),
            ..scenario.options
        };
        match self.simulate(scenario, network, options) {
            Ok(_) if (self.stop)() => None,
            Ok(summary) => Some(Ok(CaseResult::Run(Box::new(summary)))),
            Err(error) => Some(Err(error.to_string())),
        }
    }

    fn simulate(
        &self,
        scenario: &CompiledScenario,
        network: &Network,
        options: Options,
    ) -> Result<Summary, RunError> {
        let every_s = self.sweep.every_s();
        check_interval(&options, every_s)?;
        let mut simulation = Simulation::new(network.clone(), options)?;
        simulation.set_threads(1);
        let scope = MeasurementWindow {
            from_s: scenario.warmup_s,
            ..MeasurementWindow::whole(options.duration_s)
        };
        let mut watched = WithSummary {
            recorder: NullRecorder,
            summary_recorder: SummaryRecorder::new(scope, network, self.stop),
        };
        simulation.run(every_s, &mut watched, self.stop)?;
        let (mut summary, users) = watched
            .summary_recorder
            .finish(&mut simulation, Vec::new())?;
        UserExperiences::add_to(&mut summary, network, &[users]);
        Ok(summary)
    }
}

/// Solves for the steady state of a case, with routes around failures as in `netflow failures`.
fn solve_steady(
    scenario: &CompiledScenario,
    at_s: f64,
    case: &Case,
    detours: &mut Option<(u64, Rerouter)>,
) -> Result<CaseResult, String> {
    let network = &scenario.network;
    let options = SteadyOptions {
        seed: scenario.options.seed,
        ..SteadyOptions::default()
    };
    let solver = match case.failed {
        None => Solver::new(network, at_s),
        Some(failure) => {
            let Some((link, back)) = network.physical_links().nth(failure) else {
                return Err("the link does not exist".to_owned());
            };
            let known = detours
                .take()
                .filter(|(known, _)| *known == case.combination);
            let (_, detours) = detours
                .insert(known.unwrap_or_else(|| (case.combination, Rerouter::new(network, at_s))));
            let links: Vec<LinkId> = [Some(link), back].into_iter().flatten().collect();
            Solver::rerouted(network, at_s, &detours.reroute_around(&links))
        }
    };
    let steady = solver.and_then(|mut solver| solver.solve(&options));
    let steady = steady.map_err(|error| error.to_string())?;
    Ok(CaseResult::Steady(network.clone(), Box::new(steady)))
}

/// Recorder that keeps nothing, because only the summary of the run is needed.
struct NullRecorder;

impl Recorder for NullRecorder {
    type Error = Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Returns the network with one link down from the start, as by an event at 0 s.
fn with_link_down(scenario: &CompiledScenario, failure: usize) -> Result<Network, String> {
    let Some((link, back)) = scenario.network.physical_links().nth(failure) else {
        return Err("the link does not exist".to_owned());
    };
    let mut builder = scenario.network.to_builder();
    let down = |link: LinkId| EventSpec {
        at_s: 0.0,
        link,
        change: Change::Down,
    };
    [Some(link), back]
        .into_iter()
        .flatten()
        .for_each(|link| builder.event(down(link)));
    builder.build().map_err(|errors| {
        let first = errors.first();
        first.map_or_else(String::new, ToString::to_string)
    })
}

/// Checks that the simulation supports the scenario.
pub(crate) fn check_run(scenario: &CompiledScenario, every_s: f64) -> Result<(), String> {
    let check = || -> Result<(), RunError> {
        check_interval(&scenario.options, every_s)?;
        Simulation::new(uncalibrated(&scenario.network)?, scenario.options)?;
        Ok(())
    };
    check().map_err(|error| error.to_string())?;
    if scenario.warmup_s < scenario.options.duration_s {
        Ok(())
    } else {
        Err("`warmup` of the scenario is not shorter than the run".to_owned())
    }
}
