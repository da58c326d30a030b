//! Errors of the export to ns-2: features that it does not support.

use netflow_network::LinkElement;

/// Reason why a scenario cannot be exported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExportError {
    /// An option is outside its range.
    #[error("{option} is {value}, but must be {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Given value.
        value: f64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// An interval is too long, because ns-2 counts bytes in 32 bits.
    #[error(
        "an interval of {every_s} s is too long: ns-2 counts up to {most} bytes, but more can cross link {link} in it",
        most = u32::MAX
    )]
    Interval {
        /// Requested interval, in seconds.
        every_s: f64,
        /// Name of the fastest link.
        link: String,
    },
    /// A link to be traced does not exist.
    #[error("unknown link `{0}` to trace")]
    UnknownLink(String),
    /// A queue has no place to wait.
    #[error(
        "link {link}: its buffer is {buffer_pkts} pkt, but queues of ns-2 need at least 2 (the packet in service and one more)"
    )]
    BufferTooSmall {
        /// Name of the link.
        link: String,
        /// Buffer size in packets.
        buffer_pkts: f64,
    },
    /// A buffer is given as a time, and the bandwidth changes.
    #[error(
        "link {link}: its bandwidth changes, but a buffer of ns-2 cannot change; give the buffer in packets or bytes"
    )]
    BufferTime {
        /// Name of the link.
        link: String,
    },
    /// A link is one of several between the same nodes.
    #[error(
        "link {link}: links with a `circuit` cannot be exported to ns-2, which identifies links by their ends"
    )]
    ParallelLink {
        /// Name of the link.
        link: String,
    },
    /// A link adds bytes to the size of an IP packet.
    #[error(
        "link {link}: links with `overhead` cannot be exported to ns-2, which has no overhead; set `overhead = \"0 B\"`"
    )]
    Overhead {
        /// Name of the link.
        link: String,
    },
    /// A link has an element that only netflow simulates: a token bucket, jitter, a delivery trace, a bandwidth of 0.
    #[error("link {link}: {element} cannot be exported to ns-2")]
    LinkElement {
        /// Name of the link.
        link: String,
        /// Unsupported element.
        element: LinkElement,
    },
    /// A queue distinguishes drop precedences.
    #[error("link {link}: queues with drop precedences cannot be exported to ns-2 yet")]
    DropPrecedences {
        /// Name of the link.
        link: String,
    },
    /// A TCP stack has no counterpart in ns-2.
    #[error(
        "connection `{connection}`: ns-2 has no counterpart of the stack `{stack}`; use `source = {{ ns2-tcp = \"reno\" }}`"
    )]
    Stack {
        /// Name of the connection.
        connection: String,
        /// Name of its stack.
        stack: String,
    },
    /// A queue discipline does not exist in ns-2.
    #[error("link {link}: ns-2.35 does not support the queue discipline \"{discipline}\"")]
    UnsupportedQueue {
        /// Name of the link.
        link: String,
        /// Name of the discipline.
        discipline: &'static str,
    },
    /// A link has bursts of losses.
    #[error("link {link}: burst losses cannot be exported to ns-2 yet; use independent losses")]
    BurstyLoss {
        /// Name of the link.
        link: String,
    },
    /// A link has several queues.
    #[error("link {link}: links with classes cannot be exported to ns-2 yet")]
    Classes {
        /// Name of the link.
        link: String,
    },
    /// An aggregate's packets would not be marked.
    #[error("aggregate {aggregate}: conditioners cannot be exported to ns-2 yet")]
    Aggregate {
        /// Name of the aggregate.
        aggregate: String,
    },
    /// The scenario has users.
    #[error("workload {workload}: users cannot be exported to ns-2 yet")]
    Workload {
        /// Name of the workload.
        workload: String,
    },
    /// A demand consists of finite transfers.
    #[error("demand {demand}: finite transfers cannot be exported to ns-2 yet")]
    Demand {
        /// Name of the demand.
        demand: String,
    },
    /// A packet would never be transmitted.
    #[error(
        "link {link}: packets of {packet_bytes} B (connection {connection}) do not fit into its buffer with another packet in service, so ns-2 would drop all of them"
    )]
    LargePacket {
        /// Name of the link.
        link: String,
        /// Name of the packet's connection.
        connection: String,
        /// Packet size on the wire in bytes.
        packet_bytes: f64,
    },
    /// A packet size is not possible in ns-2.
    #[error("connection {connection}: its packets have {packet_bytes} B, but must have {allowed}")]
    PacketSize {
        /// Name of the connection.
        connection: String,
        /// Packet size on the wire in bytes.
        packet_bytes: f64,
        /// Packet sizes possible in ns-2.
        allowed: &'static str,
    },
    /// The TCP from which a profile was measured is unknown.
    #[error(
        "connection {connection}: no ns-2 TCP is known for profile `{profile}`; choose one for all connections (--tcp)"
    )]
    UnknownTcp {
        /// Name of the connection.
        connection: String,
        /// Name of its profile.
        profile: String,
    },
    /// A Poisson source has a transfer size.
    #[error(
        "connection {connection}: Poisson sources of ns-2 do not support a `size`; use `stop` instead"
    )]
    PoissonSize {
        /// Name of the connection.
        connection: String,
    },
    /// A transfer has more packets than ns-2 can count.
    #[error(
        "connection {connection}: it has {size_pkts} packets, but ns-2 counts at most {most}",
        most = crate::export::ns2::MAX_TRANSFER_PKTS
    )]
    Size {
        /// Name of the connection.
        connection: String,
        /// Number of packets to send.
        size_pkts: f64,
    },
}
