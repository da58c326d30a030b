//! A link and the queue in front of it, packet by packet.

use std::collections::VecDeque;

use netflow_diffserv::{DiffServQueue, DropPrecedence, RedAverage, RedDecision};
use netflow_network::{Red, service_ns};
use netflow_queues::{Buffer, DepartureRing, LinkLoss, Losses};
use netflow_tcpmodel::tcp::NEVER;
use netflow_units::Fifo;
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::link::class_scheduler::Transmission;
use crate::link::queue_disc::{CONGESTED, QueueDisc, QueuedPacket};
use crate::link::wire::Packet;
use crate::topology::HopSpec;

/// A link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub queue: Queue,
    pub turn: Transmission,
    /// What the link loses on the way, if any.
    pub lossy: Option<Box<Lossy>>,
    pub bandwidth_bps: f64,
    pub delay_ns: u64,
    /// Packets on the way that have left with another delay, as they will arrive, in [this order](place).
    pub earlier: Fifo<Packet>,
    pub arrivals: Arrivals,
}

/// What metadata packets of one link apart, by the time of their arrival first.
fn place(packet: &Packet) -> (u64, u32, i32, u64) {
    (packet.time_ns, packet.hop, packet.seq, packet.metadata)
}

impl Link {
    /// What stands where it would be, while it is elsewhere.
    pub fn placeholder(&self) -> Link {
        Link {
            queue: Queue::new(Buffer::Packets(1)),
            turn: Transmission::Alone,
            lossy: None,
            earlier: Fifo::default(),
            ..*self
        }
    }

    /// When a packet that is on its way to the next place has left, or will have, if it has not left with another
    /// delay than that of now.
    #[inline]
    pub fn left_ns(&self, packet: &Packet) -> Option<u64> {
        match self.earlier.binary_search_by_key(&place(packet), place) {
            Ok(_) => None,
            Err(_) => Some(packet.time_ns.saturating_sub(self.delay_ns)),
        }
    }

    /// From now on the delay is another; these have left already and have not arrived.
    pub fn set_delay_ns(&mut self, delay_ns: u64, on_the_way: &[Packet]) {
        self.delay_ns = delay_ns;
        on_the_way.iter().for_each(|&it| self.earlier.push(it));
        self.earlier.sort_unstable_by_key(place);
    }

    /// Forgets those that have arrived before now.
    #[inline]
    pub fn forget_arrived(&mut self, now_ns: u64) {
        let arrived = self.earlier.iter().take_while(|it| it.time_ns < now_ns);
        self.earlier.skip(arrived.count());
    }

    /// Whether it serves packets without a look at anything but its length.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.lossy.is_none() && self.queue.is_plain()
    }

    /// The next packet that has been transmitted by now, and is lost on the way; its time is when it had been.
    pub fn next_doomed(&mut self, now_ns: u64) -> Option<Packet> {
        let lossy = self.lossy.as_mut()?;
        let first = *lossy.pending_losses.first()?;
        if first.time_ns > now_ns {
            return None;
        }
        lossy.lost += 1;
        lossy.pending_losses.pop()
    }

    /// Those that are still in the queue, and will be lost on the way; their times are when they have been
    /// transmitted.
    pub fn pending_losses(&self) -> &[Packet] {
        self.lossy
            .as_ref()
            .map_or(&[], |lossy| &lossy.pending_losses)
    }

    /// What it loses on the way at present.
    pub fn loss(&self) -> &LinkLoss {
        let lossy = self.lossy.as_ref();
        lossy.map_or(&LinkLoss::NONE, |lossy| lossy.losses.loss())
    }

    /// How many it has lost on the way, if it ever may have.
    pub fn link_lost(&self) -> Option<u64> {
        self.lossy.as_ref().map(|lossy| lossy.lost)
    }
}

/// What a link loses on the way.
#[derive(Clone, Debug)]
pub(crate) struct Lossy {
    pub losses: Losses<Pcg32>,
    /// Packets in the queue that it will lose; their times are when they have been transmitted.
    pub pending_losses: Fifo<Packet>,
    lost: u64,
}

impl Lossy {
    pub fn new(losses: Losses<Pcg32>) -> Lossy {
        Lossy {
            losses,
            pending_losses: Fifo::default(),
            lost: 0,
        }
    }

