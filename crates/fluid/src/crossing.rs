//! Who crosses each link, and so what fills its queue.
//!
//! It changes when connections start or stop, routes or bandwidths change, and not from step to step.

use std::collections::HashMap;

use netflow_network::{ACK_BYTES, Calibration, Overhead, Room};
use netflow_workload::Transfers;

use crate::bursts::{Bursts, WayOfTransfers};
use crate::filling::{ByFilling, EMPTY, Filling};

/// A queue with room for so many packets is M/M/1/K, and from so many on it is that of windows.
const ROOMS: (f64, f64) = (2.0, 10.0);

/// Connections of a class, as far as it matters to queues.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// How many.
    pub count: f64,
    /// Packets/s of each; `None` if a profile says what it sends.
    pub rate_pps: Option<f64>,
    /// Packets/s that the application of each makes; infinite if there is always more, as there is where TCP gets
    /// less than [that](want_more).
    pub application_pps: f64,
    /// Largest window of each in packets; infinite if nothing limits it.
    pub window_pkts: f64,
    /// Propagation there and back, in seconds.
    pub round_trip_s: f64,
    /// IP bits of a packet of data.
    pub data_bits: f64,
    /// How far each window swings, beside one of ns-2's Reno.
    pub swing: f64,
    /// Acknowledgements per packet of data that are traffic.
    pub acks: f64,
    /// The transfers that its rate is the mean of.
    pub transfers: Option<&'a Transfers>,
}

/// Connections of a class on their way: links by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Crosser<'a> {
    /// Who.
    pub sender: Sender<'a>,
    /// Links of the data.
    pub data: &'a [u32],
    /// Links of the way back.
    pub back: &'a [u32],
}

/// Who crosses one link. The slopes of something by these numbers are written as one, each in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crossing {
    /// What the link sends, in bit/s.
    pub bandwidth_bps: f64,
    /// Bits of packets on its wire beyond those of IP.
    pub overhead: Overhead,
    /// The room of its queue, as [`Room::nominal_pkts`].
    pub buffer_pkts: f64,
    /// As [`Room::bits`].
    pub buffer_bits: Option<f64>,
    /// Bits on the wire of the largest packet of data of windows that cross it.
    pub largest_bits: f64,
    /// Whether all its traffic comes over one link that is no faster: its packets follow each other as far apart as this
    /// link sends them, and hardly wait or get lost again.
    pub is_paced: bool,
    /// Windows whose data crosses it.
    pub windows: f64,
    /// Acknowledgements per packet of each window that has its way back over it.
    pub acks: f64,
    /// Of the windows, those that may grow until the queue overflows: each times
    /// [`reaction`](Self::reaction).
    pub reacting: f64,
    /// The sum of how far these swing.
    pub swinging: f64,
    /// Demand of sources that do not react, in bit/s on the wire.
    pub unresponsive_bps: f64,
    /// The sum over transfers of the bit/s on the wire that they want times what their [bursts](crate::bursts) are here. What
    /// comes over another link is a burst to others only for the part of the traffic that does not come over it.
    pub wanted_bursts: Bursts,
}

/// How [`Crossing::reaction`] changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByRoom {
    /// By [`Crossing::bandwidth_bps`].
    pub bandwidth_bps: f64,
    /// By [`Crossing::buffer_pkts`].
    pub buffer_pkts: f64,
    /// By [`Crossing::windows`].
    pub windows: f64,
    /// By [`Sender::round_trip_s`].
    pub round_trip_s: f64,
}

/// So much more than its share, as a part of it, is rounding.
const ROUNDING: f64 = 1e-9;

