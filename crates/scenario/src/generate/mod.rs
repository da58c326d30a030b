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
pub enum Kind {
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

impl Kind {
    /// All topologies.
    pub const ALL: [Kind; 5] = [
        Kind::Dumbbell,
        Kind::ParkingLot,
        Kind::Random,
        Kind::Star,
        Kind::TransitStub,
    ];

    /// Returns its name: `parking-lot`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dumbbell => "dumbbell",
            Kind::ParkingLot => "parking-lot",
            Kind::Random => "random",
            Kind::Star => "star",
            Kind::TransitStub => "transit-stub",
        }
    }

    /// Returns a one-line description.
    pub fn description(self) -> &'static str {
        match self {
            Kind::Dumbbell => "senders and receivers on the two sides of one bottleneck",
            Kind::ParkingLot => "a chain of bottlenecks, crossed by long and by short connections",
            Kind::Random => "nodes in the plane, more likely linked the nearer they are (Waxman)",
            Kind::Star => "hosts around one router",
            Kind::TransitStub => "a backbone of routers with networks of hosts around it",
        }
    }

    /// Generates a scenario with this topology.
    ///
    /// # Errors
    /// Sizes that are not possible with the topology.
    pub fn write(self, wishes: &SizeRequest) -> Result<String, InvalidSize> {
        match self {
            Kind::Dumbbell => dumbbell(wishes),
            Kind::ParkingLot => parking_lot(wishes),
            Kind::Random => random(wishes),
            Kind::Star => star(wishes),
            Kind::TransitStub => transit_stub(wishes),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No topology has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind `{name}`; there are dumbbell, parking-lot, random, star and transit-stub")]
pub struct UnknownKind {
    /// The name.
    pub name: String,
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Kind, UnknownKind> {
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownKind {
            name: name.to_owned(),
        })
    }
}

/// Size that is not possible with a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {wish} is {value}, but must be {allowed}")]
pub struct InvalidSize {
    /// The topology.
    pub kind: Kind,
    /// Name of the size: `nodes`, `links` or `connections`.
    pub wish: &'static str,
    /// Requested value.
    pub value: usize,
    /// Possible values.
    pub allowed: String,
}

/// Limits that keep a scenario file small enough for an editor.
const MOST_NODES: usize = 50_000;
const MOST_LINKS: usize = 100_000;
const MOST_CONNECTIONS: usize = 100_000;

/// Requested sizes of one topology during validation.
struct SizeCheck<'w> {
    kind: Kind,
    wishes: &'w SizeRequest,
}

impl SizeCheck<'_> {
    fn nodes(&self, default: usize, least: usize) -> Result<usize, InvalidSize> {
        self.one("nodes", self.wishes.nodes, default, least, MOST_NODES)
    }

    fn connections(&self, default: usize) -> Result<usize, InvalidSize> {
        let default = default.min(MOST_CONNECTIONS);
        self.one(
            "connections",
            self.wishes.connections,
            default,
            1,
            MOST_CONNECTIONS,
        )
    }

    /// Returns the number of links of a topology that can have more than the minimum.
    fn links(&self, default: usize, nodes: usize) -> Result<usize, InvalidSize> {
        let most = (nodes * (nodes - 1) / 2).min(MOST_LINKS);
        let least = nodes - 1;
        self.one(
            "links",
            self.wishes.links,
            default.clamp(least, most),
            least,
            most,
        )
    }

    /// Checks the number of links of a topology in which the nodes determine it.
    fn links_of_tree(&self, nodes: usize) -> Result<(), InvalidSize> {
        let least = nodes - 1;
        self.one("links", self.wishes.links, least, least, least)
            .map(drop)
    }

    fn one(
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
            ("links", true) => format!("{least}, one less than the nodes"),
            ("links", false) => format!(
                "{least} to {most} (so that every node can be reached, and no link is there twice)"
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
