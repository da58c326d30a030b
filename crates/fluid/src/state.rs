//! Everything that changes during a run.

use netflow_network::{Applied, LinkLoss, Set};
use serde::{Deserialize, Serialize};

use crate::delays::BranchDelays;
use crate::engine::Setup;
use crate::engine::carried::Carried;
use crate::engine::marked::AggregateState;
use crate::engine::plan::{BranchPlan, Plan};
use crate::engine::queue::LIGHT;
use crate::engine::rio::RioState;
use crate::engine::schedule::ScheduleState;
use crate::mm1k::{equilibrium, ln_rho_of_mean};
use crate::replay::Paths;

/// Everything that changes during a run: it can be cloned, saved and resumed with the same bits.
///
/// It belongs to the network and the options it was made with.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Of the network and the options that it belongs to.
    pub(crate) fingerprint: u64,
    pub(crate) time_s: f64,
    pub(crate) steps: u64,
    pub(crate) evaluations: u64,
    /// Length of the last step, in seconds.
    pub(crate) last_step_s: f64,
    /// Length of the step tried next (adaptive steps).
    pub(crate) next_step_s: f64,
    pub(crate) epoch: usize,
    pub(crate) next_event: usize,
    pub(crate) links: Vec<LinkState>,
    pub(crate) branches: Vec<BranchState>,
    /// Packets in the queue, by hop (well-mixed transport).
    pub(crate) content: Vec<f64>,
    /// Packets forwarded during the step, by branch (what its source sends) and by hop; and what was carried into it.
    #[serde(rename = "handed")]
    pub(crate) forwarded: Vec<f64>,
    #[serde(default)]
    pub(crate) carried: Carried,
    /// Packets that arrived during the last step, by hop.
    pub(crate) inflow: Vec<f64>,
    /// Packets lost since the start, by hop.
    pub(crate) lost: Vec<f64>,
    /// Packets that left the network since the start, by place in [`Plan::ends`].
    pub(crate) ended: Vec<f64>,
    /// What links lose on the way at present, by rank: of those that ever did.
    #[serde(default)]
    pub(crate) losses: Vec<(u32, LinkLoss)>,
    pub(crate) fifo: FifoState,
    /// What they know of their paths, by branch, if sources learn; else empty.
    pub(crate) learnt: Vec<Learnt>,
    /// What sources that learn saw and did, as rings of
    /// [`LOOKS`](crate::engine::feedback::LOOKS) for every branch.
    pub(crate) seen: Vec<Seen>,
    pub(crate) told: Told,
    /// The queues that tell precedences apart, and the aggregates; both usually empty.
    pub(crate) rio: Vec<RioState>,
    pub(crate) aggregates: Vec<AggregateState>,
    pub(crate) schedules: Vec<ScheduleState>,
    /// The connections of which something may be set; usually none.
    #[serde(default)]
    pub(crate) set: Vec<SetState>,
}

/// What is set of a connection, and what had no route before that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SetState {
    pub now: Set,
    /// Its path at the start, by which links have their order.
    pub first_path: Option<u32>,
    /// Whether it has been sent since where nothing goes by what was set at the start.
    pub strayed: bool,
    pub since_s: f64,
    pub blocked_pkts: f64,
    pub blocked_s: f64,
}

/// What is kept only to be told: no step depends on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// What packets took, by branch.
    pub delays: Vec<BranchDelays>,
    /// What users met with.
    pub paths: Paths,
}

/// One queue, in the order of processing. Packets are packets of any size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkState {
    pub bandwidth_bps: f64,
    /// The delay, if an event has set it.
    #[serde(default)]
    pub delay_s: Option<f64>,
    /// Part of the bandwidth that this queue has.
    pub share: f64,
    pub down: bool,
    pub queue_pkts: f64,
    pub queue_bits: f64,
    /// ln ρ of the M/M/1/K queue with this mean.
    #[serde(rename = "load")]
    pub ln_rho: f64,
    /// Probability that a packet arriving now is refused.
    pub refused: f64,
    /// By how much that rises with each second that packets wait.
    #[serde(default)]
    pub steepness_per_s: f64,
    pub utilization: f64,
    /// Steps in a row without anything here or on the way from here.
    pub quiet_steps: u32,
    /// What early drops follow from: of random early detection the average queue in packets, of PIE the
    /// drop probability.
    #[serde(rename = "average_pkts")]
    pub early: f64,
    /// What packets waited at the end of the last step, in seconds, where PIE drops.
    #[serde(default)]
    pub early_wait_s: f64,
    /// Since the start:
    pub offered_pkts: f64,
    pub lost_pkts: f64,
    /// Of these, what `fluid-literal` cut off: no hop has lost it.
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

