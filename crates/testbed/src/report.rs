//! What a link says of itself.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::capture::CaptureReport;
use crate::channel::DropReason;

/// Packets and bytes (of IP packets).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Packets.
    pub pkts: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.pkts += 1;
        self.bytes += bytes as u64;
    }
}

/// Packets dropped, by why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// The buffer was full.
    pub buffer: u64,
    /// Lost by themselves.
    pub loss: u64,
    /// Lost in bursts.
    pub gilbert: u64,
    /// With bit errors.
    pub bit_errors: u64,
    /// More in flight than the emulator keeps.
    pub overflow: u64,
}

impl Drops {
    pub(crate) fn add(&mut self, drop: DropReason) {
        *match drop {
            DropReason::Buffer => &mut self.buffer,
            DropReason::Loss => &mut self.loss,
            DropReason::Gilbert => &mut self.gilbert,
            DropReason::BitErrors => &mut self.bit_errors,
            DropReason::Overflow => &mut self.overflow,
        } += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.buffer + self.loss + self.gilbert + self.bit_errors + self.overflow
    }
}

/// How much later than due packets were delivered, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Lateness {
    /// Median.
    pub p50_us: f64,
    /// Nine of ten are not later.
    pub p90_us: f64,
    /// Ninety-nine of a hundred are not later.
    pub p99_us: f64,
    /// The latest.
    pub max_us: f64,
}

impl Lateness {
    pub(crate) fn of<C: hdrhistogram::Counter>(histogram: &Histogram<C>) -> Lateness {
        let us = |ns: u64| ns as f64 * 1e-3;
        Lateness {
            p50_us: us(histogram.value_at_quantile(0.5)),
            p90_us: us(histogram.value_at_quantile(0.9)),
            p99_us: us(histogram.value_at_quantile(0.99)),
            max_us: us(histogram.max()),
        }
    }
}

/// One direction: `offered = delivered + drops + in_flight + write_failures`, in packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DirectionReport {
    /// What came in.
    pub offered: Count,
    /// What was handed to the other end.
    pub delivered: Count,
    /// What was dropped by design.
    pub drops: Drops,
    /// Mean queue in packets, the one that is being sent included; 0 without a rate.
    pub mean_queue_pkts: f64,
    /// What was still on its way at the end.
    pub in_flight_pkts: u64,
    /// Packets that the device of the other end did not take.
    pub write_failures: u64,
    /// Packets that the kernel dropped before the emulator could read them.
    pub unread_drops: u64,
    /// How late packets were delivered.
    pub lateness: Lateness,
}

/// A link's own account.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LinkReport {
    /// From A to B.
    pub out: DirectionReport,
    /// From B to A.
    pub back: DirectionReport,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// Whether its thread had a real-time priority.
    pub realtime: bool,
    /// The outcome of the capture.
    pub capture: CaptureReport,
}

/// Beyond this lateness at p99, in microseconds, results do not count.
pub const LATEST_P99_US: f64 = 1000.0;

impl LinkReport {
    /// Why results over this link do not count; `None` if they do.
    pub fn doubt(&self) -> Option<String> {
        for (name, direction) in [("a to b", &self.out), ("b to a", &self.back)] {
            let late_us = direction.lateness.p99_us;
            if late_us > LATEST_P99_US {
                return Some(format!(
                    "from {name} the emulator was {late_us:.0} us late at p99, above {LATEST_P99_US:.0} us"
                ));
            }
            for (what, pkts) in [
                ("could not be written", direction.write_failures),
                (
                    "were dropped before the emulator read them",
                    direction.unread_drops,
                ),
                (
                    "were more than the emulator keeps in flight",
                    direction.drops.overflow,
                ),
            ] {
                if pkts > 0 {
                    return Some(format!("from {name} {pkts} packets {what}"));
                }
            }
        }
        None
    }
}
