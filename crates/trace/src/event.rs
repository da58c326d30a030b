//! Event model that is common to all trace formats.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Event of a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Time in nanoseconds since the start of the simulation (ns-2) or since 1970 (captures).
    pub time_ns: i64,
    /// Kind of event.
    pub kind: EventKind,
    /// Link of the event; `None` in captures.
    pub link: Option<Link>,
    /// Packet of the event.
    pub packet: Packet,
}

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Arrival at the queue of the link (ns-2 `+`).
    Enqueued,
    /// Departure from the queue: the transmission starts (ns-2 `-`).
    Dequeued,
    /// Arrival at the link's end (ns-2 `r`).
    Received,
    /// Drop by the queue, or on the link if dequeued before (ns-2 `d`).
    Dropped,
    /// Passage at the capture point (pcap, pcapng).
    Captured,
}

/// Directed link, by the numbers of its nodes in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// Number of the node where the link starts.
    pub from: u32,
    /// Number of the node where the link ends.
    pub to: u32,
}

/// Endpoint of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// Port of an ns-2 node.
    Node {
        /// Number of the node.
        node: u32,
        /// Port of the node.
        port: u32,
    },
    /// IPv4 address and port; port 0 if the protocol has none.
    V4(Ipv4Addr, u16),
    /// IPv6 address and port; port 0 if the protocol has none.
    V6(Ipv6Addr, u16),
}

/// Transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP: data and acknowledgements.
    Tcp,
    /// UDP and similar ns-2 packet types (`cbr`, `exp`, …).
    Udp,
    /// Any other protocol.
    Other,
}

/// Packet as the trace shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Packet id: ns-2's unique id, or the index in a capture from 0.
    pub id: u64,
    /// Bytes of the network-layer packet (ns-2's packet size; IP's total length).
    pub bytes: u32,
    /// Sender.
    pub from: Endpoint,
    /// Receiver.
    pub to: Endpoint,
    /// Flow id of ns-2; 0 in captures.
    pub flow: u32,
    /// Transport protocol.
    pub transport: Transport,
    /// TCP header, if there is one.
    pub segment: Option<Segment>,
}

/// TCP header. Sequence numbers have the unit of the trace. In captures they are bytes (32 bits,
/// wrapping; SYN and FIN take one). In ns-2 they are packets: the first has number 0, and an
/// acknowledgement of packet n has `ack = n + 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte (or the packet).
    pub seq: u32,
    /// Length of the payload in units of `seq`: bytes, or 1 for an ns-2 data packet; 0 for a pure
    /// acknowledgement.
    pub len: u32,
    /// Next sequence number that the receiver expects, if present.
    pub ack: Option<u32>,
    /// SYN flag.
    pub syn: bool,
    /// FIN flag.
    pub fin: bool,
    /// RST flag.
    pub rst: bool,
    /// SACK blocks as (first, one past the last); the first `sack_blocks` are valid.
    pub sack: [(u32, u32); 4],
    /// Number of valid SACK blocks, 0 to 4.
    pub sack_blocks: u8,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// Maximum segment size that the sender of a SYN announces, in bytes, TCP options included.
    pub mss: Option<u16>,
    /// True for congestion experienced (CE) in the IP header, or ECN-echo in the TCP header.
    pub ecn: bool,
}
