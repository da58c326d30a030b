//! What a source with a profile learns of its path, and how fast it may grow.
//!
//! Nothing in here depends on how long the steps are, as long as they are short beside the
//! source's round-trip time: looks at the path are kept by time, growth is integrated over the
//! step, and what is learnt relaxes exponentially.

use super::plan::BranchPlan;
use super::{Span, sources};
use crate::state::{BranchState, Learnt, Seen};

/// Looks at the path that are kept for every source, so many of them in a round trip: what is
/// looked for lies less than two round trips ago, and those grow.
pub(crate) const LOOKS: usize = 24;
const LOOKS_PER_ROUND_TRIP: f64 = 8.0;

impl Learnt {
    /// A source that did not look in the step before has been silent, or its way was closed: it
    /// begins anew.
    fn begin(&mut self, now_s: f64, step: u64) {
        if self.since_s.is_none() || self.last_step + 1 < step {
            *self = Learnt {
                since_s: Some(now_s),
                until_s: now_s,
                ..Learnt::default()
            };
        }
        self.last_step = step;
    }

    /// What was sent in the step before met a loss between that of its start and that of `now`.
    fn look(&mut self, looks: &mut [Seen], [ln_pass, rtt_s]: [f64; 2], now_s: f64) -> Seen {
        let loss = match ln_pass {
            0.0 => 0.0,
            ln_pass => -ln_pass.exp_m1(),
        };
        self.sent_pkts += self.step_pkts;
        self.lost_pkts += self.step_pkts * 0.5 * (self.met_loss + loss);
        (self.step_pkts, self.met_loss) = (0.0, loss);
        let now = Seen {
            time_s: now_s,
            rtt_s,
            sent_pkts: self.sent_pkts,
            lost_pkts: self.lost_pkts,
        };
        let last = &looks[self.last_look as usize];
        if self.looks == 0 || (now_s - last.time_s) * LOOKS_PER_ROUND_TRIP >= rtt_s {
            self.last_look = (self.last_look + 1) % LOOKS as u32;
            self.looks = (self.looks + 1).min(LOOKS as u32);
            looks[self.last_look as usize] = now;
        }
        now
    }

    /// What the source had seen until this time, between the looks around it; the first look that
    /// is kept if the time lies before. So many are known to be `newer`; this goes on from there.
    #[inline]
    fn at(&self, looks: &[Seen], now: Seen, time_s: f64, newer: &mut u32) -> Seen {
        if time_s >= now.time_s {
            return now;
        }
        // The i-th look back from the last; times fall.
        let look = |i: u32| {
            let all = LOOKS as u32;
            let from = if i > self.last_look { all } else { 0 };
            &looks[(self.last_look + from - i) as usize]
        };
        // Nearly always one of the next few.
        while *newer < self.looks && look(*newer).time_s > time_s {
            *newer += 1;
        }
        let after = match *newer {
            0 => now,
            newer => *look(newer - 1),
        };
        if *newer == self.looks {
            return after;
        }
        let before = look(*newer);
        let part = (time_s - before.time_s) / (after.time_s - before.time_s);
        let between = |a: f64, b: f64| a + (b - a) * part;
        Seen {
            time_s,
            rtt_s: between(before.rtt_s, after.rtt_s),
            sent_pkts: between(before.sent_pkts, after.sent_pkts),
            lost_pkts: between(before.lost_pkts, after.lost_pkts),
        }
    }

    /// The loss that a TCP source reckons with, as it learns it: from the losses themselves. One
    /// comes every 1/p packets, so the memory is as long, and without losses the estimate falls
    /// like one over the packets since the last: dp̂/dn = max(p, p̂) · (p − p̂), n being the `pkts`
    /// that are acknowledged, or missed, during the step. The solution is exact; its value in the
    /// middle of the step is given.
    fn learn(&mut self, loss: f64, pkts: f64) -> f64 {
        let before = self.loss;
        let after = |pkts: f64| {
            let forgotten = match loss > 0.0 {
                true => -(-pkts * loss).exp_m1(),
                false => 0.0,
            };
            if before <= loss {
                return before + (loss - before) * forgotten;
            }
            let gone = if loss > 0.0 { forgotten / loss } else { pkts };
            before / (1.0 - forgotten + before * gone)
        };
        self.loss = after(pkts);
        after(0.5 * pkts)
    }
}

