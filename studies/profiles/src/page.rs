//! Results of the study as a page.

use std::fmt::Write;
use std::fs;

use netflow::compare::{ComparedValue, Comparison, LinkComparison, MAX_BUSIEST_LINKS};

use crate::NetworkComparison;

/// Number of worst results that are named.
const WORST: usize = 5;

pub fn page(found: &[NetworkComparison]) -> String {
    let mut out = String::from(INTRODUCTION);
    let _ = write!(
        out,
        "\nMachine: {}.\n\n## Summary\n\n{}",
        machine(),
        summary(found)
    );
    out += READING;
    for network in found {
        let _ = write!(out, "\n## {}\n\n", network.name);
        let _ = writeln!(
            out,
            "[`{}`](../../{}), {} s. Links compared with plain ns-2:\n",
            network.path, network.path, network.plain.duration_s
        );
        out += &queues(&network.plain);
        let _ = writeln!(
            out,
            "\nGoodput of connections [pkt/s] compared with jittered ns-2:\n"
        );
        out += &goodputs(&network.jittered);
        out += &losers(network);
    }
    out
}

/// Returns the table of all networks.
pub fn summary(found: &[NetworkComparison]) -> String {
    let mut out = String::from(
        "| network | runs of ns-2 | total goodput | goodput of a connection: median error (ns-2's own), 90th percentile | longest queues: error (ns-2's own) | packets lost, netflow / ns-2 | time of netflow: time of ns-2 over it, plain, with a trace |\n|---|---|---|---|---|---|---|\n",
    );
    for network in found {
        for (kind, comparison) in [("plain", &network.plain), ("jittered", &network.jittered)] {
            let t = &comparison.totals;
            let own = |error: Option<f64>| error.map_or("?".to_owned(), percent);
            let times = match kind {
                "plain" => format!(
                    "{} ms: {:.0}, {:.0}",
                    digits(1e3 * network.netflow_s),
                    network.ns_s / network.netflow_s,
                    network.ns_traced_s / network.netflow_s
                ),
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "| {} | {} {kind} | {:+.1} % | {} ({}), {} | {} ({}) | {} | {times} |",
                network.name,
                comparison.runs,
                100.0 * (t.goodput_ratio - 1.0),
                percent(t.median_goodput_error),
                own(t.referee_median_goodput_error),
                percent(t.p90_goodput_error),
                percent(t.busiest_queue_error),
                own(t.referee_busiest_queue_error),
                t.lost_ratio
                    .map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
            );
        }
    }
    out
}

fn queues(comparison: &Comparison) -> String {
    let mut out = String::from(
        "| link | queue [pkt]: ns-2 | netflow | error over time | in standard deviations | utilization: ns-2 | netflow | lost [pkt]: ns-2 | netflow |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for link in comparison.busiest(MAX_BUSIEST_LINKS) {
        if link.queue_pkts.referee.mean < 0.005 {
            continue;
        }
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            link.link,
            spread(&link.queue_pkts),
            digits(link.queue_pkts.netflow),
            link.trajectory_error.map_or("–".to_owned(), percent),
            link.trajectory_sigmas.map_or("–".to_owned(), digits),
            percent(link.utilization.referee.mean),
            percent(link.utilization.netflow),
            spread(&link.lost_pkts),
            digits(link.lost_pkts.netflow),
        );
    }
    out
}

fn goodputs(comparison: &Comparison) -> String {
    let mut order: Vec<_> = comparison.connections.iter().collect();
    order.sort_by(|a, b| {
        b.goodput_pps
            .referee
            .mean
            .total_cmp(&a.goodput_pps.referee.mean)
    });
    let mut out = String::from("| connection | ns-2 | netflow | error |\n|---|---|---|---|\n");
    for connection in order.iter().take(MAX_BUSIEST_LINKS) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            connection.connection,
            spread(&connection.goodput_pps),
            digits(connection.goodput_pps.netflow),
            relative(&connection.goodput_pps),
        );
    }
    out
}

