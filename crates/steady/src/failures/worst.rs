//! Worst values of a steady state.

use netflow_network::{ConnectionId, LinkId, Network};

use crate::{ConnectionSteady, LinkSteady};

/// Load above which a link is busy. Loads are compared as tables print them, in steps of 0.01 %.
pub const BUSY_LOAD: f64 = 0.9;

/// Worst values in a network in steady state, and their places; `None` if there is no positive
/// value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst {
    /// The highest load of a link: demand over bandwidth.
    pub load: Option<(LinkId, f64)>,
    /// Links whose load exceeds [`BUSY_LOAD`].
    pub busy_links: usize,
    /// Largest mean one-way delay of a connection's packets, in seconds.
    pub delay_s: Option<(ConnectionId, f64)>,
    /// Largest fraction of arriving packets that a queue drops.
    pub loss: Option<(LinkId, f64)>,
    /// Largest fraction of packets that a connection loses.
    pub connection_loss: Option<(ConnectionId, f64)>,
}

impl Worst {
    pub(super) fn of(
        network: &Network,
        links: &[LinkSteady],
        connections: &[ConnectionSteady],
    ) -> Worst {
        let links = || network.links().zip(links);
        let connections = || network.connections().zip(connections);
        let arriving = connections().filter(|(_, it)| it.goodput_pps > 0.0);
        let sending = connections().filter(|(_, it)| it.sending);
        Worst {
            load: max_by_value(links().map(|(id, it)| (id, it.load))),
            busy_links: links().filter(|(_, it)| is_busy(it.load)).count(),
            delay_s: max_by_value(arriving.map(|(id, it)| (id, it.delay_s))),
            loss: max_by_value(links().map(|(id, it)| (id, it.loss_probability))),
            connection_loss: max_by_value(sending.map(|(id, it)| (id, it.loss_probability))),
        }
    }
}

/// Returns whether a load, rounded to 0.01 %, exceeds [`BUSY_LOAD`].
fn is_busy(load: f64) -> bool {
    (load * 1e4).round() > BUSY_LOAD * 1e4
}

/// Returns the largest of positive values; among values that differ by rounding only, the first.
fn max_by_value<T>(of: impl Iterator<Item = (T, f64)>) -> Option<(T, f64)> {
    let mut most: Option<(T, f64)> = None;
    for (id, value) in of {
        if value > most.as_ref().map_or(0.0, |it| it.1 * (1.0 + 1e-9)) {
            most = Some((id, value));
        }
    }
    most
}
