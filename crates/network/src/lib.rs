//! The network model that all engines share: specification, validation, routing, and the interfaces of an
//! engine.
//!
//! A [`NetworkBuilder`] takes [`LinkSpec`]s, [`ConnectionSpec`]s and [`EventSpec`]s and builds an immutable
//! [`Network`]. [`Options`] select the model and its time step. A [`Run`] advances a simulation and passes
//! every recording interval to a [`Recorder`].
//!
//! [`compiled`], [`hash`], [`canonical_order`] and [`engine`] are for engines.
//!
//! Internal units are seconds, packets, packets per second, bits per second and bytes.

mod buffers;
mod builder;
mod bundles;
mod calibration;
pub mod canonical_order;
mod classes;
mod columns_macro;
pub mod compiled;
mod demand;
mod diffserv;
mod ecmp;
pub mod engine;
mod error;
mod explain;
mod explicit_paths;
pub mod hash;
mod ids;
mod link_element;
mod link_series;
mod link_shares;
mod network;
mod options;
mod outages;
pub mod queue_reliability;
mod recording;
mod rerouting;
mod routing;
mod runtime_control;
mod scheduling;
mod shortest_path;
mod spec;
mod srlg;
mod totals;
mod unavailability;
mod users;

pub use buffers::BufferLimit;
pub use builder::{
    ACK_BYTES, DEFAULT_MAX_WINDOW_PKTS, MAX_STACK_WINDOW_PKTS, NetworkBuilder, PACKET_BYTES,
};
pub use calibration::{Calibration, CalibrationPlan, are_windows_similar};
pub use columns_macro::{Cell, Column, Columns};
pub use diffserv::{AggregateSpec, AggregateTotals, Edge, MarkerRates, PrecedenceTotals, Rio};
pub use ecmp::{
    EcmpShare, EcmpWeights, EqualPaths, FlowHash, MAX_HASHED_FLOWS, MAX_PATHS, PathShare,
};
pub use error::{BuildError, RunError};
pub use explain::{AppliedLimits, ExplainedHop, Explanation, Limit, ReachedCeiling};
pub use ids::{AggregateId, ConnectionId, LinkId, NodeId, Owner};
pub use link_element::LinkElement;
pub use link_series::{ChangeCursor, LinkSeries, SeriesColumns, SeriesError, SeriesSpec};
pub use link_shares::PathChoice;
pub use netflow_queues::{
    AckFilter, Aqm, BitErrors, Cake, Cells, CoDel, DelayLine, DeliveryTrace, Dscp, DualPi2,
    EcnCodepoint, FqCoDel, GilbertElliott, HtbClass, HtbTree, Isolation, Jitter,
    JitterDistribution, JitterTable, LinkLoss, LossError, Outages, Overhead, Pie, Reordering,
    Scheduler, Slots, Tins,
};
pub use netflow_tcpmodel::tcp::ns2::{TcpVariant, WindowSource};
pub use netflow_tcpmodel::transfer_simulation::{HEADER_BYTES, segment_bytes};
pub use netflow_workload::ResponseEvent;
pub use network::{Network, service_ns};
pub use options::{FluidOptions, Model, ModelName, Options, PacketOptions, Step};
pub use recording::{
    ClassInterval, ClassNumbers, ConnectionInterval, Interval, IntervalReader, LinkInterval,
    Period, Recorder, Run,
};
pub use rerouting::{Reroute, Rerouted, ReroutedPath, Rerouter};
pub use runtime_control::{ControlState, ControllableConnection};
pub use scheduling::{MultiQueueLink, QueueClass, SharedLink};
pub use spec::{
    Acks, Application, Buffer, BufferTime, Change, ConnectionSpec, DropPolicy, EventSpec,
    Fallbacks, LastResort, LinkSpec, Red, Source, TokenBucketSpec, TraceSpec,
};
pub use totals::{ConnectionTotals, Estimate, LinkTotals, Percentiles, Totals};
pub use users::{Arrivals, ResponseTime, UserStats, UserTraffic, Users, WorkloadSpec, base_rtt_s};
