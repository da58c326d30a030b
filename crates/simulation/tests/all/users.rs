//! Users in the packet model, compared with closed forms.

use std::collections::BTreeMap;

use netflow_simulation::{
    Change, EventSpec, Model, Network, NetworkBuilder, Options, ResponseEvent, Run, Simulation,
    TcpVariant, UserStats, WindowSource, WorkloadSpec,
};
use netflow_tcpmodel::Stack;
use netflow_workload::{Application, Distribution, Http, Telnet, TimeSample, Workload};
use proptest::prelude::*;

const RTT_S: f64 = 0.1;

/// Links between a client and a server.
#[derive(Clone, Copy)]
struct PathParameters {
    bandwidth_bps: f64,
    buffer_pkts: f64,
}

const FAST: PathParameters = PathParameters {
    bandwidth_bps: 1e12,
    buffer_pkts: 1e6,
};

fn http(files: f64, reply_bytes: f64) -> Http {
    Http {
        request_bytes: Distribution::Constant(300.0),
        reply_bytes: Distribution::Constant(reply_bytes),
        files: Distribution::Constant(files),
        think_s: Distribution::Constant(1.0),
        pages: Distribution::Constant(1.0),
    }
}

fn workload(application: Application, users_per_s: f64) -> WorkloadSpec {
    WorkloadSpec {
        name: "users".to_owned(),
        application,
        users_per_s,
        clients: Vec::new(),
        servers: Vec::new(),
        start_s: 0.0,
        stop_s: Some(20.0),
        source: Some(WindowSource {
            send_jitter_s: Some(0.0),
            ..WindowSource::default()
        }),
        delayed_ack: false,
        packet_size_bytes: 1040.0,
        flow: None,
        path: None,
        return_path: None,
        class: None,
        stack: Stack::builtin("linux-6").unwrap(),
    }
}

/// Returns client - router - server, with the same links between both.
fn network(between: PathParameters, specs: Vec<WorkloadSpec>, events: &[(f64, Change)]) -> Network {
    let mut builder = NetworkBuilder::new();
    let nodes = ["client", "router", "server"].map(|name| builder.node(name));
    let mut first = None;
    for pair in nodes.windows(2) {
        for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            let link = builder.link(netflow_problems::link(
                from,
                to,
                between.bandwidth_bps,
                RTT_S / 4.0,
                between.buffer_pkts,
            ));
            first.get_or_insert(link);
        }
    }
    for mut spec in specs {
        spec.clients = vec![nodes[0]];
        spec.servers = vec![nodes[2]];
        builder.workload(spec);
    }
    for &(at_s, change) in events {
        let link = first.expect("a link");
        builder.event(EventSpec { at_s, link, change });
    }
    builder.build().unwrap()
}

fn run(network: Network, duration_s: f64, every_s: f64) -> Simulation {
    let options = Options {
        duration_s,
        model: Model::PACKETS,
        seed: 3,
    };
    let mut simulation = Simulation::new(network, options).unwrap();
    struct Nothing;
    impl netflow_simulation::Recorder for Nothing {
        type Error = std::convert::Infallible;
        fn interval(&mut self, _: &netflow_simulation::Interval<'_>) -> Result<(), Self::Error> {
            Ok(())
        }
    }
    simulation.run(every_s, &mut Nothing, || false).unwrap();
    simulation
}

fn waits_s(experience: &UserStats, kind: ResponseEvent) -> Vec<f64> {
    let of_kind = experience.waits.iter().filter(|wait| wait.kind == kind);
    of_kind.map(|wait| wait.wait_s).collect()
}

/// Checks the times within a few microseconds, because packets take 8 ns on a link.
fn all_are(waits_s: &[f64], expected_s: f64) {
    assert!(!waits_s.is_empty());
    for wait_s in waits_s {
        assert!((wait_s - expected_s).abs() < 5e-6, "{wait_s} {expected_s}");
    }
}

