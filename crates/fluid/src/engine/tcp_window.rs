//! TCP windows as state: mean-field equations of the congestion windows of one class (Misra, Gong and Towsley,
//! SIGCOMM 2000), with the profile as their exact equilibrium.
//!
//! A fraction of the flows of a class is in slow start with the window W_s, the others are in congestion
//! avoidance with the window W. The rate is the mean window divided by the present round-trip time R. Losses
//! are applied when the sender learns of them, and a flow reduces its window at most once per round trip:
//!
//! > dW/dt = (1 − β) W (φ(W p*(W, R)) − φ(W p)) / R
//!
//! Here p*(W, R) is the [inverse](super::inverse_profile) of the profile, p the loss that the sender learns of,
//! and φ(n) = n/(1 + T n) the events per round trip, with at most one in T = 8/7 round trips. CUBIC grows along
//! its curve (RFC 9438) instead of the first term, with the window and the age of the last event.

use std::f64::consts::LN_2;
use std::sync::Arc;

use netflow_profile::Profile;
use netflow_units::math::{exp, exp_m1};
use serde::{Deserialize, Serialize};

use super::Span;
use super::inverse_profile::InverseProfile;
use super::plan::BranchPlan;
use super::source_law::LossAndRtt;
use super::sources;
use super::step_control::steady_step_s;

/// Number of path samples stored per source, and samples per round-trip time.
pub(crate) const SAMPLES: usize = 16;
const SAMPLES_PER_RTT: f64 = 7.0;

/// Returns the range of a branch's samples.
pub(crate) fn samples_of(b: usize) -> std::ops::Range<usize> {
    b * SAMPLES..(b + 1) * SAMPLES
}

/// Round-trip times in which a flow reduces its window once: one, and the distance of two samples.
const RECOVERY_RTTS: f64 = 1.0 + 1.0 / SAMPLES_PER_RTT;

/// Smallest window in packets: one packet per 50 round trips. A flow that waits for its timer sends less than
/// one packet per round trip.
const MIN_WINDOW_PKTS: f64 = 0.02;

/// Fraction of packets lost from which a queue overflows, and the range in which this changes smoothly. A
/// source in slow start then sends two packets per acknowledgement.
const OVERFLOW_LOSS: f64 = 0.05;
const OVERFLOW_RANGE: f64 = 0.1;

/// Window of slow start relative to the queue that its bursts make at the narrowest link, when they overflow the buffer.
/// A round trip that begins with the window W₁ ends with 2 W₁ and a queue of W₁ packets. The mean over the possible W₁ is
/// 1 + 1/ln 2.
const WINDOW_PER_BURST: f64 = 1.0 + 1.0 / LN_2;

/// Packets that these bursts lose before the sender detects it, relative to the growth of the window meanwhile: W₁ of
/// K + W₁ packets, where K is the buffer and the mean W₁ is K/ln 2.
const LOST_PER_GROWTH: f64 = 1.0 / (1.0 + LN_2);

/// HyStart (Linux): smallest window in packets, bounds of the RTT increase in seconds, and largest spacing of
/// acknowledgements in a train in seconds.
const HYSTART_MIN_WINDOW_PKTS: f64 = 16.0;
const HYSTART_DELAY_S: (f64, f64) = (0.004, 0.016);
const HYSTART_SPACING_S: f64 = 0.002;

/// Window at which HyStart's acknowledgement train ends slow start, relative to half of the free bandwidth-delay
/// product: the mean over the position of the end of the train within a doubling.
const HYSTART_TRAIN: f64 = 1.22;

/// Doublings or halvings of the rate per RTT below which the equilibrium is corrected for interpolation.
const NEARLY_STEADY_DOUBLINGS: f64 = 0.1;

/// Loss of acknowledgements below which no timer expires; at twice this loss its effect is complete.
const MIN_ACK_LOSS: f64 = 0.01;

/// CUBIC: constant C in packets/s³ and relative growth per RTT before the first loss (Linux).
const CUBIC_C: f64 = 0.4;
const CUBIC_FIRST_GROWTH: f64 = 0.05;

