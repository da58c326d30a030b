//! What an emulated network says of itself.

use serde::Serialize;

use super::link::LinkCounts;
use crate::capture::CaptureReport;
use crate::report::{LATEST_P99_US, Lateness};

/// What happened to the traffic of a pair since the start: in the direction of its first host's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PairCounts {
    /// Packets with data that were sent, those included that were sent again.
    pub sent_pkts: u64,
    /// Packets with data that came to the other host.
    pub delivered_pkts: u64,
    /// Bytes that the other host's application has read, as far as it said so.
    pub read_bytes: u64,
}

/// Everything so far, at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// When, in seconds.
    pub time_s: f64,
    /// Of every link.
    pub links: Vec<LinkCounts>,
    /// Of every pair.
    pub pairs: Vec<PairCounts>,
}

/// How long packets with data took from one host to the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OneWayDelay {
    /// Median, in seconds.
    pub p50_s: f64,
    /// 95 of 100 did not take longer.
    pub p95_s: f64,
    /// 99 of 100.
    pub p99_s: f64,
}

/// An emulated network's own account.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkReport {
    /// What happened by the ends of intervals.
    pub marks: Vec<Mark>,
    /// What happened in all, by link.
    pub links: Vec<LinkCounts>,
    /// And by pair.
    pub pairs: Vec<PairCounts>,
    /// Of every pair, if any data arrived.
    pub delays: Vec<Option<OneWayDelay>>,
    /// How late packets came out that crossed this link last, if any did.
    pub lateness: Vec<Option<Lateness>>,
    /// The same of all packets.
    pub all_lateness: Lateness,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// Whether its thread had a real-time priority.
    pub realtime: bool,
    /// Packets that went in.
    pub entered_pkts: u64,
    /// Arrivals at links.
    pub hops_pkts: u64,
    /// Packets that a host's device did not take.
    pub write_failures: u64,
    /// Packets that the kernel dropped before the emulator could read them.
    pub unread_drops: u64,
    /// Packets beyond what the emulator keeps.
    pub overflow_pkts: u64,
    /// Packets to nobody that is there.
    pub stray_pkts: u64,
    /// Packets that went in while failures left no way.
    pub unrouted_pkts: u64,
    /// The outcome of all captures.
    pub captures: CaptureReport,
}

impl NetworkReport {
    /// Why this run does not count; `None` if it does.
    pub fn doubt(&self) -> Option<String> {
        let late_us = self.all_lateness.p99_us;
        if late_us > LATEST_P99_US {
            return Some(format!(
                "packets came {late_us:.0} us late at p99, above {LATEST_P99_US:.0} us: the machine was too slow"
            ));
        }
        let faults = [
            ("could not be handed over", self.write_failures),
            ("were dropped before they could be read", self.unread_drops),
            ("were more than are kept on their way", self.overflow_pkts),
        ];
        let fault = faults.iter().find(|(_, pkts)| *pkts > 0);
        fault.map(|(what, pkts)| format!("{pkts} packets {what}"))
    }
}