    /// Whether this packet of so many bytes, the next that arrives, will be lost on the way. If the queue takes
    /// it, it is transmitted first, by `left_ns`.
    #[inline]
    pub fn dooms(&mut self, bytes: f64, left_ns: Option<u64>, packet: Packet) -> bool {
        let is_lost = self.loses(bytes);
        if let Some(time_ns) = left_ns
            && is_lost
        {
            self.pending_losses.push(Packet { time_ns, ..packet });
        }
        is_lost
    }

    /// Whether the next packet that is transmitted, of so many bytes, is lost on the way.
    pub fn loses(&mut self, bytes: f64) -> bool {
        self.losses.next(bytes).is_some()
    }
}

/// The packets that arrive in intervals of the same length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrivals {
    interval_ns: u64,
    /// The end of the interval in which a packet arrived last.
    end_ns: u64,
    /// All packets of the intervals before, and the squares of those of each.
    pkts: u64,
    squares: u128,
}

impl Arrivals {
    pub fn new(interval_ns: u64) -> Arrivals {
        Arrivals {
            interval_ns,
            end_ns: interval_ns,
            pkts: 0,
            squares: 0,
        }
    }

    /// A packet arrives, after so many others.
    #[inline]
    pub fn count(&mut self, now_ns: u64, before: u64) {
        if now_ns >= self.end_ns {
            (self.pkts, self.squares) = self.until(now_ns, before);
            self.end_ns = (now_ns / self.interval_ns + 1) * self.interval_ns;
        }
    }

    /// Packets of the intervals that have ended by now, and the squares of those of each, if so many have
    /// arrived in all.
    pub fn until(&self, now_ns: u64, all: u64) -> (u64, u128) {
        let last = u128::from(all - self.pkts);
        match self.end_ns <= now_ns {
            true => (all, self.squares + last * last),
            false => (self.pkts, self.squares),
        }
    }
}

/// A queue that serves packets in the order of their arrival.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    link: DepartureRing,
    /// Where it holds so many bytes, not packets.
    bytes: Option<Box<Bytes>>,
    red: Option<Box<RedQueue>>,
    rio: Option<Box<Precedences>>,
    pub managed: Option<Box<QueueDisc>>,
    /// Whether the link has failed: nothing gets through.
    down: bool,
    pub counts: LinkCounts,
}

/// What happened at a link since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounts {
    pub lost: u64,
    pub accepted: u64,
    /// Those that left or will, and that the queue has marked.
    pub marked: u64,
    /// Nanoseconds of service of all that was accepted.
    pub service_ns: u64,
    /// Nanoseconds that all that was accepted spends here, with those that were dropped after they had waited.
    pub sojourn_ns: u64,
    /// Nanoseconds of these.
    pub dropped_ns: u64,
}

/// Random early detection in front of the queue.
#[derive(Clone, Debug)]
struct RedQueue {
    average: RedAverage,
    marks: RedMarks,
    random: Pcg32,
}

/// Where random early detection marks packets of senders with ECN instead of dropping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedMarks {
    Never,
    /// Where its probability is below 1.
    BelowMax,
    Always,
}

impl RedMarks {
    pub fn of(red: &Red) -> RedMarks {
        match (red.ecn, red.hard_drop) {
            (false, _) => RedMarks::Never,
            (true, true) => RedMarks::BelowMax,
            (true, false) => RedMarks::Always,
        }
    }
}

impl LinkCounts {
    pub fn offered(&self) -> u64 {
        self.accepted + self.lost
    }
}

impl Queue {
    pub fn new(buffer: Buffer) -> Queue {
        let (pkts, bytes) = match buffer {
            Buffer::Packets(pkts) => (pkts, None),
            Buffer::Bytes(most) => (usize::MAX, Some(Box::new(Bytes::new(most)))),
            Buffer::Unbounded => (usize::MAX, None),
        };
        Queue {
            link: DepartureRing::new(pkts),
            bytes,
            red: None,
            rio: None,
            managed: None,
            down: false,
            counts: LinkCounts::default(),
        }
    }

    /// One with random early detection in front.
    pub fn with_red(buffer: Buffer, average: RedAverage, marks: RedMarks, random: Pcg32) -> Queue {
        let red = RedQueue {
            average,
            marks,
            random,
        };
        Queue {
            red: Some(Box::new(red)),
            ..Queue::new(buffer)
        }
    }

