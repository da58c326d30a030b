//! Which queues are estimates: those of busy drop-tail links that TCP by profiles fills.

use netflow_profile::builtin;
use netflow_simulation::{
    Application, ConnectionSpec, DropPolicy, LinkSpec, Model, Network, NetworkBuilder, Options,
    Red, Run, Simulation, Source, TcpVariant, WindowSource,
};

/// One link forward and one back, with these sources and application.
fn network(queue: DropPolicy, sources: &[Source], application: Application) -> Network {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("a"), builder.node("b"));
    for (from, to) in [(a, b), (b, a)] {
        builder.link(LinkSpec {
            queue,
            ..netflow_problems::link(from, to, 8e6, 0.02, 50.0)
        });
    }
    for (i, source) in sources.iter().enumerate() {
        builder.connection(ConnectionSpec {
            application,
            max_window_pkts: Some(64.0),
            ..netflow_problems::connection(&format!("c{i}"), a, b, source.clone())
        });
    }
    builder.build().unwrap()
}

/// Of the link forward, and of the link back.
fn estimates(network: &Network, model: Model) -> Vec<bool> {
    let options = Options {
        duration_s: 20.0,
        model,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network.clone(), options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    let links = network.links();
    links
        .map(|id| simulation.link_totals(id).queue_is_estimate)
        .collect()
}

#[test]
fn only_busy_drop_tail_queues_filled_by_profiles_are_estimates() {
    let tcp = Source::Profile(builtin("ns-reno").unwrap());
    let udp = |rate_pps| Source::Constant { rate_pps };
    let window = Source::Window(WindowSource {
        variant: TcpVariant::Reno,
        ..WindowSource::default()
    });
    let bulk = Application::Bulk;
    let little = Application::Poisson { rate_pps: 900.0 };
    let red = DropPolicy::Red(Red {
        min_pkts: 5.0,
        max_pkts: 15.0,
        max_p: 0.1,
        weight: 0.002,
        gentle: true,
        ecn: false,
    });
    let fluid = |queue: &DropPolicy, sources: &[Source], application| {
        estimates(&network(*queue, sources, application), Model::FLUID)
    };
    let tail = DropPolicy::DropTail;
    // Acknowledgements do not fill the way back.
    let filled = fluid(&tail, &[tcp.clone(), tcp.clone()], bulk);
    assert_eq!(filled, [true, false]);
    let with_udp = fluid(&tail, &[tcp.clone(), udp(600.0)], bulk);
    assert_eq!(with_udp, [true, false]);

    assert_eq!(fluid(&tail, &[udp(2000.0)], bulk), [false, false]);
    assert_eq!(
        fluid(&red, &[tcp.clone(), tcp.clone()], bulk),
        [false, false]
    );
    // It sends what comes, as it comes.
    assert_eq!(
        fluid(&tail, std::slice::from_ref(&tcp), little),
        [false, false]
    );
    // Unless there is more than gets through.
    let much = Application::Poisson { rate_pps: 1100.0 };
    assert_eq!(
        fluid(&tail, std::slice::from_ref(&tcp), much),
        [true, false]
    );
    let packets = network(tail, &[window], bulk);
    assert_eq!(estimates(&packets, Model::PACKETS), [false, false]);
}
