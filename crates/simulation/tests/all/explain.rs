//! Explanations of a connection match its measured values.

use netflow_diffserv::{Curve, Discipline};
use netflow_profile::builtin;
use netflow_simulation::*;
use netflow_tcpmodel::{CongestionControl, Stack};

const KINDS: [Model; 2] = [Model::FLUID, Model::PACKETS];

/// A and B, connected by a fast path over C and a slow one over D; `queue` is that of C->B.
struct ExplainNetwork {
    builder: NetworkBuilder,
    nodes: [NodeId; 4],
    quick: LinkId,
}

impl ExplainNetwork {
    fn new(queue: DropPolicy) -> ExplainNetwork {
        let mut builder = NetworkBuilder::new();
        let nodes = ["A", "B", "C", "D"].map(|name| builder.node(name));
        let [a, b, c, d] = nodes;
        let mut quick = None;
        for (from, to, delay_s) in [(a, c, 0.01), (c, b, 0.01), (a, d, 0.03), (d, b, 0.03)] {
            for (from, to, back) in [(from, to, false), (to, from, true)] {
                let link = builder.link(LinkSpec {
                    queue: if (from, to) == (c, b) {
                        queue
                    } else {
                        DropPolicy::DropTail
                    },
                    ..netflow_problems::link(
                        from,
                        to,
                        if (from, to) == (c, b) { 4e6 } else { 8e6 },
                        delay_s,
                        50.0,
                    )
                });
                if (from, to, back) == (c, b, false) {
                    quick = Some(link);
                }
            }
        }
        ExplainNetwork {
            builder,
            nodes,
            quick: quick.unwrap(),
        }
    }

    fn send(&mut self, source: Source, start_s: f64) -> ConnectionId {
        let spec = self.spec(source, start_s);
        self.builder.connection(spec)
    }

    fn spec(&self, source: Source, start_s: f64) -> ConnectionSpec {
        let acks = match source {
            Source::Constant { .. } | Source::Poisson { .. } => Acks::None,
            _ => Acks::EveryPacket,
        };
        ConnectionSpec {
            start_s,
            max_window_pkts: Some(30.0),
            acks,
            ..netflow_problems::connection(
                &format!("from {start_s} s"),
                self.nodes[0],
                self.nodes[1],
                source,
            )
        }
    }
}

/// Explanation, with the values of the connection and of its path's links in the interval.
type Told = (Explanation, ConnectionInterval, Vec<LinkInterval>);

/// Recorder that keeps the explanation and the measured values of every interval.
struct ExplanationRecorder {
    connection: ConnectionId,
    told: Vec<Told>,
}

impl Recorder for ExplanationRecorder {
    type Error = std::convert::Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Self::Error> {
        let told = interval.explain(self.connection);
        let links = told
            .hops
            .iter()
            .map(|hop| interval.link(hop.link))
            .collect();
        let measured = interval.connection(self.connection);
        self.told.push((told, measured, links));
        Ok(())
    }
}

fn explanations_of_run(
    lab: ExplainNetwork,
    connection: ConnectionId,
    model: Model,
    duration_s: f64,
) -> ExplanationRecorder {
    let options = Options {
        model,
        duration_s,
        ..Options::default()
    };
    let network = lab.builder.build().unwrap();
    let mut simulation = Simulation::new(network, options).unwrap();
    let mut keeper = ExplanationRecorder {
        connection,
        told: Vec::new(),
    };
    simulation.run(0.5, &mut keeper, || false).unwrap();
    keeper
}

#[test]
fn explained_path_is_current_after_a_failure() {
    for model in KINDS {
        let mut lab = ExplainNetwork::new(DropPolicy::DropTail);
        let c = lab.send(Source::Profile(builtin("ns-reno").unwrap()), 0.0);
        for (at_s, change) in [(2.0, Change::Down), (4.0, Change::Up)] {
            lab.builder.event(EventSpec {
                at_s,
                link: lab.quick,
                change,
            });
        }
        let quick = lab.quick;
        for (told, ..) in explanations_of_run(lab, c, model, 6.0).told {
            let over_c = told.hops.iter().any(|hop| hop.link == quick);
            // At the time of the event, packets still take the earlier path.
            let after_s = if model == Model::PACKETS { -1e-9 } else { 1e-9 };
            let works = !(2.0..4.0).contains(&(told.time_s + after_s));
            assert_eq!(over_c, works, "{model:?} at {} s", told.time_s);
            assert_eq!(told.hops.len(), 4);
        }
    }
}

fn rio() -> DropPolicy {
    let curve = |min_pkts: f64| Curve {
        min_pkts,
        max_pkts: min_pkts + 10.0,
        max_p: 0.2,
    };
    DropPolicy::Rio(Rio {
        discipline: Discipline::RioC,
        curves: [curve(30.0), curve(20.0), curve(2.0)],
        weight: 0.01,
        gentle: true,
    })
}