/// Lets those always have more to send whose applications make more than TCP gets on their way: more than what is left of
/// some link if all TCP there has the same, and nobody more than it makes.
pub fn want_more(links: &[Crossing], crossers: &mut [Crosser<'_>]) {
    let is_limited = |it: &Sender<'_>| it.rate_pps.is_none() && it.application_pps < f64::INFINITY;
    if !crossers.iter().any(|it| is_limited(&it.sender)) {
        return;
    }
    let mut shared: Vec<Shared> = vec![Shared::default(); links.len()];
    for Crosser { sender, data, .. } in crossers.iter() {
        for &l in *data {
            let factor = links[l as usize].factor(sender.data_bits);
            let link = &mut shared[l as usize];
            match sender.rate_pps {
                Some(_) => link.unresponsive_bps += sender.wanted_bps() * factor,
                None => (link.wanted).push((sender.made_bps() * factor, sender.count)),
            }
        }
    }
    let pairs = links.iter().zip(shared);
    let shares_bps: Vec<f64> = pairs
        .map(|(link, shared)| shared.share_bps(link.bandwidth_bps))
        .collect();
    for Crosser { sender, data, .. } in crossers.iter_mut() {
        let share = |&l: &u32| {
            let l = l as usize;
            shares_bps[l] / links[l].factor(sender.data_bits)
        };
        let shares = data.iter().map(share);
        let least_bps = shares.fold(f64::INFINITY, f64::min);
        if is_limited(sender) && sender.made_bps() > least_bps * (1.0 + ROUNDING) {
            sender.application_pps = f64::INFINITY;
        }
    }
}

/// What wants to cross a link.
#[derive(Clone, Default)]
struct Shared {
    unresponsive_bps: f64,
    /// Of TCP what the application of each makes, in bit/s, and of how many.
    wanted: Vec<(f64, f64)>,
}

impl Shared {
    /// What each gets of a link at most where it is divided so that nobody has more than it wants, and those who have
    /// less have the same (max-min).
    fn share_bps(mut self, bandwidth_bps: f64) -> f64 {
        self.wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left_bps = (bandwidth_bps - self.unresponsive_bps).max(0.0);
        let mut left: f64 = self.wanted.iter().map(|it| it.1).sum();
        for (each_bps, count) in self.wanted {
            if each_bps * left > left_bps {
                return left_bps / left;
            }
            left_bps -= each_bps * count;
            left -= count;
        }
        f64::INFINITY
    }
}

/// Adds all that cross them to links without anybody.
pub fn count<'a>(links: &mut [Crossing], crossers: impl Iterator<Item = Crosser<'a>> + Clone) {
    for Crosser { sender, data, back } in crossers.clone() {
        if !sender.reacts() {
            for &l in data {
                let link = &mut links[l as usize];
                link.unresponsive_bps += link.wanted_bps(&sender);
            }
            continue;
        }
        for &l in data {
            let link = &mut links[l as usize];
            link.windows += sender.count;
            let wire_bits = link.overhead.wire_bits(sender.data_bits);
            link.largest_bits = link.largest_bits.max(wire_bits);
        }
        for &l in back {
            links[l as usize].acks += sender.count * sender.acks;
        }
    }
    for Crosser { sender, data, .. } in crossers.clone().filter(|it| it.sender.reacts()) {
        for &l in data {
            let link = &mut links[l as usize];
            let reacting = sender.count * link.reaction(&sender);
            link.reacting += reacting;
            link.swinging += reacting * sender.swing;
        }
    }
    mark_paced(links, crossers.clone());
    add_bursts(links, crossers);
}

/// The links over which traffic comes to a link.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    One(u32),
    Several,
}

/// Finds the links whose traffic all comes over one link that is no faster.
fn mark_paced<'a>(links: &mut [Crossing], crossers: impl Iterator<Item = Crosser<'a>>) {
    let mut before = vec![Before::Nothing; links.len()];
    // Whether packets take longer at a link than at the one before.
    let mut is_slower = vec![false; links.len()];
    for Crosser { sender, data, back } in crossers {
        if !sender.reacts() && sender.wanted_bps() <= 0.0 {
            continue;
        }
        let back = if sender.acks > 0.0 { back } else { &[] };
        for (path, bits) in [(data, sender.data_bits), (back, 8.0 * ACK_BYTES)] {
            for pair in path.windows(2) {
                let [above, here] = [0, 1].map(|i| links[pair[i] as usize].carries_bps(bits));
                is_slower[pair[1] as usize] |= above > here;
            }
            for (place, &l) in path.iter().enumerate() {
                let comes = place
                    .checked_sub(1)
                    .map_or(Before::Several, |it| Before::One(path[it]));
                let so_far = &mut before[l as usize];
                *so_far = match *so_far {
                    Before::Nothing => comes,
                    same if same == comes => same,
                    _ => Before::Several,
                };
            }
        }
    }
    for (l, before) in before.into_iter().enumerate() {
        links[l].is_paced = match before {
            Before::One(_) => !is_slower[l],
            Before::Nothing | Before::Several => false,
        };
    }
}

