//! A set of integers stored as disjoint ranges.

/// A set of integers as sorted ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// The first number of each range, and one past its last.
    runs: Vec<(u32, u32)>,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns one past the largest number.
    pub(crate) fn end(&self) -> Option<u32> {
        self.runs.last().map(|run| run.1)
    }

    /// Returns the range that contains `number`.
    pub(crate) fn range_containing(&self, number: u32) -> Option<(u32, u32)> {
        let after = self.runs.partition_point(|run| run.0 <= number);
        let run = *self.runs.get(after.checked_sub(1)?)?;
        (number < run.1).then_some(run)
    }

    /// Adds the numbers from `from` to before `to`. Calls `new` with the ranges of numbers that were not in
    /// the set.
    pub(crate) fn add(&mut self, from: u32, to: u32, mut new: impl FnMut((u32, u32))) {
        if from >= to {
            return;
        }
        // Ranges that touch the new one are merged with it.
        let first = self.runs.partition_point(|run| run.1 < from);
        let (mut low, mut high, mut end, mut at) = (from, to, first, from);
        while let Some(&(begins, ends)) = self.runs.get(end)
            && begins <= to
        {
            if at < begins {
                new((at, begins));
            }
            at = at.max(ends);
            (low, high) = (low.min(begins), high.max(ends));
            end += 1;
        }
        if at < to {
            new((at, to));
        }
        if end == first + 1 {
            self.runs[first] = (low, high);
        } else {
            self.runs.splice(first..end, [(low, high)]);
        }
    }

    /// Removes all numbers below `number`.
    pub(crate) fn remove_before(&mut self, number: u32) {
        let over = self.runs.partition_point(|run| run.1 <= number);
        self.runs.drain(..over);
        if let Some(run) = self.runs.first_mut() {
            run.0 = run.0.max(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::Ranges;

    /// Compares with a set of numbers, over random additions and removals.
    #[test]
    fn matches_a_set() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..200 {
            let (mut ours, mut theirs) = (Ranges::default(), BTreeSet::new());
            for _ in 0..60 {
                let from = rng.random_range(0..200_u32);
                let to = from + rng.random_range(0..12_u32);
                let mut new = Vec::new();
                ours.add(from, to, |run| new.push(run));
                let told: Vec<u32> = new.iter().flat_map(|&(a, b)| a..b).collect();
                let wanted: Vec<u32> = (from..to).filter(|&n| theirs.insert(n)).collect();
                assert_eq!(told, wanted);
                if rng.random_range(0..10) == 0 {
                    let before = rng.random_range(0..200);
                    ours.remove_before(before);
                    theirs.retain(|&n| n >= before);
                }
                for n in 0..220 {
                    let run = ours.range_containing(n);
                    assert_eq!(run.is_some(), theirs.contains(&n));
                    if let Some((a, b)) = run {
                        assert!((a..b).all(|n| theirs.contains(&n)));
                        assert!(!theirs.contains(&b) && (a == 0 || !theirs.contains(&(a - 1))));
                    }
                }
            }
        }
    }
}
