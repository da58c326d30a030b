//! Rate law of sources in a step.
//!
//! A source observes the loss and the round-trip time of its path ([`BranchState::record_feedback`]) and computes its rate
//! ([`AllowedRate`]). It sends at that rate if it has data ([`AllowedRate::sent_packets`], [`BranchState::record_sent`]).

use std::f64::consts::LN_2;

use netflow_network::{AppliedLimits, Limit};
use netflow_profile::Provenance;

use super::plan::{BranchPlan, NO_PROFILE};
use super::sources;
use super::tcp_window::WindowRate;
use crate::state::BranchState;

/// Loss probability and round-trip time in seconds that a source observes.
pub(crate) type LossAndRtt = [f64; 2];

/// Rate that a source may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllowedRate {
    /// Packets/s of one connection: mean of the step, and at its end.
    pub mean_pps: f64,
    pub end_pps: f64,
    pub seen: LossAndRtt,
    limit: Limit,
}

/// Packets sent in a step by all connections of the class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPackets {
    pub pkts: f64,
    /// True if it lacked data.
    short: bool,
}

impl AllowedRate {
    /// Returns the fixed rate of a source without a profile.
    pub fn own(rate_pps: f64, seen: LossAndRtt) -> AllowedRate {
        AllowedRate {
            mean_pps: rate_pps,
            end_pps: rate_pps,
            seen,
            limit: Limit::Own,
        }
    }

    /// Returns the rate of a source that uses its profile directly.
    pub fn by_profile(branch: &BranchPlan, seen: LossAndRtt, profile_pps: f64) -> AllowedRate {
        let may_pps = window_limited_pps(profile_pps, branch.window_pkts, seen[1]);
        AllowedRate {
            mean_pps: may_pps,
            end_pps: may_pps,
            seen,
            limit: if may_pps < profile_pps {
                Limit::Window
            } else {
                Limit::Profile
            },
        }
    }

    /// Returns the rate of a source whose congestion window is state.
    pub fn by_window(seen: LossAndRtt, rate: WindowRate) -> AllowedRate {
        AllowedRate {
            mean_pps: rate.mean_pps,
            end_pps: rate.end_pps,
            seen,
            limit: if rate.is_at_maximum {
                Limit::Window
            } else {
                Limit::CongestionWindow
            },
        }
    }

    /// Returns the packets sent within `active_s` seconds, at most `may_send`.
    #[inline]
    pub fn sent_packets(&self, branch: &BranchPlan, active_s: f64, may_send: f64) -> SentPackets {
        let wanted = self.mean_pps * branch.weight * active_s;
        let pkts = wanted.min(may_send);
        SentPackets {
            pkts,
            short: pkts < wanted,
        }
    }
}

impl BranchState {
    /// Records the rate and the packets of a step that ended at `end_s`. Returns the mean rate of one
    /// connection in packets/s.
    #[inline]
    pub fn record_sent(
        &mut self,
        branch: &BranchPlan,
        wanted: &AllowedRate,
        sent: SentPackets,
        active_s: f64,
        end_s: f64,
    ) -> f64 {
        self.applied = Some(AppliedLimits {
            limit: if sent.short {
                branch.limit_of_data(end_s)
            } else {
                wanted.limit
            },
            loss: wanted.seen[0],
            rtt_s: wanted.seen[1],
            profile_pps: None, // computed where it is read
            until_s: end_s,
        });
        self.rate_pps = wanted.end_pps;
        if sent.short && branch.application_pps < f64::INFINITY && branch.profile != NO_PROFILE {
            // Data that is not sent affects neither growth nor loss.
            self.rate_pps = sent.pkts / (branch.weight * active_s);
            return self.rate_pps;
        }
        wanted.mean_pps
    }

    /// Records the feedback of a source over `active_s` seconds, and the quality of the profile data used.
    #[inline]
    pub fn record_feedback(
        &mut self,
        [loss, rtt_s]: LossAndRtt,
        active_s: f64,
        rests_on: Provenance,
    ) {
        self.rtt_time += rtt_s * active_s;
        self.loss_time += loss * active_s;
        self.active_s += active_s;
        if rests_on > Provenance::Measured {
            self.outside_s += active_s;
        }
        if rests_on == Provenance::Unreliable {
            self.unusable_s += active_s;
        }
    }
}

/// Returns the initial rate of slow start, in packets/s: its windows of 2, 4, 8 … packets match a rate that
/// begins there and doubles every RTT.
pub(crate) fn initial_rate_pps(rtt_s: f64) -> f64 {
    2.0 * LN_2 / rtt_s
}

/// Returns the rate of one connection in packets/s: that of its profile, limited by the largest window.
#[inline]
pub fn window_limited_pps(profile_pps: f64, window_pkts: f64, rtt_s: f64) -> f64 {
    profile_pps.min(window_pkts / rtt_s)
}

impl BranchPlan {
    /// Returns the limit of a source that ran out of data before `end_s`.
    fn limit_of_data(&self, end_s: f64) -> Limit {
        let made_pkts = self.application_pps * self.weight * sources::active_s(self, 0.0, end_s);
        if self.application_pps < f64::INFINITY && made_pkts < self.size_pkts {
            Limit::Application
        } else {
            Limit::Size
        }
    }
}
