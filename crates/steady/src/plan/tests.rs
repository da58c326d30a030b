//! Plans of small networks, compared with all cheaper designs.

use netflow_network::{NetworkBuilder, NodeId, Source};
use netflow_problems::{link, one_way, population_seed};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// Links of a test network, as node indices and bandwidth in bit/s.
struct Line {
    ends: (usize, usize),
    bandwidth_bps: f64,
    metric: f64,
}

struct Variants {
    nodes: usize,
    lines: Vec<Line>,
    new_lines: Vec<Line>,
    candidates: Vec<CandidateLink>,
    modules: Vec<Module>,
    /// Ends and rate in packets/s of 1000 B.
    demands: Vec<(usize, usize, f64)>,
    /// False if only candidates can have modules.
    ring_has_modules: bool,
}

fn name(ends: (usize, usize)) -> String {
    format!("n{}<->n{}", ends.0, ends.1)
}

impl PlanVariants for Variants {
    type Error = PlanError;

    fn candidates(&self) -> &[CandidateLink] {
        &self.candidates
    }

    fn modules(&self, link: &str) -> &[Module] {
        let is_candidate = self.candidates.iter().any(|it| it.name == link);
        if self.ring_has_modules || is_candidate {
            &self.modules
        } else {
            &[]
        }
    }

    fn network(
        &self,
        opened: &[bool],
        added_bps: &BTreeMap<String, f64>,
    ) -> Result<Network, PlanError> {
        let mut builder = NetworkBuilder::new();
        let nodes: Vec<NodeId> = (0..self.nodes)
            .map(|i| builder.node(&format!("n{i}")))
            .collect();
        let opened = self.new_lines.iter().zip(opened).filter(|it| *it.1);
        for line in self.lines.iter().chain(opened.map(|it| it.0)) {
            let (a, b) = line.ends;
            let added_bps = added_bps.get(&name(line.ends)).copied().unwrap_or(0.0);
            let mut direction = |from: usize, to: usize| {
                let bandwidth_bps = line.bandwidth_bps + added_bps;
                builder.link(netflow_network::LinkSpec {
                    metric: Some(line.metric),
                    ..link(nodes[from], nodes[to], bandwidth_bps, 2e-3, 100.0)
                })
            };
            let (there, back) = (direction(a, b), direction(b, a));
            builder.duplex(there, back);
        }
        for (i, &(from, to, rate_pps)) in self.demands.iter().enumerate() {
            let source = Source::Poisson { rate_pps };
            builder.connection(one_way(&format!("c{i}"), nodes[from], nodes[to], source));
        }
        Ok(builder.build().expect("a valid network"))
    }
}

/// Ring with a chord, and new links across it.
fn variants(seed: u64, candidates: usize) -> Variants {
    let mut rng = ChaCha8Rng::seed_from_u64(population_seed(seed));
    let nodes = 4;
    let ring = (0..nodes).map(|i| (i, (i + 1) % nodes));
    let mut line = |ends, bandwidth_bps| Line {
        ends,
        bandwidth_bps,
        metric: f64::from(rng.random_range(1..4)),
    };
    let lines = ring.map(|ends| line(ends, 10e6)).collect();
    let mut new_lines: Vec<Line> = [(0, 2), (1, 3)].map(|ends| line(ends, 0.0)).into();
    new_lines.truncate(candidates);
    let cost = f64::from(rng.random_range(0..3));
    let candidate = |it: &Line| CandidateLink {
        name: name(it.ends),
        cost,
    };
    let candidates = new_lines.iter().map(candidate).collect();
    let module = |capacity_bps, cost| Module { capacity_bps, cost };
    let modules = vec![
        module(5e6, 1.0),
        module(20e6, f64::from(rng.random_range(2..5))),
    ];
    let demands = (0..4).map(|_| demand(nodes, &mut rng)).collect();
    Variants {
        nodes,
        lines,
        new_lines,
        candidates,
        modules,
        demands,
        ring_has_modules: true,
    }
}

