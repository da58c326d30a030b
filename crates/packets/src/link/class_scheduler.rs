//! Class scheduler: a link that transmits for several queues, those of its classes and its own.
//!
//! The discipline is strict priority, WFQ (packet-by-packet generalized processor sharing; Parekh and
//! Gallager 1993) or HTB.

use std::collections::VecDeque;

use netflow_network::{LinkId, Network, service_ns};
use netflow_queues::{PacketScheduler, stretched_ns};
use netflow_tcpmodel::tcp::NEVER;

use crate::engine::Engine;
use crate::link::queue::Link;
use crate::link::queue_disc::{DroppedPackets, wire_bytes};

/// Relation between a queue and the link that transmits for it.
#[derive(Clone, Debug, Default)]
pub(crate) enum Transmission {
    #[default]
    Exclusive,
    /// Queue of a class; another link transmits for it.
    Class,
    /// Link that transmits for the queues of its classes and for its own.
    ClassScheduler(Box<ClassScheduler>),
}

/// Queues that share a link.
#[derive(Clone, Debug)]
pub(crate) struct ClassScheduler {
    scheduler: PacketScheduler,
    /// Links of these queues; the last one is the link itself.
    pub links: Vec<u32>,
    /// End of the current transmission in ns.
    pub free_ns: u64,
}

impl ClassScheduler {
    fn queue_index(&self, link: usize) -> usize {
        let same = |&l: &u32| l as usize == link;
        self.links.iter().position(same).unwrap_or(0)
    }

    /// Records a packet of `bits` bits that arrived at the queue of a link, and `dropped` packets that this
    /// queue dropped as a result.
    pub fn record_arrival(&mut self, now_ns: u64, link: usize, bits: f64, dropped: usize) {
        if self.scheduler.is_empty() {
            // An idle link transmits at once.
            self.free_ns = self.free_ns.max(now_ns);
        }
        let number = self.queue_index(link);
        self.scheduler.enqueue(now_ns, number, bits);
        self.scheduler.dropped(now_ns, number, dropped);
    }

    /// Returns the start of the next transmission in ns.
    fn due_ns(&self) -> u64 {
        match self.scheduler.ready_ns() {
            u64::MAX => NEVER,
            ready_ns => self.free_ns.max(ready_ns),
        }
    }

    /// Sets the bandwidth of the link: from now on transmissions take `ratio` times as long.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64, bandwidth_bps: f64) {
        self.free_ns = stretched_ns(self.free_ns, now_ns, ratio);
        self.scheduler.set_bandwidth(now_ns, bandwidth_bps);
    }

    /// Empties all queues after a failure of the link.
    pub fn fail(&mut self, now_ns: u64) {
        self.free_ns = self.free_ns.min(now_ns);
        self.scheduler.clear(now_ns);
    }
}

impl Link {
    /// Returns the time in ns until which the link is busy. A FIFO queue counts completely; otherwise, only
    /// the packet in transmission counts.
    #[inline]
    pub fn free_ns(&self) -> u64 {
        match &self.transmission {
            Transmission::ClassScheduler(sharing) => sharing.free_ns,
            _ => self.queue.free_ns(),
        }
    }

    /// Returns the start of the next transmission in ns, if the discipline chooses the packet then; else
    /// [`NEVER`].
    #[inline]
    pub fn due_ns(&self) -> u64 {
        match &self.transmission {
            Transmission::Exclusive => (self.queue.managed()).map_or(NEVER, |queue| queue.due_ns()),
            Transmission::Class => NEVER,
            Transmission::ClassScheduler(sharing) => sharing.due_ns(),
        }
    }
}

/// Returns the link that transmits for each link: itself, except for class queues.
pub(crate) fn senders(network: &Network) -> Vec<u32> {
    let mut senders: Vec<u32> = (0..network.link_count() as u32).collect();
    for shared in &network.tables().shared_links {
        if let Some(&own) = shared.links.last() {
            for &l in &shared.links {
                senders[l as usize] = own;
            }
        }
    }
    senders
}

impl Engine {
    /// Sets up the class schedulers.
    pub fn set_up_class_schedulers(&mut self) {
        let inner = self.network.tables().clone();
        for shared in &inner.shared_links {
            for &l in &shared.links {
                let buffer = self.network.packet_buffer(LinkId::new(l, inner.owner));
                let link = &mut self.links[l as usize];
                link.queue.choose_when_free(buffer);
                link.transmission = Transmission::Class;
            }
            if let Some(&own) = shared.links.last() {
                let link = &mut self.links[own as usize];
                let turns =
                    PacketScheduler::new(&shared.scheduler, &shared.weights, link.bandwidth_bps);
                link.transmission = Transmission::ClassScheduler(Box::new(ClassScheduler {
                    scheduler: turns,
                    links: shared.links.clone(),
                    free_ns: 0,
                }));
            }
        }
    }

