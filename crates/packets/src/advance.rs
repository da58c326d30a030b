//! How packets are moved through time.
//!
//! Nothing that arrives at a link after some moment leaves it before the queue that is there, its own
//! transmission and the link's delay are over. So each link has a *horizon*: before it, nothing arrives
//! behind the link but what is on its wires already. A link may go on to the earliest horizon of those
//! before it, and sees to all that arrives there until then, in order, at once. The ends that it feeds
//! act right after it, as far as its horizon. Links have their turns in an order in which what they wait
//! for has had its own, or is far away, again and again until all have come to the end.
//!
//! Where too few packets arrive while that brings them forward, moment follows moment. Both come to the same, and
//! so does a run that is stopped on the way and goes on: what happens depends on times alone, and of
//! what happens at one moment on [`Packet::order`](crate::wire::Packet::order).

use std::time::Instant;

use netflow_tcpmodel::tcp::NEVER;

use crate::engine::Engine;
use crate::order::take_turns;
use crate::plan::Target;
use crate::schedule::Fed;
use crate::users::NO_SLOT;
use crate::visits::QUIET_NS;

/// At the end of so much time all have come equally far: what senders that hear of nothing send until
/// then is kept.
const WINDOW_NS: u64 = 1_000_000_000;
/// The first time is short: how many packets there are is not known.
const FIRST_NS: u64 = 10_000_000;
/// Until it is known whether several threads are faster than one, so many packets at links are followed from one such time to
/// the next, or for each link and transfer so many: these change hands then.
const PKTS_A_STRETCH: f64 = 1e6;
const PKTS_A_CHANGE: f64 = 30.0;
/// Until it is, sweeps are taken to pay that look at each link once in so long.
const LONG_NS: u64 = 500_000;
/// To follow one packet in the order of all costs as much as to look at so many links and ends: in stars of 60 and 200
/// hosts, and in a network of 1000 nodes with little traffic, both ways took as long at 15 to 40.
const LOOKS_PER_PACKET: f64 = 25.0;

impl Engine {
    /// Goes on to `end_ns`.
    pub fn run_until(&mut self, end_ns: u64) {
        let window_ns = match self.visits.crowds.is_empty() && self.schedule.unfed.is_empty() {
            true => WINDOW_NS,
            // Who comes has to be known before.
            false => QUIET_NS,
        };
        while self.now_ns < end_ns {
            let mut until_ns = end_ns.min(self.now_ns.saturating_add(window_ns));
            if self.pkts_per_ns.is_none() {
                until_ns = until_ns.min(self.now_ns.saturating_add(FIRST_NS));
            }
            if let Some(pkts_per_ns) = self.pkts_per_ns
                && self.may_have_parts()
                && !self.parts.choice.is_made
            {
                let change = self.links.len() + self.transfers.len();
                let pkts = PKTS_A_STRETCH.max(PKTS_A_CHANGE * change as f64);
                let stretch_ns = (pkts / pkts_per_ns).max(1.0) as u64;
                until_ns = until_ns.min(self.now_ns.saturating_add(stretch_ns));
            }
            self.users_come(until_ns);
            self.schedule.by_moments = !self.sweeps_pay();
            let before = self.offered();
            let may_divide = !self.schedule.by_moments && self.parts_may_pay();
            let began = Instant::now();
            if self.schedule.by_moments {
                self.follow_moments(until_ns);
            } else if may_divide && self.parts.choice.several {
                self.sweep_in_parts(until_ns);
            } else {
                self.sweep(until_ns);
            }
            let pkts = self.offered() - before;
            match may_divide {
                true => self.parts.choice.note(began.elapsed(), pkts),
                false => self.parts.choice.pause(),
            }
            self.pkts_per_ns = Some(pkts as f64 / (until_ns - self.now_ns) as f64);
            self.now_ns = until_ns;
            self.settle();
        }
    }

    /// Whether so many packets arrive while a sweep brings all links forward that to look at all links and
    /// ends costs less than to follow the order of packets. The result is the same.
    fn sweeps_pay(&self) -> bool {
        let schedule = &self.schedule;
        let pays = match self.pkts_per_ns {
            Some(rate) => LOOKS_PER_PACKET * rate > schedule.order.looks_per_ns(rate),
            None => {
                schedule.order.looks_per_ns(0.0) * LONG_NS as f64 <= schedule.order.links as f64
            }
        };
        pays && !schedule.in_order
    }

    /// Packets that have arrived at links.
    pub fn offered(&self) -> u64 {
        let each = self.links.iter().map(|link| link.queue.counts.offered());
        each.sum()
    }

