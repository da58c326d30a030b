//! Readout of the packet simulation: implementation of the common engine interface.

use netflow_network::engine::{
    AggregateCounts, ConnectionCounts, ConnectionSums, Engine, LinkSums, fraction, mean,
};
use netflow_network::{
    Acks, AggregateId, ConnectionId, ControlState, ExplainedHop, Explanation, Limit, LinkId,
    MarkerRates, Network, PrecedenceTotals, Source, Totals,
};
use netflow_queues::Buffer;

use super::{ACK_PRECEDENCES, Packets};
use crate::endpoint::transfer::Transfer;
use crate::link::changes::PAUSED_BPS;

impl Engine for Packets {
    fn network(&self) -> &Network {
        &self.engine.network
    }

    fn time_s(&self) -> f64 {
        self.engine.now_ns() as f64 / 1e9
    }

    fn is_done(&self) -> bool {
        self.has_reached(self.duration_s)
    }

    fn steps(&self) -> u64 {
        self.engine.offered()
    }

    fn class_path_over(&self, id: ConnectionId, path: Option<u32>) -> Option<u32> {
        let inner = self.network().tables();
        inner.class_path_of(self.engine.epoch, inner.class_of[id.index()], path)
    }

    fn control_state(&self, id: ConnectionId) -> ControlState {
        let inner = self.network().tables();
        inner.control_state_of(id.index() as u32, &self.engine.control_states)
    }

    fn marker_rates(&self, id: AggregateId) -> MarkerRates {
        self.engine.edge_markers[id.index()].rates()
    }

    fn is_down(&self, id: LinkId) -> bool {
        self.engine.links[id.index()].queue.is_down()
    }

    fn queue_pkts(&self, id: LinkId) -> f64 {
        self.engine.queue_pkts(id.index()) as f64
    }

    fn blocking(&self, id: LinkId) -> f64 {
        let network = self.network();
        let is_full =
            match network.packet_buffer_at(id, self.engine.links[id.index()].bandwidth_bps) {
                Buffer::Packets(most) => self.engine.queue_pkts(id.index()) >= most,
                Buffer::Bytes(most) => {
                    let pkt_bytes = network.mean_packet_bytes(id);
                    self.engine.queue_bytes(id.index()) as f64 + pkt_bytes > most
                }
                Buffer::Unbounded => false,
            };
        f64::from(u8::from(is_full))
    }

    fn utilization(&self, id: LinkId) -> f64 {
        self.link_sums(id).busy_s * fraction(1.0, self.time_s())
    }

    fn send_pps(&self, id: ConnectionId) -> f64 {
        if let Source::Users(_) = self.network().connection_spec(id).source {
            // The windows of users do not show their demand.
            return self.connection_sums(id).sent_pkts * fraction(1.0, self.time_s());
        }
        let transfers = self.transfers(id);
        transfers.map(|t| t.rate_pps(self.engine.now_ns())).sum()
    }

    fn max_in_flight_pkts(&self, id: ConnectionId) -> Option<u32> {
        self.transfers(id)
            .filter_map(Transfer::max_in_flight_pkts)
            .max()
    }

