//! What would be sent over a link if it were the only limit.

use crate::{Change, ConnectionId, ConnectionSpec, LinkId, Network, Source};

/// A sum of rates, the same in whatever order they are added.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// In units of [`UNIT_BPS`].
    units: u128,
    is_endless: bool,
}

/// A power of two, so that nearly every rate is a whole number of them.
const UNIT_BPS: f64 = 1.0 / (1_u64 << 24) as f64;

impl Sum {
    fn add(&mut self, bps: f64) {
        self.is_endless |= bps == f64::INFINITY;
        if bps.is_finite() {
            self.units = self.units.saturating_add((bps / UNIT_BPS) as u128);
        }
    }

    fn bps(&self) -> f64 {
        match self.is_endless {
            true => f64::INFINITY,
            false => self.units as f64 * UNIT_BPS,
        }
    }
}

/// What links are at one time, in their order.
struct Now {
    bandwidths_bps: Vec<f64>,
    delays_s: Vec<f64>,
}

impl Now {
    fn new(network: &Network, at_s: f64) -> Now {
        Now {
            bandwidths_bps: network.bandwidths_at_bps(at_s),
            delays_s: network.delays_at_s(at_s),
        }
    }
}

impl Network {
    /// The demand on every link in bit/s on its wire (with its [overhead](crate::LinkSpec::overhead)), in the order of the links: the sum over the connections
    /// whose data crosses it at `from_s` of what they would send if this link had no end of bandwidth and
    /// no queue, times the part of the seconds from `from_s` to `to_s` for which they send. Sources without feedback
    /// would send their rate; TCP its largest window in every round trip of an empty network (none that the
    /// way cannot hold with all its queues full: losses come before), as much as
    /// its application makes, and no more than the narrowest other link of its way carries: infinitely
    /// much where there is none of these limits, and where TCP that only other links limit can fill the link. Over the
    /// link's bandwidth then it says how far the link is from carrying all of it.
    pub fn demand_bps(&self, from_s: f64, to_s: f64) -> Vec<f64> {
        let now = Now::new(self, from_s);
        let mut demands = vec![Sum::default(); self.link_count()];
        let mut has_unlimited = vec![false; self.link_count()];
        for id in self.connections() {
            let path = self.path_at(id, from_s);
            let spec = self.connection_spec(id);
            let (start_s, end_s) = self.sends_between(id, to_s);
            let active_s = end_s - start_s.max(from_s);
            if active_s <= 0.0 {
                continue;
            }
            let active = active_s / (to_s - from_s);
            let wanted_bps = self.wanted_bps(id, from_s, &now);
            for &link in &path {
                let others = path.iter().filter(|&&other| other != link);
                let widths = others.map(|&other| self.width_bps(other, spec, &now));
                let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
                let sent_bps = match spec.source.is_answered() {
                    true => wanted_bps.min(narrowest_bps),
                    // It loses what others cannot carry only behind them.
                    false => wanted_bps.min(self.before_bps(&path, link, spec, &now)),
                };
                let overhead = self.link_spec(link).overhead;
                let factor = overhead.factor(8.0 * spec.packet_size_bytes);
                demands[link.index()].add(active * sent_bps * factor);
                has_unlimited[link.index()] |= wanted_bps == f64::INFINITY;
            }
        }
        let demands = demands.iter().map(Sum::bps);
        let limits = has_unlimited.iter().zip(&now.bandwidths_bps);
        let demands = demands.zip(limits).map(|(bps, (&unlimited, &width_bps))| {
            if unlimited && bps > width_bps {
                f64::INFINITY
            } else {
                bps
            }
        });
        demands.collect()
    }

    /// The bandwidth of every link in bit/s at this time (s), in the order of the links; the events of that
    /// moment included.
    pub fn bandwidths_at_bps(&self, time_s: f64) -> Vec<f64> {
        let all = self.links().map(|id| self.link_spec(id).bandwidth_bps);
        let mut bandwidths_bps: Vec<f64> = all.collect();
        for event in self.events().take_while(|event| event.at_s <= time_s) {
            if let Change::Bandwidth(bps) = event.change {
                bandwidths_bps[event.link.index()] = bps;
            }
        }
        bandwidths_bps
    }

    /// Packets/s that a connection (all `count` of it) of TCP would send from the start if it had the network
    /// for itself and always something to send; `None` without a way, and of what sends whatever happens.
    pub fn alone_pps(&self, id: ConnectionId) -> Option<f64> {
        let spec = self.connection_spec(id);
        if spec.source.own_pps().is_some() {
            return None;
        }
        let now = Now::new(self, 0.0);
        let path = self.path(id);
        let widths = path.iter().map(|&link| self.width_bps(link, spec, &now));
        let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
        let wanted_pps = f64::from(spec.count) * self.windows_pps(id, 0.0, &now);
        let alone_pps = wanted_pps.min(narrowest_bps / (8.0 * spec.packet_size_bytes));
        alone_pps.is_finite().then_some(alone_pps)
    }

    /// What a connection (all `count` of it) would send over a way that is no limit.
    fn wanted_bps(&self, id: ConnectionId, at_s: f64, now: &Now) -> f64 {
        let spec = self.connection_spec(id);
        let each_pps = self.windows_pps(id, at_s, now);
        let each_pps = each_pps.min(spec.application.mean_pps());
        f64::from(spec.count) * each_pps * 8.0 * spec.packet_size_bytes
    }

    /// Packets/s that each of a connection would send over a way that is no limit, if it always had some.
    fn windows_pps(&self, id: ConnectionId, at_s: f64, now: &Now) -> f64 {
        let spec = self.connection_spec(id);
        let packet_bits = 8.0 * spec.packet_size_bytes;
        let window_pps = |window: Option<f64>| {
            let (there, back) = (self.path_at(id, at_s), self.return_path_at(id, at_s));
            let links = there.iter().chain(&back);
            let rtt_s: f64 = links.map(|&link| now.delays_s[link.index()]).sum();
            let widths = there.iter().map(|&link| self.width_bps(link, spec, now));
            let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
            let holds_pkts = |&link: &LinkId| {
                let wire_bits = self.link_spec(link).overhead.wire_bits(packet_bits);
                let room = self.room(link).at(now.bandwidths_bps[link.index()]);
                room.pkts(wire_bits)
            };
            let queues_pkts: f64 = there.iter().map(holds_pkts).sum();
            // A larger window never gets full: packets are lost before.
            let held_pkts = narrowest_bps * rtt_s / packet_bits + queues_pkts;
            let window = window.filter(|&window| window <= held_pkts);
            window.unwrap_or(f64::INFINITY) / rtt_s
        };
        spec.source.own_pps().unwrap_or_else(|| {
            let measured = match &spec.source {
                Source::Profile(profile) => profile.window_limit_pkts(),
                _ => None,
            };
            window_pps(spec.max_window_pkts.or(measured))
        })
    }

    /// IP bits per second that a link transmits of packets like those of a connection.
    fn width_bps(&self, link: LinkId, spec: &ConnectionSpec, now: &Now) -> f64 {
        let overhead = self.link_spec(link).overhead;
        now.bandwidths_bps[link.index()] / overhead.factor(8.0 * spec.packet_size_bytes)
    }

    /// The narrowest link of a path before this one, as [`width_bps`](Self::width_bps).
    fn before_bps(&self, path: &[LinkId], link: LinkId, spec: &ConnectionSpec, now: &Now) -> f64 {
        let before = path.iter().take_while(|&&other| other != link);
        let widths = before.map(|&other| self.width_bps(other, spec, now));
        widths.fold(f64::INFINITY, f64::min)
    }
}
