//! `[[link.class]]`

use netflow_document::{Spanned, table};

use super::{BufferSetting, QueueSetting, allowed};

/// Separate queue for the packets of a class, on a link with the `queue` "priority" or "wfq". Packets without a
/// class use the link's own queue, which follows the classes and has a weight of 1. `--set` addresses a class by
/// its name in its link: `link.A->B.class.AF1.weight=3`.
#[table(name = "class", title = "link.class")]
pub struct LinkClass {
    /// Name, to which `class` of connections refers; AF1 to AF4 for assured forwarding. With "priority", the
    /// first class of a link has the highest priority.
    #[key(fixed, example = "AF1")]
    pub name: Spanned<String>,
    /// Share of the bandwidth with "wfq", relative to the other classes. Default: 1.
    #[key(allowed = allowed::WEIGHT, example = 2)]
    pub weight: Option<Spanned<f64>>,
    /// Buffer size of the queue. A time is converted at the bandwidth of the whole link. Default: as for a whole
    /// link.
    #[key(allowed = allowed::BUFFER, example = "100 pkt")]
    pub buffer: Option<BufferSetting>,
    /// Queue discipline of the class. Default: drop-tail.
    #[key(example = "drop-tail")]
    pub queue: Option<Spanned<QueueSetting>>,
}
