//! Whether a network fits into memory, before anything is allocated for it.

use netflow_fluid::{Network, Options, Step, Transport};

/// What a row becomes: its specification twice for a moment, its name, its paths, its class and
/// the first of its state.
const BYTES_PER_ROW: u64 = 600;

/// Memory that can be had without swapping, where the system tells.
pub(super) fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Rows of a table, roughly.
pub(super) fn lines(text: &str) -> usize {
    text.as_bytes()
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
}

/// Refuses a table whose rows would not fit.
pub(super) fn check(rows: usize, what: &str) -> Result<(), String> {
    let needed = rows as u64 * BYTES_PER_ROW;
    // Asking the system takes longer than reading a small table.
    if needed < 64 << 20 {
        return Ok(());
    }
    match available() {
        Some(available) if needed > available => Err(format!(
            "{rows} {what}s need about {} MB of memory, {} MB are available",
            needed / 1_000_000,
            available / 1_000_000
        )),
        _ => Ok(()),
    }
}

/// Links so much longer than a step that what is under way on them may not fit.
const LONG_IN_STEPS: f64 = 1e5;
/// Connections whose paths are looked at: enough to meet the longest links.
const LOOKED_AT: usize = 10_000;

/// Bytes that are needed at least for what is under way on the links: a rate for every step of a
/// link's delay. Only asked for where it could be much.
pub(super) fn under_way(network: &Network, options: &Options) -> f64 {
    let Step::Fixed { step_s } = options.step else {
        return 0.0;
    };
    let is_long = |delay_s: f64| delay_s / step_s > LONG_IN_STEPS;
    let long = network
        .links()
        .any(|link| is_long(network.link_spec(link).delay_s));
    if !long || options.transport != Transport::Fifo {
        return 0.0;
    }
    let mut crossed = vec![false; network.link_count()];
    for connection in network.connections().take(LOOKED_AT) {
        let both = [network.path(connection), network.return_path(connection)];
        for link in both.into_iter().flatten() {
            if let Some(crossed) = crossed.get_mut(link.index()) {
                *crossed = true;
            }
        }
    }
    let crossed = network.links().zip(crossed).filter(|(_, crossed)| *crossed);
    crossed
        .map(|(link, _)| 8.0 * network.link_spec(link).delay_s / step_s)
        .sum()
}
