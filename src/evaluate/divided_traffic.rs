//! Paths of a demand, or of a connection, that the network represents as several connections.

use std::collections::{BTreeMap, BTreeSet};

use netflow_network::{Change, ConnectionId, LinkId, Network, Source};

/// Part of divided traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficPart {
    /// Its connection.
    pub connection: ConnectionId,
    /// Its share of the offered traffic.
    pub share: f64,
    /// Links of its path from sender to receiver; empty without a route.
    pub path: Vec<LinkId>,
}

/// Returns the parts of divided traffic with their shares and their paths at `at_s` seconds, after the events before
/// this time. Requests of users are left out, because they do not carry the traffic of a demand.
pub fn traffic_parts(
    network: &Network,
    connections: &[ConnectionId],
    at_s: f64,
) -> Vec<TrafficPart> {
    let mut down = BTreeSet::new();
    for event in network.events().take_while(|event| event.at_s < at_s) {
        match event.change {
            Change::Down => down.insert(event.link),
            Change::Up => down.remove(&event.link),
            Change::Bandwidth(_) | Change::Pause | Change::Loss(_) | Change::Delay(_) => continue,
        };
    }
    let is_request = |id: &ConnectionId| {
        let source = &network.connection_spec(*id).source;
        matches!(source, Source::Users(traffic) if !traffic.replies)
    };
    let offered = |&id: &ConnectionId| {
        let spec = network.connection_spec(id);
        let each_pps = spec.source.own_pps().unwrap_or(spec.application.mean_pps());
        // Unlimited data counts by flows.
        let each = if each_pps.is_finite() { each_pps } else { 1.0 };
        (id, each * f64::from(spec.count))
    };
    let parts = connections.iter().filter(|id| !is_request(id));
    let parts: Vec<(ConnectionId, f64)> = parts.map(offered).collect();
    let all: f64 = parts.iter().map(|(_, offered)| offered).sum();
    let part = |(connection, offered): (ConnectionId, f64)| {
        let path = network.path_at(connection, at_s);
        let works = path.iter().all(|link| !down.contains(link));
        TrafficPart {
            connection,
            share: offered / all,
            path: if works { path } else { Vec::new() },
        }
    };
    parts.into_iter().map(part).collect()
}

/// Returns the links that these parts use, in order, with the share of the traffic on each.
pub fn shares_of_links(parts: &[TrafficPart]) -> BTreeMap<LinkId, f64> {
    let mut shares = BTreeMap::new();
    for part in parts {
        for &link in &part.path {
            *shares.entry(link).or_default() += part.share;
        }
    }
    shares
}
