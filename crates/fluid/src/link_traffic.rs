//! Traffic of each link by kind, and the resulting queue model of the link.
//!
//! It changes when connections start or stop, or when routes or bandwidths change; not from step to step.

use std::collections::HashMap;

use netflow_network::{ACK_BYTES, BufferLimit, Calibration, Overhead};
use netflow_workload::TransferSizes;

use crate::slow_start_bursts::{Bursts, TransferPath};
use crate::tcp_drop_tail::{DropTailTcpLaw, LawGradient, extra_idle};

/// Buffer sizes in packets between which the queue model changes smoothly: M/M/1/K up to the first, the model
/// of TCP windows from the second on.
const WINDOW_MODEL_BUFFERS_PKTS: (f64, f64) = (1.0, 8.0);

/// Waiting packets of windows in small buffers relative to M/M/1/K at the same utilization, and the buffer sizes
/// in packets between which this factor increases smoothly to 1. Packets of one size are served evenly, so they
/// wait less.
const SMALL_BUFFER_WAITING: f64 = 0.25;
const SMALL_BUFFERS_PKTS: (f64, f64) = (4.0, 16.0);

/// Connections of a class, with the properties that affect queues.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// Number of connections.
    pub count: f64,
    /// Fixed rate of each in packets/s; `None` if a profile gives the rate.
    pub rate_pps: Option<f64>,
    /// Rate in packets/s at which each application makes data; infinite for bulk data. It is also infinite if
    /// TCP gets [less than that](mark_saturated_sources).
    pub application_pps: f64,
    /// Largest window of each in packets; infinite if it is unlimited.
    pub window_pkts: f64,
    /// Round-trip propagation delay, in seconds.
    pub round_trip_s: f64,
    /// IP bits of a data packet.
    pub data_bits: f64,
    /// Amplitude of the sawtooth of each window, relative to the Reno of ns-2.
    pub sawtooth_amplitude: f64,
    /// Acknowledgements per data packet that count as traffic.
    pub acks: f64,
    /// Transfers of which the rate is the mean, if any.
    pub transfers: Option<&'a TransferSizes>,
}

/// Flow: connections of a class with their path. Links are given by number.
#[derive(Clone, Copy, Debug)]
pub struct TrafficFlow<'a> {
    /// Connections of the flow.
    pub sender: Sender<'a>,
    /// Links of the data path.
    pub data: &'a [u32],
    /// Links of the return path.
    pub return_path: &'a [u32],
}

/// Traffic of one link. The same type holds the gradient of a scalar with respect to its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTraffic {
    /// Bandwidth of the link in bit/s.
    pub bandwidth_bps: f64,
    /// Bits of a packet on the wire beyond those of IP.
    pub overhead: Overhead,
    /// Buffer size, as [`BufferLimit::nominal_pkts`].
    pub buffer_pkts: f64,
    /// Buffer size, as [`BufferLimit::bits`].
    pub buffer_bits: Option<f64>,
    /// Largest data packet of the windows that cross it, in bits on the wire.
    pub largest_bits: f64,
    /// True if all traffic arrives over one upstream link that is not faster. Its packets arrive at least one
    /// service time apart, so they hardly wait or get lost here.
    pub is_paced: bool,
    /// Number of windows whose data crosses it.
    pub windows: f64,
    /// Acknowledgements per data packet, summed over the windows whose return path crosses it.
    pub acks: f64,
    /// Number of windows that may grow until the queue overflows, each weighted by its
    /// [`responsiveness`](Self::responsiveness).
    pub responsive_windows: f64,
    /// Sum of the sawtooth amplitudes of these windows, with the same weights.
    pub amplitude_sum: f64,
    /// Demand of unresponsive sources, in bit/s on the wire.
    pub unresponsive_bps: f64,
    /// Sum over transfers of demand (bit/s on the wire) times [burst size](crate::slow_start_bursts) at this link. A
    /// burst from another link affects only the fraction of the traffic that does not arrive over the same
    /// link.
    pub demand_weighted_bursts: Bursts,
}

/// Gradient of [`LinkTraffic::responsiveness`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResponsivenessGradient {
    /// Derivative with respect to [`LinkTraffic::bandwidth_bps`].
    pub bandwidth_bps: f64,
    /// Derivative with respect to [`LinkTraffic::buffer_pkts`].
    pub buffer_pkts: f64,
    /// Derivative with respect to [`LinkTraffic::windows`].
    pub windows: f64,
    /// Derivative with respect to [`Sender::round_trip_s`].
    pub round_trip_s: f64,
}

/// Relative excess over the fair share that counts as rounding error.
const ROUNDING: f64 = 1e-9;

