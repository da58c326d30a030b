//! Tests of routes by metric against the Floyd–Warshall algorithm.

use netflow_network::{Acks, ConnectionSpec, LinkSpec, NetworkBuilder, Source};
use netflow_problems::connection;
use proptest::prelude::*;

proptest! {
    /// In any network, every connection's path has the least cost; without metrics the cost is the delay.
    #[test]
    fn chosen_paths_have_least_cost(
        nodes in 3..9_usize,
        links in prop::collection::vec((0..9_usize, 1..9_usize, 0..20_u32, 0..20_u32), 4..30),
        by_metric in any::<bool>(),
    ) {
        const FAR: u64 = 1 << 40;
        let mut b = NetworkBuilder::new();
        let all: Vec<_> = (0..nodes).map(|i| b.node(&format!("N{i}"))).collect();
        let mut least = vec![vec![FAR; nodes]; nodes];
        let mut cost = std::collections::HashMap::new();
        for (from, step, metric, delay_ms) in links {
            let (from, to) = (from % nodes, (from + step) % nodes);
            if from == to || cost.contains_key(&(from, to)) {
                continue;
            }
            let of = u64::from(if by_metric { metric } else { delay_ms });
            cost.insert((from, to), of);
            least[from][to] = of;
            b.link(LinkSpec {
                delay_s: 1e-3 * f64::from(delay_ms),
                metric: by_metric.then_some(f64::from(metric)),
                ..LinkSpec::new(all[from], all[to], 1e6)
            });
        }
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    least[from][to] = least[from][to].min(least[from][via] + least[via][to]);
                }
            }
        }
        let mut asked = Vec::new();
        for from in 0..nodes {
            for to in (0..nodes).filter(|&to| to != from && least[from][to] < FAR) {
                let name = format!("{from}-{to}");
                let source = Source::Constant { rate_pps: 1.0 };
                let id = b.connection(ConnectionSpec {
                    acks: Acks::None,
                    ..connection(&name, all[from], all[to], source)
                });
                asked.push((id, from, to));
            }
        }
        let network = b.build().unwrap();
        for (id, from, to) in asked {
            let path = network.path(id);
            let ends = path.iter().map(|&link| network.link_spec(link));
            let sum: u64 = ends.map(|it| cost[&(it.from.index(), it.to.index())]).sum();
            prop_assert_eq!(sum, least[from][to]);
        }
    }
}
