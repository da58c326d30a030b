//! `[[connection]]`

use schemars::JsonSchema;
use serde::Serialize;

use super::{ApplicationSetting, ByteSize, PacketCount, SizeSetting, SourceSetting, Time, allowed};
use crate::place::Spanned;
use crate::read::{Element, Section, any};

/// A connection, or several identical ones: traffic from one node to another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Connection {
    /// Its name in results, unique. Default: `c` and its number among all connections, from 1:
    /// first those of the scenario, then those of the included table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
    /// The node that sends.
    pub from: Spanned<String>,
    /// The node that receives.
    pub to: Spanned<String>,
    /// What makes it send.
    pub source: Spanned<SourceSetting>,
    /// What gives a profile source its data. Default: there is always more to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<Spanned<ApplicationSetting>>,
    /// When it starts. Default: 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
    /// When it stops. Default: at the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// How much it delivers before it ends: `"1.5 MB"` or `"1500 pkt"`. With a `stop` as well, it
    /// ends at whichever comes first. Default: no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<SizeSetting>,
    /// This many identical connections, evaluated as cheaply as one. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Spanned<u64>>,
    /// Largest congestion window of a profile source. Default: what the profile has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_window: Option<PacketCount>,
    /// Size of a data packet on the wire. Default: the simulation's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<ByteSize>,
    /// Nodes from sender to receiver, both included. Default: the shortest path by delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Spanned<Vec<Spanned<String>>>>,
    /// Nodes from receiver to sender, both included. Default: the path reversed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_path: Option<Spanned<Vec<Spanned<String>>>>,
    /// Whether the acknowledgements of a profile source are traffic. Default: the simulation's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acks: Option<Spanned<bool>>,
    /// Whether the receiver acknowledges only every second packet. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Spanned<bool>>,
    /// The conditioned aggregate it belongs to. Default: none; its packets are DP2 where queues
    /// tell precedences apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Spanned<String>>,
    /// The class of its packets, which wait in a queue of their own on links with a
    /// `[[link.class]]` of this name. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Spanned<String>>,
}

impl Connection {
    /// What the connection of this number, counted from 1, is called unless the file says it.
    pub(crate) fn default_name(number: usize) -> String {
        format!("c{number}")
    }
}

impl Element for Connection {
    const NAME: &'static str = "connection";
    const KEYS: &'static [&'static str] = &[
        "name",
        "from",
        "to",
        "source",
        "application",
        "start",
        "stop",
        "size",
        "count",
        "max-window",
        "packet-size",
        "path",
        "return-path",
        "acks",
        "delayed-ack",
        "aggregate",
        "class",
    ];
    const COLUMNS: &'static [&'static str] = &[
        "name",
        "from",
        "to",
        "profile",
        "window",
        "constant",
        "poisson",
        "source.initial-window",
        "source.initial-rto",
        "source.min-rto",
        "source.max-rto",
        "source.send-jitter",
        "source.alpha",
        "source.beta",
        "source.gamma",
        "application.poisson",
        "start",
        "stop",
        "size",
        "count",
        "max-window",
        "packet-size",
        "path",
        "return-path",
        "acks",
        "delayed-ack",
        "aggregate",
        "class",
    ];
    const REQUIRED_COLUMNS: &'static [&'static str] = &["from", "to"];
    const SHORT_COLUMNS: &'static [&'static str] = &["profile", "window", "constant", "poisson"];

    fn read(mut s: Section<'_, '_>) -> Connection {
        let name: Option<Spanned<String>> = s.optional("name", &any());
        let number = s.number();
        s.call(|| match &name {
            Some(name) => format!("connection.{}", **name),
            None => format!("connection.{}", Connection::default_name(number)),
        });
        let path = crate::read::Allowed {
            test: |nodes: &Vec<Spanned<String>>| nodes.len() >= 2,
            text: "at least the sender and the receiver",
        };
        let connection = Connection {
            name,
            from: s.required("from", &any(), "from = \"A\"", String::new()),
            to: s.required("to", &any(), "to = \"B\"", String::new()),
            source: s.required(
                "source",
                &any(),
                SourceSetting::EXAMPLE,
                SourceSetting::fallback(),
            ),
            application: s.optional("application", &any()),
            start: s.optional("start", &allowed::MOMENT),
            stop: s.optional("stop", &allowed::MOMENT),
            size: s.optional("size", &allowed::TRANSFER),
            count: s.optional("count", &allowed::COUNT),
            max_window: s.optional("max-window", &allowed::WINDOW),
            packet_size: s.optional("packet-size", &allowed::PACKET_SIZE),
            path: s.optional("path", &path),
            return_path: s.optional("return-path", &path),
            acks: s.optional("acks", &any()),
            delayed_ack: s.optional("delayed-ack", &any()),
            aggregate: s.optional("aggregate", &any()),
            class: s.optional("class", &any()),
        };
        s.finish();
        connection
    }
}