/// One branch: what its source does, and since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BranchState {
    /// Packets/s of one connection during the last step.
    pub rate_pps: f64,
    /// What that rate came from.
    pub applied: Option<Applied>,
    pub sent_pkts: f64,
    pub rtt_time: f64,
    pub loss_time: f64,
    pub active_s: f64,
    pub outside_s: f64,
    pub unusable_s: f64,
    /// When its size was delivered: on average over its connections, whose last packets arrive half a packet before
    /// the fluid has delivered everything.
    pub finished_s: Option<f64>,
    /// When everything was delivered.
    pub done_s: Option<f64>,
}

/// What a source with a profile has learnt of its path. It is forgotten when the source could not
/// send for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Learnt {
    /// When it began to send over this path; `None` if it does not.
    pub since_s: Option<f64>,
    /// The step in which it looked at its path last.
    pub last_step: u64,
    /// The loss it reckons with, and the round-trip time of what was acknowledged last.
    pub loss: f64,
    pub rtt_s: f64,
    /// The same in the step before.
    pub before_rtt_s: f64,
    /// Packets/s of one connection that were delivered in the last step, and its length in seconds.
    pub delivered_pps: f64,
    #[serde(default)]
    pub delivered_s: f64,
    /// How often its rate or its round-trip time doubles or halves in a round trip: the most of late.
    #[serde(default)]
    pub doublings: f64,
    /// What one connection has sent until the last look, and lost of it.
    pub sent_pkts: f64,
    pub lost_pkts: f64,
    /// What it has sent since, and the loss probability at that look.
    pub step_pkts: f64,
    pub met_loss: f64,
    /// It has learnt from what was sent until then.
    pub until_s: f64,
    /// Its looks at the path that are kept: how many, and the place of the last among
    /// [`LOOKS`](crate::engine::feedback::LOOKS).
    pub looks: u32,
    pub last_look: u32,
}

/// What FIFO transport remembers; empty without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FifoState {
    /// Packets by arrival slot and hop, block by block.
    pub queue_cells: Vec<f64>,
    /// Descriptions of the arrival slots, link by link.
    pub slots: Vec<Slot>,
    pub queues: Vec<SlotQueue>,
    /// Packets by batch and hop that are on the way over the link, block by block.
    pub flight_cells: Vec<f64>,
    /// When each batch on the way began to leave its queue, link by link.
    pub batch_start_s: Vec<f64>,
    pub flights: Vec<Flight>,
    /// What is on the way with other delays than those of now; usually nothing.
    #[serde(default)]
    pub earlier: Vec<Earlier>,
}

/// What was on the way over one link when its delay changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Earlier {
    pub rank: u32,
    /// The delay with which it left.
    pub delay_s: f64,
    /// The first batch that is not among them, and when the last ended.
    pub begun: u64,
    pub end_s: f64,
    /// How much was forwarded, as of [`Flight`].
    pub same_step: Forwarded,
    pub next_step: Forwarded,
    /// When each batch began, as a ring; and packets by batch and hop, block by block.
    pub starts_s: Vec<f64>,
    pub cells: Vec<f64>,
}

/// What is on the way over one link, in batches that left its queue one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flight {
    /// Batches begun so far; the last of them still grows.
    pub begun: u64,
    /// Everything up to this batch is without packets from there on.
    pub last_full: u64,
    /// How much was forwarded, for the hops that forward within the step, and for the others.
    #[serde(rename = "soon")]
    pub same_step: Forwarded,
    #[serde(rename = "late")]
    pub next_step: Forwarded,
}

