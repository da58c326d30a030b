//! Traffic that uses only one of several shortest paths.

use std::collections::HashSet;

use netflow_network::ConnectionId;
use netflow_scenario::CompiledScenario;

/// Returns the number of demands and connections with several shortest paths that use only one of
/// them because the scenario has no `ecmp`. Those with an explicit path are not counted.
pub fn on_one_of_several_paths(scenario: &CompiledScenario) -> usize {
    if scenario.ecmp {
        return 0;
    }
    let network = &scenario.network;
    let mut paths = network.to_builder().equal_paths();
    let chosen = network.connections().filter(|&id| {
        let spec = network.connection_spec(id);
        spec.path.is_none() && paths.has_several_paths(spec.from, spec.to)
    });
    let chosen: HashSet<ConnectionId> = chosen.collect();
    // The parts of a demand count once.
    let parts = scenario.split.iter().map(|divided| {
        let parts = divided.parts.iter();
        parts
            .filter(|id| chosen.contains(id))
            .count()
            .saturating_sub(1)
    });
    chosen.len() - parts.sum::<usize>()
}

/// Returns a note with the number of such demands and connections; `how` is the option that splits
/// their traffic.
pub fn equal_paths_note(scenario: &CompiledScenario, chosen: usize, how: &str) -> Option<String> {
    let all = scenario.unsplit_count();
    let verb = if chosen == 1 { "uses" } else { "use" };
    (chosen > 0).then(|| {
        format!(
            "{chosen} of {all} demands and connections {verb} one of several shortest paths; divide traffic among them with `{how}`"
        )
    })
}
