//! Cost estimate of simulating a fluid scenario in the packet model.

use netflow_network::{PacketOptions, Source};
use netflow_scenario::CompiledScenario;
use netflow_simulation::Model;

/// Returns an upper estimate of the seconds that the packet model would need on one core.
///
/// Returns `None` unless the scenario uses the fluid model with TCP profiles, constant rates
/// (modelled as random), or transfers or users modelled as their mean. The bound follows from
/// demands and bandwidths: no link carries more than either, packets are not smaller than the
/// smallest data packets, and there are at most as many acknowledgements as data packets.
pub fn max_packet_model_s(scenario: &CompiledScenario) -> Option<f64> {
    let (network, duration_s) = (&scenario.network, scenario.options.duration_s);
    let specs = || network.connections().map(|id| network.connection_spec(id));
    let is_coarse =
        |source: &Source| matches!(source, Source::Profile(_) | Source::Constant { .. });
    let is_coarse = specs().any(|spec| is_coarse(&spec.source));
    let is_fluid = matches!(scenario.options.model, Model::Fluid(_));
    let has_users = scenario.network.workloads().len() > 0;
    (is_fluid && (is_coarse || has_users || scenario.has_mean_traffic)).then(|| {
        let bits = specs().map(|spec| 8.0 * spec.packet_size_bytes);
        let least_bits = bits.fold(f64::INFINITY, f64::min);
        let demands_bps = network.demand_bps(0.0, duration_s);
        let carried_bps: f64 = network
            .links()
            .zip(demands_bps)
            .map(|(id, demand_bps)| network.bandwidths_bps(id).1.min(demand_bps))
            .sum();
        PacketOptions::estimated_runtime_s(2.0 * carried_bps / least_bits * duration_s)
    })
}
