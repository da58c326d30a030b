//! Mapping of sources to present-day TCP implementations, for Linux and ns-3.

use netflow_network::{Application, ConnectionSpec, Source, TcpVariant};
use netflow_tcpmodel::CongestionControl;

use super::Ns2Tcp;

/// TCP configuration of a source in a present-day stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxTcp {
    /// Congestion control.
    pub congestion: LinuxCongestion,
    /// Initial window in packets; `None` for the stack's own.
    pub initial_window: Option<u32>,
    /// Largest window in packets; `None` for no limit except buffers.
    pub max_window: Option<u32>,
    /// True if ECN is requested.
    pub ecn: bool,
}

/// Congestion control of present-day stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinuxCongestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// Version 1.
    Bbr,
    /// RFC 8257.
    Dctcp,
    /// RFC 9331; only in the Linux fork of the L4S team.
    Prague,
    /// Delay-based.
    Vegas,
}

impl LinuxCongestion {
    /// Returns its name in Linux.
    pub fn linux(self) -> &'static str {
        match self {
            LinuxCongestion::Reno => "reno",
            LinuxCongestion::Cubic => "cubic",
            LinuxCongestion::Bbr => "bbr",
            LinuxCongestion::Dctcp => "dctcp",
            LinuxCongestion::Prague => "prague",
            LinuxCongestion::Vegas => "vegas",
        }
    }

    /// Returns its name in ns-3; `None` if ns-3 does not have it.
    pub fn ns3(self) -> Option<&'static str> {
        match self {
            LinuxCongestion::Reno => Some("ns3::TcpLinuxReno"),
            LinuxCongestion::Cubic => Some("ns3::TcpCubic"),
            LinuxCongestion::Bbr => Some("ns3::TcpBbr"),
            LinuxCongestion::Dctcp => Some("ns3::TcpDctcp"),
            LinuxCongestion::Prague => None,
            LinuxCongestion::Vegas => Some("ns3::TcpVegas"),
        }
    }
}

/// Name of the stack that models present-day Linux.
const STACK_NAME: &str = "linux-6";

/// IP and TCP headers with timestamps, in bytes.
pub const LINUX_TCP_HEADERS_BYTES: f64 = 52.0;

/// Smallest packet size of Linux, in bytes.
const MIN_TCP_PACKET_BYTES: f64 = 100.0;

/// Returns the TCP configuration of a connection; `None` for one without TCP.
///
/// # Errors
/// The reason why no present-day stack can run it.
pub fn linux_tcp(spec: &ConnectionSpec) -> Result<Option<LinuxTcp>, String> {
    if spec.application != Application::Bulk {
        return Err("applications are not supported".to_owned());
    }
    let whole = |pkts: f64| pkts.round().max(1.0) as u32;
    let mut tcp = LinuxTcp {
        congestion: LinuxCongestion::Reno,
        initial_window: None,
        max_window: spec.max_window_pkts.map(whole),
        ecn: false,
    };
    let tahoe = || Err("Linux does not support TCP Tahoe".to_owned());
    tcp.congestion = match &spec.source {
        Source::Ns2Tcp(window) => {
            tcp.initial_window = Some(whole(window.initial_window_pkts));
            match window.variant {
                TcpVariant::Reno | TcpVariant::NewReno => LinuxCongestion::Reno,
                TcpVariant::Cubic => LinuxCongestion::Cubic,
                TcpVariant::Vegas => LinuxCongestion::Vegas,
                TcpVariant::Tahoe => return tahoe(),
            }
        }
        Source::Tcp(stack) => {
            if stack.name != STACK_NAME {
                let name = &stack.name;
                return Err(format!("its TCP is `{name}`; use `{STACK_NAME}`"));
            }
            if stack.l4s {
                return Err("`l4s` is not supported".to_owned());
            }
            if stack.segmentation_offload {
                return Err("`segmentation-offload` is not supported".to_owned());
            }
            if !stack.hystart {
                return Err("`hystart = false` is not supported".to_owned());
            }
            tcp.initial_window = Some(stack.initial_window_pkts);
            tcp.ecn = stack.has_ecn();
            match stack.congestion {
                CongestionControl::Reno => LinuxCongestion::Reno,
                CongestionControl::Cubic => LinuxCongestion::Cubic,
                CongestionControl::Bbr => LinuxCongestion::Bbr,
                CongestionControl::Bbr3 => {
                    return Err(
                        "it has BBR version 3, but Linux and ns-3 have version 1; use `congestion = \"bbr\"`"
                            .to_owned(),
                    );
                }
                CongestionControl::Dctcp => LinuxCongestion::Dctcp,
                CongestionControl::Prague => LinuxCongestion::Prague,
            }
        }
        Source::Profile(profile) => {
            if tcp.max_window.is_none() {
                tcp.max_window = profile.window_limit_pkts().map(whole);
            }
            match Ns2Tcp::of_profile(profile.name()) {
                Some(Ns2Tcp::Reno | Ns2Tcp::Newreno | Ns2Tcp::Sack) => LinuxCongestion::Reno,
                Some(Ns2Tcp::Cubic) => LinuxCongestion::Cubic,
                Some(Ns2Tcp::Vegas) => LinuxCongestion::Vegas,
                Some(Ns2Tcp::Tahoe) => return tahoe(),
                None => {
                    let name = profile.name();
                    return Err(format!("the TCP of profile `{name}` is not known"));
                }
            }
        }
        Source::Constant { .. } | Source::Poisson { .. } => return Ok(None),
        Source::Users(_) => return Err("users are not supported".to_owned()),
    };
    if spec.packet_size_bytes < MIN_TCP_PACKET_BYTES {
        Err(format!(
            "packets of {} B are too small for TCP: at least {MIN_TCP_PACKET_BYTES} B",
            spec.packet_size_bytes
        ))
    } else {
        Ok(Some(tcp))
    }
}

/// Returns the default buffer size of a connection's sender and receiver, in bytes. It is twice the
/// bandwidth-delay product plus the buffers of the path, because stacks store more than a packet's
/// bytes.
pub fn default_socket_buffer_bytes(
    network: &netflow_network::Network,
    id: netflow_network::ConnectionId,
) -> f64 {
    let (there, back) = (network.path(id), network.return_path(id));
    let both = there.iter().chain(&back);
    let rtt_s: f64 = both.map(|&link| network.delays_s(link).1).sum();
    let widths = there.iter().map(|&link| network.bandwidths_bps(link).1);
    let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
    let size_bytes = network.connection_spec(id).packet_size_bytes;
    let rooms = there.iter().map(|&link| network.buffer_limit(link));
    let queues_pkts: f64 = rooms.map(|room| room.pkts(8.0 * size_bytes)).sum();
    let queues_bytes = queues_pkts * size_bytes;
    if narrowest_bps.is_finite() {
        2.0 * (narrowest_bps / 8.0 * rtt_s + queues_bytes)
    } else {
        0.0
    }
}
