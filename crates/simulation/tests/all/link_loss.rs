//! What links lose on the way: the mean of it as fluids, each packet by itself as packets.

use netflow_problems::{connection, link, one_way};
use netflow_profile::{Analytic, Formula, FormulaParameters, Profile, builtin};
use netflow_simulation::*;

const RATE_PPS: f64 = 400.0;

/// A connection over a link that loses, at 1000 packets/s of 1000 B and 40 ms there and back.
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

fn run(network: Network, model: Model, duration_s: f64) -> Simulation {
    let options = Options {
        duration_s,
        model,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network, options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    simulation
}

fn models() -> [Model; 4] {
    let step = Step::auto(0.05);
    [
        Model::FLUID,
        FluidOptions::new(Transport::WellMixed, Coupling::Learned, step).into(),
        FluidOptions::Literal { step_s: 0.01 }.into(),
        Model::PACKETS,
    ]
}

#[test]
fn the_link_loses_its_part_of_what_leaves_the_queue_and_nothing_goes_missing() {
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
            // 80 000 packets; bursts are worth up to 3 of their variance. Fluids lose what was under way
            // at the end a little later.
            let tolerance = match model {
                Model::Packets(_) => 4.0 * (3.0 * wanted / 80_000.0).sqrt(),
                Model::Fluid(_) => 1e-3 * wanted,
            };
            assert!(
                (share - wanted).abs() < tolerance,
                "{share} of {wanted} by {model:?}"
            );
            assert_eq!(totals.lost_pkts, 0.0, "the queue loses nothing");
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

/// A path that loses 1 % and delays by 40 ms, and does nothing else: the profile says the rate.
#[test]
fn a_source_sees_the_loss_of_its_links() {
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
        assert!((explanation.hops[0].link_loss_probability - 0.01).abs() < 1e-12);
        assert_eq!(explanation.hops[1].link_loss_probability, 0.0);
    }
}

/// Windows over the same path: within what the formula of Padhye and others is good for.
#[test]
fn windows_halve_for_what_links_lose() {
    for loss in [0.003, 0.01, 0.03] {
        let source = Source::Window(WindowSource::default());
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

/// The same seed loses the same packets, whatever else there is; another loses others.
#[test]
fn losses_follow_from_the_seed() {
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

#[test]
fn losses_that_no_link_has_are_refused() {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    b.link(LinkSpec {
        loss: LinkLoss::from(1.5),
        ..link(from, to, 8e6, 0.02, 10.0)
    });
    let errors = b.build().unwrap_err();
    assert!(errors[0].to_string().contains("1.5"), "{}", errors[0]);
}