/// Dynamics of a TCP besides its profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TcpDynamics {
    /// Window after a loss, relative to the window before it.
    beta: f64,
    /// The same relative to the mean window of the sawtooth.
    mean_beta: f64,
    is_cubic: bool,
    initial_window_pkts: f64,
    /// Largest window in packets; infinite if unlimited.
    max_window_pkts: f64,
    min_rto_s: f64,
    /// True if several losses in one window end in a retransmission timeout (Reno without SACK).
    needs_timer: bool,
}

impl TcpDynamics {
    /// Returns the dynamics of a profile.
    pub fn of(profile: &dyn Profile) -> TcpDynamics {
        let name = profile.name();
        let is_linux = name.starts_with("linux");
        let is_cubic = name.contains("cubic");
        TcpDynamics {
            beta: if is_cubic { 0.7 } else { 0.5 },
            // The window grows from β to 1: along a straight line, its mean is (1 + β)/2; along CUBIC's curve 0.925.
            mean_beta: if is_cubic {
                1.0 - 0.3 / 0.925
            } else {
                1.0 - 0.5 / 0.75
            },
            is_cubic,
            initial_window_pkts: if is_linux { 10.0 } else { 2.0 },
            max_window_pkts: profile.window_limit_pkts().unwrap_or(f64::INFINITY),
            min_rto_s: 0.2,
            needs_timer: !is_linux,
        }
    }
}

/// Law of one profile: its dynamics and its inverse.
#[derive(Clone, Debug)]
pub(crate) struct WindowLaw {
    pub dynamics: TcpDynamics,
    pub inverse: InverseProfile,
}

impl WindowLaw {
    pub fn new(profile: &Arc<dyn Profile>) -> WindowLaw {
        WindowLaw {
            dynamics: TcpDynamics::of(&**profile),
            inverse: InverseProfile::new(profile.clone()),
        }
    }
}

/// Path sample of a source: cumulative values per flow at the time when packets are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WindowSample {
    pub time_s: f64,
    /// Time at which the sender learns whether packets sent at `time_s` were lost.
    pub learned_s: f64,
    pub lost_pkts: f64,
    pub loss_events: f64,
    pub slow_start_pkts: f64,
    /// Sending rate of a flow in packets/s.
    pub rate_pps: f64,
}

/// Position between two consecutive samples.
#[derive(Clone, Copy, Debug)]
struct SamplePosition<'a> {
    before: &'a WindowSample,
    after: &'a WindowSample,
    part: f64,
}

impl<'a> SamplePosition<'a> {
    fn exactly(at: &'a WindowSample) -> SamplePosition<'a> {
        SamplePosition {
            before: at,
            after: at,
            part: 0.0,
        }
    }

    /// Interpolates a value of the samples.
    fn value(&self, of: impl Fn(&WindowSample) -> f64) -> f64 {
        let (before, after) = (of(self.before), of(self.after));
        before + (after - before) * self.part
    }
}

/// Congestion windows of the flows of one branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TcpWindow {
    /// Time at which it began to send; `None` if it does not.
    since_s: Option<f64>,
    /// Step of the last update.
    last_step: u64,
    /// Fraction of the flows in slow start.
    slow_start_fraction: f64,
    /// Windows in packets: in slow start, in congestion avoidance, and their mean.
    slow_start_pkts: f64,
    avoidance_pkts: f64,
    window_pkts: f64,
    /// Loss events of a flow so far.
    loss_events: f64,
    /// CUBIC: window at the last event, time in seconds to return to it, seconds since it, and the fraction of
    /// the flows that had one.
    cubic_max_pkts: f64,
    cubic_k_s: f64,
    cubic_age_s: f64,
    cubic_fraction: f64,
    /// Packets that one flow has lost so far.
    lost_pkts: f64,
    /// Packets sent since the last evaluation and the loss at its start.
    step_pkts: f64,
    met_loss: f64,
    /// Sent packets of the last step, relative to what the window permits.
    used: f64,
    /// Lost packets of one flow of which the sender has learned.
    learned_lost_pkts: f64,
    /// Fraction of the flows that wait for a retransmission timer, and until when.
    waiting_fraction: f64,
    waiting_until_s: f64,
    min_rtt_s: f64,
    pub rtt_s: f64,
    pub rate_pps: f64,
    mean_pps: f64,
    /// Recent maximum of the doublings or halvings of the rate or RTT per RTT.
    pub doublings: f64,
    /// Packets that one flow lost in the overshoot of slow start and that the fluid has not lost.
    pub overshoot_pkts: f64,
    samples: u32,
    last_sample: u32,
    /// Last evaluation.
    #[serde(default)]
    evaluated: Evaluation,
}