/// Marks TCP sources as bulk if their application makes more than TCP gets on the path. The limit is the
/// lowest max-min fair share over the links of the path.
pub fn mark_saturated_sources(links: &[LinkTraffic], flows: &mut [TrafficFlow<'_>]) {
    let is_limited = |it: &Sender<'_>| it.rate_pps.is_none() && it.application_pps < f64::INFINITY;
    if !flows.iter().any(|it| is_limited(&it.sender)) {
        return;
    }
    let mut shared: Vec<LinkDemand> = vec![LinkDemand::default(); links.len()];
    for TrafficFlow { sender, data, .. } in flows.iter() {
        for &l in *data {
            let factor = links[l as usize].factor(sender.data_bits);
            let link = &mut shared[l as usize];
            match sender.rate_pps {
                Some(_) => link.unresponsive_bps += sender.demand_bps() * factor,
                None => (link.tcp_demands).push((sender.application_bps() * factor, sender.count)),
            }
        }
    }
    let pairs = links.iter().zip(shared);
    let shares_bps: Vec<f64> = pairs
        .map(|(link, shared)| shared.fair_share_bps(link.bandwidth_bps))
        .collect();
    for TrafficFlow { sender, data, .. } in flows.iter_mut() {
        let share = |&l: &u32| {
            let l = l as usize;
            shares_bps[l] / links[l].factor(sender.data_bits)
        };
        let shares = data.iter().map(share);
        let least_bps = shares.fold(f64::INFINITY, f64::min);
        if is_limited(sender) && sender.application_bps() > least_bps * (1.0 + ROUNDING) {
            sender.application_pps = f64::INFINITY;
        }
    }
}

/// Demand on one link.
#[derive(Clone, Default)]
struct LinkDemand {
    unresponsive_bps: f64,
    /// TCP demand: bit/s of each application, and the number of connections.
    tcp_demands: Vec<(f64, f64)>,
}

impl LinkDemand {
    /// Returns the max-min fair share of each TCP connection on this link, in bit/s; infinite if all demand
    /// fits.
    fn fair_share_bps(mut self, bandwidth_bps: f64) -> f64 {
        self.tcp_demands.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left_bps = (bandwidth_bps - self.unresponsive_bps).max(0.0);
        let mut left: f64 = self.tcp_demands.iter().map(|it| it.1).sum();
        for (each_bps, count) in self.tcp_demands {
            if each_bps * left > left_bps {
                return left_bps / left;
            }
            left_bps -= each_bps * count;
            left -= count;
        }
        f64::INFINITY
    }
}

/// Adds all flows to links without traffic.
pub fn add_flows<'a>(
    links: &mut [LinkTraffic],
    crossers: impl Iterator<Item = TrafficFlow<'a>> + Clone,
) {
    for TrafficFlow {
        sender,
        data,
        return_path: back,
    } in crossers.clone()
    {
        if !sender.is_responsive() {
            for &l in data {
                let link = &mut links[l as usize];
                link.unresponsive_bps += link.demand_bps(&sender);
            }
            continue;
        }
        for &l in data {
            let link = &mut links[l as usize];
            link.windows += sender.count;
            let wire_bits = link.overhead.wire_bits(sender.data_bits);
            link.largest_bits = link.largest_bits.max(wire_bits);
        }
        for &l in back {
            links[l as usize].acks += sender.count * sender.acks;
        }
    }
    for TrafficFlow { sender, data, .. } in crossers.clone().filter(|it| it.sender.is_responsive())
    {
        for &l in data {
            let link = &mut links[l as usize];
            let reacting = sender.count * link.responsiveness(&sender);
            link.responsive_windows += reacting;
            link.amplitude_sum += reacting * sender.sawtooth_amplitude;
        }
    }
    mark_paced(links, crossers.clone());
    add_bursts(links, crossers);
}

/// Upstream links from which traffic reaches a link.
#[derive(Clone, Copy, PartialEq)]
enum UpstreamLinks {
    NoTraffic,
    One(u32),
    Several,
}

/// Marks the links whose traffic all arrives over one link that is not faster.
fn mark_paced<'a>(links: &mut [LinkTraffic], crossers: impl Iterator<Item = TrafficFlow<'a>>) {
    let mut before = vec![UpstreamLinks::NoTraffic; links.len()];
    // True if a packet takes longer at the link than at the previous one.
    let mut is_slower = vec![false; links.len()];
    for TrafficFlow {
        sender,
        data,
        return_path: back,
    } in crossers
    {
        if !sender.is_responsive() && sender.demand_bps() <= 0.0 {
            continue;
        }
        let back = if sender.acks > 0.0 { back } else { &[] };
        for (path, bits) in [(data, sender.data_bits), (back, 8.0 * ACK_BYTES)] {
            for pair in path.windows(2) {
                let [above, here] = [0, 1].map(|i| links[pair[i] as usize].ip_capacity_bps(bits));
                is_slower[pair[1] as usize] |= above > here;
            }
            for (place, &l) in path.iter().enumerate() {
                let comes = place
                    .checked_sub(1)
                    .map_or(UpstreamLinks::Several, |it| UpstreamLinks::One(path[it]));
                let so_far = &mut before[l as usize];
                *so_far = match *so_far {
                    UpstreamLinks::NoTraffic => comes,
                    same if same == comes => same,
                    _ => UpstreamLinks::Several,
                };
            }
        }
    }
    for (l, before) in before.into_iter().enumerate() {
        links[l].is_paced = match before {
            UpstreamLinks::One(_) => !is_slower[l],
            UpstreamLinks::NoTraffic | UpstreamLinks::Several => false,
        };
    }
}