    /// One that is managed.
    pub fn managed(queue: QueueDisc) -> Queue {
        Queue {
            managed: Some(Box::new(queue)),
            ..Queue::new(Buffer::Packets(1))
        }
    }

    /// One that metadata drop precedences apart.
    pub fn with_rio(buffer: Buffer, active: DiffServQueue) -> Queue {
        let precedences = Precedences {
            active,
            waiting: VecDeque::new(),
            offered: [0; 3],
            lost: [0; 3],
        };
        Queue {
            rio: Some(Box::new(precedences)),
            ..Queue::new(buffer)
        }
    }

    /// Changes the size of the buffer, the packet in service included. Packets that are in the queue stay there.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        if let Some(managed) = &mut self.managed {
            managed.set_buffer(buffer);
        } else if let (Some(bytes), Buffer::Bytes(most)) = (&mut self.bytes, buffer) {
            bytes.most = most;
        }
    }

    /// From now on it takes turns with other queues, and has room for so much.
    pub fn share_link(&mut self, buffer: Buffer) {
        self.managed
            .get_or_insert_with(|| Box::new(QueueDisc::drop_tail(buffer)));
    }

    /// Whether it metadata drop precedences apart: then packets arrive by
    /// [`Queue::arrive_marked`].
    #[inline]
    pub fn has_rio(&self) -> bool {
        self.rio.is_some()
    }

    /// What happened to each precedence, and the averages that they look at.
    pub fn precedences(&self) -> Option<([u64; 3], [u64; 3], [f64; 3])> {
        let rio = self.rio.as_ref()?;
        Some((rio.offered, rio.lost, rio.active.average_pkts()))
    }

    /// As [`Queue::arrive`], of a packet with a drop precedence.
    pub fn arrive_marked(
        &mut self,
        now_ns: u64,
        service_ns: u64,
        bits: f64,
        precedence: u8,
    ) -> Option<u64> {
        let Some(mut rio) = self.rio.take() else {
            return self.arrive(now_ns, service_ns, bits, None);
        };
        let p = usize::from(precedence).min(2);
        let marked = DropPrecedence::ALL[p];
        rio.offered[p] += 1;
        rio.leave(now_ns);
        let left_ns = if self.down || !rio.active.admit(now_ns, 1, marked) {
            self.counts.lost += 1;
            None
        } else {
            let begins_ns = self.link.last_departure().max(now_ns);
            let left_ns = self.arrive(now_ns, service_ns, bits, None);
            match left_ns {
                Some(_) => rio.waiting.push_back((begins_ns, marked)),
                None => rio.active.depart(now_ns, 1, marked),
            }
            left_ns
        };
        rio.lost[p] += u64::from(left_ns.is_none());
        self.rio = Some(rio);
        left_ns
    }

    /// A packet of so many bits arrives that takes `service_ns` to transmit: when it has left, if it is not lost. If its
    /// sender has ECN, whether it `congested` the queue is told instead of dropping it.
    #[inline]
    pub fn arrive(
        &mut self,
        now_ns: u64,
        service_ns: u64,
        bits: f64,
        congested: Option<&mut bool>,
    ) -> Option<u64> {
        if self.down || self.drops_early(now_ns, congested) {
            self.counts.lost += 1;
            return None;
        }
        let fits = match &mut self.bytes {
            Some(bytes) => bytes.take(self.link.len(now_ns), bits),
            None => true,
        };
        let left_ns = match fits {
            true => self.take(now_ns, service_ns),
            false => {
                self.counts.lost += 1;
                None
            }
        };
        if left_ns.is_none()
            && let Some(red) = &mut self.red
        {
            red.average.on_overflow();
        }
        left_ns
    }

    /// As [`Queue::arrive`], where nothing but the buffer keeps it from being taken.
    #[inline(always)]
    pub fn take(&mut self, now_ns: u64, service_ns: u64) -> Option<u64> {
        let Some(left_ns) = self.link.arrive(now_ns, service_ns) else {
            self.counts.lost += 1;
            return None;
        };
        self.counts.accepted += 1;
        self.counts.service_ns += service_ns;
        self.counts.sojourn_ns += left_ns - now_ns;
        Some(left_ns)
    }

    /// A packet arrives at a queue that is managed or takes turns; those that are dropped for it are pushed to `dropped`.
    pub fn enter(
        &mut self,
        mut waits: QueuedPacket,
        spec: &HopSpec,
        dropped: &mut Vec<QueuedPacket>,
    ) {
        let now_ns = waits.packet.time_ns;
        self.counts.accepted += 1;
        let p = usize::from(spec.precedence).min(2);
        let precedence = DropPrecedence::ALL[p];
        let is_admitted = match &mut self.rio {
            Some(rio) => {
                rio.offered[p] += 1;
                rio.active.admit(now_ns, 1, precedence)
            }
            None => true,
        };
        let ecn = spec.may_be_marked(&waits.packet);
        let mut congested = false;
        let before = dropped.len();
        match is_admitted && !self.drops_early(now_ns, ecn.then_some(&mut congested)) {
            true => {
                if congested {
                    waits.packet.metadata |= CONGESTED;
                }
                if let Some(managed) = &mut self.managed {
                    managed.enqueue(waits, spec.flow(), ecn, dropped);
                }
                if let (Some(red), true) = (&mut self.red, dropped.len() > before) {
                    red.average.on_overflow();
                }
            }
            false => dropped.push(waits),
        }
        let is_taken = dropped.len() == before;
        self.counts.marked += u64::from(congested && is_taken);
        if let Some(rio) = &mut self.rio {
            match (is_taken, is_admitted) {
                (true, _) => rio.waiting.push_back((NEVER, precedence)),
                (false, true) => rio.active.depart(now_ns, 1, precedence),
                (false, false) => {}
            }
            rio.lost[p] += u64::from(!is_taken);
        }
    }

    /// It is the turn of this queue: the next packet, when it arrived, and whether this queue has marked it; those that
    /// are dropped on the way to it are pushed to `dropped`.
    pub fn leave(
        &mut self,
        now_ns: u64,
        dropped: &mut Vec<QueuedPacket>,
    ) -> Option<(QueuedPacket, u64, bool)> {
        let left = self.managed.as_mut()?.dequeue(now_ns, dropped)?;
        if let Some(rio) = &mut self.rio
            && let Some((_, precedence)) = rio.waiting.pop_front()
        {
            rio.active.depart(now_ns, 1, precedence);
        }
        Some(left)
    }

    /// Whether the link has failed.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// Whether nothing but its buffer keeps packets from being taken.
    pub fn is_plain(&self) -> bool {
        let all_alike = self.red.is_none() && self.rio.is_none() && self.managed.is_none();
        all_alike && self.bytes.is_none() && !self.down
    }

    /// The most packets that were there at once.
    pub fn most_pkts(&self) -> u64 {
        match &self.managed {
            Some(managed) => managed.most_pkts(),
            None => self.link.max_len(),
        }
    }

    /// From now on that is the most from now on.
    pub fn restart_most(&mut self, now_ns: u64) {
        match &mut self.managed {
            Some(managed) => managed.restart_most(now_ns),
            None => self.link.reset_max_len(now_ns),
        }
    }

    /// Packets there now.
    pub fn length(&self, now_ns: u64) -> usize {
        match &self.managed {
            Some(managed) => managed.length(now_ns),
            None => self.link.len(now_ns),
        }
    }

    /// Bytes there now, of a queue that counts them; of those that wait where it is managed.
    pub fn bytes(&self, now_ns: u64) -> u64 {
        match (&self.managed, &self.bytes) {
            (Some(managed), _) => managed.bytes(),
            (None, Some(bytes)) => bytes.of_last(self.link.len(now_ns)),
            (None, None) => 0,
        }
    }

    /// Nanoseconds that those that are counted in `sojourn_ns` have still to spend here: all that are there,
    /// or where the queue is managed, the one that is being sent.
    fn still_ns(&self, now_ns: u64) -> u64 {
        match &self.managed {
            Some(managed) => managed.free_ns.saturating_sub(now_ns),
            None => self
                .link
                .departure_times(now_ns)
                .map(|sent_ns| sent_ns - now_ns)
                .sum(),
        }
    }

    /// Of [`queue_time_ns`](Self::queue_time_ns), what those took that left; where packets may be dropped after they have
    /// waited, without those that wait still.
    pub fn left_time_ns(&self, now_ns: u64) -> f64 {
        match &self.managed {
            Some(managed) if managed.drops_late() => {
                let all_ns = self.counts.sojourn_ns - self.counts.dropped_ns;
                all_ns as f64 - self.still_ns(now_ns) as f64
            }
            _ => self.queue_time_ns(now_ns) - self.counts.dropped_ns as f64,
        }
    }

    /// Packets × nanoseconds here until now.
    pub fn queue_time_ns(&self, now_ns: u64) -> f64 {
        let spent_ns = self.counts.sojourn_ns as f64 - self.still_ns(now_ns) as f64;
        match &self.managed {
            Some(managed) => spent_ns + managed.waited_ns(now_ns) as f64,
            None => spent_ns,
        }
    }

    /// When the last packet that is there has been transmitted.
    #[inline]
    pub fn free_ns(&self) -> u64 {
        match &self.managed {
            Some(managed) => managed.free_ns,
            None => self.link.last_departure(),
        }
    }

    /// Nanoseconds of the work counted in `service_ns` that is still to be done.
    pub fn work_ns(&self, now_ns: u64) -> u64 {
        self.free_ns().saturating_sub(now_ns)
    }

    /// Nanoseconds until all that is there now has been sent.
    pub fn waiting_ns(&self, now_ns: u64, bandwidth_bps: f64) -> u64 {
        let waiting = self.managed.as_ref().map(|it| it.waiting_bits());
        let waiting_ns = waiting.filter(|&bits| bits > 0.0);
        self.work_ns(now_ns) + waiting_ns.map_or(0, |bits| service_ns(bits, bandwidth_bps))
    }

    /// From `now_ns` on, transmissions take `ratio` times as long.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64) {
        let still_ns = self.still_ns(now_ns);
        let work_ns = self.work_ns(now_ns);
        match &mut self.managed {
            Some(managed) if managed.free_ns > now_ns => {
                managed.free_ns = stretched(managed.free_ns, now_ns, ratio);
            }
            Some(_) => {}
            None => self
                .link
                .remap_times(now_ns, |at_ns| stretched(at_ns, now_ns, ratio)),
        }
        self.counts.sojourn_ns = self.counts.sojourn_ns + self.still_ns(now_ns) - still_ns;
        self.counts.service_ns = self.counts.service_ns + self.work_ns(now_ns) - work_ns;
        if let Some(red) = &mut self.red {
            red.average.scale_service_time(ratio);
        }
        if let Some(rio) = &mut self.rio {
            for (begins_ns, _) in rio.waiting.iter_mut().filter(|it| it.0 != NEVER) {
                *begins_ns = stretched(*begins_ns, now_ns, ratio);
            }
        }
    }

    /// The link fails: all that is there is lost. Those that waited where the queue is managed; others are
    /// on the wire behind it.
    pub fn fail(&mut self, now_ns: u64) -> Vec<QueuedPacket> {
        let there = self.length(now_ns);
        self.counts.sojourn_ns -= self.still_ns(now_ns);
        self.counts.service_ns -= self.work_ns(now_ns);
        self.counts.accepted -= there as u64;
        self.counts.lost += there as u64;
        self.link.clear(now_ns);
        let waited = match &mut self.managed {
            Some(managed) => {
                managed.free_ns = managed.free_ns.min(now_ns);
                let waited_ns = managed.waited_ns(now_ns);
                self.counts.sojourn_ns += waited_ns;
                self.counts.dropped_ns += waited_ns;
                managed.clear()
            }
            None => Vec::new(),
        };
        if let Some(rio) = &mut self.rio {
            for (_, marked) in std::mem::take(&mut rio.waiting) {
                rio.active.depart(now_ns, 1, marked);
            }
        }
        self.down = true;
        waited
    }

    /// The link works again.
    pub fn repair(&mut self) {
        self.down = false;
    }

    fn drops_early(&mut self, now_ns: u64, congested: Option<&mut bool>) -> bool {
        if self.red.is_none() {
            return false;
        }
        let length = self.length(now_ns);
        let idle_ns = now_ns.saturating_sub(self.free_ns());
        let idle_ns = (length == 0).then_some(idle_ns);
        // ns-2 counts those that wait.
        let waiting = length.saturating_sub(1);
        let Some(red) = &mut self.red else {
            return false;
        };
        let random = &mut red.random;
        let early = red.average.on_arrival(waiting, idle_ns, || random.random());
        match (early, congested) {
            (RedDecision::Admit, _) => false,
            (RedDecision::RandomDrop, Some(congested)) if red.marks != RedMarks::Never => {
                *congested = true;
                false
            }
            (RedDecision::ForcedDrop, Some(congested)) if red.marks == RedMarks::Always => {
                *congested = true;
                false
            }
            (RedDecision::RandomDrop | RedDecision::ForcedDrop, _) => true,
        }
    }
}

