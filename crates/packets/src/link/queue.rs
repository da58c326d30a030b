//! Links and the queues in front of them.

use netflow_diffserv::TokenBucket;
use netflow_network::service_ns;
use netflow_queues::{
    Buffer, DelayLineQueue, DepartureRing, DropReason, EarlyDrop, FifoLink, LinkLoss, Losses,
    PacketDetails, PacketInfo, PrecedenceCounts, TraceServer, stretched_ns,
};
use netflow_units::Fifo;
use rand_pcg::Pcg32;

use crate::link::class_scheduler::Transmission;
use crate::link::queue_disc::{CONGESTED, DroppedPackets, QueueDisc, QueuedPacket, wire_bytes};
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

/// Link at which the queue length alone decides about a packet.
pub(crate) struct PlainLink<'a> {
    pub queue: PlainQueue<'a>,
    pub arrivals: &'a mut ArrivalCounter,
    pub bandwidth_bps: f64,
    pub delay_ns: u64,
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

    /// Returns the queue if its length alone decides about a packet.
    #[inline]
    pub fn as_plain(&mut self) -> Option<PlainLink<'_>> {
        if self.transit_losses.is_some() || self.policer.is_some() {
            return None;
        }
        Some(PlainLink {
            queue: self.queue.as_plain()?,
            arrivals: &mut self.arrivals,
            bandwidth_bps: self.bandwidth_bps,
            delay_ns: self.delay_ns,
        })
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

/// Queue of a link.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    discipline: Discipline,
    /// True if the link has failed: all packets are lost.
    down: bool,
    pub counts: LinkCounts,
}

#[derive(Clone, Debug)]
enum Discipline {
    /// Drop-tail with a buffer in packets.
    Plain(DepartureRing),
    /// Drop-tail with a buffer in bytes, RED or RIO.
    Fifo(Box<FifoLink>),
    /// Queue whose packets are chosen when the link is free.
    Managed(Box<QueueDisc>),
}

/// Queue that only the buffer in packets limits.
pub(crate) struct PlainQueue<'a> {
    departures: &'a mut DepartureRing,
    pub counts: &'a mut LinkCounts,
}

impl PlainQueue<'_> {
    /// Processes the arrival of a packet with transmission time `service_ns`. Returns its departure time, or
    /// `None` if it is lost.
    #[inline(always)]
    pub fn arrive(&mut self, now_ns: u64, service_ns: u64) -> Option<u64> {
        let left_ns = self.departures.arrive(now_ns, service_ns);
        self.counts.record(now_ns, service_ns, left_ns);
        left_ns
    }
}

/// Counters of a link since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounts {
    pub lost: u64,
    /// Lost packets that the AQM dropped before the buffer was full.
    pub dropped_early: u64,
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

impl LinkCounts {
    /// Records the arrival of a packet that departs at `left_ns`, or is lost.
    #[inline(always)]
    fn record(&mut self, now_ns: u64, service_ns: u64, left_ns: Option<u64>) {
        let Some(left_ns) = left_ns else {
            self.lost += 1;
            return;
        };
        self.accepted += 1;
        self.service_ns += service_ns;
        self.sojourn_ns += left_ns - now_ns;
    }

    pub fn offered(&self) -> u64 {
        self.accepted + self.lost
    }
}

impl Queue {
    /// Returns a drop-tail queue.
    pub fn new(buffer: Buffer) -> Queue {
        Queue::of(match buffer {
            Buffer::Packets(pkts) => Discipline::Plain(DepartureRing::new(pkts)),
            Buffer::Unbounded => Discipline::Plain(DepartureRing::new(usize::MAX)),
            Buffer::Bytes(_) => Discipline::Fifo(Box::new(FifoLink::new(buffer, None))),
        })
    }

