//! Where a steady state is at its worst.

use netflow_network::{ConnectionId, LinkId, Network};

use crate::Steady;

/// A link that sends for more than this part of the time is busy.
pub const BUSY: f64 = 0.9;

/// The worst that happens in a network at rest, and where; `None` where nothing does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst {
    /// The largest part of the time that a link sends.
    pub utilization: Option<(LinkId, f64)>,
    /// Links that send for more than [`BUSY`] of the time.
    pub busy_links: usize,
    /// The longest mean time from sending to arrival of a connection's packets, in seconds.
    pub delay_s: Option<(ConnectionId, f64)>,
    /// The largest part of what arrives at a queue that it refuses.
    pub loss: Option<(LinkId, f64)>,
}

impl Worst {
    pub(super) fn of(steady: &Steady, network: &Network) -> Worst {
        let links = || network.links().zip(&steady.links);
        let connections = network.connections().zip(&steady.connections);
        let arriving = connections.filter(|(_, it)| it.goodput_pps > 0.0);
        Worst {
            utilization: largest(links().map(|(id, it)| (id, it.utilization))),
            busy_links: links().filter(|(_, it)| it.utilization > BUSY).count(),
            delay_s: largest(arriving.map(|(id, it)| (id, it.delay_s))),
            loss: largest(links().map(|(id, it)| (id, it.loss_probability))),
        }
    }
}

/// The largest of positive numbers, the first of equal ones.
fn largest<T>(of: impl Iterator<Item = (T, f64)>) -> Option<(T, f64)> {
    let mut most: Option<(T, f64)> = None;
    for (id, value) in of {
        if value > most.as_ref().map_or(0.0, |it| it.1) {
            most = Some((id, value));
        }
    }
    most
}
