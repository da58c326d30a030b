//! Mapping of profiles to TCP implementations of ns-2.

use std::fmt;
use std::str::FromStr;

/// A TCP implementation of ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ns2Tcp {
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
const PROFILES: &[(&str, Ns2Tcp)] = &[
    ("ns-tahoe", Ns2Tcp::Tahoe),
    ("ns-reno", Ns2Tcp::Reno),
    ("ns-newreno", Ns2Tcp::Newreno),
    ("ns-sack", Ns2Tcp::Sack),
    ("ns-vegas", Ns2Tcp::Vegas),
    ("linux-cubic", Ns2Tcp::Cubic),
    ("linux-reno", Ns2Tcp::Reno),
    ("windows-nt", Ns2Tcp::Reno),
    ("sunos", Ns2Tcp::Reno),
    ("netbsd", Ns2Tcp::Reno),
    ("mathis", Ns2Tcp::Reno),
    ("pftk", Ns2Tcp::Reno),
];

impl Ns2Tcp {
    /// All variants.
    pub const ALL: [Ns2Tcp; 6] = [
        Ns2Tcp::Tahoe,
        Ns2Tcp::Reno,
        Ns2Tcp::Newreno,
        Ns2Tcp::Sack,
        Ns2Tcp::Vegas,
        Ns2Tcp::Cubic,
    ];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Ns2Tcp::Tahoe => "tahoe",
            Ns2Tcp::Reno => "reno",
            Ns2Tcp::Newreno => "newreno",
            Ns2Tcp::Sack => "sack",
            Ns2Tcp::Vegas => "vegas",
            Ns2Tcp::Cubic => "cubic",
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
    pub fn of_profile(name: &str) -> Option<Ns2Tcp> {
        let mut known = PROFILES.iter();
        known
            .find(|(start, _)| name.starts_with(start))
            .map(|&(_, tcp)| tcp)
    }

    /// Returns ns-2's class of the sender.
    pub(super) fn agent(self) -> &'static str {
        match self {
            Ns2Tcp::Tahoe => "Agent/TCP",
            Ns2Tcp::Reno => "Agent/TCP/Reno",
            Ns2Tcp::Newreno => "Agent/TCP/Newreno",
            Ns2Tcp::Sack => "Agent/TCP/Sack1",
            Ns2Tcp::Vegas => "Agent/TCP/Vegas",
            Ns2Tcp::Cubic => "Agent/TCP/Linux",
        }
    }

    /// Returns ns-2's class of the receiver, with its variables.
    pub(super) fn sink(self, delayed_ack: bool) -> &'static str {
        match (self, delayed_ack) {
            (Ns2Tcp::Sack | Ns2Tcp::Cubic, false) => "Agent/TCPSink/Sack1",
            (Ns2Tcp::Sack | Ns2Tcp::Cubic, true) => "{Agent/TCPSink/Sack1/DelAck interval_ 0.1}",
            (_, false) => "Agent/TCPSink",
            (_, true) => "{Agent/TCPSink/DelAck interval_ 0.1}",
        }
    }

    /// Returns the bytes that ns-2 adds to `packetSize_` on the wire.
    pub(super) fn header_bytes(self) -> f64 {
        match self {
            Ns2Tcp::Vegas => 0.0,
            _ => 40.0,
        }
    }
}

impl fmt::Display for Ns2Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No TCP has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown ns-2 TCP `{0}`; use tahoe, reno, newreno, sack, vegas or cubic")]
pub struct UnknownTcp(String);

impl FromStr for Ns2Tcp {
    type Err = UnknownTcp;

    fn from_str(name: &str) -> Result<Ns2Tcp, UnknownTcp> {
        let mut all = Ns2Tcp::ALL.into_iter();
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
            assert!(Ns2Tcp::of_profile(name).is_some(), "{name}");
        }
        assert_eq!(Ns2Tcp::of_profile("ns-reno-w64"), Some(Ns2Tcp::Reno));
        assert_eq!(Ns2Tcp::of_profile("lab"), None);
    }
}
