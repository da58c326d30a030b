//! What is to be said about a steady state.

use netflow_network::filled::{FilledBy, Kind};
use netflow_network::{Application, Estimate, LinkId, ModelName, Network};
use netflow_results::{LOSS_BY_SIZE, Within, reason};
use netflow_scenario::Prepared;
use netflow_steady::{Held, Steady};

use crate::number::{count, plain};

/// What a steady state leaves out, or is not what the scenario asks for: in words.
pub fn steady_notes(scenario: &Prepared, steady: &Steady, at_s: f64) -> Vec<String> {
    let (network, model) = (&scenario.network, scenario.options.model);
    let mut notes = scenario.means_warnings(true, at_s);
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
    let mut filled = vec![FilledBy::default(); network.link_count()];
    let bandwidth_bps = |id: LinkId| network.link_spec(id).bandwidth_bps;
    for id in network.connections() {
        let (spec, it) = (network.connection_spec(id), steady.connection(id));
        if !it.sending {
            continue;
        }
        let is_bulk = spec.application == Application::Bulk || it.held != Held::Application;
        let kind = Kind::of(spec, is_bulk);
        let mut above = None;
        for link in network.path_at(id, at_s.next_down()) {
            let after = above.filter(|&above| bandwidth_bps(above) <= bandwidth_bps(link));
            filled[link.index()].add(kind, it.rate_pps, 8.0 * spec.packet_size_bytes, after);
            above = Some(link);
        }
    }
    let note = |wanted: Estimate| {
        let is = |&(id, filled): &(LinkId, &FilledBy)| {
            let busy = steady.link(id).utilization;
            // Of what is carried as its mean there are warnings of their own.
            let mut reasons = filled.reasons(network.link_spec(id).queue, busy);
            reasons.find(|&it| !matches!(it, Estimate::Transfers | Estimate::Bursts)) == Some(wanted)
        };
        let of = network.links().zip(&filled).filter(is);
        let names: Vec<&str> = of.map(|(id, _)| network.link_name(id)).collect();
        let first = names.first()?;
        let queues = match names.len() - 1 {
            0 => format!("the queue of {first}"),
            more => format!("the queues of {first} and {}", count(more, "other link")),
        };
        Some(match wanted {
            Estimate::Profiles => format!(
                "{queues}, filled by TCP with profiles: {}; `netflow run` follows packets of sources with `window` or `stack`",
                Within::of_fluids(network.is_calibrated()).queues_in_words()
            ),
            // At rest there is nothing but the mean, and no packets.
            Estimate::Classes
            | Estimate::EarlyDrops
            | Estimate::Transfers
            | Estimate::Bursts
            | Estimate::Nanoseconds => return None,
            Estimate::Constant | Estimate::InOrder | Estimate::Sizes | Estimate::Alike => {
                let why = reason(wanted);
                format!(
                    "{queues}: {why}; `netflow run --set simulation.model=packets` follows them"
                )
            }
        })
    };
    let mut notes: Vec<String> = Estimate::ALL.into_iter().filter_map(note).collect();
    let by_size = network.links().zip(&filled);
    let mut by_size = by_size.filter(|(id, filled)| {
        let loss = steady.link(*id).loss_probability;
        filled.loses_by_size(network.link_spec(*id), loss)
    });
    if let Some((first, _)) = by_size.next() {
        let first = network.link_name(first);
        let links = match by_size.count() {
            0 => first.to_owned(),
            more => format!("{first} and {}", count(more, "other link")),
        };
        notes.push(format!(
            "losses at {links}: {LOSS_BY_SIZE}; `netflow run --set simulation.model=packets` follows them"
        ));
    }
    notes
}
