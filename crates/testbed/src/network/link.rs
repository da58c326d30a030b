//! Link of an emulated network: queue, transmitter and random link loss.

use std::collections::VecDeque;

use netflow_diffserv::TokenBucket;
use netflow_network::{BufferTime, DropPolicy, LinkLoss, LinkSpec, Overhead};
use netflow_queues::{
    AqmQueue, Buffer, Departure, EarlyDrop, FifoLink, LossCause, Losses, PacketDetails, PacketInfo,
    stretched_ns,
};
use netflow_units::SplitMix64;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_pcg::Pcg32;
use serde::Serialize;

use super::NetworkError;

/// Handle of a queued packet, with the properties that queues use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedPacket {
    /// Index of the packet in the simulation.
    pub packet: u32,
    /// Properties, with its IP bytes.
    pub info: PacketInfo,
}

/// Outcome for a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Departure time, valid unless the link changes before.
    Sent { packet: u32, at_ns: u64 },
    /// Time at which the queue can send its next packet.
    Waits { until_ns: u64 },
    /// CE mark; the packet stays in the queue.
    Marked(u32),
    /// Drop on arrival or from the queue.
    Dropped(u32),
    /// Loss on the link after transmission.
    LostOnLink(u32),
}

/// Counts of a link since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkCounts {
    /// Number of arrived packets.
    pub arrived_pkts: u64,
    /// Number of lost packets: in the queue, by a failure, or on the link.
    pub lost_pkts: u64,
    /// Number of packets lost on the link.
    pub link_lost_pkts: u64,
    /// Number of packets that the queue marked (CE, RFC 3168).
    pub marked_pkts: u64,
    /// Number of departed packets, including those lost on the link.
    pub sent_pkts: u64,
    /// Time integral of the queue length, packet in service included, in pkt·s.
    pub queue_pkt_s: f64,
    /// Busy time, in seconds.
    pub busy_s: f64,
}

enum Queue {
    Fifo {
        link: FifoLink,
        /// Packets in the queue, in order.
        waiting_ids: VecDeque<u32>,
    },
    Aqm {
        waiting: Box<AqmQueue<QueuedPacket>>,
        /// Packet in service, and its departure time in ns.
        sending: Option<(u32, u64)>,
        /// Time in ns at which the shaper lets the next packet pass, if [`Link::wake`] will be called then.
        wakes_ns: Option<u64>,
    },
}

/// Directed link. Times must not decrease.
pub(crate) struct Link {
    /// Buffer size as a time, which follows the bandwidth.
    buffer_time: Option<BufferTime>,
    queue: Queue,
    bandwidth_bps: f64,
    overhead: Overhead,
    pub delay_ns: u64,
    policer: Option<TokenBucket>,
    losses: Losses<ChaCha8Rng>,
    loss_seed: u64,
    down: bool,
    /// Counter that invalidates scheduled departures.
    pub generation: u32,
    /// Packets in the queue, packet in service included.
    queued_pkts: u64,
    counts_updated_ns: u64,
    counts: LinkCounts,
}

fn delay_ns(delay_s: f64) -> u64 {
    (delay_s * 1e9).round() as u64
}

/// Returns the random streams of a link's loss causes.
fn loss_random_streams(seed: u64) -> impl Fn(LossCause) -> ChaCha8Rng {
    move |cause| {
        let mut stream = ChaCha8Rng::seed_from_u64(seed);
        stream.set_stream(cause as u64);
        stream
    }
}

