//! Export of scenarios to other simulators.

mod error;
mod ns2;
mod ns3;
mod real;
mod tcl;
mod tcp;

pub use error::ExportError;
pub use ns2::{
    NS2_CONNECTION_COLUMNS, NS2_CONNECTIONS_FILE, NS2_LINK_COLUMNS, NS2_LINKS_FILE, NS2_MARK,
    NS2_TRACE_FILE, Ns2Options, Ns2Trace, ns2,
};
pub use ns3::{
    NS3_CONNECTIONS_FILE, NS3_DELAYS_FILE, NS3_LIBRARIES, NS3_LINKS_FILE, NS3_MARK, Ns3Error,
    Ns3Options, ns3, ns3_together,
};
pub use real::{REAL_TCP_HEADERS_BYTES, RealCongestion, RealTcp, real_tcp, way_holds_bytes};
pub use tcp::{Tcp, UnknownTcp};