    /// All that happens before `end_ns`.
    pub fn sweep(&mut self, end_ns: u64) {
        self.begin_sweep(end_ns);
        while self.turn(end_ns) < end_ns {}
    }

    /// What happens before links have had a turn: what senders do that hear of nothing, and what ends do
    /// that have heard all they will for now.
    fn begin_sweep(&mut self, end_ns: u64) {
        self.senders_begin(end_ns);
        for l in 0..self.links.len() {
            self.ends_act(l, end_ns);
        }
    }

    /// The first part of that: what senders do that hear of nothing. From now on horizons are known.
    pub fn senders_begin(&mut self, end_ns: u64) {
        for i in 0..self.schedule.unfed.len() {
            self.sender_acts(self.schedule.unfed[i], end_ns);
        }
        for i in 0..self.schedule.unfed_slots.len() {
            self.slot_acts(self.schedule.unfed_slots[i] as usize, end_ns);
        }
        for l in 0..self.links.len() {
            self.link_has_come(l, self.now_ns);
        }
    }

    /// Each link has its turn, those of loops as often as that brings them forward: it goes as far as it may, at most to
    /// `end_ns`, and the ends behind it follow. How far all have come.
    pub fn turn(&mut self, end_ns: u64) -> u64 {
        let turns = std::mem::take(&mut self.schedule.order.turns);
        let (_, least_ns) = take_turns(&turns, &mut |l| self.link_has_turn(l as usize, end_ns));
        self.schedule.order.turns = turns;
        least_ns.min(end_ns)
    }

    /// A link goes as far as it may: whether that is farther than before, and how far it has come.
    #[inline]
    fn link_has_turn(&mut self, l: usize, end_ns: u64) -> (bool, u64) {
        let place = &self.schedule.places[l];
        let until_ns = self.schedule.horizon_of(&place.after).min(end_ns);
        let comes = until_ns > place.until_ns;
        if comes {
            let acts = self.link_acts(l, until_ns);
            self.link_has_come(l, until_ns);
            let until_ns = self.schedule.horizon_ns[l].min(end_ns);
            if acts || self.schedule.places[l].ends_ns < until_ns {
                self.ends_act(l, end_ns);
            }
        }
        (comes, until_ns)
    }

    /// A link has seen to all that arrives before `until_ns`.
    #[inline]
    fn link_has_come(&mut self, l: usize, until_ns: u64) {
        let place = &mut self.schedule.places[l];
        place.until_ns = until_ns;
        let link = &self.links[l];
        let left_ns = link.free_ns().max(until_ns) + place.least_service_ns.min(NEVER / 4);
        self.schedule.horizon_ns[l] = left_ns + link.delay_ns;
    }

    /// All that happens before the link's horizon at the ends that it feeds.
    #[inline]
    pub fn ends_act(&mut self, l: usize, end_ns: u64) {
        let alone_ns = self.schedule.horizon_ns[l].min(end_ns);
        let mut ends_ns = NEVER;
        for i in 0..self.schedule.places[l].receivers.len() {
            let fed = self.schedule.places[l].receivers[i];
            let t = fed.transfer as usize;
            let next_ns = self.plan.wires.head_ns(fed.wire);
            let next_ns = next_ns.min(self.schedule.receiver_due_ns[t]);
            if next_ns >= alone_ns {
                ends_ns = ends_ns.min(next_ns);
                continue;
            }
            let until_ns = self.until_ns(fed, alone_ns);
            let transfer = &mut self.transfers[t];
            let receiving = &mut transfer.receiving;
            receiving.receive(&transfer.ends, until_ns, &mut self.plan.wires);
            self.schedule.receiver_due_ns[t] = receiving.due_ns();
            let next_ns = self.plan.wires.head_ns(fed.wire);
            ends_ns = ends_ns.min(next_ns.min(self.schedule.receiver_due_ns[t]));
            self.note_delays(t);
        }
        for i in 0..self.schedule.places[l].senders.len() {
            let fed = self.schedule.places[l].senders[i];
            if self.sender_next_ns(fed) < alone_ns {
                self.sender_acts(fed.transfer, self.until_ns(fed, alone_ns));
            }
            ends_ns = ends_ns.min(self.sender_next_ns(fed));
        }
        for i in 0..self.schedule.places[l].slots.len() {
            let slot = self.schedule.places[l].slots[i] as usize;
            let feeders = &self.schedule.slot_feeders[slot];
            self.slot_acts(slot, self.schedule.horizon_of(feeders).min(end_ns));
        }
        let place = &mut self.schedule.places[l];
        place.ends_ns = if place.feeds_alone { ends_ns } else { 0 };
    }

