//! The protocol without its sockets: how requests are written and read. The crate's documentation
//! says what it is.

pub(crate) mod head;
mod http;
mod parser;
mod script;

pub use http::{reply_head, request_head};
pub use parser::{Asked, Parser};
pub use script::{MOST_RUNS, Run, write_script};

/// What the bodies of requests and replies, keystrokes and echoes are made of.
pub mod filler {
    /// Of a request or a reply of the web.
    pub const BODY: u8 = b'x';
    /// A keystroke.
    pub const KEYSTROKE: u8 = b'k';
    /// Its echo.
    pub const ECHO: u8 = b'e';
}

/// No head is longer, in bytes.
pub const MOST_HEAD_BYTES: usize = 8192;
