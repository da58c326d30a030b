//! What users send on average.

use netflow_network::{NetworkBuilder, Source};
use netflow_problems::{constant_users, link};

/// 6 exchanges a visit and the first packet, 4 visits a second; 2000 B are 3 packets of 960 B at most.
/// Each of six pairs of nodes has a sixth of it.
#[test]
fn the_mean_load_is_that_of_constant_users() {
    let mut builder = NetworkBuilder::new();
    let users = constant_users(&mut builder);
    assert_eq!(users.expected_users(60.0), 220.0);
    assert_eq!(users.pairs().len(), 6);
    let router = builder.node("router");
    for &node in users.clients.iter().chain(&users.servers) {
        builder.link(link(node, router, 1e7, 0.001, 100.0));
        builder.link(link(router, node, 1e7, 0.001, 100.0));
    }
    builder.workload(users);
    let network = builder.build().unwrap();
    let mut sums_pps = [0.0; 2];
    for id in network.connections() {
        let spec = network.connection_spec(id);
        let Source::Users(traffic) = &spec.source else {
            panic!("{spec:?}");
        };
        let wire_bytes = match traffic.replies {
            false => (6.0 * 340.0 + 40.0) / 7.0,
            true => 2000.0 / 3.0 + 40.0,
        };
        assert!((spec.packet_size_bytes - wire_bytes).abs() < 1e-9);
        sums_pps[usize::from(traffic.replies)] += traffic.mean_pps;
    }
    for (sum_pps, expected_pps) in sums_pps.into_iter().zip([28.0, 72.0]) {
        assert!((sum_pps - expected_pps).abs() < 1e-12, "{sums_pps:?}");
    }
}
