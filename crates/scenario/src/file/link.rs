//! `[[link]]`

use netflow_units::{BitsPerSecond, Rate};
use schemars::JsonSchema;
use serde::Serialize;

use super::{LinkClass, QueueSetting, RateSetting, SizeSetting, Time, allowed};
use crate::place::Spanned;
use crate::problem::ProblemKind;
use crate::read::{Element, Quantity, Section, any};

/// A link from one node to another, with the queue in front of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Link {
    /// The node where it starts. Naming a node here is all it takes for the node to exist.
    pub from: Spanned<String>,
    /// The node where it ends.
    pub to: Spanned<String>,
    /// Bandwidth: `"8 Mbit/s"`, or `"1000 pkt/s"` for packets of the default size.
    pub bandwidth: RateSetting,
    /// Propagation delay. Default: 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Room of the queue, the place in service included: `"100 pkt"` or `"150 KB"`. Default: 100
    /// pkt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<SizeSetting>,
    /// Whether there is the same link, with a queue of its own, in the other direction. Default:
    /// true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplex: Option<Spanned<bool>>,
    /// Which packets a filling queue refuses. Default: drop-tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Spanned<QueueSetting>>,
    /// Queues for classes of packets, where `queue` is "priority" or "wfq".
    #[serde(rename = "class", skip_serializing_if = "Vec::is_empty", default)]
    pub classes: Vec<LinkClass>,
    /// The other direction of a duplex link where it is different: a file cannot say so but by a
    /// link of its own, `--set` can.
    #[serde(skip)]
    #[schemars(skip)]
    pub back: Option<Box<Link>>,
}

impl Link {
    /// Whether the link exists in both directions.
    pub fn is_duplex(&self) -> bool {
        self.duplex.as_ref().is_none_or(|duplex| **duplex)
    }
}

impl Link {
    /// The other direction, if `--set` options call it by its own name: `link.B->A` of a link from A
    /// to B. What they do not set is as in this direction.
    fn read_back(&self, s: &mut Section<'_, '_>) -> Option<Box<Link>> {
        let name = format!("link.{}->{}", *self.to, *self.from);
        if !self.is_duplex() || !s.is_set(&name) {
            return None;
        }
        s.call(|| name);
        // Not by `required`: that would look again at what the file has.
        let bandwidth = s.set("bandwidth", &allowed::RATE);
        let delay = s.set("delay", &allowed::DELAY);
        let buffer = s.set("buffer", &allowed::BUFFER);
        let queue = s.set("queue", &any());
        Some(Box::new(Link {
            from: self.to.clone(),
            to: self.from.clone(),
            bandwidth: bandwidth.unwrap_or(self.bandwidth),
            delay: delay.or(self.delay),
            buffer: buffer.or(self.buffer),
            queue: queue.or_else(|| self.queue.clone()),
            duplex: None,
            classes: self.classes.clone(),
            back: None,
        }))
    }
}

impl Element for Link {
    const NAME: &'static str = "link";
    const KEYS: &'static [&'static str] = &[
        "from",
        "to",
        "bandwidth",
        "delay",
        "buffer",
        "duplex",
        "queue",
        "class",
    ];
    const COLUMNS: &'static [&'static str] = &[
        "from",
        "to",
        "bandwidth",
        "delay",
        "buffer",
        "duplex",
        "queue",
        "queue.discipline",
        "queue.min",
        "queue.max",
        "queue.max-p",
        "queue.weight",
        "queue.gentle",
    ];
    const REQUIRED_COLUMNS: &'static [&'static str] = &["from", "to", "bandwidth"];

    fn read(mut s: Section<'_, '_>) -> Link {
        let from = node(&mut s, "from", "from = \"A\"");
        let to = node(&mut s, "to", "to = \"B\"");
        s.call(|| format!("link.{}->{}", *from, *to));
        let rate = Quantity(Rate::BitsPerSecond(BitsPerSecond(1e6)));
        let link = Link {
            from,
            to,
            bandwidth: s.required(
                "bandwidth",
                &allowed::RATE,
                "bandwidth = \"8 Mbit/s\"",
                rate,
            ),
            delay: s.optional("delay", &allowed::DELAY),
            buffer: s.optional("buffer", &allowed::BUFFER),
            duplex: s.optional("duplex", &any()),
            queue: s.optional("queue", &any()),
            classes: s.list("`name = \"AF1\"`"),
            back: None,
        };
        let back = link.read_back(&mut s);
        s.finish();
        Link { back, ..link }
    }
}

/// A node's name; links are called `FROM->TO`, so it may not contain a `>`.
fn node(s: &mut Section<'_, '_>, key: &'static str, example: &str) -> Spanned<String> {
    let name: Spanned<String> = s.required(key, &any(), example, String::new());
    if !name.contains('>') {
        return name;
    }
    let message = format!("`{key}` contains a `>`: \"{}\"", *name);
    let finding = s
        .findings
        .error(ProblemKind::BadValue, name.place(), message);
    finding.help("links are called FROM->TO, so a node's name cannot contain `>`");
    String::new().into()
}
