//! Totals of the network: one number for each quantity.

use netflow_network::Column;

use crate::{CONNECTIONS, LINKS};

/// A quantity of the whole network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkQuantity {
    /// Packets in all queues.
    Queue,
    /// Utilization of the busiest link.
    Highest,
    /// Packets/s sent by all connections.
    Send,
    /// Packets/s delivered to all connections.
    Goodput,
}

impl NetworkQuantity {
    /// All quantities, in the order of their rows.
    pub const ALL: [NetworkQuantity; 4] = [
        NetworkQuantity::Queue,
        NetworkQuantity::Highest,
        NetworkQuantity::Send,
        NetworkQuantity::Goodput,
    ];

    /// Returns its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            NetworkQuantity::Queue => "queue_pkts",
            NetworkQuantity::Highest => "highest_utilization",
            NetworkQuantity::Send => "send_pps",
            NetworkQuantity::Goodput => "goodput_pps",
        }
    }

    /// Computes the quantity from the values of all links and connections in an interval, row by row. NaN
    /// without values.
    pub(crate) fn of(self, links: &[f64], connections: &[f64]) -> f64 {
        let column = |values: &[f64], columns: &[Column], name| -> Vec<f64> {
            let values = values.iter().skip(Column::place(columns, name));
            let values = values.step_by(columns.len()).copied();
            values.filter(|value| !value.is_nan()).collect()
        };
        let links = |name| column(links, LINKS.values, name);
        let connections = |name| column(connections, CONNECTIONS.values, name);
        let sum = |values: Vec<f64>| {
            if values.is_empty() {
                f64::NAN
            } else {
                values.iter().sum()
            }
        };
        match self {
            NetworkQuantity::Queue => sum(links("queue_pkts")),
            NetworkQuantity::Highest => links("utilization").into_iter().fold(f64::NAN, f64::max),
            NetworkQuantity::Send => sum(connections("send_pps")),
            NetworkQuantity::Goodput => sum(connections("goodput_pps")),
        }
    }
}
