//! BBR version 3, as in `net/ipv4/tcp_bbr.c` of google/bbr, branch v3 (draft-ietf-ccwg-bbr).
//!
//! As in version 1, the bandwidth and the minimum round-trip time of the path set pacing rate and window. Version 3 adds
//! bounds of the bandwidth and of the packets in flight. Upper bounds (`hi`) follow from losses and marks while it probes
//! for bandwidth, and last. Lower bounds (`lo`) follow from them otherwise, and last until the next probe.
//!
//! Fractions are multiples of 1/256, and numbers of packets are rounded down, as there.
//!
//! Not modelled: delays between the socket and the link (queues of the host, bursts caused by timers), and protective load
//! balancing (PLB).

mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use netflow_units::SplitMix64;

use super::ack_aggregation::AckAggregation;
use super::bbr::{BURSTS_PER_S, CWND_GAIN, MAX_BURST_BYTES, MIN_CWND, PACING_MARGIN, bdp_pkts};
use super::{Algorithm, Clock, Delivery, IdlePeriod, Lost, RecoveryState, Window, WindowControl};
use crate::{EcnFeedback, EcnRules, Stack};
use probe_bw::{inflight_at_loss_threshold, is_loss_too_high};

/// A fraction in units of 1/256 (`BBR_UNIT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fraction(u32);

impl Fraction {
    const ONE: Fraction = Fraction(256);

    const fn of(numerator: u32, denominator: u32) -> Fraction {
        Fraction(256 * numerator / denominator)
    }

    fn get(self) -> f64 {
        f64::from(self.0) / 256.0
    }

    fn rest(self) -> Fraction {
        Fraction(Self::ONE.0 - self.0)
    }

    /// Returns this fraction of a number, rounded down.
    fn part_of(self, pkts: u32) -> u32 {
        ((u64::from(pkts) * u64::from(self.0)) >> 8) as u32
    }
}

/// The pacing gain of Startup: 4 ln 2, rounded up.
const STARTUP_PACING_GAIN: Fraction = Fraction(Fraction::of(277, 100).0 + 1);
const DRAIN_PACING_GAIN: Fraction = Fraction::of(1000, 2885);
const UP_PACING_GAIN: Fraction = Fraction::of(5, 4);
const DOWN_PACING_GAIN: Fraction = Fraction::of(91, 100);
/// The window gain while it probes for bandwidth.
const UP_CWND_GAIN: f64 = CWND_GAIN + 0.25;
/// The window of ProbeRTT in bandwidth-delay products, and the time between two of them.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const PROBE_RTT_INTERVAL_NS: u64 = 5_000_000_000;
/// The loss rate and the share of marked packets above which the packets in flight are too many.
const LOSS_THRESHOLD: Fraction = Fraction::of(2, 100);
const ECN_THRESHOLD: Fraction = Fraction::of(1, 2);
/// β: the share by which a loss reduces the lower bounds.
const BETA: Fraction = Fraction::of(30, 100);
/// The weight of a round trip in α, the share of α by which marks reduce the lower bound, and the maximum minimum
/// round-trip time with a response to marks.
const ECN_ALPHA_GAIN: Fraction = Fraction::of(1, 16);
const ECN_FACTOR: Fraction = Fraction::of(1, 3);
const ECN_MAX_RTT_NS: u64 = 5_000_000;
/// The share of the upper bound that is probed at once after marks without losses.
const ECN_REPROBE_GAIN: Fraction = Fraction::of(1, 2);
/// The number of acknowledgements with losses in a round trip, and of round trips with marks, that end Startup.
const FULL_LOSSES: u32 = 6;
const FULL_ECN_ROUNDS: u32 = 2;
/// The share of the upper bound left free while it cruises.
const HEADROOM: Fraction = Fraction::of(15, 100);
/// The time between probes, without and with its random part, in microseconds.
const PROBE_BASE_US: u64 = 2_000_000;
const PROBE_RANDOM_US: u64 = 1_000_000;
/// The maximum number of round trips between probes, and the random part.
const PROBE_MAX_ROUNDS: u32 = 63;
const PROBE_RANDOM_ROUNDS: u64 = 2;
/// The round-trip time in nanoseconds that halves the additional burst, and its maximum in bytes.
const BURST_HALVING_NS: u64 = 512_000;
/// The bytes of headers that a burst leaves free (`MAX_TCP_HEADER`).
const MAX_HEADER_BYTES: f64 = 320.0;
const MIN_BURST_PKTS: u32 = 2;
/// The value of a bound in packets that is not set.
const NO_BOUND: u32 = u32::MAX;