impl BranchState {
    /// What the source reckons with during the step, the loss probability and the round-trip time:
    /// it learns what its packets met when those that are acknowledged in the step were at the
    /// receiver, the way back and the waiting on the whole way ago.
    ///
    /// Several losses among the packets of one round trip count as one, as they do to TCP, so p is
    /// at most one per window; at rest it is less by itself.
    pub(super) fn learn_from(
        &mut self,
        looks: &mut [Seen],
        branch: &BranchPlan,
        [ln_pass, rtt_s]: [f64; 2],
        step: u64,
        span: Span,
    ) -> [f64; 2] {
        let learnt = &mut self.learnt;
        if span.end_s <= branch.start_s {
            // What is met before the start is no experience.
            (learnt.rtt_s, learnt.before_rtt_s) = (rtt_s, rtt_s);
            return [-ln_pass.exp_m1(), rtt_s];
        }
        learnt.begin(span.start_s, step);
        let now = learnt.look(looks, [ln_pass, rtt_s], span.start_s);
        let ago_s = rtt_s - branch.forward_s;
        learnt.before_rtt_s = learnt.rtt_s;
        let mut newer = 0;
        let last = learnt.at(looks, now, span.end_s - ago_s, &mut newer);
        let half_s = 0.5 * span.length_s;
        learnt.rtt_s = learnt
            .at(looks, now, span.end_s - half_s - ago_s, &mut { newer })
            .rtt_s;
        let before = learnt.at(looks, now, learnt.until_s, &mut { newer });
        if last.time_s <= before.time_s {
            return [learnt.loss, learnt.rtt_s]; // nothing was acknowledged
        }
        learnt.until_s = last.time_s;
        // Losses of the round trip until the middle of what is acknowledged.
        let middle = learnt.at(looks, now, 0.5 * (before.time_s + last.time_s), &mut newer);
        let window = learnt.at(looks, now, middle.time_s - middle.rtt_s, &mut newer);
        let window_pkts = middle.sent_pkts - window.sent_pkts;
        let loss = match middle.lost_pkts - window.lost_pkts {
            lost if lost > 0.0 => lost.min(1.0) / window_pkts,
            _ => 0.0,
        };
        [
            learnt.learn(loss, last.sent_pkts - before.sent_pkts),
            learnt.rtt_s,
        ]
    }

    /// Goes towards `target_pps`, at most as fast as slow start: from two packets, doubling every
    /// round trip, clocked by acknowledgements, each of which lets go of two packets. Gives the
    /// mean rate over `active_s` seconds of the step.
    ///
    /// A rate that begins at 2·ln 2 packets per round trip and doubles with each has sent as many
    /// packets after every round trip as windows of 2, 4, 8 … have.
    pub(super) fn grow(
        &mut self,
        target_pps: f64,
        delivered_pps: f64,
        branch: &BranchPlan,
        span: Span,
    ) -> f64 {
        let rtt_s = self.learnt.rtt_s;
        let active_s = sources::active_s(branch, span.start_s, span.end_s);
        let first_pps = 2.0 * std::f64::consts::LN_2 / rtt_s;
        // The same window takes longer through longer queues.
        let window_pps = self.rate_pps * self.learnt.before_rtt_s / rtt_s;
        let mut target_pps = target_pps;
        // What was delivered in the step before is known for certain once the first packet is back.
        let since_s = self
            .learnt
            .since_s
            .unwrap_or(span.start_s)
            .max(branch.start_s);
        let grown = delivered_pps / self.learnt.delivered_pps;
        self.learnt.delivered_pps = delivered_pps;
        if span.start_s >= since_s + rtt_s {
            // In this step it goes on to grow as it did to the last.
            let most = (span.length_s / rtt_s).exp2();
            let meanwhile = if grown > 1.0 { grown.min(most) } else { 1.0 };
            target_pps = target_pps.min((2.0 * delivered_pps * meanwhile).max(first_pps));
        }
        let before_pps = match target_pps < window_pps {
            true => window_pps,
            false => window_pps.max(first_pps).min(target_pps),
        };
        let per_s = std::f64::consts::LN_2 / rtt_s;
        let moving_s = ((target_pps / before_pps).ln().abs() / per_s).min(active_s);
        let sign = if target_pps < before_pps { -1.0 } else { 1.0 };
        let end_pps = match moving_s < active_s {
            true => target_pps,
            false => before_pps * (sign * moving_s * per_s).exp(),
        };
        self.rate_pps = end_pps;
        if active_s <= 0.0 {
            return end_pps;
        }
        let sent = sign * (end_pps - before_pps) / per_s + end_pps * (active_s - moving_s);
        sent / active_s
    }
}
