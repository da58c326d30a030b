//! Changes of links during a run: bandwidth, loss, delay, failures and repairs, and new routes.

use netflow_network::{Buffer, Change, LinkId, LinkLoss};
use netflow_queues::{Losses, stretched_ns};

use crate::engine::{Engine, change_copies, loss_streams};
use crate::link::class_scheduler::Transmission;
use crate::link::queue::TransitLosses;
use crate::link::service::bits_of;
use crate::link::wire::Packet;
use crate::ns;
use crate::topology::Topology;

/// Bandwidth of a paused link in bit/s. A packet of 1500 B takes 1.9 years, and the largest packet less than the longest
/// time in ns. The link does not begin another packet before.
pub(crate) const PAUSED_BPS: f64 = 2e-4;

impl Engine {
    /// Returns the time of the next event in ns, if there is one.
    pub fn next_event_ns(&self) -> Option<u64> {
        let next_s = self.changes.next_s(self.network.tables());
        (next_s < f64::INFINITY).then(|| ns(next_s))
    }

    /// Applies all events that are due, and sends packets along the current routes.
    pub fn apply_events(&mut self) {
        let inner = self.network.tables().clone();
        let (before, mut has_changed) = (self.epoch, false);
        let now_ns = self.now_ns;
        while let Some(event) = self.changes.next(&inner, |at_s| ns(at_s) <= now_ns) {
            has_changed = true;
            let l = event.link as usize;
            match event.change {
                Change::Bandwidth(bps) => self.set_bandwidth(l, bps),
                Change::Pause => self.set_bandwidth(l, PAUSED_BPS),
                Change::Loss(loss) => self.set_loss(l, &loss),
                Change::Delay(delay_s) => self.set_delay(l, ns(delay_s)),
                Change::Down => self.fail(l),
                Change::Up => self.links[l].queue.repair(),
            }
        }
        while let Some(next) = inner.epochs.get(self.epoch + 1)
            && ns(next.at_s) <= self.now_ns
        {
            self.epoch += 1;
        }
        if self.epoch != before {
            self.route(Some(before));
        }
        if has_changed || self.epoch != before {
            self.make_dependencies();
        }
    }

    /// Sets the bandwidth of a link in bit/s, as an event does.
    pub fn change_bandwidth(&mut self, link: usize, bps: f64) {
        self.set_bandwidth(link, bps);
        self.make_dependencies();
    }

    /// Sends a connection over the path that is set.
    pub fn reroute_connection(&mut self, connection: u32) {
        let branch = self.branch_of(self.epoch, connection);
        for t in 0..self.transfers.len() as u32 {
            if self.topology.ends[t as usize].connection == connection {
                self.route_transfer(t, branch);
            }
        }
        self.make_dependencies();
    }

    /// Sets the rate of a transfer's source from now on.
    pub fn set_rate(&mut self, t: usize, rate_pps: f64) {
        let transfer = &mut self.transfers[t];
        transfer.set_rate(self.now_ns, rate_pps);
        self.dependencies.sender_due_ns[t] = transfer.sender_due_ns();
    }

    /// Sets the losses of a link in transit, as an event does.
    pub fn change_loss(&mut self, link: usize, loss: &LinkLoss) {
        self.set_loss(link, loss);
        self.make_dependencies();
    }

    /// Sets the delay of a link, as an event does.
    pub fn change_delay(&mut self, link: usize, delay_ns: u64) {
        self.set_delay(link, delay_ns);
        self.make_dependencies();
    }

    /// Routes every transfer whose path differs from that in epoch `before`; every transfer if it is `None`.
    pub fn route(&mut self, before: Option<usize>) {
        for t in 0..self.transfers.len() {
            let connection = self.topology.ends[t].connection;
            let branch = self.branch_of(self.epoch, connection);
            if before.is_some_and(|before| self.branch_of(before, connection) == branch) {
                continue;
            }
            self.route_transfer(t as u32, branch);
        }
    }