/// Returns the number of rounds of a slow start with an initial window of 2 packets: 2, 4, 8, …
fn rounds(pkts: u32) -> f64 {
    f64::from((0..).find(|r| 2 * ((1 << r) - 1) >= pkts).unwrap())
}

/// A handshake takes one round trip, and a file the rounds of its slow start.
#[test]
fn loss_free_files_take_whole_round_trips() {
    for pkts in [1, 2, 3, 6, 7, 14, 15, 100] {
        let application = Application::Http(http(1.0, f64::from(pkts) * 1000.0));
        let network = network(FAST, vec![workload(application, 5.0)], &[]);
        let simulation = run(network, 25.0, 1.0);
        let experience = &simulation.experiences(&|| false).unwrap()[0];
        assert_eq!(experience.arrived, experience.finished);
        all_are(&waits_s(experience, ResponseEvent::Connect), RTT_S);
        all_are(
            &waits_s(experience, ResponseEvent::File),
            rounds(pkts) * RTT_S,
        );
        all_are(
            &waits_s(experience, ResponseEvent::Page),
            rounds(pkts) * RTT_S,
        );
        assert!((experience.waits[0].rtt_s - RTT_S).abs() < 1e-6);
    }
}

/// Three files of two packets: the first takes a round trip, which leaves a window of 4. The
/// others, requested together, arrive after one more.
#[test]
fn congestion_window_persists_within_a_connection() {
    let application = Application::Http(http(3.0, 2000.0));
    let simulation = run(
        network(FAST, vec![workload(application, 5.0)], &[]),
        25.0,
        1.0,
    );
    let experience = &simulation.experiences(&|| false).unwrap()[0];
    all_are(&waits_s(experience, ResponseEvent::File), RTT_S);
    all_are(&waits_s(experience, ResponseEvent::Page), 2.0 * RTT_S);
}

/// Two pages of a file of 14 packets, which leaves a window of 2 + 14 = 16, more than enough. After
/// a think time of 0.02 s all packets are sent at once; after a minute, the window is 2 again.
#[test]
fn idle_time_shrinks_the_window() {
    for (think_s, second) in [(0.02, 1.0), (60.0, 3.0)] {
        let application = Application::Http(Http {
            think_s: Distribution::Constant(think_s),
            pages: Distribution::Constant(2.0),
            ..http(1.0, 14_000.0)
        });
        let network = network(FAST, vec![workload(application, 1.0)], &[]);
        let simulation = run(network, 90.0, 1.0);
        let experience = &simulation.experiences(&|| false).unwrap()[0];
        assert_eq!(experience.arrived, experience.finished);
        let pages = waits_s(experience, ResponseEvent::Page);
        for page in pages.chunks(2) {
            all_are(&page[..1], 3.0 * RTT_S);
            all_are(&page[1..], second * RTT_S);
        }
    }
}

/// An echo of one byte: 41 B on two links in each direction, and the delay; at the server the
/// acknowledgement of the keystroke with 40 B precedes it.
#[test]
fn transmission_time_depends_on_packet_size() {
    let application = Application::Telnet(Telnet {
        keystrokes: Distribution::Constant(3.0),
        gap_s: Distribution::Constant(1.0),
        keystroke_bytes: Distribution::Constant(1.0),
        echo_bytes: Distribution::Constant(1.0),
    });
    let slow = PathParameters {
        bandwidth_bps: 82_000.0,
        buffer_pkts: 100.0,
    };
    // Few users, so that they do not overlap.
    let network = network(slow, vec![workload(application, 0.2)], &[]);
    let simulation = run(network, 30.0, 1.0);
    let experience = &simulation.experiences(&|| false).unwrap()[0];
    assert!(experience.finished >= 2);
    let transmissions_s = (4.0 * 41.0 + 40.0) * 8.0 / 82_000.0;
    let echoes = waits_s(experience, ResponseEvent::Echo);
    assert_eq!(echoes.len() as u64, 3 * experience.finished);
    let alone = echoes
        .iter()
        .filter(|echo| (**echo - RTT_S - transmissions_s).abs() < 1e-6);
    assert!(2 * alone.count() > echoes.len());
    assert!(
        echoes
            .iter()
            .all(|&echo| echo > RTT_S + transmissions_s - 1e-6)
    );
}

