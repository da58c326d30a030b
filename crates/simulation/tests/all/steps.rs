//! Accuracy of automatic steps: shorter ones give the same results, on networks of every scale.

use netflow_problems::{WideNetwork, wide_network};
use netflow_profile::builtin;
use netflow_simulation::{
    Change, ConnectionSpec, EventSpec, FluidOptions, LinkId, LinkSpec, Model, Network,
    NetworkBuilder, Options, PacketOptions, Run, Simulation, Source, Step,
};

use crate::comparison;

fn run(wide: &WideNetwork, longest_s: f64) -> Simulation {
    let network = wide.build();
    let step = Step::auto(longest_s.min(wide.duration_s));
    let options = Options {
        duration_s: wide.duration_s,
        model: FluidOptions::Standard { step }.into(),
        ..Options::default()
    };
    let mut simulation = Simulation::new(network, options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    simulation
}

/// Compares runs with automatic steps and with at most an eighth of their mean, on the networks of these seeds.
/// Networks that need more than `most_steps` are skipped and counted. Returns those that exceed a
/// tolerance: the largest difference relative to its tolerance, and its description.
fn compare(seeds: std::ops::Range<u64>, most_steps: u64) -> Vec<(f64, String)> {
    let (mut compared, mut left_out, mut steps) = (0_usize, 0, 0);
    let (mut differ, mut largest) = (Vec::new(), Vec::new());
    for seed in seeds {
        let wide = wide_network(seed);
        let chosen = run(&wide, Step::default().longest_s());
        if chosen.steps() > most_steps {
            left_out += 1;
            continue;
        }
        compared += 1;
        steps += chosen.steps();
        let finer = run(&wide, wide.duration_s / (8 * chosen.steps()) as f64);
        let (found, difference) = comparison::compare(&chosen, &finer, 10.0);
        largest.push(difference);
        if !found.is_empty() {
            differ.push((difference, format!("seed {seed}: {}", found.join("; "))));
        }
    }
    assert!(compared > 0);
    largest.sort_by(f64::total_cmp);
    for (name, part) in [("median", 0.5), ("90 %", 0.9), ("98 %", 0.98), ("all", 1.0)] {
        let within = ((part * compared as f64) as usize).min(compared - 1);
        println!("{name}: within {:.2} of what is allowed", largest[within]);
    }
    println!(
        "{compared} networks compared in {steps} steps, {left_out} of more than {most_steps} steps left out, {} differ",
        differ.len()
    );
    for (_, found) in &differ {
        println!("{found}");
    }
    differ
}

/// Steps are chosen by the error compared with the packet model, not for convergence: slow start depends on them.
fn assert_few_differ(seeds: std::ops::Range<u64>, most_steps: u64, most_difference: f64) {
    let networks = seeds.end - seeds.start;
    let differ = compare(seeds, most_steps);
    let worst = differ.iter().map(|(difference, _)| *difference);
    assert!(worst.fold(0.0, f64::max) < most_difference);
    assert!(
        4 * differ.len() as u64 <= networks,
        "{} differ",
        differ.len()
    );
}

/// The range of possible steps is that of a simulation that has not begun. Its shortest step is within the range.
#[test]
fn possible_steps_are_those_of_a_new_simulation() {
    for seed in 1000..1010 {
        let wide = wide_network(seed);
        let options = Options {
            duration_s: wide.duration_s,
            ..Options::default()
        };
        let possible_s = Simulation::possible_steps_s(wide.build(), options).unwrap();
        let mut simulation = Simulation::new(wide.build(), options).unwrap();
        assert_eq!(possible_s, simulation.step_range_s());
        simulation.step().unwrap();
        let (shortest_s, longest_s) = possible_s.unwrap();
        let first_s = simulation.step_range_s().unwrap();
        assert!(shortest_s <= first_s.0 && first_s.1 <= longest_s, "{seed}");
        let packets = Options {
            model: Model::Packets(PacketOptions::default()),
            ..options
        };
        assert_eq!(
            Simulation::possible_steps_s(wide.build(), packets),
            Ok(None)
        );
    }
}

#[test]
fn finer_steps_change_little() {
    assert_few_differ(1000..1040, 10_000, 40.0);
}

#[test]
#[ignore = "two minutes in release: an_eighth_of_the_step_changes_little for 1000 networks"]
fn finer_steps_change_little_on_1000_networks() {
    assert_few_differ(1000..2000, 1_000_000, 80.0);
}

/// Returns one link and its return link with buffers of 100 packets.
fn one_link(bandwidth_bps: f64, delay_s: f64) -> (NetworkBuilder, [LinkId; 2], ConnectionSpec) {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    let link = netflow_problems::link(from, to, bandwidth_bps, delay_s, 100.0);
    let back = LinkSpec {
        from: to,
        to: from,
        ..link.clone()
    };
    let links = [b.link(link), b.link(back)];
    let connection = netflow_problems::connection(
        "c",
        from,
        to,
        Source::Profile(builtin("pftk-full").unwrap()),
    );
    (b, links, connection)
}

/// Adds a link between two new nodes, its return link, and two connections.
fn add_pair(b: &mut NetworkBuilder, name: &str, bandwidth_bps: f64, delay_s: f64) -> LinkId {
    let [from, to] = ["from", "to"].map(|end| b.node(&format!("{name}-{end}")));
    let link = netflow_problems::link(from, to, bandwidth_bps, delay_s, 100.0);
    let back = LinkSpec {
        from: to,
        to: from,
        ..link.clone()
    };
    let id = b.link(link);
    b.link(back);
    for (i, start_s) in [0.0, 1.3].into_iter().enumerate() {
        let source = Source::Profile(builtin("ns-reno").unwrap());
        b.connection(ConnectionSpec {
            start_s,
            ..netflow_problems::connection(&format!("{name}{i}"), from, to, source)
        });
    }
    id
}

/// Parts of a network without common traffic take their own steps: each has the results that it has alone, and a fast part
/// does not shorten the steps of a slow one.
#[test]
fn components_are_independent() {
    let parts = [("slow", 1e7, 0.05), ("fast", 1e8, 1e-4)];
    let build = |parts: &[(&str, f64, f64)]| {
        let mut b = NetworkBuilder::new();
        let links = parts
            .iter()
            .map(|&(name, bps, delay_s)| add_pair(&mut b, name, bps, delay_s));
        let links: Vec<LinkId> = links.collect();
        let options = Options {
            duration_s: 10.0,
            ..Options::default()
        };
        (finish(b.build().unwrap(), options), links)
    };
    let (simulation, links) = build(&parts);
    let mut most_steps = 0;
    for (part, link) in parts.iter().zip(links) {
        let (alone, alone_links) = build(&[*part]);
        let totals = [
            simulation.link_totals(link),
            alone.link_totals(alone_links[0]),
        ];
        let [both, alone_values] = totals.map(|it| {
            [
                it.mean_queue_pkts,
                it.utilization,
                it.lost_pkts,
                it.offered_pkts,
            ]
        });
        for (both, alone) in both.into_iter().zip(alone_values) {
            assert!((both / alone - 1.0).abs() < 1e-12, "{both} {alone}");
        }
        most_steps = most_steps.max(alone.steps());
        if part.0 == "slow" {
            assert!(5 * alone.steps() < simulation.steps(), "{}", alone.steps());
        }
    }
    assert_eq!(simulation.steps(), most_steps);
}

fn finish(network: Network, options: Options) -> Simulation {
    let mut simulation = Simulation::new(network, options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    simulation
}

/// Regression: 31 % utilization at the default step, with five connections on 100 Mbit/s and 0.1
/// ms.
#[test]
fn default_step_fills_a_local_network() {
    let (mut b, _, connection) = one_link(1e8, 1e-4);
    b.connection(ConnectionSpec {
        count: 5,
        ..connection
    });
    let network = b.build().unwrap();
    let link = network.links().next().unwrap();
    let options = Options {
        duration_s: 30.0,
        ..Options::default()
    };
    let utilization = finish(network, options).link_totals(link).utilization;
    assert!(utilization > 0.95, "{utilization}");
}

/// Regression: a source sent hundreds of millions of packets after its network's outage, because it
/// used feedback from before it with a round-trip time of zero.
#[test]
fn source_does_not_flood_after_outage() {
    for name in ["mathis", "ns-reno"] {
        for step in [Step::default(), Step::Fixed { step_s: 0.01 }] {
            let (mut b, links, connection) = one_link(340e3, 0.01);
            b.connection(ConnectionSpec {
                source: Source::Profile(builtin(name).unwrap()),
                start_s: 2.0,
                ..connection.clone()
            });
            for link in links {
                for (at_s, change) in [(2.2, Change::Down), (3.1, Change::Up)] {
                    b.event(EventSpec { at_s, link, change });
                }
            }
            let options = Options {
                duration_s: 5.0,
                model: FluidOptions::Standard { step }.into(),
                ..Options::default()
            };
            let totals = finish(b.build().unwrap(), options).totals();
            assert!(totals.offered_pkts < 2000.0, "{name} {step:?}: {totals:?}");
        }
    }
}

/// Reordered rows change no bit.
#[test]
fn row_order_does_not_change_results() {
    for seed in 2000..2060 {
        let wide = wide_network(seed);
        let options = Options {
            duration_s: wide.duration_s.min(2.0),
            model: FluidOptions::Standard {
                step: Step::Fixed { step_s: 0.01 },
            }
            .into(),
            ..Options::default()
        };
        let results = |wide: &WideNetwork| {
            let network = wide.build();
            let simulation = finish(network.clone(), options);
            let mut all: Vec<(String, String)> = network
                .connections()
                .map(|id| {
                    let totals = simulation.connection_totals(id);
                    (
                        network.connection_name(id).to_owned(),
                        format!("{totals:?}"),
                    )
                })
                .collect();
            all.sort();
            (all, format!("{:?}", simulation.totals()))
        };
        let wanted = results(&wide);
        for shuffle in 0..3 {
            let found = results(&wide.shuffled(shuffle));
            assert_eq!(found, wanted, "seed {seed}, shuffle {shuffle}");
        }
    }
}

/// 100 packets sent within 11 ms overflow a queue that needs 80 ms to send them. Averaged over a
/// step of 50 ms they would fit.
#[test]
fn short_burst_overflows_within_a_step() {
    for start_s in [1.0, 1.01, 1.337] {
        let lost_pkts = |step: Step| {
            let mut b = NetworkBuilder::new();
            let (from, to) = (b.node("A"), b.node("B"));
            let link = b.link(netflow_problems::link(from, to, 1e7, 1e-3, 100.0));
            let rate_pps = 1e8 / 12e3;
            b.connection(ConnectionSpec {
                start_s,
                size_pkts: Some(400.0),
                packet_size_bytes: 1500.0,
                ..netflow_problems::one_way("c", from, to, Source::Poisson { rate_pps })
            });
            let options = Options {
                duration_s: 3.0,
                model: FluidOptions::Standard { step }.into(),
                ..Options::default()
            };
            finish(b.build().unwrap(), options)
                .link_totals(link)
                .lost_pkts
        };
        let chosen = lost_pkts(Step::default());
        let short = lost_pkts(Step::Fixed { step_s: 2e-4 });
        let told = format!("{start_s}: {chosen} instead of {short}");
        assert!((chosen / short - 1.0).abs() < 0.05, "{told}");
    }
}

/// A source that has stopped or finished is removed at once, so that a run resumed there equals an
/// uninterrupted one.
#[test]
fn a_run_resumed_at_a_stop_has_the_same_bits() {
    let (mut b, _, connection) = one_link(1e7, 0.03);
    let tcp = |name: &str| ConnectionSpec {
        name: name.to_owned(),
        ..connection.clone()
    };
    b.connection(tcp("goes on"));
    b.connection(ConnectionSpec {
        stop_s: Some(2.0),
        ..tcp("stops")
    });
    // It needs shorter steps than the others.
    b.connection(ConnectionSpec {
        size_pkts: Some(80.0),
        source: Source::Poisson { rate_pps: 2e4 },
        start_s: 1.0,
        ..tcp("ends")
    });
    let network = b.build().unwrap();
    let options = Options {
        duration_s: 4.0,
        ..Options::default()
    };
    let mut through = Simulation::new(network.clone(), options).unwrap();
    let mut resumed = 0;
    let mut ended = false;
    let ends = network.connection_by_name("ends").unwrap();
    let told = |simulation: &Simulation| format!("{:?}", simulation.state().unwrap());
    while !through.is_done() {
        through.step().unwrap();
        let ends_now = !ended && through.connection_totals(ends).finished_s.is_some();
        ended |= ends_now;
        if ends_now || through.time_s() == 2.0 {
            let state = through.state().unwrap().clone();
            let mut other = Simulation::resume(network.clone(), options, state).unwrap();
            for _ in 0..50 {
                through.step().unwrap();
                other.step().unwrap();
                assert_eq!(told(&through), told(&other));
            }
            resumed += 1;
        }
    }
    assert_eq!(resumed, 2);
}

/// Three links in a ring, each of which feeds the next, one of them with a delay of one step. If
/// that step is shorter, the traffic of the last step must not arrive all at once. Regression: a
/// step of 20 ms brought four times the capacity of a queue.
#[test]
fn shorter_step_does_not_speed_up_traffic() {
    let models = [
        FluidOptions::Standard {
            step: Step::Fixed { step_s: 0.02 },
        },
        FluidOptions::Literal { step_s: 0.02 },
    ];
    for model in models {
        let mut b = NetworkBuilder::new();
        let nodes: Vec<_> = ["A", "B", "C"].iter().map(|name| b.node(name)).collect();
        let node = |i: usize| nodes[i % 3];
        let links: Vec<LinkId> = (0..3)
            .map(|i| {
                b.link(netflow_problems::link(
                    node(i),
                    node(i + 1),
                    1e7,
                    1e-3,
                    10.0,
                ))
            })
            .collect();
        // Each needs half of a link's bandwidth.
        for i in 0..3 {
            let path = vec![node(i), node(i + 1), node(i + 2)];
            let source = Source::Constant { rate_pps: 312.5 };
            b.connection(ConnectionSpec {
                path: Some(path),
                ..netflow_problems::one_way(&format!("c{i}"), node(i), node(i + 2), source)
            });
        }
        // Events without effect, where steps end.
        for i in 0..40 {
            let change = Change::Bandwidth(1e7);
            for at_s in [1.0, 1.0003] {
                let at_s = at_s + 0.0517 * f64::from(i);
                let link = links[0];
                b.event(EventSpec { at_s, link, change });
            }
        }
        let network = b.build().unwrap();
        let options = Options {
            duration_s: 5.0,
            model: model.into(),
            ..Options::default()
        };
        let simulation = finish(network.clone(), options);
        let totals = simulation.totals();
        let told = format!("{model:?}: {totals:?}");
        assert!(totals.lost_pkts < 1e-3 * totals.offered_pkts, "{told}");
        let kept = totals.delivered_pkts + totals.queued_pkts + totals.in_flight_pkts;
        let all = totals.lost_pkts + kept;
        assert!((totals.offered_pkts / all - 1.0).abs() < 1e-9, "{told}");
        for link in links {
            let longest_pkts = simulation.link_totals(link).max_queue_pkts;
            assert!(longest_pkts < 1.5, "{told}: {longest_pkts}");
        }
    }
}