    /// Returns a queue with RED or RIO.
    pub fn with_early_drop(buffer: Buffer, early_drop: EarlyDrop) -> Queue {
        let fifo = FifoLink::new(buffer, Some(Box::new(early_drop)));
        Queue::of(Discipline::Fifo(Box::new(fifo)))
    }

    /// Returns a managed queue.
    pub fn with_discipline(queue: QueueDisc) -> Queue {
        Queue::of(Discipline::Managed(Box::new(queue)))
    }

    fn of(discipline: Discipline) -> Queue {
        Queue {
            discipline,
            down: false,
            counts: LinkCounts::default(),
        }
    }

    /// Returns the managed queue, if it is one.
    #[inline]
    pub fn managed(&self) -> Option<&QueueDisc> {
        match &self.discipline {
            Discipline::Managed(managed) => Some(managed),
            Discipline::Plain(_) | Discipline::Fifo(_) => None,
        }
    }

    /// Returns the managed queue, if it is one.
    #[inline]
    pub fn managed_mut(&mut self) -> Option<&mut QueueDisc> {
        match &mut self.discipline {
            Discipline::Managed(managed) => Some(managed),
            Discipline::Plain(_) | Discipline::Fifo(_) => None,
        }
    }

    /// Returns true if packets are chosen when the link is free.
    #[inline]
    pub fn is_managed(&self) -> bool {
        matches!(self.discipline, Discipline::Managed(_))
    }

