//! JSON data of the page, as read by its script.

use netflow_results::{AggregateSummary, Manifest, TotalsSummary, WorkloadSummary};
use serde::Serialize;

use crate::rounding::{Rounded, Time};

/// All data of the page.
#[derive(Debug, Serialize)]
pub struct Page {
    /// Version of netflow.
    pub version: &'static str,
    pub map: Map,
    pub runs: Vec<Run>,
    pub against: Option<ReferenceRun>,
}

/// Map of the network; `y` points downwards.
#[derive(Debug, Default, Serialize)]
pub struct Map {
    pub nodes: Vec<Node>,
    pub links: Vec<MapLink>,
    /// Number of links that are not drawn.
    pub left_out: usize,
    /// True if the scenario gives the positions of all nodes.
    pub placed: bool,
}

#[derive(Debug, Serialize)]
pub struct Node {
    pub name: String,
    pub label: Option<String>,
    pub x: Rounded,
    pub y: Rounded,
}

#[derive(Debug, Serialize)]
pub struct MapLink {
    pub name: String,
    /// Indices of the nodes.
    pub from: usize,
    pub to: usize,
    pub bps: Option<Rounded>,
}

/// One results directory.
#[derive(Debug, Serialize)]
pub struct Run {
    pub name: String,
    /// Title of the scenario.
    pub title: Option<String>,
    pub manifest: Manifest,
    /// Start of the summary, its duration, and the end of the run, in seconds.
    pub from_s: f64,
    pub duration_s: f64,
    pub end_s: f64,
    pub totals: TotalsSummary,
    pub aggregates: Vec<AggregateSummary>,
    pub workloads: Vec<WorkloadSummary>,
    pub waits: Vec<Waits>,
    pub warnings: Vec<String>,
    /// Explanation of the sign that marks estimates.
    pub estimate: Vec<String>,
    /// Number of recording intervals before downsampling.
    pub samples: usize,
    /// True if the curves are downsampled.
    pub thinned: bool,
    /// Times of the points of the curves.
    pub x: Vec<Time>,
    /// Times of the frames of the map.
    pub frames: Vec<Time>,
    /// Number of links and of connections with curves.
    pub with_curves: (usize, usize),
    pub whole: NetworkCurves,
    /// Worst moment of the run.
    pub worst: Option<WorstMoment>,
    pub links: Vec<Link>,
    pub connections: Vec<Connection>,
}

/// Distribution of one kind of response time of a workload.
#[derive(Debug, Serialize)]
pub struct Waits {
    pub workload: String,
    pub wait: String,
    /// Quantiles in seconds, ascending, with equal shares between them.
    pub times: Vec<Rounded>,
}

/// Curves of the whole network.
#[derive(Debug, Serialize)]
pub struct NetworkCurves {
    pub queue: Curve,
    pub highest: Curve,
    pub ninth: Vec<Rounded>,
    pub median: Vec<Rounded>,
    pub send: Curve,
    pub goodput: Curve,
}

/// Worst moment: the interval and link with the most lost packets, or with the highest utilization if none
/// are lost.
#[derive(Debug, Serialize)]
pub struct WorstMoment {
    pub link: String,
    /// End of the recording interval.
    pub at_s: Time,
    pub utilization: Rounded,
    pub loss: Rounded,
    /// Start and end of the saturation of the link around it; the interval alone if the link is not
    /// saturated.
    pub from_s: Time,
    pub to_s: Time,
}

#[derive(Debug, Serialize)]
pub struct Link {
    pub name: String,
    pub from: String,
    pub to: String,
    pub bps: Option<Rounded>,
    pub delay: Option<Rounded>,
    pub room: Option<Rounded>,
    pub utilization: Rounded,
    pub mean_queue: Rounded,
    pub max_queue: Rounded,
    pub queueing: Rounded,
    /// Sign of estimates, for mean queue, longest queue and sojourn time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign: Option<&'static str>,
    pub loss: Rounded,
    /// Sign of estimates, for the loss in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_sign: Option<&'static str>,
    pub offered: Rounded,
    pub lost: Rounded,
    /// Packets lost on the link, after the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_lost: Option<Rounded>,
    /// Packets that the queue marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<Rounded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<LinkCurves>,
}

#[derive(Debug, Serialize)]
pub struct LinkCurves {
    pub queue: Curve,
    pub loss: Curve,
    pub utilization: Curve,
    pub queueing: Curve,
    /// For each frame, the longest queue since the previous frame and the mean utilization.
    pub frame_queue: Vec<Rounded>,
    pub frame_utilization: Vec<Rounded>,
}

#[derive(Debug, Serialize)]
pub struct Connection {
    pub name: String,
    pub from: String,
    pub to: String,
    pub source: String,
    pub count: u32,
    /// Packet size in bytes.
    pub bytes: Option<Rounded>,
    /// Indices of links of the run.
    pub path: Vec<usize>,
    pub back: Vec<usize>,
    /// Later values of `path` and `back`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Route>,
    /// Unmet demand as a fraction, 0–1.
    pub short: Rounded,
    pub send: Rounded,
    pub goodput: Rounded,
    /// Sign of estimates, for the goodput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_sign: Option<&'static str>,
    pub delivered: Rounded,
    pub lost: Rounded,
    pub rtt: Rounded,
    pub delay: Rounded,
    /// Median, 95th, 99th and 99.9th percentile of the delay.
    pub delay50: Rounded,
    pub delay95: Rounded,
    pub delay99: Rounded,
    pub delay999: Rounded,
    pub jitter: Rounded,
    /// Sign of estimates, for these times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign: Option<&'static str>,
    pub loss: Rounded,
    /// Sign of estimates, for the loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_sign: Option<&'static str>,
    pub outside: Rounded,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_use: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<ConnectionCurves>,
}

/// Route of a connection from a time on.
#[derive(Debug, Serialize)]
pub struct Route {
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

/// A curve, with its 95 % confidence interval if it is a mean over seeds.
#[derive(Debug, Serialize)]
pub struct Curve {
    pub y: Vec<Rounded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
}

#[derive(Debug, Serialize)]
pub struct Band {
    pub low: Vec<Rounded>,
    pub high: Vec<Rounded>,
}

/// Reference runs: bands of one standard deviation around their mean.
#[derive(Debug, Serialize)]
pub struct ReferenceRun {
    pub name: String,
    pub referee: &'static str,
    pub links: Reference,
    pub connections: Reference,
}

#[derive(Debug, Default, Serialize)]
pub struct Reference {
    pub x: Vec<Time>,
    pub of: Vec<ReferenceCurves>,
}

#[derive(Debug, Serialize)]
pub struct ReferenceCurves {
    pub name: String,
    /// Curves in the order of the quantities of [`crate::reference_run`].
    pub curves: Vec<Curve>,
}
