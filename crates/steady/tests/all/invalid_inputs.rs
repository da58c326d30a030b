//! Errors for networks without a steady state.

use netflow_network::{
    Application, Buffer, BufferLimit, Change, ConnectionSpec, DropPolicy, EventSpec,
    MultiQueueLink, QueueClass, Scheduler, Source, WindowSource,
};
use netflow_problems::{connection, link};
use netflow_steady::{Bounds, ConnectionSelection, Solver, SteadyError, SteadyOptions, solve};

use crate::networks::pair;

fn error_message(network: &netflow_network::Network, at_s: f64) -> String {
    let no = solve(network, at_s, &SteadyOptions::default()).unwrap_err();
    no.to_string()
}

#[test]
fn congestion_window_source_is_rejected() {
    let mut pair = pair(10.0);
    let source = Source::Ns2Tcp(WindowSource::default());
    let spec = connection("c1", pair.from, pair.to, source);
    pair.builder.connection(spec);
    let said = error_message(&pair.build(), f64::INFINITY);
    assert!(
        said.starts_with("connection `c1`: it has a TCP source of the packet model"),
        "{said}"
    );
}

/// Regression: its queue was underestimated by a factor of 60.
#[test]
fn video_viewers_are_rejected() {
    let mut pair = pair(10.0);
    let mut users = netflow_problems::constant_users(&mut pair.builder);
    (users.clients, users.servers) = (vec![pair.to], vec![pair.from]);
    (users.start_s, users.stop_s) = (0.0, None);
    users.application = netflow_workload::Application::Video(netflow_workload::Video::default());
    pair.builder.workload(users);
    let said = error_message(&pair.build(), 10.0);
    assert!(said.contains("viewers load chunks in bursts"), "{said}");
}

#[test]
fn finite_transfer_is_rejected_while_sending() {
    let mut pair = pair(10.0);
    let source = Source::Profile(netflow_profile::builtin("ns-reno").unwrap());
    let spec = connection("c1", pair.from, pair.to, source);
    pair.builder.connection(ConnectionSpec {
        size_pkts: Some(100.0),
        start_s: 5.0,
        ..spec
    });
    let network = pair.build();
    let no = error_message(&network, 6.0);
    assert!(
        no.starts_with("connection `c1`: it has a `size` and ends"),
        "{no}"
    );
    let before = solve(&network, 5.0, &SteadyOptions::default()).unwrap();
    assert!(!before.connections[0].sending && before.totals.rate_pps == 0.0);
}

/// Regression: a connection with a `path` over a failed link had results as if the link worked.
#[test]
fn explicit_path_over_failed_link_is_unrouted() {
    let mut builder = netflow_network::NetworkBuilder::new();
    let (from, to) = (builder.node("A"), builder.node("B"));
    let id = builder.link(link(from, to, 1e6, 0.01, 10.0));
    builder.link(link(to, from, 1e6, 0.01, 10.0));
    let source = Source::Profile(netflow_profile::builtin("ns-reno").unwrap());
    builder.connection(ConnectionSpec {
        path: Some(vec![from, to]),
        ..connection("c1", from, to, source)
    });
    for (at_s, change) in [(5.0, Change::Down), (8.0, Change::Up)] {
        let link = id;
        builder.event(EventSpec { at_s, link, change });
    }
    let network = builder.build().unwrap();
    let rest = solve(&network, 6.0, &SteadyOptions::default()).unwrap();
    assert_eq!(rest.without_route.len(), 1);
    assert_eq!(rest.totals.rate_pps, 0.0);
    for at_s in [5.0, 9.0] {
        let rest = solve(&network, at_s, &SteadyOptions::default()).unwrap();
        assert!(rest.totals.rate_pps > 0.0);
    }
}

#[test]
fn aqm_queue_is_rejected() {
    let mut builder = netflow_network::NetworkBuilder::new();
    let (from, to) = (builder.node("A"), builder.node("B"));
    let mut spec = link(from, to, 1e6, 0.01, 10.0);
    spec.queue = DropPolicy::Managed(netflow_network::Aqm::CoDel(
        netflow_network::CoDel::default(),
    ));
    builder.link(spec);
    let said = error_message(&builder.build().unwrap(), 1.0);
    assert!(
        said.starts_with("link A->B: its queue decides for each packet"),
        "{said}"
    );
}

