//! Partitions of the network on several threads, synchronized by barriers.
//!
//! Every link belongs to one [partition](partition), with the wires that end there and the endpoints that it
//! feeds. Links that feed the same endpoint share a partition. Self-driven senders run before the first
//! round.
//!
//! In each [round](sync_round) a partition sweeps its links once. It publishes the earliest output times of
//! its border links, hands over packets, and waits at a [barrier](spin_barrier). Then it reads the data of
//! the other partitions. Only the first round runs endpoints without a sweep. This is a synchronous
//! conservative protocol: within a round, other partitions' earliest output times are those of the round
//! before. Rounds repeat until all links have reached the end of the interval. Then the partitions return
//! their state to the whole network.
//!
//! [`partitioning`] cuts the network where lookahead is longest. [`tuner`] measures whether threads pay. A
//! network with sessions or aggregates is not partitioned.

pub mod partition;
pub mod partitioning;
pub mod spin_barrier;
pub mod sync_round;
pub mod tuner;
