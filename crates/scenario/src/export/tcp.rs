//! Mapping of profiles to TCP implementations of ns-2.

use std::fmt;
use std::str::FromStr;

/// A TCP implementation of ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tcp {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast retransmit and fast recovery.
    Reno,
    /// Fast recovery after several losses in one window.
    Newreno,
    /// Selective acknowledgements.
    Sack,
    /// Delay-based; α = 1, β = 3, γ = 1.
    Vegas,
    /// ns-2's TCP-Linux with CUBIC.
    Cubic,
}

/// Prefixes of profile names. Profiles of formulas, and of systems that ns-2 does not have, map to
/// Reno, whose algorithms they describe or had.
const PROFILES: &[(&str, Tcp)] = &[
    ("ns-tahoe", Tcp::Tahoe),
    ("ns-reno", Tcp::Reno),
    ("ns-newreno", Tcp::Newreno),
    ("ns-sack", Tcp::Sack),
    ("ns-vegas", Tcp::Vegas),
    ("linux-cubic", Tcp::Cubic),
    ("linux-reno", Tcp::Reno),
    ("windows-nt", Tcp::Reno),
    ("sunos", Tcp::Reno),
    ("netbsd", Tcp::Reno),
    ("mathis", Tcp::Reno),
    ("pftk", Tcp::Reno),
];

impl Tcp {
    /// All variants.
    pub const ALL: [Tcp; 6] = [
        Tcp::Tahoe,
        Tcp::Reno,
        Tcp::Newreno,
        Tcp::Sack,
        Tcp::Vegas,
        Tcp::Cubic,
    ];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tcp::Tahoe => "tahoe",
            Tcp::Reno => "reno",
            Tcp::Newreno => "newreno",
            Tcp::Sack => "sack",
            Tcp::Vegas => "vegas",
            Tcp::Cubic => "cubic",
        }
    }

    /// Returns the TCP from which a profile of this name was measured, or the nearest one:
    ///
    /// | profiles | TCP |
    /// |---|---|
    /// | `ns-tahoe…`, `ns-reno…`, `ns-newreno…`, `ns-sack…`, `ns-vegas…` | the one of that name |
    /// | `linux-cubic…` | CUBIC |
    /// | `linux-reno…`, `windows-nt…`, `sunos…`, `netbsd…`, `mathis…`, `pftk…` | Reno |
    /// | others | none |
    pub fn of_profile(name: &str) -> Option<Tcp> {
        let mut known = PROFILES.iter();
        known
            .find(|(start, _)| name.starts_with(start))
            .map(|&(_, tcp)| tcp)
    }

    /// Returns ns-2's class of the sender.
    pub(super) fn agent(self) -> &'static str {
        match self {
            Tcp::Tahoe => "Agent/TCP",
            Tcp::Reno => "Agent/TCP/Reno",
            Tcp::Newreno => "Agent/TCP/Newreno",
            Tcp::Sack => "Agent/TCP/Sack1",
            Tcp::Vegas => "Agent/TCP/Vegas",
            Tcp::Cubic => "Agent/TCP/Linux",
        }
    }

    /// Returns ns-2's class of the receiver, with its variables.
    pub(super) fn sink(self, delayed_ack: bool) -> &'static str {
        match (self, delayed_ack) {
            (Tcp::Sack | Tcp::Cubic, false) => "Agent/TCPSink/Sack1",
            (Tcp::Sack | Tcp::Cubic, true) => "{Agent/TCPSink/Sack1/DelAck interval_ 0.1}",
            (_, false) => "Agent/TCPSink",
            (_, true) => "{Agent/TCPSink/DelAck interval_ 0.1}",
        }
    }

    /// Returns the bytes that ns-2 adds to `packetSize_` on the wire.
    pub(super) fn header_bytes(self) -> f64 {
        match self {
            Tcp::Vegas => 0.0,
            _ => 40.0,
        }
    }
}

impl fmt::Display for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No TCP has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no TCP `{0}`; there are tahoe, reno, newreno, sack, vegas and cubic")]
pub struct UnknownTcp(String);

impl FromStr for Tcp {
    type Err = UnknownTcp;

    fn from_str(name: &str) -> Result<Tcp, UnknownTcp> {
        let mut all = Tcp::ALL.into_iter();
        all.find(|tcp| tcp.name() == name)
            .ok_or_else(|| UnknownTcp(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_has_a_tcp() {
        for name in netflow_profile::builtin_names() {
            assert!(Tcp::of_profile(name).is_some(), "{name}");
        }
        assert_eq!(Tcp::of_profile("ns-reno-w64"), Some(Tcp::Reno));
        assert_eq!(Tcp::of_profile("lab"), None);
    }
}
