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
    let has_no_path = |id: &ConnectionId| network.connection_spec(*id).path.is_none();
    let routed: Vec<ConnectionId> = network.connections().filter(has_no_path).collect();
    let ends = routed.iter().map(|&id| {
        let spec = network.connection_spec(id);
        (spec.from, spec.to)
    });
    let paths = network.to_builder().equal_paths();
    let have_several = paths.have_several_paths(&ends.collect::<Vec<_>>());
    let several = routed.iter().zip(have_several);
    let chosen: HashSet<ConnectionId> = several.filter(|(_, it)| *it).map(|(&id, _)| id).collect();
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
