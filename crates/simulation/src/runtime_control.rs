//! Run-time control of a simulation between its steps: bandwidths, losses, delays, paths, rates and
//! markers.
//!
//! All possible values are announced before the start, because the engines size their data
//! structures by them.

use netflow_network::compiled::PathPair;
use netflow_network::{
    AggregateId, BuildError, Change, ConnectionId, ControlState, EventSpec, LinkId, LinkLoss,
    MarkerRates, Network, NodeId, RunError,
};

use crate::simulation::{EngineKind, Simulation};

/// Returns the network with additional possible link bandwidths in bit/s.
///
/// [`Simulation::set_bandwidth`] accepts any value between the minimum and maximum of each link.
/// Until it is called, results do not change. Link ids belong to the returned network.
///
/// # Errors
/// If a bandwidth is invalid.
pub fn with_bandwidths(
    network: &Network,
    bandwidths: &[(LinkId, f64)],
) -> Result<Network, Vec<BuildError>> {
    with_possible_changes(network, bandwidths, Change::Bandwidth)
}

/// Returns the network with additional possible link delays in seconds.
///
/// [`Simulation::set_delay`] accepts any value between the minimum and maximum of each link. Until
/// it is called, packets have the same times; only percentiles of delays may differ, within their
/// accuracy. The fluid model may take shorter steps, and sum in another order. Link ids belong to
/// the returned network.
///
/// # Errors
/// If a delay is invalid.
pub fn with_delays(
    network: &Network,
    delays: &[(LinkId, f64)],
) -> Result<Network, Vec<BuildError>> {
    with_possible_changes(network, delays, Change::Delay)
}

/// Returns the network with additional possible changes of links.
fn with_possible_changes(
    network: &Network,
    values: &[(LinkId, f64)],
    change: fn(f64) -> Change,
) -> Result<Network, Vec<BuildError>> {
    let mut builder = network.to_builder();
    for &(link, value) in values {
        builder.event(EventSpec {
            at_s: EventSpec::NEVER_S,
            link,
            change: change(value),
        });
    }
    builder.build()
}

/// Returns the network with additional possible paths of connections (nodes from sender to
/// receiver).
///
/// [`Simulation::set_route`] accepts each of them, and the path that the routes give while all
/// links work. Until it is called, packets have the same times; only percentiles of these
/// connections' delays may differ, within their accuracy. The fluid model sums in another order. If
/// data paths form a cycle, some links may forward data one step earlier or later. Summaries and
/// other descriptions of the network use the paths that it was built with.
///
/// # Errors
/// [`BuildError::BadPath`] if a path is invalid.
pub fn with_paths(
    network: &Network,
    paths: &[(ConnectionId, Vec<NodeId>)],
) -> Result<Network, Vec<BuildError>> {
    let mut builder = network.to_builder();
    for (connection, path) in paths {
        builder.allow_path(*connection, path.clone());
    }
    builder.build()
}

/// Returns the network with additional possible rates of connections, in packets/s of each of their
/// `count`.
///
/// [`Simulation::set_rate`] accepts any value between the minimum and maximum of each connection,
/// including its original rate; 0 only if announced. Until it is called, packets have the same
/// times; the fluid model sums in another order. Descriptions of the network use the rates that it
/// was built with.
///
/// # Errors
/// [`BuildError::NotSettable`] for sources that control their own rate (TCP and users);
/// [`BuildError::OutOfRange`] if a rate is invalid.
pub fn with_rates(
    network: &Network,
    rates: &[(ConnectionId, f64)],
) -> Result<Network, Vec<BuildError>> {
    let mut builder = network.to_builder();
    for &(connection, rate_pps) in rates {
        builder.allow_rate(connection, rate_pps);
    }
    builder.build()
}

fn bad<T>(option: &'static str, reason: String) -> Result<T, RunError> {
    Err(RunError::BadOption { option, reason })
}

