//! Compiled network: wires between links and endpoints, and a hop for every link on every path.

use std::collections::HashMap;
use std::num::NonZeroU64;

use netflow_diffserv::DropPrecedence;
use netflow_network::EcnCodepoint;
use netflow_network::compiled::CompiledNetwork;
use netflow_network::{ACK_BYTES, Acks, Network, Overhead, Source, service_ns};
use netflow_queues::{PacketDetails, TcpAck};
use netflow_tcpmodel::{EcnFeedback, Stack};
use netflow_units::NonMaxU32;

use crate::endpoint::ack_encoding::{SYN_ACK_SEQ, acknowledgement, listed_blocks};
use crate::link::class_scheduler::senders;
use crate::link::queue::Link;
use crate::link::queue_disc::{CONGESTED, RETRANSMITTED};
use crate::link::wire::{Packet, Wires};
use crate::tie_break::TieBreak;

/// Destination of the packets on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Link(u32),
    /// Receiver of a transfer.
    Receiver(u32),
    /// Sender of a transfer, which receives acknowledgements.
    Sender(u32),
}

/// One link on the path of one transfer: data that every packet needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// Transmission time of its packets in ns; `None` if they differ in size.
    pub service_ns: Option<NonZeroU64>,
    /// Number of packets that arrived at the link.
    pub arrived: u64,
    /// Wire behind the link.
    pub output_wire: u32,
    /// Aggregate whose edge marks arrivals here.
    pub edge: Option<NonMaxU32>,
}

/// Further data of a hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopSpec {
    /// Transmission time of the first packet in ns, which may have no payload.
    pub header_ns: u64,
    /// Transmission time of the smallest packet in ns.
    pub min_service_ns: u64,
    pub transfer: u32,
    pub link: u32,
    pub is_ack: bool,
    /// ECN code point of its packets.
    ecn: EcnCodepoint,
    /// Drop precedence of its packets. A path of marked packets has three copies of its hops, one for each
    /// precedence. They are `stride` hops apart.
    pub precedence: DropPrecedence,
    pub stride: u32,
    /// Variation of packet sizes.
    pub sizes: Sizes,
    /// IP bytes of its packets, which edges meter.
    pub ip_bytes: u32,
    /// Bits on the wire of its packets (the largest of messages, the smallest acknowledgement), and of the
    /// first packet.
    pub bits: f64,
    pub header_bits: f64,
}

/// Variation of packet sizes on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Equal sizes, except perhaps for the first packet.
    Equal,
    /// Messages of users, whose last packets have any size.
    Messages,
    /// Acknowledgements of a TCP stack: bytes on the wire by number of SACK blocks (RFC 2018).
    Acks {
        bytes: [u16; 5],
        /// True if they have a counter of marked packets (Accurate ECN).
        has_counter: bool,
    },
}

impl Sizes {
    /// Returns the sizes on the wire of a link with this overhead, if they are known in advance.
    fn with_overhead(self, overhead: Overhead) -> Sizes {
        match self {
            Sizes::Acks { bytes, has_counter } => {
                let on_wire = |bytes: u16| overhead.wire_bytes(f64::from(bytes)).round() as u16;
                Sizes::Acks {
                    bytes: bytes.map(on_wire),
                    has_counter,
                }
            }
            Sizes::Equal | Sizes::Messages => self,
        }
    }
}

/// No wire. It is outside all arrays, so that the bounds check of an access also finds missing wires.
pub(crate) const NO_WIRE: u32 = u32::MAX;

/// Start of a path: its first hop and the wire to its first link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathStart {
    pub hop: u32,
    pub wire: u32,
}

/// Returns the ECN code point of a stack's data.
fn ecn_codepoint(stack: &Stack) -> EcnCodepoint {
    if !stack.has_ecn() {
        EcnCodepoint::NotEct
    } else if stack.is_l4s() {
        EcnCodepoint::Ect1
    } else {
        EcnCodepoint::Ect0
    }
}

impl HopSpec {
    /// Returns the bits of an acknowledgement on the wire.
    pub fn ack_bits(&self, packet: &Packet) -> f64 {
        match self.sizes {
            Sizes::Acks { .. } if packet.seq == SYN_ACK_SEQ => self.header_bits,
            Sizes::Acks { bytes, has_counter } => {
                let blocks = listed_blocks(packet.metadata, has_counter) as usize;
                8.0 * f64::from(bytes[blocks.min(bytes.len() - 1)])
            }
            Sizes::Equal | Sizes::Messages => self.bits,
        }
    }

