//! The kinds of conditioners and their names.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// What a conditioner looks at when it marks what exceeds the committed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `standard`: only the rate. The time sliding window three colour marker (RFC 2859): beyond
    /// the peak rate DP2, between committed and peak DP1.
    Standard,
    /// `rtt`: aggregates with a long RTT get less DP2: q = (minRTT/RTT)².
    Rtt,
    /// `rtt-rto`: RTT and retransmission timeout: q = (minRTT/RTT)²·(minRTO/RTO)
    /// (\[Cond\] Fig. 1).
    RttRto,
    /// `sw`: as standard, but packets sent with a small window are DP0.
    SmallWindow,
    /// `rtt-sw`: as rtt, but packets sent with a small window are DP0.
    RttSmallWindow,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [
        Kind::Standard,
        Kind::Rtt,
        Kind::RttRto,
        Kind::SmallWindow,
        Kind::RttSmallWindow,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Standard => "standard",
            Kind::Rtt => "rtt",
            Kind::RttRto => "rtt-rto",
            Kind::SmallWindow => "sw",
            Kind::RttSmallWindow => "rtt-sw",
        }
    }

    /// Whether it needs RTTs, and no peak rate.
    pub fn follows_rtt(self) -> bool {
        matches!(self, Kind::Rtt | Kind::RttRto | Kind::RttSmallWindow)
    }

    /// Whether it needs retransmission timeouts.
    pub fn follows_rto(self) -> bool {
        self == Kind::RttRto
    }

    /// Whether it needs windows.
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

    /// Reads a name as [`Kind::name`] writes it; the error knows the nearest.
    fn from_str(name: &str) -> Result<Kind, Error> {
        let exact = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        exact.ok_or_else(|| Error::UnknownConditioner {
            name: name.to_owned(),
            nearest: nearest(name),
        })
    }
}

/// The kind that was probably meant.
fn nearest(name: &str) -> Option<Kind> {
    let names = Kind::ALL.into_iter().map(Kind::name);
    let near = netflow_units::nearest_name(name, names, &[])?;
    Kind::ALL.into_iter().find(|kind| kind.name() == near)
}
