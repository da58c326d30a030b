//! Conservative synchronization: each link advances to the time before which all its arrivals are known.
//!
//! A *logical process* is a link together with the endpoints that it feeds. Its state advances in simulated
//! time without a global event list, as in the algorithms of Chandy and Misra (*Distributed simulation*, IEEE
//! Trans. Software Engineering SE-5, 1979) and Bryant (*Simulation of packet communication architecture
//! computer systems*, MIT-LCS-TR-188, 1977). For a link `l` in an interval that ends at `end`:
//!
//! ```text
//! earliest input   EIT(l) = min EOT(k) over the links k that feed l, directly or through an endpoint
//! local time       now(l) = min(EIT(l), end)
//! earliest output  EOT(l) = max(busy until, now(l)) + shortest transmission + propagation delay
//! lookahead          L(l) = shortest transmission + propagation delay
//! ```
//!
//! *Busy until* is the end of transmission of the last packet in a FIFO queue. In other queues, it is that of
//! the packet in transmission, because the discipline decides then which packet is next. Before EOT(l),
//! nothing arrives behind link `l` except packets that are on its wires already. So a link processes all
//! arrivals before now(l) in one batch, sorted by time, and then raises its EOT. At the start of an interval,
//! now(l) is that time. A transmission takes at least 1 ns. Therefore every lookahead is positive, and sweeps
//! cannot deadlock.
//!
//! Endpoints run directly after a link that feeds them. Their lookahead is zero, because they may send at the
//! time of an arrival. Their bounds, at most `end`, are:
//!
//! - An endpoint runs to the minimum EOT of all links that feed it. After a change of routes there may be
//!   several.
//! - A sender without acknowledgement traffic observes its receiver. It has the bound of the receiver.
//! - A session slot has two transfers. Their four endpoints share one bound: the minimum EOT of all links
//!   that feed any of them.
//! - A sender or session slot that no link feeds is *self-driven*: it runs to `end` before the sweeps.
//!
//! The modules are:
//!
//! - [`conservative`] advances links and endpoints in one of two modes with the same result. *Sweeps* visit
//!   all links again and again until they reach the end of the interval. *Event-by-event* execution follows
//!   [event lists](event_list). It is used if packets are too rare for sweeps to pay, or if the edge of an
//!   aggregate marks packets at several links.
//! - [`sweep_order`] finds the order of a sweep. A link should follow the links that feed it, which cycles
//!   prevent. Links on short cycles form nested inner loops, as in a weak topological order (Bourdoncle,
//!   *Efficient chaotic iteration strategies with widenings*, 1993).
//! - [`dependencies`] has, for every link, the links that feed it and the endpoints that it feeds.
//! - [`endpoint_index`] finds the endpoints with events behind a link that feeds many of them.
//! - [`merge`] sorts the arrivals from several wires.
//!
//! Simultaneous arrivals at a link are ordered by [`Packet::order`](crate::link::wire::Packet::order), which
//! depends on names and not on rows or threads. Therefore sweeps, event lists and partitions give the same
//! bits.

pub mod conservative;
pub mod dependencies;
pub mod endpoint_index;
pub mod event_list;
pub mod merge;
pub mod sweep_order;