    /// Returns a number that distinguishes flows in queue disciplines.
    pub fn flow(&self) -> u64 {
        2 * u64::from(self.transfer) + u64::from(self.is_ack)
    }

    /// Returns further properties of this packet.
    pub fn details(
        &self,
        network: &CompiledNetwork,
        ends: &[TransferPaths],
        packet: &Packet,
    ) -> PacketDetails {
        let connection = ends[self.transfer as usize].connection as usize;
        let spec = &network.connections[connection];
        let [from, to] = [spec.from, spec.to].map(|node| node.index() as u32);
        let (source, destination) = if self.is_ack { (to, from) } else { (from, to) };
        let ack = match (self.sizes, &spec.source) {
            _ if !self.is_ack => None,
            (Sizes::Acks { .. }, _) if packet.seq == SYN_ACK_SEQ => None,
            (Sizes::Acks { has_counter, .. }, _) => {
                Some(acknowledgement(packet.seq, packet.metadata, has_counter))
            }
            (_, Source::Ns2Tcp(_)) => Some(TcpAck {
                cumulative: packet.seq as u32,
                is_replaceable: true,
                ..TcpAck::default()
            }),
            _ => None,
        };
        PacketDetails {
            source,
            destination,
            dscp: network.dscps[connection],
            ack,
        }
    }

    /// Returns the ECN code point of this packet. A SYN negotiates ECN, so it is not marked (RFC 3168,
    /// 6.1.1). Nor are retransmissions, unless the congestion control allows it.
    pub fn ecn(&self, packet: &Packet) -> EcnCodepoint {
        if packet.seq == 0 || packet.metadata & RETRANSMITTED != 0 {
            EcnCodepoint::NotEct
        } else if packet.metadata & CONGESTED != 0 && self.ecn.is_capable() {
            EcnCodepoint::Ce
        } else {
            self.ecn
        }
    }
}

impl PathStart {
    const NONE: PathStart = PathStart {
        hop: 0,
        wire: NO_WIRE,
    };
}

/// Paths of one transfer, and the wires that end at its endpoints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferPaths {
    pub connection: u32,
    pub data: PathStart,
    pub acks: PathStart,
    pub data_input_wire: u32,
    pub acks_input_wire: u32,
    /// Delay in ns of acknowledgements that are not traffic.
    pub off_network_ack_delay_ns: u64,
}

/// Current paths through the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topology {
    pub hops: Vec<Hop>,
    /// Further data of each hop.
    pub specs: Vec<HopSpec>,
    pub wires: Wires,
    pub targets: Vec<Target>,
    /// Links at which each wire begins; none if it begins at endpoints.
    pub origins: Vec<Vec<u32>>,
    /// Paths, by transfer.
    pub ends: Vec<TransferPaths>,
    /// Link that transmits for each link. Wires begin and end at these.
    pub senders: Vec<u32>,
    wire_between: HashMap<(u32, u32), u32>,
    /// Existing paths, by transfer and branch. They are used again if routes change back.
    cached_paths: HashMap<(u32, u32), TransferPaths>,
}

const ENDS: u32 = u32::MAX;

/// Packets in one direction of a transfer, with IP sizes.
struct PacketStream {
    transfer: u32,
    end: Target,
    sizes: Sizes,
    bits: f64,
    /// Bits of the first packet.
    header_bits: f64,
    ecn: EcnCodepoint,
    /// Aggregate whose edge marks the packets.
    marking_aggregate: Option<u32>,
}

impl Topology {
    pub fn new(network: &Network, tie_break: &TieBreak) -> Topology {
        let mut topology = Topology {
            senders: senders(network),
            ..Topology::default()
        };
        for &connection in &tie_break.connections {
            for _ in 0..network.tables().connections[connection as usize].count {
                topology.add(connection);
            }
        }
        topology
    }

    /// Returns the same paths, without packets and counts.
    pub fn placeholder(&self) -> Topology {
        let nothing = |hop: &Hop| Hop { arrived: 0, ..*hop };
        Topology {
            hops: self.hops.iter().map(nothing).collect(),
            specs: self.specs.clone(),
            wires: self.wires.placeholder(),
            targets: self.targets.clone(),
            origins: self.origins.clone(),
            ends: self.ends.clone(),
            senders: self.senders.clone(),
            // Needed for new paths only.
            wire_between: HashMap::new(),
            cached_paths: HashMap::new(),
        }
    }