    /// Returns the queue if the buffer in packets is the only limit now.
    #[inline]
    pub fn as_plain(&mut self) -> Option<PlainQueue<'_>> {
        match &mut self.discipline {
            Discipline::Plain(departures) if !self.down => Some(PlainQueue {
                departures,
                counts: &mut self.counts,
            }),
            _ => None,
        }
    }

    /// Sets the buffer size in bytes, including the packet in service. Packets in the queue stay there.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        match &mut self.discipline {
            Discipline::Plain(_) => {}
            Discipline::Fifo(fifo) => fifo.set_buffer(buffer),
            Discipline::Managed(managed) => managed.set_buffer(buffer),
        }
    }

    /// Chooses each packet when the link is free from now on, for a shaper or a link with several queues. `buffer` is its
    /// buffer size. No packet may have arrived.
    pub fn choose_when_free(&mut self, buffer: Buffer) {
        let early_drop = match &self.discipline {
            Discipline::Plain(_) => None,
            Discipline::Fifo(fifo) => fifo.early_drop().cloned().map(Box::new),
            Discipline::Managed(_) => return,
        };
        let managed = QueueDisc::fifo(buffer, early_drop);
        self.discipline = Discipline::Managed(Box::new(managed));
    }

    /// Returns the offered and lost packets of each precedence, and the average queue lengths for each.
    pub fn precedences(&self) -> Option<(PrecedenceCounts, [f64; 3])> {
        let early_drop = match &self.discipline {
            Discipline::Plain(_) => None,
            Discipline::Fifo(fifo) => fifo.early_drop(),
            Discipline::Managed(managed) => managed.early_drop(),
        };
        early_drop?.precedences()
    }

    /// Processes the arrival of a packet with transmission time `service_ns` at a queue that is not managed. Returns its
    /// departure time, or `None` if it is lost. RED may mark it.
    #[inline]
    pub fn arrive(
        &mut self,
        packet: &mut Packet,
        service_ns: u64,
        bits: f64,
        spec: &HopSpec,
    ) -> Option<u64> {
        let now_ns = packet.time_ns;
        let left_ns = match &mut self.discipline {
            Discipline::Managed(_) => None,
            _ if self.down => {
                self.record_lost(spec);
                None
            }
            Discipline::Plain(departures) => departures.arrive(now_ns, service_ns),
            Discipline::Fifo(fifo) => {
                let bytes = if fifo.counts_bytes() {
                    wire_bytes(bits)
                } else {
                    0
                };
                let info = packet_info(packet, bytes, spec);
                match fifo.arrive(now_ns, service_ns, &info) {
                    Ok(departure) => {
                        if departure.marked {
                            packet.metadata |= CONGESTED;
                            self.counts.marked += 1;
                        }
                        Some(departure.at_ns)
                    }
                    Err(reason) => {
                        self.counts.dropped_early += u64::from(reason == DropReason::Early);
                        None
                    }
                }
            }
        };
        self.counts.record(now_ns, service_ns, left_ns);
        left_ns
    }

    /// Counts a packet by its precedence that is lost before it arrives at the queue.
    fn record_lost(&mut self, spec: &HopSpec) {
        let early_drop = match &mut self.discipline {
            Discipline::Plain(_) => None,
            Discipline::Fifo(fifo) => fifo.early_drop_mut(),
            Discipline::Managed(managed) => managed.early_drop_mut(),
        };
        if let Some(early_drop) = early_drop {
            early_drop.record_lost(spec.precedence);
        }
    }

    /// Counts the loss of a packet that arrives at a failed link.
    pub fn lose(&mut self, spec: &HopSpec) {
        self.counts.lost += 1;
        self.record_lost(spec);
    }

    /// Processes an arrival at a managed queue. Packets that are dropped as a result are pushed to `dropped`.
    pub fn enqueue(
        &mut self,
        waits: QueuedPacket,
        spec: &HopSpec,
        details: impl FnOnce() -> PacketDetails,
        dropped: &mut DroppedPackets,
    ) {
        self.counts.accepted += 1;
        let info = packet_info(&waits.packet, waits.bytes(), spec);
        if let Some(managed) = self.managed_mut() {
            managed.enqueue(waits, info, details, dropped);
        }
    }

    /// Removes the next packet to transmit. Returns it with its arrival time and whether this queue has
    /// marked it. Packets that are dropped before it are pushed to `dropped`.
    pub fn dequeue(
        &mut self,
        now_ns: u64,
        dropped: &mut DroppedPackets,
    ) -> Option<(QueuedPacket, u64, bool)> {
        self.managed_mut()?.dequeue(now_ns, dropped)
    }

    /// Returns true if the link has failed.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// Returns the maximum queue length in packets.
    pub fn max_pkts(&self) -> u64 {
        match &self.discipline {
            Discipline::Plain(departures) => departures.max_len(),
            Discipline::Fifo(fifo) => fifo.max_len(),
            Discipline::Managed(managed) => managed.max_pkts(),
        }
    }

    /// Restarts the maximum queue length from now on.
    pub fn restart_max(&mut self, now_ns: u64) {
        match &mut self.discipline {
            Discipline::Plain(departures) => departures.reset_max_len(now_ns),
            Discipline::Fifo(fifo) => fifo.reset_max_len(now_ns),
            Discipline::Managed(managed) => managed.restart_max(now_ns),
        }
    }

    /// Returns the queue length in packets, including the packet in service.
    pub fn length(&self, now_ns: u64) -> usize {
        match &self.discipline {
            Discipline::Plain(departures) => departures.len(now_ns),
            Discipline::Fifo(fifo) => fifo.len(now_ns),
            Discipline::Managed(managed) => managed.length(now_ns),
        }
    }

    /// Returns the bytes in a queue that counts them. In a managed queue, only waiting packets count.
    pub fn bytes(&self, now_ns: u64) -> u64 {
        match &self.discipline {
            Discipline::Plain(_) => 0,
            Discipline::Fifo(fifo) => fifo.bytes(now_ns),
            Discipline::Managed(managed) => managed.bytes(),
        }
    }

    /// Returns the remaining sojourn time in ns of packets counted in `sojourn_ns`: of all packets in the
    /// queue; in a managed queue, of the packet in transmission.
    fn remaining_sojourn_ns(&self, now_ns: u64) -> u64 {
        let remaining = |sent_ns: u64| sent_ns - now_ns;
        match &self.discipline {
            Discipline::Plain(departures) => {
                departures.departure_times(now_ns).map(remaining).sum()
            }
            Discipline::Fifo(fifo) => fifo.departure_times(now_ns).map(remaining).sum(),
            Discipline::Managed(managed) => managed.free_ns.saturating_sub(now_ns),
        }
    }

    /// Returns the part of [`queue_time_ns`](Self::queue_time_ns) of packets that departed. If packets may be
    /// dropped after waiting, it excludes packets that still wait.
    pub fn departed_queue_time_ns(&self, now_ns: u64) -> f64 {
        match self.managed() {
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
        match self.managed() {
            Some(managed) => spent_ns + managed.waiting_time_sum_ns(now_ns) as f64,
            None => spent_ns,
        }
    }

    /// Returns the end of transmission of the last packet; in a managed queue, of the packet in transmission.
    #[inline]
    pub fn free_ns(&self) -> u64 {
        match &self.discipline {
            Discipline::Plain(departures) => departures.last_departure(),
            Discipline::Fifo(fifo) => fifo.last_departure(),
            Discipline::Managed(managed) => managed.free_ns,
        }
    }

    /// Returns the start of the current or last transmission in ns, which may be in the future; 0 in a FIFO queue.
    pub fn begins_ns(&self) -> u64 {
        self.managed().map_or(0, |it| it.begins_ns)
    }

    /// Returns the remaining part of `service_ns`.
    pub fn backlog_ns(&self, now_ns: u64) -> u64 {
        self.free_ns().saturating_sub(now_ns.max(self.begins_ns()))
    }

    /// Returns the time in ns until all packets that are in the queue now have been sent.
    pub fn drain_time_ns(&self, now_ns: u64, bandwidth_bps: f64) -> u64 {
        let waiting_ns = self.managed().map_or(0, |managed| {
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
        match &mut self.discipline {
            Discipline::Plain(departures) => {
                departures.remap_times(now_ns, |at_ns| stretched_ns(at_ns, now_ns, ratio));
            }
            Discipline::Fifo(fifo) => fifo.stretch(now_ns, ratio),
            Discipline::Managed(managed) => managed.stretch(now_ns, ratio),
        }
        self.counts.sojourn_ns =
            self.counts.sojourn_ns + self.remaining_sojourn_ns(now_ns) - still_ns;
        self.counts.service_ns = self.counts.service_ns + self.backlog_ns(now_ns) - work_ns;
    }

    /// Fails the link: all packets in the queue are lost. Returns the packets that wait in a managed queue; others
    /// are on the wire behind it.
    pub fn fail(&mut self, now_ns: u64) -> Vec<QueuedPacket> {
        let there = self.length(now_ns);
        self.counts.sojourn_ns -= self.remaining_sojourn_ns(now_ns);
        self.counts.service_ns -= self.backlog_ns(now_ns);
        self.counts.accepted -= there as u64;
        self.counts.lost += there as u64;
        let waited = match &mut self.discipline {
            Discipline::Plain(departures) => {
                departures.clear(now_ns);
                Vec::new()
            }
            Discipline::Fifo(fifo) => {
                fifo.clear(now_ns);
                Vec::new()
            }
            Discipline::Managed(managed) => {
                managed.free_ns = managed.free_ns.min(now_ns);
                let waited_ns = managed.waiting_time_sum_ns(now_ns);
                self.counts.sojourn_ns += waited_ns;
                self.counts.dropped_ns += waited_ns;
                managed.clear(now_ns)
            }
        };
        self.down = true;
        waited
    }

    /// Repairs the link.
    pub fn repair(&mut self) {
        self.down = false;
    }
}

/// Returns the properties of a packet that disciplines use.
#[inline]
fn packet_info(packet: &Packet, bytes: u32, spec: &HopSpec) -> PacketInfo {
    PacketInfo {
        bytes,
        flow: spec.flow(),
        ecn: spec.ecn(packet),
        precedence: spec.precedence,
    }
}
