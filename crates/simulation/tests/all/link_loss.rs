//! Random loss of links: its mean in the fluid model, individual packets in the packet model.

use netflow_diffserv::{Conditioner, ConditionerSpec, Curve, Discipline, Kind};
use netflow_problems::{connection, link, one_way};
use netflow_profile::{Analytic, Formula, FormulaParameters, Profile, builtin};
use netflow_simulation::*;

use crate::running::run;

const RATE_PPS: f64 = 400.0;

/// Returns a connection over a lossy link, at 1000 packets/s of 1000 B, with a round-trip time of
/// 40 ms.
fn network(loss: LinkLoss, source: Source) -> Network {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    let there = link(from, to, 8e6, 0.02, 1000.0);
    b.link(LinkSpec { loss, ..there });
    b.link(link(to, from, 8e6, 0.02, 1000.0));
    b.connection(match source {
        Source::Poisson { .. } => one_way("c", from, to, source),
        source => connection("c", from, to, source),
    });
    b.build().unwrap()
}

fn models() -> [Model; 3] {
    [
        Model::FLUID,
        FluidOptions::Literal { step_s: 0.01 }.into(),
        Model::PACKETS,
    ]
}

#[test]
fn link_loss_applies_after_the_queue() {
    let gilbert = GilbertElliott::new(0.05, 0.45, 0.0, 0.5).unwrap();
    let causes = [
        (LinkLoss::from(0.1), 0.1),
        (
            LinkLoss {
                gilbert: Some(gilbert),
                ..LinkLoss::NONE
            },
            0.05,
        ),
        (
            LinkLoss {
                bit_errors: Some(BitErrors::independent(1e-5).unwrap()),
                ..LinkLoss::NONE
            },
            1.0 - (1.0 - 1e-5_f64).powi(8000),
        ),
    ];
    for (loss, wanted) in causes {
        for model in models() {
            let source = Source::Poisson { rate_pps: RATE_PPS };
            let simulation = run(network(loss, source), model, 200.0);
            let id = simulation.network().link_by_name("A->B").unwrap();
            let totals = simulation.link_totals(id);
            let lost_pkts = totals.link_lost_pkts.expect("a link that loses");
            let share = lost_pkts / totals.departed_pkts;
            // 80 000 packets; bursts increase the variance by up to a factor of 3. The fluid model
            // loses packets in flight at the end slightly later.
            let tolerance = match model {
                Model::Packets(_) => 4.0 * (3.0 * wanted / 80_000.0).sqrt(),
                Model::Fluid(_) => 1e-3 * wanted,
            };
            assert!(
                (share - wanted).abs() < tolerance,
                "{share} of {wanted} by {model:?}"
            );
            assert!(
                totals.lost_pkts < 1e-9 * lost_pkts,
                "the queue loses nothing: {totals:?}"
            );
            let all = simulation.totals();
            let ended = all.delivered_pkts + all.lost_pkts + all.queued_pkts + all.in_flight_pkts;
            assert!(
                (ended / all.offered_pkts - 1.0).abs() < 1e-9,
                "{all:?} by {model:?}"
            );
            assert!(all.lost_pkts > 0.9 * lost_pkts, "{all:?}");
        }
    }
}

/// A path with 1 % loss and a round-trip time of 40 ms: the rate is that of the profile.
#[test]
fn sources_react_to_link_loss() {
    let profile = builtin("ns-reno").unwrap();
    let wanted = profile.throughput(0.01, 0.042);
    for model in &models()[..3] {
        let source = Source::Profile(profile.clone());
        let simulation = run(network(LinkLoss::from(0.01), source), *model, 120.0);
        let id = simulation.network().connection_by_name("c").unwrap();
        let totals = simulation.connection_totals(id);
        let sent_pps = totals.mean_send_pps;
        assert!(
            (sent_pps / wanted - 1.0).abs() < 0.05,
            "{sent_pps} of {wanted} by {model:?}"
        );
        let explanation = simulation.explain(id);
        assert_eq!(explanation.hops[0].link_loss_probability, 0.01);
        assert_eq!(explanation.hops[1].link_loss_probability, 0.0);
    }
}

/// Congestion windows on the same path: within the accuracy of the formula of Padhye et al.
#[test]
fn congestion_windows_react_to_link_loss() {
    for loss in [0.003, 0.01, 0.03] {
        let source = Source::Ns2Tcp(WindowSource::default());
        let simulation = run(network(LinkLoss::from(loss), source), Model::PACKETS, 600.0);
        let id = simulation.network().connection_by_name("c").unwrap();
        let totals = simulation.connection_totals(id);
        let sent = totals.mean_send_pps * 600.0;
        let found = totals.lost_pkts / sent;
        assert!((found - loss).abs() < 4.0 * (loss / sent).sqrt(), "{found}");
        let rtt_s = totals.mean_rtt_s.expect("a round-trip time");
        // Every packet is acknowledged.
        let parameters = FormulaParameters {
            segments_per_ack: 1.0,
            timeout_s: 0.2,
            ..FormulaParameters::default()
        };
        let name = || "formula".to_owned();
        let formula = Analytic::new(name(), name(), Formula::PftkFull, parameters).unwrap();
        let ratio = sent / 600.0 / formula.throughput(loss, rtt_s);
        assert!((0.75..1.3).contains(&ratio), "{ratio} at {loss}");
    }
}

