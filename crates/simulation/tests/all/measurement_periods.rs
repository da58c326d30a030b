//! Totals of periods: those of a run's parts add up to the whole run, and balance.

use std::convert::Infallible;

use netflow_profile::builtin;
use netflow_simulation::{
    Change, ConnectionSpec, ConnectionTotals, EventSpec, FluidOptions, Interval, LinkTotals, Model,
    Network, NetworkBuilder, Options, Period, Recorder, Run, RunError, Simulation, Source, Step,
    Totals, WindowSource,
};

/// Returns TCP and an unresponsive source over two links; the second link fails for some time.
fn network(tcp: &Source) -> Network {
    let mut builder = NetworkBuilder::new();
    let nodes = ["a", "b", "c"].map(|name| builder.node(name));
    let mut failing = None;
    for (from, to) in [(0, 1), (1, 2), (2, 1), (1, 0)] {
        let link = builder.link(netflow_problems::link(
            nodes[from],
            nodes[to],
            4e6,
            0.02,
            30.0,
        ));
        if (from, to) == (1, 2) {
            failing = Some(link);
        }
    }
    for (at_s, change) in [(7.0, Change::Down), (9.0, Change::Up)] {
        let link = failing.unwrap();
        builder.event(EventSpec { at_s, link, change });
    }
    let udp = Source::Poisson { rate_pps: 150.0 };
    for (name, source, stop_s) in [("tcp", tcp, None), ("udp", &udp, Some(11.3))] {
        builder.connection(ConnectionSpec {
            count: 2,
            stop_s,
            max_window_pkts: Some(40.0),
            ..netflow_problems::connection(name, nodes[0], nodes[2], source.clone())
        });
    }
    builder.build().unwrap()
}

/// All totals at the end of a period.
#[derive(Clone, Debug)]
struct PeriodTotals {
    from_s: f64,
    to_s: f64,
    links: Vec<LinkTotals>,
    connections: Vec<ConnectionTotals>,
    data: Totals,
    acks: Totals,
}

impl PeriodTotals {
    fn of(simulation: &dyn Run) -> PeriodTotals {
        let network = simulation.network();
        PeriodTotals {
            from_s: simulation.period_start_s(),
            to_s: simulation.time_s(),
            links: network
                .links()
                .map(|id| simulation.link_totals(id))
                .collect(),
            connections: network
                .connections()
                .map(|id| simulation.connection_totals(id))
                .collect(),
            data: simulation.totals(),
            acks: simulation.ack_totals(),
        }
    }
}

/// Recorder that begins a period at every bound, and stores the totals of the one that ends there.
struct PeriodRecorder {
    bounds_s: Vec<f64>,
    seen: Vec<PeriodTotals>,
    pieces_s: Vec<(f64, f64)>,
    ends_s: Vec<f64>,
}

impl Recorder for PeriodRecorder {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        self.ends_s.push(interval.time_s);
        Ok(())
    }

    fn partial_interval(&mut self, piece: &Interval<'_>) {
        self.pieces_s
            .push((piece.time_s - piece.length_s, piece.time_s));
    }

    fn next_checkpoint_s(&self) -> Option<f64> {
        self.bounds_s.get(self.seen.len()).copied()
    }

    fn checkpoint(&mut self, simulation: &mut dyn Run) -> Result<(), RunError> {
        self.seen.push(PeriodTotals::of(simulation));
        simulation.begin_period();
        Ok(())
    }
}

const BOUNDS_S: [f64; 5] = [0.0, 3.01234, 7.0, 9.0, 14.0];

fn cases() -> Vec<(Network, Options)> {
    let profile = network(&Source::Profile(builtin("ns-reno").unwrap()));
    let window = network(&Source::Ns2Tcp(WindowSource::default()));
    let options = Options {
        duration_s: 14.0,
        ..Options::default()
    };
    let fixed = Options {
        model: FluidOptions::Standard {
            step: Step::Fixed { step_s: 0.03 },
        }
        .into(),
        ..options
    };
    let packets = Options {
        model: Model::PACKETS,
        ..options
    };
    vec![
        (profile.clone(), options),
        (profile, fixed),
        (window, packets),
    ]
}

/// Returns the totals of the parts and of the whole of one run.
fn run(network: &Network, options: Options) -> (PeriodRecorder, PeriodTotals) {
    let mut simulation = Simulation::new(network.clone(), options).unwrap();
    let mut parts = PeriodRecorder {
        bounds_s: BOUNDS_S.to_vec(),
        seen: Vec::new(),
        pieces_s: Vec::new(),
        ends_s: Vec::new(),
    };
    simulation.run(0.5, &mut parts, || false).unwrap();
    simulation.resume_period(&Period::default());
    let whole = PeriodTotals::of(&simulation);
    (parts, whole)
}

fn assert_near(a: f64, b: f64, what: &str) {
    assert!(
        (a - b).abs() <= 1e-9 * b.abs().max(1.0),
        "{what}: {a} is not {b}"
    );
}

