//! States of independent elements, each working or failed, in descending order of probability.
//!
//! A state is the set of elements that deviate from the most probable state. All sets form a tree: the children of a set
//! whose last element is i add element i + 1, or replace i by i + 1. With elements in descending order of their odds, no
//! child is more probable than its parent, so a heap of open sets yields all sets in order (best-first search). The sets
//! that it has not yielded are the subtrees of the open ones. This gives their exact probability, and lets them be
//! sampled without rejection.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rand::{Rng, RngExt};

/// Deviating elements of a state, in order.
pub(super) type Deviations = Vec<u32>;

/// Set of deviating elements that was not yielded yet; it represents its subtree.
#[derive(Debug, PartialEq)]
struct Open {
    /// Product of the odds of the elements.
    odds: f64,
    members: Deviations,
}

impl Eq for Open {}

impl Ord for Open {
    /// The more probable set is the greater one. Ties go to the first elements.
    fn cmp(&self, other: &Open) -> Ordering {
        let by_odds = self.odds.total_cmp(&other.odds);
        by_odds.then_with(|| other.members.cmp(&self.members))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Open) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Iterator over the states with their probabilities.
#[derive(Debug)]
pub(super) struct States {
    /// Probabilities that each element deviates, above 0 and at most 1/2, in descending order.
    deviation: Vec<f64>,
    /// Probability that no element before this index deviates.
    none_before: Vec<f64>,
    /// Probability that at least one element from this index on deviates.
    any_from: Vec<f64>,
    open: BinaryHeap<Open>,
    has_begun: bool,
    /// Probability of the states that were not yielded, except for rounding.
    rest: f64,
}

impl States {
    pub fn new(deviation: Vec<f64>) -> States {
        let mut none_before = vec![1.0];
        let mut any_from = vec![0.0];
        for (&up, &down) in deviation.iter().zip(deviation.iter().rev()) {
            none_before.push(none_before[none_before.len() - 1] * (1.0 - up));
            let later = any_from[any_from.len() - 1];
            any_from.push(down + (1.0 - down) * later);
        }
        any_from.reverse();
        States {
            deviation,
            none_before,
            any_from,
            open: BinaryHeap::new(),
            has_begun: false,
            rest: 1.0,
        }
    }

    /// Returns an upper limit of the probability of the states that were not yielded, except for rounding.
    pub fn rest(&self) -> f64 {
        self.rest
    }

    fn odds(&self, element: u32) -> f64 {
        let p = self.deviation[element as usize];
        p / (1.0 - p)
    }

    fn opened(&mut self, mut members: Deviations, element: u32) {
        if (element as usize) < self.deviation.len() {
            members.push(element);
            let odds = members.iter().map(|&it| self.odds(it)).product();
            self.open.push(Open { odds, members });
        }
    }

    /// Stops and returns the states that were not yielded.
    pub fn into_rest(self) -> Rest {
        let (mut subtrees, mut probability) = (Vec::new(), 0.0);
        for Open { mut members, .. } in self.open.into_sorted_vec().into_iter().rev() {
            let Some(first) = members.pop() else { continue };
            let first = first as usize;
            let odds = |&it: &u32| {
                let p = self.deviation[it as usize];
                p / (1.0 - p)
            };
            let fixed: f64 = members.iter().map(odds).product();
            probability += self.none_before[first] * fixed * self.any_from[first];
            subtrees.push((probability, members, first));
        }
        if !self.has_begun {
            probability = 1.0;
        }
        Rest {
            deviation: self.deviation,
            any_from: self.any_from,
            subtrees,
            probability,
        }
    }
}

impl Iterator for States {
    type Item = (f64, Deviations);

