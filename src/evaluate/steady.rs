//! What is to be said about a steady state.

use netflow_network::ModelName;
use netflow_scenario::Prepared;
use netflow_steady::Steady;

use crate::number::{count, plain};

/// What a steady state leaves out, or is not what the scenario asks for: in words.
pub fn steady_notes(scenario: &Prepared, steady: &Steady, at_s: f64) -> Vec<String> {
    let (network, model) = (&scenario.network, scenario.options.model);
    let mut notes = scenario.means_warnings(true);
    let at_s = plain(at_s);
    if steady.later_events > 0 {
        let events = count(steady.later_events, "event");
        notes.push(format!("{events} after {at_s} s left out"));
    }
    if !matches!(model.name(), ModelName::Fluid) {
        notes.push(
            "the scenario names another model; this is the steady state of `fluid`".to_owned(),
        );
    }
    for &id in &steady.without_route {
        let name = network.connection_name(id);
        notes.push(format!(
            "{name} has no route at {at_s} s, and sends nothing"
        ));
    }
    notes
}
