//! Wire protocol without sockets: encoding and parsing of requests. The crate documentation specifies it.

pub(crate) mod head;
mod http;
mod keystrokes;
mod parser;

pub use http::{reply_head, request_head};
pub use keystrokes::{KeystrokeRun, MAX_RUNS, write_script};
pub use parser::{Parser, Request};

/// Filler bytes of bodies, keystrokes and echoes.
pub mod filler {
    /// Body of a web request or reply.
    pub const BODY: u8 = b'x';
    /// Keystroke of a terminal.
    pub const KEYSTROKE: u8 = b'k';
    /// Echo of a keystroke.
    pub const ECHO: u8 = b'e';
}

/// Maximum length of a head, in bytes.
pub const MAX_HEAD_BYTES: usize = 8192;
