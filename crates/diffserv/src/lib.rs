//! DiffServ: meters, markers and droppers, packet by packet and in expectation.
//!
//! At the edge of a network, a conditioner measures an aggregate and marks its packets with one of three drop
//! precedences. Inside, a filling queue drops the higher precedences first (RFC 2475, 2597).
//!
//! Each component is one definition with two interfaces. The *packet face* is for programs that process
//! packets: times are whole nanoseconds, sizes are whole bytes, nothing is allocated, and a seed determines
//! all random choices. The *expected face* is for solvers that work with rates: it gives the colour fractions
//! and drop probabilities to which the packet face converges.
//!
//! | part | packet face | expected face |
//! |---|---|---|
//! | token bucket | [`TokenBucket::conforms`] | |
//! | single rate three colour marker, RFC 2697 | [`SrTcm::mark`], [`SrTcm::remark`] | [`SrTcm::fractions`] |
//! | two rate three colour marker, RFC 2698 | [`TrTcm::mark`], [`TrTcm::remark`] | [`TrTcm::fractions`] |
//! | rate estimator, RFC 2859 | [`Tsw::packet`] | [`Conditioner::measured_after`] |
//! | conditioners of \[Cond\], including the marker of RFC 2859 | [`Marker::mark`] | [`Conditioner::fractions`] |
//! | RED, RIO-C, RIO-D, WRED: averages | [`DiffServQueue::admit`] | [`Dropper::averages_after`] |
//! | RED, RIO-C, RIO-D, WRED: drops | [`DiffServQueue::admit`] | [`Dropper::drop_probabilities`] |
//!
//! \[Cond\] is Habib, Bhargava & Fahmy, *A Round Trip Time and Time-out Aware Traffic Conditioner
//! for Differentiated Services Networks*, ICC 2002.
#![warn(missing_docs)]

mod af;
mod conditioner;
mod dropper;
mod error;
mod marker;
mod meter;
pub mod packet_table;
mod precedence;
mod random;

pub use af::Af;
pub use conditioner::{
    Aggregate, Conditioner, ConditionerSpec, Dp2Ratio, GivenInputs, GreenShare, Inputs, Kind,
    Marker, Minima,
};
pub use dropper::{
    Counting, Curve, DiffServQueue, Discipline, DropSpacing, Dropper, DropperSpec, EwmaStep,
    QueueLoad, RedAverage, RedDecision,
};
pub use error::Error;
pub use marker::{SrTcm, TrTcm};
pub use meter::{TokenBucket, Tsw};
pub use precedence::{DropPrecedence, Fractions};