/// The offered packets are those of the sessions, and one per connection; counted independently
/// here.
#[test]
fn offered_packets_match_sessions() {
    let application = Application::Http(Http {
        think_s: Distribution::Constant(0.5),
        reply_bytes: Distribution::Pareto {
            shape: 1.2,
            least: 900.0,
            most: 1e5,
        },
        ..Http::default()
    });
    let network = network(FAST, vec![workload(application, 10.0)], &[]);
    let simulation = run(network.clone(), 150.0, 10.0);
    let experience = &simulation.experiences(&|| false).unwrap()[0];
    assert_eq!(experience.arrived, experience.finished);

    let spec = network.workloads().next().unwrap();
    let (mut requests, mut replies, mut files, mut pages) = (0, 0, 0, 0);
    let sessions = Workload {
        application: spec.application.clone(),
        seed: network.workload_seeds(3)[0],
    };
    for session in sessions.sessions(10.0).unwrap() {
        if session.start_s >= 20.0 {
            break;
        }
        requests += 1;
        pages += session.turns.len();
        for turn in &session.turns {
            // The first file is requested separately; requests of the others are combined.
            let (first, others) = turn.exchanges.split_first().unwrap();
            for together in [std::slice::from_ref(first), others] {
                let (mut bytes, mut answers) = (0, BTreeMap::new());
                for exchange in together {
                    bytes += exchange.request_bytes;
                    // Requests that end in the same packet are answered together.
                    *answers.entry(bytes.div_ceil(1000)).or_insert(0) += exchange.reply_bytes;
                    files += 1;
                }
                requests += bytes.div_ceil(1000);
                replies += answers
                    .values()
                    .map(|bytes: &u32| bytes.div_ceil(1000))
                    .sum::<u32>();
            }
        }
    }
    let ids: Vec<_> = network.connections().collect();
    assert_eq!(
        simulation.connection_totals(ids[0]).offered_pkts,
        f64::from(requests)
    );
    assert_eq!(
        simulation.connection_totals(ids[1]).offered_pkts,
        f64::from(replies)
    );
    assert_eq!(waits_s(experience, ResponseEvent::File).len(), files);
    assert_eq!(waits_s(experience, ResponseEvent::Page).len(), pages);
    // Every file takes whole round trips.
    for wait in &experience.waits {
        let round_trips = wait.wait_s / wait.rtt_s;
        assert!((round_trips - round_trips.round()).abs() < 1e-3, "{wait:?}");
    }
}

/// A full queue and a link that fails: losses are counted, all users receive all data in the end,
/// and the results are the same for any recording interval.
#[test]
fn user_losses_delay_and_are_counted() {
    let busy = PathParameters {
        bandwidth_bps: 1e6,
        buffer_pkts: 6.0,
    };
    let specs = || {
        let mut terminals = workload(Application::Telnet(Telnet::default()), 0.5);
        terminals.name = "terminals".to_owned();
        let web = Application::Http(Http {
            think_s: Distribution::Constant(1.0),
            ..http(4.0, 15_000.0)
        });
        vec![workload(web, 1.2), terminals]
    };
    let events = [(10.0, Change::Down), (12.0, Change::Up)];
    let mut found = Vec::new();
    for every_s in [0.05, 7.0] {
        let simulation = run(network(busy, specs(), &events), 200.0, every_s);
        for totals in [simulation.totals(), simulation.ack_totals()] {
            let after = totals.delivered_pkts
                + totals.lost_pkts
                + totals.unrouted_pkts
                + totals.queued_pkts
                + totals.in_flight_pkts;
            assert_eq!(totals.offered_pkts, after);
            assert!(totals.lost_pkts > 0.0);
        }
        let experiences = simulation.experiences(&|| false).unwrap();
        let web = &experiences[0];
        assert_eq!((web.arrived, web.arrived > 10), (web.finished, true));
        assert_eq!(
            waits_s(web, ResponseEvent::File).len() as u64,
            4 * web.finished
        );
        let pages = waits_s(web, ResponseEvent::Page);
        assert!(pages.iter().any(|&page_s| page_s > 2.0));
        found.push(experiences);
    }
    assert_eq!(found[0], found[1]);
}

