//! Links and the queues in front of them: drop-tail FIFO, RED (Floyd and Jacobson 1993), RIO, managed queues.

use std::collections::VecDeque;

use netflow_diffserv::{DiffServQueue, DropPrecedence, RedAverage, RedDecision, TokenBucket};
use netflow_network::{Red, service_ns};
use netflow_queues::{
    Buffer, DelayLineQueue, DepartureRing, LinkLoss, Losses, PacketDetails, PacketInfo, TraceServer,
};
use netflow_tcpmodel::tcp::NEVER;
use netflow_units::Fifo;
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::link::class_scheduler::Transmission;
use crate::link::queue_disc::{CONGESTED, QueueDisc, QueuedPacket};
use crate::link::wire::Packet;
use crate::topology::HopSpec;

/// Link and its queue.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub queue: Queue,
    pub transmission: Transmission,
    /// Token bucket in front of the queue, which drops packets.
    pub policer: Option<Box<TokenBucket>>,
    /// Token bucket behind the queue, or behind all queues that share the link: a packet leaves its queue when the link
    /// is free, and is transmitted when it conforms.
    pub shaper: Option<Box<TokenBucket>>,
    /// Losses in transit, if there are any.
    pub transit_losses: Option<Box<TransitLosses>>,
    pub bandwidth_bps: f64,
    pub delay_ns: u64,
    /// Shortest delay of a packet in ns.
    pub min_delay_ns: u64,
    /// Propagation of each packet, if it differs between packets. The queue then chooses packets when the link is free.
    pub delay_line: Option<Box<PacketDelays>>,
    /// Delivery trace that decides when packets leave, instead of the bandwidth.
    pub trace: Option<Box<TraceServer>>,
    /// Packets in flight that departed with another delay, in [this order](packet_key).
    pub departed_with_old_delay: Fifo<Packet>,
    pub arrivals: ArrivalCounter,
}

/// Delay line of a link, or of a queue that shares the line of its link.
#[derive(Clone, Debug)]
pub(crate) struct PacketDelays {
    pub line: DelayLineQueue<Pcg32>,
    /// The packet that was transmitted last and its copy, behind the link, with the end of the transmission in ns.
    pub transmitted_last: Vec<(Packet, u64)>,
}

/// Returns a key that distinguishes the packets of one link, by arrival time first.
fn packet_key(packet: &Packet) -> (u64, u32, i32, u64) {
    (packet.time_ns, packet.hop, packet.seq, packet.metadata)
}

impl Link {
    /// Returns a placeholder for a link that belongs to a partition.
    pub fn placeholder(&self) -> Link {
        Link {
            queue: Queue::new(Buffer::Packets(1)),
            transmission: Transmission::Exclusive,
            policer: None,
            shaper: None,
            transit_losses: None,
            delay_line: None,
            trace: None,
            departed_with_old_delay: Fifo::default(),
            ..*self
        }
    }

    /// Returns the end of transmission, past or future, of a packet on a wire behind the link. `None` if it
    /// departed with another delay than the current one.
    #[inline]
    pub fn transmission_end_ns(&self, packet: &Packet) -> Option<u64> {
        if let Some(delays) = &self.delay_line {
            let mut last = delays.transmitted_last.iter();
            return last
                .find(|(it, _)| it == packet)
                .map(|&(_, left_ns)| left_ns);
        }
        match self
            .departed_with_old_delay
            .binary_search_by_key(&packet_key(packet), packet_key)
        {
            Ok(_) => None,
            Err(_) => Some(packet.time_ns.saturating_sub(self.delay_ns)),
        }
    }

    /// Sets the delay. The packets `in_flight` have departed and not arrived.
    pub fn set_delay_ns(&mut self, delay_ns: u64, in_flight: &[Packet]) {
        self.delay_ns = delay_ns;
        if let Some(delays) = &self.delay_line {
            self.min_delay_ns = delays.line.settings().min_delay_ns(delay_ns);
            return;
        }
        self.min_delay_ns = delay_ns;
        in_flight
            .iter()
            .for_each(|&it| self.departed_with_old_delay.push(it));
        self.departed_with_old_delay
            .sort_unstable_by_key(packet_key);
    }

    /// Removes packets from `departed_with_old_delay` that arrived before `now_ns`.
    #[inline]
    pub fn forget_arrived(&mut self, now_ns: u64) {
        let arrived = self
            .departed_with_old_delay
            .iter()
            .take_while(|it| it.time_ns < now_ns);
        self.departed_with_old_delay.pop_n(arrived.count());
    }

