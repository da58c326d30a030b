//! How packets are moved through time.
//!
//! Nothing that leaves a link arrives anywhere before the link's delay is over. So, if every delay is
//! at least one step, links and ends do not see each other within a step, and each goes through all
//! that arrives at it, in order, at once. Where a delay is too short for that, moment follows
//! moment. Both come to the same, and so does a run that is stopped on the way and goes on: what
//! happens depends on times alone, and of what happens at one moment on [`Packet::order`].

use crate::engine::Engine;
use crate::plan::{Ends, Target, VARIED};
use crate::queue::service_ns;
use crate::users::NO_SLOT;
use crate::wire::{Packet, Wire};

/// Bounds of a step, and of the steps that a link or a transfer takes at once. With shorter delays,
/// moment follows moment: from here on steps cost more than the order does.
const SHORTEST_NS: u64 = 500_000;
pub(crate) const LONGEST_NS: u64 = 50_000_000;
const MOST_STEPS_LOG: u32 = 6;

impl Engine {
    /// Whether moment has to follow moment: a delay is shorter than any step, or an edge marks at
    /// several links, which do not see each other.
    fn needs_order(&self, least_ns: u64) -> bool {
        let mut edge_at = vec![None; self.edges.len()];
        let mut entries = self.plan.ends.iter().zip(&self.accounts);
        least_ns < SHORTEST_NS
            || entries.any(|(ends, account)| match account.aggregate {
                Some(a) if ends.data.wire != super::plan::NOWHERE => {
                    let at = edge_at[a as usize].get_or_insert(ends.data.wire);
                    *at != ends.data.wire
                }
                _ => false,
            })
    }

    /// The step: the shortest delay of a link; and how many of them each link and each transfer
    /// takes at once: no more than it takes its nearest input to reach it.
    pub fn choose_steps(&mut self) {
        let plan = &self.plan;
        let delay_ns = |wire: u32| {
            let origins = plan.origins.get(wire as usize).into_iter().flatten();
            let delays = origins.map(|&l| self.links[l as usize].delay_ns);
            delays.min().unwrap_or(u64::MAX)
        };
        let used = plan.origins.iter().flatten();
        let least = used.map(|&l| self.links[l as usize].delay_ns).min();
        let least_ns = least.unwrap_or(u64::MAX);
        self.agenda.in_order = self.needs_order(least_ns);
        let step_ns = match self.agenda.in_order {
            // As if steps were as short as can be, but for those in which nothing happens.
            true => 1,
            false => least_ns.clamp(SHORTEST_NS, LONGEST_NS),
        };
        self.agenda.clock.step_ns = step_ns;
        self.agenda.clock.per_step = u64::MAX / step_ns;
        let most_log = if self.agenda.in_order {
            0
        } else {
            MOST_STEPS_LOG
        };
        let log = |ns: u64| (ns / step_ns).max(1).ilog2().min(most_log) as u8;
        let inputs = plan.ends.iter();
        self.agenda.transfer_log = inputs
            .zip(&self.visits.slot_of)
            .map(|(e, &slot)| match slot {
                NO_SLOT => log(delay_ns(e.data_in).min(delay_ns(e.acks_in))),
                // Users act of their own accord, at any time.
                _ => 0,
            })
            .collect();
        let mut link_log = vec![most_log as u8; self.links.len()];
        for (w, target) in plan.targets.iter().enumerate() {
            if let Target::Link(l) = target {
                let mine = &mut link_log[*l as usize];
                *mine = (*mine).min(log(delay_ns(w as u32)));
            }
        }
        for (ends, &log) in plan.ends.iter().zip(&self.agenda.transfer_log) {
            for way in [ends.data, ends.acks] {
                if let Some(Target::Link(l)) = plan.targets.get(way.wire as usize) {
                    let mine = &mut link_log[*l as usize];
                    *mine = (*mine).min(log);
                }
            }
        }
        let log_of = |target: &Target| match *target {
            Target::Link(l) => link_log[l as usize],
            Target::Receiver(t) | Target::Sender(t) => self.agenda.transfer_log[t as usize],
        };
        self.agenda.wire_log = plan.targets.iter().map(log_of).collect();
        self.agenda.link_log = link_log;
    }

    /// Goes on to `end_ns`.
    pub fn run_until(&mut self, end_ns: u64) {
        self.agenda.clock.begin_ns = self.now_ns;
        self.agenda.clock.since = 0;
        self.register_all();
        while self.now_ns < end_ns {
            self.wake();
            self.transfers_act(end_ns);
            self.links_act(end_ns);
            let next_ns = match self.agenda.in_order {
                true => self.next_moment_ns().max(self.now_ns + 1),
                false => self.now_ns + self.agenda.clock.step_ns,
            };
            self.now_ns = next_ns.min(end_ns);
            self.agenda.clock.since =
                (self.now_ns - self.agenda.clock.begin_ns) / self.agenda.clock.step_ns;
            self.steps += 1;
        }
    }