    /// Adds a transfer of a connection, without a path.
    pub fn add(&mut self, connection: u32) {
        self.ends.push(TransferPaths {
            connection,
            data: PathStart::NONE,
            acks: PathStart::NONE,
            data_input_wire: NO_WIRE,
            acks_input_wire: NO_WIRE,
            off_network_ack_delay_ns: 0,
        });
    }

    /// Sends a transfer over a branch from now on, or nowhere without one. Packets in flight keep their path.
    pub fn route(&mut self, network: &Network, transfer: u32, branch: Option<u32>, links: &[Link]) {
        let known = branch.and_then(|branch| self.cached_paths.get(&(transfer, branch)));
        if let Some(&known) = known {
            self.ends[transfer as usize] = known;
            return;
        }
        let mut ends = self.ends[transfer as usize];
        (ends.data, ends.acks) = (PathStart::NONE, PathStart::NONE);
        if let Some(branch) = branch {
            let inner = network.tables();
            let spec = &inner.connections[ends.connection as usize];
            let data = inner.data_path(branch);
            let back = inner.back_path(branch);
            let bits = match &spec.source {
                Source::Users(traffic) => 8.0 * traffic.workload.packet_size_bytes,
                _ => 8.0 * spec.packet_size_bytes,
            };
            let stack = spec.source.stack();
            let syn_bits = 8.0 * stack.map_or(ACK_BYTES, Stack::syn_bytes);
            let packets = PacketStream {
                transfer,
                end: Target::Receiver(transfer),
                sizes: match spec.source {
                    Source::Users(_) => Sizes::Messages,
                    _ => Sizes::Equal,
                },
                bits,
                header_bits: match &spec.source {
                    Source::Ns2Tcp(w) if !w.variant.opens_connections() => bits,
                    _ => bits.min(syn_bits),
                },
                ecn: stack.map_or(EcnCodepoint::NotEct, ecn_codepoint),
                marking_aggregate: inner.classes[inner.class_paths[branch as usize].class as usize]
                    .aggregate,
            };
            (ends.data, ends.data_input_wire) = self.add_path(inner, data, &packets, links);
            let target = Target::Sender(transfer);
            match spec.source {
                Source::Constant { .. } | Source::Poisson { .. } => {}
                _ if spec.acks == Acks::None => {
                    let way = ack_delay_links(inner, branch).iter();
                    ends.off_network_ack_delay_ns = way.map(|&l| links[l as usize].delay_ns).sum();
                    ends.acks_input_wire = self.wire(None, target);
                    ends.acks = PathStart {
                        hop: 0,
                        wire: ends.acks_input_wire,
                    };
                }
                _ => {
                    let acks = PacketStream {
                        transfer,
                        end: target,
                        sizes: match stack {
                            Some(stack) => Sizes::Acks {
                                bytes: [0, 1, 2, 3, 4].map(|n| stack.ack_bytes(n) as u16),
                                has_counter: stack.ecn_rules().feedback == EcnFeedback::Accurate,
                            },
                            None => Sizes::Equal,
                        },
                        bits: 8.0 * spec.source.ack_bytes(),
                        header_bits: syn_bits,
                        ecn: EcnCodepoint::NotEct,
                        marking_aggregate: None,
                    };
                    (ends.acks, ends.acks_input_wire) = self.add_path(inner, back, &acks, links);
                }
            }
        }
        self.ends[transfer as usize] = ends;
        if let Some(branch) = branch {
            self.cached_paths.insert((transfer, branch), ends);
        }
    }

    /// Changes the delay of acknowledgements that are not traffic, on paths with this link. Returns whether
    /// there are any.
    pub fn retime_off_network_acks(
        &mut self,
        inner: &CompiledNetwork,
        link: u32,
        from_ns: u64,
        to_ns: u64,
    ) -> bool {
        let mut any = false;
        for (&(_, branch), ends) in &mut self.cached_paths {
            if ends.acks.wire == NO_WIRE || ends.acks.wire != ends.acks_input_wire {
                continue; // none, or they are traffic
            }
            if ack_delay_links(inner, branch).contains(&link) {
                ends.off_network_ack_delay_ns = ends.off_network_ack_delay_ns - from_ns + to_ns;
                any = true;
            }
        }
        any
    }

