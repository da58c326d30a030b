//! Recording does not change results.

use std::convert::Infallible;

use netflow_diffserv::{Conditioner, ConditionerSpec, Kind};
use netflow_problems::{RandomNetwork, random_network};
use netflow_simulation::*;
use netflow_tcpmodel::Stack;
use netflow_workload::{Distribution, Http};
use proptest::prelude::*;

/// Changes of a random network.
#[derive(Clone, Copy, Debug)]
struct Changes {
    /// Factor of all delays.
    delays: f64,
    /// True if users are added to the connections.
    users: bool,
    /// True if every second connection is in an aggregate with an edge that marks by windows.
    marked: bool,
    /// Delay of a link that is far from all others, in seconds. If it is 0, events are processed
    /// one by one.
    far_s: f64,
}

fn changed(network: &Network, changes: Changes) -> Network {
    let mut builder = network.to_builder();
    let nodes: Vec<NodeId> = network.nodes().collect();
    builder.each_link(|spec| spec.delay_s *= changes.delays);
    let mut members = vec![Vec::new(); 2];
    for (i, id) in network.connections().enumerate() {
        if i % 2 == 0 {
            members[i / 2 % 2].push(id);
        }
    }
    for (i, members) in members.into_iter().enumerate() {
        if changes.marked && !members.is_empty() {
            let spec = ConditionerSpec::new(Kind::RttSmallWindow, 1e6, Some(2e6));
            builder.aggregate(AggregateSpec {
                name: format!("a{i}"),
                edge: Edge::Conditioner(Conditioner::new(spec).unwrap()),
                members,
                rtt_s: None,
                rto_s: None,
            });
        }
    }
    if changes.users {
        builder.workload(WorkloadSpec {
            name: "users".to_owned(),
            application: netflow_workload::Application::Http(Http {
                request_bytes: Distribution::Constant(300.0),
                reply_bytes: Distribution::Constant(5000.0),
                files: Distribution::Constant(2.0),
                think_s: Distribution::Constant(0.5),
                pages: Distribution::Constant(2.0),
            }),
            users_per_s: 5.0,
            clients: vec![nodes[0]],
            servers: vec![nodes[1]],
            start_s: 0.0,
            stop_s: None,
            source: Some(WindowSource::default()),
            delayed_ack: true,
            packet_size_bytes: 1040.0,
            stack: Stack::builtin("linux-6").unwrap(),
            flow: None,
            path: None,
            return_path: None,
            class: None,
        });
    }
    let (from, to) = (builder.node("far"), builder.node("away"));
    builder.link(netflow_problems::link(from, to, 1e6, changes.far_s, 10.0));
    builder.connection(netflow_problems::one_way(
        "far away",
        from,
        to,
        Source::Constant { rate_pps: 0.01 },
    ));
    builder.build().unwrap()
}

/// Recorder that sums up the intervals and checks each.
#[derive(Default)]
struct Sums {
    time_s: f64,
    departed: Vec<f64>,
    queue_time: Vec<f64>,
}

impl Recorder for Sums {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        self.time_s += interval.length_s;
        self.departed.resize(interval.network.link_count(), 0.0);
        self.queue_time.resize(interval.network.link_count(), 0.0);
        for id in interval.network.links() {
            let link = interval.link(id);
            let room = interval.network.buffer_pkts(id);
            assert!((0.0..=1.0).contains(&link.utilization), "{link:?}");
            assert!(
                link.queue_pkts >= -1e-6 && link.queue_pkts <= room + 1e-6,
                "{link:?}"
            );
            self.departed[id.index()] += link.departure_pps * interval.length_s;
            self.queue_time[id.index()] += link.queue_pkts * interval.length_s;
        }
        Ok(())
    }
}

