//! Check for paths of Linux TCP outside the range in which netflow was validated against real Linux
//! (studies/todays-tcp).

use netflow_network::{ConnectionId, Network, Source};

/// Validated round-trip times without queueing, in seconds: 10 to 300 ms. Above, the error of
/// queues is 20 to 40 %.
const RTT_RANGE_S: std::ops::RangeInclusive<f64> = 0.009..=0.31;
/// Highest validated rate, in bit/s.
const MAX_BANDWIDTH_BPS: f64 = 100e6;
/// Largest validated send buffer, in bytes.
const MAX_BUFFER_BYTES: u32 = 4 << 20;
/// Largest contents of such a buffer, in packets of 1500 B.
const MAX_BUFFER_PKTS: f64 = 2800.0;

/// Returns a warning with the names of Linux TCP connections outside the range.
pub(crate) fn warning(network: &Network) -> Option<String> {
    let outside: Vec<_> = network
        .connections()
        .filter(|&id| is_outside(network, id))
        .collect();
    let (&first, others) = outside.split_first()?;
    let others = match others.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Some(format!(
        "Linux TCP on `{}`{others} is outside the validated range (10–300 ms, 100 Mbit/s, 4 MiB): check with \
         `netflow compare --with linux`",
        network.connection_name(first)
    ))
}

fn is_outside(network: &Network, id: ConnectionId) -> bool {
    let spec = network.connection_spec(id);
    let Source::Tcp(stack) = &spec.source else {
        return false;
    };
    if stack.name != "linux-6" {
        return false;
    }
    let data = network.path_at(id, spec.start_s);
    let back = network.return_path_at(id, spec.start_s);
    let packet_bits = 8.0 * spec.packet_size_bytes;
    let Some(narrowest) = data.iter().copied().min_by(|&a, &b| {
        let bps = |link| network.link_spec(link).carries_bps(packet_bits);
        bps(a).total_cmp(&bps(b))
    }) else {
        return false;
    };
    let ways = data.iter().chain(&back);
    let round_trip_s: f64 = ways.map(|&link| network.link_spec(link).delay_s).sum();
    let bandwidth_bps = network.link_spec(narrowest).carries_bps(packet_bits);
    let window_pkts = spec.max_window_pkts.unwrap_or(f64::INFINITY);
    let rate_bps = bandwidth_bps.min(window_pkts * packet_bits / round_trip_s.max(1e-9));
    let path_pkts = bandwidth_bps * round_trip_s / packet_bits + network.buffer_pkts(narrowest);
    let is_large = stack
        .send_buffer_bytes
        .is_none_or(|bytes| bytes > MAX_BUFFER_BYTES);
    !RTT_RANGE_S.contains(&round_trip_s)
        || rate_bps > MAX_BANDWIDTH_BPS
        || is_large && window_pkts.min(path_pkts) > MAX_BUFFER_PKTS
}