/// Demand of unresponsive sources per pair of consecutive links, in bit/s on the wire of the second link. The
/// keys are the numbers of both links.
#[derive(Debug, Default)]
pub struct TurningRates(HashMap<(u32, u32), f64>);

impl TurningRates {
    /// Sums the demand of all unresponsive flows.
    pub fn new<'a>(
        links: &[LinkTraffic],
        crossers: impl Iterator<Item = TrafficFlow<'a>>,
    ) -> TurningRates {
        let mut turns = TurningRates::default();
        for TrafficFlow { sender, data, .. } in crossers.filter(|it| !it.sender.is_responsive()) {
            for pair in data.windows(2) {
                let wanted_bps = links[pair[1] as usize].demand_bps(&sender);
                *turns.0.entry((pair[0], pair[1])).or_default() += wanted_bps;
            }
        }
        turns
    }

    /// Returns the traffic to the link at `place` of a path from the previous link; zero at the first link.
    pub fn turning_flow(
        &self,
        links: &[LinkTraffic],
        way: &TransferPath<'_>,
        place: usize,
    ) -> TurningFlow {
        let Some(before) = place.checked_sub(1).map(|it| way.links[it]) else {
            return TurningFlow::default();
        };
        let at = way.links[place];
        let bps = self.0.get(&(before, at)).copied().unwrap_or(0.0);
        let [above, here] = [before, at].map(|l| links[l as usize].ip_capacity_bps(way.data_bits));
        TurningFlow {
            share_of_link: bps / links[at as usize].unresponsive_bps,
            in_order_fraction: (here / above).min(1.0),
        }
    }
}

/// Traffic that reaches a link over the previous link of a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct TurningFlow {
    /// Fraction of the link's unresponsive demand.
    pub share_of_link: f64,
    /// Fraction of it that arrives in order, so that its bursts do not collide. It is 1 if the previous link
    /// is not faster, else the ratio of the two bandwidths.
    pub in_order_fraction: f64,
}

impl TurningFlow {
    /// Returns the fraction of the link's traffic that this flow's bursts can collide with: all but the
    /// ordered share that arrives over the same upstream link.
    pub fn interfering_fraction(&self) -> f64 {
        1.0 - self.share_of_link * self.in_order_fraction
    }
}

impl<'a> TrafficFlow<'a> {
    /// Returns the path of its transfers; `None` without transfers or demand.
    pub fn transfers(&self) -> Option<TransferPath<'a>> {
        let transfers = self.sender.transfers?;
        (self.sender.demand_bps() > 0.0).then_some(TransferPath {
            transfers,
            data_bits: self.sender.data_bits,
            round_trip_s: self.sender.round_trip_s,
            links: self.data,
        })
    }
}

/// Adds the bursts of transfers to links whose other fields are complete.
fn add_bursts<'a>(
    links: &mut [LinkTraffic],
    crossers: impl Iterator<Item = TrafficFlow<'a>> + Clone,
) {
    if crossers.clone().all(|it| it.sender.transfers.is_none()) {
        return;
    }
    let turns = TurningRates::new(links, crossers.clone());
    let mut bursts = Vec::new();
    for crosser in crossers {
        let Some(way) = crosser.transfers() else {
            continue;
        };
        bursts.clear();
        way.bursts(links, |burst| bursts.push(burst));
        for (i, (burst, &l)) in bursts.iter().zip(way.links).enumerate() {
            let met = turns.turning_flow(links, &way, i).interfering_fraction();
            let wanted_bps = links[l as usize].demand_bps(&crosser.sender);
            let sum = &mut links[l as usize].demand_weighted_bursts;
            sum.own_pkts += wanted_bps * burst.own_pkts;
            sum.others_pkts += wanted_bps * burst.others_pkts * met;
        }
    }
}

