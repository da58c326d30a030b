//! In which order packets that arrive at the same moment come, and who has which random numbers: by
//! the names of links and connections, never by their rows. A file with its rows in another order gives
//! the same bits, and whoever changes a buffer compares with the same draws.

use netflow_network::hash::hash_of;
use netflow_network::{Network, Source};

/// The order of connections, and the numbers of random streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct TieBreak {
    /// All connections in the order of their transfers. Requests and replies of a pair of nodes
    /// follow each other.
    pub connections: Vec<u32>,
    /// By link.
    pub links: Vec<u64>,
    /// By transfer that there is from the start.
    pub transfers: Vec<u64>,
    /// By aggregate.
    pub edges: Vec<u64>,
    /// By connection: the number of its name, and how many transfers were numbered.
    names: Vec<(u64, u32)>,
}

impl TieBreak {
    pub fn new(network: &Network) -> TieBreak {
        let inner = &**network.tables();
        // Requests come before their replies, in the next row.
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
            .map(|spec| (hash_of(&spec.name), 0));
        let mut numbers = TieBreak {
            links: inner.link_names.iter().map(hash_of).collect(),
            edges: inner
                .aggregates
                .iter()
                .map(|it| hash_of(&it.name))
                .collect(),
            names: names.collect(),
            ..TieBreak::default()
        };
        for &c in &connections {
            let count = inner.connections[c as usize].count;
            let transfers = (0..count).map(|_| numbers.of_another(c));
            let transfers: Vec<u64> = transfers.collect();
            numbers.transfers.extend(transfers);
        }
        numbers.connections = connections;
        numbers
    }

    /// The number of one more transfer of a connection.
    pub fn of_another(&mut self, connection: u32) -> u64 {
        let (name, numbered) = &mut self.names[connection as usize];
        *numbered += 1;
        hash_of((*name, *numbered))
    }
}