    /// Sets the bandwidth of a link. Remaining transmissions, also of waiting packets, change their duration.
    fn set_bandwidth(&mut self, l: usize, bps: f64) {
        let now_ns = self.now_ns;
        let ratio = self.links[l].bandwidth_bps / bps;
        self.links[l].bandwidth_bps = bps;
        let id = LinkId::new(l as u32, self.network.tables().owner);
        // A pause keeps the buffer.
        if let Buffer::Time(_) = self.network.link_spec(id).buffer
            && bps > PAUSED_BPS
        {
            let buffer = self.network.packet_buffer_at(id, bps);
            self.links[l].queue.set_buffer(buffer);
        }
        // A packet that waits for a shaper is transmitted later.
        let begins_ns = |l: usize| self.links[l].queue.begins_ns().max(now_ns);
        let from_ns = begins_ns(l);
        let shared_from_ns = match &self.links[l].transmission {
            Transmission::ClassScheduler(sharing) => {
                let each_ns = sharing.links.iter().map(|&queue| begins_ns(queue as usize));
                each_ns.fold(now_ns, u64::max)
            }
            Transmission::Exclusive | Transmission::Class => now_ns,
        };
        self.links[l].queue.stretch(from_ns, ratio);
        if let Transmission::ClassScheduler(sharing) = &mut self.links[l].transmission {
            sharing.stretch(shared_from_ns, ratio, bps);
        }
        let sender = self.topology.sender(l as u32);
        let Topology {
            wires,
            origins,
            specs,
            ..
        } = &mut self.topology;
        let link = &self.links[l];
        let end_ns = |left_ns| stretched_ns(left_ns, from_ns, ratio);
        for wire in output_wires(origins, sender) {
            wires.retime(wire, |packet| {
                let of_link = specs[packet.hop as usize - 1].link == l as u32;
                let moved_ns = of_link
                    .then(|| link.rescheduled_ns(packet, from_ns, link.delay_ns, end_ns))
                    .flatten();
                moved_ns.unwrap_or(packet.time_ns)
            });
        }
        let delay_ns = link.delay_ns;
        self.links[l].reschedule_last(from_ns, delay_ns, end_ns);
        self.keep_order_behind(sender, l);
        if let Some(lossy) = &mut self.links[l].transit_losses {
            for packet in &mut *lossy.pending_losses {
                packet.time_ns = end_ns(packet.time_ns);
            }
        }
        for hop in 0..self.topology.specs.len() {
            if self.topology.specs[hop].link == l as u32 {
                self.topology.set_bandwidth(hop, bps);
            }
        }
    }

    /// Sets the losses of a link in transit. They apply to all packets that have not been transmitted yet, in
    /// the order of transmission.
    fn set_loss(&mut self, l: usize, loss: &LinkLoss) {
        let streams = loss_streams(self.seed, self.tie_break.links[l]);
        let link = &self.links[l];
        if link.loss() == loss {
            return;
        }
        let mut queued = self.take_queued(l);
        let lossy = self.links[l].transit_losses.get_or_insert_with(|| {
            let nothing = Losses::new(&LinkLoss::NONE, &streams);
            Box::new(TransitLosses::new(nothing))
        });
        queued.extend_from_slice(&lossy.pending_losses);
        lossy.pending_losses.clear();
        queued.sort_by_key(Packet::order);
        lossy.losses.set(loss, &streams);
        let sender = self.topology.sender(l as u32) as usize;
        if self.links[sender].delay_line.is_some() {
            // Only the packet in transmission, which may be copied again.
            for packet in queued.drain(1.min(queued.len())..) {
                let spec = &self.topology.specs[packet.hop as usize];
                change_copies(&mut self.loss_counts, &mut self.edge_markers, spec, |n| {
                    *n -= 1
                });
            }
        }
        for packet in queued {
            let hop = packet.hop as usize;
            let (inner, spec) = (self.network.tables(), &self.topology.specs[hop]);
            let bytes = bits_of(inner, &self.transfers, spec, &packet) / 8.0;
            // The queues of a link share one wire. The link's own event precedes those of its classes.
            let is_lost = (self.links[sender].transit_losses.as_mut())
                .is_some_and(|it| it.draw_loss(bytes, packet.time_ns));
            match &mut self.links[l].transit_losses {
                Some(lossy) if is_lost => lossy.pending_losses.push(packet),
                _ => self.propagate(sender, l, packet, bytes.round() as u32),
            }
        }
    }