/// The fluid models replay sessions over the paths of the run. Without loss and with an initial
/// window of 10, files take whole round trips, and the network carries the mean of the sessions.
#[test]
fn fluid_users_wait_like_tcp() {
    for (pkts, rounds) in [(1, 1.0), (10, 1.0), (11, 2.0), (30, 2.0), (31, 3.0)] {
        let application = Application::Http(http(1.0, f64::from(pkts) * 1000.0));
        let network = network(FAST, vec![workload(application, 5.0)], &[]);
        let options = Options {
            duration_s: 25.0,
            ..Options::default()
        };
        let mut simulation = Simulation::new(network.clone(), options).unwrap();
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        let experience = &simulation.experiences(&|| false).unwrap()[0];
        assert!(experience.arrived > 50);
        all_are(&waits_s(experience, ResponseEvent::Connect), RTT_S);
        all_are(&waits_s(experience, ResponseEvent::File), rounds * RTT_S);
        // Five users per second for 20 s, all with requests at once.
        let ids: Vec<_> = network.connections().collect();
        for (id, pkts) in [(ids[0], 2.0), (ids[1], f64::from(pkts))] {
            let offered_pkts = simulation.connection_totals(id).offered_pkts;
            assert!(
                (offered_pkts / (100.0 * pkts) - 1.0).abs() < 1e-3,
                "{offered_pkts}"
            );
        }
    }
}

/// Both models have the same users.
#[test]
fn models_have_the_same_users() {
    let web = || vec![workload(Application::Http(http(2.0, 5_000.0)), 2.0)];
    let users = |model| {
        let options = Options {
            duration_s: 30.0,
            model,
            ..Options::default()
        };
        let mut simulation = Simulation::new(network(FAST, web(), &[]), options).unwrap();
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        let all = simulation
            .experiences(&|| false)
            .unwrap()
            .swap_remove(0)
            .waits;
        let came: Vec<(u64, f64, ResponseEvent)> = all
            .iter()
            .map(|wait| (wait.user, wait.arrival_s, wait.kind))
            .collect();
        came
    };
    let (mut window, mut fluid) = (users(Model::PACKETS), users(Model::FLUID));
    for all in [&mut window, &mut fluid] {
        all.sort_by_key(|wait| (wait.0, wait.2));
    }
    assert_eq!(window, fluid);
}

/// Users of a stack wait as long in the packet model as in the simulation of single connections,
/// which the fluid model uses. Hosts delay acknowledgements for up to 0.1 ms here.
#[test]
fn stack_users_wait_like_single_connections() {
    for (name, pkts) in [1, 10, 11, 29, 70].map(|pkts| ("linux-6", pkts)) {
        let waits = |model| {
            let application = Application::Http(http(1.0, f64::from(pkts) * 1000.0));
            let mut spec = workload(application, 2.0);
            spec.source = None;
            spec.stack = Stack::builtin(name).unwrap();
            let options = Options {
                duration_s: 25.0,
                model,
                ..Options::default()
            };
            let network = network(FAST, vec![spec], &[]);
            let mut simulation = Simulation::new(network, options).unwrap();
            while !simulation.is_done() {
                simulation.step().unwrap();
            }
            simulation.experiences(&|| false).unwrap().swap_remove(0)
        };
        let (packets, fluid) = (waits(Model::PACKETS), waits(Model::FLUID));
        assert_eq!(
            (packets.arrived, packets.finished),
            (fluid.arrived, fluid.finished)
        );
        for kind in [ResponseEvent::Connect, ResponseEvent::File] {
            let (packets, fluid) = (waits_s(&packets, kind), waits_s(&fluid, kind));
            assert_eq!(packets.len(), fluid.len());
            let mean = |waits_s: &[f64]| waits_s.iter().sum::<f64>() / waits_s.len() as f64;
            let (packets_s, fluid_s) = (mean(&packets), mean(&fluid));
            assert!(
                (packets_s - fluid_s).abs() < 1e-3,
                "{pkts} {kind:?} {packets_s} {fluid_s}"
            );
        }
    }
}

