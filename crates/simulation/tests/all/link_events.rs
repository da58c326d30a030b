//! Events that change links during a run.

use netflow_problems::{RandomNetwork, random_network};
use netflow_simulation::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::comparison::{self, NullRecorder};

pub const DURATION_S: f64 = 4.0;

pub fn models() -> [Model; 3] {
    [
        Model::PACKETS,
        Model::FLUID,
        FluidOptions::Literal { step_s: 0.01 }.into(),
    ]
}

/// Returns the models whose results hardly depend on the processing order of links in a cycle,
/// which depends on the events of links, too.
pub fn order_independent_models() -> impl Iterator<Item = Model> {
    let literal = |model: &Model| matches!(model, Model::Fluid(FluidOptions::Literal { .. }));
    models().into_iter().filter(move |model| !literal(model))
}

pub fn is_packet_model(model: Model) -> bool {
    matches!(model, Model::Packets(_))
}

pub fn network(seed: u64, model: Model) -> Network {
    random_network(RandomNetwork {
        nodes: 6,
        links: 8,
        connections: 8,
        events: 3,
        duration_s: DURATION_S,
        seed,
        plain: false,
        windows: is_packet_model(model),
    })
}

pub fn begin(network: Network, model: Model) -> Simulation {
    let options = Options {
        duration_s: DURATION_S,
        model,
        ..Options::default()
    };
    Simulation::new(network, options).unwrap()
}

pub fn run_until(simulation: &mut Simulation, time_s: f64) {
    simulation
        .run_until(time_s, &mut NullRecorder, || false)
        .unwrap();
}

pub fn with_events(network: &Network, events: &[(f64, usize, Change)]) -> Network {
    let links: Vec<LinkId> = network.links().collect();
    let mut builder = network.to_builder();
    for &(at_s, link, change) in events {
        let link = links[link];
        builder.event(EventSpec { at_s, link, change });
    }
    builder.build().unwrap()
}

/// Returns the totals of links and connections, and the loss and delay of links.
pub fn results_of(simulation: &Simulation) -> Vec<f64> {
    let network = simulation.network();
    let mut all = comparison::totals_of(simulation);
    for id in network.links() {
        let totals = simulation.link_totals(id);
        all.push(totals.link_lost_pkts.unwrap_or_default());
    }
    for id in network.connections() {
        let totals = simulation.connection_totals(id);
        all.extend([totals.lost_pkts, totals.mean_delay_s.unwrap_or_default()]);
        let hops = simulation.explain(id).hops.into_iter();
        all.extend(hops.flat_map(|hop| [hop.link_loss_probability, hop.propagation_s]));
    }
    all
}

/// Compares two runs.
///
/// Packet runs must have the same bits. Fluid runs may sum in another order, which depends on the
/// events of links. In some networks that oscillate, rounding errors exceed any bound that reveals a
/// fault. Those are compared with perturbed runs of themselves, up to a bound.
pub fn compare(one: &Simulation, other: &Simulation, model: Model) -> Result<(), TestCaseError> {
    let tolerance = match model {
        Model::Packets(_) => 0.0,
        Model::Fluid(_) => 1e-9,
    };
    let apart = max_difference(&results_of(one), &results_of(other));
    let fluid = matches!(model, Model::Fluid(_));
    let trembles = || apart <= 1e-4_f64.min(10.0 * rounding_sensitivity(other, model));
    let near = apart <= tolerance || fluid && trembles();
    prop_assert!(near, "{} apart by {:?}", apart, model);
    Ok(())
}

/// Returns the largest difference relative to the values and 1.
fn max_difference(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    let each = one.iter().zip(other);
    let each = each.map(|(one, other)| (one - other).abs() / (1.0 + one.abs()));
    each.fold(
        0.0,
        |most, it| if it > most || it.is_nan() { it } else { most },
    )
}

/// Returns the change of the results if the last digits of bandwidths change. All changes of the
/// run must be events.
fn rounding_sensitivity(it: &Simulation, model: Model) -> f64 {
    let run = |factor: f64| {
        let mut builder = it.network().to_builder();
        builder.each_link(|link| link.bandwidth_bps *= factor);
        let mut simulation = begin(builder.build().unwrap(), model);
        run_until(&mut simulation, it.time_s());
        results_of(&simulation)
    };
    let built = run(1.0);
    let others = [-1e-12, -1e-13, 1e-13, 1e-12].map(|part| run(1.0 + part));
    let all = others.iter().map(|other| max_difference(&built, other));
    all.fold(0.0, f64::max)
}

/// A network built with some values, and one that gets them by events at 0 s, have the same
/// results.
pub fn assert_initial_events_equal_built(
    networks: [Network; 2],
    model: Model,
) -> Result<(), TestCaseError> {
    let mut both = networks.map(|network| begin(network, model));
    both.iter_mut().for_each(|it| run_until(it, DURATION_S));
    compare(&both[0], &both[1], model)
}

/// A value set at run time in the first network has the same effect as an event at that time in the
/// second, and none before.
pub fn assert_setting_equals_event(
    networks: [Network; 2],
    at_s: f64,
    model: Model,
    set: impl FnOnce(&mut Simulation),
) -> Result<(), TestCaseError> {
    let mut both = networks.map(|network| begin(network, model));
    both.iter_mut().for_each(|it| run_until(it, at_s));
    if is_packet_model(model) {
        // The event belongs to the time at which it occurs.
        set(&mut both[0]);
        compare(&both[0], &both[1], model)?;
    } else {
        compare(&both[0], &both[1], model)?;
        set(&mut both[0]);
    }
    both.iter_mut().for_each(|it| run_until(it, DURATION_S));
    compare(&both[0], &both[1], model)
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(seed))
}
