//! Conservative synchronization: every link advances as far as no earlier arrival can reach it.
//!
//! A *logical process* is a link together with the endpoints that it feeds. Its state advances in
//! simulated time without a global event list, as in the algorithms of Chandy and Misra (*Distributed
//! simulation*, IEEE Trans. Software Engineering SE-5, 1979) and Bryant (*Simulation of packet
//! communication architecture computer systems*, MIT-LCS-TR-188, 1977). For a link `l`:
//!
//! ```text
//! earliest input    EIT(l) = min EOT(k) over the links k that feed l, directly or through an endpoint
//! earliest output   EOT(l) = max(busy until, EIT(l)) + shortest transmission + propagation delay
//! lookahead              L = shortest transmission + propagation delay
//! ```
//!
//! Before EOT(l), nothing arrives behind link `l` except packets that are on its wires already. So a link
//! processes all arrivals before EIT(l) in one batch, sorted by time, and then raises its EOT. Endpoints
//! run directly after the link that feeds them. They may send at once because their lookahead is zero.
//!
//! - [`conservative`] advances links and endpoints in one of two ways that give the same result.
//!   *Sweeps* visit all links again and again until they reach the end of an interval. *Event by event*
//!   execution follows an [event list](event_list) where packets are too rare for sweeps to pay.
//! - [`sweep_order`] finds the order of a sweep. A link should come after the links that feed it, which
//!   cycles forbid. Links on short cycles form inner loops, which is a weak topological order (Bourdoncle,
//!   *Efficient chaotic iteration strategies with widenings*, 1993).
//! - [`dependencies`] has, for every link, the links that feed it and the endpoints that it feeds.
//! - [`merge`] sorts the arrivals from several wires.
//!
//! Simultaneous arrivals at a link are ordered by [`Packet::order`](crate::link::wire::Packet::order), which depends on
//! names and not on rows or threads. Therefore sweeps, event lists and partitions give the same bits.

pub mod conservative;
pub mod dependencies;
pub mod event_list;
pub mod merge;
pub mod sweep_order;
