//! Times without a route, and the traffic that is blocked in them.

use crate::runtime_control::ControlState;
use crate::{ConnectionId, Network, Source};

impl Network {
    /// Returns the time intervals (s) without a route, within `from_s` to `until_s` and the times at which
    /// the connection sends.
    pub fn unrouted_intervals(
        &self,
        id: ConnectionId,
        from_s: f64,
        until_s: f64,
    ) -> Vec<(f64, f64)> {
        self.unrouted_intervals_over(id, None, from_s, until_s)
    }

    /// Returns the same for a connection that is set to this one of its allowed
    /// [paths](crate::ControllableConnection::paths).
    fn unrouted_intervals_over(
        &self,
        id: ConnectionId,
        path: Option<u32>,
        from_s: f64,
        until_s: f64,
    ) -> Vec<(f64, f64)> {
        let inner = &*self.inner;
        let (start_s, end_s) = self.active_interval(id, until_s);
        let start_s = start_s.max(from_s);
        let class = inner.class_of[id.within(inner.owner)];
        let ends = inner.epochs.iter().skip(1).map(|next| next.at_s);
        let epochs = (inner.epochs.iter().enumerate()).zip(ends.chain([f64::INFINITY]));
        let mut outages: Vec<(f64, f64)> = Vec::new();
        for ((number, epoch), to_s) in epochs {
            let (from_s, to_s) = (epoch.at_s.max(start_s), to_s.min(end_s));
            let is_routed = match path {
                None => epoch.unrouted.binary_search(&class).is_err(),
                Some(_) => inner.class_path_of(number, class, path).is_some(),
            };
            if is_routed || from_s >= to_s {
                continue;
            }
            match outages.last_mut() {
                Some(last) if last.1 == from_s => last.1 = to_s,
                _ => outages.push((from_s, to_s)),
            }
        }
        outages
    }

    /// Returns the start and the end of the sending time of a connection that does not finish earlier, at
    /// most `until_s`.
    pub fn active_interval(&self, id: ConnectionId, until_s: f64) -> (f64, f64) {
        let spec = self.connection_spec(id);
        let (start_s, stop_s) = match &spec.source {
            Source::Users(traffic) => (traffic.workload.start_s, traffic.workload.stop_s),
            _ => (spec.start_s, spec.stop_s),
        };
        (start_s, stop_s.unwrap_or(f64::INFINITY).min(until_s))
    }

    /// Returns the packets without a route between two times (s), and the length of that time in seconds.
    /// Only unresponsive sources have blocked packets; TCP offers none without a route.
    pub fn blocked_traffic(
        &self,
        id: ConnectionId,
        set: ControlState,
        from_s: f64,
        until_s: f64,
    ) -> (f64, f64) {
        let spec = self.connection_spec(id);
        let Some(own_pps) = spec.source.own_pps() else {
            return (0.0, 0.0);
        };
        let rate_pps = set.rate_pps.unwrap_or(own_pps);
        let outages = self.unrouted_intervals_over(id, set.path, from_s, until_s);
        // The fold starts at 0 because the sum of an empty iterator is -0.
        let lengths_s = outages.iter().map(|(from_s, to_s)| to_s - from_s);
        let blocked_s = lengths_s.fold(0.0, |sum_s, length_s| sum_s + length_s);
        (rate_pps * f64::from(spec.count) * blocked_s, blocked_s)
    }
}