/// The same seed loses the same packets; another one loses others.
#[test]
fn losses_depend_on_the_seed() {
    let of = |seed| {
        let options = Options {
            duration_s: 20.0,
            seed,
            model: Model::PACKETS,
        };
        let source = Source::Poisson { rate_pps: RATE_PPS };
        let network = network(LinkLoss::from(0.1), source);
        let mut simulation = Simulation::new(network, options).unwrap();
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        let id = simulation.network().connection_by_name("c").unwrap();
        simulation.connection_totals(id).lost_pkts
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

/// Queue overflow on a lossy link: the paper's model counts truncated packets separately, and not
/// as losses of connections.
#[test]
fn overflow_does_not_count_as_link_loss() {
    for model in models() {
        let source = Source::Poisson { rate_pps: 1500.0 };
        let simulation = run(network(LinkLoss::from(0.1), source), model, 50.0);
        let id = simulation.network().link_by_name("A->B").unwrap();
        let totals = simulation.link_totals(id);
        assert!(totals.lost_pkts > 20_000.0, "{totals:?}");
        let share = totals.link_lost_pkts.expect("a link that loses") / totals.departed_pkts;
        let tolerance = match model {
            Model::Packets(_) => 4.0 * (0.1_f64 / 50_000.0).sqrt(),
            Model::Fluid(_) => 1e-3 * 0.1,
        };
        assert!((share - 0.1).abs() < tolerance, "{share} by {model:?}");
    }
}

/// The losses of links equal those of connections: with overflow in queues of three precedences,
/// failure of a link with queued packets, and routes that form a cycle.
#[test]
fn losses_of_links_equal_losses_of_connections() {
    let curve = |min| Curve::new(min, 2.0 * min, 0.1);
    let rio = DropPolicy::Rio(Rio {
        discipline: Discipline::RioC,
        curves: [curve(20.0), curve(10.0), curve(5.0)],
        weight: 0.002,
        gentle: false,
    });
    let mut b = NetworkBuilder::new();
    let nodes = ["A", "B", "C"].map(|name| b.node(name));
    let at = |i: usize| nodes[i % 3];
    let mut members = Vec::new();
    let mut links = Vec::new();
    for i in 0..3 {
        for (from, to) in [(at(i), at(i + 1)), (at(i + 1), at(i))] {
            links.push(b.link(LinkSpec {
                loss: LinkLoss::from(0.02),
                queue: rio,
                ..link(from, to, 8e6, 0.02, 50.0)
            }));
        }
    }
    for i in 0..3 {
        let source = Source::Poisson { rate_pps: 700.0 };
        members.push(b.connection(ConnectionSpec {
            path: Some(vec![at(i), at(i + 1), at(i + 2)]),
            ..one_way(&format!("round-{i}"), at(i), at(i + 2), source)
        }));
        let source = Source::Profile(builtin("ns-reno").unwrap());
        b.connection(connection(&format!("tcp-{i}"), at(i), at(i + 1), source));
    }
    let spec = ConditionerSpec::new(Kind::Standard, 2e6, Some(4e6));
    b.aggregate(AggregateSpec {
        name: "rounds".to_owned(),
        edge: Edge::Conditioner(Conditioner::new(spec).unwrap()),
        members,
        rtt_s: None,
        rto_s: None,
    });
    for (at_s, change) in [(20.0, Change::Down), (30.0, Change::Up)] {
        let link = links[0];
        b.event(EventSpec { at_s, link, change });
    }
    let network = b.build().unwrap();
    for model in [Model::FLUID, Model::PACKETS] {
        let simulation = run(network.clone(), model, 60.0);
        let of_links = network.links().map(|id| {
            let totals = simulation.link_totals(id);
            [totals.lost_pkts, totals.link_lost_pkts.unwrap()]
        });
        let of_links: Vec<[f64; 2]> = of_links.collect();
        let [queues, ways] = [0, 1].map(|i| of_links.iter().map(|lost| lost[i]).sum::<f64>());
        assert!(queues > 1000.0 && ways > 1000.0, "{queues} {ways}");
        let lost = simulation.totals().lost_pkts + simulation.ack_totals().lost_pkts;
        assert!(
            ((queues + ways) / lost - 1.0).abs() < 1e-9,
            "{queues} and {ways} are not {lost} by {model:?}"
        );
    }
}

#[test]
fn invalid_link_losses_are_rejected() {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    b.link(LinkSpec {
        loss: LinkLoss::from(1.5),
        ..link(from, to, 8e6, 0.02, 10.0)
    });
    let errors = b.build().unwrap_err();
    assert!(errors[0].to_string().contains("1.5"), "{}", errors[0]);
}