impl Link {
    /// Creates the link with this index. The seed determines its losses and the random decisions of its
    /// queue.
    pub fn new(
        spec: &LinkSpec,
        buffer: Buffer,
        number: u64,
        seed: u64,
    ) -> Result<Link, NetworkError> {
        // Exhaustive, so that every new setting of a link must be emulated or rejected.
        let &LinkSpec {
            from: _,    // in the routes
            to: _,      // in the routes
            circuit: _, // in the name
            bandwidth_bps,
            delay_s,
            overhead,
            buffer: buffer_setting,
            queue: ref policy,
            policer,
            shaper: _, // rejected
            ref loss,
            trace: _,       // rejected
            series: _,      // rejected
            delay_line: _,  // rejected
            metric: _,      // in the routes
            calibration: _, // of the fluid model
        } = spec;
        let mut seeds = SplitMix64::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (queue_seed, loss_seed) = (seeds.bits(), seeds.bits());
        let fifo = |early_drop| Queue::Fifo {
            link: FifoLink::new(buffer, early_drop),
            waiting_ids: VecDeque::new(),
        };
        let queue = match *policy {
            DropPolicy::DropTail => fifo(None),
            DropPolicy::Red(red) => {
                let random = Pcg32::seed_from_u64(queue_seed);
                let early_drop = EarlyDrop::red(red.average(bandwidth_bps), red.marks(), random);
                fifo(Some(Box::new(early_drop)))
            }
            DropPolicy::Managed(discipline) => Queue::Aqm {
                waiting: Box::new(AqmQueue::new(discipline, buffer.waiting(), queue_seed)),
                sending: None,
                wakes_ns: None,
            },
            DropPolicy::Rio(_) => return Err(NetworkError::FluidOnlyQueue("RIO")),
        };
        Ok(Link {
            queue,
            bandwidth_bps,
            overhead,
            delay_ns: delay_ns(delay_s),
            policer: policer.map(|it| it.bucket()),
            losses: Losses::new(loss, loss_random_streams(loss_seed)),
            loss_seed,
            buffer_time: match buffer_setting {
                netflow_network::Buffer::Time(time) => Some(time),
                _ => None,
            },
            down: false,
            generation: 0,
            queued_pkts: 0,
            counts_updated_ns: 0,
            counts: LinkCounts::default(),
        })
    }

    /// Returns the counts until `now_ns`.
    pub fn counts(&mut self, now_ns: u64) -> LinkCounts {
        self.update_counts(now_ns);
        self.counts
    }

    fn update_counts(&mut self, now_ns: u64) {
        let passed_s = now_ns.saturating_sub(self.counts_updated_ns) as f64 * 1e-9;
        self.counts.queue_pkt_s += self.queued_pkts as f64 * passed_s;
        // With a shaper, packets also wait for an idle link.
        let is_busy = match &self.queue {
            Queue::Fifo { .. } => self.queued_pkts > 0,
            Queue::Aqm { sending, .. } => sending.is_some(),
        };
        if is_busy {
            self.counts.busy_s += passed_s;
        }
        self.counts_updated_ns = self.counts_updated_ns.max(now_ns);
    }

    /// Bytes on the wire of a packet with this number of IP bytes.
    fn wire_bytes(&self, ip_bytes: u32) -> u32 {
        self.overhead.wire_bytes(f64::from(ip_bytes)).round() as u32
    }

    fn service_ns(&self, wire_bytes: u32) -> u64 {
        (8e9 * f64::from(wire_bytes) / self.bandwidth_bps)
            .round()
            .max(1.0) as u64
    }