#[test]
fn periods_sum_to_the_run() {
    for (network, options) in cases() {
        let (parts, whole) = run(&network, options);
        assert_eq!(parts.seen.len(), BOUNDS_S.len());
        assert_eq!((whole.from_s, whole.to_s), (0.0, 14.0));
        let sum = |of: &dyn Fn(&PeriodTotals) -> f64| parts.seen.iter().map(of).sum::<f64>();
        for i in 0..network.link_count() {
            let whole = &whole.links[i];
            assert_near(
                sum(&|s| s.links[i].offered_pkts),
                whole.offered_pkts,
                "offered",
            );
            assert_near(sum(&|s| s.links[i].lost_pkts), whole.lost_pkts, "lost");
            let queue_time = sum(&|s| s.links[i].mean_queue_pkts * (s.to_s - s.from_s));
            assert_near(queue_time, 14.0 * whole.mean_queue_pkts, "queue");
            let busy_s = sum(&|s| s.links[i].utilization * (s.to_s - s.from_s));
            assert_near(busy_s, 14.0 * whole.utilization, "busy");
            let longest = parts.seen.iter().map(|s| s.links[i].max_queue_pkts);
            assert_eq!(longest.fold(0.0, f64::max), whole.max_queue_pkts);
        }
        for i in 0..network.connection_count() {
            let whole = &whole.connections[i];
            let parts = |of: fn(&ConnectionTotals) -> f64| sum(&|s| of(&s.connections[i]));
            assert_near(parts(|c| c.offered_pkts), whole.offered_pkts, "sent");
            assert_near(
                parts(|c| c.delivered_pkts),
                whole.delivered_pkts,
                "delivered",
            );
            assert_near(parts(|c| c.lost_pkts), whole.lost_pkts, "lost");
            assert_near(parts(|c| c.unrouted_pkts), whole.unrouted_pkts, "blocked");
            if let Model::Packets(_) = options.model {
                let delays_s = parts(|c| c.mean_delay_s.unwrap_or(0.0) * c.delivered_pkts);
                let whole_s = whole.mean_delay_s.unwrap() * whole.delivered_pkts;
                assert_near(delays_s, whole_s, "delays");
            }
            assert_near(
                parts(|c| c.timeouts.unwrap_or(0.0)),
                whole.timeouts.unwrap_or(0.0),
                "timeouts",
            );
        }
    }
}

/// before + offered = delivered + lost + blocked + queued + in flight, in every part.
#[test]
fn every_period_conserves_packets() {
    for (network, options) in cases() {
        let (parts, _) = run(&network, options);
        let mut under_way = 0.0;
        for part in &parts.seen {
            for totals in [&part.data, &part.acks] {
                assert!(totals.imbalance() < 1e-9, "{:?}: {totals:?}", options.model);
            }
            assert_near(part.data.before_pkts, under_way, "before");
            under_way = part.data.queued_pkts + part.data.in_flight_pkts;
        }
        assert!(parts.seen[2].data.before_pkts > 1.0);
    }
}

/// The totals of one part do not include other parts.
#[test]
fn periods_are_independent() {
    for (network, options) in cases() {
        let (parts, whole) = run(&network, options);
        let failing = network.link_by_name("b->c").unwrap().index();
        let down = &parts.seen[3];
        assert_eq!((down.from_s, down.to_s), (7.0, 9.0));
        assert_eq!(down.links[failing].utilization, 0.0);
        // Its queued packets were lost, and nothing else arrived.
        let loss = down.links[failing].loss_probability;
        assert!(down.links[failing].lost_pkts > 0.0 && (0.0..=1.0).contains(&loss));
        assert_eq!(down.links[failing].sojourn_time_s, None);
        assert!(down.links[failing].max_queue_pkts < whole.links[failing].max_queue_pkts);
        let udp = &down.connections[1];
        assert!(udp.unrouted_pkts > 0.0 && parts.seen[4].connections[1].unrouted_pkts == 0.0);
        if let Model::Packets(_) = options.model {
            // Only packets in flight behind it still arrive.
            assert!(down.connections[1].delivered_pkts < 10.0);
            assert_eq!(parts.seen[0].connections[1].delay, None);
            let cov = |seen: &PeriodTotals| seen.links[0].arrival_cov.unwrap();
            assert_ne!(cov(&parts.seen[2]), cov(&whole));
        }
    }
}

/// Steps end at bounds, and otherwise at most where they do without bounds. Recording intervals are
/// unchanged, and pieces are bounded by both.
#[test]
fn checkpoints_are_met_and_split_intervals() {
    for (network, options) in cases() {
        let (parts, _) = run(&network, options);
        for (seen, bound_s) in parts.seen.iter().zip(BOUNDS_S) {
            assert_near(seen.to_s, bound_s, "bound");
        }
        assert_eq!(parts.ends_s.len(), 28);
        let mut from_s = 0.0;
        for &(begun_s, end_s) in &parts.pieces_s {
            assert_near(begun_s, from_s, "piece");
            assert!(end_s > begun_s);
            from_s = end_s;
        }
        for bound_s in &BOUNDS_S[1..] {
            let ends = parts.pieces_s.iter().map(|&(_, end_s)| end_s);
            assert!(ends.into_iter().any(|end_s| (end_s - bound_s).abs() < 1e-9));
        }
    }
}
