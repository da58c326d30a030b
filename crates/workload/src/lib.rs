//! User workloads: sessions of web, terminal and video users, and their response times.
//!
//! A [`Workload`] is a kind of user, [`Http`], [`Telnet`] or [`Video`], with a [`Distribution`] for every
//! random quantity. From a seed it generates [`Session`]s: arrival times, request and reply sizes, and think
//! times. A [`SessionStateMachine`] simulates one user. The same sessions can run over real sockets, over
//! simulated connections or through a simulated network, and their [`ResponseTimes`] can be compared.
//!
//! The defaults are those of \[IPB\]: Mah, Sholander, Martinez & Tolendino, *IPB: An Internet Protocol
//! Benchmark Using Simulated Traffic*.
//!
//! ```
//! use netflow_workload::{Application, Http, Workload};
//!
//! let workload = Workload { application: Application::Http(Http::default()), seed: 1 };
//! let first = workload.sessions(2.0)?.next();
//! assert!(first.is_some_and(|session| !session.turns.is_empty()));
//! # Ok::<(), netflow_workload::Error>(())
//! ```
#![warn(missing_docs)]

mod application;
mod distribution;
mod error;
mod normal;
mod random_streams;
mod response_times;
mod session;
mod session_state;
mod time_sample;
mod transfers;

pub use application::{Application, Http, Telnet, Video};
pub use distribution::Distribution;
pub use error::Error;
pub use response_times::ResponseTimes;
pub use session::{Exchange, Playback, Session, Sessions, Turn, UserKind, Workload};
pub use session_state::{ReplyEvent, ResponseEvent, SessionAction, SessionStateMachine, Timestamp};
pub use time_sample::{RttCluster, Summary, TimeSample};
pub use transfers::TransferSizes;
