//! TCP sources limited by their application.

use netflow_profile::builtin;
use netflow_simulation::{
    Application, Change, ConnectionSpec, EventSpec, Network, NetworkBuilder, Options, Run,
    Simulation, Source,
};

/// Returns a connection with an application of 100 packets/s over one link, whose bandwidth
/// changes.
fn network(bandwidth_pps: f64, later: Option<(f64, f64)>) -> Network {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("a"), b.node("b"));
    let link = |from, to, pps: f64| netflow_problems::link(from, to, 8000.0 * pps, 0.03, 50.0);
    let narrow = b.link(link(from, to, bandwidth_pps));
    b.link(link(to, from, 1e4));
    b.connection(ConnectionSpec {
        application: Application::Poisson { rate_pps: 100.0 },
        start_s: 1.0,
        max_window_pkts: Some(20.0),
        ..netflow_problems::connection("c", from, to, Source::Profile(builtin("ns-reno").unwrap()))
    });
    if let Some((at_s, pps)) = later {
        b.event(EventSpec {
            at_s,
            link: narrow,
            change: Change::Bandwidth(8000.0 * pps),
        });
    }
    b.build().unwrap()
}

/// Returns the packets sent, delivered and lost until the end.
fn run(network: Network, options: Options) -> [f64; 3] {
    let mut simulation = Simulation::new(network, options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    let totals = simulation.totals();
    [totals.offered_pkts, totals.delivered_pkts, totals.lost_pkts]
}

fn options(duration_s: f64) -> Options {
    Options {
        duration_s,
        ..Options::default()
    }
}

/// With a capacity of 1000 packets/s, all packets are sent at once: 100/s from 1 s to 61 s. Those of the last 31 ms
/// are in flight.
#[test]
fn source_sends_all_application_data() {
    let [sent, delivered, lost] = run(network(1000.0, None), options(61.0));
    assert!(lost < 0.01, "{lost} lost");
    assert!((sent - 6000.0).abs() < 1.0, "{sent} sent");
    assert!((sent - 3.1 - delivered).abs() < 0.5, "{delivered}");
}

/// A capacity of 50 packets/s for 30 s leaves half of the packets at the sender; they are sent
/// later.
#[test]
fn unsent_data_waits_at_the_sender() {
    let narrow = run(network(50.0, None), options(61.0));
    assert!(narrow[1] < 50.0 * 60.0, "{narrow:?}");
    let widened = network(50.0, Some((31.0, 1000.0)));
    let [sent, _, lost] = run(widened, options(91.0));
    // Packets of 90 s, and the retransmissions.
    assert!((sent - lost - 9000.0).abs() < 1.0, "{sent} - {lost}");
}