/// Replayed sessions are the same for any number of threads.
#[test]
fn thread_count_does_not_change_response_times() {
    let busy = PathParameters {
        bandwidth_bps: 1e6,
        buffer_pkts: 6.0,
    };
    let waits = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let web = workload(Application::Http(http(2.0, 20_000.0)), 3.0);
            let mut simulation =
                Simulation::new(network(busy, vec![web], &[]), Options::default()).unwrap();
            while !simulation.is_done() {
                simulation.step().unwrap();
            }
            simulation.experiences(&|| false).unwrap()
        })
    };
    let one = waits(1);
    assert!(one[0].waits.iter().any(|wait| wait.wait_s > 5.0 * RTT_S));
    assert_eq!(one, waits(8));
}

proptest! {
    #![proptest_config(crate::cases(40))]

    /// For any users, packets are conserved, no response is faster than a round trip, and departed
    /// users have received all data.
    #[test]
    fn packets_and_users_are_conserved(
        bandwidth_bps in 2e5..2e6_f64,
        buffer_pkts in 4.0..20.0_f64,
        users_per_s in 0.2..3.0_f64,
        files in 1.0..6.0_f64,
        reply_bytes in 1.0..30_000.0_f64,
        delayed_ack in any::<bool>(),
        variant in prop::option::of(prop::sample::select(TcpVariant::ALL.to_vec())),
        stack in prop::sample::select(vec!["linux-6", "legacy", "rfc6298"]),
        telnet in any::<bool>(),
    ) {
        let application = if telnet { Application::Telnet(Telnet {
            keystrokes: Distribution::Constant(20.0),
            ..Telnet::default()
        }) } else { Application::Http(Http {
            pages: Distribution::Constant(2.0),
            ..http(files, reply_bytes)
        }) };
        let mut spec = workload(application, users_per_s);
        spec.source = variant.map(|variant| WindowSource { variant, ..spec.source.unwrap() });
        spec.stack = Stack::builtin(stack).unwrap();
        spec.delayed_ack = delayed_ack;
        let between = PathParameters { bandwidth_bps, buffer_pkts };
        let network = network(between, vec![spec], &[]);
        // During the run, and long after the last arrival.
        let midst = run(network.clone(), 15.0, 5.0);
        let simulation = run(network, 5000.0, 500.0);
        for it in [&midst, &simulation] {
            for totals in [it.totals(), it.ack_totals()] {
                let after = totals.delivered_pkts + totals.lost_pkts + totals.queued_pkts + totals.in_flight_pkts;
                prop_assert_eq!(totals.offered_pkts, after);
            }
        }
        let experience = &simulation.experiences(&|| false).unwrap()[0];
        // No user has arrived for a long time.
        prop_assert_eq!(experience.finished, experience.arrived);
        for wait in &experience.waits {
            prop_assert!(wait.wait_s >= 0.999 * wait.rtt_s, "{:?}", wait);
        }
        let of = |kind| waits_s(experience, kind).len() as u64;
        if telnet {
            prop_assert!(of(ResponseEvent::Echo) >= 20 * experience.finished);
        } else {
            prop_assert!(of(ResponseEvent::Page) >= 2 * experience.finished);
            prop_assert!(of(ResponseEvent::File) >= 2 * files.ceil() as u64 * experience.finished);
        }
    }
}

