//! BBR version 1, as in Linux's `tcp_bbr`. A model of the path sets pacing rate and window. It consists of
//! the maximum delivery rate of the last ten round trips, and the minimum round-trip time of the last ten
//! seconds.
//!
//! Not modelled: delays between the socket and the link (queues of the host, bursts caused by timers).

use netflow_units::SplitMix64;

use super::ack_aggregation::{AckAggregation, EXTRA_ACKED_ROUNDS};
use super::windowed_max::WindowedMax;
use super::{Algorithm, Clock, Delivery, IdlePeriod, RecoveryState, Window, WindowControl};
use crate::Stack;

/// The gain that doubles the sending rate in each round trip: 2 / ln 2.
const HIGH_GAIN: f64 = 2.885;
/// The pacing gain of Drain, which empties the queue made in Startup.
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
pub(super) const CWND_GAIN: f64 = 2.0;
/// The pacing gains of ProbeBW, each for one round trip.
const PACING_GAIN_CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The length of the bandwidth filter in round trips.
const BANDWIDTH_ROUNDS: u64 = 10;
/// The time after which the minimum round-trip time expires, and the duration of ProbeRTT.
pub(super) const MIN_RTT_NS: u64 = 10_000_000_000;
pub(super) const PROBE_RTT_NS: u64 = 200_000_000;
/// The minimum window in packets, used in ProbeRTT.
pub(super) const MIN_CWND: u32 = 4;
/// The maximum window in packets, for paths with zero delay or unlimited rate.
pub(super) const MAX_CWND: f64 = 1e8;
/// The pipe is full if the bandwidth has grown by less than 25 % in three round trips.
pub(super) const FULL_GROWTH: f64 = 1.25;
pub(super) const FULL_ROUNDS: u32 = 3;
/// The rate in bit/s below which packets leave one by one.
const MIN_BURST_RATE_BPS: f64 = 1_200_000.0;
/// The number of bursts per second (`sk_pacing_shift`), and the maximum size of a burst in bytes.
pub(super) const BURSTS_PER_S: f64 = 1024.0;
pub(super) const MAX_BURST_BYTES: f64 = 65_536.0;
/// The pacing rate relative to the measured bandwidth.
pub(super) const PACING_MARGIN: f64 = 0.99;
/// Long-term sampling (policers): minimum interval in round trips, minimum loss, maximum relative and
/// absolute difference of two rates, and round trips for which the policed rate is used.
const POLICER_MIN_ROUNDS: u64 = 4;
const POLICER_MIN_LOSS: f64 = 50.0 / 256.0;
const POLICER_RATE_TOLERANCE: f64 = 0.125;
const POLICER_RATE_TOLERANCE_BYTES_PER_S: f64 = 4000.0;
const POLICER_USE_ROUNDS: u64 = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The state of BBR. Rates are in packets per nanosecond.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    pub(crate) mode: Mode,
    packet_bits: f64,
    random: SplitMix64,
    bandwidth: WindowedMax,
    min_rtt_ns: u64,
    min_rtt_at_ns: u64,
    rounds: u64,
    /// The end of the round trip, in packets delivered.
    round_end: u64,
    round_start: bool,
    full_bandwidth: f64,
    full_rounds: u32,
    is_full: bool,
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing: f64,
    has_seen_rtt: bool,
    cycle_index: usize,
    cycle_at_ns: u64,
    /// ProbeRTT: the end of the minimum duration ([`Mode::ProbeRtt`]), and whether a round trip has passed.
    probe_rtt_until_ns: Option<u64>,
    probe_rtt_round: bool,
    prior_cwnd: u32,
    prior_recovery: RecoveryState,
    packet_conservation: bool,
    idle_restart: bool,
    policer: Policer,
    aggregation: AckAggregation,
}

/// Detection of a policer (long-term sampling).
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    is_sampling: bool,
    rounds: u64,
    bandwidth: f64,
    is_used: bool,
    /// The start of the interval: packets delivered, packets lost, and the time.
    delivered: u64,
    lost: u64,
    at_ns: u64,
}

impl Bbr {
    /// Sets the initial pacing rate: the window per round-trip time, or per millisecond without a
    /// measurement.
    fn init_pacing_rate(&mut self, cwnd: u32, srtt_ns: u64) {
        self.has_seen_rtt = srtt_ns > 0;
        let rtt_ns = if self.has_seen_rtt {
            srtt_ns
        } else {
            1_000_000
        };
        self.pacing = HIGH_GAIN * PACING_MARGIN * f64::from(cwnd) / rtt_ns as f64;
    }