/// Returns the links and connections with the largest errors.
fn losers(network: &NetworkComparison) -> String {
    let mut links: Vec<&LinkComparison> = network.plain.links.iter().collect();
    links.sort_by(|a, b| {
        b.queue_pkts
            .error()
            .abs()
            .total_cmp(&a.queue_pkts.error().abs())
    });
    let links = links.iter().take(WORST).map(|link| {
        let (ns, mine) = (link.queue_pkts.referee.mean, link.queue_pkts.netflow);
        format!("{} ({} instead of {})", link.link, digits(mine), digits(ns))
    });
    let mut connections: Vec<_> = network.jittered.connections.iter().collect();
    let off = |e: &ComparedValue| e.relative_error().map_or(0.0, f64::abs);
    connections.sort_by(|a, b| off(&b.goodput_pps).total_cmp(&off(&a.goodput_pps)));
    let connections = connections.iter().take(WORST).map(|connection| {
        format!(
            "{} ({})",
            connection.connection,
            relative(&connection.goodput_pps)
        )
    });
    format!(
        "\nLargest errors:\n\n- queues: {}\n- goodput: {}\n",
        links.collect::<Vec<_>>().join(", "),
        connections.collect::<Vec<_>>().join(", "),
    )
}

fn spread(estimate: &ComparedValue) -> String {
    match estimate.referee.std {
        Some(std) => format!("{} ± {}", digits(estimate.referee.mean), digits(std)),
        None => digits(estimate.referee.mean),
    }
}

fn relative(estimate: &ComparedValue) -> String {
    let error = estimate.relative_error();
    error.map_or("–".to_owned(), |error| format!("{:+.1} %", 100.0 * error))
}

fn percent(fraction: f64) -> String {
    format!("{} %", digits(100.0 * fraction))
}

/// Formats two or three digits.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 99.5 => format!("{value:.0}"),
        v if v >= 9.95 => format!("{value:.1}"),
        v if v >= 0.0995 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

/// Returns the processor and the number of threads, if the system reports them.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model
        .and_then(|rest| rest.split_once(':'))
        .map(|(_, name)| name.trim());
    format!("{}, {cores} threads", model.unwrap_or("unknown processor"))
}

const INTRODUCTION: &str = "# Profiles compared with ns-2

Popescu & Shankar, *Empirical TCP Profiles and Application*, evaluate networks with measured profiles of TCP and
M/M/1/K queues. This study does so with the fluid model on four networks, and compares the results with ns-2.35.

```sh
cargo run --release -p study-profiles
```

writes this page in about five minutes. It needs `ns` (`apt-get install ns2`).

## Method

- ns-2 runs the script that `netflow export --to ns2` writes: the same links, buffers, paths, windows, starts and stops.
  The profiles (`ns-reno`) were measured with the same TCP Reno. Starts in ns-2 are up to 0.5 s later at random, and in
  netflow 0.25 s later.
- *Plain* ns-2 lets connections lock phase at a drop-tail queue: the same connections lose again and again. *Jittered*
  ns-2 waits a random time of up to 1 ms before it sends a packet. A model should not reproduce locked phases, so that
  the goodput of connections is compared with the jittered runs.
- A queue includes the packet in service. Its error is Σ|netflow − ns-2| / Σ ns-2 over the twelve longest queues of
  ns-2. *Error over time* is the same over the intervals of 0.5 s at one link.
- *ns-2's own* is the mean error of one run of ns-2 relative to the mean of all. Smaller errors are random variation.
- The time of netflow is the wall-clock time of the best of three evaluations. The time of ns-2 is the CPU time of the
  fastest run on the same machine. *With a trace*, ns-2 writes every packet to `/dev/null`.
";

const READING: &str = "
netflow is fast, and accurate for utilization, total goodput and queues. It is less accurate for the goodput of single
connections and the losses at single links. It overestimates losses in the seconds after starts without window limits.
";
