//! Models and simulation of TCP: latency of short transfers, steady-state throughput, and both ends of a
//! connection.
//!
//! | module | content |
//! |---|---|
//! | [`short`] | the model of \[Short\]: sum of handshake, slow starts and timeouts |
//! | [`rto`] | the time spent in retransmission timeouts: exact solutions and Monte Carlo |
//! | [`tcp`] | both ends of a connection, by the rules of real stacks |
//! | [`transfer_simulation`] | transfers of real stacks, simulated packet by packet |
//! | [`csa`], [`model_c`] | the models with which \[Short\] is compared |
//! | [`steady`] | throughput of long transfers: Mathis, \[PFTK\], \[Cond\] |
//!
//! A [`Stack`] has the constants of an implementation. A [`Transfer`] has the size and the path of a
//! transfer.
//!
//! Sources: \[Short\] Zhang, Wang & Keshav, *The implication of network performance on service quality*;
//! \[CSA\] Cardwell, Savage & Anderson, *Modeling TCP Latency* (2000); \[PFTK\] Padhye, Firoiu, Towsley &
//! Kurose (1998); \[Cond\] Habib, Bhargava & Fahmy, *A Round Trip Time and Time-out Aware Traffic
//! Conditioner for Differentiated Services Networks* (2002).
#![warn(missing_docs)]

pub mod csa;
mod error;
pub mod model_c;
pub mod rto;
pub mod short;
mod stack;
pub mod steady;
pub mod tcp;
mod transfer;
pub mod transfer_simulation;

pub use error::Error;
pub use stack::{
    CongestionControl, EcnFeedback, EcnRules, Recovery, RtoRule, Stack, builtin_names,
};
pub use transfer::{MAX_PACKETS, Transfer};