/// Evaluation of a window. Its rate holds until the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Evaluation {
    /// End of the evaluated step, and the time until which its rate holds, in seconds.
    end_s: f64,
    holds_until_s: f64,
    /// Loss and round-trip time that the source observed.
    seen: LossAndRtt,
    is_at_maximum: bool,
    profile_loss: Option<f64>,
}

/// Conditions that a source meets in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowConditions {
    /// Loss of data packets, and ln of the fraction of acknowledgements that pass.
    pub loss: f64,
    pub acks_ln_pass: f64,
    /// Free space of the queue at the narrowest link for the bursts of one flow, in packets.
    pub burst_space_pkts: f64,
    pub rtt_s: f64,
    pub forward_s: f64,
    /// Part of it before the narrowest link, whose queue loses most packets.
    pub to_queue_s: f64,
    /// Round-trip time without waiting.
    pub empty_rtt_s: f64,
    /// Packets/s of one flow delivered in the last step.
    pub delivered_pps: f64,
    /// Packets/s at the narrowest link: its bandwidth, and the part that other traffic and the flow's fair share
    /// leave.
    pub free_pps: f64,
}

/// Mean rate of a step and the rate at its end, in packets/s of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowRate {
    pub mean_pps: f64,
    pub end_pps: f64,
    /// True if the window has its largest value.
    pub is_at_maximum: bool,
    /// Loss at which the profile was evaluated: that of the window in equilibrium; `None` in slow start.
    pub profile_loss: Option<f64>,
}

impl TcpWindow {
    /// Records the packets sent in a step.
    #[inline]
    pub fn record_sent(&mut self, sent_pkts: f64, permitted_pkts: f64) {
        self.step_pkts += sent_pkts;
        self.used = if sent_pkts < permitted_pkts {
            sent_pkts / permitted_pkts
        } else {
            1.0
        };
    }

    /// Returns the feedback and the rate of a step if the rate of the last evaluation still holds.
    ///
    /// The common step suits the sources with the shortest round-trip times. The others are evaluated as often as their
    /// own round-trip time requires; in slow start and while they change fast, at every step.
    #[inline]
    pub fn held(&mut self, step: u64, span: Span) -> Option<(LossAndRtt, WindowRate)> {
        if !self.is_running(step) || span.end_s > self.evaluated.holds_until_s {
            return None;
        }
        self.last_step = step;
        self.overshoot_pkts = 0.0;
        let Evaluation {
            seen,
            is_at_maximum,
            profile_loss,
            ..
        } = self.evaluated;
        let rate = WindowRate {
            mean_pps: self.rate_pps,
            end_pps: self.rate_pps,
            is_at_maximum,
            profile_loss,
        };
        Some((seen, rate))
    }

    /// Returns the window after a change of the path. Losses on the old path are no longer reported.
    pub fn moved(self) -> TcpWindow {
        TcpWindow {
            samples: 0,
            step_pkts: 0.0,
            evaluated: Evaluation {
                holds_until_s: 0.0,
                ..self.evaluated
            },
            ..self
        }
    }

    /// Returns true if it was updated in the step before `step`.
    pub fn is_running(&self, step: u64) -> bool {
        self.since_s.is_some() && self.last_step + 1 == step
    }

    fn begin(&mut self, dynamics: &TcpDynamics, now_s: f64, rtt_s: f64) {
        let window_pkts = dynamics.initial_window_pkts * LN_2;
        *self = TcpWindow {
            since_s: Some(now_s),
            doublings: 1.0,
            used: 1.0,
            slow_start_fraction: 1.0,
            slow_start_pkts: window_pkts,
            avoidance_pkts: window_pkts,
            window_pkts,
            cubic_max_pkts: window_pkts,
            cubic_k_s: 1.0,
            rtt_s,
            min_rtt_s: rtt_s,
            ..TcpWindow::default()
        };
    }

