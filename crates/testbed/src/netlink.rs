//! rtnetlink requests that set up a link's end, in the calling thread's namespace.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_bindings::rt_addr::{self, Ifaddrmsg};
use netlink_bindings::rt_link::{self, Ifinfomsg};
use netlink_bindings::rt_route::{self, Rtmsg};
use netlink_bindings::traits::NetlinkRequest;
use netlink_socket2::NetlinkSocket;

/// TCP settings of a route; `None` selects the kernel's default.
#[derive(Debug, Default)]
pub(crate) struct Metrics<'a> {
    /// Largest IP packet in bytes, locked so that TCP does not change it.
    pub mtu: Option<u16>,
    /// Largest window that the receiver announces, in bytes.
    pub window_bytes: Option<u32>,
    /// Congestion control.
    pub congestion: Option<&'a str>,
    /// Initial congestion window, in segments.
    pub initial_window: Option<u32>,
    /// True if ECN is requested.
    pub ecn: bool,
}

/// Brings a device up, with a transmit queue of `queue_pkts` packets if given.
pub(crate) fn bring_up(index: u32, queue_pkts: Option<u32>) -> io::Result<()> {
    let header = Ifinfomsg {
        ifi_index: index.cast_signed(),
        ifi_flags: libc::IFF_UP.cast_unsigned(),
        ifi_change: libc::IFF_UP.cast_unsigned(),
        ..Ifinfomsg::default()
    };
    let mut request = rt_link::Request::new().op_setlink_do(&header);
    if let Some(queue_pkts) = queue_pkts {
        request.encode().push_txqlen(queue_pkts);
    }
    send_request(&request)
}

/// Adds an address to a device, without a route.
pub(crate) fn add_address(index: u32, address: Ipv4Addr) -> io::Result<()> {
    let header = Ifaddrmsg {
        ifa_family: FAMILY,
        ifa_prefixlen: 32,
        ifa_index: index,
        ..Ifaddrmsg::default()
    };
    let request = rt_addr::Request::new().set_create().set_excl();
    let mut request = request.op_newaddr_do(&header);
    request
        .encode()
        .push_local(IpAddr::V4(address))
        .push_address(IpAddr::V4(address));
    send_request(&request)
}

/// Adds a route to one address over a device, with its TCP settings.
pub(crate) fn add_route(
    index: u32,
    from: Ipv4Addr,
    to: Ipv4Addr,
    metrics: &Metrics<'_>,
) -> io::Result<()> {
    let header = Rtmsg {
        rtm_family: FAMILY,
        rtm_dst_len: 32,
        rtm_table: libc::RT_TABLE_MAIN,
        rtm_protocol: libc::RTPROT_STATIC,
        rtm_scope: libc::RT_SCOPE_LINK,
        rtm_type: libc::RTN_UNICAST,
        ..Rtmsg::default()
    };
    let request = rt_route::Request::new().set_create().set_excl();
    let mut request = request.op_newroute_do(&header);
    let mut asked = request
        .encode()
        .push_dst(IpAddr::V4(to))
        .push_prefsrc(IpAddr::V4(from))
        .push_oif(index)
        .nested_metrics();
    if let Some(mtu) = metrics.mtu {
        asked = asked.push_mtu(mtu.into()).push_lock(1 << RTAX_MTU);
    }
    if let Some(window_bytes) = metrics.window_bytes {
        asked = asked.push_window(window_bytes);
    }
    if let Some(congestion) = metrics.congestion {
        asked = asked.push_cc_algo_bytes(congestion.as_bytes());
    }
    if let Some(initial_window) = metrics.initial_window {
        asked = asked.push_initcwnd(initial_window);
    }
    if metrics.ecn {
        asked = asked.push_features(RTAX_FEATURE_ECN);
    }
    asked.end_nested();
    send_request(&request)
}

/// Address family in message headers.
const FAMILY: u8 = libc::AF_INET as u8;

/// Number of the MTU among the route metrics, which selects its lock bit.
const RTAX_MTU: u32 = 2;

const RTAX_FEATURE_ECN: u32 = 1;

fn send_request(request: &impl NetlinkRequest) -> io::Result<()> {
    Ok(NetlinkSocket::new().request(request)?.recv_ack()?)
}