    fn burst_pkts(&self) -> u32 {
        let bits_per_s = self.pacing * 1e9 * self.packet_bits;
        let bits = (bits_per_s / BURSTS_PER_S).min(8.0 * MAX_BURST_BYTES);
        let least = if bits_per_s < MIN_BURST_RATE_BPS {
            1
        } else {
            2
        };
        ((bits / self.packet_bits) as u32).clamp(least, 127)
    }

    /// Returns the bandwidth used by the model.
    fn used_bandwidth(&self) -> f64 {
        if self.policer.is_used {
            self.policer.bandwidth
        } else {
            self.bandwidth.get()
        }
    }

    fn bdp(&self, bandwidth: f64, gain: f64) -> u32 {
        bdp_pkts(bandwidth, self.min_rtt_ns, gain).unwrap_or(10)
    }

    /// Adds packets to a window for bursts at both ends.
    fn quantization_budget(&self, cwnd: u32) -> u32 {
        let cwnd = (cwnd + 3 * self.burst_pkts()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.cycle_index == 0 {
            cwnd + 2
        } else {
            cwnd
        }
    }

    fn in_flight_at(&self, bandwidth: f64, gain: f64) -> u32 {
        self.quantization_budget(self.bdp(bandwidth, gain))
    }

    fn save_cwnd(&mut self, cwnd: u32) {
        self.prior_cwnd =
            if self.prior_recovery < RecoveryState::Recovery && self.mode != Mode::ProbeRtt {
                cwnd
            } else {
                self.prior_cwnd.max(cwnd)
            };
    }

    fn set_pacing(&mut self, bandwidth: f64, gain: f64) {
        let rate = bandwidth * gain * PACING_MARGIN;
        if self.is_full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn update_bandwidth(&mut self, delivery: &Delivery) {
        let rate = &delivery.rate;
        self.round_start = false;
        let Some(measured) = rate.measured else {
            return;
        };
        if measured.prior_delivered >= self.round_end {
            self.round_end = rate.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.detect_policer(delivery);
        let bandwidth = measured.delivered as f64 / measured.interval_ns as f64;
        if !measured.is_app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.add(BANDWIDTH_ROUNDS, self.rounds, bandwidth);
        }
    }

    fn detect_policer(&mut self, delivery: &Delivery) {
        let rate = &delivery.rate;
        if self.policer.is_used {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.policer.rounds += 1;
                if self.policer.rounds >= POLICER_USE_ROUNDS {
                    self.policer = Policer::from(delivery);
                    self.enter_probe_bw(delivery.acked.now_ns);
                }
            }
            return;
        }
        if !self.policer.is_sampling {
            if delivery.newly_lost == 0 {
                return;
            }
            self.policer = Policer {
                is_sampling: true,
                ..Policer::from(delivery)
            };
        }
        if rate.measured.is_some_and(|it| it.is_app_limited) {
            self.policer = Policer::default();
            return;
        }
        self.policer.rounds += u64::from(self.round_start);
        if self.policer.rounds < POLICER_MIN_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * POLICER_MIN_ROUNDS {
            self.policer = Policer::default();
            return;
        }
        if delivery.newly_lost == 0 {
            return;
        }
        let lost = rate.lost - self.policer.lost;
        let delivered = rate.delivered - self.policer.delivered;
        if delivered == 0 || (lost as f64) < POLICER_MIN_LOSS * delivered as f64 {
            return;
        }
        let interval_ns = rate.at_ns - self.policer.at_ns;
        if interval_ns < 1_000_000 {
            return;
        }
        self.end_policer_sample(delivered as f64 / interval_ns as f64, delivery);
    }

    fn end_policer_sample(&mut self, bandwidth: f64, delivery: &Delivery) {
        let before = self.policer.bandwidth;
        if before > 0.0 {
            let deviation = (bandwidth - before).abs();
            let deviation_bytes_per_s = deviation * 1e9 * self.packet_bits / 8.0;
            if deviation <= POLICER_RATE_TOLERANCE * before
                || deviation_bytes_per_s <= POLICER_RATE_TOLERANCE_BYTES_PER_S
            {
                self.policer.bandwidth = (bandwidth + before) / 2.0;
                self.policer.is_used = true;
                self.policer.rounds = 0;
                self.pacing_gain = 1.0;
                return;
            }
        }
        self.policer = Policer {
            is_sampling: true,
            bandwidth,
            ..Policer::from(delivery)
        };
    }

    fn update_aggregation(&mut self, window: &Window, delivery: &Delivery) {
        let bandwidth = self.used_bandwidth();
        let rounds = self.round_start.then_some(EXTRA_ACKED_ROUNDS);
        self.aggregation.update(window, delivery, bandwidth, rounds);
    }

    /// Returns the additional packets in flight for ACK aggregation.
    fn ack_aggregation_cwnd(&self) -> u32 {
        if self.is_full {
            self.aggregation.extra_pkts(self.used_bandwidth())
        } else {
            0
        }
    }

    fn update_cycle(&mut self, delivery: &Delivery) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let at_ns = delivery.rate.at_ns;
        let is_long = at_ns.saturating_sub(self.cycle_at_ns) > self.min_rtt_ns;
        let in_flight = delivery.in_flight_before;
        let bandwidth = self.bandwidth.get();
        let is_over = if self.pacing_gain > 1.0 {
            let target = self.in_flight_at(bandwidth, self.pacing_gain);
            is_long && (delivery.newly_lost > 0 || in_flight >= target)
        } else if self.pacing_gain < 1.0 {
            is_long || in_flight <= self.in_flight_at(bandwidth, 1.0)
        } else {
            is_long
        };
        if is_over {
            self.cycle_index = (self.cycle_index + 1) % PACING_GAIN_CYCLE.len();
            self.cycle_at_ns = at_ns;
        }
    }