/// A queue of counted bytes.
#[derive(Clone, Debug)]
struct Bytes {
    most: f64,
    /// The bytes of those that are there; some that have left may still stand in front.
    each: Fifo<u32>,
    all: u64,
}

impl Bytes {
    fn new(most: f64) -> Bytes {
        Bytes {
            most,
            each: Fifo::default(),
            all: 0,
        }
    }

    /// The bytes of so many that came last.
    fn of_last(&self, there: usize) -> u64 {
        let gone = self.each.len().saturating_sub(there);
        let left: u64 = self.each[..gone]
            .iter()
            .map(|&bytes| u64::from(bytes))
            .sum();
        self.all - left
    }

    /// Whether a packet of so many bits is taken, beside so many others that are there. One alone always is.
    fn take(&mut self, there: usize, bits: f64) -> bool {
        while self.each.len() > there
            && let Some(left) = self.each.pop()
        {
            self.all -= u64::from(left);
        }
        let bytes = (bits / 8.0).round() as u32;
        let all = self.all + u64::from(bytes);
        let is_taken = there == 0 || all as f64 <= self.most;
        if is_taken {
            self.each.push(bytes);
            self.all = all;
        }
        is_taken
    }
}

/// Drop precedences at a queue.
#[derive(Clone, Debug)]
struct Precedences {
    active: DiffServQueue,
    /// Those that wait: when their transmission begins, as ns-2 counts them until then, or never where that is not
    /// known.
    waiting: VecDeque<(u64, DropPrecedence)>,
    offered: [u64; 3],
    lost: [u64; 3],
}