impl Sender<'_> {
    /// Returns true if its windows fill queues: TCP with a profile and bulk data.
    pub fn is_responsive(&self) -> bool {
        self.rate_pps.is_none() && self.application_pps == f64::INFINITY
    }

    /// Returns the rate at which each application makes data, in IP bit/s.
    fn application_bps(&self) -> f64 {
        self.application_pps * self.data_bits
    }

    /// Returns the demand if it is unresponsive, in IP bit/s.
    pub fn demand_bps(&self) -> f64 {
        self.rate_pps.unwrap_or(self.application_pps) * self.count * self.data_bits
    }
}

/// Returns the smoothstep polynomial 3t² − 2t³, with t limited to 0–1, and its derivative.
fn smooth_step(at: f64) -> (f64, f64) {
    let at = at.clamp(0.0, 1.0);
    (at * at * (3.0 - 2.0 * at), 6.0 * at * (1.0 - at))
}

impl LinkTraffic {
    /// Returns the degree to which windows like these can fill the link and its queue, if all windows on the
    /// link are equal. It is 1 if 3/4 of the largest windows suffice, and falls to 0 where the full windows
    /// do not suffice.
    pub fn responsiveness(&self, of: &Sender<'_>) -> f64 {
        if of.window_pkts == f64::INFINITY {
            return 1.0;
        }
        smooth_step(4.0 * (1.0 - self.window_fill_fraction(of))).0
    }

    /// Creates a link with this bandwidth and buffer, without traffic.
    pub fn empty(bandwidth_bps: f64, overhead: Overhead, room: BufferLimit) -> LinkTraffic {
        LinkTraffic {
            bandwidth_bps,
            overhead,
            buffer_pkts: room.nominal_pkts,
            buffer_bits: room.bits,
            ..LinkTraffic::default()
        }
    }

    /// Returns the ratio of wire bits to IP bits for a packet of `data_bits` IP bits.
    pub fn factor(&self, data_bits: f64) -> f64 {
        self.overhead.factor(data_bits)
    }

    /// Returns the capacity in IP bit/s for packets of `data_bits` IP bits.
    pub fn ip_capacity_bps(&self, data_bits: f64) -> f64 {
        if self.overhead.is_none() {
            return self.bandwidth_bps; // without a division
        }
        self.bandwidth_bps / self.factor(data_bits)
    }

    /// Returns the demand of an unresponsive sender here, in bit/s on the wire.
    pub fn demand_bps(&self, of: &Sender<'_>) -> f64 {
        of.demand_bps() * self.factor(of.data_bits)
    }

    fn buffer_limit(&self) -> BufferLimit {
        BufferLimit {
            time: None,
            nominal_pkts: self.buffer_pkts,
            bits: self.buffer_bits,
        }
    }

    /// Returns the buffer size in packets of `data_bits` IP bits.
    pub fn buffer_size_pkts(&self, data_bits: f64) -> f64 {
        self.buffer_limit().pkts(self.overhead.wire_bits(data_bits))
    }

    /// Returns the derivative of [`buffer_pkts`](Self::buffer_pkts) with respect to
    /// [`buffer_pkts`](Self::buffer_pkts); the limit in bits scales in proportion.
    pub fn buffer_size_derivative(&self, data_bits: f64) -> f64 {
        self.by_buffer(self.overhead.wire_bits(data_bits))
    }

    /// Returns the same derivative for packets of `wire_bits` bits on the wire.
    fn by_buffer(&self, wire_bits: f64) -> f64 {
        match self.buffer_bits {
            Some(_) => self.buffer_limit().by_ln_bits(wire_bits) / self.buffer_pkts,
            None => 1.0,
        }
    }

    /// Returns the fraction of the largest windows that fills the link and its queue.
    fn window_fill_fraction(&self, of: &Sender<'_>) -> f64 {
        let wire_bits = self.overhead.wire_bits(of.data_bits);
        let way_pkts = self.bandwidth_bps / wire_bits * of.round_trip_s;
        (way_pkts + self.buffer_size_pkts(of.data_bits)) / (self.windows * of.window_pkts)
    }

    /// Returns the gradient of [`responsiveness`](Self::responsiveness).
    pub fn responsiveness_gradient(&self, of: &Sender<'_>) -> ResponsivenessGradient {
        let wanted = self.window_fill_fraction(of);
        let slope = smooth_step(4.0 * (1.0 - wanted)).1;
        if slope == 0.0 {
            return ResponsivenessGradient::default();
        }
        let per_pkt = -4.0 * slope / (self.windows * of.window_pkts);
        let wire_bits = self.overhead.wire_bits(of.data_bits);
        ResponsivenessGradient {
            bandwidth_bps: per_pkt * of.round_trip_s / wire_bits,
            buffer_pkts: per_pkt * self.buffer_size_derivative(of.data_bits),
            windows: 4.0 * slope * wanted / self.windows,
            round_trip_s: per_pkt * self.bandwidth_bps / wire_bits,
        }
    }

