//! Generator of scenarios: commented TOML texts with standard topologies.
//!
//! The same parameters give the same text, and every text is a valid scenario.
//!
//! ```
//! use netflow_scenario::generate::{SizeRequest, random};
//!
//! let text = random(&SizeRequest { nodes: Some(30), connections: Some(50), ..SizeRequest::default() })?;
//! let scenario = netflow_scenario::from_str("random.toml", &text, ".".as_ref(), &[])?;
//! assert_eq!(scenario.network.node_count(), 30);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dumbbell;
mod parking_lot;
mod plan;
mod random;
mod star;
mod transit_stub;

use std::fmt;
use std::str::FromStr;

pub use dumbbell::dumbbell;
pub use parking_lot::parking_lot;
pub use random::random;
pub use star::star;
pub use transit_stub::transit_stub;

/// Requested size of a scenario; `None` selects a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeRequest {
    /// Number of nodes.
    pub nodes: Option<usize>,
    /// Number of bidirectional links.
    pub links: Option<usize>,
    /// Number of connections.
    pub connections: Option<usize>,
    /// Random seed.
    pub seed: u64,
}

impl Default for SizeRequest {
    fn default() -> Self {
        SizeRequest {
            nodes: None,
            links: None,
            connections: None,
            seed: 1,
        }
    }
}

/// Topologies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyKind {
    /// See [`dumbbell`].
    Dumbbell,
    /// See [`parking_lot`].
    ParkingLot,
    /// See [`random`].
    Random,
    /// See [`star`].
    Star,
    /// See [`transit_stub`].
    TransitStub,
}

impl TopologyKind {
    /// All topologies.
    pub const ALL: [TopologyKind; 5] = [
        TopologyKind::Dumbbell,
        TopologyKind::ParkingLot,
        TopologyKind::Random,
        TopologyKind::Star,
        TopologyKind::TransitStub,
    ];

    /// Returns its name: `parking-lot`.
    pub fn name(self) -> &'static str {
        match self {
            TopologyKind::Dumbbell => "dumbbell",
            TopologyKind::ParkingLot => "parking-lot",
            TopologyKind::Random => "random",
            TopologyKind::Star => "star",
            TopologyKind::TransitStub => "transit-stub",
        }
    }

    /// Returns a one-line description.
    pub fn description(self) -> &'static str {
        match self {
            TopologyKind::Dumbbell => "senders and receivers on both sides of one bottleneck",
            TopologyKind::ParkingLot => "chain of bottlenecks with long and short connections",
            TopologyKind::Random => {
                "nodes in the plane, links more likely between near nodes (Waxman)"
            }
            TopologyKind::Star => "hosts around one router",
            TopologyKind::TransitStub => "backbone of routers with networks of hosts",
        }
    }

    /// Generates a scenario with this topology.
    ///
    /// # Errors
    /// Sizes that are not possible with the topology.
    pub fn write(self, request: &SizeRequest) -> Result<String, InvalidSize> {
        match self {
            TopologyKind::Dumbbell => dumbbell(request),
            TopologyKind::ParkingLot => parking_lot(request),
            TopologyKind::Random => random(request),
            TopologyKind::Star => star(request),
            TopologyKind::TransitStub => transit_stub(request),
        }
    }
}

impl fmt::Display for TopologyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No topology has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown topology `{name}`; use dumbbell, parking-lot, random, star or transit-stub")]
pub struct UnknownTopology {
    /// The name.
    pub name: String,
}

impl FromStr for TopologyKind {
    type Err = UnknownTopology;

    fn from_str(name: &str) -> Result<TopologyKind, UnknownTopology> {
        let found = TopologyKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownTopology {
            name: name.to_owned(),
        })
    }
}

/// Size that is not possible with a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {wish} is {value}, but must be {allowed}")]
pub struct InvalidSize {
    /// The topology.
    pub kind: TopologyKind,
    /// Name of the size: `nodes`, `links` or `connections`.
    pub wish: &'static str,
    /// Requested value.
    pub value: usize,
    /// Possible values.
    pub allowed: String,
}

/// Limits that keep a scenario file small enough for an editor.
const MAX_NODES: usize = 50_000;
const MAX_LINKS: usize = 100_000;
const MAX_CONNECTIONS: usize = 100_000;

/// Requested sizes of one topology during validation.
struct SizeCheck<'w> {
    kind: TopologyKind,
    request: &'w SizeRequest,
}

impl SizeCheck<'_> {
    fn nodes(&self, default: usize, least: usize) -> Result<usize, InvalidSize> {
        self.check_range("nodes", self.request.nodes, default, least, MAX_NODES)
    }

    fn connections(&self, default: usize) -> Result<usize, InvalidSize> {
        let default = default.min(MAX_CONNECTIONS);
        self.check_range(
            "connections",
            self.request.connections,
            default,
            1,
            MAX_CONNECTIONS,
        )
    }

    /// Returns the number of links of a topology that can have more than the minimum.
    fn links(&self, default: usize, nodes: usize) -> Result<usize, InvalidSize> {
        let most = (nodes * (nodes - 1) / 2).min(MAX_LINKS);
        let least = nodes - 1;
        self.check_range(
            "links",
            self.request.links,
            default.clamp(least, most),
            least,
            most,
        )
    }

    /// Checks the number of links of a topology in which the nodes determine it.
    fn check_tree_links(&self, nodes: usize) -> Result<(), InvalidSize> {
        let least = nodes - 1;
        self.check_range("links", self.request.links, least, least, least)
            .map(drop)
    }

    fn check_range(
        &self,
        wish: &'static str,
        value: Option<usize>,
        default: usize,
        least: usize,
        most: usize,
    ) -> Result<usize, InvalidSize> {
        let value = value.unwrap_or(default);
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        let allowed = match (wish, least == most) {
            ("links", true) => format!("{least}, one less than the number of nodes"),
            ("links", false) => format!(
                "{least} to {most}, so that all nodes are reachable and no link exists twice"
            ),
            _ => format!("{least} to {most}"),
        };
        Err(InvalidSize {
            kind: self.kind,
            wish,
            value,
            allowed,
        })
    }
}
