//! State of a run: everything that changes.

use netflow_network::{AppliedLimits, ChangeCursor, ControlState, LinkLoss};
use serde::{Deserialize, Serialize};

use crate::delays::BranchDelays;
use crate::engine::Setup;
use crate::engine::aggregates::AggregateState;
use crate::engine::class_scheduler::ScheduleState;
use crate::engine::plan::{BranchPlan, Plan};
use crate::engine::queue::{EMPTY_LN_RHO, LawTangent};
use crate::engine::rio::RioState;
use crate::engine::tcp_window::{self, TcpWindow, WindowSample};
use crate::session_replay::PathSamples;

/// State of a run: it can be cloned, saved and resumed with bit-identical results.
///
/// It belongs to the network and the options with which it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Hash of the network and the options to which it belongs.
    pub(crate) fingerprint: u64,
    /// Clock of each component.
    pub(crate) clocks: Vec<Clock>,
    pub(crate) epoch: usize,
    pub(crate) changes: ChangeCursor,
    pub(crate) links: Vec<LinkState>,
    pub(crate) branches: Vec<BranchState>,
    /// Packets in the queue, by hop.
    pub(crate) content: Vec<f64>,
    /// Packets forwarded during the step, by branch (sent by its source) and by hop.
    #[serde(rename = "handed")]
    pub(crate) forwarded: Vec<f64>,
    /// Packets that arrived during the last step, by hop.
    pub(crate) inflow: Vec<f64>,
    /// Packets lost since the start, by hop.
    pub(crate) lost: Vec<f64>,
    /// Packets that left the network since the start, by position in [`Plan::ends`].
    pub(crate) ended: Vec<f64>,
    /// Present random loss of links, by rank, for links that ever have any.
    #[serde(default)]
    pub(crate) losses: Vec<(u32, LinkLoss)>,
    pub(crate) flights: FlightsState,
    /// Congestion windows, by branch, and their path samples: a ring for every branch. Empty for the
    /// published equations.
    #[serde(default)]
    pub(crate) windows: Vec<TcpWindow>,
    #[serde(default)]
    pub(crate) window_samples: Vec<WindowSample>,
    pub(crate) told: Reporting,
    /// Queues with drop precedences (RIO), and the aggregates; both usually empty.
    pub(crate) rio: Vec<RioState>,
    pub(crate) aggregates: Vec<AggregateState>,
    pub(crate) schedules: Vec<ScheduleState>,
    /// Controllable connections; usually none.
    #[serde(default)]
    pub(crate) set: Vec<ControlRecord>,
}

/// Clock of one component.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Clock {
    pub time_s: f64,
    /// Number of steps since the start.
    pub steps: u64,
    /// Length of the last step, in seconds.
    pub last_step_s: f64,
}

/// Control values of a connection, and its packets without a route before they were set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ControlRecord {
    pub now: ControlState,
    /// Path at the start, which determines the order of the links.
    pub first_path: Option<u32>,
    pub since_s: f64,
    #[serde(alias = "blocked_pkts")]
    pub unrouted_pkts: f64,
    pub blocked_s: f64,
}

/// Reported statistics, on which no step depends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reporting {
    /// Packet delays, by branch.
    pub delays: Vec<BranchDelays>,
    /// Paths over which user sessions are played.
    pub paths: PathSamples,
}

/// State of one queue, in the order of processing. Packets have any size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkState {
    pub bandwidth_bps: f64,
    /// Time in which the queue drains, in seconds, if the bandwidth follows a series.
    #[serde(default)]
    pub drain_s: Option<f64>,
    /// Propagation delay in seconds, if an event has set it.
    #[serde(default)]
    pub delay_s: Option<f64>,
    /// Fraction of the link bandwidth that this queue gets, 0–1.
    pub share: f64,
    pub down: bool,
    pub queue_pkts: f64,
    pub queue_bits: f64,
    /// ln ρ of the M/M/1/K queue with this mean.
    #[serde(rename = "load")]
    pub ln_rho: f64,
    /// Probability that an arriving packet is dropped now.
    pub refused: f64,
    /// Tangent of the queue law where it was last evaluated.
    #[serde(default)]
    pub tangent: LawTangent,
    pub utilization: f64,
    /// Packets/s that arrived in the last step.
    #[serde(default)]
    pub arriving_pps: f64,
    /// Number of consecutive steps without packets in the queue or in flight on the link.
    pub quiet_steps: u32,
    /// Input of the early-drop law: for RED the average queue in packets, for PIE the drop probability.
    #[serde(rename = "average_pkts")]
    pub early: f64,
    /// Waiting time at the end of the last step, in seconds (PIE).
    #[serde(default)]
    pub early_wait_s: f64,
    /// Packets that arrived since the start. The fields that follow are cumulative, too.
    pub offered_pkts: f64,
    pub lost_pkts: f64,
    /// Lost packets that `fluid-literal` cut off, which no hop counts.
    #[serde(default)]
    pub cut_off_pkts: f64,
    pub departed_pkts: f64,
    pub queue_time: f64,
    #[serde(default)]
    pub longer_time: f64,
    #[serde(default)]
    pub sending_s: f64,
    #[serde(default)]
    pub bit_time: f64,
    pub busy_s: f64,
    pub max_queue_pkts: f64,
}