    /// Returns the weight of the buffer size and its derivative with respect to the buffer. The weight is 0
    /// up to one packet, where no sawtooth forms, and 1 from eight packets on.
    fn window_model_weight(&self) -> (f64, f64) {
        self.buffer_step(WINDOW_MODEL_BUFFERS_PKTS)
    }

    /// Returns the factor of waiting packets if windows alone fill the queue, and its derivative with respect
    /// to the buffer.
    fn waiting_of_windows(&self) -> (f64, f64) {
        let (step, slope) = self.buffer_step(SMALL_BUFFERS_PKTS);
        let less = 1.0 - SMALL_BUFFER_WAITING;
        (SMALL_BUFFER_WAITING + less * step, less * slope)
    }

    /// Returns a smooth step from 0 to 1 between two buffer sizes, and its derivative with respect to the buffer.
    fn buffer_step(&self, (few, many): (f64, f64)) -> (f64, f64) {
        let room_pkts = self.buffer_limit().pkts(self.largest_bits);
        let (step, slope) = smooth_step((room_pkts - few) / (many - few));
        (
            step,
            slope / (many - few) * self.by_buffer(self.largest_bits),
        )
    }

    /// Returns the queue model of the link, with the calibration by the packet model. A queue with early
    /// random drops (RED or RIO) is M/M/1/K.
    pub fn queue_model(&self, calibration: Calibration, drops_early: bool) -> DropTailTcpLaw {
        if drops_early {
            return DropTailTcpLaw::default();
        }
        if self.is_paced && !calibration.for_windows(self.windows).is_some() {
            return DropTailTcpLaw::paced();
        }
        let bursts = self.bursts();
        if self.windows <= 0.0 {
            return DropTailTcpLaw {
                bursts,
                ..DropTailTcpLaw::default()
            };
        }
        let calibration = calibration.for_windows(self.windows);
        let others = (1.0 - self.unresponsive_bps / self.bandwidth_bps).max(0.0);
        let poisson = 1.0 - others * self.window_model_weight().0;
        let law = DropTailTcpLaw {
            windows: self.responsive_windows,
            sawtooth_amplitude: self.sawtooth_amplitude(),
            acks: self.acks / (self.windows + self.acks),
            poisson,
            bursts,
            calibration,
            ..DropTailTcpLaw::default()
        };
        if calibration.is_some() {
            return law; // it includes the idle time
        }
        let idle = extra_idle(law.acks).0 * (1.0 - poisson) * self.amplitude_sum / self.windows;
        let less = 1.0 - self.waiting_of_windows().0;
        DropTailTcpLaw {
            idle: law.idle_weight().0 * idle,
            waiting: 1.0 - less * others * (1.0 - self.burst_weight()),
            ..law
        }
    }

    /// Returns the mean sawtooth amplitude of the responsive windows.
    fn sawtooth_amplitude(&self) -> f64 {
        if self.responsive_windows > 0.0 {
            self.amplitude_sum / self.responsive_windows
        } else {
            1.0
        }
    }

    /// Returns the weight of bursts: 1 if no window fills the queue, falling smoothly to 0 for one window.
    fn burst_weight(&self) -> f64 {
        (1.0 - self.responsive_windows).max(0.0).powi(2)
    }

    /// Returns the mean burst sizes of the unresponsive traffic; zero if a window fills the queue.
    fn bursts(&self) -> Bursts {
        if self.unresponsive_bps <= 0.0 {
            return Bursts::default();
        }
        self.demand_weighted_bursts
            .scaled(self.burst_weight() / self.unresponsive_bps)
    }

    /// Computes the vector–Jacobian product of [`bursts`](Self::bursts): the gradient of a scalar with
    /// respect to this [`LinkTraffic`], given its gradient `by` with respect to the burst sizes.
    fn bursts_vjp(&self, by: &Bursts) -> LinkTraffic {
        let bursts = self.bursts();
        if bursts == Bursts::default() {
            return LinkTraffic::default();
        }
        let worth = by.own_pkts * bursts.own_pkts + by.others_pkts * bursts.others_pkts;
        LinkTraffic {
            responsive_windows: -2.0 * worth / (1.0 - self.responsive_windows),
            unresponsive_bps: -worth / self.unresponsive_bps,
            demand_weighted_bursts: by.scaled(self.burst_weight() / self.unresponsive_bps),
            ..LinkTraffic::default()
        }
    }