    /// Makes later packets of link `l` wait for the packet in transmission, if the delay line keeps their order.
    fn keep_order_behind(&mut self, sender: u32, l: usize) {
        let delays = self.links[l].delay_line.iter();
        let last = delays.flat_map(|it| &it.transmitted_last);
        if let Some(last_ns) = last.map(|(it, _)| it.time_ns).max()
            && let Some(delays) = &mut self.links[sender as usize].delay_line
        {
            delays.line.wait_for(last_ns);
        }
    }

    /// Removes the packets from the wires behind a link that it has not transmitted yet and will not lose.
    /// Their times become the ends of their transmissions.
    fn take_queued(&mut self, l: usize) -> Vec<Packet> {
        let now_ns = self.now_ns;
        let link = &self.links[l];
        let sender = self.topology.sender(l as u32);
        let Topology {
            wires,
            origins,
            specs,
            ..
        } = &mut self.topology;
        let mut taken = Vec::new();
        for wire in output_wires(origins, sender) {
            wires.remove(wire, |packet| {
                let hop = packet.hop - 1;
                let here = specs[hop as usize].link == l as u32;
                let left_ns = link.transmission_end_ns(packet);
                match left_ns.filter(|&left_ns| here && left_ns > now_ns) {
                    Some(time_ns) => {
                        taken.push(Packet {
                            time_ns,
                            hop,
                            ..*packet
                        });
                        true
                    }
                    None => false,
                }
            });
        }
        taken
    }

    /// Sets the delay of a link. Packets that have departed keep their arrival times, so that others may
    /// overtake them.
    fn set_delay(&mut self, l: usize, delay_ns: u64) {
        let now_ns = self.now_ns;
        let before_ns = self.links[l].delay_ns;
        if delay_ns == before_ns {
            return;
        }
        let sender = self.topology.sender(l as u32);
        let Topology {
            wires,
            origins,
            specs,
            ..
        } = &mut self.topology;
        let link = &self.links[l];
        let mut on_the_way = Vec::new();
        for wire in output_wires(origins, sender) {
            wires.allow_reordering(wire);
            wires.retime(wire, |packet| {
                if specs[packet.hop as usize - 1].link != l as u32 {
                    return packet.time_ns;
                }
                let moved_ns = link.rescheduled_ns(packet, now_ns, delay_ns, |left_ns| left_ns);
                if moved_ns.is_none() && link.transmission_end_ns(packet).is_some() {
                    on_the_way.push(*packet);
                }
                moved_ns.unwrap_or(packet.time_ns)
            });
        }
        self.links[l].reschedule_last(now_ns, delay_ns, |left_ns| left_ns);
        self.keep_order_behind(sender, l);
        self.links[l].set_delay_ns(delay_ns, &on_the_way);
        let network = self.network.clone();
        if (self.topology).retime_off_network_acks(network.tables(), l as u32, before_ns, delay_ns)
        {
            for t in 0..self.transfers.len() as u32 {
                let connection = self.topology.ends[t as usize].connection;
                self.route_transfer(t, self.branch_of(self.epoch, connection));
            }
        }
    }

    /// Fails a link: packets in its queue are lost. Packets in flight arrive.
    fn fail(&mut self, l: usize) {
        let now_ns = self.now_ns;
        let waited = self.links[l].queue.fail(now_ns);
        if let Transmission::ClassScheduler(sharing) = &mut self.links[l].transmission {
            sharing.fail(now_ns);
        }
        let mut lost: Vec<u32> = waited.iter().map(|waits| waits.packet.hop).collect();
        lost.extend(self.take_queued(l).iter().map(|packet| packet.hop));
        if let Some(lossy) = &mut self.links[l].transit_losses {
            lost.extend(lossy.pending_losses.iter().map(|packet| packet.hop));
            lossy.pending_losses.clear();
        }
        for hop in lost {
            self.count_loss(hop, now_ns);
        }
    }
}

/// Returns the wires that begin at a link.
fn output_wires(origins: &[Vec<u32>], l: u32) -> impl Iterator<Item = u32> {
    let all = (0..).zip(origins);
    let behind = all.filter(move |(_, origins)| origins.contains(&l));
    behind.map(|(wire, _)| wire)
}
