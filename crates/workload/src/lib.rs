//! What users do with a network, and what they wait for.
//!
//! A [`Workload`] is a kind of user, [`Http`], [`Telnet`] or [`Video`], with a [`Distribution`] for everything
//! that differs from one user to the next. It says, for a seed, which [`Session`]s there are: who
//! comes when, what is asked for, how long the answers are, how long the user thinks between them.
//! A [`Player`] does what the user does. The same sessions can then be played over real sockets, over
//! simulated connections or through a whole simulated network, and the [`Waits`] compared.
//!
//! The defaults are those of \[IPB\]: Mah, Sholander, Martinez & Tolendino, *IPB: An Internet
//! Protocol Benchmark Using Simulated Traffic*.
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
mod player;
mod random;
mod session;
mod times;
mod transfers;
mod waits;

pub use application::{Application, Http, Telnet, Video};
pub use distribution::Distribution;
pub use error::Error;
pub use player::{Act, Answered, Moment, Player, WaitFor};
pub use session::{Exchange, Kind, Playback, Session, Sessions, Turn, Workload};
pub use times::{Step, Summary, Times};
pub use transfers::Transfers;
pub use waits::Waits;