/// State of one branch: present rate of its source, and cumulative sums since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BranchState {
    /// Packets/s of one connection during the last step.
    pub rate_pps: f64,
    /// Inputs from which the rate was computed.
    pub applied: Option<AppliedLimits>,
    pub sent_pkts: f64,
    pub rtt_time: f64,
    pub loss_time: f64,
    pub active_s: f64,
    pub outside_s: f64,
    pub unusable_s: f64,
    /// Time of delivery of the full size, averaged over the connections. Their last packets arrive half a
    /// packet before the fluid has delivered everything.
    pub finished_s: Option<f64>,
    /// Time at which everything was delivered.
    pub done_s: Option<f64>,
}

/// Packets in flight on the links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlightsState {
    /// Packets by batch and hop, block by block.
    pub cells: Vec<f64>,
    /// Time at which each batch in flight began to leave its queue, link by link.
    pub batch_start_s: Vec<f64>,
    pub links: Vec<Flight>,
    /// Packets in flight with an earlier value of the delay; usually none.
    #[serde(default)]
    pub earlier: Vec<OldDelayPackets>,
}

/// Packets in flight on one link when its delay changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OldDelayPackets {
    pub rank: u32,
    /// Delay with which they left, in seconds.
    pub delay_s: f64,
    /// First batch that does not belong to them, and the end of the last one in seconds.
    pub begun: u64,
    pub end_s: f64,
    /// Progress of forwarding, as in [`Flight`].
    pub same_step: Forwarded,
    pub next_step: Forwarded,
    /// Start time of each batch, as a ring; and packets by batch and hop, block by block.
    pub starts_s: Vec<f64>,
    pub cells: Vec<f64>,
}

/// Packets in flight on one link, in batches in the order in which they left the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flight {
    /// Number of batches begun; the last one still grows.
    pub begun: u64,
    /// Exclusive upper bound of the batches that contain packets.
    pub last_full: u64,
    /// Progress of forwarding, for the hops that forward within the step and for the others.
    #[serde(rename = "soon")]
    pub same_step: Forwarded,
    #[serde(rename = "late")]
    pub next_step: Forwarded,
}

/// Position up to which batches have been forwarded: all before `batch`, and this fraction of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forwarded {
    pub batch: u64,
    pub fraction: f64,
}

/// Bandwidth of a paused link in bit/s, which keeps the queue's equations regular.
pub(crate) const PAUSED_BPS: f64 = 1.0;

impl LinkState {
    /// Returns whether its series has a bandwidth of 0 now.
    pub(crate) fn is_paused(&self) -> bool {
        self.drain_s.is_some() && self.bandwidth_bps <= PAUSED_BPS
    }

    /// Returns the bandwidth in bit/s at which a packet is transmitted. During a pause it is infinite, because
    /// [`drain_s`](LinkState::drain_s) counts the pause.
    pub(crate) fn transmission_bps(&self) -> f64 {
        if self.is_paused() {
            f64::INFINITY
        } else {
            self.bandwidth_bps
        }
    }
}

