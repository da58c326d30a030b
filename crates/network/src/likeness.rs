//! Numbers for links that follow from what they are and where they lie, never from rows or names:
//! where an order has to be chosen it is theirs.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

use crate::tables::{NO_BRANCH, Tables, Way};
use crate::{Buffer, ConnectionSpec, DropPolicy, EventSpec, LinkSpec, Red, Source};

/// How far around a link is looked at: what is alike until there is hardly different.
const ROUNDS: usize = 4;

/// A number that follows from a value, the same on every machine and with every compiler: random
/// numbers depend on it.
pub fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = FnvHasher::default();
    value.hash(&mut hasher);
    netflow_units::scramble(hasher.finish())
}

/// For each of several keys a number of its own: those that are alike are told apart by their turn
/// among themselves.
pub fn told_apart(keys: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut met: HashMap<u64, u32> = HashMap::new();
    keys.map(|key| {
        let turn = met.entry(key).or_default();
        *turn += 1;
        hash_of((key, *turn))
    })
    .collect()
}

/// A number for every link: of its own values, and of the links at its ends.
pub(crate) fn link_keys(node_count: usize, links: &[LinkSpec]) -> Vec<u64> {
    let mut keys: Vec<u64> = links.iter().map(link_itself).collect();
    for _ in 0..ROUNDS {
        let mut at_node: Vec<Vec<(bool, u64)>> = vec![Vec::new(); node_count];
        for (link, &key) in links.iter().zip(&keys) {
            at_node[link.from.index()].push((true, key));
            at_node[link.to.index()].push((false, key));
        }
        let nodes: Vec<u64> = at_node
            .into_iter()
            .map(|mut met| {
                met.sort_unstable();
                hash_of(met)
            })
            .collect();
        for (link, key) in links.iter().zip(&mut keys) {
            *key = hash_of((*key, nodes[link.from.index()], nodes[link.to.index()]));
        }
    }
    keys
}

pub(crate) fn link_itself(link: &LinkSpec) -> u64 {
    let LinkSpec {
        from: _,
        to: _,
        bandwidth_bps,
        delay_s,
        buffer,
        queue,
        loss,
        metric,
        calibration,
    } = link;
    let buffer = match buffer {
        Buffer::Packets(pkts) => (0, pkts.to_bits()),
        Buffer::Bytes(bytes) => (1, bytes.to_bits()),
        Buffer::BandwidthDelay => (2, 0),
    };
    let mut queue = match queue {
        DropPolicy::DropTail => String::new(),
        DropPolicy::Red(red) => red_itself(red),
        DropPolicy::Rio(rio) => format!("{rio:?}"),
        DropPolicy::Managed(discipline) => format!("{discipline:?}"),
    };
    if !loss.is_none() {
        queue += &format!("{loss:?}");
    }
    if calibration.is_some() {
        queue += &format!("{calibration:?}");
    }
    if let Some(metric) = metric {
        queue += &format!("metric {metric}");
    }
    hash_of((bandwidth_bps.to_bits(), delay_s.to_bits(), buffer, queue))
}

/// As it was told before there was ECN, which numbers follow from that should stay.
fn red_itself(red: &Red) -> String {
    let Red {
        min_pkts,
        max_pkts,
        max_p,
        weight,
        gentle,
        ecn,
    } = red;
    let ecn = if *ecn { "Ecn" } else { "" };
    format!(
        "Red{ecn} {{ min_pkts: {min_pkts:?}, max_pkts: {max_pkts:?}, max_p: {max_p:?}, weight: {weight:?}, \
         gentle: {gentle:?} }}"
    )
}

