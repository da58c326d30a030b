//! Tables of measured loads and totals.

use std::sync::OnceLock;

use netflow_import::measurements::{link_loads_from_text, node_totals_from_text};
use netflow_scenario::CompiledScenario;

pub(super) const DICTIONARY: &[&str] = &[
    "link",
    "from",
    "to",
    "load",
    "load_bps",
    "bytes",
    "seconds",
    "octets",
    "time_s",
    "node",
    "in",
    "out_bps",
    "A->B",
    "B->C#2",
    ",",
    "\"",
    "\n",
    "1 Mbit/s",
    "18446744073709551615",
    "1e308",
    "-1",
    "nan",
    "inf",
];

/// A network with parallel links.
const NETWORK: &str = "
link = [
    { from = 'A', to = 'B', bandwidth = '1 Gbit/s' },
    { from = 'B', to = 'C', bandwidth = '1 Gbit/s' },
    { from = 'B', to = 'C', bandwidth = '1 Gbit/s', circuit = '2' },
]
connection = [{ from = 'A', to = 'B', source = { profile = 'ns-reno' } }]
simulation = { duration = '1 s' }
";

/// Reads any bytes as a table of loads, and as one of totals. Rates must be at least 0 and finite, and each link or node
/// has at most one of each kind.
///
/// # Panics
/// On an error in netflow.
pub fn measurements(bytes: &[u8]) {
    static COMPILED: OnceLock<CompiledScenario> = OnceLock::new();
    let scenario = COMPILED.get_or_init(|| {
        let compiled = netflow_scenario::from_str("network.toml", NETWORK, ".".as_ref(), &[]);
        compiled.expect("a valid scenario")
    });
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let network = &scenario.network;
    if let Ok(loads) = link_loads_from_text(text, network) {
        check(loads.into_iter().map(|(link, bps)| (link.index(), bps)));
    }
    if let Ok(totals) = node_totals_from_text(text, network) {
        check(
            totals
                .entering
                .into_iter()
                .map(|(node, bps)| (node.index(), bps)),
        );
        check(
            totals
                .leaving
                .into_iter()
                .map(|(node, bps)| (node.index(), bps)),
        );
    }
}

fn check(rates: impl Iterator<Item = (usize, f64)>) {
    let mut seen = std::collections::HashSet::new();
    for (index, bps) in rates {
        assert!(bps >= 0.0 && bps.is_finite(), "{bps}");
        assert!(seen.insert(index), "{index}");
    }
}