/// Returns all results of a run, of the first `links` links, as text with every bit.
fn all_results(simulation: &Simulation, links: usize) -> String {
    let network = simulation.network();
    let all_links = network.links().take(links);
    let of_links: Vec<_> = all_links
        .map(|id| (simulation.link_totals(id), simulation.precedence_totals(id)))
        .collect();
    // The distant part differs by its delay.
    let all_connections = network
        .connections()
        .filter(|&id| network.connection_name(id) != "far away");
    let of_connections: Vec<_> = all_connections
        .map(|id| simulation.connection_totals(id))
        .collect();
    let aggregates = network
        .aggregates()
        .map(|id| simulation.aggregate_totals(id));
    let aggregates: Vec<_> = aggregates.collect();
    let users = simulation.experiences(&|| false).unwrap();
    format!("{of_links:#?} {of_connections:#?} {aggregates:#?} {users:#?}")
}

fn run(network: &Network, options: Options, every_s: f64) -> Simulation {
    let mut simulation = Simulation::new(network.clone(), options).unwrap();
    let mut sums = Sums::default();
    simulation.run(every_s, &mut sums, || false).unwrap();
    assert!((sums.time_s - simulation.time_s()).abs() < 1e-6);
    for id in network.links() {
        let totals = simulation.link_totals(id);
        let departed = sums.departed[id.index()];
        let queue_time = totals.mean_queue_pkts * simulation.time_s();
        assert!((departed - totals.departed_pkts).abs() < 1e-6 * departed.max(1.0));
        assert!((sums.queue_time[id.index()] - queue_time).abs() < 1e-6 * queue_time.max(1.0));
    }
    simulation
}

fn options(seed: u64) -> Options {
    Options {
        duration_s: 4.0,
        model: Model::PACKETS,
        seed,
    }
}

fn any_network() -> impl Strategy<Value = RandomNetwork> {
    let size = (
        2_usize..12,
        0_usize..12,
        1_usize..20,
        0_usize..6,
        any::<u64>(),
    );
    size.prop_map(|(nodes, more, connections, events, seed)| RandomNetwork {
        nodes,
        links: nodes - 1 + more,
        connections,
        events,
        duration_s: 4.0,
        seed,
        plain: false,
        windows: true,
    })
}

/// Returns the first line in which two texts differ.
fn difference(one: &str, other: &str) -> Option<String> {
    let mut lines = one.lines().zip(other.lines()).enumerate();
    let found = lines.find(|(_, (a, b))| a != b);
    found.map(|(i, (a, b))| format!("line {i}: {a} | {b}"))
}

proptest! {
    #![proptest_config(crate::cases(60))]

    /// Regression: packet times depended on the recording interval. An endpoint was notified of a
    /// complete delivery, and an edge of a window, at the end of a step, and recording ended steps.
    #[test]
    fn recording_interval_does_not_change_packets(
        random in any_network(),
        delays in prop_oneof![Just(0.0), Just(0.01), Just(0.3), Just(1.0), Just(1.0)],
        users in any::<bool>(),
        marked in any::<bool>(),
        seed in any::<u64>(),
        every_s in 0.0007_f64..1.0,
    ) {
        let changes = Changes { delays, users, marked, far_s: 0.01 };
        let network = changed(&random_network(random), changes);
        let all = |every_s: f64| {
            let simulation = run(&network, options(seed), every_s);
            all_results(&simulation, usize::MAX)
        };
        let once = all(1e3);
        for every_s in [every_s, 0.5, 0.013] {
            prop_assert_eq!(difference(&once, &all(every_s)), None, "every {} s", every_s);
        }
        // They do not depend on the step length either.
        let packets = PacketOptions { step_s: every_s.max(0.01), ..PacketOptions::default() };
        let model = Model::Packets(packets);
        let mut stepped = Simulation::new(network.clone(), Options { model, ..options(seed) }).unwrap();
        while !stepped.is_done() {
            stepped.step().unwrap();
        }
        prop_assert_eq!(difference(&once, &all_results(&stepped, usize::MAX)), None);
    }

    /// Batches within a step and individual events have the same bits.
    #[test]
    fn batched_packets_equal_single_packets(
        random in any_network(),
        seed in any::<u64>(),
        users in any::<bool>(),
        delays in 0.3..3.0,
    ) {
        let network = random_network(random);
        let changes = Changes { delays, users, marked: false, far_s: 0.01 };
        let near = changed(&network, changes);
        let far = changed(&network, Changes { far_s: 0.0, ..changes });
        let all = |with: &Network| {
            let simulation = run(with, options(seed), 1.0);
            all_results(&simulation, network.link_count())
        };
        prop_assert_eq!(difference(&all(&near), &all(&far)), None);
    }
}

