//! Cheapest sets of capacity modules: the unbounded covering knapsack, solved exactly by branch and bound.

/// Capacity that can be added to a link, any number of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Module {
    /// Capacity in bit/s, in each direction.
    pub capacity_bps: f64,
    /// Cost of one module.
    pub cost: f64,
}

/// Number of modules of each kind at one link, in the order of its modules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModuleSet {
    /// Number of modules of each kind; empty for no modules.
    pub counts: Vec<u32>,
    /// Sum of their capacities in bit/s.
    pub capacity_bps: f64,
    /// Sum of their costs.
    pub cost: f64,
}

/// Relative difference up to which capacities and costs count as equal.
const TOLERANCE: f64 = 1e-9;

impl ModuleSet {
    fn new(modules: &[Module], counts: Vec<u32>) -> ModuleSet {
        let sum = |value: fn(&Module) -> f64| {
            let parts = modules.iter().zip(&counts);
            parts.map(|(it, &n)| f64::from(n) * value(it)).sum()
        };
        ModuleSet {
            capacity_bps: sum(|it| it.capacity_bps),
            cost: sum(|it| it.cost),
            counts,
        }
    }

    /// Returns the cheapest set with at least this capacity; among equal costs, the set with the largest capacity,
    /// and then the one with the fewest modules. Returns `None` if there are no modules.
    pub(super) fn cheapest(modules: &[Module], needed_bps: f64) -> Option<ModuleSet> {
        if needed_bps <= 0.0 {
            return Some(ModuleSet::default());
        }
        // The cheapest capacity first: its multiples are a good first solution.
        let mut order: Vec<usize> = (0..modules.len()).collect();
        let unit_cost = |i: usize| modules[i].cost / modules[i].capacity_bps;
        order.sort_by(|&a, &b| unit_cost(a).total_cmp(&unit_cost(b)).then(a.cmp(&b)));
        let mut search = Cover {
            modules,
            order: &order,
            counts: vec![0; modules.len()],
            best: None,
        };
        search.fill(0, needed_bps * (1.0 - TOLERANCE), 0.0);
        search.best
    }

    /// Returns the cheapest set with more capacity than this one.
    pub(super) fn next(&self, modules: &[Module]) -> Option<ModuleSet> {
        let smallest = modules.iter().map(|it| it.capacity_bps);
        let step = smallest.fold(f64::INFINITY, f64::min).min(1e300) * 1e-6;
        ModuleSet::cheapest(modules, self.capacity_bps * (1.0 + 2.0 * TOLERANCE) + step)
    }

    fn is_better_than(&self, other: &ModuleSet) -> bool {
        let slack = TOLERANCE * other.cost.max(f64::MIN_POSITIVE);
        if (self.cost - other.cost).abs() > slack {
            return self.cost < other.cost;
        }
        if (self.capacity_bps - other.capacity_bps).abs() > TOLERANCE * other.capacity_bps {
            return self.capacity_bps > other.capacity_bps;
        }
        self.counts.iter().sum::<u32>() < other.counts.iter().sum()
    }
}

/// Branch and bound over the kinds of modules.
struct Cover<'a> {
    modules: &'a [Module],
    /// Kinds by cost per capacity.
    order: &'a [usize],
    counts: Vec<u32>,
    best: Option<ModuleSet>,
}

impl Cover<'_> {
    /// Tries the counts of the kinds from `place` on, from the largest useful count down. `left_bps` is still to cover.
    fn fill(&mut self, place: usize, left_bps: f64, cost: f64) {
        if left_bps <= 0.0 {
            let found = ModuleSet::new(self.modules, self.counts.clone());
            if self.best.as_ref().is_none_or(|it| found.is_better_than(it)) {
                self.best = Some(found);
            }
            return;
        }
        let Some(&kind) = self.order.get(place) else {
            return;
        };
        let module = self.modules[kind];
        let most = (left_bps / module.capacity_bps).ceil().max(1.0) as u32;
        for count in (0..=most).rev() {
            let n = f64::from(count);
            let left_bps = left_bps - n * module.capacity_bps;
            let cost = cost + n * module.cost;
            // Fewer modules of this kind leave more to kinds that cost more.
            if left_bps > 0.0 && self.least_cost(place + 1, left_bps, cost) > self.best_cost() {
                break;
            }
            self.counts[kind] = count;
            self.fill(place + 1, left_bps, cost);
        }
        self.counts[kind] = 0;
    }

    /// Returns a lower bound of the cost if the kinds from `place` on cover the rest.
    fn least_cost(&self, place: usize, left_bps: f64, cost: f64) -> f64 {
        match self.order.get(place).map(|&kind| self.modules[kind]) {
            Some(module) => cost + left_bps * module.cost / module.capacity_bps,
            None => f64::INFINITY,
        }
    }

    /// Returns the cost of the best set, with its tolerance.
    fn best_cost(&self) -> f64 {
        let best = self.best.as_ref();
        best.map_or(f64::MAX, |it| it.cost * (1.0 + TOLERANCE))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn module(capacity_bps: f64, cost: f64) -> Module {
        Module { capacity_bps, cost }
    }

    #[test]
    fn cheapest_set_mixes_sizes() {
        let modules = [module(10e9, 20.0), module(100e9, 100.0)];
        let counts = |bps| ModuleSet::cheapest(&modules, bps).unwrap().counts;
        assert_eq!(counts(0.0), [] as [u32; 0]);
        assert_eq!(counts(5e9), [1, 0]);
        assert_eq!(counts(40e9), [4, 0]);
        // Five small modules cost as much as a large one, which has more capacity.
        assert_eq!(counts(45e9), [0, 1]);
        assert_eq!(counts(120e9), [2, 1]);
        assert_eq!(ModuleSet::cheapest(&[], 1.0), None);
    }

    #[test]
    fn next_sets_are_the_pareto_front() {
        let modules = [module(10.0, 3.0), module(25.0, 7.0)];
        let mut set = ModuleSet::default();
        let mut front = Vec::new();
        for _ in 0..5 {
            set = set.next(&modules).unwrap();
            front.push((set.capacity_bps, set.cost));
        }
        assert_eq!(
            front,
            [
                (10.0, 3.0),
                (20.0, 6.0),
                (25.0, 7.0),
                (30.0, 9.0),
                (35.0, 10.0)
            ]
        );
    }

    proptest! {
        #[test]
        fn no_other_set_is_cheaper(
            kinds in prop::collection::vec((1_u32..30, 1_u32..30), 1..4),
            needed in 1_u32..90,
        ) {
            let modules: Vec<_> = kinds.iter().map(|&(c, p)| module(f64::from(c), f64::from(p))).collect();
            let found = ModuleSet::cheapest(&modules, f64::from(needed)).unwrap();
            prop_assert!(found.capacity_bps >= f64::from(needed) * (1.0 - 1e-9));
            // By dynamic programming over integer capacities.
            let mut least = vec![0.0_f64];
            for capacity in 1..=needed as usize {
                let ways = kinds.iter().map(|&(c, p)| least[capacity.saturating_sub(c as usize)] + f64::from(p));
                least.push(ways.fold(f64::INFINITY, f64::min));
            }
            prop_assert!((found.cost - least[needed as usize]).abs() < 1e-6);
        }
    }
}
