//! Tabu search over the metrics: the best of some changes is made even if it is worse, and no setting is visited twice.
//!
//! Changes are breakpoints: the metrics at which an arc joins or leaves the shortest paths to a destination. After failures
//! the search looks at the cases that were worst so far; every result is checked in all of them.

use std::collections::{BTreeMap, HashSet};

use netflow_units::hash_mix;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::congestion_cost::congestion_cost;
use super::ecmp_loads::{EcmpLoads, MetricChange, Scratch};
use super::routing_problem::RoutingProblem;
use super::{MAX_ISIS_METRIC, MAX_OSPF_METRIC, WeightOptions, WeightSetting};

/// Number of changes from which each step chooses.
const CHANGES_PER_STEP: usize = 32;
/// Number of changes from which the first steps choose, which change few metrics.
const CHANGES_PER_FIRST_STEP: usize = 1000;
/// Steps without improvement after which some metrics of the best setting are changed at random.
const PATIENCE: usize = 60;
/// Fraction of the metrics that are then changed.
const PERTURBED: f64 = 0.08;
/// Maximum number of failures that are looked at in each step.
const MAX_WATCHED_CASES: usize = 8;
/// Load that counts as full in the cost, as a fraction of the best largest load.
const FULL_LOAD: f64 = 0.92;
/// Relative difference of loads up to which they count as equal.
const TOLERANCE: f64 = 1e-9;
/// Distance from the lower bound at which the search ends.
const OPTIMAL_GAP: f64 = 1e-3;

/// State of the search.
pub(super) struct TabuSearch<'a> {
    problem: &'a RoutingProblem,
    present: &'a [u32],
    max_changes: usize,
    max_metric: u32,
    iterations: usize,
    lower_bound: f64,
    metrics: Vec<u32>,
    /// Loads in the cases that are watched, with the index of the case.
    watched: Vec<(usize, EcmpLoads<'a>)>,
    /// Best settings by their number of changes.
    best: BTreeMap<usize, WeightSetting>,
    /// Hashes of visited settings.
    visited: HashSet<u64>,
    rng: ChaCha8Rng,
    scratch: Scratch,
    evaluations: u64,
}

/// Value of a setting in the watched cases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Value {
    max_load: f64,
    /// Sum of the congestion costs of all links.
    cost: f64,
}