    /// When something happens next, if moment follows moment.
    fn next_moment_ns(&self) -> u64 {
        let come = self.visits.crowds.iter().map(|crowd| crowd.next_ns());
        let wires = self.agenda.wire_moments.next_ns();
        wires
            .min(self.agenda.transfer_moments.next_ns())
            .min(come.min().unwrap_or(u64::MAX))
    }

    /// All wires with packets on them, and all transfers.
    fn register_all(&mut self) {
        match self.agenda.in_order {
            true => {
                self.agenda.wire_moments.clear();
                self.agenda.transfer_moments.clear();
                for (t, &due_ns) in (0..).zip(&self.agenda.due_ns) {
                    self.agenda.transfer_moments.note(t, due_ns);
                }
            }
            false => self.agenda.calendar.clear(),
        }
        for w in 0..self.plan.wires.len() as u32 {
            self.register(w, self.agenda.clock.since);
        }
    }

    /// When a transfer has something to do by itself next.
    #[inline]
    pub fn set_due(&mut self, t: u32, due_ns: u64) {
        self.agenda.due_ns[t as usize] = due_ns;
        if self.agenda.in_order {
            self.agenda.transfer_moments.note(t, due_ns);
        }
    }

    /// Tells links and transfers of the wires on which packets arrive in the chunks that begin now.
    fn wake(&mut self) {
        let mut due = self.agenda.calendar.take(self.agenda.clock.since);
        if self.agenda.in_order {
            while let Some(w) = self.agenda.wire_moments.take_before(self.now_ns + 1) {
                due.push(w);
            }
        }
        for w in due.drain(..) {
            match self.plan.targets[w as usize] {
                Target::Link(l) => {
                    let link = &mut self.links[l as usize];
                    if link.pending.is_empty() {
                        self.agenda.active_links.push(l);
                    }
                    link.pending.push(w);
                }
                Target::Receiver(t) | Target::Sender(t) => {
                    let t = match self
                        .visits
                        .slots
                        .get(self.visits.slot_of[t as usize] as usize)
                    {
                        Some(slot) => slot.first,
                        None => t,
                    };
                    if !self.agenda.is_awake[t as usize] {
                        self.agenda.is_awake[t as usize] = true;
                        self.agenda.awake.push(t);
                    }
                }
            }
        }
        self.agenda.calendar.give_back(due);
    }

    fn transfers_act(&mut self, end_ns: u64) {
        let next_ns = self.now_ns + self.agenda.clock.step_ns;
        self.users_come(next_ns.min(end_ns));
        if self.agenda.in_order {
            while let Some(t) = self.agenda.transfer_moments.take_before(next_ns) {
                self.wake_if_due(t, end_ns);
                if !self.agenda.is_awake[t as usize] {
                    self.agenda
                        .transfer_moments
                        .note(t, self.agenda.due_ns[t as usize]);
                }
            }
        } else {
            for t in 0..self.agenda.due_ns.len() as u32 {
                self.wake_if_due(t, end_ns);
            }
        }
        let mut awake = std::mem::take(&mut self.agenda.awake);
        for &i in &awake {
            let i = i as usize;
            let until_ns = self
                .agenda
                .clock
                .chunk_end_ns(self.agenda.transfer_log[i], end_ns);
            self.agenda.is_awake[i] = false;
            if self.visits.slot_of[i] == NO_SLOT {
                let transfer = &mut self.transfers[i];
                transfer.act(until_ns, &mut self.plan.wires);
                let due_ns = transfer.due_ns();
                self.set_due(i as u32, due_ns);
                self.note_delays(i);
                self.tell_of(self.transfers[i].ends);
            } else {
                self.slot_acts(self.visits.slot_of[i] as usize, until_ns);
                self.tell_of(self.transfers[i].ends);
                self.tell_of(self.transfers[i + 1].ends);
            }
        }
        awake.clear();
        self.agenda.awake = awake;
    }

    /// Wakes a transfer that has something to do in its chunk: at the beginning of that, so that
    /// links whose chunks are as long hear of all of it.
    #[inline]
    fn wake_if_due(&mut self, t: u32, end_ns: u64) {
        let until_ns = self
            .agenda
            .clock
            .chunk_end_ns(self.agenda.transfer_log[t as usize], end_ns);
        let is_awake = &mut self.agenda.is_awake[t as usize];
        if self.agenda.due_ns[t as usize] < until_ns && !*is_awake {
            *is_awake = true;
            self.agenda.awake.push(t);
        }
    }

    /// Tells links of what a transfer has sent, and the calendar of what is on the way to it.
    #[inline]
    fn tell_of(&mut self, ends: Ends) {
        for wire in [ends.data_in, ends.acks_in] {
            self.register(wire, self.agenda.clock.since + 1);
        }
        for way in [ends.data, ends.acks] {
            let Some(wire) = self.plan.wires.get_mut(way.wire as usize) else {
                continue;
            };
            if wire.is_new()
                && let Target::Link(l) = self.plan.targets[way.wire as usize]
            {
                wire.seen();
                let link = &mut self.links[l as usize];
                if link.pending.is_empty() {
                    self.agenda.active_links.push(l);
                }
                link.pending.push(way.wire);
            }
        }
    }

