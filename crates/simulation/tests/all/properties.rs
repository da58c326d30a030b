//! Properties of all networks: balances, bounds, and reproducible bits.

use netflow_problems::{RandomNetwork, random_network};
use netflow_simulation::{
    Change, FluidOptions, Model, Options, PacketOptions, Run, Simulation, State, Step,
};
use proptest::prelude::*;

fn any_network() -> impl Strategy<Value = RandomNetwork> {
    (
        2_usize..30,
        0_usize..30,
        1_usize..60,
        0_usize..12,
        any::<u64>(),
    )
        .prop_map(|(nodes, more, connections, events, seed)| RandomNetwork {
            nodes,
            links: nodes - 1 + more,
            connections,
            events,
            duration_s: 10.0,
            seed,
            plain: false,
            windows: false,
        })
}

fn any_options() -> impl Strategy<Value = Options> {
    (0.01_f64..0.5, any::<bool>()).prop_map(|(step_s, auto)| Options {
        duration_s: 10.0,
        model: FluidOptions::Standard {
            step: if auto {
                Step::auto(step_s)
            } else {
                Step::Fixed { step_s }
            },
        }
        .into(),
        ..Options::default()
    })
}

/// offered = delivered + lost + queued + in flight: in total, for every class, for every link.
fn check_balance(sim: &Simulation) -> Result<(), TestCaseError> {
    for totals in [sim.totals(), sim.ack_totals()] {
        prop_assert!(totals.imbalance() < 1e-9, "{totals:?}");
        prop_assert!(
            totals.queued_pkts >= 0.0
                && totals.in_flight_pkts >= -1e-9 * totals.offered_pkts.max(1.0),
            "{totals:?}"
        );
    }
    for id in sim.network().connections() {
        let c = sim.connection_totals(id);
        let on_the_way = c.queued_pkts + c.in_flight_pkts;
        let accounted = c.delivered_pkts + c.lost_pkts + c.unrouted_pkts + on_the_way;
        prop_assert!(
            (c.offered_pkts - accounted).abs() <= 1e-9 * c.offered_pkts.max(1.0),
            "{c:?}"
        );
        for p in [c.loss_probability.unwrap_or(0.0), c.extrapolated_fraction] {
            prop_assert!((0.0..=1.0).contains(&p), "{c:?}");
        }
        let spec = sim.network().connection_spec(id);
        if let (Some(size), Model::Fluid(_)) = (spec.size_pkts, sim.options().model) {
            let most = size.ceil() * f64::from(spec.count);
            // The packets in flight of a fixed-rate source at its end are additional, and of no
            // use.
            let useful_pkts = c.mean_goodput_pps * sim.time_s();
            prop_assert!(useful_pkts <= most * (1.0 + 1e-9), "{c:?} {most}");
            let comes_on_top = spec.source.own_pps().is_some();
            prop_assert!(
                comes_on_top || c.delivered_pkts <= most * (1.0 + 1e-9),
                "{c:?} {most}"
            );
        }
    }
    let mut lost_by_links = 0.0;
    for id in sim.network().links() {
        let l = sim.link_totals(id);
        lost_by_links += l.lost_pkts + l.link_lost_pkts.unwrap_or(0.0);
        let accounted = l.departed_pkts + l.lost_pkts + l.queued_pkts;
        prop_assert!(
            (l.offered_pkts - accounted).abs() <= 1e-9 * l.offered_pkts.max(1.0),
            "{l:?}"
        );
        prop_assert!((0.0..=1.0 + 1e-9).contains(&l.utilization), "{l:?}");
    }
    let lost = sim.totals().lost_pkts + sim.ack_totals().lost_pkts;
    prop_assert!(
        (lost_by_links - lost).abs() <= 1e-9 * sim.totals().offered_pkts.max(1.0),
        "{lost_by_links} {lost}"
    );
    Ok(())
}