/// Demand of sources that do not react from one link to the next, in bit/s on the wire of the latter, by the numbers of both.
#[derive(Debug, Default)]
pub struct Turns(HashMap<(u32, u32), f64>);

impl Turns {
    /// Of all that cross links.
    pub fn new<'a>(links: &[Crossing], crossers: impl Iterator<Item = Crosser<'a>>) -> Turns {
        let mut turns = Turns::default();
        for Crosser { sender, data, .. } in crossers.filter(|it| !it.sender.reacts()) {
            for pair in data.windows(2) {
                let wanted_bps = links[pair[1] as usize].wanted_bps(&sender);
                *turns.0.entry((pair[0], pair[1])).or_default() += wanted_bps;
            }
        }
        turns
    }

    /// Those to the link at this place of a way, from the one before; none to its first.
    pub fn to(&self, links: &[Crossing], way: &WayOfTransfers<'_>, place: usize) -> Turn {
        let Some(before) = place.checked_sub(1).map(|it| way.links[it]) else {
            return Turn::default();
        };
        let at = way.links[place];
        let bps = self.0.get(&(before, at)).copied().unwrap_or(0.0);
        let [above, here] = [before, at].map(|l| links[l as usize].carries_bps(way.data_bits));
        Turn {
            part: bps / links[at as usize].unresponsive_bps,
            ordered: (here / above).min(1.0),
        }
    }
}

/// What comes to a link over the one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// The part that it is of what does not react at the link.
    pub part: f64,
    /// How much of it comes one after the other, in nobody's way of its own: all (1) where the link before is no faster,
    /// and as much as this one is as fast as that.
    pub ordered: f64,
}

impl Turn {
    /// The part of the link's traffic whose way its packets are in.
    pub fn met(&self) -> f64 {
        1.0 - self.part * self.ordered
    }
}

impl<'a> Crosser<'a> {
    /// The way of its transfers, if it has any, and asks for something.
    pub fn transfers(&self) -> Option<WayOfTransfers<'a>> {
        let transfers = self.sender.transfers?;
        (self.sender.wanted_bps() > 0.0).then_some(WayOfTransfers {
            transfers,
            data_bits: self.sender.data_bits,
            round_trip_s: self.sender.round_trip_s,
            links: self.data,
        })
    }
}

/// Adds bursts of transfers to links of which all else is known.
fn add_bursts<'a>(links: &mut [Crossing], crossers: impl Iterator<Item = Crosser<'a>> + Clone) {
    if crossers.clone().all(|it| it.sender.transfers.is_none()) {
        return;
    }
    let turns = Turns::new(links, crossers.clone());
    let mut bursts = Vec::new();
    for crosser in crossers {
        let Some(way) = crosser.transfers() else {
            continue;
        };
        bursts.clear();
        way.bursts(links, |burst| bursts.push(burst));
        for (i, (burst, &l)) in bursts.iter().zip(way.links).enumerate() {
            let met = turns.to(links, &way, i).met();
            let wanted_bps = links[l as usize].wanted_bps(&crosser.sender);
            let sum = &mut links[l as usize].wanted_bursts;
            sum.own_pkts += wanted_bps * burst.own_pkts;
            sum.others_pkts += wanted_bps * burst.others_pkts * met;
        }
    }
}

impl Sender<'_> {
    /// Whether its windows fill queues: TCP with a profile, and with always more to send.
    pub fn reacts(&self) -> bool {
        self.rate_pps.is_none() && self.application_pps == f64::INFINITY
    }

    /// Rate of the application of each, in IP bit/s.
    fn made_bps(&self) -> f64 {
        self.application_pps * self.data_bits
    }

    /// Demand of all if they do not, in IP bit/s.
    pub fn wanted_bps(&self) -> f64 {
        self.rate_pps.unwrap_or(self.application_pps) * self.count * self.data_bits
    }
}

/// From 0 at 0 to 1 at 1 without a bend, and its slope.
fn smooth_step(at: f64) -> (f64, f64) {
    let at = at.clamp(0.0, 1.0);
    (at * at * (3.0 - 2.0 * at), 6.0 * at * (1.0 - at))
}

impl Crossing {
    /// Whether windows like these can fill the link and its queue if all that cross it are like them: 1 if a
    /// part of 3/4 of what they may have is enough, falling to 0 where all of it is not.
    pub fn reaction(&self, of: &Sender<'_>) -> f64 {
        smooth_step(4.0 * (1.0 - self.wanted(of))).0
    }