    /// Returns the arrival in ns of a packet behind the link if its transmission ends at another time; `None` if it has
    /// been transmitted by `from_ns`. `end_ns` maps the end of a transmission, and `delay_ns` is the new delay.
    pub fn rescheduled_ns(
        &self,
        packet: &Packet,
        from_ns: u64,
        delay_ns: u64,
        end_ns: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let left_ns = self
            .transmission_end_ns(packet)
            .filter(|&it| it > from_ns)?;
        let own_ns = packet.time_ns - left_ns;
        let own_ns = (own_ns + delay_ns).saturating_sub(self.delay_ns);
        Some(end_ns(left_ns) + own_ns)
    }

    /// Records new arrivals of the packet in transmission, as [`rescheduled_ns`](Link::rescheduled_ns) returns them.
    pub fn reschedule_last(&mut self, from_ns: u64, delay_ns: u64, end_ns: impl Fn(u64) -> u64) {
        let Some(delays) = &self.delay_line else {
            return;
        };
        let mut last = delays.transmitted_last.clone();
        for (packet, left_ns) in &mut last {
            if let Some(at_ns) = self.rescheduled_ns(packet, from_ns, delay_ns, &end_ns) {
                packet.time_ns = at_ns;
                *left_ns = end_ns(*left_ns);
            }
        }
        if let Some(delays) = &mut self.delay_line {
            delays.transmitted_last = last;
        }
    }

    /// Returns true if the queue length alone decides about a packet.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.transit_losses.is_none() && self.policer.is_none() && self.queue.is_plain()
    }

    /// Returns the time in ns from `now_ns` on at which the shaper sends a packet of `bytes` bytes, which it then counts.
    #[inline]
    pub fn shape(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let Some(shaper) = &mut self.shaper else {
            return now_ns;
        };
        let begins_ns = shaper.conforms_at_ns(now_ns, bytes);
        shaper.send(begins_ns, bytes);
        begins_ns
    }

    /// Returns the bandwidth in bit/s that the link sustains.
    pub fn sustained_bps(&self) -> f64 {
        let shaper_bps = self
            .shaper
            .as_ref()
            .map_or(f64::INFINITY, |it| it.rate_bps() as f64);
        self.bandwidth_bps.min(shaper_bps)
    }

    /// Removes the next packet that has been transmitted by now and is lost in transit. Its time is the end
    /// of transmission.
    pub fn next_transit_loss(&mut self, now_ns: u64) -> Option<Packet> {
        let lossy = self.transit_losses.as_mut()?;
        let first = *lossy.pending_losses.first()?;
        if first.time_ns > now_ns {
            return None;
        }
        lossy.lost += 1;
        lossy.pending_losses.pop()
    }

    /// Returns the packets in the queue that will be lost in transit. Their times are the ends of
    /// transmission.
    pub fn pending_losses(&self) -> &[Packet] {
        self.transit_losses
            .as_ref()
            .map_or(&[], |lossy| &lossy.pending_losses)
    }

    /// Returns the current losses in transit.
    pub fn loss(&self) -> &LinkLoss {
        let lossy = self.transit_losses.as_ref();
        lossy.map_or(&LinkLoss::NONE, |lossy| lossy.losses.loss())
    }

    /// Returns the number of packets lost in transit, if losses were ever configured.
    pub fn link_lost(&self) -> Option<u64> {
        self.transit_losses.as_ref().map(|lossy| lossy.lost)
    }
}

/// Losses of a link in transit.
#[derive(Clone, Debug)]
pub(crate) struct TransitLosses {
    pub losses: Losses<Pcg32>,
    /// Packets in the queue that will be lost. Their times are the ends of transmission.
    pub pending_losses: Fifo<Packet>,
    lost: u64,
}

impl TransitLosses {
    pub fn new(losses: Losses<Pcg32>) -> TransitLosses {
        TransitLosses {
            losses,
            pending_losses: Fifo::default(),
            lost: 0,
        }
    }

    /// Returns true if the next packet that arrives is lost in transit. If the queue accepts it, it is
    /// transmitted until `left_ns` first.
    #[inline]
    pub fn is_lost_in_transit(&mut self, bytes: f64, left_ns: Option<u64>, packet: Packet) -> bool {
        let is_lost = self.draw_loss(bytes, left_ns.unwrap_or(packet.time_ns));
        if let Some(time_ns) = left_ns
            && is_lost
        {
            self.pending_losses.push(Packet { time_ns, ..packet });
        }
        is_lost
    }

