//! Changes of random loss, by events and at run time.

use netflow_problems::{link, one_way, some_loss};
use netflow_simulation::*;
use proptest::prelude::*;
use rand::RngExt;

use crate::cases;
use crate::link_events::{
    DURATION_S, assert_initial_events_equal_built, assert_setting_equals_event, begin, compare,
    is_packet_model, models, network, order_independent_models, results_of, rng, run_until,
    with_events,
};

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn loss_event_at_start_equals_built_loss(seed in 0..100_000_u64) {
        for model in order_independent_models() {
            let network = network(seed, model);
            let mut random = rng(seed);
            let losses: Vec<_> = network.links().map(|_| some_loss(&mut random)).collect();
            let mut builder = network.to_builder();
            let mut each = losses.iter();
            builder.each_link(|link| link.loss = *each.next().unwrap());
            let built = builder.build().unwrap();
            let events = losses.iter().enumerate();
            let events: Vec<_> = events.map(|(l, &loss)| (0.0, l, Change::Loss(loss))).collect();
            let changed = with_events(&network, &events);
            assert_initial_events_equal_built([built, changed], model)?;
        }
    }

    #[test]
    fn loss_set_at_run_time_equals_event(
        seed in 0..100_000_u64,
        at_ms in 200..3000_u32,
    ) {
        let at_s = f64::from(at_ms) / 1e3;
        for model in order_independent_models() {
            let network = network(seed, model);
            let mut random = rng(seed);
            let l = random.random_range(0..network.link_count());
            let loss = LinkLoss { random: 0.07, ..some_loss(&mut random) };
            let changed = with_events(&network, &[(at_s, l, Change::Loss(loss))]);
            assert_setting_equals_event([network, changed], at_s, model, |it| {
                let id = it.network().links().nth(l).unwrap();
                it.set_loss(id, &loss).unwrap();
            })?;
        }
    }

    #[test]
    fn setting_the_same_loss_changes_nothing(seed in 0..100_000_u64, at_ms in 200..3000_u32) {
        let at_s = f64::from(at_ms) / 1e3;
        for model in models() {
            let network = network(seed, model);
            let mut both = [0, 1].map(|_| begin(network.clone(), model));
            both.iter_mut().for_each(|it| run_until(it, at_s));
            for (id, loss) in network.links().zip(network.losses_at(at_s)) {
                both[1].set_loss(id, &loss).unwrap();
            }
            both.iter_mut().for_each(|it| run_until(it, DURATION_S));
            prop_assert_eq!(results_of(&both[0]), results_of(&both[1]));
            if is_packet_model(model) {
                let losses = network.losses_at(at_s).into_iter().enumerate();
                let again: Vec<_> = losses.map(|(l, it)| (at_s, l, Change::Loss(it))).collect();
                let mut again = begin(with_events(&network, &again), model);
                run_until(&mut again, DURATION_S);
                prop_assert_eq!(results_of(&both[0]), results_of(&again));
            }
        }
    }

    /// All models, for links that do not depend on each other's processing order.
    #[test]
    fn loss_at_start_equals_loss_at_any_time(
        parts in proptest::array::uniform2(0.0..1.0_f64),
        load in 0.2..2.0_f64,
    ) {
        let row = |losses: [f64; 2]| {
            let mut builder = NetworkBuilder::new();
            let nodes = ["a", "b", "c"].map(|name| builder.node(name));
            for (ends, loss) in nodes.windows(2).zip(losses) {
                builder.link(LinkSpec {
                    loss: loss.into(),
                    ..link(ends[0], ends[1], 8e6, 0.01, 50.0)
                });
            }
            for (name, to) in [("long", nodes[2]), ("short", nodes[1])] {
                let source = Source::Poisson { rate_pps: 500.0 * load };
                builder.connection(one_way(name, nodes[0], to, source));
            }
            builder.build().unwrap()
        };
        for model in models() {
            let change = |i: usize| (0.0, i, Change::Loss(parts[i].into()));
            let changed = with_events(&row([0.0, 0.5]), &[change(0), change(1)]);
            let mut both = [row(parts), changed].map(|network| begin(network, model));
            both.iter_mut().for_each(|it| run_until(it, DURATION_S));
            compare(&both[0], &both[1], model)?;
        }
    }

    /// One event that sets both, and two events at the same time.
    #[test]
    fn simultaneous_bandwidth_and_loss_events_commute(
        seed in 0..100_000_u64,
        at_ms in 200..3000_u32,
    ) {
        let network = network(seed, Model::PACKETS);
        let l = rng(seed).random_range(0..network.link_count());
        let at_s = f64::from(at_ms) / 1e3;
        let mut events = [
            (at_s, l, Change::Bandwidth(3e5)),
            (at_s, l, Change::Loss(LinkLoss::from(0.2))),
        ];
        let one = with_events(&network, &events);
        events.reverse();
        let other = with_events(&network, &events);
        let mut both = [one, other].map(|network| begin(network, Model::PACKETS));
        both.iter_mut().for_each(|it| run_until(it, DURATION_S));
        prop_assert_eq!(results_of(&both[0]), results_of(&both[1]));
    }

    /// A lightly loaded link and one with a full queue whose loss changes: packets transmitted
    /// before have the old probability, later ones the new. Packets are conserved.
    #[test]
    fn losses_match_the_probability(
        seed in 0..100_000_u64,
        parts in proptest::array::uniform3(0.0..1.0_f64),
        load in 0.2..2.0_f64,
        room in 1..300_u32,
        bits in any::<bool>(),
    ) {
        let loss_of = |part: f64| if bits { LinkLoss {
            bit_errors: BitErrors::independent(1.0 - (1.0 - part).powf(1.0 / 8000.0)).ok(),
            ..LinkLoss::NONE
        } } else { LinkLoss::from(part) };
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        let id = builder.link(LinkSpec {
            loss: loss_of(parts[0]),
            ..link(a, b, 8e6, 0.013, room.into())
        });
        let rate_pps = 1000.0 * load;
        builder.connection(one_way("c", a, b, Source::Poisson { rate_pps }));
        for (at_s, part) in [(1.3, parts[1]), (2.7, parts[2])] {
            let change = Change::Loss(loss_of(part));
            builder.event(EventSpec { at_s, link: id, change });
        }
        let network = builder.build().unwrap();
        for model in models() {
            let options = Options { duration_s: DURATION_S, seed, model };
            let mut simulation = Simulation::new(network.clone(), options).unwrap();
            let mut before = (0.0, 0.0);
            for (until_s, part) in [1.3, 2.7, DURATION_S].into_iter().zip(parts) {
                run_until(&mut simulation, until_s);
                let totals = simulation.link_totals(id);
                let lost = totals.link_lost_pkts.unwrap_or_default();
                let departed = totals.departed_pkts - before.1;
                let found = lost - before.0;
                let tolerance = if is_packet_model(model) { 0.5 + 5.0 * (departed * part * (1.0 - part)).sqrt().max(1.0) } else { 1e-6 * departed };
                prop_assert!(
                    (found - part * departed).abs() <= tolerance,
                    "{} of {} until {} s, not {} of them, by {:?}", found, departed, until_s, part, model
                );
                before = (lost, totals.departed_pkts);
            }
            if matches!(model, Model::Fluid(FluidOptions::Literal { .. })) {
                continue; // its truncated packets are not counted
            }
            let all = simulation.totals();
            let ended = all.delivered_pkts + all.lost_pkts + all.queued_pkts + all.in_flight_pkts;
            prop_assert!((ended - all.offered_pkts).abs() <= 1e-9 * all.offered_pkts, "{:?}", all);
        }
    }

    /// The losses of links are part of the state of the fluid model.
    #[test]
    fn fluid_run_resumes_identically_after_loss_events(seed in 0..100_000_u64) {
        for model in models().into_iter().filter(|model| !is_packet_model(*model)) {
            let network = network(seed, model);
            let l = rng(seed).random_range(0..network.link_count());
            let loss = LinkLoss { random: 0.05, ..some_loss(&mut rng(seed)) };
            let network = with_events(&network, &[(1.0, l, Change::Loss(loss))]);
            let mut simulation = begin(network.clone(), model);
            run_until(&mut simulation, 2.0);
            let json = serde_json::to_string(simulation.state().unwrap()).unwrap();
            let state = serde_json::from_str(&json).unwrap();
            let options = Options { duration_s: DURATION_S, model, ..Options::default() };
            let mut resumed = Simulation::resume(network, options, state).unwrap();
            for it in [&mut simulation, &mut resumed] {
                run_until(it, DURATION_S);
            }
            prop_assert_eq!(results_of(&simulation), results_of(&resumed));
        }
    }
}

