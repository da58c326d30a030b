//! What a scenario has and the other tool cannot have.

/// Why a scenario cannot be exported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExportError {
    /// An option is outside its range.
    #[error("{option} is {value}, but must be {allowed}")]
    Option {
        /// Which.
        option: &'static str,
        /// What was given.
        value: f64,
        /// What may be given.
        allowed: &'static str,
    },
    /// ns-2 counts bytes in 32 bits.
    #[error(
        "an interval of {every_s} s is too long: ns-2 counts up to {most} bytes, and more can cross link {link} in it",
        most = u32::MAX
    )]
    Interval {
        /// The interval asked for, in seconds.
        every_s: f64,
        /// The fastest link.
        link: String,
    },
    /// A link to be traced that does not exist.
    #[error("there is no link `{0}` to trace")]
    UnknownLink(String),
    /// A queue without a place to wait.
    #[error(
        "link {link}: its buffer has room for {buffer_pkts} pkt, but ns-2's queues hold at least 2 (the packet in service and one more)"
    )]
    Room {
        /// Which link.
        link: String,
        /// Packets that its buffer holds.
        buffer_pkts: f64,
    },
    /// A buffer that follows a bandwidth that changes.
    #[error(
        "link {link}: its bandwidth changes, and ns-2 has no buffer that follows it; give the buffer in packets or bytes"
    )]
    BufferTime {
        /// The link's name.
        link: String,
    },
    /// One of several links between the same nodes.
    #[error(
        "link {link}: links with a `circuit` cannot be exported to ns-2, which knows links by their ends"
    )]
    Circuit {
        /// Which link.
        link: String,
    },
    /// A link whose packets have more bytes on the wire than those of IP.
    #[error(
        "link {link}: links with `overhead` cannot be exported to ns-2, whose links transmit the bytes of a packet and no more; set `overhead = \"0 B\"`"
    )]
    Overhead {
        /// Which link.
        link: String,
    },
    /// A queue that tells drop precedences apart.
    #[error("link {link}: queues with drop precedences cannot be exported to ns-2 yet")]
    Precedences {
        /// Which link.
        link: String,
    },
    /// A TCP that ns-2's agents do not know.
    #[error(
        "connection `{connection}`: ns-2 has no TCP like the stack `{stack}`; `window = \"reno\"` is one that it has"
    )]
    Stack {
        /// Which connection.
        connection: String,
        /// Its stack.
        stack: String,
    },
    /// A queue that ns-2 does not know.
    #[error("link {link}: ns-2.35 has no CoDel, FQ-CoDel and PIE")]
    Managed {
        /// Which link.
        link: String,
    },
    /// A link that loses packets in bursts.
    #[error("link {link}: losses in bursts cannot be exported to ns-2 yet; independent ones can")]
    LossInBursts {
        /// Which link.
        link: String,
    },
    /// A link with several queues.
    #[error("link {link}: links with classes cannot be exported to ns-2 yet")]
    Classes {
        /// Which link.
        link: String,
    },
    /// Aggregates whose packets would not be marked.
    #[error("aggregate {aggregate}: conditioners cannot be exported to ns-2 yet")]
    Aggregate {
        /// Which aggregate.
        aggregate: String,
    },
    /// Users.
    #[error("workload {workload}: users cannot be exported to ns-2 yet")]
    Workload {
        /// Which workload.
        workload: String,
    },
    /// Transfers that come and go.
    #[error("demand {demand}: transfers that come and go cannot be exported to ns-2 yet")]
    Demand {
        /// Which demand.
        demand: String,
    },
    /// A packet that would never get through.
    #[error(
        "link {link}: packets of {packet_bytes} B (connection {connection}) do not fit into its buffer beside one in service, so ns-2 would let none through"
    )]
    LargePacket {
        /// Which link.
        link: String,
        /// Whose packets.
        connection: String,
        /// Their size on the wire in bytes.
        packet_bytes: f64,
    },
    /// A packet size that ns-2 cannot have.
    #[error("connection {connection}: its packets have {packet_bytes} B, but must have {allowed}")]
    PacketSize {
        /// Which connection.
        connection: String,
        /// Size on the wire in bytes.
        packet_bytes: f64,
        /// What ns-2 can have.
        allowed: &'static str,
    },
    /// A profile that does not say which TCP it was measured from.
    #[error(
        "connection {connection}: which TCP of ns-2 stands for profile `{profile}` is not known; choose one for all (--tcp)"
    )]
    UnknownTcp {
        /// Which connection.
        connection: String,
        /// Its profile's name.
        profile: String,
    },
    /// A transfer of a size from a Poisson source.
    #[error(
        "connection {connection}: ns-2's Poisson sources do not end after a number of packets; give it a `stop` instead of its `size`"
    )]
    PoissonSize {
        /// Which connection.
        connection: String,
    },
    /// A transfer larger than ns-2 can count.
    #[error(
        "connection {connection}: {size_pkts} packets are more than the {most} that ns-2 can count",
        most = crate::export::ns2::MOST_PACKETS
    )]
    Size {
        /// Which connection.
        connection: String,
        /// Packets to send.
        size_pkts: f64,
    },
}