/// 750 packets/s at 500 packets/s of capacity: a third is lost, almost all by early drops.
#[test]
fn rio_drops_count_as_loss() {
    for model in KINDS {
        let mut lab = ExplainNetwork::new(rio());
        let c = lab.send(Source::Constant { rate_pps: 750.0 }, 0.0);
        let keeper = explanations_of_run(lab, c, model, 30.0);
        let late = &keeper.told[20..];
        let mean = |of: &dyn Fn(&Told) -> f64| late.iter().map(of).sum::<f64>() / late.len() as f64;
        let told = mean(&|(told, ..)| told.loss_probability);
        let measured = mean(&|(_, _, links)| links[1].loss_probability);
        assert!(measured > 0.3, "{model:?} {measured}");
        assert!(
            (told / measured - 1.0).abs() < 0.02,
            "{model:?} {told} {measured}"
        );
        let seen = mean(&|(told, ..)| told.seen_loss_probability.unwrap());
        assert!(
            (seen / measured - 1.0).abs() < 0.1,
            "{model:?} {seen} {measured}"
        );
    }
}

/// The link is idle for 5 s, and overloaded afterwards.
#[test]
fn utilization_and_loss_are_of_the_interval() {
    for model in KINDS {
        let mut lab = ExplainNetwork::new(DropPolicy::DropTail);
        let c = lab.send(Source::Constant { rate_pps: 900.0 }, 5.0);
        for (told, _, links) in explanations_of_run(lab, c, model, 10.0).told {
            for (hop, link) in told.hops.iter().zip(&links) {
                assert_eq!(
                    hop.utilization, link.utilization,
                    "{model:?} at {} s",
                    told.time_s
                );
            }
            if told.time_s > 7.0 {
                let (hop, link) = (&told.hops[1], &links[1]);
                assert!(hop.utilization > 0.99, "{model:?} {}", hop.utilization);
                let (told, measured) = (hop.loss_probability, link.loss_probability);
                assert!(
                    (told / measured - 1.0).abs() < 0.02,
                    "{model:?} {told} {measured}"
                );
            }
        }
    }
}

#[test]
fn applied_limit_is_reported() {
    let limits = |model, source: Source, change: &dyn Fn(&mut ConnectionSpec)| -> Vec<Limit> {
        let mut lab = ExplainNetwork::new(DropPolicy::DropTail);
        let mut spec = lab.spec(source, 0.0);
        change(&mut spec);
        let c = lab.builder.connection(spec);
        let told = explanations_of_run(lab, c, model, 20.0).told.into_iter();
        told.filter_map(|(told, ..)| told.limit).collect()
    };
    let reno = || Source::Profile(builtin("ns-reno").unwrap());
    let window = || Source::Ns2Tcp(WindowSource::default());
    for (model, tcp) in [
        (Model::FLUID, reno()),
        (Model::PACKETS, reno()),
        (Model::PACKETS, window()),
    ] {
        let small = limits(model, tcp.clone(), &|spec| spec.max_window_pkts = Some(4.0));
        assert_eq!(small.last(), Some(&Limit::Window), "{model:?} {small:?}");
        let slow = limits(model, tcp, &|spec| {
            spec.application = Application::Poisson { rate_pps: 20.0 };
        });
        let most = slow
            .iter()
            .filter(|&&limit| limit == Limit::Application)
            .count();
        assert!(2 * most > slow.len(), "{model:?} {slow:?}");
    }
    // A window of two bandwidth-delay products does not limit a sender paced at the bandwidth.
    let bbr = || {
        let mut stack = Stack::builtin("linux-6").unwrap();
        stack.set_congestion(CongestionControl::Bbr);
        Source::Tcp(std::sync::Arc::new(stack))
    };
    let paced = limits(Model::PACKETS, bbr(), &|spec| spec.max_window_pkts = None);
    let most = (paced.iter())
        .filter(|&&limit| limit == Limit::Pacing)
        .count();
    assert!(2 * most > paced.len(), "{paced:?}");
    for model in KINDS {
        let own = limits(model, Source::Constant { rate_pps: 50.0 }, &|_| {});
        assert_eq!(own, vec![Limit::Own; 40], "{model:?}");
    }
    let free = limits(Model::PACKETS, window(), &|spec| {
        spec.max_window_pkts = None
    });
    assert_eq!(free.last(), Some(&Limit::CongestionWindow));
    let free = limits(Model::FLUID, reno(), &|spec| {
        spec.max_window_pkts = None;
    });
    assert_eq!(free.last(), Some(&Limit::CongestionWindow));
}
