//! Kinds of traffic conditioners and their names.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// Criterion by which a conditioner marks traffic above the committed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `standard`: the rate only. The time sliding window three colour marker (RFC 2859): DP2 above the peak
    /// rate, DP1 between committed and peak rate.
    Standard,
    /// `rtt`: aggregates with a long RTT receive less DP2: q = (minRTT/RTT)².
    Rtt,
    /// `rtt-rto`: RTT and retransmission timeout: q = (minRTT/RTT)²·(minRTO/RTO) (\[Cond\] Fig. 1).
    RttRto,
    /// `sw`: like `standard`, but packets sent with a small window are DP0.
    SmallWindow,
    /// `rtt-sw`: like `rtt`, but packets sent with a small window are DP0.
    RttSmallWindow,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [
        Kind::Standard,
        Kind::Rtt,
        Kind::RttRto,
        Kind::SmallWindow,
        Kind::RttSmallWindow,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Standard => "standard",
            Kind::Rtt => "rtt",
            Kind::RttRto => "rtt-rto",
            Kind::SmallWindow => "sw",
            Kind::RttSmallWindow => "rtt-sw",
        }
    }

    /// Returns true if it needs RTTs and no peak rate.
    pub fn follows_rtt(self) -> bool {
        matches!(self, Kind::Rtt | Kind::RttRto | Kind::RttSmallWindow)
    }

    /// Returns true if it needs retransmission timeouts.
    pub fn follows_rto(self) -> bool {
        self == Kind::RttRto
    }

    /// Returns true if it needs windows.
    pub fn protects_small_windows(self) -> bool {
        matches!(self, Kind::SmallWindow | Kind::RttSmallWindow)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    /// Parses a name as [`Kind::name`] writes it. The error contains the nearest name.
    fn from_str(name: &str) -> Result<Kind, Error> {
        let exact = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        exact.ok_or_else(|| Error::UnknownConditioner {
            name: name.to_owned(),
            nearest: nearest(name),
        })
    }
}

/// Returns the kind with the most similar name.
fn nearest(name: &str) -> Option<Kind> {
    let names = Kind::ALL.into_iter().map(Kind::name);
    let near = netflow_units::nearest_name(name, names, &[])?;
    Kind::ALL.into_iter().find(|kind| kind.name() == near)
}