    /// Returns the time in ns until the packets that wait in the queue of link `l` have been sent by HTB, if no more
    /// packets arrive.
    fn drain_time_by_tokens_ns(&self, sender: usize, l: usize) -> u64 {
        let Transmission::ClassScheduler(sharing) = &self.links[sender].transmission else {
            return 0;
        };
        let waiting_bits = |&l: &u32| -> VecDeque<f64> {
            let managed = self.links[l as usize].queue.managed().into_iter();
            let waiting = managed.flat_map(|managed| managed.waiting());
            waiting.map(|waits| waits.bits).collect()
        };
        let mut waiting: Vec<VecDeque<f64>> = sharing.links.iter().map(waiting_bits).collect();
        let mut scheduler = sharing.scheduler.clone();
        let (mine, bps) = (sharing.queue_index(l), self.links[sender].sustained_bps());
        let mut free_ns = sharing.free_ns.max(self.now_ns);
        while !waiting[mine].is_empty() && free_ns < NEVER {
            let at_ns = scheduler.ready_ns().max(free_ns);
            let Some(queue) = scheduler.dequeue(at_ns) else {
                break;
            };
            let bits = waiting[queue].pop_front().unwrap_or(0.0);
            scheduler.record_sent(at_ns, queue, Some(wire_bytes(bits)));
            free_ns = at_ns.saturating_add(service_ns(bits, bps));
        }
        free_ns - self.now_ns
    }

    /// Transmits packets of all queues of a link in turn, until `until_ns`.
    pub fn transmit_scheduled(&mut self, sender: usize, until_ns: u64) {
        while let Transmission::ClassScheduler(sharing) = &mut self.links[sender].transmission
            && let now_ns = sharing.due_ns()
            && now_ns <= until_ns
            && let Some(number) = sharing.scheduler.dequeue(now_ns)
        {
            let l = sharing.links[number] as usize;
            let mut dropped = DroppedPackets::default();
            let next = self.links[l].queue.dequeue(now_ns, &mut dropped);
            // The scheduler has counted one of them.
            let more = dropped.packets.len() + usize::from(next.is_some()) - 1;
            let bytes = next.as_ref().map(|(waits, ..)| waits.bytes());
            let left_ns = next.map(|next| self.transmit(sender, l, now_ns, next));
            if let Transmission::ClassScheduler(sharing) = &mut self.links[sender].transmission {
                sharing.scheduler.dropped(now_ns, number, more);
                sharing.scheduler.record_sent(now_ns, number, bytes);
                sharing.free_ns = left_ns.unwrap_or(now_ns);
            }
            self.drop_managed(l, now_ns, dropped);
        }
    }

    /// Returns the time in ns until all packets that wait for a link now have been sent. Queues with priority
    /// are sent first; with weights, each queue has its share.
    pub fn drain_time_ns(&self, l: usize) -> u64 {
        let link = &self.links[l];
        let inner = self.network.tables();
        let has = |shared: &&netflow_network::SharedLink| shared.links.contains(&(l as u32));
        let Some(shared) = inner.shared_links.iter().find(has) else {
            return link.queue.drain_time_ns(self.now_ns, link.sustained_bps());
        };
        let sender = shared.links.last().map_or(l, |&own| own as usize);
        let waiting = shared.links.iter().map(|&l| {
            let managed = self.links[l as usize].queue.managed();
            managed.map_or(0.0, |managed| managed.waiting_bits())
        });
        let waiting: Vec<f64> = waiting.collect();
        let mine = shared.links.iter().position(|&k| k as usize == l);
        let bits = mine.map_or(Some(0.0), |mine| {
            let scheduler = &shared.scheduler;
            scheduler.bits_until_sent(mine, &waiting, &shared.weights)
        });
        let Some(bits) = bits else {
            return self.drain_time_by_tokens_ns(sender, l);
        };
        let being_sent_ns = self.links[sender].free_ns().saturating_sub(self.now_ns);
        being_sent_ns
            + if bits > 0.0 {
                service_ns(bits, self.links[sender].sustained_bps())
            } else {
                0
            }
    }
}
