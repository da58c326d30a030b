//! Aggregates, drop precedences and schedulers in the network.

use netflow_diffserv::{Conditioner, ConditionerSpec, Curve, Discipline, Kind, SrTcm, TrTcm};
use netflow_simulation::*;

const BPS: f64 = 8e6; // 1000 packets/s of 1000 B

/// A link from A to B and one back.
struct DiffservNetwork {
    builder: NetworkBuilder,
    from: NodeId,
    to: NodeId,
    link: LinkId,
}

impl DiffservNetwork {
    fn new(queue: DropPolicy) -> DiffservNetwork {
        let mut builder = NetworkBuilder::new();
        let (from, to) = (builder.node("A"), builder.node("B"));
        let spec = |from, to, queue| LinkSpec {
            queue,
            ..netflow_problems::link(from, to, BPS, 0.01, 50.0)
        };
        let link = builder.link(spec(from, to, queue));
        builder.link(spec(to, from, DropPolicy::DropTail));
        DiffservNetwork {
            builder,
            from,
            to,
            link,
        }
    }

    fn send(&mut self, name: &str, source: Source) -> ConnectionId {
        let acks = match source {
            Source::Profile(_) => Acks::EveryPacket,
            _ => Acks::None,
        };
        self.builder.connection(ConnectionSpec {
            acks,
            ..netflow_problems::connection(name, self.from, self.to, source)
        })
    }

    fn constant(&mut self, name: &str, rate_pps: f64) -> ConnectionId {
        self.send(name, Source::Constant { rate_pps })
    }

    fn aggregate(&mut self, name: &str, edge: Edge, members: Vec<ConnectionId>) -> AggregateId {
        self.builder.aggregate(AggregateSpec {
            name: name.to_owned(),
            edge,
            members,
            rtt_s: None,
            rto_s: None,
        })
    }

    fn run(self, duration_s: f64) -> Simulation {
        let network = self.builder.build().expect("a good network");
        let options = Options {
            duration_s,
            model: FluidOptions::Standard {
                step: Step::Fixed { step_s: 0.01 },
            }
            .into(),
            ..Options::default()
        };
        finish(Simulation::new(network, options).expect("good options"))
    }
}

fn finish(mut simulation: Simulation) -> Simulation {
    while !simulation.is_done() {
        simulation.step().expect("a step");
    }
    simulation
}

fn standard(committed_bps: f64, peak_bps: f64) -> Edge {
    let spec = ConditionerSpec::new(Kind::Standard, committed_bps, Some(peak_bps));
    Edge::Conditioner(Conditioner::new(spec).unwrap())
}

fn rio(discipline: Discipline) -> DropPolicy {
    DropPolicy::Rio(Rio {
        discipline,
        curves: [
            Curve::new(30.0, 40.0, 0.02),
            Curve::new(20.0, 30.0, 0.05),
            Curve::new(5.0, 20.0, 0.1),
        ],
        weight: 0.002,
        gentle: false,
    })
}

/// 4 Mbit/s, of which 2 are committed and 1 more is tolerated: fractions 1/2, 1/4, 1/4. The single
/// rate marker gives no yellow, because its second bucket is not refilled.
#[test]
fn colours_match_the_committed_rates() {
    for (edge, wanted) in [
        (standard(2e6, 3e6), [0.5, 0.25, 0.25]),
        (
            Edge::TrTcm(TrTcm::new(2_000_000, 10_000, 3_000_000, 10_000).unwrap()),
            [0.5, 0.25, 0.25],
        ),
        (
            Edge::SrTcm(SrTcm::new(2_000_000, 10_000, 10_000).unwrap()),
            [0.5, 0.0, 0.5],
        ),
    ] {
        let mut lab = DiffservNetwork::new(rio(Discipline::RioC));
        let member = lab.constant("c", 500.0);
        let id = lab.aggregate("F", edge, vec![member]);
        let simulation = lab.run(200.0);
        let totals = simulation.aggregate_totals(id);
        // The estimator starts with the committed rate, and needs some seconds.
        for (found, wanted) in totals.fractions().to_array().into_iter().zip(wanted) {
            assert!((found - wanted).abs() < 0.01, "{totals:?}");
        }
        for (found, wanted) in totals.marking.into_iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-9, "{totals:?}");
        }
        assert_eq!(simulation.send_pps(member), 500.0);
    }
}