    fn explain(&self, id: ConnectionId) -> Explanation {
        let network = self.network();
        let spec = network.connection_spec(id);
        let marking = self.marking_of(id);
        let hop = |link: LinkId, back: bool| {
            let bandwidth_bps = self.engine.links[link.index()].bandwidth_bps;
            let ip_bits = if back {
                8.0 * spec.source.ack_bytes()
            } else {
                8.0 * spec.packet_size_bytes
            };
            let bits = network.link_spec(link).overhead.wire_bits(ip_bits);
            let queue_pkts = self.queue_pkts(link);
            // Acknowledgements that are not traffic have only propagation delay.
            let is_traffic = !back || spec.acks != Acks::None || !spec.source.is_answered();
            let waiting_s = if is_traffic {
                self.engine.drain_time_ns(link.index()) as f64 * 1e-9
            } else {
                0.0
            };
            let is_paused = bandwidth_bps <= PAUSED_BPS;
            let waiting_s = if is_paused && waiting_s > 0.0 {
                f64::INFINITY
            } else {
                waiting_s
            };
            let sums = self.link_sums(link);
            let queue_loss = sums.lost_of(if back { ACK_PRECEDENCES } else { marking });
            let link_loss = self.engine.links[link.index()]
                .loss()
                .probability(bits / 8.0);
            ExplainedHop {
                link,
                back,
                bandwidth_bps: if is_paused { 0.0 } else { bandwidth_bps },
                utilization: self.utilization(link),
                queue_pkts,
                service_pps: if is_paused { 0.0 } else { bandwidth_bps / bits },
                waiting_s,
                transmission_s: if !is_traffic {
                    0.0
                } else if is_paused {
                    f64::INFINITY
                } else {
                    bits / bandwidth_bps
                },
                propagation_s: self.engine.links[link.index()].delay_ns as f64 / 1e9,
                loss_probability: 1.0 - (1.0 - queue_loss) * (1.0 - link_loss),
                link_loss_probability: link_loss,
                reached_ceiling: None,
            }
        };
        let inner = &**network.tables();
        let branch = self.engine.branch_of(self.engine.epoch, id.index() as u32);
        let hops = match branch {
            None => Vec::new(),
            Some(branch) => {
                let id = |&l: &u32| LinkId::new(l, inner.owner);
                let there = inner.data_path(branch).iter().map(id);
                let back = inner.back_path(branch).iter().map(id);
                let there = there.map(|link| hop(link, false));
                there.chain(back.map(|link| hop(link, true))).collect()
            }
        };
        let mut explanation = Explanation::of_path(self.time_s(), spec.count, hops);
        let now_ns = self.engine.now_ns();
        explanation.sending = self.transfers(id).any(|t| t.is_sending(now_ns));
        explanation.rate_pps = self.send_pps(id) / f64::from(spec.count);
        let application_pps = spec.application.mean_pps();
        explanation.application_pps = Some(application_pps).filter(|pps| pps.is_finite());
        if let Source::Profile(profile) = &spec.source {
            explanation.profile = Some(profile.name().to_owned());
        }
        explanation.max_in_flight_pkts = self.max_in_flight_pkts(id);
        // The first active transfer represents all.
        if let Some(transfer) = self.transfers(id).find(|t| t.is_sending(now_ns)) {
            match transfer.applied() {
                Ok(applied) => {
                    explanation.apply(applied, transfer.window_limit_pkts());
                    if let Source::Profile(profile) = &spec.source {
                        explanation.outside =
                            profile.is_outside_domain(applied.loss, applied.rtt_s);
                    }
                }
                Err(limit) => {
                    explanation.limit = limit;
                    explanation.tcp = transfer.tcp_state();
                    if let (Some(Limit::SendBuffer), Some(tcp)) = (limit, &explanation.tcp)
                        && tcp.srtt_s > 0.0
                    {
                        // The window is larger than the full send buffer.
                        explanation.rate_pps = f64::from(tcp.in_flight) / tcp.srtt_s;
                    }
                    let sums = self.connection_counts(id);
                    let missing = sums.lost_pkts + sums.unrouted_pkts;
                    explanation.seen_loss_probability = mean(missing, missing + sums.arrived_pkts);
                    let rtts_s = self.transfers(id).map(Transfer::smoothed_rtt_s);
                    let (sum_s, n) = rtts_s
                        .filter(|&rtt_s| rtt_s > 0.0)
                        .fold((0.0, 0.0), |(sum, n), rtt_s| (sum + rtt_s, n + 1.0));
                    explanation.seen_rtt_s = mean(sum_s, n);
                    explanation.window_limit_pps = explanation
                        .seen_rtt_s
                        .map(|rtt_s| transfer.window_limit_pkts() / rtt_s)
                        .filter(|_| spec.max_window_pkts.is_some());
                }
            }
        }
        if explanation.hops.is_empty() {
            // Retransmissions have no route.
            (explanation.rate_pps, explanation.limit) = (0.0, None);
        }
        explanation
    }

    fn max_queue_pkts(&self, id: LinkId) -> f64 {
        self.engine.links[id.index()].queue.max_pkts() as f64
    }

    fn reset_max_queue(&mut self) {
        self.engine.restart_longest();
    }

    fn link_sums(&self, id: LinkId) -> LinkSums {
        let l = id.index();
        let counts = self.engine.link_counts(l);
        let queued = self.engine.queue_pkts(l);
        LinkSums {
            offered_pkts: counts.offered() as f64,
            lost_pkts: counts.lost as f64,
            departed_pkts: (counts.accepted - queued as u64) as f64,
            link_lost_pkts: self.engine.links[l].link_lost().map(|pkts| pkts as f64),
            early_drop_pkts: counts.dropped_early as f64,
            marked_pkts: counts.marked as f64,
            queue_time: self.engine.queue_time_ns(l) * 1e-9,
            departed_queue_time: self.engine.departed_queue_time_ns(l) * 1e-9,
            excess_delay_time: 0.0,
            sending_s: 0.0,
            tx_time_per_bit: 0.0,
            busy_s: self.network().sum_over_queues(id, |queue| {
                let l = queue.index();
                let service_ns = self.engine.link_counts(l).service_ns;
                (service_ns - self.engine.backlog_ns(l)) as f64 * 1e-9
            }),
            precedences: self.precedence_totals(id),
        }
    }

    fn connection_sums(&self, id: ConnectionId) -> ConnectionSums {
        let mut sum = ConnectionSums::default();
        for i in self.transfer_indices(id) {
            let transfer = self.engine.transfer(i);
            let lost = (self.engine.lost(i) + self.engine.blocked(i)) as f64;
            // With the copies of links, so that packets balance.
            let sent = (transfer.sent() + self.engine.loss_counts[i].copies) as f64;
            let (rtt_time, rtt_weight) = transfer.rtt_sum();
            sum.sent_pkts += sent;
            sum.delivered_pkts += transfer.receiver.delivered as f64;
            sum.rtt_time += rtt_time;
            sum.rtt_weight += rtt_weight;
            sum.loss_sum += lost;
            sum.loss_weight += sent;
        }
        if let Some(one_way) = &self.engine.delays[id.index()].one_way {
            sum.delay_time = one_way.times.sum_ns as f64 * 1e-9;
            sum.delay_weight = one_way.times.count as f64;
        }
        sum
    }