/// The states (draft-ietf-ccwg-bbr, 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        match self {
            State::Startup | State::Drain | State::ProbeRtt => false,
            State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp => {
                true
            }
        }
    }

    /// Returns true if it sends more than the path is known to carry.
    fn is_probing_bandwidth(self) -> bool {
        matches!(
            self,
            State::Startup | State::ProbeBwRefill | State::ProbeBwUp
        )
    }
}

/// The relation of acknowledgements to the last probe for bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The bounds that losses reduce.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    bw_lo: f64,
    inflight_lo: u32,
    inflight_hi: u32,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        bw_lo: f64::INFINITY,
        inflight_lo: NO_BOUND,
        inflight_hi: NO_BOUND,
    };
}

/// A minimum filter of round-trip times.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    ns: u64,
    at_ns: u64,
}

/// The state of BBR. Rates are in packets per nanosecond, other amounts in packets.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    state: State,
    packet_bytes: f64,
    has_ecn_low: bool,
    random: SplitMix64,
    initial_cwnd: u32,
    pacing_gain: Fraction,
    pacing: f64,
    has_seen_rtt: bool,
    /// The minimum of ten seconds, and that of five, which decides on ProbeRTT.
    min_rtt: MinRtt,
    probe_rtt_min: MinRtt,
    /// ProbeRTT: the end of its minimum duration, and whether a round trip has passed.
    probe_rtt_until_ns: Option<u64>,
    probe_rtt_round: bool,
    prior_cwnd: u32,
    prior_recovery: RecoveryState,
    is_idle_restart: bool,
    /// True if the window has reached its target, so that samples of an application without data change nothing.
    may_skip: bool,

    /// The end of the round trip in packets delivered.
    round_end: u64,
    round_start: bool,
    /// The end of the round trip that starts with a loss.
    loss_round_end: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    ecn_in_round: bool,
    loss_in_cycle: bool,
    ecn_in_cycle: bool,

    /// The delivery rate of the current acknowledgement; 0 without one.
    sample_bw: f64,
    /// The maximum of the last cycle, and of the current one.
    max_bw: [f64; 2],
    /// The maximum delivery rate and the maximum packets delivered in the last round trip.
    bw_latest: f64,
    inflight_latest: u32,
    bounds: Bounds,
    bounds_before: Bounds,

    full_bw: f64,
    full_bw_rounds: u32,
    /// True if the pipe is full, since the last reset and ever.
    full_bw_now: bool,
    full_bw_reached: bool,
    losses_in_round: u32,
    startup_ecn_rounds: u32,

    /// The start of the phase, and the time until the next probe.
    cycle_at_ns: u64,
    probe_wait_ns: u64,
    rounds_since_probe: u32,
    ack_phase: AckPhase,
    /// True if losses and marks are those of a probe.
    bw_probe_samples: bool,
    prev_probe_too_high: bool,
    stopped_risky_probe: bool,
    /// Growth of the upper bound: packets acknowledged per increment and since the last one, and round trips.
    bw_probe_up_count: u32,
    bw_probe_up_acks: u32,
    bw_probe_up_rounds: u32,

    is_ecn_eligible: bool,
    ecn_alpha: Fraction,
    /// The segments delivered, and those with marks, at the last update of α.
    alpha_delivered: u64,
    alpha_marked: u64,

    aggregation: AckAggregation,
}

impl Bbr3 {
    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Returns the bandwidth used by the model.
    fn bw(&self) -> f64 {
        self.max_bw().min(self.bounds.bw_lo)
    }

    /// Sets the initial pacing rate: the window per round-trip time, or per millisecond without a measurement.
    fn init_pacing_rate(&mut self, cwnd: u32, srtt_ns: u64) {
        self.has_seen_rtt = srtt_ns > 0;
        let rtt_ns = if self.has_seen_rtt {
            srtt_ns
        } else {
            1_000_000
        };
        let bandwidth = f64::from(cwnd) / rtt_ns as f64;
        self.pacing = STARTUP_PACING_GAIN.get() * PACING_MARGIN * bandwidth;
    }

