//! Service of arrivals at a link: collection from its wires, order by time, queueing and transmission.

use netflow_network::compiled::CompiledNetwork;
use netflow_network::service_ns;
use netflow_queues::Propagation;

use crate::endpoint::transfer::Transfer;
use crate::engine::{Engine, change_copies, record_loss};
use crate::link::class_scheduler::Transmission;
use crate::link::queue::Link;
use crate::link::queue_disc::{DroppedPackets, QueuedPacket, wire_bytes};
use crate::link::wire::{Packet, count_before};
use crate::topology::{HopSpec, Sizes};

impl Engine {
    /// Runs all events at a link before `until_ns`. Returns true if there may have been any.
    #[inline]
    pub fn run_link(&mut self, l: usize, until_ns: u64) -> bool {
        let arrives = self.process_arrivals(l, until_ns);
        self.transmit_waiting(l, until_ns - 1);
        arrives || self.links[l].queue.is_managed()
    }

    /// Transmits waiting packets until `until_ns`, if the discipline chooses them when the link is free.
    #[inline]
    pub fn transmit_waiting(&mut self, l: usize, until_ns: u64) {
        match &self.links[l] {
            Link { queue, .. } if !queue.is_managed() => {}
            Link { transmission, .. } => match transmission {
                Transmission::Exclusive => self.transmit_managed(l, until_ns),
                Transmission::Class => {}
                Transmission::ClassScheduler(_) => self.transmit_scheduled(l, until_ns),
            },
        }
    }

    /// Processes all arrivals at a link before `until_ns`. Returns true if there are any.
    fn process_arrivals(&mut self, l: usize, until_ns: u64) -> bool {
        let mut wires = std::mem::take(&mut self.dependencies.arriving);
        wires.clear();
        for &w in &self.dependencies.links_of[l].inputs {
            if self.topology.wires.head_ns(w) < until_ns {
                wires.push(w);
            }
        }
        let are_sorted = |all: &[u32]| all.iter().all(|&w| self.topology.wires.is_sorted(w));
        match *wires {
            [] => {}
            [w] if are_sorted(&wires) => {
                let packets = self.topology.wires.take_wire(w);
                let n = count_before(&packets, until_ns);
                self.arrive(l, packets[..n].iter().copied());
                self.topology.wires.put_back(w, packets, n);
            }
            [v, w] if are_sorted(&wires) => {
                let (a, b) = (
                    self.topology.wires.take_wire(v),
                    self.topology.wires.take_wire(w),
                );
                let (m, n) = (count_before(&a, until_ns), count_before(&b, until_ns));
                let merged = Merged {
                    a: &a[..m],
                    b: &b[..n],
                };
                self.arrive(l, merged);
                self.topology.wires.put_back(v, a, m);
                self.topology.wires.put_back(w, b, n);
            }
            _ => {
                let mut batch = std::mem::take(&mut self.dependencies.batch);
                for &w in &wires {
                    self.topology
                        .wires
                        .take_until(w, until_ns, &mut batch.packets);
                }
                self.arrive(l, batch.sorted().iter().copied());
                batch.packets.clear();
                self.dependencies.batch = batch;
            }
        }
        let arrives = !wires.is_empty();
        self.dependencies.arriving = wires;
        arrives
    }

    /// Processes these arrivals at a link, in this order.
    #[inline]
    fn arrive(&mut self, l: usize, packets: impl Iterator<Item = Packet>) {
        if self.dependencies.links_of[l].is_fast_path && self.links[l].as_plain().is_some() {
            self.serve_fast_path(l, packets)
        } else {
            packets.for_each(|packet| self.serve(l, packet))
        }
    }