    /// Processes the arrival of a packet.
    pub fn arrive(
        &mut self,
        now_ns: u64,
        queued: QueuedPacket,
        details: impl FnOnce() -> PacketDetails,
        out: &mut Vec<Outcome>,
    ) {
        self.update_counts(now_ns);
        self.counts.arrived_pkts += 1;
        let lost_on_link = self.draw_loss(queued.info.bytes, now_ns);
        if self.down {
            self.counts.lost_pkts += 1;
            return out.push(Outcome::Dropped(queued.packet));
        }
        let wire_bytes = self.wire_bytes(queued.info.bytes);
        if let Some(policer) = &mut self.policer
            && !policer.conforms(now_ns, wire_bytes)
        {
            self.counts.lost_pkts += 1;
            return out.push(Outcome::Dropped(queued.packet));
        }
        if lost_on_link {
            out.push(Outcome::LostOnLink(queued.packet));
        }
        let service_ns = self.service_ns(wire_bytes);
        let info = PacketInfo {
            bytes: wire_bytes,
            ..queued.info
        };
        match &mut self.queue {
            Queue::Fifo { link, waiting_ids } => match link.arrive(now_ns, service_ns, &info) {
                Ok(Departure { at_ns, marked }) => {
                    if marked {
                        self.counts.marked_pkts += 1;
                        out.push(Outcome::Marked(queued.packet));
                    }
                    waiting_ids.push_back(queued.packet);
                    self.queued_pkts += 1;
                    out.push(Outcome::Sent {
                        packet: queued.packet,
                        at_ns,
                    });
                }
                Err(_) => {
                    self.counts.lost_pkts += 1;
                    out.push(Outcome::Dropped(queued.packet));
                }
            },
            Queue::Aqm { waiting, .. } => {
                let mut dropped = Vec::new();
                self.queued_pkts += 1;
                waiting.enqueue(now_ns, queued, info, details, &mut dropped);
                self.drop_packets(dropped, out);
                if matches!(&self.queue, Queue::Aqm { sending: None, .. }) {
                    self.send_next(now_ns, out);
                }
            }
        }
    }

    fn drop_packets(&mut self, dropped: Vec<QueuedPacket>, out: &mut Vec<Outcome>) {
        self.queued_pkts -= dropped.len() as u64;
        self.counts.lost_pkts += dropped.len() as u64;
        out.extend(dropped.iter().map(|queued| Outcome::Dropped(queued.packet)));
    }

    /// Starts the next transmission of an AQM queue.
    fn send_next(&mut self, now_ns: u64, out: &mut Vec<Outcome>) {
        let Queue::Aqm {
            waiting,
            sending,
            wakes_ns,
        } = &mut self.queue
        else {
            return;
        };
        let mut dropped = Vec::new();
        let next = waiting.dequeue(now_ns, &mut dropped);
        *sending = None;
        if next.is_none() && !waiting.is_empty() && *wakes_ns != Some(waiting.ready_ns()) {
            let until_ns = waiting.ready_ns();
            *wakes_ns = Some(until_ns);
            out.push(Outcome::Waits { until_ns });
        }
        let next = next.map(|sent| {
            let packet = sent.packet.packet;
            let takes_ns = (8e9 * f64::from(sent.bytes) / self.bandwidth_bps)
                .round()
                .max(1.0);
            let at_ns = now_ns + takes_ns as u64;
            *sending = Some((packet, at_ns));
            (packet, at_ns, sent.marked)
        });
        self.drop_packets(dropped, out);
        if let Some((packet, at_ns, marked)) = next {
            if marked {
                self.counts.marked_pkts += 1;
                out.push(Outcome::Marked(packet));
            }
            out.push(Outcome::Sent { packet, at_ns });
        }
    }

    /// Sends the next packet if the shaper lets it pass now.
    pub fn wake(&mut self, now_ns: u64, out: &mut Vec<Outcome>) {
        self.update_counts(now_ns);
        if let Queue::Aqm {
            sending, wakes_ns, ..
        } = &mut self.queue
        {
            *wakes_ns = wakes_ns.filter(|&at_ns| at_ns > now_ns);
            if sending.is_none() {
                self.send_next(now_ns, out);
            }
        }
    }

    /// Records the departure of the packet in service. The caller passes whether it is lost on the link.
    pub fn finish_transmission(&mut self, now_ns: u64, lost: bool, out: &mut Vec<Outcome>) {
        self.update_counts(now_ns);
        self.queued_pkts -= 1;
        self.counts.sent_pkts += 1;
        self.counts.lost_pkts += u64::from(lost);
        self.counts.link_lost_pkts += u64::from(lost);
        match &mut self.queue {
            Queue::Fifo { waiting_ids, .. } => {
                waiting_ids.pop_front();
            }
            Queue::Aqm { .. } => self.send_next(now_ns, out),
        }
    }

