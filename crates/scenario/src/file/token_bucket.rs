//! `policer` and `shaper` in `[[link]]`

use netflow_document::{
    Findings, Key, Read, Table, Value, ValueKind, keyword_enum, read_table, table,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ByteSize, RateSetting, allowed};

/// Token bucket of a policer or a shaper, or none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TokenBucketSetting {
    /// No token bucket, for one direction of a link.
    Absent(Absent),
    /// With its rate and burst: `{ rate = "20 Mbit/s", burst = "32 KB" }`.
    Bucket(Box<TokenBucket>),
}

/// No token bucket.
#[keyword_enum]
pub enum Absent {
    /// No token bucket.
    None,
}

/// Token bucket: it fills at `rate` and holds at most `burst`. A packet takes its bytes on the wire out of it.
#[table]
pub struct TokenBucket {
    /// Rate at which the bucket fills, `overhead` included: `"20 Mbit/s"`.
    #[key(allowed = allowed::BUCKET_RATE, example = "20 Mbit/s")]
    pub rate: RateSetting,
    /// Size of the bucket: the largest burst that passes at the bandwidth of the link, at least one packet.
    #[key(allowed = allowed::BURST_SIZE, example = "32 KB")]
    pub burst: ByteSize,
}

impl TokenBucketSetting {
    /// Returns the token bucket, if there is one.
    pub fn bucket(&self) -> Option<&TokenBucket> {
        match self {
            TokenBucketSetting::Absent(Absent::None) => None,
            TokenBucketSetting::Bucket(bucket) => Some(bucket),
        }
    }
}

impl Read for TokenBucketSetting {
    const KIND: &'static str = "a table, or \"none\"";
    const TABLES: &'static [&'static [Key]] = &[TokenBucket::KEYS];

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<TokenBucketSetting> {
        if let ValueKind::Table(_) = value.kind {
            let bucket = read_table(value, key, findings)?;
            return Some(TokenBucketSetting::Bucket(Box::new(bucket)));
        }
        Absent::read(value, key, findings).map(TokenBucketSetting::Absent)
    }

    fn fallback() -> TokenBucketSetting {
        TokenBucketSetting::Absent(Absent::None)
    }
}
