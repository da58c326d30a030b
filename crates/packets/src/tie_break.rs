//! Deterministic tie-breaking: the order of simultaneous packets, and the numbers of random-number streams.
//!
//! Both depend on the names of links and connections, never on their rows. A file with its rows in another
//! order gives the same bits. A run with another buffer size uses the same random numbers.

use netflow_network::hash::fnv_hash;
use netflow_network::{Network, Source};

/// Order of connections, and numbers of random-number streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct TieBreak {
    /// Connections in the order of their transfers. The requests and replies of a pair of nodes are adjacent.
    pub connections: Vec<u32>,
    /// Numbers of links.
    pub links: Vec<u64>,
    /// Numbers of the transfers that exist from the start.
    pub transfers: Vec<u64>,
    /// Numbers of aggregates.
    pub edges: Vec<u64>,
    /// Hash of the name, and number of transfers numbered so far, by connection.
    names: Vec<(u64, u32)>,
}

impl TieBreak {
    pub fn new(network: &Network) -> TieBreak {
        let inner = &**network.tables();
        // Requests precede their replies, which are in the next row.
        let turn = |c: u32| match &inner.connections[c as usize].source {
            Source::Users(traffic) if traffic.replies => {
                (&inner.connections[c as usize - 1].name, true)
            }
            _ => (&inner.connections[c as usize].name, false),
        };
        let mut connections: Vec<u32> = (0..inner.connections.len() as u32).collect();
        connections.sort_by_key(|&c| turn(c));
        let names = inner
            .connections
            .iter()
            .map(|spec| (fnv_hash(&spec.name), 0));
        let mut tie_break = TieBreak {
            links: inner.link_names.iter().map(fnv_hash).collect(),
            edges: inner
                .aggregates
                .iter()
                .map(|it| fnv_hash(&it.name))
                .collect(),
            names: names.collect(),
            ..TieBreak::default()
        };
        for &c in &connections {
            let count = inner.connections[c as usize].count;
            let transfers = (0..count).map(|_| tie_break.next_transfer_number(c));
            let transfers: Vec<u64> = transfers.collect();
            tie_break.transfers.extend(transfers);
        }
        tie_break.connections = connections;
        tie_break
    }

    /// Returns the number of another transfer of a connection.
    pub fn next_transfer_number(&mut self, connection: u32) -> u64 {
        let (name, numbered) = &mut self.names[connection as usize];
        *numbered += 1;
        fnv_hash((*name, *numbered))
    }
}
