//! `[[link.class]]`

use schemars::JsonSchema;
use serde::Serialize;

use super::{QueueSetting, SizeSetting, allowed};
use crate::place::Spanned;
use crate::read::{Element, Section, any};

/// A queue of its own for the packets of a class, on a link whose `queue` is "priority" or "wfq".
/// What belongs to no class waits in the link's own queue, after the classes, with a weight of 1.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkClass {
    /// What connections call it in `class`; AF1 to AF4 for assured forwarding. With "priority" the
    /// first class of a link comes first.
    pub name: Spanned<String>,
    /// Its part of the bandwidth with "wfq", relative to the others. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Spanned<f64>>,
    /// Room of the queue. Default: 100 pkt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<SizeSetting>,
    /// Which packets it refuses when it fills. Default: drop-tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Spanned<QueueSetting>>,
}

impl Element for LinkClass {
    const NAME: &'static str = "class";
    const TITLE: &'static str = "link.class";
    const KEYS: &'static [&'static str] = &["name", "weight", "buffer", "queue"];

    fn read(mut s: Section<'_, '_>) -> LinkClass {
        let class = LinkClass {
            name: s.required("name", &any(), "name = \"AF1\"", String::new()),
            weight: s.optional("weight", &allowed::WEIGHT),
            buffer: s.optional("buffer", &allowed::BUFFER),
            queue: s.optional("queue", &any()),
        };
        s.finish();
        class
    }
}