    /// Returns true if the next packet that is transmitted, of `bytes` bytes, is lost in transit. `now_ns` is the end of its
    /// transmission, if it is known yet.
    pub fn draw_loss(&mut self, bytes: f64, now_ns: u64) -> bool {
        self.losses.next(bytes, now_ns).is_some()
    }
}

/// Counter of arrivals in intervals of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivalCounter {
    interval_ns: u64,
    /// End of the interval of the last arrival, in ns.
    end_ns: u64,
    /// Number of packets in earlier intervals, and sum of the squares of these numbers.
    pkts: u64,
    squares: u128,
}

impl ArrivalCounter {
    pub fn new(interval_ns: u64) -> ArrivalCounter {
        ArrivalCounter {
            interval_ns,
            end_ns: interval_ns,
            pkts: 0,
            squares: 0,
        }
    }

    /// Counts an arrival after `before` others.
    #[inline]
    pub fn count(&mut self, now_ns: u64, before: u64) {
        if now_ns >= self.end_ns {
            (self.pkts, self.squares) = self.completed_intervals(now_ns, before);
            self.end_ns = (now_ns / self.interval_ns + 1) * self.interval_ns;
        }
    }

    /// Returns the number of packets in the intervals that have ended by now, and the sum of the squares of
    /// these numbers. `all` packets have arrived in total.
    pub fn completed_intervals(&self, now_ns: u64, all: u64) -> (u64, u128) {
        let last = u128::from(all - self.pkts);
        if self.end_ns <= now_ns {
            (all, self.squares + last * last)
        } else {
            (self.pkts, self.squares)
        }
    }
}

/// Queue of a link. It is FIFO unless it is managed.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    departures: DepartureRing,
    /// Byte counter, if the buffer limits bytes and not packets.
    bytes: Option<Box<ByteCounter>>,
    red: Option<Box<RedQueue>>,
    rio: Option<Box<RioPrecedences>>,
    pub managed: Option<Box<QueueDisc>>,
    /// True if the link has failed: all packets are lost.
    down: bool,
    pub counts: LinkCounts,
}

/// Counters of a link since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounts {
    pub lost: u64,
    pub accepted: u64,
    /// Packets that the queue has marked and that departed or will.
    pub marked: u64,
    /// Service time of all accepted packets in ns.
    pub service_ns: u64,
    /// Sojourn time of all accepted packets in ns, including packets dropped after waiting.
    pub sojourn_ns: u64,
    /// Sojourn time of the latter in ns.
    pub dropped_ns: u64,
}

/// Random early detection (RED) in front of the queue.
#[derive(Clone, Debug)]
struct RedQueue {
    average: RedAverage,
    marks: RedMarks,
    random: Pcg32,
}

