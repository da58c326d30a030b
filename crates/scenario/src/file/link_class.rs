//! `[[link.class]]`

use netflow_document::{Spanned, table};

use super::{BufferSetting, ByteSize, QueueSetting, RateSetting, TokenBucketSetting, allowed};

/// Separate queue for the packets of a class, on a link with the `queue` "priority", "wfq" or "htb". Packets without a
/// class use the link's own queue, which follows the classes and has a weight of 1. `--set` addresses a class by
/// its name in its link: `link.A->B.class.AF1.weight=3`.
///
/// With "htb", a class sends up to its `rate` in any case. Above it, the class borrows from its `parent`, or from the
/// ancestor or link above that has bandwidth left, up to its `ceil`. Borrowers with the lowest `prio` send first, then
/// in proportion to their `quantum`. A class that is the `parent` of others has no queue.
#[table(name = "class", title = "link.class")]
pub struct LinkClass {
    /// Name, to which `class` of connections refers; AF1 to AF4 for assured forwarding. With "priority", the
    /// first class of a link has the highest priority.
    #[key(fixed, example = "AF1")]
    pub name: Spanned<String>,
    /// Share of the bandwidth with "wfq", relative to the other classes. Default: 1.
    #[key(allowed = allowed::WEIGHT, example = 2)]
    pub weight: Option<Spanned<f64>>,
    /// htb: class of the link that this class belongs to, for example a customer. Default: the link itself.
    #[key(example = "customer-1")]
    pub parent: Option<Spanned<String>>,
    /// htb: guaranteed rate, `overhead` included. Required.
    #[key(allowed = allowed::BUCKET_RATE, example = "5 Mbit/s")]
    pub rate: Option<RateSetting>,
    /// htb: largest rate with borrowed bandwidth, `overhead` included. Default: `rate`.
    #[key(allowed = allowed::BUCKET_RATE, example = "10 Mbit/s")]
    pub ceil: Option<RateSetting>,
    /// htb: bytes that may exceed `rate` after a pause. Default: 1600 B.
    #[key(allowed = allowed::BURST_SIZE, example = "15 KB")]
    pub burst: Option<ByteSize>,
    /// htb: bytes that may exceed `ceil` after a pause. Default: 1600 B.
    #[key(allowed = allowed::BURST_SIZE, example = "15 KB")]
    pub cburst: Option<ByteSize>,
    /// htb: priority among classes that borrow, 0 first. Default: 0.
    #[key(allowed = allowed::PRIORITY, example = 1)]
    pub prio: Option<Spanned<u64>>,
    /// htb: bytes that the class sends in its turn, at least the largest packet. Default: the bytes of `rate` in 0.1 s,
    /// from 1000 B to 200 KB.
    #[key(allowed = allowed::QUANTUM, example = "3000 B")]
    pub quantum: Option<ByteSize>,
    /// Buffer size of the queue. A time is converted at the bandwidth of the whole link, or at `ceil`. Default: as for a
    /// whole link.
    #[key(allowed = allowed::BUFFER, example = "100 pkt")]
    pub buffer: Option<BufferSetting>,
    /// Queue discipline of the class. Default: drop-tail.
    #[key(example = "drop-tail")]
    pub queue: Option<Spanned<QueueSetting>>,
    /// Token bucket in front of the queue of the class, behind that of the link, as `policer` of the link. Default: none.
    #[key(example = "{ rate = \"2 Mbit/s\", burst = \"32 KB\" }")]
    pub policer: Option<Spanned<TokenBucketSetting>>,
}