fn demand(nodes: usize, rng: &mut impl Rng) -> (usize, usize, f64) {
    let from = rng.random_range(0..nodes);
    let to = (from + rng.random_range(1..nodes)) % nodes;
    (from, to, rng.random_range(200.0..900.0))
}

fn options(bounds: Bounds) -> PlanOptions {
    PlanOptions {
        bounds,
        intact_utilization: f64::INFINITY,
        failures: Some(FailureOptions {
            nodes: false,
            ..FailureOptions::default()
        }),
        demand_factor: 1.3,
    }
}

fn found(variants: &Variants, options: &PlanOptions) -> Result<Plan, PlanError> {
    let found = plan(variants, f64::INFINITY, options, &|| false, &mut |_| {});
    found.map(|it| it.expect("it was not stopped"))
}

/// Returns whether a design keeps all limits and routes, by a failure analysis of its own.
fn is_feasible(
    variants: &Variants,
    options: &PlanOptions,
    opened: &[bool],
    added: &BTreeMap<String, f64>,
) -> bool {
    let network = variants.network(opened, added).unwrap();
    let of_failures = FailureOptions {
        demand_factor: options.demand_factor,
        ..options.failures.unwrap()
    };
    let found = failures(&network, f64::INFINITY, &of_failures, &|| false);
    let found = found.unwrap().unwrap();
    let bounds = &options.bounds;
    let worst = found
        .cases
        .iter()
        .map(|it| &it.outcome.as_ref().unwrap().worst);
    let within = |value: f64, bound: f64| value <= bound * (1.0 + 1e-6);
    worst.chain([&found.intact_worst]).all(|it| {
        it.load.is_none_or(|it| within(it.1, bounds.utilization))
            && it.delay_s.is_none_or(|it| within(it.1, bounds.delay_s))
            && it
                .connection_loss
                .is_none_or(|it| within(it.1, bounds.loss))
    })
}

/// Function of the opened candidates and the added bandwidths.
type Each<'a> = dyn FnMut(&[bool], &BTreeMap<String, f64>) -> bool + 'a;

/// Calls `each` for every design that costs less than `most`, while it returns true.
fn cheaper_designs(variants: &Variants, most: f64, each: &mut Each<'_>) {
    for mask in 0..1_u32 << variants.new_lines.len() {
        let opened: Vec<bool> = (0..variants.new_lines.len())
            .map(|i| mask >> i & 1 == 1)
            .collect();
        let new = variants
            .new_lines
            .iter()
            .zip(&opened)
            .filter(|it| *it.1)
            .map(|it| it.0);
        let links: Vec<(String, bool)> = (variants.lines.iter().map(|it| (name(it.ends), false)))
            .chain(new.map(|it| (name(it.ends), true)))
            .collect();
        let fixed: f64 = variants
            .candidates
            .iter()
            .zip(&opened)
            .filter(|it| *it.1)
            .map(|it| it.0.cost)
            .sum();
        extend(
            variants,
            &links,
            most - fixed,
            &mut BTreeMap::new(),
            &mut |added| each(&opened, added),
        );
    }
}

fn extend(
    variants: &Variants,
    links: &[(String, bool)],
    left: f64,
    added: &mut BTreeMap<String, f64>,
    each: &mut dyn FnMut(&BTreeMap<String, f64>) -> bool,
) -> bool {
    if left <= 1e-9 {
        return true;
    }
    let Some(((link, is_new), rest)) = links.split_first() else {
        return each(added);
    };
    let [small, large] = [variants.modules[0], variants.modules[1]];
    for n in 0..=(left / small.cost) as u32 {
        for m in 0..=(left / large.cost) as u32 {
            let (n, m) = (f64::from(n), f64::from(m));
            if *is_new && n + m == 0.0 {
                continue;
            }
            added.insert(
                link.clone(),
                n * small.capacity_bps + m * large.capacity_bps,
            );
            let left = left - n * small.cost - m * large.cost;
            if !extend(variants, rest, left, added, each) {
                return false;
            }
        }
    }
    added.remove(link);
    true
}

