//! Traffic demand on each link: the load that would be offered if this link were not a bottleneck.

use crate::{Change, ConnectionId, ConnectionSpec, LinkId, Network, Source};

/// Sum of rates that does not depend on the order of its terms (fixed-point arithmetic).
#[derive(Clone, Copy, Default)]
struct FixedPointSum {
    /// Number of units of [`UNIT_BPS`].
    units: u128,
    is_infinite: bool,
}

/// Unit of a sum in bit/s: a power of two, so that nearly every rate is a whole number of units.
const UNIT_BPS: f64 = 1.0 / (1_u64 << 24) as f64;

impl FixedPointSum {
    fn add(&mut self, bps: f64) {
        self.is_infinite |= bps == f64::INFINITY;
        if bps.is_finite() {
            self.units = self.units.saturating_add((bps / UNIT_BPS) as u128);
        }
    }

    fn bps(&self) -> f64 {
        if self.is_infinite {
            f64::INFINITY
        } else {
            self.units as f64 * UNIT_BPS
        }
    }
}

/// State of the links at one time, indexed by link.
struct LinkState {
    bandwidths_bps: Vec<f64>,
    delays_s: Vec<f64>,
}

impl LinkState {
    fn new(network: &Network, at_s: f64) -> LinkState {
        LinkState {
            bandwidths_bps: network.bandwidths_at_bps(at_s),
            delays_s: network.delays_at_s(at_s),
        }
    }
}

