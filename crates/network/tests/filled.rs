//! Tests of the traffic kind of a connection.

use netflow_network::queue_reliability::TrafficKind;
use netflow_network::{ConnectionSpec, NetworkBuilder, Source};

/// In a run, a short transfer is a burst; in steady state it sends without end, whatever its size.
#[test]
fn short_transfer_counts_as_burst() {
    let mut builder = NetworkBuilder::new();
    let [a, b] = [builder.node("a"), builder.node("b")];
    for (size_pkts, in_run) in [
        (None, TrafficKind::Bulk),
        (Some(100.0), TrafficKind::Bursts),
        (Some(101.0), TrafficKind::Bulk),
    ] {
        let reno = Source::Profile(netflow_profile::builtin("ns-reno").unwrap());
        let spec = ConnectionSpec {
            size_pkts,
            ..netflow_problems::connection("c", a, b, reno)
        };
        let kinds = [
            TrafficKind::in_run(&spec, true),
            TrafficKind::of(&spec, true),
        ];
        assert_eq!(kinds, [in_run, TrafficKind::Bulk], "{size_pkts:?}");
    }
}
