//! Hashes that are the same on every machine, for random seeds and for the paths of flows (FNV-1a).

use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

/// Returns a hash that is the same on every machine and with every compiler, because random numbers depend on
/// it.
pub fn fnv_hash(value: impl Hash) -> u64 {
    let mut hasher = FnvHasher::default();
    value.hash(&mut hasher);
    netflow_units::hash_mix(hasher.finish())
}
