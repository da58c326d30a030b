//! Chunks of cases, each with its own set of files, and shards of chunks for several machines.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Approximate number of chunks, unless a chunk would have more than [`MAX_CASES_PER_CHUNK`] cases.
const TARGET_CHUNKS: u64 = 256;
/// Maximum number of cases of a chunk: the work lost if a process is killed.
const MAX_CASES_PER_CHUNK: u64 = 1000;

/// Partition of the cases into chunks. It depends only on the number of cases, so that independent workers
/// agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    cases: u64,
    size: u64,
}

impl Chunks {
    /// Returns the chunks of `cases` cases.
    pub fn of(cases: u64) -> Chunks {
        let size = cases.div_ceil(TARGET_CHUNKS).clamp(1, MAX_CASES_PER_CHUNK);
        Chunks { cases, size }
    }

    /// Returns the number of chunks.
    pub fn count(&self) -> u64 {
        self.cases.div_ceil(self.size)
    }

    /// Returns the number of cases of a chunk; the last one may have fewer.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the case indices of a chunk.
    pub fn cases(&self, chunk: u64) -> Range<u64> {
        let first = chunk * self.size;
        first..(first + self.size).min(self.cases)
    }
}

/// Every n-th chunk: `2/3` is the second of three shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    of: u32,
}

/// Maximum number of shards.
const MAX_SHARDS: u32 = 1_000_000;

impl Default for Shard {
    /// All chunks.
    fn default() -> Shard {
        Shard { index: 1, of: 1 }
    }
}

impl Shard {
    /// Returns true if the shard contains the chunk.
    pub fn contains(&self, chunk: u64) -> bool {
        chunk % u64::from(self.of) == u64::from(self.index - 1)
    }

    /// Returns true if the shard contains all chunks.
    pub fn is_all(&self) -> bool {
        self.of == 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        const HELP: &str = "write I/N, such as 2/3: the second of three shards";
        let (index, of) = text.split_once('/').ok_or(HELP)?;
        let read = |text: &str| text.trim().parse::<u32>().map_err(|_| HELP.to_owned());
        let (index, of) = (read(index)?, read(of)?);
        match of {
            1..=MAX_SHARDS if (1..=of).contains(&index) => Ok(Shard { index, of }),
            1..=MAX_SHARDS => Err(format!(
                "shard {index} of {of} does not exist; write 1/{of} to {of}/{of}"
            )),
            _ => Err(format!(
                "the number of shards must be from 1 to {MAX_SHARDS}, not {of}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for text in ["0/3", "4/3", "1/0", "1", "a/b", "-1/2", "1/9999999"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn chunks_and_shards_partition_cases(cases in 1..3_000_000_u64, of in 1..9_u32) {
            let chunks = Chunks::of(cases);
            let mut next = 0;
            for chunk in 0..chunks.count() {
                let range = chunks.cases(chunk);
                prop_assert_eq!(range.start, next);
                prop_assert!(!range.is_empty() && range.end - range.start <= MAX_CASES_PER_CHUNK);
                next = range.end;
                let owners = (1..=of).filter(|&index| Shard { index, of }.contains(chunk));
                prop_assert_eq!(owners.count(), 1);
            }
            prop_assert_eq!(next, cases);
        }
    }
}
