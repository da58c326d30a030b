//! Numbers for links that follow from what they are and where they lie, never from rows or names:
//! where an order has to be chosen it is theirs.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

use crate::{Buffer, LinkSpec, Queue};

/// How far around a link is looked at: what is alike until there is hardly different.
const ROUNDS: usize = 4;

/// A number that follows from a value, the same on every machine and with every compiler: random
/// numbers depend on it.
pub(crate) fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = FnvHasher::default();
    value.hash(&mut hasher);
    // Every bit of the sum moves all bits of the result (the end of SplitMix64).
    let mut x = hasher.finish();
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// For each of several keys a number of its own: those that are alike are told apart by their turn
/// among themselves.
pub(crate) fn told_apart(keys: impl Iterator<Item = u64>) -> Vec<u64> {
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
    } = link;
    let buffer = match buffer {
        Buffer::Packets(pkts) => (0, pkts.to_bits()),
        Buffer::Bytes(bytes) => (1, bytes.to_bits()),
    };
    let queue = match queue {
        Queue::DropTail => String::new(),
        Queue::Red(red) => format!("{red:?}"),
        Queue::Rio(rio) => format!("{rio:?}"),
    };
    hash_of((bandwidth_bps.to_bits(), delay_s.to_bits(), buffer, queue))
}
