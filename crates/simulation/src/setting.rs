//! What is set of a simulation between its steps, by a controller say: bandwidths, losses, delays, paths, rates and
//! markers.
//!
//! What may happen is announced before the start, since engines size what they keep by it.

use netflow_network::tables::{NO_BRANCH, Way};
use netflow_network::{
    AggregateId, BuildError, Change, ConnectionId, EventSpec, LinkId, LinkLoss, MarkerRates,
    Network, NodeId, RunError, Set,
};

use crate::simulation::{Simulation, Stepper};

/// The network, in which links may have these bandwidths besides, in bit/s: between the least and the most of each
/// [`Simulation::set_bandwidth`] may set it. Until that happens nothing is different. (The ids of its links are its
/// own.)
///
/// # Errors
/// If a bandwidth is none.
pub fn with_bandwidths(
    network: &Network,
    bandwidths: &[(LinkId, f64)],
) -> Result<Network, Vec<BuildError>> {
    announce(network, bandwidths, Change::Bandwidth)
}

/// The network, in which links may have these delays besides, in seconds: between the shortest and the longest of each
/// [`Simulation::set_delay`] may set it. Until that happens packets go as they would, and only the percentiles of delays may
/// differ, within what they are exact to; fluids may take shorter steps, and sum in another order. (The ids of its links are its
/// own.)
///
/// # Errors
/// If a delay is none.
pub fn with_delays(
    network: &Network,
    delays: &[(LinkId, f64)],
) -> Result<Network, Vec<BuildError>> {
    announce(network, delays, Change::Delay)
}

