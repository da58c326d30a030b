//! Internet Protocol Benchmark over real sockets.
//!
//! A [`Server`] answers requests. [`run`] simulates the users of [workloads](netflow_workload::Workload),
//! each over a connection of its own, and measures their response times with a monotonic clock. Both stay
//! in the thread that calls them, so that each can run in its own network namespace:
//!
//! ```
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use netflow_ipb::{Load, RunOptions, Server, ServerOptions, StopCondition};
//! use netflow_workload::{Application, Http, Workload};
//!
//! let server = Server::bind(ServerOptions { port: 0, ..ServerOptions::default() })?;
//! let options = RunOptions {
//!     until: StopCondition::Users(3),
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
//! Every connection belongs to one user. Requests and replies have exactly the lengths of the workload,
//! as TCP payload, headers included. The server is independent of workloads: every request states the
//! length of its reply. `TCP_NODELAY` is set at both ends.
//!
//! **The web** is HTTP/1.1. `GET /1750?ppp…` requests a reply of 1750 bytes in total; the query pads the
//! request to its length. A request above 4096 bytes is a `POST` with the rest as its body. A reply has a
//! head with its `Content-Length`, and a body of that many `x`. No message is shorter than its head:
//! shorter requests and replies are sent with the head's length (about 35 bytes), and
//! `padded_messages` counts them. Pipelined requests are answered in order.
//!
//! **Terminals.** A keystroke may be one byte, which is too short to contain the length of its echo. So a
//! connection begins with a script. It consists of the letter `T`, the number of runs (at most 4096), and
//! for each run three numbers: its keystrokes, the bytes of each keystroke, and the bytes of each echo.
//! All are unsigned LEB128 numbers; consecutive equal keystrokes form one run. The keystrokes follow the
//! script; after the last, another script may follow. The script is sent with the first keystroke and has
//! no reply. Keystrokes are `k`s, echoes are `e`s.
//!
//! # Robustness
//!
//! No input of a peer makes the server fail or use unbounded memory. Heads, scripts and messages have
//! limits, as have the connections and every wait for a peer ([`Limits`]). A peer that exceeds a limit is
//! dropped, and the [`DropReason`] is counted. Silent peers do not lock others out: if all slots are taken,
//! the longest silent connection is closed. A user whose server fails is counted by [`Failure`]; the
//! other users continue.

#![warn(missing_docs)]

mod connection_slots;
mod counts;
mod error;
pub mod protocol;
mod reply_parser;
mod run;
mod send_buffer;
mod server;
mod server_connection;
mod user;

pub use counts::{DropReason, Served, Traffic};
pub use error::Error;
pub use run::{
    Arrivals, Failure, Load, MAX_P99_LATENESS_S, Measured, Progress, QueuedUsers, RunOptions,
    StopCondition, Users, run,
};
pub use server::{Limits, Server, ServerOptions};
