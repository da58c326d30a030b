//! Reference systems that a run is compared with.

use serde::Serialize;

/// A reference simulator or system for the same scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceSystem {
    /// The simulator ns-2.
    #[default]
    Ns2,
    /// The simulator ns-3.
    Ns3,
    /// The TCP of the kernel of this machine, over an emulated network.
    Linux,
}

impl ReferenceSystem {
    /// All reference systems.
    pub const ALL: [ReferenceSystem; 3] = [
        ReferenceSystem::Ns2,
        ReferenceSystem::Ns3,
        ReferenceSystem::Linux,
    ];

    /// Returns its display name.
    pub fn name(self) -> &'static str {
        match self {
            ReferenceSystem::Ns2 => "ns-2",
            ReferenceSystem::Ns3 => "ns-3",
            ReferenceSystem::Linux => "Linux",
        }
    }

    /// Returns the prefix of the names of its files.
    pub fn stem(self) -> &'static str {
        match self {
            ReferenceSystem::Ns2 => "ns2",
            ReferenceSystem::Ns3 => "ns3",
            ReferenceSystem::Linux => "linux",
        }
    }

    /// Returns the name of the file with its series of links.
    pub fn links_file(self) -> String {
        format!("{}-links.csv", self.stem())
    }

    /// Returns the name of the file with its series of connections.
    pub fn connections_file(self) -> String {
        format!("{}-connections.csv", self.stem())
    }
}
