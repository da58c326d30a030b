//! `[[connection]]`

use netflow_document::{Section, Spanned, table};

use super::{ApplicationSetting, ByteSize, Paths, SizeSetting, SourceSetting, Time, allowed};

/// Connection, or several identical ones: traffic from one node to another.
#[table(name = "connection", called = override_name)]
pub struct Connection {
    /// Unique name in results. Default: `c` and its number among all connections, from 1: first the connections
    /// of the scenario, then those of the included table.
    #[key(example = "c1")]
    pub name: Option<Spanned<String>>,
    /// Sending node.
    #[key(example = "A")]
    pub from: Spanned<String>,
    /// Receiving node.
    #[key(example = "B")]
    pub to: Spanned<String>,
    /// Source of traffic.
    #[key(flat, example = "{ profile = \"ns-reno\" }")]
    pub source: Spanned<SourceSetting>,
    /// Application that provides the data of a profile source. Default: unlimited data.
    #[key(example = "{ poisson = \"100 pkt/s\" }")]
    pub application: Option<Spanned<ApplicationSetting>>,
    /// Start time. Default: 0 s.
    #[key(allowed = allowed::MOMENT, example = "10 s")]
    pub start: Option<Time>,
    /// End time. Default: the end of the run.
    #[key(allowed = allowed::MOMENT, example = "50 s")]
    pub stop: Option<Time>,
    /// Amount of data after which the connection ends: `"1.5 MB"` or `"1500 pkt"`. Bytes are sent in whole
    /// packets of `packet-size`, and their headers count. With a `stop`, it ends at the earlier of the two.
    /// Fixed-rate sources send until all packets are delivered, so packets in flight at that time are extra.
    /// Default: unlimited.
    #[key(allowed = allowed::TRANSFER, example = "1.5 MB")]
    pub size: Option<SizeSetting>,
    /// Number of identical connections, evaluated at the cost of one. Default: 1.
    #[key(allowed = allowed::COUNT, example = 10)]
    pub count: Option<Spanned<u64>>,
    /// Largest congestion window. Bytes count payload, in whole packets. Default: the limit of the profile; 10
    /// 000 pkt for `ns2-tcp`, with a warning if it is reached; the send buffer for `tcp`.
    #[key(allowed = allowed::LARGEST_WINDOW, example = "64 pkt")]
    pub max_window: Option<SizeSetting>,
    /// Size of a data packet on the wire. Default: `packet-size` of the simulation.
    #[key(allowed = allowed::PACKET_SIZE, example = "1500 B")]
    pub packet_size: Option<ByteSize>,
    /// Nodes from sender to receiver, both included. Default: the shortest path by delay, or by `metric`.
    #[key(allowed = allowed::PATH, example = "[\"A\", \"R1\", \"B\"]")]
    pub path: Option<Spanned<Vec<Spanned<String>>>>,
    /// Explicit paths instead of `path`, the preferred one first: traffic takes the first one without a failed link, or
    /// the first one while all have failed. `"shortest"` as the last one is the shortest path then. With
    /// `{ nodes = [...], share = 0.7 }`, traffic is divided, and a share whose path has failed takes the first other
    /// path that works. Parts are called `NAME/1`, `NAME/2` and so on.
    #[key(example = "[[\"A\", \"R1\", \"B\"], [\"A\", \"R2\", \"B\"], \"shortest\"]")]
    pub paths: Option<Spanned<Paths>>,
    /// Nodes from receiver to sender, both included. Default: the path reversed.
    #[key(allowed = allowed::PATH, example = "[\"B\", \"R2\", \"A\"]")]
    pub return_path: Option<Spanned<Vec<Spanned<String>>>>,
    /// True if the acknowledgements of a profile source are traffic. Default: `acks` of the simulation.
    #[key(example = true)]
    pub acks: Option<Spanned<bool>>,
    /// True if the receiver acknowledges only every second packet. Default: false.
    #[key(example = true)]
    pub delayed_ack: Option<Spanned<bool>>,
    /// Conditioned aggregate of its packets. Default: none; its packets are DP2 in queues with drop precedences.
    #[key(example = "A1")]
    pub aggregate: Option<Spanned<String>>,
    /// Class of its packets, which have a queue of their own on links with a `[[link.class]]` of this name. With CAKE,
    /// the name of a code point such as `"EF"` selects a tin. Default: none.
    #[key(example = "AF1")]
    pub class: Option<Spanned<String>>,
}

impl Connection {
    /// What the connection of this number, counted from 1, is called unless the file says it.
    pub(crate) fn default_name(number: usize) -> String {
        format!("c{number}")
    }
}

fn override_name(section: &Section<'_, '_>) -> Option<String> {
    let name = section.text("name").map(str::to_owned);
    let name = name.unwrap_or_else(|| Connection::default_name(section.number()));
    Some(format!("connection.{name}"))
}