impl Simulation {
    /// Sets the link's bandwidth in bit/s from now on, as an event does. The service times of
    /// queued packets change.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if it is not between the link's minimum and maximum bandwidth
    /// ([`Network::bandwidths_bps`]); see [`with_bandwidths`].
    pub fn set_bandwidth(&mut self, id: LinkId, bandwidth_bps: f64) -> Result<(), RunError> {
        id.within(self.owner());
        let network = self.engine().network();
        let (least, most) = network.bandwidths_bps(id);
        if !(least..=most).contains(&bandwidth_bps) {
            let link = network.link_name(id);
            return bad(
                "bandwidth",
                format!(
                    "{bandwidth_bps} bit/s are not between {least} and {most} bit/s, which {link} may have"
                ),
            );
        }
        for queue in network.queues_of(id) {
            match &mut self.stepper {
                EngineKind::Fluid(fluid) => fluid.set_bandwidth(queue, bandwidth_bps),
                EngineKind::Packets(packets) => packets.set_bandwidth(queue, bandwidth_bps),
            }
        }
        Ok(())
    }

    /// Sets the link's random loss from now on, as an event does. It applies to packets whose
    /// transmission ends later. Setting the current value has no effect.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if the loss is invalid ([`LinkLoss::check`]).
    pub fn set_loss(&mut self, id: LinkId, loss: &LinkLoss) -> Result<(), RunError> {
        id.within(self.owner());
        if let Err(error) = loss.check() {
            return bad("loss", error.to_string());
        }
        for queue in self.engine().network().queues_of(id) {
            match &mut self.stepper {
                EngineKind::Fluid(fluid) => fluid.set_loss(queue, loss),
                EngineKind::Packets(packets) => packets.set_loss(queue, loss),
            }
        }
        Ok(())
    }

    /// Sets the link's propagation delay in seconds from now on, as an event does. It applies to
    /// packets whose transmission ends later; packets in flight keep their arrival times. Setting
    /// the current value has no effect.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if it is not between the link's minimum and maximum delay
    /// ([`Network::delays_s`]); see [`with_delays`].
    pub fn set_delay(&mut self, id: LinkId, delay_s: f64) -> Result<(), RunError> {
        id.within(self.owner());
        let network = self.engine().network();
        let (least, most) = network.delays_s(id);
        if !(least..=most).contains(&delay_s) {
            let link = network.link_name(id);
            return bad(
                "delay",
                format!("{delay_s} s are not between {least} and {most} s, which {link} may have"),
            );
        }
        for queue in network.queues_of(id) {
            match &mut self.stepper {
                EngineKind::Fluid(fluid) => fluid.set_delay(queue, delay_s),
                EngineKind::Packets(packets) => packets.set_delay(queue, delay_s),
            }
        }
        Ok(())
    }

    /// Sets the path of the connection's data from now on, as if it were the
    /// [path](netflow_network::ConnectionSpec::path) of its specification.
    ///
    /// The return path is the reversed path unless it was specified. If a link of the path fails
    /// later, packets are lost there until another path is set. `None` selects the network's own
    /// routes. Packets in flight keep their path.
    ///
    /// # Errors
    /// [`RunError::BadOption`] for a path that was not announced ([`Network::paths`]; see
    /// [`with_paths`]), or if a link of it or of the return path has failed.
    ///
    /// # Panics
    /// If a node belongs to another network.
    pub fn set_route(&mut self, id: ConnectionId, path: Option<&[NodeId]>) -> Result<(), RunError> {
        id.within(self.owner());
        for node in path.into_iter().flatten() {
            node.within(self.owner());
        }
        let before = self.engine().control_state(id);
        let path = match path {
            Some(nodes) => Some(self.usable_path_index(id, nodes)?),
            None => None,
        };
        self.apply_control_state(id, ControlState { path, ..before });
        Ok(())
    }

