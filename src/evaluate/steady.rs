//! What is to be said about a steady state.

use netflow_network::{Application, Estimate, LinkId, ModelName, Network, Source};
use netflow_results::{CONSTANT_RATES, Within};
use netflow_scenario::Prepared;
use netflow_steady::{Held, Steady};

use crate::number::{count, plain};

/// What a steady state leaves out, or is not what the scenario asks for: in words.
pub fn steady_notes(scenario: &Prepared, steady: &Steady, at_s: f64) -> Vec<String> {
    let (network, model) = (&scenario.network, scenario.options.model);
    let mut notes = scenario.means_warnings(true);
    notes.extend(estimates(network, steady, at_s));
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

/// Which queues are estimates, and why, as those of a run as a fluid.
fn estimates(network: &Network, steady: &Steady, at_s: f64) -> Vec<String> {
    // Bits/s of bulk TCP by profiles, of constant rates, and of all data.
    let mut sent = vec![[0.0; 3]; network.link_count()];
    for id in network.connections() {
        let (spec, it) = (network.connection_spec(id), steady.connection(id));
        let bps = 8.0 * spec.packet_size_bytes * it.rate_pps;
        let is_bulk = spec.application == Application::Bulk || it.held != Held::Application;
        let of = match spec.source {
            _ if !it.sending => continue,
            Source::Profile(_) if is_bulk => [bps, 0.0, bps],
            Source::Constant { .. } => [0.0, bps, bps],
            _ => [0.0, 0.0, bps],
        };
        for link in network.path_at(id, at_s.next_down()) {
            let sums = sent[link.index()].iter_mut().zip(of);
            sums.for_each(|(sum, bps)| *sum += bps);
        }
    }
    let links = |wanted: Estimate| {
        let is = |&(id, &[profiles, constant, all]): &(LinkId, &[f64; 3])| {
            let queue = network.link_spec(id).queue;
            let is_busy = all > 0.0 && steady.link(id).utilization > Estimate::BUSY;
            is_busy && Estimate::of(queue, profiles / all, constant / all) == Some(wanted)
        };
        let of = network.links().zip(&sent).filter(is);
        let names: Vec<&str> = of.map(|(id, _)| network.link_name(id)).collect();
        let first = names.first()?;
        Some(match names.len() - 1 {
            0 => format!("the queue of {first}"),
            more => format!("the queues of {first} and {}", count(more, "other link")),
        })
    };
    let profiles = links(Estimate::Profiles).map(|queues| {
        format!(
            "{queues}, filled by TCP with profiles: an estimate, within {:.0} % on half of the networks tried; `netflow run` \
             follows packets of sources with `window` or `stack`",
            100.0 * Within::of_fluids(network.is_calibrated()).queues
        )
    });
    let constant = links(Estimate::Constant).map(|queues| {
        format!(
            "{queues}: {CONSTANT_RATES}; `netflow run --set simulation.model=packets` follows them"
        )
    });
    profiles.into_iter().chain(constant).collect()
}