#[test]
fn link_with_class_queues_is_rejected() {
    let mut pair = pair(10.0);
    let id = pair.poisson("c1", 100.0);
    let link = pair.there;
    pair.builder.schedule(MultiQueueLink {
        link,
        scheduler: Scheduler::Priority,
        classes: vec![QueueClass {
            policer: None,
            name: "first".to_owned(),
            weight: 1.0,
            buffer: Buffer::Packets(10.0),
            queue: DropPolicy::DropTail,
        }],
    });
    pair.builder.classify(id, "first");
    let said = error_message(&pair.build(), 1.0);
    assert!(
        said.starts_with("link A->B: the steady state of its class scheduler is not implemented"),
        "{said}"
    );
}

#[test]
fn options_out_of_range_are_rejected() {
    let mut pair = pair(10.0);
    let c = pair.poisson("c", 100.0);
    let there = pair.there;
    let network = pair.build();
    for at_s in [0.0, -1.0, f64::NAN] {
        assert!(matches!(
            Solver::new(&network, at_s),
            Err(SteadyError::BadTime { .. })
        ));
    }
    let mut solver = Solver::new(&network, 1.0).unwrap();
    let bad = |result: Result<(), SteadyError>| {
        assert!(
            matches!(result, Err(SteadyError::BadOption { .. })),
            "{result:?}"
        );
    };
    for value in [-1.0, f64::NAN, f64::INFINITY] {
        bad(solver.set_bandwidth(there, value));
        bad(solver.set_delay(there, value));
        let room = BufferLimit {
            nominal_pkts: value,
            bits: None,
            time: None,
        };
        bad(solver.set_buffer(there, room));
        let room = BufferLimit {
            nominal_pkts: 10.0,
            bits: Some(value),
            time: None,
        };
        bad(solver.set_buffer(there, room));
        bad(solver.set_demand(c, value));
    }
    let options = SteadyOptions {
        tolerance: 0.0,
        ..SteadyOptions::default()
    };
    bad(solver.solve(&options).map(|_| ()));
    let options = SteadyOptions {
        starts: SteadyOptions::MAX_STARTS + 1,
        ..SteadyOptions::default()
    };
    bad(solver.solve(&options).map(|_| ()));
    let bounds = Bounds {
        loss: f64::NAN,
        ..Bounds::default()
    };
    bad(solver
        .headroom(&bounds, ConnectionSelection::All, &SteadyOptions::default())
        .map(|_| ()));
}

/// An interrupted search returns the same steady state, and the number of starting points tried.
#[test]
fn search_of_random_starts_can_be_stopped() {
    let mut pair = pair(50.0);
    pair.poisson("c", 100.0);
    let network = pair.build();
    let mut solver = Solver::new(&network, 1.0).unwrap();
    let options = SteadyOptions {
        starts: SteadyOptions::MAX_STARTS,
        ..SteadyOptions::default()
    };
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 5
    };
    let stopped = solver.solve_until_stopped(&options, &stop).unwrap();
    let five = SteadyOptions {
        starts: 5,
        ..options
    };
    let whole = solver.solve(&five).unwrap();
    assert_eq!(
        (stopped.starts, stopped.converged_starts),
        (5, whole.converged_starts)
    );
    assert_eq!(stopped.totals.goodput_bps, whole.totals.goodput_bps);
}

/// A connection with a fixed-rate application sends that rate, and is not a transfer that ends.
#[test]
fn application_source_is_not_a_transfer() {
    let mut pair = pair(50.0);
    let source = Source::Profile(netflow_profile::builtin("ns-reno").unwrap());
    let spec = connection("c1", pair.from, pair.to, source);
    let application = Application::Poisson { rate_pps: 20.0 };
    let id = pair.builder.connection(ConnectionSpec {
        application,
        ..spec
    });
    let steady = solve(&pair.build(), f64::INFINITY, &SteadyOptions::default()).unwrap();
    assert!((steady.connection(id).goodput_pps - 20.0).abs() < 1e-9);
}
