//! The ranges of numbers that make sense, in one place, within the bounds that quantities have
//! anywhere ([`netflow_units::Bounds`]).

use netflow_document::{Allowed, Quantity, Spanned};
use netflow_units::{
    BufferSize, Bytes, CIRCUIT as SIGN, LongSeconds, Packets, Rate, Seconds, Size,
};

use super::day::Factors;
use super::srlg::{RiskGroups, SEPARATOR};
use super::workload::Places;

type Time = Quantity<Seconds>;

pub(super) const DURATION: Allowed<Time> = Allowed {
    test: |t| t.get() > 0.0,
    text: "above 0 s",
};
pub(super) const STEP: Allowed<Time> = Allowed {
    test: |t| t.get() >= 1e-6,
    text: "at least 1 us",
};
pub(super) const INTERVAL: Allowed<Time> = DURATION;
pub(super) const MOMENT: Allowed<Time> = Allowed {
    test: |t| t.get() >= 0.0,
    text: "at least 0 s",
};
pub(super) const DELAY: Allowed<Time> = Allowed {
    test: |t| t.get() >= 0.0 && t.get() <= 3600.0,
    text: "0 s to 1 h",
};
pub(super) const TIMEOUT: Allowed<Time> = Allowed {
    test: |t| t.get() >= 1e-3 && t.get() <= 3600.0,
    text: "1 ms to 1 h",
};
pub(super) const SURPLUS: Allowed<Quantity<Packets>> = Allowed {
    test: |w| w.get() > 0.0 && w.get() <= 1e6,
    text: "above 0 pkt, at most 1e6 pkt",
};
pub(super) const RATE: Allowed<Quantity<Rate>> = Allowed {
    test: |r| r.get() > 0.0,
    text: "above 0",
};
pub(super) const RATE_OR_ZERO: Allowed<Quantity<Rate>> = Allowed {
    test: |r| r.get() >= 0.0,
    text: "at least 0",
};
pub(super) const BUCKET_RATE: Allowed<Quantity<Rate>> = Allowed {
    test: |r| match r.0 {
        Rate::BitsPerSecond(bps) => bps.get() >= 1.0 && bps.get() <= 1e15,
        Rate::PacketsPerSecond(rate) => rate.get() >= 1.0 && rate.get() <= 1e9,
    },
    text: "1 bit/s to 1e15 bit/s, or 1 pkt/s to 1e9 pkt/s",
};
pub(super) const BURST_SIZE: Allowed<Quantity<Bytes>> = Allowed {
    test: |b| b.get() >= 1.0 && b.get() <= 1e9,
    text: "1 B to 1 GB",
};
pub(super) const BITRATE: Allowed<Quantity<Rate>> = Allowed {
    test: |r| matches!(r.0, Rate::BitsPerSecond(bps) if bps.get() > 0.0 && bps.get() <= 1e9),
    text: "above 0 bit/s, at most 1 Gbit/s",
};
pub(super) const CHUNK: Allowed<Time> = Allowed {
    test: |t| t.get() >= 0.01 && t.get() <= 60.0,
    text: "10 ms to 60 s",
};
pub(super) const AHEAD: Allowed<Time> = Allowed {
    test: |t| t.get() >= 0.0 && t.get() <= 3600.0,
    text: "0 s to 1 h",
};
pub(super) const SEND_BUFFER: Allowed<Quantity<Bytes>> = Allowed {
    test: |b| b.get() >= 4096.0 && b.get() <= f64::from(1 << 30),
    text: "4 KiB to 1 GiB",
};
pub(super) const PACKET_SIZE: Allowed<Quantity<Bytes>> = Allowed {
    test: |b| b.get() >= 1.0 && b.get() <= 1e6,
    text: "1 B to 1 MB",
};
pub(super) const OVERHEAD: Allowed<Quantity<Bytes>> = Allowed {
    test: |b| (0.0..=1000.0).contains(&b.get()) && b.get().fract() == 0.0,
    text: "0 B to 1000 B, whole bytes",
};
pub(super) const FULL_PACKET: Allowed<Quantity<Bytes>> = Allowed {
    test: |b| b.get() >= 41.0 && b.get() <= 1e6,
    text: "41 B (40 of them headers) to 1 MB",
};
pub(super) const INTERARRIVAL: Allowed<Time> = Allowed {
    test: |t| t.get() >= 1e-6,
    text: "at least 1 us",
};
pub(super) const BUFFER: Allowed<Quantity<BufferSize>> = Allowed {
    test: |room| match room.0 {
        BufferSize::Size(Size::Packets(packets)) => packets.get() >= 1.0 && packets.get() <= 1e8,
        BufferSize::Size(Size::Bytes(bytes)) => bytes.get() >= 1.0 && bytes.get() <= 1e12,
        BufferSize::Time(time) => time.get() >= 1e-6 && time.get() <= 100.0,
    },
    text: "1 pkt (the one in service) to 1e8 pkt, or 1 B to 1000 GB, or 1 us to 100 s",
};
pub(super) const TRANSFER: Allowed<Quantity<Size>> = Allowed {
    test: |size| size.get() > 0.0 && size.get() <= 1e15,
    text: "above 0, at most 1e15 B or pkt",
};
pub(super) const THRESHOLD: Allowed<Quantity<Size>> = Allowed {
    test: |size| size.get() >= 0.0 && size.get() <= 1e12,
    text: "0 pkt to 1e12 pkt",
};
pub(super) const SOJOURN: Allowed<Time> = Allowed {
    test: |t| t.get() >= 1e-6 && t.get() <= 100.0,
    text: "1 us to 100 s",
};
pub(super) const FLOWS: Allowed<u64> = Allowed {
    test: |flows| (1..=65_536).contains(flows),
    text: "1 to 65536",
};
pub(super) const QUANTUM: Allowed<Quantity<Bytes>> = Allowed {
    test: |b| b.get() >= 256.0 && b.get() <= 1e6,
    text: "256 B to 1 MB",
};
pub(super) const PRIORITY: Allowed<u64> = Allowed {
    test: |prio| *prio <= 7,
    text: "0 to 7",
};
pub(super) const FIRST_WINDOW: Allowed<Quantity<Packets>> = Allowed {
    test: |w| w.get() >= 1.0 && w.get() <= 65_535.0,
    text: "1 pkt to 65535 pkt",
};
pub(super) const WINDOW: Allowed<Quantity<Packets>> = Allowed {
    test: |w| w.get() >= 1.0 && w.get() <= 1e9,
    text: "1 pkt to 1e9 pkt",
};
pub(super) const LARGEST_WINDOW: Allowed<Quantity<Size>> = Allowed {
    test: |w| w.get() >= 1.0 && w.get() <= 1e9,
    text: "1 pkt to 1e9 pkt, or 1 B to 1 GB",
};
pub(super) const IN_FLIGHT: Allowed<Quantity<Packets>> = Allowed {
    test: |n| n.get() >= 1.0 && n.get() <= 1e9,
    text: "1 pkt to 1e9 pkt",
};
pub(super) const COUNT: Allowed<u64> = Allowed {
    test: |n| (1..=1_000_000_000).contains(n),
    text: "1 to 1000000000",
};
pub(super) const MEMBERS: Allowed<u64> = Allowed {
    test: |n| (1..=64).contains(n),
    text: "1 to 64",
};
pub(super) const HOST_DELAY: Allowed<Time> = Allowed {
    test: |t| t.get() >= 0.0 && t.get() <= 1.0,
    text: "0 s to 1 s",
};
pub(super) const STEP_QUEUE: Allowed<Quantity<Packets>> = Allowed {
    test: |w| w.get() >= 0.0 && w.get() <= 1000.0 && w.get().fract() == 0.0,
    text: "whole packets from 0 pkt to 1000 pkt",
};
pub(super) const COUPLING: Allowed<f64> = Allowed {
    test: |x| *x >= 0.5 && *x <= 10.0,
    text: "0.5 to 10",
};
pub(super) const FRACTION: Allowed<f64> = Allowed {
    test: |x| *x > 0.0 && *x <= 1.0,
    text: "above 0, at most 1",
};
pub(super) const WEIGHT: Allowed<f64> = Allowed {
    test: |w| *w > 0.0 && *w <= 1e9,
    text: "above 0, at most 1e9",
};
pub(super) const COORDINATE: Allowed<f64> = Allowed {
    test: |x| x.abs() <= 1e12,
    text: "-1e12 to 1e12",
};
pub(super) const METRIC: Allowed<f64> = Allowed {
    test: |metric| (0.0..=1e9).contains(metric),
    text: "0 to 1e9",
};
pub(super) const POPULATION: Allowed<f64> = Allowed {
    test: |people| (0.0..=1e12).contains(people),
    text: "0 to 1e12",
};
/// By what demands are multiplied.
pub(super) const SCALE: Allowed<f64> = Allowed {
    test: |scale| *scale > 0.0 && *scale <= 1e9,
    text: "above 0, at most 1e9",
};
/// As many as minutes, at most.
pub(super) const FACTORS: Allowed<Factors> = Allowed {
    test: |factors| (1..=1440).contains(&factors.0.len()),
    text: "1 to 1440 numbers, each above 0, at most 1e9",
};
pub(super) const HOUR: Allowed<f64> = Allowed {
    test: |hour| (0.0..24.0).contains(hour),
    text: "0 to below 24 (20.5 is 20:30)",
};

