//! Which links go together in one part of a network, so that parts hear of each other late.

use std::cmp::Reverse;

use petgraph::unionfind::UnionFind;

/// A network in parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Partitioning {
    /// By link.
    pub part_of: Vec<u32>,
    /// What happens in a part shows in another one no earlier than so much later.
    pub cut_lookahead_ns: u64,
}

/// Links that are in one part, and what they weigh, by the one that stands for them.
struct Groups {
    links: UnionFind<u32>,
    weight: Vec<u64>,
}

impl Groups {
    /// Those of both links are in one part from now on, if together they weigh no more than this.
    fn join(&mut self, a: u32, b: u32, most: u64) {
        let (a, b) = (self.links.find_mut(a), self.links.find_mut(b));
        let both = self.weight[a as usize] + self.weight[b as usize];
        if a != b && both <= most {
            self.links.union(a, b);
            self.weight[self.links.find(a) as usize] = both;
        }
    }
}

/// Divides links that have these weights into so many parts of about the same weight. Those of a pair in
/// `together` are in the same; of a pair in `near`, one hears of the other after so many nanoseconds: the
/// nearest are joined first, while no part gets more than its share. `None` if one part would have
/// most of the weight.
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
    // Two parts of three to one are no more than a third faster than one.
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
        part_of,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_delays_are_cut() {
        // Two rings of four links, far from each other.
        let ring = |from: u32| (0..4).map(move |i| (5, from + i, from + (i + 1) % 4));
        let near = ring(0).chain(ring(4)).chain([(90, 3, 4), (80, 7, 0)]);
        let division = partition_links(&[3; 8], &[], near.collect(), 2).unwrap();
        assert_eq!(division.cut_lookahead_ns, 80);
        let part = |l: usize| division.part_of[l];
        assert!((1..4).all(|l| part(l) == part(0)) && (5..8).all(|l| part(l) == part(4)));
        assert_ne!(part(0), part(4));
    }

    #[test]
    fn what_belongs_together_stays_so() {
        let pairs = [(0, 1), (1, 2)];
        let division = partition_links(&[1; 6], &pairs, vec![(1, 2, 3), (2, 4, 5)], 2).unwrap();
        assert_eq!(division.part_of[..3], [division.part_of[0]; 3]);
        assert_eq!(division.part_of[3..], [1 - division.part_of[0]; 3]);
        assert_eq!(division.cut_lookahead_ns, 1);
        // Nothing is left for a second part.
        assert_eq!(partition_links(&[1; 3], &pairs, vec![], 2), None);
    }
}
