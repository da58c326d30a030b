//! Report of an emulated network.

use serde::Serialize;

use super::link::LinkCounts;
use crate::capture::CaptureReport;
use crate::report::{Lateness, MAX_P99_LATENESS_US};

/// Counts of a pair since the start, in the direction of its first host's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PairCounts {
    /// Number of data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Number of data packets that reached the other host.
    pub delivered_pkts: u64,
    /// Bytes that the other host's application has reported as read.
    pub read_bytes: u64,
}

/// Snapshot of all counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Time of the snapshot, in seconds.
    pub time_s: f64,
    /// Counts of every link.
    pub links: Vec<LinkCounts>,
    /// Counts of every pair.
    pub pairs: Vec<PairCounts>,
}

/// One-way delay of data packets between two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OneWayDelay {
    /// Median, in seconds.
    pub p50_s: f64,
    /// 95th percentile, in seconds.
    pub p95_s: f64,
    /// 99th percentile, in seconds.
    pub p99_s: f64,
}

/// Report of an emulated network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkReport {
    /// Snapshots at the ends of intervals.
    pub snapshots: Vec<Snapshot>,
    /// Final counts of every link.
    pub links: Vec<LinkCounts>,
    /// Final counts of every pair.
    pub pairs: Vec<PairCounts>,
    /// One-way delays of every pair, if any data arrived.
    pub delays: Vec<Option<OneWayDelay>>,
    /// Lateness of deliveries, by the last link of their path; `None` without deliveries.
    pub lateness: Vec<Option<Lateness>>,
    /// Lateness of all deliveries.
    pub all_lateness: Lateness,
    /// Duration of the run, in seconds.
    pub seconds: f64,
    /// True if its thread had real-time priority.
    pub realtime: bool,
    /// Number of packets that entered.
    pub entered_pkts: u64,
    /// Number of arrivals at links.
    pub hops_pkts: u64,
    /// Number of packets that a host's device rejected.
    pub write_failures: u64,
    /// Number of packets that the kernel dropped before the emulator read them.
    pub unread_drops: u64,
    /// Number of packets dropped because of the emulator's limit on bytes in the network.
    pub overflow_pkts: u64,
    /// Number of packets to or from unknown addresses.
    pub stray_pkts: u64,
    /// Number of packets that entered while failures left no path.
    pub unrouted_pkts: u64,
    /// Outcome of all captures.
    pub captures: CaptureReport,
}

impl NetworkReport {
    /// Returns the reason why the run is not valid; `None` if it is.
    pub fn unreliable_reason(&self) -> Option<String> {
        let late_us = self.all_lateness.p99_us;
        if late_us > MAX_P99_LATENESS_US {
            return Some(format!(
                "packets were {late_us:.0} us late at p99, above the limit of {MAX_P99_LATENESS_US:.0} us: the machine was too slow"
            ));
        }
        let faults = [
            ("could not be delivered to a host", self.write_failures),
            (
                "were dropped before the emulator read them",
                self.unread_drops,
            ),
            (
                "exceeded the maximum number of packets in flight",
                self.overflow_pkts,
            ),
        ];
        let fault = faults.iter().find(|(_, pkts)| *pkts > 0);
        fault.map(|(what, pkts)| format!("{pkts} packets {what}"))
    }
}