/// A source's look at its path: what one connection has sent until then, and how much of it met a
/// loss on the whole way as it was then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// When it looked, in seconds.
    pub time_s: f64,
    pub rtt_s: f64,
    pub sent_pkts: f64,
    pub lost_pkts: f64,
}

/// What arrived in a queue during one step (or, in a crowded queue, several).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub pkts: f64,
    pub bits: f64,
    /// Fraction that is still in the queue.
    pub remains: f64,
}

/// The slots of one queue as a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SlotQueue {
    pub head: u32,
    pub count: u32,
}

/// Everything before batch `batch`, and this fraction of it, has been forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forwarded {
    pub batch: u64,
    pub fraction: f64,
}

impl State {
    pub(crate) fn new(setup: &Setup, duration_s: f64, first_step_s: f64) -> State {
        let (inner, plan) = (&**setup.network.tables(), &setup.plan);
        let link = |l: &crate::engine::plan::LinkPlan| LinkState {
            bandwidth_bps: inner.links[l.link as usize].bandwidth_bps,
            delay_s: None,
            share: 1.0,
            down: false,
            queue_pkts: 0.0,
            queue_bits: 0.0,
            ln_rho: LIGHT,
            refused: 0.0,
            steepness_per_s: 0.0,
            utilization: 0.0,
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
            time_s: 0.0,
            steps: 0,
            evaluations: 0,
            last_step_s: first_step_s,
            next_step_s: first_step_s,
            epoch: 0,
            next_event: 0,
            links: plan.links.iter().map(link).collect(),
            branches: vec![BranchState::default(); branches],
            told: Told {
                delays: vec![BranchDelays::default(); branches],
                paths: Paths::new(&setup.network, duration_s),
            },
            content: vec![0.0; if plan.queue_cells == 0 { hops } else { 0 }],
            forwarded: vec![0.0; branches + hops + plan.carried.len()],
            carried: Carried::new(plan),
            inflow: vec![0.0; hops],
            lost: vec![0.0; hops],
            ended: vec![0.0; plan.ends.len()],
            losses: setup.first_losses(),
            fifo: FifoState::new(plan),
            learnt: vec![Learnt::default(); plan.learners()],
            seen: vec![Seen::default(); plan.looks],
            rio: vec![RioState::default(); plan.rio.len()],
            schedules: plan.schedules.iter().map(ScheduleState::new).collect(),
            aggregates: inner.aggregates.iter().map(AggregateState::new).collect(),
            set: vec![SetState::default(); inner.settable.len()],
        }
    }

    /// Packets of data that a branch has delivered since the start.
    #[inline]
    pub(crate) fn delivered_pkts(&self, branch: &BranchPlan) -> f64 {
        self.ended[branch.delivered as usize]
    }

    /// Those of them whose acknowledgement arrived; 0 without acknowledgements.
    pub(crate) fn acknowledged_pkts(&self, branch: &BranchPlan) -> f64 {
        let acknowledged = self.ended.get(branch.acknowledged as usize);
        acknowledged.copied().unwrap_or(0.0)
    }

    /// The rate of one connection without a profile, in packets/s.
    #[inline]
    pub(crate) fn own_pps(&self, branch: &BranchPlan) -> f64 {
        self.set_pps(branch).unwrap_or(branch.rate_pps)
    }

    /// The rate in packets/s that the program has set for one connection, if it has.
    #[inline]
    pub(crate) fn set_pps(&self, branch: &BranchPlan) -> Option<f64> {
        let set = self.set.get(branch.settable as usize);
        set.and_then(|it| it.now.rate_pps)
    }
}

impl Clone for State {
    fn clone(&self) -> State {
        State {
            links: self.links.clone(),
            branches: self.branches.clone(),
            told: self.told.clone(),
            content: self.content.clone(),
            forwarded: self.forwarded.clone(),
            carried: self.carried.clone(),
            inflow: self.inflow.clone(),
            lost: self.lost.clone(),
            ended: self.ended.clone(),
            losses: self.losses.clone(),
            fifo: self.fifo.clone(),
            learnt: self.learnt.clone(),
            seen: self.seen.clone(),
            rio: self.rio.clone(),
            aggregates: self.aggregates.clone(),
            schedules: self.schedules.clone(),
            set: self.set.clone(),
            ..*self
        }
    }

