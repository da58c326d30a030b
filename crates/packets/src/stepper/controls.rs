//! Settings that change between steps.

use netflow_diffserv::Error;
use netflow_network::{AggregateId, ConnectionId, ControlState, LinkId, LinkLoss, MarkerRates};

use super::Packets;
use crate::engine::Engine;
use crate::ns;

impl Packets {
    /// Sets the bandwidth of a link in bit/s from now on, as an event does.
    pub fn set_bandwidth(&mut self, id: LinkId, bandwidth_bps: f64) {
        self.in_network = Default::default();
        self.engine.change_bandwidth(id.index(), bandwidth_bps);
    }

    /// Sets the losses of a link in transit from now on, as an event does.
    pub fn set_loss(&mut self, id: LinkId, loss: &LinkLoss) {
        self.in_network = Default::default();
        self.engine.change_loss(id.index(), loss);
    }

    /// Sets the propagation delay of a link in seconds from now on, as an event does.
    pub fn set_delay(&mut self, id: LinkId, delay_s: f64) {
        self.in_network = Default::default();
        self.engine.change_delay(id.index(), ns(delay_s));
    }

    /// Sets values of a settable connection from now on. Packets in flight keep their path.
    pub fn set_control(&mut self, id: ConnectionId, set: ControlState) {
        let connection = id.index() as u32;
        let Some(place) = self.engine.network.tables().control_index(connection) else {
            return;
        };
        let before = std::mem::replace(&mut self.engine.control_states[place], set);
        if set.rate_pps != before.rate_pps
            && let Some(rate_pps) = set.rate_pps
        {
            for t in self.transfer_indices(id).collect::<Vec<usize>>() {
                self.engine.set_rate(t, rate_pps);
            }
        }
        if set.path != before.path {
            self.in_network = Default::default();
            match self.engine.now_ns {
                0 => self.reset(),
                _ => self.engine.reroute_connection(connection),
            }
        }
    }

    /// Sets the rates of an aggregate's marker from now on.
    ///
    /// # Errors
    /// Those of [`Edge::with_rates`](netflow_network::Edge::with_rates).
    pub fn set_marker(&mut self, id: AggregateId, rates: MarkerRates) -> Result<(), Error> {
        let now_ns = self.engine.now_ns;
        self.engine.edge_markers[id.index()].set_rates(now_ns, rates)
    }

    /// Makes the engine anew at time 0, as if the settings had been there from the start. Simultaneous events
    /// are then in the order of connections.
    fn reset(&mut self) {
        let interval_ns = ns(self.options.burstiness_interval_s);
        let before = &mut self.engine;
        let (network, set) = (
            before.network.clone(),
            std::mem::take(&mut before.control_states),
        );
        let mut engine = Engine::new(network, before.seed, interval_ns, set);
        engine.edge_markers = std::mem::take(&mut before.edge_markers);
        engine.partitions.threads = before.partitions.threads;
        for l in 0..engine.links.len() {
            let link = &before.links[l];
            if engine.links[l].bandwidth_bps != link.bandwidth_bps {
                engine.change_bandwidth(l, link.bandwidth_bps);
            }
            if engine.links[l].loss() != link.loss() {
                engine.change_loss(l, link.loss());
            }
            if engine.links[l].delay_ns != link.delay_ns {
                engine.change_delay(l, link.delay_ns);
            }
        }
        *before = engine;
    }
}
