//! Who feeds whom: how far each link may go, and in which order links are looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use rand_pcg::Pcg32;

use crate::batch::Batch;
use crate::engine::Engine;
use crate::moments::Moments;
use crate::plan::{NOWHERE, Plan, Target};
use crate::tcp::NEVER;
use crate::users::NO_SLOT;

/// So many orders of links are tried, the more the fewer inputs they have: all tries together look at about so many.
const FEWEST_TRIES: usize = 8;
const MOST_TRIES: usize = 40;
const LOOKED_AT: usize = 60_000;

/// What is due, and how far each part of the network has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    /// By link.
    pub places: Vec<Place>,
    /// By link: before this, nothing arrives behind it but what is on its wires already.
    pub horizon_ns: Vec<u64>,
    /// Links that anything arrives at, in the order in which they are looked at.
    pub order: Vec<u32>,
    /// By slot: the links that feed its ends.
    pub slot_feeders: Vec<Vec<u32>>,
    /// Transfers whose senders hear of nothing, and slots at which nothing arrives.
    pub unfed: Vec<u32>,
    pub unfed_slots: Vec<u32>,
    /// By transfer: when its receiver and its sender have something to do by themselves; of a slot, the
    /// sender of its first transfer stands for all.
    pub receiver_due_ns: Vec<u64>,
    pub sender_due_ns: Vec<u64>,
    /// How far a sweep brings all links, if none has a queue, and how many links and ends it looks at.
    pub advance_ns: u64,
    pub looks: usize,
    /// Whether moment has to follow moment in any case, and whether it does.
    pub in_order: bool,
    pub by_moments: bool,
    /// Then: when to look at wires, at transfers, and at links whose queues are managed.
    pub wire_moments: Moments,
    pub transfer_moments: Moments,
    pub link_moments: Moments,
    /// Wires on which packets arrive at a link, and those packets: scratch.
    pub arriving: Vec<u32>,
    pub batch: Batch,
}

/// What surrounds a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// Wires that end there.
    pub inputs: Vec<u32>,
    /// Links whose horizons bound how far it may go: those before it, and those that feed the ends that
    /// send to it.
    pub after: Vec<u32>,
    /// Ends that it feeds.
    pub receivers: Vec<Fed>,
    pub senders: Vec<Fed>,
    pub slots: Vec<u32>,
    /// The shortest transmission of what goes over it.
    pub least_service_ns: u64,
    /// Whether of all packets nothing but their hop has to be known.
    pub alike: bool,
    /// Until when all that arrives has been seen to.
    pub until_ns: u64,
    /// Which comes first of links at which something arrives at the same moment.
    pub rank: u32,
}

/// An end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fed {
    pub transfer: u32,
    /// The wire on which packets come to it, and that which begins at the links that feed it: another
    /// one where a sender sees what arrives at its receiver.
    pub wire: u32,
    pub fed_by: u32,
    /// Whether only one link feeds it.
    pub alone: bool,
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

impl Schedule {
    /// Before this, nothing more arrives at the end of any of these links.
    #[inline]
    pub fn horizon_of(&self, links: &[u32]) -> u64 {
        let each = links.iter().map(|&l| self.horizon_ns[l as usize]);
        each.min().unwrap_or(NEVER)
    }

    /// The ends of one more slot, whose first transfer has this number.
    fn add_slot(&mut self, plan: &Plan, slot: u32, first: u32) {
        let feeders = feeders_of_slot(plan, first);
        for t in [first, first + 1] {
            let ends = &plan.ends[t as usize];
            for way in [ends.data, ends.acks] {
                self.bound(plan, way.wire, &feeders);
            }
        }
        for &l in &feeders {
            self.places[l as usize].slots.push(slot);
        }
        if feeders.is_empty() {
            self.unfed_slots.push(slot);
        }
        self.slot_feeders.push(feeders);
    }

    /// The ends of a transfer that goes by itself.
    fn add_transfer(&mut self, plan: &Plan, t: u32, sees_arrivals: bool) {
        let ends = &plan.ends[t as usize];
        let heard_of = match sees_arrivals {
            true => ends.data_in,
            false => ends.acks_in,
        };
        let (receiver, sender) = (plan.links_before(ends.data_in), plan.links_before(heard_of));
        let fed = |wire, fed_by, feeders: &[u32]| Fed {
            transfer: t,
            wire,
            fed_by,
            alone: feeders.len() == 1,
        };
        self.bound(plan, ends.acks.wire, receiver);
        self.bound(plan, ends.data.wire, sender);
        for &l in receiver {
            let fed = fed(ends.data_in, ends.data_in, receiver);
            self.places[l as usize].receivers.push(fed);
        }
        for &l in sender {
            let fed = fed(ends.acks_in, heard_of, sender);
            self.places[l as usize].senders.push(fed);
        }
        if sender.is_empty() {
            self.unfed.push(t);
        }
    }

