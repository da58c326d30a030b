//! What it would take to follow a scenario of fluids as packets.

use netflow_network::{PacketOptions, Source};
use netflow_scenario::Prepared;
use netflow_simulation::Model;

/// About how many seconds the scenario would take as packets on one core at most, if it is a fluid whose TCP has
/// profiles, that takes constant rates for random ones, or that carries transfers or users as their mean. By its demands and bandwidths: no link carries more than either, nor smaller packets of data than there
/// are, nor more acknowledgements than there is data.
pub fn packets_take_at_most_s(scenario: &Prepared) -> Option<f64> {
    let (network, duration_s) = (&scenario.network, scenario.options.duration_s);
    let specs = || network.connections().map(|id| network.connection_spec(id));
    let is_coarse =
        |source: &Source| matches!(source, Source::Profile(_) | Source::Constant { .. });
    let is_coarse = specs().any(|spec| is_coarse(&spec.source));
    let is_fluid = matches!(scenario.options.model, Model::Fluid(_));
    let has_users = scenario.network.workloads().len() > 0;
    (is_fluid && (is_coarse || has_users || scenario.has_means)).then(|| {
        let bits = specs().map(|spec| 8.0 * spec.packet_size_bytes);
        let least_bits = bits.fold(f64::INFINITY, f64::min);
        let demands_bps = network.demand_bps(0.0, duration_s);
        let carried_bps: f64 = network
            .links()
            .zip(demands_bps)
            .map(|(id, demand_bps)| network.bandwidths_bps(id).1.min(demand_bps))
            .sum();
        PacketOptions::takes_s(2.0 * carried_bps / least_bits * duration_s)
    })
}