/// The network, in which this may happen to links.
fn announce(
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

/// The network, in which connections may take these paths besides (nodes from sender to receiver): to each, and to the
/// path that they have by themselves while all links work, [`Simulation::set_route`] may set them.
///
/// Until that happens packets go as they would, and only the percentiles of these connections' delays may differ, within
/// what they are exact to. Fluids sum in another order, and where data goes round in circles some links may hand it on a step sooner
/// or later. Summaries and all else that is told of the network itself are of the paths that it was built with.
///
/// # Errors
/// If a path is none: [`BuildError::BadPath`].
pub fn with_paths(
    network: &Network,
    paths: &[(ConnectionId, Vec<NodeId>)],
) -> Result<Network, Vec<BuildError>> {
    let mut builder = network.to_builder();
    for (connection, path) in paths {
        builder.may_take(*connection, path.clone());
    }
    builder.build()
}

/// The network, in which connections may have these rates besides, in packets/s of each of their `count`: between the least
/// and the most of each, its own included, [`Simulation::set_rate`] may set it; to 0 if that is one of them. Until that happens
/// packets go as they would; fluids sum in another order. What is told of the network itself is of the rates that
/// it was built with.
///
/// # Errors
/// [`BuildError::NotSettable`] of sources that decide themselves how fast they send: TCP and users;
/// [`BuildError::OutOfRange`] if a rate is none.
pub fn with_rates(
    network: &Network,
    rates: &[(ConnectionId, f64)],
) -> Result<Network, Vec<BuildError>> {
    let mut builder = network.to_builder();
    for &(connection, rate_pps) in rates {
        builder.may_send(connection, rate_pps);
    }
    builder.build()
}

fn bad<T>(option: &'static str, reason: String) -> Result<T, RunError> {
    Err(RunError::BadOption { option, reason })
}

impl Simulation {
    /// The link has this bandwidth from now on, in bit/s, as after an event: what is queued takes longer or shorter.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if it is not between the lowest and the highest bandwidth that the network says the
    /// link ever has ([`Network::bandwidths_bps`]); see [`with_bandwidths`].
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
                Stepper::Fluid(fluid) => fluid.set_bandwidth(queue, bandwidth_bps),
                Stepper::Packets(packets) => packets.set_bandwidth(queue, bandwidth_bps),
            }
        }
        Ok(())
    }

    /// The link loses this on the way from now on, as after an event: of the packets whose transmission ends later.
    /// What it loses already changes nothing.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if that is no loss ([`LinkLoss::check`]).
    pub fn set_loss(&mut self, id: LinkId, loss: &LinkLoss) -> Result<(), RunError> {
        id.within(self.owner());
        if let Err(error) = loss.check() {
            return bad("loss", error.to_string());
        }
        for queue in self.engine().network().queues_of(id) {
            match &mut self.stepper {
                Stepper::Fluid(fluid) => fluid.set_loss(queue, loss),
                Stepper::Packets(packets) => packets.set_loss(queue, loss),
            }
        }
        Ok(())
    }

    /// The link has this propagation delay from now on, in seconds, as after an event: of the packets whose transmission
    /// ends later. What is on the way arrives as it would have. The delay that it has already changes nothing.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if it is not between the shortest and the longest delay that the network says the
    /// link ever has ([`Network::delays_s`]); see [`with_delays`].
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
                Stepper::Fluid(fluid) => fluid.set_delay(queue, delay_s),
                Stepper::Packets(packets) => packets.set_delay(queue, delay_s),
            }
        }
        Ok(())
    }

    /// The connection's data is sent along these nodes from now on, as if its author had given them as its
    /// [path](netflow_network::ConnectionSpec::path): the way back is the reversed one unless another was given, and if a link
    /// fails later, what is sent there is lost until the connection is set to another path. `None`: it goes where the network's own
    /// routes lead. What is under way keeps to the path that it was sent on.
    ///
    /// # Errors
    /// [`RunError::BadOption`] for a path that it may not take ([`Network::paths`]; see [`with_paths`]), and for one
    /// that a link has failed of, on the way or on the way of acknowledgements.
    ///
    /// # Panics
    /// If a node is of another network.
    pub fn set_route(&mut self, id: ConnectionId, path: Option<&[NodeId]>) -> Result<(), RunError> {
        id.within(self.owner());
        for node in path.into_iter().flatten() {
            node.within(self.owner());
        }
        let before = self.engine().set_of(id);
        let path = match path {
            Some(nodes) => Some(self.path_that_works(id, nodes)?),
            None => None,
        };
        self.set(id, Set { path, ..before });
        Ok(())
    }

    /// Each of the connection's `count` sends at this rate from now on, in packets/s; of a Poisson source it is the mean.
    /// What was left of the time until its next packet shrinks or grows with it; at 0 it stands still.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if it is not between the lowest and the highest rate that the source may have
    /// ([`Network::rates_pps`]; see [`with_rates`]), and of sources that decide themselves: TCP and users.
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
        let before = self.engine().set_of(id);
        if rate_pps != before.rate_pps.unwrap_or(own_pps) {
            let rate_pps = Some(rate_pps);
            self.set(id, Set { rate_pps, ..before });
        }
        Ok(())
    }

    /// The marker of an aggregate has these rates from now on; what it has measured, and what is in its token buckets,
    /// goes on. (Of a connection's aggregate: [`Network::aggregate_of`].)
    ///
    /// # Errors
    /// [`RunError::BadOption`] for a rate that is not 0 to 1e18 bit/s, a peak rate below the committed one, and a peak rate of a marker
    /// that looks at none.
    pub fn set_marker(&mut self, id: AggregateId, rates: MarkerRates) -> Result<(), RunError> {
        id.within(self.owner());
        let set = match &mut self.stepper {
            Stepper::Fluid(fluid) => fluid.set_marker(id, rates),
            Stepper::Packets(packets) => packets.set_marker(id, rates),
        };
        set.or_else(|error| {
            let name = &self.engine().network().aggregate_spec(id).name;
            bad("marker", format!("aggregate `{name}`: {error}"))
        })
    }

    /// The rates of an aggregate's marker as they are now.
    pub fn marker_rates(&self, id: AggregateId) -> MarkerRates {
        id.within(self.owner());
        self.engine().marker_rates(id)
    }

    fn set(&mut self, id: ConnectionId, set: Set) {
        if set == self.engine().set_of(id) {
            return;
        }
        match &mut self.stepper {
            Stepper::Fluid(fluid) => fluid.set(id, set),
            Stepper::Packets(packets) => packets.set(id, set),
        }
    }

    /// Which of the paths it is that the connection may take.
    fn path_that_works(&self, id: ConnectionId, nodes: &[NodeId]) -> Result<u32, RunError> {
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
            let allowed = match all.is_empty() {
                true => "no path of it was announced".to_owned(),
                false => format!("it may take {}", all.join(" or ")),
            };
            let reason = format!("`{name}` may not take {}: {allowed}", along(nodes));
            return bad("path", reason);
        };
        let inner = network.tables();
        let branch = engine.branch_over(id, Some(path as u32));
        if branch == NO_BRANCH {
            let reason = format!("{} leaves `{name}` no way back now", along(nodes));
            return bad("path", reason);
        }
        let way = Way::new(inner, branch);
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
