//! Warnings of scenarios outside the validated range of the fluid model, where its error is a
//! factor of several.

use std::collections::BTreeSet;

use netflow_network::{
    Acks, Application, Change, ConnectionSpec, DropPolicy, LinkId, Network, Source,
};
use netflow_profile::DELAY_BASED;

/// Smallest buffers of the fluid model's test networks: as a fraction of the bandwidth-delay
/// product, and in packets (studies/fluid-population).
const MIN_BUFFER_BDP: f64 = 0.25;
const MIN_BUFFER_PKTS: f64 = 5.0;
/// Ratio of bandwidth to the slowest link of a path above which traffic on that path hardly fills a
/// link.
const MAX_BANDWIDTH_RATIO: f64 = 2.0;

/// TCP connection with a profile, and its name.
struct Tcp<'a> {
    spec: &'a ConnectionSpec,
    profile: &'a str,
    /// Its paths at its start.
    data: Vec<LinkId>,
    back: Vec<LinkId>,
}

/// Returns the warnings for a network in the fluid model.
pub(crate) fn warnings(network: &Network) -> Vec<String> {
    let tcp = network.connections().filter_map(|id| {
        let spec = network.connection_spec(id);
        let Source::Profile(profile) = &spec.source else {
            return None;
        };
        Some(Tcp {
            spec,
            profile: profile.name(),
            data: network.path_at(id, spec.start_s),
            back: network.return_path_at(id, spec.start_s),
        })
    });
    let in_bursts = links_with_bursty_loss(network);
    let (mut bursts, mut short) = (BTreeSet::new(), BTreeSet::new());
    let (mut gives_way, mut takes, mut waits) = (false, false, false);
    for it in tcp {
        bursts.extend(it.data.iter().filter(|link| in_bursts.contains(link)));
        short.extend(short_buffers(network, &it));
        if DELAY_BASED.contains(&it.profile) {
            gives_way = true
        } else {
            takes = true
        }
        waits |= it.spec.acks == Acks::EverySecond && it.spec.application != Application::Bulk;
    }
    let named = |links: &BTreeSet<LinkId>| {
        let links: Vec<LinkId> = links.iter().copied().collect();
        network.first_link_name(&links)
    };
    let bursts = named(&bursts).map(|links| {
        format!(
            "burst losses at {links} are modelled as independent: real TCP may time out and get many times less; \
             use `source = {{ tcp = \"linux-6\" }}`"
        )
    });
    let short = named(&short).map(|links| {
        format!(
            "the buffer of {links} is below 25 % of the bandwidth-delay product or 5 packets: TCP throughput may be several times \
             higher or lower; use `source = {{ tcp = \"linux-6\" }}`"
        )
    });
    let gives_way = (gives_way && takes).then(|| {
        "Vegas backs off to any queue, which its profile cannot represent: next to other TCP it may get many times less; \
         use `source = { ns2-tcp = \"vegas\" }`"
            .to_owned()
    });
    let waits = waits.then(|| {
        "round-trip times of application-limited TCP leave out the delay of acknowledgements"
            .to_owned()
    });
    [bursts, short, gives_way, waits]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the links on its path that it may fill and whose buffers are below the validated range.
fn short_buffers(network: &Network, it: &Tcp<'_>) -> Vec<LinkId> {
    let spec = it.spec;
    if spec.application != Application::Bulk || spec.transfers.is_some() {
        return Vec::new();
    }
    let packet_bits = 8.0 * spec.packet_size_bytes;
    let bps = |link: &LinkId| network.link_spec(*link).carries_bps(packet_bits);
    let narrowest_bps = it.data.iter().map(bps).fold(f64::INFINITY, f64::min);
    let way = it.data.iter().chain(&it.back);
    let round_trip_s: f64 = way.map(|&link| network.link_spec(link).delay_s).sum();
    let least_pkts = MIN_BUFFER_BDP * narrowest_bps * round_trip_s / packet_bits;
    if spec
        .max_window_pkts
        .is_some_and(|window| window < least_pkts)
    {
        return Vec::new();
    }
    let is_short = |link: &LinkId| {
        let is_tail = network.link_spec(*link).queue == DropPolicy::DropTail;
        let room_pkts = network.buffer_pkts(*link);
        bps(link) <= MAX_BANDWIDTH_RATIO * narrowest_bps
            && is_tail
            && room_pkts < least_pkts.max(MIN_BUFFER_PKTS)
    };
    it.data.iter().copied().filter(is_short).collect()
}

/// Returns the links with bursts of losses, from the start or after an event.
fn links_with_bursty_loss(network: &Network) -> BTreeSet<LinkId> {
    let from_start = |link: &LinkId| network.link_spec(*link).loss.is_correlated();
    let later = network.events().filter_map(|event| match event.change {
        Change::Loss(loss) if loss.is_correlated() => Some(event.link),
        _ => None,
    });
    network.links().filter(from_start).chain(later).collect()
}
