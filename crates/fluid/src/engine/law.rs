//! What a source does in a step: one law for all of them, wherever they look at their path.
//!
//! A source sees a loss and a round-trip time ([`BranchState::meets`]), wants a rate for that
//! ([`BranchState::wants`]), and sends at it as far as it has something to send
//! ([`Wanted::sends`], [`BranchState::sent`]).

use netflow_network::{Applied, Limit};
use netflow_profile::ProfileUse;

use super::feedback::Delivered;
use super::plan::BranchPlan;
use super::{Span, sources};
use crate::state::{BranchState, Learnt};

/// The loss probability and the round-trip time in seconds that a source reckons with.
pub(crate) type Seen = [f64; 2];

/// The rate that a source wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Packets/s of one connection: the mean of the step, and at its end.
    pub mean_pps: f64,
    pub end_pps: f64,
    pub seen: Seen,
    /// What its profile gives there, if it has one.
    pub profile_pps: Option<f64>,
    limit: Limit,
}

/// What a source sends in a step, all connections of the class together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub pkts: f64,
    /// It would have sent more if it had had more.
    short: bool,
}

impl Wanted {
    /// A source without a profile: its own rate.
    pub fn own(rate_pps: f64, seen: Seen) -> Wanted {
        Wanted {
            mean_pps: rate_pps,
            end_pps: rate_pps,
            seen,
            profile_pps: None,
            limit: Limit::Own,
        }
    }

    /// A source that takes its profile at its word.
    pub fn by_profile(branch: &BranchPlan, seen: Seen, profile_pps: f64) -> Wanted {
        let may_pps = branch.within_window(profile_pps, seen[1]);
        Wanted {
            mean_pps: may_pps,
            end_pps: may_pps,
            seen,
            profile_pps: Some(profile_pps),
            limit: branch.limit(seen[1], profile_pps, may_pps, may_pps),
        }
    }

    /// What it sends within `active_s` seconds if there are no more than `may_send` packets.
    #[inline]
    pub fn sends(&self, branch: &BranchPlan, active_s: f64, may_send: f64) -> Sent {
        let wanted = self.mean_pps * branch.weight * active_s;
        let pkts = wanted.min(may_send);
        Sent {
            pkts,
            short: pkts < wanted,
        }
    }
}

impl BranchState {
    /// The rate that a source wants whose profile gives `profile_pps`. If it learns, by what it has learnt and what was
    /// delivered in the step before, it grows towards that rate.
    #[inline]
    pub fn wants(
        &mut self,
        branch: &BranchPlan,
        seen: Seen,
        profile_pps: f64,
        learns: Option<(&mut Learnt, Delivered)>,
        span: Span,
    ) -> Wanted {
        let Some((learnt, delivered)) = learns else {
            return Wanted::by_profile(branch, seen, profile_pps);
        };
        let may_pps = branch.within_window(profile_pps, seen[1]);
        let mean_pps = learnt.grow(&mut self.rate_pps, may_pps, delivered, branch, span);
        let end_pps = self.rate_pps;
        Wanted {
            mean_pps,
            end_pps,
            seen,
            profile_pps: Some(profile_pps),
            limit: branch.limit(seen[1], profile_pps, may_pps, end_pps),
        }
    }

    /// Notes what was wanted and sent in a step that ended at `end_s`; the mean rate in packets/s of one
    /// connection.
    #[inline]
    pub fn sent(
        &mut self,
        branch: &BranchPlan,
        wanted: &Wanted,
        sent: Sent,
        active_s: f64,
        end_s: f64,
    ) -> f64 {
        self.applied = Some(Applied {
            limit: match sent.short {
                true => branch.limit_of_data(end_s),
                false => wanted.limit,
            },
            loss: wanted.seen[0],
            rtt_s: wanted.seen[1],
            profile_pps: wanted.profile_pps,
            until_s: end_s,
        });
        self.rate_pps = wanted.end_pps;
        if sent.short && branch.application_pps < f64::INFINITY && wanted.profile_pps.is_some() {
            // It neither grows nor loses with what it does not send.
            self.rate_pps = sent.pkts / (branch.weight * active_s);
            return self.rate_pps;
        }
        wanted.mean_pps
    }

    /// Notes what a source saw for `active_s` seconds, and what its rate rested on.
    #[inline]
    pub fn meets(&mut self, [loss, rtt_s]: Seen, active_s: f64, rests_on: ProfileUse) {
        self.rtt_time += rtt_s * active_s;
        self.loss_time += loss * active_s;
        self.active_s += active_s;
        if rests_on > ProfileUse::Measured {
            self.outside_s += active_s;
        }
        if rests_on == ProfileUse::NotUsable {
            self.unusable_s += active_s;
        }
    }
}

/// Packets/s of one connection, its profile giving this, with the largest window it may have.
#[inline]
pub fn within_window(profile_pps: f64, window_pkts: f64, rtt_s: f64) -> f64 {
    profile_pps.min(window_pkts / rtt_s)
}

impl BranchPlan {
    fn within_window(&self, profile_pps: f64, rtt_s: f64) -> f64 {
        within_window(profile_pps, self.window_pkts, rtt_s)
    }

    /// Which limit applied to a source that may send `may_pps`, its profile giving `profile_pps`, and
    /// has come to `end_pps` at the end of the step.
    fn limit(&self, rtt_s: f64, profile_pps: f64, may_pps: f64, end_pps: f64) -> Limit {
        match end_pps {
            pps if pps < may_pps * (1.0 - 1e-9) => Limit::Growth,
            pps if pps > may_pps * (1.0 + 1e-9) => Limit::Decline,
            _ if self.window_pkts / rtt_s < profile_pps => Limit::Window,
            _ => Limit::Profile,
        }
    }

    /// The same of a source that had no more than this to send until `end_s`.
    fn limit_of_data(&self, end_s: f64) -> Limit {
        let made_pkts = self.application_pps * self.weight * sources::active_s(self, 0.0, end_s);
        match self.application_pps < f64::INFINITY && made_pkts < self.size_pkts {
            true => Limit::Application,
            false => Limit::Size,
        }
    }
}