    /// When a sender has something to do next.
    #[inline]
    fn sender_next_ns(&self, fed: Fed) -> u64 {
        let next_ns = self.plan.wires.head_ns(fed.wire);
        next_ns.min(self.schedule.sender_due_ns[fed.transfer as usize])
    }

    /// How far an end may go that one link feeds that has come to `alone_ns`.
    #[inline]
    fn until_ns(&self, fed: Fed, alone_ns: u64) -> u64 {
        match fed.alone {
            true => alone_ns,
            false => {
                let origins = &self.plan.origins[fed.fed_by as usize];
                alone_ns.min(self.schedule.horizon_of(origins))
            }
        }
    }

    fn sender_acts(&mut self, t: u32, until_ns: u64) {
        let transfer = &mut self.transfers[t as usize];
        transfer.send(until_ns, &mut self.plan.wires);
        self.schedule.sender_due_ns[t as usize] = transfer.sender_due_ns();
        self.note_round_trips(t as usize);
    }

    /// All that happens before `end_ns`, moment by moment: at each what ends do, then links.
    fn follow_moments(&mut self, end_ns: u64) {
        self.schedule.wire_moments.clear();
        self.schedule.transfer_moments.clear();
        self.schedule.link_moments.clear();
        for l in 0..self.links.len() {
            self.note_link(l);
        }
        self.plan.wires.is_watched = true;
        for w in 0..self.plan.wires.len() as u32 {
            self.schedule
                .wire_moments
                .note(w, self.plan.wires.head_ns(w));
        }
        for t in 0..self.transfers.len() {
            let due_ns = self.schedule.receiver_due_ns[t].min(self.schedule.sender_due_ns[t]);
            self.schedule.transfer_moments.note(t as u32, due_ns);
        }
        let (mut links, mut transfers) = (Vec::new(), Vec::new());
        loop {
            let wires_ns = self.schedule.wire_moments.next_ns();
            let moment_ns = wires_ns
                .min(self.schedule.transfer_moments.next_ns())
                .min(self.schedule.link_moments.next_ns());
            if moment_ns >= end_ns {
                break;
            }
            let until_ns = moment_ns + 1;
            self.take_wires(until_ns, &mut links, &mut transfers);
            while let Some(t) = self.schedule.transfer_moments.take_before(until_ns) {
                transfers.push(t);
            }
            transfers.sort_unstable();
            transfers.dedup();
            for t in transfers.drain(..) {
                self.transfer_acts(t, until_ns);
            }
            self.note_changed();
            self.take_wires(until_ns, &mut links, &mut transfers);
            while let Some(l) = self.schedule.link_moments.take_before(until_ns) {
                links.push(l);
            }
            links.sort_unstable_by_key(|&l| self.schedule.places[l as usize].rank);
            links.dedup();
            for l in links.drain(..) {
                self.link_acts(l as usize, until_ns);
                self.note_link(l as usize);
            }
            self.note_changed();
        }
        self.plan.wires.is_watched = false;
    }

    /// The links and the transfers at which something arrives before `until_ns`.
    fn take_wires(&mut self, until_ns: u64, links: &mut Vec<u32>, transfers: &mut Vec<u32>) {
        while let Some(w) = self.schedule.wire_moments.take_before(until_ns) {
            match self.plan.targets[w as usize] {
                Target::Link(l) => links.push(l),
                Target::Receiver(t) | Target::Sender(t) => transfers.push(t),
            }
        }
    }

    /// When the queue of a link has something to do by itself.
    #[inline]
    fn note_link(&mut self, l: usize) {
        let link = &self.links[l];
        if link.queue.managed.is_some() {
            self.schedule.link_moments.note(l as u32, link.due_ns());
        }
    }

    fn note_changed(&mut self) {
        let wires = &mut self.plan.wires;
        let mut changed = std::mem::take(&mut wires.changed);
        for w in changed.drain(..) {
            self.schedule.wire_moments.note(w, wires.head_ns(w));
        }
        wires.changed = changed;
    }

    /// All that happens at both ends of a transfer, or of those of its slot, before `until_ns`.
    fn transfer_acts(&mut self, t: u32, until_ns: u64) {
        let slot = self.visits.slot_of[t as usize];
        if slot != NO_SLOT {
            return self.slot_acts(slot as usize, until_ns);
        }
        let transfer = &mut self.transfers[t as usize];
        transfer.act(until_ns, &mut self.plan.wires);
        let due_ns = (transfer.receiving.due_ns(), transfer.sender_due_ns());
        self.schedule.set_due(t, due_ns.0, due_ns.1);
        self.note_delays(t as usize);
        self.note_round_trips(t as usize);
    }
}