    /// Returns the position of the packets of which the sender learns at `learned_s`.
    #[inline]
    fn at<'a>(
        &self,
        ring: &'a [WindowSample],
        now: &'a WindowSample,
        learned_s: f64,
    ) -> SamplePosition<'a> {
        if learned_s >= now.learned_s {
            return SamplePosition::exactly(now);
        }
        // The n-th newest sample; their times decrease with n.
        let sample = |n: u32| &ring[(self.last_sample + SAMPLES as u32 - n) as usize % SAMPLES];
        let (mut newer, mut end) = (0, self.samples);
        while newer < end {
            let middle = (newer + end) / 2;
            if sample(middle).learned_s > learned_s {
                newer = middle + 1;
            } else {
                end = middle;
            }
        }
        let after = if newer == 0 { now } else { sample(newer - 1) };
        if newer == self.samples {
            return SamplePosition::exactly(after);
        }
        let before = sample(newer);
        let between_s = (after.learned_s - before.learned_s).max(1e-12);
        SamplePosition {
            before,
            after,
            part: (learned_s - before.learned_s) / between_s,
        }
    }

    /// Takes a sample of the path.
    fn sample(
        &mut self,
        ring: &mut [WindowSample],
        met: &WindowConditions,
        now_s: f64,
        burst_loss: f64,
    ) -> WindowSample {
        let loss = met.loss + burst_loss;
        self.lost_pkts += self.step_pkts * 0.5 * (self.met_loss + loss);
        (self.step_pkts, self.met_loss) = (0.0, loss);
        let last = ring[self.last_sample as usize];
        let now = WindowSample {
            time_s: now_s,
            learned_s: (now_s + met.rtt_s - met.to_queue_s).max(if self.samples == 0 {
                0.0
            } else {
                last.learned_s
            }),
            lost_pkts: self.lost_pkts,
            loss_events: self.loss_events,
            slow_start_pkts: self.slow_start_pkts,
            rate_pps: self.mean_pps,
        };
        if self.samples == 0 || (now_s - last.time_s) * SAMPLES_PER_RTT >= met.rtt_s {
            self.last_sample = (self.last_sample + 1) % SAMPLES as u32;
            self.samples = (self.samples + 1).min(SAMPLES as u32);
            ring[self.last_sample as usize] = now;
        }
        now
    }

    /// Advances the windows from the last evaluation to the end of a step, and returns the rate of one flow.
    pub fn advance(
        &mut self,
        ring: &mut [WindowSample],
        law: &WindowLaw,
        branch: &BranchPlan,
        met: &WindowConditions,
        step: u64,
        span: Span,
    ) -> WindowRate {
        let WindowLaw { dynamics, inverse } = law;
        let rtt_s = met.rtt_s;
        if span.end_s <= branch.start_s {
            self.rtt_s = rtt_s;
            return WindowRate::default();
        }
        let from_s = if self.is_running(step) {
            self.evaluated.end_s
        } else {
            span.start_s
        };
        let (length_s, active_s) = (
            span.end_s - from_s,
            sources::active_s(branch, from_s, span.end_s),
        );
        if !self.is_running(step) {
            self.begin(dynamics, span.start_s.max(branch.start_s), rtt_s);
        }
        let of_profile = if self.doublings < NEARLY_STEADY_DOUBLINGS {
            inverse.at_loss(self.avoidance_pkts, rtt_s, met.loss)
        } else {
            inverse.at(self.avoidance_pkts, rtt_s)
        };
        let max_window_pkts = (branch.window_pkts)
            .min(dynamics.max_window_pkts)
            .min(of_profile.lossless_window_pkts);
        self.last_step = step;
        self.min_rtt_s = self.min_rtt_s.min(rtt_s);
        let burst_loss = self.burst_loss(met);
        let now = self.sample(ring, met, span.start_s, burst_loss);
        let learned_lost_pkts = self.at(ring, &now, span.end_s).value(|it| it.lost_pkts);
        let learned_pkts = (learned_lost_pkts - self.learned_lost_pkts).max(0.0);
        self.learned_lost_pkts += learned_pkts;
        // One recovery time ago; without losses it does not matter.
        let recovering = if learned_pkts > 0.0 {
            let ago_s = (RECOVERY_RTTS - 1.0) * rtt_s;
            self.at(ring, &now, span.start_s - met.to_queue_s - ago_s)
        } else {
            SamplePosition::exactly(&now)
        };
        let (window0, slow0) = (self.window_pkts, self.slow_start_pkts);
        let fraction0 = self.slow_start_fraction;
        let growing = (2.0 * self.used - 1.0).max(0.0);
        // Flows in slow start double; some of them lose their first packet.
        let mut leaving = 0.0;
        if fraction0 > 0.0 {
            leaving = fraction0 * -exp_m1(-learned_pkts * slow0 / window0);
            if (fraction0 - leaving) * branch.weight < 0.5 {
                leaving = fraction0; // less than half a flow is none
            }
            let since_s = self.since_s.unwrap_or(span.start_s);
            let acked = if span.start_s < since_s + rtt_s {
                1.0
            } else {
                // Packets that are delivered now were sent one forward delay ago.
                let sent_s = span.start_s - met.forward_s;
                let sent = self.at(ring, &now, sent_s + rtt_s - met.to_queue_s);
                (met.delivered_pps / sent.value(|it| it.rate_pps).max(1e-9)).min(1.0)
            };
            // A window doubles per round trip; once the queue grows, each acknowledgement releases two packets.
            let per_ack = LN_2 + (1.0 - LN_2) * (2.0 * (1.0 - acked)).min(1.0);
            let grown = exp(per_ack * acked * growing * active_s / rtt_s);
            self.slow_start_pkts = (slow0 * grown).min(max_window_pkts);
        }
        let avoiding = 1.0 - fraction0;
        let (mut events, mut profile_loss) = (0.0, None);
        if avoiding > 0.0 {
            profile_loss = Some(of_profile.loss);
            events = self.advance_avoidance(
                dynamics,
                met,
                AvoidanceInputs {
                    max_window_pkts,
                    learned_pkts,
                    recent_events: (self.loss_events - recovering.value(|it| it.loss_events))
                        / avoiding,
                    growing,
                    active_s,
                    profile_loss: of_profile.loss,
                },
            );
        }
        self.loss_events += avoiding * events + leaving;
        // A window that doubled into a full queue for a round trip, before it learned of a loss, lost its growth.
        self.overshoot_pkts = 0.0;
        if leaving > 0.0 {
            let slow_then_pkts = recovering.value(|it| it.slow_start_pkts).min(slow0);
            let grown_pkts = (slow0 - slow_then_pkts).max(0.0);
            let lost_then_pkts = recovering.value(|it| it.lost_pkts);
            let lost_pkts = (self.lost_pkts - lost_then_pkts).max(0.0) * slow0 / window0;
            let of_bursts = burst_loss / (burst_loss + met.loss).max(1e-300);
            let lost_growth_pkts = (1.0 - of_bursts) * (grown_pkts - lost_pkts).max(0.0);
            self.overshoot_pkts =
                leaving * (lost_growth_pkts + of_bursts * LOST_PER_GROWTH * grown_pkts);
            let part = leaving / (avoiding + leaving);
            // Probability of three or more losses in the window, after which Reno waits for its timer.
            let mut then_pkts = slow_then_pkts;
            if !dynamics.needs_timer {
                // With SACK there is one decrease, when the sender detects the loss and the window has doubled.
                let full_pkts = met.free_pps / branch.weight * rtt_s + met.burst_space_pkts;
                then_pkts += of_bursts * (full_pkts - then_pkts).clamp(0.0, then_pkts);
            }
            let several = if dynamics.needs_timer {
                let m = grown_pkts;
                1.0 - exp(-m) * (1.0 + m + 0.5 * m * m)
            } else {
                0.0
            };
            self.wait_for_timer(dynamics, met, leaving * several, span.start_s);
            let after_pkts = (dynamics.beta * then_pkts).max(1.0);
            self.avoidance_pkts += part * (after_pkts - self.avoidance_pkts);
            if dynamics.is_cubic {
                self.cubic_k_s += part * (libm::cbrt(0.3 * slow0 / CUBIC_C) - self.cubic_k_s);
                self.cubic_max_pkts += part * (slow0 - self.cubic_max_pkts);
                self.cubic_age_s *= 1.0 - part;
                self.cubic_fraction += part * (1.0 - self.cubic_fraction);
            }
            self.slow_start_fraction -= leaving;
            if self.slow_start_fraction < 1e-9 {
                self.slow_start_fraction = 0.0;
            }
        }
        if dynamics.is_cubic && self.slow_start_fraction > 0.0 && self.hystart_ends(met, branch) {
            let part = self.slow_start_fraction;
            self.avoidance_pkts += part * (self.slow_start_pkts - self.avoidance_pkts);
            self.cubic_k_s += part * (1e-3 - self.cubic_k_s);
            self.cubic_max_pkts += part * (self.slow_start_pkts - self.cubic_max_pkts);
            self.cubic_age_s *= 1.0 - part;
            self.cubic_fraction *= 1.0 - part;
            self.slow_start_fraction = 0.0;
        }
        let timer_s = self.lose_acks(dynamics, met, window0, active_s);
        self.avoidance_pkts = self.avoidance_pkts.clamp(MIN_WINDOW_PKTS, max_window_pkts);
        let slow = self.slow_start_fraction;
        let window_pkts = slow * self.slow_start_pkts + (1.0 - slow) * self.avoidance_pkts;
        self.window_pkts = window_pkts.clamp(MIN_WINDOW_PKTS, max_window_pkts);
        let mut end_pps = self.window_pkts / (rtt_s + timer_s);
        if slow > 0.0 && met.loss > OVERFLOW_LOSS {
            let full = ((met.loss - OVERFLOW_LOSS) / OVERFLOW_RANGE).min(1.0);
            let share = slow * self.slow_start_pkts / self.window_pkts;
            end_pps += full * (2.0 * share * met.delivered_pps - share * end_pps).max(0.0);
        }
        if self.waiting_fraction > 0.0 {
            if span.start_s < self.waiting_until_s {
                end_pps *= 1.0 - self.waiting_fraction;
            } else {
                self.waiting_fraction = 0.0;
            }
        }
        let end_pps = end_pps.max(1e-3);
        let mean_pps = if self.waiting_fraction > 0.0 || self.slow_start_fraction > 0.0 {
            end_pps
        } else {
            0.5 * (window0 + self.window_pkts) / (rtt_s + timer_s)
        };
        self.note_change(end_pps, rtt_s, length_s);
        (self.rate_pps, self.rtt_s, self.mean_pps) = (end_pps, rtt_s, mean_pps);
        if self.window_pkts >= of_profile.lossless_window_pkts {
            profile_loss = Some(met.loss);
        }
        let is_at_maximum = self.window_pkts >= max_window_pkts;
        let holds_s = if self.slow_start_fraction > 0.0 {
            0.0
        } else {
            steady_step_s(rtt_s, self.doublings) - span.length_s
        };
        self.evaluated = Evaluation {
            end_s: span.end_s,
            holds_until_s: span.end_s + holds_s,
            seen: [met.loss, rtt_s],
            is_at_maximum,
            profile_loss,
        };
        WindowRate {
            mean_pps,
            end_pps,
            is_at_maximum,
            profile_loss,
        }
    }

    /// Returns the fraction of the packets that bursts of slow start lose although the mean queue is shorter than the
    /// buffer. Each acknowledgement releases two packets, so a part of the window queues at the narrowest link.
    fn burst_loss(&self, met: &WindowConditions) -> f64 {
        let excess_pkts = self.slow_start_pkts / WINDOW_PER_BURST - met.burst_space_pkts;
        if excess_pkts <= 0.0 {
            return 0.0;
        }
        (self.slow_start_fraction * excess_pkts / self.window_pkts - met.loss).max(0.0)
    }

    /// Advances the window in congestion avoidance, and returns the loss events of one such flow.
    fn advance_avoidance(
        &mut self,
        dynamics: &TcpDynamics,
        met: &WindowConditions,
        inputs: AvoidanceInputs,
    ) -> f64 {
        let AvoidanceInputs {
            max_window_pkts,
            learned_pkts,
            recent_events,
            growing,
            active_s,
            profile_loss,
        } = inputs;
        let (window, rtt_s) = (self.avoidance_pkts, met.rtt_s);
        let mut events = 0.0;
        if learned_pkts > 0.0 {
            let free = 1.0 - recent_events.clamp(0.0, 1.0);
            events = free * -exp_m1(-learned_pkts * window / self.window_pkts);
        }
        // Events in this step in equilibrium: e = x (1 − e T R/δ), with x = 1 − exp(−W p* δ/R).
        let x = -exp_m1(-window * profile_loss * active_s / rtt_s);
        let expected = x / (1.0 + x * RECOVERY_RTTS * rtt_s / active_s.max(1e-12));
        let decrease = (1.0 - dynamics.mean_beta) * window;
        let (growth, take);
        if dynamics.is_cubic {
            let speed = (1.0 - dynamics.mean_beta) * self.cubic_max_pkts / self.cubic_k_s;
            let beyond_s = self.cubic_age_s - self.cubic_k_s;
            let steep = if beyond_s > 0.0 {
                3.0 * CUBIC_C * (beyond_s + rtt_s) * (beyond_s + rtt_s)
            } else {
                0.0
            };
            let first = window * CUBIC_FIRST_GROWTH / rtt_s;
            let floor = self.cubic_fraction * speed + (1.0 - self.cubic_fraction) * first;
            growth = floor.max(steep).min(0.5 * window / rtt_s) * active_s;
            take = decrease;
            self.cubic_k_s += events * (active_s / expected.max(1e-300) - self.cubic_k_s);
            self.cubic_max_pkts += events * (window - self.cubic_max_pkts);
            self.cubic_age_s += active_s - events * self.cubic_age_s;
            self.cubic_fraction += events * (1.0 - self.cubic_fraction);
        } else {
            let in_equilibrium = decrease * expected;
            growth = in_equilibrium.max(0.2 * window.min(1.0) / rtt_s * active_s);
            take = decrease * growth / in_equilibrium.max(1e-300);
        }
        let lost_pkts = (take * events).min(0.75 * window);
        self.avoidance_pkts = (window + growing * growth - lost_pkts).min(max_window_pkts);
        events
    }

    /// Returns true if HyStart ends slow start: by the length of an acknowledgement train, or by a longer RTT.
    fn hystart_ends(&self, met: &WindowConditions, branch: &BranchPlan) -> bool {
        if self.slow_start_pkts < HYSTART_MIN_WINDOW_PKTS {
            return false;
        }
        let threshold_s = (met.empty_rtt_s / 8.0).clamp(HYSTART_DELAY_S.0, HYSTART_DELAY_S.1);
        if met.rtt_s > self.min_rtt_s + threshold_s {
            return true;
        }
        let free_pps = met.free_pps / branch.weight;
        let is_train = free_pps * HYSTART_SPACING_S >= 1.0;
        is_train && self.slow_start_pkts > HYSTART_TRAIN * free_pps * met.empty_rtt_s
    }

    /// Applies lost acknowledgements: without any acknowledgement of a window, the window falls to one packet.
    /// Returns the mean wait for the timer per round trip, in seconds.
    fn lose_acks(
        &mut self,
        dynamics: &TcpDynamics,
        met: &WindowConditions,
        window_pkts: f64,
        active_s: f64,
    ) -> f64 {
        if met.acks_ln_pass > -MIN_ACK_LOSS {
            return 0.0;
        }
        let q = -exp_m1(met.acks_ln_pass);
        let weight = ((q - MIN_ACK_LOSS) / MIN_ACK_LOSS).clamp(0.0, 1.0);
        let none = weight * exp(window_pkts.max(1.0) * netflow_units::math::ln(q));
        let part = (none * active_s / met.rtt_s).min(0.9);
        self.avoidance_pkts -= (self.avoidance_pkts - 1.0).max(0.0) * part;
        self.slow_start_pkts -= (self.slow_start_pkts - 1.0).max(0.0) * part;
        // Padhye et al. 1998, equation 29: exponential back-off up to 64 times the timer.
        let doubled = [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let sum = doubled.iter().rev().fold(0.0, |sum, c| sum * q + c);
        let back_off = (sum / (1.0 - q).max(1e-9)).min(64.0);
        none * dynamics.min_rto_s.max(met.rtt_s) * back_off
    }

    /// Reno without SACK that loses several packets of a window waits for its retransmission timer.
    fn wait_for_timer(
        &mut self,
        dynamics: &TcpDynamics,
        met: &WindowConditions,
        fraction: f64,
        now_s: f64,
    ) {
        if fraction > 1e-3 {
            self.waiting_fraction = (self.waiting_fraction + fraction).min(1.0);
            let rounds = libm::log2(self.avoidance_pkts.max(2.0)) - 1.0;
            let wait_s = dynamics.min_rto_s.max(2.0 * met.empty_rtt_s) + met.empty_rtt_s * rounds;
            self.waiting_until_s = now_s + wait_s;
        }
    }

    fn note_change(&mut self, rate_pps: f64, rtt_s: f64, length_s: f64) {
        let ratio = |a: f64, b: f64| if a > b { a / b } else { b / a };
        let change = ratio(rate_pps, self.rate_pps.max(1e-9)).max(ratio(rtt_s, self.rtt_s));
        let now = if change.is_finite() {
            (change - 1.0).min(1.0) / length_s * rtt_s
        } else {
            1.0
        };
        self.doublings = now.max(self.doublings / (1.0 + length_s / rtt_s));
    }
}