    fn connection_counts(&self, id: ConnectionId) -> ConnectionCounts {
        let sums = self.connection_sums(id);
        let arrived: u64 = self.transfers(id).map(|t| t.receiver.arrived).sum();
        let under_way = self
            .in_network
            .get_or_init(|| self.engine.data_in_network());
        let mine = |part: fn(&(u32, u32)) -> u32| -> f64 {
            let members = self.transfer_indices(id).filter_map(|i| under_way.get(i));
            members.map(|both| f64::from(part(both))).sum()
        };
        let blocked: u64 = self
            .transfer_indices(id)
            .map(|i| self.engine.blocked(i))
            .sum();
        ConnectionCounts {
            sent_pkts: sums.sent_pkts,
            delivered_pkts: sums.delivered_pkts,
            arrived_pkts: arrived as f64,
            lost_pkts: sums.loss_sum - blocked as f64,
            unrouted_pkts: blocked as f64,
            generated_pkts: self.generated_pkts(id),
            rtt_time: sums.rtt_time,
            rtt_weight: sums.rtt_weight,
            outside_s: self.outside_s(id),
            losses_found: self.detected_losses(id),
            queued_pkts: mine(|&(queued, _)| queued),
            in_flight_pkts: mine(|&(_, flying)| flying),
            finished_s: self.finished_s(id).map(|[_, last_s]| last_s),
            mean_finished_s: self.finished_s(id).map(|[mean_s, _]| mean_s),
        }
    }

    fn aggregate_counts(&self, id: AggregateId) -> AggregateCounts {
        let Some(edge) = self.engine.edge_markers.get(id.index()) else {
            return AggregateCounts::default();
        };
        let mut under_way = [0; 3];
        self.engine.for_each_in_network(|hop, _| {
            if !hop.is_ack
                && self.engine.loss_counts[hop.transfer as usize].aggregate
                    == Some(id.index() as u32)
            {
                under_way[hop.precedence.index()] += 1;
            }
        });
        let delivered =
            |p: usize| (edge.sent[p] + edge.copies[p] - edge.lost[p] - under_way[p]) as f64;
        let spec = self.network().aggregate_spec(id);
        let (mut goodput_pkts, mut goodput_bits) = (0.0, 0.0);
        let mut rtts = (0.0, 0.0);
        for &member in &spec.members {
            let pkts = self.connection_sums(member).delivered_pkts;
            goodput_pkts += pkts;
            goodput_bits += pkts * 8.0 * self.network().connection_spec(member).packet_size_bytes;
            for rtt_s in self.transfers(member).map(Transfer::smoothed_rtt_s) {
                if rtt_s > 0.0 {
                    rtts = (rtts.0 + rtt_s, rtts.1 + 1.0);
                }
            }
        }
        AggregateCounts {
            sent_pkts: edge.sent.map(|sent| sent as f64),
            delivered_pkts: [delivered(0), delivered(1), delivered(2)],
            lost_pkts: edge.lost.map(|lost| lost as f64),
            goodput_pkts,
            goodput_bits,
            measured_bps: edge.measured_bps(),
            marking: edge.marking(),
            rtt_s: (rtts.1 > 0.0).then(|| rtts.0 / rtts.1),
        }
    }

    fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]> {
        let (counts, averages) = self.engine.precedences(id.index())?;
        let pkts = |counts: [u64; 3]| counts.map(|count| count as f64);
        Some(PrecedenceTotals::each(
            pkts(counts.offered),
            pkts(counts.lost),
            averages,
        ))
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for &(queued, flying) in self
            .in_network
            .get_or_init(|| self.engine.data_in_network())
        {
            totals.queued_pkts += f64::from(queued);
            totals.in_flight_pkts += f64::from(flying);
        }
        for i in 0..self.engine.transfers() {
            let transfer = self.engine.transfer(i);
            totals.offered_pkts += (transfer.sent() + self.engine.loss_counts[i].copies) as f64;
            totals.delivered_pkts += transfer.receiver.arrived as f64;
            totals.lost_pkts += self.engine.lost(i) as f64;
            totals.unrouted_pkts += self.engine.blocked(i) as f64;
        }
        totals
    }

    fn ack_totals(&self) -> Totals {
        let (queued, in_flight) = self.engine.acks_in_network();
        let mut totals = Totals {
            queued_pkts: queued as f64,
            in_flight_pkts: in_flight as f64,
            lost_pkts: self.engine.lost_acks() as f64,
            ..Totals::default()
        };
        for i in 0..self.engine.transfers() {
            let transfer = self.engine.transfer(i);
            let copies = self.engine.loss_counts[i].ack_copies;
            totals.offered_pkts += (transfer.receiver.acks_sent + copies) as f64;
            totals.unrouted_pkts += transfer.receiver.acks_unrouted as f64;
            totals.delivered_pkts += transfer.acks_arrived as f64;
        }
        totals
    }
}
