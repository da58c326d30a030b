//! Numbers that are the same on every machine: random numbers, and paths of flows, hang on them.

use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

/// A number that follows from a value, the same on every machine and with every compiler: random
/// numbers depend on it.
pub fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = FnvHasher::default();
    value.hash(&mut hasher);
    netflow_units::scramble(hasher.finish())
}
