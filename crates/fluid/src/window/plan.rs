//! The network as packets see it: wires between links and ends, and a hop for every link of every
//! connection's way.

use std::collections::HashMap;

use super::wire::Wire;
use crate::network::{ACK_BYTES, NO_BRANCH, Network};
use crate::{ConnectionId, Source};

/// Where packets on a wire arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Link(u32),
    /// The receiver of a transfer.
    Receiver(u32),
    /// The sender of a transfer, where acknowledgements arrive.
    Sender(u32),
}

/// One link on the way of one transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    /// Transmission of its packets there.
    pub service_ns: u64,
    /// The wire behind the link.
    pub out: u32,
    pub transfer: u32,
}

/// Where a way begins: its first hop and the wire to its first link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    pub hop: u32,
    pub wire: u32,
}

/// The ways of one transfer, and the wires that end at it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    pub connection: u32,
    pub data: Way,
    pub acks: Way,
    pub data_in: u32,
    pub acks_in: u32,
}

/// What the network looks like at its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub hops: Vec<Hop>,
    /// Parallel to `hops`: transmission of the very first packet, which has no payload.
    pub header_ns: Vec<u64>,
    pub is_ack: Vec<bool>,
    pub wires: Vec<Wire>,
    pub targets: Vec<Target>,
    /// By wire: the link it begins at, or none: it begins at ends.
    pub origins: Vec<Option<u32>>,
    pub ends: Vec<Ends>,
    between: HashMap<(u32, u32), u32>,
}

const ENDS: u32 = u32::MAX;

impl Plan {
    pub fn new(network: &Network) -> Plan {
        let mut plan = Plan::default();
        for id in network.connections() {
            let spec = network.connection_spec(id);
            for _ in 0..spec.count {
                plan.add(network, id);
            }
        }
        plan
    }

    fn add(&mut self, network: &Network, id: ConnectionId) {
        let inner = &network.inner;
        let spec = network.connection_spec(id);
        let class = inner.class_of[id.index()] as usize;
        let branch = inner.epochs[0].branch_of[class];
        if branch == NO_BRANCH {
            return;
        }
        let transfer = self.ends.len() as u32;
        let data_bits = 8.0 * spec.packet_size_bytes;
        let (data, data_in) = self.way(
            network,
            inner.data_path(branch),
            data_bits,
            Target::Receiver(transfer),
            transfer,
        );
        let (acks, acks_in) = match spec.source {
            Source::Constant { .. } | Source::Poisson { .. } => Default::default(),
            _ => self.way(
                network,
                inner.back_path(branch),
                8.0 * ACK_BYTES,
                Target::Sender(transfer),
                transfer,
            ),
        };
        self.ends.push(Ends {
            connection: id.0,
            data,
            acks,
            data_in,
            acks_in,
        });
    }

    fn way(
        &mut self,
        network: &Network,
        links: &[u32],
        bits: f64,
        end: Target,
        transfer: u32,
    ) -> (Way, u32) {
        let mut way = Way {
            hop: self.hops.len() as u32,
            wire: 0,
        };
        let mut last = 0;
        for (i, &link) in links.iter().enumerate() {
            if i == 0 {
                way.wire = self.wire(None, Target::Link(link));
            }
            let target = links.get(i + 1).map_or(end, |&next| Target::Link(next));
            last = self.wire(Some(link), target);
            let bps = network.inner.links[link as usize].bandwidth_bps;
            let ns = |bits: f64| (bits / bps * 1e9).round().min(1e18) as u64;
            self.hops.push(Hop {
                service_ns: ns(bits),
                out: last,
                transfer,
            });
            self.header_ns.push(ns(bits.min(8.0 * ACK_BYTES)));
            self.is_ack.push(matches!(end, Target::Sender(_)));
        }
        (way, last)
    }

    /// The wire from a link (or from ends) to where its packets arrive.
    fn wire(&mut self, from: Option<u32>, target: Target) -> u32 {
        let wires = &mut self.wires;
        let (targets, origins) = (&mut self.targets, &mut self.origins);
        let mut add = || {
            wires.push(Wire::default());
            targets.push(target);
            origins.push(from);
            wires.len() as u32 - 1
        };
        match target {
            Target::Link(to) => *self
                .between
                .entry((from.unwrap_or(ENDS), to))
                .or_insert_with(add),
            _ => add(),
        }
    }
}
