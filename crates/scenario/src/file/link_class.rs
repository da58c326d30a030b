//! `[[link.class]]`

use netflow_document::{Spanned, table};

use super::{BufferSetting, QueueSetting, allowed};

/// A queue of its own for the packets of a class, on a link whose `queue` is "priority" or "wfq".
/// What belongs to no class waits in the link's own queue, after the classes, with a weight of 1.
/// `--set` calls a class by its name in its link: `link.A->B.class.AF1.weight=3`.
#[table(name = "class", title = "link.class")]
pub struct LinkClass {
    /// What connections call it in `class`; AF1 to AF4 for assured forwarding. With "priority" the
    /// first class of a link comes first.
    #[key(fixed, example = "AF1")]
    pub name: Spanned<String>,
    /// Its part of the bandwidth with "wfq", relative to the others. Default: 1.
    #[key(allowed = allowed::WEIGHT, example = 2)]
    pub weight: Option<Spanned<f64>>,
    /// How much the queue holds; a time is at the rate of the whole link. Default: as for a
    /// whole link.
    #[key(allowed = allowed::BUFFER, example = "100 pkt")]
    pub buffer: Option<BufferSetting>,
    /// Which packets it refuses when it fills. Default: drop-tail.
    #[key(example = "drop-tail")]
    pub queue: Option<Spanned<QueueSetting>>,
}
