//! Report of an emulated link.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::capture::CaptureReport;
use crate::link_direction::DropReason;

/// Packets and bytes (of IP packets).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Number of packets.
    pub pkts: u64,
    /// Bytes of these packets.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.pkts += 1;
        self.bytes += bytes as u64;
    }
}

/// Dropped packets by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// Packets that found the buffer full.
    pub buffer: u64,
    /// Packets lost independently at random.
    pub loss: u64,
    /// Packets lost by the Gilbert–Elliott chain.
    pub gilbert: u64,
    /// Packets with bit errors.
    pub bit_errors: u64,
    /// Packets beyond the emulator's limit on bytes in flight.
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

    /// Returns the number of all drops.
    pub fn total(&self) -> u64 {
        self.buffer + self.loss + self.gilbert + self.bit_errors + self.overflow
    }
}

/// Lateness of deliveries, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Lateness {
    /// Median.
    pub p50_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Maximum.
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

/// Report of one direction: `offered = delivered + drops + in_flight + write_failures`, in packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DirectionReport {
    /// Packets that entered.
    pub offered: Count,
    /// Packets delivered to the other end.
    pub delivered: Count,
    /// Packets dropped by the emulated link.
    pub drops: Drops,
    /// Mean queue length in packets, packet in service included; 0 without a rate.
    pub mean_queue_pkts: f64,
    /// Packets in flight at the end.
    pub in_flight_pkts: u64,
    /// Packets that the device of the other end rejected.
    pub write_failures: u64,
    /// Packets that the kernel dropped before the emulator could read them.
    pub unread_drops: u64,
    /// Lateness of deliveries.
    pub lateness: Lateness,
}

/// Report of an emulated link.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LinkReport {
    /// Direction from A to B.
    pub out: DirectionReport,
    /// Direction from B to A.
    pub back: DirectionReport,
    /// Duration of the run, in seconds.
    pub seconds: f64,
    /// True if its thread had real-time priority.
    pub realtime: bool,
    /// Outcome of the capture.
    pub capture: CaptureReport,
}

/// Maximum p99 lateness of a valid run, in microseconds.
pub const MAX_P99_LATENESS_US: f64 = 1000.0;

impl LinkReport {
    /// Returns the reason why results over this link are not valid; `None` if they are.
    pub fn unreliable_reason(&self) -> Option<String> {
        for (name, direction) in [("a to b", &self.out), ("b to a", &self.back)] {
            let late_us = direction.lateness.p99_us;
            if late_us > MAX_P99_LATENESS_US {
                return Some(format!(
                    "from {name} the emulator was {late_us:.0} us late at p99, above the limit of {MAX_P99_LATENESS_US:.0} us"
                ));
            }
            for (what, pkts) in [
                ("could not be written", direction.write_failures),
                (
                    "were dropped before the emulator read them",
                    direction.unread_drops,
                ),
                (
                    "exceeded the maximum number of packets in flight",
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