/// Largest number of cheaper designs that are evaluated.
const MAX_DESIGNS: usize = 2000;

/// Compares a plan with all cheaper designs; `None` if there are too many.
fn assert_optimal(variants: &Variants, options: &PlanOptions, plan: &Plan) -> Option<()> {
    assert!(is_feasible(
        variants,
        options,
        &plan.opened,
        &plan.added_bps()
    ));
    assert!(plan.lower_bound <= plan.cost);
    let mut designs = Vec::new();
    cheaper_designs(variants, plan.cost, &mut |opened, added| {
        designs.push((opened.to_vec(), added.clone()));
        designs.len() <= MAX_DESIGNS
    });
    if designs.len() > MAX_DESIGNS {
        return None;
    }
    for (opened, added) in &designs {
        let is_cheaper = is_feasible(variants, options, opened, added);
        assert!(
            !is_cheaper,
            "cost {}: {opened:?} {added:?} costs less",
            plan.cost
        );
    }
    Some(())
}

#[test]
fn loads_get_the_cheapest_modules() {
    let bounds = Bounds {
        utilization: 0.8,
        ..Bounds::default()
    };
    let mut costs = Vec::new();
    let mut compared = 0;
    for seed in 0..30 {
        let variants = variants(seed, 0);
        let plan = found(&variants, &options(bounds)).unwrap();
        assert!(plan.is_optimal());
        compared += usize::from(assert_optimal(&variants, &options(bounds), &plan).is_some());
        costs.push(plan.cost);
    }
    println!("{compared} of 30 compared with all cheaper designs: {costs:?}");
    assert!(compared >= 25, "{compared}");
    assert!(costs.iter().any(|&it| it > 4.0), "{costs:?}");
}

#[test]
fn new_links_are_opened_where_they_save() {
    let bounds = Bounds {
        utilization: 0.8,
        ..Bounds::default()
    };
    let (mut opened, mut compared) = (0, 0);
    for seed in 0..30 {
        let variants = variants(seed, 2);
        let plan = found(&variants, &options(bounds)).unwrap();
        assert!(plan.is_optimal());
        compared += usize::from(assert_optimal(&variants, &options(bounds), &plan).is_some());
        opened += plan.opened.iter().filter(|it| **it).count();
    }
    println!("{compared} of 30 compared, {opened} new links");
    assert!(opened > 5 && compared >= 15, "{opened} {compared}");
}

#[test]
fn limits_of_delay_and_loss_hold_at_least_cost() {
    let (mut plans, mut tightened, mut compared, mut proven) = (0, 0, 0, 0);
    for seed in 0..30 {
        let loose = Bounds {
            utilization: 0.95,
            ..Bounds::default()
        };
        let tight = Bounds {
            delay_s: 14e-3,
            loss: 1e-4,
            ..loose
        };
        let variants = variants(seed, 0);
        let plan = match found(&variants, &options(tight)) {
            Err(PlanError::Unreachable { .. }) => continue,
            plan => plan.unwrap(),
        };
        let of_loads = found(&variants, &options(loose)).unwrap();
        assert!(plan.cost >= of_loads.cost);
        plans += 1;
        tightened += usize::from(plan.cost > of_loads.cost);
        proven += usize::from(plan.is_optimal());
        compared += usize::from(assert_optimal(&variants, &options(tight), &plan).is_some());
    }
    println!(
        "{plans} plans, {tightened} dearer than for loads, {proven} proven, {compared} compared"
    );
    assert!(
        plans >= 25 && tightened >= 5 && compared >= 15 && proven >= 20,
        "{plans} {tightened} {compared} {proven}"
    );
}

