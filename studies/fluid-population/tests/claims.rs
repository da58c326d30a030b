//! Claims of the study, on a few networks of each family.

use study_fluid_population::errors::IntervalErrors;
use study_fluid_population::family::{Draw, Family, ModelKind, Set, Tcp};
use study_fluid_population::page::{medians, medians_calibrated};
use study_fluid_population::{evaluate_networks, run_results};

/// Regression test: the bounds are slightly above the errors of these twenty networks.
#[test]
fn fluid_errors_do_not_increase() {
    let found = evaluate_networks(Set::Test, Tcp::NsReno, 4, 1);
    let all = medians(&found, None);
    println!("{all:?}");
    assert!(all.queues < 0.25, "{all:?}");
    assert!(all.goodput < 0.12, "{all:?}");
    assert!(all.goodput_p90 < 0.32, "{all:?}");
    assert!((0.75..1.3).contains(&all.lost[1]), "{all:?}");
    assert!(all.rtt < 0.07, "{all:?}");
    let [calibrated, _] = medians_calibrated(&found);
    println!("{calibrated:?}");
    assert!(calibrated.queues < 0.18, "{calibrated:?}");
    assert!(calibrated.goodput < 0.115, "{calibrated:?}");
}

/// Every number gives a valid network, and the two sets are disjoint.
#[test]
fn draws_are_networks() {
    for family in Family::ALL {
        for number in 0..25 {
            let texts = [Set::Development, Set::Test].map(|set| {
                let draw = Draw::new(family, set, number);
                for side in [
                    ModelKind::Fluid,
                    ModelKind::Calibrated(10.0),
                    ModelKind::Packets,
                ] {
                    assert!(draw.prepared(side).network.connections().count() > 0);
                }
                draw.text(ModelKind::Fluid)
            });
            assert_ne!(texts[0], texts[1], "{family:?} {number}");
        }
    }
}

/// Scaled networks are valid, and intervals of 5 s have all packets of a run.
#[test]
fn scaled_networks_run_in_both_models() {
    for family in Family::ALL {
        let draw = Draw::new(family, Set::Test, 0).scaled(100, 60.0);
        assert!(
            draw.prepared(ModelKind::Packets)
                .network
                .connections()
                .count()
                > 0
        );
    }
    let draw = Draw::new(Family::Dumbbell, Set::Test, 0).scaled(1, 60.0);
    let [fluid, packets] =
        [ModelKind::Fluid, ModelKind::Packets].map(|side| run_results::run(&draw, side, 1));
    let delivered = fluid
        .delivered_in_pieces_pkts
        .iter()
        .zip(&fluid.connections);
    for (pieces, connection) in delivered {
        assert_eq!(pieces.len(), 12);
        assert!(pieces.iter().sum::<f64>() >= connection.delivered_pkts);
    }
    assert!(IntervalErrors::of(&fluid, &packets).run < 0.5);
    assert_eq!(IntervalErrors::of(&packets, &packets).run, 0.0);
}

/// Shorter steps give similar results: oscillations do not depend on the step.
#[test]
fn shorter_steps_give_similar_results() {
    let sides = [ModelKind::Fluid, ModelKind::Calibrated(10.0)];
    for (family, side) in Family::ALL
        .into_iter()
        .flat_map(|family| sides.map(|side| (family, side)))
    {
        let draw = Draw::new(family, Set::Test, 0);
        let [long, short] =
            [0.05, 0.005].map(|longest_s| run_results::run_with_steps(&draw, side, longest_s));
        let queues =
            |seen: &run_results::RunResults| seen.links.iter().map(|l| l.queue_pkts).sum::<f64>();
        let apart = long.links.iter().zip(&short.links);
        let apart: f64 = apart
            .map(|(a, b)| (a.queue_pkts - b.queue_pkts).abs())
            .sum();
        assert!(
            apart < 0.03 * queues(&long) + 0.5,
            "{family:?} {side:?}: {apart} of {}",
            queues(&long)
        );
    }
}

/// Queues that oscillated permanently by this fraction of their buffer in a former model, in which sources
/// estimated the loss from one interval only. Dumbbell 34, which oscillated by 0.73, still oscillates by 0.45.
#[test]
fn selected_queues_do_not_oscillate() {
    for (family, number, swung) in [
        (Family::Random, 1, 0.67),
        (Family::Dumbbell, 30, 0.62),
        (Family::TransitStub, 10, 0.57),
        (Family::Star, 48, 0.46),
        (Family::Random, 55, 0.41),
        (Family::TransitStub, 47, 0.36),
    ] {
        let draw = Draw::new(family, Set::Development, number);
        let swings = run_results::run(&draw, ModelKind::Fluid, 1).max_oscillation();
        assert!(swings < 0.1, "{family:?} {number}: {swings}, was {swung}");
        // Shorter steps, which take long, for two of them.
        if family != Family::Random {
            continue;
        }
        let swings = run_results::run_with_steps(&draw, ModelKind::Fluid, 0.005).max_oscillation();
        assert!(
            swings < 0.1,
            "{family:?} {number} with shorter steps: {swings}"
        );
    }
}
