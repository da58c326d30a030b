//! `policer` and `shaper` in `[[link]]`

use netflow_document::table;

use super::{ByteSize, RateSetting, allowed};

/// Token bucket of a policer or a shaper: it fills at `rate` and holds at most `burst`. A packet takes its bytes on the wire
/// out of the bucket.
#[table]
pub struct TokenBucket {
    /// Rate at which the bucket fills, `overhead` included: `"20 Mbit/s"`.
    #[key(allowed = allowed::BUCKET_RATE, example = "20 Mbit/s")]
    pub rate: RateSetting,
    /// Size of the bucket: the largest burst that passes at the bandwidth of the link, at least one packet.
    #[key(allowed = allowed::BURST_SIZE, example = "32 KB")]
    pub burst: ByteSize,
}