    /// Copies without allocating, if both are of the same network.
    fn clone_from(&mut self, other: &State) {
        let State {
            fingerprint,
            time_s,
            steps,
            evaluations,
            last_step_s,
            next_step_s,
            epoch,
            next_event,
            links,
            branches,
            content,
            forwarded,
            carried,
            inflow,
            lost,
            ended,
            losses,
            fifo,
            learnt,
            seen,
            told,
            rio,
            aggregates,
            schedules,
            set,
        } = other;
        self.fingerprint = *fingerprint;
        self.time_s = *time_s;
        self.steps = *steps;
        self.evaluations = *evaluations;
        self.last_step_s = *last_step_s;
        self.next_step_s = *next_step_s;
        self.epoch = *epoch;
        self.next_event = *next_event;
        self.links.clone_from(links);
        self.branches.clone_from(branches);
        self.content.clone_from(content);
        self.forwarded.clone_from(forwarded);
        self.carried.pkts.clone_from(&carried.pkts);
        self.carried.collected_s = carried.collected_s;
        self.inflow.clone_from(inflow);
        self.lost.clone_from(lost);
        self.ended.clone_from(ended);
        self.losses.clone_from(losses);
        self.fifo.clone_from(fifo);
        self.learnt.clone_from(learnt);
        self.seen.clone_from(seen);
        self.told.clone_from(told);
        self.rio.clone_from(rio);
        self.aggregates.clone_from(aggregates);
        self.schedules.clone_from(schedules);
        self.set.clone_from(set);
    }
}

impl State {
    /// Whether it is one of the network and the options that `other` is of, with its shape.
    pub(crate) fn fits(&self, other: &State) -> bool {
        let lengths = |s: &State| {
            let f = &s.fifo;
            let engine = [
                s.links.len(),
                s.branches.len(),
                s.told.delays.len(),
                s.content.len(),
                s.forwarded.len(),
                s.carried.pkts.len(),
                s.inflow.len(),
                s.lost.len(),
                s.ended.len(),
                s.rio.len(),
                s.aggregates.len(),
                s.schedules.len(),
                s.set.len(),
            ];
            let rings = [
                f.queue_cells.len(),
                f.slots.len(),
                f.flight_cells.len(),
                f.batch_start_s.len(),
                s.learnt.len(),
                s.seen.len(),
            ];
            let queues = [f.queues.len(), f.flights.len()];
            (engine, rings, queues)
        };
        self.fingerprint == other.fingerprint
            && self.told.paths.fits(&other.told.paths)
            && lengths(self) == lengths(other)
    }

    /// The largest difference of any queue, in units of the queue (at least of one packet).
    pub(crate) fn distance(a: &State, b: &State) -> f64 {
        let pairs = a.links.iter().zip(&b.links);
        let differences =
            pairs.map(|(a, b)| (a.queue_pkts - b.queue_pkts).abs() / b.queue_pkts.max(1.0));
        differences.fold(0.0, f64::max)
    }

    /// The largest difference between what a queue did before and after the middle of a step, in
    /// the same units.
    pub(crate) fn bend(start: &State, middle: &State, end: &State) -> f64 {
        let times = start.links.iter().zip(&middle.links).zip(&end.links);
        let bends = times.map(|((a, m), b)| {
            let (first, second) = (m.queue_pkts - a.queue_pkts, b.queue_pkts - m.queue_pkts);
            (first - second).abs() / b.queue_pkts.max(1.0)
        });
        bends.fold(0.0, f64::max)
    }

