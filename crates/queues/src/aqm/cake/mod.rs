//! CAKE (common applications kept enhanced): shaper, priority tins, flow queues with host fairness, COBALT, and a
//! filter of acknowledgements, as in Linux 6.18 (`sch_cake`). Høiland-Jørgensen, Täht, Morton: Piece of CAKE: A
//! Comprehensive Queue Management Solution for Home Gateways, 2018.

mod ack_filter;
mod cobalt;
mod flow_table;
#[cfg(test)]
mod tests;
mod tins;

use netflow_units::{SplitMix64, hash_mix};

use super::{Discipline, DropReason, Drops, PacketDetails, PacketInfo, Settings, WaitingPacket};
use crate::Buffer;
pub use ack_filter::{AckFilter, TcpAck};
pub use flow_table::Isolation;
use flow_table::{Activity, FlowTable, Hashes, ListName};
use tins::TinSettings;
pub use tins::Tins;

/// Flow queues with COBALT (CoDel and BLUE) behind a shaper, in priority tins.
///
/// The shaper sends a packet when the previous one would have left a link of its bandwidth; there are no bursts. A
/// flow that leaves its queue empty is sparse and is served first. A hash assigns flows to 1024 queues. A queue
/// already in use is avoided in favour of seven others. A full buffer drops from the head of the longest queue, which
/// makes BLUE drop some of its packets at random.
///
/// Sizes include the link-layer overhead of the link, as with `overhead`, `mpu`, `atm` and `ptm` of Linux. Linux limits
/// kernel memory; here the buffer limits packets or bytes. The modes `ingress`, `autorate-ingress`, `nat`, `wash` and
/// `fwmark` are not modelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cake {
    /// Bandwidth of the shaper in bit/s; unlimited without one.
    pub bandwidth_bps: Option<f64>,
    /// Interval of COBALT in ns: a usual round-trip time. Its target is 5 % of it, and at least the transmission time
    /// for 1.5 packets of maximum size.
    pub rtt_ns: u64,
    /// Fairness between flows and hosts.
    pub isolation: Isolation,
    /// Priority tins.
    pub tins: Tins,
    /// Filter of acknowledgements.
    pub ack_filter: AckFilter,
}

impl Default for Cake {
    /// The values of Linux: no shaper, 100 ms, triple isolation, three tins, no filter of acknowledgements.
    fn default() -> Cake {
        Cake {
            bandwidth_bps: None,
            rtt_ns: 100_000_000,
            isolation: Isolation::default(),
            tins: Tins::default(),
            ack_filter: AckFilter::default(),
        }
    }
}

/// Smallest memory limit of Linux in bytes.
const MIN_MEMORY_BYTES: f64 = 4_194_304.0;
/// Memory limit of Linux without a shaper, in bytes: 10 240 packets of maximum size.
const UNSHAPED_MEMORY_BYTES: f64 = 10_240.0 * 1514.0;

impl Cake {
    fn bytes_per_s(&self) -> Option<u64> {
        self.bandwidth_bps.map(|bps| (bps / 8.0) as u64)
    }

    /// Returns the buffer of Linux in bytes: four bandwidth-delay products for the setting of the round-trip time,
    /// within limits.
    pub fn default_buffer_bytes(&self) -> f64 {
        self.bandwidth_bps.map_or(UNSHAPED_MEMORY_BYTES, |bps| {
            let products = 4.0 * bps / 8.0 * self.rtt_ns as f64 * 1e-9;
            products.clamp(MIN_MEMORY_BYTES, UNSHAPED_MEMORY_BYTES)
        })
    }
}

impl Settings for Cake {
    fn marks(&self) -> bool {
        true
    }

    fn shaper_bps(&self) -> Option<f64> {
        self.bandwidth_bps
    }
}

/// Waiting packet and what the filter of acknowledgements needs of it.
#[derive(Clone, Debug)]
struct StoredPacket<P> {
    waiting: WaitingPacket<P>,
    /// Flow and acknowledgement, if there is a filter.
    ack: Option<Box<(u64, TcpAck)>>,
}

