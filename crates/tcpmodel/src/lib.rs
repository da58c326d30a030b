//! How long a short TCP transfer takes.
//!
//! | module | what is in it |
//! |---|---|
//! | [`short`] | the model of \[Short\]: handshake, slow starts and timeouts added up |
//! | [`rto`] | the time that timeouts take: exactly, and by Monte Carlo |
//! | [`tcp`] | both ends of a connection, by the rules of real stacks |
//! | [`rounds`] | transfers of real stacks, packet by packet |
//! | [`csa`], [`model_c`] | the models that \[Short\] is compared with |
//! | [`steady`] | how fast a long transfer is: Mathis, \[PFTK\], \[Cond\] |
//!
//! A [`Stack`] has the constants of an implementation; a [`Transfer`] is the question.
//!
//! Sources: \[Short\] Zhang, Wang & Keshav, *The implication of network performance on service
//! quality*; \[CSA\] Cardwell, Savage & Anderson, *Modeling TCP Latency* (2000); \[PFTK\] Padhye,
//! Firoiu, Towsley & Kurose (1998); \[Cond\] Habib, Bhargava & Fahmy, *A Round Trip Time and
//! Time-out Aware Traffic Conditioner for Differentiated Services Networks* (2002).
#![warn(missing_docs)]

pub mod csa;
mod error;
pub mod model_c;
pub mod rounds;
pub mod rto;
pub mod short;
mod stack;
pub mod steady;
pub mod tcp;
mod transfer;

pub use error::Error;
pub use stack::{CongestionControl, Recovery, RtoRule, Stack, builtin_names};
pub use transfer::{MOST_PACKETS, Transfer};