pub(super) const VERSION: Allowed<String> = Allowed {
    test: |text: &String| crate::default_changes::Version::is_valid(text),
    text: "a version such as \"0.2\"",
};

/// The end of a link.
pub(super) const END: Allowed<String> = Allowed {
    test: |name| !name.contains('>'),
    text: "a name without `>`, because links are called FROM->TO",
};
/// Name that distinguishes parallel links.
pub(super) const CIRCUIT: Allowed<String> = Allowed {
    test: |name| !name.is_empty() && !name.contains(['>', SIGN]),
    text: "a name without `>` and `#`, because the link is called FROM->TO#CIRCUIT",
};
pub(super) const PATH: Allowed<Vec<Spanned<String>>> = Allowed {
    test: |nodes| nodes.len() >= 2,
    text: "at least the sender and the receiver",
};
pub(super) const PLACES: Allowed<Places> = Allowed {
    test: |places| !places.nodes().is_empty(),
    text: "at least one node",
};
pub(super) const GROUPS: Allowed<RiskGroups> = Allowed {
    test: |groups| {
        let names = groups.names();
        !names.is_empty() && names.iter().all(|name| !name.contains(SEPARATOR))
    },
    text: "at least one name, and no name with a `;`",
};
pub(super) const SHAPE: Allowed<f64> = Allowed {
    test: |shape| *shape > 0.0 && *shape <= 100.0,
    text: "above 0, at most 100",
};
pub(super) const SIGMA: Allowed<f64> = Allowed {
    test: |sigma| *sigma > 0.0 && *sigma <= 10.0,
    text: "above 0, at most 10",
};
/// Loss of a link; a link that loses all packets is down.
pub(super) const LOSS: Allowed<f64> = Allowed {
    test: |loss| (0.0..1.0).contains(loss),
    text: "0 to below 1",
};
pub(super) const PROBABILITY: Allowed<f64> = Allowed {
    test: |p| (0.0..=1.0).contains(p),
    text: "0 to 1",
};
pub(super) const OUTAGE: Allowed<Time> = Allowed {
    test: |t| t.get() >= 1e-6 && t.get() <= 1e6,
    text: "1 us to 1e6 s",
};
pub(super) const MTBF: Allowed<Quantity<LongSeconds>> = Allowed {
    test: |t| t.get() > 0.0,
    text: "above 0 s, at most 1000000 d",
};
pub(super) const MTTR: Allowed<Quantity<LongSeconds>> = MTBF;
pub(super) const UNAVAILABILITY: Allowed<f64> = LOSS;
pub(super) const DEVIATIONS: Allowed<f64> = Allowed {
    test: |x| (-4.0..=4.0).contains(x),
    text: "-4 to 4",
};
pub(super) const BER: Allowed<f64> = Allowed {
    test: |rate| (0.0..0.5).contains(rate),
    text: "0 to below 0.5",
};
pub(super) const BURST: Allowed<f64> = Allowed {
    test: |bits| (1.0..=1e9).contains(bits),
    text: "1 to 1e9",
};
