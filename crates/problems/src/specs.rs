//! Links and connections as most tests want them: they write what differs.

use netflow_network::{Acks, Application, Buffer, ConnectionSpec, LinkSpec, NodeId, Queue, Source};

/// A drop-tail link with room for so many packets.
pub fn link(from: NodeId, to: NodeId, bandwidth_bps: f64, delay_s: f64, room: f64) -> LinkSpec {
    LinkSpec {
        from,
        to,
        bandwidth_bps,
        delay_s,
        buffer: Buffer::Packets(room),
        queue: Queue::DropTail,
    }
}

/// One connection with packets of 1000 B that always has something to send, from the start to the
/// end, over the shortest way; every packet is acknowledged.
pub fn connection(name: &str, from: NodeId, to: NodeId, source: Source) -> ConnectionSpec {
    ConnectionSpec {
        name: name.to_owned(),
        from,
        to,
        source,
        application: Application::Bulk,
        start_s: 0.0,
        stop_s: None,
        size_pkts: None,
        count: 1,
        max_window_pkts: None,
        packet_size_bytes: 1000.0,
        path: None,
        return_path: None,
        acks: Acks::EveryPacket,
    }
}

/// The same, and nobody acknowledges.
pub fn one_way(name: &str, from: NodeId, to: NodeId, source: Source) -> ConnectionSpec {
    ConnectionSpec {
        acks: Acks::None,
        ..connection(name, from, to, source)
    }
}