    /// What is put on this wire follows from what these links hand on.
    fn bound(&mut self, plan: &Plan, wire: u32, feeders: &[u32]) {
        if let Some(Target::Link(l)) = plan.targets.get(wire as usize) {
            let place = &mut self.places[*l as usize];
            add(&mut place.inputs, wire);
            feeders.iter().for_each(|&l| add(&mut place.after, l));
        }
    }

    /// A transfer has something to do at this time.
    #[inline]
    pub fn set_due(&mut self, t: u32, receiver_ns: u64, sender_ns: u64) {
        self.receiver_due_ns[t as usize] = receiver_ns;
        self.sender_due_ns[t as usize] = sender_ns;
        if self.by_moments {
            self.transfer_moments.note(t, receiver_ns.min(sender_ns));
        }
    }

    /// In which order links are looked at, and how far a sweep in it brings all links if none has a queue.
    ///
    /// What a link waits for has been looked at before, or is far away: of several tries the one whose sweeps go farthest
    /// is taken. Far is meant as links see it that are ahead of others by what is ahead for them anyway. So a try looks at
    /// links from where the sweeps of the try before left them; if that was no better, from where a wave is that runs out
    /// from one of them.
    fn best_order(&self, ahead_ns: &[u64]) -> (Vec<u32>, u64) {
        let used = |l: &u32| !self.places[*l as usize].inputs.is_empty();
        let links: Vec<u32> = (0..self.places.len() as u32).filter(used).collect();
        let mut next_of = vec![Vec::new(); self.places.len()];
        for &l in &links {
            for &k in &self.places[l as usize].after {
                next_of[k as usize].push(l);
            }
        }
        let inputs: usize = next_of.iter().map(Vec::len).sum();
        let tries = (LOOKED_AT / inputs.max(1)).clamp(FEWEST_TRIES, MOST_TRIES);
        let mut random = Pcg32::new(0, 0);
        let (mut best, mut last_ns) = ((Vec::new(), 0), 0);
        let mut at_ns = vec![0; self.places.len()];
        for _ in 0..tries {
            let order = self.order(&links, &next_of, |k, l| {
                (at_ns[k as usize] + ahead_ns[k as usize]).saturating_sub(at_ns[l as usize])
            });
            let (advance_ns, until_ns) = self.advance_ns(&order, ahead_ns);
            at_ns = match advance_ns > last_ns || links.is_empty() {
                true => until_ns,
                false => wave(
                    links[random.random_range(0..links.len())],
                    &next_of,
                    ahead_ns,
                ),
            };
            last_ns = if advance_ns > last_ns { advance_ns } else { 0 };
            if advance_ns > best.1 || best.0.is_empty() {
                best = (order, advance_ns);
            }
        }
        best
    }

    /// These links in an order in which next is always the one whose nearest input that has not had its turn is
    /// farthest, `far(k, l)` from it.
    fn order(
        &self,
        links: &[u32],
        next_of: &[Vec<u32>],
        far: impl Fn(u32, u32) -> u64,
    ) -> Vec<u32> {
        let mut inputs: Vec<Vec<(u64, u32)>> = vec![Vec::new(); self.places.len()];
        for &l in links {
            let after = self.places[l as usize].after.iter();
            let inputs = &mut inputs[l as usize];
            inputs.extend(after.map(|&k| (far(k, l), k)));
            // The nearest last.
            inputs.sort_unstable_by_key(|&input| Reverse(input));
        }
        let mut placed: Vec<bool> = vec![true; self.places.len()];
        links.iter().for_each(|&l| placed[l as usize] = false);
        let mut nearest = |l: u32, placed: &[bool]| {
            let inputs = &mut inputs[l as usize];
            while inputs.last().is_some_and(|&(_, k)| placed[k as usize]) {
                inputs.pop();
            }
            inputs.last().map_or(NEVER, |&(far_ns, _)| far_ns)
        };
        let rank = |l: u32| Reverse(self.places[l as usize].rank);
        let mut heap: BinaryHeap<_> = links
            .iter()
            .map(|&l| (nearest(l, &placed), rank(l), l))
            .collect();
        let mut order = Vec::with_capacity(links.len());
        while let Some((_, _, l)) = heap.pop() {
            if std::mem::replace(&mut placed[l as usize], true) {
                continue;
            }
            order.push(l);
            for &next in &next_of[l as usize] {
                if !placed[next as usize] {
                    heap.push((nearest(next, &placed), rank(next), next));
                }
            }
        }
        order
    }

