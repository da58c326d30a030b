//! Changed defaults on which a scenario relies implicitly, with their former values.

use netflow_document::{Findings, ProblemKind};
use std::fmt;
use std::str::FromStr;

use netflow_network::{Buffer, ConnectionId, FluidOptions, Model, Network, Options, Source};

use crate::file::{Connection, Scenario};

/// Version of netflow, as in `written-for`; later numbers than the second do not change results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// `0` of `0.2`.
    pub major: u32,
    /// `2` of `0.2`.
    pub minor: u32,
}

impl Version {
    /// Returns the version of this program.
    pub fn current() -> Version {
        // Cargo accepts no version that this cannot parse.
        env!("CARGO_PKG_VERSION")
            .parse()
            .unwrap_or(Version { major: 0, minor: 0 })
    }
}

impl FromStr for Version {
    type Err = ();

    /// Parses `0.2` or `0.2.1`.
    fn from_str(text: &str) -> Result<Version, ()> {
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[major, minor] | &[major, minor, _]) => Ok(Version { major, minor }),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Default, or implicit rule, that changed in some version.
pub struct DefaultChange {
    /// First version with the change.
    pub since: Version,
    /// Key of the default.
    pub key: &'static str,
    /// Former value.
    pub old: &'static str,
    /// New value.
    pub new: &'static str,
    /// Advice on how to get the former results, or other information.
    pub note: &'static str,
    /// Returns whether a scenario relies on the default.
    applies: fn(&Scenario, &Network, &Options) -> bool,
}

const V0_2: Version = Version { major: 0, minor: 2 };

/// All changes, latest version last. A test checks that `CHANGELOG.md` mentions each.
pub const CHANGES: &[DefaultChange] = &[
    DefaultChange {
        since: V0_2,
        key: "simulation.packet-size",
        old: "1000 B",
        new: "1500 B",
        note: "write `packet-size = \"1000 B\"` for the old value",
        applies: |scenario, _, _| {
            let say = |it: &Connection| it.packet_size.is_some();
            let elsewhere = (scenario.include.as_ref()).is_some_and(|it| it.connections.is_some());
            scenario.simulation.packet_size.is_none()
                && (elsewhere || !scenario.connections.iter().all(say))
        },
    },
    DefaultChange {
        since: V0_2,
        key: "link.buffer",
        old: "100 pkt",
        new: "the bandwidth-delay product",
        note: "`netflow check` prints it in packets; write `buffer = \"100 pkt\"` for the old value",
        applies: |_, network, _| {
            let mut links = network.links();
            links.any(|id| network.link_spec(id).buffer == Buffer::BandwidthDelay)
        },
    },
    DefaultChange {
        since: V0_2,
        key: "simulation.step",
        old: "50 ms",
        new: "chosen from the network",
        note: "`step` is now the longest step; steps are shorter if accuracy requires it",
        applies: |scenario, _, options| {
            scenario.simulation.step.is_none() && matches!(options.model, Model::Fluid(_))
        },
    },
    DefaultChange {
        since: V0_2,
        key: "simulation.model",
        old: "a fluid model that used the profile's rate directly",
        new: "a fluid model with congestion windows as state",
        note: "rates now change as TCP windows do; write `model = \"fluid-literal\"` for the published equations",
        applies: |_, _, options| {
            matches!(options.model, Model::Fluid(FluidOptions::Standard { .. }))
        },
    },
    DefaultChange {
        since: V0_2,
        key: "connection.source.profile",
        old: "the rate of the nearest point outside the measured range",
        new: "extrapolated by a power of the loss, and with the same window at other round-trip times",
        note: "rates differ if the column `outside profile` of a run is not 0",
        applies: |_, network, _| {
            let mut all = network.connections();
            all.any(|id| matches!(network.connection_spec(id).source, Source::Profile(_)))
        },
    },
    DefaultChange {
        since: V0_2,
        key: "connection.source.send-jitter",
        old: "1 ms",
        new: "1 ms, at most the transmission time of a packet on the slowest link of the path",
        note: "1 ms limited sources on short paths; write `send-jitter = \"1 ms\"` for the old value",
        applies: |_, network, _| {
            let says_nothing = |id: &ConnectionId| {
                let source = &network.connection_spec(*id).source;
                matches!(source, Source::Ns2Tcp(window) if window.send_jitter_s.is_none())
            };
            let mut all = network.connections().filter(says_nothing);
            all.any(|id| network.send_jitter_s(id) < Some(1e-3))
        },
    },
];

/// Warns of every default on which the scenario relies and that changed since it was written.
pub(crate) fn warn(
    scenario: &Scenario,
    network: &Network,
    options: &Options,
    findings: &mut Findings,
) {
    let Some(setting) = &scenario.simulation.written_for else {
        return;
    };
    let current = Version::current();
    let Ok(written_for) = setting.parse::<Version>() else {
        return; // reading it has said so
    };
    if written_for > current {
        let message = format!("written for netflow {written_for}; this is {current}");
        let finding = findings.warning(ProblemKind::Changed, setting.place(), message);
        finding.set_help("defaults may differ: update netflow");
    }
    for change in CHANGES {
        if written_for < change.since && (change.applies)(scenario, network, options) {
            let message = format!(
                "the default of `{}` changed in {}: it was {}, it is {}",
                change.key, change.since, change.old, change.new
            );
            let finding = findings.warning(ProblemKind::Changed, setting.place(), message);
            finding.set_help(change.note);
        }
    }
}

impl Version {
    /// Returns whether a text is a version.
    pub(crate) fn is_valid(text: &str) -> bool {
        text.parse::<Version>().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered() {
        let version = |text: &str| text.parse::<Version>();
        assert!(version("0.1").unwrap() < version("0.2.7").unwrap());
        assert!(version("0.10").unwrap() > version("0.9").unwrap());
        for bad in ["", "1", "0.x", "0.1.2.3", "-1.0", "v0.1"] {
            assert!(version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn changelog_lists_every_default_change() {
        let log = include_str!("../../../CHANGELOG.md");
        for change in CHANGES {
            assert!(change.since <= Version::current(), "{}", change.key);
            let title = format!("\n## {}", change.since);
            let from = log.find(&title).expect("a part for the version");
            let part = &log[from + 1..];
            let part = &part[..part.find("\n## ").unwrap_or(part.len())];
            assert!(
                part.contains(&format!("`{}`", change.key)),
                "{}",
                change.key
            );
        }
    }
}
