//! Notes and warnings about a steady state.

use std::collections::HashMap;

use netflow_network::{ConnectionId, Estimate, LinkId, ModelName, Network};
use netflow_results::{AccuracyBounds, SIZE_DEPENDENT_LOSS_NOTE, TestedTcp, estimate_reason};
use netflow_scenario::CompiledScenario;
use netflow_steady::{Demand, Steady};

use super::overload::steady_overload;
use super::{equal_paths_note, on_one_of_several_paths};
use crate::number::plain;

/// Returns notes on the accuracy of a steady state.
pub fn steady_notes(scenario: &CompiledScenario, steady: &Steady) -> Vec<String> {
    let mut notes = scenario.mean_traffic_notes(true);
    notes.extend(estimates(&scenario.network, steady));
    notes
}

/// Returns the demands and connections of the scenario, each with all its parts.
pub fn steady_demands(scenario: &CompiledScenario) -> Vec<Demand> {
    let parts = scenario.split.iter().enumerate();
    let split_of: HashMap<ConnectionId, usize> = parts
        .flat_map(|(i, split)| split.parts.iter().map(move |&id| (id, i)))
        .collect();
    let network = &scenario.network;
    let demand = |id: ConnectionId| match split_of.get(&id).map(|&i| &scenario.split[i]) {
        None => Some(Demand {
            name: network.connection_name(id).to_owned(),
            connections: vec![id],
        }),
        // The first part represents all.
        Some(split) => (split.parts.first() == Some(&id)).then(|| Demand {
            name: split.name.clone(),
            connections: split.parts.clone(),
        }),
    };
    network.connections().filter_map(demand).collect()
}

/// Returns warnings about a steady state: conditions that the model does not cover, overload, and
/// differences from the scenario.
pub fn steady_warnings(scenario: &CompiledScenario, steady: &Steady, at_s: f64) -> Vec<String> {
    let (network, model) = (&scenario.network, scenario.options.model);
    let mut warnings = scenario.model_warnings(true, at_s);
    warnings.extend(steady_overload(network, steady));
    let loss = |link| steady.link(link).loss_probability;
    warnings.extend(super::warnings::lost_acks(network, at_s, loss));
    let chosen = on_one_of_several_paths(scenario);
    warnings.extend(equal_paths_note(
        scenario,
        chosen,
        "--set simulation.ecmp=true",
    ));
    let at_s = plain(at_s);
    if steady.later_events > 0 {
        let changes = match steady.later_events {
            1 => "1 change of a link".to_owned(),
            n => format!("{n} changes of links"),
        };
        warnings.push(format!("ignoring {changes} after {at_s} s"));
    }
    if !matches!(model.name(), ModelName::Fluid) {
        warnings.push(
            "the scenario selects another model; this is the steady state of the fluid model"
                .to_owned(),
        );
    }
    for &id in &steady.without_route {
        let name = network.connection_name(id);
        warnings.push(format!("{name} has no route at {at_s} s and sends nothing"));
    }
    warnings
}

/// Returns whether a steady-state queue is an estimate because of packet arrival patterns or packet
/// sizes.
fn is_packet_estimate(why: Estimate) -> bool {
    match why {
        Estimate::Acks
        | Estimate::Constant
        | Estimate::InOrder
        | Estimate::Sizes
        | Estimate::Alike => true,
        // A steady state is a mean, without packets.
        Estimate::Classes
        | Estimate::Profiles
        | Estimate::EarlyDrops
        | Estimate::Transfers
        | Estimate::Bursts
        | Estimate::Nanoseconds => false,
    }
}

/// Returns notes about estimated queues and the reasons, as in a run of the fluid model.
fn estimates(network: &Network, steady: &Steady) -> Vec<String> {
    let links = || network.links().zip(&steady.links);
    let all: Vec<(LinkId, Estimate)> = links()
        .filter_map(|(id, link)| Some((id, link.estimate?)))
        .collect();
    let mut notes = Vec::new();
    let tcp = TestedTcp::of(network.has_cubic_profiles());
    let accuracy = AccuracyBounds::of_fluid_model(tcp, network.is_calibrated());
    for reason in Estimate::ALL {
        let is_shown = reason == Estimate::Profiles || is_packet_estimate(reason);
        let links = all.iter().filter(|it| it.1 == reason);
        let links: Vec<LinkId> = links.map(|it| it.0).collect();
        if let Some(names) = network.first_link_name(&links).filter(|_| is_shown) {
            let text = estimate_reason(reason, &accuracy);
            notes.push(format!("{names}: {text}"));
        }
    }
    let by_size = links().filter(|(_, link)| link.loss_is_size_dependent);
    let by_size: Vec<LinkId> = by_size.map(|it| it.0).collect();
    if let Some(links) = network.first_link_name(&by_size) {
        notes.push(format!("{links}: {SIZE_DEPENDENT_LOSS_NOTE}"));
    }
    notes
}
