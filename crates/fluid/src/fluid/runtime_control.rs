//! Runtime control of the engine between steps.

use netflow_diffserv::Error;
use netflow_network::{AggregateId, ConnectionId, ControlState, LinkId, LinkLoss, MarkerRates};

use super::Fluid;
use crate::engine::Setup;
use crate::state::{ControlRecord, State};

impl Fluid {
    /// Sets the bandwidth of a link from now on, as an event does. The network must list it from the start
    /// ([`Network::bandwidths_bps`](netflow_network::Network::bandwidths_bps)).
    pub fn set_bandwidth(&mut self, id: LinkId, bandwidth_bps: f64) {
        let rank = self.setup.plan.rank[id.index()] as usize;
        self.state.links[rank].bandwidth_bps = bandwidth_bps;
        self.scratch.links_changed(&self.setup, &self.state);
    }

    /// Sets the propagation delay of a link from now on, in seconds, as an event does. The network must list
    /// it from the start ([`Network::delays_s`](netflow_network::Network::delays_s)).
    pub fn set_delay(&mut self, id: LinkId, delay_s: f64) {
        let rank = self.rank(id);
        if self.setup.set_delay(&mut self.state, rank, delay_s) {
            self.scratch.links_changed(&self.setup, &self.state);
        }
    }

    /// Sets the random loss of a link from now on, as an event does.
    pub fn set_loss(&mut self, id: LinkId, loss: &LinkLoss) {
        let rank = self.rank(id);
        if self.state.set_loss(rank, *loss) {
            self.scratch.links_changed(&self.setup, &self.state);
            self.scratch
                .on_the_way
                .update(&self.setup.plan, &self.state);
        }
    }

    /// Sets the control values of a connection from now on, if the connection is controllable. Packets in
    /// flight keep their path.
    pub fn set(&mut self, id: ConnectionId, set: ControlState) {
        let inner = self.setup.network.tables();
        let Some(place) = inner.control_index(id.index() as u32) else {
            return;
        };
        let (unrouted_pkts, blocked_s) = self.blocked(id);
        let is_start = self.state.steps() == 0;
        let before = self.state.set[place];
        self.state.set[place] = ControlRecord {
            now: set,
            first_path: if is_start {
                set.path
            } else {
                before.first_path
            },
            since_s: self.state.time_s(),
            unrouted_pkts,
            blocked_s,
        };
        if is_start && set.path != before.now.path {
            self.rebuild()
        } else {
            self.scratch.links_changed(&self.setup, &self.state)
        }
    }

    /// Rebuilds the engine before the first step, so that the order of the links matches the initial control
    /// values.
    fn rebuild(&mut self) {
        let before = &self.state;
        let paths: Vec<Option<u32>> = before.set.iter().map(|it| it.first_path).collect();
        let network = self.setup.network.clone();
        let setup = Setup::new(network, self.setup.options, &paths);
        let mut state = State::new(&setup, self.duration_s, before.clocks[0].last_step_s);
        for (l, &rank) in self.setup.plan.rank.iter().enumerate() {
            let (from, to) = (rank as usize, setup.plan.rank[l] as usize);
            state.links[to].bandwidth_bps = before.links[from].bandwidth_bps;
            state.links[to].delay_s = before.links[from].delay_s;
            state.set_loss(to, before.loss(from));
        }
        state.set.clone_from(&before.set);
        state.aggregates.clone_from(&before.aggregates);
        *self = Fluid::assemble(setup, self.duration_s, self.seed, state);
    }

    /// Sets the marker rates of an aggregate from now on. At the start, its rate estimator begins with the
    /// committed rate.
    ///
    /// # Errors
    /// The errors of [`Edge::with_rates`](netflow_network::Edge::with_rates).
    pub fn set_marker(&mut self, id: AggregateId, rates: MarkerRates) -> Result<(), Error> {
        let edge = &mut self.scratch.edges[id.index()];
        *edge = edge.with_rates(rates, 0)?;
        let is_start = self.state.steps() == 0;
        let aggregate = &mut self.state.aggregates[id.index()];
        aggregate.set = Some(edge.rates());
        if is_start {
            aggregate.measured_bps = edge.committed_bps();
        }
        Ok(())
    }

    /// Returns the packets that had no route until now (or until the transfer was complete), and the duration
    /// in seconds.
    pub(super) fn blocked(&self, id: ConnectionId) -> (f64, f64) {
        let (branches, _) = self.branches_of(id);
        let branches = branches.iter();
        let finished_s = branches.filter_map(|&b| self.state.branches[b as usize].done_s);
        let until_s = finished_s.fold(self.state.time_s(), f64::min);
        let inner = self.setup.network.tables();
        let place = inner.control_index(id.index() as u32);
        let set = place.map_or(ControlRecord::default(), |place| self.state.set[place]);
        let network = &self.setup.network;
        let (pkts, seconds) = network.blocked_traffic(id, set.now, set.since_s, until_s);
        (set.unrouted_pkts + pkts, set.blocked_s + seconds)
    }
}