    /// Processes packets on the fast path: the hop decides everything about them, and the buffer is the only
    /// limit.
    #[inline]
    fn serve_fast_path(&mut self, l: usize, packets: impl Iterator<Item = Packet>) {
        let Some(mut link) = self.links[l].as_plain() else {
            return;
        };
        for packet in packets {
            link.arrivals
                .count(packet.time_ns, link.queue.counts.offered());
            let hop = &mut self.topology.hops[packet.hop as usize];
            hop.arrived += 1;
            let service_ns = match (hop.service_ns, packet.seq) {
                // Acknowledgements, because messages are not on the fast path.
                (None, _) => {
                    let spec = &self.topology.specs[packet.hop as usize];
                    service_ns(spec.ack_bits(&packet), link.bandwidth_bps)
                }
                (_, 0) => self.topology.specs[packet.hop as usize].header_ns,
                (Some(alike_ns), _) => alike_ns.get(),
            };
            match link.queue.arrive(packet.time_ns, service_ns) {
                Some(left_ns) => {
                    let next = packet.next_hop(left_ns + link.delay_ns);
                    self.topology.wires.push(hop.output_wire, next);
                }
                None => {
                    let spec = &self.topology.specs[packet.hop as usize];
                    record_loss(
                        &mut self.loss_counts,
                        &mut self.edge_markers,
                        spec,
                        packet.time_ns,
                    );
                }
            }
        }
    }

    /// Processes the arrival of any packet at any link.
    pub fn serve(&mut self, sender: usize, mut packet: Packet) {
        let l = match &self.links[sender].transmission {
            Transmission::Exclusive | Transmission::Class => sender,
            Transmission::ClassScheduler(_) => {
                self.topology.specs[packet.hop as usize].link as usize
            }
        };
        let link = &mut self.links[l];
        link.arrivals
            .count(packet.time_ns, link.queue.counts.offered());
        let mut hop = &mut self.topology.hops[packet.hop as usize];
        if let Some(edge) = hop.edge {
            let spec = &self.topology.specs[packet.hop as usize];
            let window_pkts = self.transfers[spec.transfer as usize].window_of_next();
            let edge = &mut self.edge_markers[edge.index()];
            let precedence = edge.mark(packet.time_ns, spec.ip_bytes, window_pkts);
            packet.hop += precedence as u32 * spec.stride;
            hop = &mut self.topology.hops[packet.hop as usize];
        }
        hop.arrived += 1;
        let spec = &self.topology.specs[packet.hop as usize];
        let (service_ns, bits) = match (hop.service_ns, packet.seq) {
            (None, _) => {
                let bits = bits_of(self.network.tables(), &self.transfers, spec, &packet);
                (service_ns(bits, link.bandwidth_bps), bits)
            }
            (_, 0) => (spec.header_ns, spec.header_bits),
            (Some(alike_ns), _) => (alike_ns.get(), spec.bits),
        };
        // The policer of the link precedes that of the class.
        let own = (l != sender).then_some(l);
        for policed in [sender].into_iter().chain(own) {
            if let Some(policer) = &mut self.links[policed].policer
                && !policer.conforms(packet.time_ns, wire_bytes(bits))
            {
                self.links[l].queue.counts.lost += 1;
                return self.count_loss(packet.hop, packet.time_ns);
            }
        }
        let link = &mut self.links[l];
        if link.queue.is_managed() {
            return self.serve_managed(sender, l, QueuedPacket { packet, bits });
        }
        let left_ns = link.queue.arrive(&mut packet, service_ns, bits, spec);
        let lossy = link.transit_losses.as_deref_mut();
        let is_doomed = lossy.is_some_and(|it| it.is_lost_in_transit(bits / 8.0, left_ns, packet));
        match left_ns {
            None => self.count_loss(packet.hop, packet.time_ns),
            Some(_) if is_doomed => {}
            Some(left_ns) => {
                let next = packet.next_hop(left_ns + link.delay_ns);
                self.topology.wires.push(hop.output_wire, next);
            }
        }
    }