/// Durations and intervals that are not whole nanoseconds. Regression: runs never ended, because
/// they waited for a time between two nanoseconds.
#[test]
fn runs_reach_fractional_nanosecond_times() {
    let random = RandomNetwork {
        nodes: 3,
        links: 3,
        connections: 3,
        events: 0,
        duration_s: 1.0,
        seed: 1,
        plain: false,
        windows: true,
    };
    let network = random_network(random);
    let odd = Options {
        duration_s: 0.333_333_333_3,
        ..options(1)
    };
    for every_s in [0.033_333_333_3, 0.1, 1e-5 / 3.0, 1.0] {
        let simulation = run(&network, odd, every_s);
        assert!((simulation.time_s() - odd.duration_s).abs() < 1e-9);
    }
    let run = |options: Options, every_s: f64| {
        let mut simulation = Simulation::new(network.clone(), options)?;
        let outcome = simulation.run(every_s, &mut Sums::default(), || false);
        outcome.map_err(|error| RunError::BadOption {
            option: "every",
            reason: error.to_string(),
        })
    };
    // Durations shorter than a nanosecond are rejected.
    let short = Options {
        duration_s: 1e-10,
        ..odd
    };
    for refused in [run(short, 1.0), run(odd, 1e-10)] {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("whole nanoseconds"), "{message}");
    }
}

/// Recorder that keeps the round-trip times of the intervals.
#[derive(Default)]
struct RoundTrips(Vec<[Option<f64>; 2]>);

impl Recorder for RoundTrips {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        let connections = interval.network.connections();
        self.0.extend(connections.map(|id| {
            let connection = interval.connection(id);
            [connection.rtt_s, connection.loss_probability]
        }));
        Ok(())
    }
}

/// Regression: intervals without a sample, and UDP, had a round-trip time of 0.
#[test]
fn unmeasured_values_are_not_zero() {
    for (model, source) in [
        (Model::PACKETS, Source::Ns2Tcp(WindowSource::default())),
        (Model::PACKETS, Source::Constant { rate_pps: 10.0 }),
        (Model::FLUID, Source::Constant { rate_pps: 10.0 }),
    ] {
        let is_tcp = matches!(source, Source::Ns2Tcp(_));
        let mut builder = NetworkBuilder::new();
        let [from, to] = ["a", "b"].map(|name| builder.node(name));
        for (from, to) in [(from, to), (to, from)] {
            builder.link(netflow_problems::link(from, to, 1e6, 0.1, 10.0));
        }
        builder.connection(ConnectionSpec {
            start_s: 1.0,
            stop_s: Some(3.0),
            max_window_pkts: Some(4.0),
            acks: if is_tcp {
                Acks::EveryPacket
            } else {
                Acks::None
            },
            ..netflow_problems::connection("c", from, to, source)
        });
        let options = Options {
            model,
            ..options(1)
        };
        let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
        let id = simulation.network().connections().next().unwrap();
        assert_eq!(simulation.connection_totals(id).mean_rtt_s, None);
        assert_eq!(simulation.connection_totals(id).loss_probability, None);
        let mut seen = RoundTrips::default();
        simulation.run(0.5, &mut seen, || false).unwrap();
        assert_eq!(seen.0[0], [None, None]);
        assert_eq!(seen.0[3][0].is_some(), is_tcp, "{model:?}");
        assert!(seen.0[3][1].is_some_and(|loss| loss < 1e-6));
        assert!(
            seen.0
                .iter()
                .all(|it| it[0].is_none_or(|rtt_s| rtt_s > 0.2))
        );
        assert_eq!(
            simulation.connection_totals(id).mean_rtt_s.is_some(),
            is_tcp
        );
    }
}