    /// How far all links come in a sweep in this order, if none has a queue; and how far each has come after some.
    fn advance_ns(&self, order: &[u32], ahead_ns: &[u64]) -> (u64, Vec<u64>) {
        const SWEEPS: u64 = 16;
        let mut until_ns = vec![0_u64; self.places.len()];
        let mut least_ns = 0;
        for _ in 0..SWEEPS {
            least_ns = NEVER;
            for &l in order {
                let of = |k: &u32| until_ns[*k as usize].saturating_add(ahead_ns[*k as usize]);
                let bound = self.places[l as usize].after.iter().map(of).min();
                until_ns[l as usize] = bound.unwrap_or(NEVER / 2);
                least_ns = least_ns.min(until_ns[l as usize]);
            }
        }
        (least_ns / SWEEPS, until_ns)
    }
}

/// When what begins at one link comes to each of them.
fn wave(from: u32, next_of: &[Vec<u32>], ahead_ns: &[u64]) -> Vec<u64> {
    let mut at_ns = vec![NEVER / 4; next_of.len()];
    let mut heap = BinaryHeap::from([Reverse((0, from))]);
    while let Some(Reverse((now_ns, k))) = heap.pop() {
        if now_ns >= at_ns[k as usize] {
            continue;
        }
        at_ns[k as usize] = now_ns;
        let next_ns = now_ns.saturating_add(ahead_ns[k as usize]);
        heap.extend(next_of[k as usize].iter().map(|&l| Reverse((next_ns, l))));
    }
    at_ns
}

/// The links that feed any end of a slot's two transfers.
fn feeders_of_slot(plan: &Plan, first: u32) -> Vec<u32> {
    let mut feeders = Vec::new();
    for t in [first, first + 1] {
        let ends = &plan.ends[t as usize];
        for wire in [ends.data_in, ends.acks_in] {
            let links = plan.links_before(wire);
            links.iter().for_each(|&l| add(&mut feeders, l));
        }
    }
    feeders
}

impl Engine {
    /// Whether moment has to follow moment in any case: an edge marks at several links, which do not see
    /// each other.
    fn has_wide_edges(&self) -> bool {
        let mut edge_at = vec![None; self.edges.len()];
        let mut entries = self.plan.ends.iter().zip(&self.accounts);
        entries.any(|(ends, account)| match account.aggregate {
            Some(a) if ends.data.wire != NOWHERE => {
                let at = edge_at[a as usize].get_or_insert(ends.data.wire);
                *at != ends.data.wire
            }
            _ => false,
        })
    }

    /// Finds out who feeds whom along the routes of now, and what to look at in which order.
    pub fn make_schedule(&mut self) {
        let plan = &self.plan;
        let mut schedule = Schedule {
            places: vec![Place::default(); self.links.len()],
            horizon_ns: vec![0; self.links.len()],
            receiver_due_ns: vec![NEVER; self.transfers.len()],
            sender_due_ns: vec![NEVER; self.transfers.len()],
            ..Schedule::default()
        };
        for place in &mut schedule.places {
            (place.rank, place.least_service_ns, place.alike) = (u32::MAX, NEVER, true);
        }
        for (w, target) in (0..).zip(&plan.targets) {
            if let Target::Link(l) = *target {
                let place = &mut schedule.places[l as usize];
                place.rank = place.rank.min(w);
                schedule.bound(plan, w, plan.links_before(w));
            }
        }
        for (hop, spec) in plan.hops.iter().zip(&plan.specs) {
            let place = &mut schedule.places[plan.sender(spec.link) as usize];
            // The last packet of a user's message is of any size.
            let own_ns = if spec.varied { 1 } else { hop.service_ns };
            place.least_service_ns = place.least_service_ns.min(own_ns).min(spec.header_ns);
            place.alike &= hop.edge == 0 && !spec.varied;
        }
        for (t, transfer) in (0..).zip(&self.transfers) {
            let slot = self.visits.slot_of[t as usize];
            if slot == NO_SLOT {
                schedule.add_transfer(plan, t, transfer.sees_arrivals());
                schedule.set_due(t, transfer.receiving.due_ns(), transfer.sender_due_ns());
            }
        }
        for (s, slot) in (0..).zip(&self.visits.slots) {
            schedule.add_slot(plan, s, slot.first);
            schedule.set_due(slot.first, NEVER, self.slot_due_ns(s as usize));
        }
        let places = schedule.places.iter().zip(&self.links);
        let ahead_ns =
            places.map(|(place, link)| link.delay_ns.saturating_add(place.least_service_ns));
        let ahead_ns: Vec<u64> = ahead_ns.collect();
        (schedule.order, schedule.advance_ns) = schedule.best_order(&ahead_ns);
        let ends = |place: &Place| place.receivers.len() + place.senders.len() + place.slots.len();
        schedule.looks = schedule.order.len() + schedule.places.iter().map(ends).sum::<usize>();
        schedule.in_order = self.has_wide_edges();
        self.schedule = schedule;
        self.parts.forget();
    }

