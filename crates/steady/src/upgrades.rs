//! Effect of more bandwidth at each link in turn.

use netflow_network::LinkId;
use rayon::prelude::*;

use crate::changed_state::{ChangedState, Intact};
use crate::{Solver, Steady, SteadyError, SteadyOptions, TotalsSteady};

/// Steady state with more bandwidth at one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Upgrade {
    /// The link.
    pub link: LinkId,
    /// Totals of the network.
    pub totals: TotalsSteady,
    /// Load of the link: demand over its new bandwidth.
    pub load: f64,
}

impl Solver {
    /// Adds `more_bps` bit/s to every link with traffic, one at a time, and solves from `before`, the steady state of
    /// this network; returns `None` if it was stopped. The threads of the current rayon pool share the links. The
    /// result is bit-identical for any number of threads.
    ///
    /// # Errors
    /// As [`solve_with_upgrade`](Self::solve_with_upgrade).
    pub fn upgrades(
        &mut self,
        more_bps: f64,
        before: &Steady,
        options: &SteadyOptions,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Upgrade>>, SteadyError> {
        self.evaluate_at(&before.z);
        let solver: &Solver = self;
        let intact = Intact::new(solver, before);
        let upgrade = |state: &mut ChangedState<'_>, link: LinkId| {
            let bandwidth_bps = solver.problem.links[link.index()].bandwidth_bps + more_bps;
            let near = state.with_bandwidth(link.index() as u32, bandwidth_bps, options.tolerance);
            if let Some((totals, load)) = near {
                return Ok(Upgrade { link, totals, load });
            }
            let whole = solver
                .clone()
                .solve_with_upgrade(link, more_bps, before, options)?;
            Ok(Upgrade {
                link,
                totals: whole.totals,
                load: whole.link(link).load,
            })
        };
        let links = solver.network.links();
        let used: Vec<LinkId> = links
            .filter(|&link| before.link(link).offered_pps > 0.0)
            .collect();
        let all: Option<Vec<Result<Upgrade, SteadyError>>> = used
            .par_iter()
            .map_init(
                || ChangedState::new(&intact),
                |state, &link| (!stop()).then(|| upgrade(state, link)),
            )
            .collect();
        all.map(|all| all.into_iter().collect()).transpose()
    }
}