impl State {
    pub(crate) fn new(setup: &Setup, duration_s: f64, first_step_s: f64) -> State {
        let (inner, plan) = (&**setup.network.tables(), &setup.plan);
        let link = |l: &crate::engine::plan::LinkPlan| LinkState {
            bandwidth_bps: inner.links[l.link as usize].bandwidth_bps,
            drain_s: inner.links[l.link as usize].bandwidth_series().map(|_| 0.0),
            delay_s: None,
            share: 1.0,
            down: false,
            queue_pkts: 0.0,
            queue_bits: 0.0,
            ln_rho: EMPTY_LN_RHO,
            refused: 0.0,
            tangent: LawTangent::default(),
            utilization: 0.0,
            arriving_pps: 0.0,
            quiet_steps: 0,
            early: 0.0,
            early_wait_s: 0.0,
            offered_pkts: 0.0,
            lost_pkts: 0.0,
            cut_off_pkts: 0.0,
            departed_pkts: 0.0,
            queue_time: 0.0,
            longer_time: 0.0,
            sending_s: 0.0,
            bit_time: 0.0,
            busy_s: 0.0,
            max_queue_pkts: 0.0,
        };
        let hops = plan.hop_count();
        let branches = plan.branches.len();
        State {
            fingerprint: plan.fingerprint,
            clocks: vec![
                Clock {
                    time_s: 0.0,
                    steps: 0,
                    last_step_s: first_step_s,
                };
                plan.components.len()
            ],
            epoch: 0,
            changes: ChangeCursor::new(inner),
            links: plan.links.iter().map(link).collect(),
            branches: vec![BranchState::default(); branches],
            told: Reporting {
                delays: vec![BranchDelays::default(); branches],
                paths: PathSamples::new(&setup.network, duration_s),
            },
            content: vec![0.0; hops],
            forwarded: vec![0.0; branches + hops],
            inflow: vec![0.0; hops],
            lost: vec![0.0; hops],
            ended: vec![0.0; plan.ends.len()],
            losses: setup.first_losses(),
            flights: FlightsState::new(plan),
            windows: vec![TcpWindow::default(); plan.windows],
            window_samples: vec![WindowSample::default(); plan.windows * tcp_window::SAMPLES],
            rio: vec![RioState::default(); plan.rio.len()],
            schedules: plan.schedules.iter().map(ScheduleState::new).collect(),
            aggregates: inner.aggregates.iter().map(AggregateState::new).collect(),
            set: vec![ControlRecord::default(); inner.controllable.len()],
        }
    }

    /// Returns the time that all components have reached, in seconds.
    pub(crate) fn time_s(&self) -> f64 {
        self.clocks
            .iter()
            .map(|it| it.time_s)
            .fold(f64::INFINITY, f64::min)
    }

    /// Returns the number of steps since the start, of the component with the most.
    pub(crate) fn steps(&self) -> u64 {
        self.clocks.iter().map(|it| it.steps).max().unwrap_or(0)
    }

    /// Returns the data packets that a branch has delivered since the start.
    #[inline]
    pub(crate) fn delivered_pkts(&self, branch: &BranchPlan) -> f64 {
        self.ended[branch.delivered as usize]
    }

    /// Returns the delivered packets whose acknowledgement has arrived; 0 without acknowledgements.
    pub(crate) fn acknowledged_pkts(&self, branch: &BranchPlan) -> f64 {
        let acknowledged = self.ended.get(branch.acknowledged as usize);
        acknowledged.copied().unwrap_or(0.0)
    }

    /// Returns the rate of one connection without a profile, in packets/s.
    #[inline]
    pub(crate) fn own_pps(&self, branch: &BranchPlan) -> f64 {
        let set = self.set.get(branch.settable as usize);
        let rate_pps = set.and_then(|it| it.now.rate_pps);
        rate_pps.unwrap_or(branch.rate_pps)
    }

    /// Returns the rate in packets/s that one connection without a profile has had since its start. It is infinite if
    /// the program has set another one since, because earlier rates are not kept.
    pub(crate) fn pps_since_start(&self, branch: &BranchPlan) -> f64 {
        match self.set.get(branch.settable as usize) {
            Some(set) if set.now.rate_pps.is_some() && set.since_s > branch.start_s => {
                f64::INFINITY
            }
            _ => self.own_pps(branch),
        }
    }
}

impl State {
    /// Returns true if both states belong to the same network and options and have equal sizes.
    pub(crate) fn fits(&self, other: &State) -> bool {
        let lengths = |s: &State| {
            let f = &s.flights;
            let engine = [
                s.clocks.len(),
                s.links.len(),
                s.branches.len(),
                s.told.delays.len(),
                s.content.len(),
                s.forwarded.len(),
                s.inflow.len(),
                s.lost.len(),
                s.ended.len(),
                s.rio.len(),
                s.aggregates.len(),
                s.schedules.len(),
                s.set.len(),
            ];
            let rings = [f.cells.len(), f.batch_start_s.len()];
            (engine, rings, f.links.len())
        };
        self.fingerprint == other.fingerprint
            && self.told.paths.fits(&other.told.paths)
            && lengths(self) == lengths(other)
    }
}

impl FlightsState {
    fn new(plan: &Plan) -> FlightsState {
        FlightsState {
            cells: vec![0.0; plan.flight_cells],
            batch_start_s: vec![0.0; plan.flight_batches],
            links: vec![Flight::default(); plan.links.len()],
            earlier: Vec::new(),
        }
    }
}
