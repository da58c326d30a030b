//! Graph partitioning of links such that the lookahead across the cut is long.
//!
//! Links are merged into groups by shortest lookahead first (single-linkage clustering, as in Kruskal's
//! algorithm). Groups are assigned by decreasing weight to the lightest partition (longest processing time
//! first).

use std::cmp::Reverse;

use petgraph::unionfind::UnionFind;

/// Partitions of the links.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Partitioning {
    /// Partition of each link.
    pub partition_of: Vec<u32>,
    /// Shortest lookahead across the cut, in ns; `u64::MAX` without a cut.
    pub cut_lookahead_ns: u64,
}

/// Groups of links that share a partition. The weight of a group is that of its representative.
struct Groups {
    links: UnionFind<u32>,
    weight: Vec<u64>,
}

impl Groups {
    /// Merges the groups of two links if together they weigh at most `max_weight`.
    fn join(&mut self, a: u32, b: u32, max_weight: u64) {
        let (a, b) = (self.links.find_mut(a), self.links.find_mut(b));
        let both = self.weight[a as usize] + self.weight[b as usize];
        if a != b && both <= max_weight {
            self.links.union(a, b);
            self.weight[self.links.find(a) as usize] = both;
        }
    }
}

/// Divides links with these weights into `parts` partitions of about equal weight.
///
/// The links of a pair in `together` share a partition. A tuple in `near` has a lookahead in ns and two
/// links. The shortest are merged first, as long as no group exceeds its share. Returns `None` if one
/// partition has more than 3/4 of the weight.
pub(crate) fn partition_links(
    weights: &[u64],
    together: &[(u32, u32)],
    mut near: Vec<(u64, u32, u32)>,
    parts: usize,
) -> Option<Partitioning> {
    let mut groups = Groups {
        links: UnionFind::new(weights.len()),
        weight: weights.to_vec(),
    };
    for &(a, b) in together {
        groups.join(a, b, u64::MAX);
    }
    let all: u64 = weights.iter().sum();
    let share = all / parts as u64;
    near.sort_unstable();
    for &(_, a, b) in &near {
        groups.join(a, b, share);
    }
    let roots = (0..weights.len() as u32).map(|l| groups.links.find(l));
    let roots: Vec<u32> = roots.collect();
    let mut largest: Vec<u32> = roots.clone();
    largest.sort_unstable();
    largest.dedup();
    largest.sort_by_key(|&root| Reverse(groups.weight[root as usize]));
    let mut filled = vec![0; parts];
    let mut part_of_root = vec![0; weights.len()];
    for root in largest {
        let lightest = (0..parts).min_by_key(|&part| filled[part])?;
        filled[lightest] += groups.weight[root as usize];
        part_of_root[root as usize] = lightest as u32;
    }
    // Two partitions in a ratio of 3 to 1 are at most a third faster than one.
    if 4 * *filled.iter().max()? > 3 * all {
        return None;
    }
    let part_of: Vec<u32> = roots
        .iter()
        .map(|&root| part_of_root[root as usize])
        .collect();
    let cut = near
        .iter()
        .find(|&&(_, a, b)| part_of[a as usize] != part_of[b as usize]);
    Some(Partitioning {
        cut_lookahead_ns: cut.map_or(u64::MAX, |&(ns, ..)| ns),
        partition_of: part_of,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_delays_are_cut() {
        // Two rings of four links with long delays between them.
        let ring = |from: u32| (0..4).map(move |i| (5, from + i, from + (i + 1) % 4));
        let near = ring(0).chain(ring(4)).chain([(90, 3, 4), (80, 7, 0)]);
        let division = partition_links(&[3; 8], &[], near.collect(), 2).unwrap();
        assert_eq!(division.cut_lookahead_ns, 80);
        let part = |l: usize| division.partition_of[l];
        assert!((1..4).all(|l| part(l) == part(0)) && (5..8).all(|l| part(l) == part(4)));
        assert_ne!(part(0), part(4));
    }

    #[test]
    fn joined_links_share_a_partition() {
        let pairs = [(0, 1), (1, 2)];
        let division = partition_links(&[1; 6], &pairs, vec![(1, 2, 3), (2, 4, 5)], 2).unwrap();
        assert_eq!(division.partition_of[..3], [division.partition_of[0]; 3]);
        assert_eq!(
            division.partition_of[3..],
            [1 - division.partition_of[0]; 3]
        );
        assert_eq!(division.cut_lookahead_ns, 1);
        // Nothing is left for a second partition.
        assert_eq!(partition_links(&[1; 3], &pairs, vec![], 2), None);
    }
}
