//! `[[connection]]`

use netflow_document::{Section, Spanned, table};

use super::{ApplicationSetting, ByteSize, SizeSetting, SourceSetting, Time, allowed};

/// A connection, or several identical ones: traffic from one node to another.
#[table(name = "connection", called = override_name)]
pub struct Connection {
    /// Its name in results, unique. Default: `c` and its number among all connections, from 1:
    /// first those of the scenario, then those of the included table.
    #[key(example = "c1")]
    pub name: Option<Spanned<String>>,
    /// The node that sends.
    #[key(example = "A")]
    pub from: Spanned<String>,
    /// The node that receives.
    #[key(example = "B")]
    pub to: Spanned<String>,
    /// What makes it send.
    #[key(flat, example = "{ profile = \"ns-reno\" }")]
    pub source: Spanned<SourceSetting>,
    /// What gives a profile source its data. Default: there is always more to send.
    #[key(example = "{ poisson = \"100 pkt/s\" }")]
    pub application: Option<Spanned<ApplicationSetting>>,
    /// When it starts. Default: 0 s.
    #[key(allowed = allowed::MOMENT, example = "10 s")]
    pub start: Option<Time>,
    /// When it stops. Default: at the end of the run.
    #[key(allowed = allowed::MOMENT, example = "50 s")]
    pub stop: Option<Time>,
    /// How much it delivers before it ends: `"1.5 MB"` or `"1500 pkt"`; bytes are sent in whole packets of `packet-size`, whose
    /// headers count as well. With a `stop` as well, it
    /// ends at whichever comes first. Packets of a source with a rate of its own are sent until all have arrived, so that what is on
    /// its way then comes on top. Default: no end.
    #[key(allowed = allowed::TRANSFER, example = "1.5 MB")]
    pub size: Option<SizeSetting>,
    /// This many identical connections, evaluated as cheaply as one. Default: 1.
    #[key(allowed = allowed::COUNT, example = 10)]
    pub count: Option<Spanned<u64>>,
    /// Largest congestion window. Bytes count payload, in whole packets. Default: the limit of a profile; 10 000 pkt of a `window`, with a warning where it is reached; of a `stack` its send buffer.
    #[key(allowed = allowed::LARGEST_WINDOW, example = "64 pkt")]
    pub max_window: Option<SizeSetting>,
    /// Size of a data packet on the wire. Default: the simulation's.
    #[key(allowed = allowed::PACKET_SIZE, example = "1500 B")]
    pub packet_size: Option<ByteSize>,
    /// Nodes from sender to receiver, both included. Default: the shortest path by delay, or by `metric`.
    #[key(allowed = allowed::PATH, example = "[\"A\", \"R1\", \"B\"]")]
    pub path: Option<Spanned<Vec<Spanned<String>>>>,
    /// Nodes from receiver to sender, both included. Default: the path reversed.
    #[key(allowed = allowed::PATH, example = "[\"B\", \"R2\", \"A\"]")]
    pub return_path: Option<Spanned<Vec<Spanned<String>>>>,
    /// Whether the acknowledgements of a profile source are traffic. Default: the simulation's.
    #[key(example = true)]
    pub acks: Option<Spanned<bool>>,
    /// Whether the receiver acknowledges only every second packet. Default: false.
    #[key(example = true)]
    pub delayed_ack: Option<Spanned<bool>>,
    /// The conditioned aggregate it belongs to. Default: none; its packets are DP2 where queues
    /// tell precedences apart.
    #[key(example = "A1")]
    pub aggregate: Option<Spanned<String>>,
    /// The class of its packets, which wait in a queue of their own on links with a
    /// `[[link.class]]` of this name. Default: none.
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