#[derive(Clone, Copy, Debug)]
struct AvoidanceInputs {
    max_window_pkts: f64,
    /// Lost packets of a mean flow of which the senders learn in this step.
    learned_pkts: f64,
    /// Events of a flow in the last round trip.
    recent_events: f64,
    /// Fraction of the growth that applies: 0 if the application leaves half of the window unused.
    growing: f64,
    active_s: f64,
    /// Loss at which the profile has this window.
    profile_loss: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples are found wherever the ring begins and however full it is: with linear values, so is the
    /// interpolation. Older packets count as the oldest sample, newer ones as the present.
    #[test]
    fn samples_are_interpolated() {
        for (samples, last_sample) in [(1, 0), (5, 2), (16, 0), (16, 9), (16, 15)] {
            let window = TcpWindow {
                samples,
                last_sample,
                ..TcpWindow::default()
            };
            let sample = |n: f64| WindowSample {
                learned_s: 100.0 - n,
                lost_pkts: 1000.0 - 2.0 * n,
                ..WindowSample::default()
            };
            let mut ring = [WindowSample::default(); SAMPLES];
            for n in 0..samples {
                let slot = (last_sample + SAMPLES as u32 - n) as usize % SAMPLES;
                ring[slot] = sample(f64::from(n));
            }
            let now = sample(-1.0);
            let oldest_s = 101.0 - f64::from(samples);
            for i in 0..80 {
                let learned_s = 82.0 + 0.25 * f64::from(i);
                let found = window.at(&ring, &now, learned_s).value(|it| it.lost_pkts);
                let expected = 800.0 + 2.0 * learned_s.clamp(oldest_s, 101.0);
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{samples} {last_sample} {learned_s}"
                );
            }
        }
    }

    /// The rate holds for steps that end before the next evaluation, in a source that has been running.
    #[test]
    fn rate_holds_until_the_next_evaluation() {
        let mut window = TcpWindow {
            since_s: Some(0.0),
            last_step: 4,
            rate_pps: 7.0,
            evaluated: Evaluation {
                end_s: 0.8,
                holds_until_s: 1.0,
                seen: [0.01, 0.4],
                ..Evaluation::default()
            },
            ..TcpWindow::default()
        };
        let (seen, rate) = window.held(5, Span::new(0.8, 0.9)).unwrap();
        assert_eq!((seen, rate.mean_pps, rate.end_pps), ([0.01, 0.4], 7.0, 7.0));
        assert!(window.held(7, Span::new(0.9, 0.95)).is_none());
        assert!(window.held(6, Span::new(0.95, 1.05)).is_none());
        assert!(window.held(6, Span::new(0.95, 1.0)).is_some());
    }
}