#[test]
fn invalid_losses_are_rejected() {
    for model in models() {
        let network = network(1, model);
        let id = network.links().next().unwrap();
        let mut simulation = begin(network.clone(), model);
        for random in [-0.1, 1.1, f64::NAN] {
            let error = simulation.set_loss(id, &LinkLoss::from(random));
            let error = error.unwrap_err().to_string();
            assert!(error.contains("option loss: loss is"), "{error}");
            let mut builder = network.to_builder();
            builder.event(EventSpec {
                at_s: 1.0,
                link: id,
                change: Change::Loss(LinkLoss::from(random)),
            });
            let errors = builder.build().unwrap_err();
            assert!(
                errors[0].to_string().contains("event on link"),
                "{errors:?}"
            );
        }
    }
}

/// Small packets of users have fewer bit errors than large ones, which is requested separately.
#[test]
fn users_have_the_current_losses() {
    let loss = LinkLoss {
        bit_errors: BitErrors::independent(1e-5).ok(),
        ..LinkLoss::from(0.01)
    };
    for model in [Model::PACKETS, Model::FLUID] {
        let waits_s = |first: LinkLoss, event: Option<LinkLoss>| {
            let mut builder = NetworkBuilder::new();
            let (a, b) = (builder.node("a"), builder.node("b"));
            let mut ids = Vec::new();
            for (from, to) in [(a, b), (b, a)] {
                let spec = link(from, to, 8e6, 0.02, 100.0);
                ids.push(builder.link(LinkSpec {
                    loss: first,
                    ..spec
                }));
            }
            let users = netflow_problems::constant_users(&mut builder);
            builder.workload(WorkloadSpec {
                clients: vec![a],
                servers: vec![b],
                start_s: 0.0,
                stop_s: None,
                ..users
            });
            for (&link, loss) in ids.iter().zip(event.iter().cycle()) {
                let (at_s, change) = (0.0, Change::Loss(*loss));
                builder.event(EventSpec { at_s, link, change });
            }
            let options = Options {
                duration_s: 60.0,
                model,
                ..Options::default()
            };
            let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
            run_until(&mut simulation, 60.0);
            let experience = &simulation.experiences(&|| false).unwrap()[0];
            let waits = experience.waits.iter().map(|wait| wait.wait_s);
            let waits: Vec<f64> = waits.collect();
            assert!(waits.len() > 200, "{} by {model:?}", waits.len());
            waits
        };
        let mean = |waits: &[f64]| waits.iter().sum::<f64>() / waits.len() as f64;
        let built = waits_s(loss, None);
        let changed = waits_s(LinkLoss::NONE, Some(loss));
        assert_eq!(built.len(), changed.len());
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
        assert!(built.iter().zip(&changed).all(near), "by {model:?}");
        let (lossy_s, clean_s) = (mean(&built), mean(&waits_s(LinkLoss::NONE, None)));
        assert!(lossy_s > 1.1 * clean_s, "{lossy_s} {clean_s} by {model:?}");
    }
}