impl Network {
    /// Returns the demand on the wire of every link in bit/s, with its [overhead](crate::LinkSpec::overhead),
    /// in the order of the links.
    ///
    /// The demand of a link is the sum over the connections whose data crosses it at `from_s`. Each counts
    /// with the rate at which it would send if this link had infinite bandwidth and no queue. That rate is
    /// scaled by the fraction of the time from `from_s` to `to_s` in which it sends. The limits are:
    ///
    /// - the rate of the source, if it has no feedback
    /// - the largest window of TCP per round-trip time of an empty network; a window that exceeds the path's
    ///   capacity with full queues does not count, because losses occur first
    /// - the rate of the application
    /// - the narrowest other link of the path; for sources without feedback, the narrowest link before this
    ///   one
    ///
    /// The demand is infinite if TCP without any other limit than the other links can fill the link. Demand
    /// divided by bandwidth is the load factor of the link.
    pub fn demand_bps(&self, from_s: f64, to_s: f64) -> Vec<f64> {
        let now = LinkState::new(self, from_s);
        let mut demands = vec![FixedPointSum::default(); self.link_count()];
        let mut has_unlimited = vec![false; self.link_count()];
        for id in self.connections() {
            let path = self.path_at(id, from_s);
            let spec = self.connection_spec(id);
            let (start_s, end_s) = self.active_interval(id, to_s);
            let active_s = end_s - start_s.max(from_s);
            if active_s <= 0.0 {
                continue;
            }
            let active = active_s / (to_s - from_s);
            let wanted_bps = self.unlimited_path_bps(id, from_s, &now);
            let widths = path
                .iter()
                .map(|&link| self.ip_capacity_bps(link, spec, &now));
            let widths_bps: Vec<f64> = widths.collect();
            let narrowest = LeastTwo::of(&widths_bps);
            let mut narrowest_before_bps = f64::INFINITY;
            for (&link, &width_bps) in path.iter().zip(&widths_bps) {
                let sent_bps = if spec.source.is_answered() {
                    wanted_bps.min(narrowest.without(width_bps))
                } else {
                    wanted_bps.min(narrowest_before_bps)
                };
                narrowest_before_bps = narrowest_before_bps.min(width_bps);
                let overhead = self.link_spec(link).overhead;
                let factor = overhead.factor(8.0 * spec.packet_size_bytes);
                demands[link.index()].add(active * sent_bps * factor);
                has_unlimited[link.index()] |= wanted_bps == f64::INFINITY;
            }
        }
        let demands = demands.iter().map(FixedPointSum::bps);
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

    /// Returns the bandwidth of every link in bit/s at this time (s), in the order of the links; events at
    /// that time are included.
    pub fn bandwidths_at_bps(&self, time_s: f64) -> Vec<f64> {
        let all = self.links().map(|id| self.link_spec(id).bandwidth_bps);
        let mut bandwidths_bps: Vec<f64> = all.collect();
        for event in self.events().take_while(|event| event.at_s <= time_s) {
            match event.change {
                Change::Bandwidth(bps) => bandwidths_bps[event.link.index()] = bps,
                Change::Pause => bandwidths_bps[event.link.index()] = 0.0,
                Change::Loss(_) | Change::Delay(_) | Change::Down | Change::Up => {}
            }
        }
        bandwidths_bps
    }

    /// Returns the uncontended throughput in packets/s of a TCP connection (all `count` of it) with unlimited
    /// data from the start. Returns `None` without a path or a limit, and for sources with a rate of their
    /// own.
    pub fn uncontended_pps(&self, id: ConnectionId) -> Option<f64> {
        let spec = self.connection_spec(id);
        if spec.source.own_pps().is_some() {
            return None;
        }
        let now = LinkState::new(self, 0.0);
        let path = self.path(id);
        let widths = path
            .iter()
            .map(|&link| self.ip_capacity_bps(link, spec, &now));
        let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
        let wanted_pps = f64::from(spec.count) * self.window_limited_pps(id, 0.0, &now);
        let alone_pps = wanted_pps.min(narrowest_bps / (8.0 * spec.packet_size_bytes));
        alone_pps.is_finite().then_some(alone_pps)
    }

    /// Returns the rate of a connection (all `count` of it) over a path without limits, in bit/s.
    fn unlimited_path_bps(&self, id: ConnectionId, at_s: f64, now: &LinkState) -> f64 {
        let spec = self.connection_spec(id);
        let each_pps = self.window_limited_pps(id, at_s, now);
        let each_pps = each_pps.min(spec.application.mean_pps());
        f64::from(spec.count) * each_pps * 8.0 * spec.packet_size_bytes
    }

    /// Returns the rate of each of a connection's `count` over a path without limits, with unlimited data, in
    /// packets/s.
    fn window_limited_pps(&self, id: ConnectionId, at_s: f64, now: &LinkState) -> f64 {
        let spec = self.connection_spec(id);
        let packet_bits = 8.0 * spec.packet_size_bytes;
        let window_pps = |window: Option<f64>| {
            let (there, back) = (self.path_at(id, at_s), self.return_path_at(id, at_s));
            let links = there.iter().chain(&back);
            let rtt_s: f64 = links.map(|&link| now.delays_s[link.index()]).sum();
            let widths = there
                .iter()
                .map(|&link| self.ip_capacity_bps(link, spec, now));
            let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
            let holds_pkts = |&link: &LinkId| {
                let wire_bits = self.link_spec(link).overhead.wire_bits(packet_bits);
                let room = self.buffer_limit(link).at(now.bandwidths_bps[link.index()]);
                room.pkts(wire_bits)
            };
            let queues_pkts: f64 = there.iter().map(holds_pkts).sum();
            // A larger window never gets full, because packets are lost first.
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

    /// Returns the throughput of a link in IP bit/s for packets of this connection's size.
    fn ip_capacity_bps(&self, link: LinkId, spec: &ConnectionSpec, now: &LinkState) -> f64 {
        let overhead = self.link_spec(link).overhead;
        now.bandwidths_bps[link.index()] / overhead.factor(8.0 * spec.packet_size_bytes)
    }
}

/// The two smallest of some numbers, equal ones counted each.
#[derive(Clone, Copy, Debug)]
struct LeastTwo {
    least: f64,
    second: f64,
}

impl LeastTwo {
    fn of(numbers: &[f64]) -> LeastTwo {
        let none = LeastTwo {
            least: f64::INFINITY,
            second: f64::INFINITY,
        };
        numbers.iter().fold(none, |it, &number| LeastTwo {
            least: it.least.min(number),
            second: it.second.min(it.least.max(number)),
        })
    }

    /// Returns the least of the numbers without one of them, which is `number`.
    fn without(self, number: f64) -> f64 {
        if number == self.least {
            self.second
        } else {
            self.least
        }
    }
}
