//! A link of an emulated network: its queue, its transmitter, and what it loses on the way.

use std::collections::VecDeque;

use netflow_diffserv::{Early, RedAverage};
use netflow_network::{BufferTime, DropPolicy, LinkLoss, LinkSpec, Overhead};
use netflow_queues::{Buffer, DropTail, LossCause, Losses, Managed};
use netflow_units::SplitMix64;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::NetworkError;

/// What an arriving packet tells the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// Its number in the fabric.
    pub packet: u32,
    pub bytes: u32,
    /// Tells flows apart.
    pub flow: u64,
    /// Whether it may be marked instead of being dropped.
    pub ecn: bool,
}

/// What becomes of packets at a link, in the order in which it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It will have been sent at this time, unless the link changes before.
    Sent { packet: u32, at_ns: u64 },
    /// It goes on with a mark of congestion (CE).
    Marked(u32),
    /// The queue refused it, or threw it out.
    Dropped(u32),
    /// It will be sent, and lost on the way.
    Doomed(u32),
}

/// What happened at a link since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkCounts {
    /// Packets that arrived.
    pub arrived_pkts: u64,
    /// Packets lost: in the queue, by a failure, or on the way.
    pub lost_pkts: u64,
    /// Those of them that were lost on the way.
    pub link_lost_pkts: u64,
    /// Packets that the queue marked (CE, RFC 3168).
    pub marked_pkts: u64,
    /// Packets that have been sent, those included that were lost on the way.
    pub sent_pkts: u64,
    /// The time integral of packets in the queue, the one in service included, in pkt·s.
    pub queue_pkt_s: f64,
    /// Seconds in which the link was sending.
    pub busy_s: f64,
}

enum Queue {
    Fifo {
        link: DropTail<u64>,
        buffer: Buffer,
        red: Option<Box<(RedAverage, bool, SplitMix64)>>,
        /// Those in the queue, in their order.
        there: VecDeque<u32>,
    },
    Managed {
        waiting: Box<Managed<Told>>,
        /// What is being sent, and until when.
        sending: Option<(u32, u64)>,
    },
}

/// One directed link. Times do not go back.
pub(crate) struct Link {
    /// The time that the buffer follows when the bandwidth changes.
    buffer_time: Option<BufferTime>,
    queue: Queue,
    bandwidth_bps: f64,
    overhead: Overhead,
    pub delay_ns: u64,
    losses: Losses<ChaCha8Rng>,
    loss_seed: u64,
    down: bool,
    /// Goes up when what is scheduled is void.
    pub generation: u32,
    /// Packets in the queue, the one in service included.
    there: u64,
    settled_ns: u64,
    counts: LinkCounts,
}

/// A packet of mean size in bits, to random early detection: as in packets' engine and ns-2.
const MEAN_BITS: f64 = 8000.0;

fn delay_ns(delay_s: f64) -> u64 {
    (delay_s * 1e9).round() as u64
}

/// The random numbers of what a link with this seed loses.
fn streams(seed: u64) -> impl Fn(LossCause) -> ChaCha8Rng {
    move |cause| {
        let mut stream = ChaCha8Rng::seed_from_u64(seed);
        stream.set_stream(cause as u64);
        stream
    }
}

impl Link {
    /// The link with this number. The seed gives it its losses and what its queue draws.
    pub fn new(
        spec: &LinkSpec,
        buffer: Buffer,
        number: u64,
        seed: u64,
    ) -> Result<Link, NetworkError> {
        let mut seeds = SplitMix64::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (queue_seed, loss_seed) = (seeds.bits(), seeds.bits());
        let fifo = |red| Queue::Fifo {
            link: DropTail::default(),
            buffer,
            red,
            there: VecDeque::new(),
        };
        let queue = match spec.queue {
            DropPolicy::DropTail => fifo(None),
            DropPolicy::Red(red) => {
                let packet_ns = MEAN_BITS / spec.bandwidth_bps * 1e9;
                let average = RedAverage::new(red.curve(), red.gentle, red.weight, packet_ns);
                let random = SplitMix64::new(queue_seed);
                fifo(Some(Box::new((average, red.ecn, random))))
            }
            DropPolicy::Managed(discipline) => Queue::Managed {
                waiting: Box::new(Managed::new(discipline, buffer.waiting(), queue_seed)),
                sending: None,
            },
            DropPolicy::Rio(_) => return Err(NetworkError::QueueOfFluids("RIO")),
        };
        Ok(Link {
            queue,
            bandwidth_bps: spec.bandwidth_bps,
            overhead: spec.overhead,
            delay_ns: delay_ns(spec.delay_s),
            losses: Losses::new(&spec.loss, streams(loss_seed)),
            loss_seed,
            buffer_time: match spec.buffer {
                netflow_network::Buffer::Time(time) => Some(time),
                _ => None,
            },
            down: false,
            generation: 0,
            there: 0,
            settled_ns: 0,
            counts: LinkCounts::default(),
        })
    }