fn check_bounds(sim: &Simulation) -> Result<(), TestCaseError> {
    for id in sim.network().links() {
        let (n, b) = (sim.queue_pkts(id), sim.blocking(id));
        prop_assert!((0.0..=sim.network().buffer_pkts(id)).contains(&n), "{n}");
        prop_assert!((0.0..=1.0).contains(&b), "{b}");
    }
    Ok(())
}

fn bits(state: &State) -> String {
    serde_json::to_string(state).unwrap()
}

proptest! {
    #![proptest_config(crate::cases(60))]

    #[test]
    fn packets_balance_with_windows(
        r in any_network(),
        seed in any::<u64>(),
        step_s in 0.001_f64..1.0,
    ) {
        let network = random_network(RandomNetwork { windows: true, ..r });
        let options = Options {
            duration_s: 10.0,
            model: Model::Packets(PacketOptions { step_s, ..PacketOptions::default() }),
            seed,
        };
        let mut sim = Simulation::new(network.clone(), options).unwrap();
        while !sim.is_done() {
            sim.step().unwrap();
            check_bounds(&sim)?;
        }
        check_balance(&sim)?;
        let goodput = |sim: &Simulation| -> Vec<(f64, Option<f64>)> {
            let totals = network.connections().map(|id| sim.connection_totals(id));
            totals.map(|c| (c.mean_goodput_pps, c.mean_rtt_s)).collect()
        };
        for (id, (goodput_pps, rtt_s)) in network.connections().zip(goodput(&sim)) {
            let spec = network.connection_spec(id);
            if let Some(size) = spec.size_pkts {
                let most = size.ceil() * f64::from(spec.count);
                prop_assert!(goodput_pps * 10.0 <= most * (1.0 + 1e-9));
            }
            let propagation_s = sim.explain(id).propagation_s;
            let none = network.events().any(|e| !matches!(e.change, Change::Bandwidth(_)));
            prop_assert!(none || rtt_s.is_none_or(|rtt_s| rtt_s > propagation_s - 1e-9));
        }
        let again = {
            let mut sim = Simulation::new(network.clone(), options).unwrap();
            while !sim.is_done() {
                sim.step().unwrap();
            }
            goodput(&sim)
        };
        prop_assert_eq!(goodput(&sim), again);
    }
}

proptest! {
    #![proptest_config(crate::cases(70))]

    #[test]
    fn packets_balance_and_queues_stay_within_bounds(r in any_network(), options in any_options()) {
        let mut sim = Simulation::new(random_network(r), options).unwrap();
        let mut n = 0;
        while !sim.is_done() {
            sim.step().unwrap();
            check_bounds(&sim)?;
            n += 1;
            if n % 37 == 0 {
                check_balance(&sim)?;
            }
        }
        check_balance(&sim)?;
    }
}

proptest! {
    #![proptest_config(crate::cases(40))]

    #[test]
    fn a_resumed_run_has_the_same_bits(r in any_network(), options in any_options(), cut in 1_usize..100) {
        let network = random_network(r);
        let mut through = Simulation::new(network.clone(), options).unwrap();
        let mut first = Simulation::new(network.clone(), options).unwrap();
        for _ in 0..cut {
            through.step().unwrap();
            first.step().unwrap();
        }
        let saved = bits(first.state().unwrap());
        let restored: State = serde_json::from_str(&saved).unwrap();
        prop_assert_eq!(&saved, &bits(&restored));
        let mut second = Simulation::resume(network, options, restored).unwrap();
        while !through.is_done() {
            through.step().unwrap();
            second.step().unwrap();
        }
        prop_assert_eq!(bits(through.state().unwrap()), bits(second.state().unwrap()));
    }
}

/// In an emptying queue the content decreases by a factor every step, until its inverse overflows.
/// Regression: it became NaN half a minute after the last packet.
#[test]
fn long_idle_queue_stays_finite() {
    let case = netflow_problems::cbr();
    let options = Options {
        duration_s: 200.0,
        model: FluidOptions::Standard {
            step: Step::Fixed { step_s: 0.05 },
        }
        .into(),
        ..Options::default()
    };
    let mut sim = Simulation::new(case.network.clone(), options).unwrap();
    while !sim.is_done() {
        sim.step().unwrap();
    }
    assert!(sim.queue_pkts(case.links[0]) < 1e-100);
    assert!(sim.totals().imbalance() < 1e-12);
}