/// Twice the link's capacity: sent packets of each colour are delivered, lost or in the network;
/// higher precedences lose more; the link is kept busy.
#[test]
fn colours_are_conserved_and_higher_ones_lose_more() {
    for discipline in [Discipline::RioC, Discipline::RioD, Discipline::Wred] {
        let mut lab = DiffservNetwork::new(rio(discipline));
        let members = vec![lab.constant("a", 1200.0), lab.constant("b", 800.0)];
        let id = lab.aggregate("F", standard(4e6, 8e6), members);
        let link = lab.link;
        let simulation = lab.run(100.0);
        assert!(simulation.totals().imbalance() < 1e-12);

        let aggregate = simulation.aggregate_totals(id);
        let at_link = simulation.precedence_totals(link).unwrap();
        let totals = simulation.link_totals(link);
        let sum = |of: fn(&PrecedenceTotals) -> f64| -> f64 { at_link.iter().map(of).sum() };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * (1.0 + b.abs());
        assert!(near(sum(|p| p.offered_pkts), totals.offered_pkts));
        assert!(near(sum(|p| p.lost_pkts), totals.lost_pkts));
        let mut under_way = 0.0;
        for (p, at_link) in at_link.iter().enumerate() {
            assert!(near(aggregate.lost_pkts[p], at_link.lost_pkts));
            assert!(near(aggregate.sent_pkts[p], at_link.offered_pkts));
            let rest = aggregate.sent_pkts[p] - aggregate.delivered_pkts[p];
            under_way += rest - aggregate.lost_pkts[p];
        }
        let all = simulation.totals();
        assert!(near(under_way, all.queued_pkts + all.in_flight_pkts));

        let [dp0, dp1, dp2] = at_link.map(|p| p.loss_probability);
        assert!(
            dp0 <= dp1 + 1e-9 && dp1 <= dp2 + 1e-9,
            "{discipline:?} {at_link:?}"
        );
        assert!(dp2 > 0.5, "{discipline:?} {at_link:?}");
        assert!(totals.utilization > 0.9, "{discipline:?} {totals:?}");
        assert!(aggregate.mean_goodput_bps < BPS * (1.0 + 1e-9));
    }
}

/// Packets outside aggregates are DP2, and are dropped first.
#[test]
fn packets_outside_aggregates_are_dropped_first() {
    let mut lab = DiffservNetwork::new(rio(Discipline::RioC));
    let inside = lab.constant("inside", 600.0);
    let outside = lab.constant("outside", 600.0);
    lab.aggregate("F", standard(6e6, 8e6), vec![inside]);
    let simulation = lab.run(100.0);
    let loss = |id| simulation.connection_totals(id).loss_probability.unwrap();
    assert!(
        loss(inside) < 0.02 && loss(outside) > 0.2,
        "{} {}",
        loss(inside),
        loss(outside)
    );
}

/// With thresholds that the average never reaches, the queue is drop-tail.
#[test]
fn rio_with_unreachable_thresholds_is_drop_tail() {
    let never = DropPolicy::Rio(Rio {
        discipline: Discipline::Wred,
        curves: [Curve::new(1e3, 2e3, 0.1); 3],
        weight: 0.002,
        gentle: false,
    });
    let run = |queue| {
        let mut lab = DiffservNetwork::new(queue);
        lab.constant("a", 1100.0);
        let link = lab.link;
        lab.run(5.0).link_totals(link)
    };
    let (early, tail) = (run(never), run(DropPolicy::DropTail));
    assert!(
        (early.lost_pkts / tail.lost_pkts - 1.0).abs() < 1e-4,
        "{early:?} {tail:?}"
    );
    let queues = early.mean_queue_pkts / tail.mean_queue_pkts;
    assert!((queues - 1.0).abs() < 1e-4, "{early:?} {tail:?}");
}