    /// A link of this bandwidth with this room, that nobody crosses yet.
    pub fn empty(bandwidth_bps: f64, overhead: Overhead, room: Room) -> Crossing {
        Crossing {
            bandwidth_bps,
            overhead,
            buffer_pkts: room.nominal_pkts,
            buffer_bits: room.bits,
            ..Crossing::default()
        }
    }

    /// Bits on the wire over IP bits of a packet with these IP bits.
    pub fn factor(&self, data_bits: f64) -> f64 {
        self.overhead.factor(data_bits)
    }

    /// IP bit/s that the link sends of packets with these IP bits.
    pub fn carries_bps(&self, data_bits: f64) -> f64 {
        self.bandwidth_bps / self.factor(data_bits)
    }

    /// Demand here of a sender that does not react, in bit/s on the wire.
    pub fn wanted_bps(&self, of: &Sender<'_>) -> f64 {
        of.wanted_bps() * self.factor(of.data_bits)
    }

    fn room(&self) -> Room {
        Room {
            time: None,
            nominal_pkts: self.buffer_pkts,
            bits: self.buffer_bits,
        }
    }

    /// The room in packets with these IP bits.
    pub fn room_pkts(&self, data_bits: f64) -> f64 {
        self.room().pkts(self.overhead.wire_bits(data_bits))
    }

    /// Its slope by [`buffer_pkts`](Self::buffer_pkts), which bits grow with in proportion.
    pub fn room_by_buffer(&self, data_bits: f64) -> f64 {
        self.by_buffer(self.overhead.wire_bits(data_bits))
    }

    /// The same for packets with these bits on the wire.
    fn by_buffer(&self, wire_bits: f64) -> f64 {
        match self.buffer_bits {
            Some(_) => self.room().by_ln_bits(wire_bits) / self.buffer_pkts,
            None => 1.0,
        }
    }

    /// The part of their largest windows that fills the link and its queue.
    fn wanted(&self, of: &Sender<'_>) -> f64 {
        let wire_bits = self.overhead.wire_bits(of.data_bits);
        let way_pkts = self.bandwidth_bps / wire_bits * of.round_trip_s;
        (way_pkts + self.room_pkts(of.data_bits)) / (self.windows * of.window_pkts)
    }

    /// The slopes of [`reaction`](Self::reaction).
    pub fn reaction_slopes(&self, of: &Sender<'_>) -> ByRoom {
        let wanted = self.wanted(of);
        let slope = smooth_step(4.0 * (1.0 - wanted)).1;
        if slope == 0.0 {
            return ByRoom::default();
        }
        let per_pkt = -4.0 * slope / (self.windows * of.window_pkts);
        let wire_bits = self.overhead.wire_bits(of.data_bits);
        ByRoom {
            bandwidth_bps: per_pkt * of.round_trip_s / wire_bits,
            buffer_pkts: per_pkt * self.room_by_buffer(of.data_bits),
            windows: 4.0 * slope * wanted / self.windows,
            round_trip_s: per_pkt * self.bandwidth_bps / wire_bits,
        }
    }

    /// 0 where there is room for two packets, in which no saw swings, and 1 where there is for ten; and its slope
    /// by the room.
    fn roomy(&self) -> (f64, f64) {
        let (few, many) = ROOMS;
        let room_pkts = self.room().pkts(self.largest_bits);
        let (step, slope) = smooth_step((room_pkts - few) / (many - few));
        (
            step,
            slope / (many - few) * self.by_buffer(self.largest_bits),
        )
    }

    /// What that makes of the queue, of which packets showed this. Where packets are dropped early at random, by RED or RIO, it
    /// is M/M/1/K.
    pub fn filling(&self, calibration: Calibration, drops_early: bool) -> Filling {
        if drops_early {
            return Filling::default();
        }
        if self.is_paced && !calibration.with_windows(self.windows).is_some() {
            return Filling::paced();
        }
        let bursts = self.bursts();
        if self.windows <= 0.0 {
            return Filling {
                bursts,
                ..Filling::default()
            };
        }
        let calibration = calibration.with_windows(self.windows);
        let others = (1.0 - self.unresponsive_bps / self.bandwidth_bps).max(0.0);
        let poisson = 1.0 - others * self.roomy().0;
        Filling {
            windows: self.reacting,
            swing: self.swing(),
            acks: self.acks / (self.windows + self.acks),
            poisson,
            // What is idle is calibrated, too.
            idle: match calibration.is_some() {
                true => 0.0,
                false => EMPTY * (1.0 - poisson) * self.swinging / self.windows,
            },
            bursts,
            calibration,
        }
    }