    /// Computes the vector–Jacobian product of [`queue_model`](Self::queue_model): the gradient of a scalar with
    /// respect to this [`LinkTraffic`], given its gradient `by` with respect to the queue model.
    pub fn queue_model_vjp(&self, calibration: Calibration, by: &LawGradient) -> LinkTraffic {
        if self.is_paced && !calibration.for_windows(self.windows).is_some() {
            return LinkTraffic::default();
        }
        let of_bursts = self.bursts_vjp(&by.bursts);
        if self.windows <= 0.0 {
            return of_bursts;
        }
        let all = self.windows + self.acks;
        let wanted = self.unresponsive_bps / self.bandwidth_bps;
        let others = (1.0 - wanted).max(0.0);
        let (window_model_weight, roomy_by_buffer) = self.window_model_weight();
        let part = self.amplitude_sum / self.windows;
        let law = DropTailTcpLaw {
            windows: self.responsive_windows,
            sawtooth_amplitude: self.sawtooth_amplitude(),
            ..DropTailTcpLaw::default()
        };
        let (sawtooth, sawtooth_by_amplitude) = law.idle_weight();
        let (idle, idle_by_acks) = extra_idle(self.acks / all);
        let (waiting, waiting_by_buffer) = self.waiting_of_windows();
        let filled = 1.0 - self.burst_weight();
        let by_amplitude = by.sawtooth_amplitude
            + by.idle * idle * others * window_model_weight * part * sawtooth_by_amplitude;
        let by_mean = if self.responsive_windows > 0.0 {
            by_amplitude / self.responsive_windows
        } else {
            0.0
        };
        // Adjoint of the weight of the window model, 1 − `poisson`.
        let by_weight = by.idle * idle * sawtooth * part - by.poisson;
        let by_others = if others > 0.0 {
            by_weight * window_model_weight - by.waiting * (1.0 - waiting) * filled
        } else {
            0.0
        };
        let by_unresponsive = -by_others;
        let by_buffer =
            others * (by_weight * roomy_by_buffer + by.waiting * filled * waiting_by_buffer);
        let by_part = by.idle * idle * sawtooth * others * window_model_weight;
        let by_filled = -by.waiting * (1.0 - waiting) * others;
        let by_acks =
            by.acks + by.idle * idle_by_acks * sawtooth * others * window_model_weight * part;
        LinkTraffic {
            bandwidth_bps: -by_unresponsive * wanted / self.bandwidth_bps,
            overhead: Overhead::NONE,
            buffer_pkts: by_buffer,
            buffer_bits: None,
            largest_bits: 0.0,
            is_paced: false,
            windows: -by_acks * self.acks / (all * all) - by_part * part / self.windows,
            acks: by_acks * self.windows / (all * all),
            responsive_windows: by.windows - by_mean * self.sawtooth_amplitude()
                + by_filled * 2.0 * (1.0 - self.responsive_windows).max(0.0)
                + of_bursts.responsive_windows,
            amplitude_sum: by_mean + by_part / self.windows,
            unresponsive_bps: by_unresponsive / self.bandwidth_bps + of_bursts.unresponsive_bps,
            demand_weighted_bursts: of_bursts.demand_weighted_bursts,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tcp_drop_tail::{NO_IDLE_AMPLITUDE, RENO_AMPLITUDE};

    /// Increases the buffer in packets and in bits.
    fn grow_buffer(at: &mut LinkTraffic, pkts: f64) {
        let part = pkts / at.buffer_pkts;
        at.buffer_pkts += pkts;
        at.buffer_bits = at.buffer_bits.map(|bits| bits * (1.0 + part));
    }

    fn sender(window_pkts: f64) -> Sender<'static> {
        Sender {
            count: 1.0,
            rate_pps: None,
            application_pps: f64::INFINITY,
            window_pkts,
            round_trip_s: 0.05,
            data_bits: 12000.0,
            sawtooth_amplitude: 1.0,
            acks: 0.5,
            transfers: None,
        }
    }

    /// Three windows, two of them with acknowledgements on the return path, and a fixed-rate source.
    #[test]
    fn flows_are_counted_by_kind() {
        let own = Sender {
            rate_pps: Some(10.0),
            ..sender(1.0)
        };
        let data = Sender {
            application_pps: 5.0,
            ..sender(1.0)
        };
        let two = Sender {
            count: 2.0,
            ..sender(f64::INFINITY)
        };
        let one = Sender {
            sawtooth_amplitude: 0.5,
            acks: 0.0,
            ..sender(1.0)
        };
        let crossers = [(two, true), (one, false), (own, false), (data, false)];
        let crossers = crossers.iter().map(|&(sender, back)| TrafficFlow {
            sender,
            data: &[0],
            return_path: if back { &[1] } else { &[] },
        });
        let mut links = [LinkTraffic {
            bandwidth_bps: 1.2e6,
            buffer_pkts: 10.0,
            ..LinkTraffic::default()
        }; 2];
        add_flows(&mut links, crossers);
        let [there, back] = links;
        assert_eq!(
            (there.windows, there.acks, there.responsive_windows),
            (3.0, 0.0, 2.0)
        );
        assert_eq!(
            (
                there.amplitude_sum,
                there
                    .queue_model(Calibration::default(), false)
                    .sawtooth_amplitude
            ),
            (2.0, 1.0)
        );
        assert_eq!(there.unresponsive_bps, 15.0 * 12000.0);
        assert_eq!((back.windows, back.acks), (0.0, 1.0));
    }

    /// Returns the sources that are marked as bulk, given the demand of each application in Mbit/s.
    fn saturated_sources(senders: &[(f64, f64, &[u32])], mbps: &[f64]) -> Vec<bool> {
        let links = mbps.iter().map(|mbps| LinkTraffic {
            bandwidth_bps: 1e6 * mbps,
            ..LinkTraffic::default()
        });
        let links: Vec<LinkTraffic> = links.collect();
        let crossers = senders.iter().map(|&(count, mbps, data)| TrafficFlow {
            sender: Sender {
                count,
                application_pps: 1e6 * mbps / 12000.0,
                ..sender(f64::INFINITY)
            },
            data,
            return_path: &[],
        });
        let mut crossers: Vec<TrafficFlow<'_>> = crossers.collect();
        mark_saturated_sources(&links, &mut crossers);
        let all = crossers.iter();
        all.map(|it| it.sender.application_pps == f64::INFINITY)
            .collect()
    }

    #[test]
    fn demand_above_fair_share_is_saturated() {
        const ALWAYS: f64 = f64::INFINITY;
        assert_eq!(saturated_sources(&[(4.0, 2.4, &[0])], &[10.0]), [false]);
        // Demand that fits exactly is not limited.
        assert_eq!(saturated_sources(&[(4.0, 2.5, &[0])], &[10.0]), [false]);
        assert_eq!(saturated_sources(&[(4.0, 2.6, &[0])], &[10.0]), [true]);
        // A source with less demand than its max-min share gets its demand.
        let some = [(2.0, 1.0, &[0_u32][..]), (2.0, 4.5, &[0])];
        assert_eq!(saturated_sources(&some, &[10.0]), [false, true]);
        let some = [(2.0, 1.0, &[0_u32][..]), (1.0, ALWAYS, &[0])];
        assert_eq!(saturated_sources(&some, &[10.0]), [false, true]);
        let some = [(2.0, 4.0, &[0_u32][..]), (1.0, ALWAYS, &[0])];
        assert_eq!(saturated_sources(&some, &[10.0]), [true, true]);
        // The narrowest link of the path limits the source.
        let some = [(1.0, 4.0, &[0_u32, 1][..]), (1.0, 4.0, &[0])];
        assert_eq!(saturated_sources(&some, &[10.0, 3.0]), [true, false]);
    }

    proptest! {
        /// The result does not change if rates and bandwidth are scaled or the senders are permuted.
        #[test]
        fn saturation_is_independent_of_units_and_order(
            made in prop::collection::vec((1..5_u32, 0.1..9.0_f64), 1..8),
            scale in 1e-3..1e3_f64,
        ) {
            let of = |scale: f64, made: &[(u32, f64)]| {
                let senders = made.iter().map(|&(count, mbps)| {
                    (f64::from(count), scale * mbps, &[0_u32][..])
                });
                saturated_sources(&senders.collect::<Vec<_>>(), &[10.0 * scale])
            };
            let there = of(1.0, &made);
            prop_assert_eq!(&there, &of(scale, &made));
            let backwards: Vec<_> = made.iter().rev().copied().collect();
            let back: Vec<bool> = of(1.0, &backwards).into_iter().rev().collect();
            prop_assert_eq!(there, back);
        }

        /// The vector–Jacobian product agrees with finite differences.
        #[test]
        fn queue_model_vjp_matches_finite_differences(
            windows in 1.0..50.0_f64,
            acks in 0.0..50.0_f64,
            reacting in 0.1..0.9_f64,
            unresponsive in 0.0..0.9_f64,
            amplitude in prop::sample::select(&[0.4, 0.6, 0.7, 0.8, 1.0, 1.3]),
            some_react: bool,
            in_bytes: bool,
            room_pkts in 1.5..20.0_f64,
        ) {
            prop_assume!((reacting * windows - 1.0).abs() > 1e-3);
            let responsive_windows = reacting * if some_react { 1.0 } else { windows };
            let mut amplitude_sum = amplitude * responsive_windows;
            // At an end of the weight of idle time, the derivative is that beyond it.
            let beyond = match amplitude {
                NO_IDLE_AMPLITUDE => -1.0,
                RENO_AMPLITUDE => 1.0,
                _ => 0.0,
            };
            amplitude_sum *= 1.0 + 1e-15 * beyond;
            let at = LinkTraffic {
                bandwidth_bps: 1e6,
                overhead: Overhead::NONE,
                buffer_pkts: room_pkts,
                buffer_bits: in_bytes.then_some(6e3 * room_pkts),
                largest_bits: 8e3,
                is_paced: false,
                windows,
                acks,
                responsive_windows,
                amplitude_sum,
                unresponsive_bps: (0.01 + unresponsive) * 1e6,
                demand_weighted_bursts: Bursts { own_pkts: 3e6, others_pkts: 9e6 },
            };
            let bursts = Bursts { own_pkts: 0.7, others_pkts: -0.4 };
            let by = LawGradient {
                windows: 0.3,
                sawtooth_amplitude: 1.1,
                acks: 2.0,
                poisson: -1.5,
                idle: 7.0,
                waiting: 2.5,
                bursts,
            };
            let value = |it: LinkTraffic| {
                let filling = it.queue_model(Calibration::default(), false);
                by.windows * filling.windows + by.sawtooth_amplitude * filling.sawtooth_amplitude + by.acks * filling.acks
                    + by.poisson * filling.poisson + by.idle * filling.idle + by.waiting * filling.waiting
                    + bursts.own_pkts * filling.bursts.own_pkts
                    + bursts.others_pkts * filling.bursts.others_pkts
            };
            let pull = at.queue_model_vjp(Calibration::default(), &by);
            // `side` is the only side of the difference, or 0 for both.
            let one_sided = |slope: f64, change: &dyn Fn(&mut LinkTraffic, f64), h: f64, side: f64| {
                let (mut more, mut less) = (at, at);
                change(&mut more, if side < 0.0 { 0.0 } else { h });
                change(&mut less, if side > 0.0 { 0.0 } else { -h });
                let h = if side == 0.0 { h } else { 0.5 * h };
                let should = (value(more) - value(less)) / (2.0 * h);
                // Terms can cancel: then the difference has the rounding error of the value.
                let rounding = 1e-11 * value(at).abs() / h;
                let tolerance = if side == 0.0 { 1e-5 } else { 1e-3 };
                (slope - should).abs() <= tolerance * should.abs() + rounding
            };
            let near = |slope: f64, change: &dyn Fn(&mut LinkTraffic, f64), h: f64| {
                one_sided(slope, change, h, 0.0)
            };
            prop_assert!(near(pull.windows, &|c, h| c.windows += h, 1e-5));
            prop_assert!(near(pull.acks, &|c, h| c.acks += h, 1e-5));
            prop_assert!(one_sided(pull.responsive_windows, &|c, h| c.responsive_windows += h, 1e-6, -beyond));
            prop_assert!(one_sided(pull.amplitude_sum, &|c, h| c.amplitude_sum += h, 1e-6, beyond));
            prop_assert!(near(pull.unresponsive_bps, &|c, h| c.unresponsive_bps += h, 1.0));
            prop_assert!(near(pull.demand_weighted_bursts.own_pkts, &|c, h| c.demand_weighted_bursts.own_pkts += h, 1.0));
            prop_assert!(near(pull.demand_weighted_bursts.others_pkts, &|c, h| c.demand_weighted_bursts.others_pkts += h, 1.0));
            prop_assert!(near(pull.buffer_pkts, &grow_buffer, 1e-5));
            prop_assert!(near(pull.bandwidth_bps, &|c, h| c.bandwidth_bps += h, 1.0));
        }

        /// The gradient of the reaction agrees with finite differences.
        #[test]
        fn responsiveness_gradient_matches_finite_differences(
            window_pkts in 1.0..40.0_f64,
            windows in 1.0..10.0_f64,
            in_bytes: bool,
        ) {
            let at = LinkTraffic {
                bandwidth_bps: 1.2e6,
                overhead: Overhead::of(250.0),
                buffer_pkts: 20.0,
                buffer_bits: in_bytes.then_some(160e3),
                windows,
                ..LinkTraffic::default()
            };
            let of = sender(window_pkts);
            let slopes = at.responsiveness_gradient(&of);
            let near = |slope: f64, change: &dyn Fn(&mut LinkTraffic, &mut Sender<'_>, f64), h: f64| {
                let value = |h: f64| {
                    let (mut at, mut of) = (at, of);
                    change(&mut at, &mut of, h);
                    at.responsiveness(&of)
                };
                let should = (value(h) - value(-h)) / (2.0 * h);
                (slope - should).abs() <= 1e-4 * should.abs() + 1e-7 / h * 1e-3
            };
            prop_assert!(near(slopes.bandwidth_bps, &|c, _, h| c.bandwidth_bps += h, 1.0));
            prop_assert!(near(slopes.buffer_pkts, &|c, _, h| grow_buffer(c, h), 1e-4));
            prop_assert!(near(slopes.windows, &|c, _, h| c.windows += h, 1e-5));
            prop_assert!(near(slopes.round_trip_s, &|_, s, h| s.round_trip_s += h, 1e-7));
        }
    }
}
