//! Partitions of the network on several threads, synchronized by barriers.
//!
//! Every link belongs to one [partition](partition), with its wires and endpoints. In each
//! [round](sync_round) a partition sweeps its links once, publishes the earliest output times of its
//! border links, hands over packets, and waits at a [barrier](spin_barrier). This is a synchronous
//! conservative protocol: within a round, other partitions' earliest output times are those of the round before.
//! [`partitioning`] cuts the network where lookahead is longest. [`tuner`] measures whether threads pay.

pub mod partition;
pub mod partitioning;
pub mod spin_barrier;
pub mod sync_round;
pub mod tuner;
