//! Canonical keys of links and branches by colour refinement (1-dimensional Weisfeiler–Leman).
//!
//! The keys depend on content and topology only, not on rows or names. The fluid model sums in the order of
//! the keys, so other rows or names give identical bits.
//!
//! Keys hash the `Debug` texts of settings. A renamed field or variant of a settings type changes the order and
//! thereby the last bits of results, which networks that oscillate amplify.

use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

use crate::compiled::{ClassPath, CompiledNetwork, PathPair};
use crate::hash::fnv_hash;
use crate::{AggregateSpec, Buffer, ConnectionSpec, DropPolicy, EventSpec, LinkSpec, Source};

fn link_key(link: &LinkSpec) -> u64 {
    let LinkSpec {
        from: _,
        to: _,
        circuit: _,
        bandwidth_bps,
        delay_s,
        overhead,
        buffer,
        queue,
        policer,
        shaper,
        loss,
        trace: _, // the fluid model rejects it
        series,
        delay_line: _, // the fluid model rejects it
        metric,
        calibration,
    } = link;
    let buffer = match buffer {
        Buffer::Packets(pkts) => (0, pkts.to_bits()),
        // A time counts as the bytes at the link's bandwidth; events are compared separately.
        Buffer::Bytes(_) | Buffer::Time(_) => (
            1,
            buffer.bytes(*bandwidth_bps).unwrap_or_default().to_bits(),
        ),
        Buffer::BandwidthDelay => (2, 0),
    };
    let mut queue = match queue {
        DropPolicy::DropTail => String::new(),
        DropPolicy::Red(red) => format!("{red:?}"),
        DropPolicy::Rio(rio) => format!("{rio:?}"),
        DropPolicy::Managed(discipline) => format!("{discipline:?}"),
    };
    if let Some(policer) = policer {
        queue += &format!("policer {policer:?}");
    }
    if let Some(shaper) = shaper {
        queue += &format!("shaper {shaper:?}");
    }
    if !loss.is_none() {
        queue += &format!("{loss:?}");
    }
    if calibration.is_some() {
        queue += &format!("{calibration:?}");
    }
    if !overhead.is_none() {
        queue += &format!("{overhead:?}");
    }
    if let Some(series) = series {
        queue += &format!("{series:?}");
    }
    if let Some(metric) = metric {
        queue += &format!("metric {metric}");
    }
    fnv_hash((bandwidth_bps.to_bits(), delay_s.to_bits(), buffer, queue))
}

/// Returns the keys of links and branches. Equal content in different rows of a file gives equal keys. Links
/// that no branch crosses and branches that are not `used` do not affect other keys.
pub fn canonical_keys(
    inner: &CompiledNetwork,
    ways: &[PathPair<'_>],
    used: &[bool],
) -> (Vec<u64>, Vec<u64>) {
    let mut links: Vec<u64> = inner.links.iter().map(link_key).collect();
    let happening = inner.events.iter();
    for event in happening.filter(|event| event.at_s < EventSpec::NEVER_S) {
        let key = &mut links[event.link as usize];
        *key = fnv_hash((*key, event.at_s.to_bits(), format!("{:?}", event.change)));
    }
    let mut branches = branch_keys(inner, ways.len());
    // Four rounds of refinement separate nearly all that differ.
    for _ in 0..4 {
        for (key, way) in branches.iter_mut().zip(ways) {
            let path = |links_of: &[u32]| -> Vec<u64> {
                links_of.iter().map(|&l| links[l as usize]).collect()
            };
            *key = fnv_hash((*key, path(way.data), path(way.back)));
        }
        let mut met: Vec<Vec<(u64, usize)>> = vec![Vec::new(); links.len()];
        let used = branches.iter().zip(ways).zip(used);
        for ((key, way), _) in used.filter(|(_, used)| **used) {
            for (i, link) in way.data.iter().chain(way.back).enumerate() {
                met[*link as usize].push((*key, i));
            }
        }
        for (key, mut met) in links.iter_mut().zip(met) {
            met.sort_unstable();
            *key = fnv_hash((*key, met));
        }
    }
    (links, branches)
}

fn branch_keys(inner: &CompiledNetwork, branches: usize) -> Vec<u64> {
    let mut hashers: Vec<FnvHasher> = (0..branches).map(|b| settings_hash(inner, b)).collect();
    for (epoch, at) in inner.epochs.iter().enumerate() {
        for branch in at.class_path_of.iter().flatten() {
            epoch.hash(&mut hashers[branch.index()]);
        }
    }
    let key = |(mut hasher, branch): (FnvHasher, &ClassPath)| {
        if let Some(aggregate) = inner.classes[branch.class as usize].aggregate {
            let aggregate = &inner.aggregates[aggregate as usize];
            let AggregateSpec {
                edge, rtt_s, rto_s, ..
            } = aggregate;
            format!("{edge:?}{rtt_s:?}{rto_s:?}").hash(&mut hasher);
        }
        hasher.finish()
    };
    hashers
        .into_iter()
        .zip(&inner.class_paths)
        .map(key)
        .collect()
}

/// Returns a hasher with the settings of a branch's connections.
fn settings_hash(inner: &CompiledNetwork, b: usize) -> FnvHasher {
    let mut hasher = FnvHasher::default();
    let branch = &inner.class_paths[b];
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
        ecmp_share: _,
        transfers,
        acks,
    } = spec;
    let bits = |x: &Option<f64>| x.map(f64::to_bits);
    (branch.precedence, class.weight.to_bits()).hash(&mut hasher);
    match source {
        Source::Ns2Tcp(w) => format!("{w:?}").hash(&mut hasher),
        Source::Tcp(stack) => format!("{stack:?}").hash(&mut hasher),
        Source::Profile(p) => p.name().hash(&mut hasher),
        Source::Constant { rate_pps } => (1, rate_pps.to_bits()).hash(&mut hasher),
        Source::Poisson { rate_pps } => (2, rate_pps.to_bits()).hash(&mut hasher),
        Source::Users(traffic) => {
            (3, traffic.mean_pps.to_bits(), traffic.replies).hash(&mut hasher);
        }
    }
    format!("{application:?}").hash(&mut hasher);
    if let Some(transfers) = transfers {
        transfers.equality_key().hash(&mut hasher);
    }
    (start_s.to_bits(), bits(stop_s), bits(size_pkts)).hash(&mut hasher);
    (bits(max_window_pkts), packet_size_bytes.to_bits(), acks).hash(&mut hasher);
    hasher
}