    /// How far windows that react swing, as a mean.
    fn swing(&self) -> f64 {
        match self.reacting > 0.0 {
            true => self.swinging / self.reacting,
            false => 1.0,
        }
    }

    /// 1 where no window fills the queue, falling to 0 without a bend where one does.
    fn alone(&self) -> f64 {
        (1.0 - self.reacting).max(0.0).powi(2)
    }

    /// Bursts of transfers as a mean over what does not react; none where a window fills the queue.
    fn bursts(&self) -> Bursts {
        if self.unresponsive_bps <= 0.0 {
            return Bursts::default();
        }
        self.wanted_bursts
            .times(self.alone() / self.unresponsive_bps)
    }

    /// What a measure changes by with each of these numbers, bursts of so many packets being worth so much.
    fn pull_of_bursts(&self, by: &Bursts) -> Crossing {
        let bursts = self.bursts();
        if bursts == Bursts::default() {
            return Crossing::default();
        }
        let worth = by.own_pkts * bursts.own_pkts + by.others_pkts * bursts.others_pkts;
        Crossing {
            reacting: -2.0 * worth / (1.0 - self.reacting),
            unresponsive_bps: -worth / self.unresponsive_bps,
            wanted_bursts: by.times(self.alone() / self.unresponsive_bps),
            ..Crossing::default()
        }
    }

