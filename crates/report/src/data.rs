//! What the page is told, as its script reads it.

use netflow_results::{AggregateSummary, Manifest, TotalsSummary, WorkloadSummary};
use serde::Serialize;

use crate::short::{Short, Time};

/// All of it.
#[derive(Debug, Serialize)]
pub struct Page {
    /// Of this program.
    pub version: &'static str,
    pub map: Map,
    pub runs: Vec<Run>,
    pub against: Option<Against>,
}

/// Where things are; `y` is downwards.
#[derive(Debug, Default, Serialize)]
pub struct Map {
    pub nodes: Vec<Node>,
    pub links: Vec<MapLink>,
    /// Links that are not drawn.
    pub left_out: usize,
    /// Whether the scenario says where all nodes are.
    pub placed: bool,
}

#[derive(Debug, Serialize)]
pub struct Node {
    pub name: String,
    pub label: Option<String>,
    pub x: Short,
    pub y: Short,
}

#[derive(Debug, Serialize)]
pub struct MapLink {
    pub name: String,
    /// Places among the nodes.
    pub from: usize,
    pub to: usize,
    pub bps: Option<Short>,
}

/// One results directory.
#[derive(Debug, Serialize)]
pub struct Run {
    pub name: String,
    /// What the scenario says it is.
    pub title: Option<String>,
    pub manifest: Manifest,
    /// From when on it is summarized, over how many seconds, and how far it came.
    pub from_s: f64,
    pub duration_s: f64,
    pub end_s: f64,
    pub totals: TotalsSummary,
    pub aggregates: Vec<AggregateSummary>,
    pub workloads: Vec<WorkloadSummary>,
    pub waits: Vec<Waits>,
    pub warnings: Vec<String>,
    /// What the sign at links means.
    pub estimate: Vec<String>,
    /// Recording intervals, before anything is left out.
    pub samples: usize,
    /// Whether curves are thinned.
    pub thinned: bool,
    /// Times of the curves' points.
    pub x: Vec<Time>,
    /// Times at which the map can be.
    pub frames: Vec<Time>,
    /// How many links and connections have curves.
    pub with_curves: (usize, usize),
    pub whole: Whole,
    /// When it was worst.
    pub worst: Option<Worst>,
    pub links: Vec<Link>,
    pub connections: Vec<Connection>,
}

/// The distribution of what the users of a workload waited for something.
#[derive(Debug, Serialize)]
pub struct Waits {
    pub workload: String,
    pub wait: String,
    /// In seconds, ascending: equal shares of all waits are between one and the next.
    pub times: Vec<Short>,
}

/// Curves of the network as a whole.
#[derive(Debug, Serialize)]
pub struct Whole {
    pub queue: Curve,
    pub highest: Curve,
    pub ninth: Vec<Short>,
    pub median: Vec<Short>,
    pub send: Curve,
    pub goodput: Curve,
}

/// The moment at which a link loses the most packets of all, or is the busiest where none are lost.
#[derive(Debug, Serialize)]
pub struct Worst {
    pub link: String,
    /// The end of its recording interval.
    pub at_s: Time,
    pub utilization: Short,
    pub loss: Short,
    /// From when to when the link is saturated around it; the interval alone if it is not.
    pub from_s: Time,
    pub to_s: Time,
}

#[derive(Debug, Serialize)]
pub struct Link {
    pub name: String,
    pub from: String,
    pub to: String,
    pub bps: Option<Short>,
    pub delay: Option<Short>,
    pub room: Option<Short>,
    pub utilization: Short,
    pub mean_queue: Short,
    pub max_queue: Short,
    pub queueing: Short,
    /// The sign at mean queue, longest queue and queueing delay that are estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign: Option<&'static str>,
    pub loss: Short,
    /// The sign at what is lost in the queue, if that is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_sign: Option<&'static str>,
    pub offered: Short,
    pub lost: Short,
    /// What was lost on the way, after the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_lost: Option<Short>,
    /// What the queue marked instead of dropping it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<Short>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<LinkCurves>,
}

#[derive(Debug, Serialize)]
pub struct LinkCurves {
    pub queue: Curve,
    pub loss: Curve,
    pub utilization: Curve,
    pub queueing: Curve,
    /// At every frame: the longest queue since the one before, and the mean utilization.
    pub frame_queue: Vec<Short>,
    pub frame_utilization: Vec<Short>,
}

#[derive(Debug, Serialize)]
pub struct Connection {
    pub name: String,
    pub from: String,
    pub to: String,
    pub source: String,
    pub count: u32,
    /// Bytes of a packet.
    pub bytes: Option<Short>,
    /// Places among the run's links.
    pub path: Vec<usize>,
    pub back: Vec<usize>,
    /// What `path` and `back` are later on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
    /// The share of what it would deliver alone, or sent whatever happened, that did not arrive.
    pub short: Short,
    pub send: Short,
    pub goodput: Short,
    /// The sign at that if it is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_sign: Option<&'static str>,
    pub delivered: Short,
    pub lost: Short,
    pub rtt: Short,
    pub delay: Short,
    /// What half of the delays, 95 %, 99 % and 99.9 % are at most.
    pub delay50: Short,
    pub delay95: Short,
    pub delay99: Short,
    pub delay999: Short,
    pub jitter: Short,
    /// The sign at these times if they are estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign: Option<&'static str>,
    pub loss: Short,
    /// The sign at that if it is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_sign: Option<&'static str>,
    pub outside: Short,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_use: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<ConnectionCurves>,
}

/// The way of a connection from a time on.
#[derive(Debug, Serialize)]
pub struct Way {
    pub from_s: Time,
    pub path: Vec<usize>,
    pub back: Vec<usize>,
}

#[derive(Debug, Serialize)]
pub struct ConnectionCurves {
    pub send: Curve,
    pub goodput: Curve,
    pub rtt: Curve,
    pub delay: Curve,
}

/// A curve and, where it is a mean over seeds, the 95 % confidence interval of it.
#[derive(Debug, Serialize)]
pub struct Curve {
    pub y: Vec<Short>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
}

#[derive(Debug, Serialize)]
pub struct Band {
    pub low: Vec<Short>,
    pub high: Vec<Short>,
}

/// An ensemble of a referee's runs: bands of one standard deviation to both sides of its mean.
#[derive(Debug, Serialize)]
pub struct Against {
    pub name: String,
    pub referee: &'static str,
    pub links: Reference,
    pub connections: Reference,
}

#[derive(Debug, Default, Serialize)]
pub struct Reference {
    pub x: Vec<Time>,
    pub of: Vec<Referred>,
}

#[derive(Debug, Serialize)]
pub struct Referred {
    pub name: String,
    /// In the order of [`crate::against`]'s quantities.
    pub curves: Vec<Curve>,
}