    /// Sets the rate of each of the connection's `count` in packets/s from now on; for a Poisson
    /// source, the mean. The remaining time until the next packet scales inversely with the rate;
    /// it is frozen at rate 0.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if the rate is not between the source's minimum and maximum
    /// ([`Network::rates_pps`]; see [`with_rates`]), or if the source controls its own rate (TCP
    /// and users).
    pub fn set_rate(&mut self, id: ConnectionId, rate_pps: f64) -> Result<(), RunError> {
        id.within(self.owner());
        let network = self.engine().network();
        let name = network.connection_name(id);
        let own_pps = match network.own_rate_pps(id) {
            Ok(own_pps) => own_pps,
            Err(why) => return bad("rate", format!("connection `{name}`: {why}")),
        };
        let (least, most) = network.rates_pps(id).unwrap_or((own_pps, own_pps));
        if !(least..=most).contains(&rate_pps) {
            let reason = format!(
                "{rate_pps} pkt/s are not between {least} and {most} pkt/s, which `{name}` may have"
            );
            return bad("rate", reason);
        }
        let before = self.engine().control_state(id);
        if rate_pps != before.rate_pps.unwrap_or(own_pps) {
            let rate_pps = Some(rate_pps);
            self.apply_control_state(id, ControlState { rate_pps, ..before });
        }
        Ok(())
    }

    /// Sets the rates of an aggregate's marker from now on. Its measurements and its token buckets
    /// keep their state. ([`Network::aggregate_of`] returns the aggregate of a connection.)
    ///
    /// # Errors
    /// [`RunError::BadOption`] for a rate outside 0 to 1e18 bit/s, for a peak rate below the
    /// committed rate, and for a peak rate of a marker without one.
    pub fn set_marker(&mut self, id: AggregateId, rates: MarkerRates) -> Result<(), RunError> {
        id.within(self.owner());
        let set = match &mut self.stepper {
            EngineKind::Fluid(fluid) => fluid.set_marker(id, rates),
            EngineKind::Packets(packets) => packets.set_marker(id, rates),
        };
        set.or_else(|error| {
            let name = &self.engine().network().aggregate_spec(id).name;
            bad("marker", format!("aggregate `{name}`: {error}"))
        })
    }

    /// Returns the current rates of an aggregate's marker.
    pub fn marker_rates(&self, id: AggregateId) -> MarkerRates {
        id.within(self.owner());
        self.engine().marker_rates(id)
    }

    fn apply_control_state(&mut self, id: ConnectionId, set: ControlState) {
        if set == self.engine().control_state(id) {
            return;
        }
        match &mut self.stepper {
            EngineKind::Fluid(fluid) => fluid.set(id, set),
            EngineKind::Packets(packets) => packets.set_control(id, set),
        }
    }

    /// Returns the index of the announced path `nodes`, or an error if it was not announced or does
    /// not work.
    fn usable_path_index(&self, id: ConnectionId, nodes: &[NodeId]) -> Result<u32, RunError> {
        let engine = self.engine();
        let network = engine.network();
        let name = network.connection_name(id);
        let along = |nodes: &[NodeId]| {
            let names = nodes.iter().map(|&node| network.node_name(node));
            format!("[{}]", names.collect::<Vec<_>>().join(", "))
        };
        let paths = network.paths(id);
        let Some(path) = paths.iter().position(|path| path == nodes) else {
            let all: Vec<String> = paths.iter().map(|path| along(path)).collect();
            let allowed = if all.is_empty() {
                "no path of it was announced".to_owned()
            } else {
                format!("it may take {}", all.join(" or "))
            };
            let reason = format!("`{name}` may not take {}: {allowed}", along(nodes));
            return bad("path", reason);
        };
        let inner = network.tables();
        let Some(branch) = engine.class_path_over(id, Some(path as u32)) else {
            let reason = format!("{} leaves `{name}` no way back now", along(nodes));
            return bad("path", reason);
        };
        let way = PathPair::new(inner, branch);
        let mut links = way.links().map(|l| LinkId::new(l, inner.owner));
        if let Some(failed) = links.find(|&link| engine.is_down(link)) {
            let reason = format!(
                "{} of `{name}` crosses link {}, which has failed",
                along(nodes),
                network.link_name(failed)
            );
            return bad("path", reason);
        }
        Ok(path as u32)
    }
}