    /// Processes an arrival at link `l`, whose queue is managed or shares the link `sender`.
    fn serve_managed(&mut self, sender: usize, l: usize, waits: QueuedPacket) {
        let now_ns = waits.packet.time_ns;
        // A packet whose transmission starts now frees buffer space first.
        self.transmit_waiting(sender, now_ns);
        let link = &mut self.links[l];
        let spec = &self.topology.specs[waits.packet.hop as usize];
        if link.queue.is_down() {
            link.queue.lose(spec);
            return self.count_loss(waits.packet.hop, now_ns);
        }
        let mut dropped = DroppedPackets::default();
        let (network, ends) = (&self.network, &self.topology.ends);
        let details = || spec.details(network.tables(), ends, &waits.packet);
        if let (Some(trace), Some(managed)) = (&mut link.trace, link.queue.managed_mut())
            && managed.length(now_ns) == 0
        {
            managed.opportunity_ns = trace.idle_until(now_ns);
        }
        link.queue.enqueue(waits, spec, details, &mut dropped);
        if let Transmission::ClassScheduler(sharing) = &mut self.links[sender].transmission {
            sharing.record_arrival(now_ns, l, waits.bits, dropped.packets.len());
        }
        self.drop_managed(l, now_ns, dropped);
        self.transmit_waiting(sender, now_ns);
        if let Some(managed) = self.links[l].queue.managed_mut() {
            managed.record_length(now_ns);
        }
    }

    /// Transmits waiting packets until `until_ns`.
    fn transmit_managed(&mut self, l: usize, until_ns: u64) {
        loop {
            let Some(managed) = self.links[l].queue.managed_mut() else {
                return;
            };
            let now_ns = managed.due_ns();
            if now_ns > until_ns {
                return;
            }
            let mut dropped = DroppedPackets::default();
            let next = managed.dequeue(now_ns, &mut dropped);
            if let Some(next) = next {
                self.transmit(l, l, now_ns, next);
            }
            self.drop_managed(l, now_ns, dropped);
        }
    }

    /// Transmits a packet from the queue of link `l`, which is given with its arrival time and whether that
    /// queue has marked it. Returns the end of transmission.
    pub fn transmit(
        &mut self,
        sender: usize,
        l: usize,
        now_ns: u64,
        (waits, arrived_ns, marked): (QueuedPacket, u64, bool),
    ) -> u64 {
        // All queues share one wire.
        let lossy = self.links[sender].transit_losses.as_deref_mut();
        let is_lost = lossy.is_some_and(|it| it.draw_loss(waits.bits / 8.0, now_ns));
        let begins_ns = self.links[sender].shape(now_ns, waits.bytes());
        let link = &mut self.links[l];
        let (begins_ns, left_ns) = match (&mut link.trace, link.queue.managed_mut()) {
            (Some(trace), Some(managed)) => {
                // The link is busy while a packet waits for an opportunity.
                let begins_ns = managed.free_ns.max(arrived_ns);
                let left_ns = trace.serve(now_ns, waits.bytes());
                managed.opportunity_ns = trace.next_ns();
                (begins_ns, left_ns)
            }
            _ => (
                begins_ns,
                begins_ns + service_ns(waits.bits, link.bandwidth_bps),
            ),
        };
        let takes_ns = left_ns - begins_ns;
        if let Some(managed) = link.queue.managed_mut() {
            (managed.begins_ns, managed.free_ns) = (begins_ns, left_ns);
        }
        link.queue.counts.service_ns += takes_ns;
        link.queue.counts.sojourn_ns += left_ns - arrived_ns;
        link.queue.counts.marked += u64::from(marked);
        let packet = Packet {
            time_ns: left_ns,
            ..waits.packet
        };
        match &mut link.transit_losses {
            Some(lossy) if is_lost => lossy.pending_losses.push(packet),
            _ => self.propagate(sender, l, packet, waits.bytes()),
        }
        left_ns
    }