    fn add_path(
        &mut self,
        inner: &CompiledNetwork,
        path: &[u32],
        packets: &PacketStream,
        links: &[Link],
    ) -> (PathStart, u32) {
        let &PacketStream {
            transfer,
            end,
            sizes,
            bits,
            header_bits,
            ecn,
            marking_aggregate: marks,
        } = packets;
        let mut way = PathStart {
            hop: self.hops.len() as u32,
            wire: NO_WIRE,
        };
        let mut last = NO_WIRE;
        let is_ack = matches!(end, Target::Sender(_));
        let precedences = match marks {
            Some(_) => &DropPrecedence::ALL[..],
            // Acknowledgements are dropped last, data without an aggregate first.
            None if is_ack => &[DropPrecedence::Dp0],
            None => &[DropPrecedence::Dp2],
        };
        for &precedence in precedences {
            for (i, &link) in path.iter().enumerate() {
                if i == 0 {
                    way.wire = self.wire(None, Target::Link(self.sender(link)));
                }
                let next = path.get(i + 1).map(|&next| self.sender(next));
                last = self.wire(Some(self.sender(link)), next.map_or(end, Target::Link));
                // With a trace, several packets leave at the same time.
                let sender = &links[self.sender(link) as usize];
                if sender.delay_line.is_some() || sender.trace.is_some() {
                    self.wires.allow_reordering(last);
                }
                self.hops.push(Hop {
                    service_ns: None,
                    arrived: 0,
                    output_wire: last,
                    edge: match (i, precedence) {
                        (0, DropPrecedence::Dp0) => marks.and_then(NonMaxU32::new),
                        _ => None,
                    },
                });
                let overhead = inner.links[link as usize].overhead;
                self.specs.push(HopSpec {
                    header_ns: 0,
                    min_service_ns: 0,
                    transfer,
                    link,
                    is_ack,
                    ecn,
                    precedence,
                    stride: path.len() as u32,
                    sizes: sizes.with_overhead(overhead),
                    ip_bytes: (bits / 8.0).round() as u32,
                    bits: overhead.wire_bits(bits),
                    header_bits: overhead.wire_bits(header_bits),
                });
                self.set_bandwidth(self.hops.len() - 1, links[link as usize].bandwidth_bps);
            }
        }
        (way, last)
    }

    /// Returns the link that transmits for this one.
    pub fn sender(&self, link: u32) -> u32 {
        self.senders[link as usize]
    }

    /// Returns the links at which a wire begins.
    pub fn feeding_links(&self, wire: u32) -> &[u32] {
        self.origins.get(wire as usize).map_or(&[], Vec::as_slice)
    }

    /// Sets the bandwidth of the link of a hop.
    pub fn set_bandwidth(&mut self, hop: usize, bps: f64) {
        let ns = |bits: f64| service_ns(bits, bps);
        let spec = &mut self.specs[hop];
        spec.header_ns = ns(spec.header_bits);
        spec.min_service_ns = match spec.sizes {
            Sizes::Messages => 1,
            Sizes::Equal | Sizes::Acks { .. } => ns(spec.bits).min(spec.header_ns),
        };
        self.hops[hop].service_ns = match spec.sizes {
            Sizes::Equal => NonZeroU64::new(ns(spec.bits)),
            Sizes::Messages | Sizes::Acks { .. } => None,
        };
    }

    /// Returns the wire from a link, or from endpoints, to a destination. All packets to an endpoint share
    /// one wire.
    fn wire(&mut self, from: Option<u32>, target: Target) -> u32 {
        let key = match target {
            Target::Link(to) => (from.unwrap_or(ENDS), to),
            // Link numbers are far smaller.
            Target::Receiver(t) => (ENDS - 1, t),
            Target::Sender(t) => (ENDS - 2, t),
        };
        let next = self.wires.len() as u32;
        let wire = *self.wire_between.entry(key).or_insert(next);
        if wire == next {
            self.wires.add();
            self.targets.push(target);
            self.origins.push(Vec::new());
        }
        let origins = &mut self.origins[wire as usize];
        if let Some(link) = from
            && !origins.contains(&link)
        {
            origins.push(link);
        }
        if origins.len() != 1 {
            self.wires.allow_reordering(wire);
        }
        wire
    }
}

/// Returns the links whose delays apply to acknowledgements that are not traffic.
fn ack_delay_links(inner: &CompiledNetwork, branch: u32) -> &[u32] {
    match inner.back_path(branch) {
        [] => inner.data_path(branch),
        back => back,
    }
}
