//! The network model that all engines share: specification, validation, routing, and the interfaces of an
//! engine.
//!
//! A [`NetworkBuilder`] takes [`LinkSpec`]s, [`ConnectionSpec`]s and [`EventSpec`]s and builds an immutable
//! [`Network`]. [`Options`] select the model and its time step. A [`Run`] advances a simulation and passes
//! every recording interval to a [`Recorder`].
//!
//! [`tables`], [`hash`], [`likeness`] and [`readout`] are for engines.
//!
//! Internal units are seconds, packets, packets per second, bits per second and bytes.

mod buffers;
mod builder;
mod calibration;
mod classes;
mod columns;
mod demand;
mod detours;
mod diffserv;
mod error;
mod explain;
pub mod filled;
mod flows;
mod given;
pub mod hash;
mod ids;
pub mod likeness;
mod network;
mod options;
mod outages;
pub mod readout;
mod recording;
mod risks;
mod routing;
mod scheduling;
mod settable;
mod spec;
pub mod tables;
mod totals;
mod users;

pub use buffers::Room;
pub use builder::{
    ACK_BYTES, DEFAULT_MOST_WINDOW, MOST_STACK_WINDOW, NetworkBuilder, PACKET_BYTES,
};
pub use calibration::{Calibration, CalibrationPlan, windows_are_alike};
pub use columns::{Cell, Column, Columns};
pub use detours::{Detour, DetourWay, Detours, Rerouted};
pub use diffserv::{AggregateSpec, AggregateTotals, Edge, MarkerRates, PrecedenceTotals, Rio};
pub use error::{BuildError, RunError};
pub use explain::{Applied, ExplainedHop, Explanation, Limit};
pub use flows::{EqualPaths, FlowHash, MOST_HASHED, MOST_PATHS, PathShare, Portion};
pub use ids::{AggregateId, ConnectionId, LinkId, NodeId, Owner};
pub use netflow_queues::{
    Aqm, BitErrors, Cells, CoDel, FqCoDel, GilbertElliott, LinkLoss, LossError, Overhead, Pie,
    Scheduler,
};
pub use netflow_tcpmodel::rounds::{HEADER_BYTES, segment_bytes};
pub use netflow_tcpmodel::tcp::ns2::{TcpVariant, WindowSource};
pub use netflow_workload::WaitFor;
pub use network::{Network, service_ns};
pub use options::{
    Adaptive, Coupling, FluidOptions, Model, ModelName, Options, PacketOptions, Step, Transport,
};
pub use recording::{
    ClassInterval, ClassNumbers, ConnectionInterval, Interval, LinkInterval, Period, Recorder, Run,
    Teller,
};
pub use scheduling::{ClassedLink, QueueClass, Shared};
pub use settable::{Set, Settable};
pub use spec::{
    Acks, Application, Buffer, BufferTime, Change, ConnectionSpec, DropPolicy, EventSpec, LinkSpec,
    Red, Source,
};
pub use totals::{ConnectionTotals, Estimate, LinkTotals, Percentiles, Totals};
pub use users::{Arrivals, Experience, UserTraffic, Users, Wait, WorkloadSpec, empty_rtt_s};