    /// Enters ProbeBW in a random phase of the cycle, except the draining one.
    fn enter_probe_bw(&mut self, now_ns: u64) {
        self.mode = Mode::ProbeBw;
        let random = (self.random.bits() % 7) as usize;
        self.cycle_index = (PACING_GAIN_CYCLE.len() - random) % PACING_GAIN_CYCLE.len();
        self.cycle_at_ns = now_ns;
    }

    fn check_full_bw_reached(&mut self, delivery: &Delivery) {
        let limited = delivery.rate.measured.is_some_and(|it| it.is_app_limited);
        if self.is_full || !self.round_start || limited {
            return;
        }
        if self.bandwidth.get() >= FULL_GROWTH * self.full_bandwidth {
            (self.full_bandwidth, self.full_rounds) = (self.bandwidth.get(), 0);
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window, delivery: &Delivery) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.in_flight_at(self.bandwidth.get(), 1.0);
        }
        if self.mode == Mode::Drain
            && delivery.in_flight <= self.in_flight_at(self.bandwidth.get(), 1.0)
        {
            self.enter_probe_bw(delivery.rate.at_ns);
        }
    }

    fn update_min_rtt(&mut self, window: &mut Window, delivery: &Delivery) {
        let now_ns = delivery.acked.now_ns;
        let expired = now_ns > self.min_rtt_at_ns + MIN_RTT_NS;
        if let Some(rtt_ns) = delivery.acked.rtt_ns
            && (rtt_ns < self.min_rtt_ns || expired && !delivery.rate.may_be_delayed)
        {
            (self.min_rtt_ns, self.min_rtt_at_ns) = (rtt_ns.max(1), now_ns);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window.cwnd);
            self.probe_rtt_until_ns = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_rtt_until_ns {
                None if delivery.in_flight <= MIN_CWND => {
                    self.probe_rtt_until_ns = Some(now_ns + PROBE_RTT_NS);
                    self.probe_rtt_round = false;
                    self.round_end = delivery.rate.delivered;
                }
                None => {}
                Some(until_ns) => {
                    self.probe_rtt_round |= self.round_start;
                    if self.probe_rtt_round && now_ns > until_ns {
                        self.min_rtt_at_ns = now_ns;
                        window.cwnd = window.cwnd.max(self.prior_cwnd);
                        if self.is_full {
                            self.enter_probe_bw(now_ns)
                        } else {
                            self.mode = Mode::Startup
                        }
                    }
                }
            }
        }
        if delivery.rate.measured.is_some_and(|it| it.delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn set_cwnd(&mut self, window: &mut Window, delivery: &Delivery) {
        let acked = delivery.acked.delivered;
        if acked > 0 && !self.apply_packet_conservation(window, delivery) {
            let target =
                self.bdp(self.used_bandwidth(), self.cwnd_gain) + self.ack_aggregation_cwnd();
            let target = self.quantization_budget(target);
            if self.is_full {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || delivery.rate.delivered < 10 {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_CWND);
        }
    }

    /// Applies packet conservation, and returns true in the first round trip of recovery. Deliveries are
    /// then replaced one by one. After recovery the former window is restored.
    fn apply_packet_conservation(&mut self, window: &mut Window, delivery: &Delivery) -> bool {
        let (before, now) = (self.prior_recovery, delivery.recovery);
        let enough = delivery.in_flight + delivery.acked.delivered;
        let mut cwnd = match delivery.newly_lost {
            0 => window.cwnd,
            lost => window.cwnd.saturating_sub(lost).max(1),
        };
        if now == RecoveryState::Recovery && before != RecoveryState::Recovery {
            self.packet_conservation = true;
            self.round_end = delivery.rate.delivered;
            cwnd = enough;
        } else if before >= RecoveryState::Recovery && now < RecoveryState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prior_recovery = now;
        window.cwnd = if self.packet_conservation {
            cwnd.max(enough)
        } else {
            cwnd
        };
        self.packet_conservation
    }
}

impl Algorithm for Bbr {
    fn new(stack: &Stack, _clock: Clock, phase: f64) -> Self {
        let mut bbr = Self {
            mode: Mode::Startup,
            packet_bits: 8.0 * f64::from(stack.mss_bytes),
            random: SplitMix64::new(phase.to_bits()),
            bandwidth: WindowedMax::default(),
            min_rtt_ns: u64::MAX,
            min_rtt_at_ns: 0,
            rounds: 0,
            round_end: 0,
            round_start: false,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing: 0.0,
            has_seen_rtt: false,
            cycle_index: 0,
            cycle_at_ns: 0,
            probe_rtt_until_ns: None,
            probe_rtt_round: false,
            prior_cwnd: 0,
            prior_recovery: RecoveryState::Open,
            packet_conservation: false,
            idle_restart: false,
            policer: Policer::default(),
            aggregation: AckAggregation::default(),
        };
        bbr.init_pacing_rate(stack.initial_window_pkts, 0);
        bbr
    }

    fn on_congestion_event(&mut self, window: Window, _by_mark: bool) -> u32 {
        self.save_cwnd(window.cwnd);
        window.ssthresh
    }

    fn on_rto(&mut self, _window: Window, _next: u32) {
        self.prior_recovery = RecoveryState::Loss;
        self.full_bandwidth = 0.0;
        self.round_start = true;
    }

    fn on_idle_restart(&mut self, _window: &mut Window, idle: &IdlePeriod) {
        self.idle_restart = true;
        self.aggregation.restart(idle.now_ns);
        if self.mode == Mode::ProbeBw {
            self.set_pacing(self.used_bandwidth(), 1.0);
        }
    }

    fn as_window_control(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }

    fn pacing(&self) -> Option<(f64, u32)> {
        Some((self.pacing, self.burst_pkts()))
    }
}

impl WindowControl for Bbr {
    fn open(&mut self, now_ns: u64, window: Window, rtt_ns: u64) {
        (self.min_rtt_ns, self.min_rtt_at_ns) = (rtt_ns, now_ns);
        self.init_pacing_rate(window.cwnd, rtt_ns);
    }

    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        self.update_bandwidth(delivery);
        self.update_aggregation(window, delivery);
        self.update_cycle(delivery);
        self.check_full_bw_reached(delivery);
        self.check_drain(window, delivery);
        self.update_min_rtt(window, delivery);
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.is_used => (1.0, CWND_GAIN),
            Mode::ProbeBw => (PACING_GAIN_CYCLE[self.cycle_index], CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
        if !self.has_seen_rtt && delivery.srtt_ns > 0 {
            self.init_pacing_rate(window.cwnd, delivery.srtt_ns);
        }
        self.set_pacing(self.used_bandwidth(), self.pacing_gain);
        self.set_cwnd(window, delivery);
    }

    fn undo(&mut self, _window: &mut Window) {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        self.policer = Policer::default();
    }

    fn is_probing_rtt(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}

/// Returns `gain` times the bandwidth-delay product in packets; `None` without a round-trip time (`u64::MAX`).
pub(super) fn bdp_pkts(bandwidth: f64, min_rtt_ns: u64, gain: f64) -> Option<u32> {
    let has_rtt = min_rtt_ns < u64::MAX;
    has_rtt.then(|| (bandwidth * min_rtt_ns as f64 * gain).ceil().min(MAX_CWND) as u32)
}

impl From<&Delivery> for Policer {
    /// Returns the start of an interval.
    fn from(delivery: &Delivery) -> Policer {
        Policer {
            delivered: delivery.rate.delivered,
            lost: delivery.rate.lost,
            at_ns: delivery.rate.at_ns,
            ..Policer::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: a sender that starts while others fill a queue used only round-trip times of its
    /// data. These exceed that of its SYN, so its share of the bandwidth was too large.
    #[test]
    fn the_handshake_measures_the_rtt() {
        let mut stack = Stack::builtin("linux-6").unwrap();
        stack.set_congestion(crate::CongestionControl::Bbr);
        let mut bbr = Bbr::new(&stack, Clock::new(&stack, 0.0), 0.0);
        let window = Window {
            cwnd: 10,
            ssthresh: 10,
        };
        bbr.open(7, window, 50_000_000);
        assert_eq!((bbr.min_rtt_ns, bbr.min_rtt_at_ns), (50_000_000, 7));
        let per_rtt = bbr.pacing().unwrap().0 * 50e6;
        assert!(
            (per_rtt - HIGH_GAIN * PACING_MARGIN * 10.0).abs() < 1e-9,
            "{per_rtt}"
        );
    }
}
