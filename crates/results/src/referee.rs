//! Who a run is compared with.

use serde::Serialize;

/// What else runs a scenario, and is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Referee {
    /// A real ns-2.
    #[default]
    Ns2,
    /// A real ns-3.
    Ns3,
    /// Real TCP of this machine's kernel, over an emulated network.
    Linux,
}

impl Referee {
    /// All of them.
    pub const ALL: [Referee; 3] = [Referee::Ns2, Referee::Ns3, Referee::Linux];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Referee::Ns2 => "ns-2",
            Referee::Ns3 => "ns-3",
            Referee::Linux => "Linux",
        }
    }

    /// What its files in a directory begin with.
    pub fn stem(self) -> &'static str {
        match self {
            Referee::Ns2 => "ns2",
            Referee::Ns3 => "ns3",
            Referee::Linux => "linux",
        }
    }

    /// The file with what it says of links over time.
    pub fn links_file(self) -> String {
        format!("{}-links.csv", self.stem())
    }

    /// The file with what it says of connections over time.
    pub fn connections_file(self) -> String {
        format!("{}-connections.csv", self.stem())
    }
}
