//! Results of the fluid engine: implementation of [`Engine`].

use netflow_network::compiled::NO_CLASS_PATH;
use netflow_network::engine::{
    AggregateCounts, ConnectionCounts, ConnectionSums, Engine, LinkSums,
};
use netflow_network::{
    AggregateId, Change, ConnectionId, ConnectionSpec, ControlState, Explanation, LinkId,
    MarkerRates, Network, PrecedenceTotals, Totals,
};

use super::Fluid;
use crate::state::BranchState;

impl Engine for Fluid {
    fn network(&self) -> &Network {
        &self.setup.network
    }

    fn time_s(&self) -> f64 {
        self.state.time_s()
    }

    fn is_done(&self) -> bool {
        self.state.time_s() >= self.duration_s
    }

    fn steps(&self) -> u64 {
        self.state.steps()
    }

    fn class_path_over(&self, id: ConnectionId, path: Option<u32>) -> Option<u32> {
        let inner = self.network().tables();
        let epoch = inner.epoch_at(self.state.time_s());
        inner.class_path_of(epoch, inner.class_of[id.index()], path)
    }

    fn control_state(&self, id: ConnectionId) -> ControlState {
        let place = self.network().tables().control_index(id.index() as u32);
        place.map_or(ControlState::default(), |place| self.state.set[place].now)
    }

    fn marker_rates(&self, id: AggregateId) -> MarkerRates {
        self.scratch.edges[id.index()].rates()
    }

    fn is_down(&self, id: LinkId) -> bool {
        // Events that are due take effect in the next step.
        let due = self
            .state
            .changes
            .later_events(self.network().tables())
            .iter();
        let due = due.take_while(|event| event.at_s <= self.state.time_s());
        let changes = due
            .filter(|event| event.link as usize == id.index())
            .filter_map(|event| match event.change {
                Change::Down => Some(true),
                Change::Up => Some(false),
                Change::Bandwidth(_) | Change::Pause | Change::Loss(_) | Change::Delay(_) => None,
            });
        changes
            .last()
            .unwrap_or(self.state.links[self.rank(id)].down)
    }

    fn queue_pkts(&self, id: LinkId) -> f64 {
        self.state.links[self.rank(id)].queue_pkts
    }

    fn blocking(&self, id: LinkId) -> f64 {
        self.state.links[self.rank(id)].refused
    }

    fn utilization(&self, id: LinkId) -> f64 {
        self.network().sum_over_queues(id, |queue| {
            let link = &self.state.links[self.rank(queue)];
            link.utilization * link.share
        })
    }

    fn send_pps(&self, id: ConnectionId) -> f64 {
        let count = f64::from(self.network().connection_spec(id).count);
        let class = self.network().tables().class_of[id.index()];
        match self.setup.branch_of(&self.state, self.state.epoch, class) {
            NO_CLASS_PATH => 0.0,
            b => self.state.branches[b as usize].rate_pps * count,
        }
    }

    fn explain(&self, id: ConnectionId) -> Explanation {
        let mut explanation = self.setup.explain(&self.state, &self.scratch.fillings, id);
        for hop in &mut explanation.hops {
            hop.utilization = self.utilization(hop.link);
        }
        explanation
    }

    fn max_queue_pkts(&self, id: LinkId) -> f64 {
        self.state.links[self.rank(id)].max_queue_pkts
    }

    fn reset_max_queue(&mut self) {
        for link in &mut self.state.links {
            link.max_queue_pkts = link.queue_pkts;
        }
    }

    fn link_sums(&self, id: LinkId) -> LinkSums {
        let rank = self.rank(id);
        let link = &self.state.links[rank];
        LinkSums {
            offered_pkts: link.offered_pkts,
            lost_pkts: link.lost_pkts,
            departed_pkts: link.departed_pkts,
            link_lost_pkts: self.setup.plan.link_lost_pkts(&self.state, rank),
            early_drop_pkts: 0.0,
            marked_pkts: 0.0,
            queue_time: link.queue_time,
            departed_queue_time: link.queue_time,
            excess_delay_time: link.longer_time,
            sending_s: link.sending_s,
            tx_time_per_bit: link.bit_time,
            busy_s: (self.network())
                .sum_over_queues(id, |queue| self.state.links[self.rank(queue)].busy_s),
            precedences: self.precedence_totals(id),
        }
    }

    fn connection_sums(&self, id: ConnectionId) -> ConnectionSums {
        let (branches, share) = self.branches_of(id);
        let network = self.network();
        let hears = network.connection_spec(id).source.is_answered();
        let mut sum = ConnectionSums::default();
        for &b in branches {
            let branch = &self.state.branches[b as usize];
            sum.sent_pkts += branch.sent_pkts * share;
            sum.delivered_pkts += self.branch_counts_of(b).delivered_pkts * share;
            if hears {
                sum.rtt_time += branch.rtt_time;
                sum.rtt_weight += branch.active_s;
            }
            sum.loss_sum += branch.loss_time;
            sum.loss_weight += branch.active_s;
        }
        sum.delivered_pkts = useful_pkts(network.connection_spec(id), sum.delivered_pkts);
        let (unrouted_pkts, blocked_s) = self.blocked(id);
        if unrouted_pkts > 0.0 {
            sum.sent_pkts += unrouted_pkts;
            sum.loss_sum += blocked_s;
            sum.loss_weight += blocked_s;
        }
        sum
    }