/// Steady state of one queue with Poisson arrivals: M/M/1/K, for any step.
#[test]
fn a_poisson_fed_queue_settles_at_mm1k() {
    let (mu, room) = (1000.0, 20.0);
    for rho in [0.3, 0.8, 1.0, 1.3, 3.0] {
        let network = netflow_problems::poisson_queue(mu, room, rho * mu);
        let link = network.links().next().unwrap();
        // Σ n ρⁿ / Σ ρⁿ and ρ^K / Σ ρⁿ, summed term by term.
        let weights: Vec<f64> = (0..=20).map(|n| f64::powi(rho, n)).collect();
        let total: f64 = weights.iter().sum();
        let mean: f64 = (0..)
            .zip(&weights)
            .map(|(n, w)| f64::from(n) * w)
            .sum::<f64>()
            / total;
        let blocking = weights[20] / total;
        for step_s in [0.01, 0.05, 0.2] {
            let options = Options {
                duration_s: 20.0,
                model: FluidOptions::Standard {
                    step: Step::Fixed { step_s },
                }
                .into(),
                ..Options::default()
            };
            let mut sim = Simulation::new(network.clone(), options).unwrap();
            while !sim.is_done() {
                sim.step().unwrap();
            }
            assert!((sim.queue_pkts(link) - mean).abs() < 1e-9 * mean, "{rho}");
            assert!((sim.blocking(link) - blocking).abs() < 1e-12, "{rho}");
            assert!(
                (sim.utilization(link) - rho * (1.0 - blocking)).abs() < 1e-9,
                "{rho}"
            );
        }
    }
}

/// Delay at a queue with Poisson arrivals: the mean number of packets divided by the rate of
/// accepted ones.
#[test]
fn fluid_mean_delay_matches_mm1k() {
    let (mu, room) = (1000.0, 20.0);
    for rho in [0.3, 0.8, 1.3] {
        let network = netflow_problems::poisson_queue(mu, room, rho * mu);
        let weights: Vec<f64> = (0..=20).map(|n| f64::powi(rho, n)).collect();
        let total: f64 = weights.iter().sum();
        let mean: f64 = (0..)
            .zip(&weights)
            .map(|(n, weight)| f64::from(n) * weight)
            .sum::<f64>()
            / total;
        let delay_s = mean / (rho * mu * (1.0 - weights[20] / total));
        let options = Options {
            duration_s: 200.0,
            model: FluidOptions::Standard {
                step: Step::Fixed { step_s: 0.05 },
            }
            .into(),
            ..Options::default()
        };
        let mut sim = Simulation::new(network, options).unwrap();
        while !sim.is_done() {
            sim.step().unwrap();
        }
        let id = sim.network().connections().next().unwrap();
        let link = sim.network().links().next().unwrap();
        // The queue is empty at first.
        let found_s = sim.connection_totals(id).mean_delay_s.unwrap();
        assert!((found_s - delay_s).abs() < 1e-2 * delay_s, "{rho}");
        let queueing_s = sim.link_totals(link).sojourn_time_s.unwrap();
        assert!(
            (queueing_s - found_s).abs() < 2e-3 * found_s,
            "{queueing_s} {found_s}"
        );
    }
}

/// Eleven sources start within the delay of a link, and each ends a step early. Regression: more
/// batches were in flight than the ring of the link could hold, and packets vanished.
#[test]
fn staggered_starts_lose_no_packets() {
    let starts_s: Vec<f64> = (0..11).map(|i| 1.0 + 2e-3 * f64::from(i)).collect();
    let network = netflow_problems::poisson_starts(1000.0, 0.08, 20.0, 50.0, &starts_s);
    let options = Options {
        duration_s: 3.0,
        ..Options::default()
    };
    let mut sim = Simulation::new(network, options).unwrap();
    while !sim.is_done() {
        sim.step().unwrap();
        check_balance(&sim).unwrap();
    }
}
