//! Export of scenarios to other simulators.

mod error;
mod linux_tcp;
mod ns2;
mod ns2_tcp;
mod ns3;
mod tc;
mod tcl;

pub use error::ExportError;
pub use linux_tcp::{
    LINUX_TCP_HEADERS_BYTES, LinuxCongestion, LinuxTcp, default_socket_buffer_bytes, linux_tcp,
};
pub use ns2::{
    NS2_CONNECTION_COLUMNS, NS2_CONNECTIONS_FILE, NS2_HEADER, NS2_LINK_COLUMNS, NS2_LINKS_FILE,
    NS2_TRACE_FILE, Ns2Options, Ns2Trace, ns2,
};
pub use ns2_tcp::{Ns2Tcp, UnknownTcp};
pub use ns3::{
    NS3_CONNECTIONS_FILE, NS3_DELAYS_FILE, NS3_HEADER, NS3_LIBRARIES, NS3_LINKS_FILE, Ns3Error,
    Ns3Options, ns3, ns3_batch,
};
pub use tc::{TC_HEADER, TcCommand, TcError, tc, tc_commands};