    fn next(&mut self) -> Option<(f64, Deviations)> {
        let intact = self.none_before[self.deviation.len()];
        let (odds, members) = if self.has_begun {
            let Open { odds, members } = self.open.pop()?;
            if let Some((&last, before)) = members.split_last() {
                self.opened(members.clone(), last + 1);
                self.opened(before.to_vec(), last + 1);
            }
            (odds, members)
        } else {
            self.has_begun = true;
            self.opened(Vec::new(), 0);
            (1.0, Vec::new())
        };
        let probability = intact * odds;
        self.rest -= probability;
        Some((probability, members))
    }
}

/// States that were not evaluated one by one.
#[derive(Debug)]
pub(super) struct Rest {
    deviation: Vec<f64>,
    any_from: Vec<f64>,
    /// Cumulative probability of each subtree, its fixed elements, and its first free element. At least one free element
    /// deviates.
    subtrees: Vec<(f64, Deviations, usize)>,
    /// Probability of all these states.
    pub probability: f64,
}

impl Rest {
    /// Draws a state with its probability among these states; `None` if there is none.
    pub fn draw(&self, rng: &mut impl Rng) -> Option<Deviations> {
        let at = rng.random::<f64>() * self.probability;
        let place = self.subtrees.partition_point(|it| it.0 <= at);
        let (_, fixed, first) = self.subtrees.get(place).or(self.subtrees.last())?;
        let mut members = fixed.clone();
        for i in *first..self.deviation.len() {
            let has_any = members.len() > fixed.len();
            let p = self.deviation[i];
            let p = if has_any { p } else { p / self.any_from[i] };
            if rng.random::<f64>() < p {
                members.push(i as u32);
            }
        }
        Some(members)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Returns descending probabilities of deviations.
    fn random_deviations(rng: &mut impl Rng, n: usize) -> Vec<f64> {
        let exponent = |rng: &mut dyn FnMut() -> f64| libm::exp(-8.0 * rng()) / 2.0;
        let mut draw = || rng.random::<f64>();
        let mut all: Vec<f64> = (0..n).map(|_| exponent(&mut draw)).collect();
        if n > 2 {
            all[1] = all[0]; // a tie
        }
        all.sort_by(|a, b| b.total_cmp(a));
        all
    }

    fn probability(deviation: &[f64], members: &[u32]) -> f64 {
        let each = (0..).zip(deviation);
        each.map(|(i, p)| if members.contains(&i) { *p } else { 1.0 - p })
            .product()
    }

    #[test]
    fn states_are_all_subsets_in_order_of_probability() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for n in 0..10 {
            let deviation = random_deviations(&mut rng, n);
            let mut states = States::new(deviation.clone());
            let (mut seen, mut before, mut total) = (HashMap::new(), f64::INFINITY, 0.0);
            while let Some((p, members)) = states.next() {
                assert!((p - probability(&deviation, &members)).abs() <= 1e-14 * p);
                assert!(p <= before * (1.0 + 1e-14), "{p} after {before}");
                assert!(members.is_sorted() && seen.insert(members, p).is_none());
                (before, total) = (p, total + p);
                assert!((states.rest() - (1.0 - total)).abs() < 1e-14);
            }
            assert_eq!(seen.len(), 1 << n);
            assert!((total - 1.0_f64).abs() < 1e-14);
            assert_eq!(states.into_rest().probability, 0.0);
        }
    }

    #[test]
    fn rest_has_the_probability_of_the_states_left_out() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for n in 1..9 {
            let deviation = random_deviations(&mut rng, n);
            for taken in 0..1 << n {
                let mut states = States::new(deviation.clone());
                let evaluated: Vec<_> = states.by_ref().take(taken).collect();
                let left = States::new(deviation.clone()).skip(taken);
                let expected: f64 = left.map(|it| it.0).sum();
                let rest = states.into_rest();
                assert!((rest.probability - expected).abs() <= 1e-13 * expected);
                if taken > 0 {
                    let drawn = rest.draw(&mut rng).unwrap();
                    assert!(evaluated.iter().all(|it| it.1 != drawn), "{drawn:?}");
                }
            }
        }
    }

    /// Pearson's chi-squared test of the drawn states; 63 degrees of freedom.
    #[test]
    fn drawn_states_have_their_probabilities() {
        let deviation = vec![0.5, 0.4, 0.3, 0.3, 0.2, 0.15];
        let mut states = States::new(deviation.clone());
        states.by_ref().take(1).for_each(drop);
        let rest = states.into_rest();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let draws = 100_000;
        let mut counts: HashMap<Deviations, f64> = HashMap::new();
        for _ in 0..draws {
            *counts.entry(rest.draw(&mut rng).unwrap()).or_default() += 1.0;
        }
        let all = States::new(deviation).skip(1);
        let terms = all.map(|(p, members)| {
            let expected = f64::from(draws) * p / rest.probability;
            let count = counts.get(&members).copied().unwrap_or(0.0);
            (count - expected) * (count - expected) / expected
        });
        let chi_squared: f64 = terms.sum();
        assert!(chi_squared < 100.0, "{chi_squared}");
    }
}