    /// Propagates a packet of `bytes` bytes that link `l` has chosen to transmit. Its time is the end of transmission.
    #[inline]
    pub fn propagate(&mut self, sender: usize, l: usize, packet: Packet, bytes: u32) {
        let (left_ns, delay_ns) = (packet.time_ns, self.links[l].delay_ns);
        let out = self.topology.hops[packet.hop as usize].output_wire;
        let Some(delays) = self.links[sender].delay_line.as_deref_mut() else {
            let next = packet.next_hop(left_ns + delay_ns);
            self.topology.wires.push(out, next);
            return;
        };
        // The queues of a link share one line.
        let propagation = delays.line.propagate(left_ns, bytes, delay_ns);
        let arrivals_ns = match propagation {
            Propagation::Lost => [None, None],
            Propagation::Arrives { at_ns, copy_ns } => [copy_ns, Some(at_ns)],
        };
        if let [Some(_), _] = arrivals_ns {
            let spec = &self.topology.specs[packet.hop as usize];
            change_copies(&mut self.loss_counts, &mut self.edge_markers, spec, |n| {
                *n += 1
            });
        }
        let link = &mut self.links[l];
        if let (Propagation::Lost, Some(lossy)) = (propagation, &mut link.transit_losses) {
            lossy.pending_losses.push(packet);
        }
        if let Some(delays) = &mut link.delay_line {
            delays.transmitted_last.clear();
            for at_ns in arrivals_ns.into_iter().flatten() {
                let next = packet.next_hop(at_ns);
                delays.transmitted_last.push((next, left_ns));
                self.topology.wires.push(out, next);
            }
        }
    }

    /// Counts packets that the queue of a link has accepted and then dropped.
    pub fn drop_managed(&mut self, l: usize, now_ns: u64, dropped: DroppedPackets) {
        self.links[l].queue.counts.dropped_early += dropped.early;
        for waits in dropped.packets {
            let counts = &mut self.links[l].queue.counts;
            counts.accepted -= 1;
            counts.lost += 1;
            let waited_ns = now_ns - waits.packet.time_ns;
            counts.sojourn_ns += waited_ns;
            counts.dropped_ns += waited_ns;
            self.count_loss(waits.packet.hop, now_ns);
        }
    }

    /// Counts the losses in transit of packets that have been transmitted by now.
    pub fn count_transit_losses(&mut self) {
        for l in 0..self.links.len() {
            self.links[l].forget_arrived(self.now_ns);
            while let Some(packet) = self.links[l].next_transit_loss(self.now_ns) {
                self.count_loss(packet.hop, packet.time_ns);
            }
        }
    }
}

/// Returns the bits of a packet on the wire of a hop.
pub(crate) fn bits_of(
    inner: &CompiledNetwork,
    transfers: &[Transfer],
    hop: &HopSpec,
    packet: &Packet,
) -> f64 {
    match (hop.sizes, packet.seq) {
        (Sizes::Acks { .. }, _) => hop.ack_bits(packet),
        (_, 0) => hop.header_bits,
        (Sizes::Messages, seq) => {
            let overhead = inner.links[hop.link as usize].overhead;
            overhead.wire_bits(8.0 * transfers[hop.transfer as usize].wire_bytes(seq))
        }
        (Sizes::Equal, _) => hop.bits,
    }
}

/// Merge of two sorted runs.
struct Merged<'a> {
    a: &'a [Packet],
    b: &'a [Packet],
}

impl Iterator for Merged<'_> {
    type Item = Packet;

    #[inline(always)]
    fn next(&mut self) -> Option<Packet> {
        let from = match (self.a, self.b) {
            ([a, ..], [b, ..]) if b.order() < a.order() => &mut self.b,
            ([], _) => &mut self.b,
            _ => &mut self.a,
        };
        let (first, rest) = from.split_first()?;
        *from = rest;
        Some(*first)
    }
}
