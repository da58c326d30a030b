//! The Internet Protocol Benchmark over real sockets.
//!
//! A [`Server`] answers; [`run`] plays the users of [workloads](netflow_workload::Workload), each
//! over a connection of its own, and measures what they wait for by a monotonic clock. Both keep to
//! the thread they are called in, so that each can be in a network namespace of its own:
//!
//! ```
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use netflow_ipb::{Load, RunOptions, Server, ServerOptions, Until};
//! use netflow_workload::{Application, Http, Workload};
//!
//! let server = Server::bind(ServerOptions { port: 0, ..ServerOptions::default() })?;
//! let options = RunOptions {
//!     until: Until::Users(3),
//!     think_scale: 0.0,
//!     ..RunOptions::new(server.address(), vec![Load {
//!         workload: Workload { application: Application::Http(Http::default()), seed: 1 },
//!         users_per_s: 100.0,
//!     }])
//! };
//! let done = AtomicBool::new(false);
//! let measured = std::thread::scope(|scope| {
//!     scope.spawn(|| server.run(&|| done.load(Ordering::Relaxed)));
//!     let measured = netflow_ipb::run(&options, &mut |_| true);
//!     done.store(true, Ordering::Relaxed);
//!     measured
//! })?;
//! assert_eq!(measured.users[0].finished, 3);
//! # Ok::<(), netflow_ipb::Error>(())
//! ```
//!
//! # The protocol
//!
//! One connection is one user's. Requests and replies have exactly the lengths that the workload
//! says, as payload of TCP, headers included. The server knows nothing of workloads: every request
//! says how long its reply shall be. `TCP_NODELAY` is set at both ends.
//!
//! **The web** is HTTP/1.1. `GET /1750?ppp…` asks for a reply of 1750 bytes in all; the query pads
//! the request to its length. Requests above 4096 bytes are a `POST` with the rest as their body. A
//! reply has a head with its `Content-Length`, and a body of so many `x`. Nothing is shorter than its
//! head: shorter requests and replies are sent as long as that (about 35 bytes), and
//! [`Users::lengthened`] counts them. Pipelined requests are answered in order.
//!
//! **Terminals.** A keystroke may be one byte, too short to say how long its echo shall be. So a
//! connection begins with a script: the letter `T`, how many runs follow (at most 4096), and for each
//! run how many keystrokes, the bytes of each, and the bytes of each's echo. All are unsigned LEB128
//! numbers; keystrokes alike in a row are one run. Then come the keystrokes; after the last another
//! script may follow. The script goes out with the first keystroke and is not answered. Keystrokes
//! are `k`s, echoes are `e`s.
//!
//! # What cannot happen
//!
//! Whatever a peer sends, the server neither fails nor grows: heads, scripts and messages have
//! bounds, as have the connections and every wait for a peer ([`Limits`]). A peer that breaks one is
//! dropped, and the [`Reason`] counted. Who is silent keeps nobody out: the place is given away when
//! there are no more. A user whose server fails is counted by [`Failure`]; the
//! others go on.

#![warn(missing_docs)]

mod connection;
mod counts;
mod error;
mod outbox;
mod places;
pub mod protocol;
mod reply;
mod run;
mod server;
mod user;

pub use counts::{Reason, Served, Traffic};
pub use error::Error;
pub use run::{
    Arrivals, Failure, HeldBack, Load, MOST_LATENESS_S, Measured, Progress, RunOptions, Until,
    Users, run,
};
pub use server::{Limits, Server, ServerOptions};
