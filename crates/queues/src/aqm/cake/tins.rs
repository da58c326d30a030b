//! Tins of CAKE: code points, bandwidth thresholds, weights and COBALT constants, as in Linux 6.18 (`sch_cake`).

use super::Cake;
use super::cobalt::CobaltSettings;
use crate::Dscp;

/// Priority tins of CAKE, which code points select.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tins {
    /// One tin for all packets.
    BestEffort,
    /// Eight tins by the first three bits of the code point.
    Precedence,
    /// Bulk (LE, CS1), best effort, voice (CS6, CS7, EF, VA, and the obsolete code point 4).
    #[default]
    DiffServ3,
    /// Bulk (LE, CS1), best effort, video (AF2, AF3, AF4, CS2, CS3, and code point 4), voice (CS4 to CS7, EF, VA).
    DiffServ4,
    /// Eight tins by traffic class (RFC 4594), from background (LE) to network control (CS6, CS7).
    DiffServ8,
}

/// Tins by code point, eight in a row.
const PRECEDENCE: [u8; 64] = {
    let mut tins = [0; 64];
    let mut dscp = 0;
    while dscp < 64 {
        tins[dscp] = (dscp / 8) as u8;
        dscp += 1;
    }
    tins
};

#[rustfmt::skip]
const DIFFSERV3: [u8; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 2, 0, 2, 0,
    2, 0, 0, 0, 0, 0, 0, 0,
    2, 0, 0, 0, 0, 0, 0, 0,
];

#[rustfmt::skip]
const DIFFSERV4: [u8; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0,
    2, 0, 2, 0, 2, 0, 2, 0,
    2, 0, 2, 0, 2, 0, 2, 0,
    3, 0, 2, 0, 2, 0, 2, 0,
    3, 0, 0, 0, 3, 0, 3, 0,
    3, 0, 0, 0, 0, 0, 0, 0,
    3, 0, 0, 0, 0, 0, 0, 0,
];

#[rustfmt::skip]
const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2,
    1, 2, 1, 2, 1, 2, 1, 2,
    5, 2, 4, 2, 4, 2, 4, 2,
    3, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 2, 2, 6, 2, 6, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
];

/// Maximum size of a packet in bytes, with the header of Ethernet.
const MTU_BYTES: u32 = 1514;

/// Rate of a shaper as time per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    /// Time per byte in units of 2^-`shift` ns; 0 without a limit.
    scaled_ns: u64,
    shift: u32,
}

/// Smallest rate in bytes per second.
const MIN_BYTES_PER_S: u64 = 64;

impl Rate {
    fn new(bytes_per_s: u64) -> Rate {
        let scaled_ns = (1_000_000_000 << 34) / bytes_per_s.max(MIN_BYTES_PER_S);
        // At most 34 bits remain, so that products with packet sizes fit.
        let excess = (u64::BITS - scaled_ns.leading_zeros()).saturating_sub(34);
        Rate {
            scaled_ns: scaled_ns >> excess,
            shift: 34 - excess,
        }
    }

    /// Returns the time in ns that this number of bytes takes.
    pub fn duration_ns(self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.scaled_ns) >> self.shift
    }
}

/// Constants of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TinSettings {
    /// Bandwidth threshold.
    pub rate: Rate,
    /// Bytes that a flow may send per round.
    pub flow_quantum: u16,
    /// Bytes that the tin may send per round if there is no shaper.
    pub tin_quantum: u16,
    pub cobalt: CobaltSettings,
}

impl TinSettings {
    /// Returns the constants for a bandwidth in bytes per second, if there is a shaper.
    pub fn new(cake: &Cake, bytes_per_s: Option<u64>, tin_quantum: u16) -> TinSettings {
        let (rate, flow_quantum) = match bytes_per_s {
            None => (Rate::default(), 1514),
            Some(bytes_per_s) => {
                let quantum = (bytes_per_s >> 12).clamp(300, 1514) as u16;
                (Rate::new(bytes_per_s), quantum)
            }
        };
        // The command tc passes whole microseconds, at least 1.
        let whole_us = |ns: u64| (ns / 1000).max(1) * 1000;
        let interval_ns = whole_us(cake.rtt_ns);
        let least_target_ns = whole_us(interval_ns / 20);
        let mtu_ns = rate.duration_ns(MTU_BYTES);
        let target_ns = (mtu_ns * 3 / 2).max(least_target_ns);
        TinSettings {
            rate,
            flow_quantum,
            tin_quantum,
            cobalt: CobaltSettings {
                target_ns,
                interval_ns: (interval_ns + target_ns - least_target_ns).max(2 * target_ns),
                mtu_ns,
            },
        }
    }
}

impl Tins {
    /// Returns the tin of a code point.
    pub(super) fn tin_of(self, dscp: Dscp) -> usize {
        let tins = match self {
            Tins::BestEffort => return 0,
            Tins::Precedence => &PRECEDENCE,
            Tins::DiffServ3 => &DIFFSERV3,
            Tins::DiffServ4 => &DIFFSERV4,
            Tins::DiffServ8 => &DIFFSERV8,
        };
        usize::from(tins[usize::from(dscp.bits())])
    }

    /// Returns the constants of the tins. The first one has the whole bandwidth.
    pub(super) fn settings(self, cake: &Cake) -> Vec<TinSettings> {
        let bytes_per_s = cake.bytes_per_s();
        // Thresholds and weights are halved this number of times.
        let halved = |base: u16, halvings: &[u32]| {
            let tin = |&n: &u32| TinSettings::new(cake, bytes_per_s.map(|it| it >> n), base >> n);
            halvings.iter().map(tin).collect()
        };
        match self {
            Tins::BestEffort => vec![TinSettings::new(cake, bytes_per_s, u16::MAX)],
            Tins::DiffServ3 => halved(1024, &[0, 4, 2]),
            Tins::DiffServ4 => halved(1024, &[0, 4, 1, 2]),
            Tins::Precedence | Tins::DiffServ8 => {
                let (mut rate, mut quantum) = (bytes_per_s, 256_u32);
                let mut tins = Vec::new();
                for _ in 0..8 {
                    tins.push(TinSettings::new(cake, rate, quantum.max(1) as u16));
                    rate = rate.map(|it| it * 7 / 8);
                    quantum = quantum * 7 / 8;
                }
                tins
            }
        }
    }
}
