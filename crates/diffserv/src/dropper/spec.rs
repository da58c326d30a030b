//! Settings of a dropper.

use super::{Curve, DropSpacing};
use crate::error::ensure;
use crate::{DropPrecedence, Error};

/// Discipline: the packets that the average of each precedence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discipline {
    /// Random early detection (Floyd & Jacobson 1993): all packets, with the curve of DP0 for all.
    Red,
    /// Coupled RIO (Clark & Fang 1998, extended to three precedences): DP0 counts DP0, DP1 counts DP0 and
    /// DP1, DP2 counts all.
    RioC,
    /// De-coupled RIO: each precedence counts its own packets.
    RioD,
    /// Weighted RED: all packets, with one curve per precedence.
    Wred,
}

impl Discipline {
    /// Returns true if the average of `precedence` counts packets of precedence `other`.
    pub(crate) fn counts(self, precedence: DropPrecedence, other: DropPrecedence) -> bool {
        match self {
            Discipline::Red | Discipline::Wred => true,
            Discipline::RioC => other <= precedence,
            Discipline::RioD => other == precedence,
        }
    }
}

/// Unit of the queue length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Counting {
    /// Packets of any size.
    #[default]
    Packets,
    /// Bytes, expressed in packets of the mean size. Larger packets are dropped with a higher probability.
    Bytes {
        /// Mean packet size in bytes.
        mean_packet_bytes: f64,
    },
}

/// Settings of a dropper.
#[derive(Clone, Debug, PartialEq)]
pub struct DropperSpec {
    /// Discipline of the averages.
    pub discipline: Discipline,
    /// Drop probability of each precedence as a function of its average.
    pub curves: [Curve; 3],
    /// Weight of the newest queue length in the average (w_q), in (0, 1].
    pub weight: f64,
    /// True if the probability rises linearly from max_p to 1 between the upper threshold and twice that,
    /// instead of jumping to 1.
    pub gentle: bool,
    /// Spacing of drops.
    pub spread: DropSpacing,
    /// Unit of the queue length.
    pub counting: Counting,
    /// Buffer for waiting packets (mean packets in byte mode), at least 1.
    pub buffer_pkts: u32,
    /// Service rate in packets/s (mean packets in byte mode). It determines the decay of the average while
    /// the queue is empty.
    pub service_pps: f64,
}

impl DropperSpec {
    /// Returns RED with one curve, counted in packets: w_q 0.002, not gentle, drops spread as in the RED
    /// queue of ns-2.
    pub fn red(curve: Curve, service_pps: f64, buffer_pkts: u32) -> DropperSpec {
        DropperSpec {
            discipline: Discipline::Red,
            curves: [curve; 3],
            weight: 0.002,
            gentle: false,
            spread: DropSpacing::WaitThenUniform,
            counting: Counting::Packets,
            buffer_pkts,
            service_pps,
        }
    }

    /// Returns the parameters of \[Cond\]: DP0 {40, 55, 0.02}, DP1 {25, 40, 0.05}, DP2 {10, 25, 0.1}, w_q
    /// 0.002, counted in packets, not gentle, drops spread as in the DiffServ module of ns-2.
    pub fn habib_2002(discipline: Discipline, service_pps: f64, buffer_pkts: u32) -> DropperSpec {
        DropperSpec {
            discipline,
            curves: [
                Curve::new(40.0, 55.0, 0.02),
                Curve::new(25.0, 40.0, 0.05),
                Curve::new(10.0, 25.0, 0.1),
            ],
            weight: 0.002,
            gentle: false,
            spread: DropSpacing::Uniform,
            counting: Counting::Packets,
            buffer_pkts,
            service_pps,
        }
    }

    /// Returns the curve of each precedence.
    pub(super) fn curves_in_use(&self) -> [Curve; 3] {
        match self.discipline {
            Discipline::Red => [*DropPrecedence::Dp0.of(&self.curves); 3],
            _ => self.curves,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let curves = self.curves_in_use();
        for precedence in DropPrecedence::ALL {
            precedence.of(&curves).check(precedence)?;
        }
        for (lower, higher) in [
            (DropPrecedence::Dp0, DropPrecedence::Dp1),
            (DropPrecedence::Dp1, DropPrecedence::Dp2),
        ] {
            let (a, b) = (lower.of(&curves), higher.of(&curves));
            let at_most = "at most";
            let ordered = [
                ("the lower threshold", b.min_pkts, at_most, a.min_pkts),
                ("the upper threshold", b.max_pkts, at_most, a.max_pkts),
                ("max_p", b.max_p, "at least", a.max_p),
            ];
            for (what, found, allowed, limit) in ordered {
                let good = if allowed == at_most {
                    found <= limit
                } else {
                    found >= limit
                };
                if !good {
                    return Err(Error::PrecedenceOrder {
                        higher,
                        lower,
                        what,
                        found,
                        allowed,
                        limit,
                    });
                }
            }
        }
        let weight = self.weight;
        let good = weight > 0.0 && weight <= 1.0;
        ensure(good, "weight of the average", weight, "above 0 to 1")?;
        if let Counting::Bytes { mean_packet_bytes } = self.counting {
            let good = (1.0..=1e9).contains(&mean_packet_bytes);
            ensure(good, "mean packet size in B", mean_packet_bytes, "1 to 1e9")?;
        }
        let room = f64::from(self.buffer_pkts);
        ensure(room >= 1.0, "buffer in packets", room, "1 or more")?;
        let service = self.service_pps;
        let good = (1e-9..=1e12).contains(&service);
        ensure(good, "service rate in packets/s", service, "1e-9 to 1e12")
    }
}
