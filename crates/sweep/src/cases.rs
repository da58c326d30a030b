//! Enumeration of the cases: every combination of values, failures and seeds.

use crate::Axis;

/// Maximum number of cases of a sweep.
pub const MAX_CASES: u64 = 100_000_000;

/// All cases by index. The last axis varies faster than the axes before it, failures vary faster than axes,
/// and seeds vary fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cases {
    values: Vec<u64>,
    failure_states: u64,
    seeds: u64,
    count: u64,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Index among all cases.
    pub index: u64,
    /// Index of its combination of values. Cases with the same combination share a scenario.
    pub combination: u64,
    /// Index of the value for each axis.
    pub values: Vec<usize>,
    /// Index of the failed link; `None` for the intact network.
    pub failed: Option<usize>,
    /// Offset from the seed of the scenario.
    pub seed: u64,
}

/// Returns the number of cases, or `None` on overflow.
pub fn count(axes: &[Axis], failures: usize, seeds: u32) -> Option<u128> {
    let values = axes.iter().map(|axis| axis.values.len() as u128);
    let inner = [failures as u128 + 1, u128::from(seeds.max(1))];
    values.chain(inner).try_fold(1_u128, u128::checked_mul)
}

impl Cases {
    /// Returns every value of every axis, with the intact network and with each failure, for every seed.
    /// Returns `None` for more than [`MAX_CASES`] cases.
    pub fn new(axes: &[Axis], failures: usize, seeds: u32) -> Option<Cases> {
        let count = u64::try_from(count(axes, failures, seeds)?).ok()?;
        (count <= MAX_CASES).then(|| Cases {
            values: axes.iter().map(|axis| axis.values.len() as u64).collect(),
            failure_states: failures as u64 + 1,
            seeds: seeds.max(1).into(),
            count,
        })
    }

    /// Returns the case with the first value of every axis.
    pub(crate) fn first(axes: &[Axis]) -> Case {
        Case {
            index: 0,
            combination: 0,
            values: vec![0; axes.len()],
            failed: None,
            seed: 0,
        }
    }

    /// Returns the number of cases.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the case with this index.
    pub fn case(&self, index: u64) -> Case {
        let (rest, seed) = (index / self.seeds, index % self.seeds);
        let (combination, state) = (rest / self.failure_states, rest % self.failure_states);
        let mut rest = combination;
        let mut values: Vec<usize> = Vec::with_capacity(self.values.len());
        for &of in self.values.iter().rev() {
            values.push((rest % of) as usize);
            rest /= of;
        }
        values.reverse();
        Case {
            index,
            combination,
            values,
            failed: state.checked_sub(1).map(|failure| failure as usize),
            seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn axis(count: usize) -> Axis {
        let values: Vec<String> = (0..count).map(|i| i.to_string()).collect();
        Axis::parse(&format!("k={}", values.join(","))).unwrap()
    }

    #[test]
    fn seeds_vary_fastest_and_the_first_axis_slowest() {
        let cases = Cases::new(&[axis(2), axis(3)], 1, 2).unwrap();
        assert_eq!(cases.count(), 24);
        let all: Vec<_> = (0..24).map(|i| cases.case(i)).collect();
        assert_eq!((all[0].failed, all[0].seed), (None, 0));
        assert_eq!((all[1].failed, all[1].seed), (None, 1));
        assert_eq!((all[2].failed, all[2].seed), (Some(0), 0));
        assert_eq!(all[4].values, [0, 1]);
        assert_eq!(
            (all[23].values.as_slice(), all[23].combination),
            ([1, 2].as_slice(), 5)
        );
    }

    #[test]
    fn empty_sweep_has_one_case() {
        assert_eq!(Cases::new(&[], 0, 1).unwrap().count(), 1);
    }

    #[test]
    fn too_many_cases_are_rejected() {
        let many: Vec<Axis> = (0..20).map(|_| axis(100)).collect();
        assert_eq!(count(&many, 0, 1), None);
        assert_eq!(count(&many[..9], 0, 1), Some(10_u128.pow(18)));
        assert_eq!(Cases::new(&many, 0, 1), None);
        assert_eq!(Cases::new(&many[..5], 0, 1), None);
        assert!(Cases::new(&many[..4], 0, 1).is_some());
    }

    proptest! {
        #[test]
        fn every_case_occurs_once(sizes in proptest::collection::vec(1..5_usize, 0..4), failures in 0..4_usize, seeds in 1..4_u32) {
            let axes: Vec<Axis> = sizes.iter().map(|&size| axis(size)).collect();
            let cases = Cases::new(&axes, failures, seeds).unwrap();
            let all: BTreeSet<_> = (0..cases.count())
                .map(|i| {
                    let case = cases.case(i);
                    assert!(case.values.iter().zip(&sizes).all(|(value, size)| value < size));
                    (case.values, case.failed, case.seed)
                })
                .collect();
            prop_assert_eq!(all.len() as u64, cases.count());
        }
    }
}
