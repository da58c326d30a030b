//! What would be sent over a link if it were the only limit.

use super::Network;
use crate::{ConnectionId, LinkId, Source};

impl Network {
    /// The demand on every link in bit/s, in the order of the links: the sum over the connections
    /// whose data crosses it at time 0 of what they would send if this link had no end of bandwidth and
    /// no queue, times the part of the first `duration_s` seconds for which they send. Sources without feedback
    /// would send their rate; TCP its largest window in every round trip of an empty network, as much as
    /// its application makes, and no more than the narrowest other link of its way carries: infinitely
    /// much where there is none of these limits. Over the link's bandwidth it says how far the link is from carrying all of it.
    pub fn demand_bps(&self, duration_s: f64) -> Vec<f64> {
        let mut demand_bps = vec![0.0; self.link_count()];
        for id in self.connections() {
            let path = self.path(id);
            let spec = self.connection_spec(id);
            let (start_s, end_s) = self.sends_between(id, duration_s);
            let active = ((end_s - start_s) / duration_s).clamp(0.0, 1.0);
            if active == 0.0 {
                continue;
            }
            let wanted_bps = self.wanted_bps(id);
            for &link in &path {
                let others = path.iter().filter(|&&other| other != link);
                let widths = others.map(|&other| self.link_spec(other).bandwidth_bps);
                let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
                let sent_bps = match spec.source.is_answered() {
                    true => wanted_bps.min(narrowest_bps),
                    // It loses what others cannot carry only behind them.
                    false => wanted_bps.min(self.before_bps(&path, link)),
                };
                demand_bps[link.index()] += active * sent_bps;
            }
        }
        demand_bps
    }

    /// The narrowest link before this one.
    fn before_bps(&self, path: &[LinkId], link: LinkId) -> f64 {
        let before = path.iter().take_while(|&&other| other != link);
        let widths = before.map(|&other| self.link_spec(other).bandwidth_bps);
        widths.fold(f64::INFINITY, f64::min)
    }

    /// What a connection (all `count` of it) would send over a way that is no limit.
    fn wanted_bps(&self, id: ConnectionId) -> f64 {
        let spec = self.connection_spec(id);
        let window_pps = |window: Option<f64>| {
            let links = self.path(id).into_iter().chain(self.return_path(id));
            let rtt_s: f64 = links.map(|link| self.link_spec(link).delay_s).sum();
            window.unwrap_or(f64::INFINITY) / rtt_s
        };
        let each_pps = match &spec.source {
            Source::Constant { rate_pps } | Source::Poisson { rate_pps } => *rate_pps,
            Source::Users(traffic) => traffic.mean_pps,
            Source::Window(_) => window_pps(spec.max_window_pkts),
            Source::Profile(profile) => {
                window_pps(spec.max_window_pkts.or(profile.window_limit_pkts()))
            }
        };
        let each_pps = each_pps.min(spec.application.mean_pps());
        f64::from(spec.count) * each_pps * 8.0 * spec.packet_size_bytes
    }
}