/// Numbers for links and connections that follow from what they are and from what they meet: the
/// same for those that are alike, whatever their rows and names.
pub fn likenesses(inner: &Tables) -> (Vec<u64>, Vec<u64>) {
    let branches = 0..inner.branches.len() as u32;
    let ways: Vec<Way<'_>> = branches.map(|b| Way::new(inner, b)).collect();
    let (links, branches) = keys(inner, &ways);
    let class = |class: usize| {
        let branch_at = inner.epochs.iter().map(|epoch| epoch.branch_of[class]);
        let keys = branch_at.map(|b| match b {
            NO_BRANCH => 0,
            b => branches[b as usize],
        });
        hash_of(keys.collect::<Vec<u64>>())
    };
    let classes: Vec<u64> = (0..inner.classes.len()).map(class).collect();
    let of = |&class: &u32| classes[class as usize];
    (links, inner.class_of.iter().map(of).collect())
}

/// Numbers for links and branches that follow from what they are and from what they meet, and
/// from nothing else: those of different rows of a file with the same content are the same. What
/// no branch passes over has no part in it.
pub fn keys(inner: &Tables, ways: &[Way<'_>]) -> (Vec<u64>, Vec<u64>) {
    let mut links: Vec<u64> = inner.links.iter().map(link_itself).collect();
    let happening = inner.events.iter();
    for event in happening.filter(|event| event.at_s < EventSpec::NEVER_S) {
        let key = &mut links[event.link as usize];
        *key = hash_of((*key, event.at_s.to_bits(), format!("{:?}", event.change)));
    }
    let mut branches: Vec<u64> = (0..ways.len()).map(|b| branch_itself(inner, b)).collect();
    // What is the same after this many looks around is hardly different.
    for _ in 0..4 {
        for (key, way) in branches.iter_mut().zip(ways) {
            let path = |links_of: &[u32]| -> Vec<u64> {
                links_of.iter().map(|&l| links[l as usize]).collect()
            };
            *key = hash_of((*key, path(way.data), path(way.back)));
        }
        let mut met: Vec<Vec<(u64, usize)>> = vec![Vec::new(); links.len()];
        for (key, way) in branches.iter().zip(ways) {
            for (i, link) in way.data.iter().chain(way.back).enumerate() {
                met[*link as usize].push((*key, i));
            }
        }
        for (key, mut met) in links.iter_mut().zip(met) {
            met.sort_unstable();
            *key = hash_of((*key, met));
        }
    }
    (links, branches)
}

fn branch_itself(inner: &Tables, b: usize) -> u64 {
    let hasher = &mut fnv::FnvHasher::default();
    let branch = &inner.branches[b];
    let class = &inner.classes[branch.class as usize];
    let spec = &inner.connections[class.connection as usize];
    let ConnectionSpec {
        name: _,
        from: _,
        to: _,
        source,
        application,
        start_s,
        stop_s,
        size_pkts,
        count: _, // in the weight
        max_window_pkts,
        packet_size_bytes,
        path: _,
        return_path: _,
        flow: _,
        acks,
    } = spec;
    let bits = |x: &Option<f64>| x.map(f64::to_bits);
    (branch.precedence, class.weight.to_bits()).hash(hasher);
    match source {
        Source::Window(w) => format!("{w:?}").hash(hasher),
        Source::Stack(stack) => format!("{stack:?}").hash(hasher),
        Source::Profile(p) => p.name().hash(hasher),
        Source::Constant { rate_pps } => (1, rate_pps.to_bits()).hash(hasher),
        Source::Poisson { rate_pps } => (2, rate_pps.to_bits()).hash(hasher),
        Source::Users(traffic) => {
            (3, traffic.mean_pps.to_bits(), traffic.replies).hash(hasher);
        }
    }
    format!("{application:?}").hash(hasher);
    (start_s.to_bits(), bits(stop_s), bits(size_pkts)).hash(hasher);
    (bits(max_window_pkts), packet_size_bytes.to_bits(), acks).hash(hasher);
    for (epoch, at) in inner.epochs.iter().enumerate() {
        if at.branch_of.get(branch.class as usize) == Some(&(b as u32)) {
            epoch.hash(hasher);
        }
    }
    if let Some(aggregate) = class.aggregate {
        let aggregate = &inner.aggregates[aggregate as usize];
        format!(
            "{:?}{:?}{:?}",
            aggregate.edge, aggregate.rtt_s, aggregate.rto_s
        )
        .hash(hasher);
    }
    hasher.finish()
}
