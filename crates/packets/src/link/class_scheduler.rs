//! A link whose queues, those of classes and its own, take turns.

use netflow_network::{LinkId, Network, service_ns};
use netflow_queues::PacketScheduler;
use netflow_tcpmodel::tcp::NEVER;

use crate::engine::Engine;
use crate::link::queue::{Link, stretched};

/// Whether a link has its queue for itself.
#[derive(Clone, Debug, Default)]
pub(crate) enum Transmission {
    #[default]
    Alone,
    /// It is the queue of a class: another link sends for it.
    Class,
    /// It sends for the queues of classes and for its own.
    Sharing(Box<Sharing>),
}

/// The queues that take turns.
#[derive(Clone, Debug)]
pub(crate) struct Sharing {
    turns: PacketScheduler,
    /// The links that they are; its own is the last.
    links: Vec<u32>,
    /// When what is being sent will have been.
    pub free_ns: u64,
}

impl Sharing {
    fn number(&self, link: usize) -> usize {
        let same = |&l: &u32| l as usize == link;
        self.links.iter().position(same).unwrap_or(0)
    }

    /// A packet of so many bits came to the queue of this link, which dropped so many for it: itself or others.
    pub fn came(&mut self, now_ns: u64, link: usize, bits: f64, dropped: usize) {
        if self.turns.is_empty() {
            // If nothing is being sent, this can be at once.
            self.free_ns = self.free_ns.max(now_ns);
        }
        let number = self.number(link);
        self.turns.enqueue(now_ns, number, bits);
        self.turns.dropped(now_ns, number, dropped);
    }

    /// When the next of those that wait is sent.
    fn due_ns(&self) -> u64 {
        match self.turns.is_empty() {
            true => NEVER,
            false => self.free_ns,
        }
    }

    /// The link has another bandwidth: from now on transmissions take `ratio` times as long.
    pub fn stretch(&mut self, now_ns: u64, ratio: f64, bandwidth_bps: f64) {
        if self.free_ns > now_ns {
            self.free_ns = stretched(self.free_ns, now_ns, ratio);
        }
        self.turns.set_bandwidth(now_ns, bandwidth_bps);
    }

    /// The link fails, and its queues are emptied.
    pub fn fail(&mut self, now_ns: u64) {
        self.free_ns = self.free_ns.min(now_ns);
        self.turns.clear();
    }
}

impl Link {
    /// When what it is sending will have been sent, if nothing more comes.
    #[inline]
    pub fn free_ns(&self) -> u64 {
        match &self.turn {
            Transmission::Sharing(sharing) => sharing.free_ns,
            _ => self.queue.free_ns(),
        }
    }

    /// When it sends the next of those that wait, where that is decided then.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        match &self.turn {
            Transmission::Alone => {
                (self.queue.managed.as_ref()).map_or(NEVER, |queue| queue.due_ns())
            }
            Transmission::Class => NEVER,
            Transmission::Sharing(sharing) => sharing.due_ns(),
        }
    }
}

/// Which link sends for each: itself, but for the queues of classes.
pub(crate) fn senders(network: &Network) -> Vec<u32> {
    let mut senders: Vec<u32> = (0..network.link_count() as u32).collect();
    for shared in &network.tables().shared {
        if let Some(&own) = shared.links.last() {
            for &l in &shared.links {
                senders[l as usize] = own;
            }
        }
    }
    senders
}

impl Engine {
    /// Has the queues of classes take turns with those of their links.
    pub fn share_links(&mut self) {
        let inner = self.network.tables().clone();
        for shared in &inner.shared {
            for &l in &shared.links {
                let buffer = self.network.packet_buffer(LinkId::new(l, inner.owner));
                let link = &mut self.links[l as usize];
                link.queue.share_link(buffer);
                link.turn = Transmission::Class;
            }
            if let Some(&own) = shared.links.last() {
                let link = &mut self.links[own as usize];
                let turns =
                    PacketScheduler::new(shared.scheduler, &shared.weights, link.bandwidth_bps);
                link.turn = Transmission::Sharing(Box::new(Sharing {
                    turns,
                    links: shared.links.clone(),
                    free_ns: 0,
                }));
            }
        }
    }

    /// A link sends what it can for all its queues, one packet after the other, until `until_ns`.
    pub fn send_in_turns(&mut self, sender: usize, until_ns: u64) {
        while let Transmission::Sharing(sharing) = &mut self.links[sender].turn
            && sharing.due_ns() <= until_ns
            && let Some(number) = sharing.turns.dequeue()
        {
            let (now_ns, l) = (sharing.free_ns, sharing.links[number] as usize);
            let mut dropped = Vec::new();
            let next = self.links[l].queue.leave(now_ns, &mut dropped);
            // The turn was one of theirs.
            let more = dropped.len() + usize::from(next.is_some()) - 1;
            let left_ns = next.map(|next| self.transmit(sender, l, now_ns, next));
            if let Transmission::Sharing(sharing) = &mut self.links[sender].turn {
                sharing.turns.dropped(now_ns, number, more);
                sharing.free_ns = left_ns.unwrap_or(now_ns);
            }
            self.drop_managed(l, now_ns, dropped);
        }
    }

    /// Nanoseconds until all that waits for a link has been sent, by what is there now: with what goes first, or, of
    /// queues with weights, by the share of this one.
    pub fn waiting_ns(&self, l: usize) -> u64 {
        let link = &self.links[l];
        let inner = self.network.tables();
        let has = |shared: &&netflow_network::Shared| shared.links.contains(&(l as u32));
        let Some(shared) = inner.shared.iter().find(has) else {
            return link.queue.waiting_ns(self.now_ns, link.bandwidth_bps);
        };
        let sender = shared.links.last().map_or(l, |&own| own as usize);
        let waiting = shared.links.iter().map(|&l| {
            let managed = self.links[l as usize].queue.managed.as_ref();
            managed.map_or(0.0, |managed| managed.waiting_bits())
        });
        let waiting: Vec<f64> = waiting.collect();
        let mine = shared.links.iter().position(|&k| k as usize == l);
        let bits = mine.map_or(0.0, |mine| {
            shared
                .scheduler
                .bits_until_sent(mine, &waiting, &shared.weights)
        });
        let being_sent_ns = self.links[sender].free_ns().saturating_sub(self.now_ns);
        being_sent_ns
            + match bits > 0.0 {
                true => service_ns(bits, link.bandwidth_bps),
                false => 0,
            }
    }
}