/// Nine new links exceed the number of which all combinations are evaluated.
#[test]
fn many_candidates_have_a_lower_bound() {
    let mut rng = ChaCha8Rng::seed_from_u64(population_seed(3));
    let nodes = 8;
    let ring = (0..nodes).map(|i| (i, (i + 1) % nodes));
    let line = |ends, bandwidth_bps| Line {
        ends,
        bandwidth_bps,
        metric: 1.0,
    };
    let lines = ring.map(|ends| line(ends, 10e6)).collect();
    let chords = (0..nodes).flat_map(|i| (i + 2..nodes).map(move |j| (i, j)));
    let chords: Vec<_> = chords.filter(|&(i, j)| j - i < nodes - 1).take(9).collect();
    let candidate = |&ends: &(usize, usize)| CandidateLink {
        name: name(ends),
        cost: 1.0,
    };
    let variants = Variants {
        nodes,
        lines,
        candidates: chords.iter().map(candidate).collect(),
        new_lines: chords.iter().map(|&ends| line(ends, 0.0)).collect(),
        modules: vec![Module {
            capacity_bps: 10e6,
            cost: 2.0,
        }],
        demands: (0..30).map(|_| demand(nodes, &mut rng)).collect(),
        ring_has_modules: true,
    };
    let bounds = Bounds {
        utilization: 0.8,
        ..Bounds::default()
    };
    let plan = found(&variants, &options(bounds)).unwrap();
    assert!(is_feasible(
        &variants,
        &options(bounds),
        &plan.opened,
        &plan.added_bps()
    ));
    println!(
        "cost {}, lower bound {}, {} evaluations",
        plan.cost, plan.lower_bound, plan.evaluations
    );
    assert!(plan.lower_bound <= plan.cost && plan.lower_bound > 0.3 * plan.cost);
}

/// Without the candidate, a link has no modules, or the delay of the ring alone exceeds the limit.
#[test]
fn candidates_make_plans_feasible() {
    let line = |ends, bandwidth_bps| Line {
        ends,
        bandwidth_bps,
        metric: 1.0,
    };
    let variants = |has_modules: bool| Variants {
        nodes: 4,
        lines: [(0, 1), (1, 2), (2, 3)].map(|it| line(it, 10e6)).into(),
        new_lines: vec![line((0, 3), 0.0)],
        candidates: vec![CandidateLink {
            name: name((0, 3)),
            cost: 1.0,
        }],
        modules: [Module {
            capacity_bps: 50e6,
            cost: 2.0,
        }]
        .into(),
        demands: vec![(0, 3, if has_modules { 500.0 } else { 2000.0 })],
        ring_has_modules: has_modules,
    };
    let bounds = Bounds {
        utilization: 0.8,
        ..Bounds::default()
    };
    let intact = |bounds| PlanOptions {
        failures: None,
        ..options(bounds)
    };
    let plan = found(&variants(false), &intact(bounds)).unwrap();
    assert_eq!((plan.opened, plan.cost), (vec![true], 3.0));
    // Three links of 2 ms, or one.
    let bounds = Bounds {
        delay_s: 4e-3,
        ..bounds
    };
    let plan = found(&variants(true), &intact(bounds)).unwrap();
    assert_eq!((plan.opened, plan.cost), (vec![true], 3.0));
}

#[test]
fn errors_name_the_reason() {
    let bounds = Bounds {
        delay_s: 1e-3,
        utilization: 0.9,
        ..Bounds::default()
    };
    let error = found(&variants(1, 0), &options(bounds)).unwrap_err();
    assert!(
        matches!(error, PlanError::Unreachable { limit: "delay", .. }),
        "{error}"
    );
    let mut without = variants(1, 0);
    without.modules.clear();
    let bounds = Bounds {
        utilization: 0.05,
        ..Bounds::default()
    };
    let error = found(&without, &options(bounds)).unwrap_err();
    assert!(matches!(error, PlanError::NoModules { .. }), "{error}");
}