/// Tin: its flow queues and its virtual clock.
#[derive(Clone, Debug)]
struct Tin<P> {
    settings: TinSettings,
    table: FlowTable<P>,
    /// Time in ns until which the bandwidth threshold is used up.
    next_ns: u64,
    /// Bytes that it may still send in its round if there is no shaper.
    deficit: i64,
    bytes: u64,
}

/// State of CAKE.
#[derive(Clone, Debug)]
pub(super) struct CakeQueue<P> {
    settings: Cake,
    /// Random number that hashes depend on.
    perturbation: u64,
    random: SplitMix64,
    tins: Vec<Tin<P>>,
    /// Tin that sends.
    current: usize,
    /// Time in ns at which the shaper lets the next packet pass.
    next_ns: u64,
    len: usize,
    bytes: u64,
}

impl<P> CakeQueue<P> {
    pub fn new(settings: Cake, seed: u64) -> CakeQueue<P> {
        let mut random = SplitMix64::new(seed);
        let tins = settings.tins.settings(&settings).into_iter();
        CakeQueue {
            settings,
            perturbation: random.bits(),
            random,
            tins: tins
                .map(|it| Tin {
                    settings: it,
                    table: FlowTable::new(settings.isolation),
                    next_ns: 0,
                    deficit: 0,
                    bytes: 0,
                })
                .collect(),
            current: 0,
            next_ns: 0,
            len: 0,
            bytes: 0,
        }
    }

    /// Returns the hashes of a packet.
    fn hashes(&self, flow: u64, details: &PacketDetails) -> Hashes {
        let hash = |key: u64| (hash_mix(key ^ self.perturbation) >> 32) as u32;
        Hashes {
            flow: hash(flow),
            hosts: [details.source, details.destination].map(|host| hash(u64::from(host))),
        }
    }

    /// Returns the quantum of a flow in bytes.
    fn quantum(&mut self, tin: usize, flow: usize) -> i32 {
        let dither = (self.random.bits() >> 48) as u16;
        let Tin {
            settings, table, ..
        } = &self.tins[tin];
        table.quantum(flow, settings.flow_quantum, dither)
    }

    /// Removes the packet at this index of a flow queue.
    fn remove(&mut self, tin: usize, flow: usize, index: usize) -> Option<WaitingPacket<P>> {
        let tin = &mut self.tins[tin];
        let flow = &mut tin.table.flows[flow];
        let packet = match index {
            0 => flow.packets.pop_front(),
            _ => flow.packets.remove(index),
        };
        let packet = packet?.waiting;
        let bytes = u64::from(packet.bytes);
        flow.bytes -= bytes;
        tin.bytes -= bytes;
        self.bytes -= bytes;
        self.len -= 1;
        Some(packet)
    }

    /// Removes an acknowledgement that the last packet of a flow queue replaces.
    fn filter_acks(&mut self, tin: usize, flow: usize, dropped: &mut impl Drops<P>) {
        let packets = &self.tins[tin].table.flows[flow].packets;
        let last = packets.back().and_then(|packet| packet.ack.as_deref());
        let Some(&(number, _)) = last else { return };
        let acks = packets.iter().map(|packet| {
            let ack = packet.ack.as_deref().filter(|(flow, _)| *flow == number);
            ack.map(|(_, ack)| ack)
        });
        if let Some(index) = self.settings.ack_filter.redundant(acks)
            && let Some(ack) = self.remove(tin, flow, index)
        {
            dropped.record(ack.packet, DropReason::AckFilter);
        }
    }

    /// Drops the first packet of the queue with the most bytes.
    #[cold]
    fn drop_from_longest(&mut self, now_ns: u64, dropped: &mut impl Drops<P>) {
        let mut longest = (0, 0, 0);
        for (t, tin) in self.tins.iter().enumerate() {
            for (f, flow) in tin.table.flows.iter().enumerate() {
                if flow.bytes > longest.0 {
                    longest = (flow.bytes, t, f);
                }
            }
        }
        let (_, tin, flow) = longest;
        if let Some(packet) = self.remove(tin, flow, 0) {
            dropped.record(packet.packet, DropReason::BufferFull);
        }
        let tin = &mut self.tins[tin];
        let cobalt = &mut tin.table.flows[flow].cobalt;
        cobalt.record_overflow(&tin.settings.cobalt, now_ns);
    }