    /// Replaces this state, reached from `start` by two half steps, by twice itself minus the
    /// `whole` step's, unless that leaves the bounds of a queue or takes back what has happened.
    /// All volumes are replaced, so they still balance.
    pub(crate) fn extrapolate(&mut self, start: &State, whole: &State, plan: &Plan) {
        let ahead = |half: f64, whole: f64| 2.0 * half - whole;
        let queues = self.links.iter().zip(&whole.links).zip(&plan.links);
        let within = queues.clone().all(|((h, w), l)| {
            let queue = ahead(h.queue_pkts, w.queue_pkts);
            let bits = ahead(h.queue_bits, w.queue_bits);
            let most = l.buffer_now_pkts(h).min(l.room_pkts(h, queue, bits));
            (0.0..most).contains(&queue) && bits >= 0.0
        });
        let contents = self.content.iter().zip(&whole.content);
        let goes_on = |half: &[f64], whole: &[f64], start: &[f64]| {
            let mut all = half.iter().zip(whole).zip(start);
            all.all(|((&h, &w), &s)| ahead(h, w) >= s)
        };
        let branches = self.branches.iter().zip(&whole.branches);
        let mut sent = branches.zip(&start.branches);
        let forward = goes_on(&self.lost, &whole.lost, &start.lost)
            && goes_on(&self.ended, &whole.ended, &start.ended)
            && sent.all(|((h, w), s)| ahead(h.sent_pkts, w.sent_pkts) >= s.sent_pkts);
        // What a limited source may still send bends its rate: nothing to extrapolate.
        let limited = plan
            .limited
            .iter()
            .any(|&b| self.branches[b as usize].sent_pkts > start.branches[b as usize].sent_pkts);
        if limited || !(within && forward && contents.clone().all(|(&h, &w)| ahead(h, w) >= 0.0)) {
            return;
        }
        for (half, whole) in self.links.iter_mut().zip(&whole.links) {
            half.queue_pkts = ahead(half.queue_pkts, whole.queue_pkts);
            half.queue_bits = ahead(half.queue_bits, whole.queue_bits);
            half.offered_pkts = ahead(half.offered_pkts, whole.offered_pkts);
            half.lost_pkts = ahead(half.lost_pkts, whole.lost_pkts);
            half.departed_pkts = ahead(half.departed_pkts, whole.departed_pkts);
            half.longer_time = ahead(half.longer_time, whole.longer_time);
            half.sending_s = ahead(half.sending_s, whole.sending_s);
            half.bit_time = ahead(half.bit_time, whole.bit_time);
        }
        for (half, whole) in self.branches.iter_mut().zip(&whole.branches) {
            half.sent_pkts = ahead(half.sent_pkts, whole.sent_pkts);
        }
        for (halves, wholes) in [
            (&mut self.content, &whole.content),
            (&mut self.lost, &whole.lost),
            (&mut self.ended, &whole.ended),
        ] {
            for (half, &whole) in halves.iter_mut().zip(wholes) {
                *half = ahead(*half, whole);
            }
        }
        for (half, whole) in self.rio.iter_mut().zip(&whole.rio) {
            half.extrapolate(whole);
        }
        for (link, l) in self.links.iter_mut().zip(&plan.links) {
            link.renew_ln_rho(l.buffer_now_pkts(link), l.light_rho);
        }
    }
}

impl LinkState {
    /// Load and blocking of the queue's present length.
    fn renew_ln_rho(&mut self, buffer_pkts: f64, light_rho: f64) {
        let ln_rho = ln_rho_of_mean(self.queue_pkts, buffer_pkts);
        if ln_rho < libm::log(light_rho) {
            (self.ln_rho, self.refused) = (LIGHT, 0.0);
        } else {
            self.ln_rho = ln_rho;
            self.refused = equilibrium(ln_rho, buffer_pkts).blocking;
        }
    }
}

impl FifoState {
    fn new(plan: &Plan) -> FifoState {
        if plan.queue_cells == 0 {
            return FifoState::default();
        }
        FifoState {
            queue_cells: vec![0.0; plan.queue_cells],
            slots: vec![Slot::default(); plan.queue_slots],
            queues: vec![SlotQueue::default(); plan.links.len()],
            flight_cells: vec![0.0; plan.flight_cells],
            batch_start_s: vec![0.0; plan.flight_batches],
            flights: vec![Flight::default(); plan.links.len()],
            earlier: Vec::new(),
        }
    }
}
