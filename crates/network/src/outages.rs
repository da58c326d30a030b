//! When connections have no route.

use crate::settable::Set;
use crate::tables::NO_BRANCH;
use crate::{ConnectionId, Network, Source};

impl Network {
    /// Between which times (s) a connection has no route, of those between `from_s` and `until_s` at which
    /// it would send.
    pub fn without_route(&self, id: ConnectionId, from_s: f64, until_s: f64) -> Vec<(f64, f64)> {
        self.without_way(id, None, from_s, until_s)
    }

    /// The same of a connection that is set to this one of the [paths](crate::Settable::paths) that it may take.
    fn without_way(
        &self,
        id: ConnectionId,
        path: Option<u32>,
        from_s: f64,
        until_s: f64,
    ) -> Vec<(f64, f64)> {
        let inner = &*self.inner;
        let (start_s, end_s) = self.sends_between(id, until_s);
        let start_s = start_s.max(from_s);
        let class = inner.class_of[id.within(inner.owner)];
        let ends = inner.epochs.iter().skip(1).map(|next| next.at_s);
        let epochs = (inner.epochs.iter().enumerate()).zip(ends.chain([f64::INFINITY]));
        let mut outages: Vec<(f64, f64)> = Vec::new();
        for ((number, epoch), to_s) in epochs {
            let (from_s, to_s) = (epoch.at_s.max(start_s), to_s.min(end_s));
            if inner.branch_of(number, class, path) != NO_BRANCH || from_s >= to_s {
                continue;
            }
            match outages.last_mut() {
                Some(last) if last.1 == from_s => last.1 = to_s,
                _ => outages.push((from_s, to_s)),
            }
        }
        outages
    }

    /// From when to when a connection has something to send, if it is not done before; `until_s` at the
    /// latest.
    pub fn sends_between(&self, id: ConnectionId, until_s: f64) -> (f64, f64) {
        let spec = self.connection_spec(id);
        let (start_s, stop_s) = match &spec.source {
            Source::Users(traffic) => (traffic.workload.start_s, traffic.workload.stop_s),
            _ => (spec.start_s, spec.stop_s),
        };
        (start_s, stop_s.unwrap_or(f64::INFINITY).min(until_s))
    }

    /// Packets that had no route between two times (s), and for how many seconds that was so: of sources that
    /// offer them whatever happens. TCP offers nothing where it has no route.
    pub fn blocked(&self, id: ConnectionId, set: Set, from_s: f64, until_s: f64) -> (f64, f64) {
        let spec = self.connection_spec(id);
        let Some(own_pps) = spec.source.own_pps() else {
            return (0.0, 0.0);
        };
        let rate_pps = set.rate_pps.unwrap_or(own_pps);
        let outages = self.without_way(id, set.path, from_s, until_s);
        // From 0: the sum of nothing is -0 else.
        let lengths_s = outages.iter().map(|(from_s, to_s)| to_s - from_s);
        let blocked_s = lengths_s.fold(0.0, |sum_s, length_s| sum_s + length_s);
        (rate_pps * f64::from(spec.count) * blocked_s, blocked_s)
    }
}