    fn set_pacing(&mut self, gain: Fraction) {
        let rate = self.bw() * gain.get() * PACING_MARGIN;
        if self.full_bw_reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// Returns the packets of a burst. Short round-trip times allow larger ones.
    fn burst_pkts(&self) -> u32 {
        let by_rate_bytes = self.pacing * 1e9 * self.packet_bytes / BURSTS_PER_S;
        let halvings = self.min_rtt.ns / BURST_HALVING_NS;
        let by_rtt_bytes = (MAX_BURST_BYTES as u64)
            .checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX))
            .unwrap_or(0);
        let bytes =
            (by_rate_bytes + by_rtt_bytes as f64).min(MAX_BURST_BYTES - 1.0 - MAX_HEADER_BYTES);
        ((bytes / self.packet_bytes) as u32).max(MIN_BURST_PKTS)
    }

    fn bdp(&self, bandwidth: f64, gain: f64) -> u32 {
        bdp_pkts(bandwidth, self.min_rtt.ns, gain).unwrap_or(self.initial_cwnd)
    }

    /// Increases a window to that of bursts at both ends.
    fn quantization_budget(&self, cwnd: u32) -> u32 {
        let cwnd = cwnd.max(3 * self.burst_pkts()).max(MIN_CWND);
        cwnd + if self.state == State::ProbeBwUp { 2 } else { 0 }
    }

    /// Returns the bandwidth-delay product with that budget.
    fn inflight(&self, bandwidth: f64) -> u32 {
        self.quantization_budget(self.bdp(bandwidth, 1.0))
    }

    fn target_inflight(&self, cwnd: u32) -> u32 {
        self.inflight(self.bw()).min(cwnd)
    }

    /// Returns the upper bound less the headroom for other connections.
    fn inflight_with_headroom(&self) -> u32 {
        match self.bounds.inflight_hi {
            NO_BOUND => NO_BOUND,
            hi => hi.saturating_sub(HEADROOM.part_of(hi).max(1)).max(MIN_CWND),
        }
    }

    fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(MIN_CWND)
    }

    /// Returns the packets in flight when the pacer allows the next burst.
    fn in_flight_at_departure(&self, in_flight: u32, delivery: &Delivery) -> u32 {
        let wait_ns = delivery
            .next_departure_ns
            .saturating_sub(delivery.acked.now_ns);
        let delivered = (self.bw() * wait_ns as f64) as u32;
        let burst = if self.pacing_gain > Fraction::ONE {
            self.burst_pkts()
        } else {
            0
        };
        (in_flight + burst).saturating_sub(delivered)
    }

    fn save_cwnd(&mut self, cwnd: u32) {
        let is_good =
            self.prior_recovery < RecoveryState::Recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_good {
            cwnd
        } else {
            self.prior_cwnd.max(cwnd)
        };
    }

    fn restore_cwnd(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    fn set_state(&mut self, state: State) {
        self.state = state;
        self.may_skip = false;
    }

    /// Updates the estimates. Returns false if the control stays as it is, because the application has too little data
    /// and the window is at its target.
    fn update_model(&mut self, window: &mut Window, delivery: &Delivery) -> bool {
        let before = (self.state, self.min_rtt.ns);
        let is_app_limited = delivery.rate.flight.is_some_and(|it| it.is_app_limited);
        let skips = self.may_skip
            && is_app_limited
            && self.sample_bw < self.max_bw()
            && !self.loss_in_round
            && !self.ecn_in_round;
        if !skips {
            self.update_congestion_signals(window, delivery);
            self.update_aggregation(window, delivery);
            self.check_startup_loss(delivery);
            self.check_full_bw_reached(delivery);
        }
        self.check_drain(window, delivery);
        self.update_cycle(window, delivery);
        self.update_min_rtt(window, delivery);
        !skips || !self.may_skip || before != (self.state, self.min_rtt.ns)
    }

    /// Returns the gains of pacing rate and window.
    fn gains(&self) -> (Fraction, f64) {
        match self.state {
            State::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            State::Drain => (DRAIN_PACING_GAIN, CWND_GAIN),
            State::ProbeBwDown => (DOWN_PACING_GAIN, CWND_GAIN),
            State::ProbeBwCruise | State::ProbeBwRefill => (Fraction::ONE, CWND_GAIN),
            State::ProbeBwUp => (UP_PACING_GAIN, UP_CWND_GAIN),
            State::ProbeRtt => (Fraction::ONE, 1.0),
        }
    }

    fn set_cwnd(&mut self, window: &mut Window, acked: u32, gain: f64) {
        if acked > 0 {
            let bandwidth = self.bw();
            let target = self.bdp(bandwidth, gain) + self.aggregation.extra_pkts(bandwidth);
            let target = self.quantization_budget(target);
            let cwnd = &mut window.cwnd;
            self.may_skip = if self.full_bw_reached {
                *cwnd += acked;
                *cwnd >= target
            } else {
                *cwnd >= target && *cwnd >= 2 * self.initial_cwnd
            };
            if self.full_bw_reached {
                *cwnd = (*cwnd).min(target);
            } else if !self.may_skip {
                *cwnd += acked;
            }
            *cwnd = (*cwnd).max(MIN_CWND);
        }
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd(window);
    }

    /// Applies the bounds of the state to the window.
    fn bound_cwnd(&self, window: &mut Window) {
        let upper = match self.state {
            State::Startup | State::Drain => NO_BOUND,
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => self.bounds.inflight_hi,
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        let bound = upper.min(self.bounds.inflight_lo).max(MIN_CWND);
        window.cwnd = window.cwnd.min(bound);
    }

    /// Starts a round trip with loss, if it is the first one.
    fn note_loss(&mut self, delivered: u64) {
        if !self.loss_in_round {
            self.loss_round_end = delivered;
        }
        (self.loss_in_round, self.loss_in_cycle) = (true, true);
    }
}

impl Algorithm for Bbr3 {
    /// Without `ecn_low`, marks have no effect. With it, delayed acknowledgements leave before a packet with another mark,
    /// and all packets are ECN-capable.
    fn ecn_rules(stack: &Stack) -> EcnRules {
        if stack.ecn_low {
            EcnRules {
                is_required: true,
                feedback: EcnFeedback::Exact,
                marks_retransmissions: true,
                ..EcnRules::OPTIONAL
            }
        } else {
            EcnRules::OPTIONAL
        }
    }

    fn new(stack: &Stack, _clock: Clock, phase: f64) -> Self {
        let no_rtt = MinRtt {
            ns: u64::MAX,
            at_ns: 0,
        };
        let mut bbr = Self {
            state: State::Startup,
            packet_bytes: f64::from(stack.mss_bytes),
            has_ecn_low: stack.ecn_low,
            random: SplitMix64::new(phase.to_bits()),
            initial_cwnd: stack.initial_window_pkts.min(127),
            pacing_gain: STARTUP_PACING_GAIN,
            pacing: 0.0,
            has_seen_rtt: false,
            min_rtt: no_rtt,
            probe_rtt_min: no_rtt,
            probe_rtt_until_ns: None,
            probe_rtt_round: false,
            prior_cwnd: 0,
            prior_recovery: RecoveryState::Open,
            is_idle_restart: false,
            may_skip: false,
            round_end: 0,
            round_start: false,
            loss_round_end: 1,
            loss_round_start: false,
            loss_in_round: false,
            ecn_in_round: false,
            loss_in_cycle: false,
            ecn_in_cycle: false,
            sample_bw: 0.0,
            max_bw: [0.0; 2],
            bw_latest: 0.0,
            inflight_latest: 0,
            bounds: Bounds::NONE,
            bounds_before: Bounds {
                bw_lo: 0.0,
                inflight_lo: 0,
                inflight_hi: 0,
            },
            full_bw: 0.0,
            full_bw_rounds: 0,
            full_bw_now: false,
            full_bw_reached: false,
            losses_in_round: 0,
            startup_ecn_rounds: 0,
            cycle_at_ns: 0,
            probe_wait_ns: 0,
            rounds_since_probe: 0,
            ack_phase: AckPhase::Init,
            bw_probe_samples: false,
            prev_probe_too_high: false,
            stopped_risky_probe: false,
            bw_probe_up_count: u32::MAX,
            bw_probe_up_acks: 0,
            bw_probe_up_rounds: 0,
            is_ecn_eligible: false,
            ecn_alpha: Fraction::ONE,
            alpha_delivered: 0,
            alpha_marked: 0,
            aggregation: AckAggregation::default(),
        };
        bbr.init_pacing_rate(stack.initial_window_pkts, 0);
        bbr
    }

    fn on_congestion_event(&mut self, window: Window, _by_mark: bool) -> u32 {
        self.save_cwnd(window.cwnd);
        self.bounds_before = self.bounds;
        window.ssthresh
    }

    fn on_rto(&mut self, _window: Window, _next: u32) {
        self.prior_recovery = RecoveryState::Loss;
        self.reset_full_bw(0.0);
        if !self.state.is_probing_bandwidth() && self.bounds.inflight_lo == NO_BOUND {
            self.bounds.inflight_lo = self.prior_cwnd;
        }
    }

    fn on_idle_restart(&mut self, window: &mut Window, idle: &IdlePeriod) {
        if !idle.is_app_limited {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.restart(idle.now_ns);
        if self.state.is_probe_bw() {
            self.set_pacing(Fraction::ONE);
        } else if self.state == State::ProbeRtt {
            // With nothing in flight, any earlier end of the round trip is equal to the packets delivered.
            self.check_probe_rtt_done(window, idle.now_ns, self.round_end);
        }
    }

    fn as_window_control(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }

    fn pacing(&self) -> Option<(f64, u32)> {
        Some((self.pacing, self.burst_pkts()))
    }
}

impl WindowControl for Bbr3 {
    fn open(&mut self, now_ns: u64, window: Window, rtt_ns: u64) {
        self.min_rtt = MinRtt {
            ns: rtt_ns,
            at_ns: now_ns,
        };
        self.probe_rtt_min = self.min_rtt;
        self.initial_cwnd = window.cwnd.min(127);
        self.aggregation.restart(now_ns);
        self.init_pacing_rate(window.cwnd, rtt_ns);
    }

    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        if self.prior_recovery == RecoveryState::Loss && delivery.recovery != RecoveryState::Loss {
            self.restore_cwnd(window);
            self.may_skip = false;
        }
        self.update_round(delivery);
        self.ecn_in_round |= self.is_ecn_eligible && delivery.acked.marked > 0;
        self.update_latest_delivery(delivery);
        if self.update_model(window, delivery) {
            let (pacing_gain, cwnd_gain) = self.gains();
            self.pacing_gain = pacing_gain;
            if !self.has_seen_rtt && delivery.srtt_ns > 0 {
                self.init_pacing_rate(window.cwnd, delivery.srtt_ns);
            }
            self.set_pacing(pacing_gain);
            self.set_cwnd(window, delivery.acked.delivered, cwnd_gain);
        }
        self.advance_latest_delivery(delivery);
        self.prior_recovery = delivery.recovery;
        if let Some(flight) = &delivery.rate.flight {
            self.loss_in_cycle |= flight.lost > 0;
            self.ecn_in_cycle |= flight.marked > 0;
        }
    }

    fn on_lost(&mut self, window: Window, lost: &Lost) {
        self.note_loss(lost.delivered);
        let flight = &lost.flight;
        if self.bw_probe_samples && is_loss_too_high(flight.lost, flight.in_flight) {
            let in_flight = inflight_at_loss_threshold(flight.lost, flight.in_flight);
            self.on_inflight_too_high(window, in_flight, lost);
        }
    }

    fn on_tail_loss(&mut self, window: Window, lost: &Lost) {
        self.note_loss(lost.delivered);
        let in_flight = self.inflight_latest + 1;
        if self.bw_probe_samples && is_loss_too_high(1, in_flight) {
            self.on_inflight_too_high(window, in_flight, lost);
        }
    }

    fn undo(&mut self, window: &mut Window) {
        self.reset_full_bw(0.0);
        self.loss_in_round = false;
        let (bounds, before) = (&mut self.bounds, &self.bounds_before);
        bounds.bw_lo = bounds.bw_lo.max(before.bw_lo);
        bounds.inflight_lo = bounds.inflight_lo.max(before.inflight_lo);
        bounds.inflight_hi = bounds.inflight_hi.max(before.inflight_hi);
        self.may_skip = false;
        window.cwnd = self.prior_cwnd;
    }

    fn is_probing_rtt(&self) -> bool {
        self.state == State::ProbeRtt
    }
}