    /// Returns the tin to serve. Some tin has packets.
    fn next_tin(&mut self, now_ns: u64) -> usize {
        if self.settings.bandwidth_bps.is_none() {
            return self.next_tin_by_weight();
        }
        // The last tin below its threshold, or else the one that will be first.
        let active = |tin: &&Tin<P>| tin.table.active > 0;
        let due = self
            .tins
            .iter()
            .rposition(|tin| active(&tin) && tin.next_ns <= now_ns);
        due.or_else(|| {
            let all = (0..).zip(&self.tins).filter(|(_, tin)| active(tin));
            let first = all.min_by_key(|&(t, tin)| (tin.next_ns, std::cmp::Reverse(t)));
            first.map(|(t, _)| t)
        })
        .unwrap_or(self.current)
    }

    /// Returns the tin to serve by deficit round robin. Some tin has packets.
    fn next_tin_by_weight(&mut self) -> usize {
        let mut t = self.current;
        loop {
            let tin = &mut self.tins[t];
            if tin.deficit >= 0 && tin.table.active > 0 {
                return t;
            }
            if tin.deficit <= 0 {
                tin.deficit += i64::from(tin.settings.tin_quantum);
            }
            t = (t + 1) % self.tins.len();
        }
    }

    /// Charges a packet to the shaper and to its tin.
    fn advance_clocks(&mut self, now_ns: u64, tin: usize, flow: usize, bytes: u32) {
        self.next_ns += self.tins[0].settings.rate.duration_ns(bytes);
        let tin = &mut self.tins[tin];
        let takes_ns = tin.settings.rate.duration_ns(bytes);
        tin.next_ns = if tin.next_ns < now_ns {
            tin.next_ns + takes_ns
        } else {
            tin.next_ns.max(now_ns + takes_ns)
        };
        tin.deficit -= i64::from(bytes);
        tin.table.flows[flow].deficit -= bytes as i32;
    }

    /// Returns the flow to serve in a tin, with a positive deficit. A decaying flow comes first with `may_decay`.
    fn next_flow(&mut self, t: usize, mut may_decay: bool) -> Option<usize> {
        loop {
            let table = &self.tins[t].table;
            let decaying = table.first(ListName::Decaying).filter(|_| may_decay);
            may_decay = false;
            let flow = decaying
                .or_else(|| table.first(ListName::New))
                .or_else(|| table.first(ListName::Old))
                .or_else(|| table.first(ListName::Decaying))?;
            let it = &table.flows[flow];
            if it.deficit > 0 {
                return Some(flow);
            }
            let activity = match (it.activity, it.packets.is_empty()) {
                (Activity::Sparse, false) => Activity::Bulk,
                (Activity::Sparse, true) => Activity::SparseWaiting,
                (activity, _) => activity,
            };
            let table = &mut self.tins[t].table;
            table.set_activity(flow, activity);
            table.move_to(flow, Some(ListName::Old));
            let quantum = self.quantum(t, flow);
            self.tins[t].table.flows[flow].deficit += quantum;
        }
    }

    /// Returns the next packet of a flow queue that COBALT sends; none if the queue is empty.
    fn next_packet(
        &mut self,
        now_ns: u64,
        t: usize,
        flow: usize,
        dropped: &mut impl Drops<P>,
    ) -> Option<WaitingPacket<P>> {
        let settings = self.tins[t].settings.cobalt;
        loop {
            let Some(mut packet) = self.remove(t, flow, 0) else {
                let table = &mut self.tins[t].table;
                let cobalt = &mut table.flows[flow].cobalt;
                cobalt.record_empty(&settings, now_ns);
                let (activity, list) = if cobalt.is_at_rest(now_ns) {
                    (Activity::Idle, None)
                } else {
                    (Activity::Decaying, Some(ListName::Decaying))
                };
                table.set_activity(flow, activity);
                table.move_to(flow, list);
                return None;
            };
            let it = &mut self.tins[t].table.flows[flow];
            let is_dropped = (it.cobalt).decide(&settings, now_ns, &mut packet, &mut self.random);
            // The last packet is not dropped.
            if !is_dropped || it.packets.is_empty() {
                return Some(packet);
            }
            dropped.record(packet.packet, DropReason::Early);
        }
    }
}

