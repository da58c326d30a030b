//! Explanation of a connection's rate at a given time.

use std::cell::Cell;
use std::convert::Infallible;

use netflow_network::{ConnectionId, Explanation, Interval, Recorder, RunError};
use netflow_scenario::CompiledScenario;
use netflow_simulation::Simulation;

use super::{Settings, calibrated};

/// Simulates a scenario until `at_s` seconds (at most its duration) and explains the rate of a
/// connection at that time. Losses and utilizations are those of the recording interval of at most
/// half a second that ends there.
///
/// # Errors
/// As [`Simulation::run`].
///
/// # Panics
/// If the connection belongs to another network.
pub fn explain(
    scenario: &CompiledScenario,
    connection: ConnectionId,
    at_s: f64,
) -> Result<Explanation, RunError> {
    let ready = calibrated(scenario, &|| false)?;
    let network = ready.map_or_else(|| scenario.network.clone(), |it| it.network.clone());
    let mut simulation = Simulation::new(network, scenario.options)?;
    let is_there = Cell::new(false);
    let mut last = ExplanationRecorder {
        connection,
        at_s,
        explanation: None,
        is_reached: &is_there,
    };
    if at_s > 0.0 {
        // Intervals of at most the default length, so that one ends at `at_s`.
        let intervals = (at_s / Settings::default().every_s - 1e-9).ceil().max(1.0);
        simulation.run(at_s / intervals, &mut last, || is_there.get())?;
    }
    Ok(last
        .explanation
        .unwrap_or_else(|| simulation.explain(connection)))
}

/// Recorder that keeps the explanation in the last interval.
struct ExplanationRecorder<'a> {
    connection: ConnectionId,
    at_s: f64,
    explanation: Option<Explanation>,
    is_reached: &'a Cell<bool>,
}

impl Recorder for ExplanationRecorder<'_> {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        if interval.time_s >= self.at_s - 1e-9 {
            self.is_reached.set(true);
            self.explanation = Some(interval.explain(self.connection));
        }
        Ok(())
    }
}