/// Cases in which RED marks ECN-capable packets instead of dropping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedMarks {
    Never,
    /// Marks if the drop probability is below 1.
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
            Buffer::Bytes(most) => (usize::MAX, Some(Box::new(ByteCounter::new(most)))),
            Buffer::Unbounded => (usize::MAX, None),
        };
        Queue {
            departures: DepartureRing::new(pkts),
            bytes,
            red: None,
            rio: None,
            managed: None,
            down: false,
            counts: LinkCounts::default(),
        }
    }

    /// Returns a queue with RED.
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

    /// Returns a managed queue.
    pub fn managed(queue: QueueDisc) -> Queue {
        Queue {
            managed: Some(Box::new(queue)),
            ..Queue::new(Buffer::Packets(1))
        }
    }

    /// Returns a queue that distinguishes drop precedences (RIO).
    pub fn with_rio(buffer: Buffer, active: DiffServQueue) -> Queue {
        let precedences = RioPrecedences {
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

    /// Sets the buffer size, including the packet in service. Packets in the queue stay there.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        if let Some(managed) = &mut self.managed {
            managed.set_buffer(buffer);
        } else if let (Some(bytes), Buffer::Bytes(most)) = (&mut self.bytes, buffer) {
            bytes.max_bytes = most;
        }
    }

    /// Chooses each packet when the link is free from now on, for a shaper or a link with several queues. `buffer` is its
    /// buffer size.
    pub fn choose_when_free(&mut self, buffer: Buffer) {
        self.managed
            .get_or_insert_with(|| Box::new(QueueDisc::drop_tail(buffer)));
    }

    /// Returns true if the queue distinguishes drop precedences. Packets then arrive by
    /// [`Queue::arrive_marked`].
    #[inline]
    pub fn has_rio(&self) -> bool {
        self.rio.is_some()
    }

    /// Returns the offered and lost packets of each precedence, and the average queue lengths for each.
    pub fn precedences(&self) -> Option<([u64; 3], [u64; 3], [f64; 3])> {
        let rio = self.rio.as_ref()?;
        Some((rio.offered, rio.lost, rio.active.average_pkts()))
    }

    /// Processes the arrival of a packet with a drop precedence, as [`Queue::arrive`].
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
        rio.remove_departed(now_ns);
        let left_ns = if self.down || !rio.active.admit(now_ns, 1, marked) {
            self.counts.lost += 1;
            None
        } else {
            let begins_ns = self.departures.last_departure().max(now_ns);
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

    /// Processes the arrival of a packet of `bits` bits with transmission time `service_ns`. Returns its
    /// departure time, or `None` if it is lost. With `congested`, for ECN-capable senders, RED sets it
    /// instead of dropping.
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
            Some(bytes) => bytes.try_add(self.departures.len(now_ns), bits),
            None => true,
        };
        let left_ns = if fits {
            self.arrive_plain(now_ns, service_ns)
        } else {
            self.counts.lost += 1;
            None
        };
        if left_ns.is_none()
            && let Some(red) = &mut self.red
        {
            red.average.on_overflow();
        }
        left_ns
    }

    /// Processes an arrival as [`Queue::arrive`], if the buffer in packets is the only limit.
    #[inline(always)]
    pub fn arrive_plain(&mut self, now_ns: u64, service_ns: u64) -> Option<u64> {
        let Some(left_ns) = self.departures.arrive(now_ns, service_ns) else {
            self.counts.lost += 1;
            return None;
        };
        self.counts.accepted += 1;
        self.counts.service_ns += service_ns;
        self.counts.sojourn_ns += left_ns - now_ns;
        Some(left_ns)
    }

    /// Processes an arrival at a queue that is managed or shares its link. Packets that are dropped as a
    /// result are pushed to `dropped`.
    pub fn enqueue(
        &mut self,
        mut waits: QueuedPacket,
        spec: &HopSpec,
        details: impl FnOnce() -> PacketDetails,
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
        let info = PacketInfo {
            bytes: waits.bytes(),
            flow: spec.flow(),
            ecn: spec.ecn(&waits.packet),
        };
        let mut congested = false;
        let before = dropped.len();
        let mark = info.ecn.is_capable().then_some(&mut congested);
        if is_admitted && !self.drops_early(now_ns, mark) {
            if congested {
                waits.packet.metadata |= CONGESTED;
            }
            if let Some(managed) = &mut self.managed {
                managed.enqueue(waits, info, details, dropped);
            }
            if let (Some(red), true) = (&mut self.red, dropped.len() > before) {
                red.average.on_overflow();
            }
        } else {
            dropped.push(waits)
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

    /// Removes the next packet to transmit. Returns it with its arrival time and whether this queue has
    /// marked it. Packets that are dropped before it are pushed to `dropped`.
    pub fn dequeue(
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

    /// Returns true if the link has failed.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// Returns true if the buffer in packets is the only limit.
    pub fn is_plain(&self) -> bool {
        let all_alike = self.red.is_none() && self.rio.is_none() && self.managed.is_none();
        all_alike && self.bytes.is_none() && !self.down
    }

    /// Returns the maximum queue length in packets.
    pub fn max_pkts(&self) -> u64 {
        match &self.managed {
            Some(managed) => managed.max_pkts(),
            None => self.departures.max_len(),
        }
    }

    /// Restarts the maximum queue length from now on.
    pub fn restart_max(&mut self, now_ns: u64) {
        match &mut self.managed {
            Some(managed) => managed.restart_max(now_ns),
            None => self.departures.reset_max_len(now_ns),
        }
    }

    /// Returns the queue length in packets, including the packet in service.
    pub fn length(&self, now_ns: u64) -> usize {
        match &self.managed {
            Some(managed) => managed.length(now_ns),
            None => self.departures.len(now_ns),
        }
    }

    /// Returns the bytes in a queue that counts them. In a managed queue, only waiting packets count.
    pub fn bytes(&self, now_ns: u64) -> u64 {
        match (&self.managed, &self.bytes) {
            (Some(managed), _) => managed.bytes(),
            (None, Some(bytes)) => bytes.bytes_of_last(self.departures.len(now_ns)),
            (None, None) => 0,
        }
    }

    /// Returns the remaining sojourn time in ns of packets counted in `sojourn_ns`: of all packets in the
    /// queue; in a managed queue, of the packet in transmission.
    fn remaining_sojourn_ns(&self, now_ns: u64) -> u64 {
        match &self.managed {
            Some(managed) => managed.free_ns.saturating_sub(now_ns),
            None => self
                .departures
                .departure_times(now_ns)
                .map(|sent_ns| sent_ns - now_ns)
                .sum(),
        }
    }

    /// Returns the part of [`queue_time_ns`](Self::queue_time_ns) of packets that departed. If packets may be
    /// dropped after waiting, it excludes packets that still wait.
    pub fn departed_queue_time_ns(&self, now_ns: u64) -> f64 {
        match &self.managed {
            Some(managed) if managed.may_drop_queued() => {
                let all_ns = self.counts.sojourn_ns - self.counts.dropped_ns;
                all_ns as f64 - self.remaining_sojourn_ns(now_ns) as f64
            }
            _ => self.queue_time_ns(now_ns) - self.counts.dropped_ns as f64,
        }
    }

    /// Returns the time that packets have spent in the queue until now, in packet·ns.
    pub fn queue_time_ns(&self, now_ns: u64) -> f64 {
        let spent_ns = self.counts.sojourn_ns as f64 - self.remaining_sojourn_ns(now_ns) as f64;
        match &self.managed {
            Some(managed) => spent_ns + managed.waiting_time_sum_ns(now_ns) as f64,
            None => spent_ns,
        }
    }

    /// Returns the end of transmission of the last packet; in a managed queue, of the packet in transmission.
    #[inline]
    pub fn free_ns(&self) -> u64 {
        match &self.managed {
            Some(managed) => managed.free_ns,
            None => self.departures.last_departure(),
        }
    }

    /// Returns the start of the current or last transmission in ns, which may be in the future; 0 in a FIFO queue.
    pub fn begins_ns(&self) -> u64 {
        self.managed.as_ref().map_or(0, |it| it.begins_ns)
    }

    /// Returns the remaining part of `service_ns`.
    pub fn backlog_ns(&self, now_ns: u64) -> u64 {
        self.free_ns().saturating_sub(now_ns.max(self.begins_ns()))
    }

    /// Returns the time in ns until all packets that are in the queue now have been sent.
    pub fn drain_time_ns(&self, now_ns: u64, bandwidth_bps: f64) -> u64 {
        let waiting_ns = self.managed.as_ref().map_or(0, |managed| {
            let sent_bps = managed
                .shaper_bps
                .unwrap_or(bandwidth_bps)
                .min(bandwidth_bps);
            match managed.waiting_bits() {
                bits if bits > 0.0 => service_ns(bits, sent_bps),
                _ => 0,
            }
        });
        self.free_ns().saturating_sub(now_ns) + waiting_ns
    }

    /// Stretches transmissions: from `now_ns` on, they take `ratio` times as long.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64) {
        let still_ns = self.remaining_sojourn_ns(now_ns);
        let work_ns = self.backlog_ns(now_ns);
        match &mut self.managed {
            Some(managed) if managed.free_ns > now_ns => {
                managed.free_ns = rescaled_time_ns(managed.free_ns, now_ns, ratio);
            }
            Some(_) => {}
            None => self
                .departures
                .remap_times(now_ns, |at_ns| rescaled_time_ns(at_ns, now_ns, ratio)),
        }
        self.counts.sojourn_ns =
            self.counts.sojourn_ns + self.remaining_sojourn_ns(now_ns) - still_ns;
        self.counts.service_ns = self.counts.service_ns + self.backlog_ns(now_ns) - work_ns;
        if let Some(red) = &mut self.red {
            red.average.scale_service_time(ratio);
        }
        if let Some(rio) = &mut self.rio {
            for (begins_ns, _) in rio.waiting.iter_mut().filter(|it| it.0 != NEVER) {
                *begins_ns = rescaled_time_ns(*begins_ns, now_ns, ratio);
            }
        }
    }

    /// Fails the link: all packets in the queue are lost. Returns the packets that wait in a managed queue; others
    /// are on the wire behind it.
    pub fn fail(&mut self, now_ns: u64) -> Vec<QueuedPacket> {
        let there = self.length(now_ns);
        self.counts.sojourn_ns -= self.remaining_sojourn_ns(now_ns);
        self.counts.service_ns -= self.backlog_ns(now_ns);
        self.counts.accepted -= there as u64;
        self.counts.lost += there as u64;
        self.departures.clear(now_ns);
        let waited = match &mut self.managed {
            Some(managed) => {
                managed.free_ns = managed.free_ns.min(now_ns);
                let waited_ns = managed.waiting_time_sum_ns(now_ns);
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

    /// Repairs the link.
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
        // ns-2 counts only waiting packets.
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

/// Byte counter of a queue.
#[derive(Clone, Debug)]
struct ByteCounter {
    max_bytes: f64,
    /// Bytes of the packets in the queue. Some that have departed may still be at the front.
    packet_bytes: Fifo<u32>,
    total_bytes: u64,
}

impl ByteCounter {
    fn new(most: f64) -> ByteCounter {
        ByteCounter {
            max_bytes: most,
            packet_bytes: Fifo::default(),
            total_bytes: 0,
        }
    }

    /// Returns the bytes of the last `there` packets.
    fn bytes_of_last(&self, there: usize) -> u64 {
        let gone = self.packet_bytes.len().saturating_sub(there);
        let left: u64 = self.packet_bytes[..gone]
            .iter()
            .map(|&bytes| u64::from(bytes))
            .sum();
        self.total_bytes - left
    }

    /// Accepts a packet of `bits` bits if it fits with the `there` packets in the queue. Returns whether it
    /// does. A packet fits into an empty queue in any case.
    fn try_add(&mut self, there: usize, bits: f64) -> bool {
        while self.packet_bytes.len() > there
            && let Some(left) = self.packet_bytes.pop()
        {
            self.total_bytes -= u64::from(left);
        }
        let bytes = (bits / 8.0).round() as u32;
        let all = self.total_bytes + u64::from(bytes);
        let is_taken = there == 0 || all as f64 <= self.max_bytes;
        if is_taken {
            self.packet_bytes.push(bytes);
            self.total_bytes = all;
        }
        is_taken
    }
}

/// Drop precedences at a queue.
#[derive(Clone, Debug)]
struct RioPrecedences {
    active: DiffServQueue,
    /// Waiting packets, with the start of transmission in ns, or [`NEVER`] if unknown. ns-2 counts packets
    /// until their transmission starts.
    waiting: VecDeque<(u64, DropPrecedence)>,
    offered: [u64; 3],
    lost: [u64; 3],
}

impl RioPrecedences {
    /// Removes packets whose transmission has started.
    fn remove_departed(&mut self, now_ns: u64) {
        while let Some(&(begins_ns, marked)) = self.waiting.front()
            && begins_ns <= now_ns
        {
            self.active.depart(begins_ns, 1, marked);
            self.waiting.pop_front();
        }
    }
}

/// Returns the new time of an event at `time_ns`, if it takes `ratio` times as long from `now_ns` on.
pub(crate) fn rescaled_time_ns(time_ns: u64, now_ns: u64, ratio: f64) -> u64 {
    now_ns + (time_ns.saturating_sub(now_ns) as f64 * ratio).round() as u64
}

#[cfg(test)]
mod tests {
    use netflow_queues::DropTail;
    use rand::SeedableRng;

    use super::*;

    /// Packets of 40 to 1500 B at a queue that counts bytes. The result equals that of `DropTail`, which
    /// stores the size and time of each packet; with changes of bandwidth and failures.
    #[test]
    fn byte_counts_match_the_queues_crate() {
        let mut random = Pcg32::seed_from_u64(1);
        for most in [1.0, 1500.0, 1540.0, 10_000.0, 150_000.0] {
            let buffer = Buffer::Bytes(most);
            let mut ours = Queue::new(buffer);
            let mut theirs = DropTail::default();
            let (mut now, mut lost) = (0, 0);
            for _ in 0..20_000 {
                now += random.random_range(0..700);
                let bytes = if random.random_bool(0.5) {
                    40
                } else {
                    random.random_range(500..1501)
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