impl<P> Discipline<P> for CakeQueue<P> {
    // Inlined, its registers and stack would cost time in other disciplines.
    #[inline(never)]
    fn enqueue(
        &mut self,
        packet: WaitingPacket<P>,
        info: &PacketInfo,
        details: impl FnOnce() -> PacketDetails,
        buffer: Buffer,
        dropped: &mut impl Drops<P>,
    ) {
        let details = details();
        let (now_ns, bytes) = (packet.arrived_ns, u64::from(packet.bytes));
        let t = self.settings.tins.tin_of(details.dscp);
        let hashes = self.hashes(info.flow, &details);
        let tin = &mut self.tins[t];
        let index = tin.table.queue_of(&hashes);
        if tin.bytes == 0 {
            tin.next_ns = tin.next_ns.max(now_ns);
            if self.len == 0 {
                self.next_ns = self.next_ns.max(now_ns);
            }
        }
        let has_filter = self.settings.ack_filter != AckFilter::Off;
        let ack = details.ack.filter(|_| has_filter);
        let queue = &mut tin.table.flows[index];
        queue.packets.push_back(StoredPacket {
            waiting: packet,
            ack: ack.map(|ack| Box::new((info.flow, ack))),
        });
        queue.bytes += bytes;
        tin.bytes += bytes;
        self.bytes += bytes;
        self.len += 1;
        if has_filter {
            self.filter_acks(t, index, dropped);
        }
        let table = &mut self.tins[t].table;
        match table.flows[index].activity {
            Activity::Idle | Activity::Decaying => {
                table.set_activity(index, Activity::Sparse);
                table.move_to(index, Some(ListName::New));
                let quantum = self.quantum(t, index);
                self.tins[t].table.flows[index].deficit = quantum;
            }
            Activity::SparseWaiting => table.set_activity(index, Activity::Bulk),
            Activity::Sparse | Activity::Bulk => {}
        }
        while !buffer.fits(self.len, self.bytes) {
            self.drop_from_longest(now_ns, dropped);
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now_ns: u64, dropped: &mut impl Drops<P>) -> Option<WaitingPacket<P>> {
        let mut may_decay = true;
        while self.len > 0 && self.next_ns <= now_ns {
            self.current = self.next_tin(now_ns);
            let t = self.current;
            let Some(flow) = self.next_flow(t, std::mem::take(&mut may_decay)) else {
                continue;
            };
            if let Some(packet) = self.next_packet(now_ns, t, flow, dropped) {
                self.advance_clocks(now_ns, t, flow, packet.bytes);
                return Some(packet);
            }
        }
        None
    }

    fn ready_ns(&self) -> u64 {
        self.next_ns
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn clear(&mut self, _now_ns: u64, dropped: &mut Vec<P>) {
        for flow in self.tins.iter_mut().flat_map(|tin| &mut tin.table.flows) {
            dropped.extend(flow.packets.drain(..).map(|packet| packet.waiting.packet));
        }
        let Self {
            settings,
            perturbation,
            ..
        } = *self;
        let random = self.random;
        *self = CakeQueue {
            perturbation,
            random,
            ..CakeQueue::new(settings, 0)
        };
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &WaitingPacket<P>> + '_> {
        let flows = self.tins.iter().flat_map(|tin| &tin.table.flows);
        Box::new(flows.flat_map(|flow| flow.packets.iter().map(|packet| &packet.waiting)))
    }

    #[cfg(test)]
    fn reseed(&mut self, seed: u64) {
        self.random = SplitMix64::new(seed);
    }
}