    /// What a measure changes by with each of these numbers that changes so with the filling.
    pub fn pull(&self, by: &ByFilling) -> Crossing {
        if self.is_paced {
            return Crossing::default();
        }
        let of_bursts = self.pull_of_bursts(&by.bursts);
        if self.windows <= 0.0 {
            return of_bursts;
        }
        let all = self.windows + self.acks;
        let wanted = self.unresponsive_bps / self.bandwidth_bps;
        let others = (1.0 - wanted).max(0.0);
        let (roomy, roomy_by_buffer) = self.roomy();
        let part = self.swinging / self.windows;
        let by_mean = match self.reacting > 0.0 {
            true => by.swing / self.reacting,
            false => 0.0,
        };
        // By the weight of what is not M/M/1/K.
        let by_weight = by.idle * EMPTY * part - by.poisson;
        let by_others = if others > 0.0 { by_weight * roomy } else { 0.0 };
        let by_unresponsive = -by_others;
        let by_buffer = by_weight * others * roomy_by_buffer;
        let by_part = by.idle * EMPTY * others * roomy;
        Crossing {
            bandwidth_bps: -by_unresponsive * wanted / self.bandwidth_bps,
            overhead: Overhead::NONE,
            buffer_pkts: by_buffer,
            buffer_bits: None,
            largest_bits: 0.0,
            is_paced: false,
            windows: -by.acks * self.acks / (all * all) - by_part * part / self.windows,
            acks: by.acks * self.windows / (all * all),
            reacting: by.windows - by_mean * self.swing() + of_bursts.reacting,
            swinging: by_mean + by_part / self.windows,
            unresponsive_bps: by_unresponsive / self.bandwidth_bps + of_bursts.unresponsive_bps,
            wanted_bursts: of_bursts.wanted_bursts,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// More room, whatever it is counted in.
    fn grow(at: &mut Crossing, pkts: f64) {
        let part = pkts / at.buffer_pkts;
        at.buffer_pkts += pkts;
        at.buffer_bits = at.buffer_bits.map(|bits| bits * (1.0 + part));
    }

    fn sender(window_pkts: f64) -> Sender<'static> {
        Sender {
            count: 1.0,
            rate_pps: None,
            application_pps: f64::INFINITY,
            window_pkts,
            round_trip_s: 0.05,
            data_bits: 12000.0,
            swing: 1.0,
            acks: 0.5,
            transfers: None,
        }
    }

    /// Three windows there, two of them with acknowledgements on the way back, and a source of its own rate.
    #[test]
    fn all_that_cross_are_counted() {
        let own = Sender {
            rate_pps: Some(10.0),
            ..sender(1.0)
        };
        let data = Sender {
            application_pps: 5.0,
            ..sender(1.0)
        };
        let two = Sender {
            count: 2.0,
            ..sender(f64::INFINITY)
        };
        let one = Sender {
            swing: 0.5,
            acks: 0.0,
            ..sender(1.0)
        };
        let crossers = [(two, true), (one, false), (own, false), (data, false)];
        let crossers = crossers.iter().map(|&(sender, back)| Crosser {
            sender,
            data: &[0],
            back: if back { &[1] } else { &[] },
        });
        let mut links = [Crossing {
            bandwidth_bps: 1.2e6,
            buffer_pkts: 10.0,
            ..Crossing::default()
        }; 2];
        count(&mut links, crossers);
        let [there, back] = links;
        assert_eq!((there.windows, there.acks, there.reacting), (3.0, 0.0, 2.0));
        assert_eq!(
            (
                there.swinging,
                there.filling(Calibration::default(), false).swing
            ),
            (2.0, 1.0)
        );
        assert_eq!(there.unresponsive_bps, 15.0 * 12000.0);
        assert_eq!((back.windows, back.acks), (0.0, 1.0));
    }

    /// Which of these always have more to send, by what the application of each makes in Mbit/s.
    fn wanting(senders: &[(f64, f64, &[u32])], mbps: &[f64]) -> Vec<bool> {
        let links = mbps.iter().map(|mbps| Crossing {
            bandwidth_bps: 1e6 * mbps,
            ..Crossing::default()
        });
        let links: Vec<Crossing> = links.collect();
        let crossers = senders.iter().map(|&(count, mbps, data)| Crosser {
            sender: Sender {
                count,
                application_pps: 1e6 * mbps / 12000.0,
                ..sender(f64::INFINITY)
            },
            data,
            back: &[],
        });
        let mut crossers: Vec<Crosser<'_>> = crossers.collect();
        want_more(&links, &mut crossers);
        let all = crossers.iter();
        all.map(|it| it.sender.application_pps == f64::INFINITY)
            .collect()
    }

    #[test]
    fn who_makes_more_than_a_share_has_always_more() {
        const ALWAYS: f64 = f64::INFINITY;
        assert_eq!(wanting(&[(4.0, 2.4, &[0])], &[10.0]), [false]);
        // What fits to the last bit fits.
        assert_eq!(wanting(&[(4.0, 2.5, &[0])], &[10.0]), [false]);
        assert_eq!(wanting(&[(4.0, 2.6, &[0])], &[10.0]), [true]);
        // Who wants less than the others leave each has it.
        let some = [(2.0, 1.0, &[0_u32][..]), (2.0, 4.5, &[0])];
        assert_eq!(wanting(&some, &[10.0]), [false, true]);
        let some = [(2.0, 1.0, &[0_u32][..]), (1.0, ALWAYS, &[0])];
        assert_eq!(wanting(&some, &[10.0]), [false, true]);
        let some = [(2.0, 4.0, &[0_u32][..]), (1.0, ALWAYS, &[0])];
        assert_eq!(wanting(&some, &[10.0]), [true, true]);
        // The narrowest link of the way counts.
        let some = [(1.0, 4.0, &[0_u32, 1][..]), (1.0, 4.0, &[0])];
        assert_eq!(wanting(&some, &[10.0, 3.0]), [true, false]);
    }

    proptest! {
        /// Rates that are scaled with the bandwidth, and senders in another order, are the same.
        #[test]
        fn shares_do_not_depend_on_units_and_order(
            made in prop::collection::vec((1..5_u32, 0.1..9.0_f64), 1..8),
            scale in 1e-3..1e3_f64,
        ) {
            let of = |scale: f64, made: &[(u32, f64)]| {
                let senders = made.iter().map(|&(count, mbps)| {
                    (f64::from(count), scale * mbps, &[0_u32][..])
                });
                wanting(&senders.collect::<Vec<_>>(), &[10.0 * scale])
            };
            let there = of(1.0, &made);
            prop_assert_eq!(&there, &of(scale, &made));
            let backwards: Vec<_> = made.iter().rev().copied().collect();
            let back: Vec<bool> = of(1.0, &backwards).into_iter().rev().collect();
            prop_assert_eq!(there, back);
        }

        /// What crosses a link changes its filling as said.
        #[test]
        fn pulls_are_those_of_differences(
            windows in 1.0..50.0_f64,
            acks in 0.0..50.0_f64,
            reacting in 0.1..0.9_f64,
            unresponsive in 0.0..0.9_f64,
            some_react: bool,
            in_bytes: bool,
        ) {
            prop_assume!((reacting * windows - 1.0).abs() > 1e-3);
            let at = Crossing {
                bandwidth_bps: 1e6,
                overhead: Overhead::NONE,
                buffer_pkts: 9.0,
                buffer_bits: in_bytes.then_some(54e3),
                largest_bits: 8e3,
                is_paced: false,
                windows,
                acks,
                reacting: reacting * if some_react { 1.0 } else { windows },
                swinging: 0.4 * reacting * if some_react { 1.0 } else { windows },
                unresponsive_bps: (0.01 + unresponsive) * 1e6,
                wanted_bursts: Bursts { own_pkts: 3e6, others_pkts: 9e6 },
            };
            let bursts = Bursts { own_pkts: 0.7, others_pkts: -0.4 };
            let by = ByFilling {
                windows: 0.3,
                swing: 1.1,
                acks: 2.0,
                poisson: -1.5,
                idle: 7.0,
                bursts,
            };
            let value = |it: Crossing| {
                let filling = it.filling(Calibration::default(), false);
                by.windows * filling.windows + by.swing * filling.swing + by.acks * filling.acks
                    + by.poisson * filling.poisson + by.idle * filling.idle
                    + bursts.own_pkts * filling.bursts.own_pkts
                    + bursts.others_pkts * filling.bursts.others_pkts
            };
            let pull = at.pull(&by);
            let near = |slope: f64, change: &dyn Fn(&mut Crossing, f64), h: f64| {
                let (mut more, mut less) = (at, at);
                change(&mut more, h);
                change(&mut less, -h);
                let should = (value(more) - value(less)) / (2.0 * h);
                (slope - should).abs() <= 1e-5 * (should.abs() + 1e-9)
            };
            prop_assert!(near(pull.windows, &|c, h| c.windows += h, 1e-5));
            prop_assert!(near(pull.acks, &|c, h| c.acks += h, 1e-5));
            prop_assert!(near(pull.reacting, &|c, h| c.reacting += h, 1e-5));
            prop_assert!(near(pull.swinging, &|c, h| c.swinging += h, 1e-5));
            prop_assert!(near(pull.unresponsive_bps, &|c, h| c.unresponsive_bps += h, 1.0));
            prop_assert!(near(pull.wanted_bursts.own_pkts, &|c, h| c.wanted_bursts.own_pkts += h, 1.0));
            prop_assert!(near(pull.wanted_bursts.others_pkts, &|c, h| c.wanted_bursts.others_pkts += h, 1.0));
            prop_assert!(near(pull.buffer_pkts, &grow, 1e-5));
            prop_assert!(near(pull.bandwidth_bps, &|c, h| c.bandwidth_bps += h, 1.0));
        }

        /// What reacts changes with the room as said.
        #[test]
        fn reactions_change_as_said(
            window_pkts in 1.0..40.0_f64,
            windows in 1.0..10.0_f64,
            in_bytes: bool,
        ) {
            let at = Crossing {
                bandwidth_bps: 1.2e6,
                overhead: Overhead::of(250.0),
                buffer_pkts: 20.0,
                buffer_bits: in_bytes.then_some(160e3),
                windows,
                ..Crossing::default()
            };
            let of = sender(window_pkts);
            let slopes = at.reaction_slopes(&of);
            let near = |slope: f64, change: &dyn Fn(&mut Crossing, &mut Sender<'_>, f64), h: f64| {
                let value = |h: f64| {
                    let (mut at, mut of) = (at, of);
                    change(&mut at, &mut of, h);
                    at.reaction(&of)
                };
                let should = (value(h) - value(-h)) / (2.0 * h);
                (slope - should).abs() <= 1e-4 * should.abs() + 1e-7 / h * 1e-3
            };
            prop_assert!(near(slopes.bandwidth_bps, &|c, _, h| c.bandwidth_bps += h, 1.0));
            prop_assert!(near(slopes.buffer_pkts, &|c, _, h| grow(c, h), 1e-4));
            prop_assert!(near(slopes.windows, &|c, _, h| c.windows += h, 1e-5));
            prop_assert!(near(slopes.round_trip_s, &|_, s, h| s.round_trip_s += h, 1e-7));
        }
    }
}
