//! Scenarios in the languages of other tools.

mod error;
mod ns2;
mod tcl;
mod tcp;

pub use error::ExportError;
pub use ns2::{
    NS2_CONNECTION_COLUMNS, NS2_CONNECTIONS_FILE, NS2_LINK_COLUMNS, NS2_LINKS_FILE, NS2_TRACE_FILE,
    Ns2Options, Ns2Trace, ns2,
};
pub use tcp::{Tcp, UnknownTcp};
