//! Warnings of overloaded links: demand exceeds bandwidth.

use netflow_network::{ConnectionSpec, LinkId, Network};
use netflow_scenario::Prepared;
use netflow_steady::Steady;

use crate::number::percent;

/// Links that are named.
const NAMED: usize = 3;

/// What a scenario demands of its links beyond what they carry, in words: the sum of what sources and their
/// applications make whatever the network is like (demands, constant and Poisson sources, users), on the ways
/// that they take at the start, over the whole run. Connections that always have something to send take what there is.
pub fn overload(scenario: &Prepared) -> Option<String> {
    let (network, duration_s) = (&scenario.network, scenario.options.duration_s);
    let mut demanded_bps = vec![0.0; network.link_count()];
    for id in network.connections() {
        let spec = network.connection_spec(id);
        let made_bps = made_bps(spec);
        let (start_s, end_s) = network.sends_between(id, duration_s);
        if !made_bps.is_finite() || end_s <= start_s {
            continue;
        }
        for link in network.path(id) {
            let overhead = network.link_spec(link).overhead;
            let wire_bps = made_bps * overhead.factor(8.0 * spec.packet_size_bytes);
            demanded_bps[link.index()] += wire_bps * (end_s - start_s) / duration_s;
        }
    }
    let carried_bps = network.bandwidths_at_bps(0.0);
    let links = network.links().zip(carried_bps);
    let links = links.filter(|&(id, _)| !network.is_of_class(id));
    let loads = links.map(|(id, carried)| {
        let demanded = network.over_queues(id, |queue| demanded_bps[queue.index()]);
        (id, demanded / carried)
    });
    in_words(network, loads)
}

/// The same warning about the demands at the time of a steady state.
pub(super) fn steady_overload(network: &Network, steady: &Steady) -> Option<String> {
    in_words(network, steady.demands(network))
}

/// The links whose demand exceeds their bandwidth, the worst first; `None` if there are none.
fn in_words(network: &Network, loads: impl Iterator<Item = (LinkId, f64)>) -> Option<String> {
    let mut over: Vec<_> = loads.filter(|(_, load)| *load > 1.0 + 1e-9).collect();
    over.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    if over.is_empty() {
        return None;
    }
    let named = over.iter().take(NAMED);
    let named = named.map(|(id, load)| format!("{} {}", network.link_name(*id), percent(*load)));
    let mut named: Vec<String> = named.collect();
    let more = over.len().saturating_sub(NAMED);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    Some(format!(
        "demand exceeds the bandwidth of links: {}",
        named.join(", ")
    ))
}

/// What a connection (all `count` of it) makes while it sends; infinite where there is always more.
fn made_bps(spec: &ConnectionSpec) -> f64 {
    let own_pps = spec.source.own_pps().unwrap_or(f64::INFINITY);
    let each_pps = own_pps.min(spec.application.mean_pps());
    f64::from(spec.count) * each_pps * 8.0 * spec.packet_size_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(traffic: &str) -> Option<String> {
        let text = format!(
            r#"
            simulation = {{ duration = "60 s" }}
            link = [
                {{ from = "A", to = "B", bandwidth = "1 Mbit/s", delay = "10 ms" }},
                {{ from = "B", to = "C", bandwidth = "4 Mbit/s", delay = "10 ms" }},
            ]
            {traffic}
            "#
        );
        let scenario = netflow_scenario::from_str("o.toml", &text, ".".as_ref(), &[]);
        overload(&scenario.expect("a scenario"))
    }

    /// Two classes that ask for more together than the link carries, though neither does alone.
    #[test]
    fn what_classes_demand_of_a_link_is_added_up() {
        let text = r#"
            simulation = { duration = "60 s" }
            link = [{ from = "A", to = "B", bandwidth = "1 Mbit/s", queue = "wfq", class = [{ name = "a" }, { name = "b" }] }]
            demand = [
                { name = "a", from = "A", to = "B", rate = "600 kbit/s", kind = "constant", class = "a" },
                { name = "b", from = "A", to = "B", rate = "700 kbit/s", kind = "poisson", class = "b" },
            ]
        "#;
        let scenario = netflow_scenario::from_str("o.toml", text, ".".as_ref(), &[]);
        let found = overload(&scenario.expect("a scenario")).expect("an overload");
        assert!(found.ends_with("A->B 130.0 %"), "{found}");
    }

    #[test]
    fn what_is_demanded_beyond_bandwidths_is_named() {
        let demand = |rate: &str, rest: &str| {
            told(&format!(
                r#"demand = [{{ from = "A", to = "C", rate = "{rate}", kind = "constant"{rest} }}]"#
            ))
        };
        assert_eq!(
            demand("12 Mbit/s", "").as_deref(),
            Some("demand exceeds the bandwidth of links: A->B 1200 %, B->C 300.0 %")
        );
        assert_eq!(demand("1 Mbit/s", ""), None);
        // Over the whole run it is half of that.
        assert_eq!(demand("2 Mbit/s", ", stop = \"30 s\""), None);
        let tcp = r#"demand = [{ from = "A", to = "B", rate = "3 Mbit/s" }]"#;
        let found = told(tcp).expect("an overload");
        assert!(found.ends_with("A->B 300.0 %"), "{found}");
        let greedy = r#"connection = [{ from = "A", to = "C", count = 9, source = { profile = "ns-reno" } }]"#;
        assert_eq!(told(greedy), None);
    }
}
