//! What it would take to follow a scenario of fluids as packets.

use netflow_network::{Acks, Application, LinkId, Network, PacketOptions, Source};
use netflow_scenario::Prepared;
use netflow_simulation::Model;

/// At most about how many seconds the scenario would take as packets on one core, if it is a fluid whose TCP has
/// profiles. A bound by its bandwidths: nobody sends more than the narrowest link of its way takes, nor a link.
pub fn packets_take_at_most_s(scenario: &Prepared) -> Option<f64> {
    let network = &scenario.network;
    let has_profile = |id| matches!(network.connection_spec(id).source, Source::Profile(_));
    let is_fluid = matches!(scenario.options.model, Model::Fluid(_));
    (is_fluid && network.connections().any(has_profile)).then(|| {
        let arrivals_pps: f64 = most_pps(network).iter().sum();
        PacketOptions::takes_s(arrivals_pps * scenario.options.duration_s)
    })
}

/// Packets/s that arrive at each link at most, if hardly anything is lost.
fn most_pps(network: &Network) -> Vec<f64> {
    let links = network.links();
    let most_bps: Vec<f64> = links.map(|id| network.bandwidths_bps(id).1).collect();
    let mut data_pps = vec![0.0; network.link_count()];
    let mut acks_pps = data_pps.clone();
    let mut room_pps = data_pps.clone();
    for id in network.connections() {
        let spec = network.connection_spec(id);
        let bits = 8.0 * spec.packet_size_bytes;
        let path = network.path(id);
        let narrowest =
            |most_pps: f64, link: &LinkId| f64::min(most_pps, most_bps[link.index()] / bits);
        let own_pps = match (&spec.source, spec.application) {
            (Source::Constant { rate_pps } | Source::Poisson { rate_pps }, _) => *rate_pps,
            (Source::Users(traffic), _) => traffic.mean_pps,
            (_, Application::Bulk) => f64::INFINITY,
            (_, application) => application.mean_pps(),
        };
        let wanted_pps = own_pps * f64::from(spec.count);
        let pps = path.iter().fold(wanted_pps, narrowest);
        if !pps.is_finite() {
            continue; // no way leads there
        }
        for link in path {
            let l = link.index();
            data_pps[l] += pps;
            room_pps[l] = f64::max(room_pps[l], most_bps[l] / bits);
        }
        let acks = match spec.acks {
            Acks::None => 0.0,
            Acks::EveryPacket => 1.0,
            Acks::EverySecond => 0.5,
        };
        for link in network.return_path(id) {
            acks_pps[link.index()] += pps * acks;
        }
    }
    // Acknowledgements are as many as their data on the narrowest link, which is at most all that passes there.
    let links = data_pps.iter().zip(&room_pps).zip(&acks_pps);
    links
        .map(|((&data, &room), &acks)| f64::min(data, room) + acks)
        .collect()
}