/// The default web users on a fast link: medians are a round trip within 2 ms, at any distance, and
/// the distribution has steps.
#[test]
fn median_response_times_are_multiples_of_rtt() {
    for model in [Model::PACKETS, Model::FLUID] {
        for one_way_s in [0.001, 0.01, 0.1, 0.2] {
            let mut builder = NetworkBuilder::new();
            let nodes = ["client", "server"].map(|name| builder.node(name));
            for (from, to) in [(nodes[0], nodes[1]), (nodes[1], nodes[0])] {
                builder.link(netflow_problems::link(from, to, 1e9, one_way_s, 1e4));
            }
            let mut spec = workload(Application::Http(Http::default()), 20.0);
            if let Some(source) = &mut spec.source {
                source.initial_window_pkts = 10.0;
            }
            spec.packet_size_bytes = 1500.0;
            (spec.clients, spec.servers) = (vec![nodes[0]], vec![nodes[1]]);
            builder.workload(spec);
            let options = Options {
                duration_s: 100.0,
                model,
                ..Options::default()
            };
            let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
            while !simulation.is_done() {
                simulation.step().unwrap();
            }
            let experience = &simulation.experiences(&|| false).unwrap()[0];
            for kind in [ResponseEvent::File, ResponseEvent::Page] {
                let times = TimeSample::new(waits_s(experience, kind));
                assert!(times.count() > 500);
                let median_s = times.quantile(0.5);
                assert!(
                    (median_s - 2.0 * one_way_s).abs() < 2e-3,
                    "{median_s} {one_way_s}"
                );
                let steps = times.rtt_clusters(2.0 * one_way_s, 0.2 * one_way_s);
                let trips: Vec<u32> = steps.iter().map(|step| step.round_trips).take(3).collect();
                assert_eq!(trips, [1, 2, 3]);
            }
        }
    }
}

/// The sessions of users depend on their workload's content, not on its row.
#[test]
fn workload_order_does_not_change_sessions() {
    let slow = PathParameters {
        bandwidth_bps: 5e6,
        buffer_pkts: 20.0,
    };
    let named = |name: &str, users_per_s: f64| WorkloadSpec {
        name: name.to_owned(),
        ..workload(Application::Http(http(3.0, 20_000.0)), users_per_s)
    };
    let experiences = |model: Model, specs: Vec<WorkloadSpec>| {
        let options = Options {
            duration_s: 20.0,
            model,
            ..Options::default()
        };
        let mut simulation = Simulation::new(network(slow, specs, &[]), options).unwrap();
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        simulation.experiences(&|| false).unwrap()
    };
    for model in [Model::FLUID, Model::PACKETS] {
        let one = experiences(model, vec![named("few", 2.0), named("many", 9.0)]);
        let mut other = experiences(model, vec![named("many", 9.0), named("few", 2.0)]);
        other.reverse();
        assert!(one[0].arrived > 10 && one == other);
    }
}

/// A run resumed from a saved state includes the earlier experience of users.
#[test]
fn resumed_run_keeps_user_response_times() {
    let busy = PathParameters {
        bandwidth_bps: 2e6,
        buffer_pkts: 20.0,
    };
    let web = workload(Application::Http(http(3.0, 20_000.0)), 9.0);
    let network = network(busy, vec![web], &[(8.0, Change::Bandwidth(1e6))]);
    let options = Options {
        duration_s: 30.0,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network.clone(), options).unwrap();
    while simulation.time_s() < 15.0 {
        simulation.step().unwrap();
    }
    let saved = serde_json::to_string(simulation.state().unwrap()).unwrap();
    let state = serde_json::from_str(&saved).unwrap();
    let mut resumed = Simulation::resume(network, options, state).unwrap();
    for simulation in [&mut simulation, &mut resumed] {
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
    }
    let waits = simulation.experiences(&|| false).unwrap();
    assert!(waits[0].arrived > 50);
    assert_eq!(waits, resumed.experiences(&|| false).unwrap());
}