    /// What happened until now.
    pub fn counts(&mut self, now_ns: u64) -> LinkCounts {
        self.settle(now_ns);
        self.counts
    }

    fn settle(&mut self, now_ns: u64) {
        let passed_s = now_ns.saturating_sub(self.settled_ns) as f64 * 1e-9;
        self.counts.queue_pkt_s += self.there as f64 * passed_s;
        if self.there > 0 {
            self.counts.busy_s += passed_s;
        }
        self.settled_ns = self.settled_ns.max(now_ns);
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

    /// A packet arrives.
    pub fn arrive(&mut self, now_ns: u64, told: Told, out: &mut Vec<Outcome>) {
        self.settle(now_ns);
        self.counts.arrived_pkts += 1;
        let doomed = self.dooms(told.bytes);
        if self.down {
            self.counts.lost_pkts += 1;
            return out.push(Outcome::Dropped(told.packet));
        }
        if doomed {
            out.push(Outcome::Doomed(told.packet));
        }
        let wire_bytes = self.wire_bytes(told.bytes);
        let service_ns = self.service_ns(wire_bytes);
        match &mut self.queue {
            Queue::Fifo {
                link,
                buffer,
                red,
                there,
            } => {
                if let Some(red) = red {
                    let (average, marks, random) = &mut **red;
                    link.leave(now_ns);
                    let idle_ns = link.is_empty().then(|| now_ns.saturating_sub(link.free()));
                    // ns-2 counts those that wait.
                    let waiting = link.len().saturating_sub(1);
                    match average.judge(waiting, idle_ns, || random.uniform()) {
                        Early::Taken => {}
                        Early::ByChance if *marks && told.ecn => {
                            self.counts.marked_pkts += 1;
                            out.push(Outcome::Marked(told.packet));
                        }
                        Early::ByChance | Early::All => {
                            self.counts.lost_pkts += 1;
                            return out.push(Outcome::Dropped(told.packet));
                        }
                    }
                }
                match link.arrive(now_ns, service_ns, wire_bytes, *buffer) {
                    Some(at_ns) => {
                        there.push_back(told.packet);
                        self.there += 1;
                        out.push(Outcome::Sent {
                            packet: told.packet,
                            at_ns,
                        });
                    }
                    None => {
                        if let Some(red) = red {
                            red.0.overflowed();
                        }
                        self.counts.lost_pkts += 1;
                        out.push(Outcome::Dropped(told.packet));
                    }
                }
            }
            Queue::Managed { waiting, .. } => {
                let mut dropped = Vec::new();
                self.there += 1;
                waiting.enqueue(now_ns, told, wire_bytes, told.flow, told.ecn, &mut dropped);
                self.lose(dropped, out);
                if matches!(&self.queue, Queue::Managed { sending: None, .. }) {
                    self.send_next(now_ns, out);
                }
            }
        }
    }

    fn lose(&mut self, dropped: Vec<Told>, out: &mut Vec<Outcome>) {
        self.there -= dropped.len() as u64;
        self.counts.lost_pkts += dropped.len() as u64;
        out.extend(dropped.iter().map(|told| Outcome::Dropped(told.packet)));
    }

    /// A managed queue's transmitter is free.
    fn send_next(&mut self, now_ns: u64, out: &mut Vec<Outcome>) {
        let Queue::Managed { waiting, sending } = &mut self.queue else {
            return;
        };
        let mut dropped = Vec::new();
        let next = waiting.dequeue(now_ns, &mut dropped);
        *sending = None;
        let next = next.map(|sent| {
            let packet = sent.packet.packet;
            let takes_ns = (8e9 * f64::from(sent.bytes) / self.bandwidth_bps)
                .round()
                .max(1.0);
            let at_ns = now_ns + takes_ns as u64;
            *sending = Some((packet, at_ns));
            (packet, at_ns, sent.marked)
        });
        self.lose(dropped, out);
        if let Some((packet, at_ns, marked)) = next {
            if marked {
                self.counts.marked_pkts += 1;
                out.push(Outcome::Marked(packet));
            }
            out.push(Outcome::Sent { packet, at_ns });
        }
    }

    /// The packet that was to be sent by now has been; whether it is lost on the way is the caller's to
    /// know, and to tell.
    pub fn sent(&mut self, now_ns: u64, lost: bool, out: &mut Vec<Outcome>) {
        self.settle(now_ns);
        self.there -= 1;
        self.counts.sent_pkts += 1;
        self.counts.lost_pkts += u64::from(lost);
        self.counts.link_lost_pkts += u64::from(lost);
        match &mut self.queue {
            Queue::Fifo { there, .. } => {
                there.pop_front();
            }
            Queue::Managed { .. } => self.send_next(now_ns, out),
        }
    }

    /// Changes the size of the buffer, the packet in service included. Packets that wait stay there.
    fn set_buffer(&mut self, new: Buffer) {
        match &mut self.queue {
            Queue::Fifo { buffer, .. } => *buffer = new,
            Queue::Managed { waiting, .. } => waiting.set_buffer(new.waiting()),
        }
    }

    /// From now on the bandwidth is this: what is being sent, and what waits, takes as much longer.
    pub fn set_bandwidth(&mut self, now_ns: u64, bps: f64, out: &mut Vec<Outcome>) {
        let ratio = self.bandwidth_bps / bps;
        self.bandwidth_bps = bps;
        if let Some(time) = self.buffer_time {
            self.set_buffer(Buffer::Bytes(time.bytes(bps)));
        }
        self.generation += 1;
        let later = |at_ns: u64| match at_ns > now_ns {
            true => now_ns + ((at_ns - now_ns) as f64 * ratio).round() as u64,
            false => at_ns,
        };
        match &mut self.queue {
            Queue::Fifo {
                link, there, red, ..
            } => {
                link.leave(now_ns);
                link.retime(later);
                if let Some(red) = red {
                    red.0.stretch(ratio);
                }
                let sent = there.iter().zip(link.sent(now_ns));
                out.extend(sent.map(|(&packet, at_ns)| Outcome::Sent { packet, at_ns }));
            }
            Queue::Managed { sending, .. } => {
                if let Some((packet, at_ns)) = sending {
                    *at_ns = later(*at_ns);
                    out.push(Outcome::Sent {
                        packet: *packet,
                        at_ns: *at_ns,
                    });
                }
            }
        }
    }

    /// From now on it takes this time on the way, in seconds: what has not been sent yet.
    pub fn set_delay(&mut self, delay_s: f64) {
        self.delay_ns = delay_ns(delay_s);
    }

    /// Whether the next packet, with this number of IP bytes, is lost on the way.
    pub fn dooms(&mut self, bytes: u32) -> bool {
        let wire_bytes = self.wire_bytes(bytes);
        self.losses.next(f64::from(wire_bytes)).is_some()
    }

    /// From now on it loses this on the way. Those are returned whose fate is to be asked for anew, with
    /// [`Link::dooms`]: all that have not been sent, if what is lost is another thing.
    pub fn set_loss(&mut self, loss: &LinkLoss) -> Vec<u32> {
        if self.losses.loss() == loss {
            return Vec::new();
        }
        self.losses.set(loss, streams(self.loss_seed));
        match &self.queue {
            Queue::Fifo { there, .. } => there.iter().copied().collect(),
            Queue::Managed { waiting, sending } => {
                let sending = sending.iter().map(|&(packet, _)| packet);
                sending
                    .chain(waiting.iter().map(|it| it.packet.packet))
                    .collect()
            }
        }
    }

    /// It fails: what is in the queue is lost, and what comes.
    pub fn fail(&mut self, now_ns: u64, out: &mut Vec<Outcome>) {
        self.settle(now_ns);
        self.generation += 1;
        self.down = true;
        self.counts.lost_pkts += self.there;
        self.there = 0;
        match &mut self.queue {
            Queue::Fifo { link, there, .. } => {
                link.clear(now_ns);
                out.extend(there.drain(..).map(Outcome::Dropped));
            }
            Queue::Managed { waiting, sending } => {
                let mut dropped = Vec::new();
                waiting.clear(&mut dropped);
                let sending = sending.take().map(|(packet, _)| packet);
                let all = dropped.iter().map(|told| told.packet).chain(sending);
                out.extend(all.map(Outcome::Dropped));
            }
        }
    }

    /// It works again.
    pub fn repair(&mut self) {
        self.down = false;
    }
}