/// All sources saturated: 3 : 1 : 1 by weight; all for the first by priority. Unused capacity of
/// the first goes to the others.
#[test]
fn class_queues_share_their_link() {
    let shares = |scheduler, rates: [f64; 3]| -> [f64; 3] {
        let mut lab = DiffservNetwork::new(DropPolicy::DropTail);
        let class = |name: &str, weight| QueueClass {
            policer: None,
            name: name.to_owned(),
            weight,
            buffer: Buffer::Packets(50.0),
            queue: DropPolicy::DropTail,
        };
        lab.builder.schedule(MultiQueueLink {
            link: lab.link,
            scheduler,
            classes: vec![class("AF1", 3.0), class("AF2", 1.0)],
        });
        let all = [("a", "AF1"), ("b", "AF2"), ("c", "")];
        let ids = [0, 1, 2].map(|i| {
            let id = lab.constant(all[i].0, rates[i]);
            if !all[i].1.is_empty() {
                lab.builder.classify(id, all[i].1);
            }
            id
        });
        let simulation = lab.run(60.0);
        assert!(simulation.totals().imbalance() < 1e-12);
        ids.map(|id| simulation.connection_totals(id).mean_goodput_pps)
    };
    let near = |found: [f64; 3], wanted: [f64; 3]| {
        for (a, b) in found.into_iter().zip(wanted) {
            assert!((a - b).abs() < 12.0, "{found:?} instead of {wanted:?}");
        }
        // A starved class still gets 0.1 %.
        assert!(found.iter().sum::<f64>() <= 1003.0, "{found:?}");
    };
    near(shares(Scheduler::Wfq, [3000.0; 3]), [600.0, 200.0, 200.0]);
    near(
        shares(Scheduler::Wfq, [100.0, 3000.0, 3000.0]),
        [100.0, 450.0, 450.0],
    );
    near(
        shares(Scheduler::Wfq, [3000.0, 100.0, 50.0]),
        [850.0, 100.0, 50.0],
    );
    near(shares(Scheduler::Priority, [3000.0; 3]), [1000.0, 0.0, 0.0]);
    near(
        shares(Scheduler::Priority, [300.0, 400.0, 3000.0]),
        [300.0, 400.0, 300.0],
    );
}

/// A saved state continues with the same bits.
#[test]
fn saved_run_resumes_identically() {
    let network = || {
        let mut lab = DiffservNetwork::new(rio(Discipline::RioC));
        let members = vec![lab.constant("a", 700.0), lab.constant("b", 600.0)];
        lab.aggregate("F", standard(2e6, 3e6), members);
        lab.builder.schedule(MultiQueueLink {
            link: lab.link,
            scheduler: Scheduler::Wfq,
            classes: vec![QueueClass {
                policer: None,
                name: "AF1".to_owned(),
                weight: 1.0,
                buffer: Buffer::Packets(20.0),
                queue: rio(Discipline::RioD),
            }],
        });
        let third = lab.constant("c", 300.0);
        lab.builder.classify(third, "AF1");
        lab.builder.build().unwrap()
    };
    let options = Options {
        duration_s: 4.0,
        ..Options::default()
    };
    let mut straight = Simulation::new(network(), options).unwrap();
    for _ in 0..40 {
        straight.step().unwrap();
    }
    let saved = serde_json::to_string(straight.state().expect("a fluid")).unwrap();
    let state: State = serde_json::from_str(&saved).unwrap();
    let resumed = finish(Simulation::resume(network(), options, state).unwrap());
    assert_eq!(finish(straight).state(), resumed.state());
}

#[test]
fn invalid_aggregates_are_rejected() {
    let mut lab = DiffservNetwork::new(DropPolicy::DropTail);
    let member = lab.constant("c", 100.0);
    lab.aggregate("empty", standard(1e6, 1e6), Vec::new());
    lab.aggregate("F", standard(1e6, 1e6), vec![member]);
    lab.aggregate("F", standard(1e6, 1e6), vec![member]);
    let errors = lab.builder.build().unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "aggregate `empty` has no members",
            "aggregate `F` exists twice",
            "connection `c` is in two aggregates",
        ]
    );

    let mut lab = DiffservNetwork::new(rio(Discipline::RioC));
    lab.constant("c", 100.0);
    let options = Options {
        model: FluidOptions::Literal { step_s: 0.05 }.into(),
        ..Options::default()
    };
    let error = Simulation::new(lab.builder.build().unwrap(), options).err();
    assert!(
        matches!(
            error,
            Some(RunError::BadOption {
                option: "model",
                ..
            })
        ),
        "{error:?}"
    );
}
