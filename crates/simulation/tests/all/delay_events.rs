//! Changes of link delays, by events and at run time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use netflow_problems::{connection, link, one_way};
use netflow_simulation::*;
use proptest::prelude::*;
use rand::RngExt;

use crate::cases;
use crate::link_events::{
    DURATION_S, assert_initial_events_equal_built, assert_setting_equals_event, begin,
    is_packet_model, models, network, order_independent_models, results_of, rng, run_until,
    with_events,
};

/// Returns the same network with routes that do not depend on delays.
fn with_metrics(network: &Network, seed: u64) -> NetworkBuilder {
    let mut random = rng(seed);
    let mut builder = network.to_builder();
    builder.each_link(|link| link.metric = Some(f64::from(random.random_range(1..5_u32))));
    builder
}

fn random_delay_s(random: &mut impl rand::Rng) -> f64 {
    1e-3 * f64::from(random.random_range(0..200_u32))
}

proptest! {
    #![proptest_config(cases(12))]

    /// Sums are in another order. In queues that oscillate permanently, rounding errors grow
    /// without bound: with none of these seeds, but with 35227.
    #[test]
    fn delay_event_at_start_equals_built_delay(seed in 0..24_u64) {
        for model in order_independent_models() {
            let network = with_metrics(&network(seed, model), seed).build().unwrap();
            let mut random = rng(seed);
            let delays_s: Vec<f64> = network.links().map(|_| random_delay_s(&mut random)).collect();
            let mut builder = network.to_builder();
            let mut each = delays_s.iter();
            builder.each_link(|link| link.delay_s = *each.next().unwrap());
            let built = builder.build().unwrap();
            let events = delays_s.iter().enumerate();
            // Through an intermediate value, which no packet encounters.
            let events = events.flat_map(|(l, &delay_s)| [1.0, delay_s].map(|it| (0.0, l, Change::Delay(it))));
            let changed = with_events(&network, &events.collect::<Vec<_>>());
            assert_initial_events_equal_built([built, changed], model)?;
        }
    }

    #[test]
    fn delay_set_at_run_time_equals_event(
        seed in 0..100_000_u64,
        at_ms in 200..3000_u32,
    ) {
        let at_s = f64::from(at_ms) / 1e3;
        for model in order_independent_models() {
            let network = network(seed, model);
            let mut random = rng(seed);
            let l = random.random_range(0..network.link_count());
            let delay_s = random_delay_s(&mut random);
            let announced = [(network.links().nth(l).unwrap(), delay_s)];
            let hand = with_delays(&network, &announced).unwrap();
            let changed = with_events(&network, &[(at_s, l, Change::Delay(delay_s))]);
            assert_setting_equals_event([hand, changed], at_s, model, |it| {
                let id = it.network().links().nth(l).unwrap();
                it.set_delay(id, delay_s).unwrap();
            })?;
        }
    }

    #[test]
    fn setting_the_same_delay_changes_nothing(seed in 0..100_000_u64, at_ms in 200..3000_u32) {
        let at_s = f64::from(at_ms) / 1e3;
        for model in models() {
            let network = network(seed, model);
            let mut both = [0, 1].map(|_| begin(network.clone(), model));
            both.iter_mut().for_each(|it| run_until(it, at_s));
            // The fluid model applies due events at the start of its next step.
            let delays_s = network.delays_at_s(at_s);
            for (id, &delay_s) in network.links().zip(&delays_s) {
                both[1].set_delay(id, delay_s).unwrap();
            }
            both.iter_mut().for_each(|it| run_until(it, DURATION_S));
            prop_assert_eq!(results_of(&both[0]), results_of(&both[1]));
            if is_packet_model(model) {
                let again = delays_s.into_iter().enumerate();
                let again: Vec<_> = again.map(|(l, it)| (at_s, l, Change::Delay(it))).collect();
                let mut again = begin(with_events(&network, &again), model);
                run_until(&mut again, DURATION_S);
                prop_assert_eq!(results_of(&both[0]), results_of(&again));
            }
        }
    }

    /// Packets in flight with other delays are part of the state of the fluid model.
    #[test]
    fn fluid_run_resumes_identically_after_delay_events(seed in 0..100_000_u64) {
        for model in models().into_iter().filter(|model| !is_packet_model(*model)) {
            let network = network(seed, model);
            let mut random = rng(seed);
            let changes = (0..network.link_count()).map(|l| (1.0, l, Change::Delay(random_delay_s(&mut random))));
            let network = with_events(&network, &changes.collect::<Vec<_>>());
            let mut simulation = begin(network.clone(), model);
            run_until(&mut simulation, 1.01);
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

    /// With changes of every kind at any time, all offered packets are delivered, lost or in the
    /// network. The number of queued packets equals the sum over queues.
    #[test]
    fn delay_changes_conserve_packets(seed in 0..100_000_u64) {
        for model in models() {
            if matches!(model, Model::Fluid(FluidOptions::Literal { .. })) {
                continue; // its truncated packets are not counted
            }
            let network = network(seed, model);
            let mut random = rng(seed);
            let changes = (0..8).map(|_| {
                let at_s = random.random_range(0.0..DURATION_S);
                let l = random.random_range(0..network.link_count());
                (at_s, l, Change::Delay(random_delay_s(&mut random)))
            });
            let network = with_events(&network, &changes.collect::<Vec<_>>());
            let mut simulation = begin(network.clone(), model);
            for i in 1..=40 {
                run_until(&mut simulation, DURATION_S * f64::from(i) / 40.0);
                let (data, acks) = (simulation.totals(), simulation.ack_totals());
                for all in [data, acks] {
                    let ended = all.delivered_pkts + all.lost_pkts + all.unrouted_pkts;
                    let there = all.queued_pkts + all.in_flight_pkts;
                    let tolerance = if is_packet_model(model) { 0.0 } else { 1e-9 * (1.0 + all.offered_pkts) };
                    prop_assert!(
                        (ended + there - all.offered_pkts).abs() <= tolerance,
                        "{:?} by {:?}", all, model
                    );
                }
                if is_packet_model(model) {
                    let queues = network.links().map(|id| simulation.queue_pkts(id));
                    prop_assert_eq!(data.queued_pkts + acks.queued_pkts, queues.sum::<f64>());
                }
            }
        }
    }

    /// Packets at a constant rate over links in a row with changing delays and bandwidths, compared
    /// with a separate simulation: packets arrived, in flight and queued at any time, and their
    /// delays.
    #[test]
    fn packets_arrive_at_expected_times(seed in 0..100_000_u64) {
        let random = &mut rng(seed);
        let row = Row::random(random);
        // The start is such that packets are sent at whole milliseconds, without rounding.
        let gap_ns = (1e9 / row.rate_pps) as u64;
        let network = row.network(gap_ns - first_arrival_ns(&row.network(0), gap_ns));
        let model = Model::PACKETS;
        let mut simulation = begin(network.clone(), model);
        let id = network.connections().next().unwrap();
        for i in 1..=50 {
            let until_ns = 77_000_000 * i;
            run_until(&mut simulation, until_ns as f64 / 1e9);
            let wanted = row.simulate(gap_ns, until_ns);
            let totals = simulation.connection_totals(id);
            let queues = network.links().map(|link| simulation.queue_pkts(link) as u64);
            let found = ArrivalRecord {
                took_ns: (totals.mean_delay_s.unwrap_or_default() * totals.delivered_pkts * 1e9).round() as u64,
                arrived: totals.delivered_pkts as u64,
                lost: totals.lost_pkts as u64,
                on_the_way: totals.in_flight_pkts as u64,
                queues: queues.collect(),
            };
            prop_assert_eq!(found, wanted, "{} {:?}", until_ns, row);
        }
    }

    /// The same row in the fluid model: arrivals match those of packets, except for partial
    /// packets. Queues are too short to matter.
    #[test]
    fn fluid_overtaking_matches_packets(seed in 0..100_000_u64) {
        let mut row = Row {
            rate_pps: 250.0,
            room: 1000,
            ..Row::random(&mut rng(seed))
        };
        row.bandwidths_bps.fill(8e8);
        row.events.retain(|event| matches!(event.2, Change::Delay(_)));
        let network = row.network(0);
        let id = network.connections().next().unwrap();
        let step = Step::auto(0.001);
        let model = Model::Fluid(FluidOptions::Standard { step });
        let mut simulation = begin(network, model);
        for i in 1..=50 {
            let until_ns = 77_000_000 * i;
            run_until(&mut simulation, until_ns as f64 / 1e9);
            let arrived = simulation.connection_totals(id).delivered_pkts;
            let wanted = row.simulate(0, until_ns).arrived as f64;
            // Packets are discrete, and one begins at time 0; a step is a quarter of a packet.
            prop_assert!((arrived - wanted).abs() < 2.5, "{} {} at {} {:?}", arrived, wanted, until_ns, row);
        }
        run_until(&mut simulation, DURATION_S);
        let wanted = row.simulate(0, (DURATION_S * 1e9) as u64);
        let mean_s = simulation.connection_totals(id).mean_delay_s.unwrap();
        let wanted_s = wanted.took_ns as f64 / wanted.arrived as f64 * 1e-9;
        // At each change a packet may be on the other side, and two more have been sent since the
        // last fluid step. Packets in flight to the link, for at most 150 ms on each link before
        // it, use the value at their sending time. The fluid model reports the delay of sent
        // packets, not only of arrived ones.
        let before = |link: usize| 0.15 * row.rate_pps * link as f64;
        let others: f64 = row.events.iter().map(|event| 4.0 + before(event.1)).sum();
        let others = others + wanted.on_the_way as f64;
        let allowed_s = 0.15 * others / wanted.arrived as f64 + 1e-4;
        prop_assert!((mean_s - wanted_s).abs() < allowed_s, "{} {} {:?}", mean_s, wanted_s, row);
    }
}

/// Returns the time of the first packet within the first interval, by bisection.
fn first_arrival_ns(network: &Network, gap_ns: u64) -> u64 {
    let id = network.connections().next().unwrap();
    let (mut before, mut after) = (0, gap_ns + 1);
    while after - before > 1 {
        let middle = before.midpoint(after);
        let mut simulation = begin(network.clone(), Model::PACKETS);
        run_until(&mut simulation, middle as f64 / 1e9);
        if simulation.connection_totals(id).offered_pkts > 0.0 {
            after = middle
        } else {
            before = middle
        }
    }
    before
}

/// One source and links in a row.
#[derive(Clone, Debug)]
struct Row {
    rate_pps: f64,
    room: usize,
    bandwidths_bps: Vec<f64>,
    delays_ns: Vec<u64>,
    /// Events in order of time.
    events: Vec<(u64, usize, Change)>,
}

/// Result of a row.
#[derive(Debug, PartialEq)]
struct ArrivalRecord {
    took_ns: u64,
    arrived: u64,
    lost: u64,
    on_the_way: u64,
    queues: Vec<u64>,
}

/// Event, in processing order for equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowEvent {
    /// A link has transmitted the first packet of its queue, if nothing changed since.
    Left {
        link: usize,
        generation: u32,
    },
    Event(usize),
    Arrives {
        link: usize,
        sent_ns: u64,
    },
}

impl Row {
    fn random(random: &mut impl rand::Rng) -> Row {
        let n = random.random_range(1..4);
        let mut one_of = |all: &[f64]| all[random.random_range(0..all.len())];
        let bandwidths_bps: Vec<f64> = (0..n).map(|_| one_of(&[1e6, 2e6, 8e6])).collect();
        let delays = [0.0, 1e6, 10e6, 60e6, 150e6];
        let mut events = Vec::new();
        let mut now_bps = bandwidths_bps.clone();
        let (rate_pps, room) = (one_of(&[50.0, 125.0, 200.0]), one_of(&[2.0, 7.0, 100.0]));
        let delays_ns = (0..n).map(|_| one_of(&delays) as u64).collect();
        let mut at_ns = 0.0;
        for _ in 0..one_of(&[1.0, 3.0, 8.0]) as usize {
            at_ns += one_of(&[0.0, 1e6, 8e6, 37e6, 400e6, 1300e6]);
            let link = one_of(&[0.0, 1.0, 2.0]) as usize % n;
            let change = match one_of(&[0.0, 0.0, 0.0, 0.5, 2.0]) {
                0.0 => Change::Delay(one_of(&delays) / 1e9),
                // Transmission times stay whole numbers.
                factor => {
                    now_bps[link] = (factor * now_bps[link]).clamp(5e5, 1.6e7);
                    Change::Bandwidth(now_bps[link])
                }
            };
            events.push((at_ns as u64, link, change));
        }
        Row {
            rate_pps,
            room: room as usize,
            bandwidths_bps,
            delays_ns,
            events,
        }
    }

    /// Builds the network with a source that starts at `start_ns`.
    fn network(&self, start_ns: u64) -> Network {
        let mut builder = NetworkBuilder::new();
        let nodes = (0..=self.delays_ns.len()).map(|i| builder.node(&format!("n{i}")));
        let nodes: Vec<NodeId> = nodes.collect();
        let mut links = Vec::new();
        for (l, ends) in nodes.windows(2).enumerate() {
            let delay_s = self.delays_ns[l] as f64 / 1e9;
            let room = self.room as f64;
            links.push(builder.link(link(
                ends[0],
                ends[1],
                self.bandwidths_bps[l],
                delay_s,
                room,
            )));
        }
        for &(at_ns, l, change) in &self.events {
            builder.event(EventSpec {
                at_s: at_ns as f64 / 1e9,
                link: links[l],
                change,
            });
        }
        let source = Source::Constant {
            rate_pps: self.rate_pps,
        };
        let connection = one_way("c", nodes[0], nodes[nodes.len() - 1], source);
        builder.connection(ConnectionSpec {
            start_s: start_ns as f64 / 1e9,
            ..connection
        });
        builder.build().unwrap()
    }

    /// Simulates until `until_ns`, with the first packet sent at `first_ns`.
    fn simulate(&self, first_ns: u64, until_ns: u64) -> ArrivalRecord {
        let n = self.delays_ns.len();
        let mut heap = BinaryHeap::new();
        for (i, event) in self.events.iter().enumerate() {
            heap.push(Reverse((event.0, RowEvent::Event(i))));
        }
        let gap_ns = (1e9 / self.rate_pps) as u64;
        for sent_ns in (0..)
            .map(|i| first_ns + i * gap_ns)
            .take_while(|&at_ns| at_ns < until_ns)
        {
            heap.push(Reverse((sent_ns, RowEvent::Arrives { link: 0, sent_ns })));
        }
        let (mut bps, mut delays_ns) = (self.bandwidths_bps.clone(), self.delays_ns.clone());
        // Sending times of the queued packets, and departure time of the first.
        let mut queues = vec![VecDeque::new(); n];
        let mut leaves_ns = vec![0; n];
        let mut generations = vec![0; n];
        let mut told = ArrivalRecord {
            took_ns: 0,
            arrived: 0,
            lost: 0,
            on_the_way: 0,
            queues: Vec::new(),
        };
        let service_ns = |bps: f64| (8e12 / bps) as u64;
        while let Some(Reverse((now_ns, what))) = heap.pop() {
            // Events at the end are included, as are departures until then.
            if now_ns > until_ns || (now_ns == until_ns && matches!(what, RowEvent::Arrives { .. }))
            {
                told.on_the_way += u64::from(matches!(what, RowEvent::Arrives { .. }));
                continue;
            }
            match what {
                RowEvent::Arrives { link, sent_ns } if link == n => {
                    told.arrived += 1;
                    told.took_ns += now_ns - sent_ns;
                }
                RowEvent::Arrives { link, .. } if queues[link].len() == self.room => told.lost += 1,
                RowEvent::Arrives { link, sent_ns } => {
                    queues[link].push_back(sent_ns);
                    if queues[link].len() == 1 {
                        leaves_ns[link] = now_ns + service_ns(bps[link]);
                        let left = RowEvent::Left {
                            link,
                            generation: generations[link],
                        };
                        heap.push(Reverse((leaves_ns[link], left)));
                    }
                }
                RowEvent::Left { link, generation } => {
                    if generation != generations[link] {
                        continue;
                    }
                    let sent_ns = queues[link].pop_front().unwrap();
                    let next = RowEvent::Arrives {
                        link: link + 1,
                        sent_ns,
                    };
                    heap.push(Reverse((now_ns + delays_ns[link], next)));
                    if !queues[link].is_empty() {
                        leaves_ns[link] = now_ns + service_ns(bps[link]);
                        heap.push(Reverse((leaves_ns[link], what)));
                    }
                }
                RowEvent::Event(i) => match self.events[i] {
                    (_, link, Change::Delay(delay_s)) => {
                        delays_ns[link] = (delay_s * 1e9).round() as u64
                    }
                    (_, link, Change::Bandwidth(to_bps)) => {
                        let ratio = bps[link] / to_bps;
                        bps[link] = to_bps;
                        generations[link] += 1;
                        if !queues[link].is_empty() {
                            leaves_ns[link] =
                                now_ns + ((leaves_ns[link] - now_ns) as f64 * ratio) as u64;
                            let left = RowEvent::Left {
                                link,
                                generation: generations[link],
                            };
                            heap.push(Reverse((leaves_ns[link], left)));
                        }
                    }
                    _ => {}
                },
            }
        }
        told.queues = queues.iter().map(|queue| queue.len() as u64).collect();
        told
    }
}

#[test]
fn invalid_delays_are_rejected() {
    for model in models() {
        let network = network(1, model);
        let id = network.links().next().unwrap();
        let network = with_delays(&network, &[(id, 0.5)]).unwrap();
        let id = network.links().next().unwrap();
        let mut simulation = begin(network.clone(), model);
        assert!(simulation.set_delay(id, 0.5).is_ok());
        for delay_s in [0.6, -0.1, f64::NAN, f64::INFINITY] {
            let error = simulation.set_delay(id, delay_s).unwrap_err().to_string();
            assert!(
                error.contains("option delay: ") && error.contains("s are not between"),
                "{error}"
            );
        }
        for delay_s in [-0.1, f64::NAN, f64::INFINITY] {
            let errors = with_delays(&network, &[(id, delay_s)]).unwrap_err();
            assert!(
                errors[0].to_string().contains("event on link"),
                "{errors:?}"
            );
        }
    }
}

/// A constant-rate connection and TCP over one link whose delay changes from 10 to 60 and to 20 ms.
/// After each change, delays, round-trip times and rates equal those of a link built with that
/// delay, in both models. The models also agree as well as for such a link.
#[test]
fn changed_delay_equals_built_delay() {
    let network = |delay_s: f64, changes: &[(f64, f64)], source: &Source| {
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        for (from, to) in [(a, b), (b, a)] {
            let id = builder.link(link(from, to, 4e6, delay_s, 20.0));
            for &(at_s, delay_s) in changes {
                let change = Change::Delay(delay_s);
                builder.event(EventSpec {
                    at_s,
                    link: id,
                    change,
                });
            }
        }
        let constant = Source::Constant { rate_pps: 50.0 };
        builder.connection(one_way("constant", a, b, constant));
        let tcp = connection("tcp", a, b, source.clone());
        builder.connection(ConnectionSpec { count: 2, ..tcp });
        builder.build().unwrap()
    };
    let profile = Source::Profile(netflow_profile::builtin("ns-reno").unwrap());
    let window = Source::Ns2Tcp(WindowSource::default());
    let engines = [(profile, Model::FLUID), (window, Model::PACKETS)];
    let begin = |network, model| {
        let options = Options {
            duration_s: 120.0,
            model,
            ..Options::default()
        };
        Simulation::new(network, options).unwrap()
    };
    let told = |simulation: &mut Simulation, from_s: f64| {
        run_until(simulation, from_s + 10.0);
        simulation.begin_period();
        run_until(simulation, from_s + 40.0);
        let ids: Vec<_> = simulation.network().connections().collect();
        let [constant, tcp] = [0, 1].map(|i| simulation.connection_totals(ids[i]));
        let rtt_s = tcp.mean_rtt_s.unwrap();
        [constant.mean_delay_s.unwrap(), rtt_s, tcp.mean_goodput_pps]
    };
    let changes = [(40.0, 0.06), (80.0, 0.02)];
    let mut each = engines
        .each_ref()
        .map(|(source, model)| begin(network(0.01, &changes, source), *model));
    for (from_s, delay_s) in [(0.0, 0.01)].into_iter().chain(changes) {
        let found = each.each_mut().map(|it| told(it, from_s));
        let built = engines
            .each_ref()
            .map(|(source, model)| told(&mut begin(network(delay_s, &[], source), *model), 0.0));
        println!("{delay_s} s: {found:?} {built:?}");
        for (found, built) in found.iter().zip(&built) {
            for (found, built) in found.iter().zip(built) {
                assert!((found / built - 1.0).abs() < 0.03, "{found} {built}");
            }
        }
        for (fluid, packets) in found[0].iter().zip(&found[1]) {
            assert!((fluid / packets - 1.0).abs() < 0.15, "{fluid} {packets}");
        }
    }
}

/// For both engines, which reset when a path is set before anything has happened.
#[test]
fn link_settings_survive_a_path_setting() {
    for model in models() {
        let mut builder = NetworkBuilder::new();
        let nodes = ["a", "b", "c"].map(|name| builder.node(name));
        for (from, to) in [(0, 2), (0, 1), (1, 2)] {
            builder.link(link(nodes[from], nodes[to], 8e6, 0.01, 50.0));
        }
        let source = Source::Constant { rate_pps: 100.0 };
        builder.connection(one_way("c", nodes[0], nodes[2], source));
        let network = builder.build().unwrap();
        let id = network.connections().next().unwrap();
        let path: Vec<NodeId> = network.nodes().collect();
        let network = with_paths(&network, &[(id, path)]).unwrap();
        let first = network.link_by_name("a->b").unwrap();
        let network = with_delays(&network, &[(first, 0.5)]).unwrap();
        let mut simulation = begin(network.clone(), model);
        let first = network.link_by_name("a->b").unwrap();
        simulation.set_delay(first, 0.5).unwrap();
        simulation.set_loss(first, &LinkLoss::from(0.25)).unwrap();
        let id = network.connections().next().unwrap();
        let path: Vec<NodeId> = network.nodes().collect();
        simulation.set_route(id, Some(&path)).unwrap();
        for until_s in [0.0, DURATION_S] {
            run_until(&mut simulation, until_s);
            let hop = simulation.explain(id).hops.swap_remove(0);
            let is = (hop.link, hop.propagation_s, hop.link_loss_probability);
            assert_eq!(is, (first, 0.5, 0.25), "{model:?}");
        }
        let totals = simulation.connection_totals(id);
        let wanted_pkts = 0.75 * 100.0 * (DURATION_S - 0.51);
        let allowed_pkts = if is_packet_model(model) { 45.0 } else { 5.0 };
        let is_near = (totals.delivered_pkts - wanted_pkts).abs() < allowed_pkts;
        // Well-mixed models have no packets in flight.
        let is_mixed = model != Model::FLUID && !is_packet_model(model);
        assert!(is_near || is_mixed, "{totals:?} by {model:?}");
    }
}
