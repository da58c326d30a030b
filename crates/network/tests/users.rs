//! Tests of the mean load of users.

use netflow_network::{LinkId, NetworkBuilder, Source, WorkloadSpec};
use netflow_problems::{constant_users, link};

/// 6 exchanges per visit and the first packet, 4 visits per second; 2000 B are 3 packets of at most 960 B.
/// Each of six pairs of nodes has 1/6 of the load.
#[test]
fn mean_load_matches_constant_users() {
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
        let wire_bytes = if !traffic.replies {
            (6.0 * 340.0 + 40.0) / 7.0
        } else {
            2000.0 / 3.0 + 40.0
        };
        assert!((spec.packet_size_bytes - wire_bytes).abs() < 1e-9);
        sums_pps[usize::from(traffic.replies)] += traffic.mean_pps;
    }
    for (sum_pps, expected_pps) in sums_pps.into_iter().zip([28.0, 72.0]) {
        assert!((sum_pps - expected_pps).abs() < 1e-12, "{sums_pps:?}");
    }
}

/// Both connections use explicit paths between a server and a client; explicit paths are rejected with
/// several pairs.
#[test]
fn explicit_paths_require_a_single_pair() {
    let network = |clients: &[&str]| {
        let mut builder = NetworkBuilder::new();
        let users = constant_users(&mut builder);
        let [client, server, near, far, other] =
            ["client", "server", "near", "far", "other"].map(|name| builder.node(name));
        for (a, b, delay_s) in [
            (server, near, 0.001),
            (near, client, 0.001),
            (server, far, 0.1),
            (far, client, 0.1),
            (far, other, 0.1),
        ] {
            builder.link(link(a, b, 1e7, delay_s, 100.0));
            builder.link(link(b, a, 1e7, delay_s, 100.0));
        }
        let clients = clients.iter().map(|name| builder.node(name)).collect();
        builder.workload(WorkloadSpec {
            clients,
            servers: vec![server],
            path: Some(vec![server, far, client]),
            return_path: Some(vec![client, near, server]),
            ..users
        });
        builder.build()
    };
    let one = network(&["client"]).unwrap();
    let ids: Vec<_> = one.connections().collect();
    let names = |links: Vec<LinkId>| -> Vec<String> {
        let names = links.into_iter().map(|id| one.link_name(id).to_owned());
        names.collect()
    };
    let (requests, replies) = (ids[0], ids[1]);
    assert_eq!(
        one.connection_spec(replies).from,
        one.connection_spec(requests).to
    );
    assert_eq!(names(one.path(replies)), ["server->far", "far->client"]);
    assert_eq!(
        names(one.return_path(replies)),
        ["client->near", "near->server"]
    );
    assert_eq!(one.path(requests), one.return_path(replies));
    assert_eq!(one.return_path(requests), one.path(replies));
    let errors = network(&["client", "other"]).unwrap_err();
    assert!(
        errors.iter().any(|error| error
            .to_string()
            .contains("its path must lead from server to other")),
        "{errors:?}"
    );
}