    /// Notes when the first packet of a wire is due, if there is one.
    #[inline]
    fn register(&mut self, wire: u32, earliest: u64) {
        let packet = self.plan.wires.get(wire as usize).and_then(Wire::first);
        if let Some(&Packet { time_ns, .. }) = packet {
            self.plan_arrival(wire, time_ns, earliest);
        }
    }

    /// Looks at the end of a wire when something arrives there at `time_ns`, but not before the
    /// step `earliest`.
    #[inline]
    fn plan_arrival(&mut self, wire: u32, time_ns: u64, earliest: u64) {
        if self.agenda.in_order {
            self.agenda
                .wire_moments
                .note(wire, time_ns.max(self.agenda.clock.begin_ns + earliest));
        } else {
            let step = self
                .agenda
                .clock
                .step_of(time_ns, self.agenda.wire_log[wire as usize]);
            self.agenda.calendar.add(wire, step, earliest);
        }
    }

    fn links_act(&mut self, end_ns: u64) {
        let mut active = std::mem::take(&mut self.agenda.active_links);
        for &l in &active {
            let until_ns = self
                .agenda
                .clock
                .chunk_end_ns(self.agenda.link_log[l as usize], end_ns);
            self.link_acts(l as usize, until_ns);
        }
        active.clear();
        self.agenda.active_links = active;
    }

    /// All that happens at a link before `until_ns`.
    fn link_acts(&mut self, l: usize, until_ns: u64) {
        let mut batch = std::mem::take(&mut self.agenda.batch);
        let mut pending = std::mem::take(&mut self.links[l].pending);
        batch.clear();
        let mut runs = 0;
        for w in pending.drain(..) {
            let before = batch.len();
            let wire = &mut self.plan.wires[w as usize];
            wire.take_until(until_ns, &mut batch);
            runs += usize::from(batch.len() > before);
            if let Some(&Packet { time_ns, .. }) = wire.first() {
                self.plan_arrival(w, time_ns, self.agenda.clock.since + 1);
            }
        }
        self.links[l].pending = pending;
        if runs > 1 {
            merge(&mut batch);
        }
        for &packet in &batch {
            self.packet_arrives(l, packet);
        }
        self.agenda.batch = batch;
    }

    #[inline]
    fn packet_arrives(&mut self, l: usize, mut packet: Packet) {
        let link = &mut self.links[l];
        let mut hop = &mut self.plan.hops[packet.hop as usize];
        if hop.edge != 0 {
            let spec = &self.plan.specs[packet.hop as usize];
            let window_pkts = self.transfers[spec.transfer as usize].window_of_next();
            let edge = &mut self.edges[hop.edge as usize - 1];
            let bytes = (spec.bits / 8.0).round() as u32;
            let precedence = edge.mark(packet.time_ns, bytes, window_pkts);
            packet.hop += precedence as u32 * spec.stride;
            hop = &mut self.plan.hops[packet.hop as usize];
        }
        hop.arrived += 1;
        let service_ns = match packet.seq {
            0 => self.plan.specs[packet.hop as usize].header_ns,
            seq if hop.service_ns == VARIED => {
                let transfer = self.plan.specs[packet.hop as usize].transfer;
                let bits = 8.0 * self.transfers[transfer as usize].wire_bytes(seq);
                service_ns(bits, link.bandwidth_bps)
            }
            _ => hop.service_ns,
        };
        let left_ns = match link.queue.has_rio() {
            false => link.queue.arrive(packet.time_ns, service_ns),
            true => {
                let precedence = self.plan.specs[packet.hop as usize].precedence;
                link.queue
                    .arrive_marked(packet.time_ns, service_ns, precedence)
            }
        };
        let lost_on_the_way = match &mut link.losses {
            None => false,
            Some(losses) => {
                let spec = &self.plan.specs[packet.hop as usize];
                let bytes = match (packet.seq, hop.service_ns) {
                    (0, _) => spec.header_bits / 8.0,
                    (seq, VARIED) => self.transfers[spec.transfer as usize].wire_bytes(seq),
                    _ => spec.bits / 8.0,
                };
                losses.next(bytes).is_some()
            }
        };
        let Some(left_ns) = left_ns else {
            return self.is_lost(packet.hop, packet.time_ns);
        };
        if lost_on_the_way {
            link.link_lost += 1;
            return self.is_lost(packet.hop, packet.time_ns);
        }
        let time_ns = left_ns + link.delay_ns;
        let out = hop.out;
        let is_next = self.plan.wires[out as usize].push(Packet {
            time_ns,
            hop: packet.hop + 1,
            ..packet
        });
        if is_next {
            self.plan_arrival(out, time_ns, self.agenda.clock.since + 1);
        }
    }
}

/// Puts packets of several wires in order of their arrival.
fn merge(batch: &mut [Packet]) {
    if batch.len() > 20 {
        return batch.sort_by_key(Packet::order);
    }
    for i in 1..batch.len() {
        let packet = batch[i];
        let mut j = i;
        while j > 0 && batch[j - 1].order() > packet.order() {
            batch[j] = batch[j - 1];
            j -= 1;
        }
        batch[j] = packet;
    }
}