impl<'a> TabuSearch<'a> {
    pub fn new(
        problem: &'a RoutingProblem,
        options: &'a WeightOptions,
        lower_bound: f64,
    ) -> TabuSearch<'a> {
        let metrics = options.metrics.clone();
        let is_wide = metrics.iter().any(|&it| it > MAX_OSPF_METRIC);
        let intact = EcmpLoads::new(problem, &problem.cases[0], &metrics);
        let mut search = TabuSearch {
            problem,
            present: &options.metrics,
            max_changes: options.max_changes.unwrap_or(usize::MAX),
            max_metric: if is_wide {
                MAX_ISIS_METRIC
            } else {
                MAX_OSPF_METRIC
            },
            iterations: options.iterations,
            lower_bound,
            visited: HashSet::from([hash(&metrics)]),
            metrics,
            watched: vec![(0, intact)],
            best: BTreeMap::new(),
            rng: ChaCha8Rng::seed_from_u64(options.seed),
            scratch: Scratch::default(),
            evaluations: 0,
        };
        search.record(f64::NEG_INFINITY);
        search
    }

    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Returns the best settings, by ascending number of changes and descending load.
    pub fn into_settings(self) -> Vec<WeightSetting> {
        let mut settings: Vec<WeightSetting> = Vec::new();
        for setting in self.best.into_values() {
            let lowest = settings.last().map_or(f64::INFINITY, |it| it.max_load);
            if setting.max_load < lowest * (1.0 - TOLERANCE) {
                settings.push(setting);
            }
        }
        settings
    }

    pub fn run(&mut self, stop: &(dyn Fn() -> bool + Sync), progress: &mut dyn FnMut(f64)) {
        self.descend(stop);
        let mut since = 0;
        for step in 0..self.iterations {
            progress(step as f64 / self.iterations as f64);
            if stop() || self.best_load() <= self.lower_bound * (1.0 + OPTIMAL_GAP) {
                break;
            }
            let before = self.best_load();
            let changes = self.changes(CHANGES_PER_STEP);
            match self.best_of(&changes) {
                Some((change, value)) => {
                    self.make(change);
                    self.record(value.max_load);
                }
                None => since = PATIENCE,
            }
            since = if self.best_load() < before {
                0
            } else {
                since + 1
            };
            if since >= PATIENCE {
                self.perturb();
                since = 0;
            }
        }
        self.take_back(stop);
    }

    /// Makes the best of many changes until none lowers the cost.
    fn descend(&mut self, stop: &(dyn Fn() -> bool + Sync)) {
        while !stop() {
            let changes = self.changes(CHANGES_PER_FIRST_STEP);
            let Some((change, value)) = self.best_of(&changes) else {
                return;
            };
            if value.cost >= self.cost() * (1.0 - TOLERANCE) {
                return;
            }
            self.make(change);
            self.record(value.max_load);
        }
    }

    /// Takes changes of the best setting back one by one, the least useful first, to find settings with fewer changes.
    fn take_back(&mut self, stop: &(dyn Fn() -> bool + Sync)) {
        self.return_to_best();
        self.visited.clear();
        loop {
            let mut changed: Vec<usize> = self.changed_groups().collect();
            // A sample is enough while many are changed.
            while changed.len() > CHANGES_PER_STEP * 4 {
                let at = self.rng.random_range(0..changed.len());
                changed.swap_remove(at);
            }
            let back = changed.iter().map(|&group| MetricChange {
                group,
                metric: self.present[group],
            });
            let back: Vec<MetricChange> = back.collect();
            let Some((change, value)) = self.best_of(&back).filter(|_| !stop()) else {
                return;
            };
            self.make(change);
            self.record(value.max_load);
        }
    }

    fn changed_groups(&self) -> impl Iterator<Item = usize> + '_ {
        let both = self.metrics.iter().zip(self.present).enumerate();
        both.filter(|(_, (now, present))| now != present)
            .map(|it| it.0)
    }

    fn best_load(&self) -> f64 {
        self.best
            .values()
            .map(|it| it.max_load)
            .fold(f64::INFINITY, f64::min)
    }

    /// Returns to the setting with the lowest load.
    fn return_to_best(&mut self) {
        let lowest = self.best_load();
        let best = self.best.values().find(|it| it.max_load == lowest);
        let metrics = best.map_or_else(|| self.present.to_vec(), |it| it.metrics.clone());
        self.go_to(metrics);
    }

    fn go_to(&mut self, metrics: Vec<u32>) {
        let (problem, cases) = (self.problem, &mut self.watched);
        cases.par_iter_mut().for_each(|(case, loads)| {
            *loads = EcmpLoads::new(problem, &problem.cases[*case], &metrics);
        });
        self.metrics = metrics;
    }

    fn make(&mut self, change: MetricChange) {
        self.metrics[change.group] = change.metric;
        self.visited.insert(hash(&self.metrics));
        for (_, loads) in &mut self.watched {
            loads.apply(change, &mut self.scratch);
        }
    }

    /// Changes some metrics of the best setting at random.
    fn perturb(&mut self) {
        self.return_to_best();
        let number = (PERTURBED * self.present.len() as f64).ceil() as usize;
        for _ in 0..number {
            if let Some(&change) = self.changes(1).first() {
                self.make(change);
            }
        }
    }

    /// Returns changes that alter paths, half of them at busy links.
    fn changes(&mut self, number: usize) -> Vec<MetricChange> {
        let groups = self.present.len();
        let changed = self.changed_groups().count();
        let busiest = self.busiest_arcs();
        let mut changes = Vec::with_capacity(number);
        let mut known = HashSet::new();
        // Many draws give no change, or one that is known.
        for _ in 0..4 * number {
            let watched = self.rng.random_range(0..self.watched.len());
            let arc = if self.rng.random() {
                let busy = &busiest[watched];
                busy[self.rng.random_range(0..busy.len())]
            } else {
                self.rng.random_range(0..self.problem.arcs.len())
            };
            let loads = &self.watched[watched].1;
            let over: Vec<usize> = loads.destinations_over(arc).map(|it| it.0).collect();
            let destination = if !over.is_empty() && self.rng.random() {
                over[self.rng.random_range(0..over.len())]
            } else if loads.destinations() > 0 {
                self.rng.random_range(0..loads.destinations())
            } else {
                continue;
            };
            let group = self.problem.arcs[arc].group as usize;
            let metric = if self.rng.random_ratio(1, 4) {
                // A metric in use, or next to it.
                let other = self.rng.random_range(0..groups);
                i64::from(self.metrics[other]) + self.rng.random_range(-1..=1)
            } else {
                let Some(step) = loads.breakpoint(arc as u32, destination) else {
                    continue;
                };
                // Equal to the other paths, or beyond them.
                let beyond = i64::from(self.rng.random::<bool>()) * step.signum();
                i64::from(self.metrics[group]) + step + beyond
            };
            let Ok(metric) = u32::try_from(metric) else {
                continue;
            };
            let is_new = u32::from(self.metrics[group] == self.present[group]);
            let is_allowed = (1..=self.max_metric).contains(&metric)
                && metric != self.metrics[group]
                && changed + is_new as usize <= self.max_changes;
            let change = MetricChange { group, metric };
            if is_allowed && known.insert(change) {
                changes.push(change);
                if changes.len() == number {
                    break;
                }
            }
        }
        // A metric that goes back to the present one makes room for another change.
        if changed > 0 && number > 1 {
            let at = self.rng.random_range(0..changed);
            let back = self.changed_groups().nth(at).map(|group| MetricChange {
                group,
                metric: self.present[group],
            });
            changes.extend(back.filter(|it| known.insert(*it)));
        }
        changes
    }

    /// Returns for each watched case the arcs with the highest loads.
    fn busiest_arcs(&self) -> Vec<Vec<usize>> {
        let of_case = |(_, loads): &(usize, EcmpLoads<'_>)| {
            let load = |&arc: &usize| loads.loads_bps()[arc] / self.problem.arcs[arc].capacity_bps;
            let mut arcs: Vec<usize> = (0..self.problem.arcs.len()).collect();
            arcs.sort_by(|a, b| load(b).total_cmp(&load(a)).then(a.cmp(b)));
            arcs.truncate(5);
            arcs
        };
        self.watched.iter().map(of_case).collect()
    }

    /// Returns the change to a new setting with the lowest cost.
    fn best_of(&mut self, changes: &[MetricChange]) -> Option<(MetricChange, Value)> {
        let mut metrics = self.metrics.clone();
        let new = changes.iter().copied().filter(|change| {
            let before = std::mem::replace(&mut metrics[change.group], change.metric);
            let is_new = !self.visited.contains(&hash(&metrics));
            metrics[change.group] = before;
            is_new
        });
        let new: Vec<MetricChange> = new.collect();
        let full_load = self.full_load();
        self.evaluations += new.len() as u64;
        let values: Vec<Value> = (new.par_iter())
            .map_init(Scratch::default, |scratch, &change| {
                let mut value = Value::default();
                for (_, loads) in &self.watched {
                    self.add_case(&mut value, full_load, loads.try_change(change, scratch));
                }
                value
            })
            .collect();
        let best = (0..new.len()).min_by(|&a, &b| values[a].cost.total_cmp(&values[b].cost))?;
        Some((new[best], values[best]))
    }

    /// Returns the cost of the present setting.
    fn cost(&self) -> f64 {
        let mut value = Value::default();
        for (_, loads) in &self.watched {
            self.add_case(&mut value, self.full_load(), loads.loads_bps());
        }
        value.cost
    }

    /// Returns the load that counts as full: slightly below the best largest load, so that the cost is steep where it must
    /// fall.
    fn full_load(&self) -> f64 {
        (FULL_LOAD * self.best_load()).max(self.lower_bound)
    }

    fn add_case(&self, value: &mut Value, full_load: f64, loads_bps: &[f64]) {
        for (load_bps, arc) in loads_bps.iter().zip(&self.problem.arcs) {
            let load = load_bps / arc.capacity_bps;
            value.max_load = value.max_load.max(load);
            value.cost += congestion_cost(load / full_load);
        }
    }

    /// Keeps the present setting if no setting with as few changes has a lower load. `load` is its largest load in the
    /// watched cases.
    fn record(&mut self, load: f64) {
        let changes = self.changed_groups().count();
        let mut fewer = self.best.range(..=changes);
        if fewer.any(|(_, it)| it.max_load <= load * (1.0 + TOLERANCE)) {
            return;
        }
        let all: Vec<f64> = (self.problem.cases.par_iter())
            .map(|case| {
                let loads = EcmpLoads::new(self.problem, case, &self.metrics);
                let both = loads.loads_bps().iter().zip(&self.problem.arcs);
                both.map(|(load, arc)| load / arc.capacity_bps)
                    .fold(0.0, f64::max)
            })
            .collect();
        let worst = (0..all.len()).fold(
            0,
            |worst, case| {
                if all[case] > all[worst] { case } else { worst }
            },
        );
        self.watch(worst, &all);
        let max_load = all[worst];
        let mut fewer = self.best.range(..=changes);
        if fewer.any(|(_, it)| it.max_load <= max_load * (1.0 + TOLERANCE)) {
            return;
        }
        self.best.insert(
            changes,
            WeightSetting {
                metrics: self.metrics.clone(),
                changes,
                max_load,
                intact_load: all[0],
            },
        );
    }

    /// Watches a case, instead of the watched one with the lowest load if they are many.
    fn watch(&mut self, case: usize, loads: &[f64]) {
        if self.watched.iter().any(|it| it.0 == case) {
            return;
        }
        if self.watched.len() > MAX_WATCHED_CASES {
            let places = 1..self.watched.len();
            let load = |place: usize| loads[self.watched[place].0];
            let least = places.min_by(|&a, &b| load(a).total_cmp(&load(b)));
            if let Some(least) = least {
                self.watched.remove(least);
            }
        }
        let new = EcmpLoads::new(self.problem, &self.problem.cases[case], &self.metrics);
        self.watched.push((case, new));
    }
}

fn hash(metrics: &[u32]) -> u64 {
    metrics
        .iter()
        .fold(0, |hash, &it| hash_mix(hash ^ u64::from(it)))
}