    /// A slot that has come since: its links have wires between them already.
    pub fn schedule_slot(&mut self, slot: u32, first: u32) {
        self.schedule
            .receiver_due_ns
            .resize(self.transfers.len(), NEVER);
        self.schedule
            .sender_due_ns
            .resize(self.transfers.len(), NEVER);
        self.schedule.add_slot(&self.plan, slot, first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links that wait for each other: a ring, and chords.
    fn random(random: &mut Pcg32, links: u32) -> (Schedule, Vec<u64>) {
        let mut schedule = Schedule::default();
        for l in 0..links {
            let mut after = vec![(l + links - 1) % links];
            for _ in 0..random.random_range(0..3) {
                add(&mut after, random.random_range(0..links));
            }
            schedule.places.push(Place {
                inputs: after.clone(),
                after,
                rank: l,
                ..Place::default()
            });
        }
        let ahead_ns = (0..links).map(|_| random.random_range(1_000..1_000_000));
        (schedule, ahead_ns.collect())
    }

    /// The shortest way round.
    fn shortest_cycle_ns(schedule: &Schedule, ahead_ns: &[u64]) -> u64 {
        let mut next_of = vec![Vec::new(); schedule.places.len()];
        for (l, place) in (0..).zip(&schedule.places) {
            for &k in &place.after {
                next_of[k as usize].push(l);
            }
        }
        let cycle_ns = |from: u32| {
            let at_ns = wave(from, &next_of, ahead_ns);
            let before = schedule.places[from as usize].after.iter();
            let back = before.map(|&k| at_ns[k as usize] + ahead_ns[k as usize]);
            back.min().unwrap_or(NEVER)
        };
        let each = (0..schedule.places.len() as u32).map(cycle_ns);
        each.min().unwrap_or(NEVER)
    }

    /// Whatever the order, a sweep cannot go farther than round the shortest cycle; the order that is found comes
    /// near to that, and is never worse than the first that is tried.
    #[test]
    fn sweeps_go_nearly_as_far_as_they_can() {
        let mut numbers = Pcg32::new(1, 1);
        let mut parts = Vec::new();
        for case in 0..60 {
            let links = numbers.random_range(3..120);
            let (schedule, ahead_ns) = random(&mut numbers, links);
            let most_ns = shortest_cycle_ns(&schedule, &ahead_ns);
            let (order, found_ns) = schedule.best_order(&ahead_ns);
            let mut all = order.clone();
            all.sort_unstable();
            assert_eq!(all, (0..links).collect::<Vec<_>>());
            let all: Vec<u32> = (0..links).collect();
            let mut next_of = vec![Vec::new(); links as usize];
            for &l in &all {
                for &k in &schedule.places[l as usize].after {
                    next_of[k as usize].push(l);
                }
            }
            let first = schedule.order(&all, &next_of, |k, _| ahead_ns[k as usize]);
            let (first_ns, _) = schedule.advance_ns(&first, &ahead_ns);
            // The first sweeps of all have a start that later ones have not.
            assert!(found_ns >= first_ns, "{case}: {found_ns} {first_ns}");
            parts.push(found_ns as f64 / most_ns as f64);
        }
        parts.sort_by(f64::total_cmp);
        assert!(parts[0] > 0.85, "{parts:?}");
    }
}