    /// Sets the buffer size, packet in service included. Packets already waiting are kept.
    fn set_buffer(&mut self, new: Buffer) {
        match &mut self.queue {
            Queue::Fifo { link, .. } => link.set_buffer(new),
            Queue::Aqm { waiting, .. } => waiting.set_buffer(new.waiting()),
        }
    }

    /// Sets the bandwidth. The remaining transmission and all waiting packets are rescaled.
    pub fn set_bandwidth(&mut self, now_ns: u64, bps: f64, out: &mut Vec<Outcome>) {
        let ratio = self.bandwidth_bps / bps;
        self.bandwidth_bps = bps;
        if let Some(time) = self.buffer_time {
            self.set_buffer(Buffer::Bytes(time.bytes(bps)));
        }
        self.generation += 1;
        match &mut self.queue {
            Queue::Fifo { link, waiting_ids } => {
                link.stretch(now_ns, ratio);
                let sent = waiting_ids.iter().zip(link.departure_times(now_ns));
                out.extend(sent.map(|(&packet, at_ns)| Outcome::Sent { packet, at_ns }));
            }
            Queue::Aqm { sending, .. } => {
                if let Some((packet, at_ns)) = sending {
                    *at_ns = stretched_ns(*at_ns, now_ns, ratio);
                    out.push(Outcome::Sent {
                        packet: *packet,
                        at_ns: *at_ns,
                    });
                }
            }
        }
    }

    /// Sets the propagation delay in seconds, for packets not yet transmitted.
    pub fn set_delay(&mut self, delay_s: f64) {
        self.delay_ns = delay_ns(delay_s);
    }

    /// Returns whether the next packet, of this number of IP bytes, is lost on the link.
    pub fn draw_loss(&mut self, bytes: u32, now_ns: u64) -> bool {
        let wire_bytes = self.wire_bytes(bytes);
        self.losses.next(f64::from(wire_bytes), now_ns).is_some()
    }

    /// Sets the random loss of the link. Returns the packets not yet transmitted whose loss must be
    /// redrawn with [`Link::draw_loss`]; none if the loss is unchanged.
    pub fn set_loss(&mut self, loss: &LinkLoss) -> Vec<u32> {
        if self.losses.loss() == loss {
            return Vec::new();
        }
        self.losses.set(loss, loss_random_streams(self.loss_seed));
        match &self.queue {
            Queue::Fifo { waiting_ids, .. } => waiting_ids.iter().copied().collect(),
            Queue::Aqm {
                waiting, sending, ..
            } => {
                let sending = sending.iter().map(|&(packet, _)| packet);
                sending
                    .chain(waiting.iter().map(|it| it.packet.packet))
                    .collect()
            }
        }
    }

    /// Takes the link down: queued packets and later arrivals are lost.
    pub fn fail(&mut self, now_ns: u64, out: &mut Vec<Outcome>) {
        self.update_counts(now_ns);
        self.generation += 1;
        self.down = true;
        self.counts.lost_pkts += self.queued_pkts;
        self.queued_pkts = 0;
        match &mut self.queue {
            Queue::Fifo { link, waiting_ids } => {
                link.clear(now_ns);
                out.extend(waiting_ids.drain(..).map(Outcome::Dropped));
            }
            Queue::Aqm {
                waiting, sending, ..
            } => {
                let mut dropped = Vec::new();
                waiting.clear(now_ns, &mut dropped);
                let sending = sending.take().map(|(packet, _)| packet);
                let all = dropped.iter().map(|queued| queued.packet).chain(sending);
                out.extend(all.map(Outcome::Dropped));
            }
        }
    }

    /// Brings the link up again.
    pub fn repair(&mut self) {
        self.down = false;
    }
}