    fn connection_counts(&self, id: ConnectionId) -> ConnectionCounts {
        let (branches, share) = self.branches_of(id);
        let mut data = Totals::default();
        let mut counts = ConnectionCounts::default();
        for &b in branches {
            let branch = &self.state.branches[b as usize];
            data.add(&self.branch_totals(b as usize).0);
            if self.network().connection_spec(id).source.is_answered() {
                counts.rtt_time += branch.rtt_time;
                counts.rtt_weight += branch.active_s;
            }
            counts.outside_s[0] += branch.outside_s;
            counts.outside_s[1] += branch.unusable_s;
            counts.outside_s[2] += branch.active_s;
            let [mean_s, last_s] =
                last_finished_s(branch, self.network().connection_spec(id).count);
            counts.mean_finished_s = counts
                .mean_finished_s
                .or(mean_s.filter(|_| last_s.is_some()));
            counts.finished_s = counts.finished_s.or(last_s);
        }
        let (unrouted_pkts, _) = self.blocked(id);
        let arrived_pkts = data.delivered_pkts * share;
        ConnectionCounts {
            sent_pkts: data.offered_pkts * share + unrouted_pkts,
            delivered_pkts: useful_pkts(self.network().connection_spec(id), arrived_pkts),
            arrived_pkts,
            lost_pkts: data.lost_pkts * share,
            unrouted_pkts,
            generated_pkts: (self.network().connection_spec(id))
                .generated_pkts_until(self.time_s()),
            queued_pkts: data.queued_pkts * share,
            in_flight_pkts: data.in_flight_pkts * share,
            ..counts
        }
    }

    fn aggregate_counts(&self, id: AggregateId) -> AggregateCounts {
        let inner = self.setup.network.tables();
        let state = &self.state.aggregates[id.index()];
        let mut sums = [Totals::default(); 3];
        for (b, branch) in inner.class_paths.iter().enumerate() {
            let class = &inner.classes[branch.class as usize];
            if class.aggregate != Some(id.index() as u32) {
                continue;
            }
            let (data, _) = self.branch_totals(b);
            sums[branch.precedence as usize].add(&data);
        }
        let (mut goodput_pkts, mut goodput_bits) = (0.0, 0.0);
        for &member in &self.network().aggregate_spec(id).members {
            let pkts = self.connection_sums(member).delivered_pkts;
            goodput_pkts += pkts;
            goodput_bits += pkts * 8.0 * self.network().connection_spec(member).packet_size_bytes;
        }
        AggregateCounts {
            sent_pkts: sums.map(|data| data.offered_pkts),
            delivered_pkts: sums.map(|data| data.delivered_pkts),
            lost_pkts: sums.map(|data| data.lost_pkts),
            goodput_pkts,
            goodput_bits,
            measured_bps: state.measured_bps,
            marking: state.marking,
            rtt_s: state.rtt_s,
        }
    }

    fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]> {
        let rio = self.setup.plan.links[self.rank(id)].rio?;
        let state = &self.state.rio[rio as usize];
        Some(PrecedenceTotals::each(
            state.offered_pkts,
            state.lost_pkts,
            state.average_pkts,
        ))
    }

    fn totals(&self) -> Totals {
        let mut totals = self.sum_of_branches(|(data, _)| data);
        for id in self.network().connections() {
            let (unrouted_pkts, _) = self.blocked(id);
            totals.offered_pkts += unrouted_pkts;
            totals.unrouted_pkts += unrouted_pkts;
        }
        totals
    }

    fn ack_totals(&self) -> Totals {
        self.sum_of_branches(|(_, acks)| acks)
    }
}

/// Returns the completion times of connections with a size: the mean, and the last of `count`. Completions
/// are spread uniformly around the mean, up to the time when everything was delivered. The last of n is at (n
/// − 1)/(n + 1) of the interval from the mean to that end.
fn last_finished_s(branch: &BranchState, count: u32) -> [Option<f64>; 2] {
    let n = f64::from(count);
    let last_s = match (branch.finished_s, branch.done_s) {
        (Some(mean_s), Some(done_s)) => Some(mean_s + (done_s - mean_s) * (n - 1.0) / (n + 1.0)),
        (mean_s, _) => mean_s.filter(|_| count == 1),
    };
    [branch.finished_s, last_s]
}

/// Returns the useful packets among all arrivals. A fixed-rate source sends until its whole size has
/// arrived, so packets beyond its size are not useful.
fn useful_pkts(spec: &ConnectionSpec, arrived_pkts: f64) -> f64 {
    match (spec.source.own_pps(), spec.size_pkts) {
        (Some(_), Some(size_pkts)) => arrived_pkts.min(size_pkts.ceil() * f64::from(spec.count)),
        _ => arrived_pkts,
    }
}
