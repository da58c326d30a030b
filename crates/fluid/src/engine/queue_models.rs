//! Queue model of every link for the active sources.

use netflow_network::FluidOptions;

use super::Setup;
use super::aqm_law::EarlyDropPolicy;
use super::components::Component;
use super::plan::{BranchPlan, NO_PROFILE, Plan};
use super::sources::FixedDelays;
use crate::link_traffic::{LinkTraffic, Sender, TrafficFlow, add_flows, mark_saturated_sources};
use crate::state::State;
use crate::tcp_drop_tail::DropTailTcpLaw;

impl Plan {
    fn crosser(&self, state: &State, branch: &BranchPlan, fixed: &FixedDelays) -> TrafficFlow<'_> {
        let ranks = |(from, to): (u32, u32)| &self.path[from as usize..to as usize];
        TrafficFlow {
            sender: Sender {
                count: branch.weight,
                rate_pps: (branch.profile == NO_PROFILE).then_some(state.own_pps(branch)),
                application_pps: branch.application_pps,
                window_pkts: branch.window_pkts,
                round_trip_s: fixed.forward_s + fixed.back_s,
                data_bits: branch.data_bits,
                sawtooth_amplitude: match branch.profile {
                    NO_PROFILE => 1.0,
                    profile => self.profiles[profile as usize].sawtooth_amplitude(),
                },
                acks: match branch.acknowledged {
                    u32::MAX => 0.0,
                    _ => branch.packets_per_data,
                },
                transfers: self.transfers[branch.class as usize].as_deref(),
            },
            data: ranks(branch.path),
            return_path: ranks(branch.way_back),
        }
    }
}

/// Returns the traffic of each link, in the order of ranks.
pub(crate) fn traffic_by_link(
    setup: &Setup,
    state: &State,
    active: impl Iterator<Item = u32> + Clone,
    fixed: &[FixedDelays],
) -> Vec<LinkTraffic> {
    let plan = &setup.plan;
    let links = plan.links.iter().zip(&state.links);
    let mut crossings: Vec<LinkTraffic> = links
        .map(|(link, state)| {
            let room = link.room.at(state.bandwidth_bps);
            LinkTraffic::empty(state.bandwidth_bps, link.overhead, room)
        })
        .collect();
    let mut crossers: Vec<TrafficFlow<'_>> = Vec::with_capacity(active.clone().count());
    crossers.extend(active.map(|b| {
        let b = b as usize;
        plan.crosser(state, &plan.branches[b], &fixed[b])
    }));
    mark_saturated_sources(&crossings, &mut crossers);
    add_flows(&mut crossings, crossers.iter().copied());
    crossings
}

/// Computes the queue models of a component; M/M/1/K for the published equations.
pub(super) fn update_queue_models(
    setup: &Setup,
    state: &State,
    component: &Component,
    active: impl Iterator<Item = u32> + Clone,
    fixed: &[FixedDelays],
    out: &mut [DropTailTcpLaw],
) {
    if matches!(setup.options, FluidOptions::Literal { .. }) {
        return;
    }
    let crossings = traffic_by_link(setup, state, active, fixed);
    for rank in component.links.clone() {
        let (filling, crossing) = (&mut out[rank], &crossings[rank]);
        let link = &setup.plan.links[rank];
        let drops_early = matches!(link.early, Some(EarlyDropPolicy::Red(_))) || link.rio.is_some();
        *filling = crossing.queue_model(link.calibration, drops_early);
        if let Some(EarlyDropPolicy::Pie(_)) = link.early {
            *filling = filling.under_pie();
        }
    }
}
