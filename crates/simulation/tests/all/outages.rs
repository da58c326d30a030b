//! Traffic without a route, and the demand of traffic with one.

use netflow_simulation::*;

const KINDS: [Model; 2] = [Model::FLUID, Model::PACKETS];

struct Line {
    builder: NetworkBuilder,
    nodes: Vec<NodeId>,
    links: Vec<LinkId>,
}

/// Returns nodes in a row, with duplex links of these bandwidths (bit/s) and 10 ms.
fn line(bandwidths_bps: &[f64]) -> Line {
    let mut builder = NetworkBuilder::new();
    let names = (0..=bandwidths_bps.len()).map(|i| format!("n{i}"));
    let nodes: Vec<NodeId> = names.map(|name| builder.node(&name)).collect();
    let mut links = Vec::new();
    for (pair, &bandwidth_bps) in nodes.windows(2).zip(bandwidths_bps) {
        for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            links.push(builder.link(netflow_problems::link(from, to, bandwidth_bps, 0.01, 50.0)));
        }
    }
    Line {
        builder,
        nodes,
        links,
    }
}

impl Line {
    fn send(&mut self, from: usize, to: usize, source: Source) -> ConnectionId {
        self.send_within(from, to, source, Some(20.0))
    }

    fn send_within(
        &mut self,
        from: usize,
        to: usize,
        source: Source,
        max_window_pkts: Option<f64>,
    ) -> ConnectionId {
        let acks = match source {
            Source::Constant { .. } | Source::Poisson { .. } => Acks::None,
            _ => Acks::EveryPacket,
        };
        self.builder.connection(ConnectionSpec {
            max_window_pkts,
            acks,
            ..netflow_problems::connection(
                &format!("{from} to {to} {acks:?}"),
                self.nodes[from],
                self.nodes[to],
                source,
            )
        })
    }

    fn run(self, model: Model) -> Simulation {
        let options = Options {
            duration_s: 60.0,
            model,
            ..Options::default()
        };
        let mut simulation = Simulation::new(self.builder.build().unwrap(), options).unwrap();
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        simulation
    }
}

/// The only link is down half of the time. Regression: a constant source reported a loss of 0.1 %,
/// because unsent packets were not counted.
#[test]
fn unrouted_packets_are_offered_and_lost() {
    for model in KINDS {
        let mut line = line(&[1e6]);
        let udp = line.send(0, 1, Source::Constant { rate_pps: 50.0 });
        for (at_s, change) in [(30.0, Change::Down), (55.0, Change::Up)] {
            let link = line.links[0];
            line.builder.event(EventSpec { at_s, link, change });
        }
        let simulation = line.run(model);
        let totals = simulation.connection_totals(udp);
        assert!((totals.offered_pkts - 3000.0).abs() < 2.0, "{totals:?}");
        assert!((totals.unrouted_pkts - 1250.0).abs() < 2.0, "{totals:?}");
        let loss = totals.loss_probability.unwrap();
        assert!((loss - 1250.0 / 3000.0).abs() < 0.01, "{totals:?}");
        assert!(simulation.totals().imbalance() < 1e-9);
        let outages = simulation.network().unrouted_intervals(udp, 0.0, 60.0);
        assert_eq!(outages, [(30.0, 55.0)]);
        assert_eq!(simulation.network().unrouted_intervals(udp, 0.0, 20.0), []);
    }
}

/// TCP without a route sends only retransmission attempts.
#[test]
fn tcp_without_a_route_only_retransmits() {
    let mut line = line(&[1e6]);
    let tcp = line.send(0, 1, Source::Ns2Tcp(WindowSource::default()));
    let link = line.links[0];
    line.builder.event(EventSpec {
        at_s: 30.0,
        link,
        change: Change::Down,
    });
    let simulation = line.run(Model::PACKETS);
    let totals = simulation.connection_totals(tcp);
    assert!((1.0..20.0).contains(&totals.unrouted_pkts), "{totals:?}");
    assert!(simulation.totals().imbalance() < 1e-9);
}

/// Packets sent into a failed link of an explicit path are lost or have no route; they are always
/// counted.
#[test]
fn explicit_path_over_failed_link_loses_packets() {
    for model in KINDS {
        let mut line = line(&[1e6, 1e6]);
        let path = line.nodes.clone();
        let udp = line.builder.connection(ConnectionSpec {
            path: Some(path.clone()),
            ..netflow_problems::one_way(
                "udp",
                path[0],
                path[2],
                Source::Constant { rate_pps: 50.0 },
            )
        });
        let link = line.links[2];
        line.builder.event(EventSpec {
            at_s: 30.0,
            link,
            change: Change::Down,
        });
        let simulation = line.run(model);
        let totals = simulation.connection_totals(udp);
        assert!((totals.offered_pkts - 3000.0).abs() < 2.0, "{totals:?}");
        assert!(
            (totals.loss_probability.unwrap() - 0.5).abs() < 0.01,
            "{totals:?}"
        );
        assert!(simulation.totals().imbalance() < 1e-9);
    }
}

/// Demand divided by bandwidth shows which of several full links fills first.
#[test]
fn demand_is_limited_by_other_links() {
    let mut line = line(&[1e6, 4e5, 1e6]);
    // 8 Mbit/s, reduced to 1 by the first link and to 0.4 by the second.
    line.send(0, 3, Source::Constant { rate_pps: 1000.0 });
    // 20 packets of 8000 bits in 40 ms: 4 Mbit/s; the next link carries 1.
    line.send(1, 3, Source::Ns2Tcp(WindowSource::default()));
    let network = line.builder.build().unwrap();
    let demand = network.demand_bps(0.0, 60.0);
    let near = |link: usize, bps: f64| {
        assert!((demand[2 * link] - bps).abs() < 1e-6 * bps, "{demand:?}");
    };
    near(0, 8e6);
    near(1, 1e6 + 1e6);
    near(2, 4e5 + 4e5);
    assert_eq!(demand[1], 0.0);
}

/// Regression: the window of 10000 packets of a profile's measurement was used as a limit: the
/// table reported 400000 %.
#[test]
fn window_above_path_capacity_does_not_limit_demand() {
    let demand_bps = |window_pkts: Option<f64>| {
        let mut line = line(&[1e6]);
        let source = Source::Profile(netflow_profile::builtin("ns-newreno").unwrap());
        line.send_within(0, 1, source, window_pkts);
        line.builder.build().unwrap().demand_bps(0.0, 60.0)[0]
    };
    // 10 packets of 8000 bits in 20 ms.
    assert!((demand_bps(Some(10.0)) - 4e6).abs() < 1.0);
    assert_eq!(demand_bps(None), f64::INFINITY);
}

/// Regression: unlimited TCP had the demand of other links' bandwidth: 100000 % of a slow link.
#[test]
fn unlimited_tcp_has_unlimited_demand_at_slowest_link() {
    let mut line = line(&[1e9, 1e6]);
    let source = Source::Profile(netflow_profile::builtin("ns-newreno").unwrap());
    line.send_within(0, 2, source, None);
    let demand_bps = line.builder.build().unwrap().demand_bps(0.0, 60.0);
    assert_eq!((demand_bps[0], demand_bps[2]), (1e6, f64::INFINITY));
}