impl Precedences {
    /// Lets go of those whose transmission has begun.
    fn leave(&mut self, now_ns: u64) {
        while let Some(&(begins_ns, marked)) = self.waiting.front()
            && begins_ns <= now_ns
        {
            self.active.depart(begins_ns, 1, marked);
            self.waiting.pop_front();
        }
    }
}

/// What was to happen at `time_ns`, if it takes `ratio` times as long from `now_ns` on.
pub(crate) fn stretched(time_ns: u64, now_ns: u64, ratio: f64) -> u64 {
    now_ns + (time_ns.saturating_sub(now_ns) as f64 * ratio).round() as u64
}

#[cfg(test)]
mod tests {
    use netflow_queues::DropTail;
    use rand::SeedableRng;

    use super::*;

    /// Packets of 40 to 1500 B at a queue of counted bytes: as at the library's, which knows the size and
    /// the time of each; with changes of bandwidth and failures.
    #[test]
    fn bytes_are_counted_as_the_library_does() {
        let mut random = Pcg32::seed_from_u64(1);
        for most in [1.0, 1500.0, 1540.0, 10_000.0, 150_000.0] {
            let buffer = Buffer::Bytes(most);
            let mut ours = Queue::new(buffer);
            let mut theirs = DropTail::default();
            let (mut now, mut lost) = (0, 0);
            for _ in 0..20_000 {
                now += random.random_range(0..700);
                let bytes = match random.random_bool(0.5) {
                    true => 40,
                    false => random.random_range(500..1501),
                };
                let service = u64::from(bytes);
                let sent = ours.arrive(now, service, 8.0 * f64::from(bytes), None);
                assert_eq!(sent, theirs.arrive(now, service, bytes, buffer));
                lost += u64::from(sent.is_none());
                theirs.remove_departed(now);
                assert_eq!(ours.length(now), theirs.len());
                assert!(ours.length(now) <= 1 || ours.bytes(now) as f64 <= most);
                match random.random_range(0..1000) {
                    0 => {
                        ours.stretch(now, 2.0);
                        theirs.remap_times(|at| at + at.saturating_sub(now));
                    }
                    1 => {
                        ours.fail(now);
                        ours.repair();
                        theirs.clear(now);
                    }
                    _ => {}
                }
            }
            assert!(lost > 100, "{lost} of {most} B");
            assert!(!ours.is_plain());
        }
    }
}
