//! What every trace, wherever it comes from, consists of.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Something that happened to a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When: nanoseconds since the clock's zero (ns-2: the start of the simulation; captures: 1970).
    pub time_ns: i64,
    /// What happened.
    pub what: What,
    /// At which link; captures do not say.
    pub link: Option<Link>,
    /// To which packet.
    pub packet: Packet,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It arrived at the queue of the link (ns-2 `+`).
    Enqueued,
    /// It left the queue: its transmission begins (ns-2 `-`).
    Dequeued,
    /// It arrived at the link's end (ns-2 `r`).
    Received,
    /// It was dropped: by the queue, or on the link where it was dequeued before (ns-2 `d`).
    Dropped,
    /// It passed the point where it was captured (pcap, pcapng).
    Captured,
}

/// A directed link, by the numbers of its nodes in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// Number of the node where it starts.
    pub from: u32,
    /// Number of the node where it ends.
    pub to: u32,
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// A port of an ns-2 node.
    Node {
        /// Number of the node.
        node: u32,
        /// Port on it.
        port: u32,
    },
    /// A port of an IPv4 address; port 0 where the protocol has none.
    V4(Ipv4Addr, u16),
    /// A port of an IPv6 address; port 0 where the protocol has none.
    V6(Ipv6Addr, u16),
}

/// What carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP: data and acknowledgements.
    Tcp,
    /// UDP and what behaves like it (ns-2 `cbr`, `exp`, …).
    Udp,
    /// Anything else.
    Other,
}

/// A packet as the trace shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Its number in the trace: ns-2's unique id; of captures, its place in the file from 0.
    pub id: u64,
    /// Bytes on the wire from the network layer on (ns-2's packet size; IP's total length).
    pub bytes: u32,
    /// Sender.
    pub from: Endpoint,
    /// Receiver.
    pub to: Endpoint,
    /// ns-2's flow id; 0 in captures.
    pub flow: u32,
    /// What carries its data.
    pub transport: Transport,
    /// What its TCP header says, where it has one.
    pub segment: Option<Segment>,
}

/// What a TCP header says. Sequence numbers count what the trace counts: bytes in captures (32 bits,
/// wrapping; SYN and FIN take one), packets in ns-2 (where the first packet has number 0, and an
/// acknowledgement of packet n stands here as `ack = n + 1`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte (or the packet).
    pub seq: u32,
    /// Length of the payload in the units of `seq`: bytes, or 1 for an ns-2 data packet; 0 for a
    /// pure acknowledgement.
    pub len: u32,
    /// The next sequence number that the other side expects, if it says.
    pub ack: Option<u32>,
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// Blocks beyond `ack` that arrived, as (first, one past the last); the first `sack_blocks` are
    /// valid.
    pub sack: [(u32, u32); 4],
    /// How many.
    pub sack_blocks: u8,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// The longest payload that its sender takes, in bytes, options of TCP included: where a captured SYN says so.
    pub mss: Option<u16>,
    /// Congestion experienced in the IP header, or ECN-echo in TCP's.
    pub ecn: bool,
}
