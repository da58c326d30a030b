//! In which order packets that arrive at the same moment come, and who has which random numbers: by
//! what links and connections are, never by their rows or names, so that a file with its rows in
//! another order gives the same bits.

use netflow_network::likeness::{hash_of, likenesses, told_apart};
use netflow_network::{Network, Source};

/// The order of connections, and the numbers of random streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// All connections in the order of their transfers. Requests and replies of a pair of nodes
    /// follow each other.
    pub connections: Vec<u32>,
    /// By link.
    pub links: Vec<u64>,
    /// By transfer that there is from the start.
    pub transfers: Vec<u64>,
    /// By aggregate.
    pub edges: Vec<u64>,
    /// By connection: the number of its first transfer, and how many more were numbered.
    more: Vec<(u64, u32)>,
}

impl Numbers {
    pub fn new(network: &Network) -> Numbers {
        let inner = &**network.tables();
        let (links, of_connection) = likenesses(inner);
        // Requests come before their replies, in the next row.
        let first_of_pair = |c: u32| match &inner.connections[c as usize].source {
            Source::Users(traffic) if traffic.replies => c - 1,
            _ => c,
        };
        let mut connections: Vec<u32> = (0..inner.connections.len() as u32).collect();
        connections.sort_by_key(|&c| {
            let first = first_of_pair(c);
            (of_connection[first as usize], first, c)
        });
        let each = connections.iter().flat_map(|&c| {
            let count = inner.connections[c as usize].count as usize;
            std::iter::repeat_n(of_connection[c as usize], count)
        });
        let transfers = told_apart(each);
        let mut more = vec![(0, 0); connections.len()];
        let mut next = 0;
        for &c in &connections {
            more[c as usize].0 = transfers.get(next).copied().unwrap_or_default();
            next += inner.connections[c as usize].count as usize;
        }
        let edges = inner.aggregates.iter().map(|aggregate| {
            let members = aggregate.members.iter().map(|m| of_connection[m.index()]);
            let mut members: Vec<u64> = members.collect();
            members.sort_unstable();
            hash_of((format!("{:?}", aggregate.edge), members))
        });
        Numbers {
            edges: told_apart(edges),
            links: told_apart(links.into_iter()),
            connections,
            transfers,
            more,
        }
    }

    /// The number of one more transfer of a connection.
    pub fn of_another(&mut self, connection: u32) -> u64 {
        let (first, more) = &mut self.more[connection as usize];
        *more += 1;
        hash_of((*first, *more))
    }
}
