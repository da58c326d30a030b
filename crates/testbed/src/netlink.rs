//! The few requests to the kernel's routing that a link's end needs, for the calling thread's
//! namespace.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Brings a device up, with room for so many packets that wait to be sent.
pub(crate) fn up(index: u32, queue_pkts: Option<u32>) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.attributes = queue_pkts
        .map(LinkAttribute::TxQueueLen)
        .into_iter()
        .collect();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    request(RouteNetlinkMessage::SetLink(message), 0)
}

/// Gives a device an address, without a route.
pub(crate) fn add_address(index: u32, address: Ipv4Addr) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = 32;
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Local(IpAddr::V4(address)),
        AddressAttribute::Address(IpAddr::V4(address)),
    ];
    let message = RouteNetlinkMessage::NewAddress(message);
    request(message, NLM_F_CREATE | NLM_F_EXCL)
}

/// A route to one address over a device, with what TCP has to do on it.
pub(crate) fn add_route(
    index: u32,
    from: Ipv4Addr,
    to: Ipv4Addr,
    metrics: Vec<RouteMetric>,
) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: AddressFamily::Inet,
        destination_prefix_length: 32,
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope: RouteScope::Link,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    message.attributes = vec![
        RouteAttribute::Destination(RouteAddress::Inet(to)),
        RouteAttribute::PrefSource(RouteAddress::Inet(from)),
        RouteAttribute::Oif(index),
        RouteAttribute::Metrics(metrics),
    ];
    let message = RouteNetlinkMessage::NewRoute(message);
    request(message, NLM_F_CREATE | NLM_F_EXCL)
}

fn request(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);

    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.send_to(&bytes, &SocketAddr::new(0, 0), 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer =
        NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}
